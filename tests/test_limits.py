"""Plain arithmetic against counts of the real thing."""

import dataclasses

import pytest

from sdiff import limits
from sdiff.layers import Dimensions
from sdiff.verifier import Llama

D = Dimensions(width=24, heads=4, kv_heads=2, head_width=6, feed_forward=40, layers=3, vocabulary=61, rope_base=500.0, epsilon=1e-5)


def test_the_weights_of_a_pass_are_those_of_the_model():
    shape = {k: v for k, v in dataclasses.asdict(D).items() if k not in ("rope_base", "epsilon")}
    assert limits.weight_bytes(**shape, bytes_each=4) == sum(4 * p.numel() for p in Llama(D).parameters())


def test_costs_and_ratios():
    assert limits.floor_ms(270_000_000, 27.0) == pytest.approx(10.0)
    assert limits.cycle_cost(6, 46, 2, 36) == pytest.approx(1.5)
    assert limits.speed_up(3.0, 1.5) == 2
