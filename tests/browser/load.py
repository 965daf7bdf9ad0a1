"""Many visitors at once, without a browser: the page's own listener over HTTP, each with a session and a stream of its own.

By hand, for an app that runs: `python tests/browser/load.py http://127.0.0.1:7860 60`.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from dataclasses import dataclass, field
from typing import Any

import httpx


@dataclass
class Visitor:
    """What one visitor saw: when each message came (s after the start), the last status sentence, whether the run was through."""

    number: int
    came: list[float] = field(default_factory=list)
    said: str = ""
    done: bool = False

    @property
    def worst_gap(self) -> float:
        return max(b - a for a, b in zip([0.0, *self.came], self.came)) if self.came else float("inf")


def listener(config: dict[str, Any]) -> tuple[int, list[Any]]:
    """The run button's listener and the values of its inputs as the page shows them."""
    dependency = next(d for d in config["dependencies"] if d["api_name"] == "run_prompt")
    values = {c["id"]: c["props"].get("value") for c in config["components"]}
    return dependency["id"], [values[i] for i in dependency["inputs"]]


async def visit(client: httpx.AsyncClient, visitor: Visitor, fn: int, data: list[Any], start: float) -> None:
    session = f"load{visitor.number:05d}{int(start * 1000) % 10**6}"
    body = {"data": data, "fn_index": fn, "session_hash": session, "event_data": None, "trigger_id": None}
    (await client.post("/gradio_api/queue/join", json=body)).raise_for_status()
    async with client.stream("GET", "/gradio_api/queue/data", params={"session_hash": session}) as answer:
        async for line in answer.aiter_lines():
            if not line.startswith("data:"):
                continue
            message = json.loads(line[5:])
            visitor.came.append(time.monotonic() - start)
            if message["msg"] == "process_completed":
                visitor.done = message["success"]
                return


async def crowd(url: str, visitors: int, prompt: str, tokens: int) -> list[Visitor]:
    """All visitors press Run at the same moment; returns what each of them saw."""
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=url, timeout=300, limits=limits) as client:
        config = (await client.get("/config")).json()
        fn, data = listener(config)
        labels = [
            c["props"].get("elem_id")
            for i in next(d for d in config["dependencies"] if d["id"] == fn)["inputs"]
            for c in config["components"]
            if c["id"] == i
        ]
        data = [{"prompt": prompt, "max_tokens": tokens}.get(label, value) for label, value in zip(labels, data, strict=True)]
        everyone = [Visitor(i) for i in range(visitors)]
        start = time.monotonic()
        await asyncio.gather(*(visit(client, visitor, fn, data, start) for visitor in everyone))
    return everyone


def main() -> None:
    url, visitors = sys.argv[1], int(sys.argv[2])
    everyone = asyncio.run(crowd(url, visitors, "Name three colours.", 24))
    last, messages = max(v.came[-1] for v in everyone), sum(len(v.came) for v in everyone)
    print(f"{sum(v.done for v in everyone)} of {visitors} runs through in {last:.1f} s; {messages / last:.0f} messages/s; "
          f"first message after at most {max(v.came[0] for v in everyone):.2f} s; longest silence {max(v.worst_gap for v in everyone):.2f} s")  # fmt: skip


if __name__ == "__main__":
    main()
