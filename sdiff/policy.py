"""Choosing while decoding: where to spend a budget of leniency, when another denoising step no longer pays, which task a prompt is.

The first two look only at what Proposition 2 and the accounting of TV allow: laws at and before a position, never tokens drawn
at or behind it. Knows laws; refuses to know models and clocks (costs come in as numbers).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor

from sdiff.acceptance import Lossless, at, total_variation
from sdiff.trace import Emit, Event


@dataclass
class Banked:
    """f = (1−λ_i)p + λ_i q with the λ_i of a mean-TV budget: every emitted token earns ε, a drafted position spends λ_i·TV(p_i, q_i).

    A unit of TV at position i keeps W_{i+1} more tokens of the block (those behind it), so early positions are served first: each
    takes what it can use of what is there, nothing is kept back for later ones, and what is left over waits in the bank. At every moment the sum
    of TV(o_i, p_i) over emitted tokens is at most ε × tokens, whatever is drawn. `most`: where the bank stops saving, in tokens' worth of TV.

    λ_i depends on the laws at positions ≤ i alone, so the law emitted at i given what stands before it is exactly f's.
    """

    epsilon: float
    most: float = 4.0
    bank: float = 0.0
    spent: float = 0.0
    block: list[float] = field(default_factory=list)  # what each position of the block under examination would spend
    open: bool = False  # a block is under examination

    def leniencies(self, p: Tensor, q: Tensor) -> Tensor:
        """λ_i of the positions of a block, float64 [n], if all before each are kept."""
        if self.open:
            raise RuntimeError("the last block was not booked: run the events through `booking`")
        distances, bank, self.open = total_variation(p, q).tolist(), self.bank, True
        self.block = []
        for distance in distances:
            bank = min(self.most, bank + self.epsilon)
            self.block.append(min(distance, bank))
            bank -= self.block[-1]
        return torch.tensor(_shares(self.block, distances), dtype=torch.float64, device=p.device)

    def spending(self, p: Tensor, q: Tensor) -> list[float]:
        """λ_i of the first positions of the block that was examined last, given their laws again."""
        return _shares(self.block[: len(p)], total_variation(p, q).tolist())

    def target(self, p: Tensor, q: Tensor, x: Tensor, unit: Tensor | None = None) -> Tensor:
        leniency = self.leniencies(p, q)
        return (1 - leniency) * at(p, x) + leniency * at(q, x)

    def residual(self, p: Tensor, q: Tensor, x: Tensor) -> Tensor:
        return Lossless().residual(p, q, x)

    def booking(self, events: Iterable[Event]) -> Iterator[Event]:
        """Pass the events of a run through, and book after each cycle what its tokens earned and its examined positions spent."""
        for event in events:
            if isinstance(event, Emit):
                for spent in [*self.block, 0.0][: len(event.tokens)]:  # the last one is a correction, examined, or the bonus, free
                    self.bank = min(self.most, self.bank + self.epsilon) - spent
                    self.spent += spent
                self.open = False
            yield event


def _shares(spent: list[float], distances: list[float]) -> list[float]:
    return [s / d if d else 0.0 for s, d in zip(spent, distances, strict=True)]


@dataclass(frozen=True)
class Worthwhile:
    """How many open positions to settle now, from the laws predicted for them: a pace for left-to-right proposals.

    A position whose law is sharp loses little by not waiting for its left neighbours; one that is open gains. The next position
    is settled too while Π (its likeliest probability) stays ≥ `sure`; and all of them, when another pass would not pay: when the
    tokens that it could add, that Π times Σ_j (kept^j − Π_{i≤j} sharp_i)₊ over the positions left, are fewer than `price`, its cost
    in tokens. `kept`: acceptance of a position whose left neighbours are known. At temperature 0 every law is sharp: one pass.
    """

    price: float = 0.3
    sure: float = 0.6
    kept: float = 0.85

    def __call__(self, law: Tensor, left: int) -> int:
        """law [open, K] of the open positions from left to right; `left`: passes left, this one included. → how many to settle"""
        sharp = law.amax(-1).double()
        if left == 1 or len(sharp) == 1:
            return len(sharp)
        behind = sharp[1:].cumprod(0)  # the first position knows its neighbours already
        now = 1 + int((behind >= self.sure).sum())
        if now >= len(sharp):
            return len(sharp)
        rest = sharp[now:].cumprod(0)
        could = self.kept ** torch.arange(1, len(rest) + 1, dtype=torch.float64, device=rest.device)
        reached = float(behind[now - 2]) if now > 1 else 1.0
        return now if reached * float((could - rest).clamp(min=0).sum()) > self.price else len(sharp)


CODE = re.compile(r"\b(python|function|def|class|code|method|script|program)\b", re.IGNORECASE)
ASKED = re.compile(r"\?|\b(how|what|find|work out)\b", re.IGNORECASE)


def route(prompt: str) -> str:
    """The task whose measured optimum fits a prompt: coding if it speaks of code, reasoning if it asks something with numbers, else chat."""
    if CODE.search(prompt):
        return "coding"
    return "reasoning" if re.search(r"\d", prompt) and ASKED.search(prompt) else "chat"
