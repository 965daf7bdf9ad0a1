"""Links on the page: an address opens as a view, and a view becomes an address. Reading an address is link.py's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import gradio as gr

from sdiff.bench.chart import AIMS
from sdiff.request import Request
from sdiff.ui import strings
from sdiff.ui.components import QUIET
from sdiff.ui.frontier_view import Frontier, bound_of, place_choices
from sdiff.ui.link import LONGEST_QUESTION, SETTINGS, Link, read_link
from sdiff.ui.recordings_view import made_with, named, played
from sdiff.ui.theory_view import Theory

# Of the controls' values, those that differ from their defaults; a stored run on the stage with its cycle; the view that is open, and what it
# has of its own: the frontier's task, filters and question, or a rule, a leniency, the fields of Proposition 2's table, and laws. Last what is to
# be left out and asked.
LINK_OF = """(...values) => {
  const defaults = DEFAULTS, views = VIEWS, url = new URL(location.pathname, location.href), own = {};
  const [laws, hide, ask] = values.splice(-3);
  Object.keys(defaults).forEach((name, i) => {
    const value = typeof values[i] === "boolean" ? Number(values[i]) : values[i];
    if (values[i] !== null && values[i] !== defaults[name]) url.searchParams.set(name, value);
  });
  const stage = document.querySelector("#player .sd")?.dataset || {};
  if (stage.source === "recorded" && stage.name) {
    url.searchParams.set("run", stage.name);
    if (Number(stage.cycle)) url.searchParams.set("cycle", stage.cycle);
  }
  const open = document.querySelector("#views [role=tab][aria-selected=true]"), view = open ? views[open.textContent.trim()] : "live";
  if (view !== "live") url.searchParams.set("view", view);
  let at = Object.keys(defaults).length;
  for (const [name, usual] of Object.entries(OWN)) {
    const value = own[name] = values[at++];
    if (name.startsWith(view + "_") && value !== usual && value !== null) url.searchParams.set(name, value);
  }
  if (url.searchParams.has("frontier_aim")) url.searchParams.set("frontier_bound", own.frontier_bound); // what is asked, with how much
  const shown = view === "theory" && laws ? JSON.parse(laws) : null, law = (ps) => ps.map((p) => Number(p.toFixed(4))).join(" ");
  if (shown) for (const [name, text] of [["p", law(shown.p)], ["q", law(shown.q)], ["tokens", shown.tokens.join("|")]]) url.searchParams.set("theory_" + name, text);
  for (const [name, text] of [["hide", (hide || []).join(",")], ["ask", (ask || "").trim()]]) if (text) url.searchParams.set(name, text);
  return url.href;
}"""


class LinkBoxes(NamedTuple):
    make: gr.Button
    address: gr.Textbox
    hide: gr.Dropdown
    ask: gr.Textbox


def build_link() -> LinkBoxes:
    """The accordion that makes an address, in the current context."""
    (hide, hide_info), (ask, ask_info) = strings.LINK_HIDE, strings.LINK_ASK
    names = [(label, name) for name, (label, _) in strings.CONTROLS.items() if name in SETTINGS]
    with gr.Accordion(strings.LINK_COPY, open=False, elem_id="link"):
        left_out = gr.Dropdown(names, value=[], multiselect=True, label=hide, info=hide_info, elem_id="link-hide")
        info = ask_info.format(most=LONGEST_QUESTION)
        question = gr.Textbox(max_length=LONGEST_QUESTION, label=ask, info=info, elem_id="link-ask")
        make = gr.Button(strings.LINK_MAKE, size="sm", elem_id="make-link")
        address = gr.Textbox(label=strings.LINK_BOX, interactive=False, buttons=["copy"], elem_id="link-box")
    return LinkBoxes(make, address, left_out, question)


def wire_links(
    demo: gr.Blocks,
    controls: dict[str, Any],
    link: LinkBoxes,
    shown: tuple[Any, ...],
    folder: Path,
    own: tuple[Frontier | None, Theory],
) -> None:
    """An address sets prompt, settings, view with its own state, and cycle; a button makes such an address."""
    front, theory = own
    laws, rule, leniency = theory.inputs
    filters = {f"frontier_{name}": control for name, control in front.controls.items()} if front else {}
    knobs = {"theory_rule": rule, "theory_leniency": leniency, **{f"theory_{name}": control for name, control in theory.exact.items()}}
    usual = {name: control.value for name, control in (filters | knobs).items()}
    defaults = {name: getattr(Request, name, "") for name in controls}
    views = {label: name for name, label in strings.VIEWS.items()}
    script = LINK_OF.replace("DEFAULTS", json.dumps(defaults)).replace("VIEWS", json.dumps(views)).replace("OWN", json.dumps(usual))
    inputs = [*controls.values(), *filters.values(), *knobs.values(), laws, link.hide, link.ask]
    link.make.click(None, inputs, link.address, js=script, **QUIET)
    measured = front.measurements.folders.values() if front else ()

    def open_link(page: gr.Request) -> list[Any]:
        asked = read_link(dict(page.query_params))
        trace = named(asked.run, folder, measured) if asked.run else None
        values = made_with(trace.events[0]) if trace else {}
        if asked.settings:  # an address names what differs from the defaults, not from the run on the stage
            values = {**{name: value for name, value in defaults.items() if name != "prompt"}, **asked.settings}
        set_to = {name: {"value": value} for name, value in values.items()}
        hide = {name: {"visible": False} for name in asked.hidden}
        found = [gr.update(**set_to.get(name, {}), **hide.get(name, {})) for name in controls]
        view: Any = gr.Tabs(selected=asked.view) if asked.view else gr.skip()
        if asked.run and trace is None:
            asked.notes.append(strings.LINK_UNKNOWN.format(name="run", given=asked.run))
        stage, figures = played(trace, asked.run) if trace else (gr.skip(), gr.skip())
        set_knobs = [gr.update(value=asked.state[name]) if name in asked.state else gr.skip() for name in knobs]
        boxes = [gr.update(value=list(asked.hidden)), gr.update(value=asked.question)]
        state = [*_filters(asked, front, list(filters)), *set_knobs, *boxes]  # laws are read when the view is first opened
        says = " ".join(filter(None, [asked.question, *asked.notes, strings.LINK_RUN if asked.settings else ""]))
        return [*found, view, stage, figures, f"{'bad' if asked.notes else 'note'}:{says}", *state]

    outputs = [*controls.values(), *shown, *filters.values(), *knobs.values(), link.hide, link.ask]
    opened = demo.load(open_link, None, outputs, queue=False, **QUIET)
    opened.then(_cycle, None, shown[1], queue=False, **QUIET)  # the player takes the cycle for one of the run that it has


def _cycle(page: gr.Request) -> Any:
    cycle = read_link(dict(page.query_params)).cycle
    return gr.update(cycle=cycle) if cycle else gr.skip()


def _filters(asked: Link, front: Frontier | None, names: list[str]) -> list[Any]:
    """Updates of the frontier's controls. Whether there is such a machine only the measurements tell."""
    updates = [gr.update(value=asked.state[name]) if name in asked.state else gr.skip() for name in names]
    if front and "frontier_bound" in asked.state:
        updates[names.index("frontier_bound")] = bound_of(asked.state.get("frontier_aim", AIMS[0]), asked.state["frontier_bound"])
    if front and (place := asked.state.get("frontier_place")):
        updates[names.index("frontier_place")] = known = place_choices(front.measurements, place)
        if known["value"] != place:
            asked.notes.append(strings.LINK_UNKNOWN.format(name="frontier_place", given=place[:40]))
    return updates
