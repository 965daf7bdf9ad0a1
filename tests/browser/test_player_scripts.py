"""The player's other scripts in node: words, prediction, a pinned run, leniency, and time. Page elements are stand-ins that keep what they are given."""

from __future__ import annotations

import itertools
import json
import random
import re
from typing import Any

import pytest
from node import in_node
from test_timeline import BEFORE, RUNS, every_run, pictured

from sdiff.request import KNOBS
from sdiff.trace import Denoise, Emit, End, Verdict, Verify
from sdiff.ui import strings
from sdiff.ui.assets import PLAYER_SCRIPTS, player_parts
from sdiff.ui.live import player_value

SCRIPTS = ("common.js", *(f"player/{name}" for name in PLAYER_SCRIPTS if name not in ("main.js", "presenter.js")))
STAND_INS = (
    f"const props = {json.dumps(player_parts()[3])}, words = props.words, states = props.states;"
    + """
class Stand {
  constructor() { Object.assign(this, { textContent: "", hidden: false, className: "", children: [], parts: {}, dataset: {}, style: {}, classList: { toggle() {} } }); }
  append(...nodes) { for (const node of nodes) { node.parent = this; this.children.push(node); } }
  replaceChildren(...nodes) { this.children = []; this.append(...nodes.filter((node) => node instanceof Stand)); }
  remove() { this.parent.children.splice(this.parent.children.indexOf(this), 1); }
  replaceWith(node) { this.parent.children.splice(this.parent.children.indexOf(this), 1, node); node.parent = this.parent; }
  get firstChild() { return this.children[0]; }
  get lastChild() { return this.children[this.children.length - 1]; }
  querySelector(selector) { return (this.parts[selector] ||= new Stand()); }
  setAttribute(name, value) { this[name] = String(value); }
  getAttribute(name) { return this[name] ?? null; }
  removeAttribute(name) { delete this[name]; }
}
const element = Object.assign(new Stand(), { isConnected: true }), document = { createElement: () => new Stand() };
let now = 0, pending = null; // a clock that goes only when it is told to
const performance = { now: () => now }, clearTimeout = (timer) => { if (pending === timer) pending = null; };
const setTimeout = (call, ms) => (pending = { call, at: now + Math.max(0, ms) });
function pass(ms = 0) { const { call, at } = pending; [now, pending] = [at + ms, null]; call(); }
"""
)
WRONG = re.compile(r"\{\w+\}|undefined|NaN")  # what no sentence may hold


def scripts(expression: str, data: Any = None, more: str = "") -> Any:
    return in_node(SCRIPTS, expression, data, BEFORE + STAND_INS + more)


def of_run(name: str, expression: str, **data: Any) -> Any:
    return scripts(expression, {"lines": player_value(RUNS[name], "recorded").splitlines(), **data})


# ── words ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@every_run
def test_every_picture_has_its_sentence(name):
    """At every frame and leniency: nothing left to fill in, and the numbers are the event's own."""
    events = [event for event in RUNS[name].events if pictured(event)]
    told = of_run(
        name, "((t) => [null, 0, 0.4, 1].map((at) => t.frames.map((_, k) => caption(t, stateAt(t, k, at), words.captions))))(whole())"
    )
    assert not [said for said in itertools.chain(*told) if not said or WRONG.search(said.replace("returned NaN", ""))]
    for event, said in zip(events, told[0], strict=True):
        if isinstance(event, Denoise):
            assert f"Cycle {event.cycle}" in said
            assert str(event.step) in said or event.step == 0
        if isinstance(event, Verdict):
            assert f"Position {event.position}: " in said
            assert ("accepted" in said, "leniency" in said.split(":")[1]) == (event.accepted, event.lenient) or not event.accepted
        if isinstance(event, End):
            assert str(len(event.tokens)) in said or event.error.rstrip(".") in said


def test_a_number_is_shown_to_three_places_and_only_none_and_all_without():
    rng = random.Random(1)
    values = [0, 1, *(10 ** rng.uniform(-9, 0) for _ in range(2000)), *(1 - 10 ** rng.uniform(-9, 0) for _ in range(2000))]
    for x, shown in zip(values, scripts("data.map(number)", values), strict=True):
        if x in (0, 1):
            assert shown == str(x)
        elif x < 1e-4:
            assert shown == "<0.0001"
        else:
            assert abs(float(shown) - x) <= (5.01e-4 if 0.001 <= x <= 0.999 else x * 5.01e-3)
            assert float(shown) != 0
            assert "." in shown


def test_tokens_that_split_a_character_show_it_once_and_whole():
    """Random text cut anywhere between its bytes: what is shown, without the dots of the rest, is the text."""
    rng, texts, cut = random.Random(2), [], []
    for _ in range(200):
        texts.append("".join(rng.choice("až漢🙂") for _ in range(12)))
        data, tokens = texts[-1].encode(), []
        for a, b in itertools.pairwise([0, *sorted(rng.sample(range(1, len(data)), 7)), len(data)]):
            try:
                tokens.append(data[a:b].decode())
            except UnicodeDecodeError:
                tokens.append("⟨" + data[a:b].hex(" ").upper() + "⟩")
        cut.append(tokens)
    for text, tokens, shown in zip(
        texts, cut, scripts("data.map((pieces) => rowLabels({ pieces }, pieces.map((_, i) => i)))", cut), strict=True
    ):
        assert len(shown) == len(tokens)
        assert all(a == b for a, b in zip(tokens, shown, strict=True) if not a.startswith("⟨"))
        assert "".join(label for label in shown if label != "…") == text


def test_what_a_run_holds_is_heard_as_python_reads_it(monkeypatch):
    monkeypatch.setattr(strings, "RECOGNISED", strings.recognised(strings.load("de")["SAID"]))
    held = ["masked", "tv", "tvx", "δ = all", "λ = 0.3", "5-layer block denoiser", "x86_64 CPU, 2 cores", "plain decoding", "", *KNOBS]
    assert scripts("data[0].map((text) => heard(text, data[1]))", [held, strings.RECOGNISED]) == [strings.read(text) for text in held]
    assert scripts("heardAll({ a: 'masked', b: 4, c: null }, data)", strings.RECOGNISED) == {"a": strings.read("masked"), "b": 4, "c": None}


# ── prediction, a pinned run, leniency after the fact ────────────────────────────────────────────────────────────────


@every_run
def test_a_guess_is_waited_for_and_scored_against_the_mean_so_far(name):
    """Every check waits once; the score is that of the first answer, cycle by cycle."""
    rng, blocks = random.Random(3), [e for e in RUNS[name].of(Emit) if any(v.cycle == e.cycle for v in RUNS[name].of(Verdict))]
    checks, numbers = (
        {v.cycle: v for v in RUNS[name].of(Verify)},
        list(dict.fromkeys(e.cycle for e in RUNS[name].events if hasattr(e, "cycle"))),
    )
    guesses = {e.cycle: rng.randrange(9) for e in blocks if rng.random() < 0.7}
    waits, scores = of_run(name, """((t, p) => {
      p.on = true;
      const waits = t.frames.map((frame, k) => p.waits(t, k) === (frame.kind === "verify"));
      for (const [number, kept] of data.guesses) for (const said of [kept, kept + 1]) p.guess(t.cycles.find((c) => c.number === number).index, said);
      t.frames.forEach((frame, k) => waits.push(p.waits(t, k) === (frame.kind === "verify" && !data.guesses.some(([n]) => n === t.cycles[frame.cycle].number))));
      const scores = t.cycles.map((_, c) => p.score(t, c));
      p.reset();
      return [waits, [...scores, p.score(t, t.cycles.length)]];
    })(whole(), makePredictor())""", guesses=list(guesses.items()))  # fmt: skip
    assert all(waits)
    for number, score in zip(numbers, scores):
        mine = [i for i, e in enumerate(blocks) if e.cycle <= number and e.cycle in guesses]
        off = [abs(guesses[blocks[i].cycle] - blocks[i].accepted) for i in mine]
        means = [sum(e.accepted for e in blocks[:i]) / i if i else len(checks[blocks[i].cycle].tokens) / 2 for i in mine]
        blind = [abs(mean - blocks[i].accepted) for i, mean in zip(mine, means, strict=True)]
        assert score == {
            "n": len(mine),
            "off": pytest.approx(sum(off) / max(1, len(off))),
            "blind": pytest.approx(sum(blind) / max(1, len(mine))),
        }
    assert scores[-1] == {"n": 0, "off": 0, "blind": 0}


def test_a_question_offers_every_answer_and_tells_what_came_of_it():
    trace = RUNS["fake 0 Hello"]
    at = {kind: next(k for k, e in enumerate(filter(pictured, trace.events)) if isinstance(e, kind)) for kind in (Denoise, Verify, Emit)}
    said = of_run("fake 0 Hello", """((t, p) => {
      const draw = (k) => drawPredict(p, t, stateAt(t, k), words.predict, (kept) => p.guess(0, kept)), box = $(".sd-guesses"), says = [$(".sd-predict").hidden];
      const tell = (k) => { draw(k); says.push([$(".sd-predict").hidden, box.children.map((b) => b.textContent), $(".sd-predict-says").textContent, $(".sd-score").textContent !== ""]); };
      tell(data.denoise);
      p.on = true;
      tell(data.denoise); tell(data.verify);
      box.children[2].onclick();
      tell(data.verify); tell(data.emit);
      return says.slice(1);
    })(whole(), makePredictor())""", denoise=at[Denoise], verify=at[Verify], emit=at[Emit])  # fmt: skip
    words, kept = strings.PLAYER["predict"], trace.of(Emit)[0].accepted
    assert said == [
        [True, [], "", False],
        [False, [], words["wait"], False],
        [False, [str(n) for n in range(9)], words["ask"].format(n=8), False],
        [False, [], words["guessed"].format(guess=2), False],
        [False, [], words["revealed"].format(guess=2, kept=kept), True],
    ]


PHASES = {"denoise": 0, "verify": 1, "verdict": 2, "emit": 3, "token": 3}


PINNED = ("01-masked", "race/plain", "fake 0 Hello", "fake 1 break", "fake 3 Hello", "fake 7 Hello", "odd")


@pytest.mark.parametrize(("stage", "pinned"), list(itertools.product(PINNED, repeat=2)))
def test_a_pinned_run_shows_the_same_phase_of_the_same_cycle(stage, pinned):
    """The last of its frames in that cycle that is not later than the stage's; its first where all are; its end when the stage's run has ended."""
    lines = [player_value(RUNS[name], "recorded").splitlines() for name in (stage, pinned)]
    there, mine, theirs = scripts("((a, b) => [a.frames.map((_, k) => besides(b, a, k)), a.frames, b.frames])(...data.map(opened))", lines)
    place = lambda f: (PHASES[f["kind"]], f["rows"] if f["kind"] == "denoise" else f["verdicts"] if f["kind"] == "verdict" else 0)  # noqa: E731
    for k, frame in enumerate(mine):
        inside = [i for i, f in enumerate(theirs) if f["cycle"] == frame["cycle"] and f["kind"] != "end"]
        if frame["kind"] == "end":
            wanted = len(theirs) - 1
        elif frame["cycle"] < 0:
            before = [i for i, f in enumerate(theirs) if f["cycle"] < 0]
            wanted = before[min(k, len(before) - 1)]
        elif not inside:
            wanted = len(theirs) - 1
        else:
            wanted = max([inside[0], *(i for i in inside if place(theirs[i]) <= place(frame))])
        assert there[k] == wanted, (k, frame)


@every_run
def test_leniency_after_the_fact_is_told(name):
    """The slider stands at the run's own leniency until it is moved; it rests where no verdict tells its flip; then the first flip is told."""
    trace, own = RUNS[name], RUNS[name].events[0].settings["leniency"]
    told = of_run(name, """((t) => data.at.map((at) => {
      drawWhatIf(t, at, words.whatIf);
      const { first, all } = at === null ? { first: null, all: [] } : flips(t, at);
      return [$(".sd-whatif").hidden, $(".sd-whatif-slider").value, $(".sd-whatif-slider").disabled, $(".sd-whatif-go").hidden,
              $(".sd-whatif-reset").hidden, $(".sd-whatif-says").textContent, first && [first.cycle.number, first.verdict.position, all.length]];
    }))(whole())""", at=[None, 0, 0.4, 1])  # fmt: skip
    verdicts, words = trace.of(Verdict), strings.PLAYER["whatIf"]
    for at, (hidden, value, disabled, no_flip, no_reset, says, first) in zip((None, 0, 0.4, 1), told, strict=True):
        assert hidden == (not verdicts)
        if hidden:
            continue
        assert (value, no_reset, no_flip) == (own if at is None else at, at is None, first is None)
        if disabled:
            assert (says, trace.events[0].settings["rule"]) == (words["unable"], "top_k")
        elif at is None:
            lenient = sum(v.lenient for v in verdicts)
            assert (words["own"] in says, f"{lenient} of {len(verdicts)}" in says) == (True, lenient > 0)
        elif first is None:
            assert says == words["same"]
        else:
            assert f"cycle {first[0]}, position {first[1]}," in says
            assert f"{first[2]} of {len(verdicts)} verdicts" in says
            assert says.partition("would change: ")[2].count("“") == min(16, first[2])


# ── time ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

PLAYER = """
function player(timeline, waits = () => false) {
  const shown = [], t = makeTransport(() => timeline, () => { shown.push(t.head); t.plan(); }, waits, () => 0);
  return Object.assign(t, { shown });
}
"""


def at_work(name: str, expression: str, **data: Any) -> Any:
    lines = player_value(RUNS[name], "recorded").splitlines()
    return in_node(SCRIPTS, expression, {"lines": lines, **data}, BEFORE + STAND_INS + PLAYER)


@pytest.mark.parametrize("speed", [0.25, 1, 4])
def test_a_run_is_shown_frame_by_frame_at_its_pace_and_then_nothing_runs(speed):
    pace, kinds, shown, passed, rests = at_work("fake 0 Hello", """((timeline) => {
      const t = player(timeline);
      t.setSpeed(data.speed);
      while (pending) pass();
      return [PACE, timeline.frames.map((frame) => frame.kind), t.shown, now, [t.playing, t.atEnd(), t.due()]];
    })(whole())""", speed=speed)  # fmt: skip
    assert list(dict.fromkeys(shown)) == list(range(len(kinds)))
    assert passed == pytest.approx(sum(pace[kind] for kind in kinds[:-1]) / speed)
    assert rests == [False, True, None]  # JSON has no infinity


def test_after_small_turns_the_head_is_where_the_time_says():
    """Turns of at most the shortest frame: the head is the number of frames whose time is over."""
    rng = random.Random(4)
    turns = [rng.uniform(1, 119) for _ in range(900)]
    pace, kinds, heads = at_work("fake 0 Hello", """((timeline) => {
      const t = player(timeline);
      return [PACE, timeline.frames.map((frame) => frame.kind), data.turns.map((ms) => { t.tick(ms); return t.head; })];
    })(whole())""", turns=turns)  # fmt: skip
    over = list(itertools.accumulate(pace[kind] for kind in kinds[:-1]))
    for passed, head in zip(itertools.accumulate(turns), heads, strict=True):
        assert head == sum(end <= passed for end in over)


def test_a_page_that_slept_goes_on_where_it_was():
    head, last = at_work(
        "fake 0 Hello",
        "((t) => { t.play(); for (let i = 0; i < 5; i++) pass(); const k = t.head; pass(3.6e6); return [t.head - k, t.head]; })(player(whole()))",
    )
    assert 1 <= head <= 3
    assert last < 12


def test_a_page_that_is_gone_stops_its_clock():
    assert at_work(
        "fake 0 Hello", "((t) => { t.play(); element.isConnected = false; pass(); return [pending, t.head]; })(player(whole()))"
    ) == [None, 0]


def test_a_live_run_is_followed_cycle_by_cycle():
    """While it grows, at most every 350 ms, the newest finished cycle is shown; without following it is played from the start."""
    shown, newest, unasked = at_work("fake 0 Hello", """((growing, pictures, newest) => {
      const t = player(growing), last = () => { for (let k = growing.frames.length - 1; k > 0; k--) if (growing.frames[k].emitted) return k; return 0; };
      t.setFollow(true);
      data.lines.slice(0, -1).forEach((line, i) => {
        append(growing, JSON.parse(line));
        const before = t.shown.length;
        t.tick(10);
        if (t.shown.length > before) { pictures.push([10 * i, t.head]); newest.push(last()); }
      });
      return [pictures, newest, player(growing).head];
    })(newTimeline(), [], [])""")  # fmt: skip
    assert len(shown) > 3
    assert [head for _, head in shown] == newest
    assert min(b - a for (a, _), (b, _) in itertools.pairwise(shown)) >= 350
    assert unasked == 0


def test_nobody_gets_beyond_the_ends_of_a_run():
    assert at_work("fake 0 Hello", "((t) => [-7, 1e6].map((k) => { t.seek(k); return [t.head, t.playing]; }))(player(whole()))") == [
        [0, False],
        [sum(map(pictured, RUNS["fake 0 Hello"].events)) - 1, False],
    ]


def test_a_question_holds_the_run_until_it_is_answered():
    held, kinds, after = at_work("fake 0 Hello", """((timeline, open) => {
      const t = player(timeline, (k) => !open && timeline.frames[k].kind === "verify");
      t.play();
      for (let i = 0; pending && i < 100; i++) pass();
      const held = [t.head, t.due(), t.playing];
      open = true;
      t.play();
      for (let i = 0; i < 3; i++) pass();
      return [held, timeline.frames.map((frame) => frame.kind), t.head];
    })(whole(), false)""")  # fmt: skip
    assert held == [kinds.index("verify"), None, True]
    assert after == held[0] + 3


def test_keys_step_as_they_say_and_are_left_alone_while_somebody_types():
    """From every eighth frame, each key against the frames themselves."""
    frames = [event for event in RUNS["fake 0 Hello"].events if pictured(event)]
    starts = list(range(0, len(frames), 8))
    keys = ["ArrowLeft", "ArrowRight", "Home", "End", "v", "n", "l"]
    found, other = at_work("fake 0 Hello", """((t) => {
      let stopped = 0;
      const at = (tagName, key, more = {}) => t.key({ key, shiftKey: false, preventDefault: () => { stopped += 1; }, target: { tagName, closest: () => null, ...more.target }, ...more.event });
      const from = (k, act) => { t.seek(k); act(); return t.head; };
      const found = data.starts.map((k) => data.keys.map((key) => from(k, () => at("DIV", key))));
      const handled = stopped;
      const left = [() => at("TEXTAREA", "n"), () => at("SELECT", "n"), () => at("INPUT", "n", { target: { type: "text" } }), () => at("DIV", "n", { event: { ctrlKey: true } }),
                    () => at("DIV", "n", { event: { defaultPrevented: true } }), () => at("BUTTON", " "), () => at("DIV", "x")].map((act) => from(9, act));
      t.keys = false;
      left.push(from(9, () => at("DIV", "n")));
      t.keys = true;
      const untouched = stopped === handled, speeds = [];
      for (const key of [".", ".", ",", ",", ","]) { at("DIV", key); speeds.push(t.speed); }
      t.seek(3); at("DIV", " "); const plays = t.playing; at("DIV", " ");
      return [found, { handled, untouched, left, speeds, space: [plays, t.playing] }];
    })(player(whole()))""", starts=starts, keys=keys)  # fmt: skip
    for k, heads in zip(starts, found, strict=True):
        after = lambda wanted: [i for i, e in enumerate(frames) if i > k and wanted(e)]  # noqa: B023, E731
        refused, lenient = (lambda e: isinstance(e, Verdict) and not e.accepted), (lambda e: isinstance(e, Verdict) and e.lenient)
        last = len(frames) - 1
        rejection, kept = ((after(w) or [i for i, e in enumerate(frames) if w(e)])[0] for w in (refused, lenient))
        verify = (after(lambda e: isinstance(e, Verify)) or [last])[0]
        assert heads == [max(0, k - 1), min(last, k + 1), 0, last, verify, rejection, kept], k
    assert other["handled"] == len(starts) * len(keys)
    assert other["untouched"]
    assert other["left"] == [9] * 8
    assert other["speeds"] == [2, 4, 2, 1, 0.5]
    assert other["space"] == [True, False]
