"""The frontier's numbers with the words around them, as the component reads them. Knows measurements and strings; refuses to know Gradio.

Whatever is wrong with the stored rows becomes one sentence: nothing here raises for a visitor.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sdiff.bench.chart import AIMS, Measurements
from sdiff.bench.places import Place
from sdiff.bench.settings import Setting
from sdiff.bench.store import MACHINE, arithmetic
from sdiff.ui import strings
from sdiff.ui.assets import script_json
from sdiff.ui.own_runs import SAMPLING, OwnRun, placed

log = logging.getLogger(__name__)


class Bound(NamedTuple):
    """How much may be asked for under one aim, and what is asked first."""

    usual: float
    limits: tuple[float, float]


BOUNDS = {"near": Bound(2.0, (0, 100)), "quality": Bound(0.5, (0, 1)), "speed": Bound(2.0, (0, 1000))}


@dataclass(frozen=True)
class Look:
    """What a visitor looks at, and the question asked. `aim` is one of chart.AIMS."""

    task: str
    noise: str = ""
    rule: str = "tv"
    place: str = ""
    aim: str = "near"
    bound: float | None = 2.0


def payload(measurements: Measurements, look: Look, own: list[OwnRun]) -> str:
    """JSON for the component's value."""
    try:
        chart = measurements.chart(look.task, look.noise, look.rule, look.place)
        drawn = {key: chart[key] for key in ("task", "noise", "rule", "place", "graded", "modelled", "main", "mine")}
        said = {"notes": notes(chart), "missing": missing(chart), "where": where(chart), "answer": question(measurements, look, chart)}
        return script_json(
            strings.all_said(
                {
                    **drawn,
                    **said,
                    "called": strings.FRONTIER_TASKS[look.task],
                    "own": placed(own if chart["modelled"] is None else [], chart),
                }
            )
        )
    except Exception as error:
        return script_json({"broken": strings.FRONTIER_BROKEN.format(error=sentence(error).rstrip("."))})


def asked(measurements: Measurements, look: Look) -> str:
    """JSON for the component's `answer`, when only the question changed."""
    try:
        chart = measurements.chart(look.task, look.noise, look.rule, look.place)
        answer = strings.all_said(question(measurements, look, chart))
        return script_json({**answer, "of": [chart[key] for key in ("task", "noise", "rule", "place")]})
    except Exception as error:
        return script_json({"say": strings.FRONTIER_BROKEN.format(error=sentence(error).rstrip("."))})


def sentence(error: Exception) -> str:
    """What a visitor reads about an error; what nobody foresaw goes to the log."""
    if isinstance(error, ValueError) and type(error) is ValueError:
        return strings.said(error)
    log.error("the frontier failed", exc_info=error)
    return strings.UNEXPECTED.format(kind=type(error).__name__) + "."


def missing(chart: dict[str, Any]) -> str:
    """Why there are no points; "" where there are some."""
    main, mine = chart["main"], chart["mine"]
    if (main and main["points"]) or (mine and mine["points"]):
        return ""
    task = strings.FRONTIER_TASKS[chart["task"]]
    if chart["state"]:
        return strings.FRONTIER_MISSING[chart["state"]]
    if any(one and one["alone"] for one in (main, mine)):
        return strings.FRONTIER_MISSING["quality"].format(task=task)
    tasks = ", ".join(strings.FRONTIER_TASKS[name] for name in chart["tasks"] if name != chart["task"])
    return strings.FRONTIER_MISSING["task"].format(task=task, tasks=tasks or strings.FRONTIER_NO_OTHER)


def _difference(by: float) -> str:
    """A difference of qualities in words."""
    sentence = strings.FRONTIER_HIGHER if by > 0 else strings.FRONTIER_LOWER if by < 0 else strings.FRONTIER_SAME
    return sentence.format(by=f"{abs(by):.3f}")


def notes(chart: dict[str, Any]) -> list[str]:
    """Sentences under the headline: the joint setting on fresh problems, and what was left out."""
    lines = [] if chart["modelled"] is None else [strings.FRONTIER_MODELLED.format(cost=f"{chart['modelled']:g}")]
    for noise, row in chart["joint"].items():
        if math.isfinite(row["low"]):
            sentence = strings.FRONTIER_ONE_STEP if row["joint"] == row["single"] else strings.FRONTIER_JOINT
            known = {**strings.all_said(row), **{k: f"{row[k]:.2f}" for k in ("ratio", "low", "high")}}
            lines.append(sentence.format(**known, noise=strings.FRONTIER_NOISES[noise], difference=_difference(row["quality_difference"])))
    if left := sum(one["left_out"] for one in (chart["main"], chart["mine"]) if one):
        lines.append(strings.FRONTIER_LEFT_OUT.format(n=left))
    if chart["problem"]:
        lines.append(strings.FRONTIER_OWN_BROKEN.format(error=strings.said(chart["problem"])))
    return lines


def where(chart: dict[str, Any]) -> list[str]:
    """What was measured where, in sentences."""
    lines = [
        _speed_of(run, layer) for run, layer in ((chart["run"], chart["main"]), (chart.get("mine_run"), chart["mine"])) if run and layer
    ]
    points = chart["main"]["points"] if chart["main"] else []
    if points and chart["quality_runs"]:
        run = chart["quality_runs"][-1]
        dates = span(sorted({str(r.get("date", "?")) for r in chart["quality_runs"]}))
        known = {key: strings.read(run.get(key, "?")) for key in ("temperature", "seed", "name")}
        lines.append(strings.FRONTIER_WHERE_QUALITY.format(**known, date=dates, n=span([p["n"] for p in points])))
    if lines:
        lines.append(
            strings.FRONTIER_WHERE_MODELS.format(**{key: chart["models"].get(key, "?") for key in ("verifier", "adapter", "drafter")})
        )
    return lines


def _speed_of(run: dict[str, Any], layer: dict[str, Any]) -> str:
    rows = [*layer["points"], *layer["alone"]]
    loads = [row["load"] for row in layer["points"] if row["load"] is not None]
    return strings.FRONTIER_WHERE.format(**_place(run), load=max(loads, default="?"), timed=span([row["timed"] for row in rows]))


def span(values: list[Any]) -> str:
    """ "12", or "9 – 12" where they differ."""
    if not values:
        return "0"
    low, high = min(values), max(values)
    return f"{low}" if low == high else f"{low} – {high}"


def question(measurements: Measurements, look: Look, chart: dict[str, Any]) -> dict[str, Any]:
    """The choice under the visitor's constraint, or `say`: one sentence why there is none."""
    bound = look.bound
    if look.aim not in AIMS or isinstance(bound, bool) or not isinstance(bound, int | float) or not math.isfinite(bound):
        return {"say": strings.FRONTIER_ASK["number"]}
    if look.aim == "quality" and not 0 <= bound <= 1:
        return {"say": strings.FRONTIER_ASK["range"].format(bound=f"{bound:g}")}
    found = measurements.answer(look.task, look.noise, look.rule, look.place, look.aim, bound) if chart["main"] else None
    return found or {"say": strings.FRONTIER_ASK["none"]}


def place_label(place: Place) -> str:
    if place.step_cost is not None:
        return strings.FRONTIER_PLACE_MODELLED.format(cost=f"{100 * place.step_cost:g}")
    return (strings.FRONTIER_PLACE_OWN if place.own else strings.FRONTIER_PLACE).format(**_place(place.run))


def _place(run: dict[str, Any]) -> dict[str, str]:
    """Where a run was timed, by the names that the sentences about it use."""
    known = {key: strings.read(run.get(key, "?")) for key in (*MACHINE, "torch", "date")}
    return {**known, "dtype": strings.said(arithmetic(run))}


@dataclass(frozen=True)
class Picked:
    """What a picked point changes on the page: control values by the names of Request's fields, the recorded decode as JSON lines and
    the trace itself (None where there is none) with the name that a link calls it by, and a sentence with its tone."""

    sentence: str
    tone: str = "good"
    values: dict[str, Any] = field(default_factory=dict)
    trace: Any = None
    name: str = ""


def picked(measurements: Measurements, key: Any) -> Picked:
    """The setting of that key (task, noise, steps, leniency, rule, gamma, proposal), only if it was measured."""
    try:
        setting = measurements.settings().get(tuple(key)) if isinstance(key, list | tuple) else None
    except (ValueError, TypeError):
        setting = None
    if setting is None:
        return Picked(strings.FRONTIER_PICK["unknown"], "bad")
    trace, called = recorded(measurements, setting)
    values = {name: getattr(setting, name) for name in ("noise", "steps", "leniency", "rule", "gamma", "proposal")} if setting.noise else {}
    if trace is not None:
        head = trace.events[0]
        values |= {
            "prompt": head.prompt,
            **{name: head.settings[name] for name in ("seed", "max_tokens", *SAMPLING) if name in head.settings},
        }
    words = ("shown" if trace else "silent") if setting.noise else ("plain" if trace else "plainSilent")
    return Picked(strings.FRONTIER_PICK[words].format(name=strings.said(setting.name)), values=values, trace=trace, name=called)


def recorded(measurements: Measurements, setting: Setting) -> tuple[Any, str]:
    """The recorded decode of a measured setting, shipped or made here, and its name (see recordings_view.named); None where there is none."""
    from sdiff.bench.traces import opened, path_of  # torch: there when somebody picks a point, not when the page is built

    places = measurements.folders.values()
    found = ((trace, f"frontier/{path_of(place, setting).name.split('.json')[0]}") for place in places if (trace := opened(place, setting)))
    return next(found, (None, ""))
