"""Table models and, on them, Proposition 2 enumerated with the production drafters and rules. Refuses to know real models and the page.

A table model's logits are pseudo-random functions of everything a real model sees. A cycle's exact law, the verifier continuing what
it emits to γ+1 tokens, is compared with the verifier's own joint law of γ+1 tokens.
"""

from __future__ import annotations

import math
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor

from sdiff.acceptance import Lossless, make_rule
from sdiff.exactness import Row, Setting, refusal
from sdiff.pairs import make_drafter
from sdiff.request import RequestError, is_lossless
from sdiff.sampling import Shape
from sdiff.theory import Blocks, Tokens, continued, distance, draft_law


def table_logits(rows: int, columns: int, *key: Any, spread: float = 1.5) -> Tensor:
    """Normal logits [rows, columns] in float64 that depend on `key` only."""
    generator = torch.Generator().manual_seed(zlib.crc32(repr(key).encode()))
    return torch.randn(rows, columns, generator=generator, dtype=torch.float64) * spread


class TableDenoiser:
    """A denoiser over `size` tokens, all of the verifier's. `passes` counts what it was asked."""

    scale = 1.0

    def __init__(self, size: int, seed: int) -> None:
        self.ids, self.vocabulary, self.seed, self.passes = torch.arange(size), size, seed, 0
        self.known: dict[Any, Tensor] = {}

    def start(self, context: Sequence[int]) -> None:
        self.context = tuple(context)

    def predict(self, canvas: Tensor, level: Tensor) -> Tensor:
        self.passes += 1
        key = (self.context, tuple(canvas.tolist()), tuple(round(t, 6) for t in level.tolist()))
        if key not in self.known:
            self.known[key] = table_logits(len(canvas), self.vocabulary, "denoiser", self.seed, *key)
        return self.known[key]


def table_verifier(size: int, seed: int) -> Callable[[Tokens], Tensor]:
    """p(kept) [V]: the law behind the prompt (0,) and kept tokens."""

    @cache
    def p(kept: Tokens) -> Tensor:
        return Shape().law(table_logits(1, size, "verifier", seed, (0, *kept)))[0]

    return p


_computing = threading.Lock()  # one enumeration at a time, however many visitors ask
_tables: dict[Setting, tuple[Row, ...]] = {}
MOST_TABLES = 256


def enumerated(setting: Setting) -> tuple[Row, ...]:
    """The table, at once where it has been computed before. Raises RequestError, with a sentence, instead of starting what would take too long."""
    if (known := _tables.get(setting)) is not None:
        return known
    if reason := refusal(setting):
        raise RequestError(reason)
    with _computing:
        if setting not in _tables:  # another visitor may have asked the same meanwhile
            if len(_tables) >= MOST_TABLES:
                del _tables[next(iter(_tables))]
            _tables[setting] = tuple(_rows(setting))
        return _tables[setting]


def _rows(s: Setting) -> Iterator[Row]:
    p = table_verifier(s.vocabulary, s.seed)
    own = continued({(): 1.0}, p, s.gamma + 1)
    for noise, proposal in s.rows:
        start = time.perf_counter()
        drafter = make_drafter(TableDenoiser(s.vocabulary, s.seed + 1), noise, proposal, Shape())
        blocks = Blocks(draft_law(lambda dice: drafter.propose([0], s.gamma, s.steps, dice)), p)  # noqa: B023 (called at once)
        values = []
        for rule in (Lossless(), make_rule(s.rule, s.leniency)):
            law = blocks.law(rule)
            kept = math.fsum(weight * (len(tokens) - 1) for tokens, weight in law.items())
            values += [distance(continued(law, p, s.gamma + 1), own), kept]
        claimed = is_lossless("lossless", 0.0, proposal, s.steps, s.gamma)
        yield Row(noise, proposal, claimed, *values, ms=(time.perf_counter() - start) * 1e3)
