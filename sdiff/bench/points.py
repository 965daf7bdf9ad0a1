"""From stored rows to figures: one summary per setting, and the points of the frontier. Knows tables; refuses to measure."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pandas as pd

from sdiff.bench.settings import Setting
from sdiff.bench.store import POSITIONS, by_setting, lists
from sdiff.frontier import Numbers, Point
from sdiff.measures import wilson
from sdiff.request import is_lossless

DRAWS = 1000


@functools.cache
def weights(problems: int, draws: int = DRAWS, seed: int = 0) -> Numbers:
    """How often each problem is drawn in each bootstrap sample, [B, problems]. Settings that share problems share the draws.

    The first `n` columns of a larger table are the table of `n` problems up to their number, which ratios divide out. One array for all
    who ask: not to be written to.
    """
    generator = np.random.default_rng(seed)
    return generator.poisson(1.0, (problems, draws)).T.astype(float)  # Poisson bootstrap: problem by problem


def interval(values: Numbers) -> tuple[float, float]:
    """95 % interval of bootstrap draws."""
    low, high = np.nanpercentile(values, [2.5, 97.5]) if not np.isnan(values).all() else (np.nan, np.nan)
    return round(float(low), 4), round(float(high), 4)


def ratio(above: Numbers, below: Numbers, problems: Numbers) -> tuple[float, Numbers]:
    """Σ above ÷ Σ below, and its bootstrap draws over problems [B]."""
    drawn = weights(int(problems.max()) + 1)[:, problems]
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(above.sum() / below.sum()), (drawn @ above) / (drawn @ below)


def quality(rows: pd.DataFrame) -> dict[str, Any]:
    """Figures of one setting's problems: accuracy with its Wilson interval, mean TV, KL (nat) and NLL per token, share of
    repeated 4-grams, τ with its bootstrap interval, counts per position."""
    tokens, problems = rows["tokens"].to_numpy(float), rows["problem"].to_numpy(int)
    tau, drawn = ratio(tokens, rows["cycles"].to_numpy(float), problems)
    low, high = interval(drawn)
    figures = {"n": len(rows), "tokens": int(tokens.sum()), "cycles": int(rows["cycles"].sum()), "ended": int(rows["ended"].sum()),
               "tau": round(tau, 4), "tau_low": low, "tau_high": high}  # fmt: skip
    figures |= {name: round(float(rows[name].sum(min_count=1) / tokens.sum()), 5) for name in ("tv", "kl", "nll")}
    figures["repetition"] = round(float(rows["repeated"].sum() / max(1.0, (tokens - 3).clip(min=0).sum())), 5)
    figures |= {name: np.array(lists(rows[name])).sum(0).tolist() for name in POSITIONS}
    if rows["right"].notna().all():
        right = int(rows["right"].astype(bool).sum())
        low, high = wilson(right, len(rows))
        figures |= {"right": right, "accuracy": round(right / len(rows), 4), "low": round(low, 4), "high": round(high, 4)}
    return figures


def speed(rows: pd.DataFrame) -> dict[str, Any]:
    """Figures of one setting's timed runs: the median of the ratios to plain decoding with its bootstrap interval, milliseconds
    per cycle and phase, tokens per second."""
    ratios = (rows["tokens_per_second"] / rows["plain_tokens_per_second"]).to_numpy(float)
    low, high = interval(speed_draws(ratios, rows["problem"].to_numpy(int)))
    cycles = rows["cycles"].sum()
    phases = {
        f"{phase}_ms": round(float(rows[f"{phase}_ms"].sum(min_count=1) / cycles), 3) for phase in ("draft", "verify", "examine", "other")
    }
    return {"timed": len(rows), "speedup": round(float(np.median(ratios)), 4), "speedup_low": low, "speedup_high": high, **phases,
            "tokens_per_second": round(float(rows["tokens_per_second"].median()), 2), "load": round(float(rows["load"].max()), 2)}  # fmt: skip


def speed_draws(ratios: Numbers, problems: Numbers) -> Numbers:
    """Medians of bootstrap samples of the timed problems, [B], drawn by problem as everywhere."""
    order = np.argsort(ratios)
    ranked, drawn = ratios[order], weights(int(problems.max()) + 1)[:, problems[order]].cumsum(1)
    half = drawn[:, -1:] / 2
    low, high = (drawn >= half).argmax(1), (drawn > half).argmax(1)  # the same but where the half falls between two
    return np.where(drawn[:, -1] > 0, (ranked[low] + ranked[high]) / 2, np.nan)


def is_exact(setting: Setting) -> bool:
    """Does it emit the verifier's own law?"""
    return not setting.noise or is_lossless(setting.rule, setting.leniency, setting.proposal, setting.steps, setting.gamma)


def points(quality_rows: pd.DataFrame, speed_rows: pd.DataFrame, task: str) -> list[Point]:
    """Every setting of `task` with both kinds of rows as a point. Quality is accuracy, or 1 − mean TV where nothing is graded.

    All exact settings emit one law and so have one accuracy: that of their runs together, not of each one's luck.
    """
    timings, decoded = by_setting(speed_rows), by_setting(quality_rows[quality_rows["task"] == task])
    exact = [rows for setting, rows in decoded.items() if is_exact(setting)]
    result = []
    for setting, rows in decoded.items():
        if (timing := timings.get(setting)) is None:
            continue
        value, drawn = quality_of(pd.concat(exact) if is_exact(setting) else rows)
        ratios = (timing["tokens_per_second"] / timing["plain_tokens_per_second"]).to_numpy(float)
        result.append(
            Point(setting.noise, setting.steps, setting.leniency, setting.rule, setting.gamma, setting.proposal,
                  float(np.median(ratios)), value, speed_draws(ratios, timing["problem"].to_numpy(int)), drawn)
        )  # fmt: skip
    return result


def quality_of(rows: pd.DataFrame) -> tuple[float, Numbers]:
    """Quality of these runs together, and its bootstrap draws over problems."""
    problems = rows["problem"].to_numpy(int)
    if rows["right"].notna().all():
        return ratio(rows["right"].astype(float).to_numpy(), np.ones(len(rows)), problems)
    return ratio((rows["tokens"] - rows["tv"]).to_numpy(float), rows["tokens"].to_numpy(float), problems)
