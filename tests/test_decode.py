"""The loop on table models: ends, limits, failures, stopping, seeds and counts. Its laws are in test_blocks.py and test_enumeration.py."""

import math
from collections import Counter
from itertools import zip_longest

import pytest
import torch
from toys import ANY_ORDER, EXACT, TableDenoiser, TableVerifier, timeless

from sdiff.acceptance import Lossless, make_rule
from sdiff.decode import Plan, decode
from sdiff.drafters import NoDrafter
from sdiff.request import RULES
from sdiff.sampling import Dice, NonFiniteLogits, Shape
from sdiff.trace import MASKED, Denoise, Emit, End, Prefill, Trace, Verdict, Verify, recompute

DRAFTERS = {**EXACT, **ANY_ORDER}
PROMPT = [1, 0, 2]


def readable(tokens):
    return "".join(f"<{t}>" for t in tokens)


def run(
    name="masked monotone",
    size=5,
    gamma=4,
    steps=2,
    limit=30,
    eos=(),
    seed=0,
    rule=None,
    shape=None,
    verifier=None,
    denoiser=None,
    detail=True,
    stop=lambda: False,
    prompt=PROMPT,
):
    """Events of one decode, as a generator."""
    verifier = verifier or TableVerifier(size)
    drafter = DRAFTERS[name](denoiser or TableDenoiser(size, verifier=verifier), shape or Shape()) if name else NoDrafter(size)
    return decode(
        verifier, drafter, rule or Lossless(), shape or Shape(), prompt, Plan(gamma, steps, limit, eos, detail), Dice(seed), readable, stop
    )


def of(events, cls):
    return [e for e in events if isinstance(e, cls)]


def point_mass(token, size):
    row = torch.full((size,), -math.inf, dtype=torch.float64)
    row[token] = 0.0
    return row


def scripted(text, size, prompt=PROMPT):
    """A verifier that can only say `text`, then its last token for ever."""
    return TableVerifier(size, logits=lambda prefix: point_mass(text[min(max(0, len(prefix) - len(prompt)), len(text) - 1)], size))


def scripted_drafts(text, size, prompt=PROMPT):
    def logits(context, canvas, _level):
        done = len(context) - len(prompt)
        return torch.stack([point_mass(text[min(done + i, len(text) - 1)], size) for i in range(len(canvas))])

    return TableDenoiser(size, logits=logits)


def check_counts(events, gamma):
    """Everything the end event counts, counted again from the other events; and the order of events."""
    end, emits, verdicts, verifies = events[-1], of(events, Emit), of(events, Verdict), of(events, Verify)
    assert isinstance(events[0], Prefill)
    assert isinstance(end, End)
    assert end.tokens == tuple(t for e in emits for t in e.tokens)
    assert end.text == "".join(e.text for e in emits) == readable(end.tokens)
    assert [e.at for e in events] == sorted(e.at for e in events)
    finished_ms = sum(end.stats["ms"].values())  # a cycle that was stopped or broke takes time but counts nowhere
    assert end.at >= finished_ms - 1e-6
    assert end.reason in ("stopped", "error") or end.at == pytest.approx(finished_ms)
    if not emits:
        return
    assert [e.cycle for e in emits] == list(range(1, len(emits) + 1))
    stats = end.stats
    finished = {e.cycle for e in emits}
    assert (stats["tokens"], stats["cycles"]) == (len(end.tokens), len(emits))
    assert stats["tau"] == pytest.approx(len(end.tokens) / len(emits))
    ended = {e.cycle: len(e.tokens) for e in emits if not e.extra}  # the text ended inside these blocks
    drafted = Counter(i for v in verifies if v.cycle in finished for i in range(1, ended.get(v.cycle, len(v.tokens)) + 1))
    examined, accepted = Counter(v.position for v in verdicts), Counter(v.position for v in verdicts if v.accepted)
    for key, counter in (("drafted", drafted), ("examined", examined), ("accepted", accepted)):
        assert stats[key] == [counter[i] for i in range(1, gamma + 1)]
    assert stats["lenient"] == sum(v.lenient for v in verdicts)
    anchor = None
    for emit, verify in zip(emits, verifies):
        mine = [v for v in verdicts if v.cycle == emit.cycle]
        kept = [v.token for v in mine if v.accepted]
        assert [v.position for v in mine] == list(range(1, len(mine) + 1))
        assert all(v.accepted for v in mine[:-1]), "nothing behind a refusal is examined"
        assert [v.token for v in mine] == list(verify.tokens[: len(mine)])
        assert list(emit.tokens[: emit.accepted]) == kept
        assert emit.accepted == len(kept)
        assert len(emit.tokens) == emit.accepted + bool(emit.extra)
        assert (emit.extra == "correction") == (bool(mine) and not mine[-1].accepted)
        assert anchor in (None, verify.anchor)
        anchor = emit.tokens[-1]
        for v in mine:
            assert recompute(v) == (v.keep, v.accepted, v.lenient)


@pytest.mark.parametrize("name", [*DRAFTERS, ""])
@pytest.mark.parametrize("seed", range(4))
def test_counts_and_canvases_agree_with_the_events(name, seed):
    gamma, eos, rule = 4, {3} if seed % 2 else (), make_rule(list(RULES)[seed], 0.3)
    events = list(run(name, gamma=gamma, steps=seed + 1, limit=25, eos=eos, seed=seed, rule=rule, shape=Shape((1.0, 0.7, 0.0, 1.2)[seed])))
    check_counts(events, gamma)
    for verify in of(events, Verify):
        canvases = [e for e in of(events, Denoise) if e.cycle == verify.cycle]
        assert [e.step for e in canvases] == list(range(len(canvases)))
        assert all(e.steps == len(canvases) - 1 or (name == "masked paced" and e.steps >= len(canvases) - 1) for e in canvases)
        if not canvases:
            assert verify.tokens == ()
            continue
        assert canvases[-1].canvas == verify.tokens
        assert all(canvases[-1].fixed)
        for i, (token, step) in enumerate(zip(verify.tokens, verify.fixed_at)):
            values = [e.canvas[i] for e in canvases]
            assert 1 <= step < len(canvases)
            assert set(values[step:]) == {token}, "the final value holds from its step on"
            assert all(v == token for e, v in zip(canvases, values) if e.fixed[i])
            if name.startswith("masked"):
                assert set(values[:step]) == {MASKED}
            elif "final_step" in name or "one_hot" in name:
                assert step == 1 or values[step - 1] != token


@pytest.mark.parametrize("ending", ["drafted", "last drafted", "correction", "bonus"])
def test_nothing_is_emitted_or_counted_behind_an_end_of_sequence(ending):
    text = {"drafted": [0, 4, 2, 1], "last drafted": [0, 2, 1, 4], "correction": [0, 4, 2, 1], "bonus": [0, 2, 1, 3, 4]}[ending]
    drafts = [0, 3, 2, 1] if ending == "correction" else text
    events = list(run(gamma=4, limit=20, eos={4}, verifier=scripted(text, 5), denoiser=scripted_drafts(drafts, 5)))
    check_counts(events, 4)
    (emit,), end = of(events, Emit), events[-1]
    assert end.reason == "eos"
    assert end.tokens == tuple(text[: text.index(4) + 1])
    assert emit.extra == {"correction": "correction", "bonus": "bonus"}.get(ending, "")
    assert end.stats["examined"] == {"drafted": [1, 1, 0, 0], "correction": [1, 1, 0, 0]}.get(ending, [1, 1, 1, 1])
    assert end.stats["accepted"] == {"drafted": [1, 1, 0, 0], "correction": [1, 0, 0, 0]}.get(ending, [1, 1, 1, 1])
    assert end.stats["drafted"] == {"drafted": [1, 1, 0, 0]}.get(ending, [1, 1, 1, 1])


GAMMA = 3


@pytest.mark.parametrize("limit", [0, 1, 2, GAMMA, GAMMA + 1, GAMMA + 2, 4 * GAMMA])
@pytest.mark.parametrize("kind", ["all accepted", "all refused", "mixed", "plain"])
def test_the_token_limit_is_met_exactly(limit, kind):
    right, wrong = [0, 1, 2, 3, 4] * 5, [4, 0, 1, 2, 3] * 5
    verifier = TableVerifier(5) if kind == "mixed" else scripted(right, 5)
    denoiser = TableDenoiser(5) if kind == "mixed" else scripted_drafts(right if kind == "all accepted" else wrong, 5)
    events = list(run("" if kind == "plain" else "masked monotone", gamma=GAMMA, limit=limit, verifier=verifier, denoiser=denoiser))
    check_counts(events, GAMMA)
    assert (events[-1].reason, len(events[-1].tokens)) == ("limit", limit)
    if kind == "all accepted":
        assert events[-1].stats["cycles"] == math.ceil(limit / (GAMMA + 1))
        assert {e.extra for e in of(events, Emit)} <= {"bonus"}
        assert events[-1].stats["examined"] == events[-1].stats["accepted"] == events[-1].stats["drafted"]
    if kind == "plain":
        assert {e.extra for e in of(events, Emit)} <= {"bonus"}
        assert events[-1].stats["drafted"] == [0] * GAMMA, "a drafter may return fewer drafts than asked for"
    if kind in ("all refused", "plain"):
        assert events[-1].stats["cycles"] == limit
    if kind != "mixed":
        assert list(events[-1].tokens) == right[:limit]


def test_refused_at_position_one_twenty_times_in_a_row():
    right, wrong = [0, 1, 2] * 10, [3, 4] * 15
    events = list(run(gamma=4, limit=20, verifier=scripted(right, 5), denoiser=scripted_drafts(wrong, 5)))
    check_counts(events, 4)
    assert list(events[-1].tokens) == right[:20]
    assert [e.extra for e in of(events, Emit)] == ["correction"] * 19 + ["bonus"]  # the last block is empty
    assert events[-1].stats["examined"] == [19, 0, 0, 0]
    assert events[-1].stats["accepted"] == [0, 0, 0, 0]
    assert events[-1].stats["tau"] == 1


@pytest.mark.parametrize("name", DRAFTERS)
@pytest.mark.parametrize("ids", [[0, 4], [4, 0, 2], None])
def test_no_token_id_is_special(name, ids):
    """First and last id, and ids that are another position in the draft vocabulary, pass through drafts like any other."""
    verifier = TableVerifier(5, logits=lambda prefix: torch.tensor([3.0, 0, 0, 0, 3.0], dtype=torch.float64) * (1 + len(prefix) % 2))
    events = list(run(name, gamma=3, limit=40, verifier=verifier, denoiser=TableDenoiser(5, ids=ids, verifier=verifier)))
    check_counts(events, 3)
    assert len(events[-1].tokens) == 40
    allowed = set(range(5) if ids is None else ids)
    assert {t for v in of(events, Verify) for t in v.tokens} <= allowed
    assert {t for d in of(events, Denoise) for t in d.canvas} <= allowed | {MASKED}
    assert {0, 4} <= {v.token for v in of(events, Verdict) if v.accepted}


@pytest.mark.parametrize("who", ["verifier", "drafter"])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_nan_ends_the_run_with_the_text_so_far(who, temperature):
    verifier = TableVerifier(5, fail_at=4 if who == "verifier" else 0)
    denoiser = TableDenoiser(5, fail_at=8 if who == "drafter" else 0)
    reference = list(run(limit=30, shape=Shape(temperature)))[-1].tokens
    trace = Trace()
    with pytest.raises(NonFiniteLogits, match="not finite"):
        list(trace.record(run(limit=30, verifier=verifier, denoiser=denoiser, shape=Shape(temperature))))
    events = trace.events
    check_counts(events, 4)
    end = events[-1]
    assert (end.reason, end.error) == ("error", "the model returned numbers that are not finite")
    assert len(of(events, Emit)) == 3
    assert end.tokens == reference[: len(end.tokens)]


@pytest.mark.parametrize("name", ["masked monotone", "uniform final_step", ""])
@pytest.mark.parametrize("context", [3, 4, 6, 9])
def test_the_end_of_the_context(name, context):
    verifier = TableVerifier(5, context=context)
    events = list(run(name, gamma=3, limit=100, verifier=verifier))
    check_counts(events, 3)
    assert events[-1].reason == "context"
    assert len(events[-1].tokens) == context - len(PROMPT) + 1  # the last token needs no room: it is never read


@pytest.mark.parametrize("name", ["masked monotone", "masked any_order", "uniform monotone", "uniform final_step"])
@pytest.mark.parametrize("passes", range(7))
def test_stop_is_heard_within_one_denoising_pass(name, passes):
    verifier = TableVerifier(5)
    denoiser = TableDenoiser(5, verifier=verifier)
    events = list(run(name, gamma=3, steps=3, limit=100, verifier=verifier, denoiser=denoiser, stop=lambda: denoiser.passes >= passes))
    check_counts(events, 3)
    assert events[-1].reason == "stopped"
    assert denoiser.passes == passes
    assert len(of(events, Verify)) == len(of(events, Emit)) <= passes // 3 + 1


def test_a_long_prompt_is_read_in_chunks_with_a_chance_to_stop_after_each():
    prompt = [i % 5 for i in range(11)]
    for chunk in (1, 3, 5, 10, 11, 50):
        verifier, plan = TableVerifier(5), Plan(3, 2, 6, (), chunk=chunk)
        events = list(decode(verifier, NoDrafter(5), Lossless(), Shape(), prompt, plan, Dice(0)))
        reads = [e.tokens for e in of(events, Prefill)]
        assert sum(reads) == 10
        assert max(reads) <= chunk
        assert (
            events[-1].tokens
            == list(decode(TableVerifier(5), NoDrafter(5), Lossless(), Shape(), prompt, Plan(3, 2, 6, ()), Dice(0)))[-1].tokens
        )
    stopped = list(
        decode(TableVerifier(5), NoDrafter(5), Lossless(), Shape(), prompt, Plan(3, 2, 6, (), chunk=2), Dice(0), stop=lambda: True)
    )
    assert [e.kind for e in stopped] == ["prefill", "end"]
    assert stopped[-1].reason == "stopped"


def test_stop_is_heard_without_a_drafter():
    cycles = []
    events = list(run("", limit=100, stop=lambda: len(cycles) >= 5 or cycles.append(0)))
    assert (events[-1].reason, len(events[-1].tokens)) == ("stopped", 4)  # asked once behind the prompt, then before every token


def test_closing_the_generator_anywhere_is_silent_and_the_next_run_is_unaffected():
    verifier = TableVerifier(5)
    whole = timeless(list(run(limit=8, verifier=verifier)))
    for n in range(len(whole) + 1):
        events = run(limit=8, verifier=verifier)
        assert timeless([e for e, _ in zip(events, range(n))]) == whole[:n]
        events.close()
        with pytest.raises(StopIteration):
            next(events)
    assert timeless(list(run(limit=8, verifier=verifier))) == whole


@pytest.mark.parametrize("name", [*DRAFTERS, ""])
def test_a_run_is_a_function_of_its_seed(name):
    state = torch.get_rng_state()
    runs = {}
    for seed in (0, 1):
        torch.manual_seed(123 + seed)
        runs[seed] = timeless(list(run(name, seed=seed)))
        torch.manual_seed(7)
        assert timeless(list(run(name, seed=seed))) == runs[seed]
    assert runs[0] != runs[1]
    torch.set_rng_state(state)
    list(run(name))
    assert torch.equal(torch.get_rng_state(), state)


def test_interleaved_runs_do_not_touch_each_other():
    names, alone = ["masked monotone", "uniform final_step", ""], {}
    for i, name in enumerate(names):
        alone[name] = timeless(list(run(name, seed=i)))
    live = [run(name, seed=i) for i, name in enumerate(names)]
    mixed = list(zip_longest(*live))
    for i, name in enumerate(names):
        assert timeless([row[i] for row in mixed if row[i] is not None]) == alone[name]


@pytest.mark.parametrize("name", [*DRAFTERS, ""])
def test_detail_changes_nothing_but_what_is_recorded(name):
    full, bare = list(run(name, detail=True)), list(run(name, detail=False))
    assert full[-1].tokens == bare[-1].tokens
    assert not of(bare, Denoise)
    assert all(not v.top_p and not v.top_q for v in of(bare, Verdict))
    assert [(v.token, v.p, v.q, v.f, v.u) for v in of(full, Verdict)] == [(v.token, v.p, v.q, v.f, v.u) for v in of(bare, Verdict)]
    check_counts(bare, 4)


@pytest.mark.parametrize("name", DRAFTERS)
@pytest.mark.parametrize("rule", RULES)
def test_the_strict_end_of_every_rule_is_the_lossless_run_bit_for_bit(name, rule):
    for seed, temperature in ((0, 1.0), (1, 0.6), (2, 0.0)):
        settings = {"seed": seed, "shape": Shape(temperature), "limit": 20, "eos": {4}}
        assert timeless(list(run(name, rule=make_rule(rule, 0.0), **settings))) == timeless(list(run(name, **settings)))


@pytest.mark.parametrize("rule", ["tv", "tv_budget", "lenience", "top_k"])
def test_the_lenient_end_keeps_every_draft(rule):
    for name in DRAFTERS:
        stats = list(run(name, rule=make_rule(rule, 1.0), limit=20))[-1].stats
        assert stats["accepted"] == stats["examined"] == stats["drafted"] == [4, 4, 4, 4]


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "lossless"])
def test_coins_do_not_depend_on_leniency_until_the_first_flip(rule):
    for seed in range(6):
        strict, lenient = (of(run(rule=make_rule(rule, leniency), seed=seed), Verdict) for leniency in (0.0, 0.35))
        for a, b in zip(strict, lenient):
            assert (a.cycle, a.position, a.token, a.u, a.p, a.q) == (b.cycle, b.position, b.token, b.u, b.p, b.q)
            if a.accepted != b.accepted:
                assert rule in ("typical", "top_k") or b.lenient
                break
            if not a.accepted and rule.startswith(("cactus", "typical", "top_k")):
                break  # a correction from another residual


@pytest.mark.parametrize("name", DRAFTERS)
def test_temperature_zero_is_greedy_decoding(name):
    greedy = list(run("", shape=Shape(0), limit=15))[-1].tokens
    for seed in range(3):
        assert list(run(name, shape=Shape(0), limit=15, seed=seed))[-1].tokens == greedy


def test_verdicts_show_the_laws_they_came_from():
    verifier = TableVerifier(5)
    context = list(PROMPT)
    events = list(run(verifier=verifier))
    for verify in of(events, Verify):
        mine = [v for v in of(events, Verdict) if v.cycle == verify.cycle]
        for v in mine:
            p = Shape().law(verifier.row([*context, *verify.tokens[: v.position - 1]])[None])[0]
            assert v.p == float(p[v.token])
            assert dict(v.top_p) == pytest.approx(dict(enumerate(p.tolist())))
            assert [x for _, x in v.top_p] == sorted(p.tolist(), reverse=True)
            assert dict(v.top_q)[v.token] == v.q
            assert v.tv == pytest.approx(0.5 * sum(abs(x - dict(v.top_q)[i]) for i, x in enumerate(p.tolist())))
        emit = next(e for e in of(events, Emit) if e.cycle == verify.cycle)
        context += emit.tokens
        if emit.extra:
            p = Shape().law(verifier.row(context[:-1])[None])[0]
            assert emit.p == float(p[emit.tokens[-1]])
            assert 0 < emit.residual <= 1
            assert emit.extra == "correction" or emit.residual == pytest.approx(emit.p)
