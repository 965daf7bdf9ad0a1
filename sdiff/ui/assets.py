"""The files of the web folder and what the player is made of. Refuses to know Gradio, so that lessons need none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sdiff.ui import states, strings

WEB = Path(__file__).parent / "web"
PLAYER_SCRIPTS = (
    "timeline.js",
    "caption.js",
    "stage.js",
    "card.js",
    "panel.js",
    "predict.js",
    "pin.js",
    "files.js",
    "transport.js",
    "presenter.js",
    "main.js",
)


def read(*names: str) -> str:
    """The named files of the web folder, joined."""
    return "\n".join((WEB / name).read_text(encoding="utf-8") for name in names)


def script_json(value: Any) -> str:
    """JSON that may stand in a script element and in a component's value (Gradio warns about tags there). Raises ValueError on NaN."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")


def player_parts() -> tuple[str, str, str, dict[str, Any]]:
    """HTML, CSS (to be nested in the player's own rule), script and props of the player."""
    css = states.palette_css(".sd") + read("player/player.css")
    props = {
        "states": states.as_props(),
        "words": {**strings.PLAYER, "captions": strings.CAPTIONS, "card": strings.CARD, "written": strings.RECOGNISED},
        "keys": strings.KEYS,
        "cycle": 0,
    }
    return read("player/player.html"), css, read(*(f"player/{name}" for name in PLAYER_SCRIPTS)), props
