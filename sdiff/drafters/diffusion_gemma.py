"""DiffusionGemma: a causal encoder reads the text, a decoder that shares its weights denoises a canvas of random tokens behind it.

Runs transformers' own classes. Knows canvases, the encoder's cache and self-conditioning; refuses to know proposals and rules. What the
decoder predicted at the last pass is an input of the next one. That keeps a draft exact: its predictions are side information like the
noise they came from, and every law q is the one its token was drawn from (Proposition 2, see the package).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, DynamicLayer

from sdiff.hub_cache import RollbackCache, RollbackLayer
from sdiff.sampling import upload


class DiffusionGemmaDenoiser:
    """Uniform noise over `ids` [K], verifier ids that both vocabularies have; `vocabulary`: the verifier's.

    model: DiffusionGemmaForBlockDiffusion; `context`: most tokens its cache holds; `block`: positions of the canvas (0: as it was trained);
    what lies behind the γ drafts is noise, drawn afresh at each pass from a generator that depends on the text alone. `temperature` divides
    the logits that the next pass is conditioned on: the published sampler goes from .8 down to .4.
    """

    scale = 1.0

    def __init__(self, model: Any, ids: Tensor, vocabulary: int, context: int, block: int = 0, temperature: float = 0.6) -> None:
        self.model, self.ids, self.vocabulary, self.temperature = model, ids, vocabulary, temperature
        self.config, self.block = model.config.get_text_config(), block or model.config.canvas_length
        self.cache, self.read = RollbackCache(self.config, context), []

    @torch.inference_mode()
    def start(self, context: Sequence[int]) -> None:
        """Read what is new in `context`, anchor included; the cache keeps what it shares with the last one."""
        kept = next((i for i, (a, b) in enumerate(zip(self.read, context, strict=False)) if a != b), min(len(self.read), len(context)))
        self.cache.keep(kept)
        self.read = self.read[:kept]
        for first in range(kept, len(context), 512):  # bounds the attention mask
            new = list(context[first : first + 512])
            self.model.model.encoder(input_ids=upload([new], self.ids.device), past_key_values=self.cache)
            self.read += new
        self.generator, self.last = torch.Generator().manual_seed(len(context)), None
        self.seen = Cache(layers=[self._seen(layer, kind) for layer, kind in zip(self.cache.layers, self.config.layer_types, strict=True)])

    def _seen(self, layer: RollbackLayer, kind: str) -> DynamicLayer:
        """What the decoder attends to: the valid rows, of windowed layers the last ones only, as transformers' own cache would keep them."""
        first = max(0, layer.length - self.config.sliding_window + 1) if kind == "sliding_attention" else 0
        view = DynamicLayer()
        view.lazy_initialization(layer.keys, layer.values)
        view.keys, view.values = layer.keys[..., first : layer.length, :], layer.values[..., first : layer.length, :]
        return view

    @torch.inference_mode()
    def predict(self, canvas: Tensor, level: Tensor) -> Tensor:
        """canvas [γ] → logits [γ, K]. The noise level is not an input: the model judges the tokens themselves."""
        drafts, device = self.ids[canvas], self.ids.device
        rest = torch.randint(len(self.ids), (max(0, self.block - len(drafts)),), generator=self.generator).to(device, non_blocking=True)
        tokens = torch.cat([drafts, self.ids[rest]])[None]  # [1, block]
        spots = len(self.read) + torch.arange(tokens.shape[1], device=device)
        logits = self.model(
            decoder_input_ids=tokens, past_key_values=self.seen, decoder_position_ids=spots[None], self_conditioning_logits=self.last
        ).logits  # [1, block, V]
        self.last = (logits / self.temperature).to(self.model.dtype)
        return logits[0, : len(drafts)].to(device)[:, self.ids]
