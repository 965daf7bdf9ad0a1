"""What every acceptance rule makes of one token's laws, as numbers for the page. Refuses to know Gradio, and models.

Everything is computed by the production rules (acceptance.py, theory.py) in float64; the page only draws it.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from sdiff.acceptance import Rule, make_rule, total_variation
from sdiff.exactness import EQUAL
from sdiff.request import RULES
from sdiff.theory import Position, position
from sdiff.ui import strings
from sdiff.ui.laws import Laws
from sdiff.ui.strings import said

WORDS = strings.THEORY
SMOOTH = tuple(i / 10 for i in range(11))  # leniencies of a rule's curve
STEPS = tuple(i / 60 for i in range(61))  # thresholds jump: enough to meet every one of them
JUMPS = ("typical", "top_k")


def tv(one: Tensor, other: Tensor) -> float:
    return float(total_variation(one[None], other[None]))


def measures(laws: Laws, rule: Rule) -> dict[str, float]:
    """Acceptance, TV(o, p), KL(o‖p) and how far acceptance is below the Theorem 1 line."""
    p, q = laws.tensors
    at = position(p, q, rule)
    accept, bias = float((q * at.keep).sum()), tv(at.emitted, p)
    return {"accept": accept, "bias": bias, "kl": _kl(at, p), "below": max(0.0, 1 - tv(p, q) + bias - accept)}


def _kl(at: Position, p: Tensor) -> float:
    terms = [o * math.log(o / w) if w > 0 else math.inf for o, w in zip(at.emitted.tolist(), p.tolist(), strict=True) if o > 1e-15]
    return max(0.0, math.fsum(terms))


def picture(laws: Laws, rule: str, leniency: float) -> dict[str, Any]:
    """All that part 1 draws, as plain numbers per token, with the sentence on what leniency changes."""
    p, q = laws.tensors
    made, strict = make_rule(rule, leniency), make_rule(rule, 0.0)
    at = position(p, q, made)
    kept = q * at.keep
    firm = torch.minimum(kept, torch.minimum(p, q))  # the same coins keep these at λ = 0
    refused = float(at.correction.sum())
    now, then = measures(laws, made), measures(laws, strict)
    per_token = {
        "p": p, "q": q, "f": at.f, "keep": at.keep, "emitted": at.emitted, "correction": at.correction,
        "residual": at.correction / refused if refused > EQUAL else torch.zeros_like(p),
        "firm": firm, "lenient": kept - firm, "refused": q - kept,
    }  # fmt: skip
    return {
        "tokens": list(laws.tokens), "whole": laws.whole, "rule": rule, "leniency": leniency, **{name: values.tolist() for name, values in per_token.items()},
        "facts": {"accept": now["accept"], "tv": tv(p, q), "bias": now["bias"], "kl": now["kl"] if math.isfinite(now["kl"]) else None,
                  "below": now["below"], "strict": then["accept"]},
        "setting": WORDS["setting"].format(rule=said(RULES[rule].label), native=_native(laws, rule, leniency), help=said(RULES[rule].help)),
        "sentence": _changes(laws, at, now, then),
    }  # fmt: skip


def _changes(laws: Laws, at: Position, now: dict[str, float], then: dict[str, float]) -> str:
    """What leniency buys here and what it costs, in one or two sentences."""
    values = {"accept": f"{now['accept']:.3f}", "more": f"{abs(now['accept'] - then['accept']):.3f}", "bias": f"{now['bias']:.3f}"}
    if now["bias"] < EQUAL:
        return WORDS["exact"].format(**values)
    shifts = (at.emitted - torch.tensor(laws.p, dtype=torch.float64)).tolist()
    up, down = shifts.index(max(shifts)), shifts.index(min(shifts))
    values |= {"up": laws.tokens[up], "up_by": f"{shifts[up]:.3f}", "down": laws.tokens[down], "down_by": f"{-shifts[down]:.3f}"}
    return WORDS["biased" if now["accept"] >= then["accept"] - EQUAL else "worse"].format(**values)


@lru_cache(maxsize=512)
def curves(laws: Laws) -> dict[str, list[tuple[float, float, float]]]:
    """rule -> [(bias TV(o, p), acceptance, below the line)] over its whole leniency range, equal points once."""
    found: dict[str, list[tuple[float, float, float]]] = {}
    for name in RULES:
        points = []
        for leniency in STEPS if name in JUMPS else SMOOTH:
            at = measures(laws, make_rule(name, leniency))
            points.append((round(at["bias"], 5), round(at["accept"], 5), at["below"] if at["below"] > EQUAL else 0.0))
        found[name] = list(dict.fromkeys(points))
    return found


def _native(laws: Laws, rule: str, leniency: float) -> str:
    """The rule's own knob in words; there are no more than these tokens to match."""
    return said(RULES[rule].native(leniency, len(laws.tokens) if rule == "top_k" else 1e4))


def chart(laws: Laws, rule: str, leniency: float) -> dict[str, Any]:
    """All that part 2 draws: every rule's curve, where it stands at this leniency, the line, and which rules lie on it."""
    lines, rows = curves(laws), []
    for name, knob in RULES.items():
        at, furthest = measures(laws, make_rule(name, leniency)), max(below for *_, below in lines[name])
        rows.append({"rule": name, "label": said(knob.label), "help": said(knob.help), "native": _native(laws, name, leniency), "accept": at["accept"], "bias": at["bias"],
                     "below": at["below"] if at["below"] > EQUAL else 0.0, "furthest": furthest})  # fmt: skip
    on = [row["label"] for row in rows if not row["furthest"]]
    off = [WORDS["off_by"].format(rule=row["label"], by=f"{row['furthest']:.3f}") for row in rows if row["furthest"]]
    sentence = (
        WORDS["on_line"].format(rules=", ".join(on)) + " " + (WORDS["off_line"].format(rules=", ".join(off)) if off else WORDS["none_off"])
    )
    return {
        "curves": {name: [point[:2] for point in points] for name, points in lines.items()},
        "rows": rows, "chosen": rule, "tv": tv(*laws.tensors), "sentence": sentence,
    }  # fmt: skip
