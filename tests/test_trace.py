"""The record: JSON there and back without loss, verdicts that recompute themselves, clear words for files that are none."""

import json
import math
import subprocess
import sys
from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import EXACT, TableDenoiser, TableVerifier

from sdiff.acceptance import make_rule
from sdiff.decode import Plan, decode
from sdiff.measures import wilson
from sdiff.request import RULES
from sdiff.sampling import Dice, Shape
from sdiff.trace import (
    Denoise,
    Emit,
    End,
    Pieces,
    Prefill,
    Run,
    Trace,
    TraceError,
    Verdict,
    Verify,
    from_dict,
    keep_probability,
    recompute,
    to_line,
)  # fmt: skip

ids, numbers, tricky = (
    st.integers(-1, 2**53),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["</script>", "\u2028\u2029", "\x00\x7f", "🙂👩‍👩‍👧 žluť 漢字", "\ud800", "${x}{{y}}"]),
)
words = st.one_of(st.text(st.characters(exclude_categories=["Cs"])), tricky)
plain = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), numbers, words),
    lambda inner: st.lists(inner) | st.dictionaries(words, inner),
    max_leaves=4,
)
bodies = st.dictionaries(words, plain, max_size=3)
BY_TYPE = {
    "int": ids, "float": numbers, "str": words, "bool": st.booleans(), "dict[str, Any]": bodies, "dict[int, str]": st.dictionaries(ids, words),
    "tuple[int, ...]": st.lists(ids, max_size=4).map(tuple), "tuple[bool, ...]": st.lists(st.booleans(), max_size=4).map(tuple),
    "Alternatives": st.lists(st.tuples(ids, numbers), max_size=3).map(tuple),
}  # fmt: skip
EVENTS = (Pieces, Prefill, Denoise, Verify, Verdict, Emit, End)


def any_event(cls):
    return st.builds(cls, **{field.name: BY_TYPE[field.type] for field in fields(cls)})


RUN = Run(prompt="a <b>", prompt_tokens=(1, 2), settings={"gamma": 3}, models={}, machine={}, lossless=True)


@given(any_event(Run), st.lists(st.one_of(*map(any_event, EVENTS)), max_size=4), words)
@settings(max_examples=150)
def test_any_trace_survives_json(run, events, text):
    trace = Trace([run, *events, End(reason="eos", text=text, tokens=(1,), stats={"tau": 1.5})])
    document, lines = trace.to_json(), trace.to_ndjson()
    for written in (document, lines):
        written.encode("utf-8")  # lone surrogates too
        assert not {"<", "\u2028", "\u2029"} & set(written)
    assert Trace.from_json(document.encode().decode()) == trace
    assert [from_dict(json.loads(line)) for line in lines.split("\n")[:-1]] == trace.events
    head = json.loads(document)
    assert (head["text"], head["tokens"], head["stats"]) == (trace.text, list(trace.tokens), {"tau": 1.5})


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_numbers_json_does_not_have_are_refused(bad):
    with pytest.raises(ValueError, match="JSON"):
        to_line(Prefill(tokens=1, ms=bad))
    with pytest.raises(ValueError, match="JSON"):
        Trace([RUN, End(reason="eos", text="", tokens=(), stats={"tau": bad})]).to_json()


def document(**changes):
    return json.loads(Trace([RUN, Prefill(tokens=2, ms=1.0)]).to_json()) | changes


GOOD = document()["events"]


@pytest.mark.parametrize(("text", "words"), [
    ("", "not JSON"), ("hello", "not JSON"), ("[" * 100_000, "not JSON"), ("[1, 2]", "no list of events"), ("null", "no list of events"),
    ("{}", "no list of events"), (json.dumps(document(events={})), "no list of events"),
    (json.dumps(document(schema=99)), "schema 99; this version reads schema 1"), (json.dumps(document(schema=None)), "schema None"),
    (json.dumps(document(events=[])), "does not begin with a run event"), (json.dumps(document(events=GOOD[1:])), "does not begin with a run event"),
    (json.dumps(document(events=[*GOOD, 3])), "not a trace event: '3'"), (json.dumps(document(events=[{"kind": "later"}])), "not a trace event"),
    (json.dumps(document(events=[{"kind": []}])), "not a trace event"), (json.dumps(document(events=[{"kind": None}])), "not a trace event"),
    (json.dumps(document(events=[{"kind": "run"}])), "incomplete 'run' event"), (json.dumps(document(events=[*GOOD, {"kind": "pieces"}])), "incomplete 'pieces'"),
    (json.dumps(document(events=[*GOOD, {"kind": "pieces", "pieces": [1]}])), "broken 'pieces' event: pieces"),
    (json.dumps(document(events=[*GOOD, {"kind": "pieces", "pieces": {"x": "y"}}])), "incomplete 'pieces'"),
    (json.dumps(document(events=[*GOOD, {"kind": "pieces", "pieces": {"1": 2}}])), "broken 'pieces'"),
    (json.dumps(document(events=[*GOOD, {"kind": "prefill", "tokens": "2", "ms": 1.0}])), "broken 'prefill' event: tokens cannot be '2'"),
    (json.dumps(document(events=[*GOOD, {"kind": "prefill", "tokens": True, "ms": 1.0}])), "broken 'prefill' event: tokens"),
    (json.dumps(document(events=[GOOD[0] | {"prompt_tokens": [1, "a"]}])), "broken 'run' event: prompt_tokens"),
    (json.dumps(document(events=[GOOD[0] | {"settings": []}])), "broken 'run' event: settings"),
    (json.dumps(document(events=[*GOOD, {"kind": "prefill", "tokens": 2, "ms": math.nan}])), "not JSON .NaN is not a number"),
    (json.dumps(document(events=GOOD)).replace("1.0", "1e999"), "not JSON .1e999 is not a number"),
])  # fmt: skip
def test_what_is_no_trace_is_refused_in_words(text, words):
    with pytest.raises(TraceError, match=words) as refusal:
        Trace.from_json(text)
    assert len(str(refusal.value)) < 250


def test_unknown_keys_are_ignored_and_defaults_filled():
    """A later version may add keys."""
    assert from_dict({"kind": "prefill", "tokens": 2, "ms": 1, "new": [1]}) == Prefill(tokens=2, ms=1)


def decoded(name, rule, seed):
    verifier = TableVerifier(6)
    drafter = EXACT[name](TableDenoiser(6, verifier=verifier), Shape(0.8))
    events = decode(
        verifier,
        drafter,
        make_rule(rule, 0.4),
        Shape(0.8),
        [0],
        Plan(4, 3, 25, {5}),
        Dice(seed),
        lambda tokens: "".join(map("abc<é🙂".__getitem__, tokens)),
    )
    trace = Trace([RUN])
    live = list(trace.record(events))
    return trace, live


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ["masked monotone", "uniform final_step"])
def test_a_replayed_run_is_the_run(name, rule):
    """Text, tokens and every verdict of a real decode, from nothing but its file."""
    for seed in range(3):
        trace, live = decoded(name, rule, seed)
        assert trace.events[1:] == live
        replay = Trace.from_json(trace.to_json())
        assert replay == trace
        end = live[-1]
        assert replay.text == end.text == "".join(e.text for e in replay.of(Emit))
        assert replay.tokens == end.tokens
        verdicts = replay.of(Verdict)
        assert verdicts
        for v in verdicts:
            assert recompute(v) == (v.keep, v.accepted, v.lenient)
            assert 0 <= v.keep <= 1
            assert 0 <= v.u < 1
            assert v.q > 0, "a token that was drawn can be drawn"
        assert rule != "lossless" or not any(v.lenient for v in verdicts)


def test_an_unfinished_trace_has_the_text_so_far():
    trace, _ = decoded("masked monotone", "tv", 1)
    for n in range(len(trace.events)):
        part = Trace(trace.events[: n + 1])
        assert part.text == "".join(e.text for e in part.of(Emit))
        assert (part.end is None) == (n + 1 < len(trace.events))
        assert Trace.from_json(part.to_json()) == part


def test_recording_keeps_what_came_before_a_failure():
    def failing():
        yield Prefill(tokens=1, ms=0.0)
        raise RuntimeError

    trace = Trace()
    with pytest.raises(RuntimeError):
        list(trace.record(failing()))
    assert len(trace.events) == 1


@given(st.floats(0, 1), st.floats(1e-300, 1))
def test_keep_probability(f, q):
    assert keep_probability(f, q) == min(1.0, f / q)


@pytest.mark.parametrize(("successes", "n", "low", "high"), [
    (0, 0, 0.0, 1.0), (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634), (1, 20, 0.0089, 0.2361), (81, 263, 0.2553, 0.3662),
])  # fmt: skip
def test_wilson_intervals_from_the_literature(successes, n, low, high):
    """81 of 263: Newcombe 1998, Table I."""
    assert wilson(successes, n) == pytest.approx((low, high), abs=6e-5)


@given(st.integers(0, 300), st.integers(1, 300))
def test_wilson_contains_the_rate_and_mirrors(successes, n):
    successes = min(successes, n)
    low, high = wilson(successes, n)
    assert 0 <= low <= successes / n + 1e-12
    assert successes / n - 1e-12 <= high <= 1
    assert wilson(n - successes, n) == pytest.approx((1 - high, 1 - low))


def test_recordings_open_without_torch():
    code = "import sys; import sdiff.trace, sdiff.request; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
