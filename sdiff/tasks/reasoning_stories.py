"""The story grammar: families of word problems as sequences of moves on a running total. Refuses to know how a solution is worded.

Every move is one sentence and one equation, or two where a product comes first; the equations stand in the order of the story. A family is
a theme with a sequence: a start, up to two moves in the middle, an end. Of the many possible sequences a fixed rule takes some for each split.
"""

from __future__ import annotations

import functools
import random
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from sdiff.tasks import split_of
from sdiff.tasks.reasoning_arithmetic import BY_HEART, LARGEST, equation, result_of
from sdiff.tasks.reasoning_families import Problem, draw_words
from sdiff.tasks.reasoning_journeys import DISTANCE, TIME
from sdiff.tasks.reasoning_themes import MONEY, THINGS

STARTS = {"has": 0, "each": 1}  # move: number of equations
MIDDLES = {"gain": 1, "lose": 1, "gain each": 2, "lose each": 2, "half": 1, "double": 1}
ENDS = {"now": 0, "share": 1, "times": 1, "more": 1, "fewer": 1, "together": 1, "missing": 1, "pack": 1}
EQUATIONS = {**STARTS, **MIDDLES, **ENDS}
OPERATORS = {"gain": "+", "lose": "-", "share": "/", "times": "*", "more": "+", "fewer": "-", "together": "+", "pack": "/"}
BACK = ("lose", "lose each", "half")
AHEAD = ("gain", "gain each", "double", "together")
# Sequences of one theme that each split takes, by number of equations; train is served first, so that nothing of a test is unheard of.
TAKEN = {
    "train": {1: 7, 2: 9, 3: 12},
    "test": {1: 1, 2: 3, 3: 2},
    "validation": {1: 1, 2: 1, 3: 1},
}


@dataclass(frozen=True)
class Phrasing:
    """A sentence, and how it calls the results of its move."""

    sentence: str
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Move:
    """A move as told in one theme. `end`: said at last, "" where the story goes on."""

    phrasings: tuple[Phrasing, ...]
    unit: str
    end: str = ""


@dataclass(frozen=True)
class Story:
    """One family: a theme and its moves, in one split."""

    split: str
    theme: str
    moves: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.theme}: {', '.join(self.moves)}"

    def problem(self, rng: random.Random) -> Problem | None:
        """One problem, or None where the numbers do not work out or belong to another split."""
        drawn = self.numbers(rng)
        named = tuple(n for amounts, _ in drawn or () for n in amounts if n)
        if drawn is None or split_of(*sorted(named)) != self.split:
            return None
        words = draw_words(rng)
        noun = rng.choice(("thing", "fruit", "treat"))
        words.update(thing=words[noun], things=words[noun + "s"])
        sentences, steps = [], []
        for kind, (amounts, operations) in zip(self.moves, drawn, strict=True):
            move = THEMES[self.theme][kind]
            phrasing = rng.choice(move.phrasings)
            values = {**words, **dict(zip("cd", amounts, strict=False))}
            sentences.append(phrasing.sentence.format_map(values))
            for label, operation in zip(phrasing.labels, operations, strict=True):
                steps.append((label.format_map(values), operation[1], f"{equation(*operation)} {move.unit.format_map(words)}"))
        answer = result_of(*drawn[-1][1][-1] if drawn[-1][1] else drawn[-2][1][-1])
        return Problem(named, tuple(sentences), tuple(steps), move.end.format_map({**words, "r": answer}), answer)

    def numbers(self, rng: random.Random) -> list[tuple[tuple[int, ...], list[tuple[int, str, int]]]] | None:
        """For each move the numbers it names and its operations; None where they do not work out."""
        found, total = [], 0
        for kind in self.moves:
            amounts = _amounts(kind, total, rng)
            operations = amounts and _operations(kind, total, amounts)
            if operations is None:
                return None
            found.append((amounts, operations))
            total = result_of(*operations[-1]) if operations else total + amounts[0]
        return found


def _operations(kind: str, total: int, amounts: tuple[int, ...]) -> list[tuple[int, str, int]] | None:
    """The operations of a move; None where a result is not fit for a problem."""
    first, *rest = amounts
    if kind in ("has", "now"):
        return []
    if kind == "missing":
        operations = [(first, "-", total)]
    elif kind.endswith("each"):
        product = first * rest[0]
        operations = [(first, "*", rest[0])]
        if kind != "each":
            operations.append((total, OPERATORS[kind.split(" ")[0]], product))
    elif kind in ("half", "double"):
        operations = [(total, "/" if kind == "half" else "*", 2)]
    else:
        operations = [(total, OPERATORS[kind], first)]
    return operations if all(result_of(*operation) for operation in operations) else None


def _amounts(kind: str, total: int, rng: random.Random) -> tuple[int, ...] | None:
    """The numbers that a move names, (0,) where it names none; None where none fit `total`."""
    if kind == "has":
        return (rng.choice((rng.randint(4, 30), rng.randint(12, 95))),)
    if kind.endswith("each"):
        return rng.randint(2, 12), rng.randint(2, 24 if kind == "each" else 12)
    if kind in ("share", "pack"):
        divisors = [n for n in range(2, BY_HEART + 1) if result_of(total, "/", n)]
        return (rng.choice(divisors),) if divisors else None
    if kind == "times":
        return (rng.randint(2, 8),)
    if kind == "missing":
        return (rng.randint(total + 4, LARGEST),) if total + 4 <= LARGEST else None
    if kind in OPERATORS:
        return (rng.choice((rng.randint(3, 9), rng.randint(1, 7) * 10, rng.randint(11, 75), rng.randint(11, 75))),)
    return (0,)


def _theme(text: str) -> tuple[str, dict[str, Move]]:
    """The moves of a theme, read from the form that `reasoning_themes` describes."""
    head, *lines = text.strip().split("\n")
    name, _, rest = head.partition(": ")
    total, _, unit = rest.partition(" = ")
    moves: dict[str, Move] = {}
    kind = finds = ""
    for line in lines:
        if line.startswith("- "):
            sentence, *tags = line[2:].split(" | ")
            move = moves[kind]
            labels = [f"{total} {tag}" for tag in tags]
            if move.end and EQUATIONS[kind]:
                labels = [finds]
            moves[kind] = Move((*move.phrasings, Phrasing(sentence, tuple(labels))), move.unit, move.end)
        else:
            kind, _, rest = line.partition(": ")
            found, _, end = rest.partition("; ")
            finds, _, own_unit = found.partition(" = ")
            moves[kind] = Move((), own_unit or unit, end)
    return name, moves


THEMES = dict(map(_theme, (THINGS, MONEY, DISTANCE, TIME)))


def _fits(theme: str, moves: tuple[str, ...]) -> bool:
    """Is the story clear and worth asking? On the road, going on after turning back could mean either way."""
    middle = moves[1:-1]
    back = next((i for i, move in enumerate(moves) if move in BACK), len(moves))
    if theme == "distance" and any(move in BACK + AHEAD for move in moves[back + 1 :]):
        return False
    return len(set(middle)) == len(middle) and set(middle) != {"half", "double"}


def sequences(theme: str) -> Iterator[tuple[str, ...]]:
    """All sequences of one to three equations that fit the theme, in an order that says nothing about them."""
    middles = [(), *((one,) for one in MIDDLES), *((one, two) for one in MIDDLES for two in MIDDLES)]
    found = [(start, *middle, end) for start in STARTS for middle in middles for end in ENDS]
    fit = [moves for moves in found if 1 <= sum(EQUATIONS[move] for move in moves) <= 3 and _fits(theme, moves)]
    return iter(sorted(fit, key=lambda moves: zlib.crc32(f"{theme} {moves}".encode())))


def parts(theme: str, moves: tuple[str, ...]) -> list[tuple[str, str]]:
    """What must be known to follow the story: each move in this theme, and each kind of move after another one in any theme."""
    return [*((theme, move) for move in moves), *pairwise(moves)]


def _families() -> Iterator[Story]:
    """Per split, again and again the sequence whose middle has the move it has seen least, of these the one whose parts it has seen least.

    The splits outside train only take what train has all parts of.
    """
    left = {theme: list(sequences(theme)) for theme in THEMES}
    seen = {split: Counter() for split in TAKEN}
    for split, taken in TAKEN.items():
        for n, theme in ((n, theme) for n, times in taken.items() for _ in range(times) for theme in THEMES):
            fit = [m for m in left[theme] if sum(EQUATIONS[move] for move in m) == n]
            if split != "train":
                fit = [m for m in fit if all(seen["train"][part] for part in parts(theme, m))]
            so_far = seen[split]
            moves = min(
                fit,
                key=lambda m: (min(so_far[theme, x] for x in m[1:-1] or m), sum(so_far[part] for part in (*parts(theme, m), *m)) / len(m)),
            )
            left[theme].remove(moves)
            so_far.update((*parts(theme, moves), *moves))
            yield Story(split, theme, moves)


@functools.cache
def families() -> tuple[Story, ...]:
    return tuple(_families())
