"""The Theory view: components and events. Knows Gradio; leaves every number to laws.py, outcomes.py and toys.py.

Those import torch and are loaded when the view is first opened, so that the first screen does not wait for them. All handlers are
stateless: the laws travel in the view's own value, which is checked like anything else a visitor sends.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

import gradio as gr

from sdiff.exactness import EQUAL, LIMITS, Setting
from sdiff.request import NOISES, PROPOSALS, RULES, RequestError
from sdiff.ui import strings
from sdiff.ui.assets import read, script_json
from sdiff.ui.components import QUIET, line, theory
from sdiff.ui.link import read_link

WORDS, EXACT = strings.THEORY, strings.THEORY_EXACT
AT_ONCE: dict[str, Any] = {**QUIET, "queue": False, "preprocess": False, "trigger_mode": "always_last"}
FIRST, RULE, LENIENCY = "disagree", "tv", 0.3
PICK = "(trace, cycle, position, ...rest) => { %s; return [pick(trace, cycle, position), null, null, ...rest]; }"
SEARCH = "(value, ...rest) => [location.search, ...rest]"  # Gradio tells the address's query to `load` events only
Answer = tuple[Any, ...]


@dataclass(frozen=True)
class Theory:
    """How a page hands a position of a run to the view: `event(theory.take, [player, cycle, position, *theory.inputs], theory.outputs,
    js=theory.pick)`. `pick` finds the examined draft in the player's value, in the browser; `take` reads what it found.
    `exact`: the fields of Proposition 2's table, by their names in exactness.Setting."""

    take: Callable[..., Answer]
    inputs: list[Any]
    outputs: list[Any]
    pick: str
    exact: dict[str, Any]


def build_theory(stage: gr.HTML | None = None) -> Theory:
    """The whole view, inside the current Blocks context. `stage`: the player whose run a person may take a position from."""
    gr.Markdown(f"## {WORDS['title']}\n\n{WORDS['intro']}", elem_id="theory-intro")
    with gr.Row(elem_id="theory-presets"):
        presets = {name: gr.Button(label, size="sm", min_width=120, elem_id=f"theory-{name}") for name, label in WORDS["presets"].items()}
    with gr.Row(elem_id="theory-controls"):
        rule = gr.Dropdown(
            [(strings.said(knob.label), name) for name, knob in RULES.items()], value=RULE, **_labels(WORDS, "rule", "theory-rule")
        )
        leniency = gr.Slider(0, 1, LENIENCY, step=0.01, **_labels(WORDS, "leniency", "theory-leniency"))
    with gr.Accordion(WORDS["own"], open=False, elem_id="theory-own"):
        own = _own_laws(stage is not None)
    status = line(f"note:{WORDS['started']}", elem_id="theory-status")
    laws = theory("laws", strings.THEORY_LAWS, server_functions=[share], elem_id="theory-laws")
    chart = theory("chart", strings.THEORY_CHART, elem_id="theory-chart")
    settings, outputs = [laws, rule, leniency], [laws, chart, own["p"], own["q"], status]
    _wire_laws(presets, own, settings, outputs)
    entry = Theory(_take, settings, outputs, PICK % read("theory/pick.js"), _exactness(rule, leniency))
    if stage is not None:
        inputs = [stage, own["cycle"], own["position"], *settings]
        own["take"].click(_take, inputs, outputs, js=entry.pick, **AT_ONCE)
    return entry


def _labels(words: dict[str, Any], field: str, elem_id: str) -> dict[str, Any]:
    label, info = words[field]
    return {"label": label, "info": info or None, "elem_id": elem_id}


def _own_laws(with_run: bool) -> dict[str, Any]:
    """The boxes behind "type, draw or take"."""
    own: dict[str, Any] = {}
    with gr.Row():
        for law in ("p", "q"):
            own[law] = gr.Textbox("", max_length=2000, **_labels(WORDS, law, f"theory-{law}"))
        own["use"] = gr.Button(WORDS["use"], elem_id="theory-use", min_width=140)
    with gr.Row():
        own["n"] = gr.Number(4, precision=0, **_labels(WORDS, "n", "theory-n"))
        own["seed"] = gr.Number(1, precision=0, **_labels(WORDS, "seed_box", "theory-seed"))
        own["random"] = gr.Button(WORDS["random"], elem_id="theory-random", min_width=140)
    if with_run:
        with gr.Row():
            for field in ("cycle", "position"):
                own[field] = gr.Number(0, precision=0, **_labels(WORDS, field, f"theory-{field}"))
            own["take"] = gr.Button(WORDS["take"], elem_id="theory-take", min_width=140)
    return own


# ── one token's laws ─────────────────────────────────────────────────────────────────────────────────────────────────


def _checked(rule: Any, leniency: Any) -> tuple[str, float]:
    from sdiff.ui.laws import LawError

    if rule not in RULES or isinstance(leniency, bool) or not isinstance(leniency, int | float) or not 0 <= leniency <= 1:
        raise LawError(WORDS["bad_rule"])
    return rule, leniency


def _answer(rule: object, leniency: object, make: Callable[[Any], tuple[Any, str]], texts: bool = True) -> Answer:
    """Values of the outputs: laws, chart, p and q as texts, status. `make(laws module)` returns (laws, sentence)."""
    from sdiff.ui import laws, outcomes  # torch

    keep = gr.skip()
    try:
        made, sentence = make(laws)
        rule, leniency = _checked(rule, leniency)
    except laws.LawError as error:
        return keep, keep, keep, keep, f"bad:{error}"
    picture = script_json(outcomes.picture(made, rule, leniency))
    shown = (laws.as_text(made.p), laws.as_text(made.q)) if texts else (keep, keep)
    return picture, script_json(outcomes.chart(made, rule, leniency)), *shown, f"note:{sentence}" if sentence else keep


def _preset(name: str) -> Callable[[object, object], Answer]:
    return lambda rule, leniency: _answer(rule, leniency, lambda laws: (laws.preset(name), WORDS["started"]))


def _opened(search: object, rule: object, leniency: object) -> Answer:
    """The laws in an address's query, named with "|" between the names; an example where it has none, or none that can be used, which is said."""
    state = read_link(dict(parse_qsl(str(search).removeprefix("?")))).state
    p, q, names = (state.get(f"theory_{part}", "") for part in ("p", "q", "tokens"))

    def make(laws: Any) -> tuple[Any, str]:
        p_values, q_values, tokens = laws.typed("p", p), laws.typed("q", q), tuple(names.split("|"))
        return laws.Laws(tokens if len(tokens) == len(p_values) else laws.numbered(len(p_values)), p_values, q_values), WORDS["started"]

    example = _preset(FIRST)(rule, leniency)
    if not (p or q):
        return example
    answer = _answer(rule, leniency, make)
    return answer if isinstance(answer[0], str) else (*example[:-1], answer[-1])


def _resettle(value: object, rule: object, leniency: object) -> Answer:
    """Another rule or leniency for the same laws; before the view was opened there are none."""
    if not value:
        return (gr.skip(),) * 5
    return _answer(rule, leniency, lambda laws: (laws.Laws.from_json(value), ""), texts=False)


def share(payload: Any) -> str | None:
    """The view's value after one bar was dragged or one number typed; `payload`: {laws, rule, leniency, edit}, see laws.shared.

    A server function, not an event: Gradio repeats a postponed event with the data of the first one, and a drag needs the last.
    What is wrong with the edit is said in `note`.
    """
    from sdiff.ui import laws, outcomes  # torch

    try:
        data = payload if isinstance(payload, dict) else {}
        old, rule, leniency = laws.Laws.from_data(data.get("laws")), *_checked(data.get("rule"), data.get("leniency"))
    except laws.LawError:
        return None
    try:
        edit = data.get("edit")
        made = laws.shared(old, edit)
        name, i = edit["law"], int(edit["index"])
        note = "note:" + WORDS["set"].format(law=name, token=made.tokens[i], value=f"{getattr(made, name)[i]:.3f}")
    except laws.LawError as error:
        made, note = old, f"bad:{error}"
    return script_json({**outcomes.picture(made, rule, leniency), "note": note})


def _settled(value: object, rule: object, leniency: object) -> Answer:
    """A drag has ended: all the rest follows the laws now in the view, with the note of `share`."""
    laws, *rest, status = _answer(rule, leniency, lambda laws: (laws.Laws.from_json(value), ""))
    note = json.loads(str(value)).get("note") if isinstance(laws, str) else None
    return laws, *rest, note[:300] if isinstance(note, str) else status


def _use(value: object, rule: object, leniency: object, p: object, q: object) -> Answer:
    def make(laws: Any) -> tuple[Any, str]:
        made, sums = laws.from_text(laws.Laws.from_json(value), p, q), [sum(laws.typed(*law)) for law in (("p", p), ("q", q))]
        divided = any(abs(total - 1) > 1e-6 for total in sums)
        return made, WORDS["divided"].format(p=f"{sums[0]:.4g}", q=f"{sums[1]:.4g}") if divided else WORDS["used"]

    return _answer(rule, leniency, make, texts=False)


def _random(rule: object, leniency: object, n: object, seed: object) -> Answer:
    def make(laws: Any) -> tuple[Any, str]:
        made = laws.random_laws(n, seed)
        return made, WORDS["drawn"].format(n=len(made.tokens), seed=f"{seed:.0f}")

    return _answer(rule, leniency, make)


def _take(payload: object, _cycle: object, _position: object, _value: object, rule: object, leniency: object) -> Answer:
    """`payload`: what `Theory.pick` found in the run; see laws.from_verdict."""
    return _answer(rule, leniency, lambda laws: laws.from_verdict(payload))


def _choose(event: gr.EventData) -> Any:
    chosen = event._data.get("rule") if isinstance(event._data, dict) else None
    return chosen if chosen in RULES else gr.skip()


# Gradio takes a typed number over in its own time, after a quick press of the button: what stands in the boxes counts.
TYPED = (
    "(...given) => [...given.slice(0, 3), ...['p', 'q'].map((law) => document.querySelector(`#theory-${law} :is(textarea, input)`).value)]"
)


def _wire_laws(presets: dict[str, gr.Button], own: dict[str, Any], settings: list[Any], outputs: list[Any]) -> None:
    laws, rule, leniency = settings
    chart = outputs[1]
    laws.opened(_opened, settings, outputs, js=SEARCH, **AT_ONCE)
    for name, button in presets.items():
        button.click(_preset(name), [rule, leniency], outputs, **AT_ONCE)
    laws.settled(_settled, settings, outputs, **AT_ONCE)
    gr.on([rule.change, leniency.change], _resettle, settings, outputs, **AT_ONCE)
    chart.chosen(_choose, None, rule, **{**AT_ONCE, "trigger_mode": "multiple"})
    gr.on([own["use"].click, own["p"].submit, own["q"].submit], _use, [*settings, own["p"], own["q"]], outputs, js=TYPED, **AT_ONCE)
    own["random"].click(_random, [rule, leniency, own["n"], own["seed"]], outputs, **AT_ONCE)


# ── Proposition 2 ────────────────────────────────────────────────────────────────────────────────────────────────────

WAITING = 32  # questions at once: those with an answer in memory must not queue behind those that are computed one by one
FIELDS = ("vocabulary", "gamma", "steps", "noise", "proposal", "seed")


def _exactness(rule: gr.Dropdown, leniency: gr.Slider) -> dict[str, Any]:
    gr.Markdown(f"## {EXACT['title']}\n\n{EXACT['help']}", elem_id="theory-exact-intro")
    fields: dict[str, Any] = {}
    with gr.Row():
        for field in FIELDS[:3]:
            fields[field] = gr.Slider(*LIMITS[field], getattr(Setting, field), step=1, **_labels(EXACT, field, f"exact-{field}"))
    with gr.Row():
        noises = [(EXACT["both"], ""), *((strings.NOISE_LABELS[noise], noise) for noise in NOISES)]
        fields["noise"] = gr.Radio(noises, value="", **_labels(EXACT, "noise", "exact-noise"))
        proposals = [(EXACT["all"], ""), *((name, name) for name in PROPOSALS)]
        fields["proposal"] = gr.Dropdown(proposals, value="", **_labels(EXACT, "proposal", "exact-proposal"))
        fields["seed"] = gr.Number(Setting.seed, precision=0, **_labels(EXACT, "seed", "exact-seed"))
    button = gr.Button(EXACT["run"], variant="primary", elem_id="exact-run")
    status = line(elem_id="exact-status")
    table = theory("exact", EXACT, elem_id="exact-table")
    asked = button.click(None, None, status, js=f"() => {json.dumps('busy:' + EXACT['running'])}", **QUIET)
    job = asked.then(
        _enumerate,
        [*fields.values(), rule, leniency],
        [table, status],
        preprocess=False,
        concurrency_limit=WAITING,
        trigger_mode="once",
        **QUIET,
    )
    job.failure(None, None, status, js=f"() => {json.dumps('bad:' + EXACT['failed'])}", **QUIET)
    return fields


def _enumerate(*values: Any) -> Answer:
    """(table, status); a setting that is wrong or too large leaves the table as it is."""
    from sdiff.toys import enumerated  # torch

    try:
        setting = Setting(**dict(zip((*FIELDS, "rule", "leniency"), values, strict=True)))
        rows = enumerated(setting)
    except RequestError as error:
        return gr.skip(), f"bad:{strings.said(error)}"
    table = {"rows": [_row(row) for row in rows]}
    done = EXACT["done"].format(
        rows=len(rows), ms=f"{sum(row.ms for row in rows):,.0f}", passes=f"{setting.passes:,}",
        rule=strings.said(RULES[setting.rule].label), native=strings.said(RULES[setting.rule].native(setting.leniency)),
    )  # fmt: skip
    return script_json(table), f"good:{done}"


def _row(row: Any) -> dict[str, Any]:
    """A row in the page's words. A proposal that is biased in general may be exact for one table: that is said, not hidden."""
    exact = row.distance < EQUAL
    verdict = "yes" if row.claimed and exact else "lucky" if exact else "no"
    return {**vars(row), "noise": strings.NOISE_LABELS[row.noise], "help": strings.said(PROPOSALS[row.proposal]), "verdict": verdict}
