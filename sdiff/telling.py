"""Time and story of a cycle, for the trace of a run. Refuses to decide anything: the loop does.

What a cycle has to tell stays on its device until the cycle is over; then one copy brings all of it, tokens and numbers alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sdiff.acceptance import Examination, total_variation
from sdiff.sampling import NonFiniteLogits, finite
from sdiff.trace import Alternatives, Denoise, Emit, Event, Verdict, Verify, keep_probability

ALTERNATIVES = 5  # likeliest tokens told of a law
Span = tuple[Any, Any]  # two marks of a clock, where a phase began and ended


class Stopwatch:
    """The decoder's own clock in milliseconds. Only what happens inside `timed` counts: never drawing, never the reader.

    A GPU works behind the host's back: there a mark is an event that the GPU notes the time of when it gets there, and nobody waits.
    """

    def __init__(self, device: torch.device) -> None:
        self.at, self.device = 0.0, device

    def mark(self) -> Any:
        """This moment of the device: seconds on a CPU, an event on a GPU."""
        if self.device.type != "cuda":
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record(torch.cuda.current_stream(self.device))
        return event

    def timed(self, work: Callable[[], Any]) -> tuple[Any, Span]:
        """→ (result of `work`, its beginning and end)."""
        start = self.mark()
        result = work()
        return result, (start, self.mark())

    def spent(self, span: Span) -> float:
        """Milliseconds of a phase, which from now on count. On a GPU to be asked for behind the cycle's read: before that it waits."""
        start, end = span
        if self.device.type == "cuda":
            end.synchronize()
            ms = start.elapsed_time(end)
        else:
            ms = (end - start) * 1e3
        self.at += ms
        return ms


def read(tensors: Sequence[Tensor]) -> list[np.ndarray]:
    """Tensors of any kind as arrays of float64, by one copy from their device: the only place where a cycle waits for it."""
    flat = torch.cat([tensor.reshape(-1).double() for tensor in tensors]).cpu().numpy()
    ends = np.cumsum([tensor.numel() for tensor in tensors])
    return [part.reshape(tensor.shape) for part, tensor in zip(np.split(flat, ends[:-1]), tensors, strict=True)]


def top(laws: Tensor) -> Tensor:
    """The likeliest tokens of each row [n, V] and their probabilities, float64 [n, 2, ≤ ALTERNATIVES]."""
    values, ids = laws.topk(min(ALTERNATIVES, laws.shape[-1]), -1)
    return torch.stack([ids.double(), values.double()], 1)


def alternatives(row: np.ndarray) -> Alternatives:
    """A row of `top`, without tokens that cannot occur at all."""
    return tuple((int(i), v) for i, v in zip(*row.tolist(), strict=True) if v > 0)


@dataclass(frozen=True)
class Numbers:
    """A cycle as the host knows it: tokens drafted and their `fixed_at`, how many were `accepted`, the token `extra`, what they were made of."""

    drafted: list[int]
    fixed_at: list[int]
    accepted: int
    extra: int
    extra_p: float
    extra_law: float
    rows: list[list[float]]  # per draft: p(x), q(x), f(x), u, TV(p, q)
    top_p: list[Alternatives]  # per row; () each without detail
    top_q: list[Alternatives]


@dataclass
class Story:
    """What cycle number `cycle` has to tell, behind the token `anchor`; with `detail` also canvases and alternatives."""

    cycle: int
    anchor: int
    detail: bool
    watch: Stopwatch
    draft_ms: float = 0.0
    step: int = 0
    passes: list[tuple[Any, Span]] = field(default_factory=list)  # canvases (None: the draft is done), not yet told

    def advance(self, proposing: Generator[Any, None, Any]) -> Any:
        """One timed pass of a drafter. → its draft, or None as long as there is more to do"""

        def step() -> tuple[Any, Any]:
            try:
                return next(proposing), None
            except StopIteration as done:
                return None, done.value

        (canvas, draft), span = self.watch.timed(step)
        self.passes.append((canvas, span))
        return draft

    def sketches(self) -> Iterator[Denoise]:
        """The passes not yet told, read for themselves: one more copy."""
        yield from self._sketches(read(self._canvases()) if self._canvases() else [])

    def _canvases(self) -> list[Tensor]:
        drawn = [canvas for canvas, _ in self.passes if canvas is not None and self.detail]
        return [torch.stack([torch.stack([c.tokens, c.fixed.long()]) for c in drawn])] if drawn else []  # [passes, 2, γ]

    def _sketches(self, canvases: list[np.ndarray]) -> Iterator[Denoise]:
        rows = iter(canvases[0].astype(int).tolist() if canvases else [])
        for canvas, span in self.passes:
            ms = self.watch.spent(span)
            self.draft_ms += ms
            if canvas is not None and self.detail:
                tokens, fixed = next(rows)
                yield Denoise(cycle=self.cycle, step=self.step, steps=canvas.steps, canvas=tuple(tokens), fixed=tuple(map(bool, fixed)), ms=ms,
                              at=self.watch.at)  # fmt: skip
                self.step += 1
        self.passes = []

    def read(self, draft: Any, p: Tensor, exam: Examination) -> tuple[Numbers, list[np.ndarray]]:
        """Everything at once, in one copy: the cycle's numbers, and the canvases not yet told. Raises NonFiniteLogits."""
        n = len(draft.tokens)
        tensors = [draft.finite & finite(p), exam.accepted, exam.extra, exam.extra_p, exam.extra_law, draft.tokens, draft.fixed_at,
                   torch.cat([exam.rows, total_variation(p[:n], draft.q[:n])[:, None]], -1)]  # fmt: skip
        told = [top(p), top(draft.q[:n])] if self.detail else []
        sound, accepted, extra, extra_p, extra_law, drafted, fixed_at, rows, *rest = read([*tensors, *told, *self._canvases()])
        if not sound:
            raise NonFiniteLogits
        tops = [[alternatives(row) for row in part] for part in rest[:2]] if told else [[()] * (n + 1)] * 2
        numbers = Numbers(drafted.astype(int).tolist(), fixed_at.astype(int).tolist(), int(accepted), int(extra[0]), float(extra_p[0]),
                          float(extra_law[0]), rows.tolist(), *tops)  # fmt: skip
        return numbers, rest[len(told) :]

    def told(self, tokens: list[int], numbers: Numbers, canvases: list[np.ndarray], spans: Sequence[Span], text: str) -> Iterator[Event]:
        """The cycle's events, in the order in which it went. `tokens` that it adds; `spans` of verifying and examining."""
        yield from self._sketches(canvases)
        ms = self.watch.spent(spans[0])
        yield Verify(cycle=self.cycle, anchor=self.anchor, tokens=tuple(numbers.drafted), fixed_at=tuple(numbers.fixed_at),
                     draft_ms=self.draft_ms, ms=ms, at=self.watch.at)  # fmt: skip
        ms = self.watch.spent(spans[1])
        yield from verdicts(self.cycle, min(numbers.accepted + 1, len(tokens)), numbers, self.watch.at)
        yield emission(self.cycle, tokens, numbers, text, ms, self.watch.at)


def verdicts(cycle: int, examined: int, numbers: Numbers, at: float) -> Iterator[Verdict]:
    """One verdict per examined draft; what stands right of a refusal was never examined and gets none."""
    made_of = zip(numbers.drafted[:examined], numbers.rows, numbers.top_p, numbers.top_q)
    for i, (token, (p, q, f, u, tv), top_p, top_q) in enumerate(made_of, 1):
        kept = u * q < f
        yield Verdict(cycle=cycle, position=i, token=token, p=p, q=q, f=f, u=u, keep=keep_probability(f, q), accepted=kept,
                      lenient=kept and not u * q < p, tv=tv, top_p=top_p, top_q=top_q, at=at)  # fmt: skip


def emission(cycle: int, tokens: list[int], numbers: Numbers, text: str, ms: float, at: float) -> Emit:
    """What a cycle added; the verifier's own token, if the text did not end before it, with the laws it was drawn from."""
    accepted = numbers.accepted
    if len(tokens) <= accepted:
        return Emit(cycle=cycle, tokens=tuple(tokens), accepted=len(tokens), extra="", text=text, ms=ms, at=at)
    return Emit(cycle=cycle, tokens=tuple(tokens), accepted=accepted, extra="correction" if accepted < len(numbers.drafted) else "bonus", text=text,
                ms=ms, p=numbers.extra_p, residual=numbers.extra_law, top_p=numbers.top_p[accepted], at=at)  # fmt: skip
