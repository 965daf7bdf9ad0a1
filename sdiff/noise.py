"""The two corruption processes of discrete diffusion. Knows α(t), forward noise and one reverse step; refuses to know models.

α_t is the probability that a token is still clean at time t: log-linear, α_t = 1 − t. Time runs from 1 (noise) to 0.
Masked: MDLM (2406.07524). Uniform: UDLM (Schiff 2024), Duo (2506.10892).
"""

from __future__ import annotations

import torch
from torch import Tensor

from sdiff.trace import MASKED


def alpha(t: float | Tensor) -> float | Tensor:
    """Probability that a token is still clean at time t."""
    return 1 - t


def grid(steps: int) -> list[float]:
    """Times t_0 = 1 > … > t_S = 0 of S denoising steps."""
    return [1 - i / steps for i in range(steps + 1)]


def corrupt_masked(tokens: Tensor, t: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """Forward q(x_t | x_0): each token becomes `MASKED` with probability 1 − α_t. Shapes broadcast."""
    noisy = torch.rand(tokens.shape, generator=generator).to(tokens.device) >= alpha(t)
    return torch.where(noisy, MASKED, tokens)


def corrupt_uniform(tokens: Tensor, t: Tensor, size: int, generator: torch.Generator | None = None) -> Tensor:
    """Forward q(x_t | x_0): with probability 1 − α_t a token is redrawn uniformly from `size` (itself included)."""
    noisy = torch.rand(tokens.shape, generator=generator).to(tokens.device) >= alpha(t)
    fresh = torch.randint(size, tokens.shape, generator=generator).to(tokens.device)
    return torch.where(noisy, fresh, tokens)


def uniform_posterior(clean: Tensor, current: Tensor, t: float, s: float) -> Tensor:
    """Reverse step t → s of uniform noise: law of the token at s. clean x [n, K], current z [n] → [n, K].

    ∝ K·α_t·x⊙e_z + (a−α_t)·e_z + (α_s−α_t)·x + (1−a)(1−α_s)/K with a = α_t/α_s and normaliser
    K·α_t·x[z] + 1 − α_t (UDLM eq. 13). At s = 0 this is *not* x: the token's own earlier value pulls on it.
    """
    size = clean.shape[-1]
    at, as_ = float(alpha(t)), float(alpha(s))
    a = at / as_
    own = clean.gather(-1, current[:, None])  # [n, 1]
    law = (as_ - at) * clean + (1 - a) * (1 - as_) / size
    law = law.scatter_add(-1, current[:, None], size * at * own + (a - at))
    return law / (size * at * own + 1 - at)
