"""Links on the page: an address opens as a view, and a view becomes an address. Reading an address is link.py's."""

from __future__ import annotations

import json
from typing import Any

import gradio as gr

from sdiff.request import Request
from sdiff.ui import strings
from sdiff.ui.link import read_link

QUIET: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}

# Of the controls' values, those that differ from their defaults; the cycle on the stage and the view that is open.
LINK_OF = """(...values) => {
  const defaults = DEFAULTS, views = VIEWS, url = new URL(location.pathname, location.href);
  Object.keys(defaults).forEach((name, i) => {
    const value = typeof values[i] === "boolean" ? Number(values[i]) : values[i];
    if (values[i] !== null && values[i] !== defaults[name]) url.searchParams.set(name, value);
  });
  const cycle = Number(document.querySelector("#player .sd")?.dataset.cycle || 0);
  if (cycle) url.searchParams.set("cycle", cycle);
  const open = document.querySelector("#views [role=tab][aria-selected=true]");
  if (open && views[open.textContent.trim()] !== "live") url.searchParams.set("view", views[open.textContent.trim()]);
  return url.href;
}"""


def wire_links(demo: gr.Blocks, controls: dict[str, Any], link: tuple[gr.Button, gr.Textbox], shown: tuple[Any, ...]) -> None:
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
        says = " ".join(filter(None, [asked.question, *asked.notes, strings.LINK_RUN if asked.settings else ""]))
        view: Any = gr.Tabs(selected=asked.view) if asked.view else gr.skip()
        return [*found, view, gr.update(cycle=asked.cycle), f"{'bad' if asked.notes else 'note'}:{says}"]

    demo.load(open_link, None, [*controls.values(), *shown], queue=False, **QUIET)
