"""Tiny random checkpoints, made by the real classes of transformers and saved to disk: what a hub would deliver."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tokenizers
import torch
import transformers
from safetensors.torch import save_file
from toys import continued, distance, verifier_law

from sdiff.acceptance import Lossless
from sdiff.sampling import Shape
from sdiff.theory import Blocks, draft_law

VOCABULARY = 48
SMALL = {"vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2, "max_position_embeddings": 256, "initializer_range": 0.25}  # fmt: skip
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "qwen3": ("Qwen3", {**SMALL, "head_dim": 8}),
    "qwen2": ("Qwen2", SMALL),
    "llama": ("Llama", SMALL),
    "gemma": ("Gemma", {**SMALL, "head_dim": 8}),
    "gemma2": ("Gemma2", {**SMALL, "head_dim": 8, "sliding_window": 6, "query_pre_attn_scalar": 8}),
    "gemma3": ("Gemma3", {**SMALL, "head_dim": 8, "sliding_window": 6, "query_pre_attn_scalar": 8,
                          "layer_types": ["sliding_attention", "full_attention"]}),
    "gemma4": ("Gemma4", {**SMALL, "head_dim": 8, "global_head_dim": 16, "sliding_window": 6, "layer_types": ["sliding_attention", "full_attention"] * 2,
                          "num_hidden_layers": 4, "num_kv_shared_layers": 2, "vocab_size_per_layer_input": VOCABULARY, "hidden_size_per_layer_input": 4,
                          "initializer_range": 0.25}),
    "qwen3_moe": ("Qwen3Moe", {**SMALL, "head_dim": 8, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}),
    "gpt_oss": ("GptOss", {**SMALL, "head_dim": 8, "sliding_window": 6, "num_local_experts": 2, "num_experts_per_tok": 1,
                           "layer_types": ["sliding_attention", "full_attention"]}),
    "llama4": ("Llama4", {**SMALL, "head_dim": 8, "attention_chunk_size": 6, "num_local_experts": 2, "intermediate_size_mlp": 32, "no_rope_layers": [1, 0],
                          "layer_types": ["chunked_attention", "full_attention"]}),
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


def converted(model: Any, folder: Path, model_type: str = "a2d-qwen3", **changes: Any) -> Path:
    """As dLLM saves a conversion: the same tensors, another name of the family and code of its own."""
    path = saved(model, folder) / "config.json"
    raw = json.loads(path.read_text()) | {"model_type": model_type, "auto_map": {"AutoConfig": "modeling.Config"}, **changes}
    raw.pop("architectures")
    path.write_text(json.dumps(raw))
    return folder


class Rows:
    """A real verifier as an enumeration needs it: each prefix is read only once. For `toys.continued`."""

    def __init__(self, verifier: Any) -> None:
        self.verifier, self.known = verifier, {}

    def row(self, prefix: Sequence[int]) -> torch.Tensor:
        """Logits behind `prefix`, float64 [V]."""
        if (key := tuple(prefix)) not in self.known:
            self.verifier.prefill([])
            self.known[key] = self.verifier.score(list(prefix))[-1].double()
        return self.known[key]


def block_error(verifier: Any, drafter: Any, context: list[int], gamma: int, steps: int) -> float:
    """Total variation between the joint law of γ+1 tokens under speculative decoding, by complete enumeration, and the verifier's own.

    `verifier` is left having read the context up to the anchor before each block, as the loop leaves it.
    """
    rows = Rows(verifier)

    def propose(dice: Any) -> Any:
        verifier.prefill(context[:-1])
        return drafter.propose(context, gamma, steps, dice)

    law = Blocks(draft_law(propose), lambda kept: Shape().law(rows.row((*context, *kept))[None])[0]).law(Lossless())
    assert abs(sum(law.values()) - 1) < 1e-6
    return distance(continued(law, rows, gamma + 1, prompt=context), verifier_law(rows, gamma + 1, prompt=context))


DFLASH = {
    "architectures": ["DFlashDraftModel"], "auto_map": {"AutoModel": "dflash.DFlashDraftModel"}, "attention_bias": False, "attention_dropout": 0.0,
    "block_size": 6, "bos_token_id": 1, "dflash_config": {"mask_token_id": 47, "target_layer_ids": [0, 2]}, "dtype": "float32", "eos_token_id": 2,
    "head_dim": 8, "hidden_act": "silu", "hidden_size": 32, "initializer_range": 0.02, "intermediate_size": 40,
    "layer_types": ["full_attention"] * 2, "max_position_embeddings": 256, "max_window_layers": 2, "model_type": "qwen3",
    "num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 2, "num_target_layers": 4, "rms_norm_eps": 1e-6,
    "rope_scaling": None, "rope_theta": 10000.0, "sliding_window": None, "tie_word_embeddings": True, "use_cache": True,
    "use_sliding_window": False, "vocab_size": VOCABULARY,
}  # fmt: skip


def dflash(folder: Path, seed: int = 0, **changes: Any) -> Path:
    """A checkpoint with the published key names and configuration, random numbers."""
    raw, generator = {**DFLASH, **changes}, torch.Generator().manual_seed(seed)
    w, d, kv, inner = (
        raw["hidden_size"],
        raw["head_dim"],
        raw["num_key_value_heads"] * raw["head_dim"],
        raw["num_attention_heads"] * raw["head_dim"],
    )
    shapes: dict[str, tuple[int, ...]] = {
        "fc.weight": (w, len(raw["dflash_config"]["target_layer_ids"]) * w),
        "hidden_norm.weight": (w,),
        "norm.weight": (w,),
    }
    for i in range(raw["num_hidden_layers"]):
        for name, shape in {
            "self_attn.q_proj": (inner, w), "self_attn.k_proj": (kv, w), "self_attn.v_proj": (kv, w), "self_attn.o_proj": (w, inner),
            "self_attn.q_norm": (d,), "self_attn.k_norm": (d,), "mlp.gate_proj": (raw["intermediate_size"], w),
            "mlp.up_proj": (raw["intermediate_size"], w), "mlp.down_proj": (w, raw["intermediate_size"]), "input_layernorm": (w,),
            "post_attention_layernorm": (w,),
        }.items():  # fmt: skip
            shapes[f"layers.{i}.{name}.weight"] = shape
    folder.mkdir(parents=True, exist_ok=True)
    save_file(
        {k: torch.randn(s, generator=generator) * 0.2 + (len(s) == 1) for k, s in shapes.items()},
        folder / "model.safetensors",
        {"format": "pt"},
    )
    (folder / "config.json").write_text(json.dumps(raw))
    return folder


# 45 ordinary tokens and three special ones, the mask last
LETTERS = [*"abcdefghijklmnopqrstuvwxyz", "Ġ", *".,!?0123456789-+=(", "<|endoftext|>", "<|im_end|>", "<|MASK|>"]
assert len(LETTERS) == VOCABULARY
CHAT = "{% for m in messages %}{{ m['role'] }} {{ m['content'] }}<|endoftext|>{% endfor %}{% if enable_thinking is false %}!{% endif %}"


def tokenizer(folder: Path, letters: Sequence[str] = LETTERS, chat: bool = True) -> Path:
    """A byte-level tokenizer with `letters` as its vocabulary, saved as a fast one."""
    inner = tokenizers.Tokenizer(tokenizers.models.BPE({letter: i for i, letter in enumerate(letters)}, []))
    inner.pre_tokenizer, inner.decoder = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False), tokenizers.decoders.ByteLevel()
    made = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, eos_token="<|im_end|>", mask_token="<|MASK|>", additional_special_tokens=["<|endoftext|>"]
    )
    made.chat_template = CHAT if chat else None
    made.save_pretrained(folder)
    return folder


CODE = """
import torch
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutput
open({sentinel!r}, "w").close()

class OwnConfig(PreTrainedConfig):
    model_type = "own-dream"
    def __init__(self, vocab_size=48, width=16, **kwargs):
        self.vocab_size, self.width = vocab_size, width
        super().__init__(**kwargs)

class OwnModel(PreTrainedModel):
    config_class = OwnConfig
    def __init__(self, config):
        super().__init__(config)
        self.table = torch.nn.Embedding(config.vocab_size, config.width)
        self.head = torch.nn.Linear(config.width, config.vocab_size)
        self.post_init()
    def forward(self, input_ids=None, num_logits_to_keep=0, **kwargs):
        x = self.table(input_ids)
        x = x + x.mean(1, keepdim=True)
        return CausalLMOutput(logits=self.head(x)[:, -num_logits_to_keep:])
"""


def own_code(folder: Path, sentinel: Path) -> Path:
    """A full-sequence drafter whose checkpoint brings its code; running that code creates the file `sentinel`."""
    tokenizer(folder)
    (folder / "modeling_own.py").write_text(CODE.format(sentinel=str(sentinel)))
    auto = {"AutoConfig": "modeling_own.OwnConfig", "AutoModel": "modeling_own.OwnModel"}
    raw = {
        "model_type": "own-dream",
        "auto_map": auto,
        "vocab_size": VOCABULARY,
        "width": 16,
        "mask_token_id": 47,
        "architectures": ["OwnModel"],
    }
    (folder / "config.json").write_text(json.dumps(raw))
    g = torch.Generator().manual_seed(5)
    shapes = {"table.weight": (VOCABULARY, 16), "head.weight": (VOCABULARY, 16), "head.bias": (VOCABULARY,)}
    save_file({k: torch.randn(s, generator=g) for k, s in shapes.items()}, folder / "model.safetensors", {"format": "pt"})
    return folder


def diffusion_gemma(folder: Path, seed: int = 0, vocabulary: int = VOCABULARY) -> Path:
    """A random DiffusionGemma of two layers, one with a window of 6, saved by its class."""
    torch.manual_seed(seed)
    text = {"vocab_size": vocabulary, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
            "head_dim": 8, "global_head_dim": 16, "sliding_window": 6, "layer_types": ["sliding_attention", "full_attention"], "num_experts": 2,
            "top_k_experts": 1, "moe_intermediate_size": 16, "max_position_embeddings": 256, "initializer_range": 0.25}  # fmt: skip
    vision = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2,
              "head_dim": 8, "patch_size": 4, "position_embedding_size": 16}  # fmt: skip
    config = transformers.DiffusionGemmaConfig(
        text_config=text, vision_config={"model_type": "gemma4_vision", **vision}, canvas_length=8, initializer_range=0.25
    )
    model = transformers.DiffusionGemmaForBlockDiffusion(config).eval()
    for name, weight in model.named_parameters():
        if "norm" in name:
            weight.data.uniform_(0.5, 1.5)
    return saved(model, folder)


def dit(folder: Path, kind: str = "duo", seed: int = 0, vocabulary: int = VOCABULARY + 1, **changes: Any) -> Path:
    """A checkpoint of the small transformer with the published key names and configuration, random numbers."""
    raw = {"model_type": kind, "vocab_size": vocabulary, "model_length": 64, "hidden_dim": 32, "cond_dim": 16, "n_blocks": 2, "n_heads": 4, "dropout": 0.1,
           **({"causal": False, "var_min": True} if kind == "duo" else {"time_conditioning": False}), **changes}  # fmt: skip
    w, c, generator = raw["hidden_dim"], raw["cond_dim"], torch.Generator().manual_seed(seed)
    shapes: dict[str, tuple[int, ...]] = {
        "vocab_embed.embedding": (vocabulary, w), "sigma_map.mlp.0.weight": (c, 256), "sigma_map.mlp.0.bias": (c,), "sigma_map.mlp.2.weight": (c, c),
        "sigma_map.mlp.2.bias": (c,), "rotary_emb.inv_freq": (w // raw["n_heads"] // 2,), "output_layer.norm_final.weight": (w,),
        "output_layer.linear.weight": (vocabulary, w), "output_layer.linear.bias": (vocabulary,), "output_layer.adaLN_modulation.weight": (2 * w, c),
        "output_layer.adaLN_modulation.bias": (2 * w,),
    }  # fmt: skip
    for i in range(raw["n_blocks"]):
        for name, shape in {"norm1.weight": (w,), "attn_qkv.weight": (3 * w, w), "attn_out.weight": (w, w), "norm2.weight": (w,), "mlp.0.weight": (4 * w, w),
                            "mlp.0.bias": (4 * w,), "mlp.2.weight": (w, 4 * w), "mlp.2.bias": (w,), "adaLN_modulation.weight": (6 * w, c),
                            "adaLN_modulation.bias": (6 * w,)}.items():  # fmt: skip
            shapes[f"blocks.{i}.{name}"] = shape
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {f"backbone.{k}": torch.randn(s, generator=generator) * 0.3 + ("norm" in k) for k, s in shapes.items()}
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    (folder / "config.json").write_text(json.dumps(raw))
    return folder
