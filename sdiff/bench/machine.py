"""What is true of every row of a run: the machine, and what it could do at best."""

from __future__ import annotations

import datetime
import time
from typing import Any

import torch

from sdiff.bench.settings import SEED
from sdiff.limits import SIZES, weight_bytes
from sdiff.pairs import Pair, machine


def where(pair: Pair, scale: float) -> dict[str, Any]:
    """What is true of every row of a run, with what the machine could do at best."""
    verifier = pair.verifier
    shape = {name: getattr(verifier.d, name) for name in SIZES}
    return {
        **machine(verifier.device, verifier.embedding.dtype), "compiled": pair.compiled, "date": datetime.date.today().isoformat(), "seed": SEED, "temperature": scale,
        "weight_bytes": weight_bytes(**shape, bytes_each=verifier.embedding.element_size()), "gigabytes_per_second": read_speed(verifier.device),
    }  # fmt: skip


def read_speed(device: torch.device, megabytes: int = 512) -> float:
    """GB/s at which a large array is read once, the best of five: the bandwidth that bounds a forward pass of one row."""
    numbers = torch.zeros(megabytes * 2**18, device=device)  # far beyond any cache
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        float(numbers.sum())
        best = min(best, time.perf_counter() - start)
    return round(numbers.nbytes / best / 1e9, 2)
