"""Equations as they are written in a solution, by tens and ones where the result is not known by heart. Refuses to know stories."""

from __future__ import annotations

import random

LARGEST = 150
OPERATIONS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a // b if b and a % b == 0 else 0,
}


def result_of(a: int, operator: str, b: int) -> int | None:
    """The result, or None where it is not fit for a problem: under 2, too large, or not whole."""
    result = OPERATIONS[operator](a, b)
    return result if 2 <= result <= LARGEST else None


def equation(a: int, operator: str, b: int) -> str:
    """`8 + 5 = 13`; with two digits `58 + 36 = 58 + 30 + 6 = 88 + 6 = 94`, `14 * 6 = 10 * 6 + 4 * 6 = 60 + 24 = 84`
    and `84 / 6 = 60 / 6 + 24 / 6 = 10 + 4 = 14`. The division must leave nothing over."""
    result = OPERATIONS[operator](a, b)
    middle = {"+": _by_tens, "-": _by_tens, "*": _product, "/": _quotient}[operator](a, operator, b)
    return f"{a} {operator} {b} = {middle}{result}"


def _parts(n: int) -> tuple[int, int]:
    """Tens and ones; over a hundred, hundreds and the rest if that is one digit."""
    return n - n % 10, n % 10


def _by_tens(a: int, operator: str, b: int) -> str:
    tens, ones = _parts(b)
    if not tens or not ones:
        return ""
    return f"{a} {operator} {tens} {operator} {ones} = {OPERATIONS[operator](a, tens)} {operator} {ones} = "


def _product(a: int, _: str, b: int) -> str:
    small, large = sorted((a, b))
    tens, ones = _parts(large)
    if large <= 12 or not ones:
        return ""
    return f"{tens} * {small} + {ones} * {small} = {tens * small} + {ones * small} = "


def _quotient(a: int, _: str, b: int) -> str:
    tens, ones = _parts(a // b)
    if a // b <= 12 or not ones:
        return ""
    return f"{tens * b} / {b} + {ones * b} / {b} = {tens} + {ones} = "


def sheet(rng: random.Random, count: int = 4) -> tuple[str, str]:
    """A sheet of sums without stories, for practice only, and its worked solution, one line each."""
    sums: list[tuple[int, str, int]] = []
    while len(sums) < count:
        operator, a, b = rng.choice("+-*/"), rng.randint(2, 149), rng.randint(2, 99)
        if operator == "*":
            a, b = rng.randint(2, 75), rng.randint(2, 12)
        elif operator == "/":
            b = rng.randint(2, 12)
            a = b * rng.randint(2, 75)
        if max(a, b) <= LARGEST and result_of(a, operator, b) is not None:
            sums.append((a, operator, b))
    return "\n".join(["Work out:", *(f"{a} {operator} {b}" for a, operator, b in sums)]), "\n".join(equation(*each) for each in sums)
