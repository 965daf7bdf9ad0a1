"""Arithmetic of one Llama layer, shared by the verifier and the drafter. Refuses to know caches and vocabularies.

RMSNorm, rotary positions, grouped-query attention and SwiGLU, as in transformers' `LlamaDecoderLayer`, with what Qwen2 (biases) and
Qwen3 (normed heads) add; the tests hold them equal. Query, key and value (and gate and up) projections are fused: one pass over memory each.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LEAST = 2  # tokens of a compiled pass (compiled.py): an exported program takes a size of one for a constant


@dataclass(frozen=True)
class Dimensions:
    """Shape of a Llama-like model. Units: numbers of floats, heads, layers, tokens."""

    width: int
    heads: int
    kv_heads: int
    head_width: int
    feed_forward: int
    layers: int
    vocabulary: int
    rope_base: float
    epsilon: float
    rope_scaling: tuple[float, float, float, float] | None = None  # Llama 3.1's: factor, low and high frequency factor, original context
    qkv_bias: bool = False  # as in Qwen2
    head_norm: bool = False  # RMSNorm of each query and key head, as in Qwen3
    tied: bool = True  # the output head is the embedding

    def rotary(self, length: int, device: torch.device | str = "cpu") -> Tensor:
        """`rotary_table` of the first `length` positions."""
        return rotary_table(length, self.head_width, self.rope_base, device, self.rope_scaling)


def rms_norm(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    """x / rms(x) ⊙ weight with the mean square in float32."""
    wide = x.float()
    return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + epsilon)).to(x.dtype) * weight


def rotary_table(
    length: int, width: int, base: float, device: torch.device | str = "cpu", scaling: tuple[float, float, float, float] | None = None
) -> Tensor:
    """cos and sin of the rotary angles, float32 [2, length, width]; sin carries the sign of `rotate`.

    `scaling`: waves longer than original context ÷ low are slowed by the factor, those shorter than original context ÷ high are kept.
    """
    inverse = 1.0 / base ** (torch.arange(0, width, 2, dtype=torch.int64).float() / width)
    if scaling:
        factor, low, high, original = scaling
        kept = ((original * inverse / (2 * math.pi) - low) / (high - low)).clamp(0, 1)
        inverse = (1 - kept) * inverse / factor + kept * inverse
    angles = torch.arange(length).float()[:, None] * inverse  # [length, width/2]
    cos, sin = angles.cos(), angles.sin()
    return torch.stack([torch.cat([cos, cos], -1), torch.cat([-sin, sin], -1)]).to(device, non_blocking=True)


def rotate(x: Tensor, table: Tensor) -> Tensor:
    """Rotary embedding of x [..., T, heads, D] with table [2, (…,) T, 1, D] of the same dtype."""
    return x * table[0] + x.roll(x.shape[-1] // 2, -1) * table[1]


def grouped(visible: Tensor | None, heads: int, kv_heads: int, dtype: torch.dtype) -> Tensor | None:
    """What `attend` adds to its scores, from what each token sees: bool [(B,) T, S] → 0 or −∞ [(B, 1,) G·T, S]. Once per pass, for all layers."""
    if visible is None:
        return None
    hidden = torch.zeros(visible.shape, dtype=dtype, device=visible.device).masked_fill_(~visible, -torch.inf)
    hidden = hidden.repeat(*(1,) * (visible.dim() - 2), heads // kv_heads, 1)
    return hidden if visible.dim() == 2 else hidden[:, None]


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """Grouped-query attention. q [B, T, G·H, D]; k, v [B, H, S, D]; mask from `grouped`, or None: all is seen. → [B, T, G·H·D]

    The G query heads of a key head are folded into rows, so keys and values are read once and never repeated.
    """
    batch, time, heads, width = q.shape
    groups = heads // k.shape[1]
    rows = q.view(batch, time, k.shape[1], groups, width).permute(0, 2, 3, 1, 4).reshape(batch, k.shape[1], groups * time, width)
    out = F.scaled_dot_product_attention(rows, k, v, attn_mask=mask)  # softmax in float32 inside the kernel
    return out.view(batch, k.shape[1], groups, time, width).permute(0, 3, 1, 2, 4).reshape(batch, time, heads * width)


class Layer(nn.Module):
    """One layer; how keys and values are stored and found is the caller's business (`store_and_attend`)."""

    def __init__(self, d: Dimensions, device: torch.device | str | None = None) -> None:
        super().__init__()
        self.d = d
        self.qkv = nn.Linear(d.width, (d.heads + 2 * d.kv_heads) * d.head_width, bias=d.qkv_bias, device=device)
        self.out = nn.Linear(d.heads * d.head_width, d.width, bias=False, device=device)
        self.gate_up = nn.Linear(d.width, 2 * d.feed_forward, bias=False, device=device)
        self.down = nn.Linear(d.feed_forward, d.width, bias=False, device=device)
        self.attention_norm = nn.Parameter(torch.ones(d.width, device=device))
        self.feed_norm = nn.Parameter(torch.ones(d.width, device=device))
        if d.head_norm:
            self.q_norm, self.k_norm = (nn.Parameter(torch.ones(d.head_width, device=device)) for _ in range(2))

    def forward(self, x: Tensor, table: Tensor, store_and_attend: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Tensor:
        """x [B, T, width]; table as in `rotate`; `store_and_attend(q, k, v)` gets rotated q [B, T, heads, D] and
        k, v [B, T, kv_heads, D] and returns [B, T, heads·D]."""
        d = self.d
        batch, time, _ = x.shape
        fused = self.qkv(rms_norm(x, self.attention_norm, d.epsilon)).view(batch, time, d.heads + 2 * d.kv_heads, d.head_width)
        heads = fused[:, :, : d.heads + d.kv_heads]
        if d.head_norm:
            weights = torch.cat([self.q_norm.expand(d.heads, -1), self.k_norm.expand(d.kv_heads, -1)])  # [heads + kv_heads, D]
            heads = rms_norm(heads, weights, d.epsilon)
        turned = rotate(heads, table)
        q, k, v = turned[:, :, : d.heads], turned[:, :, d.heads :], fused[:, :, d.heads + d.kv_heads :]
        x = x + self.out(store_and_attend(q, k, v))
        gate, up = self.gate_up(rms_norm(x, self.feed_norm, d.epsilon)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)

    def load_llama(self, tensors: dict[str, Tensor], prefix: str) -> None:
        """Fill from transformers' names (`model.layers.N.` is the prefix)."""

        def get(*names: str, what: str = "weight") -> Tensor:
            return torch.cat([tensors[f"{prefix}{name}.{what}"] for name in names])

        qkv = "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"
        with torch.no_grad():
            self.qkv.weight.copy_(get(*qkv))
            if self.d.qkv_bias:
                self.qkv.bias.copy_(get(*qkv, what="bias"))
            if self.d.head_norm:
                self.q_norm.copy_(get("self_attn.q_norm"))
                self.k_norm.copy_(get("self_attn.k_norm"))
            self.out.weight.copy_(get("self_attn.o_proj"))
            self.gate_up.weight.copy_(get("mlp.gate_proj", "mlp.up_proj"))
            self.down.weight.copy_(get("mlp.down_proj"))
            self.attention_norm.copy_(get("input_layernorm"))
            self.feed_norm.copy_(get("post_attention_layernorm"))


class PackedLinear(nn.Module):
    """A bf16 linear map whose weight is stored in the CPU kernel's own order: no reordering per call."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None, rows: int = 9) -> None:
        super().__init__()
        self.packed, self.bias = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), rows), bias

    def forward(self, x: Tensor) -> Tensor:
        return torch.ops.mkldnn._linear_pointwise(x, self.packed, self.bias, "none", [], "")


def bf16_on_cpu() -> bool:
    """Does this CPU compute in bf16? torch builds without oneDNN (some of macOS) lack even the question."""
    return torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported()


def bf16_native() -> bool:
    """Has this CPU bf16 instructions? oneDNN also emulates them: half the memory traffic, but a quarter of the arithmetic."""
    has = getattr(torch.cpu, "get_capabilities", dict)()
    if "avx512_bf16" not in has:  # an older torch, or no x86: only oneDNN can tell
        return bf16_on_cpu()
    return bool(has["avx512_bf16"] or has["amx_bf16"])


def packable(weight: Tensor) -> bool:
    """Packing exists for bf16 on CPUs with bf16 arithmetic; elsewhere the ordinary kernel is used."""
    return weight.device.type == "cpu" and weight.dtype == torch.bfloat16 and bf16_on_cpu()


def pack(module: nn.Module) -> nn.Module:
    """Replace every packable `nn.Linear` below `module` for inference; the module can no longer be trained."""
    for name, child in module.named_children():
        if isinstance(child, nn.Linear) and packable(child.weight):
            setattr(module, name, PackedLinear(child.weight.detach(), None if child.bias is None else child.bias.detach()))
        else:
            pack(child)
    return module
