"""The sweep of this machine that the page can start: what it fills, how it stops and waits, and what it says. No browser."""

from __future__ import annotations

import asyncio
import threading
import time

import frontier_rows as rows
import pytest
from apart import run_async

from sdiff import trace as t
from sdiff.bench import personal
from sdiff.bench.store import Store
from sdiff.ui import strings
from sdiff.ui.engine import Engine
from sdiff.ui.measuring import Sweep


class Timed:
    """A pair whose every run takes three cycles, each `pause` seconds; counts runs that overlap."""

    denoiser = type("Denoiser", (), {"scale": 0.7})()

    def __init__(self, pause: float = 0.0) -> None:
        self.pause, self.active, self.worst, self.finished = pause, 0, 0, 0

    def stream(self, asked_, stop=lambda: False, detail=True):
        self.active += 1
        self.worst = max(self.worst, self.active)
        try:
            for k in range(1, 4):
                if stop():
                    return
                time.sleep(self.pause)
                yield t.Verify(cycle=k, anchor=1, tokens=(), fixed_at=(), draft_ms=1.0, ms=4.0)
                yield t.Emit(cycle=k, tokens=(1, 2), accepted=1, extra="bonus", text="", ms=1.0)
            yield t.End(reason="limit", text="", tokens=(), stats={})
            self.finished += 1
        finally:
            self.active -= 1


@pytest.fixture
def sweep(tmp_path, monkeypatch):
    """sweep(pair) -> a Sweep into tmp_path through an engine that is ready."""
    monkeypatch.setattr(personal, "where", lambda pair, scale: rows.WHERE)
    monkeypatch.setattr(personal.bundled, "names", lambda folder: rows.MODELS)
    monkeypatch.setattr(personal, "PROMPTS", 2)
    monkeypatch.setattr("sdiff.ui.measuring.POLL_SECONDS", 0.02)

    def make(pair) -> Sweep:
        engine = Engine(lambda progress: pair).start()
        while not engine.ready:
            time.sleep(0.005)
        return Sweep(engine, tmp_path)

    return make


async def collect(sweep: Sweep, minutes=1) -> list[tuple[str, str]]:
    return [told async for told in sweep.run("reasoning", minutes)]


def test_a_sweep_fills_the_own_folder_and_goes_on_later(sweep, tmp_path):
    pair = Timed()
    made = sweep(pair)
    told = run_async(collect(made))
    assert told[-1] == ("good", strings.MEASURE["done"].format(task="Reasoning", runs=pair.finished))
    done = Store(tmp_path).done("speed", rows.MODELS)
    assert len(done) == 1 + 3 * 7
    assert all(problems == {0, 1} for problems in done.values())
    before = pair.finished
    assert run_async(collect(made))[-1][0] == "good"
    assert pair.finished == before, "nothing is missing"
    assert len(made.engine.waiting) == 0


def test_a_stopped_sweep_ends_within_a_step_and_keeps_what_is_finished(sweep, tmp_path):
    pair = Timed(pause=0.02)
    made = sweep(pair)

    async def scenario():
        task = asyncio.create_task(collect(made))
        while pair.finished < 5:
            await asyncio.sleep(0.01)
        began = time.monotonic()
        made.stop()
        told = await asyncio.wait_for(task, 5)
        return told, time.monotonic() - began

    told, seconds = run_async(scenario())
    assert told[-1][1].startswith("Stopped after")
    assert any("of at most" in sentence for _, sentence in told)
    assert seconds < 1
    assert 0 < len(Store(tmp_path).rows("speed", rows.MODELS)) <= pair.finished
    assert pair.active == len(made.engine.waiting) == 0


def test_leaving_the_page_ends_the_sweep(sweep):
    pair = Timed(pause=0.02)
    made = sweep(pair)

    async def scenario():
        running = made.run("reasoning", 5)
        while pair.finished < 2:
            await anext(running)
        await running.aclose()

    run_async(scenario())
    assert pair.active == len(made.engine.waiting) == 0
    assert not [thread for thread in threading.enumerate() if thread.name == "measure"]


def test_a_sweep_waits_for_its_place_and_one_at_a_time(sweep):
    made = sweep(Timed())

    async def scenario():
        ahead = made.engine.waiting.join()
        running = made.run("reasoning", 5)
        assert await anext(running) == ("busy", strings.MEASURE["waiting"].format(ahead=1))
        assert (await collect(made))[-1] == ("bad", strings.MEASURE["busy"])
        made.stop()
        assert [told async for told in running][-1] == ("good", strings.MEASURE["stopped"].format(runs=0))
        made.engine.waiting.leave(ahead)

    run_async(scenario())
    assert len(made.engine.waiting) == 0


@pytest.mark.parametrize("minutes", [None, 0, "5", True, 61])
def test_minutes_are_checked(sweep, minutes):
    assert run_async(collect(sweep(Timed()), minutes)) == [("bad", strings.MEASURE["minutes"])]


def test_a_sweep_that_cannot_write_says_why(sweep, tmp_path):
    (tmp_path / "about.json").write_text("{")
    tone, sentence = run_async(collect(sweep(Timed())))[-1]
    assert tone == "bad"
    assert "cannot be read" in sentence
