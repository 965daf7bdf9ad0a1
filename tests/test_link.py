"""Lesson links: what is good is kept, what is bad is clamped or left out and said, whatever the text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdiff.request import LIMITS, MAX_PROMPT_CHARACTERS, Request
from sdiff.ui import strings
from sdiff.ui.link import MOST_NOTES, SETTINGS, VIEW_CHOICES, VIEW_TEXTS, read_link


def test_a_good_link_is_taken_as_it_is():
    query = {"prompt": "Hi <b>", "steps": "3", "leniency": "0.25", "noise": "uniform", "rule": "cactus", "proposal": "", "seed": "9007199254740991",
             "raw": "1", "original": "false", "view": "race", "cycle": "4", "hide": "seed,rule", "ask": "How many?"}  # fmt: skip
    link = read_link(query)
    assert link.notes == []
    assert link.settings == {"prompt": "Hi <b>", "steps": 3, "leniency": 0.25, "noise": "uniform", "rule": "cactus", "proposal": "",
                             "seed": 2**53 - 1, "raw": True, "original": False}  # fmt: skip
    assert (link.view, link.cycle, link.hidden, link.question) == ("race", 4, ("seed", "rule"), "How many?")
    assert Request(**link.settings)


@pytest.mark.parametrize(("name", "text", "value"), [("steps", "99", 16), ("steps", "2.6", 3), ("leniency", "-1", 0.0), ("leniency", "inf", 1.0),
                                                     ("gamma", "1e300", 8), ("top_p", "0", 0.01), ("cycle", "0", 1)])  # fmt: skip
def test_numbers_out_of_range_are_clamped_and_it_is_said(name, text, value):
    link = read_link({name: text})
    assert (link.cycle if name == "cycle" else link.settings[name]) == value
    assert len(link.notes) == 1
    assert text in link.notes[0]
    assert name in link.notes[0]


@pytest.mark.parametrize(("name", "text"), [("steps", "many"), ("steps", "nan"), ("noise", "pink"), ("rule", "<img>"), ("raw", "maybe"),
                                            ("view", "moon"), ("hide", "everything"), ("cycle", "")])  # fmt: skip
def test_what_is_unknown_is_left_out_and_it_is_said(name, text):
    link = read_link({name: text})
    assert name not in link.settings
    assert (link.view, link.cycle, link.hidden) == ("", 0, ())
    assert len(link.notes) == 1


def test_an_enormous_prompt_is_cut():
    link = read_link({"prompt": "x" * 10**6, "ask": "y" * 10**6})
    assert len(link.settings["prompt"]) == MAX_PROMPT_CHARACTERS
    assert len(link.question) == 300
    assert len(link.notes) == 1


def test_the_state_of_a_view_is_taken_clamped_or_left_out():
    good = {"frontier_task": "coding", "frontier_noise": "uniform", "frontier_rule": "", "frontier_aim": "speed", "theory_rule": "cactus",
            "theory_p": "0.5 0.5", "theory_q": "1/4 3/4", "theory_tokens": "a|b", "frontier_place": "here"}  # fmt: skip
    link = read_link({**good, "frontier_bound": "1.5", "theory_leniency": "0.7"})
    assert link.notes == []
    assert link.state == {**good, "frontier_bound": 1.5, "theory_leniency": 0.7}
    assert read_link({"frontier_aim": "quality"}).state["frontier_bound"] == 0.5
    for query, name, value in (({"frontier_aim": "quality", "frontier_bound": "7"}, "frontier_bound", 1), ({"theory_leniency": "-2"}, "theory_leniency", 0),
                               ({"frontier_task": "moon"}, "frontier_task", None), ({"theory_rule": "tv_bank"}, "theory_rule", None),
                               ({"theory_p": "1 " * 400}, "theory_p", None), ({"frontier_bound": "much"}, "frontier_bound", None)):  # fmt: skip
        link = read_link(query)
        assert link.state.get(name) == value
        assert len(link.notes) == 1
        assert name in link.notes[0]


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(st.sampled_from([*SETTINGS, "view", "cycle", "hide", "ask", "other", *VIEW_CHOICES, *VIEW_TEXTS]), st.text(max_size=60))
)
def test_any_query_gives_settings_that_can_run(query):
    link = read_link(query)
    request = Request(**{"prompt": "", **link.settings})
    for name, (low, high) in LIMITS.items():
        assert low <= getattr(request, name) <= high
    assert link.view in ("", *strings.VIEWS)
    assert len(link.notes) <= MOST_NOTES + 1
    link.question.encode()
