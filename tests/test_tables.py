"""Tables of Proposition 2 kept in memory: what is known, and what is refused, waits for nobody."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from sdiff import toys
from sdiff.exactness import Setting
from sdiff.request import RequestError

SMALL = Setting(2, 1, 1, noise="masked", proposal="monotone")


def test_a_known_table_and_a_refusal_do_not_wait_for_one_that_is_computed():
    known = toys.enumerated(SMALL)
    with ThreadPoolExecutor(1) as pool, toys._computing:
        assert pool.submit(toys.enumerated, SMALL).result(timeout=30) is known
        with pytest.raises(RequestError, match="Too much to enumerate"):
            pool.submit(toys.enumerated, Setting(4, 3, 3)).result(timeout=30)


def test_the_oldest_table_goes_first(monkeypatch):
    monkeypatch.setattr(toys, "_tables", {})
    monkeypatch.setattr(toys, "MOST_TABLES", 2)
    settings = [Setting(2, 1, 1, noise="masked", proposal="monotone", seed=seed) for seed in range(3)]
    for setting in settings:
        toys.enumerated(setting)
    assert list(toys._tables) == settings[1:]
