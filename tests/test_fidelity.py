"""The closed form of what a rule emits against the enumerated production code."""

from __future__ import annotations

import pytest
import torch

from sdiff.acceptance import make_rule, total_variation
from sdiff.fidelity import divergence
from sdiff.request import RULES
from sdiff.sampling import Shape
from sdiff.theory import emitted_law


def laws(seed: int, size: int = 5) -> tuple[torch.Tensor, torch.Tensor]:
    """Two random laws of float64; the drafter's has a token it never drafts."""
    p, q = torch.rand(2, size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).pow(3)
    q[seed % size] = 0
    return p / p.sum(), q / q.sum()


@pytest.mark.parametrize("leniency", [0.0, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("name", RULES)
def test_the_closed_form_is_what_the_code_emits(name, leniency):
    rule = make_rule(name, leniency)
    pairs = [laws(seed) for seed in range(20)]
    tv, kl = divergence(torch.stack([p for p, _ in pairs]), torch.stack([q for _, q in pairs]), rule)
    for (p, q), mine, nats in zip(pairs, tv.tolist(), kl.tolist(), strict=True):
        o, _ = emitted_law(p, q, rule)
        assert mine == pytest.approx(float(total_variation(o[None], p[None])), abs=1e-9)
        if not name.startswith("cactus"):
            assert nats == pytest.approx(float(torch.special.xlogy(o, o / p).sum()), abs=1e-9)


@pytest.mark.parametrize("leniency", [0.2, 0.7])
def test_at_temperature_0_too(leniency):
    logits = torch.randn(12, 5, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    p, unit = Shape(0.0).laws(logits)
    q = torch.stack([laws(seed)[1] for seed in range(12)])
    rule = make_rule("lenience", leniency)
    tv, _ = divergence(p, q, rule, unit)
    for i in range(12):
        o, _ = emitted_law(p[i], q[i], rule, unit[i])
        assert float(tv[i]) == pytest.approx(float(total_variation(o[None], p[i : i + 1])), abs=1e-9)


def test_equal_laws_and_no_rows_are_at_no_distance():
    p, _ = laws(1)
    for name in RULES:
        tv, kl = divergence(p[None], p[None], make_rule(name, 0.0))
        assert float(tv) == pytest.approx(0, abs=1e-12)
        assert name.startswith("cactus") or float(kl) == pytest.approx(0, abs=1e-12)
    assert [len(part) for part in divergence(torch.zeros(0, 5), torch.zeros(0, 5), make_rule("tv", 0.5))] == [0, 0]
