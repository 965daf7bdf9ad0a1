"""Grades code by its results: finds it in an answer, runs it on hidden inputs in the sandbox, compares outside. Refuses to know problems.

The expected values never enter the sandboxed process, so code that leaves early, prints or looks around there gains nothing by it.
"""

from __future__ import annotations

import ast
import json
import re
import secrets
from typing import Any

from sdiff.tasks import Grade, Item, sandbox

FENCE = re.compile(r"```[ \t]*(\w*)[^\n]*\n(.*?)(?:```|\Z)", re.DOTALL)
BARE = re.compile(r"^(?:def|class|import|from) ", re.MULTILINE)

# Reports one line per test, as it goes: marker, then [kind, text] where kind is "value", "other", "error", or "code" for code that fails by itself.
DRIVER = """
import io, json, sys

def plain(value, depth=0):
    if type(value) in (list, tuple, set, dict):
        parts = [*value, *value.values()] if type(value) is dict else value
        return depth < 9 and all(plain(part, depth + 1) for part in parts)
    return value is None or type(value) in (int, float, str, bool)

def named(error):
    return (type(error).__name__ + ": " + str(error))[:150]

def result(test, space):
    exec(test["given"], space)
    value = eval(test["call"], space)
    if not plain(value):
        return "other", type(value).__name__
    return "value", repr(value)[:5000]

def main(marker, code, tests, out, space):
    def tell(*report):
        out.write("\\n" + marker + json.dumps(report) + "\\n")
        out.flush()

    sys.stdout = io.StringIO()  # what the code prints is no result
    try:
        exec(compile(code, "answer", "exec"), space)
    except BaseException as error:
        return tell("code", named(error))
    for test in tests:
        try:
            report = result(test, space)
        except BaseException as error:
            report = "error", named(error)
        tell(*report)

"""


def find_code(answer: str) -> str | None:
    """The first ```python block, else the first block, else all from the first line that begins like code; None without any."""
    blocks = FENCE.findall(answer)
    for language, code in blocks:
        if language.lower().startswith("py"):
            return code
    if blocks:
        return blocks[0][1]
    start = BARE.search(answer)
    return answer[start.start() :] if start else None


def program(code: str, tests: list[dict[str, str]], marker: str) -> str:
    """Runs `code`, then each test's `given` and `call`; the tests' `returns` stay here."""
    asked = [{"given": test["given"], "call": test["call"]} for test in tests]
    return f'{DRIVER}main({marker!r}, {code!a}, {asked!a}, sys.stdout, {{"__name__": "answer"}})\n'


def reports(stdout: str, marker: str) -> list[tuple[str, str]]:
    """(kind, text) of each report that came through whole."""
    found = []
    for line in stdout.splitlines():
        if not line.startswith(marker):
            continue
        try:
            kind, text = json.loads(line.removeprefix(marker))
        except (ValueError, TypeError, RecursionError):  # cut off, or forged
            continue
        found.append((str(kind), str(text)))
    return found


def same(got: Any, expected: Any) -> bool:
    """Equal in value and type throughout, except that an int may stand for an equal float, and floats may differ by rounding."""
    if isinstance(expected, float):
        return type(got) in (int, float) and abs(got - expected) <= 1e-9 * max(1.0, abs(expected))
    if type(got) is not type(expected):
        return False
    if isinstance(expected, (list, tuple)):
        return len(got) == len(expected) and all(map(same, got, expected))
    if isinstance(expected, dict):
        keys = {(type(key), key) for key in got} == {(type(key), key) for key in expected}
        return keys and all(same(got[key], value) for key, value in expected.items())
    return got == expected


def fault(test: dict[str, str], kind: str, text: str) -> str:
    """What is wrong with one result, "" if nothing."""
    call = f"{'; '.join(test['given'].splitlines())}; {test['call']}" if test["given"] else test["call"]
    if kind == "error":
        return f"{call} stopped with {text}."
    if kind != "value":
        return f"{call} returned an object of the type {text}, not {test['returns']}."
    try:
        right = same(ast.literal_eval(text), ast.literal_eval(test["returns"]))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError, OverflowError):  # inf, cut off, or forged
        right = False
    return "" if right else f"{call} returned {text[:200]}, not {test['returns']}."


def grade(item: Item, answer: str) -> Grade:
    """Does the answer's code pass all hidden tests? `why` names the first that fails. Raises what `sandbox.run` raises where it cannot run."""
    code = find_code(answer)
    if code is None or not code.strip():
        return Grade(False, "The answer has no code.")
    marker, tests = secrets.token_hex(16), item.key["tests"]
    outcome = sandbox.run(program(code, tests, marker))
    found = reports(outcome.stdout, marker)
    if found and found[0][0] == "code":
        return Grade(False, f"The code stopped with {found[0][1]}.")
    for test, report in zip(tests, found):
        if wrong := fault(test, *report):
            return Grade(False, wrong)
    if len(found) < len(tests):
        return Grade(False, f"No result came for {tests[len(found)]['call']}: {outcome.sentence}")
    return Grade(True, f"All {len(tests)} tests passed.")
