"""The race in a real browser: three runs, one clock, a verdict in words; and its clock against the traces."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import MADE
from node import in_node
from playwright.sync_api import expect
from test_runs import NASTY, finished, freed, start

from sdiff.measures import statistics
from sdiff.request import Request
from sdiff.trace import Emit, Prefill, Trace
from sdiff.ui import strings
from sdiff.ui.live import player_value
from sdiff.ui.race_view import lane_text, lanes, recorded_race
from sdiff.ui.recordings_view import races


def made(fake, request: Request) -> Trace:
    trace = Trace()
    for _ in trace.record(fake.stream(request)):
        pass
    return trace


def open_race(page) -> None:
    page.get_by_role("tab", name="Race").click()
    expect(page.locator("#race .rc")).to_be_visible()


def test_a_race_runs_three_lanes_and_says_who_was_faster(page, fake):
    open_race(page)
    expect(page.locator(".rc-empty")).to_contain_text("No race yet")
    page.locator("#prompt textarea").fill(NASTY)
    page.locator("#start-race").click()
    expect(page.locator(".rc-lane")).to_have_count(3)
    expect(page.locator("#run")).to_be_enabled(timeout=20_000)
    expect(page.locator(".rc-verdict")).to_have_text(strings.RACE["guess"])
    expect(page.locator(".rc-table")).to_be_hidden()
    scrub(page, 1)
    expect(page.locator(".rc-table tbody tr")).to_have_count(3)
    traces = {lane: made(fake, request) for lane, request in lanes(replace(MADE, prompt=NASTY)).items()}
    for lane, trace in zip(page.locator(".rc-lane").all(), traces.values(), strict=True):
        assert lane.locator(".rc-text").text_content() == trace.text
        expect(lane.locator(".rc-count")).to_contain_text(f"{len(trace.tokens)} tokens in")
    expect(page.locator(".rc-verdict")).to_contain_text(f"“{strings.RACE['lanes']['chosen']}”")
    expect(page.locator(".rc-prompt")).to_have_text(strings.RACE["prompt"].format(prompt=NASTY))
    assert page.evaluate("() => window.hacked") is None
    assert fake.worst == 1


def scrub(page, share: float) -> None:
    page.locator(".rc-scrub").evaluate("(e, at) => { e.value = at * e.max; e.dispatchEvent(new Event('input', {bubbles: true})); }", share)


def test_stop_ends_the_race_and_keeps_what_there_is(page, fake):
    open_race(page)
    page.locator("#prompt textarea").fill("slow")
    page.locator("#start-race").click()
    expect(page.locator(".rc-lane")).to_have_count(2)
    page.locator("#stop").click()
    assert freed(fake) < 5
    expect(page.locator("#run")).to_be_enabled()
    expect(page.locator(".rc-lane")).to_have_count(2)
    expect(page.locator(".rc-verdict")).to_have_text("")  # nothing is said about runs that were cut short
    expect(page.locator(".rc-table")).to_be_hidden()
    page.get_by_role("tab", name="Live").click()
    start(page, "Hello again")
    finished(page)


def clock(text: str, expression: str):
    """The pure part of the race, run by node."""
    return in_node(("race/clock.js",), f"((lanes) => {expression})(lanesOf(data))", text)


def test_the_clock_is_the_decoders(fake):
    """Tokens at a time, time to n tokens and ratios against the same worked out from the events."""
    traces = {lane: made(fake, request) for lane, request in lanes(Request(prompt="Hello", max_tokens=40)).items()}
    text = "".join(lane_text(lane, player_value(trace, "live"), "") for lane, trace in traces.items())
    for i, trace in enumerate(traces.values()):
        began, emits = trace.of(Prefill)[0].at, trace.of(Emit)
        for ms in (0, 60, 150, 1e6):
            there = [e for e in emits if e.at - began <= ms]
            at = clock(text, f"laneAt(lanes[{i}], {ms})")
            assert (at["cycles"], at["tokens"]) == (len(there), sum(len(e.tokens) for e in there))
            assert at["through"] == (len(there) == len(emits))
        assert clock(text, f"duration(lanes[{i}])") == pytest.approx(emits[-1].at - began)
    result = clock(text, "standings(lanes)")
    assert result["n"] == 40
    times = [trace.of(Emit)[-1].at - trace.of(Prefill)[0].at for trace in traces.values()]
    assert [row["ms"] for row in result["rows"]] == pytest.approx(times)
    assert [row["ratio"] for row in result["rows"]] == pytest.approx([times[0] / t for t in times])
    assert [row["tau"] for row in result["rows"]] == pytest.approx([statistics(trace.events)["tau"] for trace in traces.values()])


@pytest.fixture(scope="module")
def raced(recorded, fake, tmp_path_factory) -> Path:
    """A folder with the recorded run and two stored races: few steps, and so many that plain decoding wins."""
    folder = tmp_path_factory.mktemp("raced")
    (folder / "first.json").write_text((recorded / "first.json").read_text(encoding="utf-8"), encoding="utf-8")
    assert recorded_race(folder / "race") == {}
    assert races(folder / "race") == {}
    for name, request in (
        ("race", Request("Hello", leniency=0.3, steps=1)),
        ("race/prose", Request("Once", noise="uniform", steps=16, gamma=2)),
    ):
        (folder / name).mkdir()
        for lane, each in lanes(request).items():
            (folder / name / f"{lane}.json").write_text(made(fake, each).to_json(), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def stored(serve, fake, raced) -> str:
    return serve(lambda progress: fake, raced)


def test_a_stored_race_plays_at_once(visit, stored):
    page = visit(stored)
    open_race(page)
    expect(page.locator(".rc-lane")).to_have_count(3)
    expect(page.locator(".rc-prompt")).to_have_text(strings.RACE["recorded"].format(prompt="Hello"))
    expect(page.get_by_role("heading", name=strings.RACE["lanes"]["example"])).to_be_visible()
    page.wait_for_function("() => document.querySelector('.rc-track i').style.width !== '0%'")


def test_one_of_two_stored_races_is_lost_by_speculation(visit, stored):
    """Choosing one plays it; the verdict comes with the end; a race of one's own is none of the list's."""
    page = visit(stored)
    open_race(page)
    choice, verdict = page.locator("#stored-race"), page.locator(".rc-verdict")
    for title, prompt, says in (("Story", "Once", "not helping here"), ("Word problem", "Hello", "times as fast")):
        choice.get_by_label(re.compile(title)).check()
        expect(page.locator(".rc-prompt")).to_contain_text(f"“{prompt}”")
        expect(verdict).to_have_text(strings.RACE["guess"])
        page.wait_for_function("() => document.querySelector('.rc-track i').style.width !== '0%'")
        page.locator(".rc-end").click()
        expect(verdict).to_contain_text(says)
        expect(page.locator(".rc-table")).to_be_visible()
        expect(page.locator(".rc-end")).to_be_disabled()
        scrub(page, 0.5)
        expect(page.locator(".rc-table")).to_be_hidden()
    page.locator("#start-race").click()
    expect(page.locator(".rc-prompt")).not_to_contain_text("Recorded", timeout=20_000)
    expect(choice.locator("input:checked")).to_have_count(0)
    expect(page.locator("#run")).to_be_enabled(timeout=20_000)


def test_a_broken_second_race_leaves_the_first_without_a_choice(raced, tmp_path: Path):
    shutil.copytree(raced, tmp_path / "all")
    (tmp_path / "all" / "race" / "prose" / "strict.json").unlink()
    assert list(races(tmp_path / "all" / "race")) == ["race"]


def test_with_less_motion_a_race_waits(visit, stored):
    """The player's box counts, whatever the system says, before the race and while it goes on by itself."""
    page = visit(stored)
    page.locator(".sd-still").check()
    open_race(page)
    mode = page.locator("#race .rc")
    expect(mode).to_have_attribute("data-mode", "paused")
    page.wait_for_timeout(200)
    expect(page.locator(".rc-clock")).to_contain_text("0.00 s")
    page.locator(".rc-end").click()
    expect(page.locator(".rc-table tbody tr")).to_have_count(3)
    page.locator(".rc-play").click()  # asked for
    expect(mode).to_have_attribute("data-mode", "playing")
    page.wait_for_function("() => document.querySelector('.rc-track i').style.width !== '0%'")
    reduced = visit(stored, reduced_motion="reduce")
    open_race(reduced)
    expect(reduced.locator("#race .rc")).to_have_attribute("data-mode", "paused")
    moving = visit(stored)
    open_race(moving)
    expect(moving.locator("#race .rc")).to_have_attribute("data-mode", "playing")
    moving.evaluate("() => { const box = document.querySelector('#player .sd-still'); box.checked = true; box.onchange(); }")
    expect(moving.locator("#race .rc")).to_have_attribute("data-mode", "paused")


def test_who_scrolled_up_is_left_there(visit, stored):
    page = visit(stored)
    open_race(page)
    scrub(page, 0.9)
    text = page.locator(".rc-text").first
    assert text.evaluate("e => e.scrollHeight > e.clientHeight + 40 && e.scrollTop + e.clientHeight > e.scrollHeight - 2"), "at the end"
    before = text.text_content()
    text.evaluate("e => { e.scrollTop = 10; }")
    page.locator(".rc-end").click()
    assert len(text.text_content()) > len(before)
    assert text.evaluate("e => e.scrollTop") == 10


def test_a_race_that_waits_in_line_can_be_stopped(visit, app, fake):
    first, second = visit(app), visit(app)
    start(first, "slow")
    first.wait_for_function("() => document.querySelector('#player .sd').dataset.source === 'live'")
    open_race(second)
    second.locator("#start-race").click()
    expect(second.locator("#status")).to_contain_text("1 ahead of you")
    second.locator("#stop").click()
    expect(second.locator("#run")).to_be_enabled()
    expect(second.locator(".rc-lane")).to_have_count(0)
    first.locator("#stop").click()
    finished(first, "stopped")
    assert freed(fake) < 5
    second.wait_for_timeout(600)
    expect(second.locator(".rc-lane")).to_have_count(0)
    assert fake.worst == 1
