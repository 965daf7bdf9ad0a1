"""The speed–quality frontier of measured settings: who is on it, how surely, what it gains, and which setting to take.

Knows points as two numbers with bootstrap draws; refuses to measure anything. Both axes are better when larger: speed is the
ratio to plain decoding, quality a share in [0, 1] (accuracy, or 1 − mean TV where nothing can be graded).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdiff.request import DEFAULT_PROPOSAL
from sdiff.sentence import Sentence

Numbers = NDArray[np.float64]
KNOBS = ("noise", "steps", "leniency", "rule", "gamma", "proposal")  # what a neighbour may differ in, one at a time


@dataclass(frozen=True, eq=False)
class Point:
    """One measured setting of one task. `steps` 0: plain decoding. Draws are those of a bootstrap over problems, in an order
    shared by all points, so that comparisons are paired; [B] each."""

    noise: str
    steps: int
    leniency: float
    rule: str
    gamma: int
    proposal: str
    speed: float
    quality: float
    speed_draws: Numbers
    quality_draws: Numbers

    @property
    def key(self) -> tuple[Any, ...]:
        """What was set."""
        return tuple(getattr(self, knob) for knob in KNOBS)

    def interval(self, axis: str) -> tuple[float, float]:
        """95 % interval of `axis` ("speed" or "quality"): percentiles of its draws."""
        low, high = np.nanpercentile(getattr(self, f"{axis}_draws"), [2.5, 97.5])
        return float(low), float(high)

    @property
    def name(self) -> Sentence:
        return point_name(self.noise, self.steps, self.rule, self.leniency)


def point_name(noise: str, steps: int, rule: str, leniency: float) -> Sentence:
    """A setting in a few words. λ = 0 belongs to every rule, so that it needs no rule's name."""
    if not steps:
        return Sentence("plain decoding")
    told = "{noise}, S = {steps}, {rule} λ = {leniency:g}" if leniency else "{noise}, S = {steps}, λ = 0"
    return Sentence(told, noise=Sentence(noise), steps=steps, rule=rule, leniency=leniency)


def axes(points: Sequence[Point]) -> tuple[Numbers, Numbers]:
    """Speeds and qualities, [n] each."""
    return np.array([p.speed for p in points]), np.array([p.quality for p in points])


def draws(points: Sequence[Point]) -> tuple[Numbers, Numbers]:
    """Bootstrap draws of both axes, [n, B] each."""
    return np.stack([p.speed_draws for p in points]), np.stack([p.quality_draws for p in points])


def on_front(speed: Numbers, quality: Numbers) -> NDArray[np.bool_]:
    """Which points [n, …] no other one dominates: none is at least as good on both axes and better on one. Equals are all kept."""
    as_good = (speed[None] >= speed[:, None]) & (quality[None] >= quality[:, None])
    better = (speed[None] > speed[:, None]) | (quality[None] > quality[:, None])
    return ~(as_good & better).any(1)


def probability_on_front(points: Sequence[Point], block: int = 50) -> Numbers:
    """Share of the paired bootstrap draws in which each point is non-dominated, [n]."""
    speed, quality = draws(points)
    parts = [on_front(speed[:, i : i + block], quality[:, i : i + block]) for i in range(0, speed.shape[1], block)]
    return np.concatenate(parts, 1).mean(1)


def staircase(points: Sequence[Point]) -> list[Point]:
    """The non-dominated points from the slowest to the fastest."""
    if not points:
        return []
    return sorted((p for p, kept in zip(points, on_front(*axes(points)), strict=True) if kept), key=lambda p: (p.speed, -p.quality))


def hypervolume(speed: Numbers, quality: Numbers, reference: tuple[float, float]) -> float:
    """Area that the points [n] dominate above and right of `reference` (speed, quality)."""
    area, best = 0.0, reference[1]
    for s, q in sorted(zip(speed.tolist(), quality.tolist(), strict=True), reverse=True):  # from the fastest
        if s > reference[0] and q > best:
            area += (s - reference[0]) * (q - best)
            best = q
    return area


def only(points: Sequence[Point], knob: str) -> list[Point]:
    """What one knob alone reaches: "leniency" leaves S at 1, "steps" leaves λ at 0. Plain decoding belongs to both."""
    return [p for p in points if p.steps == 0 or (p.steps == 1 if knob == "leniency" else p.leniency == 0)]


def gain(points: Sequence[Point], knob: str) -> dict[str, float]:
    """How much larger the dominated area is with both knobs than with `knob` alone: the ratio with its 95 % interval; NaN where
    `knob` alone dominates nothing. Never below 1, since what one knob reaches both do: look at how far above.

    The reference is plain speed at the quality of the worst point, the same for both areas.
    """
    few = only(points, knob)
    if not few:
        return dict.fromkeys(("ratio", "low", "high"), float("nan"))
    reference = (1.0, min(p.quality for p in points))

    def ratio(joint: tuple[Numbers, Numbers], single: tuple[Numbers, Numbers]) -> float:
        below = hypervolume(*single, reference)
        return hypervolume(*joint, reference) / below if below > 0 else float("nan")

    (js, jq), (ss, sq) = draws(points), draws(few)
    values = [ratio((js[:, b], jq[:, b]), (ss[:, b], sq[:, b])) for b in range(js.shape[1])]
    low, high = np.nanpercentile(values, [2.5, 97.5]) if not np.isnan(values).all() else (float("nan"),) * 2
    return {"ratio": ratio(axes(points), axes(few)), "low": float(low), "high": float(high)}


def fastest(points: Sequence[Point], least_quality: float) -> Point | None:
    """The fastest point whose quality is at least that."""
    return max((p for p in points if p.quality >= least_quality), key=lambda p: (p.speed, p.quality), default=None)


def equal_quality(points: Sequence[Point], knob: str) -> list[tuple[Point, Point, float]]:
    """At the quality of each point on the front of `knob` alone: (that point, the fastest of all points at least as good, how many
    times as fast it is), beginning with the best quality."""
    return [
        (single, joint, joint.speed / single.speed)
        for single in staircase(only(points, knob))
        if (joint := fastest(points, single.quality)) is not None
    ]


@dataclass(frozen=True)
class Choice:
    """What to take under a constraint. `sure`: does the best one's whole 95 % interval meet it? `rejected`: settings one notch
    away from the best, each with the one reason against it."""

    best: Point | None
    runner_up: Point | None
    sure: bool
    rejected: list[tuple[Point, Sentence]]


def choose(points: Sequence[Point], least_quality: float | None = None, least_speed: float | None = None) -> Choice:
    """The fastest setting of at least that quality, or the best one of at least that speed. Exactly one bound is given.

    Ties go to the other axis. Raises ValueError when both or neither bound is given.
    """
    if (least_quality is None) == (least_speed is None):
        raise ValueError("give a least quality or a least speed, not both")
    bound_axis, aim, bound = ("quality", "speed", least_quality) if least_quality is not None else ("speed", "quality", least_speed)
    good = [p for p in points if getattr(p, bound_axis) >= bound]
    ranked = sorted(good, key=lambda p: (getattr(p, aim), getattr(p, bound_axis)), reverse=True)
    if not ranked:
        return Choice(None, None, False, [])
    best, *others = ranked
    rejected = [(p, reason(p, best, bound_axis, aim, bound)) for p in neighbours(points, best)]
    return Choice(best, others[0] if others else None, best.interval(bound_axis)[0] >= bound, rejected)


def reason(p: Point, best: Point, bound_axis: str, aim: str, bound: float) -> Sentence:
    """Why `best` and not `p`, in one sentence with the numbers that decide it."""
    shown = {"quality": lambda v: f"{v:.2f}", "speed": lambda v: f"{v:.2f}×"}
    value, mine, its = getattr(p, bound_axis), getattr(best, aim), getattr(p, aim)
    bounded = {"axis": Sentence(bound_axis), "value": shown[bound_axis](value)}
    if value < bound:
        low, high = p.interval(bound_axis)
        doubt = Sentence(", though its interval reaches it" if high >= bound else "")
        return Sentence("{axis} {value} is below {bound}{doubt}", **bounded, bound=shown[bound_axis](bound), doubt=doubt)
    aimed = {"aim": Sentence(aim), "its": shown[aim](its)}
    if its == mine:
        same = "the same {aim} {its}, {axis} {value} against {best}"
        return Sentence(same, **aimed, **bounded, best=shown[bound_axis](getattr(best, bound_axis)))
    low, high = p.interval(aim)
    doubt = Sentence("; their intervals overlap" if high >= best.interval(aim)[0] and best.interval(aim)[1] >= low else "")
    return Sentence("{aim} {its} against {mine}{doubt}", **aimed, mine=shown[aim](mine), doubt=doubt)


def differences(p: Point, other: Point) -> list[str]:
    """Knobs in which two drafted points differ. With one step the noise says nothing, and a noise brings its own proposal along."""
    knobs = [knob for knob in KNOBS if getattr(p, knob) != getattr(other, knob)]
    if 1 in (p.steps, other.steps):
        return [knob for knob in knobs if knob not in ("noise", "proposal")]
    default = all(point.proposal == DEFAULT_PROPOSAL.get(point.noise) for point in (p, other))
    return [knob for knob in knobs if knob != "proposal" or "noise" not in knobs or not default]


def neighbours(points: Sequence[Point], of: Point) -> Iterator[Point]:
    """Points that differ from `of` in one knob: numbers by one notch of what was measured, names in any way."""
    for knob in KNOBS:
        line = [p for p in points if p.steps and of.steps and differences(p, of) == [knob]]
        if isinstance(getattr(of, knob), str):
            yield from line
            continue
        values, here = {getattr(p, knob) for p in line}, getattr(of, knob)
        notches = {max((v for v in values if v < here), default=None), min((v for v in values if v > here), default=None)}
        yield from (p for p in line if getattr(p, knob) in notches)
