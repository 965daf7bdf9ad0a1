"""The guard in front of the page, called as the server calls it. Needs no browser."""

from __future__ import annotations

from apart import run_async

from sdiff.ui.guard import Guard


def call(guard: Guard, path: str, body: bytes = b"", method: str = "POST", declared: int | None = None) -> int:
    async def scenario() -> int:
        sent = []
        parts = [body[i : i + 10] for i in range(0, len(body), 10)] or [b""]

        async def receive():
            return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

        async def send(message):
            sent.append(message)

        headers = [(b"content-length", str(declared).encode())] if declared is not None else []
        await guard({"type": "http", "method": method, "path": path, "headers": headers, "client": ("1.2.3.4", 1)}, receive, send)
        return sent[0]["status"]

    return run_async(scenario())


async def echo(_, receive, send):
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def test_guard_caps_bodies_uploads_and_floods():
    guard = Guard(echo, max_body=100, rate=0.0, burst=3)
    assert call(guard, "/gradio_api/upload") == 404
    assert call(guard, "/x", declared=101) == 413
    assert call(guard, "/x", b"z" * 101) == 413  # undeclared length
    assert call(guard, "/x", b"z" * 99, declared=99) == 200
    assert [call(guard, "/gradio_api/queue/join") for _ in range(4)] == [200, 200, 200, 429]
    assert call(guard, "/gradio_api/queue/data", method="GET") == 200
