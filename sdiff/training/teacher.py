"""The verifier as a teacher: batched forward passes and a continuous-batching sampler. Refuses to know drafters.

The decoder's `Verifier` serves one sequence; training wants many at once, on the same layers and weights.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor

from sdiff.layers import rms_norm
from sdiff.many import Lanes
from sdiff.sampling import Dice, NonFiniteLogits, Shape, finite
from sdiff.verifier import Llama

Tag = TypeVar("Tag")


def read(model: Llama, ids: Tensor, sources: Iterable[int] = (), prefix: int = 0) -> tuple[list[tuple[Tensor, Tensor]], Tensor]:
    """Read ids [B, T] (right-padded; padding only follows). → keys and values of `sources`, last hidden [B, T, width].

    The first `prefix` tokens are the same in all rows and are read once for all. Gradients flow if the weights want them.
    """
    d, (batch, time) = model.d, ids.shape
    shared, known = read(model, ids[:1, :prefix], range(d.layers)) if prefix else ([], None)
    table = d.rotary(time, ids.device).to(model.embedding.dtype)[:, prefix:, None]
    mask = torch.ones(time - prefix, time, dtype=torch.bool, device=ids.device).tril(prefix) if prefix else None
    wanted, past = set(sources), []
    x = model.embedding[ids[:, prefix:]]
    for i, layer in enumerate(model.layers):

        def store_and_attend(q: Tensor, k: Tensor, v: Tensor, i: int = i) -> Tensor:
            q, k, v = (t.transpose(1, 2) for t in (q, k, v))
            if prefix:
                k, v = (torch.cat([old.expand(batch, -1, -1, -1), new], 2) for old, new in zip(shared[i], (k, v), strict=True))
            if i in wanted:
                past.append((k, v))
            attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None, enable_gqa=True)
            return attended.transpose(1, 2).flatten(2)

        x = layer(x, table, store_and_attend)
    hidden = rms_norm(x, model.norm, d.epsilon)
    return past, hidden if known is None else torch.cat([known.expand(batch, -1, -1), hidden], 1)


def common_prefix(texts: Sequence[Sequence[int]]) -> int:
    """How many tokens all texts begin with; one of each is left over."""
    shortest = min(map(len, texts))
    same = sum(1 for _ in itertools.takewhile(lambda tokens: len(set(tokens)) == 1, zip(*texts, strict=False)))
    return min(same, shortest - 1)


class ManyDice(Dice):
    """One generator per answer, so that an answer depends on its own seed and not on its neighbours in the batch."""

    def __init__(self, generators: Sequence[torch.Generator]) -> None:
        self.generators = generators

    def uniform(self, n: int) -> Tensor:
        return torch.cat([torch.rand(1, generator=g, dtype=torch.float64) for g in self.generators[:n]])


@dataclass
class _Slot(Generic[Tag]):
    """One answer under way: `index` in the stream, prompt and answer ids, its own random numbers."""

    tag: Tag
    prompt: list[int]
    generator: torch.Generator
    answer: list[int] = field(default_factory=list)


class Sampler:
    """Continuous batching: `slots` answers grow together, a finished one makes room for the next prompt at once.

    `prefix`: tokens that all prompts begin with; they are read once and their keys and values stay in every slot.
    """

    def __init__(self, model: Llama, slots: int, context: int, shape: Shape, eos: int, prefix: Sequence[int] = ()) -> None:
        self.lanes, self.slots, self.shape, self.eos, self.prefix = Lanes(model, slots, context), slots, shape, eos, list(prefix)
        if prefix:
            self.lanes.read([prefix], [0], [0])
            self.lanes.cache[:, :, 1:, :, : len(prefix)] = self.lanes.cache[:, :, :1, :, : len(prefix)]

    @torch.inference_mode()
    def run(self, prompts: Iterator[tuple[Tag, list[int], int]], most: int) -> Iterator[tuple[Tag, list[int], list[int]]]:
        """Answer every (tag, prompt, seed) with at most `most` tokens; yields (tag, prompt, answer) as they finish."""
        slots: list[_Slot[Tag] | None] = [None] * self.slots
        while True:
            for b, slot in enumerate(slots):
                if slot is None and (following := next(prompts, None)) is not None:
                    tag, prompt, seed = following
                    slots[b] = _Slot(tag, prompt, torch.Generator().manual_seed(seed))
                    known = len(self.prefix)
                    if prompt[:known] != self.prefix or len(prompt) <= known:
                        raise ValueError("a prompt does not begin with the common prefix")
                    if known < len(prompt) - 1:
                        self.lanes.read([prompt[known:-1]], [b], [known])
            busy = [(b, slot) for b, slot in enumerate(slots) if slot is not None]
            if not busy:
                return
            last = [(slot.answer or slot.prompt)[-1:] for _, slot in busy]
            lengths = [len(slot.prompt) + len(slot.answer) - 1 for _, slot in busy]
            hidden = self.lanes.read(last, [b for b, _ in busy], lengths)[:, -1]
            law = self.shape.law(F.linear(hidden, self.lanes.model.unembedding))
            if not bool(finite(law)):
                raise NonFiniteLogits
            for (b, slot), token in zip(busy, ManyDice([slot.generator for _, slot in busy]).draw(law).tolist(), strict=True):
                slot.answer.append(token)
                if token == self.eos or len(slot.answer) >= most or len(slot.prompt) + len(slot.answer) >= self.lanes.context:
                    yield slot.tag, slot.prompt, slot.answer
                    slots[b] = None
