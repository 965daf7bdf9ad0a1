"""The record of one decode: knows events and JSON, refuses to know tensors, tokenizers and models.

A run is an append-only list of frozen events. Everything a person sees is a pure function of that list,
so a live run and a recording look the same, and recordings open without torch.

Laws: p verifier, q drafter, f target of the acceptance rule. Positions inside a
block are counted from 1, token ids are the verifier's, `MASKED` marks an absorbed position. `at` is the
decoder's own clock in milliseconds: the sum of measured phases, so a slow reader never shows up in it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar

SCHEMA = 1
MASKED = -1

Alternatives = tuple[tuple[int, float], ...]  # ((token id, probability), …) most probable first


class TraceError(ValueError):
    """A trace file that cannot be read; the message says what is wrong with it."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """Base of all events. `kind` names the event in JSON."""

    kind: ClassVar[str] = ""
    at: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Run(Event):
    """First event: what was asked, of which models, on what machine."""

    kind: ClassVar[str] = "run"
    prompt: str
    prompt_tokens: tuple[int, ...]
    settings: dict[str, Any]
    models: dict[str, Any]
    machine: dict[str, Any]
    lossless: bool  # computed from rule and proposal: does the output follow the verifier's law exactly?
    date: str = ""
    schema: int = SCHEMA


@dataclass(frozen=True, kw_only=True)
class Pieces(Event):
    """Display labels of token ids that the following events use for the first time."""

    kind: ClassVar[str] = "pieces"
    pieces: dict[int, str]


@dataclass(frozen=True, kw_only=True)
class Prefill(Event):
    """The verifier has read the prompt except its last token, which becomes the first anchor."""

    kind: ClassVar[str] = "prefill"
    tokens: int
    ms: float


@dataclass(frozen=True, kw_only=True)
class Denoise(Event):
    """The block after one denoising step, of at most `steps`. Step 0 is the initial noise.

    `canvas` holds token ids or `MASKED`; `fixed[i]` says that position i+1 can no longer change.
    """

    kind: ClassVar[str] = "denoise"
    cycle: int
    step: int
    steps: int
    canvas: tuple[int, ...]
    fixed: tuple[bool, ...]
    ms: float


@dataclass(frozen=True, kw_only=True)
class Verify(Event):
    """One forward pass of the verifier over anchor and drafts. `fixed_at[i]`: step of the final value."""

    kind: ClassVar[str] = "verify"
    cycle: int
    anchor: int
    tokens: tuple[int, ...]
    fixed_at: tuple[int, ...]
    draft_ms: float
    ms: float


@dataclass(frozen=True, kw_only=True)
class Verdict(Event):
    """One examined draft: kept iff u·q < f, with u the coin. Enough to recompute itself.

    `lenient`: kept, but the same coin would have refused it at λ = 0 (u·q ≥ p).
    `tv` is TV(p, q) of the two laws at this position.
    """

    kind: ClassVar[str] = "verdict"
    cycle: int
    position: int
    token: int
    p: float
    q: float
    f: float
    u: float
    keep: float
    accepted: bool
    lenient: bool
    tv: float
    top_p: Alternatives = ()
    top_q: Alternatives = ()


@dataclass(frozen=True, kw_only=True)
class Emit(Event):
    """Tokens added to the text by a cycle: kept drafts, then at most one token drawn by the verifier.

    `extra` is "correction" (drawn from the residual after a refusal), "bonus" (all drafts kept) or ""
    (the text ended inside the block). `text` is what became readable; bytes of an unfinished character wait.
    """

    kind: ClassVar[str] = "emit"
    cycle: int
    tokens: tuple[int, ...]
    accepted: int
    extra: str
    text: str
    ms: float
    p: float = 0.0  # verifier's probability of the extra token
    residual: float = 0.0  # probability under the law it was drawn from
    top_p: Alternatives = ()


@dataclass(frozen=True, kw_only=True)
class End(Event):
    """Last event. `reason`: eos, limit, context, stopped or error (then `error` says which)."""

    kind: ClassVar[str] = "end"
    reason: str
    text: str
    tokens: tuple[int, ...]
    stats: dict[str, Any]
    error: str = ""


KINDS: dict[str, type[Event]] = {c.kind: c for c in (Run, Pieces, Prefill, Denoise, Verify, Verdict, Emit, End)}


# what a line must not hold literally: a tag's beginning, line separators, and lone surrogates, which UTF-8 cannot write
_UNSAFE = re.compile("[<\x85\u2028\u2029\ud800-\udfff]")


def _json(value: Any) -> str:
    """Compact JSON that may be embedded anywhere and encoded as UTF-8. NaN and infinities are refused: JSON has none."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda m: f"\\u{ord(m[0]):04x}", text)


def _tuples(value: Any) -> Any:
    return tuple(_tuples(v) for v in value) if isinstance(value, list) else value


_SCALARS: dict[str, type | tuple[type, ...]] = {"int": int, "float": (int, float), "str": str, "bool": bool, "Any": object}


def _fits(value: Any, kind: str) -> bool:
    """Is a value read from JSON what a field annotated `kind` holds?"""
    if kind in _SCALARS:
        return isinstance(value, _SCALARS[kind]) and (kind in ("bool", "Any") or not isinstance(value, bool))
    if kind == "Alternatives":
        return isinstance(value, tuple) and all(
            isinstance(v, tuple) and len(v) == 2 and _fits(v[0], "int") and _fits(v[1], "float") for v in value
        )
    inner = kind[:-1].partition("[")[2].split(", ")  # of tuple[item, ...] or dict[key, item]
    if kind.startswith("tuple"):
        return isinstance(value, tuple) and all(_fits(v, inner[0]) for v in value)
    return isinstance(value, dict) and all(_fits(v, inner[1]) for v in value.values())


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text} is not a number in JSON")
    return number


def to_line(event: Event) -> str:
    """One JSON line, without the newline. Raises ValueError for NaN and infinities."""
    return _json({"kind": event.kind, **asdict(event)})


def from_dict(data: Any) -> Event:
    """Inverse of `to_line` after `json.loads`; unknown keys are ignored. Raises TraceError."""
    kind = data.get("kind") if isinstance(data, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise TraceError(f"not a trace event: {str(data)[:80]!r}")
    types = {f.name: f.type for f in fields(KINDS[kind])}
    body = {k: _tuples(v) for k, v in data.items() if k in types}
    if wrong := next((k for k, v in body.items() if not _fits(v, types[k])), None):
        raise TraceError(f"broken {kind!r} event: {wrong} cannot be {str(data[wrong])[:80]!r}")
    try:
        if "pieces" in body:
            body["pieces"] = {int(k): v for k, v in body["pieces"].items()}
        return KINDS[kind](**body)
    except (TypeError, ValueError) as error:
        raise TraceError(f"incomplete {kind!r} event: {error}") from None


@dataclass
class Trace:
    """All events of one run; grows by `append`, opens with `Trace.from_json`."""

    events: list[Event] = field(default_factory=list)

    def append(self, event: Event) -> Event:
        self.events.append(event)
        return event

    def record(self, events: Iterable[Event]) -> Iterator[Event]:
        """Pass events through, keeping each one even if the source fails later."""
        for event in events:
            yield self.append(event)

    def of(self, cls: type) -> list[Any]:
        return [e for e in self.events if isinstance(e, cls)]

    @property
    def end(self) -> End | None:
        return self.events[-1] if self.events and isinstance(self.events[-1], End) else None

    @property
    def text(self) -> str:
        """Text emitted so far; equals the end event's text when there is one."""
        return self.end.text if self.end else "".join(e.text for e in self.of(Emit))

    @property
    def tokens(self) -> tuple[int, ...]:
        return tuple(t for e in self.of(Emit) for t in e.tokens)

    def to_json(self) -> str:
        """One document: schema, text, tokens, stats, then one event per line."""
        head = {"schema": SCHEMA, "text": self.text, "tokens": self.tokens, "stats": self.end.stats if self.end else {}}
        return _json(head)[:-1] + ',"events":[\n' + ",\n".join(map(to_line, self.events)) + "\n]}\n"

    def to_ndjson(self) -> str:
        """The form the player reads: one event per line."""
        return "".join(to_line(e) + "\n" for e in self.events)

    @classmethod
    def from_json(cls, text: str) -> Trace:
        """Open a document written by `to_json`. Raises TraceError with a sentence a person can act on."""
        try:
            data = json.loads(text, parse_float=_finite, parse_constant=_finite)
        except (ValueError, RecursionError) as error:
            raise TraceError(f"this is not a trace file: it is not JSON ({error})") from None
        if not isinstance(data, dict) or not isinstance(data.get("events"), list):
            raise TraceError("this is not a trace file: it has no list of events")
        if data.get("schema") != SCHEMA:
            raise TraceError(f"this trace has schema {data.get('schema')!r}; this version reads schema {SCHEMA}")
        trace = cls([from_dict(e) for e in data["events"]])
        if not trace.events or not isinstance(trace.events[0], Run):
            raise TraceError("this trace does not begin with a run event")
        return trace


def keep_probability(f: float, q: float) -> float:
    """min(1, f/q): the chance that a uniform coin u satisfies u·q < f."""
    return 1.0 if f >= q else max(0.0, f / q)


def recompute(verdict: Verdict) -> tuple[float, bool, bool]:
    """(keep probability, accepted, lenient) of a verdict from its recorded p, q, f and coin u."""
    accepted = verdict.u * verdict.q < verdict.f
    return keep_probability(verdict.f, verdict.q), accepted, accepted and not verdict.u * verdict.q < verdict.p
