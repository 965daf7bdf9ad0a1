"""The quality pass on many machines at once: Ray (1712.05889) hands slices to workers, this process alone writes rows. Refuses to know models.

Only quality: its laws are the same everywhere, while timings belong to one machine and are taken there. Light to import: every worker does.
"""

from __future__ import annotations

import math
import os
import re
import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdiff.fetch import PairError

if TYPE_CHECKING:
    from sdiff.bench.quality import Bench, Failure, Outcome
    from sdiff.bench.store import Store
    from sdiff.bench.sweep import Clock, Say, Slice, Stages

ROOT = Path(__file__).parents[2]
SHIPPED = ("sdiff", "precomputed/adapter", "precomputed/drafters")  # to workers: the code, and what is not fetched
LOCAL = {"include_dashboard": False, "object_store_memory": 2**27}  # of a cluster that begins and ends here: rows are small
PATIENCE = 900.0  # seconds without a worker at work
TRIES = 2  # for a slice whose worker is lost

Make = Callable[[], tuple["Bench", dict[str, Any]]]  # runs on a worker → what decodes, and what is true of its rows


class _Worker:
    """On one machine of the cluster: models that stay loaded."""

    def __init__(self, make: Make) -> None:
        self.make = make

    def begin(self) -> dict[str, Any]:
        self.bench, where = self.make()
        return where

    def outcomes(self, setting: Any, problems: range) -> tuple[list[Outcome | Failure], float]:
        """What the problems gave, and the seconds it took."""
        start = time.monotonic()
        return list(self.bench.outcomes(setting, problems)), time.monotonic() - start


def left_at_home() -> list[str]:
    """What lies in ROOT but not in SHIPPED, as patterns that Ray understands."""
    kept = {path for name in SHIPPED for path in (ROOT / name, *(ROOT / name).parents)}
    folders = sorted(path for path in kept if path.is_relative_to(ROOT) and str(path.relative_to(ROOT)) not in SHIPPED)
    return [f"/{path.relative_to(ROOT).as_posix()}" for folder in folders for path in sorted(folder.iterdir()) if path not in kept]


@contextmanager
def joined(address: str) -> Iterator[None]:
    """Within, this process is part of the cluster at `address`, as Ray reads it ("local": one that begins and ends here). Raises PairError."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a cluster begun here tells nobody
    try:
        import ray
    except ImportError:
        raise PairError("Sharing a sweep needs one more package on every machine: pip install ray==2.60.0") from None
    how = "Start one with `ray start --head`, and join it from every other machine with `ray start --address=HOST:PORT`, this one too."
    if place := re.fullmatch(r"(?:ray://)?(.+):(\d+)", address):
        os.environ.setdefault("RAY_gcs_server_port_wait_time_s", "1")  # one try of a minute, not twenty
        try:  # Ray itself cannot tell that nobody listens
            socket.create_connection((place[1].strip("[]"), int(place[2])), timeout=10).close()
        except (OSError, OverflowError) as error:
            raise PairError(f"Nothing answers at {address} ({error}). {how}") from None
    ships = {"working_dir": str(ROOT), "excludes": left_at_home()}
    try:
        ray.init(address, runtime_env=ships, log_to_driver=False, logging_level="ERROR", **(LOCAL if address == "local" else {}))
    except Exception as error:  # Ray raises bare ones too
        ray.shutdown()
        raise PairError(f"There is no Ray cluster to join at {address!r} ({_reason(error)}). {how}") from None
    try:
        yield
    finally:
        ray.shutdown()


def room(nodes: list[dict[str, Any]], needs: dict[str, float]) -> int:
    """How many workers that need so much ("CPU", "GPU") the nodes hold, as `ray.nodes` tells of them. A worker lives on one node."""
    have = [node["Resources"] for node in nodes if node["Alive"]]
    return sum(math.floor(min(each.get(name, 0) / much for name, much in needs.items() if much)) for each in have)


def _reason(error: Exception) -> str:
    """The last line of what a worker raised, or of what Ray says about its end."""
    cause = getattr(error, "cause", None) or error
    return (str(cause).strip().splitlines() or [type(cause).__name__])[-1].strip()[:200]


class _Crew:
    """Workers and what each is doing. Knows Ray; refuses to know rows."""

    def __init__(self, ray: Any, make: Make, needs: dict[str, float]) -> None:
        self.ray, self.make = ray, make
        self.remote = ray.remote(num_cpus=needs["CPU"], num_gpus=needs.get("GPU", 0))(_Worker)
        self.workers: set[Any] = set()
        self.idle: list[Any] = []
        self.under_way: dict[Any, tuple[Any, Slice | None]] = {}  # result → (worker, its slice; None: it begins)

    def hire(self) -> None:
        worker = self.remote.remote(self.make)
        self.workers.add(worker)
        self.under_way[worker.begin.remote()] = worker, None

    def give(self, part: Slice) -> None:
        """To an idle worker, which has begun: one that waits for a free core would keep the slice waiting too."""
        worker = self.idle.pop()
        self.under_way[worker.outcomes.remote(part.setting, part.problems)] = worker, part

    @property
    def busy(self) -> bool:
        return any(part for _, part in self.under_way.values())

    def wait(self, seconds: float | None) -> tuple[Any, Slice | None, Any]:
        """What comes next: a worker, its slice, and the result or the RayError that ended it. Raises PairError if nothing comes."""
        ready, _ = self.ray.wait(list(self.under_way), timeout=seconds)
        if not ready:
            raise PairError(
                f"No worker has been at work for {seconds:.0f} s: other work holds the cluster's cores, its machines were lost, or loading the "
                "models takes longer. What is stored stays; the same command goes on from here."
            )
        worker, part = self.under_way.pop(ready[0])
        try:
            return worker, part, self.ray.get(ready[0])
        except self.ray.exceptions.RayError as error:
            self.dismiss(worker)
            return worker, part, error

    def dismiss(self, *workers: Any) -> None:
        """End them now: a handle that some traceback still holds would keep a core taken, or in the queue for one."""
        for worker in workers:
            self.ray.kill(worker)
            self.workers.discard(worker)


class _Losses:
    """Of workers at work: `most` may be lost without a slice between them, as when a machine with all its workers goes."""

    def __init__(self, most: int, say: Say) -> None:
        self.most, self.say, self.in_a_row, self.tries = most, say, 0, Counter[Any]()

    def again(self, part: Slice, reason: str) -> bool:
        """Is this slice to be decoded again, now that its worker is lost? Raises PairError when it is enough."""
        self.in_a_row += 1
        if self.in_a_row > self.most:
            raise PairError(f"{self.in_a_row} workers in a row were lost; what is stored stays. The last one: {reason}")
        self.tries[part] += 1
        once_more = self.tries[part] < TRIES
        then = "begins again on another" if once_more else "is left for the next run"
        self.say(f"a worker was lost; {part.setting.name} {then}: {reason}")
        return once_more


def measure_quality(
    make: Make, needs: dict[str, float], store: Store, models: dict[str, str], seen: dict[str, Any], stages: Stages, clock: Clock, say: Say = print,
    patience: float = PATIENCE,
) -> bool:  # fmt: skip
    """As `sweep.measure_quality`, on as many workers as the joined cluster has room for. → is everything there?

    `needs`: what each takes ("CPU", "GPU"). `seen`: seed and temperature, which rows must share to count as done. A lost worker's slice is
    decoded once more by another, then left for the next run; what is stored stays. Raises PairError when none can begin, when they are lost
    one after the other, or when none is at work for `patience` seconds.
    """
    import ray

    from sdiff.bench.sweep import keep, slices

    waiting = deque(slices(store.done("quality", models, **seen), stages))
    if not waiting or clock.over:
        return not waiting
    count = room(ray.nodes(), needs)
    if not count:
        needed = " and ".join(f"{much:g} {name}" for name, much in needs.items() if much)
        raise PairError(f"No machine of the cluster has room for a worker of {needed}. Choose fewer --threads, or another --device.")
    say(f"up to {count} workers of {needs['CPU']:g} cores")
    about: dict[Any, dict[str, Any]] = {}  # worker that has begun → what is true of its rows
    runs: dict[Any, int] = {}  # worker → its run in the store
    crew, losses, whole = _Crew(ray, make, needs), _Losses(count + 1, say), True
    try:
        for _ in range(min(count, len(waiting))):
            crew.hire()
        while True:
            while crew.idle and waiting and not clock.over:
                crew.give(waiting.popleft())
            if not crew.busy and (not waiting or (clock.over and about)):
                return whole and not waiting
            worker, part, result = crew.wait(None if crew.busy else min(patience, max(1.0, clock.end - time.monotonic())))
            if isinstance(result, Exception):
                if part is None:  # nobody takes its place: a machine that lacks something would lack it again
                    say(f"a worker could not begin: {_reason(result)}")
                    if not crew.workers:
                        raise PairError(f"No worker could begin; what is stored stays. The last one: {_reason(result)}")
                    continue
                if losses.again(part, _reason(result)):
                    waiting.appendleft(part)
                else:
                    whole = False
                if waiting:
                    crew.hire()
                continue
            crew.idle.append(worker)
            if part is None:
                about[worker] = result
                continue
            losses.in_a_row = 0
            if worker not in runs:
                runs[worker] = store.begin("quality", models, about[worker])
            whole &= keep(store, runs[worker], part, *result, clock, say)
    finally:
        crew.dismiss(*crew.workers)
