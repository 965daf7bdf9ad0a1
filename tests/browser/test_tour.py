"""The lesson: every step is reached by doing it, none by waiting."""

from __future__ import annotations

from playwright.sync_api import expect
from test_player import pause
from test_runs import finished, start

from sdiff.ui import strings


def done(page) -> list[bool]:
    return page.locator(".tr-marks li").evaluate_all("marks => marks.map(m => m.dataset.done === 'true')")


def test_every_step_is_done_by_its_action(page):
    pause(page)  # before the lesson opens: pausing on the check itself would do its first step
    page.keyboard.press("Home")
    page.locator(".tr-open").click()
    steps = strings.TOUR["steps"]
    assert len(steps) <= 8
    assert done(page) == [False] * len(steps)

    def see(reached: int) -> None:
        expect(page.locator(".tr-done")).to_contain_text(steps[reached]["learnt"][:40], timeout=20_000)
        assert done(page) == [i <= reached for i in range(len(steps))]
        page.locator(".tr-next").click() if reached + 1 < len(steps) else None

    page.keyboard.press("v")
    see(0)
    page.keyboard.press("n")
    see(1)
    page.locator(".sd-verdicts .sd-chip[data-state=rejected]").hover()
    see(2)
    page.locator(".sd-predict-on").check()
    page.locator(".sd-speed").select_option("6")
    page.locator(".sd-play").click()
    for _ in range(3):
        page.locator(".sd-guesses button").first.click()
    see(3)
    page.locator(".sd-predict-on").uncheck()
    pause(page)
    page.locator(".sd-whatif-slider").evaluate("e => { e.value = 1; e.dispatchEvent(new Event('input', {bubbles: true})); }")
    see(4)
    strict = page.locator("#leniency input[type=number]")
    strict.fill("0")
    strict.press("Tab")
    start(page, "Hello")
    finished(page)
    see(5)
    page.locator("#leniency input[type=number]").fill("0.6")
    page.locator("#leniency input[type=number]").press("Tab")
    start(page, "Hello")
    finished(page)
    see(6)
    page.mouse.wheel(0, 600)
    page.wait_for_function("() => scrollY > 300")
    expect(page.locator(".tr-title")).to_be_in_viewport()  # it stays in sight of the numbers below the stage
    page.get_by_role("tab", name="Race").click()
    page.locator("#start-race").click()
    page.locator(".rc-speed").select_option("2")
    see(7)
    page.locator(".tr-open").click()
    expect(page.locator(".tr-body")).to_be_hidden()
