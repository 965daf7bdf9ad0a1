"""The figures that the stored measurements amount to, and nothing else: for `python -m sdiff frontier` and the README."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from sdiff import limits
from sdiff.bench.points import points, quality, speed
from sdiff.bench.settings import GAMMA, GRADED, Setting, measured
from sdiff.bench.store import Store, by_setting
from sdiff.frontier import Point, equal_quality, gain
from sdiff.request import NOISES
from sdiff.tasks import TASKS


def with_noise(every: list[Point], noise: str) -> list[Point]:
    """Points of one noise with the grid's rule, block length and default proposals; one step and plain decoding belong to both."""
    plain_or_one = lambda p: p.steps <= 1  # noqa: E731
    return [p for p in every if (p.noise == noise or plain_or_one(p)) and (p.steps == 0 or (p.rule, p.gamma) == ("tv", GAMMA))]


def plain_ms(rows: pd.DataFrame, task: str) -> float | None:
    """Milliseconds of one plainly decoded token, median over prompts."""
    plain = by_setting(rows).get(Setting(task))
    return None if plain is None else float((1e3 / plain["tokens_per_second"]).median())


def against(rows: pd.DataFrame, engine: str) -> float | None:
    """Own plain decoding ÷ another engine on the same prompts, median of the ratios."""
    other = rows[rows["engine"] == engine]
    ratios = (other["plain_tokens_per_second"] / other["tokens_per_second"]).dropna()
    return round(float(ratios.median()), 3) if len(ratios) else None


def lossless(rows: pd.DataFrame, task: str) -> dict[str, Any]:
    """The fastest lossless setting of the grid: its name and speed-up with its interval; empty where nothing was timed."""
    timed = {s: speed(part) for s, part in by_setting(rows[rows["task"] == task]).items() if s.noise and s.leniency == 0}
    best = max(timed, key=lambda s: timed[s]["speedup"], default=None)
    return {"setting": best.name, **{k: timed[best][k] for k in ("speedup", "speedup_low", "speedup_high", "timed")}} if best else {}


def cost_of_a_cycle(rows: pd.DataFrame, steps: int = 1) -> float | None:
    """Cycle cost in plain tokens, lossless, full blocks: mean over the graded tasks that were timed."""
    costs = []
    for task in GRADED:
        timed, plain = by_setting(rows).get(measured(task, NOISES[0], steps)), plain_ms(rows, task)
        if timed is not None and plain:
            figures = speed(timed)
            costs.append(limits.cycle_cost(figures["draft_ms"], figures["verify_ms"], figures["examine_ms"], plain))
    return round(float(np.mean(costs)), 3) if costs else None


def joint_ratio(every: list[Point]) -> dict[str, Any] | None:
    """Where both knobs gain most over leniency alone at S = 1, at no worse quality: the ratio of speeds and the two settings."""
    rows = equal_quality([p for p in every if p.steps], "leniency")
    if not rows or all(p.steps <= 1 for p in every):
        return None
    single, joint, ratio = max(rows, key=lambda row: row[2])
    return {"ratio": round(ratio, 3), "quality": round(single.quality, 4), "single": single.name, "joint": joint.name}


def report(store: Store, models: dict[str, str]) -> dict[str, Any]:
    """Everything that `python -m sdiff frontier --json` prints; null where it was not measured."""
    decoded, timed = store.rows("quality", models), store.rows("speed", models)
    every = {task: points(decoded, timed, task) for task in TASKS}
    runs = [run for run in store.about["runs"] if run["pass"] == "speed" and run["models"] == models]
    ratios = {task: {noise: joint_ratio(with_noise(every[task], noise)) for noise in NOISES} for task in TASKS}
    gains = {
        task: gain([p for noise in NOISES for p in with_noise(every[task], noise)], "leniency") if every[task] else None for task in TASKS
    }
    milliseconds = next((ms for task in TASKS if (ms := plain_ms(timed, task))), None)
    run = runs[-1] if runs else {}
    known = milliseconds and run.get("gigabytes_per_second")
    return {
        "plain_vs_transformers": against(timed, "transformers"),
        "mbu": round(limits.floor_ms(run["weight_bytes"], run["gigabytes_per_second"]) / milliseconds, 3) if known else None,
        "speedup_lossless": {task: lossless(timed, task).get("speedup") for task in TASKS},
        "cycle_cost": cost_of_a_cycle(timed),
        "joint_vs_single": {task: {noise: row and row["ratio"] for noise, row in rows.items()} for task, rows in ratios.items()},
        "hypervolume_gain": {task: row and _number(row["ratio"]) for task, row in gains.items()},
        "adaptive_gain": dict.fromkeys(TASKS),
        "points": sum(map(len, every.values())),
        "hardware": {k: v for k, v in run.items() if k not in ("id", "pass", "models")} or None,
    }


def _number(value: float) -> float | None:
    return round(value, 3) if np.isfinite(value) else None


def lines(store: Store, models: dict[str, str]) -> Iterator[dict[str, Any]]:
    """One line per setting with rows of either pass: its fields and figures."""
    decoded, timed = by_setting(store.rows("quality", models)), by_setting(store.rows("speed", models))
    for setting in dict.fromkeys([*decoded, *timed]):
        yield {
            **vars(setting),
            **(quality(decoded[setting]) if setting in decoded else {}),
            **(speed(timed[setting]) if setting in timed else {}),
        }
