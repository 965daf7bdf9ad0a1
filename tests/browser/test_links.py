"""Lesson links and endpoints in a running app."""

from __future__ import annotations

import json
import re
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from conftest import type_when_settled
from playwright.sync_api import Page, expect
from test_player import STAGE, pause
from test_runs import NASTY, start

from sdiff.request import Request
from sdiff.trace import Trace


def test_a_link_goes_round(visit, app):
    """Settings, view and cycle of one page come back in another one that opens its link."""
    page = visit(app)
    pause(page)
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    cycle = page.locator(STAGE).get_attribute("data-cycle")
    page.locator("#prompt textarea").fill(NASTY)
    page.locator("#leniency input[type=number]").fill("0.4")
    page.locator("#leniency input[type=number]").press("Tab")
    page.locator("#link button").first.click()
    page.locator("#make-link").click()
    expect(page.locator("#link-box textarea, #link-box input")).not_to_have_value("")
    link = page.locator("#link-box textarea, #link-box input").input_value()
    assert parse_qs(urlsplit(link).query) == {"prompt": [NASTY], "leniency": ["0.4"], "seed": ["7"], "run": ["first"], "cycle": [cycle]}
    other = visit(link)
    expect(other.locator("#prompt textarea")).to_have_value(NASTY)
    expect(other.locator("#leniency input[type=number]")).to_have_value("0.4")
    expect(other.locator(STAGE)).to_have_attribute("data-cycle", cycle)
    expect(other.locator("#asked")).to_contain_text("press Run")
    assert other.evaluate("() => window.hacked") is None


def test_a_bad_link_is_put_right_and_says_so(visit, app):
    query = {"steps": "99", "noise": "pink", "view": "race", "hide": "seed,rule", "ask": "How many <b>survive</b>?", "run": "../secret"}
    page = visit(app + "?" + urlencode(query))
    expect(page.locator("#steps input[type=number]")).to_have_value("16")
    for text in ("How many <b>survive</b>?", "steps 99 is out of range; 16 is used", "noise “pink”", "run “../secret”"):
        expect(page.locator("#asked")).to_contain_text(text)
    expect(page.locator("#race .rc")).to_be_visible()
    expect(page.locator("#rule")).to_have_count(0)
    page.get_by_role("tab", name="Live").click()
    start(page, "Hello")
    expect(page.locator(STAGE)).to_have_attribute("data-source", "live", timeout=20_000)


def link_of(page: Page) -> dict[str, list[str]]:
    """The query of the address that the page makes now."""
    box = page.locator("#link-box textarea, #link-box input")
    if not page.locator("#make-link").is_visible():
        page.locator("#link button").first.click()
    before = box.input_value()
    page.locator("#make-link").click()
    expect(box).not_to_have_value(before)
    return parse_qs(urlsplit(box.input_value()).query, keep_blank_values=True)


def test_what_a_view_is_set_to_goes_round(visit, app):
    """Frontier: task, rule and question. Theory: laws with their names, rule, leniency and the fields of the table."""
    frontier = {
        "view": ["frontier"],
        "frontier_task": ["coding"],
        "frontier_rule": [""],
        "frontier_aim": ["speed"],
        "frontier_bound": ["1.5"],
    }
    laws = {"theory_p": ["0.7 0.2 0.1"], "theory_q": ["0.1 0.2 0.7"], "theory_tokens": ["sat|lay|ran <b>"]}
    table = {
        "theory_vocabulary": ["2"],
        "theory_steps": ["3"],
        "theory_noise": ["uniform"],
        "theory_proposal": ["paced"],
        "theory_seed": ["5"],
    }
    theory = {"view": ["theory"], "theory_rule": ["lenience"], "theory_leniency": ["0.6"], **table, **laws}
    for sent in (frontier, theory):
        page = visit(app + "?" + urlencode(sent, doseq=True))
        if sent is theory:
            expect(page.locator("#theory-laws tbody th").last).to_have_text("ran <b>", timeout=60_000)  # torch may be loaded first
            expect(page.locator("#exact-vocabulary input[type=number]")).to_have_value("2")
            expect(page.locator("#exact-seed input")).to_have_value("5")
        else:
            expect(page.locator("#frontier-bound input")).to_have_value("1.5")
        got = link_of(page)
        stage = ("run", "cycle", "prompt", "leniency", "seed")  # what is on it, and the controls as it was made
        assert {name: value for name, value in got.items() if name not in stage} == sent


def test_a_teacher_leaves_controls_out_and_asks_without_typing_an_address(visit, app):
    page = visit(app)
    pause(page)
    page.locator("#link button").first.click()
    for label in ("Seed", "Acceptance rule"):
        page.locator("#link-hide input").click()
        page.get_by_role("option", name=label).click()
    page.keyboard.press("Escape")
    type_when_settled(page.locator("#link-ask textarea, #link-ask input"), NASTY)
    query = link_of(page)
    assert (query["hide"], query["ask"]) == (["seed,rule"], [NASTY])
    other = visit(app + "?" + urlencode(query, doseq=True))
    expect(other.locator("#asked")).to_contain_text(NASTY)
    expect(other.locator("#rule")).to_have_count(0)
    kept = link_of(other)
    assert (kept["hide"], kept["ask"]) == (["seed,rule"], [NASTY])
    other.locator("#link-ask textarea, #link-ask input").fill("")
    other.locator("#link-hide [title=Clear], #link-hide .remove-all").first.click()
    query = link_of(other)
    assert not {"hide", "ask"} & set(query)
    assert other.evaluate("() => window.hacked") is None
    asked = visit(app + "?" + urlencode({"ask": "x" * 400, "run": "y" * 400}))
    for text in ("The link's ask was cut to 300 characters", "run “yyy"):
        expect(asked.locator("#asked")).to_contain_text(text)


def test_a_decode_of_the_frontier_comes_back_by_link(visit, app):
    page = visit(app)
    page.get_by_role("tab", name="Frontier").click()
    page.locator(".fr-table button", has_text="S = ").first.click(timeout=60_000)  # torch may be loaded first
    expect(page.locator(STAGE)).to_have_attribute("data-name", re.compile("^frontier/"), timeout=60_000)
    expect(page.locator(STAGE)).to_be_visible()
    pause(page)
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    prompt, stage = (
        page.locator("#prompt textarea").input_value(),
        {name: page.locator(STAGE).get_attribute(f"data-{name}") for name in ("name", "cycle")},
    )
    query = link_of(page)
    assert (query["run"], query["cycle"]) == ([stage["name"]], [stage["cycle"]])
    other = visit(app + "?" + urlencode({name: query[name] for name in ("run", "cycle")}, doseq=True))
    for name, value in stage.items():
        expect(other.locator(STAGE)).to_have_attribute(f"data-{name}", value)
    expect(other.locator("#prompt textarea")).to_have_value(prompt)


def test_a_link_with_bad_laws_says_so(visit, app):
    page = visit(app + "?" + urlencode({"view": "theory", "theory_p": "0.5 x", "theory_q": "1", "frontier_place": "the moon"}))
    expect(page.locator("#theory-status")).to_contain_text("“x” in p is not a number")
    expect(page.locator("#asked")).to_contain_text("frontier_place “the moon”")
    expect(page.locator("#theory-laws tbody th").first).to_have_text("sat")


@pytest.fixture(scope="module")
def client(app):
    from gradio_client import Client

    return Client(app, verbose=False)


def test_programs_can_decode_and_get_the_trace(client, fake):
    expected = Trace()
    for _ in expected.record(fake.stream(Request(prompt="Hello", leniency=0.2, max_tokens=24))):
        pass
    answer = client.predict("Hello", {"leniency": 0.2, "max_tokens": 24}, api_name="/decode")
    assert answer["text"] == expected.text
    assert answer["numbers"]["tokens"] == 24
    assert answer["lossless"] is False
    document = client.predict("Hello", {"leniency": 0.2, "max_tokens": 24}, api_name="/trace")
    assert Trace.from_json(json.dumps(document)).events == expected.events


def test_programs_get_sentences_for_bad_input(client):
    for settings, sentence in (
        ({"steps": 99}, "Steps must be"),
        ({"colour": 1}, "Unknown settings: colour"),
        ({"max_tokens": None}, "must be"),
    ):
        with pytest.raises(Exception, match=sentence):
            client.predict("Hello", settings, api_name="/decode")


def test_only_the_documented_endpoints_are_listed(client):
    assert set(client.view_api(return_format="dict", print_info=False)["named_endpoints"]) == {
        "/decode",
        "/trace",
        "/frontier",
        "/recommend",
    }
