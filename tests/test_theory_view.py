"""The Theory view without a browser: laws from every source, what the rules make of them, the work limit, the words."""

from __future__ import annotations

import json
import math
import string
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
import torch
from node import in_node
from toys import EXACT, TableVerifier, output_law, verifier_law
from toys import distance as between

from sdiff import exactness, toys
from sdiff.acceptance import make_rule
from sdiff.decode import Plan
from sdiff.exactness import MOST_PASSES, Setting
from sdiff.request import NOISES, PROPOSALS, RULES, RequestError
from sdiff.sampling import Shape
from sdiff.theory import draft_law, emitted_law, position
from sdiff.trace import Pieces, Trace, Verdict
from sdiff.ui import outcomes, strings, theory_view
from sdiff.ui.assets import read
from sdiff.ui.components import static
from sdiff.ui.laws import PRESETS, LawError, Laws, as_text, from_text, from_verdict, preset, random_laws, shared

RECORDED = Path(__file__).resolve().parent.parent / "precomputed" / "recorded"
ON_THE_LINE = {"lossless", "tv", "tv_budget", "lenience", "cactus", "cactus_exact"}
FOUR = preset("disagree")


# ── laws and where they come from ────────────────────────────────────────────────────────────────────────────────────


def test_of_four_tokens_no_more_than_four_can_match():
    native = {row["rule"]: row["native"] for row in outcomes.chart(FOUR, "tv", 0.3)["rows"]}
    assert native["top_k"] == "k = all"
    assert {row["rule"]: row["native"] for row in outcomes.chart(FOUR, "tv", 0.05)["rows"]}["top_k"] == "k = 2"


def test_laws_are_divided_by_their_sum_and_left_alone_when_it_is_one():
    assert Laws(("a", "b"), (2, 6), (0.1, 0.9)) == Laws(("a", "b"), (0.25, 0.75), (0.1, 0.9))
    assert Laws(("a", "b"), (1e308, 1e308), (1, 0)).p == (0.5, 0.5)
    assert Laws(("a", "b"), (5e-324, 0), (1, 0)).p == (1.0, 0.0)


@pytest.mark.parametrize(("p", "q", "says"), [
    ("0.5 0.5", "", "q is empty"), ("", "1 1", "p is empty"), ("   ", "1 1", "p is empty"), (None, "1 1", "p is empty"),
    ("nan 1", "1 1", "not a finite number"), ("1e999 1", "1 1", "not a finite number"), ("-0.1 1.1", "1 1", "negative"),
    ("0 0", "1 1", "All numbers of p are 0"), ("1", "1", "from 2 to 8"), ("1 " * 9, "1 " * 9, "There are 9 numbers"),
    ("1 2 3", "1 2", "p has 3 numbers and q has 2"), ("cat dog", "1 1", "“cat” in p is not a number"), ("1 " * 5000, "1 1", "far too long"),
    ("1/0 1", "1 1", "“1/0” in p is not a number"), ("1/2 1/2", "0x1 2", "“0x1” in q is not a number"), ("9" * 400 + " 1", "1 1", "not a finite number"),
])  # fmt: skip
def test_what_cannot_be_a_law_is_explained(p, q, says):
    with pytest.raises(LawError, match=says):
        from_text(FOUR, p, q)


def test_typed_numbers_may_be_separated_in_any_way():
    made = from_text(FOUR, "0.4,0.3; 0.2\n0.1", "1/4 1/4 1/4 1/4")
    assert (made.tokens, made.p, made.q) == (FOUR.tokens, (0.4, 0.3, 0.2, 0.1), (0.25,) * 4)
    assert from_text(FOUR, "1 1 1", "1 2 1").tokens == ("A", "B", "C")
    assert from_text(FOUR, as_text(made.p), as_text(made.q)) == made


@pytest.mark.parametrize("text", ["", "null", "[]", "{}", "7", '{"tokens": 5}', '{"tokens": ["a", "b"], "p": [1], "q": [1, 0]}',
                                  '{"tokens": ["a", "b"], "p": [NaN, 1], "q": [1, 0]}', "[" * 100_000, '{"tokens": ["a", "b"], "p": ["x", 1], "q": [1, 0]}'])  # fmt: skip
def test_a_broken_view_value_is_a_sentence(text):
    with pytest.raises(LawError):
        Laws.from_json(text)


def test_a_view_value_gives_back_its_laws():
    assert Laws.from_json(json.dumps(outcomes.picture(FOUR, "tv", 0.3))) == FOUR


def test_sharing_scales_the_others_and_a_drag_loses_nothing():
    at_one = shared(FOUR, {"law": "p", "index": 0, "value": 1, "from": list(FOUR.p)})
    assert at_one.p == (1, 0, 0, 0)
    back = shared(at_one, {"law": "p", "index": 0, "value": 0.5, "from": list(FOUR.p)})
    assert back.p == pytest.approx(FOUR.p)
    assert shared(at_one, {"law": "p", "index": 0, "value": "0.4"}).p == pytest.approx((0.4, 0.2, 0.2, 0.2))
    assert back.q == FOUR.q


@pytest.mark.parametrize("edit", [{}, None, {"law": "x", "index": 0, "value": 0}, {"law": "p", "index": 9, "value": 0}, {"law": "p", "index": 0, "value": ""},
                                  {"law": "p", "index": 0, "value": 1.5}, {"law": "p", "index": 0, "value": "nan"}, {"law": "p", "index": 0, "value": 0, "from": [1]},
                                  {"law": "p", "index": 0, "value": [1]}, {"law": "tokens", "index": 0, "value": 0}])  # fmt: skip
def test_a_wrong_edit_is_a_sentence(edit):
    with pytest.raises(LawError):
        shared(FOUR, edit)


def test_random_laws_follow_their_seed_and_resemble_each_other():
    assert random_laws(8, 3) == random_laws(8, 3) != random_laws(8, 4)
    assert [len(random_laws(n, 0).tokens) for n in range(2, 9)] == list(range(2, 9))
    distances = [outcomes.tv(*random_laws(4, seed).tensors) for seed in range(40)]
    assert 0.1 < sum(distances) / 40 < 0.5
    for n, seed in ((1e9, 0), (1, 0), (4, -1), (None, 0), ("x", 0), (2.5, 0), (4, math.inf), (10**400, 0)):
        with pytest.raises(LawError, match="whole number"):
            random_laws(n, seed)


# ── a position of a run ──────────────────────────────────────────────────────────────────────────────────────────────


def verdict_of(p, q, token, whole=5):
    top = lambda law: sorted(enumerate(law), key=lambda a: -a[1])[:whole]  # noqa: E731
    verdict = {"cycle": 2, "position": 3, "token": token, "p": p[token], "q": q[token], "accepted": False,
               "tv": 0.5 * sum(abs(a - b) for a, b in zip(p, q)), "top_p": [a for a in top(p) if a[1]], "top_q": [a for a in top(q) if a[1]]}  # fmt: skip
    return json.dumps({"verdict": verdict, "pieces": {"0": " the", "7": "\n"}})


@pytest.mark.parametrize("seed", range(5))
def test_a_recorded_position_keeps_its_distance_and_its_acceptance(seed):
    """30 tokens of which a few are recorded: TV(p, q), and with it acceptance of lossless and tv, is that of all 30."""
    generator = torch.Generator().manual_seed(seed)
    p, q = torch.softmax(2 * torch.randn(2, 30, generator=generator, dtype=torch.float64), -1)
    made, sentence = from_verdict(verdict_of(p.tolist(), q.tolist(), int(q.argmax())))
    assert outcomes.tv(*made.tensors) == pytest.approx(made.whole, abs=1e-9)
    assert made.whole == pytest.approx(outcomes.tv(p, q))
    for rule, leniency in (("lossless", 0), ("tv", 0.3), ("tv_budget", 0.05)):
        one, all_ = make_rule(rule, leniency), position(p, q, make_rule(rule, leniency))
        assert outcomes.measures(made, one)["accept"] == pytest.approx(float((q * all_.keep).sum()), abs=1e-9)
    assert "Cycle 2, position 3" in sentence
    assert "rejected" in sentence


def test_a_short_list_of_alternatives_means_that_no_others_can_occur():
    made, _ = from_verdict(verdict_of([0.6, 0.3, 0.1], [1.0, 0, 0], 0))
    assert (made.tokens, made.p, made.q) == (("␣the", "#1", "#2"), (0.6, 0.3, 0.1), (1, 0, 0))


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*.json")), ids=lambda path: path.stem)
def test_every_position_of_the_stored_runs_can_be_taken(path):
    trace = Trace.from_json(path.read_text(encoding="utf-8"))
    pieces = {token: label for event in trace.of(Pieces) for token, label in event.pieces.items()}
    verdicts = trace.of(Verdict)
    assert verdicts
    for verdict in verdicts:
        made, _ = from_verdict(json.dumps({"verdict": vars(verdict), "pieces": pieces}))
        assert outcomes.tv(*made.tensors) == pytest.approx(verdict.tv, abs=2e-3), verdict  # recorded in float32, four digits shown
        assert made.whole == verdict.tv


@pytest.mark.parametrize("payload", ["", "null", "[1]", '{"verdict": {}}', '{"verdict": {"token": 1}, "pieces": {}}', "x" * 99_999])
def test_no_such_position_is_a_sentence(payload):
    with pytest.raises(LawError, match="no examined draft"):
        from_verdict(payload)


def test_the_browser_finds_the_examined_draft():
    lines = ['{"kind":"source","source":"live","run":1}', '{"kind":"pieces","pieces":{"5":" cat","6":"<b>"}}']
    for cycle, position_, accepted in ((1, 1, True), (1, 2, True), (2, 1, True), (2, 2, False)):
        lines.append(json.dumps({"kind": "verdict", "at": 1, "cycle": cycle, "position": position_, "token": 5, "accepted": accepted, "top_p": [[6, 0.5]], "top_q": [[7, 0.5]]}))  # fmt: skip
    calls = "[[0,0],[1,2],[2,null],[9,9],['',1]].map(([c,p]) => pick(data,c,p))"
    found = in_node(("theory/pick.js",), f"[...{calls}, pick('', null, null), pick(null)]", "\n".join([*lines, '{"kind":"verd']))
    places = [(d["verdict"]["cycle"], d["verdict"]["position"]) if (d := text and json.loads(text)) else None for text in found]
    assert places == [(2, 2), (1, 2), (2, 2), None, (1, 1), None, None]
    assert json.loads(found[0])["pieces"] == {"5": " cat", "6": "<b>"}


# ── what the rules make of laws ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("rule", RULES)
def test_the_closed_form_is_what_an_enumeration_of_examine_finds(rule):
    for name, leniency in product(PRESETS, (0.0, 0.3, 1.0)):
        p, q = preset(name).tensors
        made = make_rule(rule, leniency)
        at, (law, refused) = position(p, q, made), emitted_law(p, q, made)
        assert at.emitted.tolist() == pytest.approx(law.tolist(), abs=1e-12), (name, leniency)
        assert float(at.correction.sum()) == pytest.approx(refused, abs=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_the_picture_moves_mass_and_loses_none(rule):
    for name, leniency in product(PRESETS, (0.0, 0.4)):
        made = outcomes.picture(preset(name), rule, leniency)
        for i in range(len(made["tokens"])):
            assert made["firm"][i] + made["lenient"][i] + made["refused"][i] == pytest.approx(made["q"][i])
            assert made["firm"][i] + made["lenient"][i] + made["correction"][i] == pytest.approx(made["emitted"][i])
        assert sum(made["refused"]) == pytest.approx(sum(made["correction"]), abs=1e-12)
        assert sum(made["emitted"]) == pytest.approx(1)
        assert sum(made["residual"]) == pytest.approx(1 if sum(made["refused"]) > 1e-9 else 0)
        assert made["facts"]["accept"] == pytest.approx(1 - sum(made["refused"]))
        if leniency == 0:
            assert made["emitted"] == pytest.approx(made["p"])
            assert made["facts"]["bias"] == pytest.approx(0, abs=1e-12)
            assert sum(made["lenient"]) == pytest.approx(0, abs=1e-12)
            assert made["sentence"].startswith("Exact")
    json.loads(json.dumps(made), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def test_the_sentence_names_what_leniency_buys_and_what_it_costs():
    sentence = outcomes.picture(FOUR, "tv", 0.4)["sentence"]
    gain, bias = 0.4 * 0.45, 0.4 * 0.45  # λ·TV(p, q) of both
    assert f"keeps {gain:.3f} more" in sentence
    assert f"is {bias:.3f} away" in sentence
    assert "“ran” comes out" in sentence
    assert "“sat” 0.160 less often" in sentence
    assert "less of the drafts than the strict rule" in outcomes.picture(preset("agree"), "top_k", 0.05)["sentence"]


def test_rules_lie_on_the_line_or_below_it_never_above():
    below = dict.fromkeys(RULES, 0.0)
    for seed in range(7):
        made = random_laws(2 + seed, seed)
        for rule, points in outcomes.curves(made).items():
            below[rule] = max(below[rule], *(p[2] for p in points))
            for bias, accept, _ in points:
                assert accept <= 1 - outcomes.tv(*made.tensors) + bias + 2e-5, (seed, rule)
    assert {rule for rule, by in below.items() if by == 0} == ON_THE_LINE


def test_the_chart_says_which_rules_lie_on_the_line():
    made = outcomes.chart(FOUR, "cactus", 0.3)
    for rule in ON_THE_LINE:
        assert RULES[rule].label in made["sentence"].split("Below")[0]
    assert "Top-k match (by up to" in made["sentence"]
    assert [row["rule"] for row in made["rows"]] == list(RULES)
    assert len(json.dumps(made)) < 12_000
    assert max(accept for _, accept in made["curves"]["tv"]) == 1


def test_every_threshold_of_the_jumping_rules_is_met():
    made = random_laws(8, 1)
    p, _ = made.tensors
    assert len(set(p.tolist())) == 8
    kept = {tuple((position(*made.tensors, make_rule("top_k", leniency)).keep > 0).tolist()) for leniency in outcomes.STEPS[1:]}
    assert {sum(k) for k in kept} == set(range(1, 9))


# ── Proposition 2 ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "setting", [Setting(), Setting(2, 3, 3, noise="masked"), Setting(2, 2, 2, seed=2), Setting(4, 1, 1, rule="top_k", leniency=0.05)]
)
def test_the_table_shows_zero_where_losslessness_is_claimed_and_only_there(setting):
    for row in toys.enumerated(setting):
        assert row.claimed == (row.proposal != "any_order" or min(setting.steps, setting.gamma) == 1)
        assert not row.claimed or row.distance < 1e-9, row
        assert 0 < row.accepted <= row.lenient_accepted + (1 if setting.rule == "top_k" else 1e-9)
        assert row.lenient_distance > 1e-3


def test_the_table_that_comes_first_shows_the_bias_with_either_noise():
    assert [row.claimed for row in toys.enumerated(Setting()) if row.distance > 1e-3] == [False, False]


def test_a_row_is_what_decode_emits():
    """The same tables through the production `decode`, all of its paths."""
    row = toys.enumerated(Setting(3, 2, 2, "masked", "monotone", seed=1))[0]
    verifier = TableVerifier(3)
    law = output_law(verifier, EXACT["masked monotone"](toys.TableDenoiser(3, 2), Shape()), Plan(2, 2, 3, (), False), emits=1)
    assert row.accepted == pytest.approx(sum(w * (len(tokens) - 1) for tokens, w in law.items()))
    own = toys.continued({(): 1.0}, toys.table_verifier(3, 1), 3)
    assert between(own, verifier_law(verifier, 3)) < 1e-12


@pytest.mark.parametrize("case", [(2, 2, 2), (3, 2, 2), (2, 3, 2), (2, 3, 3), (3, 1, 3), (4, 2, 1)])
def test_the_estimate_is_never_below_the_work(case):
    for noise, proposal in product(NOISES, PROPOSALS):
        if noise == "uniform" and case[0] ** case[1] * case[2] > 24:
            continue  # the same formula, and these take seconds
        denoiser = toys.TableDenoiser(case[0], 2)
        drafter = toys.make_drafter(denoiser, noise, proposal, Shape())
        draft_law(lambda dice, drafter=drafter: drafter.propose([0], *case[1:], dice))
        assert 0 < denoiser.passes <= exactness.passes(noise, proposal, *case), (noise, proposal)


def test_a_table_that_is_too_large_is_refused_with_numbers_that_fit():
    large = Setting(4, 3, 3)
    with pytest.raises(RequestError, match="Lower the vocabulary V to 2") as error:
        toys.enumerated(large)
    assert "choose one noise and one proposal" in str(error.value)
    for field, value in exactness.lower(large):
        assert Setting(**{**vars(large), field: value}).passes <= MOST_PASSES
    masked = Setting(4, 3, 3, noise="masked")
    assert not exactness.refusal(masked)
    assert all(not exactness.refusal(Setting(2, gamma, steps)) for gamma, steps in product((1, 2, 3), (1, 2, 3)))


@pytest.mark.parametrize("wrong", [{"vocabulary": 1e9}, {"vocabulary": None}, {"gamma": "3"}, {"steps": 2.5}, {"seed": -1}, {"seed": math.nan}, {"vocabulary": True},
                                   {"noise": "pink"}, {"proposal": None}, {"rule": ""}, {"leniency": 2}, {"leniency": None}, {"leniency": math.nan}])  # fmt: skip
def test_a_wrong_setting_is_a_sentence(wrong):
    with pytest.raises(RequestError):
        Setting(**wrong)


# ── the view's handlers and words ────────────────────────────────────────────────────────────────────────────────────


def test_bad_input_changes_nothing_but_the_status():
    for answer in (theory_view._use("", "tv", 0.3, "1 1", "1 1"), theory_view._resettle(json.dumps(vars(FOUR)), "tv", None),
                   theory_view._resettle(json.dumps(vars(FOUR)), "nonsense", 0.1), theory_view._random("tv", 0.3, 1e9, 1)):  # fmt: skip
        *rest, status = answer
        assert status.startswith("bad:")
        assert all(isinstance(value, dict) and value["__type__"] == "update" for value in rest)
    table, status = theory_view._enumerate(4, 3, 3, "", "", 1, "tv", 0.3)
    assert status.startswith("bad:Too much")
    assert isinstance(table, dict)


def test_a_drag_is_answered_and_a_wrong_one_leaves_the_laws():
    laws = {"tokens": FOUR.tokens, "p": FOUR.p, "q": FOUR.q, "whole": None}
    answer = theory_view.share({"laws": laws, "rule": "tv", "leniency": 0.3, "edit": {"law": "q", "index": 3, "value": "1"}})
    assert json.loads(answer)["q"] == [0, 0, 0, 1]
    values = theory_view._settled(answer, "tv", 0.3)
    assert json.loads(values[0])["q"] == [0, 0, 0, 1]
    assert values[3:] == ("0 0 0 1", "note:q of “ran” is now 1.000; the other tokens share the rest.")
    wrong = json.loads(theory_view.share({"laws": laws, "rule": "tv", "leniency": 0.3, "edit": {"law": "q", "index": 3, "value": "7"}}))
    assert wrong["q"] == list(FOUR.q)
    assert wrong["note"].startswith("bad:q of “ran” must be a number")
    assert theory_view._settled("{", "tv", 0.3)[4].startswith("bad:")
    for broken in (None, [], {}, {"laws": laws}, {"laws": {"p": 1}, "rule": "tv", "leniency": 0}):
        assert theory_view.share(broken) is None


def test_a_table_arrives_in_the_pages_words():
    table, status = theory_view._enumerate(2, 2, 2, "masked", "", 1, "tv", 0.3)
    rows = json.loads(table)["rows"]
    assert [row["proposal"] for row in rows] == list(PROPOSALS)
    assert {row["verdict"] for row in rows} <= {"yes", "no", "lucky"}
    assert status.startswith("good:5 proposals")


def test_names_from_a_run_cannot_carry_markup():
    made, *_ = theory_view._answer("tv", 0.3, lambda laws: (Laws(("<script>", "b"), (1, 1), (1, 1)), ""))
    assert "<" not in made
    assert json.loads(made)["tokens"][0] == "<script>"


def test_templates_and_scripts_are_harmless():
    for name in ("laws", "chart", "exact"):
        assert static(read(f"theory/{name}.html", "theory/theory.css"))
    scripts = read(*(f"theory/{name}.js" for name in ("shared", "laws", "chart", "exact", "pick")))
    scripts = scripts.replace("http://www.w3.org/2000/svg", "")  # a name, not an address to fetch
    for risky in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(", "http"):
        assert risky not in scripts, risky


def test_building_the_view_loads_no_torch():
    """The first screen does not wait for it."""
    program = "import sys, gradio\nfrom sdiff.ui.theory_view import build_theory\nwith gradio.Blocks(): build_theory()\nprint('torch' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", program], cwd=RECORDED.parent.parent, capture_output=True, text=True, timeout=120)
    assert result.stdout.strip() == "False", result.stderr


def test_every_rule_and_preset_has_its_mark_and_its_words():
    assert set(strings.THEORY["presets"]) == set(PRESETS)
    assert all(f"{rule}:" in read("theory/chart.js") and f".th-rule-{rule} " in read("theory/theory.css") for rule in RULES)
    fields = {field for _, field, _, _ in string.Formatter().parse(strings.THEORY["biased"]) if field}
    assert fields == {"more", "accept", "bias", "up", "up_by", "down", "down_by"}
