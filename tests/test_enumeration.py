"""Losslessness by exact enumeration: every outcome of the production `decode`, with its probability. No sampling noise.

Covered, each against the verifier's joint law of the next γ+1 tokens to 1e-9:
- masked, all proposals: V ≤ 4, γ ≤ 3, S ∈ {1, 2, 3}, complete;
- uniform, all proposals: (V, γ, S) in UNIFORM; all but one_hot also at (2, 3, 2) or (3, 2, 2); left out for their cost:
  γ = 3 with S = 3 or V > 2, V ≥ 3 with γ > 1 and S > 2, (4, 2, 2);
- whole runs of several cycles (masked V = 3, uniform V = 2), ends of text, shrunken blocks, foreign draft vocabularies,
  temperature, top-k, top-p.
The larger cases enumerate one cycle and let the verifier continue what it emitted: the cycle is lossless iff that is the
verifier's joint law, and every later cycle is the same code behind another prefix.
"""

from itertools import pairwise, product

import pytest
import torch
from toys import ANY_ORDER, EXACT, TableDenoiser, TableVerifier, continued, distance, marginal, output_law, verifier_law

from sdiff.acceptance import Lossless, make_rule
from sdiff.decode import Plan
from sdiff.drafters import NoDrafter, on_verifier_vocabulary
from sdiff.noise import grid, uniform_posterior
from sdiff.request import RULES, is_lossless
from sdiff.sampling import Dice, Shape
from sdiff.theory import emitted_law, enumerate_outcomes, law_of
from sdiff.trace import MASKED

EQUAL, BIASED = 1e-9, 1e-3
MASKED_CASES = list(product((2, 3, 4), (1, 2, 3), (1, 2, 3)))
UNIFORM = [(2, 1, 3), (3, 1, 2), (4, 1, 1), (4, 2, 1), (2, 3, 1), (2, 2, 2), (2, 2, 3)]  # proposals with fewer outcomes only
MASKED_NAMES = [name for name in EXACT if name.startswith("masked")]
UNIFORM_NAMES = [name for name in EXACT if name.startswith("uniform")]


def drafter(name, size, shape=None, verifier=None, **denoiser):
    return {**EXACT, **ANY_ORDER}[name](TableDenoiser(size, verifier=verifier, **denoiser), shape or Shape())


def one_cycle_error(name, size, gamma, steps, seed=1, rule=None):
    verifier = TableVerifier(size, seed)
    law = output_law(
        verifier, drafter(name, size, verifier=verifier, seed=seed + 1), Plan(gamma, steps, gamma + 1, (), False), rule, emits=1
    )
    assert sum(law.values()) == pytest.approx(1, abs=1e-12)
    assert {len(tokens) for tokens in law} <= set(range(1, gamma + 2))
    return distance(continued(law, verifier, gamma + 1), verifier_law(verifier, gamma + 1))


@pytest.mark.parametrize(("size", "gamma", "steps"), MASKED_CASES)
@pytest.mark.parametrize("name", MASKED_NAMES)
def test_masked_cycles_are_lossless(name, size, gamma, steps):
    assert one_cycle_error(name, size, gamma, steps) < EQUAL


@pytest.mark.parametrize(("name", "case"), [
    *product(UNIFORM_NAMES, UNIFORM), ("uniform monotone", (2, 3, 2)), ("uniform final_step", (3, 2, 2)), ("uniform final_step posterior", (2, 3, 2)),
])  # fmt: skip
def test_uniform_cycles_are_lossless(name, case):
    assert one_cycle_error(name, *case) < EQUAL


@pytest.mark.parametrize(("name", "size", "gamma", "steps", "tokens"), [
    ("masked monotone", 3, 2, 2, 3), ("masked final_step", 3, 2, 2, 3), ("masked one_hot", 3, 2, 2, 3), ("masked final_step", 2, 2, 2, 4),
    ("masked monotone", 2, 3, 3, 4), ("uniform monotone", 2, 2, 2, 3), ("uniform final_step", 2, 2, 2, 3),
    ("uniform final_step posterior", 2, 2, 2, 3), ("uniform one_hot", 2, 2, 1, 3),
])  # fmt: skip
def test_whole_runs_of_several_cycles_are_lossless(name, size, gamma, steps, tokens):
    """Blocks shrink where the limit comes, prefixes are rolled back, and the joint law of the whole text is the verifier's."""
    verifier = TableVerifier(size)
    law = output_law(verifier, drafter(name, size, verifier=verifier), Plan(gamma, steps, tokens, (), False), prompt=(1, 0, 1))
    assert {len(k) for k in law} == {tokens}
    assert distance(law, verifier_law(verifier, tokens, prompt=(1, 0, 1))) < EQUAL


@pytest.mark.parametrize("limit", [1, 2])
@pytest.mark.parametrize("by", ["limit", "context"])
@pytest.mark.parametrize("name", ["masked monotone", "masked final_step", "uniform final_step", "uniform one_hot"])
def test_shrunken_blocks_are_lossless(name, by, limit):
    """Fewer than γ+1 tokens left, because of the token limit or of the context's end."""
    verifier = TableVerifier(3, context=limit if by == "context" else 100)
    plan = Plan(3, 2, limit if by == "limit" else 100, (), False)
    law = output_law(verifier, drafter(name, 3, verifier=verifier), plan)
    assert distance(law, verifier_law(verifier, limit)) < EQUAL


@pytest.mark.parametrize("name", ["masked monotone", "masked final_step", "masked one_hot", "uniform monotone"])
def test_texts_that_may_end_inside_a_block_are_lossless(name):
    verifier = TableVerifier(3 if name.startswith("masked") else 2)
    law = output_law(verifier, drafter(name, verifier.size, verifier=verifier), Plan(2, 2, 3, {1}, False))
    assert any(len(k) < 3 for k in law)
    assert distance(law, verifier_law(verifier, 3, eos={1})) < EQUAL


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("ids", [[2, 0], [3]])
def test_a_draft_vocabulary_that_is_a_strict_subset_stays_exact(name, ids):
    verifier = TableVerifier(4)
    law = output_law(verifier, drafter(name, 4, verifier=verifier, ids=ids), Plan(2, 2, 3, (), False), emits=1)
    assert distance(continued(law, verifier, 3), verifier_law(verifier, 3)) < EQUAL


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("shape", [Shape(0.6), Shape(1.3, 2), Shape(1.0, 0, 0.7), Shape(0.8, 2, 0.8), Shape(0)])
def test_shaped_laws_stay_exact(name, shape):
    size = 4 if name.startswith("masked") or shape.temperature == 0 else 2
    verifier = TableVerifier(size)
    law = output_law(verifier, drafter(name, size, shape, verifier), Plan(2, 2, 3, (), False), shape=shape, emits=1)
    reference = verifier_law(verifier, 3, shape)
    assert len(reference) == 1 or shape.temperature > 0
    assert distance(continued(law, verifier, 3, shape), reference) < EQUAL


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("rule", RULES)
def test_every_rule_is_lossless_at_its_strict_end_with_every_proposal(name, rule):
    assert one_cycle_error(name, 2, 2, 2, rule=make_rule(rule, 0.0)) < EQUAL


def test_plain_decoding_is_the_verifier():
    verifier = TableVerifier(4)
    law = output_law(verifier, NoDrafter(4), Plan(0, 1, 4, {2}, False))
    assert distance(law, verifier_law(verifier, 4, eos={2})) < EQUAL


# ── what is not lossless, and the label that says so ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ANY_ORDER)
@pytest.mark.parametrize(("size", "gamma", "steps"), [(3, 2, 1), (3, 1, 3), (2, 2, 2), (2, 2, 3)])
def test_any_order_is_biased_beyond_one_step_and_labelled_so(name, size, gamma, steps):
    """The worst of a few random tables: where the first position happens to come first there is no bias to see."""
    worst = max(one_cycle_error(name, size, gamma, steps, seed) for seed in range(1, 4 if steps > 1 < gamma else 2))
    assert worst > BIASED if min(steps, gamma) > 1 else worst < EQUAL
    assert is_lossless("lossless", 0.0, "any_order", steps, gamma) == (worst < EQUAL)


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "lossless"])
def test_lenient_rules_are_not_the_verifier_and_labelled_so(rule):
    assert one_cycle_error("masked monotone", 3, 2, 2, rule=make_rule(rule, 0.3)) > BIASED
    assert not is_lossless(rule, 0.3, "monotone", 2, 2)
    assert is_lossless(rule, 0.0, "monotone", 2, 2)
    assert is_lossless("lossless", 0.3, "monotone", 2, 2)


class Mistaken:
    """A drafter that makes one of the classic mistakes; each looks reasonable."""

    def __init__(self, denoiser):
        self.denoiser = denoiser

    def propose(self, context, gamma, steps, dice):
        self.denoiser.start(context)
        canvas, q = self.draft(gamma, steps, dice)
        yield from ()
        return on_verifier_vocabulary(self.denoiser, canvas, q, torch.ones_like(canvas))

    def law(self, canvas):
        return Shape().law(self.denoiser.predict(canvas, (canvas == MASKED).double()))


class RightToLeft(Mistaken):
    """Reveals the last position first, and weighs each token by the law it was revealed from."""

    def draft(self, gamma, steps, dice):
        canvas, q = torch.full((gamma,), MASKED), torch.zeros(gamma, len(self.denoiser.ids), dtype=torch.float64)
        for i in reversed(range(gamma)):
            q[i] = self.law(canvas)[i]
            canvas = canvas.clone()
            canvas[i] = dice.draw(q[i, None])
        return canvas, q


class SampledConfidence(Mistaken):
    """Draws every position, keeps the one whose drawn token is likeliest, draws the rest again."""

    def draft(self, gamma, steps, dice):
        canvas, q = torch.full((gamma,), MASKED), torch.zeros(gamma, len(self.denoiser.ids), dtype=torch.float64)
        for _ in range(gamma):
            law = self.law(canvas)
            drawn = dice.draw(law)
            confidence = law.gather(-1, drawn[:, None])[:, 0].masked_fill(canvas != MASKED, -1.0)
            best = int(confidence.argmax())
            canvas = canvas.clone()
            canvas[best], q[best] = drawn[best], law[best]
        return canvas, q


class Threshold(Mistaken):
    """Drops the end of a draft from the first token on that was not likely enough."""

    def draft(self, gamma, steps, dice):
        q = self.law(torch.full((gamma,), MASKED))
        canvas = dice.draw(q)
        sure = q.gather(-1, canvas[:, None])[:, 0] > 0.4
        n = max(1, int(sure.long().cumprod(0).sum()))
        return canvas[:n], q[:n]


class WrongLaw(Mistaken):
    """Draws the last step from the uniform posterior, but weighs its tokens by the predicted clean law."""

    def draft(self, gamma, steps, dice):
        times = grid(steps)
        canvas = dice.draw(torch.ones(gamma, len(self.denoiser.ids)))
        for t, s in pairwise(times):
            clean = Shape().law(self.denoiser.predict(canvas, torch.full((gamma,), t)))
            canvas = dice.draw(uniform_posterior(clean, canvas, t, s))
        return canvas, clean


@pytest.mark.parametrize(("mistake", "size"), [(RightToLeft, 3), (SampledConfidence, 3), (Threshold, 3), (WrongLaw, 2)])
def test_the_classic_mistakes_show(mistake, size):
    """The same enumeration that finds 0 above finds them all: it would notice such a bug in a shipped drafter."""
    verifier = TableVerifier(size)
    law = output_law(verifier, mistake(TableDenoiser(size, verifier=verifier)), Plan(2, 2, 3, (), False), emits=1)
    assert sum(law.values()) == pytest.approx(1)
    assert distance(continued(law, verifier, 3), verifier_law(verifier, 3)) > BIASED


# ── lenient runs: the law of the first position, for every rule and proposal ─────────────────────────────────────────


def first_draft(name, size, gamma, steps):
    """Outcomes (token 1, its law q₁) of a proposal behind prompt (0,), with their probabilities."""

    def run(dice: Dice):
        proposing = drafter(name, size).propose([0], gamma, steps, dice)
        while True:
            try:
                next(proposing)
            except StopIteration as done:
                return int(done.value.tokens[0]), tuple(done.value.q[0].tolist())

    return law_of(run)


@pytest.fixture(scope="module")
def drafts():
    known: dict = {}
    return lambda *key: known.setdefault(key, None) or known.update({key: first_draft(*key)}) or known[key]


@pytest.mark.parametrize("name", EXACT)
def test_every_draft_token_has_the_law_it_is_weighed_with(name, drafts):
    """P(token 1 | q₁) = q₁, the premise of everything below."""
    grouped: dict = {}
    for (token, q), weight in drafts(name, 2, 2, 2).items():
        grouped.setdefault(q, torch.zeros(2, dtype=torch.float64))[token] += weight
    for q, weights in grouped.items():
        assert (weights / weights.sum()).tolist() == pytest.approx(q, abs=1e-12)


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "lossless"])
@pytest.mark.parametrize(("size", "gamma", "steps"), [(2, 2, 2), (2, 1, 3), (3, 1, 2), (4, 1, 1), (3, 2, 1)])
def test_lenient_rules_emit_their_claimed_law_with_every_proposal(name, rule, size, gamma, steps, drafts):
    """Position 1 emits the mixture over q₁ of the rule's own law; under `tv` that is (1−λ)p + λE[q₁]."""
    leniency = 0.4
    verifier, made = TableVerifier(size), make_rule(rule, leniency)
    p = Shape().law(verifier.row([0])[None])[0]
    got = marginal(
        output_law(verifier, drafter(name, size, verifier=verifier), Plan(gamma, steps, gamma + 1, (), False), made, emits=1), size
    )
    q_weight: dict = {}
    for (_, q), weight in drafts(name, size, gamma, steps).items():
        q_weight[q] = q_weight.get(q, 0.0) + weight
    mixture = sum(weight * emitted_law(p, torch.tensor(q, dtype=torch.float64), made)[0] for q, weight in q_weight.items())
    assert got.tolist() == pytest.approx(mixture.tolist(), abs=EQUAL)
    if rule == "tv":
        mean_q = sum(weight * torch.tensor(q, dtype=torch.float64) for q, weight in q_weight.items())
        assert got.tolist() == pytest.approx(((1 - leniency) * p + leniency * mean_q).tolist(), abs=EQUAL)


@pytest.mark.parametrize("steps", [1, 2])
def test_one_hot_accepts_least(steps):
    """Exactly: Σ p·q ≤ Σ min(p, q) for every draft that reveals in the same order, and equality needs one-hot laws."""
    verifier = TableVerifier(3)
    p = Shape().law(verifier.row([0])[None])[0]
    accepted = {
        name: sum(w * float(torch.minimum(p, torch.tensor(q)).sum()) for (_, q), w in first_draft(name, 3, 2, steps).items())
        for name in ("masked one_hot", "masked final_step", "masked any_order")
    }
    assert accepted["masked one_hot"] < accepted["masked any_order"] - 0.01
    assert accepted["masked one_hot"] <= accepted["masked final_step"] + EQUAL
    assert accepted["masked final_step"] <= accepted["masked any_order"] + EQUAL


def test_the_enumeration_visits_every_outcome_once():
    def run(dice):
        first = int(dice.draw(torch.tensor([[1.0, 0.0, 3.0]])))
        return (
            first,
            int(dice.draw(torch.tensor([[1.0, 1.0]]))) if first else -1,
            tuple(dice.coins(torch.tensor([0.5, 2.0]), torch.tensor([1.0, 1.0])).lt(0.5).tolist()),
        )

    outcomes = list(enumerate_outcomes(run))
    assert {o: w for o, w in outcomes} == {
        (0, -1, (True, True)): 0.125, (0, -1, (False, True)): 0.125,
        **{(2, second, (kept, True)): 0.1875 for second in (0, 1) for kept in (True, False)},
    }  # fmt: skip
    assert len(outcomes) == 6
    assert isinstance(make_rule("top_k", 0.0), Lossless)
