"""The numbers of a run, computed from its trace and nowhere else. Refuses to know the page.

Definitions: algorithms.md, section 5; the page prints them from strings.NUMBERS.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from sdiff.trace import Emit, Prefill, Run, Trace, Verdict, Verify, wilson
from sdiff.ui import strings


def summary(trace: Trace) -> dict[str, float]:
    """key -> value for the keys of strings.NUMBERS that the events so far define."""
    emits, verifies, prefills = trace.of(Emit), trace.of(Verify), trace.of(Prefill)
    values: dict[str, float] = {"tokens": len(trace.tokens)}
    if prefills:
        values["prefill_ms"] = prefills[0].ms
    if not emits:
        return values
    seconds = (emits[-1].at - (prefills[0].at if prefills else 0.0)) / 1000
    if seconds > 0:
        values["tokens_per_second"] = len(trace.tokens) / seconds
    values["tau"] = len(trace.tokens) / len(emits)
    if verifies:
        values["draft_ms"] = sum(v.draft_ms for v in verifies) / len(verifies)
        values["verify_ms"] = sum(v.ms for v in verifies) / len(verifies)
    values["examine_ms"] = sum(e.ms for e in emits) / len(emits)
    return values


def positions(trace: Trace) -> list[dict[str, float]]:
    """Per position k: conditional acceptance with its interval, and unconditional survival."""
    verdicts: list[Verdict] = trace.of(Verdict)
    examined = Counter(v.position for v in verdicts)
    accepted = Counter(v.position for v in verdicts if v.accepted)
    finished = {e.cycle for e in trace.of(Emit)}
    lengths = [len(v.tokens) for v in trace.of(Verify) if v.cycle in finished]
    rows = []
    for k in range(1, max(lengths, default=0) + 1):
        low, high = wilson(accepted[k], examined[k])
        blocks = sum(length >= k for length in lengths)
        rows.append(
            {
                "position": k,
                "examined": examined[k],
                "accepted": accepted[k],
                "rate": accepted[k] / examined[k] if examined[k] else 0.0,
                "low": low,
                "high": high,
                "survival": min(1.0, accepted[k] / blocks),
            }
        )
    return rows


def name(run: Run) -> str:
    """The settings of a run in a few words."""
    if run.settings.get("plain"):
        return strings.PLAIN_NAME
    known = {key: run.settings.get(key, "?") for key in ("noise", "steps", "native")}
    return strings.RUN_NAME.format(**known)


def numbers(trace: Trace, source: str) -> str:
    """JSON for the numbers table. `source` tells runs apart; a recorded run is not compared with those made here."""
    run = trace.events[0] if trace.events and isinstance(trace.events[0], Run) else None
    data: dict[str, Any] = {
        "run": name(run) if run else "",
        "source": source,
        "summary": summary(trace),
        "positions": positions(trace),
    }
    return json.dumps(data, ensure_ascii=False)
