"""The stored runs: which there are, how they are made again, and the figures that are told about them. Refuses to know Gradio and models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from sdiff.measures import rates, statistics
from sdiff.request import Request
from sdiff.trace import Event, Trace, TraceError
from sdiff.ui import strings
from sdiff.ui.race_view import lanes

RECORDED = Path(__file__).parents[2] / "precomputed" / "recorded"
_CODE, _REASONING, _PROSE = (strings.EXAMPLES[name] for name in ("Code", "Reasoning", "Prose"))
# Folder → what is raced in it: once drafting pays, and once it costs more than it brings.
RACED = {
    "race": Request(_REASONING, steps=4, leniency=0.3, max_tokens=96, seed=7),
    "race/prose": Request(_PROSE, noise="uniform", steps=8, max_tokens=96, seed=4),
}
OPENING = 3  # cycles within which the first run on the page shows every kind of verdict
TRIES = 12  # seeds, from the request's on, before a run is kept that does not show what it is for

# Name of the file → what is asked. `python -m sdiff record` makes them all with the bundled pair; the first one is on the first screen.
REQUESTS: dict[str, Request] = {
    "01-masked": Request(_CODE, steps=4, leniency=0.3, max_tokens=96, seed=7),
    "02-uniform": Request(_REASONING, noise="uniform", steps=4, max_tokens=96, seed=3),
    "03-prose": Request(_PROSE, steps=2, max_tokens=96, seed=1),
    **{f"{race}/{lane}": request for race, raced in RACED.items() for lane, request in lanes(raced).items()},
    "gallery/late": Request(_PROSE, steps=1, max_tokens=128, seed=2),
    "gallery/lenient": Request(_REASONING, steps=1, leniency=1.0, max_tokens=96, seed=5),
    "gallery/steps": Request(_CODE, steps=16, max_tokens=96, seed=7),
    "gallery/slower": Request(_PROSE, noise="uniform", steps=8, max_tokens=96, seed=4),
}


def stored(folder: Path = RECORDED) -> Iterator[tuple[str, Trace]]:
    """(name, trace) of the readable runs in `folder`, by name; subfolders are for the race and the gallery."""
    for path in sorted(folder.glob("*.json")):
        try:
            yield path.stem, Trace.from_json(path.read_text(encoding="utf-8"))
        except (TraceError, OSError, UnicodeDecodeError):
            continue


def title(name: str, trace: Trace) -> str:
    """What a list of runs says about one."""
    s = trace.events[0].settings
    how = strings.PLAIN_NAME if s.get("plain") else f"{strings.read(s.get('noise'))}, S = {s.get('steps')}, {strings.read(s.get('native'))}"
    return f"{strings.RECORDINGS.get(name, name)}: {how}"


def figures(trace: Trace) -> dict[str, Any]:
    """What a sentence of the gallery may quote, from the trace alone. Milliseconds per cycle; `plain_ms` per plainly decoded token."""
    stats = statistics(trace.events)
    cycles, rows, ms = max(1, stats["cycles"]), rates(stats), stats["ms"]
    spent = (ms["draft"] + ms["verify"] + ms["examine"]) / cycles
    plain = trace.events[0].machine.get("plain_ms") or 0.0
    return {
        "tau": stats["tau"], "cycles": stats["cycles"], "first": rows[0]["survival"] if rows else 0.0, "last": rows[-1]["survival"] if rows else 0.0,
        "positions": len(rows), "lenient": stats["lenient"], "kept": sum(stats["accepted"]), "draft_ms": ms["draft"] / cycles,
        "verify_ms": ms["verify"] / cycles, "cycle_ms": spent, "plain_ms": plain, "ratio": stats["tau"] * plain / spent if spent else 0.0,
    }  # fmt: skip


def gallery(folder: Path = RECORDED) -> list[tuple[str, str, str, Trace]]:
    """(name, title, sentence with its numbers, trace) of the stored failures."""
    found = dict(stored(folder / "gallery"))
    told = {name: figures(trace) for name, trace in found.items()}
    known = [(name, *words) for name, words in strings.GALLERY.items() if name in found and bears_out(f"gallery/{name}", found[name])]
    return [(name, head, says.format(**told[name]), found[name]) for name, head, says in known]


def bears_out(name: str, trace: Trace) -> bool:
    """Does a run show what it is for? Another machine, or better drafts, may say otherwise; then the gallery leaves it out."""
    if name == "01-masked":  # every kind of verdict, and soon
        opening = statistics(event for event in trace.events if getattr(event, "cycle", 0) <= OPENING)
        refused = sum(opening["examined"]) - sum(opening["accepted"])
        return opening["lenient"] >= 2 and refused >= 2
    told = figures(trace)
    if name == "gallery/steps":
        return told["draft_ms"] > told["verify_ms"]
    return name not in ("gallery/slower", "race/prose/chosen") or 0 < told["ratio"] < 1


def record(stream: Callable[[Request], Iterator[Event]], folder: Path, only: list[str] | None = None) -> Iterator[str]:
    """Make the runs again, each written whole or not at all; yields their names as they are done.

    Runs are examples, not statistics: of TRIES seeds in turn the first is kept that shows what the run is for.
    """
    for name, request in REQUESTS.items():
        if only and name not in only:
            continue
        for seed in range(request.seed, request.seed + (1 if name.startswith("race/") else TRIES)):  # lanes of a race share a seed
            trace = Trace()
            for _ in trace.record(stream(replace(request, seed=seed))):
                pass
            if bears_out(name, trace):
                break
        path = folder / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".part").write_text(trace.to_json(), encoding="utf-8")
        path.with_suffix(".part").replace(path)
        yield name
