"""The player in a real browser: first paint, state as a function of the frame, keys, card, text safety."""

from __future__ import annotations

import json
import threading
from pathlib import Path

from conftest import READY
from fake_pair import PATIENCE
from playwright.sync_api import Page, expect

from sdiff.trace import Trace
from sdiff.ui.assets import read

STAGE = "#player .sd"
SNAPSHOT = """() => JSON.stringify([
  [...document.querySelectorAll('.sd-block .sd-chip')].map(c => c.style.visibility === 'hidden' ? '' : [c.dataset.state, c.textContent]),
  [...document.querySelectorAll('.sd-text span')].map(s => [s.className, s.textContent]),
  document.querySelector('.sd-caption').textContent, document.querySelector('.sd-bracket').textContent])"""


def frame(page: Page) -> int:
    return int(page.locator(STAGE).get_attribute("data-frame"))


def pause(page: Page) -> None:
    # looked at and pressed in one turn of the page: between the two the last frame may come, and the press would start it again
    page.locator(STAGE).evaluate("stage => { if (stage.dataset.mode === 'playing') stage.querySelector('.sd-play').click(); }")
    expect(page.locator(STAGE)).not_to_have_attribute("data-mode", "playing")


def scrub(page: Page, k: int) -> None:
    page.locator(".sd-scrub").evaluate("(e, k) => { e.value = k; e.dispatchEvent(new Event('input', {bubbles: true})); }", k)


def test_first_paint_plays_the_recording_within_two_seconds(visit, app):
    page = visit(app, wait=False)
    page.wait_for_function("() => Number(document.querySelector('.sd')?.dataset.frame) >= 1", timeout=10_000)
    first_frame_ms = page.evaluate("() => performance.now()")
    expect(page.locator(".sd-badge").first).to_have_text("RECORDED")
    page.wait_for_function("() => document.querySelector('.sd-chip[data-state=masked]')")
    assert first_frame_ms < PATIENCE * 2000 + 600  # the first picture stands 600 ms before the second frame


def test_the_recording_plays_before_gradio_has_loaded_and_the_page_goes_on_from_there(visit, app):
    """The scripts of Gradio are held back until the stage has played on by itself."""
    held: list = []
    page = visit(app, wait=False, before=lambda page: page.route("**/assets/*.js", lambda route: held.append(route)))
    page.wait_for_function("() => Number(document.querySelector('#early .sd')?.dataset.frame) >= 2")
    expect(page.locator(".sd-badge")).to_have_text("RECORDED")
    assert page.locator("#player").count() == 0
    before = int(page.locator("#early .sd").get_attribute("data-frame"))
    page.unroute("**/assets/*.js")  # which lets those that were held go on
    page.wait_for_function(READY, timeout=60_000)
    assert page.locator(".sd").count() == 1
    assert frame(page) >= before


def test_nothing_plays_by_itself_where_less_motion_is_wanted(visit, app, recorded):
    """Neither the recording nor one that is opened; Play plays it, and a run of one's own is shown as it comes."""
    page = visit(app, reduced_motion="reduce")
    expect(page.locator(STAGE)).to_have_attribute("data-mode", "paused")
    page.wait_for_timeout(1200)
    assert frame(page) == 0
    page.locator(".sd-open").set_input_files(recorded / "first.json")
    expect(page.locator(".sd-badge")).to_have_text("OPENED")
    expect(page.locator(STAGE)).to_have_attribute("data-mode", "paused")
    page.locator(".sd-play").click()
    expect(page.locator(STAGE)).to_have_attribute("data-mode", "playing")
    page.wait_for_function("() => Number(document.querySelector('#player .sd').dataset.frame) >= 1")


def test_state_at_a_frame_does_not_depend_on_the_path(page):
    pause(page)
    last = int(page.locator(STAGE).get_attribute("data-frames")) - 1
    page.keyboard.press("Home")
    stepped = []
    for _ in range(min(last, 60)):
        stepped.append(page.evaluate(SNAPSHOT))
        page.keyboard.press("ArrowRight")
    for k in (40, 3, 57, 0, 21, 22):
        scrub(page, k)
        assert page.evaluate(SNAPSHOT) == stepped[k], f"scrubbing to {k} differs"
    scrub(page, 45)
    for k in range(44, 30, -1):
        page.locator(".sd-back").click()
        assert frame(page) == k
        assert page.evaluate(SNAPSHOT) == stepped[k], f"stepping back to {k} differs"
    page.keyboard.press("End")
    at_end = page.evaluate(SNAPSHOT)
    scrub(page, last - 12)
    page.locator(".sd-speed").select_option("6")
    page.locator(".sd-play").click()
    expect(page.locator(STAGE)).to_have_attribute("data-mode", "ended")
    assert page.evaluate(SNAPSHOT) == at_end


def test_every_state_of_the_recording_agrees_with_its_trace(page, recorded: Path):
    trace = Trace.from_json((recorded / "first.json").read_text(encoding="utf-8"))
    pause(page)
    page.keyboard.press("End")
    drawn = "".join(page.locator(".sd-text [data-cycle]").all_text_contents())
    assert drawn == trace.text
    assert trace.text
    page.keyboard.press("Home")
    page.keyboard.press("n")
    assert page.locator(".sd-verdicts .sd-chip[data-state=rejected]").count() == 1
    assert "rejected" in page.locator(".sd-caption").inner_text()
    rejected = page.locator(".sd-verdicts .sd-chip").evaluate_all("c => c.map(x => x.dataset.state)").index("rejected")
    after = page.locator(".sd-verdicts .sd-chip").evaluate_all("c => c.map(x => x.dataset.state)")[rejected + 1 :]
    assert set(after) <= {"unexamined"}
    page.keyboard.press("ArrowRight")
    states = page.locator(".sd-written .sd-chip").evaluate_all("c => c.map(x => x.dataset.state)")
    assert states[rejected] == "correction"


def test_columns_never_move_while_playing(page):
    boxes = "() => JSON.stringify([...document.querySelectorAll('.sd-head th')].map(t => Math.round(t.getBoundingClientRect().x)))"
    tops = "() => Math.round(document.querySelector('.sd-written').getBoundingClientRect().y + scrollY)"
    pause(page)
    seen = set()
    for _ in range(4):
        for _ in range(5):
            page.keyboard.press("ArrowRight")
        seen.add((page.evaluate(boxes), page.evaluate(tops)))
    assert len(seen) == 1


def test_keys_and_cycles(page):
    pause(page)
    page.keyboard.press("Home")
    page.keyboard.press("Shift+ArrowRight")
    first = frame(page)
    page.keyboard.press("Shift+ArrowRight")
    assert frame(page) > first
    page.keyboard.press("Shift+ArrowLeft")
    assert frame(page) == first
    page.keyboard.press("v")
    expect(page.locator(STAGE)).to_have_attribute("data-kind", "verify")
    page.keyboard.press(".")
    expect(page.locator(".sd-speed")).to_have_value("2")
    page.keyboard.press(" ")
    expect(page.locator(STAGE)).to_have_attribute("data-mode", "playing")
    page.locator("#prompt textarea").fill("")
    page.locator("#prompt textarea").press_sequentially("n v.")
    expect(page.locator("#prompt textarea")).to_have_value("n v.")
    page.keyboard.press("Escape")
    page.locator("#intro h1").click()
    page.keyboard.press("?")
    assert page.locator(".sd-keys").get_attribute("open") is not None


def test_card_shows_the_numbers_of_the_trace(page, recorded: Path):
    events = json.loads((recorded / "first.json").read_text(encoding="utf-8"))["events"]
    verdict = next(e for e in events if e["kind"] == "verdict")
    pause(page)
    page.keyboard.press("Home")
    page.keyboard.press("v")
    page.keyboard.press("ArrowRight")
    page.locator(".sd-verdicts .sd-chip").first.hover()
    card = page.locator(".sd-card")
    for key in ("p", "q", "f"):
        expect(card).to_contain_text(f"{verdict[key]:.3f}")
    expect(card).to_contain_text("denoising step")
    page.locator(".sd-verdicts .sd-chip").first.focus()
    expect(card).to_contain_text("Position 1")


def test_saved_run_is_a_trace_document(page, recorded: Path):
    with page.expect_download() as download:
        page.locator(".sd-save").click()
    saved = Trace.from_json(Path(download.value.path()).read_text(encoding="utf-8"))
    assert saved == Trace.from_json((recorded / "first.json").read_text(encoding="utf-8"))


def test_legend_is_the_state_table(page):
    from sdiff.ui.states import STATES

    assert page.locator(".sd-legend-item").count() == len(STATES)
    assert page.locator(".sd-legend-item > span:last-child").all_text_contents() == [s.word for s in STATES]


def test_no_recording_explains_itself(visit, serve, fake, tmp_path):
    page = visit(serve(lambda progress: fake, tmp_path))
    expect(page.locator(".sd-empty")).to_be_visible()
    expect(page.locator("#loading")).to_contain_text("No recorded run")


def test_loading_and_failure_keep_the_recording(visit, serve, recorded):
    seen = threading.Event()

    def load(progress):
        progress("Downloading the verifier", 0.25)
        seen.wait(30)
        raise RuntimeError("No network: connect to the internet and start again.")

    page = visit(serve(load, recorded))
    expect(page.locator("#loading")).to_contain_text("Downloading the verifier, 25%")
    expect(page.locator("#pair")).to_contain_text("SmolLM2-135M-Instruct checks")
    expect(page.locator("#pair")).to_contain_text("once they are loaded")
    seen.set()
    expect(page.locator("#loading")).to_contain_text("No network: connect to the internet", timeout=30_000)
    expect(page.locator("#pair")).to_contain_text("could not be loaded", timeout=30_000)
    before = frame(page)
    page.wait_for_function(f"() => Number(document.querySelector('#player .sd').dataset.frame) !== {before}")


def test_the_models_in_use_are_named(page):
    expect(page.locator("#pair")).to_have_text(
        "Models: a pretend verifier checks, pretend drafter drafts (noise: Masked, Uniform), in float32 on cpu: a pretend machine."
    )


def test_tokens_that_split_a_character_are_joined_for_display(page):
    """The pure part of the player, run in the page: bytes become the character on the first chip."""
    source = read("player/caption.js")
    labels = ["⟨F0 9F⟩", "⟨99 82⟩", " a", "⟨E6⟩", "⟨BC A2⟩", "⟨20 E5⟩", "⟨AD⟩", "⟨97⟩", "⟨FF⟩", "⟨123⟩", "⟨F0⟩"]
    pieces = dict(enumerate(labels))
    shown = page.evaluate(
        f"([pieces, tokens]) => {{ {source}; return rowLabels({{pieces}}, tokens); }}", [pieces, [*range(len(labels)), None]]
    )
    assert shown == ["🙂", "…", "␣a", "漢", "…", "␣字", "…", "…", "⟨FF⟩", "⟨123⟩", "⟨F0⟩", ""]
