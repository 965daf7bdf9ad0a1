"""Table models: verifiers and denoisers whose exact laws are known, small enough to enumerate every outcome of `decode`.

Logits are pseudo-random functions of everything a real model sees, so a wrong prefix, canvas or noise level shows up.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from sdiff import theory
from sdiff.acceptance import Lossless, Rule
from sdiff.decode import Plan, decode
from sdiff.drafters import Drafter
from sdiff.drafters.masked import MaskedDrafter
from sdiff.drafters.uniform import UniformDrafter
from sdiff.policy import Worthwhile
from sdiff.sampling import Dice, Shape
from sdiff.theory import law_of
from sdiff.toys import table_logits
from sdiff.trace import Emit, End, Event

Law = dict[tuple[int, ...], float]
distance = theory.distance


class TableVerifier:
    """`prefill / score / rollback / length / room` over tokens it has really read. `logits(prefix)` [V] can be replaced.

    `fail_at`: the pass (counted from 1) that returns NaN.
    """

    device = torch.device("cpu")

    def __init__(
        self, size: int, seed: int = 1, context: int = 1000, logits: Callable[[tuple[int, ...]], Tensor] | None = None, fail_at: int = 0
    ) -> None:
        self.size, self.context, self.fail_at, self.tokens, self.passes = size, context, fail_at, [], 0
        self.rows: dict[tuple[int, ...], Tensor] = {}
        self.logits = logits or (lambda prefix: table_logits(1, size, "verifier", seed, prefix)[0])

    def row(self, prefix: Sequence[int]) -> Tensor:
        key = tuple(prefix)
        if key not in self.rows:
            self.rows[key] = self.logits(key)
        return self.rows[key]

    @property
    def length(self) -> int:
        return len(self.tokens)

    @property
    def room(self) -> int:
        return self.context - self.length

    def prefill(self, tokens: Sequence[int], start: int = 0) -> None:
        assert 0 <= start <= self.length
        self.tokens[start:] = tokens
        assert self.room >= 0

    def score(self, tokens: Tensor) -> Tensor:
        assert 1 <= len(tokens) <= self.room
        assert all(0 <= t < self.size for t in tokens.tolist())
        rows = []
        for token in tokens.tolist():
            self.tokens.append(token)
            rows.append(self.row(self.tokens))
        self.passes += 1
        logits = torch.stack(rows)
        if self.passes == self.fail_at:
            logits[-1, 0] = torch.nan
        return logits

    def rollback(self, kept: int) -> None:
        assert 0 <= kept <= self.length
        del self.tokens[kept:]


class TableDenoiser:
    """Denoiser over the draft vocabulary `ids` (default: all of the verifier's). With `verifier`, checks what it has read.

    `logits(context, canvas, level)` [γ, K] can be replaced; `fail_at`: the pass (counted from 1) that returns NaN.
    """

    scale = 1.0

    def __init__(
        self, size: int, seed: int = 2, ids: Sequence[int] | None = None, verifier: TableVerifier | None = None,
        logits: Callable[[tuple[int, ...], tuple[int, ...], tuple[float, ...]], Tensor] | None = None, fail_at: int = 0,
    ) -> None:  # fmt: skip
        self.ids, self.vocabulary, self.verifier = torch.tensor(list(range(size) if ids is None else ids)), size, verifier
        self.passes, self.fail_at, self.known = 0, fail_at, {}
        self.logits = logits or (lambda c, canvas, level: table_logits(len(canvas), len(self.ids), "denoiser", seed, c, canvas, level))

    def start(self, context: Sequence[int]) -> None:
        self.context = tuple(context)
        if self.verifier is not None:
            assert list(self.context[:-1]) == self.verifier.tokens, "the verifier must have read the context up to the anchor"

    def predict(self, canvas: Tensor, level: Tensor) -> Tensor:
        key = (self.context, tuple(canvas.tolist()), tuple(round(t, 6) for t in level.tolist()))
        assert all(-1 <= t < len(self.ids) for t in key[1])
        self.passes += 1
        if key not in self.known:
            self.known[key] = self.logits(*key)
        return self.known[key] if self.passes != self.fail_at else torch.full_like(self.known[key], torch.nan)


EXACT: dict[str, Callable[[TableDenoiser, Shape], Drafter]] = {
    "masked monotone": lambda d, s: MaskedDrafter(d, s, "monotone"),
    "masked paced": lambda d, s: MaskedDrafter(d, s, "monotone", pace=Worthwhile(0.05, 0.5)),
    "masked final_step": lambda d, s: MaskedDrafter(d, s, "final_step"),
    "masked one_hot": lambda d, s: MaskedDrafter(d, s, "one_hot"),
    "uniform monotone": lambda d, s: UniformDrafter(d, s, "monotone"),
    "uniform final_step": lambda d, s: UniformDrafter(d, s, "final_step"),
    "uniform final_step posterior": lambda d, s: UniformDrafter(d, s, "final_step", clean_last=False),
    "uniform one_hot": lambda d, s: UniformDrafter(d, s, "one_hot"),
    "uniform one_hot posterior": lambda d, s: UniformDrafter(d, s, "one_hot", clean_last=False),
}
ANY_ORDER: dict[str, Callable[[TableDenoiser, Shape], Drafter]] = {
    "masked any_order": lambda d, s: MaskedDrafter(d, s, "any_order"),
    "uniform any_order": lambda d, s: UniformDrafter(d, s, "any_order"),
}


def output_law(
    verifier: TableVerifier, drafter: Drafter, plan: Plan, rule: Rule | None = None, shape: Shape | None = None,
    prompt: Sequence[int] = (0,), emits: int | None = None,
) -> Law:  # fmt: skip
    """Exact law of the tokens that `decode` emits: all of them, or those of its first `emits` cycles."""

    def run(dice: Dice) -> tuple[int, ...]:
        events = decode(verifier, drafter, rule or Lossless(), shape or Shape(), prompt, plan, dice)
        cycles = islice((e for e in events if isinstance(e, Emit)), emits)
        tokens = tuple(t for cycle in cycles for t in cycle.tokens)
        events.close()
        return tokens

    return law_of(run)


def continued(law: Mapping[tuple[int, ...], float], verifier: TableVerifier, n: int, shape: Shape | None = None,
              prompt: Sequence[int] = (0,), eos: Collection[int] = ()) -> Law:  # fmt: skip
    """`law`, its outcomes shorter than n tokens continued by the verifier itself (not behind an end of sequence)."""
    return theory.continued(law, lambda kept: (shape or Shape()).law(verifier.row((*prompt, *kept))[None])[0], n, eos)


def verifier_law(
    verifier: TableVerifier, n: int, shape: Shape | None = None, prompt: Sequence[int] = (0,), eos: Collection[int] = ()
) -> Law:
    """The verifier's own joint law of the next n tokens."""
    return continued({(): 1.0}, verifier, n, shape, prompt, eos)


def timeless(events: Sequence[Event]) -> list[dict[str, Any]]:
    """Events as dictionaries without what a clock says."""
    bare = []
    for event in events:
        body = {"kind": event.kind, **{k: v for k, v in vars(event).items() if k not in ("at", "ms", "draft_ms")}}
        if isinstance(event, End):
            body["stats"] = {k: v for k, v in event.stats.items() if k not in ("ms", "tokens_per_second")}
        bare.append(body)
    return bare


def random_(module: torch.nn.Module, seed: int) -> Any:
    """A tiny network with random weights whose logits are far from zero."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in module.parameters():
        noise = torch.randn(parameter.shape, generator=generator)
        parameter.data = noise * 0.3 if parameter.dim() > 1 else 1 + noise * 0.2
    return module.requires_grad_(False).eval()
