"""Stored runs: made again, chosen, and shown as failures with their own numbers."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import expect
from test_player import STAGE

from sdiff.measures import rates, statistics
from sdiff.trace import Trace
from sdiff.ui import strings
from sdiff.ui.recordings import RECORDED, REQUESTS, TRIES, bears_out, figures, gallery, record, stored


@pytest.fixture(scope="module")
def folder(fake, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("all")
    assert list(record(fake.stream, folder)) == list(REQUESTS)
    return folder


def test_recording_writes_every_run_whole(folder, fake):
    assert sorted(str(path.relative_to(folder).with_suffix("")) for path in folder.rglob("*.json")) == sorted(REQUESTS)
    assert not list(folder.rglob("*.part"))
    before = (folder / "03-prose.json").read_text(encoding="utf-8")
    assert list(record(fake.stream, folder, ["03-prose"])) == ["03-prose"]
    assert Trace.from_json(before).events[1:] == Trace.from_json((folder / "03-prose.json").read_text(encoding="utf-8")).events[1:]
    (folder / "gallery" / "other.json").write_text("not a run", encoding="utf-8")
    assert [name for name, *_ in gallery(folder)] == list(strings.GALLERY)


def test_a_run_is_made_again_with_other_seeds_until_it_shows_what_it_is_for(fake, tmp_path):
    asked = []

    def stream(request):
        asked.append(request.seed)
        return fake.stream(replace(request, seed=8, plain=request.seed < 9))  # plain decoding rejects nothing

    assert list(record(stream, tmp_path, ["01-masked"])) == ["01-masked"]
    assert asked == [7, 8, 9]
    list(record(lambda request: fake.stream(replace(request, plain=True)), tmp_path, ["01-masked"]))  # never: the last one stays
    assert Trace.from_json((tmp_path / "01-masked.json").read_text(encoding="utf-8")).events[0].settings["seed"] == 6 + TRIES


@pytest.mark.parametrize("name", REQUESTS)
def test_the_shipped_runs_show_what_they_are_for(name):
    assert bears_out(name, Trace.from_json((RECORDED / f"{name}.json").read_text(encoding="utf-8")))


def test_the_gallery_quotes_its_own_runs(folder):
    for _, trace in stored(folder / "gallery"):
        stats, told = statistics(trace.events), figures(trace)
        assert told["tau"] == stats["tau"]
        assert told["kept"] == sum(stats["accepted"])
        assert told["first"] == rates(stats)[0]["survival"]
        assert told["cycle_ms"] * stats["cycles"] == pytest.approx(stats["ms"]["draft"] + stats["ms"]["verify"] + stats["ms"]["examine"])


def test_choosing_a_run_plays_it_and_sets_the_controls(visit, serve, fake, folder):
    page = visit(address := serve(lambda progress: fake, folder))
    chosen = page.locator("#recorded input")
    expect(chosen).to_have_value(re.compile("Code"))
    for field, value in {"steps": "4", "leniency": "0.3", "gamma": "8"}.items():  # the controls say what the stage plays
        expect(page.locator(f"#{field} input[type=number]")).to_have_value(value)
    expect(page.locator("#law")).to_contain_text("Not lossless")
    chosen.click()
    page.get_by_role("option", name="Word problem").click()
    expect(page.locator("#prompt textarea")).to_have_value(REQUESTS["02-uniform"].prompt)
    expect(page.locator(".sd-setting")).to_contain_text("uniform")
    expect(page.locator("#steps input[type=number]")).to_have_value("4")
    page.get_by_role("tab", name="Learn").click()
    expect(page.locator(".failure")).to_have_count(len(strings.GALLERY))
    title = strings.GALLERY["lenient"][0]
    page.get_by_role("button", name=strings.GALLERY_PLAY.format(title=title)).click()
    expect(page.locator(STAGE)).to_be_visible()
    expect(page.locator(".sd-setting")).to_contain_text("λ = 1")
    expect(page.locator("#leniency input[type=number]")).to_have_value("1")
    expect(chosen).to_have_value("")  # a run of the gallery is none of the list's
    chosen.click()
    page.get_by_role("option", name="Story").click()
    expect(page.locator("#steps input[type=number]")).to_have_value("2")
    page.locator("#run").click()
    expect(page.locator(STAGE)).to_have_attribute("data-source", "live", timeout=20_000)
    expect(chosen).to_have_value("")
    other = visit(f"{address}?run=02-uniform")
    expect(other.locator("#recorded input")).to_have_value(re.compile("Word problem"))
    expect(other.locator("#seed input")).to_have_count(0)  # in a closed accordion
    expect(other.locator("#noise input:checked")).to_have_value("uniform")
    bare = visit(f"{address}?steps=2")  # an address names what differs from the defaults, not from the stage
    expect(bare.locator("#steps input[type=number]")).to_have_value("2")
    expect(bare.locator("#leniency input[type=number]")).to_have_value("0")


def test_a_recorded_race_is_nobodys_doing(visit, serve, fake, folder):
    """The lesson's last step asks for a race of one's own."""
    page = visit(serve(lambda progress: fake, folder))
    page.evaluate("() => document.addEventListener('sd-race', ({ detail }) => { window.raced = detail.raced; })")
    page.get_by_role("tab", name="Race").click()
    expect(page.locator(".rc-lane")).to_have_count(3)
    page.locator(".rc-scrub").evaluate("e => { e.value = e.max; e.dispatchEvent(new Event('input', {bubbles: true})); }")
    expect(page.locator("#race .rc")).to_have_attribute("data-mode", "ended")
    assert page.evaluate("() => window.raced") is False
