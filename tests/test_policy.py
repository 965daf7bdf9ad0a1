"""The adaptive parts: a budget that is never overdrawn, by enumeration; a pace that stays lossless, by enumeration."""

from __future__ import annotations

from itertools import islice

import pytest
import torch
from toys import TableDenoiser, TableVerifier, continued, distance, output_law, verifier_law

from sdiff.acceptance import Interpolation, Lossless, total_variation
from sdiff.decode import Plan, decode
from sdiff.drafters import early_first
from sdiff.drafters.masked import MaskedDrafter
from sdiff.drafters.uniform import UniformDrafter
from sdiff.policy import Banked, Worthwhile, route
from sdiff.sampling import Dice, Shape
from sdiff.tasks import TASKS, items
from sdiff.theory import law_of
from sdiff.trace import Emit, Verdict


def run(rule: Banked, dice: Dice, tokens: int = 3, gamma: int = 2, eos: tuple[int, ...] = ()) -> tuple[tuple[int, ...], float, float]:
    """→ tokens, sum of TV(o, p) over them recomputed from the verdicts, what the rule says it spent."""
    verifier = TableVerifier(3)
    drafter = MaskedDrafter(TableDenoiser(3, verifier=verifier), Shape())
    events = list(rule.booking(decode(verifier, drafter, rule, Shape(), [0], Plan(gamma, 2, tokens, eos), dice)))
    verdicts = [e for e in events if isinstance(e, Verdict)]
    # f = p + λ(q − p), so λ = (f − p)/(q − p) and TV(o, p) = λ·TV(p, q)
    spent = sum(v.tv * (v.f - v.p) / (v.q - v.p) for v in verdicts if abs(v.q - v.p) > 1e-12)
    return tuple(t for e in events if isinstance(e, Emit) for t in e.tokens), spent, rule.spent


@pytest.mark.parametrize("eos", [(), (2,)])
@pytest.mark.parametrize("epsilon", [0.0, 0.02, 0.1, 0.3])
def test_the_budget_holds_on_every_path(epsilon, eos):
    """Every outcome of coins and draws: never more than ε per emitted token, and the books are right; also where text ends
    inside a block."""
    paths = law_of(lambda dice: run(Banked(epsilon), dice, eos=eos))
    assert len(paths) > 10
    for tokens, spent, booked in paths:
        assert spent == pytest.approx(booked, abs=1e-9)
        assert spent <= epsilon * len(tokens) + 1e-9
    if epsilon == 0.1:
        mean = sum(weight * spent / len(tokens) for (tokens, spent, _), weight in paths.items())
        assert mean > 0.6 * epsilon, "and most of it is put to use"


@pytest.mark.parametrize("epsilon", [0.05, 0.2])
def test_what_is_emitted_is_as_far_from_the_verifier_as_was_booked(epsilon):
    """One block: the exact law of its first token is at TV(o, p) = what position 1 spent; the whole text within the sum."""
    verifier = TableVerifier(3)
    spent = {}

    def first(dice: Dice) -> int:
        rule = Banked(epsilon)
        drafter = MaskedDrafter(TableDenoiser(3), Shape())
        events = rule.booking(decode(TableVerifier(3), drafter, rule, Shape(), [0], Plan(2, 2, 3, ()), dice))
        token = next(e.tokens[0] for e in events if isinstance(e, Emit))
        spent[rule.block[0]] = True
        return token

    law = law_of(first)
    p = Shape().law(verifier.row([0])[None])[0]
    o = torch.tensor([law.get(t, 0.0) for t in range(3)], dtype=torch.float64)
    assert len(spent) == 1, "position 1 spends the same whatever is drawn"
    assert float(total_variation(o[None], p[None])) == pytest.approx(next(iter(spent)), abs=1e-9)
    tokens = law_of(lambda dice: run(Banked(epsilon), dice)[0])
    whole = continued(tokens, verifier, 3)
    assert distance(whole, verifier_law(verifier, 3)) <= 3 * epsilon + 1e-9, "the chain rule of TV"


def test_a_budget_of_nothing_is_lossless_and_one_of_everything_keeps_all():
    for seed in range(20):
        runs = []
        for rule in (Banked(0.0), Lossless(), Banked(1.0), Interpolation(1.0)):
            verifier = TableVerifier(4)
            drafter = MaskedDrafter(TableDenoiser(4, verifier=verifier), Shape())
            events = decode(verifier, drafter, rule, Shape(), [0], Plan(3, 2, 9, ()), Dice(seed))
            runs.append([e.tokens for e in (rule.booking(events) if isinstance(rule, Banked) else events) if isinstance(e, Emit)])
        assert runs[0] == runs[1]
        assert runs[2] == runs[3]


def test_early_positions_are_served_first_and_the_rest_waits():
    p = torch.tensor([[0.9, 0.1]] * 3, dtype=torch.float64)
    q = torch.tensor([[0.6, 0.4]] * 3, dtype=torch.float64)  # TV = .3 each
    rule = Banked(0.1, bank=0.25)
    assert rule.leniencies(p, q).tolist() == pytest.approx([1.0, 0.5, 1 / 3])
    list(rule.booking([Emit(cycle=1, tokens=(1, 2), accepted=1, extra="correction", text="", ms=0.0)]))
    assert (rule.bank, rule.spent) == (pytest.approx(0.0), pytest.approx(0.45))
    assert rule.leniencies(p, p).tolist() == [0, 0, 0]
    list(rule.booking([Emit(cycle=2, tokens=(1, 2, 3, 4), accepted=3, extra="bonus", text="", ms=0.0)]))
    assert rule.bank == pytest.approx(0.4)
    rule.most = 0.45
    rule.leniencies(p, p)
    list(rule.booking([Emit(cycle=3, tokens=(1, 2), accepted=1, extra="correction", text="", ms=0.0)]))
    assert rule.bank == pytest.approx(0.45)


def test_a_block_that_nobody_booked_is_an_error():
    rule, p = Banked(0.1), torch.full((1, 2), 0.5, dtype=torch.float64)
    rule.leniencies(p, p)
    with pytest.raises(RuntimeError, match="booking"):
        rule.leniencies(p, p)


@pytest.mark.parametrize("task", TASKS)
def test_prompts_are_routed_to_their_task(task):
    """At least 98 of 100 problems of a split that no rule was looked at with."""
    for split in ("validation", "test"):
        routed = [route(item.prompt) for item in islice(items(task, split, 11), 100)]
        assert routed.count(task) >= 98, split


def test_any_text_has_a_route():
    assert {route(text) for text in ("", "?", "7", "\n")} == {"chat"}
    assert route("What is 7 times 8?") == "reasoning"
    assert route("def f(x):") == "coding"


# ── the pace ─────────────────────────────────────────────────────────────────────────────────────────────────────────

PACES = {"early first": early_first, "cheap": Worthwhile(0.0, 0.5), "dear": Worthwhile(0.3, 0.6), "never": Worthwhile(99.0)}


@pytest.mark.parametrize("pace", PACES)
@pytest.mark.parametrize(("cls", "size", "gamma"), [(MaskedDrafter, 3, 3), (UniformDrafter, 2, 2)])
def test_a_pace_set_by_predicted_laws_is_lossless(cls, size, gamma, pace):
    verifier = TableVerifier(size)
    drafter = cls(TableDenoiser(size, verifier=verifier), Shape(), "monotone", pace=PACES[pace])
    law = output_law(verifier, drafter, Plan(gamma, gamma, gamma + 1, ()), emits=1)
    assert distance(continued(law, verifier, gamma + 1), verifier_law(verifier, gamma + 1)) < 1e-9


def test_one_more_pass_is_taken_only_where_it_pays():
    sharp, flat = torch.tensor([0.98, 0.01, 0.01]), torch.tensor([0.4, 0.3, 0.3])
    cheap, dear = Worthwhile(0.05), Worthwhile(5.0)
    assert cheap(torch.stack([flat, sharp, sharp, flat, flat]), 4) == 3
    assert cheap(torch.stack([flat, flat, flat]), 4) == 1
    assert dear(torch.stack([flat, flat, flat]), 4) == 3, "nothing to gain at that price"
    assert cheap(torch.stack([flat, flat, flat]), 1) == 3, "the last pass settles all"
    assert cheap(torch.stack([flat, sharp, sharp]), 4) == 3
    assert cheap(flat[None], 3) == 1


def test_the_standing_pace_settles_all_in_time_and_small_groups_first():
    for gamma in range(1, 17):
        for steps in range(1, gamma + 1):
            sizes, left = [], gamma
            for still in range(steps, 0, -1):
                sizes.append(early_first(torch.zeros(left, 2), still))
                left -= sizes[-1]
            assert left == 0
            assert min(sizes) >= 1
            assert sizes == sorted(sizes)
    assert [early_first(torch.zeros(n, 2), left) for n, left in ((8, 4), (7, 3), (6, 2), (4, 1))] == [1, 1, 2, 4]
