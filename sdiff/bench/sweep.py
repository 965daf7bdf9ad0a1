"""The sweep: stages of settings, pass by pass, as far as the time goes. Every finished slice is on disk before the next begins."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

from sdiff.bench.quality import Bench, Failure, Outcome
from sdiff.bench.settings import SEED, Setting
from sdiff.bench.speed import Engine, interleaved
from sdiff.bench.store import MACHINE, Store
from sdiff.pairs import Pair
from sdiff.tasks import items

SLICE = 100  # problems of one setting between two writes
Say = Callable[[str], None]
Stages = Iterable[tuple[Sequence[Setting], int]]


class Clock:
    """A time budget in minutes; `stop` may end it earlier."""

    def __init__(self, minutes: float, stop: Callable[[], bool] = lambda: False) -> None:
        self.end, self.stop = time.monotonic() + minutes * 60, stop

    @property
    def over(self) -> bool:
        return self.stop() or time.monotonic() >= self.end

    def left(self) -> str:
        return f"{max(0.0, self.end - time.monotonic()) / 60:.0f} min left"


@dataclass(frozen=True)
class Slice:
    """Problems of one setting that are decoded together; `fresh` of them are not stored yet. `label`: how far the sweep is."""

    setting: Setting
    problems: range
    fresh: frozenset[int]
    label: str


def slices(done: dict[Setting, set[int]], stages: Stages) -> Iterator[Slice]:
    """What is missing, in order. Numbers of problems are those a setting should have in all; what was handed out counts as done."""
    for settings, n in stages:
        for i, setting in enumerate(settings, 1):
            have = done.setdefault(setting, set())
            while missing := [k for k in range(n) if k not in have]:
                part = range(missing[0], min(n, missing[0] + SLICE))
                fresh = frozenset(part) - have
                have.update(part)
                yield Slice(setting, part, fresh, f"{i} of {len(settings)} to n = {n}")


def keep(store: Store, run: int, part: Slice, outcomes: Sequence[Outcome | Failure], seconds: float, clock: Clock, say: Say) -> bool:
    """Store what a slice gave and tell it. → did every problem decode?"""
    failed = [outcome for outcome in outcomes if isinstance(outcome, Failure)]
    for failure in failed:
        say(f"{part.setting.name}, problem {failure.problem}: {failure.error}. It is left out.")
    rows = [{**asdict(part.setting), **asdict(outcome)} for outcome in outcomes if isinstance(outcome, Outcome)]
    store.add("quality", run, (row for row in rows if row["problem"] in part.fresh))
    if rows:
        tokens, cycles = (sum(row[key] for row in rows) for key in ("tokens", "cycles"))
        right = f", {sum(map(bool, (row['right'] for row in rows)))} right" if rows[0]["right"] is not None else ""
        say(f"{part.label}: {part.setting.name}: {len(rows)} problems{right}, τ {tokens / cycles:.2f}, {seconds:.0f} s; {clock.left()}")
    return not failed


def measure_quality(
    bench: Bench, where: dict[str, Any], store: Store, models: dict[str, str], stages: Stages, clock: Clock, say: Say = print
) -> bool:
    """Decode what is missing. → is everything there?"""
    run, whole = None, True
    for part in slices(store.done("quality", models, seed=where["seed"], temperature=where["temperature"]), stages):
        if clock.over:
            return False
        run, start = store.begin("quality", models, where) if run is None else run, time.monotonic()
        outcomes = list(bench.outcomes(part.setting, part.problems))
        whole &= keep(store, run, part, outcomes, time.monotonic() - start, clock, say)
    return whole


def measure_speed(
    pair: Pair, store: Store, models: dict[str, str], where: dict[str, Any], settings: Sequence[Setting], prompts: int, clock: Clock, say: Say = print,
    engines: Mapping[str, Engine] = MappingProxyType({}),
) -> bool:  # fmt: skip
    """Time every setting on the first `prompts` problems of its task, prompt by prompt. → is everything there?"""
    run, whole = None, True
    done = store.done("speed", models, **{key: where[key] for key in MACHINE})
    warm = False
    for k in range(prompts):
        for task in dict.fromkeys(s.task for s in settings):
            wanted = [s for s in settings if s.task == task and k not in done.get(s, ())]
            if not wanted:
                continue
            if clock.over:
                return False
            item = next(item for i, item in enumerate(items(task, "test", SEED)) if i == k)
            run = store.begin("speed", models, where) if run is None else run
            if not warm:  # first runs pay for what later ones find ready
                list(interleaved(pair, wanted[-1:], k, item, engines))
                warm = True
            rows = []
            for row in interleaved(pair, wanted, k, item, engines):
                rows.append(row)
                if "error" in row:
                    say(f"{task}, problem {k}: {row['error']}. It is left out.")
                    whole = False
                if clock.over:
                    break
            store.add("speed", run, (row for row in rows if "error" not in row))
            say(f"problem {k + 1} of {prompts}, {task}: {len(rows)} runs; {clock.left()}")
            if clock.over:
                return False
    return whole
