"""Noise processes: forward rates by sampling, the uniform reverse step against Bayes' rule."""

import math
from itertools import pairwise

import pytest
import torch

from sdiff.noise import alpha, corrupt_masked, corrupt_uniform, grid, uniform_posterior
from sdiff.trace import MASKED

FALSE_ALARM = 1e-6  # two-sided, of every rate tested here, were the seed drawn afresh


def rate_is(count: int, n: int, p: float) -> bool:
    """Bernstein's bound: a binomial count leaves this band with probability below FALSE_ALARM, for every p and n."""
    log = math.log(2 / FALSE_ALARM)
    return abs(count - n * p) <= math.sqrt(2 * n * p * (1 - p) * log) + 2 * log / 3 if 0 < p < 1 else count == n * p


@pytest.mark.parametrize("steps", [1, 2, 3, 4, 7, 16])
def test_the_grid_runs_from_noise_to_clean(steps):
    times = grid(steps)
    assert (times[0], times[-1], len(times)) == (1.0, 0.0, steps + 1)
    assert all(t > s for t, s in pairwise(times))
    assert (alpha(1.0), alpha(0.0)) == (0.0, 1.0)


@pytest.mark.parametrize("t", [0.0, 0.25, 0.9, 1.0])
def test_forward_rates(t):
    n, size, clean = 200_000, 4, 2
    tokens = torch.full((n,), clean)
    masked = corrupt_masked(tokens, torch.tensor(t), torch.Generator().manual_seed(1))
    assert set(masked.tolist()) <= {clean, MASKED}
    assert rate_is(int((masked == MASKED).sum()), n, t)
    uniform = corrupt_uniform(tokens, torch.tensor(t), size, torch.Generator().manual_seed(2))
    for token in range(size):
        assert rate_is(int((uniform == token).sum()), n, t / size + (1 - t) * (token == clean))


def test_noise_levels_broadcast_over_positions():
    tokens = torch.arange(6).expand(50, 6)
    t = torch.tensor([0.0, 1.0, 0.0, 1.0, 1.0, 0.0])
    masked = corrupt_masked(tokens, t, torch.Generator().manual_seed(0))
    assert bool(((masked == MASKED) == t.bool()).all())
    uniform = corrupt_uniform(tokens, t, 6, torch.Generator().manual_seed(0))
    assert bool((uniform == tokens)[:, ~t.bool()].all())


def bayes(clean: list[float], z: int, t: float, s: float) -> list[float]:
    """P(x_s = y | x_t = z) from the forward process alone, x_0 ~ clean for the given z as UDLM's reverse step has it.

    Given x_0 it is Bayes' rule, q(y | x_0) q(z | y) / q(z | x_0). The step does not average that over x_0 ~ clean:
    it puts the vector `clean` where the formula has one-hot x_0, so that numerator and denominator are averaged apart.
    """
    size = len(clean)

    def forward(a: float, x: int, y: int) -> float:
        return a * (x == y) + (1 - a) / size

    at, as_ = 1 - t, 1 - s
    joint = [math.fsum(c * forward(as_, x, y) for x, c in enumerate(clean)) * forward(at / as_, y, z) for y in range(size)]
    return [w / math.fsum(joint) for w in joint]


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("steps", [1, 2, 3, 5])
def test_uniform_posterior_is_bayes_rule(size, steps):
    generator = torch.Generator().manual_seed(size)
    laws = torch.softmax(2 * torch.randn(4, size, generator=generator, dtype=torch.float64), -1)
    laws = torch.cat([laws, torch.eye(size, dtype=torch.float64)])  # certain predictions too: the true posterior
    times = grid(steps)
    for t, s in pairwise(times):
        for z in range(size):
            got = uniform_posterior(laws, torch.full((len(laws),), z), t, s)
            assert got.sum(-1).tolist() == pytest.approx([1] * len(laws), abs=1e-12)
            assert bool((got >= 0).all())
            for row, clean in zip(got.tolist(), laws.tolist()):
                assert row == pytest.approx(bayes(clean, z, t, s), abs=1e-12)


def test_the_last_posterior_is_not_the_predicted_law_but_pulled_to_the_current_token():
    clean, z = torch.tensor([[0.2, 0.3, 0.5]], dtype=torch.float64), torch.tensor([0])
    last = uniform_posterior(clean, z, 0.5, 0.0)
    assert float(last[0, 0]) > 0.3
    t = 0.5
    expected = 3 * (1 - t) * clean * torch.tensor([[1.0, 0, 0]]) + t * clean
    assert torch.allclose(last, expected / expected.sum())
    assert torch.allclose(uniform_posterior(clean, z, 1.0, 0.0), clean), "from pure noise the token says nothing"


def test_posterior_rows_do_not_mix():
    clean = torch.softmax(torch.randn(5, 4, generator=torch.Generator().manual_seed(3), dtype=torch.float64), -1)
    z = torch.tensor([3, 0, 1, 1, 2])
    whole = uniform_posterior(clean, z, 0.75, 0.5)
    for i in range(5):
        assert torch.equal(whole[i], uniform_posterior(clean[i : i + 1], z[i : i + 1], 0.75, 0.5)[0])
