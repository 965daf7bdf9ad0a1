"""The quality pass over Ray, on a cluster of two workers of one core each on this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sdiff.bench import cluster, sweep
from sdiff.bench.quality import Failure, Outcome
from sdiff.bench.settings import FIELDS, Setting
from sdiff.bench.store import Store
from sdiff.bench.sweep import Clock
from sdiff.fetch import PairError

ray = pytest.importorskip("ray", reason="needs pip install ray==2.60.0")
MODELS = {"verifier": "v", "adapter": "a", "drafter": "d"}
SEEN = {"seed": 3, "temperature": 0.7}
WANTED = [([Setting("reasoning"), Setting("reasoning", "masked", 1), Setting("coding", "uniform", 4, 0.4)], 150), ([Setting("coding")], 20)]


class Bench:
    """Outcomes by arithmetic. `spoil(setting)` runs in the worker first and may end it."""

    def __init__(self, spoil: Callable[[Setting], Any]) -> None:
        self.spoil = spoil

    def outcomes(self, setting: Setting, problems: range) -> Iterator[Outcome | Failure]:
        self.spoil(setting)
        for k in reversed(problems):
            counts = (k, k, min(k, setting.steps))
            yield Outcome(k, k % 2 == 0, True, 10 + k, 5, setting.leniency, 0.0, 1.0, 0, counts, counts, counts)


def make(spoil: Callable[[Setting], Any], folder: Path) -> tuple[Bench, dict[str, Any]]:
    folder.joinpath(str(os.getpid())).touch()
    return Bench(spoil), {**SEEN, "name": f"worker {os.getpid()}"}


def fine(_: Setting) -> None:
    pass


def dies_once(folder: Path, setting: Setting) -> None:
    if setting.noise == "masked" and not folder.joinpath("died").exists():
        folder.joinpath("died").touch()
        os._exit(1)


def dies(_: Setting) -> None:
    os._exit(1)


@pytest.fixture(scope="module")
def two() -> Iterator[None]:
    from ray.cluster_utils import Cluster

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers do not know the folder of tests
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    nodes.add_node(num_cpus=1)
    cluster.join(nodes.address)
    yield
    ray.shutdown()
    nodes.shutdown()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tmp_path.joinpath("seen").mkdir()
    return tmp_path


def measure(folder: Path, spoil: Callable[[Setting], Any], said: list[str], minutes: float = 5, cores: int = 1) -> bool:
    worker = partial(make, spoil, folder / "seen")
    return cluster.measure_quality(worker, cores, Store(folder), MODELS, SEEN, WANTED, Clock(minutes), say=said.append)


def alone(folder: Path) -> Store:
    assert sweep.measure_quality(Bench(fine), SEEN, Store(folder), MODELS, WANTED, Clock(5), lambda line: None)
    return Store(folder)


def rows(store: Store) -> list[tuple[Any, ...]]:
    table = store.rows("quality", MODELS)
    return list(table.sort_values([*FIELDS, "problem"]).drop(columns="run").itertuples(index=False, name=None))


@pytest.mark.usefixtures("two")
def test_two_workers_store_what_one_process_would(folder):
    said: list[str] = []
    assert not measure(folder, fine, said, minutes=0)
    assert not folder.joinpath("about.json").exists(), "no time: nothing measured"
    assert measure(folder, fine, said)
    store = Store(folder)
    assert rows(store) == rows(alone(folder / "alone"))
    assert len(list(folder.joinpath("seen").iterdir())) >= 2
    assert len({run["name"] for run in store.about["runs"]}) == 2, "each worker's rows say where they come from"
    before = len(said)
    assert measure(folder, fine, said)
    assert rows(Store(folder)) == rows(store)
    assert len(said) == before + 1, "nothing is decoded twice: only the workers are told of"


@pytest.mark.usefixtures("two")
def test_a_lost_worker_costs_its_slice_only(folder):
    said: list[str] = []
    assert measure(folder, partial(dies_once, folder), said)
    assert rows(Store(folder)) == rows(alone(folder / "alone"))
    assert sum("was lost" in line for line in said) == 1


@pytest.mark.usefixtures("two")
def test_workers_that_never_work_end_the_sweep_in_words(folder):
    with pytest.raises(PairError, match="4 workers in a row were lost"):
        measure(folder, dies, [])
    with pytest.raises(PairError, match="no room for a worker of 3 cores"):
        measure(folder, fine, [], cores=3)


def test_an_address_without_a_cluster_is_a_sentence():
    ray.shutdown()
    with pytest.raises(PairError, match="There is no Ray cluster at '127"):
        cluster.join("127.0.0.1:1")
