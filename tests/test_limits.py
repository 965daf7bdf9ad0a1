"""Plain arithmetic against counts of the real thing."""

import pytest

from sdiff import limits
from sdiff.bench.doctor import advice, checkup
from sdiff.layers import Dimensions
from sdiff.verifier import Llama

D = Dimensions(width=24, heads=4, kv_heads=2, head_width=6, feed_forward=40, layers=3, vocabulary=61, rope_base=500.0, epsilon=1e-5)


def test_the_weights_of_a_pass_are_those_of_the_model():
    shape = {name: getattr(D, name) for name in limits.SIZES}
    assert limits.weight_bytes(**shape, bytes_each=4) == sum(4 * p.numel() for p in Llama(D).parameters())


def test_costs_and_ratios():
    assert limits.floor_ms(270_000_000, 27.0) == pytest.approx(10.0)
    assert limits.cycle_cost(6, 46, 2, 36) == pytest.approx(1.5)
    assert limits.speed_up(3.0, 1.5) == 2


FACTS = {"device": "cpu", "name": "a CPU", "dtype": "float32", "threads": 1, "compiled": False, "load": 0.5, "torch": "2", "transformers": "5",
         "weight_bytes": 500_000_000, "gigabytes_per_second": 25.0}  # fmt: skip
STATS = {"cycles": 10, "ms": {"draft": 60.0, "verify": 300.0, "examine": 40.0}}


def test_a_checkup_sets_what_is_measured_beside_what_is_possible():
    found = checkup(FACTS, 25.0, STATS)
    assert (found["floor_ms"], found["mbu"], found["step_ms"], found["verify_ms"]) == (20.0, 0.8, 6.0, 30.0)
    assert found["cycle_cost"] == pytest.approx(40 / 25)
    assert found["step_cost_ratio"] == 0.2
    assert advice(found) == ["Nothing stands out."]


def test_a_checkup_says_what_to_do():
    says = " ".join(advice(checkup({**FACTS, "load": 5.0}, 60.0, {**STATS, "ms": {"draft": 600.0, "verify": 900.0, "examine": 40.0}})))
    for words in ("load average is 5", "--threads", "costs 2.6 plain tokens"):
        assert words in says
