"""ZeroGPU's rules, kept by a stand-in for `spaces` that enforces them: sync generators, pickled arguments and results, a forked worker."""

from __future__ import annotations

import inspect
import multiprocessing
import pickle
import sys
import time
import types
from collections.abc import Iterator

import pytest

from sdiff import trace as t
from sdiff.request import LIMITS, Request
from sdiff.ui.engine import Engine
from sdiff.ui.zero import seconds


def work(connection, stop, function, body: bytes) -> None:
    """The worker: every result is pickled and sent; the stop flag is looked at after each."""
    events = function(*pickle.loads(body))
    try:
        for event in events:
            connection.send_bytes(pickle.dumps(event))
            if stop.is_set():
                events.close()
                break
        connection.send_bytes(b"")
    except Exception as error:
        connection.send_bytes(pickle.dumps(error))
        connection.send_bytes(b"")


def stand_in(asked: list[float]) -> types.ModuleType:
    module, forks = types.ModuleType("spaces"), multiprocessing.get_context("fork")

    def gpu(duration):
        def decorate(function):
            if not inspect.isgeneratorfunction(function):
                raise NotImplementedError("only sync generators")

            def borrowed(*args) -> Iterator:
                asked.append(duration(*args))
                mine, theirs = forks.Pipe(duplex=False)
                stop = forks.Event()
                worker = forks.Process(target=work, args=(theirs, stop, function, pickle.dumps(args)), daemon=True)
                worker.start()
                try:
                    while body := mine.recv_bytes():
                        event = pickle.loads(body)
                        if isinstance(event, Exception):
                            raise event
                        yield event
                finally:
                    stop.set()
                    until = time.monotonic() + 10
                    while worker.is_alive() and time.monotonic() < until:  # a full pipe would hold it: what it still sends is thrown away
                        if mine.poll(0.01):
                            mine.recv_bytes()

            return borrowed

        return decorate

    module.GPU = gpu
    return module


class Pair:
    """Writes tokens until closed; tells on a file that it was."""

    def __init__(self, closed) -> None:
        self.closed = closed

    def stream(self, request: Request) -> Iterator[t.Event]:
        try:
            yield t.Run(prompt=request.prompt, prompt_tokens=(1,), settings={}, models={}, machine={}, lossless=True)
            for cycle in range(1, request.max_tokens + 1):
                if request.prompt == "break" and cycle == 2:
                    raise ArithmeticError("NaN")
                yield t.Emit(cycle=cycle, tokens=(1,), accepted=0, extra="bonus", text="x", ms=1.0)
        finally:
            self.closed.write_text("closed")


@pytest.fixture
def engine(monkeypatch, tmp_path):
    asked: list[float] = []
    monkeypatch.setitem(sys.modules, "spaces", stand_in(asked))
    engine = Engine(lambda progress: Pair(tmp_path / "closed"))
    engine.load()
    return engine, asked, tmp_path / "closed"


def test_a_run_comes_whole_out_of_the_worker(engine):
    engine, asked, closed = engine
    request = Request("Hello", max_tokens=5)
    assert list(engine.stream(request)) == list(Pair(closed).stream(request))
    assert asked == [seconds(request)]


def test_stopping_reaches_the_worker(engine):
    engine, _, closed = engine
    events = engine.stream(Request("Hello", max_tokens=500))
    next(events)
    next(events)
    time.sleep(0.5)  # long enough for a worker that runs ahead to fill its pipe
    events.close()
    assert closed.read_text() == "closed"


def test_a_failure_in_the_worker_is_raised_here(engine):
    engine, _, _ = engine
    with pytest.raises(ArithmeticError, match="NaN"):
        list(engine.stream(Request("break")))


def test_the_time_asked_for_stays_small():
    low, high = LIMITS["max_tokens"]
    assert seconds(Request("", max_tokens=int(low))) >= 1
    assert seconds(Request("", max_tokens=int(high))) <= 60
