"""The key on one page, to print: what the marks, knobs, rules, numbers and keys mean. Knows Gradio; every word is somebody else's table.

Its template is made here, from the project's own sentences alone, so that it needs no script but the button's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

import gradio as gr

from sdiff.request import KNOBS
from sdiff.ui import states, strings
from sdiff.ui.assets import read
from sdiff.ui.components import static

# On paper there is nothing but the key while the root says so (key.css): whatever else is printed prints as it is.
PRINT = """const root = document.documentElement;
element.querySelector(".ky-print").onclick = () => { root.dataset.prints = "key"; window.print(); };
addEventListener("afterprint", () => { delete root.dataset.prints; });"""


def chip_css() -> str:
    """The rules of the player's style sheet that make a token look like its state."""
    return "\n".join(re.findall(r"^\.sd-(?:chip|token|glyph)[^{]*\{[^}]*\}", read("player/player.css"), re.MULTILINE))


def _list(title: str, rows: Iterable[tuple[str, str]], name: str) -> str:
    """A headed list of (term, meaning); both are HTML."""
    items = "".join(f"<div><dt>{term}</dt><dd>{meaning}</dd></div>" for term, meaning in rows)
    return f'<section class="ky-{name}"><h3>{escape(title)}</h3><dl>{items}</dl></section>'


def _mark(state: states.State) -> tuple[str, str]:
    token = "" if state.name == "masked" else escape(strings.PLAYER["sample"])
    parts = f'<span class="sd-glyph">{state.glyph}</span><span class="sd-token">{token}</span>'
    chip = f'<span class="sd-chip" data-state="{state.name}" data-line="{state.line}" data-fill="{state.fill}" aria-hidden="true">{parts}</span>'
    return f"{chip} {escape(state.word)}", escape(state.help)


def key_html() -> str:
    """The whole key. Nothing in it is written here."""
    words = strings.KEY
    knobs = [tuple(map(escape, strings.CONTROLS[knob])) for knob in ("steps", "leniency")]
    rules = [
        tuple(map(escape, row))
        for row in (words["rule"], *((strings.said(knob.label), strings.said(knob.help)) for knob in KNOBS.values()))
    ]
    numbers = [
        (escape(f"{name} ({unit})" if unit else name), escape(f"{says} ({mark})")) for name, unit, mark, says in strings.NUMBERS.values()
    ]
    parts = [
        _list(strings.PLAYER["legend"], map(_mark, states.STATES), "marks"),
        _list(words["knobs"], knobs, "knobs"),
        _list(words["rules"], rules, "rules"),
        _list(strings.TABLE["title"], numbers, "numbers"),
        _list(strings.PLAYER["keys"], [(f"<kbd>{escape(key)}</kbd>", escape(says)) for key, says in strings.KEYS], "keys"),
    ]
    head = f'<h2 id="ky-title">{escape(words["title"])}</h2><button type="button" class="ky-print">{escape(words["print"])}</button>'
    return f'<section class="ky" aria-labelledby="ky-title"><header>{head}</header><div class="ky-parts">{"".join(parts)}</div></section>'


def build_key() -> gr.HTML:
    """The key with its button, in the current context."""
    css = states.palette_css(".ky") + chip_css() + read("key.css")
    return gr.HTML("", html_template=static(key_html()), css_template=static(css), js_on_load=PRINT, apply_default_css=False, elem_id="key")
