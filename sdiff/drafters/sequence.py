"""Masked diffusion over a whole text: models that read context and block in one bidirectional pass. Refuses to know proposals and rules.

Qwen and Llama grown into diffusion models keep their family's layers and tensor names and only drop the causal mask (dLLM's MDLM
conversions, Dream 2508.15487, DiffuCoder 2506.20639), or keep it between blocks (BD3LM 2503.09573, SDAR 2510.06303): transformers' own
classes run them, no code of the checkpoint's. Others (LLaDA 2502.09992) come in as any model from ids to logits.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from sdiff.hub_cache import RollbackCache
from sdiff.sampling import upload
from sdiff.trace import MASKED

# what a converted checkpoint calls itself → the family of transformers whose layers and tensor names it keeps
NATIVE = {"a2d-qwen3": "qwen3", "a2d-qwen2": "qwen2", "a2d-llama": "llama", "sdar": "qwen3", "Dream": "qwen2",
          "qwen3": "qwen3", "qwen2": "qwen2", "llama": "llama"}  # fmt: skip


class SequenceDenoiser:
    """Predicts masked positions behind a context, reading context, block and `block − γ` further masked positions at every pass.

    model: `model(input_ids=[1, T], …).logits` [1, T, ≥ K]; `mask_id`: its token for a masked position; `ids` [K]: verifier ids that it may
    draft, the same ids in its own vocabulary; `vocabulary`: the verifier's; `block`: positions in a block as it was trained: what follows
    the γ drafts stays masked. `shifted`: row i predicts token i+1 (models grown from autoregressive ones: Dream, DiffuCoder). `causal_blocks`: a
    position sees its own block of that many positions and all before (0: everything). Then whole blocks of context never change: they are
    read once, into a cache for `context` tokens.
    """

    scale = 1.0

    def __init__(
        self, model: Any, mask_id: int, ids: Tensor, vocabulary: int, block: int, shifted: bool = False, causal_blocks: int = 0, context: int = 4096
    ) -> None:  # fmt: skip
        self.model, self.mask_id, self.ids, self.vocabulary, self.block = model, mask_id, ids, vocabulary, block
        self.shifted, self.causal_blocks, self.all_ids = shifted, causal_blocks, len(ids) == int(ids[-1]) + 1
        keeps = inspect.signature(model.forward).parameters
        self.keep = next((name for name in ("logits_to_keep", "num_logits_to_keep") if name in keeps), None)
        self.cache, self.read = (RollbackCache(model.config, context + 2 * block) if causal_blocks else None), []

    @torch.inference_mode()
    def start(self, context: Sequence[int]) -> None:
        """A new block behind `context`: what is new in it is read where whole blocks can be kept."""
        self.context = list(context)
        if not self.causal_blocks:
            return
        size = self.causal_blocks
        whole = (len(context) - self.shifted) // size * size  # a shifted model's first row belongs to the last token of the context
        same = next((i for i, (a, b) in enumerate(zip(self.read, context, strict=False)) if a != b), min(len(self.read), whole))
        self.read, chunk = self.read[: same // size * size], max(size, 512 // size * size)
        self.cache.keep(len(self.read))
        for first in range(len(self.read), whole, chunk):
            new = self.context[first : min(first + chunk, whole)]
            self._pass(upload(new, self.ids.device), first, 1)
            self.read += new

    @torch.inference_mode()
    def predict(self, canvas: Tensor, level: Tensor) -> Tensor:
        """canvas [γ] → logits [γ, K]. The noise level is not an input: the number of masks says it."""
        drafts = torch.where(canvas == MASKED, self.mask_id, self.ids[canvas.clamp(min=0)])
        rest = drafts.new_full((max(0, self.block - len(drafts)),), self.mask_id)
        tokens = torch.cat([upload(self.context[len(self.read) :], drafts.device), drafts, rest])
        rows = len(drafts) + len(rest) + self.shifted
        logits = self._pass(tokens, len(self.read), rows)[: len(drafts)].to(self.ids.device)
        if self.cache is not None:
            self.cache.keep(len(self.read))
        return logits[:, : len(self.ids)] if self.all_ids else logits[:, self.ids]  # [γ, K]

    def _pass(self, tokens: Tensor, start: int, rows: int) -> Tensor:
        """Read `tokens` [n] behind the first `start` of the cache. → logits of the last `rows` positions"""
        kept, cached = {self.keep: rows} if self.keep else {}, {"use_cache": False}
        if self.cache is not None:
            number = (
                torch.arange(start + len(tokens), device=tokens.device) // self.causal_blocks
            )  # blocks are counted from the text's beginning
            cached = {"use_cache": True, "past_key_values": self.cache, "attention_mask": (number <= number[start:, None])[None, None]}
        return self.model(input_ids=tokens[None], **cached, **kept).logits[0, -rows:]


def native_config(raw: dict[str, Any]) -> Any:
    """The configuration of a converted checkpoint for transformers' own class, without the causal mask. Raises ValueError."""
    from transformers import AutoConfig

    family = NATIVE.get(raw.get("model_type", ""))
    if family is None:
        raise ValueError(f"{raw.get('model_type')!r} is no family that transformers runs without a causal mask ({', '.join(NATIVE)})")
    kept = {key: value for key, value in raw.items() if key not in ("model_type", "auto_map", "architectures", "is_causal")}
    return AutoConfig.for_model(family, **kept, is_causal=False)


def draft_ids(verifier_size: int, drafter_size: int, mask_id: int) -> Tensor:
    """What such a drafter may draft for a verifier with the same ids: all that both have, except the mask. → [K], ascending"""
    ids = torch.arange(min(verifier_size, drafter_size))
    return ids[ids != mask_id]
