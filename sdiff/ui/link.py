"""Lesson links: what a page's address says, read with care. Knows queries; refuses to know Gradio.

Every value comes from a stranger: what is out of range is clamped, what is unknown is left out, and both are said.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from sdiff.request import KNOBS, MAX_PROMPT_CHARACTERS, NOISES, PROPOSALS, SLIDERS, Request
from sdiff.ui import strings

CHOICES = {"noise": NOISES, "rule": tuple(KNOBS), "proposal": ("", *PROPOSALS)}
SETTINGS = {f.name: f.type for f in fields(Request) if f.name != "plain"}
LONGEST_QUESTION = 300
MOST_NOTES = 6


@dataclass
class Link:
    """What an address asks for. `settings`: checked values of Request's fields; `run`: name of a stored run; `cycle` of it; `hidden`: controls left out; `notes`: what was changed and why."""

    settings: dict[str, Any] = field(default_factory=dict)
    view: str = ""
    run: str = ""
    cycle: int = 0
    hidden: tuple[str, ...] = ()
    question: str = ""
    notes: list[str] = field(default_factory=list)


def read_link(query: Mapping[str, str]) -> Link:
    """The link in a page's query parameters; never raises."""
    link = Link()
    for name in SETTINGS:
        if name in query:
            value = _setting(link, name, _clean(query[name]))
            if value is not None:
                link.settings[name] = value
    view = _clean(query.get("view", ""))
    if view in strings.VIEWS:
        link.view = view
    elif view:
        link.notes.append(strings.LINK_UNKNOWN.format(name="view", given=view[:40]))
    link.run = _clean(query.get("run", ""))[:40]
    if "cycle" in query:
        link.cycle = int(_number(link, "cycle", _clean(query["cycle"]), (1, 512), whole=True) or 0)
    wanted = [name for name in _clean(query.get("hide", "")).split(",") if name]
    link.hidden = tuple(name for name in wanted if name in SETTINGS)
    link.notes += [strings.LINK_UNKNOWN.format(name="hide", given=name[:40]) for name in wanted if name not in SETTINGS]
    link.question = _clean(query.get("ask", ""))[:LONGEST_QUESTION]
    if len(link.notes) > MOST_NOTES:
        link.notes = [*link.notes[:MOST_NOTES], strings.LINK_MORE]
    return link


def _clean(text: object) -> str:
    """A query's text without halves of characters."""
    return str(text).encode("utf-8", "ignore").decode("utf-8")


def _setting(link: Link, name: str, text: str) -> Any:
    if name == "prompt":
        if len(text) > MAX_PROMPT_CHARACTERS:
            link.notes.append(strings.LINK_CUT.format(most=MAX_PROMPT_CHARACTERS))
        return text[:MAX_PROMPT_CHARACTERS]
    if name in CHOICES:
        if text in CHOICES[name]:
            return text
    elif name in SLIDERS:
        return _number(link, name, text, SLIDERS[name], whole=SETTINGS[name] == "int")
    elif text in ("1", "true", "0", "false"):
        return text in ("1", "true")
    link.notes.append(strings.LINK_UNKNOWN.format(name=name, given=text[:40]))
    return None


def _number(link: Link, name: str, text: str, limits: tuple[float, float], whole: bool) -> float | None:
    """A number within its limits; what had to be changed is noted. None where there is no number."""
    try:
        given = float(text)
    except ValueError:
        given = math.nan
    if math.isnan(given):
        link.notes.append(strings.LINK_UNKNOWN.format(name=name, given=text[:40]))
        return None
    value = min(max(given, limits[0]), limits[1])
    value = round(value) if whole else value
    if value != given:
        link.notes.append(strings.LINK_CLAMPED.format(name=name, given=text[:40], used=f"{value:g}"))
    return value
