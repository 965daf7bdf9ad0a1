"""What the frontier view draws, as plain numbers: points with intervals, fronts, areas, machines, the answer to a constraint.

Knows stores and points; refuses to know words and pages. Every number is finite or None, so that all of it is JSON.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sdiff.bench.places import MODELLED, Place, modelled
from sdiff.bench.points import is_exact, points, quality, speed
from sdiff.bench.report import joint_ratio
from sdiff.bench.settings import GAMMA, GRADED, Setting
from sdiff.bench.store import Store, by_setting
from sdiff.frontier import KNOBS, Choice, Point, choose, draws, gain, only, probability_on_front, staircase
from sdiff.request import DEFAULT_PROPOSAL, NOISES
from sdiff.request import KNOBS as RULES
from sdiff.sentence import Sentence, why
from sdiff.tasks import TASKS

FEW = 3  # timed prompts below which a speed has no interval
LEAST_DRAWS = 50  # bootstrap draws below which nothing is said about chance
ALONE = ("leniency", "steps")  # the fronts of one knob, see frontier.only
AIMS = ("near", "quality", "speed")  # near: so many points below lossless


@dataclass(frozen=True)
class Measured:
    """One task on one machine. `alone`: speeds of settings without a quality; `left_out`: settings whose speed or quality is no number."""

    points: list[Point]
    figures: dict[tuple[Any, ...], dict[str, Any]]
    alone: dict[Setting, dict[str, Any]]
    left_out: int


def number(value: Any, digits: int = 4) -> float | None:
    """Rounded, or None where it is no number."""
    return round(float(value), digits) if value is not None and math.isfinite(value) else None


def finite(every: Sequence[Point]) -> list[Point]:
    """Points whose two values are numbers, with the bootstrap draws that are numbers for all of them, still paired."""
    kept = [p for p in every if math.isfinite(p.speed) and math.isfinite(p.quality)]
    if not kept:
        return []
    good = np.logical_and(*(np.isfinite(axis).all(0) for axis in draws(kept)))
    if good.sum() < LEAST_DRAWS:
        return kept
    return [replace(p, speed_draws=p.speed_draws[good], quality_draws=p.quality_draws[good]) for p in kept]


def chosen(every: Iterable[Point], noise: str, rule: str) -> list[Point]:
    """Points of a noise ("": all) and a rule with the grid's blocks and default proposals ("": everything measured). Plain decoding and
    one step belong to every noise, λ = 0 to every rule."""

    def fits(p: Point) -> bool:
        of_grid = p.gamma == GAMMA and p.proposal == DEFAULT_PROPOSAL.get(p.noise) and (p.rule == rule or (p.rule, p.leniency) == ("tv", 0))
        return p.steps == 0 or ((not noise or p.noise == noise or p.steps == 1) and (not rule or of_grid))

    return [p for p in every if fits(p)]


def name_of(p: Point) -> str:
    """A point in a few words, with what sets it apart from the grid."""
    extra = [f"γ = {p.gamma}"] * (p.gamma != GAMMA) + [p.proposal] * (p.proposal != DEFAULT_PROPOSAL.get(p.noise))
    return Sentence("{name}, {extra}", name=p.name, extra=", ".join(extra)) if p.steps and extra else p.name


def bare(setting: Setting) -> Point:
    """A setting as a point without values."""
    nothing = np.empty(0)
    return Point(*setting.key()[1:], math.nan, math.nan, nothing, nothing)


def described(p: Point, task: str, figures: dict[str, Any], chance: float | None) -> dict[str, Any]:
    """One point as JSON. The quality's interval is Wilson's where one setting was graded, else the bootstrap's over problems."""
    exact = is_exact(Setting(task, *p.key))
    slow, fast = p.interval("speed") if figures["timed"] >= FEW else (None, None)
    low, high = (figures["low"], figures["high"]) if "low" in figures and not exact else p.interval("quality")
    told = ("tau", "tv", "kl", "nll", "repetition", "tokens_per_second", "draft_ms", "verify_ms", "examine_ms", "load")
    return {
        "setting": {knob: getattr(p, knob) for knob in KNOBS}, "name": name_of(p), "lossless": exact, "n": figures["n"], "timed": figures["timed"],
        "speed": number(p.speed), "speed_low": number(slow), "speed_high": number(fast),
        "quality": number(p.quality), "quality_low": number(low), "quality_high": number(high), "chance": number(chance, 3),
        **{key: number(figures.get(key), 5) for key in told},
    }  # fmt: skip


def fronts(every: Sequence[Point]) -> dict[str, list[int]]:
    """Indices of the points on the joint front and on those of one knob, each from the slowest to the fastest."""
    index = {id(p): i for i, p in enumerate(every)}
    lines = {"both": staircase(every), **{knob: staircase(only(every, knob)) for knob in ALONE}}
    return {name: [index[id(p)] for p in line] for name, line in lines.items()}


def gains(every: Sequence[Point]) -> dict[str, dict[str, float | None]]:
    """`frontier.gain` over each knob alone, None where there is no area to compare with."""
    return {knob: {key: number(value, 3) for key, value in gain(every, knob).items()} if every else {"ratio": None} for knob in ALONE}


def layer(task: str, measured: Measured, noise: str, rule: str) -> dict[str, Any]:
    """The chosen points of one machine with their fronts, and the speeds that have no quality."""
    kept = chosen(measured.points, noise, rule)
    sure = len(kept) > 1 and kept[0].speed_draws.size >= LEAST_DRAWS
    chances = probability_on_front(kept) if sure else [None] * len(kept)
    return {
        "points": [described(p, task, measured.figures[p.key], chance) for p, chance in zip(kept, chances, strict=True)],
        "fronts": fronts(kept), "gain": gains(kept), "left_out": measured.left_out,
        "alone": [{"setting": {knob: getattr(s, knob) for knob in KNOBS}, "name": name_of(bare(s)), "timed": f["timed"], "speed": number(f["speedup"]),
                   **{f"speed_{end}": number(f[f"speedup_{end}"]) if f["timed"] >= FEW else None for end in ("low", "high")}}
                  for s, f in measured.alone.items() if number(f["speedup"])],
    }  # fmt: skip


def answered(every: Sequence[Point], choice: Choice, axis: str, bound: float) -> dict[str, Any]:
    """A choice in indices of `every`; `nearest`: what comes closest where nothing meets the bound."""
    index = {id(p): i for i, p in enumerate(every)}
    at = lambda p: index.get(id(p))  # noqa: E731
    return {"axis": axis, "bound": number(bound), "best": at(choice.best), "runner_up": at(choice.runner_up), "sure": choice.sure,
            "nearest": at(max(every, key=lambda p: getattr(p, axis))), "rejected": [[at(p), why] for p, why in choice.rejected]}  # fmt: skip


class Measurements:
    """The shipped measurements and this machine's own, opened again when a file of theirs changes; what was computed is kept till then.

    `models` tells which weights are in use. Every method raises ValueError, in a sentence, when the shipped ones cannot be read.
    """

    def __init__(self, shipped: Path, own: Path, models: Callable[[], dict[str, str]]) -> None:
        self.folders, self._name_models = {False: shipped, True: own}, models
        self.stores: dict[bool, Store] = {}
        self.models: dict[str, str] = {}
        self.problem = ""  # why this machine's own measurements are left out
        self._stamp: Any = None
        self._known: dict[Any, Any] = {}
        self._lock = threading.RLock()

    def kept(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """What `make` gives, computed once until a file changes."""
        with self._lock:
            self._refresh()
            if key in self._known:
                return self._known[key]
            stamp, value = self._stamp, make()
            if stamp == self._stamp:  # no file changed meanwhile
                self._known[key] = value
            return value

    def _refresh(self) -> None:
        files = [folder / name for folder in self.folders.values() for name in ("about.json", "quality.csv.gz", "speed.csv.gz")]
        stamp = [(path.stat().st_mtime_ns, path.stat().st_size) if path.exists() else None for path in files]
        if stamp == self._stamp:
            return
        self._known.clear()
        self._stamp, self.problem, self.stores = None, "", {False: Store(self.folders[False])}
        try:
            self.stores[True] = Store(self.folders[True])
        except ValueError as error:
            self.problem = why(error)
        self.models, self._stamp = self._name_models(), stamp

    def places(self) -> list[Place]:
        """Timed machines, the shipped ones first, each kind from the one measured last; after them, if there is one, what is modelled."""

        def found() -> list[Place]:
            result = []
            for own, store in self.stores.items():
                latest: dict[str, Place] = {}
                for place in (Place(own, run) for run in store.runs("speed", self.models)):
                    latest.pop(place.id, None)
                    latest[place.id] = place
                result += reversed(latest.values())
            return [*result, *MODELLED] if result else []

        return self.kept(("places",), found)

    def place(self, name: str = "") -> Place | None:
        """The place of that id; the first one where there is no such."""
        every = self.places()
        return next((place for place in every if place.id == name), every[0] if every else None)

    def store_of_quality(self, place: Place) -> Store:
        """Where quality comes from: the shipped rows where none were measured here, since no machine changes the laws."""
        return self.stores[place.own] if len(self.stores[place.own].rows("quality", self.models)) else self.stores[False]

    def tables(self, place: Place) -> tuple[pd.DataFrame, pd.DataFrame]:
        """(quality rows, timings) of a place."""

        def read() -> tuple[pd.DataFrame, pd.DataFrame]:
            decoded = self.store_of_quality(place).rows("quality", self.models)
            if place.step_cost is None:
                timed = self.stores[place.own].rows("speed", self.models, **place.machine)
            else:
                timed = modelled(decoded, place.step_cost)
            return tuple(table[table["noise"].isin(["", *NOISES])] for table in (decoded, timed))

        return self.kept(("tables", place.id), read)

    def measured(self, task: str, place: Place) -> Measured:
        """All points of a task on a machine, with their figures."""

        def compute() -> Measured:
            decoded, timed = self.tables(place)
            every = points(decoded, timed, task)
            kept = finite(every)
            rows, timings = (by_setting(table[table["task"] == task]) for table in (decoded, timed))
            settings = [Setting(task, *p.key) for p in kept]
            rate = {} if place.step_cost is None else {"tokens_per_second": None}  # a model has no second
            figures = {p.key: {**quality(rows[s]), **speed(timings[s]), **rate} for p, s in zip(kept, settings, strict=True)}
            alone = {s: speed(part) for s, part in timings.items() if s not in rows}
            return Measured(kept, figures, alone, len(every) - len(kept))

        return self.kept(("measured", task, place.id), compute)

    def tasks(self, place: Place) -> list[str]:
        """Tasks with points on a machine."""
        known = [set(table["task"]) for table in self.tables(place)]
        return [task for task in TASKS if all(task in names for names in known)]

    def state(self) -> str:
        """ "" where there are timings of these models, "other" where only of other ones, "nothing" where of none."""
        if self.places():
            return ""
        return "other" if any(store.about["runs"] for store in self.stores.values()) else "nothing"

    def chart(self, task: str, noise: str = "", rule: str = "tv", place: str = "") -> dict[str, Any]:
        """Everything to draw: the points of a machine, and over them those measured here, if that is another one."""
        if task not in TASKS:
            raise ValueError(Sentence("unknown task {task}; there are {known}", task=task, known=", ".join(TASKS)))
        if noise not in ("", *NOISES) or rule not in ("", *RULES):
            raise ValueError(Sentence("unknown noise or rule"))  # also bounds what is kept
        state, here = self.state(), self.place(place)
        base = {"task": task, "noise": noise, "rule": rule, "graded": task in GRADED, "state": state, "problem": self.problem,
                "models": self.models, "modelled": here.step_cost if here else None}  # fmt: skip
        if here is None:
            return {**base, "place": "", "tasks": [], "main": None, "mine": None, "joint": {}, "run": None, "quality_runs": []}
        mine = None if here.step_cost is not None else next((p for p in self.places() if p.own and p.id != here.id), None)
        return {**base, "place": here.id, "tasks": self.tasks(here), "main": self._layer(task, here, noise, rule),
                "mine": self._layer(task, mine, noise, rule) if mine else None, "mine_run": mine and mine.run,
                "joint": self._joint(task, here, noise) if rule == "tv" else {}, "run": here.run, "quality_runs": self._quality_runs(here)}  # fmt: skip

    def _layer(self, task: str, place: Place, noise: str, rule: str) -> dict[str, Any]:
        return self.kept(("layer", task, place.id, noise, rule), lambda: layer(task, self.measured(task, place), noise, rule))

    def _joint(self, task: str, place: Place, noise: str) -> dict[str, Any]:
        one = lambda name: self.kept(("joint", task, place.id, name), lambda: joint_ratio(*self.tables(place), task, name))  # noqa: E731
        return {name: row for name in NOISES if noise in ("", name) and (row := one(name))}

    def _quality_runs(self, place: Place) -> list[dict[str, Any]]:
        return self.store_of_quality(place).runs("quality", self.models)

    def answer(self, task: str, noise: str, rule: str, place: str, aim: str, bound: float) -> dict[str, Any] | None:
        """`frontier.choose` among the points of a chart; None where there is none, or no lossless one to be near to."""
        here = self.place(place)
        every = chosen(self.measured(task, here).points, noise, rule) if here else []
        exact = [p.quality for p in every if is_exact(Setting(task, *p.key))]
        if not every or (aim == "near" and not exact):
            return None
        least = exact[0] - bound / 100 if aim == "near" else bound
        choice = choose(every, None if aim == "speed" else least, least if aim == "speed" else None)
        return answered(every, choice, "speed" if aim == "speed" else "quality", least)

    def settings(self) -> dict[tuple[Any, ...], Setting]:
        """Every setting with rows of these models, by its key: what a page may ask for."""

        def found() -> dict[tuple[Any, ...], Setting]:
            tables = [store.rows(kind, self.models) for store in self.stores.values() for kind in ("quality", "speed")]
            return {s.key(): s for table in tables for s in by_setting(table)}

        return self.kept(("settings",), found)
