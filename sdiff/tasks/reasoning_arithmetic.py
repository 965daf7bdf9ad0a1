"""Equations as they are written in a solution, by tens and ones where the result is not known by heart. Refuses to know stories."""

from __future__ import annotations

import random

LARGEST = 100
BY_HEART = 12  # factors of products and quotients that are not worked out
OPERATIONS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a // b if b and a % b == 0 else 0,
}


def result_of(a: int, operator: str, b: int) -> int | None:
    """The result, or None where the sum is not fit for a problem: a number too large, a result under 2 or not whole, a division not known by heart."""
    result = OPERATIONS[operator](a, b)
    if operator == "/" and not (b <= BY_HEART and (result <= BY_HEART or result % 10 == 0)):
        return None
    return result if result >= 2 and max(a, b, result) <= LARGEST else None


def equation(a: int, operator: str, b: int) -> str:
    """`8 + 5 = 13`, `96 / 8 = 12`; with two digits `58 + 36 = 58 + 30 + 6 = 88 + 6 = 94` and `14 * 6 = 10 * 6 + 4 * 6 = 60 + 24 = 84`."""
    result = OPERATIONS[operator](a, b)
    middle = "" if operator == "/" else _product(a, b) if operator == "*" else _by_tens(a, operator, b)
    return f"{a} {operator} {b} = {middle}{result}"


def _parts(n: int) -> tuple[int, int]:
    """Tens and ones; over a hundred, hundreds and the rest if that is one digit."""
    return n - n % 10, n % 10


def _by_tens(a: int, operator: str, b: int) -> str:
    tens, ones = _parts(b)
    if not tens or not ones:
        return ""
    return f"{a} {operator} {tens} {operator} {ones} = {OPERATIONS[operator](a, tens)} {operator} {ones} = "


def _product(a: int, b: int) -> str:
    small, large = sorted((a, b))
    tens, ones = _parts(large)
    if large <= BY_HEART or not ones:
        return ""
    return f"{tens} * {small} + {ones} * {small} = {tens * small} + {ones * small} = "


def sheet(rng: random.Random, count: int = 8) -> tuple[str, str]:
    """A sheet of sums without stories, for practice only, and its worked solution, one line each."""
    sums: list[tuple[int, str, int]] = []
    while len(sums) < count:
        operator, a, b = rng.choice("+-*/"), rng.randint(2, LARGEST), rng.randint(2, LARGEST)
        if operator in "*/":
            a, b = rng.randint(2, LARGEST // 2), rng.randint(2, BY_HEART)
        if operator == "/":
            a *= b
        if result_of(a, operator, b) is not None:
            sums.append((a, operator, b))
    return "\n".join(["Work out:", *(f"{a} {operator} {b}" for a, operator, b in sums)]), "\n".join(equation(*each) for each in sums)
