"""Checkpoints of Llama, Qwen2 and Qwen3 as the project's own `Llama`. Knows their configurations; refuses what it would not reproduce."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict
from typing import Any

import torch

from sdiff.fetch import PairError, sha256
from sdiff.hub_files import Source, explained, load_tensors, weight_files
from sdiff.layers import Dimensions
from sdiff.sentence import Sentence
from sdiff.verifier import Llama

KINDS = ("llama", "qwen2", "qwen3")
KNOWN = re.compile(
    r"lm_head\.weight|model\.(embed_tokens|norm)\.weight|model\.layers\.\d+\.(self_attn\.([qkvo]_proj\.weight|[qkv]_proj\.bias|[qk]_norm\.weight"
    r"|rotary_emb\.inv_freq)|mlp\.(gate|up|down)_proj\.weight|(input|post_attention)_layernorm\.weight)"
)


def dimensions(source: Source, config: Any) -> Dimensions:
    """The shape that transformers' configuration describes. Raises PairError where the model computes what `Llama` does not."""
    kind = config.model_type
    if kind not in KINDS:
        other = "{source} is a {kind}; the project's own engine computes {known} only."
        raise PairError(Sentence(other, source=source, kind=kind, known=", ".join(KINDS)))
    rope = config.rope_parameters
    scaled = rope["rope_type"] == "llama3"
    refused = {
        f"rotary positions scaled as {rope['rope_type']!r}": rope["rope_type"] not in ("default", "llama3"),
        "rotary positions on a part of each head": (rope.get("partial_rotary_factor") or 1.0) != 1.0,
        "sliding windows": "sliding_attention" in (getattr(config, "layer_types", None) or ()),
        "biases on its attention's output": getattr(config, "attention_bias", False),
        "biases in its feed-forward layers": getattr(config, "mlp_bias", False),
        f"the activation {config.hidden_act!r}": config.hidden_act != "silu",
        "quantised weights": getattr(config, "quantization_config", None) is not None,
    }
    if found := [what for what, there in refused.items() if there]:
        strange = "{source} has {found}, which the project's own engine does not compute."
        raise PairError(Sentence(strange, source=source, found=" and ".join(found)))
    return Dimensions(
        width=config.hidden_size, heads=config.num_attention_heads, kv_heads=config.num_key_value_heads,
        head_width=getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads,
        feed_forward=config.intermediate_size, layers=config.num_hidden_layers, vocabulary=config.vocab_size,
        rope_base=rope["rope_theta"], epsilon=config.rms_norm_eps, qkv_bias=kind == "qwen2", head_norm=kind == "qwen3", tied=config.tie_word_embeddings,
        rope_scaling=(rope["factor"], rope["low_freq_factor"], rope["high_freq_factor"], rope["original_max_position_embeddings"]) if scaled else None,
    )  # fmt: skip


def fingerprint(source: Source, d: Dimensions) -> str:
    """What names a verifier: SHA-256 of its shape and of its files of weights, each read whole. Raises PairError."""
    with explained(source):
        files = [sha256(file) for file in weight_files(source)]
    return hashlib.sha256(json.dumps([asdict(d), sorted(files)], sort_keys=True).encode()).hexdigest()


def load_llama(source: Source, d: Dimensions, device: torch.device | str, dtype: torch.dtype) -> Llama:
    """The weights, complete and nothing left over. Raises PairError."""
    tensors = load_tensors(source)
    if foreign := sorted(name for name in tensors if not KNOWN.fullmatch(name)):
        unused = "{source} has {n} tensors that the project's own engine does not use, {one} among them."
        raise PairError(Sentence(unused, source=source, n=len(foreign), one=foreign[0]))
    try:
        return Llama.from_tensors(d, tensors, dtype, device)
    except KeyError as error:
        raise PairError(Sentence("{source} lacks the tensor {name}.", source=source, name=error.args[0])) from None
    except RuntimeError as error:
        unlike = "The weights of {source} cannot be loaded as its config.json implies ({why})."
        raise PairError(Sentence(unlike, source=source, why=" ".join(str(error).split())[:160])) from None
