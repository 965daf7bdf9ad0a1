"""DFlash (2602.06036): a few layers that denoise a whole block from what the verifier thought of the text. Refuses to know proposals and rules.

What some of the verifier's layers put out is projected once per read token and becomes keys and values of every drafter layer; the block, an
anchor and masked positions embedded by the verifier's table, attends to these and to itself without a causal mask. Row i predicts
token i; the verifier's head makes it logits. Trained to fill a block in one pass: more passes are possible, but no training has seen them.

Tensor names are those of the published checkpoints (z-lab's *-DFlash-*), so that a state dictionary loads as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sdiff.layers import attend, rms_norm, rotary_table, rotate
from sdiff.trace import MASKED


@dataclass(frozen=True)
class DFlashConfig:
    """Sizes in floats, heads, layers and tokens. `taps`: verifier layers whose outputs it reads; `block`: anchor and drafts."""

    width: int
    heads: int
    kv_heads: int
    head_width: int
    feed_forward: int
    layers: int
    rope_base: float
    epsilon: float
    bias: bool
    block: int
    mask_id: int
    taps: tuple[int, ...]
    embedding_scale: float
    multiplier: float
    softcap: float

    @classmethod
    def read(cls, raw: dict[str, Any]) -> DFlashConfig:
        """From a published config.json. Raises ValueError for what this implementation does not compute."""
        own = raw.get("dflash_config") or {}

        def value(name: str, default: Any = None) -> Any:
            return own.get(name, raw.get(name, default))

        rope = raw.get("rope_parameters") or raw.get("rope_scaling") or {}
        if rope.get("rope_type", rope.get("type", "default")) != "default":
            raise ValueError(
                f"its rotary positions are scaled ({rope.get('rope_type') or rope.get('type')}), which is not implemented here"
            )
        if value("selector_rank") or value("conv_kernel_size") or value("markov_rank"):
            raise ValueError("it is a later design (DFlash2, DSpark) whose tokens depend on each other within a pass")
        if any(kind != "full_attention" for kind in raw.get("layer_types") or ()):
            raise ValueError("it has sliding-window layers, which are not implemented here")
        layers, mask_id = raw["num_hidden_layers"], value("mask_token_id")
        if mask_id is None:
            raise ValueError("its config.json names no mask_token_id")
        return cls(
            width=raw["hidden_size"], heads=raw["num_attention_heads"], kv_heads=raw["num_key_value_heads"],
            head_width=raw.get("head_dim") or raw["hidden_size"] // raw["num_attention_heads"], feed_forward=raw["intermediate_size"],
            layers=layers, rope_base=rope.get("rope_theta") or raw["rope_theta"], epsilon=raw["rms_norm_eps"],
            bias=bool(raw.get("attention_bias")), block=int(value("block_size", 16)), mask_id=mask_id,
            taps=tuple(value("target_layer_ids") or spread(raw["num_target_layers"], layers)), embedding_scale=float(value("input_embedding_scale", 1.0)),
            multiplier=float(value("output_multiplier", 1.0)), softcap=float(value("final_logit_softcapping") or 0.0),
        )  # fmt: skip


def spread(verifier_layers: int, layers: int) -> list[int]:
    """The published choice of taps where a configuration names none: evenly from layer 1 to the fourth from the end."""
    if layers == 1:
        return [verifier_layers // 2]
    return [round(1 + i * (verifier_layers - 4) / (layers - 1)) for i in range(layers)]


class Norm(nn.Module):
    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__()
        self.weight, self.epsilon = nn.Parameter(torch.ones(width)), epsilon

    def forward(self, x: Tensor) -> Tensor:
        return rms_norm(x, self.weight, self.epsilon)


class DFlashLayer(nn.Module):
    """A Qwen3 layer whose keys and values for the text come from elsewhere."""

    def __init__(self, c: DFlashConfig) -> None:
        super().__init__()
        self.c, inner, kv = c, c.heads * c.head_width, c.kv_heads * c.head_width
        self.self_attn = nn.ModuleDict({
            "q_proj": nn.Linear(c.width, inner, bias=c.bias), "k_proj": nn.Linear(c.width, kv, bias=c.bias),
            "v_proj": nn.Linear(c.width, kv, bias=c.bias), "o_proj": nn.Linear(inner, c.width, bias=c.bias),
            "q_norm": Norm(c.head_width, c.epsilon), "k_norm": Norm(c.head_width, c.epsilon),
        })  # fmt: skip
        self.mlp = nn.ModuleDict({
            "gate_proj": nn.Linear(c.width, c.feed_forward, bias=False), "up_proj": nn.Linear(c.width, c.feed_forward, bias=False),
            "down_proj": nn.Linear(c.feed_forward, c.width, bias=False),
        })  # fmt: skip
        self.input_layernorm, self.post_attention_layernorm = Norm(c.width, c.epsilon), Norm(c.width, c.epsilon)

    def store(self, x: Tensor, table: Tensor, keys: Tensor, values: Tensor) -> None:
        """Keys and values of x [1, n, width] into keys, values [1, kv_heads, n, head_width]."""
        heads = (1, x.shape[1], self.c.kv_heads, self.c.head_width)
        keys.copy_(rotate(self.self_attn["k_norm"](self.self_attn["k_proj"](x).view(heads)), table).transpose(1, 2))
        values.copy_(self.self_attn["v_proj"](x).view(heads).transpose(1, 2))

    def forward(self, x: Tensor, table: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """x [1, n, width]; keys, values [1, kv_heads, S + n, head_width], whose last n rows are overwritten by the block's own."""
        n, normed = x.shape[1], self.input_layernorm(x)
        self.store(normed, table, keys[:, :, -n:], values[:, :, -n:])
        q = self.self_attn["q_proj"](normed).view(1, n, self.c.heads, self.c.head_width)
        x = x + self.self_attn["o_proj"](attend(rotate(self.self_attn["q_norm"](q), table), keys, values, None))
        y = self.post_attention_layernorm(x)
        return x + self.mlp["down_proj"](F.silu(self.mlp["gate_proj"](y)) * self.mlp["up_proj"](y))


class DFlash(nn.Module):
    """The published network: no embedding and no head of its own."""

    def __init__(self, c: DFlashConfig) -> None:
        super().__init__()
        self.c = c
        self.fc = nn.Linear(len(c.taps) * c.width, c.width, bias=False)
        self.hidden_norm, self.norm = Norm(c.width, c.epsilon), Norm(c.width, c.epsilon)
        self.layers = nn.ModuleList(DFlashLayer(c) for _ in range(c.layers))


class DFlashDenoiser:
    """Denoises behind the text that `verifier` (hub_verifier.py, with this network's `taps`) has read."""

    scale = 1.0

    def __init__(self, network: DFlash, verifier: Any, ids: Tensor) -> None:
        c, weight = network.c, network.fc.weight
        self.network, self.verifier, self.ids, self.vocabulary, self.most = network, verifier, ids, verifier.vocabulary, c.block - 1
        room = verifier.context + c.block
        self.cache = torch.zeros(c.layers, 2, 1, c.kv_heads, room, c.head_width, dtype=weight.dtype, device=weight.device)
        self.table = rotary_table(room, c.head_width, c.rope_base, weight.device).to(weight.dtype)[:, :, None]  # [2, T, 1, D]

    @torch.inference_mode()
    def start(self, context: Sequence[int]) -> None:
        """`context` must be what the verifier has read plus the anchor. Raises ValueError otherwise."""
        if len(context) != self.verifier.length + 1:
            raise ValueError(f"the verifier has read {self.verifier.length} tokens, the context has {len(context)} with its anchor")
        self.anchor = context[-1]
        first, hidden = self.verifier.fresh()
        if not len(hidden):
            return
        x = self.network.hidden_norm(self.network.fc(hidden[None].to(self.table)))
        rows = slice(first, first + len(hidden))
        for layer, (keys, values) in zip(self.network.layers, self.cache, strict=True):
            layer.store(x, self.table[:, rows], keys[:, :, rows], values[:, :, rows])

    @torch.inference_mode()
    def predict(self, canvas: Tensor, level: Tensor) -> Tensor:
        """canvas [γ] → logits [γ, K]; positions of the trained block behind γ stay masked. Raises ValueError when γ ≥ block."""
        c, start = self.network.c, self.verifier.length
        if len(canvas) > self.most:
            raise ValueError(f"this drafter fills at most {self.most} positions, not {len(canvas)}")
        tokens = self.ids.new_full((c.block,), c.mask_id)
        tokens[0] = self.anchor
        tokens[1 : len(canvas) + 1] = torch.where(canvas == MASKED, c.mask_id, self.ids[canvas.clamp(min=0)])
        x = (F.embedding(tokens.to(self.verifier.device), self.verifier.embedding) * c.embedding_scale)[None].to(self.table)
        for layer, (keys, values) in zip(self.network.layers, self.cache, strict=True):
            x = layer(x, self.table[:, start : start + c.block], keys[:, :, : start + c.block], values[:, :, : start + c.block])
        hidden = self.network.norm(x)[0, 1 : len(canvas) + 1]
        head = self.verifier.head.weight
        logits = self.verifier.head(hidden.to(head.device, self.verifier.dtype)).to(self.ids.device) * c.multiplier
        if c.softcap:
            logits = torch.tanh(logits / c.softcap) * c.softcap
        return logits[:, self.ids]
