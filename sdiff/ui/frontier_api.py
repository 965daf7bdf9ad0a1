"""The measured frontier for programs: two named endpoints beside the page. Knows measurements; refuses to know components.

What they answer is what `python -m sdiff frontier --json` and `python -m sdiff recommend` print, from the same functions.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import gradio as gr

from sdiff.bench.chart import Measurements
from sdiff.bench.report import report

Task = Literal["reasoning", "coding", "chat"]


def plain_json(value: Any) -> Any:
    """The same with None for what is no number in JSON."""
    if isinstance(value, dict):
        return {key: plain_json(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def frontier_json(measurements: Measurements, task: str) -> dict[str, Any]:
    """Every stored point of a task with its intervals and fronts, and the figures over all tasks. Raises ValueError in a sentence."""
    chart = measurements.chart(task, "", "")
    told = {key: chart[key] for key in ("task", "graded", "main", "run", "models")}
    return plain_json({**told, "figures": measurements.kept(("report",), lambda: report(measurements.stores[False], measurements.models))})


def recommend_json(measurements: Measurements, task: str, quality: float | None = None, speed: float | None = None) -> dict[str, Any]:
    """The setting for one bound, the runner-up and what speaks against the neighbours. Raises ValueError in a sentence."""
    if (quality is None) == (speed is None):
        raise ValueError("Give a least quality or a least speed, not both.")
    chart = measurements.chart(task, "", "")
    aim, bound = ("quality", quality) if speed is None else ("speed", speed)
    found = measurements.answer(task, "", "", "", aim, float(bound))
    if found is None:
        raise ValueError(f"Nothing is measured for {task} with these models. Run `python -m sdiff bench` first.")
    points = chart["main"]["points"]
    at = lambda index: None if index is None else points[index]  # noqa: E731
    return {"task": task, "axis": found["axis"], "bound": found["bound"], "sure": found["sure"], "best": at(found["best"]), "runner_up": at(found["runner_up"]),
            "nearest": at(found["nearest"]), "rejected": [{"setting": points[i]["setting"], "reason": why} for i, why in found["rejected"]]}  # fmt: skip


def endpoints(measurements: Measurements) -> None:
    """Name them in the current Blocks; a problem reaches the caller as its sentence."""

    def frontier(task: Task) -> dict:
        """The measured speed-quality frontier of a task, as stored; nothing is run.

        Args:
            task: reasoning, coding or chat.
        """
        return _told(frontier_json, measurements, task)

    def recommend(task: Task, quality: float | None = None, speed: float | None = None) -> dict:
        """The measured setting for one bound: the fastest of at least that quality, or the best of at least that speed.

        Args:
            task: reasoning, coding or chat.
            quality: least accuracy, or 1 - mean TV for chat, from 0 to 1.
            speed: least speed, in times plain decoding.
        """
        return _told(recommend_json, measurements, task, quality, speed)

    gr.api(frontier, api_name="frontier")
    gr.api(recommend, api_name="recommend")


def _told(function: Any, *args: Any) -> dict[str, Any]:
    try:
        return function(*args)
    except ValueError as error:
        raise gr.Error(str(error), print_exception=False) from None
