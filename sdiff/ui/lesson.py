"""A run as one page that plays from disk, without network, server or Gradio: the same player, its files written into the page.

Knows pages; refuses to know runs: the run is put in at PLACE, here or by the player itself (files.js).
"""

from __future__ import annotations

import functools

from sdiff.trace import Trace
from sdiff.ui import strings
from sdiff.ui.assets import player_parts, read, script_json
from sdiff.ui.live import player_value

PLACE = "/*the run*/null"


def lesson_page(_: object = None) -> str:
    """The page with PLACE where the player's value belongs, as a JSON string. The argument is what a server function is always given."""
    return _page()


@functools.cache
def _page() -> str:
    html, css, script, props = player_parts()
    return f"""<!doctype html>
<html lang="{strings.LANGUAGE}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>{strings.TITLE}</title>
<style>{read("colours.css", "lesson.css")}
#player {{ {css}{read("help.css")} }}</style></head>
<body><h1>{strings.TITLE}</h1><main id="player">{html}</main>
<script>
document.documentElement.classList.toggle("dark", matchMedia("(prefers-color-scheme: dark)").matches);
(() => {{
const element = document.getElementById("player"), server = null, watch = () => {{}};
const props = {{...{script_json(props)}, value: {PLACE}}};
{read("common.js")}{script}
}})();
</script></body></html>
"""


def lesson(trace: Trace) -> str:
    """The whole page for one run."""
    head, tail = lesson_page().split(PLACE)
    return head + script_json(player_value(trace, "recorded")) + tail
