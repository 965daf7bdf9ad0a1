"""gr.HTML components with static templates: knows props, CSS and scripts; refuses to know runs and handlers.

A template is compiled twice by Gradio and would execute `${…}` and `{{…}}`, so templates stay constant and every
text travels as a prop that the script writes with textContent. Plain functions, not subclasses: Gradio writes a stub
file beside every module that subclasses a component.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gradio as gr

from sdiff.ui import states, strings

WEB = Path(__file__).parent / "web"
PLAYER_SCRIPTS = ("timeline.js", "caption.js", "stage.js", "card.js", "transport.js", "main.js")


def read(*names: str) -> str:
    """The named files of the web folder, joined."""
    return "\n".join((WEB / name).read_text(encoding="utf-8") for name in names)


def static(text: str) -> str:
    """`text` if Gradio will leave it alone, else ValueError."""
    for bad in ("${", "{{", "`", "\\"):
        if bad in text:
            raise ValueError(f"{bad!r} is not allowed in a static template")
    return text


def _component(value: str, html: str, css: str, script: str, **props: Any) -> gr.HTML:
    """A component whose page part never changes; `value` is a string that its script draws."""
    return gr.HTML(value, html_template=static(html), css_template=static(css), js_on_load=script, apply_default_css=False, **props)


def player(value: str, **props: Any) -> gr.HTML:
    """The stage. `value` is a growing NDJSON string: one `source` line, then the events of a run."""
    return _component(
        value,
        read("player/player.html"),
        states.palette_css(".sd") + read("player/player.css"),
        read(*(f"player/{name}" for name in PLAYER_SCRIPTS)),
        states=states.as_props(),
        words={**strings.PLAYER, "captions": strings.CAPTIONS, "card": strings.CARD},
        keys=strings.KEYS,
        **props,
    )


def numbers_table(value: str, **props: Any) -> gr.HTML:
    """Numbers of a run and acceptance per position. `value` is the JSON of numbers.py."""
    html, css, script = read("numbers.html"), read("numbers.css"), read("numbers.js")
    return _component(value, html, css, script, labels=strings.NUMBERS, words=strings.TABLE, **props)


def line(value: str = "", **props: Any) -> gr.HTML:
    """One sentence, spoken politely when it changes. `value` is "tone:sentence"."""
    html = '<p class="sd-line" role="status" aria-live="polite"></p>'
    return _component(value, html, read("line.css"), read("line.js"), **props)


def theory(part: str, words: dict[str, Any], **props: Any) -> gr.HTML:
    """A part of the Theory view: "laws", "chart" or "exact". `value` is JSON; "" until somebody looks."""
    css, script = states.palette_css(".th") + read("theory/theory.css"), read("theory/shared.js", f"theory/{part}.js")
    return _component("", read(f"theory/{part}.html"), css, script, words=words, **props)
