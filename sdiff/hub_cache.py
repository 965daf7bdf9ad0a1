"""A key/value cache for transformers' models that rolls back. Knows layers of transformers' caches; refuses to know models.

Storage for a whole context is set aside once; one integer says how much of it counts. Nothing is copied or cleared. A sliding window is
kept whole and left to the attention mask, because a cache that drops what leaves the window cannot roll back.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import Cache, CacheLayerMixin, DummyLayer, DynamicLayer, DynamicSlidingWindowLayer

from sdiff.fetch import PairError
from sdiff.sentence import Sentence


class RollbackLayer(CacheLayerMixin):
    """Keys and values of one layer in storage for `context` tokens; only the first `length` are ever attended to."""

    def __init__(self, context: int) -> None:
        super().__init__()
        self.context, self.length = context, 0

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        self.dtype, self.device = key_states.dtype, key_states.device
        self.keys, self.values = (x.new_zeros(*x.shape[:-2], self.context, x.shape[-1]) for x in (key_states, value_states))
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Write n new rows [1, heads, n, D] behind the valid ones. → all valid rows, as views"""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        start, self.length = self.length, self.length + key_states.shape[-2]
        self.keys[..., start : self.length, :] = key_states
        self.values[..., start : self.length, :] = value_states
        return self.keys[..., : self.length, :], self.values[..., : self.length, :]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.length + query_length, 0

    def get_seq_length(self) -> int:
        return self.length

    def get_max_length(self) -> int:
        return self.context


class RollbackCache(Cache):
    """A transformers cache for `context` tokens whose length is set by `keep`. Raises PairError for models that need another kind.

    Layers that transformers gives a plain or a sliding-window cache are kept whole; those that only read another layer's stay as they are.
    """

    def __init__(self, config: Any, context: int) -> None:
        text = config.get_text_config(decoder=True)
        layers = []
        for wanted in DynamicCache(config=text).layers or [DynamicLayer() for _ in range(text.num_hidden_layers)]:
            if type(wanted) not in (DynamicLayer, DynamicSlidingWindowLayer, DummyLayer):
                running = (
                    "{model} keeps a running state ({kind}) that cannot be rolled back when drafts are refused. "
                    "Choose a verifier with attention in every layer."
                )
                raise PairError(Sentence(running, model=text.model_type, kind=type(wanted).__name__))
            layers.append(wanted if isinstance(wanted, DummyLayer) else RollbackLayer(context))
        super().__init__(layers=layers)

    def keep(self, length: int) -> None:
        """Declare only the first `length` tokens valid."""
        for layer in self.layers:
            if isinstance(layer, RollbackLayer):
                layer.length = length
