"""From logits to laws to tokens. Knows temperature, top-k, top-p and one categorical draw; refuses to know models.

All randomness of a decode goes through one `Dice` object, so a run is a function of its seed, two runs never
share state, and the tests can replace the dice by one that enumerates every outcome of the very same code.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


class NonFiniteLogits(ArithmeticError):
    """A model returned NaN or +∞."""


@dataclass(frozen=True)
class Shape:
    """Temperature, then top-k, then top-p, each renormalised. Temperature 0 is the argmax (first of equals)."""

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0

    def law(self, logits: Tensor, scale: float = 1.0) -> Tensor:
        """Logits [n, V] to probabilities [n, V] in float32 (float64 stays). `scale` multiplies the logits.

        Raises NonFiniteLogits. −∞ is a valid logit: a token that cannot occur.
        """
        logits = logits if logits.dtype == torch.float64 else logits.float()
        if self.temperature == 0:
            if not bool(torch.isfinite(logits.amax(-1)).all()):  # NaN propagates through amax
                raise NonFiniteLogits("the model returned numbers that are not finite")
            return torch.zeros_like(logits).scatter_(-1, logits.argmax(-1, keepdim=True), 1.0)
        law = torch.softmax(logits * (scale / max(self.temperature, 1e-9)), -1)  # below 1e-9 the product would overflow
        if not bool(torch.isfinite(law.sum())):
            raise NonFiniteLogits("the model returned numbers that are not finite")
        if 0 < self.top_k < law.shape[-1]:
            kept = law.topk(self.top_k, -1)
            law = torch.zeros_like(law).scatter_(-1, kept.indices, kept.values)
            law = law / law.sum(-1, keepdim=True)
        if self.top_p < 1:
            values, order = law.sort(dim=-1, descending=True, stable=True)
            values = values * (values.cumsum(-1) - values < self.top_p)  # keep until the mass before x reaches top-p
            law = torch.zeros_like(law).scatter_(-1, order, values)
            law = law / law.sum(-1, keepdim=True)
        return law

    def laws(self, logits: Tensor) -> tuple[Tensor, Tensor | None]:
        """The law, and at temperature 0 also the law at temperature 1, which the rule `lenience` needs."""
        return self.law(logits), Shape().law(logits) if self.temperature == 0 else None


class Dice:
    """The random numbers of one decode: float64 uniforms from an explicit CPU generator (same on every device)."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)

    def uniform(self, n: int) -> Tensor:
        """n numbers in [0, 1), float64, on the CPU."""
        return torch.rand(n, generator=self.generator, dtype=torch.float64)

    def coins(self, f: Tensor, q: Tensor) -> Tensor:
        """One coin per drafted token [γ]; the token is kept iff u·q < f. The odds are given for enumeration only."""
        return self.uniform(len(f)).to(f.device)

    def draw(self, weights: Tensor) -> Tensor:
        """One index per row of unnormalised weights [n, K], independently, by inverse CDF in float64. → [n]"""
        cdf = weights.double().cumsum(-1)  # float32 Gumbel noise would quietly lower the temperature
        u = self.uniform(len(weights)).to(weights.device)[:, None] * cdf[:, -1:]
        # right=True never selects a leading zero weight; the clamp guards u·total rounding up to the total
        return torch.searchsorted(cdf, u, right=True).squeeze(-1).clamp(max=_last_positive(cdf))


def _last_positive(cdf: Tensor) -> Tensor:
    """Index of the last entry with positive weight in each row: the first one where the CDF reaches its total."""
    return torch.searchsorted(cdf, cdf[:, -1:].contiguous(), right=False).squeeze(-1)
