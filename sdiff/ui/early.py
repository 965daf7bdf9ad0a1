"""The stage before the page: ASGI middleware that puts it into Gradio's HTML, so that a recording plays while Gradio's scripts load.

Knows bytes of a page; refuses to know runs and components: early.js finds the player in the config that the page carries.
"""

from __future__ import annotations

import functools
from html import escape
from typing import Any

from sdiff.ui import strings
from sdiff.ui.assets import player_parts, read
from sdiff.ui.guard import Receive, Scope, Send

PLACE = b"<gradio-app"  # its first place in the page is the element: the config escapes every "<"


@functools.cache
def stage() -> bytes:
    """What is put before the element that Gradio fills."""
    html, css, *_ = player_parts()
    styles = f"<style>{read('colours.css', 'early.css')}\n#early-stage {{ {css} }}</style>"
    place = f'<div id="early">{styles}<h1>{escape(strings.TITLE)}</h1><div id="early-stage">{html}</div></div>'
    return f"{place}<script>{read('early.js')}</script>".encode()


class Early:
    """Adds `stage()` to the page at "/"; whatever does not look like Gradio's page passes as it is."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != "/" or scope["method"] != "GET":
            return await self.app(scope, receive, send)
        start: dict[str, Any] = {}
        parts: list[bytes] = []

        async def whole(message: Any) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
                return
            parts.append(message.get("body", b""))
            if message.get("more_body"):
                return
            body = b"".join(parts).replace(PLACE, stage() + PLACE, 1)
            headers = [(name, value) for name, value in start["headers"] if name.lower() != b"content-length"]
            await send({**start, "headers": [*headers, (b"content-length", str(len(body)).encode())]})
            await send({"type": "http.response.body", "body": body})

        await self.app(scope, receive, whole)
