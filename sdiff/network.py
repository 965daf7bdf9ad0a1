"""The block-diffusion transformer of the bundled drafters. Knows layers and shapes; refuses to know noise schedules and sampling.

A few of the verifier's own layers, retrained to denoise a whole block at once. For the prefix they attend to the
verifier's cached keys and values of the same layers, so the drafter needs no context pass of its own; inside the
block attention is bidirectional. As in the verifier, row i predicts the token at position i+1: row 0 is the anchor,
which the verifier has drawn but not read; what it thought there, its last hidden state, is added (as in EAGLE, 2401.15077).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sdiff.layers import LEAST, Dimensions, Layer, PackedLinear, attend, grouped, pack, packable, rms_norm
from sdiff.trace import MASKED

Past = Sequence[tuple[Tensor, Tensor]]  # per drafter layer: keys, values [B, kv_heads, S, head_width]


def through(
    layers: nn.ModuleList,
    norm: Tensor,
    x: Tensor,
    table: Tensor,
    keys: Sequence[Tensor],
    values: Sequence[Tensor],
    mask: Tensor | None = None,
) -> Tensor:
    """The layers and the norm behind them, a function of tensors only, so that it can be compiled. keys, values [B, kv_heads, S, D] of the
    prefix per layer; the rest as in `BlockDenoiser.forward`."""
    for layer, past_keys, past_values in zip(layers, keys, values, strict=True):

        def store_and_attend(q: Tensor, k: Tensor, v: Tensor, keys: Tensor = past_keys, values: Tensor = past_values) -> Tensor:
            kind = keys.dtype  # training keeps float32 weights beside a bfloat16 verifier
            own_k, own_v = k.transpose(1, 2).to(kind), v.transpose(1, 2).to(kind)
            return attend(q.to(kind), torch.cat([keys, own_k], 2), torch.cat([values, own_v], 2), mask).to(q.dtype)

        x = layer(x, table, store_and_attend)
    return rms_norm(x, norm, layers[0].d.epsilon)


class BlockDenoiser(nn.Module):
    """Denoises blocks of up to `block` drafts behind an anchor.

    `sources`: verifier layers that its layers started from and whose cache they read. `ids` [K]: verifier ids of
    the draft vocabulary. `embedding`, `unembedding` [V, width]: the verifier's, frozen; their rows `ids` are input and output here.
    """

    def __init__(
        self, d: Dimensions, sources: Sequence[int], ids: Tensor, embedding: Tensor, block: int, unembedding: Tensor | None = None
    ) -> None:
        super().__init__()
        self.d, self.sources, self.block = d, tuple(sources), block
        self.layers = nn.ModuleList(Layer(d) for _ in sources)
        self.norm = nn.Parameter(torch.ones(d.width))
        self.thought = nn.Linear(d.width, d.width, bias=False)
        nn.init.zeros_(self.thought.weight)
        self.masked = nn.Parameter(torch.zeros(d.width))  # what a position looks like of which nothing is known
        self.position = nn.Parameter(torch.zeros(block, d.width))
        self.register_buffer("ids", ids, persistent=False)
        self.register_buffer("embedding", embedding, persistent=False)
        self.register_buffer("rows", embedding[ids].contiguous(), persistent=False)  # [K, width]
        self.register_buffer("untied", None if d.tied else unembedding[ids].contiguous(), persistent=False)
        self.head = lambda x: F.linear(x, self.output_rows)
        self.fast: Callable[..., Tensor] | None = None  # the compiled `through`

    @property
    def output_rows(self) -> Tensor:
        """Rows of the verifier's output head for the draft vocabulary, [K, width]."""
        return self.rows if self.untied is None else self.untied

    def pack_for_inference(self, compile: Callable[..., Callable[..., Tensor]] | None = None, verifier: Any = None) -> None:
        """Store all matrices in the CPU kernel's own order; the network can no longer be trained. `compile`: `compiled.compiled`, for
        the usual pass behind `verifier`, whose cache it reads."""
        if compile:
            from torch.export import Dim  # not for a start without compiling

            shape = {"dtype": self.rows.dtype, "device": self.rows.device}
            example = torch.zeros(1, self.block, self.d.width, **shape), verifier.rotary_rows(0, self.block)
            past = [[part[i][:, :, : 2 * LEAST] for i in self.sources] for part in (verifier.keys, verifier.values)]
            n, seen = Dim("n", min=LEAST, max=self.block), Dim("seen", min=LEAST, max=verifier.context)
            sizes = {1: n}, {1: n}, *([{2: seen}] * len(self.sources) for _ in range(2))
            self.fast = compile(through, self.layers, self.norm, (*example, *past), sizes, "drafter")
        pack(self)
        if packable(self.rows):
            self.head = PackedLinear(self.output_rows)

    def forward(
        self, anchor: Tensor, thought: Tensor, canvas: Tensor, level: Tensor, past: Past, table: Tensor, mask: Tensor | None
    ) -> Tensor:
        """Logits of the clean tokens over the draft vocabulary, [B, A, n, K].

        anchor [B, A] verifier ids; thought [B, A, width] the verifier's hidden states that the anchors were drawn from;
        canvas [B, A, n] draft ids or MASKED; level [B, A, n] noise level in [0, 1] (0: settled); table [2, (B,) A·n, 1, D]
        rotary rows of anchor and following positions; mask bool [B, A·n, S + A·n] or None (everything visible). The last canvas
        column is never an input: no later token depends on it.

        A position at level t enters as (1−t)·its token + t·masked: at t = 1 its token says nothing, for either noise.
        """
        batch, blocks, n = canvas.shape
        tokens = canvas[..., :-1]
        amount = torch.where(tokens == MASKED, 1.0, level[..., :-1])[..., None].to(self.masked.dtype)
        noisy = torch.lerp(self.rows[tokens.clamp(min=0)], self.masked, amount)
        first = self.embedding[anchor] + self.thought(thought.to(self.masked.dtype))
        x = torch.cat([first[:, :, None], noisy], 2) + self.position[:n]
        x = x.reshape(batch, blocks * n, self.d.width)
        mask = grouped(mask, self.d.heads, self.d.kv_heads, past[0][0].dtype)
        keys, values = zip(*past, strict=True)
        if self.fast and mask is None and batch * blocks == 1 and min(n, keys[0].shape[2]) >= LEAST:
            hidden = self.fast(x, table, list(keys), list(values))
        else:
            hidden = through(self.layers, self.norm, x, table, keys, values, mask)
        return self.head(hidden).view(batch, blocks, n, -1)
