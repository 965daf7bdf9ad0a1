"""From stored rows to figures: one summary per setting, and the points of the frontier. Knows tables; refuses to measure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from sdiff.bench.store import POSITIONS, by_setting, lists
from sdiff.frontier import Numbers, Point
from sdiff.measures import wilson

DRAWS = 1000


def weights(problems: int, draws: int = DRAWS, seed: int = 0) -> Numbers:
    """How often each problem is drawn in each bootstrap sample, [B, problems]. Settings that share problems share the draws.

    The first `n` columns of a larger table are the table of `n` problems up to their number, which ratios divide out.
    """
    generator = np.random.default_rng(seed)
    return generator.poisson(1.0, (problems, draws)).T.astype(float)  # Poisson bootstrap: problem by problem


def interval(values: Numbers) -> tuple[float, float]:
    """95 % interval of bootstrap draws."""
    low, high = np.nanpercentile(values, [2.5, 97.5])
    return round(float(low), 4), round(float(high), 4)


def ratio(above: Numbers, below: Numbers, problems: Numbers) -> tuple[float, Numbers]:
    """Σ above ÷ Σ below, and its bootstrap draws over problems [B]."""
    drawn = weights(int(problems.max()) + 1)[:, problems]
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(above.sum() / below.sum()), (drawn @ above) / (drawn @ below)


def quality(rows: pd.DataFrame) -> dict[str, Any]:
    """Figures of one setting's problems: accuracy with its Wilson interval, mean TV, KL (nat) and NLL per token, share of
    repeated 4-grams, τ with its bootstrap interval, counts per position."""
    tokens, problems = rows["tokens"].to_numpy(float), rows["problem"].to_numpy()
    tau, drawn = ratio(tokens, rows["cycles"].to_numpy(float), problems)
    low, high = interval(drawn)
    figures = {"n": len(rows), "tokens": int(tokens.sum()), "cycles": int(rows["cycles"].sum()), "ended": int(rows["ended"].sum()),
               "tau": round(tau, 4), "tau_low": low, "tau_high": high}  # fmt: skip
    figures |= {name: round(float(rows[name].sum(min_count=1) / tokens.sum()), 5) for name in ("tv", "kl", "nll")}
    figures["repetition"] = round(float(rows["repeated"].sum() / (tokens - 3).clip(min=1).sum()), 5)
    figures |= {name: np.array(lists(rows[name])).sum(0).tolist() for name in POSITIONS}
    if rows["right"].notna().all():
        right = int(rows["right"].astype(bool).sum())
        low, high = wilson(right, len(rows))
        figures |= {"right": right, "accuracy": round(right / len(rows), 4), "low": round(low, 4), "high": round(high, 4)}
    return figures


def speed(rows: pd.DataFrame) -> dict[str, Any]:
    """Figures of one setting's timed runs: the median of the ratios to plain decoding with its bootstrap interval, milliseconds
    per cycle and phase, tokens per second."""
    ratios = (rows["tokens_per_second"] / rows["plain_tokens_per_second"]).to_numpy()
    low, high = interval(speed_draws(ratios))
    cycles = rows["cycles"].sum()
    phases = {f"{phase}_ms": round(float(rows[f"{phase}_ms"].sum() / cycles), 3) for phase in ("draft", "verify", "examine", "other")}
    return {"timed": len(rows), "speedup": round(float(np.median(ratios)), 4), "speedup_low": low, "speedup_high": high, **phases,
            "tokens_per_second": round(float(rows["tokens_per_second"].median()), 2), "load": round(float(rows["load"].max()), 2)}  # fmt: skip


def speed_draws(ratios: Numbers, draws: int = DRAWS) -> Numbers:
    """Medians of bootstrap samples of the timed prompts, [B]; the same prompts are drawn for every setting that has as many."""
    picked = np.random.default_rng(1).integers(0, len(ratios), (draws, len(ratios)))
    return np.median(ratios[picked], axis=1)


def points(quality_rows: pd.DataFrame, speed_rows: pd.DataFrame, task: str) -> list[Point]:
    """Every setting of `task` with both kinds of rows as a point. Quality is accuracy, or 1 − mean TV where nothing is graded."""
    timings = by_setting(speed_rows)
    result = []
    for setting, rows in by_setting(quality_rows[quality_rows["task"] == task]).items():
        if (timing := timings.get(setting)) is None:
            continue
        ones, problems = np.ones(len(rows)), rows["problem"].to_numpy()
        if rows["right"].notna().all():
            value, drawn = ratio(rows["right"].astype(float).to_numpy(), ones, problems)
        else:
            value, drawn = ratio((rows["tokens"] - rows["tv"]).to_numpy(float), rows["tokens"].to_numpy(float), problems)
        ratios = (timing["tokens_per_second"] / timing["plain_tokens_per_second"]).to_numpy()
        result.append(
            Point(setting.noise, setting.steps, setting.leniency, setting.rule, setting.gamma, setting.proposal,
                  float(np.median(ratios)), value, speed_draws(ratios), drawn)
        )  # fmt: skip
    return result
