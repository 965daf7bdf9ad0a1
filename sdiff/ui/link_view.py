"""Links on the page: an address opens as a view, and a view becomes an address. Reading an address is link.py's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gradio as gr

from sdiff.bench.chart import AIMS
from sdiff.request import Request
from sdiff.ui import strings
from sdiff.ui.components import QUIET
from sdiff.ui.frontier_view import Frontier, bound_of, place_choices
from sdiff.ui.link import Link, read_link
from sdiff.ui.recordings_view import made_with, named, played
from sdiff.ui.theory_view import LENIENCY, RULE, Theory

# Of the controls' values, those that differ from their defaults; a stored run on the stage with its cycle; the view that is open, and what it
# has of its own: the frontier's task, filters and question, or a rule, a leniency and laws.
# What the address in use hides and asks stays.
LINK_OF = """(...values) => {
  const defaults = DEFAULTS, views = VIEWS, url = new URL(location.pathname, location.href), now = new URLSearchParams(location.search);
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
    const value = values[at++];
    if (name.startsWith(view + "_") && value !== usual && value !== null) url.searchParams.set(name, value);
  }
  if (url.searchParams.has("frontier_aim")) url.searchParams.set("frontier_bound", values[at - 3]); // what is asked, with how much
  const laws = view === "theory" && values[at] ? JSON.parse(values[at]) : null, law = (ps) => ps.map((p) => Number(p.toFixed(4))).join(" ");
  if (laws) for (const [name, text] of [["p", law(laws.p)], ["q", law(laws.q)], ["tokens", laws.tokens.join("|")]]) url.searchParams.set("theory_" + name, text);
  for (const name of ["hide", "ask"]) if (now.get(name)) url.searchParams.set(name, now.get(name));
  return url.href;
}"""


def wire_links(
    demo: gr.Blocks,
    controls: dict[str, Any],
    link: tuple[gr.Button, gr.Textbox],
    shown: tuple[Any, ...],
    folder: Path,
    own: tuple[Frontier | None, Theory],
) -> None:
    """An address sets prompt, settings, view with its own state, and cycle; a button makes such an address."""
    front, theory = own
    laws, rule, leniency = theory.inputs
    filters = {f"frontier_{name}": control for name, control in front.controls.items()} if front else {}
    usual = {**{name: control.value for name, control in filters.items()}, "theory_rule": RULE, "theory_leniency": LENIENCY}
    defaults = {name: getattr(Request, name, "") for name in controls}
    views = {label: name for name, label in strings.VIEWS.items()}
    script = LINK_OF.replace("DEFAULTS", json.dumps(defaults)).replace("VIEWS", json.dumps(views)).replace("OWN", json.dumps(usual))
    link[0].click(None, [*controls.values(), *filters.values(), rule, leniency, laws], link[1], js=script, **QUIET)

    def open_link(page: gr.Request) -> list[Any]:
        asked = read_link(dict(page.query_params))
        trace = named(asked.run, folder) if asked.run else None
        values = made_with(trace.events[0]) if trace else {}
        if asked.settings:  # an address names what differs from the defaults, not from the run on the stage
            values = {**{name: value for name, value in defaults.items() if name != "prompt"}, **asked.settings}
        set_to = {name: {"value": value} for name, value in values.items()}
        hide = {name: {"visible": False} for name in asked.hidden}
        found = [gr.update(**set_to.get(name, {}), **hide.get(name, {})) for name in controls]
        view: Any = gr.Tabs(selected=asked.view) if asked.view else gr.skip()
        if asked.run and trace is None:
            asked.notes.append(strings.LINK_UNKNOWN.format(name="run", given=asked.run))
        value, figures = played(trace, asked.run) if trace else (gr.skip(), gr.skip())
        stage = gr.update(cycle=asked.cycle) if trace is None else gr.update(value=value, cycle=asked.cycle)
        knobs = [gr.update(value=asked.state[name]) if name in asked.state else gr.skip() for name in ("theory_rule", "theory_leniency")]
        state = [*_filters(asked, front, list(filters)), *knobs]  # laws are read when the view is first opened
        says = " ".join(filter(None, [asked.question, *asked.notes, strings.LINK_RUN if asked.settings else ""]))
        return [*found, view, stage, figures, f"{'bad' if asked.notes else 'note'}:{says}", *state]

    outputs = [*controls.values(), *shown, *filters.values(), rule, leniency]
    demo.load(open_link, None, outputs, queue=False, **QUIET)


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
