"""This machine's own speeds: the quick grid of one task, run by run, with its progress told and a stop that is obeyed at once.

Knows the sweep; refuses to know who asked. Rows go where `python -m sdiff bench --quick` puts them, and either goes on from the other.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sdiff import bundled
from sdiff.bench.machine import where
from sdiff.bench.settings import QUICK, Setting, grid
from sdiff.bench.speed import CHUNK
from sdiff.bench.store import MACHINE, Store
from sdiff.bench.sweep import Clock, measure_speed
from sdiff.pairs import Pair
from sdiff.request import Request
from sdiff.trace import Event

PROMPTS = 12


class Stopped(RuntimeError):
    """A run that was cut short; the sweep leaves it out like any other failure."""


@dataclass
class Progress:
    """How far a sweep is: written on the decoder's thread, read on others. `stop` is the one thing they write."""

    minutes: float
    stop: bool = False
    runs: int = 0
    planned: int = 0
    began: float = 0.0  # monotonic seconds; 0: not yet
    failed: list[str] = field(default_factory=list)

    @property
    def over(self) -> bool:
        """Has the time run out?"""
        return bool(self.began) and time.monotonic() - self.began >= self.minutes * 60

    def seconds_left(self) -> float:
        """At most: what the time allows, or less if the runs left will not take that long."""
        if not self.began:
            return self.minutes * 60
        spent = time.monotonic() - self.began
        whole = spent / self.runs * self.planned if self.runs else float("inf")
        return max(0.0, min(self.minutes * 60, whole) - spent)


@dataclass
class Watched:
    """A pair whose runs are counted and end as soon as they should."""

    pair: Pair
    progress: Progress

    def stream(self, asked: Request, detail: bool = True) -> Iterator[Event]:
        yield from self.pair.stream(asked, stop=lambda: self.progress.stop, detail=detail)
        if self.progress.stop:
            raise Stopped("stopped")
        self.progress.runs += 1


def planned(store: Store, models: dict[str, str], about: dict[str, Any], settings: list[Setting]) -> int:
    """Runs that are missing, with the plain ones beside them and the two that warm up."""
    done = store.done("speed", models, **{key: about[key] for key in MACHINE})
    missing = [sum(k not in done.get(s, ()) for s in settings) for k in range(PROMPTS)]
    return sum(n + -(-n // CHUNK) for n in missing) + 2 * any(missing)


def measure(pair: Pair, folder: Path, task: str, progress: Progress) -> bool:
    """Time the quick grid of `task` until the minutes are over or a stop. → is everything there?

    Raises ValueError when the folder holds what cannot be read, OSError when it cannot be written.
    """
    store, models, about = Store(folder), bundled.names(bundled.PRECOMPUTED), where(pair, pair.denoiser.scale)
    settings = grid((task,), QUICK["steps"], QUICK["leniencies"])
    progress.planned, progress.began = planned(store, models, about, settings), time.monotonic()

    def say(line: str) -> None:
        if "left out" in line and not progress.stop:
            progress.failed.append(line)

    return measure_speed(
        Watched(pair, progress), store, models, about, settings, PROMPTS, Clock(progress.minutes, lambda: progress.stop), say
    )
