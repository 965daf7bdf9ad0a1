"""The documented endpoints as tools of an MCP server, where `gradio[mcp]` is installed."""

from __future__ import annotations

import ast
import asyncio

import pytest

pytest.importorskip("mcp", reason="gradio[mcp] is not installed")


async def asked(url: str) -> tuple[dict[str, list[str]], str]:
    """Names of the tools with their arguments, and the text that `decode` answers."""
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    async with streamable_http_client(f"{url}/gradio_api/mcp/") as (read, write, _), ClientSession(read, write) as session:
        await session.initialize()
        tools = (await session.list_tools()).tools
        answer = await session.call_tool("decode", {"prompt": "Hello", "settings": {"steps": 2, "max_tokens": 16}})
        return {tool.name: list(tool.inputSchema["properties"]) for tool in tools}, answer.content[0].text


def test_the_endpoints_are_tools_and_nothing_else_is(app):
    tools, answer = asyncio.run(asked(app))
    assert tools == {
        "decode": ["prompt", "settings"],
        "trace": ["prompt", "settings"],
        "frontier": ["task"],
        "recommend": ["task", "quality", "speed"],
    }
    told = ast.literal_eval(answer)  # Gradio writes an answer in Python's own form
    assert told["numbers"]["tokens"] == 16
    assert told["settings"]["steps"] == 2
