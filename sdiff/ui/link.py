"""Lesson links: what a page's address says, read with care. Knows queries; refuses to know Gradio.

Every value comes from a stranger: what is out of range is clamped, what is unknown is left out, and both are said.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from sdiff.bench.chart import AIMS
from sdiff.bench.settings import SWEPT
from sdiff.exactness import LIMITS
from sdiff.request import KNOBS, MAX_PROMPT_CHARACTERS, NOISES, PROPOSALS, RULES, SLIDERS, Request
from sdiff.tasks import TASKS
from sdiff.ui import frontier_data, strings

CHOICES = {"noise": NOISES, "rule": tuple(KNOBS), "proposal": ("", *PROPOSALS)}
SETTINGS = {f.name: f.type for f in fields(Request) if f.name != "plain"}
LONGEST_QUESTION = 300
# What a view has of its own: choices, and texts that only the view itself can judge.
VIEW_CHOICES = {"frontier_task": TASKS, "frontier_noise": ("", *NOISES), "frontier_rule": (*SWEPT, ""), "frontier_aim": AIMS, "theory_rule": tuple(RULES), "theory_noise": ("", *NOISES), "theory_proposal": ("", *PROPOSALS)}  # fmt: skip
VIEW_TEXTS = ("frontier_place", "theory_p", "theory_q", "theory_tokens")
LONGEST_TEXT = 300
LONGEST_NAME = 100
VIEW_WHOLE = {f"theory_{name}": limits for name, limits in LIMITS.items()}  # of the table of Proposition 2
MOST_NOTES = 6


@dataclass
class Link:
    """What an address asks for. `settings`: checked values of Request's fields; `run`: name of a stored run; `cycle` of it; `state`: the views' own, such as frontier_task; `hidden`: controls left out; `notes`: what was changed and why."""

    settings: dict[str, Any] = field(default_factory=dict)
    view: str = ""
    run: str = ""
    cycle: int = 0
    state: dict[str, Any] = field(default_factory=dict)
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
    link.run = _clean(query.get("run", ""))
    if len(link.run) > LONGEST_NAME:  # cut, it could be the name of another run
        link.notes.append(strings.LINK_UNKNOWN.format(name="run", given=f"{link.run[:40]}…"))
        link.run = ""
    if "cycle" in query:
        link.cycle = int(_number(link, "cycle", _clean(query["cycle"]), (1, 512), whole=True) or 0)
    _read_state(link, query)
    wanted = [name for name in dict.fromkeys(_clean(query.get("hide", "")).split(",")) if name]
    link.hidden = tuple(name for name in wanted if name in SETTINGS)
    link.notes += [strings.LINK_UNKNOWN.format(name="hide", given=name[:40]) for name in wanted if name not in SETTINGS]
    link.question = _cut(link, "ask", _clean(query.get("ask", "")), LONGEST_QUESTION)
    if len(link.notes) > MOST_NOTES:
        link.notes = [*link.notes[:MOST_NOTES], strings.LINK_MORE]
    return link


def _read_state(link: Link, query: Mapping[str, str]) -> None:
    """What the views Frontier and Theory are to show. A question without its bound asks for the usual one."""
    for name in (*VIEW_CHOICES, *VIEW_TEXTS):
        if name in query:
            text = _clean(query[name])
            if text in VIEW_CHOICES[name] if name in VIEW_CHOICES else len(text) <= LONGEST_TEXT:
                link.state[name] = text
            else:
                link.notes.append(strings.LINK_UNKNOWN.format(name=name, given=text[:40]))
    bound = frontier_data.BOUNDS[link.state.get("frontier_aim", AIMS[0])]
    numbers: dict[str, tuple[float, float]] = {"frontier_bound": bound.limits, "theory_leniency": (0, 1), **VIEW_WHOLE}
    for name in numbers:
        value = _number(link, name, _clean(query[name]), numbers[name], whole=name in VIEW_WHOLE) if name in query else None
        if value is not None:
            link.state[name] = value
    if "frontier_aim" in link.state:
        link.state.setdefault("frontier_bound", bound.usual)


def _clean(text: object) -> str:
    """A query's text without halves of characters."""
    return str(text).encode("utf-8", "ignore").decode("utf-8")


def _cut(link: Link, name: str, text: str, most: int) -> str:
    if len(text) > most:
        link.notes.append(strings.LINK_CUT.format(name=name, most=most))
    return text[:most]


def _setting(link: Link, name: str, text: str) -> Any:
    if name == "prompt":
        return _cut(link, name, text, MAX_PROMPT_CHARACTERS)
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
