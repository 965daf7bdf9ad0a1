"""The quality pass over Ray, on a cluster of two machines of one core each: both are this one, and nothing leaves loopback."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import sdiff
from sdiff.__main__ import main
from sdiff.bench import cluster, sweep
from sdiff.bench.quality import Outcome
from sdiff.bench.settings import FIELDS, Setting
from sdiff.bench.store import Store
from sdiff.bench.sweep import Clock
from sdiff.fetch import PairError

MODELS = {"verifier": "v", "adapter": "a", "drafter": "d"}
SEEN = {"seed": 3, "temperature": 0.7}
DOOMED = Setting("coding")
WANTED = [
    ([Setting("reasoning"), Setting("reasoning", "masked", 1), Setting("coding", "uniform", 4, 0.4)], 150),
    ([DOOMED], 20),
]  # seven slices
CALM = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_memory_monitor_refresh_ms": "0", "RAY_worker_register_timeout_seconds": "15"}
# No `node_ip_address` of 127.0.0.1: `ray.init` replaces it by the machine's own address, where then nobody listens.
EACH = {"num_cpus": 1, "object_store_memory": 80 * 2**20, "include_dashboard": False}
PROBE = f"""
import ray
from ray.cluster_utils import Cluster
nodes = Cluster(initialize_head=True, head_node_args={EACH})
ray.init(nodes.address)
ray.shutdown()
nodes.shutdown()
"""


class Bench:
    """Outcomes by arithmetic. `spoil(setting)` runs in the worker first and may end it."""

    def __init__(self, spoil: Callable[[Setting], Any]) -> None:
        self.spoil = spoil

    def outcomes(self, setting: Setting, problems: range) -> Iterator[Outcome]:
        self.spoil(setting)
        for k in reversed(problems):
            counts = (k, k, min(k, setting.steps))
            yield Outcome(k, k % 2 == 0, True, 10 + k, 5, setting.leniency, 0.0, 1.0, 0, counts, counts, counts)


def make(spoil: Callable[[Setting], Any]) -> tuple[Bench, dict[str, Any]]:
    from sdiff import bundled

    shipped = sdiff.__file__, sorted(p.name for p in bundled.PRECOMPUTED.iterdir())
    return Bench(spoil), {**SEEN, "name": f"worker {os.getpid()}", "shipped": shipped}


def fine(_: Setting) -> None:
    pass


def meets_another(folder: Path, _: Setting) -> None:
    """Wait for a second worker, however late it begins."""
    folder.joinpath(str(os.getpid())).touch()
    while len(list(folder.iterdir())) < 2:
        time.sleep(0.05)


def dies_with_doomed(folder: Path, times: int, setting: Setting) -> None:
    if setting == DOOMED and len(list(folder.iterdir())) < times:
        folder.joinpath(str(os.getpid())).touch()
        os._exit(1)


def dies(_: Setting) -> None:
    os._exit(1)


def cannot_begin() -> None:
    raise RuntimeError("no verifier here")


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    """A running cluster. Its processes end with this fixture, and with this process however that ends."""
    if importlib.util.find_spec("ray") is None:
        pytest.skip("needs pip install ray==2.60.0")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in CALM.items():
            patch.setenv(name, value)  # Ray reads them when it is imported
        try:  # in a process of its own: Ray waits in native code for minutes, where nothing here could end it
            subprocess.run([sys.executable, "-c", PROBE], check=True, capture_output=True, text=True, timeout=120)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            pytest.skip(f"Ray's own processes do not start or do not hear each other on this machine ({error})")
        import ray
        from ray.cluster_utils import Cluster

        ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers do not know the folder of tests
        nodes = Cluster(initialize_head=True, head_node_args=EACH)
        try:
            nodes.add_node(**EACH)
            yield nodes
        finally:
            ray.shutdown()
            nodes.shutdown()
            ray.cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


@pytest.fixture(scope="module")
def two(nodes: Any) -> Iterator[None]:
    with cluster.joined(nodes.address):
        yield


def measure(folder: Path, make: cluster.Make, said: list[str], minutes: float = 30, cores: int = 1, **options: Any) -> bool:
    needs = {"CPU": cores, "GPU": 0}
    return cluster.measure_quality(make, needs, Store(folder), MODELS, SEEN, WANTED, Clock(minutes), say=said.append, **options)


def alone(folder: Path) -> Store:
    assert sweep.measure_quality(Bench(fine), SEEN, Store(folder), MODELS, WANTED, Clock(5), lambda line: None)
    return Store(folder)


def rows(store: Store) -> list[tuple[Any, ...]]:
    table = store.rows("quality", MODELS)
    return list(table.sort_values([*FIELDS, "problem"]).drop(columns="run").itertuples(index=False, name=None))


@pytest.mark.usefixtures("two")
def test_two_workers_store_what_one_process_would(tmp_path):
    met, said = tmp_path / "met", []
    met.mkdir()
    work = partial(make, partial(meets_another, met))
    assert not measure(tmp_path, work, said, minutes=0)
    assert not tmp_path.joinpath("about.json").exists(), "no time: nothing measured"
    assert measure(tmp_path, work, said)
    store = Store(tmp_path)
    assert rows(store) == rows(alone(tmp_path / "alone"))
    assert len({run["name"] for run in store.about["runs"]}) == 2, "each worker's rows say where they come from"
    file, precomputed = store.about["runs"][0]["shipped"]
    assert file != sdiff.__file__, "workers run the code that was shipped"
    assert precomputed == ["adapter", "drafters"]
    before = [*said]
    assert measure(tmp_path, work, said)
    assert said == before, "nothing is decoded twice, and nobody hired for it"


@pytest.mark.usefixtures("two")
def test_a_lost_worker_costs_its_slice_only(tmp_path):
    died, said = tmp_path / "died", []
    died.mkdir()
    work = partial(make, partial(dies_with_doomed, died, 2))
    assert not measure(tmp_path, work, said)
    left = [line for line in said if "is left for the next run" in line]
    assert len(left) == 1
    assert left[0].startswith(f"{DOOMED.name} is left for the next run: ")
    assert len(Store(tmp_path).rows("quality", MODELS)) == len(rows(alone(tmp_path / "alone"))) - 20, "the others are stored"
    assert measure(tmp_path, work, said)
    assert rows(Store(tmp_path)) == rows(Store(tmp_path / "alone"))


@pytest.mark.usefixtures("two")
def test_a_slice_whose_worker_is_lost_once_is_begun_again(tmp_path):
    died, said = tmp_path / "died", []
    died.mkdir()
    assert measure(tmp_path, partial(make, partial(dies_with_doomed, died, 1)), said)
    assert rows(Store(tmp_path)) == rows(alone(tmp_path / "alone"))


@pytest.mark.usefixtures("two")
def test_workers_that_never_work_end_the_sweep_in_words(tmp_path):
    said: list[str] = []
    with pytest.raises(PairError, match="3 slices in a row failed; what is stored stays"):
        measure(tmp_path, partial(make, dies), said)
    with pytest.raises(PairError, match=r"3 slices in a row failed.* The last one: .*no verifier here$"):
        measure(tmp_path, cannot_begin, said)
    with pytest.raises(PairError, match="has room for a worker of 2 CPU"):
        measure(tmp_path, cannot_begin, said, cores=2)
    assert not tmp_path.joinpath("about.json").exists()


@pytest.mark.usefixtures("two")
def test_cores_that_others_hold_end_the_sweep_in_words(tmp_path):
    import ray

    @ray.remote(num_cpus=1)
    class Holder:
        def here(self) -> bool:
            return True

    holders = [Holder.remote() for _ in range(2)]
    assert all(ray.get([holder.here.remote() for holder in holders]))
    with pytest.raises(PairError, match="Nothing was finished for 1 s: other work holds the cluster's cores"):
        measure(tmp_path, partial(make, fine), [], patience=1)
    for holder in holders:
        ray.kill(holder)


def test_a_worker_lives_on_one_machine():
    nodes = [
        {"Alive": alive, "Resources": {"CPU": cpu, "GPU": gpu}}
        for alive, cpu, gpu in ((True, 5.0, 1.0), (True, 3.0, 0.0), (False, 9.0, 9.0))
    ]
    assert [cluster.room(nodes, {"CPU": n, "GPU": 0}) for n in (1, 2, 4, 6)] == [8, 3, 1, 0]
    assert cluster.room(nodes, {"CPU": 1, "GPU": 1}) == 1
    assert cluster.room([{"Alive": True, "Resources": {}}], {"CPU": 1}) == 0


def ends_with(words: str, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *arguments]) == 1
    assert words in " ".join(capsys.readouterr().err.split())


def test_an_address_without_a_cluster_is_a_sentence(tmp_path, capsys):
    pytest.importorskip("ray", reason="needs pip install ray==2.60.0")
    arguments = ["--out", str(tmp_path), "--ray"]
    ends_with("Nothing answers at 127.0.0.1:1 (", [*arguments, "127.0.0.1:1", "--pass", "quality"], capsys)
    ends_with("A cluster shares the quality pass only: give --pass quality.", [*arguments, "auto"], capsys)


def test_a_machine_without_ray_is_told_what_to_install(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ray", None)
    ends_with("pip install ray==2.60.0", ["--out", str(tmp_path), "--pass", "quality", "--ray", "auto"], capsys)
