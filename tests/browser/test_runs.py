"""Live runs in a real browser: streaming, stopping, the line, failures, injected text."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import pytest
from conftest import MADE, READY, type_when_settled
from fake_pair import PATIENCE, SLOW_STEP
from playwright.sync_api import Page, expect

from sdiff.trace import Trace

STAGE = "#player .sd"
NASTY = "<script>window.hacked=1</script> ${window.hacked=2} {{window.hacked=3}} <img src=x onerror=window.hacked=4>"


def start(page: Page, prompt: str, button: str = "#run") -> None:
    page.locator("#prompt textarea").fill(prompt)
    page.locator(button).click()


def finished(page: Page, reason: str = "limit", timeout: float = 20_000) -> None:
    expect(page.locator(STAGE)).to_have_attribute("data-source", "live", timeout=timeout)
    expect(page.locator(STAGE)).to_have_attribute("data-run", reason, timeout=timeout)
    expect(page.locator("#run")).to_be_enabled()
    expect(page.locator("#stop")).to_be_disabled()


def drawn(page: Page) -> str:
    return "".join(page.locator(".sd-text [data-cycle]").all_text_contents())


def freed(fake, seconds: float = 5) -> float:
    """Seconds until the decoder is free."""
    began = time.monotonic()
    while fake.active and time.monotonic() < began + seconds:
        time.sleep(0.01)
    assert not fake.active
    return time.monotonic() - began


def test_a_live_run_ends_with_the_text_of_its_trace(page, fake):
    start(page, "Hello")
    finished(page)
    trace = Trace()
    for _ in trace.record(fake.stream(replace(MADE, prompt="Hello"))):
        pass
    assert drawn(page) == trace.text
    expect(page.locator(".sd-badge")).to_have_text("LIVE, ended")
    expect(page.locator("#status")).to_contain_text("128 tokens")
    expect(page.locator("#numbers")).to_contain_text("128")
    expect(page.locator(".nb-positions tbody tr")).to_have_count(8)


def test_plain_decoding_is_drawn_and_compared(page):
    start(page, "Hello")
    finished(page)
    page.locator("#plain").click()
    expect(page.locator(".sd-setting")).to_contain_text("no drafter")
    finished(page)
    assert page.locator(".nb-before").count() >= 3


def test_stop_frees_the_decoder_within_one_step(page, fake):
    start(page, "slow")
    page.wait_for_function("() => document.querySelector('#player .sd').dataset.source === 'live'")
    time.sleep(2 * SLOW_STEP)
    steps = fake.steps
    page.locator("#stop").click()
    assert freed(fake) < PATIENCE * (SLOW_STEP + 0.5)
    assert fake.steps - steps <= 2 * PATIENCE
    finished(page, "stopped")
    start(page, "Hello again")
    finished(page)


def test_closing_the_tab_frees_the_decoder(visit, app, fake):
    page = visit(app)
    start(page, "slow")
    page.wait_for_function("() => document.querySelector('#player .sd').dataset.source === 'live'")
    page.close()
    assert freed(fake) < SLOW_STEP + 1


def test_a_run_outlives_a_reload_of_the_page(visit, app, fake):
    """Also one that was under way, as when the connection is lost: what was decoded by then comes back, as a run that was stopped."""
    page = visit(app, excused="Connection errored out")  # Gradio's word for the reload
    expect(page.locator(".sd-kept")).to_be_hidden()
    start(page, "slow")
    page.wait_for_function("() => document.querySelectorAll('#player .sd[data-source=live] .sd-text [data-cycle]').length > 2")
    before = drawn(page)
    page.reload()
    page.wait_for_function(READY)
    freed(fake)
    page.locator(".sd-kept").click()
    expect(page.locator(STAGE)).to_have_attribute("data-source", "live")
    expect(page.locator(STAGE)).to_have_attribute("data-run", "stopped")
    assert drawn(page).startswith(before)
    expect(page.locator(".sd-kept")).to_be_hidden()
    with page.expect_download() as saved:
        page.locator(".sd-save").click()
    assert Trace.from_json(saved.value.path().read_text(encoding="utf-8")).text == drawn(page)
    page.reload()
    page.wait_for_function(READY)
    page.locator(".sd-kept").click()
    assert drawn(page).startswith(before)


def test_the_newest_run_comes_back_with_its_numbers_and_controls(page, recorded):
    """So does a file: what stands beside the stage is of the run on it."""
    for prompt in ("Hello", "Another prompt"):
        start(page, prompt)
        finished(page)
    newest, figures = drawn(page), page.locator(".nb-value").all_text_contents()
    page.locator(".sd-open").set_input_files(recorded / "first.json")
    expect(page.locator("#prompt textarea")).to_have_value(MADE.prompt)
    expect(page.locator("#status")).to_have_text("")
    expect(page.locator(".nb-positions tbody tr")).to_have_count(8)
    page.locator(".sd-kept").click()
    expect(page.locator("#prompt textarea")).to_have_value("Another prompt")
    expect(page.locator(".sd-badge")).to_have_text("LIVE, ended")
    assert drawn(page) == newest
    assert page.locator(".nb-value").all_text_contents() == figures


def test_two_visitors_never_overlap_and_see_their_place(visit, app, fake):
    first, second = visit(app), visit(app)
    start(first, "slow")
    first.wait_for_function("() => document.querySelector('#player .sd').dataset.source === 'live'")
    start(second, "Hello")
    expect(second.locator("#status")).to_contain_text("1 ahead of you")
    expect(second.locator(".sd-badge")).to_have_text("RECORDED")
    first.locator("#stop").click()
    finished(second)
    finished(first, "stopped")
    assert fake.worst == 1


def test_injected_text_is_shown_literally(page):
    start(page, NASTY)
    finished(page)
    expect(page.locator(".sd-prompt")).to_have_text(NASTY)
    text = drawn(page)
    assert "<script>window.hacked=1</script>" in text
    assert "${window.hacked=2}" in text
    assert "{{window.hacked}}" in text
    assert page.evaluate("() => window.hacked") is None
    assert page.locator(".sd-text script, .sd-text img").count() == 0


def test_a_failure_keeps_the_text_and_says_why(page):
    start(page, "break")
    finished(page, "error")
    expect(page.locator("#status")).to_contain_text("NaN")
    assert drawn(page)


def test_a_wrong_setting_is_explained(page):
    page.get_by_text("Sampling and limits").click()
    type_when_settled(page.locator("#seed input"), "-5")
    page.locator("#run").click()
    expect(page.locator("#status")).to_contain_text("Seed must be a whole number")
    expect(page.locator("#run")).to_be_enabled()


def test_a_run_the_server_refuses_says_so_and_can_be_tried_again(page):
    page.route(
        "**/queue/join*", lambda route: route.fulfill(status=503, content_type="application/json", body='{"detail": "Queue is full."}')
    )
    page.locator("#run").click()
    expect(page.locator("#status")).to_contain_text("The server did not take the run")
    expect(page.locator("#loading")).to_be_hidden()  # "Ready" comes and goes on a line of its own, before or after
    expect(page.locator("#run")).to_be_enabled()
    expect(page.locator("#stop")).to_be_disabled()
    page.unroute("**/queue/join*")
    start(page, "again")
    finished(page)


def test_an_emptied_box_is_explained_and_never_leaves_a_stale_note(page):
    box = page.locator("#leniency input[type=number]")
    box.fill("")
    box.press("Tab")
    box.fill("0.7")
    box.press("Tab")
    expect(page.locator("#native")).to_contain_text("λ = 0.7")
    expect(page.locator("#law")).to_contain_text("Not lossless")


def test_notes_follow_the_settings(page):
    expect(page.locator("#law")).to_contain_text("Not lossless")
    box = page.locator("#leniency input[type=number]")
    box.fill("0")
    box.press("Tab")
    expect(page.locator("#law")).to_contain_text("✓ Lossless")
    box.fill("0.2")
    box.press("Tab")
    expect(page.locator("#native")).to_contain_text("λ = 0.2")
    expect(page.locator("#law")).to_contain_text("Not lossless")


def test_following_live_shows_whole_cycles(page):
    start(page, "slow")
    page.wait_for_function("() => document.querySelector('#player .sd').dataset.source === 'live'")
    page.locator(".sd-follow").check()
    expect(page.locator(STAGE)).to_have_attribute("data-kind", "emit")
    page.locator("#stop").click()
    finished(page, "stopped")


@pytest.fixture(scope="session")
def real_pair():
    """The project's own pair; without its weights the test is skipped, in CI it fails."""
    from sdiff.pairs import PairError, load_pair

    try:
        return load_pair()
    except PairError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))


@pytest.mark.model
def test_a_real_model_decodes_what_its_trace_says(visit, serve, recorded, real_pair):
    trace = Trace()
    for _ in trace.record(real_pair.stream(replace(MADE, prompt="Name three colours."))):
        pass
    page = visit(serve(lambda progress: real_pair, recorded))
    expect(page.locator("#loading")).to_contain_text("Ready")
    began = time.monotonic()
    start(page, "Name three colours.")
    page.wait_for_function("() => document.querySelector('.sd[data-source=live] .sd-text [data-cycle]')?.textContent")
    first_token = time.monotonic() - began
    expect(page.locator(STAGE)).not_to_have_attribute("data-run", "running", timeout=120_000)
    expect(page.locator("#run")).to_be_enabled()
    assert drawn(page) == trace.text
    assert first_token < (5 if os.environ.get("CI") else 1)
