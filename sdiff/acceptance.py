"""Acceptance rules as pure functions of laws, and `examine`, which flips the coins. Refuses to know models.

p is the verifier's law, q the law the drafter really drew from, f the law the rule aims at. A draft x is kept iff u·q(x) < f(x); at the
first refusal one token is drawn from the rule's residual. **The residual is part of the rule.** A zero row appended to q turns the free
token behind a fully kept block into the same formula: every residual at q = 0 is p. Shapes: p, q [n, V]; x [n]; targets [n] float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from sdiff.request import RULES
from sdiff.sampling import Dice


class Rule(Protocol):
    """`unit` is the verifier's law at temperature 1, given only when p is the argmax (temperature 0)."""

    def target(self, p: Tensor, q: Tensor, x: Tensor, unit: Tensor | None) -> Tensor: ...

    def residual(self, p: Tensor, q: Tensor, x: Tensor) -> Tensor: ...


def at(law: Tensor, x: Tensor) -> Tensor:
    """law[i, x[i]] as float64, [n]."""
    return law.gather(-1, x[:, None]).squeeze(-1).double()


def total_variation(p: Tensor, q: Tensor) -> Tensor:
    """TV(p, q) = ½ Σ|p − q| per row, float64 [n]; exact 0 for equal rows, never above 1."""
    return ((p - q).abs().sum(-1, dtype=torch.float64) / 2).clamp(max=1.0)


@dataclass(frozen=True)
class Lossless:
    """f = p. Leviathan 2211.17192, Chen 2302.01318."""

    def target(self, p: Tensor, q: Tensor, x: Tensor, unit: Tensor | None = None) -> Tensor:
        return at(p, x)

    def residual(self, p: Tensor, q: Tensor, x: Tensor) -> Tensor:
        return (p - q).clamp(min=0)


@dataclass(frozen=True)
class Interpolation(Lossless):
    """f = (1−λ)p + λq: the best acceptance for a given TV(o, p) (Theorem 1; Yin 2411.00841)."""

    leniency: float

    def target(self, p: Tensor, q: Tensor, x: Tensor, unit: Tensor | None = None) -> Tensor:
        return (1 - self.leniency) * at(p, x) + self.leniency * at(q, x)


@dataclass(frozen=True)
class Budget(Lossless):
    """Interpolation that spends at most ε of TV on each token: λ = min(1, ε / TV(p, q))."""

    epsilon: float

    def target(self, p: Tensor, q: Tensor, x: Tensor, unit: Tensor | None = None) -> Tensor:
        leniency = (self.epsilon / total_variation(p, q)).nan_to_num(nan=0.0).clamp(max=1.0)  # 0/0: p = q anyway
        return (1 - leniency) * at(p, x) + leniency * at(q, x)


@dataclass(frozen=True)
class Lenience(Lossless):
    """f = min(1, p/ℓ), Leviathan appendix A.5. The residual stays (p−q)₊: (p−ℓq)₊ would leave the Theorem 1 line.

    At temperature 0: keep x iff p₁(x) ≥ ℓ·max p₁, with p₁ the law at temperature 1.
    """

    ell: float

    def target(self, p: Tensor, q: Tensor, x: Tensor, unit: Tensor | None = None) -> Tensor:
        f = (at(p, x) / self.ell).clamp(max=1.0) if self.ell else torch.ones_like(at(p, x))
        if unit is None or self.ell == 1:
            return f
        return torch.where(at(unit, x) >= self.ell * unit.amax(-1).double(), 1.0, f)


@dataclass(frozen=True)
class Cactus:
    """A KL budget δ per token (2604.04987): x is raised to g ≥ p(x), the rest of p scaled by (1−g)/(1−p(x)).

    Closed form g = min(1, p + √(2δp(1−p))), a second-order expansion; `exact` solves KL(g‖p) = δ of the two-way
    split instead. A token the drafter cannot have drawn (q = 0) earns no leniency; p(x) = 0 is always refused.
    """

    delta: float
    exact: bool = False

    def target(self, p: Tensor, q: Tensor, x: Tensor, unit: Tensor | None = None) -> Tensor:
        px = at(p, x)
        spread = (2 * self.delta * px * (1 - px)).nan_to_num(nan=0.0).sqrt()  # ∞·0 where p(x) is 0 or 1
        raised = _bernoulli_kl_ball(px, self.delta) if self.exact else px + spread
        return torch.where(at(q, x) > 0, raised.clamp(max=1.0), px)

    def residual(self, p: Tensor, q: Tensor, x: Tensor) -> Tensor:
        px, g = at(p, x), self.target(p, q, x)
        rest = torch.where(px < 1, (1 - g) / (1 - px), 1.0)
        f = (p * rest[:, None].to(p.dtype)).scatter(-1, x[:, None], g[:, None].to(p.dtype))
        return (f - q).clamp(min=0)


def _bernoulli_kl_ball(p: Tensor, delta: float) -> Tensor:
    """Largest g in [p, 1] with KL(Bernoulli(g) ‖ Bernoulli(p)) ≤ δ, by bisection to float64 precision."""

    def kl(g: Tensor) -> Tensor:
        return torch.special.xlogy(g, g / p) + torch.special.xlogy(1 - g, (1 - g) / (1 - p))

    low, high = p.clone(), torch.ones_like(p)
    if delta == 0:
        return low
    for _ in range(60):
        middle = (low + high) / 2
        inside = kl(middle) <= delta
        low, high = torch.where(inside, middle, low), torch.where(inside, high, middle)
    return torch.where((p > 0) & (p < 1), torch.where(kl(torch.ones_like(p)) <= delta, 1.0, low), p)


@dataclass(frozen=True)
class Typical:
    """Keep x iff p(x) > min(ε, α·e^{−H(p)}) (Medusa 2401.10774). Off the Theorem 1 line; residual p."""

    epsilon: float
    alpha: float

    def target(self, p: Tensor, q: Tensor, x: Tensor, unit: Tensor | None = None) -> Tensor:
        entropy = -torch.special.xlogy(p, p).sum(-1, dtype=torch.float64)
        bar = (self.alpha * (-entropy).exp()).clamp(max=self.epsilon)
        return torch.where(at(p, x) > bar, at(q, x), 0.0)

    def residual(self, p: Tensor, q: Tensor, x: Tensor) -> Tensor:
        return p


@dataclass(frozen=True)
class TopK:
    """Keep x iff it is among the verifier's k likeliest (at temperature 0: by p₁). Off the Theorem 1 line; residual p."""

    k: int

    def target(self, p: Tensor, q: Tensor, x: Tensor, unit: Tensor | None = None) -> Tensor:
        law = p if unit is None else unit
        likelier = (law > law.gather(-1, x[:, None])).sum(-1)
        return torch.where((likelier < self.k) & (at(law, x) > 0), at(q, x), 0.0)  # what cannot occur is nobody's choice

    def residual(self, p: Tensor, q: Tensor, x: Tensor) -> Tensor:
        return p


def make_rule(name: str, leniency: float) -> Rule:
    """The rule called `name` with its native knob set from the leniency slider (request.RULES)."""
    knob = RULES[name].value(leniency)
    if name == "lossless" or (leniency == 0 and name in ("typical", "top_k")):
        return Lossless()  # the strict end of the threshold rules keeps nothing: the same law, needlessly slowly
    return {
        "tv": lambda: Interpolation(knob),
        "tv_budget": lambda: Budget(knob),
        "lenience": lambda: Lenience(knob),
        "cactus": lambda: Cactus(knob),
        "cactus_exact": lambda: Cactus(knob, exact=True),
        "typical": lambda: Typical(knob, knob**0.5),
        "top_k": lambda: TopK(int(knob)),
    }[name]()


@dataclass(frozen=True)
class Examination:
    """`accepted` [] drafts, then the token `extra` [1], with p of it and the law it was drawn from, float64 [1]; per draft the numbers the
    verdicts are made of: p(x), q(x), f(x), u, float64 [γ, 4]. All still where the laws are: nothing here waits for a device."""

    accepted: Tensor
    extra: Tensor
    extra_p: Tensor
    extra_law: Tensor
    rows: Tensor


def examine(p: Tensor, q: Tensor, x: Tensor, rule: Rule, dice: Dice, unit: Tensor | None = None) -> Examination:
    """Examine drafts left to right and draw the token that follows them.

    p [γ+1, V] verifier laws; q [γ+1, V] laws the drafts x [γ] were drawn from, last row zero; unit [γ+1, V]: see `Rule`.
    All γ coins are drawn whatever happens, so a seed meets the same coins at every leniency until the first flip.
    """
    n = len(x)
    f, qx = rule.target(p[:n], q[:n], x, None if unit is None else unit[:n]), at(q[:n], x)
    u = dice.coins(f, qx)
    accepted = (u * qx < f).long().cumprod(0).sum()
    last = accepted[None]  # the row behind the kept drafts
    p_last, x_last = p.index_select(0, last), torch.nn.functional.pad(x, (0, 1)).index_select(0, last)
    residual, whole = rule.residual(p_last, q.index_select(0, last), x_last).double(), p_last.double()
    weights = torch.where(residual.sum() > 0, residual, whole)  # p = q up to rounding: refusing was a rounding accident, p is the residual
    extra = dice.draw(weights)
    return Examination(accepted, extra, at(p_last, extra), at(weights, extra) / weights.sum(), torch.stack([at(p[:n], x), qx, f, u], -1))
