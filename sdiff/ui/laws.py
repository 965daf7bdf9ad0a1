"""One token's laws p and q as a person edits, types, draws or takes them. Refuses to know rules and Gradio.

Importing this module loads torch: the page does so when the view is first opened.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sdiff.ui import strings

WORDS = strings.THEORY
FEWEST, MOST = 2, 8
LONGEST_TEXT, LONGEST_LABEL = 2000, 24

TOKENS = tuple(WORDS["tokens"])  # of every example
# name -> (tokens, p, q); the names are strings.THEORY["presets"]
PRESETS = {
    "agree": (TOKENS, (0.5, 0.25, 0.15, 0.1), (0.45, 0.3, 0.15, 0.1)),
    "disagree": (TOKENS, (0.5, 0.3, 0.15, 0.05), (0.1, 0.25, 0.25, 0.4)),
    "sure": (TOKENS, (0.4, 0.3, 0.2, 0.1), (0.94, 0.03, 0.02, 0.01)),
    "disjoint": (TOKENS, (0.6, 0.4, 0.0, 0.0), (0.0, 0.0, 0.7, 0.3)),
    "missing": (TOKENS, (0.3, 0.3, 0.2, 0.2), (0.5, 0.5, 0.0, 0.0)),
}


class LawError(ValueError):
    """Laws that cannot be used; the message is one sentence that says what to do."""


@dataclass(frozen=True)
class Laws:
    """p and q over 2 to 8 named tokens, each divided by its sum. Raises LawError.

    `whole`: TV(p, q) over the verifier's whole vocabulary where these bars are a summary of it.
    """

    tokens: tuple[str, ...]
    p: tuple[float, ...]
    q: tuple[float, ...]
    whole: float | None = None

    def __post_init__(self) -> None:
        if not FEWEST <= len(self.tokens) <= MOST:
            raise LawError(WORDS["count"].format(n=f"{len(self.tokens):,}", low=FEWEST, high=MOST))
        for name, law in (("p", self.p), ("q", self.q)):
            if len(law) != len(self.tokens):
                raise LawError(WORDS["lengths"].format(p=len(self.p), q=len(self.q)))
            object.__setattr__(self, name, _normalised(name, law))

    @classmethod
    def from_json(cls, text: object) -> Laws:
        """The laws in a view's value. Raises LawError, whatever is sent."""
        try:
            return cls.from_data(json.loads(str(text)[:20_000]))
        except (ValueError, RecursionError) as error:
            raise error if isinstance(error, LawError) else LawError(WORDS["unreadable"]) from None

    @classmethod
    def from_data(cls, data: Any) -> Laws:
        """The laws in {tokens, p, q, whole}. Raises LawError, whatever is sent."""
        try:
            tokens = tuple(str(t)[:LONGEST_LABEL] for t in data["tokens"])
            whole = None if data.get("whole") is None else float(data["whole"])
            return cls(tokens, tuple(map(float, data["p"])), tuple(map(float, data["q"])), whole)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            raise error if isinstance(error, LawError) else LawError(WORDS["unreadable"]) from None

    @property
    def tensors(self) -> tuple[Tensor, Tensor]:
        return torch.tensor(self.p, dtype=torch.float64), torch.tensor(self.q, dtype=torch.float64)


def _normalised(name: str, law: Sequence[float]) -> tuple[float, ...]:
    for value in law:
        if not math.isfinite(value):
            raise LawError(WORDS["finite"].format(law=name))
        if value < 0:
            raise LawError(WORDS["negative"].format(law=name))
    largest = max(law)
    if largest == 0:
        raise LawError(WORDS["zero"].format(law=name))
    scaled = [value / largest for value in law]  # a sum of huge numbers would overflow
    total = math.fsum(scaled)
    exact = abs(math.fsum(law) - 1) < 1e-12 if largest <= 1 else False
    return tuple(float(v) for v in law) if exact else tuple(value / total for value in scaled)


# ── ways to get laws ─────────────────────────────────────────────────────────────────────────────────────────────────


def preset(name: str) -> Laws:
    return Laws(*PRESETS[name])


def numbered(n: int) -> tuple[str, ...]:
    """Names for n tokens nobody named."""
    return tuple(chr(ord("A") + i) for i in range(n))


def random_laws(n: object, seed: object) -> Laws:
    """Two random laws that resemble each other, as a drafter's and its verifier's do. Raises LawError."""
    size, start = _whole(n, FEWEST, MOST, "how_many"), _whole(seed, 0, 2**53 - 1, "seed")
    generator = torch.Generator().manual_seed(start)
    ours, noise = torch.randn(2, size, generator=generator, dtype=torch.float64)
    p, q = torch.softmax(1.3 * ours, 0), torch.softmax(1.3 * (ours + 0.8 * noise), 0)
    return Laws(numbered(size), tuple(p.tolist()), tuple(q.tolist()))


def _whole(value: object, low: int, high: int, what: str) -> int:
    try:
        number = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not low <= number <= high or number != int(number):
        raise LawError(WORDS["whole"].format(what=WORDS[what], low=low, high=f"{high:,}"))
    return int(number)


def typed(name: str, text: object) -> tuple[float, ...]:
    """The numbers in a text such as "0.5 0.3 1/5". Raises LawError."""
    if len(str(text or "")) > LONGEST_TEXT:
        raise LawError(WORDS["too_long"].format(law=name, low=FEWEST, high=MOST))
    words = str(text or "").replace(",", " ").replace(";", " ").split()
    if not words:
        raise LawError(WORDS["empty"].format(law=name, low=FEWEST, high=MOST))
    values = []
    for word in words:
        above, _, below = word.partition("/")
        try:
            values.append(float(above) / float(below) if below else float(word))
        except (ValueError, ZeroDivisionError, OverflowError):
            raise LawError(WORDS["no_number"].format(law=name, word=word[:20])) from None
    return tuple(values)


def from_text(old: Laws, p: object, q: object) -> Laws:
    """Laws as typed; the names stay where the number of tokens does."""
    p_values, q_values = typed("p", p), typed("q", q)
    if len(p_values) != len(q_values):
        raise LawError(WORDS["lengths"].format(p=len(p_values), q=len(q_values)))
    return Laws(old.tokens if len(old.tokens) == len(p_values) else numbered(len(p_values)), p_values, q_values)


def as_text(law: Sequence[float]) -> str:
    """A law as a person would type it."""
    return " ".join(f"{value:.4f}".rstrip("0").rstrip(".") for value in law)


def shared(old: Laws, edit: object) -> Laws:
    """`old` with one probability set and the others scaled to what is left of 1. `edit`: {law, index, value, from}.

    `from` is the law as it was when a drag began, so that dragging to 1 and back loses nothing. Raises LawError.
    """
    try:
        name, i = edit["law"], int(edit["index"])  # type: ignore[index]
        base = _normalised(name, tuple(map(float, edit.get("from") or getattr(old, name))))  # type: ignore[attr-defined]
        if name not in ("p", "q") or len(base) != len(old.tokens) or not 0 <= i < len(base):
            raise ValueError
        value = _share(name, old.tokens[i], edit.get("value"))  # type: ignore[attr-defined]
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as error:
        raise error if isinstance(error, LawError) else LawError(WORDS["unreadable"]) from None
    others = math.fsum(base[:i] + base[i + 1 :])
    spread = [(1 - value) * b / others if others > 0 else (1 - value) / (len(base) - 1) for b in base]
    spread[i] = value
    laws = {"p": old.p, "q": old.q, name: tuple(spread)}
    return Laws(old.tokens, laws["p"], laws["q"])


def _share(name: str, token: str, value: object) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if not 0 <= number <= 1:
        raise LawError(WORDS["share"].format(law=name, token=token))
    return number


def from_verdict(payload: object) -> tuple[Laws, str]:
    """Laws at one examined position of a run, and a sentence on it. Raises LawError.

    `payload`: JSON {verdict: a verdict event, pieces: {token id: label}}. Tokens whose p and q are both recorded get a bar. All others
    are two bars, what only the verifier wants of them and the rest, chosen so that TV(p, q) is the recorded one: acceptance under
    `lossless` and `tv` is then that of the whole vocabulary, under other rules of this summary.
    """
    try:
        data = json.loads(str(payload)[:50_000])
        v, pieces = data["verdict"], data["pieces"]
        top = {side: {int(token): float(w) for token, w in v[f"top_{side}"]} for side in ("p", "q")}
        ended = {side: len(law) < 5 for side, law in top.items()}  # fewer than 5 recorded: no others can occur
        known = {int(v["token"]): (float(v["p"]), float(v["q"]))}
        for token in [*top["p"], *top["q"]]:
            if all(token in top[side] or ended[side] for side in top):
                known.setdefault(token, (top["p"].get(token, 0.0), top["q"].get(token, 0.0)))
        known = dict(list(known.items())[: MOST - 2])
        names = [_visible(str(pieces.get(str(token), f"#{token}")))[:LONGEST_LABEL] for token in known]
        laws = _with_rest(names, list(known.values()), float(v["tv"]))
        values = {"cycle": int(v["cycle"]), "position": int(v["position"]), "token": names[0]}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError) as error:
        raise error if isinstance(error, LawError) else LawError(WORDS["no_position"]) from None
    sentence = WORDS["taken"] if v.get("accepted") else WORDS["taken_refused"]
    return laws, sentence.format(**values, tv=f"{laws.whole:.3f}")


def _visible(label: str) -> str:
    return label.replace("\n", "⏎").replace("\t", "⇥").replace(" ", "␣")


def _with_rest(names: list[str], known: list[tuple[float, float]], whole: float) -> Laws:
    p, q = [a for a, _ in known], [b for _, b in known]
    rest_p, rest_q = max(0.0, 1 - math.fsum(p)), max(0.0, 1 - math.fsum(q))
    apart = max(0.0, 2 * whole - math.fsum(abs(a - b) for a, b in known))  # Σ|p − q| over the rest
    wanted = min(rest_p, max(0.0, (apart + rest_p - rest_q) / 2))  # Σ (p − q)₊ over the rest
    bars = [(WORDS["rest_wanted"], wanted, 0.0), (WORDS["rest"], rest_p - wanted, rest_q)]
    for name, a, b in bars:
        if a + b > 1e-6 or len(names) < FEWEST:  # below this it is the rounding of what was recorded
            names, p, q = [*names, name], [*p, a], [*q, b]
    return Laws(tuple(names), tuple(p), tuple(q), whole)
