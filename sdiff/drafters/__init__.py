"""What a drafter is: a denoiser plus a way of turning its predictions into a draft with exactly known laws.

One file per family. Refuses to know verifiers and acceptance rules. `q` is always the very tensor the tokens were
drawn from: a draft is only as honest as that sentence.

Proposition 2 (arXiv 2610.31819): a multi-step draft is lossless when there is side information F, independent of the
accept coins, such that given F and the kept tokens before it, draft token i has exactly the law q_i it is weighed with.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from sdiff.sampling import Dice, Shape, finite
from sdiff.trace import MASKED


@dataclass(frozen=True)
class Canvas:
    """A block between two denoising steps: verifier ids or MASKED [γ], which positions are final [γ], passes at most."""

    tokens: Tensor
    fixed: Tensor
    steps: int


@dataclass(frozen=True)
class Draft:
    """tokens [γ] verifier ids; q [γ+1, V] the laws they were drawn from, last row zero; fixed_at [γ] step of the final value; `finite`:
    all that was predicted on the way were laws, bool []. Without that nothing here means anything."""

    tokens: Tensor
    q: Tensor
    fixed_at: Tensor
    finite: Tensor


class Denoiser(Protocol):
    """Predicts the clean block. `ids` [K]: verifier ids of the draft vocabulary; `vocabulary`: V; `scale` multiplies logits."""

    ids: Tensor
    vocabulary: int
    scale: float

    def start(self, context: Sequence[int]) -> None:
        """A new block behind `context`, whose last token is the anchor."""

    def predict(self, canvas: Tensor, level: Tensor) -> Tensor:
        """canvas [γ] draft ids or MASKED, level [γ] noise in [0, 1] → logits of the clean tokens [γ, K]."""


class Drafter(Protocol):
    """`propose` yields a Canvas after every step (and the initial noise) and returns the Draft."""

    def propose(self, context: Sequence[int], gamma: int, steps: int, dice: Dice) -> Generator[Canvas, None, Draft]: ...


def early_first(law: Tensor, left: int) -> int:
    """Small groups first: about 1/left² of what is open, so 1, 1, 2, 4 of 8 in four passes; at most γ passes.

    A position loses by every unknown neighbour to its left in its own group, and a loss at the beginning of a block takes all
    behind it along: few tokens reach the last group anyway.
    """
    return len(law) if left == 1 else min(len(law) - left + 1, max(1, round(len(law) / left**2)))


def on_verifier_vocabulary(denoiser: Denoiser, canvas: Tensor, q: Tensor, fixed_at: Tensor, finite: Tensor) -> Draft:
    """Translate draft ids [γ] and laws [γ, K] to the verifier's vocabulary: every other token has q = 0."""
    wide = torch.zeros(len(q) + 1, denoiser.vocabulary, dtype=q.dtype, device=q.device)
    wide[:-1].scatter_(1, denoiser.ids.expand(len(q), -1), q)
    return Draft(denoiser.ids[canvas], wide, fixed_at, finite)


def shown(denoiser: Denoiser, canvas: Tensor, fixed: Tensor, steps: int) -> Canvas:
    return Canvas(torch.where(canvas == MASKED, MASKED, denoiser.ids[canvas.clamp(min=0)]), fixed, steps)


def empty_draft(vocabulary: int, device: torch.device | str) -> Draft:
    """No tokens and the lone zero row of q: all that is left of a block that may emit one token only."""
    nothing = torch.zeros(0, dtype=torch.int64, device=device)
    return Draft(nothing, torch.zeros(1, vocabulary, device=device), nothing, torch.ones((), dtype=torch.bool, device=device))


@dataclass(frozen=True)
class NoDrafter:
    """Plain decoding: every draft is empty."""

    vocabulary: int
    device: torch.device | str = "cpu"

    def propose(self, context: Sequence[int], gamma: int, steps: int, dice: Dice) -> Generator[Canvas, None, Draft]:
        return empty_draft(self.vocabulary, self.device)
        yield  # makes this a generator


def one_hot(tokens: Tensor, like: Tensor) -> Tensor:
    return torch.zeros_like(like).scatter_(-1, tokens[:, None], 1.0)


Pace = Callable[[Tensor, int], int]  # (laws [open, K] of the open positions, passes left) → how many to settle in this one


def settle_in_groups(
    denoiser: Denoiser, shape: Shape, gamma: int, steps: int, dice: Dice, by_confidence: bool, noise: Callable[[], Tensor], pace: Pace = early_first,
) -> Generator[Canvas, None, tuple[Tensor, Tensor, Tensor, Tensor]]:  # fmt: skip
    """Settle positions group by group; the open ones are drawn from `noise()` before each step.

    Left to right this meets the `monotone` condition of Proposition 2: which positions are revealed depends on
    predicted laws alone, same-step tokens are independent, settled ones stay. By confidence it does not: a position's turn
    then depends on tokens drawn to its right. → final draft ids [γ], laws at reveal [γ, K], step of reveal [γ], `Draft.finite`.
    """
    canvas, steps, remaining, step = noise(), min(steps, gamma), gamma, 0
    fixed_at = torch.zeros_like(canvas)
    q, sound = None, torch.ones((), dtype=torch.bool, device=canvas.device)
    yield shown(denoiser, canvas, fixed_at > 0, steps)
    while remaining:
        step += 1
        still_open = fixed_at == 0
        if step > 1:
            canvas = torch.where(still_open, noise(), canvas)
        law = shape.law(denoiser.predict(canvas, still_open.double()), denoiser.scale)  # [γ, K]
        sound = sound & finite(law)
        if by_confidence:
            size = -(-remaining // (steps - step + 1))
            chosen = law.amax(-1).masked_fill(~still_open, -torch.inf).topk(size).indices
        else:
            size = pace(law[gamma - remaining :], steps - step + 1)
            chosen = slice(gamma - remaining, gamma - remaining + size)
        q = torch.zeros_like(law) if q is None else q
        q[chosen], fixed_at[chosen] = law[chosen], step
        canvas = canvas.clone()
        canvas[chosen] = dice.draw(law[chosen])
        remaining -= size
        yield shown(denoiser, canvas, fixed_at > 0, steps)
    return canvas, q, fixed_at, sound
