"""The line in front of the decoder, one visitor's run in it, and the status line of its page. No browser, no model."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
import time
from collections.abc import Iterator
from contextlib import aclosing

import pytest
from apart import run_async
from traces import small_trace

from sdiff import trace as t
from sdiff.request import Request
from sdiff.ui import strings
from sdiff.ui.engine import Engine, LineFull, Waiting
from sdiff.ui.live import Update, Visitors
from sdiff.ui.page import _follow_loading


class Scripted:
    """A pair whose stream is `script(request)`; counts how many runs are open."""

    def __init__(self, script) -> None:
        self.script, self.active, self.worst = script, 0, 0

    def stream(self, request: Request) -> Iterator[t.Event]:
        self.active += 1
        self.worst = max(self.worst, self.active)
        try:
            yield from self.script(request)
        finally:
            self.active -= 1


def head() -> list[t.Event]:
    return small_trace().events[:2]


def brief(_: Request) -> Iterator[t.Event]:
    yield from small_trace().events
    yield t.End(reason="limit", text="xx", tokens=(1,) * 6, stats={}, at=210)


def endless(_: Request) -> Iterator[t.Event]:
    yield from head()
    for step in itertools.count():
        time.sleep(0.02)
        yield t.Denoise(cycle=1, step=step, steps=4, canvas=(-1,), fixed=(False,), ms=20, at=20 * step)


def ready(pair) -> Engine:
    engine = Engine(lambda progress: pair).start()
    while not engine.ready:
        time.sleep(0.005)
    return engine


async def collect(visitors: Visitors, page: str = "a", prompt: str = "p") -> list[Update]:
    return [update async for update in visitors.run(page, Request(prompt=prompt))]


def last_event(update: Update) -> t.Event:
    return t.from_dict(json.loads(update.trace.splitlines()[-1]))


def test_a_run_streams_a_growing_trace():
    updates = run_async(collect(Visitors(ready(Scripted(brief)))))
    traces = [u.trace for u in updates if u.trace]
    assert all(b.startswith(a) for a, b in itertools.pairwise(traces))
    assert traces[-1].startswith('{"kind":"source","source":"live"')
    assert last_event(updates[-1]).reason == "limit"
    assert updates[-1].sentence == strings.FINISHED["limit"].format(tokens=6)


def test_a_stop_that_overtakes_its_run_is_kept_for_a_moment():
    visitors = Visitors(ready(Scripted(brief)))
    visitors.stop("a")
    assert run_async(collect(visitors))[-1].sentence == strings.STOPPED.format(tokens=0)
    visitors.stop("a")
    time.sleep(1.05)
    assert last_event(run_async(collect(visitors))[-1]).reason == "limit"


def test_stopping_ends_the_run_and_keeps_its_events():
    pair = Scripted(endless)
    visitors = Visitors(ready(pair))

    async def scenario() -> list[Update]:
        task = asyncio.create_task(collect(visitors))
        while not pair.active:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        visitors.stop("a")
        return await asyncio.wait_for(task, 2)

    updates = run_async(scenario())
    assert last_event(updates[-1]).reason == "stopped"
    assert (pair.active, len(visitors.engine.waiting)) == (0, 0)


def test_leaving_the_page_frees_the_decoder():
    pair = Scripted(endless)
    visitors = Visitors(ready(pair))

    async def scenario() -> None:
        run = visitors.run("a", Request(prompt="p"))
        for _ in range(3):
            await anext(run)
        assert pair.active == 1
        await run.aclose()
        assert (pair.active, len(visitors.engine.waiting)) == (0, 0)

    run_async(scenario())


def test_leaving_while_waiting_gives_up_the_place():
    visitors = Visitors(ready(Scripted(endless)))

    async def scenario() -> None:
        first, second = visitors.run("a", Request(prompt="p")), visitors.run("b", Request(prompt="p"))
        await anext(first)
        assert (await anext(second)).sentence == strings.WAITING_LINE.format(ahead=1)
        await second.aclose()
        assert len(visitors.engine.waiting) == 1
        await first.aclose()
        assert len(visitors.engine.waiting) == 0

    run_async(scenario())


def test_two_visitors_wait_their_turn():
    pair = Scripted(endless)
    visitors, updates = Visitors(ready(pair)), []

    async def watch() -> None:
        async with aclosing(visitors.run("b", Request(prompt="p"))) as run:
            async for update in run:
                updates.append(update)

    async def scenario() -> None:
        first = asyncio.create_task(collect(visitors, "a"))
        while not pair.active:
            await asyncio.sleep(0.01)
        second = asyncio.create_task(watch())
        while not updates:
            await asyncio.sleep(0.01)
        visitors.stop("a")
        await first
        while not updates[-1].trace:
            await asyncio.sleep(0.01)
        visitors.stop("b")
        await second

    run_async(scenario())
    assert updates[0].sentence == strings.WAITING_LINE.format(ahead=1)
    assert pair.worst == 1


def broken(_: Request) -> Iterator[t.Event]:
    yield from small_trace().events
    raise KeyError("secret internals")


def told(_: Request) -> Iterator[t.Event]:
    yield from small_trace().events
    yield t.End(reason="error", text="xx", tokens=(1,) * 6, stats={}, error="The verifier returned NaN.", at=210)
    raise ArithmeticError("The verifier returned NaN.")


@pytest.mark.parametrize(("script", "words"), [(broken, "KeyError"), (told, "The verifier returned NaN.")])
def test_a_failing_run_says_so_and_keeps_its_text(script, words):
    update = run_async(collect(Visitors(ready(Scripted(script)))))[-1]
    assert update.tone == "bad"
    assert words in update.sentence
    assert "secret" not in update.sentence
    assert last_event(update).reason == "error"
    assert last_event(update).text == "xx"


def test_a_request_the_pair_refuses_is_one_sentence():
    def refuse(_: Request) -> Iterator[t.Event]:
        from sdiff.request import RequestError

        raise RequestError("The prompt has 9,000 tokens; shorten it.")
        yield

    update = run_async(collect(Visitors(ready(Scripted(refuse)))))[-1]
    assert (update.tone, update.sentence, update.trace) == ("bad", "The prompt has 9,000 tokens; shorten it.", None)


def test_loading_is_told_and_its_failure_too():
    go = threading.Event()

    def load(progress):
        progress("Downloading the verifier…", 0.5)
        go.wait(5)
        raise RuntimeError("No network: connect and start again.")

    engine = Engine(load).start()
    time.sleep(0.05)
    assert engine.status() == ("busy", strings.LOADING.format(what="Downloading the verifier, 50%"))
    go.set()
    updates = run_async(collect(Visitors(engine)))
    assert updates[-1].tone == "bad"
    assert "No network" in updates[-1].sentence


def test_the_line_is_first_come_first_served_and_ends():
    line = Waiting(longest=2)
    a, b = line.join(), line.join()
    with pytest.raises(LineFull):
        line.join()
    assert (line.ahead(a), line.ahead(b)) == (0, 1)
    line.leave(a)
    line.leave(a)
    assert line.ahead(b) == 0


# ------------------------------------------------------------------------------- the status line of a page


async def followed(engine: Engine) -> list[str]:
    return [said async for said in _follow_loading(engine, "")()]


def test_the_last_word_on_loading_tells_how_it_ended():
    """Also when the loading fails just after the sentence before was made."""
    engine = Engine(lambda progress: None)
    real = engine.status

    def status() -> tuple[str, str]:
        said = real()
        engine.error = "No network: connect and start again."
        return said

    engine.status = status
    words = run_async(followed(engine))
    assert words[0].startswith("busy:")
    assert "No network" in words[-1]
