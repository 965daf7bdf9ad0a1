"""What the page looks like: dark, small, zoomed; pictures for people when SDIFF_PICTURES names a folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page

from sdiff.ui.recordings import RECORDED

# nothing is wider than the page, not even what the page would cut off; what scrolls by itself may hold wider things
WIDTH_FITS = """() => {
  const wide = (node) => node.getClientRects().length && node.getBoundingClientRect().right > innerWidth + 1;
  const scrolls = (node) => node && (/auto|scroll/.test(getComputedStyle(node).overflowX) || scrolls(node.parentElement));
  return document.documentElement.scrollWidth <= innerWidth && ![...document.querySelectorAll('#columns, #columns *')].some((node) => wide(node) && !node.closest("[aria-hidden=true]") && !scrolls(node.parentElement));
}"""


def at_a_replacement(page: Page) -> None:
    """Stop at a finished cycle with the most different states among the first ones."""
    best, most = 0, -1
    page.keyboard.press("Home")
    for _ in range(12):
        page.keyboard.press("n")
        page.keyboard.press("ArrowRight")
        kinds = page.locator(".sd-block .sd-chip[data-state]").evaluate_all("c => new Set(c.map(x => x.dataset.state)).size")
        if kinds > most:
            best, most = int(page.locator("#player .sd").get_attribute("data-frame")), kinds
    page.locator(".sd-scrub").evaluate("(e, k) => { e.value = k; e.dispatchEvent(new Event('input', {bubbles: true})); }", best)
    page.mouse.move(0, 0)


@pytest.fixture(scope="session")
def showcase(serve, fake, recorded: Path) -> str:
    """An app that plays the project's own recording, or the test's where there is none."""
    return serve(lambda progress: fake, RECORDED if any(RECORDED.glob("*.json")) else recorded)


def test_light(visit, showcase, pictures):
    page = visit(showcase, color_scheme="light")
    at_a_replacement(page)
    page.screenshot(path=pictures / "page.png")
    page.locator("#player").screenshot(path=pictures / "stage.png")  # scrolls to it
    assert page.locator("h1").count() == 1
    assert page.evaluate(WIDTH_FITS)


def test_dark(visit, showcase, pictures):
    page = visit(showcase + "?__theme=dark", color_scheme="dark")
    at_a_replacement(page)
    page.screenshot(path=pictures / "dark.png", full_page=True)
    fill = page.locator(".sd-verdicts .sd-chip[data-state=accepted]").first.evaluate("c => getComputedStyle(c).backgroundColor")
    assert fill == "rgb(31, 109, 181)"


def test_small_and_still(visit, showcase, pictures):
    page = visit(showcase, viewport={"width": 320, "height": 700}, reduced_motion="reduce")
    at_a_replacement(page)
    page.screenshot(path=pictures / "small.png", full_page=True)
    assert page.evaluate(WIDTH_FITS)
    moving = page.locator(".sd-block .sd-chip").first.evaluate("c => getComputedStyle(c).transitionDuration")
    assert moving == "0s"
