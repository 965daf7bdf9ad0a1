"""The frontier view's server side on made-up rows: the payload and its sentences, the answer, own runs, picks. No browser."""

from __future__ import annotations

import ast
import csv
import gzip
import json
import math
import re
from dataclasses import asdict

import frontier_rows as rows
import gradio as gr
import pytest
from node import in_node
from test_architecture import SOURCES, tree

from sdiff import trace as t
from sdiff.bench.chart import Measurements, chosen, name_of
from sdiff.bench.places import STEP_COSTS
from sdiff.bench.report import report
from sdiff.bench.settings import Setting, measured
from sdiff.bench.store import Store
from sdiff.bench.traces import path_of
from sdiff.frontier import choose, gain, only, staircase
from sdiff.request import Request
from sdiff.ui import strings
from sdiff.ui.assets import read
from sdiff.ui.components import FRONTIER_SCRIPTS, static
from sdiff.ui.engine import Engine
from sdiff.ui.frontier_api import frontier_json, recommend_json
from sdiff.ui.frontier_data import Look, asked, payload, picked, place_label, sentence
from sdiff.ui.frontier_view import build_frontier
from sdiff.ui.own_runs import OwnRuns, own_run

LOOK = Look("reasoning")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("frontier")
    rows.shipped(path / "shipped", ("reasoning", "chat"), n=24)
    return path


@pytest.fixture(scope="module")
def measurements(folder) -> Measurements:
    return Measurements(folder / "shipped", folder / "none", lambda: rows.MODELS)


def drawn(measurements: Measurements, look: Look = LOOK, own=()) -> dict:
    return json.loads(payload(measurements, look, list(own)))


def store(path, settings: list[Setting], n: int = 4, prompts: int = 4, **speed) -> Measurements:
    made = Store(path / "s")
    q, s = made.begin("quality", rows.MODELS, rows.WHERE), made.begin("speed", rows.MODELS, rows.WHERE)
    made.add("quality", q, rows.quality_rows(settings, n))
    made.add("speed", s, ({**row, **speed} for row in rows.speed_rows(settings, prompts)))
    return Measurements(path / "s", path / "none", lambda: rows.MODELS)


# ── templates and words ──────────────────────────────────────────────────────────────────────────────────────────────


def test_templates_hold_nothing_that_gradio_would_run():
    assert static(read("frontier/frontier.html") + read("frontier/frontier.css"))
    scripts = read(*(f"frontier/{name}" for name in FRONTIER_SCRIPTS))
    for risky in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(", "http"):
        assert risky not in scripts, risky


@pytest.mark.parametrize("module", ["sdiff.ui.frontier_view", "sdiff.ui.page"])
def test_the_page_is_built_without_torch(module):
    """Followed through the imports that run when a module is loaded; those inside functions wait for a run."""
    seen, open_ = set(), [module]
    while open_:
        name = open_.pop()
        if name in seen or (f"{name}.__init__" not in SOURCES and name not in SOURCES):
            assert name.split(".")[0] not in ("torch", "transformers"), name
            continue
        seen.add(name)
        for node in tree(name if name in SOURCES else f"{name}.__init__").body:
            if isinstance(node, ast.Import):
                open_ += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                open_ += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names if f"{node.module}.{alias.name}" in SOURCES)]
    assert len(seen) > 10


def test_the_scripts_draw_finite_numbers_and_escaped_labels(measurements):
    data = drawn(measurements)
    data["main"]["points"][0]["name"] = '<b>=1,"x"</b>'
    data["main"]["points"][1] |= {"speed_low": None, "speed_high": None, "chance": None}
    star = {**data["main"]["points"][2], "tokens": 40}
    data["own"]["stars"] = [star, {**star, "quality": None, "quality_low": None, "quality_high": None}]
    colours = dict.fromkeys(
        ("strict", "full", "both", "leniency", "steps", "mine", "own", "area", "edge", "text", "grid", "back"), "#102030"
    )
    drawing, table = in_node(
        ("common.js", "frontier/words.js", "frontier/plot.js"),
        "[figure(data, data.answer, view), asCsv(data, ['a, b'])]",
        data,
        f"const view = {{words: {json.dumps(strings.FRONTIER)}, colours: {json.dumps(colours)}, any: true}};",
    )
    for trace in drawing["data"]:
        assert len(trace["x"]) == len(trace["y"]) > 0 or not trace.get("marker")
        assert all(math.isfinite(value) for axis in ("x", "y") for value in trace[axis])
        assert not any("<b>=" in text for text in trace.get("hovertext", ()))
    assert any("&lt;b&gt;=1" in text for trace in drawing["data"] for text in trace.get("hovertext", ()))
    assert drawing["layout"]["yaxis2"], "a star without a quality stands in the strip"
    lines = list(csv.reader(table.splitlines()))
    assert len([line for line in lines if line and line[0] == "points"]) == len(data["main"]["points"])
    assert len([line for line in lines if line and line[0] == "own run"]) == 2
    assert lines[-1] == ["a, b"]


def test_programs_find_two_endpoints_and_nothing_else():
    with gr.Blocks() as demo:
        build_frontier(Engine(lambda progress: None), measure=True)
    assert set(demo.get_api_info()["named_endpoints"]) == {"/frontier", "/recommend"}


# ── the payload ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_chart_is_what_the_frontier_module_says(measurements):
    data = drawn(measurements)
    place = measurements.place()
    every = chosen(measurements.measured("reasoning", place).points, "", "tv")
    points = data["main"]["points"]
    assert [p["name"] for p in points] == [name_of(p) for p in every]
    assert len(points) == 1 + 5 + 5 * 2 * 3, "plain decoding, one step, and both noises at three numbers of steps"
    assert [points[i]["speed"] for i in data["main"]["fronts"]["both"]] == [round(p.speed, 4) for p in staircase(every)]
    for knob in ("leniency", "steps"):
        assert [points[i]["name"] for i in data["main"]["fronts"][knob]] == [name_of(p) for p in staircase(only(every, knob))]
        assert data["main"]["gain"][knob]["ratio"] == round(gain(every, knob)["ratio"], 3)
    figures = report(Store(measurements.folders[False]), rows.MODELS)
    assert data["main"]["gain"]["leniency"]["ratio"] == figures["hypervolume_gain"]["reasoning"], "the README's number"
    assert all(0 <= p["chance"] <= 1 for p in points)


def test_intervals_say_where_they_come_from(measurements):
    points = {p["name"]: p for p in drawn(measurements)["main"]["points"]}
    plain, lossless, lenient = points["plain decoding"], points["masked, S = 4, λ = 0"], points["masked, S = 4, tv λ = 1"]
    assert plain["lossless"]
    assert lossless["lossless"]
    assert not lenient["lossless"]
    assert [plain[k] for k in ("quality", "quality_low", "quality_high")] == [
        lossless[k] for k in ("quality", "quality_low", "quality_high")
    ]
    assert lenient["quality_low"] < lenient["quality"] < lenient["quality_high"]
    assert (lenient["n"], lenient["timed"]) == (24, 6)
    assert lossless["speed_low"] <= lossless["speed"] <= lossless["speed_high"]


@pytest.mark.parametrize(
    ("noise", "rule", "n"), [("masked", "tv", 21), ("uniform", "tv", 21), ("masked", "lenience", 1 + 4 + 1), ("", "", 39)]
)
def test_filters_keep_what_belongs_to_all(measurements, noise, rule, n):
    data = drawn(measurements, Look("reasoning", noise, rule))
    assert len(data["main"]["points"]) == n
    names = [p["name"] for p in data["main"]["points"]]
    assert len(set(names)) == n, "every name is its own"
    assert "plain decoding" in names
    assert any("S = 1" in name for name in names)


def test_chat_is_told_by_distance(measurements):
    data = drawn(measurements, Look("chat"))
    assert not data["graded"]
    lossless = [p for p in data["main"]["points"] if p["lossless"]]
    assert {p["quality"] for p in lossless} == {1.0}


def test_what_was_measured_where_is_said(measurements):
    data = drawn(measurements)
    text = " ".join(data["where"])
    for word in ("a made-up machine", "threads: 2", "float32", "torch 2.13", "2026-01-02", "load average at most 0.5", "6 timed prompts", "24 problems", "a made-up server",
                 "temperature 0.7", "made-up-v"):  # fmt: skip
        assert word in text, word
    assert any("on the other half it is" in note for note in data["notes"])


def test_this_machine_is_laid_over_the_shipped_one(folder, tmp_path):
    rows.own(tmp_path)
    both = Measurements(folder / "shipped", tmp_path, lambda: rows.MODELS)
    data = drawn(both)
    assert [place.own for place in both.places() if place.run] == [False, True]
    assert len(data["mine"]["points"]) == 1 + 2 + 2 * 2 - 0
    assert data["mine"]["fronts"]["both"]
    assert any("a made-up laptop" in line for line in data["where"])
    alone = drawn(both, Look("reasoning", place=both.places()[1].id))
    assert alone["mine"] is None
    assert len(alone["main"]["points"]) == len(data["mine"]["points"])


def test_a_modelled_verifier_is_a_place_of_its_own_and_says_so(folder, tmp_path, measurements):
    rows.own(tmp_path)
    both, timed = Measurements(folder / "shipped", tmp_path, lambda: rows.MODELS), drawn(measurements)
    assert both.place().run, "what is shown first was timed"
    place = both.places()[-1]
    assert place.step_cost == min(STEP_COSTS)
    data = drawn(both, Look("reasoning", place=place.id), [own_run(run_of(plain=True)), own_run(run_of(steps=4))])
    assert (data["mine"], data["own"]["stars"]) == (None, []), "what was timed does not stand beside what is modelled"
    assert (data["modelled"], timed["modelled"]) == (0.01, None)
    assert data["notes"][0].startswith("Modelled, not timed: speed = τ ÷ (1 + S × 0.01)")
    assert not any("made-up machine" in line for line in data["where"]), "no machine was timed for it"
    assert any("made-up server" in line for line in data["where"]), "but its decodes are real"
    assert "1 %" in place_label(place)
    by_key = {tuple(p["setting"].values()): p for p in timed["main"]["points"]}
    for p in data["main"]["points"]:
        assert p["tokens_per_second"] is p["draft_ms"] is p["verify_ms"] is p["load"] is None, "a model has no milliseconds"
        assert p["quality"] == by_key[tuple(p["setting"].values())]["quality"]
        if p["setting"]["steps"]:
            assert p["speed"] == pytest.approx(p["tau"] / (1 + p["setting"]["steps"] * 0.01), rel=0.15), "a median beside a ratio of sums"
    best = both.answer("reasoning", "", "tv", place.id, "near", 2.0)
    assert best["best"] is not None


def test_without_anything_timed_nothing_is_modelled(folder, tmp_path):
    store = rows.Store(tmp_path)
    store.add("quality", store.begin("quality", rows.MODELS, rows.WHERE), rows.quality_rows([Setting("reasoning")], 4))
    assert Measurements(tmp_path, folder / "none", lambda: rows.MODELS).places() == []


def test_speeds_without_a_quality_are_kept_apart(tmp_path):
    rows.own(tmp_path)
    data = drawn(Measurements(tmp_path / "none", tmp_path, lambda: rows.MODELS))
    assert data["main"]["points"] == []
    assert len(data["main"]["alone"]) == 7
    assert data["missing"] == strings.FRONTIER_MISSING["quality"].format(task="Reasoning")


def test_the_files_are_read_again_when_they_change(tmp_path):
    made = store(tmp_path, [Setting("reasoning"), measured("reasoning", "masked", 2)])
    assert len(drawn(made)["main"]["points"]) == 2
    first = made.chart("reasoning")["main"]
    assert made.chart("reasoning")["main"] is first, "kept"
    again = Store(tmp_path / "s")
    more = [measured("reasoning", "masked", 4)]
    again.add("quality", 0, rows.quality_rows(more, 4))
    again.add("speed", 1, rows.speed_rows(more, 4))
    assert len(drawn(made)["main"]["points"]) == 3


# ── bad and missing data ─────────────────────────────────────────────────────────────────────────────────────────────


def test_an_empty_store_explains_itself(tmp_path):
    data = drawn(Measurements(tmp_path / "a", tmp_path / "b", lambda: rows.MODELS))
    assert data["missing"] == strings.FRONTIER_MISSING["nothing"]
    assert data["main"] is None
    assert data["answer"] == {"say": strings.FRONTIER_ASK["none"]}


def test_other_weights_and_other_tasks_are_told(folder, measurements):
    other = Measurements(folder / "shipped", folder / "none", lambda: {**rows.MODELS, "drafter": "new"})
    assert drawn(other)["missing"] == strings.FRONTIER_MISSING["other"]
    assert drawn(measurements, Look("coding"))["missing"] == strings.FRONTIER_MISSING["task"].format(task="Coding", tasks="Reasoning, Chat")
    assert "unknown task" in drawn(measurements, Look("poetry"))["broken"]


@pytest.mark.parametrize(
    ("name", "content"), [("about.json", b"{"), ("about.json", b'{"schema": 99}'), ("speed.csv.gz", gzip.compress(b"x", mtime=0)[:-3])]
)
def test_an_unreadable_store_is_one_sentence(tmp_path, name, content):
    made = store(tmp_path, [Setting("reasoning")])
    (tmp_path / "s" / name).write_bytes(content)
    assert "cannot be read" in drawn(made)["broken"]
    assert "cannot be read" in json.loads(asked(made, LOOK))["say"]
    assert picked(made, ["reasoning"]).tone == "bad"
    ours = Measurements(tmp_path / "none", tmp_path / "s", lambda: rows.MODELS)
    assert "left out" in drawn(ours)["notes"][0], "one's own folder alone does not take the shipped one away"


def test_one_point_or_few_prompts_have_no_interval_or_area(tmp_path):
    data = drawn(store(tmp_path, [measured("reasoning", "masked", 4)], n=1, prompts=1))
    [point] = data["main"]["points"]
    assert point["speed_low"] is point["chance"] is None
    assert data["main"]["fronts"] == {"both": [0], "leniency": [], "steps": [0]}
    assert data["main"]["gain"]["leniency"]["ratio"] is None
    assert data["answer"]["best"] == 0


def test_what_is_no_number_is_left_out_and_said(tmp_path):
    made = store(tmp_path, [Setting("reasoning"), measured("reasoning", "masked", 4)])
    again = Store(tmp_path / "s")
    odd = [measured("reasoning", "masked", 2)]
    again.add("quality", 0, rows.quality_rows(odd, 4))
    again.add("speed", 1, ({**row, "plain_tokens_per_second": 0.0} for row in rows.speed_rows(odd, 4)))
    data = drawn(made)
    assert len(data["main"]["points"]) == 2
    assert strings.FRONTIER_LEFT_OUT.format(n=1) in data["notes"]


def test_a_crash_is_not_shown(measurements, monkeypatch):
    monkeypatch.setattr(measurements, "chart", lambda *a: 1 / 0)
    data = drawn(measurements)
    assert "ZeroDivisionError" in data["broken"]
    assert "division" not in data["broken"]


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_answer_is_the_chooser_s(measurements):
    every = chosen(measurements.measured("reasoning", measurements.place()).points, "", "tv")
    lossless = next(p.quality for p in every if not p.steps)
    for aim, bound, choice in (
        ("near", 2.0, choose(every, lossless - 0.02)),
        ("quality", 0.5, choose(every, 0.5)),
        ("speed", 2.0, choose(every, None, 2.0)),
    ):
        answer = json.loads(asked(measurements, Look("reasoning", aim=aim, bound=bound)))
        assert every[answer["best"]] is choice.best
        assert every[answer["runner_up"]] is choice.runner_up
        assert [why for _, why in answer["rejected"]] == [why for _, why in choice.rejected]
        assert answer["sure"] == choice.sure
    nothing = json.loads(asked(measurements, Look("reasoning", aim="speed", bound=99)))
    assert nothing["best"] is None
    assert every[nothing["nearest"]].speed == max(p.speed for p in every)


def test_names_and_reasons_are_in_the_pages_language(measurements, monkeypatch):
    said = strings.load("de")["SAID"]
    monkeypatch.setattr(strings, "SAID", said)
    monkeypatch.setattr(strings, "RECOGNISED", strings.recognised(said))
    data = drawn(measurements, Look("reasoning", aim="speed", bound=1.5))
    names = {p["name"] for p in data["main"]["points"]}
    assert "einfaches Dekodieren" in names
    assert any(name.startswith("gleichverteilt, S = ") for name in names)
    assert not any(re.search("plain|masked|uniform", name) for name in names)
    for answer in (data["answer"], json.loads(asked(measurements, Look("reasoning", aim="quality", bound=0.3)))):
        assert answer["rejected"]
        assert all(
            re.match("Qualität|Geschwindigkeit", why) and not re.search("below|against|overlap|though", why)
            for _, why in answer["rejected"]
        )
    assert picked(measurements, list(Setting("reasoning").key())).sentence
    with pytest.raises(ValueError, match="unknown task x; there are") as error:
        measurements.chart("x")
    assert sentence(error.value) == "unbekannte Aufgabenart x; es gibt reasoning, coding, chat"


@pytest.mark.parametrize(
    ("aim", "bound"), [("near", None), ("speed", "2"), ("quality", math.nan), ("quality", 1.2), ("luck", 1), ("near", True)]
)
def test_a_question_that_cannot_be_answered_says_so(measurements, aim, bound):
    assert json.loads(asked(measurements, Look("reasoning", aim=aim, bound=bound)))["say"]


def test_programs_get_the_same(measurements):
    told = frontier_json(measurements, "reasoning")
    assert json.loads(json.dumps(told, allow_nan=False))["figures"]["points"] == 78
    assert len(told["main"]["points"]) == 39
    answer = recommend_json(measurements, "reasoning", quality=0.5)
    assert answer["best"]["quality"] >= 0.5
    assert answer["rejected"][0]["reason"]
    with pytest.raises(ValueError, match="not both"):
        recommend_json(measurements, "reasoning", 0.5, 2.0)
    with pytest.raises(ValueError, match="Nothing is measured"):
        recommend_json(measurements, "coding", 0.5)


# ── own runs ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def run_of(prompt: str = "How many apples are 3 and 4?", ms: float = 100.0, reason: str = "limit", cycles: int = 10, **settings) -> t.Trace:
    """A run whose cycles take `ms` each and write four tokens (one, if plain)."""
    asked_ = {key: value for key, value in asdict(Request(prompt, **settings)).items() if key != "prompt"}
    each, trace = 1 if asked_["plain"] else 4, t.Trace()
    trace.append(t.Run(prompt=prompt, prompt_tokens=(1,), settings=asked_, models={}, machine={}, lossless=not asked_["leniency"]))
    for k in range(1, cycles + 1):
        trace.append(t.Verify(cycle=k, anchor=1, tokens=(1,) * (each - 1), fixed_at=(1,) * (each - 1), draft_ms=ms / 4, ms=ms / 2))
        trace.append(t.Emit(cycle=k, tokens=(1,) * each, accepted=each - 1, extra="bonus", text="x", ms=ms / 4))
    trace.append(t.End(reason=reason, text="", tokens=(), stats={}))
    return trace


def test_an_own_run_stands_beside_the_plain_run_of_its_prompt(measurements):
    runs = OwnRuns()
    assert runs.add("a", run_of(noise="uniform", steps=1, leniency=0.4))
    assert drawn(measurements, own=runs.of("a"))["own"] == {"stars": [], "unpaired": 1, "elsewhere": 0}
    runs.add("a", run_of(plain=True, ms=50.0))
    [star] = drawn(measurements, own=runs.of("a"))["own"]["stars"]
    assert star["speed"] == star["speed_low"] == star["speed_high"] == pytest.approx(40 / 20)
    same = next(
        p for p in measurements.chart("reasoning")["main"]["points"] if p["setting"] == asdict_of(measured("reasoning", "masked", 1, 0.4))
    )
    assert star["quality"] == same["quality"], "one step is one law, stored as masked"
    assert drawn(measurements, Look("chat"), runs.of("a"))["own"] == {"stars": [], "unpaired": 0, "elsewhere": 1}
    assert runs.of("b") == []
    runs.forget("a")
    assert runs.of("a") == []


def asdict_of(setting: Setting) -> dict:
    return {key: value for key, value in asdict(setting).items() if key != "task"}


def test_a_star_has_a_stored_quality_only_where_the_law_is_the_same(measurements):
    def star(**settings):
        runs = [own_run(run_of(plain=True, **{k: v for k, v in settings.items() if k == "original"})), own_run(run_of(**settings))]
        return drawn(measurements, own=runs)["own"]["stars"][0]["quality"]

    lossless = star(steps=7)
    assert lossless == star(steps=1) == star(rule="cactus", steps=3, proposal="one_hot"), "lossless is one law, whatever the steps"
    assert star(steps=4, leniency=0.8) is not None
    assert star(steps=4, leniency=0.8, temperature=1.0) is None
    assert star(steps=4, leniency=0.83) is None
    assert star(steps=4, original=True) is None


def test_runs_that_tell_nothing_are_not_kept():
    assert own_run(run_of(reason="stopped")) is None
    assert own_run(run_of(cycles=2)) is None
    assert own_run(t.Trace()) is None
    runs = OwnRuns()
    for k in range(40):
        runs.add("a", run_of(seed=k))
    assert len(runs.of("a")) == 30
    for k in range(310):
        runs.add(str(k), run_of())
    assert runs.of("a") == []


# ── picks ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_pick_sets_the_controls_and_brings_its_decode(tmp_path):
    setting = measured("reasoning", "uniform", 4, 0.4)
    made = store(tmp_path, [Setting("reasoning"), setting])
    silent = picked(made, [*setting.key()[:3], 0.4, *setting.key()[4:]])
    assert silent.values == {"noise": "uniform", "steps": 4, "leniency": 0.4, "rule": "tv", "gamma": 8, "proposal": "final_step"}
    assert silent.trace is None
    path = path_of(tmp_path / "s", setting)
    path.parent.mkdir()
    path.write_bytes(gzip.compress(run_of(noise="uniform", leniency=0.4, seed=5).to_json().encode()))
    shown = picked(made, list(setting.key()))
    assert shown.values["seed"] == 5
    assert shown.values["prompt"].startswith("How many")
    assert shown.trace.end.reason == "limit"
    assert setting.name in shown.sentence
    plain = picked(made, list(Setting("reasoning").key()))
    assert plain.values == {}


@pytest.mark.parametrize(
    "key", [None, "reasoning", [], ["../../x", "masked", 4, 0.4, "tv", 8, "monotone"], [[1], {}, 3], ["reasoning"] * 99]
)
def test_only_measured_settings_can_be_picked(measurements, key):
    assert picked(measurements, key).sentence == strings.FRONTIER_PICK["unknown"]
