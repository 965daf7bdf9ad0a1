"""Acceptance rules on one position: what they emit, when they keep, and the Theorem 1 line. Laws come from enumeration."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sdiff.acceptance import Budget, Cactus, Interpolation, Lenience, Lossless, TopK, Typical, examine, make_rule, total_variation
from sdiff.measures import flip_leniency
from sdiff.request import RULES
from sdiff.sampling import Dice, Shape
from sdiff.theory import ALMOST_ONE, emitted_law, position, theorem_1_gap
from sdiff.trace import Verdict

ON_THE_LINE = ("lossless", "tv", "tv_budget", "lenience", "cactus", "cactus_exact")
GRID = (0.0, 0.05, 0.5, 1.0)


def normalised(*weights: float) -> torch.Tensor:
    row = torch.tensor(weights, dtype=torch.float64)
    return row / row.sum()


def random_pairs(n: int, size: int = 5, seed: int = 0) -> list[tuple[torch.Tensor, torch.Tensor]]:
    g = torch.Generator().manual_seed(seed)
    pairs = torch.softmax(2 * torch.randn(n, 2, size, generator=g, dtype=torch.float64), -1)
    zeroed = pairs * (torch.rand(pairs.shape, generator=g) > 0.4)  # half of them with zeros
    good = (zeroed.sum(-1) > 0).all(-1)
    zeroed = zeroed / zeroed.sum(-1, keepdim=True)
    return [tuple(zeroed[i] if i % 2 and good[i] else pairs[i]) for i in range(n)]


PAIRS = [
    *random_pairs(8),
    (normalised(1, 2, 0, 0), normalised(0, 0, 3, 1)),  # disjoint
    (normalised(1, 2, 3), normalised(1, 2, 3)),  # equal
    (normalised(0, 1, 0), normalised(2, 1, 1)),  # p certain
    (normalised(2, 1, 1), normalised(0, 0, 1)),  # q certain
    (normalised(0, 1, 0), normalised(0, 1, 0)),
    (normalised(0, 1, 0), normalised(0, 0, 1)),
    (normalised(1), normalised(1)),
    (normalised(1, 1, 1e-12), normalised(1e-12, 1, 1)),
]


def each_pair(test):
    return pytest.mark.parametrize(("p", "q"), PAIRS, ids=range(len(PAIRS)))(test)


def tv(p: torch.Tensor, q: torch.Tensor) -> float:
    return 1 - float(torch.minimum(p, q).sum())  # the other form of the definition


def kl(o: torch.Tensor, p: torch.Tensor) -> float:
    return float((torch.special.xlogy(o, o) - torch.special.xlogy(o, p)).sum())


def entropy_bar(p: torch.Tensor, epsilon: float, alpha: float) -> float:
    return min(epsilon, alpha * math.exp(sum(x * math.log(x) for x in p.tolist() if x > 0)))


@each_pair
def test_lossless_emits_p(p, q):
    law, refused = emitted_law(p, q, Lossless())
    assert law.tolist() == pytest.approx(p.tolist(), abs=1e-12)
    assert refused == pytest.approx(tv(p, q), abs=1e-12)
    assert float(total_variation(p[None], q[None])) == pytest.approx(tv(p, q), abs=1e-12)


@each_pair
@pytest.mark.parametrize("leniency", GRID)
def test_interpolation_emits_the_mixture(p, q, leniency):
    law, refused = emitted_law(p, q, Interpolation(leniency))
    assert law.tolist() == pytest.approx(((1 - leniency) * p + leniency * q).tolist(), abs=1e-12)
    assert refused == pytest.approx((1 - leniency) * tv(p, q), abs=1e-12)


@each_pair
@pytest.mark.parametrize("epsilon", GRID)
def test_a_budget_is_kept_and_spent(p, q, epsilon):
    law, refused = emitted_law(p, q, Budget(epsilon))
    assert tv(law, p) == pytest.approx(min(epsilon, tv(p, q)), abs=1e-12)
    assert refused == pytest.approx(max(0.0, tv(p, q) - epsilon), abs=1e-12)  # the best any rule can do: Theorem 1


@each_pair
@pytest.mark.parametrize("ell", [1.0, 0.95, 0.5, 0.1, 1e-9, 0.0])
def test_lenience_caps_every_token(p, q, ell):
    """Overdrafted tokens get min(q, p/ℓ), what is refused goes to the others in proportion to (p−q)₊."""
    law, refused = emitted_law(p, q, Lenience(ell))
    short = (p - q).clamp(min=0)
    capped = torch.minimum(q, p / ell) if ell else q
    expected = torch.where(q > p, capped, q) + (refused * short / short.sum() if float(short.sum()) else 0)
    assert law.tolist() == pytest.approx(expected.tolist(), abs=1e-12)
    if ell:
        assert bool((law <= p / ell + 1e-12).all()), "never more than p/ℓ, and nothing where p = 0"
    else:
        assert refused == 0
        assert law.tolist() == pytest.approx(q.tolist(), abs=1e-12)


def raised(p: float, delta: float, exact: bool) -> float:
    """Cactus' g from the document; the exact one by scanning the binary KL for its root from above."""
    if not exact:
        return min(1.0, p + math.sqrt(2 * delta * p * (1 - p)))
    if delta == 0:
        return p
    if p in (0.0, 1.0) or -math.log(p) <= delta:
        return p if p in (0.0, 1.0) else 1.0
    low, high = p, 1.0
    for _ in range(200):
        g = (low + high) / 2
        low, high = (g, high) if g * math.log(g / p) + (1 - g) * math.log((1 - g) / (1 - p)) <= delta else (low, g)
    return low


@each_pair
@pytest.mark.parametrize("delta", [0.0, 0.1, 4.0])
@pytest.mark.parametrize("exact", [False, True])
def test_cactus_emits_its_mixture_and_never_leaves_the_support_of_p(p, q, delta, exact):
    law, refused = emitted_law(p, q, Cactus(delta, exact))
    expected = torch.zeros_like(p)
    for x, weight in enumerate(q.tolist()):
        if weight == 0:
            continue
        px = float(p[x])
        g = max(raised(px, delta, exact), px)
        keep = min(1.0, g / weight)
        expected[x] += weight * keep
        f = p * ((1 - g) / (1 - px) if px < 1 else 1.0)
        f[x] = g
        residual = (f - q).clamp(min=0)
        if keep < 1:
            expected += weight * (1 - keep) * residual / residual.sum()
    assert law.tolist() == pytest.approx(expected.tolist(), abs=1e-9)
    assert bool((law[p == 0] <= 1e-12).all())
    assert refused <= tv(p, q) + 1e-12


@each_pair
@pytest.mark.parametrize(("epsilon", "alpha"), [(0.09, 0.3), (0.5, 0.7), (0.0, 0.0), (1.0, 1.0)])
def test_typical_keeps_what_clears_its_bar(p, q, epsilon, alpha):
    kept = p > entropy_bar(p, epsilon, alpha)
    law, refused = emitted_law(p, q, Typical(epsilon, alpha))
    assert law.tolist() == pytest.approx((q * kept + refused * p).tolist(), abs=1e-12)
    assert refused == pytest.approx(float((q * ~kept).sum()), abs=1e-12)


@each_pair
@pytest.mark.parametrize("k", [1, 2, 3, 100])
def test_top_k_keeps_the_k_likeliest(p, q, k):
    kept = torch.tensor([mine > 0 and sum(other > mine for other in p.tolist()) < k for mine in p.tolist()])
    law, refused = emitted_law(p, q, TopK(k))
    assert law.tolist() == pytest.approx((q * kept + refused * p).tolist(), abs=1e-12)
    assert refused == pytest.approx(float((q * ~kept).sum()), abs=1e-12)


# ── Theorem 1 ────────────────────────────────────────────────────────────────────────────────────────────────────────


@each_pair
@pytest.mark.parametrize("leniency", [0.05, 0.5, 1.0])
@pytest.mark.parametrize("name", RULES)
def test_every_rule_is_on_or_above_the_theorem_1_line(p, q, name, leniency):
    rule = make_rule(name, leniency)
    gap = theorem_1_gap(p, q, rule)
    assert gap == pytest.approx(0, abs=1e-9) if name in ON_THE_LINE else gap > -1e-9
    assert 1 - emitted_law(p, q, rule)[1] == pytest.approx(float((q * position(p, q, rule).keep).sum()), abs=1e-12)


@pytest.mark.parametrize("name", ["typical", "top_k"])
def test_the_threshold_rules_fall_off_the_line(name):
    gaps = [theorem_1_gap(p, q, make_rule(name, leniency)) for p, q in random_pairs(20, seed=7) for leniency in (0.1, 0.4)]
    assert sum(gap > 1e-3 for gap in gaps) > len(gaps) / 4


def test_the_tempting_residual_of_lenience_leaves_the_line():
    """(p−ℓq)₊ instead of (p−q)₊: about 70 % of random pairs. A trap, not a variant."""

    class Trap(Lenience):
        def residual(self, p, q, x):
            return (p - self.ell * q).clamp(min=0)

    pairs = random_pairs(150, seed=3)
    off = sum(theorem_1_gap(p, q, Trap(0.7)) > 1e-6 for p, q in pairs)
    assert 0.5 < off / len(pairs) < 0.9
    assert all(abs(theorem_1_gap(p, q, Lenience(0.7))) < 1e-9 for p, q in pairs)


def test_the_rules_differ_in_where_they_spend():
    p, q = normalised(6, 4, 0), normalised(1, 5, 4)
    assert float(emitted_law(p, q, make_rule("tv", 0.2))[0][2]) == pytest.approx(0.2 * 0.4)  # outside the support of p
    for name in ("lenience", "cactus", "cactus_exact"):
        assert float(emitted_law(p, q, make_rule(name, 0.2))[0][2]) == pytest.approx(0, abs=1e-12)


# ── Cactus' budget ───────────────────────────────────────────────────────────────────────────────────────────────────


def binary_kl(g: float, p: float) -> float:
    return sum(a * math.log(a / b) for a, b in ((g, p), (1 - g, 1 - p)) if a > 0)


def test_cactus_closed_form_overspends_only_beyond_one_half():
    worst = 0.0
    for p in [1e-6, 1e-3, *[i / 50 for i in range(1, 50)], 0.999]:
        for delta in (1e-4, 0.01, 0.1, 0.5, 1.0, 2.0):
            one = torch.tensor([[p, 1 - p]], dtype=torch.float64)
            g = float(Cactus(delta).target(one, torch.ones_like(one), torch.tensor([0])))
            spent = binary_kl(g, p)
            assert g > 0.5 or spent <= delta * (1 + 1e-9)
            worst = max(worst, spent / delta)
    assert 1.5 < worst < 2


def test_cactus_exact_spends_its_budget_wherever_it_can():
    for p in [1e-6, 1e-3, 0.1, 0.4, 0.6, 0.9, 0.999]:
        for delta in (1e-4, 0.01, 0.1, 1.0, 4.0):
            one = torch.tensor([[p, 1 - p]], dtype=torch.float64)
            g = float(Cactus(delta, exact=True).target(one, torch.ones_like(one), torch.tensor([0])))
            if -math.log(p) <= delta:
                assert g == 1
            else:
                assert binary_kl(g, p) == pytest.approx(delta, rel=1e-6)


def test_cactus_budget_is_not_the_kl_of_what_it_emits():
    spent = [kl(emitted_law(p, q, Cactus(0.1))[0], p) / 0.1 for p, q in random_pairs(80, seed=1)]
    assert max(spent) > 1.2


# ── the slider's ends, and what lies between ─────────────────────────────────────────────────────────────────────────


@each_pair
@pytest.mark.parametrize("name", RULES)
def test_the_strict_end_is_lossless_to_the_last_bit(p, q, name):
    rule, size = make_rule(name, 0.0), len(p)
    for dtype in (torch.float32, torch.float64):
        x, ps, qs = torch.arange(size), p.to(dtype).expand(size, -1), q.to(dtype).expand(size, -1)
        drawn = q > 0
        assert torch.equal(rule.target(ps, qs, x, None)[drawn], Lossless().target(ps, qs, x, None)[drawn])
        assert torch.equal(rule.residual(ps, qs, x)[drawn], Lossless().residual(ps, qs, x)[drawn])


@each_pair
@pytest.mark.parametrize("name", RULES)
def test_the_lenient_end_keeps_every_draft_the_verifier_could_have_said(p, q, name):
    """`tv`, `tv_budget` and `lenience` keep all drafts; the others all that the verifier could have said."""
    if name == "lossless":
        return
    rule, size = make_rule(name, 1.0), len(p)
    x, ps, qs = torch.arange(size), p.expand(size, -1), q.expand(size, -1)
    keeps = ALMOST_ONE * q < rule.target(ps, qs, x, None)
    supported = name in ("typical", "top_k", "cactus", "cactus_exact")
    assert bool(keeps[(q > 0) & ((p > 0) if supported else True)].all())
    if name.startswith("cactus"):
        assert not keeps[(q > 0) & (p == 0)].any(), "what the verifier never says is always refused"


def test_top_k_never_keeps_what_the_verifier_would_not_say():
    """Tokens with p = 0 tie with one another: being behind fewer than k others does not make them likely."""
    for p in ([1.0, 0, 0, 0], [0.6, 0.4, 0, 0]):
        p, q = torch.tensor(p), torch.tensor([0, 0.25, 0.25, 0.5])
        law, refused = emitted_law(p, q, TopK(3))
        assert law[p == 0].sum() == 0
        assert refused == pytest.approx(0.75 if p[1] > 0 else 1.0)
    p, unit = torch.tensor([1.0, 0, 0, 0]), torch.tensor([0.5, 0.3, 0.15, 0.05])
    law, refused = emitted_law(p, torch.tensor([0, 0.25, 0.25, 0.5]), TopK(2), unit)  # temperature 0: ranks come from p₁
    assert refused == pytest.approx(0.75)
    assert law.tolist() == pytest.approx([0.75, 0.25, 0, 0])


@each_pair
@pytest.mark.parametrize("name", RULES)
def test_more_leniency_never_refuses_what_less_would_keep(p, q, name):
    """Exception by nature: `typical` and `top_k` start from λ = 0 = lossless but are strict thresholds just above it."""
    grid = [i / 40 for i in range(41)][name in ("typical", "top_k") :]
    size = len(p)
    x, ps, qs = torch.arange(size), p.expand(size, -1), q.expand(size, -1)
    last = torch.zeros(size, dtype=torch.float64)
    for leniency in grid:
        keep = (make_rule(name, leniency).target(ps, qs, x, None) / q).clamp(max=1)[q > 0]
        assert bool((keep >= last[: len(keep)] - 1e-12).all())
        last = keep


@given(st.lists(st.floats(-6, 6), min_size=2, max_size=6), st.sampled_from([0.01, 0.2, 0.5, 0.9, 1.0]), st.data())
def test_lenience_at_temperature_zero_compares_with_the_likeliest(logits, ell, data):
    x = data.draw(st.integers(0, len(logits) - 1))
    row = torch.tensor([logits], dtype=torch.float64)
    p, unit = Shape(0).law(row), Shape().law(row)
    q = torch.full_like(p, 1 / len(logits))
    f = float(Lenience(ell).target(p, q, torch.tensor([x]), unit))
    best = float(unit.max())
    if ell == 1:
        assert f == float(p[0, x]), "the argmax and nothing else, as lossless"
    elif abs(float(unit[0, x]) - ell * best) > 1e-12:
        assert f == float(unit[0, x] > ell * best)
    law, _ = emitted_law(p[0], q[0], Lenience(ell), unit[0])
    near = [i for i, u in enumerate(unit[0].tolist()) if u >= ell * best and ell < 1]
    assert {i for i, o in enumerate(law.tolist()) if o > 0} == {*near, int(row.argmax())}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("leniency", [0.0, 0.4, 1.0])
def test_the_free_token_is_the_verifiers_own(name, leniency):
    """Zero row of q: the residual is p, whatever id pads the drafts."""
    p = torch.softmax(torch.randn(3, 6, generator=torch.Generator().manual_seed(0)), -1)
    for padding in range(6):
        residual = make_rule(name, leniency).residual(p, torch.zeros_like(p), torch.full((3,), padding))
        assert torch.allclose(residual / residual.sum(-1, keepdim=True), p)


class Fixed(Dice):
    """Coins as given; draws the likeliest token and remembers the weights."""

    def __init__(self, *coins: float) -> None:
        self.given = coins

    def coins(self, f, q):
        return torch.tensor(self.given, dtype=torch.float64)

    def draw(self, weights):
        self.weights = weights
        return weights.argmax(-1)


def test_examination_goes_left_to_right_and_stops_at_the_first_refusal():
    g = torch.Generator().manual_seed(0)
    p = torch.softmax(torch.randn(4, 5, generator=g, dtype=torch.float64), -1)
    q = torch.cat([torch.softmax(torch.randn(3, 5, generator=g, dtype=torch.float64), -1), torch.zeros(1, 5, dtype=torch.float64)])
    x = (q - p)[:3].argmax(-1)  # overdrafted, so each can be refused
    for refuse in range(4):
        dice = Fixed(*(ALMOST_ONE if i == refuse else 0.0 for i in range(3)))
        exam = examine(p, q, x, Lossless(), dice)
        assert exam.accepted == refuse
        assert torch.equal(dice.weights, (p - q).clamp(min=0)[refuse, None])
        assert exam.extra == int((p - q)[refuse].argmax())
        assert exam.extra_p == float(p[refuse, exam.extra])
        assert exam.extra_law == pytest.approx(float(dice.weights[0, exam.extra] / dice.weights.sum()))
        assert len(exam.rows) == 3


def test_an_empty_residual_falls_back_on_p():
    """p = q up to rounding: a refusal that only rounding can cause must still draw something sensible."""

    class Refuser(Lossless):
        def target(self, p, q, x, unit=None):
            return torch.zeros(len(x), dtype=torch.float64)

    p = torch.tensor([[0.25, 0.75], [0.5, 0.5]])
    dice = Fixed(0.5)
    exam = examine(p, torch.tensor([[0.25, 0.75], [0.0, 0.0]]), torch.tensor([0]), Refuser(), dice)
    assert (exam.accepted, exam.extra, exam.extra_law) == (0, 1, 0.75)


def test_total_variation_is_exact_at_its_ends():
    p = torch.softmax(torch.randn(200, 3000, generator=torch.Generator().manual_seed(0)) * 5, -1)
    assert total_variation(p, p).tolist() == [0.0] * 200
    apart = total_variation(torch.nn.functional.pad(p, (0, 3000)), torch.nn.functional.pad(p, (3000, 0)))
    assert float(apart.max()) <= 1
    assert apart.tolist() == pytest.approx([1.0] * 200, abs=1e-5)


@pytest.mark.parametrize("name", ["tv", "tv_budget", "lenience", "cactus"])
def test_a_verdict_tells_at_which_leniency_it_flips(name):
    """Just below the flip the rule refuses with the same coin, just above it keeps; 0 and 1 mean always and never."""
    g, kinds = torch.Generator().manual_seed(4), set()
    for p, q in random_pairs(60):
        x = int(torch.multinomial(q, 1, generator=g))
        u = float(torch.rand(1, generator=g))
        verdict = Verdict(cycle=1, position=1, token=x, p=float(p[x]), q=float(q[x]), f=0.0, u=u, keep=0.0, accepted=False, lenient=False,
                          tv=float(total_variation(p[None], q[None])))  # fmt: skip
        flip = flip_leniency(name, verdict, 0.7)

        def kept(leniency: float, p: torch.Tensor = p, q: torch.Tensor = q, x: int = x, uq: float = u * verdict.q) -> bool:
            return uq < float(make_rule(name, leniency).target(p[None], q[None], torch.tensor([x]), None))

        kinds.add("always" if flip == 0 else "never" if flip == 1 else "between")
        if flip == 0:
            assert all(kept(leniency) for leniency in (0.0, 0.3, 0.9))
        elif flip == 1:
            assert not any(kept(leniency) for leniency in (0.0, 0.3, 0.9, 1.0))
        else:
            assert not kept(max(0.0, flip - 1e-5))
            assert kept(min(1.0, flip + 1e-5))
    assert {"always", "between"} <= kinds
    assert ("never" in kinds) == (name == "cactus")


@pytest.mark.parametrize("u", [0.05, 0.9])
@pytest.mark.parametrize("name", ["typical", "top_k", "cactus_exact", "tv_bank"])
def test_no_flip_is_told_where_a_verdict_does_not_hold_enough(name, u):
    verdict = Verdict(cycle=1, position=1, token=0, p=0.1, q=0.9, f=0.1, u=u, keep=0.1, accepted=False, lenient=False, tv=0.8)
    assert flip_leniency(name, verdict, 0.7) is None
    assert flip_leniency("lenience", verdict, 0.0) is None  # at temperature 0 the rule looks at another law
    assert flip_leniency("lossless", verdict, 0.7) == (0.0 if u == 0.05 else 1.0)
