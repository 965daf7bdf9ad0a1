"""The verifier as a teacher: batched forward passes and a continuous-batching sampler. Refuses to know drafters.

The decoder's `Verifier` serves one sequence; training wants many at once, on the same layers and weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor

from sdiff.layers import attend, rms_norm, rotary_table
from sdiff.sampling import Dice, Shape
from sdiff.verifier import Llama


@torch.inference_mode()
def read(model: Llama, ids: Tensor, sources: Iterable[int]) -> tuple[list[tuple[Tensor, Tensor]], Tensor]:
    """Read ids [B, T] (right-padded; padding only follows). → keys and values of `sources`, last hidden [B, T, width]."""
    d, time = model.d, ids.shape[1]
    table = rotary_table(time, d.head_width, d.rope_base, ids.device).to(model.embedding.dtype)[:, :, None]
    causal = torch.ones(time, time, dtype=torch.bool, device=ids.device).tril()
    wanted, past = set(sources), []
    x = model.embedding[ids]
    for i, layer in enumerate(model.layers):

        def store_and_attend(q: Tensor, k: Tensor, v: Tensor, i: int = i) -> Tensor:
            k, v = k.transpose(1, 2), v.transpose(1, 2)
            if i in wanted:
                past.append((k, v))
            return attend(q, k, v, causal)

        x = layer(x, table, store_and_attend)
    return past, rms_norm(x, model.norm, d.epsilon)


class Sampler:
    """Continuous batching: `slots` answers grow together, a finished one makes room for the next prompt at once."""

    def __init__(self, model: Llama, slots: int, context: int, shape: Shape, eos: int, seed: int) -> None:
        d, weight = model.d, model.embedding
        self.model, self.context, self.shape, self.eos = model, context, shape, eos
        self.cache = torch.zeros(d.layers, 2, slots, d.kv_heads, context, d.head_width, dtype=weight.dtype, device=weight.device)
        self.table = rotary_table(context, d.head_width, d.rope_base, weight.device).to(weight.dtype)
        self.dice = Dice(seed)
        self.length = torch.zeros(slots, dtype=torch.int64, device=weight.device)  # tokens read per slot

    @torch.inference_mode()
    def run(self, prompts: Iterator[list[int]], most: int) -> Iterator[tuple[list[int], list[int]]]:
        """Answer every prompt with at most `most` tokens; yields (prompt, answer) as they finish."""
        slots: list[tuple[list[int], list[int]] | None] = [None] * len(self.length)
        while True:
            for b, slot in enumerate(slots):
                if slot is None and (prompt := next(prompts, None)) is not None:
                    self._forward(torch.tensor([prompt[:-1]], device=self.length.device), torch.tensor([b], device=self.length.device))
                    slots[b] = (prompt, [])
            busy = [b for b, slot in enumerate(slots) if slot is not None]
            if not busy:
                return
            rows = torch.tensor(busy, device=self.length.device)
            last = torch.tensor([[(s[1] or s[0])[-1]] for s in (slots[b] for b in busy)], device=self.length.device)
            logits = torch.nn.functional.linear(self._forward(last, rows)[:, -1], self.model.embedding)
            for b, token in zip(busy, self.dice.draw(self.shape.law(logits)).tolist(), strict=True):
                prompt, answer = slots[b]
                answer.append(token)
                if token == self.eos or len(answer) >= most or len(prompt) + len(answer) >= self.context:
                    yield prompt, answer
                    slots[b], self.length[b] = None, 0

    def _forward(self, ids: Tensor, rows: Tensor) -> Tensor:
        """Read ids [n, T] behind what slots `rows` [n] hold. → last hidden [n, T, width]"""
        n, time = ids.shape
        at = self.length[rows][:, None] + torch.arange(time, device=ids.device)  # [n, T]
        end = int(at.max()) + 1 if time else 0
        mask = torch.arange(end, device=ids.device) <= at[..., None]  # [n, T, end]
        table, x = self.table[:, at][:, :, :, None], self.model.embedding[ids]
        whole = n == self.cache.shape[2]
        for layer, (keys, values) in zip(self.model.layers, self.cache, strict=True):

            def store_and_attend(q: Tensor, k: Tensor, v: Tensor, keys: Tensor = keys, values: Tensor = values) -> Tensor:
                keys[rows[:, None], :, at] = k
                values[rows[:, None], :, at] = v
                seen = (keys[:, :, :end], values[:, :, :end]) if whole else (keys[rows, :, :end], values[rows, :, :end])
                return attend(q, *seen, mask)

            x = layer(x, table, store_and_attend)
        self.length[rows] += time
        return rms_norm(x, self.model.norm, self.model.d.epsilon)
