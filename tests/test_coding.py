"""Coding problems: families and their splits, solutions against hidden tests, the grader against arbitrary answers."""

import json
import random
from itertools import islice
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdiff.tasks import SPLITS, coding, coding_grade, items, sandbox, split_of
from sdiff.tasks.coding_grade import DRIVER, fault, find_code, same

FAMILIES = [(split, name) for split in SPLITS for name in coding.builders(split)]
MUTATIONS = [
    (" > ", " >= "), (" < ", " <= "), (" % 2 == 0", " % 2 == 1"), (" % 2 == 1", " % 2 == 0"), (" + 1)", ")"), ("+= 1", "+= 2"),
    (" == 0", " != 0"), ("+=", "-="), ("[::-1]", ""), ("startswith", "endswith"), (" * ", " + "), (" ** 2", " ** 3"), ("max(", "min("),
]  # fmt: skip

driver: dict = {}
exec(DRIVER, driver)


@pytest.fixture(scope="module")
def sandboxed():
    if not sandbox.layers():
        pytest.skip("no sandbox on this system")


def first_fault(code: str, tests: list[dict[str, str]]) -> str:
    """What the grader would say, in this process; only for code written here."""
    space: dict = {"__name__": "answer"}
    exec(code, space)
    for test in tests:
        try:
            report = driver["result"](test, space)
        except Exception as error:
            report = "error", str(error)
        if wrong := fault(test, *report):
            return wrong
    return ""


def problems(split: str, name: str, n: int):
    rng = random.Random(name)
    return [coding.builders(split)[name](rng) for _ in range(n)]


def test_enough_families_each_in_one_split():
    names = {split: {name for name, _ in coding.families(split)} for split in SPLITS}
    assert len(names["train"]) >= 72
    assert len(names["validation"]) >= 10
    assert len(names["test"]) >= 18
    assert sum(map(len, names.values())) == len(set.union(*names.values())) >= 100
    for split in SPLITS:
        assert len(coding.families(split)) == len(names[split])
        assert set(coding.pieces(split)) == names[split]


def test_every_held_out_family_recombines_pieces_of_train():
    train = list(coding.pieces("train").values())
    for split in ("validation", "test"):
        for name, parts in coding.pieces(split).items():
            assert parts <= set.union(*train), name
            assert parts not in train, name


@pytest.mark.parametrize(("split", "name"), FAMILIES)
def test_solutions_pass_and_wrong_ones_fail(split, name):
    drawn = problems(split, name, 20)
    for problem in drawn:
        assert len(problem.tests) >= 5
        assert len({test["returns"] for test in problem.tests}) > 1  # no constant passes
        texts = coding.wordings(problem)
        assert sum(texts.values()) == pytest.approx(1)
        for text in {find_code(text): text for text in texts}.values():
            assert text.count("```") == 2
            assert 12 <= len(text.split()) <= 80
            assert first_fault(find_code(text), problem.tests) == "", text
    head = f"class {drawn[0].name}:\n    pass" if drawn[0].kind == "class" else f"def {drawn[0].name}(*arguments):\n    return None"
    assert first_fault(head, drawn[0].tests)


def harmless(name: str, old: str) -> bool:
    """Is the changed code right as well? A tie, a zero added to a sum, or both signs of a quotient."""
    ties = old in (" > ", " < ") and any(word in name for word in ("largest", "smallest", "larger", "clamp", "highest", "lowest"))
    return (
        ties
        or (name, old) in (("sum-numbers-positive", " > "), ("sum-numbers-negative", " < "))
        or (name.startswith("average") and old == "+=")
    )


def test_small_slips_are_found():
    missed = set()
    for split, name in FAMILIES:
        drawn = problems(split, name, 8)
        codes = [(find_code(coding.solution(problem, problem.ways[0], "told", "", "")), problem.tests) for problem in drawn]
        for old, new in MUTATIONS:
            slips = [(code.replace(old, new), tests) for code, tests in codes if old in code]
            found = sum(bool(first_fault(code, tests)) for code, tests in slips)
            if found < 0.7 * len(slips) and not harmless(name, old):
                missed.add(f"{name}{old}")
    assert sorted(missed) == []


def test_parameters_of_a_draw_belong_to_its_split():
    for split in SPLITS:
        for name, build in coding.builders(split).items():
            for seed in range(12):
                problem, item = build(random.Random(seed)), dict(coding.families(split))[name](random.Random(seed))
                belongs = not problem.parameters or split_of(name, *problem.parameters) == split
                assert (item is not None) == belongs
                assert item is None or (item.key["name"], item.key["tests"]) == (problem.name, problem.tests)


@pytest.mark.parametrize("split", SPLITS)
def test_streams_are_seeded_and_rarely_repeat(split):
    n = {"train": 2000}.get(split, 300)
    first, again, other = (list(islice(items("coding", split, seed), n)) for seed in (1, 1, 2))
    assert first == again != other
    assert len({item.prompt for item in first}) > 0.9 * n
    for item in first:
        assert item.key["name"] in item.prompt
        assert json.loads(json.dumps(item.key)) == item.key
        assert "$" not in item.prompt + item.solution
        assert "string string" not in item.prompt


def test_a_third_of_the_prompts_carry_an_example():
    drawn = list(islice(items("coding", "train", 3), 1000))
    assert 0.2 < sum("` gives " in i.prompt or "xample" in i.prompt for i in drawn) / 1000 < 0.45


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("Look:\n```python\nx = 1\n```\nand\n```python\ny = 1\n```", "x = 1\n"),
        ("```\ntext\n```\n```python\nx = 1\n```", "x = 1\n"),
        ("```\nx = 1\n```", "x = 1\n"),
        ("```py\nx = 1", "x = 1\n"[:-1]),
        ("Sure.\nimport math\ndef f():\n    return 1", "import math\ndef f():\n    return 1"),
        ("I would define a function.", None),
        ("", None),
    ],
)
def test_code_is_found(answer, code):
    assert find_code(answer) == code


@pytest.mark.parametrize(
    ("got", "expected", "equal"),
    [
        (1, 1, True), (True, 1, False), (1, True, False), (1.0, 1, False), (1, 1.0, True), (True, 1.0, False), (0.1 + 0.2, 0.3, True),
        ([1], [1], True), ((1,), [1], False), ([True], [1], False), ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True), ({1: "a"}, {True: "a"}, False),
        ({"a": True}, {"a": 1}, False), (None, 0, False), ("", None, False), ([], [], True), ([1, 2], [1], False),
    ],
)  # fmt: skip
def test_values_are_compared_with_their_types(got, expected, equal):
    assert same(got, expected) is equal


@settings(deadline=None, max_examples=150)
@given(text=st.text(st.characters(exclude_characters="`"), max_size=200), forged=st.text(max_size=80))
def test_grade_is_total_and_runs_nothing_without_code(text, forged):
    item = next(items("coding", "test", 0))
    ran = []

    def stand_in(program):
        compile(program, "program", "exec")
        ran.append(program)
        marker = program.rpartition("\nmain('")[2][:32]
        return SimpleNamespace(status="error", stdout=f"\n{marker}{forged}\n{marker}[1, 2]\n", stderr="", code=1, sentence="It stopped.")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coding_grade.sandbox, "run", stand_in)
        assert not coding_grade.grade(item, text).right
        assert bool(ran) == bool(find_code(text))
        assert not coding_grade.grade(item, f"```python\n{text}x").right


@pytest.mark.usefixtures("sandboxed")
def test_graded_in_the_sandbox():
    for split in SPLITS:
        for item in islice(items("coding", split, 5), 4):
            verdict = coding_grade.grade(item, item.solution)
            assert verdict.right, (item, verdict)
    name = item.key["name"]
    wrong = {
        "import os\nos._exit(0)": "No result came",
        f"def {name}(*a):\n    return None": "returned None",
        f"def {name}(*a):\n    raise ValueError('no')": "stopped with ValueError: no",
        f"class Odd:\n    __eq__ = lambda *a: True\ndef {name}(*a):\n    return Odd()": "an object of the type Odd",
        f"def {name}(*a):\n    return float('inf')": "returned inf",
        "def other():": "The code stopped with",
        "x = 1": f"NameError: name '{name}' is not defined",
        "print(input())": "EOFError",
    }
    for code, why in wrong.items():
        verdict = coding_grade.grade(item, f"```python\n{code}\n```")
        assert not verdict.right
        assert why in verdict.why
    assert coding_grade.grade(item, item.solution.replace("```python\n", "```python\nprint('hello')\n")).right
