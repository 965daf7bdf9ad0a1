"""Grade-school word problems: drawn, asked, solved in words and graded. Knows grammar and arithmetic; refuses to know models.

One grammar of solutions for all families: a solution is a list of steps (label, operator, equation) told in one of three styles. All begin with what
is asked for, and none commits to an operation or to the number of steps before the equation says it: a small model cannot look ahead. Within a style
the wording is drawn at every joint from a few alternatives that share no words, so a writer who forgets its own last words mixes them up.
"""

from __future__ import annotations

import functools
import itertools
import random
import re
from collections.abc import Callable, Sequence
from decimal import Decimal

from sdiff.tasks import Grade, Item, drawn, reasoning_combined, reasoning_counting, reasoning_measuring, reasoning_stories, shares
from sdiff.tasks.reasoning_families import ASIDES, PERSONS, Family, Problem
from sdiff.tasks.reasoning_stories import Story

WRITTEN_DOWN: tuple[Family, ...] = (*reasoning_counting.FAMILIES, *reasoning_measuring.FAMILIES, *reasoning_combined.FAMILIES)
FAMILIES: tuple[Family | Story, ...] = (*WRITTEN_DOWN, *reasoning_stories.families())

ASIDE_SHARE = REQUEST_SHARE = 1 / 8
REQUESTS = ("Show your work.", "Explain how you got there.", "Write down every step.", "Please explain your reasoning.")

GOALS = ("We want to know", "The goal here is to find", "In this problem, we look for")
TOLD = ("We can see that {label} is {equation}.", "{Label} must be {equation}.", "What we get for {label} is {equation}.")

HEADS = ("Here is all the work to get", "Let us write down how we find", "We can solve this line by line for")
LINES = ("{Label}: {equation}", "For {label}: {equation}", "We get {label}: {equation}")

AIMS = ("Our way leads to", "This is all about", "What we need is")
FIRST = ("First of all, we find", "The thing to start with is", "To begin, let us work out")
NEXT = ("After that, we find", "The next thing we need is", "Now let us work out")

CLOSING = ("So", "This means that", "Now we know:")

NUMBER = r"-?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?"
ANSWER = re.compile(rf"answer is[^0-9\n-]*({NUMBER})", re.IGNORECASE)


def families(split: str) -> list[tuple[str, Callable[[random.Random], Item | None]]]:
    """The families of one split: name and draw. A draw gives None where its numbers do not work out or belong to another split."""
    return [(family.name, functools.partial(draw, family)) for family in FAMILIES if family.split == split]


def draw(family: Family | Story, rng: random.Random) -> Item | None:
    """One problem of the family. Its split goes by the numbers alone, in whatever order: no test problem has the numbers of a train one."""
    problem = family.problem(rng)
    if problem is None:
        return None
    texts = wordings(problem)
    return Item("reasoning", family.name, question(problem, rng), drawn(texts, rng), {"answer": problem.answer}, texts)


def question(problem: Problem, rng: random.Random) -> str:
    sentences = list(problem.sentences)
    if not problem.plain and rng.random() < ASIDE_SHARE:
        person = next(name for name, _ in PERSONS if re.search(rf"\b{name}\b", sentences[0]))
        aside = rng.choice(ASIDES).format(N=person, u=rng.randint(12, 90))
        sentences.insert(rng.randint(0, 1), aside)
    if rng.random() < REQUEST_SHARE:
        sentences.append(rng.choice(REQUESTS))
    return " ".join(sentences)


def upper_first(text: str) -> str:
    return text[:1].upper() + text[1:]


def wordings(problem: Problem) -> dict[str, float]:
    """Every way of writing the solution: a style, how it begins, an order for its three ways of telling a step (none comes twice), how it closes."""
    joints = itertools.product(STYLES, range(3), itertools.permutations(range(3)), CLOSING)
    return shares(f"{style(problem, begins, turns)}{closing} {problem.end} The answer is {problem.answer}." for style, begins, turns, closing in joints)


def by_goal(problem: Problem, begins: int, turns: Sequence[int]) -> str:
    told = [f"{GOALS[begins]} {problem.steps[-1][0]}."]
    for i, (label, _, shown) in zip(turns, problem.steps, strict=False):
        told.append(TOLD[i].format(label=label, Label=upper_first(label), equation=shown))
    return " ".join([*told, ""])


def in_lines(problem: Problem, begins: int, turns: Sequence[int]) -> str:
    lines = [f"{HEADS[begins]} {problem.steps[-1][0]}:"]
    for i, (label, _, shown) in zip(turns, problem.steps, strict=False):
        lines.append(f"{len(lines)}. " + LINES[i].format(label=label, Label=upper_first(label), equation=shown))
    return "\n".join([*lines, ""])


def in_turn(problem: Problem, begins: int, turns: Sequence[int]) -> str:
    told = [f"{AIMS[begins]} {problem.steps[-1][0]}."]
    for k, (i, (label, _, shown)) in enumerate(zip(turns, problem.steps, strict=False)):
        told.append(f"{(NEXT if k else FIRST)[i]} {label}: {shown}.")
    return " ".join([*told, ""])


STYLES = (by_goal, in_lines, in_turn)


def stated(answer: str) -> Decimal | None:
    """The number that a text gives as its answer: behind the last "answer is", else the last number in it."""
    found = ANSWER.findall(answer) or re.findall(NUMBER, answer)
    return Decimal(found[-1].replace(",", "")) if found else None


def grade(item: Item, answer: str) -> Grade:
    """Right is the number itself, however it is dressed ($1,200 or 1200.0). Never raises, whatever the text."""
    right, got = item.key["answer"], stated(answer)
    if got is None:
        return Grade(False, f"No number was found; the right answer is {right}.")
    if got != right:
        return Grade(False, f"The answer given is {str(got)[:40]}, the right one is {right}.")
    return Grade(True, f"{right} is the right answer.")
