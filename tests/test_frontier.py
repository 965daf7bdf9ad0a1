"""The frontier against slow obvious references, and the words of a choice."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdiff.frontier import (
    Point,
    choose,
    equal_quality,
    fastest,
    gain,
    hypervolume,
    neighbours,
    on_front,
    only,
    probability_on_front,
    staircase,
)

GRID = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=9)


def point(
    speed: float,
    quality: float,
    *,
    steps: int = 1,
    leniency: float = 0.0,
    noise: str = "masked",
    spread: float = 0.0,
    seed: int = 0,
    **other,
) -> Point:
    """A point whose 400 draws are normal around its values."""
    rng = np.random.default_rng(seed)
    about = {"rule": "tv", "gamma": 8, "proposal": "monotone", **other}
    return Point(noise, steps, leniency, about["rule"], about["gamma"], about["proposal"], speed, quality, rng.normal(speed, spread, 400), rng.normal(quality, spread, 400))  # fmt: skip


def dominated(a: tuple[int, int], others: list[tuple[int, int]]) -> bool:
    return any(b[0] >= a[0] and b[1] >= a[1] and b != a for b in others)


@given(GRID)
def test_the_front_is_what_nothing_dominates(pairs):
    speed, quality = (np.array(axis, float) for axis in zip(*pairs, strict=True))
    assert on_front(speed, quality).tolist() == [not dominated(a, pairs) for a in pairs]


@given(GRID, st.integers(0, 3), st.integers(0, 3))
def test_the_hypervolume_counts_dominated_cells(pairs, s, q):
    """On whole numbers the area is the number of unit cells below and left of some point."""
    cells = sum(any(a > x and b > y for a, b in pairs) for x, y in itertools.product(range(s, 6), range(q, 6)))
    speed, quality = (np.array(axis, float) for axis in zip(*pairs, strict=True))
    assert hypervolume(speed, quality, (s, q)) == cells


def test_certain_points_are_on_the_front_always_or_never():
    points = [point(1, 0.9), point(2, 0.8), point(1.5, 0.7), point(3, 0.1)]
    assert probability_on_front(points).tolist() == [1, 1, 0, 1]
    assert [(p.speed, p.quality) for p in staircase(points)] == [(1, 0.9), (2, 0.8), (3, 0.1)]
    assert staircase([]) == []


def test_two_equal_points_with_noise_share_the_front():
    """Each is dominated when it is worse on both axes: a quarter of 400 draws, within five standard deviations (1e-6)."""
    a, b = point(2, 0.5, spread=0.1, seed=1), point(2, 0.5, spread=0.1, seed=2)
    share = probability_on_front([a, b])
    assert abs(share[0] - 0.75) < 5 * (0.75 * 0.25 / 400) ** 0.5
    assert abs(share[1] - 0.75) < 5 * (0.75 * 0.25 / 400) ** 0.5
    again = probability_on_front([a, b], block=7)
    assert again.tolist() == share.tolist()


PLAIN = point(1, 0.8, steps=0)
JOINT = [
    PLAIN,
    point(2, 0.8),
    point(2.5, 0.6, leniency=0.4),
    point(2.2, 0.8, steps=4),
    point(3, 0.7, steps=4, leniency=0.4),
    point(3.5, 0.2, steps=4, leniency=1.0),
]


def test_single_knobs_keep_the_other_one_at_its_strict_end():
    assert [(p.steps, p.leniency) for p in only(JOINT, "leniency")] == [(0, 0), (1, 0), (1, 0.4)]
    assert [(p.steps, p.leniency) for p in only(JOINT, "steps")] == [(0, 0), (1, 0), (4, 0)]


def test_the_gain_is_a_ratio_of_areas():
    # reference: speed 1, quality .2. All: .1·… from the fastest: (3, .7) 2·.5, (2.2, .8) 1.2·.1; S = 1 alone: (2.5, .6) 1.5·.4, (2, .8) 1·.2
    figures = gain(JOINT, "leniency")
    assert figures["ratio"] == pytest.approx((2 * 0.5 + 1.2 * 0.1) / (1.5 * 0.4 + 1 * 0.2))
    assert figures["low"] == pytest.approx(figures["ratio"])
    for nothing in ([PLAIN], [], [PLAIN, point(2, 0.9, steps=4)], [point(2, 0.9, steps=4)]):
        assert np.isnan(gain(nothing, "leniency")["ratio"]), "leniency alone dominates nothing"
    assert gain(JOINT, "steps")["ratio"] == pytest.approx((2 * 0.5 + 1.2 * 0.1) / (1.2 * 0.6))


def test_at_equal_quality_the_fastest_of_all_is_compared():
    rows = equal_quality(JOINT, "leniency")
    assert [(s.speed, j.speed) for s, j, _ in rows] == [(2, 2.2), (2.5, 3)]
    assert [r for *_, r in rows] == pytest.approx([1.1, 1.2])
    assert fastest(JOINT, 0.9) is None


def test_a_choice_names_best_runner_up_and_one_reason_for_each_neighbour():
    choice = choose(JOINT, least_quality=0.7)
    assert (choice.best.speed, choice.runner_up.speed, choice.sure) == (3, 2.2, True)
    told = {p.name: why for p, why in choice.rejected}
    assert told == {
        "masked, S = 4, λ = 0": "speed 2.20× against 3.00×",
        "masked, S = 4, tv λ = 1": "quality 0.20 is below 0.70",
        "masked, S = 1, tv λ = 0.4": "quality 0.60 is below 0.70",
    }
    other = choose(JOINT, least_speed=2.1)
    assert (other.best.speed, other.best.quality) == (2.2, 0.8)
    assert {why for _, why in other.rejected} == {"speed 2.00× is below 2.10×", "quality 0.70 against 0.80"}


def test_an_uncertain_choice_says_so():
    shaky = [
        PLAIN,
        point(2, 0.71, spread=0.1),
        point(1.95, 0.72, steps=2, spread=0.1, seed=3),
        point(2.4, 0.65, leniency=0.2, spread=0.1, seed=4),
    ]
    choice = choose(shaky, least_quality=0.7)
    assert choice.best.speed == 2
    assert not choice.sure
    assert {why for _, why in choice.rejected} == {
        "speed 1.95× against 2.00×; their intervals overlap",
        "quality 0.65 is below 0.70, though its interval reaches it",
    }


def test_what_nothing_meets_has_no_choice():
    assert choose(JOINT, least_quality=0.95).best is None
    assert choose(JOINT, least_speed=9).rejected == []
    for wrong in ({}, {"least_quality": 0.5, "least_speed": 2.0}):
        with pytest.raises(ValueError, match="not both"):
            choose(JOINT, **wrong)


def test_neighbours_are_one_notch_away_and_other_names():
    here = point(2, 0.5, steps=2, leniency=0.2)
    around = [point(1, 0.5, steps=1, leniency=0.2), point(1, 0.5, steps=4, leniency=0.2), point(1, 0.5, steps=2, leniency=0.4)]
    named = [
        point(1, 0.5, steps=2, leniency=0.2, noise="uniform", proposal="final_step"),
        point(1, 0.5, steps=2, leniency=0.2, rule="cactus"),
    ]
    far = [point(1, 0.5, steps=8, leniency=0.2), point(1, 0.5, steps=4, leniency=0.4), PLAIN]
    assert set(neighbours([here, *around, *named, *far], here)) == {*around, *named}
    assert list(neighbours([here, PLAIN], PLAIN)) == []
    two = point(2, 0.5, steps=2, noise="uniform", proposal="final_step")
    one, other = point(1, 0.5), point(1, 0.5, steps=2, noise="uniform", proposal="monotone")
    assert set(neighbours([two, one, other], two)) == {one, other}, "one step belongs to both noises"
    assert set(neighbours([two, one, other], one)) == {two, other}
