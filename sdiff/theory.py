"""Exact laws on toy models: every outcome of the production code, enumerated with its probability. No sampling noise.

Two ways: `law_of` replays every path of dice through any code; `draft_law` and `Blocks` do the same for a drafter and for the
examination of its drafts, but merge what is equal on the way. Also the Theorem 1 line and joint laws. Knows acceptance and sampling; the toy
drafters and verifiers are the caller's.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import torch
from torch import Tensor

from sdiff.acceptance import Rule, at, examine, total_variation
from sdiff.sampling import Dice

Outcome = TypeVar("Outcome", bound=Hashable)
ALMOST_ONE = 1 - 2.0**-53  # the largest coin a Dice can show


class Branches(Dice):
    """Dice that take a prescribed branch at every decision and remember the odds of all of them.

    A coin is replaced by its two outcomes: u = 0 keeps whenever f > 0, u ≈ 1 refuses whenever f < q. `weight` is the
    probability of the path given its first `given` branches. Once `ended`, decisions no longer belong to the path.
    """

    def __init__(self, path: Sequence[int], given: int = 0) -> None:
        self.path, self.odds, self.weight, self.given, self.ended = list(path), [], 1.0, given, False

    def _branch(self, odds: list[float]) -> int:
        options = [i for i, w in enumerate(odds) if w > 0]
        if self.ended:
            return options[0]
        depth = len(self.odds)
        choice = self.path[depth] if depth < len(self.path) else 0
        self.odds.append(len(options))
        if depth >= len(self.path):
            self.path.append(0)
        if depth >= self.given:
            self.weight *= odds[options[choice]] / math.fsum(odds)
        return options[choice]

    def uniform(self, n: int) -> Tensor:
        raise TypeError("an enumeration has no random numbers: use coins() and draw()")

    def fill(self, n: int, device: torch.device) -> None:
        """Nothing is drawn ahead."""

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


def enumerate_outcomes(run: Callable[[Dice], Outcome], past: Sequence[int] = ()) -> Iterator[tuple[Outcome, float]]:
    """Every outcome of `run(dice)` behind the branches `past`, with its probability given them.

    Outcomes may repeat, probabilities add up to 1.
    """
    past = list(past)
    path: list[int] | None = past
    while path is not None and path[: len(past)] == past:
        dice = Branches(path, len(past))
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
        return int(x if exam.accepted else exam.extra), bool(exam.accepted == 0)

    law, refused = torch.zeros(len(p), dtype=torch.float64), 0.0
    for (token, refusal), weight in law_of(run).items():
        law[token] += weight
        refused += weight * refusal
    return law, refused


@dataclass(frozen=True)
class Position:
    """What one drafted position does, per token [V] float64: target f, probability of keeping a draft, mass of corrections, law o emitted."""

    f: Tensor
    keep: Tensor
    correction: Tensor
    emitted: Tensor


def position(p: Tensor, q: Tensor, rule: Rule) -> Position:
    """`emitted_law` in closed form for all drafts x ~ q at once; the enumeration must agree. Σ correction = P(reject)."""
    x, p_rows, q_rows = torch.arange(len(p)), p.expand(len(p), -1), q.expand(len(p), -1)  # row x: x was drafted
    keep, otherwise = odds(p_rows, q_rows, x, rule)
    correction = (q * (1 - keep)) @ otherwise
    return Position(rule.target(p_rows, q_rows, x, None), keep, correction, q * keep + correction)


def theorem_1_gap(p: Tensor, q: Tensor, rule: Rule) -> float:
    """P(reject) + TV(o, p) − TV(p, q): 0 on the line, positive off it, never negative."""
    law, refused = emitted_law(p, q, rule)
    return refused + float(total_variation(law[None], p.double()[None])) - float(total_variation(p[None], q[None]))


# ── one drafted block, what is equal merged ──────────────────────────────────────────────────────────────────────────

Tokens, Laws = tuple[int, ...], tuple[tuple[float, ...], ...]
Drafts = Mapping[tuple[Tokens, Laws], float]  # tokens and the laws q they are weighed with → probability


@dataclass(frozen=True)
class State:
    """What the rest of a draft depends on: which positions are fixed, and the tokens (None where they no longer matter)."""

    fixed: tuple[bool, ...] = (False,)
    tokens: tuple[int | None, ...] = ()


def draft_law(propose: Callable[[Dice], Iterator[Any]]) -> Drafts:
    """The exact law of a drafter's drafts, by dynamic programming over the canvases that its `propose` yields.

    One path of dice speaks for all that lead to the same state: the drafter is replayed along it, and only the draws of
    its next step are enumerated. Merged pasts may differ in the laws of tokens already fixed: those are carried along.
    """
    paths: dict[State, Sequence[int]] = {State(): ()}
    known: dict[Any, float] = {(State(), ()): 1.0}  # (state, ((position, law), …) of what is fixed) → probability
    for step in itertools.count(1):
        if all(all(state.fixed) for state in paths):
            break
        onward: dict[State, Sequence[int]] = {}
        moves: dict[State, dict[Any, float]] = defaultdict(lambda: defaultdict(float))
        for state, past in paths.items():
            for (to, new, path), weight in enumerate_outcomes(partial(_advance, propose, step, state), past):
                moves[state][to, new] += weight
                onward.setdefault(to, path)
        after: dict[Any, float] = defaultdict(float)
        for (state, laws), weight in known.items():
            for (to, new), given in moves[state].items():
                after[to, laws + new] += weight * given
        paths, known = onward, after
    drafts: dict[Any, float] = defaultdict(float)
    for (state, laws), weight in known.items():
        drafts[state.tokens, tuple(law for _, law in sorted(laws))] += weight
    return drafts


def _advance(propose: Callable[[Dice], Iterator[Any]], step: int, before: State, dice: Branches) -> tuple[State, Any, Sequence[int]]:
    """Run a drafter up to its canvas number `step`. → state, (position, law) of what was fixed since `before`, path.

    Once a position is fixed, open ones are drawn afresh before the next pass: their tokens are forgotten. A law is read
    off the finished draft, because nothing drawn after its token was fixed changes it: any completion will do.
    """
    proposing, canvas, draft = propose(dice), None, None
    try:
        for _ in range(step):
            canvas = next(proposing)
    except StopIteration as done:
        draft = done.value
    path, dice.ended = tuple(dice.path), True
    fixed = tuple(canvas.fixed.tolist()) if draft is None else (True,) * len(draft.tokens)
    new = [i for i, now in enumerate(fixed) if now and not (before.tokens and before.fixed[i])]
    if new and draft is None:
        draft = finished(proposing)
    tokens = (canvas if draft is None else draft).tokens.tolist()
    forgotten = any(fixed)
    state = State(fixed, tuple(t if now or not forgotten else None for t, now in zip(tokens, fixed, strict=True)))
    return state, tuple((i, tuple(draft.q[i].tolist())) for i in new), path


def finished(proposing: Iterator[Any]) -> Any:
    """The draft at the end of a drafter's `propose`."""
    while True:
        try:
            next(proposing)
        except StopIteration as done:
            return done.value


class Blocks:
    """All examinations that a law of drafts leads to, as rows: kept drafts, the law q behind them, the token x drawn from it.

    `verifier(kept)` is the law p behind kept drafts. The free token behind a block kept whole is a row with q = 0 and no x,
    as in `examine`.
    """

    def __init__(self, drafts: Drafts, verifier: Callable[[Tokens], Tensor]) -> None:
        rows: dict[tuple[Tokens, tuple[float, ...], int], int] = {}
        lines, longest = [], max(len(tokens) for tokens, _ in drafts)
        for tokens, laws in drafts:
            keys = [(tokens[:i], laws[i], x) for i, x in enumerate(tokens)]
            keys += [(tokens, (), 0)] * (longest + 1 - len(tokens))  # the free token; behind it nothing is reached
            lines.append([rows.setdefault(key, len(rows)) for key in keys])
        self.rows_of, self.weight = torch.tensor(lines), torch.tensor([*drafts.values()], dtype=torch.float64)
        number: dict[Tokens, int] = {}
        self.behind = torch.tensor([number.setdefault(kept, len(number)) for kept, _, _ in rows])
        self.kept, self.x = list(number), torch.tensor([x for _, _, x in rows])
        self.p = torch.stack([verifier(kept) for kept in number])[self.behind]
        self.q = torch.tensor([q or (0.0,) * self.p.shape[1] for _, q, _ in rows], dtype=torch.float64)
        self.free = torch.tensor([not q for _, q, _ in rows])

    def examined(self, rule: Rule) -> tuple[Tensor, Tensor, Tensor]:
        """Per row: the probability of being reached [n], of then keeping x [n], the law of the token drawn otherwise [n, V]."""
        keep, otherwise = odds(self.p, self.q, self.x, rule)
        keep = torch.where(self.free, 0.0, keep)
        before = torch.nn.functional.pad(keep[self.rows_of].cumprod(-1)[:, :-1], (1, 0), value=1.0)
        reached = torch.zeros_like(keep).index_add(0, self.rows_of.flatten(), (self.weight[:, None] * before).flatten())
        return reached, keep, otherwise

    def together(self, rows: Tensor) -> Tensor:
        """Sum of `rows` [n, V] behind the same kept drafts, in the order of `kept`."""
        return rows.new_zeros(len(self.kept), rows.shape[1]).index_add(0, self.behind, rows)

    def law(self, rule: Rule) -> dict[Tokens, float]:
        """The law of the tokens that one cycle emits: kept drafts and the token behind them."""
        reached, keep, otherwise = self.examined(rule)
        ends = self.together((reached * (1 - keep))[:, None] * otherwise).tolist()
        return {(*kept, y): w for kept, row in zip(self.kept, ends, strict=True) for y, w in enumerate(row) if w > 0}


def odds(p: Tensor, q: Tensor, x: Tensor, rule: Rule) -> tuple[Tensor, Tensor]:
    """Per row: the probability that `rule` keeps x [n], and the law of the token drawn otherwise [n, V]."""
    tiny = 1e-300  # stands for 0 where x cannot be drawn, and where nothing is drawn otherwise
    residual = rule.residual(p, q, x).double()
    keep = (rule.target(p, q, x, None) / at(q, x).clamp(min=tiny)).clamp(max=1.0)
    return keep, residual / residual.sum(-1, keepdim=True).clamp(min=tiny)


def emission(x: Tensor, keep: Tensor, otherwise: Tensor) -> Tensor:
    """The law of the token that an examination of x emits, per row [n, V]."""
    return ((1 - keep)[:, None] * otherwise).scatter_add(-1, x[:, None], keep[:, None])


# ── joint laws ───────────────────────────────────────────────────────────────────────────────────────────────────────


def continued(law: Mapping[Tokens, float], p: Callable[[Tokens], Tensor], n: int, ends: Collection[int] = ()) -> dict[Tokens, float]:
    """`law`, its outcomes shorter than n tokens continued by p(tokens) [V], but not behind a token in `ends`."""
    full: dict[Tokens, float] = defaultdict(float)

    def grow(tokens: Tokens, weight: float) -> None:
        if len(tokens) >= n or (tokens and tokens[-1] in ends):
            full[tokens] += weight
            return
        for token, odds_of_it in enumerate(p(tokens).tolist()):
            if odds_of_it > 0:
                grow((*tokens, token), weight * odds_of_it)

    for tokens, weight in law.items():
        grow(tokens, weight)
    return dict(full)


def distance(one: Mapping[Any, float], other: Mapping[Any, float]) -> float:
    """TV between two laws given as dictionaries."""
    return 0.5 * math.fsum(abs(one.get(k, 0.0) - other.get(k, 0.0)) for k in {*one, *other})
