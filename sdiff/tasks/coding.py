"""Small Python problems: words of the request, worked solutions, hidden tests. Knows how pieces are put together; refuses to know models.

A family is one specification and belongs to one split. A family with a constant also splits the draws of its names and constant; in the
others only names and words vary, so the family alone holds the splits apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import product
from random import Random

from sdiff.tasks import Item, drawn, shares, split_of
from sdiff.tasks.coding_composed import Problem, choose, composed, fill, tested
from sdiff.tasks.coding_specs import WORDS, Way, lines
from sdiff.tasks.coding_written import CLASSES, FUNCTIONS, ROLES, Class, Function

FRAMES = (
    "Write a Python function `$sig` that returns $what.",
    "Please write the Python function `$sig`. It should return $what.",
    "Define a function `$sig` in Python which returns $what.",
    "I need a Python function `$sig`. It returns $what.",
    "In Python, write `$sig` so that it returns $what.",
    "Implement `$sig` in Python: it returns $what.",
    "Can you write a Python function `$sig` that returns $what?",
    "Create a Python function named `$name` that takes $taken and returns $what.",
)
CLASS_FRAMES = (
    "Write a Python class `$name` $what.",
    "Please define a Python class `$name` $what.",
    "I need a Python class `$name` $what.",
    "Implement the class `$name` in Python, $what.",
    "Create a class `$name` in Python $what.",
    "Can you write a Python class `$name` $what?",
)
EXAMPLES = ("For example, `$call` returns $value.", "Example: `$call` returns $value.", "So `$call` gives $value.")


def roles_in(*templates: str) -> list[str]:
    return sorted({role for template in templates for role in re.findall(r"\$(\w+)", template)})


def written_function(spec: Function, rng: Random) -> Problem:
    """A draw of a function that is written out."""
    arguments = tuple(rng.choice(spec.arguments).split())
    used = set(arguments)
    names = dict(zip("abc", arguments))
    roles = [role for role in roles_in(*(way.body for way in spec.ways)) if role not in names]
    names |= {role: choose(rng, ROLES[role], used) for role in roles}
    name = rng.choice(spec.names.split())
    inputs = [*spec.edges, *(spec.draw(rng) for _ in range(6))]
    tests = [tested(name, values, spec.answer(*values)) for values in inputs]
    sample = tested(name, values := spec.draw(rng), spec.answer(*values))
    return Problem(
        "function", name, arguments, fill(rng.choice(spec.whats), names), spec.ways, names, tests, (sample["call"], sample["returns"])
    )


def written_class(spec: Class, rng: Random) -> Problem:
    """A draw of a class; each test makes an object, calls some methods and looks at one more call."""
    used: set[str] = set()
    names = {role: choose(rng, options, used) for role, options in spec.roles.items()}
    name = rng.choice(spec.names.split())
    draws = {"": lambda: None, "number": lambda: rng.randint(-5, 20), "word": lambda: rng.choice(WORDS)}

    def test(length: int) -> dict[str, str]:
        state = rng.randint(0, 30) if spec.given else spec.start
        script = [f"thing = {name}({state if spec.given else ''})"]
        for method in [*rng.choices(list(spec.effects), k=length), list(spec.effects)[-1]]:
            argument = draws[spec.takes.get(method, "")]()
            state, value = spec.effects[method](state, argument)
            script.append(f"thing.{names[method]}({'' if argument is None else repr(argument)})")
        return {"given": "\n".join(script[:-1]), "call": script[-1], "returns": repr(value)}

    tests = [test(length) for length in (0, 1, 2, 3, 4, 6, 8)]
    return Problem("class", name, (), fill(rng.choice(spec.whats), names), tuple(map(Way, spec.bodies)), names, tests, None)


def request(problem: Problem, rng: Random) -> str:
    """The request in one of several wordings, for a third of the functions with an example."""
    said = {"name": problem.name, "what": problem.what, "sig": f"{problem.name}({', '.join(problem.arguments)})"}
    taken = " and ".join(filter(None, (", ".join(problem.arguments[:-1]), *problem.arguments[-1:])))
    text = fill(rng.choice(CLASS_FRAMES if problem.kind == "class" else FRAMES), {**said, "taken": taken})
    if problem.sample and rng.random() < 1 / 3:
        text += " " + fill(rng.choice(EXAMPLES), dict(zip(("call", "value"), problem.sample)))
    return text


def indented(body: str) -> str:
    return re.sub(r"^(?=.)", "    ", body, flags=re.MULTILINE)


def solution(problem: Problem, way: Way, finish: str, opening: str, closing: str) -> str:
    """One worked solution. `finish`: "plain", "told" with a sentence behind the code, or "documented" with that and a docstring."""
    head = f"class {problem.name}" if problem.kind == "class" else f"def {problem.name}({', '.join(problem.arguments)})"
    body = indented(fill(way.body, problem.names))
    if finish == "documented":
        summary = f"Keeps its {problem.names['state']} up to date." if problem.kind == "class" else f"Return {problem.what}."
        body = f'    """{summary}"""\n{body}'
    text = f"{fill(opening, problem.names)}\n\n```python\n{way.imports + chr(10) * 3 if way.imports else ''}{head}:\n{body}\n```"
    return text if finish == "plain" else f"{text}\n\n{fill(closing, problem.names)}"


def finishes(way: Way) -> tuple[str, ...]:
    """A body of one line never stands alone: it would be too short to measure anything with."""
    return ("plain", "told", "documented") if "\n" in way.body else ("told", "documented")


def wordings(problem: Problem) -> dict[str, float]:
    """Every way of writing the solution under the problem's names, with its probability: a way, a finish, an opening, a closing."""
    found: dict[str, float] = {}
    for way in problem.ways:
        openings = (f"Here is the {problem.kind}:", f"This {problem.kind} does it:", *way.openings)
        closings = (*way.closings, *problem.closings) or ("Each object keeps its own state.", "The constructor sets the state at first.")
        texts = shares(solution(problem, way, *joints) for joints in product(finishes(way), openings, closings))
        for text, share in texts.items():
            found[text] = found.get(text, 0) + share / len(problem.ways)
    return found


def draw(family: str, split: str, build: Callable[[Random], Problem], rng: Random) -> Item | None:
    """An item, or None where the draw's parameters belong to another split."""
    problem = build(rng)
    if problem.parameters and split_of(family, *problem.parameters) != split:
        return None
    texts = wordings(problem)
    return Item("coding", family, request(problem, rng), drawn(texts, rng), {"name": problem.name, "tests": problem.tests}, texts)


def builders(split: str) -> dict[str, Callable[[Random], Problem]]:
    """Family → how a problem of it is drawn, for one split."""
    found: dict[str, Callable[[Random], Problem]] = {"-".join(spec).removesuffix("-same"): partial(composed, spec) for spec in lines(split)}
    found |= {name: partial(written_function, spec) for name, spec in FUNCTIONS.items() if spec.split == split}
    return found | {f"class-{name}": partial(written_class, spec) for name, spec in CLASSES.items() if spec.split == split}


def families(split: str) -> list[tuple[str, Callable[[Random], Item | None]]]:
    """(name, draw) of each family of a split."""
    return [(name, partial(draw, name, split, build)) for name, build in builders(split).items()]


def pieces(split: str) -> dict[str, set[str]]:
    """Family → what it is made of. Every piece of a validation or test family occurs in some train family."""
    kinds = ("result", "source", "filter", "change")
    found = {"-".join(spec).removesuffix("-same"): {f"{kind}:{piece}" for kind, piece in zip(kinds, spec)} for spec in lines(split)}
    found |= {name: set(spec.pieces) for name, spec in FUNCTIONS.items() if spec.split == split}
    return found | {f"class-{name}": set(spec.pieces) for name, spec in CLASSES.items() if spec.split == split}
