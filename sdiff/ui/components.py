"""gr.HTML components with static templates: knows props, CSS and scripts; refuses to know runs and handlers.

A template is compiled twice by Gradio and would execute `${…}` and `{{…}}`, so templates stay constant and every
text travels as a prop that the script writes with textContent. Plain functions, not subclasses: Gradio writes a stub
file beside every module that subclasses a component.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gradio as gr

from sdiff.ui import states, strings
from sdiff.ui.assets import player_parts, read
from sdiff.ui.lesson import lesson_page

# listeners of the page itself: no progress veil over what they draw, and not among the documented endpoints
QUIET: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
FRONTIER_SCRIPTS = ("words.js", "plot.js", "table.js", "main.js")


def static(text: str) -> str:
    """`text` if Gradio will leave it alone, else ValueError."""
    for bad in ("${", "{{", "`", "\\"):
        if bad in text:
            raise ValueError(f"{bad!r} is not allowed in a static template")
    return text


def _component(value: str, html: str, css: str, script: str, **props: Any) -> gr.HTML:
    """A component whose page part never changes; `value` is a string that its script draws."""
    return gr.HTML(
        value,
        html_template=static(html),
        css_template=static(css + read("help.css")),
        js_on_load=read("common.js") + script,
        apply_default_css=False,
        **props,
    )


def player(value: str, **props: Any) -> gr.HTML:
    """The stage. `value` is a growing NDJSON string: one `source` line, then the events of a run."""
    html, css, script, own = player_parts()
    return _component(value, html, css, script, server_functions=[lesson_page], **own, **props)


def race(value: str, **props: Any) -> gr.HTML:
    """Several runs on one clock. `value`: the lanes of race_view.py, one after the other."""
    css = states.palette_css(".rc") + read("race/race.css")
    return _component(value, read("race/race.html"), css, read("race/clock.js", "race/main.js"), words=strings.RACE, **props)


def tour(**props: Any) -> gr.HTML:
    """The steps of the lesson; it listens to what the player and the race tell the page."""
    css = states.palette_css(".tr") + read("tour/tour.css")
    return _component("", read("tour/tour.html"), css, read("tour/tour.js"), words=strings.TOUR, **props)


def numbers_table(value: str, **props: Any) -> gr.HTML:
    """Numbers of a run and acceptance per position. `value` is the JSON of numbers.py."""
    html, css, script = read("numbers.html"), states.palette_css(".nb") + read("numbers.css"), read("numbers.js")
    return _component(value, html, css, script, labels=strings.NUMBERS, words=strings.TABLE, **props)


def line(value: str = "", **props: Any) -> gr.HTML:
    """One sentence, spoken politely when it changes. `value` is "tone:sentence"."""
    html = '<p class="sd-line" role="status" aria-live="polite"></p>'
    return _component(value, html, states.palette_css(".sd-line") + read("line.css"), read("line.js"), **props)


def plotly_script() -> str:
    """The head tag of the Plotly script that ships inside the `plotly` wheel, served as the one public file of its folder."""
    package = find_spec("plotly")  # not imported: only its file is needed, and the import takes time
    path = (Path(package.origin).parent / "package_data" / "plotly.min.js").resolve()
    gr.set_static_paths([path])
    return f'<script src="gradio_api/file={path.as_posix()}"></script>'


def frontier_chart(value: str = "", **props: Any) -> gr.HTML:
    """The frontier. `value` is the JSON of frontier_data.py, `answer` replaces the answer in it when only the question changed."""
    script = read(*(f"frontier/{name}" for name in FRONTIER_SCRIPTS))
    html, css = read("frontier/frontier.html"), read("frontier/frontier.css")
    return _component(value, html, css, script, answer="", words=strings.FRONTIER, head=plotly_script(), **props)


def theory(part: str, words: dict[str, Any], **props: Any) -> gr.HTML:
    """A part of the Theory view: "laws", "chart" or "exact". `value` is JSON; "" until somebody looks."""
    css, script = states.palette_css(".th") + read("theory/theory.css"), read("theory/shared.js", f"theory/{part}.js")
    return _component("", read(f"theory/{part}.html"), css, script, words=words, **props)
