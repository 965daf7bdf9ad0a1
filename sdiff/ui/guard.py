"""ASGI middleware: caps request bodies, turns uploads off, slows down floods. Refuses to know the app behind it."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from sdiff.ui import strings

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

UPLOADS = "/gradio_api/upload"
METERED = ("/gradio_api/queue/join", "/gradio_api/call/", "/gradio_api/mcp")
QUICK = (
    "/gradio_api/run/",
    "/gradio_api/component_server",
)  # what skips the queue, Stop among it: a bucket of its own, five times as large
MOST_CLIENTS = 5000


class BodyTooLarge(Exception):
    """A request body that grew past the cap while it was read."""


class Guard:
    """`max_body` in bytes; a client may send `burst` jobs at once and `rate` more each second.

    Visitors behind one address share the bucket, so it is generous: it is for fairness, not for security.
    """

    def __init__(self, app: Any, max_body: int = 128_000, rate: float = 10.0, burst: float = 120.0) -> None:
        self.app, self.max_body, self.rate, self.burst = app, max_body, rate, burst
        self._buckets: dict[tuple[str, bool], tuple[float, float]] = {}  # (client, quick) -> (jobs left, when)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        if scope["path"].startswith(UPLOADS):
            return await _refuse(send, 404, strings.GUARD["uploads"])
        if scope["method"] != "POST":
            return await self.app(scope, receive, send)
        headers = {k.decode("latin1").lower(): v.decode("latin1") for k, v in scope["headers"]}
        declared = headers.get("content-length", "0")
        if not declared.isdigit() or int(declared) > self.max_body:
            return await _refuse(send, 413, strings.GUARD["large"])
        kind = next((i for i, paths in enumerate((METERED, QUICK)) if scope["path"].startswith(paths)), None)
        if kind is not None and not self._admit(_client(scope, headers), quick=bool(kind)):
            return await _refuse(send, 429, strings.GUARD["many"])
        try:
            await self.app(scope, self._capped(receive), send)
        except BodyTooLarge:
            await _refuse(send, 413, strings.GUARD["large"])

    def _capped(self, receive: Receive) -> Receive:
        seen = 0

        async def limited() -> MutableMapping[str, Any]:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self.max_body:
                raise BodyTooLarge
            return message

        return limited

    def _admit(self, client: str, quick: bool = False) -> bool:
        now, wide = time.monotonic(), 5 if quick else 1
        left, last = self._buckets.get((client, quick), (wide * self.burst, now))
        left = min(wide * self.burst, left + (now - last) * wide * self.rate)
        if len(self._buckets) > MOST_CLIENTS:
            self._buckets.clear()
        self._buckets[client, quick] = (left - 1 if left >= 1 else left, now)
        return left >= 1


def _client(scope: Scope, headers: dict[str, str]) -> str:
    forwarded = headers.get("x-forwarded-for", "").split(",")[0].strip()
    return forwarded or (scope.get("client") or ("?",))[0]


async def _refuse(send: Send, status: int, sentence: str) -> None:
    body = json.dumps({"detail": sentence}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
