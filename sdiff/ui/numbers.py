"""The numbers table of a run: measures of its trace in the page's words. Refuses to know the page.

Definitions: measures.py; the page prints them from strings.NUMBERS.
"""

from __future__ import annotations

import json
from typing import Any

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


def name(run: Run) -> str:
    """The settings of a run in a few words."""
    if run.settings.get("plain"):
        return strings.PLAIN_NAME
    known = {key: run.settings.get(key, "?") for key in ("noise", "steps", "rule", "native", "proposal")}
    known["law"] = strings.PLAYER["lossless" if run.lossless else "lossy"]
    return strings.RUN_NAME.format(**known)


def numbers(trace: Trace, source: str) -> str:
    """JSON for the numbers table. `source` tells runs apart; a recorded run is not compared with those made here."""
    run = trace.events[0] if trace.events and isinstance(trace.events[0], Run) else None
    stats = statistics(trace.events)
    data: dict[str, Any] = {
        "run": name(run) if run else "",
        "source": source,
        "summary": summary(stats),
        "positions": rates(stats),
    }
    return json.dumps(data, ensure_ascii=False)
