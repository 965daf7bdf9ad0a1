"""Numbers of a run, from its events and nowhere else. Refuses to know clocks and tensors."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from sdiff.trace import Emit, Event, Prefill, Verdict, Verify


def statistics(events: Iterable[Event], positions: int = 0) -> dict[str, Any]:
    """Counts, rates and milliseconds of the finished cycles in `events`.

    tokens, cycles, tau (tokens per cycle, 1 … γ+1), tokens_per_second (reading the prompt left out), ms per phase,
    lenient (drafts kept only thanks to leniency), and per position, beginning at position 1: drafted (blocks that
    reach so far before the text ends), examined, accepted: see `rates`. The lists cover at least `positions`.
    """
    prefill, verified, verdicts, emits = 0.0, {}, [], {}
    for event in events:
        if isinstance(event, Prefill):
            prefill += event.ms
        elif isinstance(event, Verify):
            verified[event.cycle] = event
        elif isinstance(event, Verdict):
            verdicts.append(event)
        elif isinstance(event, Emit):
            emits[event.cycle] = event
    finished = [v for cycle, v in verified.items() if cycle in emits]
    # what stands behind an end of text inside a block counts nowhere
    lengths = [len(v.tokens) if emits[v.cycle].extra else len(emits[v.cycle].tokens) for v in finished]
    examined = [v for v in verdicts if v.cycle in emits]
    size = max([positions, *(len(v.tokens) for v in finished)])
    ms = {
        "prefill": prefill,
        "draft": math.fsum(v.draft_ms for v in finished),
        "verify": math.fsum(v.ms for v in finished),
        "examine": math.fsum(e.ms for e in emits.values()),
    }
    tokens, seconds = sum(len(e.tokens) for e in emits.values()), (ms["draft"] + ms["verify"] + ms["examine"]) / 1e3
    return {
        "tokens": tokens,
        "cycles": len(emits),
        "tau": tokens / len(emits) if emits else 0.0,
        "tokens_per_second": tokens / seconds if seconds else 0.0,
        "ms": ms,
        "lenient": sum(v.lenient for v in examined),
        "drafted": [sum(length >= k for length in lengths) for k in range(1, size + 1)],
        "examined": [sum(v.position == k for v in examined) for k in range(1, size + 1)],
        "accepted": [sum(v.position == k and v.accepted for v in examined) for k in range(1, size + 1)],
    }


def rates(stats: dict[str, Any]) -> list[dict[str, float]]:
    """Per position k: acceptance given that k was examined (rate, with low and high of its Wilson 95 % interval),
    and survival: the share of blocks whose first k drafts were all kept (with survival_low and survival_high). 0 where nothing was counted."""
    rows = []
    for k, (drafted, examined, accepted) in enumerate(zip(stats["drafted"], stats["examined"], stats["accepted"], strict=True), 1):
        low, high = wilson(accepted, examined)
        row = {"position": k, "drafted": drafted, "examined": examined, "accepted": accepted, "low": low, "high": high}
        row |= {"rate": accepted / examined if examined else 0.0, "survival": accepted / drafted if drafted else 0.0}
        row["survival_low"], row["survival_high"] = wilson(accepted, drafted)
        rows.append(row)
    return rows


def flip_leniency(rule: str, verdict: Verdict, temperature: float) -> float | None:
    """The leniency λ above which this verdict's own coin keeps the draft, all else equal; 0 if it does at any λ, 1 if at none below 1.

    Solves u·q = f(λ) for the rule called `rule` (request.RULES maps λ to its native knob). None where f depends on more than a verdict holds.
    """
    p, q, uq = verdict.p, verdict.q, verdict.u * verdict.q
    if rule not in ("lossless", "tv", "tv_budget", "lenience", "cactus") or (rule == "lenience" and temperature == 0):
        return None
    if uq < p:
        return 0.0  # f ≥ p for all of these
    if rule == "lossless":
        return 1.0
    if rule in ("tv", "tv_budget"):
        share = (uq - p) / (q - p) if q > p else 1.0  # f = (1−λ)p + λq
        return min(1.0, share * (verdict.tv if rule == "tv_budget" else 1.0))
    if rule == "lenience":
        return 1 - max(p / uq, 1e-6) if uq > 0 else 0.0  # f = min(1, p/ℓ), ℓ = 1 − λ; at λ = 1 everything is kept
    if not 0 < p < 1:
        return 1.0
    delta = (uq - p) ** 2 / (2 * p * (1 - p))  # cactus: f = p + √(2δp(1−p)), δ = λ²/(1−λ)
    return (math.sqrt(delta * delta + 4 * delta) - delta) / 2


def wilson(successes: int, n: int, z: float = 1.959964) -> tuple[float, float]:
    """Wilson 95 % score interval of a proportion; (0, 1) when n = 0."""
    if n == 0:
        return 0.0, 1.0
    rate, z2 = successes / n, z * z
    centre = (rate + z2 / (2 * n)) / (1 + z2 / n)
    half = z / (1 + z2 / n) * math.sqrt(rate * (1 - rate) / n + z2 / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)
