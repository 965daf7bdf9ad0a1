"""The race: plain decoding, one strict denoising step, and the chosen setting, one after the other, shown on one clock.

Knows which runs stand beside each other; leaves decoding to live.py and the clock to race/*.js.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

from sdiff.request import Request
from sdiff.trace import Run, Trace, TraceError
from sdiff.ui import strings
from sdiff.ui.assets import script_json
from sdiff.ui.live import Update, Visitors, player_value
from sdiff.ui.numbers import name

THROUGH = ("eos", "limit", "context")  # how a run ends that was not cut short
SHOWN = ('{"kind":"source"', '{"kind":"run"', '{"kind":"prefill"', '{"kind":"emit"', '{"kind":"end"')  # the rest is for the stage


def lanes(request: Request) -> dict[str, Request]:
    """Name → request; the same prompt, seed and limits in every lane."""
    strict = replace(request, plain=False, proposal="", steps=1, rule="lossless", leniency=0.0)
    return {"plain": replace(request, plain=True), "strict": strict, "chosen": replace(request, plain=False)}


def lane_text(lane: str, value: str, setting: str) -> str:
    """One lane for the component: its head, then those lines of a player value that a clock needs."""
    head = script_json({"kind": "lane", "name": lane, "setting": setting})
    return "\n".join([head, *(line for line in value.split("\n") if line.startswith(SHOWN)), ""])


def _setting(value: str) -> str:
    """The settings of a run in a few words, from its player value."""
    for line in value.split("\n"):
        if line.startswith('{"kind":"run"'):
            data = json.loads(line)
            return name(Run(**{key: data[key] for key in ("prompt", "prompt_tokens", "settings", "models", "machine", "lossless")}))
    return ""


def recorded_race(folder: Path) -> dict[str, Trace]:
    """Lane → run of a stored race: one trace file per lane, `LANE.json`; nothing where one is missing or cannot be read."""
    try:
        return {lane: Trace.from_json((folder / f"{lane}.json").read_text(encoding="utf-8")) for lane in lanes(Request(prompt=""))}
    except (TraceError, OSError, UnicodeDecodeError):
        return {}


def recorded_text(traces: dict[str, Trace], called: str) -> str:
    """The lanes of a stored race for the component."""
    return "".join(lane_text(lane, player_value(trace, "recorded", name=called), name(trace.events[0])) for lane, trace in traces.items())


async def run_race(visitors: Visitors, page: str, request: Request) -> AsyncIterator[Update]:
    """Run the lanes one after the other; the trace of an update holds all lanes so far. A stop or a failure ends the race."""
    before = ""
    for number, (lane, each) in enumerate(lanes(request).items(), 1):
        value = ""
        async with aclosing(visitors.run(page, each)) as updates:
            async for update in updates:
                value = update.trace or value
                text = before + lane_text(lane, value, _setting(value)) if value else None
                says = strings.RACE_LANE.format(number=number, lane=strings.RACE["lanes"][lane], says=update.sentence)
                yield Update(update.tone, says, text)
        if not _through(value):
            return
        before += lane_text(lane, value, _setting(value))


def _through(value: str) -> bool:
    """Did the run of this player value come to its own end?"""
    last = value.rstrip("\n").rsplit("\n", 1)[-1]
    return last.startswith('{"kind":"end"') and json.loads(last)["reason"] in THROUGH
