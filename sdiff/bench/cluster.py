"""The quality pass on many machines at once: Ray (1712.05889) hands slices to workers, this process alone writes rows. Refuses to know models.

Only quality: its laws are the same everywhere, while timings belong to one machine and are taken there.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdiff.bench.store import Store
from sdiff.bench.sweep import Clock, Say, Stages, keep, slices
from sdiff.fetch import PairError

if TYPE_CHECKING:
    from sdiff.bench.quality import Bench

ROOT = Path(__file__).parents[2]
LEFT_AT_HOME = [".git", "tests", "precomputed/pictures", "precomputed/recorded", "precomputed/corpus", "precomputed/frontier"]
MOST_LOSSES = 3  # of workers, one after the other, without a slice between them

Make = Callable[[], tuple["Bench", dict[str, Any]]]  # runs on a worker → what decodes, and what is true of its rows


class _Worker:
    """On one machine of the cluster: models that stay loaded."""

    def __init__(self, make: Make) -> None:
        self.bench, self.where = make()

    def about(self) -> dict[str, Any]:
        return self.where

    def outcomes(self, setting: Any, problems: range) -> tuple[list[Any], float]:
        """What the problems gave, and the seconds it took."""
        start = time.monotonic()
        return list(self.bench.outcomes(setting, problems)), time.monotonic() - start


def join(address: str) -> None:
    """Join the cluster at `address`, as `ray.init` reads it ("local": a new one on this machine). Raises PairError in words."""
    try:
        import ray
    except ImportError:
        raise PairError("Sharing a sweep needs one more package on every machine: pip install ray==2.60.0") from None
    try:
        ray.init(
            address=address, runtime_env={"working_dir": str(ROOT), "excludes": LEFT_AT_HOME}, log_to_driver=False, include_dashboard=False if address == "local" else None,
        )  # fmt: skip
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise PairError(
            f"There is no Ray cluster at {address!r} ({str(error).splitlines()[0]}). Start one with `ray start --head`."
        ) from None


def measure_quality(
    make: Make, cores: int, store: Store, models: dict[str, str], seen: dict[str, Any], stages: Stages, clock: Clock, gpus: float = 0.0,
    say: Say = print,
) -> bool:  # fmt: skip
    """As `sweep.measure_quality`, on as many workers as the joined cluster has `cores` (and `gpus`) for. → is everything there?

    `seen`: seed and temperature, which rows must share to count as done. A lost worker's slice is decoded again by a new one; what the others
    stored stays. Raises PairError when workers are lost without getting anything done.
    """
    import ray

    have = ray.cluster_resources()
    count = math.floor(min(have.get("CPU", 0) / cores, have.get("GPU", 0) / gpus if gpus else math.inf))
    if count < 1:
        raise PairError(f"The cluster has no room for a worker of {cores} cores{f' and {gpus:g} GPU' * bool(gpus)}.")
    remote = ray.remote(num_cpus=cores, num_gpus=gpus)(_Worker)
    waiting = slices(store.done("quality", models, **seen), stages)
    again: deque[Any] = deque()  # slices of lost workers
    runs: dict[Any, int] = {}  # worker → its run in the store
    busy: dict[Any, tuple[Any, Any]] = {}  # result under way → (worker, slice)
    idle, whole, losses = [remote.remote(make) for _ in range(count)], True, 0
    say(f"{count} workers of {cores} cores")
    while True:
        while idle and not clock.over and (part := again.popleft() if again else next(waiting, None)):
            worker = idle.pop()
            busy[worker.outcomes.remote(part.setting, part.problems)] = worker, part
        if not busy:
            return whole and not clock.over
        [ready], _ = ray.wait(list(busy))
        worker, part = busy.pop(ready)
        try:
            outcomes, seconds = ray.get(ready)
            if worker not in runs:
                runs[worker] = store.begin("quality", models, ray.get(worker.about.remote()))
        except ray.exceptions.RayActorError as error:
            losses += 1
            if losses > MOST_LOSSES:
                raise PairError(f"{losses} workers in a row were lost; what is stored stays. The last one said: {error}") from None
            say(f"a worker was lost; {part.setting.name} begins again on another")
            again.append(part)
            idle.append(remote.remote(make))
            continue
        losses = 0
        whole &= keep(store, runs[worker], part, outcomes, seconds, clock, say)
        idle.append(worker)
