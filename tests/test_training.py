"""Training on a tiny random verifier: the same code as the real one, in seconds."""

import copy
import itertools
import json
import math
import random
from dataclasses import replace

import pytest
import torch

from sdiff import bundled, fetch
from sdiff.acceptance import Lossless
from sdiff.bench import quality
from sdiff.bench.readme import between
from sdiff.bench.settings import Setting
from sdiff.bench.store import Store
from sdiff.bench.sweep import Clock, measure_quality
from sdiff.decode import Plan, decode
from sdiff.drafters.block import CachedDenoiser
from sdiff.drafters.masked import MaskedDrafter
from sdiff.layers import Dimensions
from sdiff.pairs import ruled
from sdiff.sampling import Dice, Shape
from sdiff.tasks import TASKS, items
from sdiff.tasks.grading import grade
from sdiff.trace import MASKED, Denoise, Emit, Verdict, Verify
from sdiff.training import adapter, corpus, drafter, evaluate, shelf, teacher, trials
from sdiff.training.corpus import Row
from sdiff.verifier import Llama, Verifier

D = Dimensions(width=32, heads=4, kv_heads=2, head_width=8, feed_forward=48, layers=3, vocabulary=97, rope_base=10_000.0, epsilon=1e-5)
MASKED_RECIPE = drafter.Recipe(noise="masked", sources=(0, 2))
RECIPES = [
    *(drafter.Recipe(noise=noise, sources=(0, 2)) for noise in ("masked", "uniform", "both")),
    *(drafter.Recipe(sources=(0, 2), loss=loss) for loss in ("hard", "tv", "chain", "tau")),
    drafter.Recipe(sources=(1,), block=12, size=40, thought=False),
]


class Letters:
    """A tokenizer of single characters, as far as training needs one. Token 2 ends an answer."""

    eos_token_id = 2

    def encode(self, text, add_special_tokens=False):
        return [3 + ord(c) % 94 for c in text]

    def decode(self, ids, skip_special_tokens=False):
        return "".join(chr(32 + i) for i in ids)

    def apply_chat_template(self, messages, tokenize=True, **_):
        if not tokenize:
            return f"user: {messages[0]['content']} (end)"
        return [1, *self.encode(messages[0]["content"][-40:]), 1]


@pytest.fixture(scope="module")
def model() -> Llama:
    torch.manual_seed(0)
    llama = Llama(D)
    for parameter in llama.parameters():
        torch.nn.init.normal_(parameter, std=0.3) if parameter.dim() > 1 else torch.nn.init.ones_(parameter)
    return llama.requires_grad_(False).eval()


@pytest.fixture(scope="module")
def answers(model) -> list[Row]:
    prompts = ((i, [1, 5 + i % 7, 9], i) for i in range(corpus.HELD_OUT + 16))
    rows = teacher.Sampler(model, 4, 40, Shape(0.7), eos=2).run(prompts, 20)
    return [Row(i, TASKS[i % 3], "", p, a) for i, p, a in sorted(rows)]


# ── the teacher ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_sampler_answers_every_prompt_within_its_limits(answers):
    assert [row.index for row in answers] == list(range(corpus.HELD_OUT + 16))
    assert all(1 <= len(row.answer) <= 20 and len(row.prompt) + len(row.answer) <= 40 for row in answers)
    assert all(2 not in row.answer[:-1] for row in answers)


def test_an_answer_depends_on_its_own_seed_and_not_on_its_neighbours(model):
    def run(slots, seeds):
        return dict(
            (s, a)
            for s, _, a in teacher.Sampler(model, slots, 40, Shape(0.7), eos=2, prefix=[1]).run(
                ((s, [1, 5 + s % 7, 9], s) for s in seeds), 20
            )
        )

    alone = {s: run(1, [s])[s] for s in range(6)}
    assert run(3, range(6)) == run(4, [5, 4, 3, 2, 1, 0]) == alone
    assert len({tuple(a) for a in alone.values()}) > 3


def test_the_sampler_follows_the_verifiers_law(model):
    """First tokens of 4,000 answers against the exact law; chi-square over at most 96 degrees, false alarm about 1e-6."""
    runs = teacher.Sampler(model, 50, 8, Shape(0.7), eos=2).run(((i, [1, 5, 9], i) for i in range(4000)), 1)
    counts = torch.bincount(torch.tensor([a[0] for _, _, a in runs]), minlength=97).double()
    verifier = Verifier(model, context=16)
    verifier.prefill([1, 5])
    expected = Shape(0.7).law(verifier.score([9]))[0].double() * 4000
    big = expected >= 5
    rest = (counts[~big].sum() - expected[~big].sum()) ** 2 / expected[~big].sum().clamp(min=1)
    statistic = ((counts - expected)[big] ** 2 / expected[big]).sum() + rest
    freedom = int(big.sum())
    assert statistic < freedom + 4.9 * math.sqrt(2 * freedom) + 16  # Laurent–Massart bound at 1e-6 is 2√(13.8 k) + 27.6


def test_batched_reading_equals_the_decoders_verifier(model):
    ids = [1, 7, 30, 12, 55, 3, 8]
    past, hidden = teacher.read(model, torch.tensor([ids, [4] * 7]), (0, 2))
    verifier = Verifier(model, context=16)
    verifier.prefill([])
    logits = verifier.score(ids)
    torch.testing.assert_close(hidden[0] @ model.embedding.T, logits, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(hidden[0, -1], verifier.last_hidden(), atol=1e-4, rtol=1e-4)
    for (keys, values), layer in zip(past, (0, 2), strict=True):
        torch.testing.assert_close(keys[0], verifier.cache[layer, 0, 0, :, :7], atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(values[0], verifier.cache[layer, 1, 0, :, :7], atol=1e-5, rtol=1e-5)


def test_a_common_prefix_is_read_once_and_changes_nothing(model):
    ids = torch.tensor([[1, 7, 30, 12, 55, 3, 8], [1, 7, 30, 9, 9, 2, 4], [1, 7, 30, 60, 1, 7, 30]])
    assert teacher.common_prefix(ids.tolist()) == 3
    assert teacher.common_prefix([[1, 2, 3], [1, 2]]) == 1, "something is left of each"
    assert teacher.common_prefix([[5, 6]]) == 1
    once, again = copy.deepcopy(model).requires_grad_(True), copy.deepcopy(model).requires_grad_(True)
    past, hidden = teacher.read(once, ids, (0, 2))
    shared_past, shared_hidden = teacher.read(again, ids, (0, 2), prefix=3)
    torch.testing.assert_close(shared_hidden, hidden, atol=1e-5, rtol=1e-5)
    for one, other in zip(past, shared_past, strict=True):
        torch.testing.assert_close(other, one, atol=1e-5, rtol=1e-5)
    hidden[:, 3:].square().sum().backward()
    shared_hidden[:, 3:].square().sum().backward()
    for (name, one), (_, other) in zip(once.named_parameters(), again.named_parameters(), strict=True):
        if one.grad is not None:
            torch.testing.assert_close(other.grad, one.grad, atol=1e-3, rtol=1e-3, msg=name)


# ── the corpus ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_corpus_goes_on_where_it_was_interrupted(model, tmp_path, monkeypatch):
    monkeypatch.setattr(corpus, "MOST", 12)
    make = lambda count, name: corpus.make(model, Letters(), corpus.prompts(TASKS, "train"), count, tmp_path / name, slots=4)  # noqa: E731
    whole = make(14, "whole.jsonl")
    assert sorted(row.index for row in whole) == list(range(14))
    assert {row.task for row in whole} == set(TASKS)
    make(6, "half.jsonl")
    with (tmp_path / "half.jsonl").open("a") as file:
        file.write('{"index": 6, "task": "cha')
    assert sorted(make(14, "half.jsonl"), key=lambda row: row.index) == sorted(whole, key=lambda row: row.index)


def test_self_asked_prompts_are_what_stands_in_a_users_turn(model, tmp_path, monkeypatch):
    """The stand-in's tokens are its letters: whatever is sampled before the end of the turn becomes the prompt, and nothing else."""
    monkeypatch.setattr(corpus, "MOST", 30)
    items = list(corpus.self_asked(model, Letters(), 24, tmp_path / "asked.jsonl", slots=4))
    rows = corpus.load(tmp_path / "asked.jsonl")
    assert len(rows) == 24
    assert len({tuple(row.prompt) for row in rows}) == 1
    kept = [
        row
        for row in sorted(rows, key=lambda row: row.index)
        if row.answer[-1] == 2 and len(Letters().decode(row.answer[:-1]).strip()) >= 8
    ]
    assert [item.prompt for item in items] == [Letters().decode(row.answer[:-1]).strip() for row in kept]
    assert {(item.task, item.family) for item in items} == {("chat", "self-asked")}


def test_a_stored_corpus_is_the_same_bytes_whatever_the_order(answers, tmp_path):
    shuffled = random.Random(1).sample(answers, len(answers))
    corpus.store(answers, tmp_path / "a.jsonl.gz")
    corpus.store(shuffled, tmp_path / "b.jsonl.gz")
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()
    assert corpus.load(tmp_path / "b.jsonl.gz") == answers
    assert corpus.load(tmp_path / "none.jsonl") == []


# ── the adapter ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_adapter_learns_resumes_and_ships_what_it_learnt(model, answers, tmp_path):
    pytest.importorskip("peft")
    own = copy.deepcopy(model)
    run = adapter.Training(own, Letters(), answers)
    before = run.validate(answers, 6)
    losses = [run.step(0.1) for _ in range(6)]
    run.save(tmp_path / "half.pt")
    other = adapter.Training(copy.deepcopy(model), Letters(), answers)
    other.resume(tmp_path / "half.pt")
    assert run.step(0.5) == pytest.approx(other.step(0.5), abs=1e-6)
    after = run.validate(answers, 6)
    assert all(map(math.isfinite, losses))
    assert after["coding"] < before["coding"]
    assert after["reasoning"] < before["reasoning"]
    further = adapter.Training(copy.deepcopy(model), Letters(), answers, seed=8)
    further.begin_from(run.adapter())
    assert all(torch.equal(p, run.parameters[name]) for name, p in further.parameters.items())
    state = adapter.train(other, answers, other.state["seconds"] / 60, tmp_path / "half.pt")  # no time left
    assert state["step"] == 6

    config = {"scale": adapter.ALPHA / adapter.RANK, "verifier_sha256": fetch.SHA256}
    bundled.save({"adapter.safetensors": run.adapter()}, tmp_path / "adapter", {"date": "2026-01-01", "config": config})
    merged, ids = copy.deepcopy(model), torch.tensor([[1, 7, 30, 12, 55, 3, 8]])
    bundled.merge_adapter(merged, tmp_path / "adapter")
    _, trained = teacher.read(own, ids)
    _, loaded = teacher.read(merged, ids)
    _, plain = teacher.read(model, ids)
    assert (trained - loaded).abs().max() < 0.05 * (trained - plain).abs().max()  # float16 on disk


def test_laws_of_wordings_have_the_mean_loss_of_drawn_wordings():
    """For any model: averaged over the draw of a wording, cross-entropy against the laws is cross-entropy against the text."""
    wordings = [([5, 6, 2], 0.5), ([5, 7, 8, 2], 0.3), ([9, 2], 0.2)]

    def log_q(prefix: list[int], token: int) -> float:
        return float(torch.randn(97, generator=torch.Generator().manual_seed(hash(tuple(prefix)) % 2**31)).log_softmax(-1)[token])

    against_text = against_laws = 0.0
    for text, share in wordings:
        laws = adapter.next_laws(text, wordings)
        assert all(sum(law.values()) == pytest.approx(1) for law in laws)
        against_text -= share * sum(log_q(text[:i], token) for i, token in enumerate(text))
        against_laws -= share * sum(weight * log_q(text[:i], token) for i, law in enumerate(laws) for token, weight in law.items())
    assert against_laws == pytest.approx(against_text, rel=1e-9)
    assert adapter.next_laws([5, 7, 8, 2], wordings) == [
        pytest.approx({5: 0.8, 9: 0.2}),
        pytest.approx({6: 0.625, 7: 0.375}),
        {8: 1.0},
        {2: 1.0},
    ]


@pytest.mark.parametrize("task", ["reasoning", "coding"])
def test_worked_examples_know_what_else_could_stand(task):
    """The drawn tokens are among their laws, and the laws multiply to the probability of the drawn text."""
    letters = Letters()
    for example, item in zip(itertools.islice(adapter.worked(letters, task, "train", 3), 5), (i for i in items(task, "train", 3)
                             if len(letters.apply_chat_template([{"content": i.prompt}])) + len(i.solution) + 1 <= adapter.LONGEST), strict=False):  # fmt: skip
        assert example.answer == [*letters.encode(item.solution), letters.eos_token_id]
        share = math.prod(law[token] for law, token in zip(example.laws, example.answer, strict=True))
        assert share == pytest.approx(item.wordings[item.solution])
        assert sum(item.wordings.values()) == pytest.approx(1)


@pytest.fixture
def in_float32(monkeypatch):
    """No bfloat16 arithmetic, also where the processor has it: gradients can be compared to the last bits."""
    monkeypatch.setattr(adapter, "bf16_native", lambda: False)


@pytest.mark.usefixtures("in_float32")
def test_a_step_in_parts_has_the_gradient_of_the_whole(model, answers):
    pytest.importorskip("peft")
    run = adapter.Training(copy.deepcopy(model), Letters(), answers)
    rows = next(run.batches)
    assert sorted(map(id, itertools.chain(*run.parts(rows)))) == sorted(map(id, rows))
    run.loss(rows).backward()
    whole = {name: p.grad.clone() for name, p in run.parameters.items()}
    run.optimiser.zero_grad()
    for part in run.parts(rows):
        (run.loss(part) * sum(len(r.answer) for r in part) / sum(len(r.answer) for r in rows)).backward()
    for name, p in run.parameters.items():
        assert torch.allclose(p.grad, whole[name], atol=1e-6), name


@pytest.mark.usefixtures("in_float32")
def test_open_prompts_pull_towards_the_unadapted_law(model, answers):
    """Their loss is least where nothing has changed: its gradient is zero there."""
    pytest.importorskip("peft")
    run = adapter.Training(copy.deepcopy(model), Letters(), answers)
    rows = run.original(answers[:4])
    run.loss(rows).backward()
    assert max(float(p.grad.abs().max()) for p in run.parameters.values()) < 1e-5
    run.optimiser.zero_grad()
    run.loss([adapter.Example(row.prompt, row.answer) for row in rows]).backward()
    assert max(float(p.grad.abs().max()) for p in run.parameters.values()) > 1e-3


# ── the drafter ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("noise", ["masked", "uniform"])
def test_noise_covers_the_states_met_when_decoding(noise):
    """Shares of 40,000 blocks within 0.02: 8 standard deviations, false alarm below 1e-14."""
    clean = torch.arange(8).repeat(40_000, 1)
    canvas, level = drafter.noisy_blocks(clean, 50, torch.Generator().manual_seed(1), noise)
    settled = level == 0
    prefix = settled & (settled.cumprod(-1).sum(-1) == settled.sum(-1))[:, None] & (settled | (level == 1)).all(-1)[:, None]
    lengths = torch.bincount(prefix.sum(-1), minlength=9) / len(clean)
    assert (lengths[1:8] > 0.02).all(), "every length of a settled prefix occurs"
    assert lengths[8] < 0.01
    assert (canvas[settled] == clean[settled]).all()
    assert (canvas == MASKED).eq((level == 1) & (noise == "masked")).all()
    if noise == "uniform":
        assert abs((level == 1).all(-1).float().mean() - drafter.PURE) < 0.02
        whole = [((level == t).all(-1).float().mean() - 0.3 * 0.75 / 3).abs() < 0.02 for t in (1 / 2, 1 / 4, 1 / 8)]
        assert all(whole), "the last states of ancestral sampling in 2, 4 and 8 steps"
        kept = (canvas == clean)[(level == 1 / 4).all(-1)].float().mean()
        assert abs(kept - (0.75 + 0.25 / 50)) < 0.02


@pytest.mark.parametrize("noise", ["masked", "uniform"])
def test_tokens_that_cannot_be_shown_are_noise_and_their_level_does_not_tell(noise):
    clean = torch.tensor([1, 2, 3, -2, 5, 6, 7, 8]).repeat(20_000, 1)
    canvas, level = drafter.noisy_blocks(clean, 10, torch.Generator().manual_seed(2), noise)
    assert not (level[:, 4:][(level[:, 3] == 1)] == 0).any() or noise == "masked"
    if noise == "masked":
        assert (canvas[:, 3] == MASKED).all()
    else:
        assert (level[:, 3] == level[:, 7]).all(), "a level of its own would give away that the token is foreign"
        shares = torch.bincount(canvas[:, 3], minlength=10) / len(clean)
        assert ((shares - 0.1).abs() < 0.015).all()  # 7 standard deviations at n = 20,000: false alarm below 1e-10


def test_half_of_the_blocks_begin_behind_surprising_tokens(model, answers):
    run = drafter.Training(model, answers, [], MASKED_RECIPE)
    surprise, generator = run.shelf.fetch([0])[2][0], torch.Generator().manual_seed(1)
    row, mean = run.corpus[0], {}
    spots = torch.arange(len(row.prompt) - 1, len(row.prompt) + len(row.answer) - 1)
    for anchors in ("any", "surprising"):
        drawn = [
            run.lesson([0] * 8, generator, "masked", anchors).inputs[6][:, :: run.recipe.block, : len(surprise)].sum(-1) for _ in range(20)
        ]
        at = torch.cat(drawn).flatten()
        assert set(at.tolist()) <= set(spots.tolist())
        mean[anchors] = surprise[at].mean()
    assert abs(mean["any"] - surprise[spots].mean()) < 0.08  # 2,560 draws, 8 standard deviations at most
    assert mean["surprising"] > mean["any"]


def test_expected_acceptance_counts_only_what_the_draft_vocabulary_can_say(model, answers):
    run = drafter.Training(model, answers, [0, 1, 2], MASKED_RECIPE)
    whole = run.validate()
    run.inverse[40:] = -2
    run.network.ids, run.network.rows = run.network.ids[:40], run.network.rows[:40]
    cut = run.validate()
    assert set(whole) == {"masked"}
    assert set(whole["masked"]) == set(TASKS)
    assert all(c < 0.9 for values in cut["masked"].values() for c in values)
    assert whole != cut


def test_prose_is_drawn_as_often_as_the_tasks_together_and_held_out_answers_never():
    kinds = [("reasoning", "x")] * 100 + [("coding", "x")] * 50 + [("chat", "x")] * 30 + [("chat", corpus.SELF_ASKED)] * 420
    rows = [Row(i, task, family, [1], [2, 3]) for i, (task, family) in enumerate(kinds)]
    odds = corpus.row_odds(rows)
    held = {i for i, odd in enumerate(odds) if odd == 0}
    assert held == {*range(corpus.HELD_OUT), 200, 300, 400, 500}
    for prose, chat in ((0.5, 2), (0.75, 6)):  # against one other task
        odds = corpus.row_odds(rows, prose)
        total = {task: sum(odds[i].item() for i, row in enumerate(rows) if row.task == task) for task in TASKS}
        assert total["coding"] == pytest.approx(1, abs=1e-5)
        assert total["chat"] == pytest.approx(chat * 446 / 450, abs=1e-5)
    assert len({odds[i].item() for i in range(180, 600)} - {0.0}) == 1


def test_what_was_read_once_is_not_read_again(model, answers, monkeypatch):
    run = drafter.Training(model, answers, [], MASKED_RECIPE)
    first, hidden, _ = run.shelf.fetch([3, 4])
    monkeypatch.setattr(shelf, "read", None)
    again, same, _ = run.shelf.fetch([3, 4])
    assert torch.equal(hidden, same)
    assert all(torch.equal(a, b) for one, other in zip(first, again, strict=True) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("recipe", RECIPES, ids=str)
def test_a_run_learns_resumes_ships_and_drafts(model, answers, recipe, tmp_path):
    run = drafter.Training(model, answers, [0, 1, 2], recipe)
    same = [0, *range(corpus.HELD_OUT, corpus.HELD_OUT + 7)]
    on = lambda: float(run.loss(run.lesson(same, torch.Generator().manual_seed(9), recipe.noise)))  # noqa: E731
    before = on()
    assert all(math.isfinite(run.step(0.1)) for _ in range(12))
    assert on() < before
    assert all(0 <= a <= 1 for tasks in run.validate().values() for values in tasks.values() for a in values)
    run.save(tmp_path / "half.pt")
    again = drafter.Training(model, answers, [0, 1, 2], recipe)
    again.resume(tmp_path / "half.pt")
    assert run.step(0.5) == pytest.approx(again.step(0.5), abs=1e-6)
    further = drafter.Training(model, answers, [0, 1, 2], recipe, start=again.network)
    assert torch.equal(further.network.ids, again.network.ids)
    assert all(torch.equal(p, q) for p, q in zip(further.network.parameters(), again.network.parameters(), strict=True))
    history = drafter.train(again, again.state["seconds"] / 60, tmp_path / "half.pt")  # no time left: validates and returns
    assert history["step"] == 12

    bundled.save_drafter(again.network, tmp_path / "out", {"training_temperature": 0.7, "date": "2026-01-01"})
    network, card = bundled.load_drafter(model, tmp_path / "out", torch.device("cpu"), torch.float32)
    verifier = Verifier(model, context=32)
    events = decode(verifier, MaskedDrafter(CachedDenoiser(network, verifier, card["training_temperature"]), Shape(0.7)), Lossless(), Shape(0.7),
                    [1, 5, 9], Plan(8, 4, 9, ()), Dice(0))  # fmt: skip
    assert len(list(events)[-1].tokens) == 9


def test_trials_are_kept_and_not_repeated_and_can_begin_from_a_trained_network(model, answers, tmp_path, monkeypatch):
    recipe = replace(MASKED_RECIPE, noise="both")
    monkeypatch.setattr(trials, "TRIALS", {"one": MASKED_RECIPE, "two": replace(MASKED_RECIPE, loss="tv")})
    monkeypatch.setattr(trials, "FURTHER", {"three": recipe})
    monkeypatch.setattr(trials, "TENTH", 2)
    path, start = tmp_path / "trials.json", drafter.Training(model, answers, [0, 1, 2], recipe).network
    asked = []
    real = trials.Training
    monkeypatch.setattr(trials, "Training", lambda *args: asked.append((len(args[1]), args[-1])) or real(*args))
    for network in (None, None, start):
        about = {"adapter": "a", "hardware": {}, **({"start": "s"} if network else {})}
        trials.compare(model, answers, [0, 1, 2], 1e-9, path, about, tmp_path, network)
    assert asked == [(corpus.HELD_OUT + len(answers[corpus.HELD_OUT :: 2]), network) for network in (None, None, start)]
    assert [row["name"] for row in trials.summary(path)] == ["one", "two", "three"]
    assert all(1 <= tau <= 9 for row in trials.summary(path) for tasks in row["expected_tau"].values() for tau in tasks.values())


# ── the measurements ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_measured_rows_are_stored_resumed_and_reported(model, answers, tmp_path, monkeypatch):
    monkeypatch.setattr(quality, "MOST", dict.fromkeys(TASKS, 12))
    wanted = [
        Setting("reasoning"),
        Setting("reasoning", "masked", 1),
        Setting("chat", "masked", 1),
        Setting("reasoning", "uniform", 4, 0.4),
        Setting("reasoning", "masked", 8, 0.1, "tv_bank", proposal="paced"),
    ]
    network = drafter.Training(model, answers, [0, 1, 2], MASKED_RECIPE).network
    encode = lambda prompt: corpus.chat_tokens(Letters(), prompt)  # noqa: E731
    bench = quality.Bench(model, network, 0.7, Letters(), encode, {2}, 0.7, grade)
    names = {"verifier": "v", "adapter": "a", "drafter": "d"}

    def measure(n: int, minutes: float, models: dict[str, str] = names) -> bool:
        return measure_quality(bench, {"seed": 3, "temperature": 0.7}, Store(tmp_path / "frontier"), models, [(wanted, n)], Clock(minutes))

    assert not measure(3, 0.0)
    assert not tmp_path.joinpath("frontier").exists(), "no time: nothing measured"
    assert measure(3, 5.0)
    rows = evaluate.figures(tmp_path, names)
    assert {setting: row["n"] for setting, row in rows.items()} == dict.fromkeys(wanted, 3)
    plain, one, chat, four, banked = (rows[setting] for setting in wanted)
    assert plain["tau"] == 1
    assert 1 <= one["tau"] <= 9
    assert plain["low"] <= plain["accuracy"] <= plain["high"]
    assert "accuracy" not in chat
    assert (one["tv"], one["kl"]) == (0, 0), "lossless"
    assert four["tv"] > 0
    assert four["kl"] > 0
    assert 0 < banked["tv"] <= 0.1 + 1e-6, "mean TV within its budget"
    assert banked["kl"] > 0
    assert all(row["nll"] > 0 for row in rows.values())

    figures = evaluate.report(tmp_path, names, 3)
    assert figures["verifier"]["reasoning"] == {k: plain[k] for k in ("accuracy", "low", "high", "n")}
    for noise in ("masked", "uniform"):  # of one law at S = 1
        assert figures["tau"][noise]["S1"] == {"reasoning": one["tau"], "coding": None, "chat": chat["tau"]}
    assert figures["bytes"] == sum(file.stat().st_size for file in (tmp_path / "frontier").iterdir())
    assert json.loads(json.dumps(figures)) == figures
    assert evaluate.report(tmp_path, names)["tau"]["masked"]["S1"]["reasoning"] is None, "too few problems"
    assert evaluate.report(tmp_path, {**names, "drafter": "new"}, 3)["tau"]["masked"]["S1"]["reasoning"] is None, "other models"
    assert len(evaluate.bars(figures)) == 19
    assert [name for name, *_ in evaluate.curves(tmp_path, names)] == [setting.name for setting in rows if setting.noise]

    before = Store(tmp_path / "frontier").rows("quality")
    assert measure(5, 5.0)
    after = Store(tmp_path / "frontier").rows("quality")
    assert len(after) == 25
    assert after[after["problem"] < 3].reset_index(drop=True).drop(columns="run").equals(before.drop(columns="run")), "nothing twice"


@pytest.mark.parametrize(("rule", "leniency"), [("tv", 0.4), ("tv", 0.0), ("tv_bank", 0.1)])
def test_what_is_kept_of_a_problem_is_what_its_events_say(model, answers, monkeypatch, rule, leniency):
    """TV and NLL summed over a text, against the verdicts of the same run."""
    monkeypatch.setattr(quality, "MOST", dict.fromkeys(TASKS, 24))
    network = drafter.Training(model, answers, [0, 1, 2], MASKED_RECIPE).network
    seen = []

    def listening(name, lam, run):
        for event in ruled(name, lam, run):
            seen.append(event)
            yield event

    monkeypatch.setattr(quality, "ruled", listening)
    bench = quality.Bench(model, network, 0.7, Letters(), lambda prompt: corpus.chat_tokens(Letters(), prompt), {2}, 0.7, grade)
    [outcome] = bench.outcomes(Setting("reasoning", "masked", 4, leniency, rule), range(1))
    verdicts, emits = [e for e in seen if isinstance(e, Verdict)], [e for e in seen if isinstance(e, Emit)]
    assert outcome.tokens == sum(len(e.tokens) for e in emits) > 3
    assert any(not v.accepted for v in verdicts)
    spent = sum(v.tv * (v.f - v.p) / (v.q - v.p) for v in verdicts if abs(v.q - v.p) > 1e-9)
    assert outcome.tv == pytest.approx(spent, rel=1e-3, abs=1e-6)
    nll = -sum(math.log(v.p) for v in verdicts if v.accepted) - sum(math.log(e.p) for e in emits if e.extra)
    assert outcome.nll == pytest.approx(nll, rel=1e-6)
    assert outcome.kl >= 0
    assert (outcome.tv > 0.01) == (leniency > 0)


def test_the_price_of_a_step_counts_whole_blocks_only():
    blank = {"cycle": 1, "at": 0.0}

    def block(n, ms, step_ms):
        yield Denoise(step=0, steps=2, canvas=(MASKED,) * n, fixed=(False,) * n, ms=99.0, **blank)
        yield Denoise(step=1, steps=2, canvas=(1,) * n, fixed=(True,) * n, ms=step_ms, **blank)
        yield Verify(anchor=1, tokens=(1,) * n, fixed_at=(1,) * n, draft_ms=0.0, ms=ms, **blank)

    cost = evaluate.step_cost(iter([*block(8, 40.0, 6.0), *block(8, 50.0, 5.0), *block(8, 45.0, 7.0), *block(3, 1.0, 1.0)]))
    assert cost == {"step_ms": 6.0, "verify_ms": 45.0, "ratio": round(6 / 45, 4), "cycles": 3}


def test_the_likelihood_is_that_of_the_answers_alone(model, answers):
    rows = answers[:5]
    total, count = 0.0, 0
    for row in rows:
        verifier = Verifier(model, 64)
        verifier.prefill(row.prompt[:-1])
        logs = verifier.score([row.prompt[-1], *row.answer[:-1]]).log_softmax(-1)
        total -= float(logs.gather(-1, torch.tensor(row.answer)[:, None]).sum())
        count += len(row.answer)
    assert evaluate.likelihood(model, rows, batch=2) == pytest.approx(total / count, abs=1e-4)


def test_the_readme_shows_what_is_stored():
    """`python -m sdiff.training report --write README.md` brings it up to date."""
    text = (bundled.PRECOMPUTED.parent / "README.md").read_text(encoding="utf-8")
    table = evaluate.markdown(bundled.PRECOMPUTED, bundled.names(bundled.PRECOMPUTED))
    assert between(text, "measured models", table) == text
    with pytest.raises(ValueError, match="no line"):
        between(text, "unheard of", table)
