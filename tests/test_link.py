"""Lesson links: what is good is kept, what is bad is clamped or left out and said, whatever the text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdiff.request import LIMITS, MAX_PROMPT_CHARACTERS, Request
from sdiff.ui import strings
from sdiff.ui.link import LONGEST_NAME, MOST_NOTES, SETTINGS, VIEW_CHOICES, VIEW_TEXTS, VIEW_WHOLE, read_link
from sdiff.ui.recordings import RECORDED
from sdiff.ui.recordings_view import named


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
    assert link.notes == [
        strings.LINK_CUT.format(name="prompt", most=MAX_PROMPT_CHARACTERS),
        strings.LINK_CUT.format(name="ask", most=300),
    ]


def test_a_name_that_is_too_long_is_left_out_and_it_is_said():
    link = read_link({"run": "x" * LONGEST_NAME, "hide": "seed,seed"})
    assert (link.run, link.hidden, link.notes) == ("x" * LONGEST_NAME, ("seed",), [])
    link = read_link({"run": "x" * (LONGEST_NAME + 1)})
    assert (link.run, len(link.notes)) == ("", 1)
    assert "run “xxx" in link.notes[0]


MEASURED = RECORDED.with_name("frontier")


def test_a_decode_of_the_frontier_is_found_by_its_name_and_never_by_a_path(tmp_path):
    for path in sorted((MEASURED / "traces").iterdir())[:2]:
        assert len(path.name.split(".json")[0]) + len("frontier/") <= LONGEST_NAME
        trace = named(f"frontier/{path.name.split('.json')[0]}", RECORDED, [tmp_path, MEASURED])
        assert trace
        assert trace.end
    (tmp_path / "traces").mkdir()
    (tmp_path / "secret.json.gz").write_bytes(path.read_bytes())
    (tmp_path / "traces" / "broken.json.gz").write_bytes(b"no trace")
    for name in (
        "frontier/../secret",
        "frontier/",
        "frontier/broken",
        "frontier/*",
        f"frontier/{path}",
        f"frontier/{path.name}",
        "../secret",
        "frontier",
    ):
        assert named(name, RECORDED, [tmp_path, MEASURED]) is None, name
    assert named(f"frontier/{path.name.split('.json')[0]}", RECORDED) is None


def test_the_state_of_a_view_is_taken_clamped_or_left_out():
    good = {"frontier_task": "coding", "frontier_noise": "uniform", "frontier_rule": "", "frontier_aim": "speed", "theory_rule": "cactus",
            "theory_p": "0.5 0.5", "theory_q": "1/4 3/4", "theory_tokens": "a|b", "frontier_place": "here"}  # fmt: skip
    link = read_link({**good, "frontier_bound": "1.5", "theory_leniency": "0.7"})
    assert link.notes == []
    assert link.state == {**good, "frontier_bound": 1.5, "theory_leniency": 0.7}
    table = {
        "theory_vocabulary": "4",
        "theory_gamma": "1",
        "theory_steps": "3",
        "theory_seed": "7",
        "theory_noise": "uniform",
        "theory_proposal": "paced",
    }
    assert read_link(table).state == {name: int(text) if text.isdigit() else text for name, text in table.items()}
    assert read_link(table).notes == []
    assert read_link({"frontier_aim": "quality"}).state["frontier_bound"] == 0.5
    for query, name, value in (({"frontier_aim": "quality", "frontier_bound": "7"}, "frontier_bound", 1), ({"theory_leniency": "-2"}, "theory_leniency", 0),
                               ({"frontier_task": "moon"}, "frontier_task", None), ({"theory_rule": "tv_bank"}, "theory_rule", None),
                               ({"theory_p": "1 " * 400}, "theory_p", None), ({"frontier_bound": "much"}, "frontier_bound", None),
                               ({"theory_vocabulary": "9"}, "theory_vocabulary", 4), ({"theory_seed": "1e9"}, "theory_seed", 999),
                               ({"theory_steps": "1.5"}, "theory_steps", 2), ({"theory_noise": "pink"}, "theory_noise", None),
                               ({"theory_proposal": "<b>"}, "theory_proposal", None)):  # fmt: skip
        link = read_link(query)
        assert link.state.get(name) == value
        assert len(link.notes) == 1
        assert name in link.notes[0]


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from([*SETTINGS, "view", "cycle", "hide", "ask", "other", *VIEW_CHOICES, *VIEW_TEXTS, *VIEW_WHOLE]), st.text(max_size=60)
    )
)
def test_any_query_gives_settings_that_can_run(query):
    link = read_link(query)
    request = Request(**{"prompt": "", **link.settings})
    for name, (low, high) in LIMITS.items():
        assert low <= getattr(request, name) <= high
    assert link.view in ("", *strings.VIEWS)
    assert len(link.notes) <= MOST_NOTES + 1
    link.question.encode()
