"""No serious finding of axe in any view, light, dark and as presenter."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from test_player import pause

from sdiff.ui import strings


def serious(page: Page) -> list[str]:
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [f"{v['id']}: {node['html'][:160]}" for v in found if v["impact"] in ("serious", "critical") for node in v["nodes"]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_view_has_a_serious_finding(visit, app, scheme):
    page = visit(f"{app}?__theme={scheme}", color_scheme=scheme)
    pause(page)
    page.keyboard.press("Home")
    page.keyboard.press("n")
    page.keyboard.press("ArrowRight")
    page.locator(".tr-open").click()
    page.locator(".sd-table summary").click()
    page.locator(".sd-keys summary").click()
    page.locator(".sd-predict-on").check()
    for label in strings.VIEWS.values():
        page.get_by_role("tab", name=label, exact=True).click()
        if label == strings.VIEWS["frontier"]:
            page.wait_for_function("() => document.querySelector('.fr').dataset.state !== 'reading'")
        assert serious(page) == [], label
    page.get_by_role("tab", name=strings.VIEWS["live"]).click()
    page.locator(".sd-present").click()
    assert serious(page) == [], "presenter"


def test_a_number_tells_what_it_means_on_focus(visit, app):
    page = visit(app)
    pause(page)
    page.keyboard.press("Home")
    page.keyboard.press("n")
    page.locator(".sd-verdicts .sd-chip[data-state]").first.focus()
    page.keyboard.press("Enter")
    page.locator(".sd-facts dt").first.wait_for()
    page.keyboard.press("Tab")  # from here on focus is a keyboard's
    told = page.evaluate("""() => [...document.querySelectorAll("#player [data-help]")].filter((node) => node.offsetParent).map((node) => {
      node.focus();
      return [node.textContent, getComputedStyle(node, "::after").content, node.getAttribute("aria-description")];
    })""")
    shown = {name: text for name, text, _ in told}
    assert all(text == f'"{spoken}"' and spoken for _, text, spoken in told)
    assert shown[strings.CARD["f"]] == f'"{strings.CARD["fHelp"]}"'
    assert {strings.CARD["topP"], strings.PLAYER["recorded"]} <= set(shown)


def test_the_numbers_tell_what_they_mean_however_narrow_the_page(visit, app):
    """The note under each part is its own; where the column of definitions has no room the names tell them."""
    page = visit(app)
    expect(page.locator(".nb-even-note")).to_have_text(strings.TABLE["breakEvenNote"])
    expect(page.locator(".nb-definitions")).to_have_text(strings.TABLE["definitions"])
    page.set_viewport_size({"width": 640, "height": 450})  # 1280 x 900 at 200 %
    expect(page.locator(".nb-help").first).to_be_hidden()
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    page.keyboard.press("Tab")
    told = page.locator("#numbers th[data-help]").evaluate_all(
        "all => all.map((node) => { node.focus(); return [node.textContent, getComputedStyle(node, '::after').content]; })"
    )
    for name, _, mark, meaning in strings.NUMBERS.values():
        assert name not in dict(told) or dict(told)[name] == f'"{meaning} ({mark})"'
    assert {strings.NUMBERS["tau"][0], strings.TABLE["acceptance"], strings.TABLE["survival"]} <= set(dict(told))
    credit = page.locator(".sd-credit").first
    assert credit.evaluate("cell => getComputedStyle(cell).overflow") == "visible"  # or it would cut off what it tells
