"""One visitor's run: waits in line, pulls events, says what happens. Refuses to know Gradio.

Stopping is a flag per visitor, checked after every event; the place in the line is given back only when the
decoder's generator is closed, so two runs never overlap. Updates are batched: a few a second, never one per event.
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import anyio

from sdiff.fetch import PairError
from sdiff.measures import flip_leniency, statistics
from sdiff.request import Request, RequestError
from sdiff.trace import End, Event, Run, Trace, Verdict, to_line
from sdiff.ui import strings
from sdiff.ui.engine import Engine, LineFull
from sdiff.ui.numbers import numbers
from sdiff.ui.zero import Failed

log = logging.getLogger(__name__)
BATCH_SECONDS = 0.08
POLL_SECONDS = 0.25
NUMBERS_SECONDS = 0.3
EARLY_SECONDS = 1.0
RUNS = itertools.count(1)


@dataclass(frozen=True)
class Update:
    """What changed on the page; None leaves a part as it is."""

    tone: str
    sentence: str
    trace: str | None = None
    numbers: str | None = None


def source_line(source: str, number: int = 0, name: str = "") -> str:
    """First line of a player value: where the run comes from, and the name of a stored one. The number keeps two runs apart."""
    return f'{{"kind":"source","source":"{source}","run":{number},"name":"{name}"}}\n'


def player_line(event: Event, run: Run) -> str:
    """An event as the player reads it, with a newline; a verdict also tells at which leniency it would flip."""
    line = to_line(event)
    if isinstance(event, Verdict):
        flip = flip_leniency(run.settings.get("rule", ""), event, run.settings.get("temperature", 0.0))
        line = line if flip is None else f'{line[:-1]},"flip":{flip:.6g}}}'
    return line + "\n"


def player_value(trace: Trace, source: str, number: int = 0, name: str = "") -> str:
    """What the player component receives for a whole run."""
    return source_line(source, number, name) + "".join(player_line(event, trace.events[0]) for event in trace.events)


def pull(events: Iterator[Event], stop: threading.Event) -> tuple[list[Event], bool, Exception | None]:
    """Events of the next moment, whether they were the last, and what went wrong. Runs in a thread."""
    batch: list[Event] = []
    until = time.monotonic() + BATCH_SECONDS
    try:
        while not stop.is_set() and time.monotonic() < until:
            batch.append(next(events))
    except StopIteration:
        return batch, True, None
    except Exception as error:
        return batch, True, error
    return batch, stop.is_set(), None


class Visitors:
    """The runs of all open pages: at most one per page."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.finished: Callable[[str, Trace], Any] = lambda page, trace: None  # told of every run that came to its end
        self._stops: dict[str, threading.Event] = {}
        self._early: dict[str, float] = {}  # stops that overtook their run on a busy server, and when

    def stop(self, page: str) -> None:
        """Ask the page's run to stop; it does within one denoising step."""
        if flag := self._stops.get(page):
            flag.set()
        else:
            now = time.monotonic()
            self._early = {p: at for p, at in self._early.items() if now - at < EARLY_SECONDS} | {page: now}

    def forget(self, page: str) -> None:
        """The page was closed: stop its run and keep nothing of it."""
        self.stop(page)

    async def run(self, page: str, request: Request, told: bool = True) -> AsyncGenerator[Update, None]:
        """Wait for the models and the line, then stream the run. A new run of a page replaces its old one. `told`: report it as `finished`."""
        early = self._early.pop(page, None)
        if page in self._stops:
            self.stop(page)
        try:
            ticket = self.engine.waiting.join()
        except LineFull:
            yield Update("bad", strings.LINE_FULL)
            return
        stop = self._stops[page] = threading.Event()
        if early and time.monotonic() - early < EARLY_SECONDS:
            stop.set()
        try:
            while (wait := self._wait(ticket)) is not None:
                yield wait
                if stop.is_set() or self.engine.error:
                    yield Update(*(self.engine.status() if self.engine.error else _nothing(None)))
                    return
                await anyio.sleep(POLL_SECONDS)
            async with aclosing(self._decode(page if told else "", request, stop)) as updates:  # closed before the place is given back
                async for update in updates:
                    yield update
        finally:
            self.engine.waiting.leave(ticket)
            if self._stops.get(page) is stop:
                del self._stops[page]

    def _wait(self, ticket: object) -> Update | None:
        if ahead := self.engine.waiting.ahead(ticket):
            return Update("busy", strings.WAITING_LINE.format(ahead=ahead))
        if not self.engine.ready:
            return Update("busy", strings.WAITING_MODEL.format(what=self.engine.what))
        return None

    async def _decode(self, page: str, request: Request, stop: threading.Event) -> AsyncGenerator[Update, None]:
        trace, text, source = Trace(), source_line("live", run := next(RUNS)), f"live {run}"
        yield Update("busy", strings.RUNNING.format(tokens=0))  # before any slow work
        events = self.engine.stream(request)
        figures, due = "", 0.0
        try:
            done, error = stop.is_set(), None
            while not done:
                batch, done, error = await anyio.to_thread.run_sync(self.engine.work, pull, events, stop)
                trace.events += batch
                text += "".join(player_line(event, trace.events[0]) for event in batch)
                if time.monotonic() >= due:
                    figures, due = numbers(trace, source), time.monotonic() + NUMBERS_SECONDS
                if batch and not done:
                    yield Update("busy", strings.RUNNING.format(tokens=len(trace.tokens)), text, figures)
        finally:
            with anyio.CancelScope(shield=True):  # waits for the step in progress, off the event loop
                await anyio.to_thread.run_sync(self.engine.work, events.close)
        if not trace.events:
            yield Update(*_nothing(error))
            return
        if not trace.end:
            text += to_line(trace.append(_cut_short(trace, error))) + "\n"
        if page:
            self.finished(page, trace)
        yield Update(*_outcome(trace.end), text, numbers(trace, source))


def _cut_short(trace: Trace, error: Exception | None) -> End:
    """The end of a run whose decoder did not write one: it was stopped, or it broke."""
    reason = "error" if error else "stopped"
    return End(
        at=trace.events[-1].at, reason=reason, text=trace.text, tokens=trace.tokens, stats=statistics(trace.events), error=_sentence(error)
    )


def _sentence(error: Exception | None) -> str:
    """What a person reads about an error; what the decoder did not foresee goes to the log."""
    if error is None:
        return ""
    if isinstance(error, RequestError | PairError):
        return strings.said(error)
    log.error("a run failed", exc_info=error)
    return strings.UNEXPECTED.format(kind=error if isinstance(error, Failed) else type(error).__name__)


def _nothing(error: Exception | None) -> tuple[str, str]:
    return ("bad", _sentence(error)) if error else ("good", strings.STOPPED.format(tokens=0))


def _outcome(end: End) -> tuple[str, str]:
    sentence = strings.FINISHED.get(end.reason, strings.STOPPED)
    return ("bad" if end.reason == "error" else "good"), sentence.format(tokens=len(end.tokens), error=end.error.rstrip("."))
