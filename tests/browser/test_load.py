"""The short form of the load test: a class presses Run at once, on one decoder."""

from __future__ import annotations

from apart import run_async
from fake_pair import PATIENCE
from load import crowd

VISITORS = 24


def test_a_class_at_once_is_served_one_by_one_and_never_left_in_silence(app, fake):
    everyone = run_async(crowd(app, VISITORS, "Hello", 24))
    assert all(visitor.done for visitor in everyone)
    assert fake.worst == 1
    assert max(visitor.came[0] for visitor in everyone) < PATIENCE * 6
    assert max(visitor.worst_gap for visitor in everyone) < PATIENCE * 6
