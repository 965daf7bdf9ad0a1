"""The bundled denoiser at work: one `BlockDenoiser` reading the verifier's cache. Knows both; refuses to know noise and rules."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from sdiff.network import BlockDenoiser
from sdiff.sampling import upload
from sdiff.verifier import Verifier


class CachedDenoiser:
    """Denoises behind the prefix that `verifier` has already read: no context pass of its own.

    `scale` = temperature it was trained at: its logits already describe the verifier's law at that temperature.
    """

    def __init__(self, network: BlockDenoiser, verifier: Verifier, scale: float) -> None:
        self.network, self.verifier, self.scale = network, verifier, scale
        self.ids, self.vocabulary = network.ids, network.d.vocabulary

    def start(self, context: Sequence[int]) -> None:
        """`context` must be what the verifier has read plus the anchor. Raises ValueError otherwise."""
        length = self.verifier.length
        if len(context) != length + 1:
            raise ValueError(f"the verifier has read {length} tokens, the context has {len(context)} with its anchor")
        self.anchor = upload([[context[-1]]], self.ids.device)
        self.thought = self.verifier.last_hidden()[None, None]
        cache = self.verifier.cache
        self.past = [(cache[i, 0, :, :, :length], cache[i, 1, :, :, :length]) for i in self.network.sources]

    @torch.inference_mode()
    def predict(self, canvas: Tensor, level: Tensor) -> Tensor:
        """canvas [γ], level [γ] → logits [γ, K] over the draft vocabulary."""
        start = self.verifier.length
        table = self.verifier.rotary_rows(start, start + len(canvas))
        return self.network(self.anchor, self.thought, canvas[None, None], level[None, None], self.past, table, None)[0, 0]
