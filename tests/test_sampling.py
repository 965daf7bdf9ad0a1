"""Sampling: laws of shaped logits, and the one categorical draw against the law it must follow."""

import math

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from sdiff.sampling import Dice, NonFiniteLogits, Shape, finite
from sdiff.theory import ALMOST_ONE

FALSE_ALARM = 1e-6  # of every chi-square test here, were its seed drawn afresh; the seeds are fixed, so a pass stays one

logit = st.one_of(st.floats(-30, 30), st.just(-math.inf), st.sampled_from([0.0, 1.0]))  # the last makes ties likely
rows = st.lists(logit, min_size=1, max_size=8).filter(lambda row: max(row) > -math.inf)
temperatures = st.one_of(st.just(1.0), st.floats(0.05, 2.0))


def softmax(row: list[float], temperature: float) -> list[float]:
    top = max(row)
    weights = [math.exp((x - top) / temperature) for x in row]
    return [w / math.fsum(weights) for w in weights]


def shaped(row: list[float], **shape: float) -> list[float]:
    return Shape(**shape).law(torch.tensor([row], dtype=torch.float64))[0].tolist()


@given(rows, temperatures, st.floats(0.1, 3.0))
def test_temperature_and_scale_are_a_softmax(row, temperature, scale):
    law = Shape(temperature).law(torch.tensor([row], dtype=torch.float64), scale)[0].tolist()
    assert law == pytest.approx(softmax(row, temperature / scale), abs=1e-12)
    assert math.fsum(law) == pytest.approx(1)


@given(rows, temperatures, st.integers(1, 10))
def test_top_k_keeps_the_k_likeliest_renormalised(row, temperature, k):
    whole, law = softmax(row, temperature), shaped(row, temperature=temperature, top_k=k)
    possible = sum(p > 0 for p in whole)
    assert sum(p > 0 for p in law) == min(k, possible)
    kept = [i for i, p in enumerate(law) if p > 0]
    assert min(whole[i] for i in kept) >= max((p for i, p in enumerate(whole) if i not in kept), default=0) - 1e-15
    mass = math.fsum(whole[i] for i in kept)
    assert law == pytest.approx([p / mass if i in kept else 0 for i, p in enumerate(whole)], abs=1e-12)


@given(rows, temperatures, st.integers(0, 5), st.floats(0.01, 1.0))
def test_top_p_keeps_the_smallest_set_that_reaches_its_mass(row, temperature, k, top_p):
    base, law = shaped(row, temperature=temperature, top_k=k), shaped(row, temperature=temperature, top_k=k, top_p=top_p)
    kept = [i for i, p in enumerate(law) if p > 0]
    masses = sorted(base, reverse=True)
    reached = [math.fsum(masses[:n]) for n in range(1, len(masses) + 1)]
    assume(all(abs(m - top_p) > 1e-12 for m in reached[:-1]))  # at a tie rounding may decide
    if top_p < 1:
        assert len(kept) == next((n for n, m in enumerate(reached, 1) if m >= top_p), sum(p > 0 for p in base))
    mass = math.fsum(base[i] for i in kept)
    assert mass == pytest.approx(math.fsum(masses[: len(kept)]))
    assert law == pytest.approx([p / mass if i in kept else 0 for i, p in enumerate(base)], abs=1e-12)


@given(rows, st.integers(0, 3), st.floats(0.01, 1.0))
def test_temperature_zero_is_the_first_of_the_largest(row, k, top_p):
    law = shaped(row, temperature=0, top_k=k, top_p=top_p)
    assert law == [float(i == row.index(max(row))) for i in range(len(row))]


@pytest.mark.parametrize("temperature", [1e-3, 1e-12, 1e-40, 5e-324])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_temperature_near_zero_is_almost_the_argmax(temperature, dtype):
    """Finite logits never count as a broken model, however small the temperature."""
    assert Shape(temperature).law(torch.tensor([[1.0, -3.0, 7.5, 7.0]], dtype=dtype))[0].tolist() == pytest.approx([0, 0, 1, 0], abs=1e-9)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_laws_are_float32_and_sum_to_one_over_a_real_vocabulary(dtype):
    logits = (torch.randn(3, 49152, generator=torch.Generator().manual_seed(0)) * 4).to(dtype)
    for shape in (Shape(), Shape(0.7), Shape(0.7, 50), Shape(1.0, 0, 0.9), Shape(0.5, 200, 0.8), Shape(0)):
        law = shape.law(logits)
        assert law.dtype == torch.float32
        assert bool((law >= 0).all())
        assert law.sum(-1, dtype=torch.float64).tolist() == pytest.approx([1, 1, 1], abs=1e-5)


@pytest.mark.parametrize("temperature", [0, 1e-12, 0.7])
@pytest.mark.parametrize("bad", [[math.nan, 0.0], [0.0, math.nan], [math.inf, 0.0], [-math.inf, -math.inf], [math.nan, math.inf]])
@pytest.mark.parametrize("where", [0, 1])
def test_rows_that_are_no_law_are_found(temperature, bad, where):
    """They are not finite, their neighbours are as ever, and what is drawn from them is some token: the run goes on to where it is asked."""
    logits = torch.tensor([[0.0, 1.0], [2.0, -math.inf]])
    broken = logits.clone()
    broken[where] = torch.tensor(bad)
    for shape in (Shape(temperature), Shape(temperature, 1), Shape(temperature, 0, 0.5)):
        law = shape.law(broken)
        assert bool(finite(shape.law(logits)))
        assert not bool(finite(law))
        assert torch.equal(law[1 - where], shape.law(logits)[1 - where])
        for weights in (law, law * torch.tensor([1.0, 0.0]), torch.full_like(law, torch.nan)):
            assert set(Dice(0).draw(weights).tolist()) <= {0, 1}
    assert str(NonFiniteLogits()) == "the model returned numbers that are not finite"


def chi_square_p_value(counts: torch.Tensor, law: torch.Tensor) -> float:
    """Probability of a worse fit under `law`; cells without mass must be empty."""
    possible = law > 0
    assert int(counts[~possible].sum()) == 0
    expected = (law * counts.sum())[possible]
    assert float(expected.min()) > 5
    statistic = ((counts[possible] - expected) ** 2 / expected).sum()
    return float(torch.special.gammaincc((possible.sum() - 1).double() / 2, statistic / 2))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("weights", [
    [1.0, 1.0], [0.0, 1.0, 0.0, 0.0, 3.0, 0.0], [1e-3, 5.0, 2.0, 1e-3, 9.0], [100.0, 1.0, 300.0], [0.0, 0.0, 4.0], [i % 5 for i in range(60)],
])  # fmt: skip
def test_draws_follow_their_weights(weights, dtype):
    """Chi-square of 200 000 draws, unnormalised weights, zeros first, in the middle and last. False alarm: FALSE_ALARM each."""
    row = torch.tensor(weights, dtype=dtype)
    drawn = Dice(11).draw(row.expand(200_000, -1))
    counts = torch.bincount(drawn, minlength=len(weights)).double()
    law = row.double() / row.double().sum()
    if int((law > 0).sum()) == 1:
        assert counts.tolist() == [200_000 * float(w > 0) for w in weights]
    else:
        assert chi_square_p_value(counts, law) > FALSE_ALARM


def test_rows_are_drawn_independently():
    """Chi-square of pairs drawn in one call. False alarm: FALSE_ALARM."""
    dice, one, two = Dice(5), torch.tensor([1.0, 2.0, 3.0]), torch.tensor([3.0, 1.0, 1.0])
    pairs = [dice.draw(torch.stack([one, two])) for _ in range(20_000)]
    counts = torch.bincount(torch.stack(pairs) @ torch.tensor([3, 1]), minlength=9).double()
    assert chi_square_p_value(counts, torch.outer(one.double() / 6, two.double() / 5).flatten()) > FALSE_ALARM


class Stuck(Dice):
    """Dice whose uniform numbers all equal `u`."""

    def __init__(self, u: float) -> None:
        self.u = u

    def uniform(self, n: int) -> torch.Tensor:
        return torch.full((n,), self.u, dtype=torch.float64)


@given(
    st.lists(st.sampled_from([0.0, 0.0, 1e-30, 0.1, 1 / 3, 1.0, 7.0]), min_size=1, max_size=9).filter(any),
    st.sampled_from([0.0, 0.25, 0.5, ALMOST_ONE]),
)
def test_a_zero_weight_is_never_drawn_whatever_the_uniform_number(weights, u):
    """u = 0 and the largest u below 1 are where an inverse CDF picks zero weights at its ends."""
    drawn = int(Stuck(u).draw(torch.tensor([weights], dtype=torch.float64)))
    assert weights[drawn] > 0
    possible = [i for i, w in enumerate(weights) if w > 0]
    below = math.fsum(weights[:drawn]) / math.fsum(weights)
    assert below <= u + 1e-15
    assert u <= below + weights[drawn] / math.fsum(weights) + 1e-15
    assert u != 0 or drawn == possible[0]


def test_uniform_numbers_are_in_the_half_open_interval_and_fine_grained():
    u = Dice(1).uniform(100_000)
    assert u.dtype == torch.float64
    assert float(u.min()) >= 0
    assert float(u.max()) < 1
    assert len(u.unique()) == 100_000  # float32 numbers would collide
    assert bool((u.float().double() != u).any())


def test_dice_are_a_function_of_their_seed_and_share_nothing():
    row, f, q = torch.rand(4, 9), torch.full((6,), 0.5), torch.full((6,), 1.0)

    def rolls(dice: Dice, n: int) -> list[list[float]]:
        return [[*dice.draw(row).tolist(), *dice.coins(f, q).tolist()] for _ in range(n)]

    alone = {seed: rolls(Dice(seed), 10) for seed in (0, 1, 2**53 - 1)}
    assert alone[0] != alone[1]
    before = torch.get_rng_state()
    dice = {seed: Dice(seed) for seed in alone}
    mixed: dict[int, list] = {seed: [] for seed in alone}
    for _ in range(10):
        torch.rand(3)
        for seed, one in dice.items():
            mixed[seed] += rolls(one, 1)
    assert mixed == alone
    torch.set_rng_state(before)
    Dice(3).draw(row)
    assert torch.equal(torch.get_rng_state(), before), "the global generator must stay untouched"
    # coins do not look at the odds
    assert Dice(4).coins(f, q).tolist() == Dice(4).coins(f * 0, q * 0.1).tolist()


@pytest.mark.parametrize("ahead", [[0], [1, 0, 0, 50], [40, 3], [7] * 9])
def test_numbers_drawn_ahead_come_in_the_same_order(ahead):
    """However many are uploaded at once, and used or left over: one stream. (torch draws float64 numbers one by one.)"""
    row, f = torch.rand(4, 9), torch.full((6,), 0.5)

    def rolls(dice: Dice, ahead: list[int]) -> list[float]:
        told = []
        for n in ahead * 3:
            dice.fill(n, torch.device("cpu"))
            told += [*dice.draw(row).tolist(), *dice.coins(f, f).tolist(), *dice.draw(row[:1]).tolist()]
        return told

    assert rolls(Dice(8), ahead) == rolls(Dice(8), [0] * len(ahead))
    stream = Dice(9)
    stream.fill(30, torch.device("cpu"))
    assert torch.cat([stream.take(n, torch.device("cpu")) for n in (3, 0, 20, 12)]).tolist() == Dice(9).uniform(35).tolist()
