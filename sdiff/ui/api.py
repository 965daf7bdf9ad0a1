"""Named endpoints for programs (`gradio_client`, MCP): decode, trace. Knows Gradio's way of naming; leaves runs to live.py.

The page's own listeners are private; these are the documented ones, and they may change less often.
"""

from __future__ import annotations

import itertools
import json
from contextlib import aclosing
from dataclasses import fields
from typing import Any

import gradio as gr

from sdiff.measures import rates, statistics
from sdiff.request import Request, RequestError
from sdiff.trace import Trace, from_dict
from sdiff.ui.live import Visitors

CALLS = itertools.count(1)
AT_ONCE = 4  # calls of programs in the line: the others wait in Gradio's queue, and people find room
SETTINGS = tuple(f.name for f in fields(Request) if f.name != "prompt")


async def finished_trace(visitors: Visitors, prompt: str, settings: dict[str, Any]) -> Trace:
    """Wait in the line like any visitor, decode, and return the whole run. Raises gr.Error with a sentence."""
    unknown = sorted(set(settings) - set(SETTINGS))
    if unknown:
        raise gr.Error(f"Unknown settings: {', '.join(unknown)[:200]}. There are {', '.join(SETTINGS)}.", print_exception=False)
    try:
        request = Request(prompt=prompt, **settings)
    except RequestError as error:
        raise gr.Error(str(error), print_exception=False) from None
    value, sentence, tone = "", "", ""
    async with aclosing(visitors.run(f"call {next(CALLS)}", request, told=False)) as updates:
        async for update in updates:
            value, sentence, tone = update.trace or value, update.sentence, update.tone
    if tone == "bad" or not value:
        raise gr.Error(sentence, print_exception=False)
    return Trace([from_dict(json.loads(line)) for line in value.split("\n")[1:] if line])


def offer(visitors: Visitors) -> None:
    """Add the endpoints to the Blocks under construction."""

    async def decode(prompt: str, settings: dict | None = None) -> dict:
        """Decode a prompt with the models of this page and tell how it went.

        Args:
            prompt: what the language model should answer.
            settings: any of noise, steps, leniency, rule, proposal, gamma, temperature, top_k, top_p, seed, max_tokens, raw, original, plain.

        Returns:
            text, settings, whether the run is lossless, and its numbers (tokens, cycles, tau, tokens_per_second, ms per phase, positions).
        """
        trace = await finished_trace(visitors, prompt, settings or {})
        run, stats = trace.events[0], statistics(trace.events)
        return {
            "text": trace.text, "lossless": run.lossless, "settings": run.settings, "models": run.models, "machine": run.machine,
            "numbers": stats, "positions": rates(stats), "reason": trace.end.reason,
        }  # fmt: skip

    async def trace(prompt: str, settings: dict | None = None) -> dict:
        """Decode a prompt and return every event of the run, as `Save run` stores it.

        Args:
            prompt: what the language model should answer.
            settings: as for /decode.

        Returns:
            the trace document: schema, text, tokens, stats, events.
        """
        return json.loads((await finished_trace(visitors, prompt, settings or {})).to_json())

    for function in (decode, trace):
        gr.api(function, api_name=function.__name__, concurrency_limit=AT_ONCE, concurrency_id="programs")
