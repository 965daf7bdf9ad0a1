"""The Theory view in a real browser: opening, dragging by keyboard, typing, taking a position of a run, enumerating; axe; pictures."""

from __future__ import annotations

from pathlib import Path

import gradio as gr
import pytest
from conftest import free_port, type_when_settled
from playwright.sync_api import Page, expect
from test_looks import WIDTH_FITS

from sdiff.trace import Trace
from sdiff.ui.components import player
from sdiff.ui.live import source_line
from sdiff.ui.page import launch
from sdiff.ui.theory_view import build_theory

LAWS, STATUS, SENTENCE = "#theory-laws", "#theory-status", "#theory-laws .th-sentence"


@pytest.fixture(scope="module")
def theory(recorded: Path):
    """An app with a recorded run on the stage and the view in a second tab."""
    trace = Trace.from_json((recorded / "first.json").read_text(encoding="utf-8"))
    with gr.Blocks(title="Theory", analytics_enabled=False) as demo:
        gr.Markdown("# Theory")
        with gr.Tab("Stage"):
            stage = player(source_line("recorded") + trace.to_ndjson(), elem_id="player")
        with gr.Tab("Theory"):
            build_theory(stage)
    yield launch(demo, "127.0.0.1", free_port(), prevent_thread_lock=True, quiet=True).rstrip("/")
    demo.close()


@pytest.fixture
def opened(visit, theory):
    def open_(query: str = "", **options) -> Page:
        page = visit(theory + query, **options)
        page.get_by_role("tab", name="Theory").click()
        expect(page.locator(f"{LAWS} .th-laws tbody tr")).to_have_count(4)
        return page

    return open_


def law(page: Page, name: str) -> list[float]:
    return [float(v) for v in page.locator(f"{LAWS} .th-cell-{name} .th-box").evaluate_all("boxes => boxes.map(b => b.value)")]


def fact(page: Page, name: str):
    return page.locator(f"{LAWS} [data-fact={name}] .th-value")


def set_slider(page: Page, selector: str, value: str) -> None:
    box = page.locator(f"{selector} input[type=number]")
    box.fill(value)
    box.press("Tab")


def test_bars_answer_to_keys_and_keep_the_focus(opened):
    page = opened()
    assert law(page, "p") == [0.5, 0.3, 0.15, 0.05]
    bar = page.get_by_role("slider", name="p of sat")
    bar.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(STATUS)).to_contain_text("p of “sat” is now 0.510")
    page.keyboard.press("ArrowRight")
    expect(page.locator(STATUS)).to_contain_text("p of “sat” is now 0.520")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "p of sat"
    assert law(page, "p") == pytest.approx([0.52, 0.288, 0.144, 0.048], abs=1e-4)
    box = page.get_by_role("spinbutton", name="q of ran")
    box.fill("1")
    box.press("Enter")
    expect(page.locator(STATUS)).to_contain_text("q of “ran” is now 1.000")
    assert law(page, "q") == [0, 0, 0, 1]
    expect(page.locator(f"{LAWS} .th-cell-keep").first).to_contain_text("not drafted")
    box.fill("7")
    box.press("Enter")
    expect(page.locator(STATUS)).to_contain_text("must be a number from 0 to 1")
    assert law(page, "p") == pytest.approx([0.52, 0.288, 0.144, 0.048], abs=1e-4)
    page.locator("#theory-disagree").click()
    expect(box).to_have_value("0.4")


def test_rule_and_leniency_move_the_picture_and_the_chart(opened):
    page = opened()
    expect(fact(page, "bias")).to_have_text("0.135")
    set_slider(page, "#theory-leniency", "0")
    expect(page.locator(SENTENCE)).to_contain_text("Exact")
    expect(fact(page, "bias")).to_have_text("0")
    set_slider(page, "#theory-leniency", "0.5")
    expect(page.locator(SENTENCE)).to_contain_text("Leniency keeps 0.225 more")
    button = page.locator("#theory-chart").get_by_role("button", name="Top-k match")
    button.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#theory-rule input")).to_have_value("Top-k match")
    expect(page.locator(f"{LAWS} .th-setting")).to_contain_text("Top-k match, k = ")
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#theory-chart .th-sentence")).to_contain_text("Below it at some leniency:")
    assert page.locator("#theory-chart path.th-now").count() == 16  # eight in the chart, eight in its legend


def test_laws_are_typed_drawn_and_taken(opened):
    page = opened()
    page.locator("#theory-own button").first.click()
    box = page.locator("#theory-p textarea, #theory-p input")
    expect(box).to_have_value("0.5 0.3 0.15 0.05")
    type_when_settled(box, "0.5 nan 1")
    page.locator("#theory-use").click()
    expect(page.locator(STATUS)).to_contain_text("p has 3 numbers and q has 4")
    expect(box).to_have_value("0.5 nan 1")
    page.locator("#theory-q textarea, #theory-q input").fill("1 1 1")
    page.locator("#theory-use").click()
    expect(page.locator(STATUS)).to_contain_text("not a finite number")
    box.fill("2 1 1")
    page.locator("#theory-use").click()
    expect(page.locator(STATUS)).to_contain_text("divided by their sums (p: 4, q: 3)")
    assert law(page, "p") == [0.5, 0.25, 0.25]
    page.locator("#theory-n input").fill("8")
    page.locator("#theory-random").click()
    expect(page.locator(f"{LAWS} .th-laws tbody tr")).to_have_count(8)
    page.locator("#theory-take").click()
    expect(page.locator(STATUS)).to_contain_text("was rejected. TV(p, q) over the whole vocabulary is")
    expect(page.locator(f"{LAWS} .th-whole")).to_contain_text("summary of the recorded position")
    page.locator("#theory-cycle input").fill("999")
    page.locator("#theory-take").click()
    expect(page.locator(STATUS)).to_contain_text("There is no examined draft")


def test_the_table_is_enumerated_and_too_large_a_one_is_refused(opened):
    page = opened()
    expect(page.locator("#exact-table .th-empty")).to_be_visible()
    page.locator("#exact-run").click()
    expect(page.locator("#exact-table tbody tr")).to_have_count(10, timeout=30_000)
    verdicts = page.locator("#exact-table .th-verdict").evaluate_all("cells => cells.map(c => c.dataset.verdict)")
    assert [v == "yes" for v in verdicts] == [True, True, True, True, False] * 2
    set_slider(page, "#exact-vocabulary", "4")
    set_slider(page, "#exact-gamma", "3")
    page.locator("#exact-run").click()
    expect(page.locator("#exact-status")).to_contain_text("Lower the vocabulary V to")
    assert page.locator("#exact-table tbody tr").count() == 10


@pytest.mark.parametrize(("name", "options"), [
    ("light", {"color_scheme": "light"}), ("dark", {"color_scheme": "dark"}),
    ("small", {"viewport": {"width": 390, "height": 800}, "reduced_motion": "reduce"}), ("narrow", {"viewport": {"width": 320, "height": 700}}),
])  # fmt: skip
def test_looks_and_accessibility(opened, pictures, name, options):
    page = opened("?__theme=dark" if name in ("dark", "small") else "?__theme=light", **options)
    page.locator("#exact-run").click()
    expect(page.locator("#exact-table tbody tr")).to_have_count(10, timeout=30_000)
    page.screenshot(path=pictures / f"theory-{name}.png", full_page=True)
    assert page.evaluate(WIDTH_FITS)
    axe = pytest.importorskip("axe_playwright_python")
    page.add_script_tag(path=Path(axe.__file__).parent / "axe.min.js")
    found = page.evaluate("() => axe.run({ exclude: [['[role=tablist]']] })")["violations"]  # the page's own
    serious = [(v["id"], [n["html"][:120] for n in v["nodes"]][:3]) for v in found if v["impact"] in ("serious", "critical")]
    assert not serious, serious
