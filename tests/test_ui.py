"""The page's server side: words, numbers, the line, one visitor's run, the guard. No browser, no model."""

from __future__ import annotations

import json
import string
from dataclasses import replace
from pathlib import Path

import pytest
from traces import small_trace

from sdiff import trace as t
from sdiff.measures import rates, statistics, wilson
from sdiff.ui import strings
from sdiff.ui.assets import WEB, read
from sdiff.ui.components import static
from sdiff.ui.engine import Engine
from sdiff.ui.live import player_line, source_line
from sdiff.ui.numbers import break_even, numbers, summary
from sdiff.ui.page import build
from sdiff.ui.recordings import RECORDED
from sdiff.ui.recordings_view import brought, recording

# --------------------------------------------------------------------------------- templates and words


def test_templates_hold_nothing_that_gradio_would_run():
    names = {path.relative_to(WEB).as_posix() for path in WEB.rglob("*.*")}
    for name in names:
        if name.endswith((".html", ".css")):
            assert static(read(name)), name
    with pytest.raises(ValueError, match="not allowed"):
        static("<p>${value}</p>")
    scripts = read(*(name for name in names if name.endswith(".js")))
    for risky in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(", "https://"):
        assert risky not in scripts, risky


def test_every_state_and_end_has_its_words():
    assert {"accepted", "lenient", "rejected"} <= set(strings.CAPTIONS)
    reasons = {"eos", "limit", "context", "stopped", "error"}
    assert set(strings.CAPTIONS["end"]) == set(strings.FINISHED) == reasons
    for sentence in strings.FINISHED.values():
        assert {field for _, field, _, _ in string.Formatter().parse(sentence) if field} <= {"tokens", "error"}


# ---------------------------------------------------------------------------------------------- numbers


def test_numbers_follow_their_definitions():
    trace = small_trace()
    assert summary(statistics(trace.events)) == {
        "tokens": 6, "prefill_ms": 10, "tokens_per_second": pytest.approx(6 / 0.144), "tau": 3.0, "draft_ms": 30, "verify_ms": 40, "examine_ms": 2, "lenient": 0,
    }  # fmt: skip
    assert set(summary(statistics(trace.events))) == set(strings.NUMBERS)
    rows = rates(statistics(trace.events))
    assert [(r["accepted"], r["examined"]) for r in rows] == [(2, 2), (1, 2), (1, 1)]  # position 3 of block 1 was never examined
    assert [r["survival"] for r in rows] == [1.0, 0.5, 0.5]
    assert (rows[2]["survival_low"], rows[2]["survival_high"]) == pytest.approx(wilson(1, 2))
    assert rows[1]["low"] == pytest.approx(wilson(1, 2)[0])


@pytest.mark.parametrize(("plain", "word"), [(40, "Speculation helps"), (24, "Break-even"), (12, "not helping")])
def test_the_break_even_is_cycle_time_over_plain_time(plain, word):
    """72 ms per cycle, 3 tokens per cycle."""
    trace = small_trace()
    run = replace(trace.events[0], machine={"plain_ms": plain})
    even = break_even(run, statistics(trace.events))
    assert even["cost"] == pytest.approx(72 / plain)
    assert even["tau"] == 3
    assert word in even["says"]
    assert f"{3 / (72 / plain):.2f}" in even["says"] or word == "Break-even"
    assert break_even(trace.events[0], statistics(trace.events)) is None
    assert break_even(replace(run, settings={"plain": True}), statistics(trace.events)) is None
    assert break_even(run, statistics([])) is None


def test_numbers_of_any_prefix_are_json():
    events = small_trace().events
    for k in range(len(events) + 1):
        assert json.loads(numbers(t.Trace(events[:k]), "live 1"))["source"] == "live 1"


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*.json")), ids=lambda p: p.stem)
def test_numbers_agree_with_the_decoder_of_recorded_runs(path: Path):
    trace = t.Trace.from_json(path.read_text(encoding="utf-8"))
    assert trace.end.stats == statistics(trace.events[:-1], trace.events[0].settings["gamma"])


# ------------------------------------------------------------------------------------ page and recording


def test_a_run_that_the_browser_has_tells_its_numbers_and_controls():
    path = min(RECORDED.glob("*.json"))
    trace = t.Trace.from_json(path.read_text(encoding="utf-8"))
    sent = json.loads(json.dumps({"run": json.loads(t.to_line(trace.events[0])), "stats": trace.end.stats}))
    figures, known = brought(sent)
    mine, stored = json.loads(figures), json.loads(recording(path.parent)[1])
    assert {**mine, "source": ""} == {**stored, "source": ""}
    assert known == recording(path.parent)[2]
    assert json.loads(brought(sent)[0])["source"] != mine["source"]  # the page draws what changes


@pytest.mark.parametrize(
    "change", [{"settings": []}, {"settings": {"steps": 1e9}}, {"settings": {"noise": "<b>"}}, {"prompt": 7}, {"kind": "end"}]
)
def test_a_broken_run_of_the_browser_tells_nothing(change):
    trace = t.Trace.from_json(min(RECORDED.glob("*.json")).read_text(encoding="utf-8"))
    assert brought({"run": json.loads(t.to_line(trace.events[0])) | change, "stats": trace.end.stats}) == ("", {})
    for nothing in (None, [], {}, {"run": None}, 7):
        assert brought(nothing) == ("", {})


@pytest.mark.parametrize("change", [{"ms": 1}, {"ms": {}}, {"ms": {"prefill": 1, "draft": "1", "verify": 1, "examine": 1}}, {"accepted": [9] * 8},
                                    {"examined": ["1"] * 8}, {"cycles": "many"}, {"cycles": 1e-320}, {"tau": None}])  # fmt: skip
def test_broken_statistics_leave_the_controls(change):
    trace = t.Trace.from_json(min(RECORDED.glob("*.json")).read_text(encoding="utf-8"))
    run = json.loads(t.to_line(trace.events[0]))
    for stats in (trace.end.stats | change, None, []):
        assert brought({"run": run, "stats": stats}) == ("", recording()[2])


def test_the_page_builds_without_a_model_or_recording(tmp_path: Path):
    demo = build(Engine(lambda progress: None), tmp_path)
    assert demo.title == strings.TITLE
    assert recording(tmp_path) == ("", "", {}, strings.NO_RECORDING)


def test_a_recording_becomes_a_player_value(tmp_path: Path):
    (tmp_path / "b.json").write_text("not json", encoding="utf-8")
    assert "cannot be shown" in recording(tmp_path)[3]
    (tmp_path / "a.json").write_text(small_trace().to_json(), encoding="utf-8")
    value, figures, made, problem = recording(tmp_path)
    assert value == source_line("recorded", name="a") + "".join(
        player_line(event, small_trace().events[0]) for event in small_trace().events
    )
    assert [t.from_dict(json.loads(line)) for line in value.splitlines()[1:]] == small_trace().events  # a trace ignores what is added
    assert made == {**small_trace().events[0].settings, "prompt": small_trace().events[0].prompt}
    assert not problem
    assert json.loads(figures)["summary"]["tokens"] == 6
