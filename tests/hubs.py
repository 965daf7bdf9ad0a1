"""Tiny random checkpoints, made by the real classes of transformers and saved to disk: what a hub would deliver."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers

VOCABULARY = 48
SMALL = {"vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2, "max_position_embeddings": 256, "initializer_range": 0.25}  # fmt: skip
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "qwen3": ("Qwen3", {**SMALL, "head_dim": 8}),
    "llama": ("Llama", SMALL),
    "gemma": ("Gemma", {**SMALL, "head_dim": 8}),
    "gemma2": ("Gemma2", {**SMALL, "head_dim": 8, "sliding_window": 6, "query_pre_attn_scalar": 8}),
    "gemma3": ("Gemma3", {**SMALL, "head_dim": 8, "sliding_window": 6, "query_pre_attn_scalar": 8,
                          "layer_types": ["sliding_attention", "full_attention"]}),
    "gpt2": ("GPT2", {"vocab_size": VOCABULARY, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 256, "initializer_range": 0.25}),
}  # fmt: skip


def config(family: str, **changes: Any) -> Any:
    name, sizes = FAMILIES[family]
    cls = getattr(transformers, f"{name}TextConfig", None) or getattr(transformers, f"{name}Config")
    return cls(**{**sizes, **changes})


def causal(family: str, seed: int = 0, **changes: Any) -> Any:
    """A random causal model whose logits are far from zero."""
    torch.manual_seed(seed)
    model = transformers.AutoModelForCausalLM.from_config(config(family, **changes)).eval()
    for name, weight in model.named_parameters():
        if "norm" in name or "ln_" in name:
            weight.data.uniform_(0.5, 1.5)
    return model


def saved(model: Any, folder: Path) -> Path:
    model.save_pretrained(folder)
    return folder
