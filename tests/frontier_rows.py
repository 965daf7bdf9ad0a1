"""Made-up measurements for tests, written through the real store. Their numbers come from a formula, not from a model."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sdiff.bench.settings import Setting, grid, measured
from sdiff.bench.store import Store

MODELS = {"verifier": "made-up-v", "adapter": "made-up-a", "drafter": "made-up-d"}
WHERE = {"device": "cpu", "name": "a made-up machine", "dtype": "float32", "threads": 2, "compiled": False, "load": 0.4, "torch": "2.13", "date": "2026-01-02",
         "seed": 3, "temperature": 0.7, "weight_bytes": 10**9, "gigabytes_per_second": 40.0}  # fmt: skip
STEPS, LENIENCIES = (1, 2, 4, 8), (0.0, 0.2, 0.4, 0.8, 1.0)


def truth(s: Setting) -> tuple[float, float]:
    """(speed ratio, chance of a right answer) of a setting in the made-up world."""
    if not s.noise:
        return 1.0, 0.62
    kept = 0.62 + 0.05 * min(s.steps, 4) + 0.3 * s.leniency * (1 - 0.62)
    tau = (1 - kept ** (s.gamma + 1)) / (1 - kept)
    worse = 0.28 * s.leniency ** (1.2 + 0.5 * s.steps) * (1.1 if s.noise == "uniform" else 1.0)
    return tau / (1.25 + 0.16 * s.steps), 0.62 - worse


def quality_rows(settings: Iterable[Setting], n: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    for s in settings:
        rng = random.Random(f"{seed}{s}")
        for problem in range(n):
            right = None if s.task == "chat" else rng.random() < truth(s)[1]
            tokens = rng.randint(30, 90)
            yield {**asdict(s), "problem": problem, "right": right, "ended": True, "tokens": tokens, "cycles": max(1, tokens // 4), "tv": 0.2 * s.leniency * tokens,
                   "kl": 0.1 * s.leniency * tokens, "nll": 0.6 * tokens, "repeated": 2, "drafted": (9, 9, 8), "examined": (9, 7, 5), "accepted": (7, 5, 4)}  # fmt: skip


def speed_rows(settings: Iterable[Setting], prompts: int, plain: float = 20.0, factor: float = 1.0) -> Iterator[dict[str, Any]]:
    for s in settings:
        rng = random.Random(f"{factor}{s}")
        for problem in range(prompts):
            ratio = truth(s)[0] * (rng.gauss(1, 0.06) * factor if s.noise else 1.0)
            yield {**asdict(s), "engine": "", "problem": problem, "tokens": 96, "cycles": 24, "draft_ms": 300.0, "verify_ms": 900.0, "examine_ms": 20.0, "other_ms": 9.0,
                   "tokens_per_second": plain * ratio, "plain_tokens_per_second": plain, "load": 0.5}  # fmt: skip


def settings_of(tasks: tuple[str, ...]) -> list[Setting]:
    """A grid, and a few settings beside it."""
    beside = [
        measured(task, "masked", 4, lam, **other)
        for task in tasks
        for lam, other in ((0.4, {"rule": "lenience"}), (0.4, {"rule": "cactus"}), (0.0, {"gamma": 4}))
    ]
    return [*grid(tasks, STEPS, LENIENCIES), *beside]


def shipped(folder: Path, tasks: tuple[str, ...] = ("reasoning", "chat"), n: int = 40, prompts: int = 6) -> Store:
    """A store as a sweep would leave it."""
    store = Store(folder)
    settings = settings_of(tasks)
    q, s = store.begin("quality", MODELS, {**WHERE, "name": "a made-up server"}), store.begin("speed", MODELS, WHERE)
    store.add("quality", q, quality_rows(settings, n))
    store.add("speed", s, speed_rows(settings, prompts))
    return store


def own(folder: Path, task: str = "reasoning", prompts: int = 4) -> Store:
    """What the quick sweep would leave on another machine."""
    store = Store(folder)
    run = store.begin("speed", MODELS, {**WHERE, "name": "a made-up laptop", "date": "2026-02-03"})
    store.add("speed", run, speed_rows(grid((task,), (1, 4), (0.0, 0.4)), prompts, 9.0, 0.8))
    return store
