"""The player's timeline in node: the picture at a frame, coins judged by another leniency, and where a person steps to.

`picture` is the slow obvious reference: it reads the events from the first on for every frame, and knows of no frames.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from fake_pair import FakePair
from node import in_node

from sdiff.acceptance import at, make_rule, total_variation
from sdiff.measures import flip_leniency, statistics
from sdiff.request import KNOBS, Request
from sdiff.trace import MASKED, Denoise, Emit, End, Event, Pieces, Prefill, Trace, Verdict, Verify, keep_probability
from sdiff.ui.live import player_value
from sdiff.ui.recordings import RECORDED

TIMELINE = ("player/timeline.js",)
BEFORE = """
const opened = (lines) => lines.reduce((timeline, line) => (append(timeline, JSON.parse(line)), timeline), newTimeline());
const whole = () => opened(data.lines);
const brief = (s) => s && ({ ...s, verify: Boolean(s.verify), emit: Boolean(s.emit), end: Boolean(s.end),
  rows: s.rows.map((row) => row.cells), checks: s.checks.map((c) => ({ ...c, verdict: Boolean(c.verdict) })), credits: s.credits && [...s.credits] });
"""
PROMPTS = ("Hello", "break")
SETTINGS = (
    {"leniency": 0.3, "seed": 7}, {"noise": "uniform", "steps": 2, "rule": "lossless", "seed": 3}, {"plain": True}, {"gamma": 1, "steps": 1},
    {"rule": "tv_budget", "leniency": 0.2, "max_tokens": 21}, {"rule": "top_k", "leniency": 0.5}, {"rule": "cactus", "leniency": 1}, {"max_tokens": 0},
)  # fmt: skip


def made(request: Request) -> Trace:
    """A run of the fake pair, also of one that breaks."""
    trace = Trace()
    try:
        for _ in trace.record(FakePair().stream(request)):
            pass
    except ArithmeticError:
        pass
    return trace


def odd() -> Trace:
    """A run that begins without reading and ends with a cycle for which nothing was drafted."""
    events = [event for event in made(Request("Hello", max_tokens=30)).events if not isinstance(event, Prefill)]
    at, number = events[-1].at, 1 + max(event.cycle for event in events if isinstance(event, Emit))
    last = [
        Denoise(cycle=number, step=0, steps=0, canvas=(), fixed=(), ms=0, at=at),
        Verify(cycle=number, anchor=0, tokens=(), fixed_at=(), draft_ms=0, ms=9, at=at + 9),
        Emit(cycle=number, tokens=(3,), accepted=0, extra="bonus", text=" letter", ms=0.1, at=at + 10),
    ]
    end = replace(events[-1], at=at + 10, tokens=(*events[-1].tokens, 3), text=events[-1].text + " letter")
    return Trace([*events[:-1], *last, replace(end, stats=statistics([*events[:-1], *last]))])


FILES = sorted(RECORDED.rglob("*.json"))
RUNS = (
    {path.relative_to(RECORDED).with_suffix("").as_posix(): Trace.from_json(path.read_text(encoding="utf-8")) for path in FILES}
    | {f"fake {i} {prompt}": made(Request(prompt, **settings)) for i, settings in enumerate(SETTINGS) for prompt in PROMPTS}
    | {"odd": odd()}
)
every_run = pytest.mark.parametrize("name", RUNS)


def run(name: str, expression: str, scripts: tuple[str, ...] = TIMELINE, **data: Any) -> Any:
    """A JavaScript expression with a run's lines, and what else it needs, in `data`."""
    return in_node(scripts, expression, {"lines": player_value(RUNS[name], "recorded").splitlines(), **data}, BEFORE)


# ── the picture at a frame ───────────────────────────────────────────────────────────────────────────────────────────


def pictured(event: Event) -> bool:
    """Is there a picture of this event? Not of labels, nor of a draft of nothing and its check."""
    nothing = (isinstance(event, Denoise) and not event.canvas) or (isinstance(event, Verify) and not event.tokens)
    return not isinstance(event, Pieces) and not nothing


def aim(rule: str, v: Verdict, leniency: float) -> float | None:
    """f at another leniency, as acceptance.py has it, where a verdict's own numbers tell it."""
    share = {"lossless": 0.0, "tv": leniency, "tv_budget": min(1.0, leniency / v.tv) if v.tv else 1.0}.get(rule)
    return None if share is None else (1 - share) * v.p + share * v.q


def judged(run: Any, verify: Verify, verdicts: list[Verdict], written: bool, what_if: float | None) -> list[dict[str, Any]]:
    rule, found, refused = run.settings["rule"], [], False
    closed = written or any(not v.accepted for v in verdicts)
    for token, fixed, v in itertools.zip_longest(verify.tokens, verify.fixed_at, verdicts):
        would, keep, flipped, state = None, None, False, "unexamined" if closed or refused else "ready"
        if v:
            flip, f = flip_leniency(rule, v, run.settings["temperature"]), v.f if what_if is None else aim(rule, v, what_if)
            would = v.accepted if what_if is None or flip is None else v.u * v.q < f if f is not None else not flip or what_if > flip
            keep = None if f is None else keep_probability(f, v.q)
            flipped = would != v.accepted and not refused
            strictly = v.u * v.q < v.p if flip is not None else not v.lenient
            state = state if refused else "rejected" if not would else "accepted" if strictly else "lenient"
        refused = refused or state == "rejected"
        found.append(
            {"state": state, "token": token, "verdict": bool(v), "keep": keep, "flipped": flipped, "at": what_if, "fixedAt": fixed}
        )
    return found


def cells(canvas: tuple[int, ...], fixed: tuple[bool, ...], before: tuple[int, ...] | None) -> list[dict[str, Any]]:
    state = ["masked" if token == MASKED else "ready" if done else "noisy" for token, done in zip(canvas, fixed, strict=True)]
    return [{"state": s, "token": x, "fresh": before is None or before[i] != x} for i, (s, x) in enumerate(zip(state, canvas, strict=True))]


def picture(events: list[Event], k: int, what_if: float | None) -> dict[str, Any]:
    """What a person sees at frame k."""
    last = [i for i, event in enumerate(events) if pictured(event)][k]
    run, now, seen = events[0], events[last], [event for event in events[: last + 1] if not isinstance(event, Denoise) or event.canvas]
    numbers = list(dict.fromkeys(e.cycle for e in seen if hasattr(e, "cycle")))
    cycle = numbers[-1] if numbers else 0
    rows, verdicts, verify, emit = (
        [e for e in seen if isinstance(e, kind) and e.cycle == cycle] for kind in (Denoise, Verdict, Verify, Emit)
    )
    first = [e.steps for e in events if isinstance(e, Denoise) and e.cycle == 1 and e.canvas]
    checks = judged(run, verify[0], verdicts, bool(emit), what_if) if verify else []
    credits = {step: [0, 0] for step in dict.fromkeys(check["fixedAt"] for check in checks)}
    for check in checks:
        credits[check["fixedAt"]][0] += 1
        credits[check["fixedAt"]][1] += check["state"] in ("accepted", "lenient")
    extra = [] if not emit else ["text"] * emit[0].accepted + [emit[0].extra] * (len(emit[0].tokens) - emit[0].accepted)
    shape = {
        "columns": max([run.settings["gamma"], *(len(row.canvas) for row in rows)]),
        "steps": max([*(first[:1] or [run.settings["steps"]]), *(row.steps for row in rows)]),
    }
    return {
        "kind": "token" if isinstance(now, Emit) and not verdicts else now.kind, "frame": k, "at": now.at, "cycle": cycle,
        "index": len(numbers) - 1, "shape": {"columns": 0, "steps": 0} if run.settings["plain"] else shape,
        "rows": [cells(row.canvas, row.fixed, rows[i - 1].canvas if i else None) for i, row in enumerate(rows)],
        "verify": bool(verify), "checks": checks, "emit": bool(emit), "end": isinstance(now, End),
        "credits": [[step, {"fixed": n, "kept": kept}] for step, (n, kept) in credits.items()] if emit else None,
        "outcome": [{"state": state, "token": token} for state, token in zip(extra, emit[0].tokens, strict=True)] if emit else [],
    }  # fmt: skip


LENIENCIES = (0, 0.15, 0.3, 0.7, 1)


def rounded(state: dict[str, Any]) -> dict[str, Any]:
    return {**state, "checks": [{**c, "keep": c["keep"] if c["keep"] is None else round(c["keep"], 9)} for c in state["checks"]]}


@every_run
def test_the_picture_at_a_frame_is_what_the_events_tell(name):
    events = RUNS[name].events
    asked = [(k, what_if) for k in range(sum(map(pictured, events))) for what_if in (None, LENIENCIES[k % 5])]
    frames, drawn = run(name, "((t) => [t.frames.length, data.asked.map(([k, at]) => brief(stateAt(t, k, at)))])(whole())", asked=asked)
    assert frames == sum(map(pictured, events))
    for (k, what_if), state in zip(asked, drawn, strict=True):
        assert rounded(state) == json.loads(json.dumps(rounded(picture(events, k, what_if)))), (k, what_if)


@every_run
def test_no_path_to_a_frame_changes_its_picture(name):
    """In any order, again, and while the run still grows: at every event, of the frame it has just made and of one before.

    Only the size of the empty block before the first cycle is not known yet: the drafter may take fewer steps than were asked for."""
    frames = sum(map(pictured, RUNS[name].events))
    order = random.Random(0).sample(range(frames), frames)
    differing = run(name, """(() => {
      const drawn = (t, k) => JSON.stringify({ ...brief(stateAt(t, k, [null, ...data.leniencies][k % 6])), ...(t.frames[k].cycle < 0 && { shape: 0 }) });
      const full = whole(), seen = full.frames.map((_, k) => drawn(full, k)), growing = newTimeline();
      const wrong = [...data.order, ...data.order.slice().reverse()].filter((k) => drawn(full, k) !== seen[k]);
      for (const line of data.lines) {
        append(growing, JSON.parse(line));
        const last = growing.frames.length - 1;
        if (last >= 0) wrong.push(...[last, data.order[last] % (last + 1)].filter((k) => drawn(growing, k) !== seen[k]));
      }
      return [...new Set(wrong)];
    })()""", order=order, leniencies=LENIENCIES)  # fmt: skip
    assert differing == []


def test_there_is_no_picture_outside_the_run():
    assert run(next(iter(RUNS)), "[-1, 1e6, undefined].map((k) => stateAt(whole(), k)).concat([stateAt(newTimeline(), 0)])") == [None] * 4


# ── another leniency ─────────────────────────────────────────────────────────────────────────────────────────────────


def coins(rule: str, n: int, seed: int) -> Iterator[tuple[Verdict, float]]:
    """Verdicts of random laws over six tokens, judged by acceptance.py at random leniencies, 0 and 1 among them."""
    g = torch.Generator().manual_seed(seed)
    p, q = torch.softmax(2 * torch.randn(2, n, 6, generator=g, dtype=torch.float64), -1)
    q[: n // 10] = p[: n // 10]  # TV 0
    x, u, leniency = torch.multinomial(q, 1, generator=g)[:, 0], torch.rand(n, generator=g).tolist(), torch.rand(n, generator=g).double()
    leniency[::9], leniency[1::9] = 0.0, 1.0
    px, qx, tv = at(p, x).tolist(), at(q, x).tolist(), total_variation(p, q).tolist()
    for i, lam in enumerate(leniency.tolist()):
        f = make_rule(rule, lam).target(p[i : i + 1], q[i : i + 1], x[i : i + 1], None).item()
        accepted, keep = u[i] * qx[i] < f, keep_probability(f, qx[i])
        yield (
            Verdict(cycle=1, position=1, token=0, p=px[i], q=qx[i], f=f, u=u[i], keep=keep, accepted=accepted, lenient=False, tv=tv[i]),
            lam,
        )


@pytest.mark.parametrize("rule", KNOBS)
def test_the_keep_probability_at_another_leniency_is_the_rules(rule):
    """4,000 random cases; null for the rules whose f needs more than a verdict holds."""
    if rule not in ("lossless", "tv", "tv_budget"):
        assert in_node(TIMELINE, "keepAt(data, { p: 0.2, q: 0.6, tv: 0.3 }, 0.5)", rule) is None
        return
    cases = list(coins(rule, 4000, seed=1))
    found = in_node(
        TIMELINE, f"data.map(([v, at]) => keepAt('{rule}', v, at))", [({"p": v.p, "q": v.q, "tv": v.tv}, lam) for v, lam in cases]
    )
    assert found == pytest.approx([v.keep for v, _ in cases], abs=1e-12)
    assert sum(keep < 1 for keep in found) > 1000


@pytest.mark.parametrize("rule", ["lossless", "tv", "tv_budget", "lenience", "cactus"])
def test_a_coin_flips_where_the_rule_flips_it(rule):
    """4,000 random coins. Those within the six digits that the player gets of a flip (live.py) are not judged, so no seed gives a false alarm."""
    found = [(v, flip_leniency(rule, v, 1.0), lam) for v, lam in coins(rule, 4000, seed=2)]
    found = [case for case in found if abs(case[1] - case[2]) > 1e-5 or case[1] in (0, 1)]
    kept = in_node(
        TIMELINE, "data.map(([flip, at]) => keptAt({ flip, accepted: null }, at))", [(float(f"{flip:.6g}"), lam) for _, flip, lam in found]
    )
    assert kept == [v.accepted for v, *_ in found]
    assert len(found) > 3900
    assert rule == "lossless" or any(0 < flip < 1 for _, flip, _ in found)


def test_a_coin_whose_flip_is_not_known_stays_as_it_fell():
    judged_so = "[0, 0.5, 1, null].map((at) => [keptAt(data[0], at), keptAt(data[1], at)])"
    assert in_node(TIMELINE, judged_so, [{"accepted": True}, {"accepted": False}]) == [[True, False]] * 4


@every_run
def test_the_flips_are_those_of_the_coins_and_at_its_own_leniency_a_run_has_none(name):
    events, settings = RUNS[name].events, RUNS[name].events[0].settings
    own, frames = settings["leniency"], [event for event in events if pictured(event)]
    found = run(name, "data.at.map((at) => ((f) => [f.all, f.first])(flips(whole(), at)))", at=[*LENIENCIES, own])
    for what_if, (all_, first) in zip([*LENIENCIES, own], found, strict=True):
        wanted = []
        for v in RUNS[name].of(Verdict):
            flip = flip_leniency(settings["rule"], v, settings["temperature"])
            if flip is not None and (flip == 0 or what_if > flip) != v.accepted:
                wanted.append(v)
        assert [(v["cycle"], v["position"]) for v in all_] == [(v.cycle, v.position) for v in wanted]
        assert (first and frames[first["frame"]]) == (wanted[0] if wanted else None)
    if settings["rule"] in ("tv", "lossless"):
        assert found[-1][0] == []


# ── where a person steps to ──────────────────────────────────────────────────────────────────────────────────────────


def stepped(frames: list[Event], k: int, direction: int, wanted: Callable[[Event], bool]) -> int | None:
    """The nearest frame beyond k that is wanted."""
    there = [i for i, event in enumerate(frames) if (i - k) * direction > 0 and wanted(event)]
    return min(there, key=lambda i: abs(i - k), default=None)


@every_run
def test_a_person_steps_to_the_nearest_one(name):
    """By kind, by cycle and by verdict, from every frame in both directions."""
    frames = [event for event in RUNS[name].events if pictured(event)]
    last = len(frames) - 1
    begins = {id(next(e for e in frames if getattr(e, "cycle", 0) == cycle)) for cycle in {e.cycle for e in frames if hasattr(e, "cycle")}}
    refused = [i for i, e in enumerate(frames) if isinstance(e, Verdict) and not e.accepted]
    found = run(name, """((t) => t.frames.map((_, k) => [-1, 1].map((by) => [
      seekFrame(t, k, by, (frame) => frame.kind === "verify"), cycleFrame(t, k, by), verdictFrame(t, k, by, (v) => !v.accepted)])))(whole())""")  # fmt: skip
    for k, both in enumerate(found):
        for by, (verify, cycle, verdict) in zip((-1, 1), both, strict=True):
            edge = 0 if by < 0 else last
            assert verify == (edge if (to := stepped(frames, k, by, lambda e: isinstance(e, Verify))) is None else to), k
            assert cycle == (edge if (to := stepped(frames, k, by, lambda e: id(e) in begins)) is None else to), k
            to = stepped(frames, k, by, lambda e: isinstance(e, Verdict) and not e.accepted)
            assert verdict == (to if to is not None else refused[0 if by > 0 else -1] if refused else k), k  # round the ends


@every_run
def test_slow_motion_is_the_time_shown_over_the_time_measured(name):
    frames = [event for event in RUNS[name].events if pictured(event)]
    pace, found = run(name, "((t) => [PACE, t.frames.map((_, k) => [t.frames[k].kind, slowMotion(t, k, 2)])])(whole())")
    kinds, group, here = [kind for kind, _ in found], [], 0
    for event in frames:
        here = getattr(event, "cycle", here)
        group.append(here)
    for k, (_, factor) in enumerate(found):
        mine = [i for i in range(len(frames)) if group[i] == group[k]]
        measured = frames[mine[-1]].at - frames[mine[0] - 1].at if mine[0] else 0
        shown = sum(pace[kinds[i]] for i in mine) / 2
        assert factor == (pytest.approx(shown / measured) if group[k] and measured > 0 else 0), k
