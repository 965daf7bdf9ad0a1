"""The sweep, its store and its figures: on made-up rows with known answers, and on toy models."""

from __future__ import annotations

import gzip
import json
import math
from dataclasses import asdict
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from sdiff import bundled
from sdiff.bench import readme, report, speed
from sdiff.bench.places import modelled
from sdiff.bench.points import points, quality, ratio, speed_draws, weights
from sdiff.bench.points import speed as speed_figures
from sdiff.bench.quality import Outcome, repeated
from sdiff.bench.settings import LENIENCIES, STEPS, Setting, cuts, grid, measured, paper, stages
from sdiff.bench.store import MACHINE, Store, by_setting
from sdiff.bench.sweep import Clock, measure_quality, measure_speed
from sdiff.bench.traces import opened, path_of, record
from sdiff.request import NOISES
from sdiff.tasks import TASKS
from sdiff.trace import Emit, End, Prefill, Run, Verdict, Verify

MODELS = {"verifier": "v", "adapter": "a", "drafter": "d"}
WHERE = {
    "device": "toy",
    "name": "toy",
    "dtype": "float32",
    "threads": 1,
    "compiled": False,
    "seed": 3,
    "temperature": 0.7,
    "torch": "2",
    "date": "2026-01-01",
}
ONE = Setting("reasoning", "masked", 4, 0.4)


def outcome(problem: int, right: bool | None = True, tokens: int = 20, cycles: int = 5, tv: float = 2.0) -> Outcome:
    return Outcome(problem, right, True, tokens, cycles, tv, 1.0, 10.0, 4, (5, 5, 4), (5, 3, 2), (3, 2, 0))


# ── what is measured ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_stages_cover_what_was_promised():
    every = {s for settings, _ in stages() for s in settings}
    for task in TASKS:
        assert Setting(task) in every
        for noise in NOISES:
            for steps in STEPS:
                for leniency in LENIENCIES:
                    assert measured(task, noise, steps, leniency) in every
    assert {s.rule for s in every} == {"tv", "lenience", "cactus", "tv_bank"}
    assert {Setting("reasoning", "masked", 3, 0.8), Setting("coding", "uniform", 5, 0.6)} <= every
    assert set(paper(("coding",))) <= every
    assert set(cuts(TASKS)) <= every


def test_the_first_stage_is_a_small_whole_and_no_stage_repeats_itself():
    first, n = next(stages())
    assert n <= 24
    assert {(s.noise, s.steps) for s in first} == {("", 0), ("masked", 1), ("masked", 4), ("uniform", 4)}
    for settings, most in stages(("coding",), most=50):
        assert len(set(settings)) == len(settings)
        assert most <= 50
        assert {s.task for s in settings} == {"coding"}


def test_one_step_is_one_law_for_both_noises():
    assert measured("chat", "uniform", 1) == measured("chat", "masked", 1) == Setting("chat", "masked", 1)
    assert Setting("chat", "uniform", 2).proposal == "final_step"
    assert len(grid(("chat",), (1, 2), (0.0,))) == 4


def test_repeated_grams_are_counted_beyond_their_first_time():
    assert repeated([1, 2, 3, 4, 5]) == 0
    assert repeated([1] * 10) == 6
    assert repeated([1, 2, 3, 4, 1, 2, 3, 4]) == 1
    assert repeated([1, 2]) == 0


# ── the store ────────────────────────────────────────────────────────────────────────────────────────────────────────


def filled(folder, models=MODELS) -> Store:
    store = Store(folder)
    run = store.begin("quality", models, {"device": "toy"})
    store.add("quality", run, ({**asdict(ONE), **asdict(outcome(i, i % 2 == 0))} for i in range(6)))
    return store


def test_what_is_stored_comes_back_and_grows(tmp_path):
    filled(tmp_path)
    again = Store(tmp_path)
    assert again.done("quality", MODELS) == {ONE: set(range(6))}
    assert by_setting(again.rows("quality", MODELS))[ONE]["accepted"].tolist() == ["3 2 0"] * 6
    run = again.begin("quality", MODELS, {})
    again.add("quality", run, [{**asdict(Setting("chat", "uniform", 2)), **asdict(outcome(0, None))}])
    whole = Store(tmp_path)
    assert set(whole.done("quality", MODELS)) == {ONE, Setting("chat", "uniform", 2)}
    assert [r["id"] for r in whole.about["runs"]] == [0, 1]
    assert whole.rows("quality")["right"].isna().sum() == 1


def test_the_same_rows_are_the_same_bytes(tmp_path):
    filled(tmp_path / "a")
    store = Store(tmp_path / "b")
    run = store.begin("quality", MODELS, {"device": "toy"})
    for i in reversed(range(6)):
        store.add("quality", run, [{**asdict(ONE), **asdict(outcome(i, i % 2 == 0))}])
    for name in ("quality.csv.gz", "about.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_rows_of_other_models_are_told_apart_and_forgotten_on_request(tmp_path):
    filled(tmp_path)
    store = Store(tmp_path)
    assert store.done("quality", {**MODELS, "drafter": "new"}) == {}
    run = store.begin("quality", {**MODELS, "drafter": "new"}, {})
    store.add("quality", run, [{**asdict(ONE), **asdict(outcome(9))}])
    old = store.begin("speed", MODELS, WHERE)
    store.add("speed", old, [timing(0, 40, 20)])
    store.forget({**MODELS, "drafter": "new"})
    store.write()
    assert not (tmp_path / "speed.csv.gz").exists()
    kept = Store(tmp_path)
    assert kept.rows("quality")["problem"].tolist() == [9]
    assert [r["id"] for r in kept.about["runs"]] == [1]
    assert kept.begin("speed", MODELS, {}) == 2


def test_a_run_never_gets_the_number_of_rows_that_are_still_there(tmp_path):
    store = filled(tmp_path)
    store.about["runs"] = []
    assert store.begin("quality", {**MODELS, "drafter": "new"}, {}) == 1


def test_timings_of_another_machine_are_not_taken_for_this_ones(tmp_path):
    store = Store(tmp_path)
    run = store.begin("speed", MODELS, WHERE)
    store.add("speed", run, [timing(0, 40, 20)])
    assert store.done("speed", MODELS, **{k: WHERE[k] for k in MACHINE}) == {ONE: {0}}
    assert store.done("speed", MODELS, **{**{k: WHERE[k] for k in MACHINE}, "threads": 2}) == {}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("about.json", b"{"),
        ("about.json", b'{"schema": 99, "runs": []}'),
        ("quality.csv.gz", b"not gzip"),
        ("quality.csv.gz", gzip.compress(b"task,noise" * 99, mtime=0)[:-9]),
    ],
)
def test_a_damaged_store_is_refused_in_words(tmp_path, name, content):
    filled(tmp_path / "frontier")
    (tmp_path / "frontier" / name).write_bytes(content)
    with pytest.raises(ValueError, match="measurements in frontier cannot be read"):
        Store(tmp_path / "frontier")


# ── figures ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def table(outcomes: list[Outcome], setting: Setting = ONE) -> pd.DataFrame:
    rows = [{**asdict(setting), **asdict(o)} for o in outcomes]
    return pd.DataFrame([{**row, **{k: " ".join(map(str, row[k])) for k in ("drafted", "examined", "accepted")}} for row in rows])


def test_quality_figures_are_sums_over_problems():
    figures = quality(table([outcome(0, True, 30, 5, 3.0), outcome(1, False, 10, 5, 1.0)]))
    assert (figures["n"], figures["right"], figures["accuracy"]) == (2, 1, 0.5)
    assert (figures["tau"], figures["tv"], figures["kl"], figures["nll"]) == (4, 0.1, 0.05, 0.5)
    assert figures["repetition"] == pytest.approx(8 / 34, abs=1e-5)
    assert (figures["drafted"], figures["examined"], figures["accepted"]) == ([10, 10, 8], [10, 6, 4], [6, 4, 0])
    assert figures["tau_low"] <= 4 <= figures["tau_high"]
    assert "accuracy" not in quality(table([outcome(0, None)]))


def test_the_bootstrap_covers_a_known_mean():
    """95 % intervals of a ratio over 200 samples of 40 problems: the true value lies in 88 to 99 % (five deviations: 1e-6)."""
    rng, inside = np.random.default_rng(5), 0
    for _ in range(200):
        cycles = rng.integers(3, 9, 40).astype(float)
        tokens = cycles * 2 + rng.normal(0, 2, 40)
        _, drawn = ratio(tokens, cycles, np.arange(40))
        low, high = np.percentile(drawn, [2.5, 97.5])
        inside += low <= 2 <= high
    assert 0.87 <= inside / 200 <= 0.995


def test_settings_share_their_draws():
    assert (weights(5)[:, :3] == weights(3)).all()
    few, more = speed_draws(np.array([1.0, 5, 3]), np.array([0, 1, 4])), speed_draws(np.array([2.0, 6, 4]), np.array([0, 1, 4]))
    assert np.array_equal(few + 1, more, equal_nan=True), "by problem, whatever the order"
    shuffled = speed_draws(np.array([3.0, 1, 5]), np.array([4, 0, 1]))
    assert np.array_equal(few, shuffled, equal_nan=True)


def test_a_drawn_median_is_that_of_the_drawn_problems():
    ratios, problems = np.array([4.0, 1, 2, 8]), np.arange(4)
    for row, median in zip(weights(4), speed_draws(ratios, problems), strict=True):
        drawn = np.repeat(ratios, row.astype(int))
        assert (len(drawn) == 0 and np.isnan(median)) or median == np.median(drawn)


def timing(problem: int, tokens_per_second: float, plain: float, setting: Setting = ONE) -> dict:
    return {**asdict(setting), "engine": "", "problem": problem, "tokens": 40, "cycles": 10, "draft_ms": 100.0, "verify_ms": 400.0, "examine_ms": 10.0,
            "other_ms": 5.0, "tokens_per_second": tokens_per_second, "plain_tokens_per_second": plain, "load": 0.5 + problem}  # fmt: skip


def test_speed_is_the_median_of_paired_ratios():
    figures = speed_figures(pd.DataFrame([timing(0, 40, 20), timing(1, 30, 30), timing(2, 90, 30)]))
    assert (figures["speedup"], figures["timed"], figures["load"]) == (2, 3, 2.5)
    assert figures["speedup_low"] <= 2 <= figures["speedup_high"]
    assert (figures["draft_ms"], figures["verify_ms"], figures["examine_ms"], figures["other_ms"]) == (10, 40, 1, 0.5)


def test_a_modelled_speed_is_tokens_per_cycle_over_the_price_of_a_cycle():
    plain, paced = Setting("reasoning"), Setting("reasoning", "masked", 8, 0.4, proposal="paced")
    decoded = pd.concat([table([outcome(0, tokens=20, cycles=5), outcome(1, tokens=30, cycles=5), outcome(2, tokens=90, cycles=10)]),
                         table([outcome(0, cycles=20)], plain), table([outcome(0)], paced)])  # fmt: skip
    timed = by_setting(modelled(decoded, 0.25))
    assert set(timed) == {ONE, plain}, "how many steps a paced block took is not stored"
    assert ONE.steps == 4
    assert timed[ONE]["tokens_per_second"].tolist() == [4 / 2, 6 / 2, 9 / 2]
    figures = speed_figures(timed[ONE])
    assert (figures["speedup"], figures["timed"]) == (3, 3)
    assert all(math.isnan(figures[name]) for name in ("draft_ms", "verify_ms", "examine_ms", "other_ms", "load"))
    assert speed_figures(timed[plain])["speedup"] == 1
    free = by_setting(modelled(decoded, 0.0))[ONE]["tokens_per_second"]
    assert free.tolist() == [4, 6, 9], "with free steps a block is worth its tokens"


def test_points_join_both_passes():
    chat = Setting("chat", "masked", 1, 0.2)
    rows = pd.concat(
        [
            table([outcome(0, True), outcome(1, False)]),
            table([outcome(0, None, 20, 5, 5.0)], chat),
            table([outcome(0)], Setting("reasoning")),
        ]
    )
    timings = pd.DataFrame([timing(0, 40, 20), timing(1, 60, 20), timing(0, 50, 20, chat)])
    [one] = points(rows, timings, "reasoning")
    assert (one.noise, one.steps, one.speed, one.quality) == ("masked", 4, 2.5, 0.5)
    assert one.quality_draws.shape == one.speed_draws.shape
    [other] = points(rows, timings, "chat")
    assert (other.speed, other.quality) == (2.5, 0.75)


def test_exact_settings_share_the_accuracy_of_all_their_runs():
    exact = [Setting("reasoning"), Setting("reasoning", "masked", 1), Setting("reasoning", "uniform", 4)]
    rows = pd.concat([table([outcome(i, i < right) for i in range(4)], s) for s, right in zip([*exact, ONE], (1, 2, 3, 4), strict=True)])
    timings = pd.DataFrame([timing(0, 40, 20, s) for s in [*exact, ONE]])
    assert [p.quality for p in points(rows, timings, "reasoning")] == [0.5, 0.5, 0.5, 1.0]


# ── the passes ───────────────────────────────────────────────────────────────────────────────────────────────────────


class FakePair:
    """Streams runs whose speed is known: plain decoding 10 ms a token; a block of 5 tokens 20 ms."""

    def __init__(self) -> None:
        self.asked = []

    def stream(self, asked, detail=True):
        self.asked.append(asked)
        if asked.leniency == 1.0:
            raise ArithmeticError("the model returned numbers that are not finite")
        yield Prefill(tokens=3, ms=7.0)
        for cycle in range(1, 4):
            if asked.plain:
                yield Verify(cycle=cycle, anchor=1, tokens=(), fixed_at=(), draft_ms=0.0, ms=9.0)
                yield Emit(cycle=cycle, tokens=(5,), accepted=0, extra="bonus", text="", ms=1.0, p=0.5)
            else:
                yield Verify(cycle=cycle, anchor=1, tokens=(1, 2, 3, 4), fixed_at=(1,) * 4, draft_ms=5.0, ms=14.0)
                for i in range(1, 5):
                    yield Verdict(
                        cycle=cycle, position=i, token=i, p=0.5, q=0.5, f=0.5, u=0.1, keep=1.0, accepted=True, lenient=False, tv=0.0
                    )
                yield Emit(cycle=cycle, tokens=(1, 2, 3, 4, 5), accepted=4, extra="bonus", text="", ms=1.0, p=0.5)
        yield End(reason="limit", text="", tokens=(), stats={})


def test_timed_runs_stand_beside_a_baseline_of_the_same_prompt(tmp_path):
    pair, settings = FakePair(), [Setting("reasoning", "masked", s, lam) for s in STEPS for lam in (0.0, 0.4, 1.0)]
    store, said = Store(tmp_path), []
    assert not measure_speed(pair, store, MODELS, WHERE, [Setting("reasoning"), *settings], 2, Clock(5), said.append)
    rows = Store(tmp_path).rows("speed", MODELS)
    assert len(rows) == 2 * (1 + 12), "the failing setting is left out"
    assert len([line for line in said if "left out" in line]) == 12, "said, and not everything is there"
    drafted = rows[rows["noise"] == "masked"]
    assert (drafted["tokens_per_second"] / drafted["plain_tokens_per_second"]).tolist() == pytest.approx([2.5] * 24)
    warm, runs = pair.asked[:2], pair.asked[2:]
    assert [asked.plain for asked in warm] == [True, False], "a run of each kind before anything is timed"
    plain = [i for i, asked in enumerate(runs) if asked.plain]
    assert plain == [0, 9, 18, 21, 30, 39]
    assert {asked.seed for asked in runs[:21]} == {runs[0].seed}
    assert {asked.prompt for asked in runs[:21]} == {runs[0].prompt} != {runs[21].prompt}
    again = FakePair()
    measure_speed(again, store, MODELS, WHERE, [Setting("reasoning"), *settings], 2, Clock(5), said.append)
    assert {asked.leniency for asked in again.asked if not asked.plain} == {1.0}, "only what failed is tried again"


def test_a_spent_budget_or_a_stop_keeps_what_is_finished(tmp_path):
    store, said = Store(tmp_path), []
    pair, wanted = FakePair(), [Setting("coding", "masked", 1), Setting("coding", "masked", 2)]
    assert not measure_speed(pair, store, MODELS, WHERE, wanted, 1, Clock(0), said.append)
    assert pair.asked == [], "no time: nothing begun"
    clock = Clock(5, stop=lambda: len(pair.asked) >= 4)
    assert not measure_speed(pair, store, MODELS, WHERE, wanted, 1, clock, said.append)
    assert len(Store(tmp_path).rows("speed", MODELS)) == 2
    calls = []

    def outcomes(setting, problems):
        calls.append((setting, problems))
        return (outcome(i) for i in problems)

    bench, stages_ = SimpleNamespace(outcomes=outcomes), [([ONE, Setting("coding")], 130), ([ONE], 150)]
    clock = Clock(5, stop=lambda: len(calls) >= 3)
    assert not measure_quality(bench, WHERE, store, MODELS, stages_, clock, said.append)
    assert [(s.task, p) for s, p in calls] == [("reasoning", range(100)), ("reasoning", range(100, 130)), ("coding", range(100))]
    assert measure_quality(bench, WHERE, Store(tmp_path), MODELS, stages_, Clock(5), said.append)
    assert [p for _, p in calls[3:]] == [range(100, 130), range(130, 150)]
    assert {s.task: len(p) for s, p in Store(tmp_path).done("quality", MODELS).items()} == {"reasoning": 150, "coding": 130}


def test_a_timed_run_asks_for_what_the_row_says():
    asked = speed.request(Setting("chat", "uniform", 3, 0.6, "cactus", 4), SimpleNamespace(prompt="Hi"), 5)
    assert (asked.noise, asked.steps, asked.leniency, asked.rule, asked.gamma, asked.proposal) == (
        "uniform",
        3,
        0.6,
        "cactus",
        4,
        "final_step",
    )
    assert speed.request(Setting("chat"), SimpleNamespace(prompt="Hi"), 5).plain
    assert math.isfinite(asked.seed)
    assert json.dumps(asdict(asked))


def test_decodes_are_recorded_once_for_each_model(tmp_path):
    class Recorder(FakePair):
        names = {"drafter_sha256": "one"}  # noqa: RUF012

        def stream(self, asked, detail=True):
            assert detail
            yield Run(prompt=asked.prompt, prompt_tokens=(1,), settings={}, models=self.names, machine={}, lossless=True)
            yield from super().stream(asked, detail)

    pair, settings, said = Recorder(), [Setting("chat"), Setting("chat", "masked", 2, 0.4)], []
    assert not record(pair, tmp_path, settings, Clock(0), said.append)
    assert record(pair, tmp_path, settings, Clock(5), said.append)
    assert record(pair, tmp_path, settings, Clock(5), said.append)
    assert len(said) == len(pair.asked) == 2
    assert opened(tmp_path, settings[1]).end.reason == "limit"
    assert opened(tmp_path, Setting("coding")) is None
    path_of(tmp_path, settings[0]).write_bytes(b"damaged")
    pair.names = {"drafter_sha256": "two"}
    assert record(pair, tmp_path, settings, Clock(5), said.append)
    assert len(said) == 4


# ── the report ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_routing_is_worth_what_the_tasks_optima_differ_by(tmp_path):
    store = Store(tmp_path)
    run = store.begin("speed", MODELS, {"device": "toy", "weight_bytes": 10**9, "gigabytes_per_second": 40.0})
    found = []
    for task, one, four in (("reasoning", 40, 80), ("coding", 40, 40), ("chat", 30, 20)):  # tokens/s at S = 1 and 4, plainly 20
        for steps, per_second in ((1, one), (4, four)):
            store.add("speed", run, (timing(i, per_second, 20, measured(task, "masked", steps)) for i in range(4)))
        found.append(report.routed_gain(Store(tmp_path).rows("speed", MODELS)))
    assert found[0] is None, "a task alone has nothing to be routed from"
    assert found[1]["ratio"] == 1
    assert found[2]["single"] == found[2]["settings"]["reasoning"] == "masked, S = 4, λ = 0"
    assert found[2]["settings"]["chat"] == "masked, S = 1, λ = 0"
    assert found[2]["ratio"] == pytest.approx((30 / 20) ** (1 / 3), abs=1e-3)


def test_the_report_of_nothing_is_null_and_of_something_its_figures(tmp_path):
    store = Store(tmp_path)
    empty = report.report(store, MODELS)
    assert empty["points"] == 0
    assert empty["plain_vs_transformers"] is empty["mbu"] is empty["cycle_cost"] is empty["hardware"] is None
    settings = [
        Setting("reasoning"),
        measured("reasoning", "masked", 1),
        measured("reasoning", "masked", 1, 0.4),
        Setting("reasoning", "masked", 4),
    ]
    rights, speeds = (4, 4, 2, 4), (20, 40, 60, 50)  # of 5 problems; tokens/s
    q, s = (
        store.begin("quality", MODELS, {}),
        store.begin("speed", MODELS, {"device": "toy", "weight_bytes": 10**9, "gigabytes_per_second": 40.0}),
    )
    for setting, right, per_second in zip(settings, rights, speeds, strict=True):
        store.add("quality", q, ({**asdict(setting), **asdict(outcome(i, i < right))} for i in range(5)))
        store.add("speed", s, (timing(i, per_second, 20, setting) for i in range(3)))
    store.add("speed", s, ({**asdict(settings[0]), "engine": "transformers", "problem": i, "tokens": 9, "tokens_per_second": 16.0,
                            "plain_tokens_per_second": 20.0, "load": 0.1} for i in range(3)))  # fmt: skip
    figures = report.report(Store(tmp_path), MODELS)
    assert figures["plain_vs_transformers"] == pytest.approx(40 / 515 * 1e3 / 16, abs=1e-3), "all of the loop's time counts"
    assert figures["mbu"] == 0.5  # 25 ms of 50
    assert figures["speedup_lossless"] == {"reasoning": 2.5, "coding": None, "chat": None}
    assert figures["cycle_cost"] == 1.02  # 51 ms of 50
    assert figures["joint_vs_single"]["reasoning"] == {"masked": 1.25, "uniform": None}
    assert figures["hypervolume_gain"]["reasoning"] == pytest.approx((2 * 0 + 1.5 * 0.4) / (1 * 0.4), abs=1e-3)
    assert figures["joint_vs_single_settings"]["reasoning"]["masked"]["quality_difference"] == 0
    assert (figures["points"], figures["hardware"]["device"]) == (4, "toy")
    other = Setting("reasoning", "masked", 4, 0.0, "tv", 8, "final_step")  # beside the grid, and faster
    store.add("quality", q, ({**asdict(other), **asdict(outcome(i))} for i in range(5)))
    store.add("speed", s, (timing(i, 90, 20, other) for i in range(3)))
    assert report.report(Store(tmp_path), MODELS)["speedup_lossless"]["reasoning"] == 2.5
    elsewhere = store.begin("speed", MODELS, {**WHERE, "name": "another machine", "weight_bytes": 10**9, "gigabytes_per_second": 40.0})
    store.add("speed", elsewhere, (timing(i, 30, 10, setting) for setting in settings[:2] for i in range(3)))
    moved = report.report(Store(tmp_path), MODELS)
    assert moved["speedup_lossless"]["reasoning"] == 3.0, "of the machine measured last alone"
    assert moved["mbu"] == 0.75
    assert json.loads(json.dumps(figures)) == figures
    text = readme.markdown(Store(tmp_path), MODELS)
    assert "- reasoning, lossless: 3.00× (3.00 – 3.00) at best (reasoning, masked monotone, S = 1" in text
    assert "| reasoning | plain decoding | 0.800 (0.38 – 0.96, 5) | 3.00× (3.00 – 3.00) | 4.00 |" in text
    assert "| coding | masked, S = 3, λ = 0.8 | not measured | | |" in text
    rows = list(report.lines(Store(tmp_path), MODELS))
    assert len(rows) == 5
    assert all({"accuracy", "tau"} <= set(row) for row in rows)
    assert sum("speedup" in row for row in rows) == 2, "of the last machine"


def test_the_banked_budget_is_compared_at_equal_mean_tv():
    fixed = [Setting("reasoning", "masked", 4, lam) for lam in (0.0, 0.4)]
    bank = Setting("reasoning", "masked", 4, 0.1, "tv_bank")
    rows = pd.concat([table([outcome(i, tv=tv) for i in range(3)], s) for s, tv in zip([*fixed, bank], (0.0, 4.0, 2.0), strict=True)])
    timings = pd.DataFrame([timing(i, 20 * pace, 20, s) for s, pace in zip([*fixed, bank], (2.0, 3.0, 2.6), strict=True) for i in range(3)])
    assert report.adaptive_gain(rows, timings, "reasoning") == {"ratio": 1.04, "alike": 1.04, "tv": 0.1, "setting": bank.name}
    brisk = Setting("reasoning", "masked", 1, 0.0)  # a fixed setting that is faster and no farther from the verifier
    more = pd.concat([rows, table([outcome(i, tv=1.0) for i in range(3)], brisk)])
    quick = pd.concat([timings, pd.DataFrame([timing(i, 80, 20, brisk) for i in range(3)])])
    assert report.adaptive_gain(more, quick, "reasoning") == {"ratio": 0.65, "alike": 1.04, "tv": 0.1, "setting": bank.name}
    assert report.adaptive_gain(rows[rows["rule"] == "tv"], timings, "reasoning") is None
    assert report.adaptive_gain(rows, timings, "chat") is None


def test_the_readme_shows_what_is_stored():
    """`python -m sdiff frontier --write README.md` brings it up to date."""
    text = (bundled.PRECOMPUTED.parent / "README.md").read_text(encoding="utf-8")
    shipped = readme.markdown(Store(bundled.PRECOMPUTED / "frontier"), bundled.names(bundled.PRECOMPUTED))
    assert readme.between(text, "measured frontier", shipped) == text
