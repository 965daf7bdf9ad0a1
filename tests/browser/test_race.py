"""The race in a real browser: three runs, one clock, a verdict in words; and its clock against the traces."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import MADE
from playwright.sync_api import expect
from test_runs import NASTY, finished, freed, start

from sdiff.measures import statistics
from sdiff.request import Request
from sdiff.trace import Emit, Prefill, Trace
from sdiff.ui import strings
from sdiff.ui.assets import WEB
from sdiff.ui.live import player_value
from sdiff.ui.race_view import lane_text, lanes, recorded_race


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
    expect(page.locator(".rc-table tbody tr")).to_have_count(3)
    page.locator(".rc-scrub").evaluate("e => { e.value = e.max; e.dispatchEvent(new Event('input', {bubbles: true})); }")
    traces = {lane: made(fake, request) for lane, request in lanes(replace(MADE, prompt=NASTY)).items()}
    for lane, trace in zip(page.locator(".rc-lane").all(), traces.values(), strict=True):
        assert lane.locator(".rc-text").text_content() == trace.text
        expect(lane.locator(".rc-count")).to_contain_text(f"{len(trace.tokens)} tokens in")
    expect(page.locator(".rc-verdict")).to_contain_text(f"“{strings.RACE['lanes']['chosen']}”")
    expect(page.locator(".rc-prompt")).to_have_text(strings.RACE["prompt"].format(prompt=NASTY))
    assert page.evaluate("() => window.hacked") is None
    assert fake.worst == 1


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


@pytest.fixture(scope="module")
def clock():
    """The pure part of the race, run by node."""
    try:
        subprocess.run(["node", "--version"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no node")

    def run(text: str, expression: str):
        code = (WEB / "race" / "clock.js").read_text(encoding="utf-8")
        script = (
            f"{code}\nconst lanes = lanesOf(JSON.parse(require('fs').readFileSync(0, 'utf8')));\nconsole.log(JSON.stringify({expression}));"
        )
        done = subprocess.run(["node", "-e", script], input=json.dumps(text), capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    return run


def test_the_clock_is_the_decoders(clock, fake):
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


def test_a_stored_race_plays_at_once(visit, serve, fake, recorded, tmp_path: Path):
    (tmp_path / "race").mkdir()
    (tmp_path / "first.json").write_text((recorded / "first.json").read_text(encoding="utf-8"), encoding="utf-8")
    assert recorded_race(tmp_path / "race") == ""
    for lane, request in lanes(Request(prompt="Hello")).items():
        (tmp_path / "race" / f"{lane}.json").write_text(made(fake, request).to_json(), encoding="utf-8")
    page = visit(serve(lambda progress: fake, tmp_path))
    open_race(page)
    expect(page.locator(".rc-lane")).to_have_count(3)
    expect(page.locator(".rc-prompt")).to_have_text(strings.RACE["recorded"].format(prompt="Hello"))
    expect(page.get_by_role("heading", name=strings.RACE["lanes"]["example"])).to_be_visible()
    page.wait_for_function("() => document.querySelector('.rc-track i').style.width !== '0%'")


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
