"""The page's server side: words, numbers, the line, one visitor's run, the guard. No browser, no model."""

from __future__ import annotations

import asyncio
import itertools
import json
import string
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from apart import run_async

from sdiff import trace as t
from sdiff.measures import rates, statistics, wilson
from sdiff.request import Request
from sdiff.ui import strings
from sdiff.ui.assets import WEB, read
from sdiff.ui.components import static
from sdiff.ui.engine import Engine, LineFull, Waiting
from sdiff.ui.live import Update, Visitors, player_line, source_line
from sdiff.ui.numbers import break_even, numbers, summary
from sdiff.ui.page import build
from sdiff.ui.recordings import RECORDED
from sdiff.ui.recordings_view import recording

# --------------------------------------------------------------------------------- templates and words


def test_templates_hold_nothing_that_gradio_would_run():
    names = {path.relative_to(WEB).as_posix() for path in WEB.rglob("*.*")}
    for name in names:
        if name.endswith((".html", ".css")):
            assert static(read(name)), name
    with pytest.raises(ValueError, match="not allowed"):
        static("<p>${value}</p>")
    scripts = read(*(name for name in names if name.endswith(".js")))
    for risky in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(", "https://"):
        assert risky not in scripts, risky


def test_every_state_and_end_has_its_words():
    assert {"accepted", "lenient", "rejected"} <= set(strings.CAPTIONS)
    reasons = {"eos", "limit", "context", "stopped", "error"}
    assert set(strings.CAPTIONS["end"]) == set(strings.FINISHED) == reasons
    for sentence in strings.FINISHED.values():
        assert {field for _, field, _, _ in string.Formatter().parse(sentence) if field} <= {"tokens", "error"}


# ---------------------------------------------------------------------------------------------- numbers


def verdict(cycle: int, position: int, accepted: bool) -> t.Verdict:
    u = 0.1 if accepted else 0.9
    return t.Verdict(cycle=cycle, position=position, token=1, p=0.5, q=1.0, f=0.5, u=u, keep=0.5, accepted=accepted, lenient=False, tv=0.5)


def small_trace() -> t.Trace:
    """Two blocks of three: the first keeps one draft, the second keeps all and gets its bonus."""
    run = t.Run(prompt="p", prompt_tokens=(1,), settings={}, models={}, machine={}, lossless=True)
    events: list[t.Event] = [run, t.Prefill(tokens=1, ms=10, at=10)]
    for cycle, kept in ((1, 1), (2, 3)):
        at = 10 + 100 * cycle
        events.append(t.Verify(cycle=cycle, anchor=1, tokens=(1, 1, 1), fixed_at=(1, 1, 1), draft_ms=20 * cycle, ms=40, at=at))
        events += [verdict(cycle, i, i <= kept) for i in range(1, min(kept + 1, 3) + 1)]
        extra = "bonus" if kept == 3 else "correction"
        events.append(t.Emit(cycle=cycle, tokens=(1,) * (kept + 1), accepted=kept, extra=extra, text="x", ms=2, at=at))
    return t.Trace(events)


def test_numbers_follow_their_definitions():
    trace = small_trace()
    assert summary(statistics(trace.events)) == {
        "tokens": 6, "prefill_ms": 10, "tokens_per_second": pytest.approx(6 / 0.144), "tau": 3.0, "draft_ms": 30, "verify_ms": 40, "examine_ms": 2, "lenient": 0,
    }  # fmt: skip
    assert set(summary(statistics(trace.events))) == set(strings.NUMBERS)
    rows = rates(statistics(trace.events))
    assert [(r["accepted"], r["examined"]) for r in rows] == [(2, 2), (1, 2), (1, 1)]  # position 3 of block 1 was never examined
    assert [r["survival"] for r in rows] == [1.0, 0.5, 0.5]
    assert rows[1]["low"] == pytest.approx(wilson(1, 2)[0])


@pytest.mark.parametrize(("plain", "word"), [(40, "Speculation helps"), (24, "Break-even"), (12, "not helping")])
def test_the_break_even_is_cycle_time_over_plain_time(plain, word):
    """72 ms per cycle, 3 tokens per cycle."""
    trace = small_trace()
    run = replace(trace.events[0], machine={"plain_ms": plain})
    even = break_even(run, statistics(trace.events))
    assert even["cost"] == pytest.approx(72 / plain)
    assert even["tau"] == 3
    assert word in even["says"]
    assert f"{3 / (72 / plain):.2f}" in even["says"] or word == "Break-even"
    assert break_even(trace.events[0], statistics(trace.events)) is None
    assert break_even(replace(run, settings={"plain": True}), statistics(trace.events)) is None
    assert break_even(run, statistics([])) is None


def test_numbers_of_any_prefix_are_json():
    events = small_trace().events
    for k in range(len(events) + 1):
        assert json.loads(numbers(t.Trace(events[:k]), "live 1"))["source"] == "live 1"


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*.json")), ids=lambda p: p.stem)
def test_numbers_agree_with_the_decoder_of_recorded_runs(path: Path):
    trace = t.Trace.from_json(path.read_text(encoding="utf-8"))
    assert trace.end.stats == statistics(trace.events[:-1], trace.events[0].settings["gamma"])


# ---------------------------------------------------------------------------------- the line and the run


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
    visitors = Visitors(ready(pair))

    async def scenario() -> list[Update]:
        first = asyncio.create_task(collect(visitors, "a"))
        while not pair.active:
            await asyncio.sleep(0.01)
        second = asyncio.create_task(collect(visitors, "b"))
        await asyncio.sleep(0.1)
        visitors.stop("a")
        await first
        await asyncio.sleep(0.4)
        visitors.stop("b")
        return await second

    updates = run_async(scenario())
    assert updates[0].sentence == strings.WAITING_LINE.format(ahead=1)
    assert any(u.trace for u in updates)
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


# ------------------------------------------------------------------------------------ page and recording


def test_the_page_builds_without_a_model_or_recording(tmp_path: Path):
    demo = build(Engine(lambda progress: None), tmp_path)
    assert demo.title == strings.TITLE
    assert recording(tmp_path) == ("", "", "", strings.NO_RECORDING)


def test_a_recording_becomes_a_player_value(tmp_path: Path):
    (tmp_path / "b.json").write_text("not json", encoding="utf-8")
    assert "cannot be shown" in recording(tmp_path)[3]
    (tmp_path / "a.json").write_text(small_trace().to_json(), encoding="utf-8")
    value, figures, prompt, problem = recording(tmp_path)
    assert value == source_line("recorded", name="a") + "".join(
        player_line(event, small_trace().events[0]) for event in small_trace().events
    )
    assert [t.from_dict(json.loads(line)) for line in value.splitlines()[1:]] == small_trace().events  # a trace ignores what is added
    assert prompt == small_trace().events[0].prompt
    assert not problem
    assert json.loads(figures)["summary"]["tokens"] == 6
