"""From logits to laws to tokens. Knows temperature, top-k, top-p and one categorical draw; refuses to know models.

All randomness of a decode goes through one `Dice` object, so a run is a function of its seed, two runs never
share state, and the tests can replace the dice by one that enumerates every outcome of the very same code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


def upload(numbers: Any, device: torch.device) -> Tensor:
    """Whole numbers as int64 on `device`, without waiting for what it computes: pageable memory is staged, so the host goes on at once."""
    return torch.tensor(numbers, dtype=torch.int64).to(device, non_blocking=True)


class NonFiniteLogits(ArithmeticError):
    """A model returned NaN or +∞."""

    def __init__(self) -> None:
        super().__init__("the model returned numbers that are not finite")


def finite(laws: Tensor) -> Tensor:
    """Are these rows laws? bool [], on their device: to be read together with what was drawn from them, and then to be raised about."""
    return torch.isfinite(laws.sum())


@dataclass(frozen=True)
class Shape:
    """Temperature, then top-k, then top-p, each renormalised. Temperature 0 is the argmax (first of equals)."""

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0

    def law(self, logits: Tensor, scale: float = 1.0) -> Tensor:
        """Logits [n, V] to probabilities [n, V] in float32 (float64 stays). `scale` multiplies the logits.

        −∞ is a valid logit: a token that cannot occur. A row with NaN or +∞, or without any finite logit, becomes a row that is not
        `finite`; nothing is raised here, because asking would make the host wait for the device.
        """
        logits = logits if logits.dtype == torch.float64 else logits.float()
        if self.temperature == 0:
            best, first = logits.max(-1, keepdim=True)  # NaN propagates through max
            return torch.zeros_like(logits).scatter_(-1, first, torch.where(torch.isfinite(best), 1.0, torch.nan).to(logits.dtype))
        law = torch.softmax(logits * (scale / max(self.temperature, 1e-9)), -1)  # below 1e-9 the product would overflow
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

    ready = torch.zeros(0, dtype=torch.float64)  # drawn and not yet used, on the device that uses them

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)

    def uniform(self, n: int) -> Tensor:
        """n numbers in [0, 1), float64, on the CPU."""
        return torch.rand(n, generator=self.generator, dtype=torch.float64)

    def fill(self, n: int, device: torch.device) -> None:
        """Have at least n numbers ready on `device`, in one upload. Which number goes where does not depend on it: they come in one order."""
        left = self.ready.to(device)
        if n > len(left):
            fresh = self.uniform(n - len(left)).to(device, non_blocking=True)  # as in `upload`
            self.ready = torch.cat([left, fresh]) if len(left) else fresh

    def take(self, n: int, device: torch.device) -> Tensor:
        """The next n numbers, on `device`."""
        if n > len(self.ready) or self.ready.device != device:
            self.fill(n, device)
        taken, self.ready = self.ready[:n], self.ready[n:]
        return taken

    def coins(self, f: Tensor, q: Tensor) -> Tensor:
        """One coin per drafted token [γ]; the token is kept iff u·q < f. The odds are given for enumeration only."""
        return self.take(len(f), f.device)

    def draw(self, weights: Tensor) -> Tensor:
        """One index per row of unnormalised weights [n, K], independently, by inverse CDF in float64. → [n]

        Some index, where a row has NaN.
        """
        cdf = weights.double().cumsum(-1)  # float32 Gumbel noise would quietly lower the temperature
        u = self.take(len(weights), weights.device)[:, None] * cdf[:, -1:]
        # right=True never selects a leading zero weight; the clamp guards u·total rounding up to the total
        return torch.searchsorted(cdf, u, right=True).squeeze(-1).minimum(_last_positive(cdf))


def _last_positive(cdf: Tensor) -> Tensor:
    """Index of the last entry with positive weight in each row: the first one where the CDF reaches its total."""
    found = torch.searchsorted(cdf, cdf[:, -1:].contiguous(), right=False).squeeze(-1)
    return found.clamp(max=cdf.shape[-1] - 1)  # NaN is reached nowhere
