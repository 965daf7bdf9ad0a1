"""Run files in node: which are opened, which are refused and how; what is saved, kept and tabulated."""

from __future__ import annotations

import copy
import csv
import itertools
import json
import math
import random
from typing import Any

import pytest
from test_player_scripts import of_run, scripts
from test_timeline import RUNS, every_run, made

from sdiff.measures import statistics
from sdiff.request import Request
from sdiff.trace import Emit, Trace, Verdict, Verify
from sdiff.ui import strings
from sdiff.ui.live import player_value

PLAYED = """
// All that the page draws of a run, at every frame and some leniencies; then the player plays it. How it came out.
function played(text) {
  const timeline = opened(text.split("\\n").filter(Boolean)), pin = makePin(new Stand(), words, states), predictor = makePredictor(), shown = [];
  pin.set(timeline);
  predictor.on = true;
  timeline.frames.forEach((_, k) => [null, 0.4].forEach((at) => {
    const state = stateAt(timeline, k, at), block = makeBlock(new Stand(), state.shape, words);
    drawBlock(block, timeline, state, states, words);
    drawText(new Stand(), timeline, state);
    drawPredict(predictor, timeline, state, words.predict, () => 0);
    for (let column = 0; column <= state.shape.columns; column++)
      for (const row of ["verdict", "written"]) drawCard(new Stand(), timeline, state, { row, column }, false, words.card);
    shown.push(caption(timeline, state, words.captions), slowMotion(timeline, k, 1));
    drawWhatIf(timeline, at, words.whatIf);
    pin.show(timeline, k);
  }));
  cycleRows(timeline);
  const transport = makeTransport(() => timeline, () => transport.plan(), () => false, () => 0);
  transport.plan();
  for (let turns = 0; pending && turns < 1e5; turns++) pass();
  if (shown.some((said) => /undefined|NaN|\\{\\w+\\}/.test(said))) throw new Error(shown.find((said) => /undefined|NaN|\\{\\w+\\}/.test(said)));
  return [transport.head, timeline.frames.length - 1, transport.atEnd(), pending === null];
}
"""


ODD = (None, True, -1, 0.5, 7, 1e6, 1e308, "x", "", [], {}, [None], [[]], [[1, "x"]], [0.5, "a"], {"a": 1}, {"rule": 7}, "infinite")


def broken(document: dict[str, Any], rng: random.Random) -> str:
    """The text of a run file in which something is otherwise than it was written."""
    document = copy.deepcopy(document)
    events = document["events"]
    for _ in range(rng.choice((1, 1, 2))):
        i, j = rng.randrange(len(events)), rng.randrange(len(events))
        key = rng.choice([k for k in events[i]] or ["kind"])
        change = rng.randrange(6)
        if change == 0:
            events[i].pop(key, None)
        elif change == 1:
            events[i], events[j] = events[j], events[i]
        elif change == 2:
            del events[i if len(events) > 1 else 0]
        elif change == 3:
            events.insert(j, events[i])
        elif isinstance(value := events[i].get(key), list | dict) and value and change == 4:
            inside = rng.choice(list(value) if isinstance(value, dict) else range(len(value)))
            value[inside] = rng.choice(ODD)
        else:
            events[i][key] = rng.choice(ODD)
        events = document["events"] = events or [{}]
    return json.dumps(document).replace('"infinite"', "1e999")


def test_whatever_file_is_opened_plays_to_its_end_and_the_others_are_refused_in_words():
    """1,500 run files broken at random, seed fixed."""
    rng, small = random.Random(5), [made(Request("p", gamma=3, steps=2, max_tokens=7, seed=s, leniency=0.3)) for s in (1, 2)]
    documents = [json.loads(trace.to_json()) for trace in (*small, made(Request("p", plain=True, max_tokens=3)))]
    texts = [broken(rng.choice(documents), rng) for _ in range(1500)]
    found = scripts("""data.map((text) => {
      let value;
      try { value = openedRun(text, words.open); } catch (error) { return error.message; }
      return played(value);
    })""", texts, PLAYED)  # fmt: skip
    refused = [end for end in found if isinstance(end, str)]
    assert set(refused) == {strings.PLAYER["open"]["broken"]}
    assert all(head == last and at_end and rests for head, last, at_end, rests in (end for end in found if not isinstance(end, str)))
    assert 400 < len(refused) < 1200


def test_each_kind_of_broken_file_has_its_sentence():
    document = json.loads(made(Request("p", max_tokens=9)).to_json())
    events, words = document["events"], strings.PLAYER["open"]

    def without(kind: str, key: str) -> str:
        return json.dumps({**document, "events": [{k: v for k, v in e.items() if (e["kind"], k) != (kind, key)} for e in events]})

    texts = {
        "": "notJson", "{": "notJson", "null": "noEvents", "7": "noEvents", '{"events": 3}': "noEvents", '{"schema": 1}': "noEvents",
        json.dumps({**document, "events": events[1:]}): "broken", json.dumps({**document, "events": [*events, events[3]]}): "broken",
        json.dumps({**document, "events": [*events[:3], {"kind": "?", "at": 1}]}): "broken", without("run", "settings"): "broken",
        without("denoise", "canvas"): "broken", without("verify", "ms"): "broken", without("verdict", "u"): "broken", without("emit", "extra"): "broken",
        without("end", "reason"): "broken",
    }  # fmt: skip
    refusal = "data.map((text) => { try { openedRun(text, words.open); return ''; } catch (error) { return error.message; } })"
    assert scripts(refusal, list(texts)) == [words[name] for name in texts.values()]
    schemas = [2, "1", None, "9" * 99]
    told = scripts(refusal, [json.dumps({**document, "schema": schema}) for schema in schemas])
    assert told == [words["schema"].format(schema=str("null" if schema is None else schema)[:20]) for schema in schemas]


@every_run
def test_a_saved_run_is_the_same_run_here_and_in_python(name):
    """Save, read by trace.py, open again; and a run that was cut short opens with an end."""
    trace = RUNS[name]
    text = player_value(trace, "live")
    saved = of_run(name, """((saved) => {
      globalThis.Blob = class { constructor(parts) { saved = parts.join(""); } };
      globalThis.URL = { createObjectURL: () => "" };
      Stand.prototype.click = () => 0;
      saveRun(data.text, whole());
      return [saved, openedRun(saved, words.open)];
    })([])""", text=text)  # fmt: skip
    assert Trace.from_json(saved[0]).events == trace.events
    assert [json.loads(line) for line in saved[1].splitlines()[1:]] == [json.loads(line) for line in text.splitlines()[1:]]
    half = Trace(trace.events[: len(trace.events) // 2])
    opened = Trace.from_json(json.dumps({"schema": 1, "events": [json.loads(line) for line in scripts("openedRun(data, words.open)", half.to_json()).splitlines()[1:]]}))  # fmt: skip
    assert opened.events[:-1] == half.events
    assert (opened.end.reason, opened.end.text, opened.end.tokens) == ("stopped", half.text, half.tokens)


def test_a_live_run_is_kept_with_an_end_and_nothing_else_is():
    trace = made(Request("Hello", seed=2))
    cut = [t for t in range(len(trace.events)) if isinstance(trace.events[t], Emit)][1] + 2
    keep = """data.map((text) => { const kept = {}; globalThis.sessionStorage = { setItem: (k, v) => (kept[k] = v), getItem: (k) => kept[k] ?? null };
      return [keepRun(text, opened(text.split("\\n").filter(Boolean))), keptRun()]; })"""
    values = [
        player_value(Trace(trace.events[:n]), source)
        for source, n in (("live", cut), ("live", len(trace.events)), ("live", 3), ("recorded", cut))
    ]
    (short, in_store), (full, _), *nothing = scripts(keep, values)
    assert (in_store, full, nothing) == (short, values[1], [[None, None]] * 2)
    assert short.startswith(values[0])
    assert short.count("\n") == values[0].count("\n") + 1
    end = json.loads(short.splitlines()[-1])
    assert (end["kind"], end["reason"], end["text"]) == ("end", "stopped", Trace(trace.events[:cut]).text)


@every_run
def test_the_table_of_cycles_is_what_statistics_counts(name):
    trace, rows = RUNS[name], list(csv.DictReader(of_run(name, "cycleRows(whole())").splitlines(), strict=True))
    stats = statistics(trace.events)
    verdicts = {n: [v for v in group] for n, group in itertools.groupby(trace.of(Verdict), lambda v: v.cycle)}
    checked = {v.cycle: v for v in trace.of(Verify)}
    emits = [e for e in trace.of(Emit) if e.cycle in checked]
    assert [int(row["cycle"]) for row in rows] == [e.cycle for e in emits]
    for row, emit in zip(rows, emits, strict=True):
        seen = verdicts.get(emit.cycle, [])
        assert (int(row["drafted"]), int(row["accepted"]), int(row["tokens"])) == (
            len(checked[emit.cycle].tokens),
            emit.accepted,
            len(emit.tokens),
        )
        assert (int(row["by_leniency"]), row["extra"]) == (sum(v.lenient for v in seen), emit.extra)
        assert row["mean_tv"] == "" if not seen else float(row["mean_tv"]) == pytest.approx(math.fsum(v.tv for v in seen) / len(seen))
    for column, phase in (("draft_ms", "draft"), ("verify_ms", "verify")):
        assert math.fsum(float(row[column]) for row in rows) == pytest.approx(stats["ms"][phase])
    if rows:
        assert sum(int(row["tokens"]) for row in rows) == stats["tokens"]
