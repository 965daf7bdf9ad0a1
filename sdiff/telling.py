"""Time and verdicts of a run, for its trace. Refuses to decide anything: the loop does."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from typing import Any

from torch import Tensor

from sdiff.acceptance import Examination, total_variation
from sdiff.trace import Alternatives, Denoise, Emit, Verdict, keep_probability


class Stopwatch:
    """The decoder's own clock in milliseconds. Only what happens inside `timed` counts: never drawing, never the reader."""

    def __init__(self) -> None:
        self.at = 0.0

    def timed(self, work: Callable[[], Any]) -> tuple[Any, float]:
        """→ (result of `work`, milliseconds it took)."""
        start = time.perf_counter()
        result = work()
        spent = (time.perf_counter() - start) * 1e3
        self.at += spent
        return result, spent

    def advance(self, generator: Generator[Any, None, Any]) -> tuple[Any, Any, float]:
        """One timed step of a generator: → (what it yielded, None, ms), or (None, what it returned, ms)."""

        def step() -> tuple[Any, Any]:
            try:
                return next(generator), None
            except StopIteration as done:
                return None, done.value

        (yielded, returned), ms = self.timed(step)
        return yielded, returned, ms


def top(law: Tensor, n: int = 5) -> list[Alternatives]:
    """The n likeliest tokens of each row [k, V] that can occur at all."""
    values, ids = law.topk(min(n, law.shape[-1]), -1)
    return [tuple((i, v) for i, v in zip(*row, strict=True) if v > 0) for row in zip(ids.tolist(), values.tolist(), strict=True)]


def sketch(cycle: int, step: int, canvas: Any, ms: float, at: float) -> Denoise:
    """The block after a denoising step, from a drafter's canvas."""
    return Denoise(
        cycle=cycle, step=step, steps=canvas.steps, canvas=tuple(canvas.tokens.tolist()), fixed=tuple(canvas.fixed.tolist()), ms=ms, at=at
    )


def verdicts(cycle: int, tokens: list[int], exam: Examination, laws: tuple[Tensor, Tensor], detail: bool, at: float) -> Iterator[Verdict]:
    """One verdict per examined draft in `tokens`; what stands right of a refusal was never examined and gets none.

    `laws`: p and q [≥ len(tokens), V]; without `detail` the alternatives are left out.
    """
    n = len(tokens)
    p_rows, q_rows = laws[0][:n], laws[1][:n]
    tops = zip(top(p_rows), top(q_rows)) if detail and n else [((), ())] * n
    distances = total_variation(p_rows, q_rows).tolist()
    for i, (token, (top_p, top_q), tv, (p, q, f, u)) in enumerate(zip(tokens, tops, distances, exam.rows), 1):
        kept = u * q < f
        yield Verdict(cycle=cycle, position=i, token=token, p=p, q=q, f=f, u=u, keep=keep_probability(f, q), accepted=kept,
                      lenient=kept and not u * q < p, tv=tv, top_p=top_p, top_q=top_q, at=at)  # fmt: skip


def emission(cycle: int, tokens: list[int], exam: Examination, drafted: int, p: Tensor | None, text: str, ms: float, at: float) -> Emit:
    """What a cycle added; the verifier's own token, if the text did not end before it, with the laws it was drawn from."""
    if len(tokens) <= exam.accepted:
        return Emit(cycle=cycle, tokens=tuple(tokens), accepted=len(tokens), extra="", text=text, ms=ms, at=at)
    return Emit(cycle=cycle, tokens=tuple(tokens), accepted=exam.accepted, extra="correction" if exam.accepted < drafted else "bonus", text=text, ms=ms,
                p=exam.extra_p, residual=exam.extra_law, top_p=() if p is None else top(p[exam.accepted, None])[0], at=at)  # fmt: skip
