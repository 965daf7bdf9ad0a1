"""An autoregressive Llama behind prefill, score and rollback; owns its key/value cache. Refuses to know drafts and rules.

`length` counts the tokens whose keys and values are valid. Scoring writes behind it, rollback moves it: nothing
is ever copied or cleared, stale rows are simply never attended to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sdiff.layers import LEAST, Dimensions, Layer, PackedLinear, attend, grouped, pack, packable, rms_norm

PIECE = 512  # most tokens of one pass


class ContextFull(ValueError):
    """More tokens than the verifier's context holds; the message says how many."""


class Llama(nn.Module):
    """Weights of a Llama (or Qwen2, Qwen3: see `Dimensions`), filled from transformers' tensor names."""

    def __init__(self, d: Dimensions, device: torch.device | str | None = None) -> None:
        super().__init__()
        self.d = d
        self.embedding = nn.Parameter(torch.empty(d.vocabulary, d.width, device=device))
        self.layers = nn.ModuleList(Layer(d, device) for _ in range(d.layers))
        self.norm = nn.Parameter(torch.ones(d.width, device=device))
        self.untied = None if d.tied else nn.Parameter(torch.empty(d.vocabulary, d.width, device=device))

    @property
    def unembedding(self) -> Tensor:
        """Rows that last hidden states are multiplied with, [V, width]."""
        return self.embedding if self.untied is None else self.untied

    @classmethod
    def from_tensors(cls, d: Dimensions, tensors: dict[str, Tensor], dtype: torch.dtype, device: torch.device | str) -> Llama:
        """Raises KeyError for a tensor that is missing, RuntimeError for one of another shape."""
        model = cls(d, "meta").to(dtype).to_empty(device=device)  # no memory for a copy in float32, no random numbers
        with torch.no_grad():
            model.embedding.copy_(tensors["model.embed_tokens.weight"])
            model.norm.copy_(tensors["model.norm.weight"])
            if model.untied is not None:
                model.untied.copy_(tensors["lm_head.weight"])
        for i, layer in enumerate(model.layers):
            layer.load_llama(tensors, f"model.layers.{i}.")
        return model.requires_grad_(False).eval()


def through(
    layers: nn.ModuleList, norm: Tensor, x: Tensor, table: Tensor, at: Tensor, mask: Tensor, keys: Sequence[Tensor], values: Sequence[Tensor],
) -> Tensor:  # fmt: skip
    """One pass over tokens that stand behind others: a function of tensors only, so that it can be compiled.

    x [1, n, width] embedded; table as in `rotate`; at [n] their positions, where their keys and values are written; mask from `grouped`,
    [G·n, S]; keys, values per layer [1, kv_heads, more than S, D]. → hidden states after the final norm
    """
    seen = mask.shape[-1]
    for layer, stored_keys, stored_values in zip(layers, keys, values, strict=True):

        def store_and_attend(q: Tensor, k: Tensor, v: Tensor, keys: Tensor = stored_keys, values: Tensor = stored_values) -> Tensor:
            keys.index_copy_(2, at, k.transpose(1, 2))
            values.index_copy_(2, at, v.transpose(1, 2))
            return attend(q, keys[:, :, :seen], values[:, :, :seen], mask)

        x = layer(x, table, store_and_attend)
    return rms_norm(x, norm, layers[0].d.epsilon)


class Verifier:
    """One sequence at a time. `context`: most tokens the cache holds. `compile`: `compiled.compiled`, for passes without an interpreter."""

    def __init__(self, model: Llama, context: int = 2048, compile: Callable[..., Callable[..., Tensor]] | None = None) -> None:
        d, weight = model.d, model.embedding
        self.d, self.context, self.length = d, context, 0
        self.embedding, self.unembedding, self.norm = weight.detach(), model.unembedding.detach(), model.norm.detach()
        self.head = PackedLinear(self.unembedding) if packable(weight) else (lambda x: F.linear(x, self.unembedding))
        rows = context + 2  # a compiled pass reads two tokens at least, and may not read the whole cache
        self.cache = torch.zeros(d.layers, 2, 1, d.kv_heads, rows, d.head_width, dtype=weight.dtype, device=weight.device)
        self.keys, self.values = ([layer[part] for layer in self.cache] for part in (0, 1))
        self.table = d.rotary(rows, weight.device).to(weight.dtype)[:, :, None]  # [2, T, 1, D]
        self.recent = (0, self.embedding.new_zeros(0, d.width))  # first position and hidden states [n, width] of the last pass
        self.causal = torch.ones(rows, rows, dtype=torch.bool, device=weight.device).tril()
        self.positions = torch.arange(rows, device=weight.device)
        self.least = 1
        if compile:
            self.least = LEAST
            self.run = compile(through, model.layers, self.norm, self._inputs([0] * (LEAST + 7), 1), _sizes(d, context), "verifier")
        else:
            self.run = partial(through, pack(model.layers), self.norm)

    @property
    def device(self) -> torch.device:
        return self.embedding.device

    @property
    def dtype(self) -> torch.dtype:
        return self.embedding.dtype

    @property
    def vocabulary(self) -> int:
        return self.d.vocabulary

    @property
    def room(self) -> int:
        """Tokens that still fit behind the valid ones."""
        return self.context - self.length

    def rotary_rows(self, start: int, end: int) -> Tensor:
        """Rotary table of positions start … end−1, [2, n, 1, head_width]."""
        return self.table[:, start:end]

    def last_hidden(self) -> Tensor:
        """What was thought at the last valid token: its hidden state after the final norm, [width].

        Zeros where the last pass did not read that token: before any, and after a rollback beyond that pass.
        """
        start, hidden = self.recent
        row = self.length - 1 - start
        return hidden[row] if 0 <= row < len(hidden) else self.embedding.new_zeros(self.d.width)

    def prefill(self, tokens: Sequence[int], start: int = 0) -> None:
        """Forget everything behind the first `start` tokens and read `tokens` (possibly none). Raises ContextFull."""
        self.rollback(start)
        if start + len(tokens) > self.context:
            raise ContextFull(f"The prompt has {start + len(tokens):,} tokens; this verifier reads at most {self.context:,}. Shorten it.")
        for start in range(0, len(tokens), PIECE):  # bounds the attention mask
            self._forward(tokens[start : start + PIECE])

    @torch.inference_mode()
    def score(self, tokens: Sequence[int] | Tensor) -> Tensor:
        """Read `tokens` [n] behind the valid ones; row i holds the logits of the token after tokens[i]. → [n, V]

        Raises ContextFull.
        """
        if len(tokens) > self.room:
            raise ContextFull(f"{len(tokens)} more tokens do not fit: the context holds {self.context:,}.")
        return self.head(self._forward(tokens))[0]

    def rollback(self, kept: int) -> None:
        """Declare only the first `kept` tokens valid."""
        if not 0 <= kept <= self.length:
            raise ValueError(f"cannot keep {kept} of {self.length} tokens")
        self.length = kept

    @torch.inference_mode()
    def _forward(self, tokens: Sequence[int] | Tensor) -> Tensor:
        """Last hidden states after the final norm, [1, n, width]; advances `length`."""
        start, n = self.length, len(tokens)
        hidden = self.run(*self._inputs(tokens, start))[:, :n]
        self.length, self.recent = start + n, (start, hidden[0])
        return hidden

    def _inputs(self, tokens: Sequence[int] | Tensor, start: int) -> tuple[Any, ...]:
        """What `through` takes for `tokens` at `start`; too few are padded by rows that mean nothing and that nothing attends to."""
        ids = torch.as_tensor(tokens, dtype=torch.int64, device=self.device)
        if len(ids) < self.least:
            ids = F.pad(ids, (0, self.least - len(ids)))
        end = start + len(ids)
        mask = grouped(self.causal[start:end, :end], self.d.heads, self.d.kv_heads, self.dtype)
        return self.embedding[ids][None], self.rotary_rows(start, end), self.positions[start:end], mask, self.keys, self.values


def _sizes(d: Dimensions, context: int) -> tuple[Any, ...]:
    """Which sizes of the inputs of `through` vary."""
    from torch.export import Dim  # not for a start without compiling

    n, seen = Dim("n", min=LEAST, max=min(PIECE, context)), Dim("seen", min=LEAST, max=context + 1)
    cache = [None] * d.layers
    return {1: n}, {1: n}, {0: n}, {0: d.heads // d.kv_heads * n, 1: seen}, cache, cache
