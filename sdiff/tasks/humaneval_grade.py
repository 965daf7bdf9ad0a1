"""Grades answers to HumanEval in the sandbox. Knows its form of a test; refuses to know where problems come from.

An answer must let the tests come to their end, told by a secret last line; code written to read its caller's frames could still find
that line.
"""

from __future__ import annotations

import re
import secrets

from sdiff.tasks import Grade, Item, sandbox

FENCE = re.compile(r"```[^\n`]*\n(.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)


def code_of(answer: str, entry_point: str) -> str:
    """The Python in an answer: the first fenced block that defines the function, or the first one, or the whole answer without any."""
    blocks = [match[1] for match in FENCE.finditer(answer)]
    return next((block for block in blocks if defines(block, entry_point)), blocks[0] if blocks else answer)


def defines(code: str, entry_point: str) -> bool:
    return re.search(rf"^def {re.escape(entry_point)}\b", code, re.MULTILINE) is not None


def body_of(code: str) -> str:
    """A function's body, indented by four spaces as the prompt's first line of it would be.

    The first line may have lost its indent, as text does that was stripped: then the lines after it tell.
    """
    lines = [line for line in code.expandtabs(4).splitlines() if line.strip()]
    if not lines or lines[0].startswith(" "):
        return code.expandtabs(4)
    indents = [len(line) - len(line.lstrip()) for line in lines[1:]]
    opens = lines[0].rstrip().endswith(":")
    if indents and min(indents) >= 4 and (not opens or indents[0] >= 8):
        return "    " + "\n".join(lines)
    return "\n".join("    " + line for line in lines)


def program_of(item: Item, answer: str, nonce: str) -> str:
    """The prompt, the answer as a whole function or as its body, the tests, and `nonce` printed behind them."""
    code, entry_point = code_of(answer, item.key["entry_point"]), item.key["entry_point"]
    # The prompt stands in front of a whole function too: it brings imports and helpers, and its own function is replaced.
    written = f"\n{code}" if defines(code, entry_point) else body_of(code)
    return f"{item.key['prompt']}{written}\n{item.key['test']}\ncheck({entry_point})\nprint()\nprint({nonce!r})\n"


def grade(item: Item, answer: str) -> Grade:
    """Does the answer pass the problem's tests in the sandbox?"""
    nonce = secrets.token_hex(16)
    outcome = sandbox.run(program_of(item, answer, nonce))
    if outcome.status != "ok":
        return Grade(False, outcome.sentence)
    if outcome.stdout.splitlines()[-1:] != [nonce]:
        return Grade(False, "The program ended before its tests did.")
    return Grade(True, "Every test passed.")
