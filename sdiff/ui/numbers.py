"""The numbers table of a run: measures of its trace in the page's words. Refuses to know the page.

Definitions: measures.py; the page prints them from strings.NUMBERS.
"""

from __future__ import annotations

import json
from typing import Any

from sdiff.limits import cycle_cost, speed_up
from sdiff.measures import rates, statistics
from sdiff.trace import Run, Trace
from sdiff.ui import strings


def summary(stats: dict[str, Any]) -> dict[str, float]:
    """key -> value for the keys of strings.NUMBERS that the finished cycles define; phases are means over cycles."""
    ms, cycles = stats["ms"], stats["cycles"]
    values: dict[str, float] = {"tokens": stats["tokens"]}
    if ms["prefill"]:
        values["prefill_ms"] = ms["prefill"]
    if cycles:
        values |= {key: stats[key] for key in ("tokens_per_second", "tau", "lenient")}
        values |= {f"{phase}_ms": ms[phase] / cycles for phase in ("draft", "verify", "examine")}
    return values


def break_even(run: Run | None, stats: dict[str, Any]) -> dict[str, Any] | None:
    """What a cycle costs in plainly decoded tokens and whether it writes more than that; None where plain decoding was not timed here."""
    plain = run.machine.get("plain_ms") if run and not run.settings.get("plain") else None
    if not plain or not stats["cycles"]:
        return None
    ms, cycles = stats["ms"], stats["cycles"]
    cost = cycle_cost(ms["draft"] / cycles, ms["verify"] / cycles, ms["examine"] / cycles, plain)
    ratio = speed_up(stats["tau"], cost)
    words = strings.BREAK_EVEN["helps" if ratio >= 1.05 else "even" if ratio > 0.95 else "hurts"]
    most = run.settings.get("gamma", 8) + 1
    return {
        "cost": cost,
        "tau": stats["tau"],
        "most": max(most, cost),
        "says": words.format(cost=cost, tau=stats["tau"], ratio=ratio, plain=plain),
    }


def name(run: Run) -> str:
    """The settings of a run in a few words."""
    if run.settings.get("plain"):
        return strings.PLAIN_NAME
    known = {key: strings.read(run.settings.get(key, "?")) for key in ("noise", "steps", "rule", "native", "proposal")}
    known["law"] = strings.PLAYER["lossless" if run.lossless else "lossy"]
    return strings.RUN_NAME.format(**known)


def numbers(trace: Trace, source: str) -> str:
    """JSON for the numbers table. `source` tells runs apart; a recorded run is not compared with those made here."""
    run = trace.events[0] if trace.events and isinstance(trace.events[0], Run) else None
    return numbers_of(run, statistics(trace.events), source)


def numbers_of(run: Run | None, stats: dict[str, Any], source: str) -> str:
    """The same from a run's first event and its statistics. Raises ValueError, as json.dumps does, where they give no finite figure."""
    data: dict[str, Any] = {
        "run": name(run) if run else "",
        "source": source,
        "summary": summary(stats),
        "positions": rates(stats),
        "break_even": break_even(run, stats),
    }
    return json.dumps(data, ensure_ascii=False, allow_nan=False)
