"""Which models are in use, in one line: from the registry until they are loaded, then from the loaded pair. Refuses to know runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Any

import anyio
import gradio as gr

from sdiff.registry import PAIRS
from sdiff.ui import strings
from sdiff.ui.components import QUIET, line
from sdiff.ui.engine import Engine
from sdiff.ui.live import POLL_SECONDS


def told(engine: Engine, pair: str) -> str:
    """The line's value. `pair`: the registry's name of what is, or will be, loaded."""
    entry = PAIRS[pair]
    known: dict[str, Any] = {"verifier": entry.verifier, "drafter": entry.drafter, "noises": entry.noises, **engine.about()}
    known = {key: strings.said(value) if isinstance(value, str) else value for key, value in known.items()}
    known["noises"] = ", ".join(strings.NOISE_LABELS[noise] for noise in known["noises"])
    state = "loaded" if engine.ready else "failed" if engine.error else "loading"
    return f"note:{strings.PAIR[state].format(**known)}"


def build_pair(demo: gr.Blocks, engine: Engine, pair: str) -> None:
    """The line, in the current Blocks context; every page that opens is told again once the models are there."""
    shown = line(told(engine, pair), elem_id="pair")

    async def follow() -> AsyncIterator[str]:
        while not (engine.ready or engine.error):
            await anyio.sleep(POLL_SECONDS)
        yield told(engine, pair)

    demo.load(follow, None, shown, concurrency_limit=None, **QUIET)


def other_pairs(pair: str) -> None:
    """The registry's pairs with the command that starts each; one page runs one of them."""
    with gr.Accordion(strings.PAIRS_TITLE, open=False, elem_id="pairs"):
        known = [
            asdict(entry) | {"noises": ", ".join(strings.NOISE_LABELS[n] for n in entry.noises)}
            for entry in PAIRS.values()
            if entry.name != pair
        ]
        gr.Markdown("\n\n".join([strings.PAIRS_ABOUT, *(strings.PAIRS_ONE.format(**one) for one in known)]))
