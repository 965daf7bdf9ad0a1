"""Training on a tiny random verifier: the same code as the real one, in seconds."""

import math

import pytest
import torch

from sdiff import bundled
from sdiff.acceptance import Lossless
from sdiff.decode import Plan, decode
from sdiff.drafters.block import CachedDenoiser
from sdiff.drafters.masked import MaskedDrafter
from sdiff.layers import Dimensions
from sdiff.sampling import Dice, Shape
from sdiff.trace import MASKED
from sdiff.training import corpus, drafter, teacher
from sdiff.verifier import Llama, Verifier

D = Dimensions(width=32, heads=4, kv_heads=2, head_width=8, feed_forward=48, layers=3, vocabulary=97, rope_base=10_000.0, epsilon=1e-5)


@pytest.fixture(scope="module")
def model() -> Llama:
    torch.manual_seed(0)
    llama = Llama(D)
    for parameter in llama.parameters():
        torch.nn.init.normal_(parameter, std=0.3) if parameter.dim() > 1 else torch.nn.init.ones_(parameter)
    return llama.requires_grad_(False).eval()


@pytest.fixture(scope="module")
def answers(model) -> list:
    prompts = iter([[1, 5 + i % 7, 9] for i in range(drafter.HELD_OUT + 16)])
    return list(teacher.Sampler(model, 4, 40, Shape(0.7), eos=2, seed=3).run(prompts, 20))


def test_the_sampler_answers_every_prompt_within_its_limits(answers):
    assert len(answers) == drafter.HELD_OUT + 16
    assert all(1 <= len(a) <= 20 and len(p) + len(a) <= 40 for p, a in answers)
    assert all(2 not in a[:-1] for _, a in answers)


def test_the_sampler_follows_the_verifiers_law(model):
    """First tokens of 4,000 answers against the exact law; chi-square over 96 degrees, false alarm about 1e-6."""
    runs = teacher.Sampler(model, 50, 8, Shape(0.7), eos=2, seed=11).run(iter([[1, 5, 9]] * 4000), 1)
    counts = torch.bincount(torch.tensor([a[0] for _, a in runs]), minlength=97).double()
    verifier = Verifier(model, context=16)
    verifier.prefill([1, 5])
    law = Shape(0.7).law(verifier.score([9]))[0].double()
    expected = law * 4000
    big = expected >= 5
    statistic = ((counts - expected)[big] ** 2 / expected[big]).sum() + (counts[~big].sum() - expected[~big].sum()) ** 2 / expected[
        ~big
    ].sum().clamp(min=1)
    freedom = int(big.sum())
    assert statistic < freedom + 4.9 * math.sqrt(2 * freedom) + 16  # Laurent–Massart bound at 1e-6 is 2√(13.8 k) + 27.6


def test_batched_reading_equals_the_decoders_verifier(model):
    ids = [1, 7, 30, 12, 55, 3, 8]
    past, hidden = teacher.read(model, torch.tensor([ids, [4] * 7]), (0, 2))
    verifier = Verifier(model, context=16)
    verifier.prefill([])
    logits = verifier.score(ids)
    torch.testing.assert_close(hidden[0] @ model.embedding.T, logits, atol=1e-4, rtol=1e-4)
    for (keys, values), layer in zip(past, (0, 2), strict=True):
        torch.testing.assert_close(keys[0], verifier.cache[layer, 0, 0, :, :7], atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(values[0], verifier.cache[layer, 1, 0, :, :7], atol=1e-5, rtol=1e-5)


def test_noise_covers_the_states_met_when_decoding():
    clean = torch.arange(8).repeat(4000, 1)
    canvas, level, as_mask = drafter.noisy_blocks(clean, 50, torch.Generator().manual_seed(1), "both")
    pure = (level == 1).all(-1)
    assert 0.35 < pure.float().mean() < 0.7  # false alarm far below 1e-9 at n = 4,000
    assert ((canvas == MASKED) == ((level == 1) & as_mask)).all()
    prefix = (level[:, 0] == 0) & (level[:, -1] == 1) & ((level == 0) | (level == 1)).all(-1) & ~as_mask[:, 0]
    assert prefix.any()
    assert (canvas[(level == 0)] == clean[(level == 0)]).all()
    assert canvas.min() >= MASKED
    assert canvas.max() < 50


def test_tokens_outside_the_draft_vocabulary_are_shown_as_noise():
    clean = torch.full((5000, 8), -2)
    canvas, level, as_mask = drafter.noisy_blocks(clean, 10, torch.Generator().manual_seed(2), "both")
    assert (level == 1).all()
    assert (canvas[as_mask] == MASKED).all()
    shares = torch.bincount(canvas[~as_mask], minlength=10) / (~as_mask).sum()
    assert ((shares - 0.1).abs() < 0.015).all()  # 7 standard deviations at n ≈ 20,000: false alarm below 1e-10


def test_expected_acceptance_counts_only_what_the_draft_vocabulary_can_say(model, answers):
    run = drafter.Training(model, answers, [0, 1, 2], "both", sources=(0, 2))
    whole = run.validate()
    run.inverse[40:] = -2
    run.network.ids, run.network.rows = run.network.ids[:40], run.network.rows[:40]
    cut = run.validate()
    assert all(c < 0.9 for values in cut.values() for c in values)
    assert whole != cut


@pytest.mark.parametrize("noise", ["masked", "uniform", "both"])
def test_a_run_learns_resumes_ships_and_drafts(model, answers, noise, tmp_path):
    run = drafter.Training(model, answers, [0, 1, 2], noise, sources=(0, 2))
    before = run.validate()
    losses = [run.step(0.1) for _ in range(12)]
    assert all(math.isfinite(x) for x in losses)
    assert sum(losses[-4:]) < sum(losses[:4])
    assert all(0 <= a <= 1 for values in before.values() for a in values)
    run.save(tmp_path / "half.pt")
    again = drafter.Training(model, answers, [0, 1, 2], noise, sources=(0, 2))
    again.resume(tmp_path / "half.pt")
    assert run.step(0.5) == pytest.approx(again.step(0.5), abs=1e-6)
    history = drafter.train(again, again.state["seconds"] / 60, tmp_path / "half.pt")  # no time left: validates and returns
    assert history["step"] == 12

    bundled.save_drafter(again.network, tmp_path / "out", {"training_temperature": 0.7, "date": "2026-01-01"})
    network, card = bundled.load_drafter(model, tmp_path / "out", torch.device("cpu"), torch.float32)
    verifier = Verifier(model, context=32)
    events = decode(verifier, MaskedDrafter(CachedDenoiser(network, verifier, card["training_temperature"]), Shape(0.7)), Lossless(), Shape(0.7),
                    [1, 5, 9], Plan(8, 4, 9, ()), Dice(0))  # fmt: skip
    assert len(list(events)[-1].tokens) == 9


def test_the_corpus_file_survives_an_interruption(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_text("[[1, 2], [3]]\n[[4], [5, 6]]\n[[7], [8")
    assert corpus.load(path) == [([1, 2], [3]), ([4], [5, 6])]
    assert corpus.load(tmp_path / "none.jsonl") == []
