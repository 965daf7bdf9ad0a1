"""Grade-school word problems: drawn, asked, solved in words and graded. Knows grammar and arithmetic; refuses to know models.

One grammar for all families: a solution is a list of steps (label, equation, unit) told in one of four styles. Within a style the wording
is drawn at every joint from a few alternatives that share no words, so a writer who forgets its own last words mixes them up.
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from sdiff.tasks import Grade, Item, reasoning_counting, reasoning_held_out, reasoning_measuring, split_of
from sdiff.tasks.reasoning_families import ASIDES, RESULTS, Family, draw_numbers, draw_words, fields_of, operands

FAMILIES: tuple[Family, ...] = (*reasoning_counting.FAMILIES, *reasoning_measuring.FAMILIES, *reasoning_held_out.FAMILIES)

ASIDE_SHARE = REQUEST_SHARE = 1 / 6
REQUESTS = ("Show your work.", "Explain how you got there.", "Write down every step.", "Please explain your reasoning.")

ONLY = ("The question asks for", "All we have to find is", "In one step we get")
FIRST = ("First of all, we find", "The thing to start with is", "To begin, let us work out")
NEXT = ("After that, we find", "The next thing we need is", "Now let us work out")
LAST = ("In the end, we find", "The last thing missing is", "Finally, let us work out")
USING = {
    "+": ("We add the two numbers:", "Adding one to the other gives", "The sum of both comes to"),
    "-": ("We subtract the smaller number:", "Taking one from the other leaves", "The difference of both comes to"),
    "*": ("We multiply the two numbers:", "Multiplying one by the other gives", "The product of both comes to"),
    "/": ("We divide the larger number:", "Dividing one by the other gives", "The quotient of both comes to"),
}
CLOSING = ("So", "This means that", "Now we know:")

HEADS = ("Here is all the work in steps:", "Let us write down each part:", "We can solve this line by line:")
LINES = {
    "+": ("Add to find {label}: {equation}", "{Label} is a sum: {equation}", "By adding we get {label}: {equation}"),
    "-": ("Subtract to find {label}: {equation}", "{Label} is a difference: {equation}", "By taking away we get {label}: {equation}"),
    "*": ("Multiply to find {label}: {equation}", "{Label} is a product: {equation}", "By multiplying we get {label}: {equation}"),
    "/": ("Divide to find {label}: {equation}", "{Label} is a quotient: {equation}", "By dividing we get {label}: {equation}"),
}

PLANS = (("Our plan is to find", ", then"), ("What we need here is", ", and after that"), ("In this order, we work out", ", followed by"))
WRITTEN = ("Now with numbers:", "As an equation, this is", "Writing it out, we get")
FOLLOWS = ("From there we go on:", "The next equation says", "After that comes this:")

GOALS = ("We want to know", "The goal here is to find", "In this problem, we look for")
TOLD = ("We can see that {label} is {equation}.", "{Label} must be {equation}.", "What we get for {label} is {equation}.")

NUMBER = r"-?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?"
ANSWER = re.compile(rf"answer is[^0-9\n-]*({NUMBER})", re.IGNORECASE)


def families(split: str) -> list[tuple[str, Callable[[random.Random], Item | None]]]:
    """The families of one split: name and draw. A draw gives None where its numbers do not work out or belong to another split."""
    return [(family.name, functools.partial(draw, family)) for family in FAMILIES if family.split == split]


@functools.cache
def given(family: Family) -> list[str]:
    """The numbers that the question names; all stories and all asks of a family name the same ones."""
    return sorted({name for name in fields_of(family.stories[0] + family.asks[0]) if len(name) == 1 and name.islower()})


def draw(family: Family, rng: random.Random) -> Item | None:
    """One problem of the family. Its split goes by the numbers alone, in whatever order: no test problem has the numbers of a train one."""
    numbers = draw_numbers(family, rng)
    if numbers is None or split_of(*sorted(numbers[name] for name in given(family))) != family.split:
        return None
    values = {**draw_words(rng), **numbers, "u": rng.randint(12, 90)}
    solution = rng.choice(STYLES)(family, values, rng)
    return Item("reasoning", family.name, question(family, values, rng), solution, {"answer": numbers["r"]})


def question(family: Family, values: dict[str, Any], rng: random.Random) -> str:
    story, ask = rng.choice(family.stories), rng.choice(family.asks)
    sentences = [upper_first(story.format_map(values)), ask.format_map(values)]
    if not family.plain and rng.random() < ASIDE_SHARE:
        sentences.insert(rng.randint(0, 1), rng.choice(ASIDES).format_map(values))
    if rng.random() < REQUEST_SHARE:
        sentences.append(rng.choice(REQUESTS))
    return " ".join(sentences)


def upper_first(text: str) -> str:
    return text[:1].upper() + text[1:]


def equation(a: int, operator: str, b: int, result: int) -> str:
    """`34 + 17 = 51`; beyond the times tables by tens and ones: `14 * 6 = 10 * 6 + 4 * 6 = 60 + 24 = 84`."""
    small, large = sorted((a, b))
    tens, ones = large - large % 10, large % 10
    if operator != "*" or large <= 12 or not ones:
        return f"{a} {operator} {b} = {result}"
    return f"{a} * {b} = {tens} * {small} + {ones} * {small} = {tens * small} + {ones * small} = {result}"


def told_steps(family: Family, values: dict[str, Any]) -> list[tuple[str, str, str]]:
    """→ (label, operator, equation with unit) of each step."""
    told = []
    for result, step in zip(RESULTS, family.steps, strict=False):
        a, operator, b = operands(step.expression, values)
        shown = equation(a, operator, b, values[result])
        told.append((step.label.format_map(values), operator, f"{shown} {step.unit.format_map(values)}"))
    return told


def turns(rng: random.Random) -> list[int]:
    """An order for three alternatives: a solution of up to three steps says none of them twice."""
    return rng.sample(range(3), 3)


def ending(family: Family, values: dict[str, Any], rng: random.Random) -> str:
    end = family.end.format_map(values)
    return f"{rng.choice(CLOSING)} {end} The answer is {values['r']}."


def in_sentences(family: Family, values: dict[str, Any], rng: random.Random) -> str:
    steps = told_steps(family, values)
    openers = [ONLY] if len(steps) == 1 else [FIRST, *[NEXT] * (len(steps) - 2), LAST]
    told = []
    for i, opener, (label, operator, shown) in zip(turns(rng), openers, steps, strict=False):
        told.append(f"{rng.choice(opener)} {label}. {USING[operator][i]} {shown}.")
    return " ".join([*told, ending(family, values, rng)])


def in_lines(family: Family, values: dict[str, Any], rng: random.Random) -> str:
    lines = [rng.choice(HEADS)]
    for i, (label, operator, shown) in zip(turns(rng), told_steps(family, values), strict=False):
        lines.append(f"{len(lines)}. " + LINES[operator][i].format(label=label, Label=upper_first(label), equation=shown))
    return "\n".join([*lines, ending(family, values, rng)])


def by_plan(family: Family, values: dict[str, Any], rng: random.Random) -> str:
    steps = told_steps(family, values)
    opening, link = rng.choice(PLANS) if len(steps) > 1 else (rng.choice(ONLY), "")
    told = [f"{opening} " + f"{link} ".join(label for label, _, _ in steps) + "."]
    told.append(f"{rng.choice(WRITTEN)} {steps[0][2]}.")
    told += [f"{FOLLOWS[i]} {shown}." for i, (_, _, shown) in zip(turns(rng), steps[1:], strict=False)]
    return " ".join([*told, ending(family, values, rng)])


def by_goal(family: Family, values: dict[str, Any], rng: random.Random) -> str:
    steps = told_steps(family, values)
    told = [f"{rng.choice(GOALS)} {steps[-1][0]}."]
    for i, (label, _, shown) in zip(turns(rng), steps, strict=False):
        told.append(TOLD[i].format(label=label, Label=upper_first(label), equation=shown))
    return " ".join([*told, ending(family, values, rng)])


STYLES = (in_sentences, in_lines, by_plan, by_goal)


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
