"""The same prompts through transformers' `generate`, with the very weights of the verifier. Knows transformers; refuses to know drafters.

Tokens per second leave out reading the prompt, as everywhere here: the clock starts behind the first pass.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from sdiff.layers import Layer
from sdiff.verifier import Llama

ENGINES: dict[str, dict[str, Any]] = {
    "transformers": {},
    "transformers, prompt lookup": {"prompt_lookup_num_tokens": 8},
}


def to_transformers(model: Llama) -> Any:
    """A `LlamaForCausalLM` of the same weights, dtype and device."""
    from transformers import LlamaConfig, LlamaForCausalLM

    d = model.d
    config = LlamaConfig(
        hidden_size=d.width, num_attention_heads=d.heads, num_key_value_heads=d.kv_heads, head_dim=d.head_width, intermediate_size=d.feed_forward,
        num_hidden_layers=d.layers, vocab_size=d.vocabulary, rms_norm_eps=d.epsilon, tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": d.rope_base}, max_position_embeddings=8192,
    )  # fmt: skip
    other = LlamaForCausalLM(config).to(model.embedding.dtype).eval()
    tensors = {"model.embed_tokens.weight": model.embedding, "model.norm.weight": model.norm, "lm_head.weight": model.embedding}
    for i, layer in enumerate(model.layers):
        tensors |= {f"model.layers.{i}.{name}.weight": weight for name, weight in split(layer)}
    other.load_state_dict({name: tensor.detach() for name, tensor in tensors.items()})
    return other.to(model.embedding.device)


def split(layer: Layer) -> Iterator[tuple[str, Tensor]]:
    """The matrices of a layer under transformers' names; the inverse of `Layer.load_llama`."""
    d, width = layer.d, layer.d.head_width
    q, k, v = layer.qkv.weight.split([d.heads * width, d.kv_heads * width, d.kv_heads * width])
    gate, up = layer.gate_up.weight.split(d.feed_forward)
    yield from zip(("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"), (q, k, v), strict=True)
    yield from zip(
        ("self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"), (layer.out.weight, gate, up, layer.down.weight), strict=True
    )
    yield from zip(("input_layernorm", "post_attention_layernorm"), (layer.attention_norm, layer.feed_norm), strict=True)


def runner(model: Any, temperature: float, eos: Sequence[int], **options: Any) -> Callable[[list[int], int, int], dict[str, float]]:
    """A timed `generate`: (prompt ids, seed, most new tokens) → tokens, and tokens per second behind the first pass."""
    from transformers import StoppingCriteriaList

    def run(prompt: list[int], seed: int, most: int) -> dict[str, float]:
        ids = torch.tensor([prompt], device=model.device)
        marks: list[tuple[int, float]] = []  # tokens so far and the time, after every pass

        def watch(tokens: Tensor, *_scores: Tensor, **_: Any) -> Tensor:
            marks.append((tokens.shape[1], time.perf_counter()))
            return torch.zeros(len(tokens), dtype=torch.bool, device=tokens.device)  # never a reason to stop

        torch.manual_seed(seed)
        with torch.inference_mode():
            out = model.generate(
                ids, attention_mask=torch.ones_like(ids), max_new_tokens=most, do_sample=temperature > 0, temperature=temperature or None,
                top_k=0, top_p=1.0, eos_token_id=[*eos], pad_token_id=next(iter(eos)), stopping_criteria=StoppingCriteriaList([watch]), **options,
            )  # fmt: skip
        (one, first), (last, end) = marks[0], marks[-1]
        return {"tokens": out.shape[1] - len(prompt), "tokens_per_second": (last - one) / (end - first) if last > one else float("nan")}

    return run
