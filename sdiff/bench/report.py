"""The figures that the stored measurements amount to, and nothing else: for `python -m sdiff frontier` and the README."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from sdiff import limits
from sdiff.bench.places import STEP_COSTS, modelled
from sdiff.bench.points import points, quality, speed
from sdiff.bench.settings import GAMMA, GRADED, STEPS, Setting, grid, measured
from sdiff.bench.store import MACHINE, Store, by_setting
from sdiff.frontier import Point, equal_quality, gain, point_name
from sdiff.request import DEFAULT_PROPOSAL, NOISES
from sdiff.tasks import TASKS


def with_noise(every: list[Point], noise: str) -> list[Point]:
    """Points of one noise with the grid's rule, block length and default proposals; one step and plain decoding belong to both."""
    of_grid = lambda p: (p.rule, p.gamma, p.proposal) == ("tv", GAMMA, DEFAULT_PROPOSAL[p.noise])  # noqa: E731
    return [p for p in every if p.steps == 0 or (of_grid(p) and (p.noise == noise or p.steps == 1))]


def plain_ms(rows: pd.DataFrame, task: str) -> float | None:
    """Milliseconds of one plainly decoded token, median over prompts."""
    plain = by_setting(rows).get(Setting(task))
    return None if plain is None else float((1e3 / plain["tokens_per_second"]).median())


def against(rows: pd.DataFrame, engine: str) -> float | None:
    """Own plain decoding ÷ another engine on the same prompts, median of the ratios; all of the loop's time counts on both sides."""
    last = rows[rows["noise"] == ""].drop_duplicates(["task", "engine", "problem"], keep="last").set_index(["task", "problem"])
    own, other = last[last["engine"] == ""], last[last["engine"] == engine]["tokens_per_second"]
    whole = own["tokens"] / own[["draft_ms", "verify_ms", "examine_ms", "other_ms"]].sum(axis=1) * 1e3
    ratios = (whole / other).dropna()
    return round(float(ratios.median()), 3) if len(ratios) else None


def strict_speeds(rows: pd.DataFrame) -> dict[Setting, dict[str, Any]]:
    """Speeds of the grid's lossless settings, plain decoding aside."""
    return {s: speed(part) for s, part in by_setting(rows).items() if s.noise and s in grid((s.task,), STEPS, (0.0,))}


def lossless(rows: pd.DataFrame, task: str) -> dict[str, Any]:
    """The fastest lossless setting of the grid: its name and speed-up with its interval; empty where nothing was timed."""
    timed = strict_speeds(rows[rows["task"] == task])
    best = max(timed, key=lambda s: timed[s]["speedup"], default=None)
    return {"setting": best.name, **{k: timed[best][k] for k in ("speedup", "speedup_low", "speedup_high", "timed")}} if best else {}


def cost_of_a_cycle(rows: pd.DataFrame, steps: int = 1) -> float | None:
    """Cycle cost in plain tokens, lossless, blocks of 8 and the shorter ones at the end: mean over the graded tasks that were timed."""
    costs = []
    for task in GRADED:
        timed, plain = by_setting(rows).get(measured(task, NOISES[0], steps)), plain_ms(rows, task)
        if timed is not None and plain:
            figures = speed(timed)
            costs.append(limits.cycle_cost(figures["draft_ms"], figures["verify_ms"], figures["examine_ms"], plain))
    return round(float(np.mean(costs)), 3) if costs else None


def joint_ratio(decoded: pd.DataFrame, timed: pd.DataFrame, task: str, noise: str) -> dict[str, Any] | None:
    """Where both knobs gain most over leniency alone at S = 1, at no worse quality.

    The two settings are picked on problems of even number and compared on the odd ones: ratio of speeds and difference of
    qualities. Picking and comparing on the same problems could never show less than 1.
    """
    halves = [with_noise(points(decoded[decoded["problem"] % 2 == k], timed[timed["problem"] % 2 == k], task), noise) for k in (0, 1)]
    picked = equal_quality([p for p in halves[0] if p.steps], "leniency")
    if not picked or all(p.steps <= 1 for p in halves[0]):
        return None
    single, joint, _ = max(picked, key=lambda row: row[2])
    again = {p.key: p for p in halves[1]}
    if single.key not in again or joint.key not in again:
        return None
    one, both = again[single.key], again[joint.key]
    low, high = np.nanpercentile(both.speed_draws / one.speed_draws, [2.5, 97.5])
    return {"ratio": round(both.speed / one.speed, 3), "low": round(float(low), 3), "high": round(float(high), 3), "single": one.name,
            "joint": both.name, "quality": round(both.quality, 4), "quality_difference": round(both.quality - one.quality, 4)}  # fmt: skip


def adaptive_gain(decoded: pd.DataFrame, timed: pd.DataFrame, task: str) -> dict[str, Any] | None:
    """The banked budget against the best fixed setting of the grid at no larger mean TV: the best ratio of speeds, below 1 where it loses.

    Fixed settings are joined by straight lines between neighbouring λ of the same noise and steps. `alike`: the ratio to those of its own
    noise and steps alone.
    """
    seconds = by_setting(timed)
    spots = {s: (q["tv"], speed(seconds[s])["speedup"]) for s, rows in by_setting(decoded[decoded["task"] == task]).items()
             if s in seconds and s.noise and (q := quality(rows))}  # fmt: skip
    fixed = [s for s in spots if s.noise and s == measured(task, s.noise, s.steps, s.leniency)]
    lines = {(s.noise, s.steps): sorted(spots[f] for f in fixed if (f.noise, f.steps) == (s.noise, s.steps)) for s in fixed}
    found = []
    for adaptive, (tv, pace) in spots.items():
        at = {key: float(np.interp(tv, *zip(*line, strict=True))) for key, line in lines.items() if line[0][0] <= tv <= line[-1][0]}
        slower = [speed for line in lines.values() for distance, speed in line if distance <= tv]
        if adaptive.rule == "tv_bank" and (own := at.get((adaptive.noise, adaptive.steps))):
            found.append(
                {
                    "ratio": round(pace / max(*at.values(), *slower), 3),
                    "alike": round(pace / own, 3),
                    "tv": round(tv, 4),
                    "setting": adaptive.name,
                }
            )
    return max(found, key=lambda row: row["ratio"], default=None)


def routed_gain(timed: pd.DataFrame) -> dict[str, Any] | None:
    """What it gains to send each prompt to its task's fastest lossless setting (policy.route), against the fastest single one for all tasks.

    Geometric mean over the tasks, of settings timed in all of them; picked on problems of even number and compared on the odd ones.
    """
    halves: list[dict[str, dict[tuple[Any, ...], float]]] = []
    for k in (0, 1):
        settings = strict_speeds(timed[timed["problem"] % 2 == k])
        halves.append({task: {s.key()[1:4]: x["speedup"] for s, x in settings.items() if s.task == task} for task in TASKS})
    tasks = [task for task in TASKS if all(half[task] for half in halves)]
    shared = sorted(set.intersection(*(set(half[task]) for half in halves for task in tasks))) if len(tasks) > 1 else []
    if not shared:
        return None
    picked, compared = halves
    single = max(shared, key=lambda s: sum(np.log(picked[task][s]) for task in tasks))
    own = {task: max(shared, key=lambda s, task=task: picked[task][s]) for task in tasks}
    ratio = np.exp(np.mean([np.log(compared[task][own[task]] / compared[task][single]) for task in tasks]))
    named = lambda s: point_name(s[0], s[1], "tv", s[2])  # noqa: E731
    return {"ratio": round(float(ratio), 3), "single": named(single), "settings": {task: named(s) for task, s in own.items()}}


def last_run(store: Store, models: dict[str, str]) -> dict[str, Any]:
    """What the latest timed run tells; empty where there is none."""
    return next(reversed(store.runs("speed", models)), {})


def timings(store: Store, models: dict[str, str]) -> pd.DataFrame:
    """Timed rows of the machine that was measured last."""
    run = last_run(store, models)
    return store.rows("speed", models, **{k: run.get(k) for k in MACHINE})


def measured_points(store: Store, models: dict[str, str], task: str, decoded: Store | None = None) -> list[Point]:
    """The points of a task; quality from `decoded` if given."""
    return points((decoded or store).rows("quality", models), timings(store, models), task)


def report(store: Store, models: dict[str, str], decoded: Store | None = None) -> dict[str, Any]:
    """Everything that `python -m sdiff frontier --json` prints; null where it was not measured.

    Timings are those of the machine that was measured last. `decoded`: another store to take quality from, which no machine changes.
    """
    run = last_run(store, models)
    decoded, timed = (decoded or store).rows("quality", models), timings(store, models)
    every = {task: points(decoded, timed, task) for task in TASKS}
    joint = lambda timed: {task: {noise: joint_ratio(decoded, timed, task, noise) for noise in NOISES} for task in TASKS}  # noqa: E731
    ratios = joint(timed)
    gains = {
        task: gain([p for noise in NOISES for p in with_noise(every[task], noise)], "leniency") if every[task] else None for task in TASKS
    }
    adaptive = {task: adaptive_gain(decoded, timed, task) for task in TASKS}
    milliseconds = next((ms for task in TASKS if (ms := plain_ms(timed, task))), None)
    known = milliseconds and run.get("gigabytes_per_second")
    return {
        "plain_vs_transformers": against(timed, "transformers"),
        "mbu": round(limits.floor_ms(run["weight_bytes"], run["gigabytes_per_second"]) / milliseconds, 3) if known else None,
        "speedup_lossless": {task: lossless(timed, task).get("speedup") for task in TASKS},
        "cycle_cost": cost_of_a_cycle(timed),
        "joint_vs_single": {task: {noise: row and row["ratio"] for noise, row in rows.items()} for task, rows in ratios.items()},
        "joint_vs_single_settings": ratios,
        "joint_vs_single_modelled": {f"{cost:g}": joint(modelled(decoded, cost)) for cost in STEP_COSTS},
        "hypervolume_gain": {task: row and _number(row["ratio"]) for task, row in gains.items()},
        "adaptive_gain": {task: row and row["ratio"] for task, row in adaptive.items()},
        "adaptive_gain_settings": adaptive,
        "routed_gain": routed_gain(timed),
        "points": sum(map(len, every.values())),
        "hardware": {k: v for k, v in run.items() if k not in ("id", "pass", "models")} or None,
    }


def _number(value: float) -> float | None:
    return round(value, 3) if np.isfinite(value) else None


def lines(store: Store, models: dict[str, str], decoded: Store | None = None) -> Iterator[dict[str, Any]]:
    """One line per setting with rows of either pass: its fields and figures."""
    decoded, timed = by_setting((decoded or store).rows("quality", models)), by_setting(timings(store, models))
    for setting in dict.fromkeys([*decoded, *timed]):
        yield {
            **vars(setting),
            **(quality(decoded[setting]) if setting in decoded else {}),
            **(speed(timed[setting]) if setting in timed else {}),
        }
