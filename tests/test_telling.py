"""What a cycle costs in waiting: the host reads its device once, whatever the drafter, the steps and the detail."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from test_decode import DRAFTERS, run
from toys import random_, timeless

from sdiff import telling
from sdiff.acceptance import make_rule
from sdiff.decode import Plan, decode
from sdiff.drafters import NoDrafter
from sdiff.drafters.block import CachedDenoiser
from sdiff.layers import Dimensions
from sdiff.network import BlockDenoiser
from sdiff.pairs import make_drafter, ruled
from sdiff.request import PROPOSALS, RULES
from sdiff.sampling import Dice, NonFiniteLogits, Shape
from sdiff.telling import Stopwatch, read, top
from sdiff.trace import Denoise, Emit, Event, Trace
from sdiff.verifier import Llama, Verifier

D = Dimensions(width=16, heads=2, kv_heads=1, head_width=8, feed_forward=24, layers=2, vocabulary=31, rope_base=300.0, epsilon=1e-5)
READS = ("tolist", "item", "numpy", "__bool__", "__int__", "__float__", "__index__")  # each waits for the device


@contextlib.contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """How often the host asked a tensor for its numbers. On a GPU every one of these is a copy, and a wait."""
    reads: Counter[str] = Counter()
    with monkeypatch.context() as patch:
        for name in READS:
            true = getattr(torch.Tensor, name)

            def asked(self: torch.Tensor, *args: Any, name: str = name, true: Any = true) -> Any:
                reads[name] += 1
                return true(self, *args)

            patch.setattr(torch.Tensor, name, asked)
        yield reads


def pair() -> tuple[Verifier, CachedDenoiser]:
    model = random_(Llama(D), 0)
    network = random_(BlockDenoiser(D, (0, 1), torch.arange(0, 31, 2), model.embedding.detach(), 6), 1)
    verifier = Verifier(model, 80)
    return verifier, CachedDenoiser(network, verifier, 1.0)


def reads_per_cycle(
    monkeypatch: pytest.MonkeyPatch, noise: str, proposal: str, rule: str = "tv", steps: int = 4, detail: bool = True, at_once: bool | None = False,
    temperature: float = 0.8,
) -> list[int]:  # fmt: skip
    """Host reads between one emission and the next, of a tiny pair of the bundled kind."""
    verifier, denoiser = pair()
    shape = Shape(temperature)
    drafter = make_drafter(denoiser, noise, proposal, shape) if noise else NoDrafter(D.vocabulary)
    plan = Plan(6 if noise else 0, steps, 30, (), detail, at_once=at_once)
    at = [0]
    with counted(monkeypatch) as reads:
        for event in ruled(rule, 0.3, lambda rule: decode(verifier, drafter, rule, shape, [1, 2, 3], plan, Dice(1))):
            if isinstance(event, Emit):
                at.append(sum(reads.values()))
    return [after - before for before, after in pairwise(at)]


ONE = [(noise, p) for noise in ("masked", "uniform") for p in PROPOSALS if p != "paced"]


@pytest.mark.parametrize("detail", [True, False])
@pytest.mark.parametrize("steps", [1, 4])
@pytest.mark.parametrize(("noise", "proposal"), [*ONE, ("", "")])
def test_a_cycle_is_read_once(noise, proposal, steps, detail, monkeypatch):
    for temperature in (0.0, 0.8):
        counts = reads_per_cycle(monkeypatch, noise, proposal, steps=steps, detail=detail, temperature=temperature)
        assert len(counts) > 3
        assert set(counts) == {1}


@pytest.mark.parametrize("rule", RULES)
def test_no_rule_reads_on_its_own(rule, monkeypatch):
    assert set(reads_per_cycle(monkeypatch, "masked", "monotone", rule)) == {1}


def test_what_reads_more_often(monkeypatch):
    """A canvas told at once is one read per pass; a pace, and a budget that keeps books, look at laws while they choose."""
    assert set(reads_per_cycle(monkeypatch, "masked", "monotone", steps=1, at_once=True)) <= {3, 1}  # two canvases; an empty block has none
    assert set(reads_per_cycle(monkeypatch, "masked", "monotone", steps=1, at_once=True, detail=False)) == {1}
    assert max(reads_per_cycle(monkeypatch, "masked", "paced")) > 1
    assert set(reads_per_cycle(monkeypatch, "masked", "monotone", "tv_bank")) == {2}


@pytest.mark.parametrize("name", [*DRAFTERS, ""])
def test_a_cycle_told_when_it_is_over_is_the_cycle_told_at_once(name, monkeypatch):
    def told(at_once: bool) -> list[Event]:
        with monkeypatch.context() as patch:
            patch.setattr("test_decode.Plan", lambda *args: Plan(*args, at_once=at_once))
            return list(run(name, rule=make_rule("tv", 0.3), eos={3}))

    late, soon = told(False), told(True)
    assert timeless(late) == timeless(soon)
    assert [e.at for e in late] == sorted(e.at for e in late)


def test_a_stop_within_a_cycle_still_tells_its_canvases():
    verifier, denoiser = pair()
    asked = []
    plan = Plan(6, 4, 30, (), at_once=False)
    drafter = make_drafter(denoiser, "masked", "monotone", Shape())
    events = list(
        decode(
            verifier,
            drafter,
            make_rule("lossless", 0),
            Shape(),
            [1, 2, 3],
            plan,
            Dice(1),
            stop=lambda: len(asked) > 3 or asked.append(0),
        )
    )
    assert [e.kind for e in events] == ["prefill", "denoise", "denoise", "denoise", "end"]
    assert events[-1].reason == "stopped"
    assert [e.step for e in events if isinstance(e, Denoise)] == [0, 1, 2]


def test_tensors_of_all_kinds_are_read_together():
    tensors = [
        torch.tensor(True),
        torch.tensor([[2**40 + 1, 3]]),
        torch.zeros(2, 0, 3),
        torch.tensor([0.1]),
        torch.tensor([0.1], dtype=torch.float64),
    ]
    for tensor, array in zip(tensors, read(tensors), strict=True):
        assert array.shape == tuple(tensor.shape)
        assert np.array_equal(array, tensor.double().numpy())


def test_alternatives_are_the_likeliest_that_can_occur():
    laws = torch.tensor([[0.0, 0.5, 0.0, 0.5], [0.1, 0.2, 0.3, 0.4]])
    (tops,) = read([top(laws)])
    assert [set(telling.alternatives(row)) for row in tops] == [{(1, 0.5), (3, 0.5)}, {(i, float(laws[1, i])) for i in range(4)}]
    assert telling.alternatives(tops[1])[0][0] == 3


def test_the_clock_runs_only_while_something_is_timed():
    watch = Stopwatch(torch.device("cpu"))
    result, span = watch.timed(lambda: 7)
    assert (result, watch.at) == (7, 0.0)
    ms = watch.spent(span)
    assert watch.at == ms >= 0


def test_a_gpu_is_asked_for_the_time_only_when_the_cycle_is_over(monkeypatch):
    """A stand-in for its events: they are recorded where a phase begins and ends, and read later."""
    done = []

    class Event:
        def __init__(self, enable_timing: bool) -> None:
            assert enable_timing

        def record(self, stream: str) -> None:
            done.append(f"record {stream}")

        def synchronize(self) -> None:
            done.append("wait")

        def elapsed_time(self, end: Any) -> float:
            assert isinstance(end, Event)
            return 2.5

    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: f"stream of {device}")
    watch = Stopwatch(torch.device("cuda"))
    _, span = watch.timed(lambda: done.append("work"))
    assert done == ["record stream of cuda", "work", "record stream of cuda"]
    assert (watch.spent(span), watch.at, done[3:]) == (2.5, 2.5, ["wait"])


def test_a_nan_is_raised_where_the_cycle_is_read():
    verifier, denoiser = pair()
    denoiser.network.norm.data.fill_(torch.nan)
    events = decode(verifier, make_drafter(denoiser, "uniform", "final_step", Shape()), make_rule("tv", 0.2), Shape(), [1, 2], Plan(6, 3, 30, (), at_once=False), Dice(0))  # fmt: skip
    trace = Trace()
    with pytest.raises(NonFiniteLogits, match="not finite"):
        list(trace.record(events))
    assert [event.kind for event in trace.events] == ["prefill", "end"]
