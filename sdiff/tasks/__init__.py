"""What the pair is asked to do: seeded problems with worked solutions. Knows text; refuses to know models, and how answers are graded.

Splits are disjoint twice: a family of problems belongs to one split, and so does every draw of its parameters.
"""

from __future__ import annotations

import importlib
import random
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

SPLITS = ("train", "validation", "test")
TASKS = ("reasoning", "coding", "chat")
EXTRA = ("humaneval",)  # only where its package is installed, and only to test
MODULES = {
    "reasoning": "sdiff.tasks.reasoning",
    "coding": "sdiff.tasks.coding",
    "chat": "sdiff.tasks.chat",
    "humaneval": "sdiff.tasks.humaneval",
}  # imported when problems are drawn: to know the names of tasks is cheap


@dataclass(frozen=True)
class Item:
    """One problem. `solution`: a worked answer as the adapter learns it, "" where there is none; `key`: what the grader compares with.

    `wordings`: every text that `solution` could have been, with its probability.
    """

    task: str
    family: str
    prompt: str
    solution: str = ""
    key: dict[str, Any] = field(default_factory=dict)
    wordings: dict[str, float] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Grade:
    """Is the answer right? `why`: one sentence for a person."""

    right: bool
    why: str


def split_of(*parameters: object) -> str:
    """The split that a draw of parameters belongs to, by its hash: 80 % train, 10 % validation, 10 % test."""
    bucket = zlib.crc32(repr(parameters).encode()) % 10
    return SPLITS[max(0, bucket - 7)]


def shares(texts: Iterable[str]) -> dict[str, float]:
    """Texts, all as probable, with their probabilities; a text that comes twice counts twice."""
    counts = Counter(texts)
    return {text: n / counts.total() for text, n in counts.items()}


def drawn(wordings: dict[str, float], rng: random.Random) -> str:
    """One of the texts, drawn by their probabilities."""
    return rng.choices(list(wordings), list(wordings.values()))[0]


def mixed(families: list[tuple[str, Callable[[random.Random], Item | None]]], seed: int) -> Iterator[Item]:
    """An endless stream over shuffled rounds of `families`, the same for the same seed; a draw of None is drawn again."""
    rng = random.Random(seed)
    while True:
        for _, draw in rng.sample(families, len(families)):
            item = None
            while item is None:
                item = draw(rng)
            yield item


def items(task: str, split: str, seed: int) -> Iterator[Item]:
    """Endless problems of one task and split, each family equally often. Raises ValueError on an unknown name."""
    if task not in MODULES:
        raise ValueError(f"unknown task {task}; there are {', '.join(MODULES)}")
    if split not in SPLITS:
        raise ValueError(f"unknown split {split}; there are {', '.join(SPLITS)}")
    return mixed(importlib.import_module(MODULES[task]).families(split), seed)
