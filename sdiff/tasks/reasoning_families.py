"""How a family of word problems is written down and read: numbers, stories, steps, words. Refuses to know how a solution is worded.

A family is a block of lines, blocks are parted by an empty line:

    train: boxes and loose ones: a 3-12, b 3-12, c 5-40        split: name: numbers, drawn freely from a range ...
    story {N} has {a} {boxes} with {b} {things} each ...       ... or `t = a * b` computed, or `c < b`, `c < 90` required
    ask How many {things} does {N} have?                       any story goes with any ask
    step the number of {things} in the {boxes} = a * b {things}    label = expression and unit; results are x, y, z
    end {N} has {r} {things}.                                  r is the last result
    plain                                                      optional: a sentence about the person would disturb

All other fields are words, drawn from `WORDS`; one draw serves the whole problem.
"""

from __future__ import annotations

import functools
import random
import re
from dataclasses import dataclass
from string import Formatter

from sdiff.tasks import split_of
from sdiff.tasks.reasoning_arithmetic import equation, result_of

RESULTS = "xyz"

PEOPLE = {
    "she her her": "Mia, Anna, Lily, Sara, Nora, Emma, Zoe, Ruth, Ella, Maya, Clara, Ivy",
    "he his him": "Tom, Ben, Leo, Sam, Omar, Jack, Max, Noah, Paul, Adam, Hugo, Finn",
}
WORDS = {
    "thing things": "marble marbles, sticker stickers, shell shells, card cards, button buttons, bead beads, stamp stamps, pencil pencils, stone stones, badge badges",
    "fruit fruits": "apple apples, pear pears, plum plums, lemon lemons, peach peaches, fig figs",
    "treat treats": "cookie cookies, muffin muffins, biscuit biscuits, pancake pancakes, cupcake cupcakes, waffle waffles",
    "box boxes": "box boxes, bag bags, basket baskets, packet packets, tin tins, case cases",
    "goods": "pens, cups, notebooks, candles, brushes, plants, bowls, magnets",
    "gift": "book, puzzle, scarf, ball, kite, game, poster, football",
    "ware": "lamp, jacket, backpack, helmet, radio, blanket, clock, chair",
    "place": "hall, museum, library, theatre, cinema, school",
    "town": "coast, lake, mountains, capital, island, border",
    "colour": "red, black, pink, brown",
    "hue": "blue, green, white, grey",
    "bird birds": "hen hens, duck ducks, goose geese",
    "flower flowers": "tulip tulips, rose roses, lily lilies, daisy daisies, poppy poppies",
    "ground": "garden, field, playground, yard, car park, meadow",
    "green": "garden, park, meadow, flower bed",
    "day later": "Monday Tuesday, Tuesday Wednesday, Wednesday Thursday, Friday Saturday, Saturday Sunday",
    "goal": "lake, coast, station, island, castle, village",
    "vehicle": "car, train, bus, truck, coach, tram",
}  # fmt: skip
PERSONS = [(name, pronouns) for pronouns, names in PEOPLE.items() for name in names.split(", ")]
CHOICES = [(names.split(), choices.split(", ")) for names, choices in WORDS.items()]
# Said of the person, no use for the question. {u} is in every one of them.
ASIDES = (
    "{N} lives in house number {u}.",
    "There are {u} steps in front of {N}'s door.",
    "{N}'s favourite number is {u}.",
    "{N}'s street has {u} trees.",
    "{N}'s grandfather is {u} years old.",
    "From {N}'s window one can see {u} roofs.",
    "{N}'s school has {u} teachers.",
    "On {N}'s door there is the number {u}.",
)


@dataclass(frozen=True)
class Problem:
    """One drawn problem, of whatever grammar. `numbers`: those the question names; `sentences`: the story, the last one asks;
    `steps`: label, operator and equation with unit; `end`: what is said before the answer; `plain`: no aside about a person."""

    numbers: tuple[int, ...]
    sentences: tuple[str, ...]
    steps: tuple[tuple[str, str, str], ...]
    end: str
    answer: int
    plain: bool = False


@dataclass(frozen=True)
class Step:
    """One operation: what it finds, `left operator right` (numbers by name or digits), and the unit of the result."""

    label: str
    expression: str
    unit: str


@dataclass(frozen=True)
class Family:
    """A family as written. `numbers` are still text; `draw_numbers` reads them."""

    split: str
    name: str
    numbers: tuple[str, ...]
    stories: tuple[str, ...]
    asks: tuple[str, ...]
    steps: tuple[Step, ...]
    end: str
    plain: bool

    def problem(self, rng: random.Random) -> Problem | None:
        """One problem, or None where the numbers do not work out or belong to another split."""
        numbers = draw_numbers(self, rng)
        if numbers is None:
            return None
        named = tuple(numbers[name] for name in given(self))
        if split_of(*sorted(named)) != self.split:
            return None
        values = {**draw_words(rng), **numbers}
        steps = []
        for step in self.steps:
            shown = f"{equation(*operands(step.expression, values))} {step.unit.format_map(values)}"
            steps.append((step.label.format_map(values), step.expression.split()[1], shown))
        story, ask = rng.choice(self.stories).format_map(values), rng.choice(self.asks).format_map(values)
        return Problem(named, (story[:1].upper() + story[1:], ask), tuple(steps), self.end.format_map(values), numbers["r"], self.plain)


@functools.cache
def given(family: Family) -> list[str]:
    """The numbers that the question names; all stories and all asks of a family name the same ones."""
    return sorted({name for name in fields_of(family.stories[0] + family.asks[0]) if len(name) == 1 and name.islower()})


def fields_of(template: str) -> list[str]:
    return [name for _, name, _, _ in Formatter().parse(template) if name]


def parse(text: str) -> list[Family]:
    """The families of a text in the form above. Raises ValueError on a block that lacks a part."""
    return [_family(block.split("\n")) for block in re.split(r"\n\s*\n", text.strip())]


def _family(lines: list[str]) -> Family:
    split, name, numbers = (part.strip() for part in lines[0].split(":"))
    parts: dict[str, list[str]] = {"story": [], "ask": [], "step": [], "end": [], "plain": []}
    for line in lines[1:]:
        kind, _, rest = line.partition(" ")
        parts[kind].append(rest)
    if not all(parts[kind] for kind in ("story", "ask", "step", "end")):
        raise ValueError(f"family {name} lacks a part")
    return Family(split, name, tuple(n.strip() for n in numbers.split(",")), tuple(parts["story"]), tuple(parts["ask"]),
                  tuple(_step(line) for line in parts["step"]), parts["end"][0], bool(parts["plain"]))  # fmt: skip


def _step(line: str) -> Step:
    label, _, rest = line.partition(" = ")
    left, operator, right, unit = rest.split(" ", 3)
    return Step(label, f"{left} {operator} {right}", unit)


def operands(expression: str, values: dict[str, int]) -> tuple[int, str, int]:
    left, operator, right = expression.split()
    a, b = (int(side) if side.isdigit() else values[side] for side in (left, right))
    return a, operator, b


def draw_numbers(family: Family, rng: random.Random) -> dict[str, int] | None:
    """All numbers of a problem by name, results of the steps too; None where this draw does not work out."""
    values: dict[str, int | None] = {}
    for entry in family.numbers:
        name, rest = entry.split(" ", 1)
        if rest.startswith("<"):
            bound = rest[2:]
            if not values[name] < (int(bound) if bound.isdigit() else values[bound]):
                return None
        elif rest.startswith("="):
            values[name] = result_of(*operands(rest[2:], values))
        else:
            low, high = rest.split("-")
            values[name] = rng.randint(int(low), int(high))
        if values[name] is None:
            return None
    for result, step in zip(RESULTS, family.steps, strict=False):
        values[result] = values["r"] = result_of(*operands(step.expression, values))
        if values["r"] is None:
            return None
    return values


def draw_words(rng: random.Random) -> dict[str, str]:
    """Two people ({N} with pronouns, {M}) and one choice of everything in `WORDS`."""
    (first, pronouns), (second, _) = rng.sample(PERSONS, 2)
    he, his, him = pronouns.split()
    words = {"N": first, "M": second, "he": he, "He": he.capitalize(), "his": his, "His": his.capitalize(), "him": him}
    for names, choices in CHOICES:
        choice = rng.choice(choices)
        words.update(zip(names, choice.split(" ") if len(names) > 1 else [choice], strict=True))
    return words
