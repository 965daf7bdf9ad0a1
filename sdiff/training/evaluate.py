"""What the shipped models can do, measured on the test split: accuracy, tokens per cycle, and the price of a step.

Quality comes from the sweep's own store (`sdiff.bench`, `precomputed/frontier`), so that nothing is decoded twice; the rise of
the chat answers' likelihood and the price of a step lie in `precomputed/evaluation.json`. `report` reads these files only.
"""

from __future__ import annotations

import json
import statistics as st
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

from sdiff.bench.points import quality
from sdiff.bench.settings import GAMMA, GRADED, Setting, measured
from sdiff.bench.store import Store, by_setting
from sdiff.many import padded
from sdiff.request import NOISES
from sdiff.tasks import TASKS
from sdiff.trace import Denoise, Event, Verify
from sdiff.training.corpus import TEMPERATURE, Row
from sdiff.training.teacher import read
from sdiff.verifier import Llama


def settings() -> list[Setting]:
    """All that the report needs, the most telling first."""
    plain = [Setting(task) for task in GRADED]
    lossless = [measured(task, noise, steps) for steps in (1, 4) for noise in NOISES for task in TASKS]
    lenient = [measured(task, noise, steps, leniency) for leniency in (0.4, 1.0) for steps in (1, 4) for noise in NOISES for task in GRADED]
    return list(dict.fromkeys([*plain, *lossless, *lenient]))


@torch.no_grad()
def likelihood(model: Llama, rows: list[Row], batch: int = 8) -> float:
    """Mean negative log-likelihood of the answers' tokens, in nat."""
    total, count = 0.0, 0
    for i in range(0, len(rows), batch):
        part = rows[i : i + batch]
        ids, _ = padded([row.prompt + row.answer for row in part], model.embedding.device)
        _, hidden = read(model, ids)
        for lane, row in enumerate(part):
            first, last = len(row.prompt), len(row.prompt) + len(row.answer)
            logits = F.linear(hidden[lane, first - 1 : last - 1], model.unembedding).float()
            total += F.cross_entropy(logits, ids[lane, first:last], reduction="sum").item()
            count += last - first
    return total / count


def step_cost(events: Iterator[Event]) -> dict[str, float]:
    """Milliseconds of one denoising step and of one verify pass over a whole block, medians of a real run's cycles."""
    steps: list[float] = []
    passes: list[float] = []
    for event in events:
        if isinstance(event, Denoise) and event.step > 0 and len(event.canvas) == GAMMA:
            steps.append(event.ms)
        elif isinstance(event, Verify) and len(event.tokens) == GAMMA:
            passes.append(event.ms)
    step, whole = st.median(steps), st.median(passes)
    return {"step_ms": round(step, 3), "verify_ms": round(whole, 3), "ratio": round(step / whole, 4), "cycles": len(passes)}


def load(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text()) if path.exists() else {"schema": 1, "chat": {}, "step_cost": {}}


def store(results: dict[str, Any], path: Path) -> None:
    """Whole or not at all: an interrupted run loses nothing."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(results, indent=1) + "\n")
    part.replace(path)


def figures(precomputed: Path, models: dict[str, str]) -> dict[Setting, dict[str, Any]]:
    """The figures of every setting that was decoded with `models`."""
    return {setting: quality(rows) for setting, rows in by_setting(Store(precomputed / "frontier").rows("quality", models)).items()}


def report(precomputed: Path, models: dict[str, str], least: int = 300) -> dict[str, Any]:
    """The figures by which `models` are judged, from stored rows of at least `least` problems only; null where there is none."""
    results, rows = load(precomputed / "evaluation.json"), figures(precomputed, models)

    def value(setting: Setting, key: str) -> float | None:
        row = rows.get(setting)
        return row[key] if row and row["n"] >= least else None

    def gap(upper: Setting, lower: Setting) -> float | None:
        a, b = value(upper, "accuracy"), value(lower, "accuracy")
        return None if a is None or b is None else round(100 * (a - b), 1)

    def room(task: str) -> float | None:
        gaps = [gap(Setting(task), measured(task, noise, steps, 1.0)) for noise in NOISES for steps in (1, 4)]
        return None if None in gaps else min(gaps)

    base = {task: Setting(task) for task in GRADED}
    return {
        "verifier": {t: {k: value(s, k) for k in ("accuracy", "low", "high", "n")} for t, s in base.items()},
        "chat_nll_rise": results["chat"].get("rise") if results["chat"].get("adapter") == models["adapter"] else None,
        "tau": {
            noise: {f"S{s}": {t: value(measured(t, noise, s), "tau") for t in TASKS} for s in (1, 4)} for noise in NOISES
        },
        "lenient_gain_points": {
            noise: {t: gap(measured(t, noise, 4, 0.4), measured(t, noise, 1, 0.4)) for t in GRADED} for noise in NOISES
        },
        "step_cost_ratio": results["step_cost"].get("ratio") if results["step_cost"].get("models") == models else None,
        "quality_room": {task: room(task) for task in GRADED},
        "bytes": sum(file.stat().st_size for file in precomputed.rglob("*") if file.is_file()),
    }  # fmt: skip


def bars(figures: dict[str, Any]) -> list[tuple[str, float | None, str, float]]:
    """(what, figure, at least or at most, bar) of each figure in `report`."""
    rows: list[tuple[str, float | None, str, float]] = []
    for task, bar in (("reasoning", 0.75), ("coding", 0.70)):
        rows.append((f"accuracy of plain decoding, {task}", figures["verifier"][task]["accuracy"], "≥", bar))
    rows.append(("rise of the chat answers' NLL, nat per token", figures["chat_nll_rise"], "≤", 0.10))
    for noise, least in (("masked", (3.5, 3.5, 1.6)), ("uniform", (3.0, 3.0, 1.5))):
        for task, bar in zip(("reasoning", "coding", "chat"), least, strict=True):
            rows.append((f"τ at S = 1, {noise}, {task}", figures["tau"][noise]["S1"][task], "≥", bar))
        for task in ("reasoning", "coding"):
            one, four = (figures["tau"][noise][s][task] for s in ("S1", "S4"))
            rows.append((f"τ at S = 4 ÷ S = 1, {noise}, {task}", one and four and round(four / one, 3), "≥", 1.10))
        gains = [g for g in figures["lenient_gain_points"][noise].values() if g is not None]
        rows.append((f"points gained by S = 4 over S = 1 at λ = .4, {noise}, best task", max(gains, default=None), "≥", 5))
    rows.append(("one denoising step ÷ one verify pass of 9 tokens", figures["step_cost_ratio"], "≤", 0.18))
    rows += [(f"points lost by drafts alone, {task}", room, "≥", 25) for task, room in figures["quality_room"].items()]
    return [*rows, ("megabytes in precomputed", round(figures["bytes"] / 1e6, 1), "≤", 120)]


def markdown(precomputed: Path, models: dict[str, str], least: int = 300) -> str:
    """What was aimed at and what was measured, as the table of the README."""
    body = ["| what | measured | aimed at | |", "|---|---|---|---|"]
    for what, figure, kind, bar in bars(report(precomputed, models, least)):
        met = "" if figure is None else "holds" if reached(figure, kind, bar) else "**missed**"
        body.append(f"| {what} | {'not measured' if figure is None else f'{figure:g}'} | {kind} {bar:g} | {met} |")
    runs = [run for run in Store(precomputed / "frontier").about["runs"] if run["models"] == models]
    where = {f"{run['name']}, {run['dtype']}, {run['threads']} threads, torch {run['torch']}, {run['date']}" for run in runs}
    note = f"Test split, n = {least} problems per task and setting, temperature {TEMPERATURE:g}"
    return "\n".join([*body, "", f"{note}; {'; '.join(sorted(where))}." if where else f"{note}."])


def reached(figure: float, kind: str, bar: float) -> bool:
    """Is a bar of `bars` reached?"""
    return figure >= bar if kind == "≥" else figure <= bar


def curves(precomputed: Path, models: dict[str, str]) -> list[tuple[str, int, list[float]]]:
    """(setting, its problems, acceptance at each position when examined) of every stored setting with drafts: where blocks end,
    and what more steps change."""
    return [
        (setting.name, row["n"], [a / e for a, e in zip(row["accepted"], row["examined"], strict=True) if e])
        for setting, row in figures(precomputed, models).items()
        if setting.noise
    ]
