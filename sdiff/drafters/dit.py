"""The small diffusion transformer of MDLM (2406.07524) and Duo (2506.10892), which read and write GPT-2's tokens. Refuses to know proposals.

Bidirectional attention over the whole text, rotary positions, and layers modulated by one noise level σ = −log α for all positions. Tensor
names are those of the published checkpoints behind their "backbone." prefix, so that a state dictionary loads as it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sdiff.layers import attend, rotary_table, rotate
from sdiff.sampling import upload
from sdiff.trace import MASKED

LEAST = 1e-3  # α at t = 1 in training: log-linear, α = 1 − (1 − LEAST)·t


@dataclass(frozen=True)
class DiTConfig:
    """Sizes in floats, heads, layers and tokens. `timed`: the noise level is an input (Duo), or always taken as 0 (MDLM)."""

    width: int
    heads: int
    layers: int
    condition: int
    vocabulary: int
    length: int
    timed: bool

    @classmethod
    def read(cls, raw: dict[str, Any]) -> DiTConfig:
        """From a published config.json. Raises ValueError for the causal variants."""
        if raw.get("causal"):
            raise ValueError("it is the autoregressive variant of the network, not a diffusion model")
        kind = raw.get("model_type", "").lower()
        if kind not in ("mdlm", "duo"):
            raise ValueError(f"its family is {raw.get('model_type')!r}, not mdlm or duo")
        return cls(width=raw["hidden_dim"], heads=raw["n_heads"], layers=raw["n_blocks"], condition=raw["cond_dim"], vocabulary=raw["vocab_size"],
                   length=raw["model_length"], timed=bool(raw.get("time_conditioning", kind == "duo")))  # fmt: skip


class Norm(nn.Module):
    """Layer norm without bias, in float32."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x.float(), x.shape[-1:]).to(x.dtype) * self.weight


class Block(nn.Module):
    """Attention and feed-forward, each shifted, scaled and gated by the noise level (adaLN, 2212.09748)."""

    def __init__(self, c: DiTConfig) -> None:
        super().__init__()
        self.heads = c.heads
        self.norm1, self.norm2 = Norm(c.width), Norm(c.width)
        self.attn_qkv, self.attn_out = nn.Linear(c.width, 3 * c.width, bias=False), nn.Linear(c.width, c.width, bias=False)
        self.mlp = nn.Sequential(nn.Linear(c.width, 4 * c.width), nn.GELU(approximate="tanh"), nn.Linear(4 * c.width, c.width))
        self.adaLN_modulation = nn.Linear(c.condition, 6 * c.width)

    def forward(self, x: Tensor, table: Tensor, condition: Tensor) -> Tensor:
        """x [1, T, width]; table [2, T, 1, D]; condition [1, condition]."""
        shift_a, scale_a, gate_a, shift_m, scale_m, gate_m = self.adaLN_modulation(condition)[:, None].chunk(6, -1)
        q, k, v = self.attn_qkv(self.norm1(x) * (1 + scale_a) + shift_a).view(1, x.shape[1], 3, self.heads, -1).unbind(2)
        attended = attend(rotate(q, table), rotate(k, table).transpose(1, 2), v.transpose(1, 2), None)
        x = x + gate_a * self.attn_out(attended)
        return x + gate_m * self.mlp(self.norm2(x) * (1 + scale_m) + shift_m)


class DiT(nn.Module):
    """From noisy tokens and a noise level to logits of the clean tokens."""

    def __init__(self, c: DiTConfig) -> None:
        super().__init__()
        self.c = c
        self.vocab_embed = nn.ParameterDict({"embedding": nn.Parameter(torch.zeros(c.vocabulary, c.width))})
        self.sigma_map = nn.ModuleDict({"mlp": nn.Sequential(nn.Linear(256, c.condition), nn.SiLU(), nn.Linear(c.condition, c.condition))})
        self.blocks = nn.ModuleList(Block(c) for _ in range(c.layers))
        self.output_layer = nn.ModuleDict({"norm_final": Norm(c.width), "linear": nn.Linear(c.width, c.vocabulary),
                                           "adaLN_modulation": nn.Linear(c.condition, 2 * c.width)})  # fmt: skip

    def forward(self, tokens: Tensor, sigma: float | Tensor, rows: int) -> Tensor:
        """tokens [T], σ → logits [rows, vocabulary] of the last `rows` positions."""
        weight = self.vocab_embed["embedding"]
        angles = sigma * torch.exp(-math.log(10_000) * torch.arange(128, device=weight.device) / 128)
        condition = F.silu(self.sigma_map["mlp"](torch.cat([angles.cos(), angles.sin()])[None].to(weight.dtype)))
        table = rotary_table(len(tokens), self.c.width // self.c.heads, 10_000.0, weight.device).to(weight.dtype)[:, :, None]
        x = weight[tokens][None]
        for block in self.blocks:
            x = block(x, table, condition)
        shift, scale = self.output_layer["adaLN_modulation"](condition)[:, None].chunk(2, -1)
        return self.output_layer["linear"](self.output_layer["norm_final"](x[:, -rows:]) * (1 + scale) + shift)[0]


def tensors_of(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """A published state dictionary without its prefix and the rotary frequencies, which are computed here."""
    return {name.removeprefix("backbone."): t for name, t in tensors.items() if not name.endswith("rotary_emb.inv_freq")}


class DiTDenoiser:
    """Denoises the end of a text of at most the network's length; of longer ones it sees the last part.

    Such a network is told one noise level for the whole text: here the share of its positions that is noise, because the context is clean
    and only the block is not.
    """

    scale = 1.0

    def __init__(self, network: DiT, ids: Tensor, vocabulary: int, mask_id: int) -> None:
        self.network, self.ids, self.vocabulary, self.mask_id = network, ids, vocabulary, mask_id

    def start(self, context: Sequence[int]) -> None:
        self.context = upload(context, self.ids.device)

    @torch.inference_mode()
    def predict(self, canvas: Tensor, level: Tensor) -> Tensor:
        """canvas [γ], level [γ] → logits [γ, K]."""
        c = self.network.c
        drafts = torch.where(canvas == MASKED, self.mask_id, self.ids[canvas.clamp(min=0)])
        tokens = torch.cat([self.context[-(c.length - len(drafts)) :], drafts])
        noisy = level.sum().double() / len(tokens)
        sigma = -torch.log1p(-(1 - LEAST) * noisy) if c.timed else 0.0
        return self.network(tokens, sigma, len(drafts))[:, self.ids]
