"""The key that prints: every mark, number and key, alone on one sheet, and not when another view is printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from sdiff.ui import states, strings
from sdiff.ui.key_view import key_html

ROOT = Path(__file__).parents[2]
SEEN = """() => [...document.querySelectorAll("body *")].filter((node) => node.getClientRects().length && !node.closest(".ky"))
  .filter((node) => !node.querySelector(".ky")).map((node) => node.outerHTML.slice(0, 80))"""
LOOKS = """(chips) => chips.map((chip) => {
  const own = getComputedStyle(chip), token = getComputedStyle(chip.lastChild);
  return [chip.firstChild.textContent, own.borderStyle, own.borderWidth, own.borderColor, token.textDecorationLine, token.textDecorationStyle].join();
})"""
MARGIN = "12mm"  # as a printer leaves it


def open_key(page: Page) -> None:
    page.evaluate("() => { window.print = () => { window.printed = (window.printed || 0) + 1; }; }")
    page.get_by_role("tab", name="Learn").click()
    expect(page.locator("#key .ky")).to_be_visible()


def sheets(page: Page, **options) -> int:
    pdf = page.pdf(format="A4", margin=dict.fromkeys(("top", "bottom", "left", "right"), MARGIN), **options)
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


def test_the_key_is_made_of_the_tables():
    html = unescape(key_html())
    for state in states.STATES:
        assert f'<span class="sd-glyph">{state.glyph}</span>' in html
        assert state.word in html
    for _, _, _, says in strings.NUMBERS.values():
        assert says in html
    assert html.count("<kbd>") == len(strings.KEYS)


def test_the_button_prints_the_key_alone_on_one_sheet(page, pictures):
    open_key(page)
    page.locator("#key").screenshot(path=pictures / "key.png")
    page.get_by_role("button", name=strings.KEY["print"]).click()
    assert page.evaluate("() => window.printed") == 1
    page.emulate_media(media="print")
    expect(page.locator(".ky h2")).to_be_visible()
    expect(page.locator(".ky-print")).to_be_hidden()
    assert page.evaluate(SEEN) == []
    assert sheets(page) == 1
    looks = page.locator(".ky .sd-chip").evaluate_all(LOOKS)
    assert len(set(looks)) == len(states.STATES), "without colour"
    inks = page.locator(".ky .sd-chip, .ky dd").evaluate_all("nodes => [...new Set(nodes.map((n) => getComputedStyle(n).color))]")
    assert inks == ["rgb(0, 0, 0)"]
    (pictures / "key.pdf").write_bytes(page.pdf(format="A4", margin=dict.fromkeys(("top", "bottom", "left", "right"), MARGIN)))
    page.evaluate("() => dispatchEvent(new Event('afterprint'))")
    expect(page.locator("#notes")).to_be_visible()


def test_what_is_printed_without_the_button_is_what_is_open(page):
    open_key(page)
    page.emulate_media(media="print")
    expect(page.locator("#notes")).to_be_visible()
    page.get_by_role("tab", name="Live").click()
    expect(page.locator("#player .sd")).to_be_visible()


def test_the_dark_page_prints_black_on_white(visit, app):
    page = visit(app + "?__theme=dark", color_scheme="dark")
    open_key(page)
    page.get_by_role("button", name=strings.KEY["print"]).click()
    page.emulate_media(media="print")
    assert page.locator(".ky").evaluate("e => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor].join(' ')") == (
        "rgb(0, 0, 0) rgb(255, 255, 255)"
    )
    assert sheets(page, print_background=True) == 1


@pytest.mark.parametrize("language", [name for name in strings.LANGUAGES if name != "en"])
def test_every_language_fits_on_one_sheet(page, language):
    """Its words in the place of these."""
    open_key(page)
    made = subprocess.run(
        [sys.executable, "-c", "from sdiff.ui.key_view import key_html; print(key_html())"],
        cwd=ROOT, env={**os.environ, "SDIFF_LANGUAGE": language}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    page.get_by_role("button", name=strings.KEY["print"]).click()
    page.locator("#key .ky").evaluate("(node, html) => { node.outerHTML = html; }", made.stdout)
    page.emulate_media(media="print")
    assert sheets(page) == 1
