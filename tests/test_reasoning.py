"""Word problems: every solution is right and says so, splits share neither families nor numbers but all moves, and the grader takes any text."""

from __future__ import annotations

import functools
import random
import re
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdiff.tasks import SPLITS, Grade, Item, mixed, reasoning, split_of
from sdiff.tasks.reasoning_arithmetic import LARGEST, OPERATIONS, equation, result_of, sheet
from sdiff.tasks.reasoning_families import RESULTS, WORDS, Family, draw_numbers, draw_words, fields_of, parse
from sdiff.tasks.reasoning_families import given as given_numbers
from sdiff.tasks.reasoning_stories import ENDS, EQUATIONS, MIDDLES, STARTS, THEMES, Story, parts

FAMILIES = reasoning.FAMILIES
STORIES = [f for f in FAMILIES if isinstance(f, Story)]
EXAMPLE = Item("reasoning", "any", "", "", {"answer": 1200})
each_family = pytest.mark.parametrize("family", FAMILIES, ids=[f"{f.split}, {f.name}" for f in FAMILIES])
each_written = pytest.mark.parametrize("family", reasoning.WRITTEN_DOWN, ids=[f.name for f in reasoning.WRITTEN_DOWN])
each_theme = pytest.mark.parametrize("theme", THEMES)


@functools.cache
def drawn(family: Family, n: int, seed: int = 0) -> list[Item]:
    return list(islice(mixed([(family.name, lambda rng: reasoning.draw(family, rng))], seed), n))


def value(side: str) -> int:
    """The value of `14`, `14 * 6`, `94 - 40 - 6` or `60 / 6 + 24 / 6`."""
    sum_, sign = 0, "+"
    for part in re.split(r" ([+-]) ", side):
        if part in "+-":
            sign = part
        else:
            a, *rest = part.split(" ")
            sum_ = OPERATIONS[sign](sum_, OPERATIONS[rest[0]](int(a), int(rest[1])) if rest else int(a))
    return sum_


def n_steps(family: Family | Story) -> int:
    return len(family.steps) if isinstance(family, Family) else sum(EQUATIONS[move] for move in family.moves)


def test_families_are_many_and_each_is_in_one_split():
    of = {split: [name for name, _ in reasoning.families(split)] for split in SPLITS}
    assert len(of["train"]) >= 150
    assert 9 <= len(of["validation"]) <= 14
    assert 18 <= len(of["test"]) <= 24
    names = [*of["train"], *of["validation"], *of["test"]]
    assert len(names) == len(set(names)) == len(FAMILIES)
    stories = [story for story in STORIES if story.split == "train"]
    assert 0.55 <= len(stories) / len(of["train"]) <= 0.65
    assert all(family.split == "train" for family in reasoning.WRITTEN_DOWN)


def test_number_of_steps_is_two_on_average():
    for split in SPLITS:
        steps = [n_steps(f) for f in FAMILIES if f.split == split]
        assert max(steps) <= len(RESULTS)
        assert 1.5 <= sum(steps) / len(steps) <= 2.5
    assert steps.count(2) >= len(steps) / 2, "test"
    assert 0 < steps.count(3) <= len(steps) / 3
    assert steps.count(1) >= 2


def test_every_part_of_an_unseen_story_is_in_train():
    """Each move in its theme, and each kind of move after another one; so a test asks for nothing but a new order of known sentences."""
    train = {part for story in STORIES if story.split == "train" for part in parts(story.theme, story.moves)}
    for story in STORIES:
        assert set(parts(story.theme, story.moves)) <= train, story.name
    assert {(theme, move) for theme in THEMES for move in EQUATIONS} <= train


def test_unseen_stories_are_spread():
    for split, least in (("test", 6), ("validation", 3)):
        stories = [story for story in STORIES if story.split == split]
        assert all(sum(story.theme == theme for story in stories) == least for theme in THEMES)
        assert {story.moves[0] for story in stories} == set(STARTS)
        assert len({story.moves[-1] for story in stories}) >= len(ENDS) - (split == "validation") * 2
    assert {move for story in STORIES if story.split == "test" for move in story.moves} >= set(MIDDLES)


@each_theme
def test_form_of_a_theme(theme):
    assert list(THEMES[theme]) == list(EQUATIONS)
    words = {**draw_words(random.Random(0)), "c": 7, "d": 8, "r": 9}
    for kind, move in THEMES[theme].items():
        assert len({phrasing.sentence for phrasing in move.phrasings}) == len(move.phrasings) >= 4
        assert bool(move.end) == (kind in ENDS)
        numbers = {"half": set(), "double": set(), "now": set()}.get(kind, {"c", "d"} if kind.endswith("each") else {"c"})
        for phrasing in move.phrasings:
            assert set(fields_of(phrasing.sentence)) & {"c", "d"} == numbers, phrasing.sentence
            assert len(phrasing.labels) == EQUATIONS[kind], phrasing.sentence
            assert phrasing.sentence.endswith("?" if kind in ENDS else ".")
            assert kind not in STARTS or "{N}" in phrasing.sentence
            assert not [text for text in (phrasing.sentence, *phrasing.labels, move.end, move.unit) if "{" in text.format_map(words)]


@pytest.mark.parametrize("shown", ["8 + 5 = 13", "58 + 30 = 88", "58 + 36 = 58 + 30 + 6 = 88 + 6 = 94", "94 - 46 = 94 - 40 - 6 = 54 - 6 = 48",
                                   "100 - 54 = 100 - 50 - 4 = 50 - 4 = 46", "14 * 6 = 10 * 6 + 4 * 6 = 60 + 24 = 84", "8 * 12 = 96", "20 * 4 = 80",
                                   "96 / 8 = 12", "80 / 4 = 20"])  # fmt: skip
def test_equations_go_by_tens_and_ones(shown):
    a, operator, b, *_ = shown.split(" ")
    assert equation(int(a), operator, int(b)) == shown


def test_a_sheet_of_sums_is_worked_out_as_in_the_problems():
    rng, seen = random.Random(4), []
    for _ in range(200):
        prompt, solution = sheet(rng)
        asked, lines = prompt.splitlines()[1:], solution.splitlines()
        assert len(asked) == len(lines) == 8
        for sum_, line in zip(asked, lines, strict=True):
            a, operator, b = sum_.split()
            assert line == equation(int(a), operator, int(b))
            assert result_of(int(a), operator, int(b)) is not None
            seen.append(sum_)
    assert {sum_.split()[1] for sum_ in seen} == set(OPERATIONS)
    assert len(set(seen)) > 500


@pytest.mark.parametrize(
    ("a", "operator", "b"), [(84, "/", 6), (90, "/", 18), (7, "/", 2), (60, "+", 41), (101, "-", 50), (12, "*", 9), (5, "-", 4)]
)
def test_sums_that_are_too_hard_are_not_asked(a, operator, b):
    assert result_of(a, operator, b) is None


def test_all_equations_are_right():
    for operator in OPERATIONS:
        for a in range(1, LARGEST, 3):
            for b in range(1, LARGEST, 2):
                if result_of(a, operator, b):
                    assert {value(side) for side in equation(a, operator, b).split(" = ")} == {OPERATIONS[operator](a, b)}


@each_written
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
    for item in drawn(family, 40):
        answer = item.key["answer"]
        assert isinstance(answer, int)
        assert 2 <= answer <= LARGEST
        assert item.solution.endswith(f"The answer is {answer}.")
        assert reasoning.grade(item, item.solution).right
        assert not reasoning.grade(item, item.solution.replace(f"answer is {answer}.", f"answer is {answer + 1}.")).right
        chains = re.findall(r"\d+(?: [-+*/=] \d+)+", item.solution)
        assert len(chains) == n_steps(family)
        for chain in chains:
            sides = [value(side) for side in chain.split(" = ")]
            assert len(sides) >= 2
            assert len(set(sides)) == 1, chain
        assert value(chains[-1].split(" = ")[-1]) == answer


@each_family
def test_texts_are_clean(family):
    for item in drawn(family, 40):
        both = item.prompt + "\n" + item.solution
        assert not re.search(r"[{}×÷−]|  | [.,?]|\b(None|True)\b|\.\.", both), both
        assert not re.search(r"(?<![\w.])[01](?! *[.]) \w", both), "no quantity of none or one"
        assert item.prompt[0].isupper() or item.prompt[0].isdigit()
        assert re.search(r"\?( [A-Z][^?]*\.)?$", item.prompt)
        assert 25 <= len(item.solution.split()) <= 130
        assert all(int(n) <= LARGEST for n in re.findall(r"\d+", both))


def prompt_numbers(split: str, n: int) -> set[tuple[int, ...]]:
    """Numbers of the prompts without asides (whose number has no use)."""
    return {tuple(sorted(int(d) for d in re.findall(r"\d+", item.prompt))) for item in islice(mixed(reasoning.families(split), 2), n)}


def test_no_numbers_of_a_test_problem_occur_in_training():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reasoning, "ASIDE_SHARE", 0.0)
        of = {split: prompt_numbers(split, 500) for split in ("validation", "test")} | {"train": prompt_numbers("train", 3000)}
    for split, seen in of.items():
        assert all(split_of(*numbers) == split for numbers in seen)
    assert not of["test"] & of["train"]


def test_many_numbers_per_family():
    """Looking up does not help: a training family of three or more numbers has thousands of draws."""
    rng = random.Random(0)
    for family in reasoning.WRITTEN_DOWN:
        names = given_numbers(family)
        if len(names) >= 3:
            draws = [draw_numbers(family, rng) for _ in range(600)]
            assert len({tuple(d[n] for n in names) for d in draws if d}) >= 50, family.name


def test_a_story_is_told_in_hundreds_of_ways():
    for story in STORIES:
        ways = 1
        for move in story.moves:
            ways *= len(THEMES[story.theme][move].phrasings)
        assert ways >= (64 if len(story.moves) > 2 else 16)


def test_same_seed_same_items():
    first, again, other = (list(islice(mixed(reasoning.families("train"), seed), 120)) for seed in (5, 5, 6))
    assert first == again
    assert first != other


def test_prompts_hardly_repeat_and_never_cross_splits():
    train = [item.prompt for item in islice(mixed(reasoning.families("train"), 1), 3000)]
    assert len(set(train[:2000])) > 0.99 * 2000
    for split in ("validation", "test"):
        assert not {item.prompt for item in islice(mixed(reasoning.families(split), 1), 500)} & set(train)


def test_every_style_and_phrasing_occurs():
    for family in FAMILIES[::5]:
        items = drawn(family, 40)
        openings = {item.solution.split(" ")[0] for item in items}
        assert len(openings) >= 5
        assert sum("\n1. " in item.solution for item in items) in range(4, 28)
        # Numbers and words taken out, the phrasings remain.
        assert len({tuple(w for w in item.prompt.split() if w.islower() and w.isalpha()) for item in items}) >= 4


def test_wordings_of_a_joint_share_no_position():
    """A writer who mixes two alternatives word by word is found out."""
    joints = [reasoning.GOALS, reasoning.HEADS, reasoning.AIMS, reasoning.FIRST, reasoning.NEXT, reasoning.CLOSING]
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


@settings(max_examples=60, deadline=None)
@given(st.text(), st.text(alphabet="0123456789.,-$ answeris\n"))
def test_any_text_gets_a_grade(text, numeric):
    for answer in (text, numeric, f"{text} answer is {numeric}", numeric + text):
        assert isinstance(reasoning.grade(EXAMPLE, answer), Grade)
