"""The frontier view in a real browser, in an app of its own with made-up measurements and no model."""

from __future__ import annotations

import csv
import gzip
import os
import re
import sys
import time
from pathlib import Path

import gradio as gr
import pytest
from fake_pair import FakePair
from playwright.sync_api import Page, expect

sys.path.insert(0, str(Path(__file__).parents[1]))

import frontier_rows as rows

from sdiff.bench.settings import Setting, measured
from sdiff.bench.traces import path_of
from sdiff.request import Request
from sdiff.trace import Trace
from sdiff.ui import strings
from sdiff.ui.engine import Engine
from sdiff.ui.frontier_view import build_frontier
from sdiff.ui.page import launch

NASTY = "<img src=x onerror=window.hacked=1> ${window.hacked=2} {{window.hacked=3}} <b>bold</b>"
DRAWN = "() => document.querySelector('#frontier .fr-plot.js-plotly-plot') && document.querySelector('#frontier .fr-table tbody tr')"
MOUNTED = "() => document.querySelector('#frontier .fr') && window.__gradio_session_hash__"
WIDTH_FITS = "() => document.documentElement.scrollWidth <= innerWidth"
TARGET = measured("reasoning", "masked", 4, 0.4)


def trace_of(**settings) -> Trace:
    trace = Trace()
    for _ in trace.record(FakePair().stream(Request("How many apples are 3 and 4?", **settings))):
        pass
    return trace


@pytest.fixture(scope="session")
def apps():
    """apps(shipped, own) -> address of a page with the view in its second tab, a line that shows what was picked, and own runs."""
    opened = []

    def start(shipped: Path, own: Path | None = None, runs: tuple[Trace, ...] = (), pair: FakePair | None = None) -> str:
        with gr.Blocks(title="frontier", analytics_enabled=False) as demo:
            gr.Markdown("# The frontier alone")
            with gr.Tabs():
                with gr.Tab("First"):
                    gr.Markdown("Nothing here.")
                with gr.Tab("Frontier"):
                    view = build_frontier(
                        Engine(lambda progress: pair or FakePair()).start(),
                        True,
                        shipped,
                        own or shipped.with_name("no-own"),
                        lambda: rows.MODELS,
                    )
                    told = gr.Textbox(label="picked", elem_id="told", lines=2)

            def show(page: gr.Request, event: gr.EventData) -> tuple[str, str]:
                picked = view.picked(event)
                for trace in runs:
                    view.own.add(page.session_hash or "", trace)
                return f"{picked.sentence} | {picked.values.get('steps')} | {picked.trace is not None}", f"{picked.tone}:{picked.sentence}"

            view.chart.pick(show, None, [told, view.status], queue=False, show_progress="hidden", api_visibility="private")
        opened.append(demo)
        return launch(demo, "127.0.0.1", None, prevent_thread_lock=True, quiet=True).rstrip("/")

    yield start
    for demo in opened:
        demo.close()


@pytest.fixture(scope="session")
def frontier(apps, tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("frontier")
    rows.shipped(folder / "shipped", ("reasoning", "chat"))
    rows.own(folder / "own")
    path = path_of(folder / "shipped", TARGET)
    path.parent.mkdir()
    path.write_bytes(gzip.compress(trace_of(leniency=0.4).to_json().encode()))
    nasty = rows.Store(folder / "shipped")
    nasty.add("quality", 0, rows.quality_rows([Setting("reasoning", "masked", 4, 0.4, NASTY)], 10))
    nasty.add("speed", 1, rows.speed_rows([Setting("reasoning", "masked", 4, 0.4, NASTY)], 5))
    return apps(folder / "shipped", folder / "own", (trace_of(steps=4, leniency=0.4), trace_of(plain=True)))


@pytest.fixture
def look(visit):
    """look(address, **context) -> a page on the Frontier tab, drawn (or, with wait=False, only mounted)."""

    def opened(url: str, wait: str = DRAWN, **context) -> Page:
        page = visit(url, wait=False, **context)
        page.wait_for_function("() => window.__gradio_session_hash__ && document.querySelector('[role=tab]')")
        assert page.evaluate("() => !window.Plotly"), "the script is for those who open the view"
        page.get_by_role("tab", name="Frontier").click()
        page.wait_for_function(MOUNTED)
        page.wait_for_function(wait)
        return page

    return opened


@pytest.fixture
def picture(tmp_path):
    """picture(page, name): for people, when SDIFF_PICTURES names a folder."""
    folder = Path(os.environ.get("SDIFF_PICTURES") or tmp_path)
    return lambda page, name: page.screenshot(path=folder / f"frontier-{name}.png", full_page=True)


def choose(page: Page, group: str, name: str) -> None:
    page.locator(group).get_by_text(name, exact=True).click()


def redrawn(page: Page, act) -> None:
    """Wait until the chart has been drawn again after `act`."""
    before = int(page.locator(".fr-plot").get_attribute("data-drawn"))
    act()
    page.wait_for_function(f"() => Number(document.querySelector('.fr-plot').dataset.drawn) > {before}")


def test_a_click_on_a_point_picks_it(look, frontier, picture):
    page = look(frontier)
    page.locator(".fr-plot").evaluate("e => e.scrollIntoView({block: 'center'})")
    box = page.evaluate(
        """() => { const box = document.querySelector('.fr-plot'), k = box.data.findIndex(t => t.customdata && t.mode === 'markers+text'), i = 2;
        const a = box._fullLayout, r = box.getBoundingClientRect(), t = box.data[k];
        return [r.x + a.xaxis._offset + a.xaxis.l2p(t.x[i]), r.y + a.yaxis._offset + a.yaxis.l2p(t.y[i]), t.hovertext[i].split('<br>')[0]]; }"""
    )
    page.mouse.move(box[0], box[1])
    page.wait_for_selector(".fr-plot .hoverlayer .hovertext")
    page.mouse.click(box[0], box[1])
    steps = re.search(r"S = (\d)", box[2])[1]
    expect(page.locator("#told textarea")).to_have_value(re.compile(rf"The controls are set to .*S = {steps}.*\| {steps} \|"))
    expect(page.locator(".fr-table tr[aria-current]")).to_have_count(1)
    picture(page, "light")


def test_the_keyboard_picks_a_row_and_its_decode(look, frontier):
    page = look(frontier)
    page.locator(".fr-all").focus()
    page.keyboard.press("Space")
    button = page.locator(".fr-table button", has_text="masked, S = 4, tv λ = 0.4").first
    button.focus()
    ringed = "() => document.querySelector('.fr-plot').data.some(t => t.marker && t.marker.size === 30)"
    page.wait_for_function(ringed)
    page.keyboard.press("Enter")
    expect(page.locator("#told textarea")).to_have_value(re.compile(r"its recorded decode plays.*\| 4 \| True"))
    expect(page.locator("#frontier-status")).to_contain_text("its recorded decode plays")
    expect(page.locator(".fr-table button:focus")).to_have_text("masked, S = 4, tv λ = 0.4")
    page.keyboard.press("Tab")
    expect(page.locator(".fr-table button:focus")).to_have_count(1)


def test_zoom_is_kept_and_filters_and_question_redraw(look, frontier):
    page = look(frontier)
    ranges = "() => JSON.stringify(['xaxis', 'yaxis'].map(a => document.querySelector('.fr-plot').layout[a].range))"
    page.evaluate("() => { document.querySelector('.fr-plot').marked = 1; }")
    plot = page.locator(".fr-plot .nsewdrag").first.bounding_box()
    page.mouse.move(plot["x"] + 120, plot["y"] + 60)
    page.mouse.down()
    page.mouse.move(plot["x"] + 330, plot["y"] + 230, steps=4)
    page.mouse.up()
    page.wait_for_function("() => document.querySelector('.fr-plot').layout.xaxis.autorange === false")
    zoomed = page.evaluate(ranges)
    redrawn(page, lambda: choose(page, "#frontier-noise", "Uniform"))
    expect(page.locator(".fr-counted")).to_contain_text("of 26 settings")
    assert page.evaluate(ranges) == zoomed
    assert page.evaluate("() => document.querySelector('.fr-plot').marked") == 1, "the same node"
    redrawn(page, lambda: page.locator("#frontier-bound input").fill("20"))
    expect(page.locator(".fr-answer")).to_contain_text("Take: ")
    exact = page.locator(".fr-answer").get_by_text("Lossless: the text follows").count()
    assert exact == page.locator(".fr-answer p button").first.inner_text().endswith("λ = 0")
    expect(page.locator(".fr-answer li").first).to_contain_text(re.compile(r"\d"))
    assert page.evaluate(ranges) == zoomed
    page.locator(".fr-reset").click()
    page.wait_for_function("() => document.querySelector('.fr-plot').layout.xaxis.autorange !== false")
    redrawn(page, lambda: choose(page, "#frontier-task", "Chat"))
    assert "mean TV" in page.evaluate("() => document.querySelector('.fr-plot').layout.yaxis.title.text")
    page.locator("#frontier-bound input").fill("")
    expect(page.locator(".fr-answer")).to_contain_text("as a number")
    choose(page, "#frontier-task", "Coding")
    expect(page.locator(".fr-missing")).to_contain_text("Nothing has been measured for Coding on this machine yet")


def test_labels_are_text_and_nothing_runs(look, frontier):
    page = look(frontier)
    page.locator("#frontier-rule input").click()
    page.get_by_role("option", name="Everything measured").click()
    expect(page.locator(".fr-counted")).to_contain_text("of 47 settings")
    page.locator(".fr-all").check()
    expect(page.locator(".fr-table button", has_text="onerror")).to_contain_text("<img src=x onerror=window.hacked=1> ${window.hacked=2}")
    at = page.evaluate(
        """() => { const box = document.querySelector('.fr-plot'); let hit = null;
        box.data.forEach((t, k) => (t.hovertext || []).forEach((h, i) => { if (h.includes('onerror')) hit = [k, i]; }));
        Plotly.Fx.hover(box, [{curveNumber: hit[0], pointNumber: hit[1]}]); return box.data[hit[0]].hovertext[hit[1]]; }"""
    )
    assert "&lt;img" in at
    page.wait_for_selector(".fr-plot .hoverlayer .hovertext")
    assert page.locator(".fr-plot img, .fr-table img, .fr-answer img").count() == 0
    assert "<b>bold</b>" in page.locator(".fr-plot .hoverlayer").text_content()
    assert page.evaluate("() => window.hacked") is None


def test_own_runs_and_this_machine_are_drawn_hollow(look, frontier):
    page = look(frontier)
    page.locator(".fr-table button").first.click()
    expect(page.locator("#told textarea")).to_have_value(re.compile("."))
    page.get_by_role("tab", name="First").click()
    page.get_by_role("tab", name="Frontier").click()
    expect(page.locator(".fr-own-notes")).to_contain_text("beside your last plain run of the same prompt")
    symbols = page.evaluate("() => document.querySelector('.fr-plot').data.flatMap(t => t.marker ? [t.marker.symbol].flat() : [])")
    assert {"star-open", "diamond-open"} <= set(symbols)
    page.locator(".fr-all").check()
    drawn = page.evaluate("""() => document.querySelector('.fr-plot').data.filter((t) => t.marker && t.hovertemplate)
      .flatMap((t) => [].concat(t.x)).length""")
    expect(page.locator(".fr-table tbody tr")).to_have_count(drawn)  # what is drawn is in the table
    expect(page.locator(".fr-table")).to_contain_text(strings.FRONTIER["key"]["own"])
    expect(page.locator('[data-key="own"]')).to_be_visible()


def test_the_table_downloads_as_csv(look, frontier):
    page = look(frontier)
    with page.expect_download() as download:
        page.locator(".fr-csv").click()
    assert download.value.suggested_filename == "frontier-reasoning.csv"
    lines = list(csv.reader(Path(download.value.path()).read_text(encoding="utf-8").splitlines()))
    head, body = lines[0], [line for line in lines[1:] if line and line[0] == "points"]
    assert len(body) == 36
    assert {"speed", "speed_low", "quality_high", "n", "chance"} <= set(head)
    assert any("a made-up machine" in "".join(line) for line in lines)


def axe(page: Page) -> list[str]:
    """Serious findings of axe-core inside the view."""
    package = pytest.importorskip("axe_playwright_python")
    page.add_script_tag(path=Path(package.__file__).parent / "axe.min.js")
    found = page.evaluate("async () => (await axe.run()).violations")
    return [f"{v['id']}: {v['nodes'][0]['html'][:120]}" for v in found if v["impact"] in ("serious", "critical")]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_findings_and_the_colours_follow(look, frontier, picture, scheme):
    page = look(frontier + "?__theme=" + scheme, color_scheme=scheme, viewport={"width": 1280, "height": 1000})
    page.get_by_role("button", name="Measure on this machine").click()
    expect(page.locator("#measure-start")).to_be_visible()
    assert axe(page) == []
    font = page.evaluate("() => document.querySelector('.fr-plot').layout.font.color")
    ink = page.evaluate("() => getComputedStyle(document.body).getPropertyValue('--body-text-color').trim()")
    assert font == ink
    if scheme == "dark":
        picture(page, "dark")
        redrawn(page, lambda: page.evaluate("() => document.body.classList.remove('dark')"))
        assert page.evaluate("() => document.querySelector('.fr-plot').layout.font.color") != font


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (390, "dark"), (640, "light")])
def test_small_screens_fit(look, frontier, picture, width, scheme):
    page = look(frontier + "?__theme=" + scheme, viewport={"width": width, "height": 800}, reduced_motion="reduce", color_scheme=scheme)
    assert page.evaluate(WIDTH_FITS)
    plot = page.locator(".fr-plot").bounding_box()
    assert plot["width"] <= width
    assert page.evaluate("() => document.querySelector('.fr-plot .main-svg').getBoundingClientRect().width") <= width
    picture(page, f"{width}-{scheme}")


class TimedPair(FakePair):
    """Its runs can be cut short from outside, as the real one's, and take a tenth of a second each."""

    denoiser = type("Denoiser", (), {"scale": 0.7})()

    def stream(self, request: Request, stop=lambda: False, detail: bool = True):
        time.sleep(0.1)
        for event in super().stream(request):
            if stop():
                return
            yield event


def test_this_machine_is_measured_until_stopped(look, apps, tmp_path, monkeypatch):
    from sdiff.bench import personal

    monkeypatch.setattr(personal, "where", lambda pair, scale: {**rows.WHERE, "name": "a machine that was just measured"})
    monkeypatch.setattr(personal.bundled, "names", lambda folder: rows.MODELS)
    rows.shipped(tmp_path / "shipped", ("reasoning",), n=8, prompts=3)
    page = look(apps(tmp_path / "shipped", tmp_path / "own", pair=TimedPair()))
    page.get_by_role("button", name="Measure on this machine").click()
    page.locator("#measure-start").click()
    expect(page.locator("#measure-start")).to_be_disabled()
    expect(page.locator("#measure-status")).to_contain_text(
        re.compile(r"Measuring Reasoning: [1-9]\d+ of at most \d+ runs timed, at most .* left")
    )
    page.locator("#measure-stop").click()
    expect(page.locator("#measure-status")).to_contain_text("Stopped after")
    expect(page.locator("#measure-start")).to_be_enabled()
    expect(page.locator("#measure-stop")).to_be_disabled()
    expect(page.locator(".fr-where")).to_contain_text("a machine that was just measured")
    assert rows.Store(tmp_path / "own").done("speed", rows.MODELS)


def test_programs_ask_the_running_page(frontier):
    from gradio_client import Client

    client = Client(frontier, verbose=False)
    told = client.predict("reasoning", None, 2.0, api_name="/recommend")
    assert told["best"]["speed"] >= 2
    assert told["rejected"]
    assert len(client.predict("chat", api_name="/frontier")["main"]["points"]) == 39
    with pytest.raises(Exception, match="not both"):
        client.predict("reasoning", 0.5, 2.0, api_name="/recommend")


def test_an_empty_store_explains_itself(look, apps, tmp_path, picture):
    page = look(apps(tmp_path / "nothing"), wait="() => document.querySelector('.fr').dataset.state === 'none'")
    expect(page.locator(".fr-missing")).to_contain_text("Nothing has been measured with these models yet")
    expect(page.locator(".fr-columns")).to_be_hidden()
    page.locator(".fr-definitions").is_visible()
    picture(page, "empty")


def test_a_larger_verifier_is_modelled_on_request(look, frontier, picture):
    page = look(frontier)
    page.locator("#frontier-place input").click()
    redrawn(page, lambda: page.get_by_role("option", name="modelled: a step = 1 %").click())
    expect(page.locator(".fr-plot .xtitle")).to_have_text("modelled speed, × plain decoding")
    expect(page.locator(".fr-notes")).to_contain_text("Modelled, not timed")
    expect(page.locator('[data-key="mine"]')).to_be_hidden()
    picture(page, "modelled")
