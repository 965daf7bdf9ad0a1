"""Links on the page: an address opens as a view, and a view becomes an address. Reading an address is link.py's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gradio as gr

from sdiff.request import Request
from sdiff.ui import strings
from sdiff.ui.components import QUIET
from sdiff.ui.link import read_link
from sdiff.ui.recordings_view import named, played

# Of the controls' values, those that differ from their defaults; a stored run on the stage with its cycle, and the view that is open.
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
  const open = document.querySelector("#views [role=tab][aria-selected=true]");
  if (open && views[open.textContent.trim()] !== "live") url.searchParams.set("view", views[open.textContent.trim()]);
  for (const name of ["hide", "ask"]) if (now.get(name)) url.searchParams.set(name, now.get(name));
  return url.href;
}"""


def wire_links(demo: gr.Blocks, controls: dict[str, Any], link: tuple[gr.Button, gr.Textbox], shown: tuple[Any, ...], folder: Path) -> None:
    """An address sets prompt, settings, view and cycle; a button makes such an address."""
    defaults = {name: getattr(Request, name, "") for name in controls}
    views = {label: name for name, label in strings.VIEWS.items()}
    script = LINK_OF.replace("DEFAULTS", json.dumps(defaults)).replace("VIEWS", json.dumps(views))
    link[0].click(None, list(controls.values()), link[1], js=script, **QUIET)

    def open_link(page: gr.Request) -> list[Any]:
        asked = read_link(dict(page.query_params))
        set_to = {name: {"value": value} for name, value in asked.settings.items()}
        hide = {name: {"visible": False} for name in asked.hidden}
        found = [gr.update(**set_to.get(name, {}), **hide.get(name, {})) for name in controls]
        view: Any = gr.Tabs(selected=asked.view) if asked.view else gr.skip()
        trace = named(asked.run, folder) if asked.run else None
        if asked.run and trace is None:
            asked.notes.append(strings.LINK_UNKNOWN.format(name="run", given=asked.run))
        value, figures = played(trace, asked.run) if trace else (gr.skip(), gr.skip())
        stage = gr.update(cycle=asked.cycle) if trace is None else gr.update(value=value, cycle=asked.cycle)
        says = " ".join(filter(None, [asked.question, *asked.notes, strings.LINK_RUN if asked.settings else ""]))
        return [*found, view, stage, figures, f"{'bad' if asked.notes else 'note'}:{says}"]

    demo.load(open_link, None, [*controls.values(), *shown], queue=False, **QUIET)
