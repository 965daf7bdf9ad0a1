"""What hands and eyes hold on to: the whole page by keyboard, the presenter, less motion, focus and scroll while a run goes on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fake_pair import FakePair
from playwright.sync_api import Page, expect
from test_player import STAGE, frame, pause, scrub

from sdiff.request import Request
from sdiff.trace import Trace, Verdict
from sdiff.ui import strings

ACTIVE = "selector => Boolean(document.activeElement?.closest(selector))"


def tab_to(page: Page, selector: str, most: int = 80) -> None:
    """Press Tab until the focus is inside `selector`."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate(ACTIVE, selector):
            return
    raise AssertionError(f"{most} times Tab do not reach {selector}")


def recorded_run(folder: Path, name: str, **settings: object) -> Path:
    trace = Trace()
    for _ in trace.record(FakePair().stream(replace(Request("Tell me about the lighthouse keeper.", seed=7), **settings))):
        pass
    path = folder / f"{name}.json"
    path.write_text(trace.to_json(), encoding="utf-8")
    return path


def test_the_whole_page_works_from_the_keyboard(visit, app):
    page = visit(app)
    tab_to(page, "#prompt")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("Hello")
    tab_to(page, "#run")
    page.keyboard.press("Enter")
    expect(page.locator(STAGE)).to_have_attribute("data-run", "limit", timeout=20_000)
    expect(page.locator(STAGE)).to_have_attribute("data-source", "live")
    tab_to(page, "#steps input[type=range]")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#steps input[type=number]")).to_have_value("5")
    pause(page)
    seen = []
    for key in "Home ArrowRight Shift+ArrowRight v n Shift+N l Shift+L ArrowLeft Shift+ArrowLeft End".split():
        if "Arrow" in key or key in ("Home", "End"):
            page.evaluate("() => document.activeElement.blur()")  # the slider has its own use for these
        page.keyboard.press(key)
        seen.append(frame(page))
    assert (seen[0], seen[1]) == (0, 1)
    assert len(set(seen)) > 6
    for key, speed in ((".", "2"), (",", "1"), (",", "0.5")):
        page.keyboard.press(key)
        expect(page.locator(".sd-speed")).to_have_value(speed)
    page.keyboard.press("Space")
    expect(page.locator(STAGE)).to_have_attribute("data-mode", "playing")
    page.keyboard.press("Space")
    tab_to(page, "#views [role=tab]")
    for view in ("race", "frontier", "theory", "learn"):
        tab = page.get_by_role("tab", name=strings.VIEWS[view], exact=True)
        page.keyboard.press("Tab")
        expect(tab).to_be_focused()
        page.keyboard.press("Enter")
        expect(tab).to_have_attribute("aria-selected", "true")
        if view == "race":
            tab_to(page, "#start-race")
            page.keyboard.press("Enter")
            expect(page.locator("#race .rc-lane")).to_have_count(3, timeout=20_000)
        if view == "theory":
            tab_to(page, "#theory-laws [tabindex='0'], #theory-laws input")
            page.keyboard.press("ArrowUp")
            expect(page.locator("#theory-status")).to_contain_text("is now")
        tab.focus()


@pytest.mark.parametrize("selector", [".sd-scrub", ".sd-whatif-slider", ".sd-still", ".sd-predict-on", "#leniency input[type=range]"])
def test_a_control_that_takes_no_text_leaves_the_keys_alone(page, selector):
    pause(page)
    scrub(page, 3)
    page.locator(selector).focus()
    page.keyboard.press("n")
    assert "rejected" in page.locator(".sd-caption").inner_text()
    page.locator("#seed input, #prompt textarea").last.focus()
    before = frame(page)
    page.keyboard.press("n")
    assert frame(page) == before  # where one types, a letter is a letter


def test_the_list_of_keys_opens_where_it_is_seen(page):
    pause(page)
    inside = "() => { const box = document.querySelector('.sd-keys').getBoundingClientRect(); return box.top >= 0 && box.bottom <= innerHeight; }"
    for presenter in (False, True):
        if presenter:
            page.keyboard.press("p")
        top = page.evaluate("() => scrollY")
        page.keyboard.press("?")
        expect(page.locator(".sd-keys summary")).to_be_focused()
        expect(page.locator(".sd-keys dl")).to_be_visible()
        assert page.evaluate(inside)
        page.keyboard.press("?")
        expect(page.locator(".sd-keys dl")).to_be_hidden()
        assert page.evaluate("() => scrollY") == top
        page.keyboard.press("ArrowRight")
    assert frame(page) > 0


@pytest.mark.parametrize("steps", [4, 16])
def test_the_presenter_shows_a_whole_block_and_keeps_the_focus(page, tmp_path, steps):
    """Tokens of 24 px and more, the written row inside a small projector's picture, however many steps; what it covers is out of reach."""
    page.set_viewport_size({"width": 1280, "height": 720})
    page.locator(".sd-open").set_input_files(recorded_run(tmp_path, "many", steps=steps, max_tokens=48))
    expect(page.locator(".sd-badge")).to_have_text("OPENED")
    pause(page)
    page.locator(".sd-present").focus()
    page.keyboard.press("p")
    last = int(page.locator(STAGE).get_attribute("data-frames")) - 1
    for k in (2, steps // 2, steps, steps + 2, steps + 4, last // 2, last):
        scrub(page, k)
        rows = page.locator(".sd-presenter .sd-scroll").first.locator("tr:visible")
        box = page.locator(".sd-written").first.bounding_box()
        assert box["y"] + box["height"] <= 720, k
        assert page.locator(".sd-presenter .sd-draft.sd-now:not(.sd-aside)").count() == page.locator(".sd-draft.sd-now").count()
    assert rows.count() == min(steps + 1, 7) + 5
    sizes = page.locator(".sd-block .sd-chip").evaluate_all(
        "all => all.filter((c) => c.offsetParent).map((c) => parseFloat(getComputedStyle(c).fontSize))"
    )
    assert min(sizes) >= 24
    for _ in range(30):
        page.keyboard.press("Tab")
        assert page.evaluate("() => document.activeElement === document.body || Boolean(document.activeElement.closest('#player'))")
    page.keyboard.press("Escape")
    expect(page.locator(".sd-present")).to_be_focused()
    assert page.locator("[inert]").count() == 0


def spoken(page: Page, run: Path) -> list[str]:
    """What the polite line says while the run plays from its start to its end."""
    page.locator(".sd-open").set_input_files(run)
    expect(page.locator(".sd-badge")).to_have_text("OPENED")
    pause(page)
    page.keyboard.press("Home")
    page.evaluate("""() => {
      window.said = [];
      const line = document.querySelector('.sd-spoken');
      new MutationObserver(() => window.said.push(line.textContent)).observe(line, {childList: true, characterData: true, subtree: true});
    }""")
    page.locator(".sd-speed").select_option("6")
    page.locator(".sd-play").click()
    expect(page.locator(STAGE)).to_have_attribute("data-mode", "ended", timeout=30_000)
    return page.evaluate("() => window.said")


def test_less_motion_says_the_same_sentences(visit, app, tmp_path):
    run = recorded_run(tmp_path, "short", max_tokens=24)
    usual, still = (spoken(visit(app, **options), run) for options in ({}, {"reduced_motion": "reduce"}))
    assert usual == still
    assert len(usual) > 5


def test_what_one_holds_on_to_stays_while_a_run_plays(page):
    """A token that has the focus keeps it through the next blocks, and the text stays where one scrolled to."""
    pause(page)
    page.keyboard.press("Home")
    page.keyboard.press("n")
    chip = page.locator(".sd-verdicts .sd-chip[data-state]").first
    chip.focus()
    cycle = int(page.locator(STAGE).get_attribute("data-cycle"))
    page.locator(".sd-speed").evaluate("(list) => { list.value = '6'; list.dispatchEvent(new Event('change')); }")
    page.locator(".sd-play").evaluate("(button) => button.click()")
    page.wait_for_function("cycle => Number(document.querySelector('#player .sd').dataset.cycle) >= cycle + 3", arg=cycle)
    expect(chip).to_be_focused()
    pause(page)
    box = page.locator(".sd-text")
    scrub(page, int(page.locator(STAGE).get_attribute("data-frames")) - 3)
    assert box.evaluate("b => b.scrollTop") > 0
    box.evaluate("b => { b.scrollTop = 0; }")
    page.locator(".sd-play").evaluate("(button) => button.click()")
    expect(page.locator(STAGE)).to_have_attribute("data-mode", "ended")
    assert box.evaluate("b => b.scrollTop") == 0
    page.keyboard.press("Home")
    page.keyboard.press("End")  # by hand: the text goes along
    assert box.evaluate("b => b.scrollTop") > 0


def test_rejections_are_walked_both_ways_and_round_the_ends(page, trace):
    pause(page)
    page.keyboard.press("Home")
    there = []
    for _ in range(refused := sum(not v.accepted for v in trace.of(Verdict))):
        page.keyboard.press("n")
        there.append(frame(page))
    assert there == sorted(set(there))
    page.keyboard.press("n")
    assert frame(page) == there[0]
    back = []
    for _ in range(refused):
        page.keyboard.press("Shift+N")
        back.append(frame(page))
    assert back == there[::-1]


def test_tokens_are_one_tab_stop_and_arrows_walk_among_them(page):
    pause(page)
    page.keyboard.press("Home")
    page.keyboard.press("n")
    at = frame(page)
    stops = page.locator(".sd-block button[tabindex='0']")
    expect(stops).to_have_count(1)
    stops.focus()
    expect(page.locator(".sd-card")).to_contain_text("Position 1")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".sd-card")).to_contain_text("Position 2")
    assert frame(page) == at
    expect(stops).to_have_count(1)


def test_keys_can_be_switched_off(page):
    pause(page)
    page.keyboard.press("Home")
    page.locator(".sd-keys summary").click()
    page.locator(".sd-keys-on").uncheck()
    page.locator(".sd-title").click()
    page.keyboard.press("ArrowRight")
    assert frame(page) == 0


def test_less_motion_is_a_switch_and_loses_no_words(page):
    pause(page)
    scrub(page, 12)
    before = page.locator(".sd-spoken").text_content(), page.locator(".sd-caption").text_content()
    page.locator(".sd-still").check()
    assert page.locator(".sd-block .sd-chip").first.evaluate("c => getComputedStyle(c).transitionDuration") == "0s"
    assert before == (page.locator(".sd-spoken").text_content(), page.locator(".sd-caption").text_content())


def test_focus_selection_and_scroll_survive_a_live_run(page):
    """More than 200 events arrive; nothing that a person holds on to is taken away."""
    page.set_viewport_size({"width": 1280, "height": 500})
    page.evaluate("""() => {
      document.querySelector('.sd-scrub').focus();
      const range = document.createRange();
      range.selectNodeContents(document.querySelector('#intro h1'));
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      scrollTo(0, 40);
    }""")
    held = "() => [document.activeElement.className, String(getSelection()), scrollY]"
    before = page.evaluate(held)
    page.evaluate("() => document.querySelector('#run').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    expect(page.locator(STAGE)).to_have_attribute("data-source", "live")
    expect(page.locator(STAGE)).to_have_attribute("data-run", "limit", timeout=20_000)
    assert int(page.locator(STAGE).get_attribute("data-frames")) > 200
    assert page.evaluate(held) == before
