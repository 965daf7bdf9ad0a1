"""The frontier view: its controls, its chart and the sweep of this machine, wired among themselves. Knows Gradio; refuses to know the
rest of the page: numbers come from bench/chart.py, and what a picked point does elsewhere is for who builds the page.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr

from sdiff.bench.chart import AIMS, Measurements
from sdiff.bench.settings import SWEPT
from sdiff.fetch import cache_folder
from sdiff.request import KNOBS
from sdiff.tasks import TASKS
from sdiff.ui import strings
from sdiff.ui.components import QUIET, frontier_chart, line
from sdiff.ui.engine import Engine
from sdiff.ui.frontier_api import endpoints
from sdiff.ui.frontier_data import BOUNDS, Look, Picked, asked, payload, picked, place_label
from sdiff.ui.measuring import MINUTES, Sweep
from sdiff.ui.own_runs import OwnRuns

PRECOMPUTED = Path(__file__).parents[2] / "precomputed"
NOW: dict[str, Any] = {**QUIET, "queue": False}
ARMED = "() => [{__type__: 'update', interactive: false}, {__type__: 'update', interactive: true}]"
DISARMED = "() => [{__type__: 'update', interactive: true}, {__type__: 'update', interactive: false}]"


@dataclass(frozen=True)
class Frontier:
    """What the page needs of the view.

    `chart.pick(f, None, outputs)`: somebody chose a point, and `picked(event)` inside f says what changes. `own.add(page, trace)` after
    a finished run puts its star on the chart; `own.forget(page)` when the page closes. `status`: a line beside the chart, for the sentence
    of a pick as "tone:sentence". `controls`: the view's own, by the fields of Look; changed by a person they draw the chart again, changed
    by a link they count from the next time the view is seen.
    """

    chart: gr.HTML
    status: gr.HTML
    controls: dict[str, Any]
    own: OwnRuns
    measurements: Measurements
    picked: Callable[[gr.EventData], Picked]


def name_models() -> dict[str, str]:
    """What names the weights in use."""
    from sdiff import bundled  # torch; asked for when the chart is first looked at, not when the page is built

    return bundled.names(PRECOMPUTED)


def build_frontier(
    engine: Engine,
    measure: bool = False,
    shipped: Path = PRECOMPUTED / "frontier",
    own: Path | None = None,
    models: Callable[[], dict[str, str]] = name_models,
) -> Frontier:
    """The view in the current Blocks or Tab. `measure`: offer the sweep of this machine, for a page that serves one person.

    `own`: folder of this machine's measurements, by default the one that `python -m sdiff bench` writes.
    """
    measurements, runs = Measurements(shipped, own or cache_folder() / "frontier", models), OwnRuns()

    def show(page: gr.Request, *values: Any) -> str:
        return payload(measurements, Look(*values), runs.of(page.session_hash or ""))

    gr.Markdown(strings.FRONTIER_INTRO, elem_id="frontier-intro")
    controls = _controls()
    status = line(elem_id="frontier-status")
    chart = frontier_chart(elem_id="frontier")
    _wire(measurements, controls, chart, show)
    if measure:
        _sweep_panel(Sweep(engine, measurements.folders[True]), controls, chart, show)
    endpoints(measurements)
    return Frontier(chart, status, controls, runs, measurements, lambda event: picked(measurements, event._data.get("key")))


def _controls() -> dict[str, Any]:
    def labels(field: str) -> dict[str, Any]:
        label, info = strings.FRONTIER_CONTROLS[field]
        return {"label": label, "info": info, "elem_id": f"frontier-{field}", "min_width": 190}

    c: dict[str, Any] = {}
    with gr.Row():
        c["task"] = gr.Radio([(strings.FRONTIER_TASKS[task], task) for task in TASKS], value=TASKS[0], scale=4, **labels("task"))
        c["noise"] = gr.Radio([(label, noise) for noise, label in strings.FRONTIER_NOISES.items()], value="", scale=4, **labels("noise"))
        rules = [*((strings.said(KNOBS[rule].label), rule) for rule in SWEPT), (strings.FRONTIER_EVERYTHING, "")]
        c["rule"] = gr.Dropdown(rules, value=SWEPT[0], scale=3, **labels("rule"))
    with gr.Row():
        c["place"] = gr.Dropdown([("…", "")], value="", scale=4, **labels("place"))  # until the measurements are read
        c["aim"] = gr.Dropdown([(strings.FRONTIER_AIMS[aim], aim) for aim in AIMS], value=AIMS[0], scale=4, **labels("aim"))
        c["bound"] = gr.Number(BOUNDS[AIMS[0]].usual, minimum=0, step=0.1, scale=3, **labels("bound"))
        c["bound"].info = strings.FRONTIER_UNITS[AIMS[0]]
    return c


def bound_of(aim: str, value: float) -> Any:
    """The control that says how much, with the unit of what is asked."""
    return gr.update(value=value, info=strings.FRONTIER_UNITS[aim])


def _wire(measurements: Measurements, controls: dict[str, Any], chart: gr.HTML, show: Callable[..., str]) -> None:
    inputs = list(controls.values())

    def opened(page: gr.Request, *values: Any) -> tuple[Any, str]:
        return place_choices(measurements, Look(*values).place), show(page, *values)

    def aimed(*values: Any) -> tuple[Any, Any]:
        look = Look(*values)
        aim = look.aim if look.aim in AIMS else AIMS[0]
        bound = BOUNDS[aim].usual
        return bound_of(aim, bound), gr.update(answer=asked(measurements, Look(*values[:-1], bound)))

    def bounded(*values: Any) -> Any:
        return gr.update(answer=asked(measurements, Look(*values)))

    chart.opened(opened, inputs, [controls["place"], chart], preprocess=False, **NOW)
    latest = {**NOW, "preprocess": False, "trigger_mode": "always_last"}  # what is typed while an answer is pending counts
    gr.on([controls[name].input for name in ("task", "noise", "rule", "place")], show, inputs, chart, **latest)
    controls["aim"].input(aimed, inputs, [controls["bound"], chart], **latest)
    controls["bound"].input(bounded, inputs, chart, **latest)


def place_choices(measurements: Measurements, value: Any) -> Any:
    """The machines that were timed; "" stands for the one measured last."""
    try:
        places = measurements.places()
    except ValueError:  # the chart says so
        places = []
    choices = [(place_label(place), place.id if i else "") for i, place in enumerate(places)]
    return gr.update(choices=choices or [(strings.FRONTIER_NO_PLACE, "")], value=value if value in dict(map(reversed, choices)) else "")


def _sweep_panel(sweep: Sweep, controls: dict[str, Any], chart: gr.HTML, show: Callable[..., str]) -> None:
    """Start and Stop without `cancels=`, as for runs: the sweep is told to end, the page only toggles its buttons."""
    with gr.Accordion(strings.MEASURE["title"], open=False, elem_id="measure"):
        gr.Markdown(strings.MEASURE["about"])
        with gr.Row():
            label, info = strings.FRONTIER_CONTROLS["minutes"]
            minutes = gr.Number(5, minimum=MINUTES[0], maximum=MINUTES[1], label=label, info=info, elem_id="measure-minutes")
            start = gr.Button(strings.MEASURE["start"], variant="primary", elem_id="measure-start")
            stop = gr.Button(strings.MEASURE["stop"], interactive=False, elem_id="measure-stop")
        status = line(elem_id="measure-status")

    async def measuring(task: Any, most: Any) -> AsyncIterator[str]:
        async with aclosing(sweep.run(task if task in TASKS else TASKS[0], most)) as updates:
            async for tone, sentence in updates:
                yield f"{tone}:{sentence}"

    def ask_to_stop() -> None:
        sweep.stop()

    armed = start.click(None, None, [start, stop], js=ARMED, **QUIET)
    job = armed.then(measuring, [controls["task"], minutes], status, preprocess=False, concurrency_limit=4, trigger_mode="once", **QUIET)
    job.then(None, None, [start, stop], js=DISARMED, **QUIET)
    job.then(show, list(controls.values()), chart, preprocess=False, **NOW)
    job.failure(None, None, [start, stop, status], js=DISARMED.replace("]", f", {json.dumps('bad:' + strings.REFUSED)}]"), **QUIET)
    stop.click(ask_to_stop, None, None, **NOW)
