"""The finished runs of each open page, as places on the frontier. Knows traces; refuses to know charts and stores.

A run's speed is told as a ratio to the page's own plain run of the same prompt, made on this machine: without one there is no
ratio. Its interval resamples the cycles of both runs, and so says how steady these two were, not what other prompts would give.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdiff.bench.chart import bare, name_of, number
from sdiff.bench.settings import GAMMA, Setting, measured
from sdiff.frontier import Numbers
from sdiff.measures import statistics
from sdiff.request import DEFAULT_PROPOSAL
from sdiff.trace import Emit, Run, Trace, Verify

DRAWS = 400
LEAST_CYCLES = 4  # shorter runs are timed too coarsely to be placed
MOST_PAGES, MOST_RUNS = 300, 30
SAMPLING = ("temperature", "top_k", "top_p", "raw", "original")


@dataclass(frozen=True, eq=False)
class OwnRun:
    """One finished run. `draws`: tokens per second of its resampled cycles, [DRAWS]."""

    prompt: str
    task: str
    settings: dict[str, Any]
    lossless: bool
    tokens: int
    tokens_per_second: float
    draws: Numbers

    @property
    def plain(self) -> bool:
        return bool(self.settings.get("plain"))

    @property
    def baseline(self) -> tuple[Any, ...]:
        """What a plain run must share with it to be its baseline."""
        return self.prompt, *(self.settings.get(name) for name in ("raw", "original"))

    def setting(self) -> Setting:
        """The stored setting with the same law."""
        s = self.settings
        noise, proposal = s["noise"], s.get("proposal", "")
        usual = {"gamma": s.get("gamma", GAMMA), "rule": s["rule"]}
        if proposal in ("", DEFAULT_PROPOSAL.get(noise)):
            return measured(self.task, noise, s["steps"], s["leniency"], **usual)
        return Setting(self.task, noise, s["steps"], s["leniency"], proposal=proposal, **usual)


def own_run(trace: Trace) -> OwnRun | None:
    """A trace as an own run; None where it was stopped, failed, or is too short to be timed."""
    head, end = trace.events[0] if trace.events else None, trace.end
    if not isinstance(head, Run) or end is None or end.reason in ("stopped", "error"):
        return None
    checks = {e.cycle: e.draft_ms + e.ms for e in trace.of(Verify)}
    cycles = [(len(e.tokens), checks.get(e.cycle, 0.0) + e.ms) for e in trace.of(Emit)]
    per_second = statistics(trace.events)["tokens_per_second"]
    if len(cycles) < LEAST_CYCLES or not math.isfinite(per_second) or per_second <= 0:
        return None
    tokens, ms = np.array(cycles, float).T
    drawn = np.random.default_rng(int(bool(head.settings.get("plain")))).integers(0, len(cycles), (DRAWS, len(cycles)))
    speeds = tokens[drawn].sum(1) / np.maximum(ms[drawn].sum(1), 1e-9) * 1e3
    from sdiff.policy import route  # torch: there once a run has finished, not when the page is built

    return OwnRun(head.prompt, route(head.prompt), dict(head.settings), head.lossless, int(tokens.sum()), per_second, speeds)


class OwnRuns:
    """Finished runs by page, bounded: the oldest page and the oldest run go first."""

    def __init__(self) -> None:
        self._pages: OrderedDict[str, list[OwnRun]] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, page: str, trace: Trace) -> bool:
        """Remember a run that ended by itself. → was it one that can be placed?"""
        if (run := own_run(trace)) is None:
            return False
        with self._lock:
            runs = self._pages.pop(page, [])
            self._pages[page] = [*runs, run][-MOST_RUNS:]
            while len(self._pages) > MOST_PAGES:
                self._pages.popitem(last=False)
        return True

    def of(self, page: str) -> list[OwnRun]:
        with self._lock:
            return list(self._pages.get(page, ()))

    def forget(self, page: str) -> None:
        with self._lock:
            self._pages.pop(page, None)


def placed(runs: list[OwnRun], chart: dict[str, Any]) -> dict[str, Any]:
    """The drafted runs of a chart's task: `stars` with a speed ratio and, where the same setting was graded, its stored quality;
    how many have no plain run beside them (`unpaired`), and how many belong to other tasks (`elsewhere`)."""
    plain = {run.baseline: run for run in runs if run.plain}  # the latest
    drafted = [run for run in runs if not run.plain]
    mine = [run for run in drafted if run.task == chart["task"]]
    paired = [run for run in mine if run.baseline in plain]
    stars = [star(run, plain[run.baseline], chart) for run in paired]
    return {"stars": stars, "unpaired": len(mine) - len(paired), "elsewhere": len(drafted) - len(mine)}


def star(run: OwnRun, base: OwnRun, chart: dict[str, Any]) -> dict[str, Any]:
    low, high = np.percentile(run.draws / base.draws, [2.5, 97.5])
    setting = run.setting()
    knobs = {key: value for key, value in vars(setting).items() if key != "task"}
    return {"setting": knobs, "name": name_of(bare(setting)), "lossless": run.lossless, "tokens": run.tokens, "tokens_per_second": number(run.tokens_per_second, 1),
            "speed": number(run.tokens_per_second / base.tokens_per_second), "speed_low": number(low), "speed_high": number(high),
            **stored_quality(run, knobs, chart)}  # fmt: skip


def stored_quality(run: OwnRun, knobs: dict[str, Any], chart: dict[str, Any]) -> dict[str, Any]:
    """Quality of the point with the same law, if the run sampled as the measurements did; else None."""
    seed = chart["quality_runs"][-1] if chart["quality_runs"] else {}
    same = [seed.get("temperature"), 0, 1.0, False, False] == [run.settings.get(name) for name in SAMPLING]
    points = chart["main"]["points"] if chart["main"] and same else []
    match = next((p for p in points if p["setting"] == knobs or (run.lossless and p["lossless"])), {})
    return {key: match.get(key) for key in ("quality", "quality_low", "quality_high")}
