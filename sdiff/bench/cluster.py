"""The quality pass on many machines at once: Ray (1712.05889) runs slices as its tasks, this process alone writes rows. Refuses to know models.

Only quality: its laws are the same everywhere, while timings belong to one machine and are taken there. Light to import: every worker does.
"""

from __future__ import annotations

import functools
import math
import os
import pickle
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdiff.fetch import PairError

if TYPE_CHECKING:
    from sdiff.bench.quality import Bench, Failure, Outcome
    from sdiff.bench.settings import Setting
    from sdiff.bench.store import Store
    from sdiff.bench.sweep import Clock, Say, Stages

INSTALL = "pip install ray==2.60.0"
ROOT = Path(__file__).parents[2]
SHIPPED = ("sdiff", "precomputed/adapter", "precomputed/drafters")  # to workers: the code, and what is not fetched
LOCAL = {"include_dashboard": False, "object_store_memory": 2**27}  # of a cluster that begins and ends here: rows are small
PATIENCE = 1800.0  # seconds without a finished slice
AGAIN = 1  # times that Ray begins a slice again whose worker is lost

Make = Callable[[], tuple["Bench", dict[str, Any]]]  # runs on a worker → what decodes, and what is true of its rows


@functools.cache
def _loaded(make: bytes) -> tuple[Bench, dict[str, Any]]:
    """Models that stay loaded: Ray gives a worker's process one task after another."""
    return pickle.loads(make)()


def _decode(make: bytes, setting: Setting, problems: range) -> tuple[dict[str, Any], list[Outcome | Failure], float]:
    """On a worker: what is true of its rows, what the problems gave, and the seconds it took."""
    bench, where = _loaded(make)
    start = time.monotonic()
    return where, list(bench.outcomes(setting, problems)), time.monotonic() - start


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
        raise PairError(f"Sharing a sweep needs one more package on every machine: {INSTALL}") from None
    how = "Start one with `ray start --head`, and join it from every other machine with `ray start --address=HOST:PORT`, this one too."
    if place := re.fullmatch(r"(?:ray://)?(.+):(\d+)", address):
        try:  # Ray itself would try for minutes
            socket.create_connection((place[1].strip("[]"), int(place[2])), timeout=10).close()
        except (OSError, OverflowError) as error:
            raise PairError(f"Nothing answers at {address} ({error}). {how}") from None
    ships = {"working_dir": str(ROOT), "excludes": left_at_home()}
    try:
        ray.init(address, runtime_env=ships, log_to_driver=False, logging_level="ERROR", **(LOCAL if address == "local" else {}))
    except Exception as error:  # Ray raises bare ones too
        ray.shutdown()
        raise PairError(f"There is no Ray cluster to join at {address} ({_reason(error)}). {how}") from None
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


def measure_quality(
    make: Make, needs: dict[str, float], store: Store, models: dict[str, str], seen: dict[str, Any], stages: Stages, clock: Clock, say: Say = print,
    patience: float = PATIENCE,
) -> bool:  # fmt: skip
    """As `sweep.measure_quality`, on as many workers as the joined cluster has room for. → is everything there?

    `needs`: what each takes ("CPU", "GPU"). `seen`: seed and temperature, which rows must share to count as done. A lost worker's slice is
    begun once more by Ray, then left for the next run; what is stored stays. Raises PairError when one slice after the other fails, or
    when none is finished for `patience` seconds.
    """
    import ray

    from sdiff.bench.sweep import keep, slices

    waiting = slices(store.done("quality", models, **seen), stages)
    part, whole = next(waiting, None), True
    if part is None or clock.over:
        return part is None
    count = room(ray.nodes(), needs)
    if not count:
        needed = " and ".join(f"{much:g} {name}" for name, much in needs.items() if much)
        raise PairError(f"No machine of the cluster has room for a worker of {needed}. Choose fewer --threads, or another --device.")
    say(f"up to {count} workers of {needs['CPU']:g} cores")
    decode = ray.remote(num_cpus=needs["CPU"], num_gpus=needs.get("GPU", 0), max_retries=AGAIN)(_decode)
    made, under_way, runs, lost = ray.put(ray.cloudpickle.dumps(make)), {}, {}, 0
    try:
        while True:
            while part and len(under_way) < count and not clock.over:  # as many as can be at work: the time may be up before the others
                under_way[decode.remote(made, part.setting, part.problems)] = part
                part = next(waiting, None)
            if not under_way:
                return whole and part is None
            ready, _ = ray.wait(list(under_way), timeout=patience)
            if not ready:
                raise PairError(
                    f"Nothing was finished for {patience:.0f} s: other work holds the cluster's cores, its machines were lost, or a slice "
                    "takes longer. What is stored stays; the same command goes on from here."
                )
            done = under_way.pop(ready[0])
            try:
                where, outcomes, seconds = ray.get(ready[0])
            except ray.exceptions.RayError as error:
                whole, lost = False, lost + 1
                say(f"{done.setting.name} is left for the next run: {_reason(error)}")
                if lost > count:
                    raise PairError(f"{lost} slices in a row failed; what is stored stays. The last one: {_reason(error)}") from None
                continue
            lost, worker = 0, repr(where)
            if worker not in runs:
                runs[worker] = store.begin("quality", models, where)
            whole &= keep(store, runs[worker], done, outcomes, seconds, clock, say)
    finally:
        for task in under_way:
            ray.cancel(task, force=True)
