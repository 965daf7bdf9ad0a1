"""Speed: single runs, one after the other, each set of settings beside plain decoding of the same prompt moments before.

Nothing else may run: the load average stands in every row.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

from sdiff.bench.settings import Setting, seed_of
from sdiff.measures import statistics
from sdiff.pairs import Pair
from sdiff.request import Request
from sdiff.tasks import Item
from sdiff.trace import Event

TOKENS = 96  # new tokens of a timed run: enough cycles, and short enough to visit many prompts
CHUNK = 8  # settings between two runs of plain decoding


def request(setting: Setting, item: Item, problem: int, tokens: int = TOKENS) -> Request:
    """What a visitor would ask for to see this row."""
    if not setting.noise:
        return Request(item.prompt, plain=True, seed=seed_of(problem), max_tokens=tokens)
    return Request(item.prompt, setting.noise, setting.steps, setting.leniency, setting.rule, setting.proposal, setting.gamma,
                   seed=seed_of(problem), max_tokens=tokens)  # fmt: skip


def timed(pair: Pair, asked: Request) -> dict[str, Any]:
    """One run's tokens, cycles, and milliseconds per phase. `other_ms` is what the phases leave of the wall time: telling the
    story. Tokens per second are over draft, verify and examine, as on the page."""
    events: list[Event] = []
    start = time.perf_counter()
    events.extend(pair.stream(asked, detail=False))
    wall = (time.perf_counter() - start) * 1e3
    stats = statistics(events)
    spent = stats["ms"]
    return {"tokens": stats["tokens"], "cycles": stats["cycles"], **{f"{phase}_ms": spent[phase] for phase in ("draft", "verify", "examine")},
            "other_ms": wall - sum(spent.values()), "tokens_per_second": stats["tokens_per_second"]}  # fmt: skip


Engine = Callable[[list[int], int, int], dict[str, float]]  # (prompt ids, seed, most new tokens) → tokens, tokens_per_second


def interleaved(
    pair: Pair, settings: Sequence[Setting], problem: int, item: Item, engines: Mapping[str, Engine] = MappingProxyType({})
) -> Iterator[dict[str, Any]]:
    """Rows of every setting of the problem's task, in an order shuffled per problem; CHUNK of them beside one baseline.

    A run that fails ends nothing: it is reported as a row with an `error` and no figures. Rows of plain decoding come too, of
    this engine ("") and of the other `engines`.
    """
    mine = [s for s in settings if s.task == item.task and s.noise]
    random.Random(problem).shuffle(mine)
    plain = Setting(item.task)
    for i in range(0, max(1, len(mine)), CHUNK):
        about = {"engine": "", "problem": problem, "load": _load()}
        base = _tried(timed, pair, request(plain, item, problem))
        if "error" in base:
            yield {**asdict(plain), **about, **base}
            return
        about["plain_tokens_per_second"] = base["tokens_per_second"]
        if i == 0:
            yield {**asdict(plain), **about, **base}
            for name, run in engines.items():
                asked = request(plain, item, problem)
                figures = _tried(run, pair.encode(item.prompt, raw=False), asked.seed, asked.max_tokens)
                yield {**asdict(plain), **about, "engine": name, **figures}
        for setting in mine[i : i + CHUNK]:
            about["load"] = _load()
            yield {**asdict(setting), **about, **_tried(timed, pair, request(setting, item, problem))}


def _tried(run: Callable[..., dict[str, Any]], *args: Any) -> dict[str, Any]:
    """What `run` gives, or the sentence with which it failed."""
    try:
        return run(*args)
    except (ArithmeticError, ValueError, RuntimeError) as error:
        return {"error": str(error)}


def _load() -> float | None:
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None
