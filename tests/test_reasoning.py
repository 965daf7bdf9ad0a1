"""Word problems: every solution is right and says so, splits share neither families nor numbers, and the grader takes any text."""

from __future__ import annotations

import functools
import random
import re
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdiff.tasks import SPLITS, Grade, Item, mixed, reasoning, split_of
from sdiff.tasks.reasoning_families import RESULTS, WORDS, Family, draw_numbers, draw_words, fields_of, parse

FAMILIES = reasoning.FAMILIES
OPERATIONS = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b}
EXAMPLE = Item("reasoning", "any", "", "", {"answer": 1200})
each_family = pytest.mark.parametrize("family", FAMILIES, ids=[f"{f.split}, {f.name}" for f in FAMILIES])


@functools.cache
def drawn(family: Family, n: int, seed: int = 0) -> list[Item]:
    return list(islice(mixed([(family.name, lambda rng: reasoning.draw(family, rng))], seed), n))


def value(side: str) -> float:
    """The value of `14`, `14 * 6` or `10 * 6 + 4 * 6`."""
    sum_ = 0.0
    for term in side.split(" + "):
        a, *rest = term.split(" ")
        sum_ += OPERATIONS[rest[0]](int(a), int(rest[1])) if rest else int(a)
    return sum_


def test_families_are_many_and_each_is_in_one_split():
    of = {split: [name for name, _ in reasoning.families(split)] for split in SPLITS}
    assert len(of["train"]) >= 44
    assert len(of["validation"]) >= 8
    assert len(of["test"]) >= 12
    names = [*of["train"], *of["validation"], *of["test"]]
    assert len(names) == len(set(names)) == len(FAMILIES)


def test_number_of_steps_is_two_on_average():
    for split in SPLITS:
        steps = [len(f.steps) for f in FAMILIES if f.split == split]
        assert max(steps) <= len(RESULTS)
        assert 1.5 <= sum(steps) / len(steps) <= 2.5


@each_family
def test_form_of_a_family(family):
    assert len(family.stories) * len(family.asks) >= 4
    assert len(set(family.stories)) == len(family.stories)
    numbers = {"".join(sorted(name for name in set(fields_of(story + ask)) if re.fullmatch("[a-z]", name)))
               for story in family.stories for ask in family.asks}  # fmt: skip
    assert len(numbers) == 1, "all stories give the same numbers"
    assert len(numbers.pop()) >= 2
    assert family.plain or all("{N}" in story for story in family.stories), "an aside speaks of {N}"
    rng = random.Random(0)
    values = {**dict.fromkeys("abcdhkmpqstrxyz", 7), **draw_words(rng)}
    texts = [*family.stories, *family.asks, family.end, *(step.label for step in family.steps)]
    for text in texts:
        assert "{" not in text.format_map(values)
    assert family.end[0] in "{aeit", "the end follows on `So`"


@each_family
def test_every_solution_is_right(family):
    for item in drawn(family, 200):
        answer = item.key["answer"]
        assert isinstance(answer, int)
        assert answer >= 0
        assert item.solution.endswith(f"The answer is {answer}.")
        assert reasoning.grade(item, item.solution).right
        assert not reasoning.grade(item, item.solution.replace(f"answer is {answer}.", f"answer is {answer + 1}.")).right
        chains = re.findall(r"\d+(?: [-+*/=] \d+)+", item.solution)
        assert len(chains) == len(family.steps)
        for chain in chains:
            sides = [value(side) for side in chain.split(" = ")]
            assert len(sides) >= 2
            assert len(set(sides)) == 1, chain
        assert value(chains[-1].split(" = ")[-1]) == answer


@each_family
def test_texts_are_clean(family):
    for item in drawn(family, 200):
        both = item.prompt + "\n" + item.solution
        assert not re.search(r"[{}×÷−]|  | [.,?]|\b(None|True)\b|\.\.", both), both
        assert not re.search(r"(?<![\w.])[01](?! *[.]) \w", both), "no quantity of none or one"
        assert item.prompt[0].isupper() or item.prompt[0].isdigit()
        assert re.search(r"\?( [A-Z][^?]*\.)?$", item.prompt)
        assert 25 <= len(item.solution.split()) <= 120
        assert all(int(n) <= 200 for n in re.findall(r"\d+", both))


def prompt_numbers(split: str, n: int) -> set[tuple[int, ...]]:
    """Numbers of the prompts without asides (whose number has no use)."""
    return {tuple(sorted(int(d) for d in re.findall(r"\d+", item.prompt))) for item in islice(mixed(reasoning.families(split), 2), n)}


def test_no_numbers_of_a_test_problem_occur_in_training():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reasoning, "ASIDE_SHARE", 0.0)
        of = {split: prompt_numbers(split, 1000) for split in ("validation", "test")} | {"train": prompt_numbers("train", 4000)}
    for split, seen in of.items():
        assert all(split_of(*numbers) == split for numbers in seen)
    assert not of["test"] & of["train"]


def test_many_numbers_per_family():
    """Looking up does not help: a training family of three or more numbers has thousands of draws."""
    rng = random.Random(0)
    for family in FAMILIES:
        names = reasoning.given(family)
        if family.split == "train" and len(names) >= 3:
            draws = [draw_numbers(family, rng) for _ in range(3000)]
            assert len({tuple(d[n] for n in names) for d in draws if d}) >= 600, family.name


def test_same_seed_same_items():
    first, again, other = (list(islice(mixed(reasoning.families("train"), seed), 120)) for seed in (5, 5, 6))
    assert first == again
    assert first != other


def test_prompts_hardly_repeat_and_never_cross_splits():
    train = [item.prompt for item in islice(mixed(reasoning.families("train"), 1), 5000)]
    assert len(set(train[:2000])) > 0.99 * 2000
    for split in ("validation", "test"):
        assert not {item.prompt for item in islice(mixed(reasoning.families(split), 1), 1000)} & set(train)


def test_every_style_and_phrasing_occurs():
    for family in FAMILIES[::9]:
        items = drawn(family, 200)
        openings = {item.solution.split(" ")[0] for item in items}
        assert len(openings) >= 6
        assert sum("\n1. " in item.solution for item in items) in range(25, 85)
        # Numbers and words taken out, the phrasings remain.
        assert len({tuple(w for w in item.prompt.split() if w.islower() and w.isalpha()) for item in items}) >= 4


def test_wordings_of_a_joint_share_no_position():
    """A writer who mixes two alternatives word by word is found out."""
    joints = [reasoning.ONLY, reasoning.FIRST, reasoning.NEXT, reasoning.LAST, *reasoning.USING.values(), reasoning.HEADS,
              reasoning.WRITTEN, reasoning.FOLLOWS, reasoning.GOALS, reasoning.CLOSING]  # fmt: skip
    for alternatives in joints:
        assert len(alternatives) == 3
        for words in zip(*(a.split() for a in alternatives), strict=False):
            assert len(set(words)) == 3, alternatives


def test_words_are_pairs_where_their_names_are():
    for names, choices in WORDS.items():
        for choice in choices.split(", "):
            assert " " not in names or len(choice.split()) == 2, choice


def test_a_block_without_a_question_is_refused():
    with pytest.raises(ValueError, match="lacks a part"):
        parse("train: short: a 2-9, b 2-9\nstory {a} and {b}.\nstep the sum = a + b things\nend it is {r}.")


@pytest.mark.parametrize("text", ["The answer is 1200.", "the answer is $1,200", "So the answer is **1200**.", "The ANSWER IS: 1200.0 dollars",
                                  "The answer is 7. No, the answer is 1,200.", "It comes to 1 200 or, written out, 1200", "600 * 2 = 1,200."])  # fmt: skip
def test_right_however_it_is_dressed(text):
    assert reasoning.grade(EXAMPLE, text).right


@pytest.mark.parametrize("text", ["", "The answer is", "The answer is 12.", "1200 is wrong. The answer is 1201.", "The answer is -1200.",
                                  "1200 apples, 5 pears", "The answer is 1200.5.", "9" * 9000, "The answer is ١٢٠٠."])  # fmt: skip
def test_wrong_answers(text):
    grade = reasoning.grade(EXAMPLE, text)
    assert not grade.right
    assert grade.why.endswith(".")


@settings(max_examples=150, deadline=None)
@given(st.text(), st.text(alphabet="0123456789.,-$ answeris\n"))
def test_any_text_gets_a_grade(text, numeric):
    for answer in (text, numeric, f"{text} answer is {numeric}", numeric + text):
        assert isinstance(reasoning.grade(EXAMPLE, answer), Grade)
