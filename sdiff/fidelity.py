"""How far what a rule emits is from the verifier's law, computed from the laws: no sampling noise. Refuses to know runs."""

from __future__ import annotations

import torch
from torch import Tensor

from sdiff.acceptance import Budget, Cactus, Interpolation, Rule, at, total_variation


def divergence(p: Tensor, q: Tensor, rule: Rule, unit: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """TV(o, p) and KL(o‖p) in nat, float64 [n] each, of the law o that `rule` emits where x ~ q is examined against p [n, V]; the KL
    is infinite where o reaches beyond the support of p.

    o = min(q, f) + P(reject)·residual. The residual of `Cactus` depends on x: there TV(o, p) = TV(p, q) − P(reject) is used, which
    Theorem 1 gives for it, and the KL is NaN.
    """
    distance = total_variation(p, q)
    rows = [_row(p[i : i + 1], q[i : i + 1], rule, None if unit is None else unit[i : i + 1], float(distance[i])) for i in range(len(p))]
    tv, kl = torch.tensor(rows, dtype=torch.float64).view(-1, 2).unbind(-1)
    return tv.clamp(0, 1), kl


def _row(p: Tensor, q: Tensor, rule: Rule, unit: Tensor | None, distance: float) -> tuple[float, float]:
    if isinstance(rule, Budget):  # the same law; its own `target` would measure the distance once per token
        rule = Interpolation(min(1.0, rule.epsilon / distance) if distance else 0.0)
    x = (q[0] > 0).nonzero()[:, 0]  # what may have been drafted
    wide = lambda law, tokens: None if law is None else law.expand(len(tokens), -1)  # noqa: E731
    parts = []
    for some in x.split(256):  # rules that look at whole rows would need one row for each token
        parts.append(torch.minimum(rule.target(*(wide(law, some) for law in (p, q)), some, wide(unit, some)), at(wide(q, some), some)))
    kept = torch.cat(parts)
    refused = max(0.0, 1 - float(kept.sum()) / float(q.sum(dtype=torch.float64)))
    if isinstance(rule, Cactus):
        return distance - refused, float("nan")
    rest = rule.residual(p, q, x[:1])[0].double()
    o = (rest * (refused / max(float(rest.sum()), 1e-300))).index_add(0, x, kept)
    o, base = o / o.sum(), p[0].double()
    return float(total_variation(o[None], base[None])), float(torch.where(o > 0, o * (o / base).log(), 0.0).sum())
