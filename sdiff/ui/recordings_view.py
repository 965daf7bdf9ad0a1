"""Stored runs on the page: the first screen's, the list to choose from, the gallery of failures. Knows Gradio; the runs are recordings.py's."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr

from sdiff.request import DEFAULT_PROPOSAL, Request, RequestError
from sdiff.trace import Run, Trace, TraceError, from_dict
from sdiff.ui import strings
from sdiff.ui.components import QUIET, race
from sdiff.ui.live import RUNS, player_value
from sdiff.ui.numbers import numbers, numbers_of
from sdiff.ui.race_view import recorded_race, recorded_text
from sdiff.ui.recordings import RECORDED, gallery, stored, title

NOTHING_SAID = "note:"  # of a run that is no longer on the stage
# The list names the run on the stage, and none while that is not a stored one; an unchanged list is left alone, since somebody may be choosing.
ON_STAGE = """(value, chosen) => {
  const name = JSON.parse((value || "").split("\\n", 1)[0] || "{}").name, now = NAMES.includes(name) ? name : null;
  return now === chosen ? {__type__: "update"} : now;
}"""

# The same for the races: a lane's second line says where it is from.
ON_TRACK = """(value, chosen) => {
  const { source, name } = JSON.parse((value || "").split("\\n", 2)[1] || "{}"), now = source === "recorded" ? name : null;
  return now === chosen ? {__type__: "update"} : now;
}"""


def recording(folder: Path = RECORDED) -> tuple[str, str, dict[str, Any], str]:
    """(player value, numbers value, values of the controls, sentence) of the first recorded run by name; the sentence says why there is none."""
    if not any(folder.glob("*.json")):
        return "", "", {}, strings.NO_RECORDING
    first = min(folder.glob("*.json"))
    try:
        trace = Trace.from_json(first.read_text(encoding="utf-8"))
    except (TraceError, OSError, UnicodeDecodeError) as error:
        return "", "", {}, strings.RECORDING_BROKEN.format(error=str(error).rstrip("."))
    return *played(trace, first.stem), made_with(trace.events[0]), ""


def made_with(run: Run) -> dict[str, Any]:
    """Values of the controls that a run was made with, as far as its record tells."""
    known = {**run.settings, "prompt": run.prompt}
    usual = known.get("proposal", "") == DEFAULT_PROPOSAL.get(known.get("noise", ""))
    return {**known, "proposal": ""} if usual else known


def played(trace: Trace, name: str = "") -> tuple[str, str]:
    """Player value and numbers value of a stored run."""
    return player_value(trace, "recorded", name=name), numbers(trace, "recorded")


def brought(sent: Any) -> tuple[str, dict[str, Any]]:
    """Numbers value and values of the controls for a run that the browser has: its first event and its statistics, as somebody's file tells them.

    What makes no sense gives nothing: the run plays without it.
    """
    figures, known = "", {}
    with suppress(TraceError, RequestError, AttributeError, LookupError, TypeError):
        made = made_with(run := from_dict(sent["run"]))
        Request(**{name: value for name, value in made.items() if name in Request.__dataclass_fields__})
        known = made
        with suppress(ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            figures = numbers_of(run, sent["stats"], f"opened {next(RUNS)}")
    return figures, known


def named(name: str, folder: Path, measured: Iterable[Path] = ()) -> Trace | None:
    """The stored run of that name, "gallery/NAME" for one of the gallery's, "frontier/NAME" for the decode of a setting in one of the folders
    `measured`; None where there is none. A name, which may be a visitor's, is looked for among those that are there and never becomes a path."""
    if name.startswith("frontier/"):
        there = (path for place in measured for path in sorted(place.glob("traces/*.json.gz")))
        return next((trace for path in there if name == f"frontier/{path.name.split('.json')[0]}" and (trace := _unpacked(path))), None)
    return dict(stored(folder)).get(name) or dict(stored(folder / "gallery")).get(name.removeprefix("gallery/"))


def _unpacked(path: Path) -> Trace | None:
    try:
        return Trace.from_json(gzip.decompress(path.read_bytes()).decode())
    except (OSError, EOFError, zlib.error, ValueError):
        return None


def chooser(folder: Path) -> gr.Dropdown | None:
    """The stored runs to choose from, where there is more than one."""
    names = [(title(name, trace), name) for name, trace in stored(folder)]
    label, info = strings.RECORDING_CHOICE
    return gr.Dropdown(names, value=names[0][1], label=label, info=info, elem_id="recorded") if len(names) > 1 else None


def races(folder: Path) -> dict[str, tuple[str, str]]:
    """Name → (title, value of the component) of the stored races: the one in `folder`, then those in folders of its own."""
    found = {place.name: traces for place in (folder, *sorted(folder.glob("*/"))) if (traces := recorded_race(place))}
    return {name: (title(name, traces["chosen"]), recorded_text(traces, name)) for name, traces in found.items()}


def build_track(folder: Path) -> gr.HTML:
    """The race's track with the first stored race, and above it the choice of one where there are more."""
    stored_races = races(folder)
    names = [(head, name) for name, (head, _) in stored_races.items()]
    label, info = strings.RACE_CHOICE
    choice = gr.Radio(names, value=names[0][1], label=label, info=info, elem_id="stored-race") if len(names) > 1 else None
    track = race(next((value for _, value in stored_races.values()), ""), elem_id="race")
    if choice is not None:
        choice.input(lambda name: stored_races.get(str(name), ("", gr.skip()))[1], choice, track, preprocess=False, **QUIET)
        track.change(None, [track, choice], choice, js=ON_TRACK, **QUIET)
    return track


def failures(folder: Path) -> dict[str, gr.Button]:
    """The stored failures with their figures; name → the button that shows it."""
    found = gallery(folder)
    gr.Markdown(strings.GALLERY_TITLE if found else strings.GALLERY_EMPTY)
    buttons = {}
    for name, head, says, _ in found:
        with gr.Row(elem_classes="failure"):
            gr.Markdown(f"**{head}.** {says}")
            buttons[name] = gr.Button(strings.GALLERY_PLAY.format(title=head), size="sm")
    return buttons


def wire_recordings(
    folder: Path, choices: tuple[gr.Dropdown | None, dict[str, gr.Button]], controls: dict[str, Any], shown: tuple[Any, ...], views: gr.Tabs
) -> None:
    """Choosing a stored run plays it and sets the controls as it was made; so does bringing back a run that the browser has. `shown`: stage,
    numbers and status."""

    def play(name: Any) -> list[Any]:
        trace = named(str(name), folder)
        if trace is None:
            return [gr.skip()] * (len(controls) + 4)
        known = made_with(trace.events[0])
        return [*played(trace, str(name)), NOTHING_SAID, gr.Tabs(selected="live"), *(known.get(name, gr.skip()) for name in controls)]

    def bring(event: gr.EventData) -> list[Any]:
        figures, known = brought(event._data)
        return [figures, NOTHING_SAID, *(known.get(name, gr.skip()) for name in controls)]

    shown[0].brought(bring, None, [*shown[1:], *controls.values()], queue=False, **QUIET)
    outputs = [*shown, views, *controls.values()]
    if choices[0] is not None:
        choices[0].input(play, choices[0], outputs, preprocess=False, **QUIET)
        names = json.dumps([name for _, name in choices[0].choices])
        shown[0].change(None, [shown[0], choices[0]], choices[0], js=ON_STAGE.replace("NAMES", names), **QUIET)
    for name, button in choices[1].items():
        button.click(partial(play, f"gallery/{name}"), None, outputs, **QUIET)
