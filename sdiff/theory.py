"""Exact laws on toy models: every outcome of the production code, enumerated with its probability. No sampling noise.

Also the Theorem 1 line. Knows acceptance and sampling; the toy drafters and verifiers are the caller's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TypeVar

import torch
from torch import Tensor

from sdiff.acceptance import Rule, at, examine, total_variation
from sdiff.sampling import Dice

Outcome = TypeVar("Outcome", bound=Hashable)
ALMOST_ONE = 1 - 2.0**-53  # the largest coin a Dice can show


class Branches(Dice):
    """Dice that take a prescribed branch at every decision and remember the odds of all of them.

    A coin is replaced by its two outcomes: u = 0 keeps whenever f > 0, u ≈ 1 refuses whenever f < q.
    """

    def __init__(self, path: Sequence[int]) -> None:
        self.path, self.odds, self.weight = list(path), [], 1.0

    def _branch(self, odds: list[float]) -> int:
        options = [i for i, w in enumerate(odds) if w > 0]
        depth = len(self.odds)
        choice = self.path[depth] if depth < len(self.path) else 0
        self.odds.append(len(options))
        if depth >= len(self.path):
            self.path.append(0)
        self.weight *= odds[options[choice]] / math.fsum(odds)
        return options[choice]

    def uniform(self, n: int) -> Tensor:
        raise TypeError("an enumeration has no random numbers: use coins() and draw()")

    def coins(self, f: Tensor, q: Tensor) -> Tensor:
        keep = [1.0 if fi >= qi else fi / qi for fi, qi in zip(f.tolist(), q.tolist(), strict=True)]
        return torch.tensor([(0.0, ALMOST_ONE)[self._branch([k, 1 - k])] for k in keep], dtype=torch.float64, device=f.device)

    def draw(self, weights: Tensor) -> Tensor:
        return torch.tensor([self._branch(row) for row in weights.double().tolist()], device=weights.device)

    def following(self) -> list[int] | None:
        """The next path in depth-first order, or None after the last one."""
        path = self.path[: len(self.odds)]
        while path and path[-1] + 1 >= self.odds[len(path) - 1]:
            path.pop()
        return [*path[:-1], path[-1] + 1] if path else None


def enumerate_outcomes(run: Callable[[Dice], Outcome]) -> Iterator[tuple[Outcome, float]]:
    """Every outcome of `run(dice)` with its probability; outcomes may repeat, probabilities add up to 1."""
    path: list[int] | None = []
    while path is not None:
        dice = Branches(path)
        outcome = run(dice)
        yield outcome, dice.weight
        path = dice.following()


def law_of(run: Callable[[Dice], Outcome]) -> dict[Outcome, float]:
    """The exact law of `run`'s outcome."""
    law: dict[Outcome, list[float]] = {}
    for outcome, weight in enumerate_outcomes(run):
        law.setdefault(outcome, []).append(weight)
    return {outcome: math.fsum(weights) for outcome, weights in law.items()}


def emitted_law(p: Tensor, q: Tensor, rule: Rule, unit: Tensor | None = None) -> tuple[Tensor, float]:
    """What one drafted position emits when x ~ q meets `rule`: (law o [V] float64, probability of a refusal)."""
    two_p, two_q = torch.stack([p, p]), torch.stack([q, torch.zeros_like(q)])
    two_unit = None if unit is None else torch.stack([unit, unit])

    def run(dice: Dice) -> tuple[int, bool]:
        x = dice.draw(q[None])
        exam = examine(two_p, two_q, x, rule, dice, two_unit)
        return (int(x) if exam.accepted else exam.extra), exam.accepted == 0

    law, refused = torch.zeros(len(p), dtype=torch.float64), 0.0
    for (token, refusal), weight in law_of(run).items():
        law[token] += weight
        refused += weight * refusal
    return law, refused


def theorem_1_gap(p: Tensor, q: Tensor, rule: Rule) -> float:
    """P(reject) + TV(o, p) − TV(p, q): 0 on the line, positive off it, never negative."""
    law, refused = emitted_law(p, q, rule)
    return refused + float(total_variation(law[None], p.double()[None])) - float(total_variation(p[None], q[None]))


def keep_curve(p: Tensor, q: Tensor, rule: Rule) -> float:
    """P(keep) = Σ_x q(x)·min(1, f(x)/q(x)) in closed form; the enumeration must agree."""
    tokens = torch.arange(len(p))
    rows_p, rows_q = p.expand(len(p), -1), q.expand(len(p), -1)
    return float(torch.minimum(rule.target(rows_p, rows_q, tokens, None), at(rows_q, tokens)).sum())
