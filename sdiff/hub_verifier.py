"""Any causal language model of transformers behind prefill, score and rollback. Knows a model; refuses to know drafts and rules.

As in verifier.py, `length` counts the tokens whose keys and values are valid: scoring writes behind it, rollback moves it.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from sdiff.fetch import PairError
from sdiff.hub_cache import RollbackCache
from sdiff.sentence import Sentence
from sdiff.verifier import ContextFull

CHUNK = 512  # tokens per prefill pass: bounds the attention mask and the hidden states


class HubVerifier:
    """One sequence at a time. `context`: most tokens the cache holds; `taps`: layers whose outputs a drafter wants to see.

    Raises PairError for models whose state cannot be rolled back.
    """

    def __init__(self, model: Any, context: int = 4096, taps: Sequence[int] = ()) -> None:
        config = model.config.get_text_config(decoder=True)
        self.model, self.context, self.length = model.requires_grad_(False).eval(), min(context, longest(config)), 0
        self.cache, self.taps, self.seen, self.hidden = RollbackCache(model.config, self.context), tuple(taps), 0, None
        if getattr(model, "_is_stateful", False) or model.config.is_encoder_decoder:
            encoder = "{model} is no decoder with a key/value cache: its state cannot be rolled back."
            raise PairError(Sentence(encoder, model=config.model_type))
        self.embedding: Tensor = model.get_input_embeddings().weight
        self.head, self.vocabulary = model.get_output_embeddings(), config.vocab_size
        self.dtype: torch.dtype = self.embedding.dtype
        self.last_row_only = {"logits_to_keep": 1} if "logits_to_keep" in inspect.signature(model.forward).parameters else {}

    @property
    def device(self) -> torch.device:
        return self.embedding.device

    @property
    def room(self) -> int:
        """Tokens that still fit behind the valid ones."""
        return self.context - self.length

    def prefill(self, tokens: Sequence[int], start: int = 0) -> None:
        """Forget everything behind the first `start` tokens and read `tokens` (possibly none). Raises ContextFull."""
        self.rollback(start)
        if start + len(tokens) > self.context:
            raise ContextFull(f"The prompt has {start + len(tokens):,} tokens; this verifier reads at most {self.context:,}. Shorten it.")
        for first in range(0, len(tokens), CHUNK):
            self._forward(tokens[first : first + CHUNK], **self.last_row_only)

    def score(self, tokens: Sequence[int] | Tensor) -> Tensor:
        """Read `tokens` [n] behind the valid ones; row i holds the logits of the token after tokens[i]. → [n, V]

        Raises ContextFull.
        """
        if len(tokens) > self.room:
            raise ContextFull(f"{len(tokens)} more tokens do not fit: the context holds {self.context:,}.")
        if not len(tokens):
            return self.embedding.new_zeros(0, self.vocabulary)
        return self._forward(tokens).logits[0].to(self.device)

    def rollback(self, kept: int) -> None:
        """Declare only the first `kept` tokens valid."""
        if not 0 <= kept <= self.length:
            raise ValueError(f"cannot keep {kept} of {self.length} tokens")
        self.length, self.seen = kept, min(self.seen, kept)

    def fresh(self) -> tuple[int, Tensor]:
        """What the tapped layers put out for the valid tokens read since the last call: first position, [n, taps · width].

        For one drafter that keeps what it has seen: a rollback below that makes the replaced tokens fresh again.
        """
        start, self.seen = self.seen, self.length
        hidden = self.embedding.new_zeros(0, 0) if self.hidden is None else self.hidden[start : self.length]
        return start, hidden

    @torch.inference_mode()
    def _forward(self, tokens: Sequence[int] | Tensor, **kwargs: Any) -> Any:
        ids = torch.as_tensor(tokens, dtype=torch.int64, device=self.device)
        self.cache.keep(self.length)  # also mends what a pass that failed half-way has left
        out = self.model(input_ids=ids[None], past_key_values=self.cache, use_cache=True, output_hidden_states=bool(self.taps), **kwargs)
        if self.taps:  # hidden_states[0] are the embeddings
            tapped = torch.cat([out.hidden_states[layer + 1][0].to(self.device) for layer in self.taps], -1)
            if self.hidden is None:
                self.hidden = tapped.new_zeros(self.context, tapped.shape[-1])
            self.hidden[self.length : self.length + len(ids)] = tapped
        self.length += len(ids)
        return out


def longest(config: Any) -> int:
    """Tokens up to which scores do not depend on how long the text becomes later: some rotary scalings change beyond their first range."""
    rope = getattr(config, "rope_parameters", None) or {}
    most = getattr(config, "max_position_embeddings", None) or 1 << 20
    if rope.get("rope_type") in ("dynamic", "longrope"):
        most = min(most, rope.get("original_max_position_embeddings") or most)
    return most
