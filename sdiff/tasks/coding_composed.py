"""Puts a problem together from a result, a source, a filter and a change: names, words, bodies and hidden tests. Knows how pieces fit;
refuses to know sentences and splits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from string import Template, ascii_letters, digits
from typing import Any

from sdiff.tasks.coding_specs import CHANGES, CONSTANTS, FILTERS, NUMBERS, RESULTS, SOURCES, WORDS, Change, Filter, Row, Source, Way

NEGATED = {" == ": " != ", " != ": " == ", " > ": " <= ", " < ": " >= ", " in ": " not in "}


@dataclass(frozen=True)
class Problem:
    """One problem before it is put into sentences. `names`: what the templates of `ways` stand for; `sample`: (call, value) for an example."""

    kind: str  # function or class
    name: str
    arguments: tuple[str, ...]
    what: str
    ways: tuple[Way, ...]
    names: dict[str, str]
    tests: list[dict[str, str]]
    sample: tuple[str, str] | None
    parameters: tuple = ()  # what the split is drawn from, besides the family; empty: the family alone
    closings: tuple[str, ...] = ()  # sentences that fit every way


def fill(template: str, names: dict[str, str]) -> str:
    return Template(template).substitute(names)


def choose(rng: Random, options: str, used: set[str]) -> str:
    """One of the space-separated options that is not in `used`, which then has it."""
    name = rng.choice([option for option in options.split() if option not in used])
    used.add(name)
    return name


def tested(name: str, arguments: tuple, value: Any) -> dict[str, str]:
    """A hidden test of a function; `returns` is the expected value as a literal."""
    return {"given": "", "call": f"{name}({', '.join(map(repr, arguments))})", "returns": repr(value)}


def phrase(rng: Random) -> list[str]:
    """Characters of two words, with capitals and digits."""
    drawn = [
        rng.choice((word, word, word.title(), word.upper(), str(rng.randint(1, 99)))) for word in rng.choices(WORDS, k=rng.randint(1, 3))
    ]
    return list(" ".join(drawn))


def mixture(source: Source, test: Callable[[Any], bool], shape: str, edge: Any, rng: Random) -> list:
    """Elements for one input of a shape: "none" of them pass the filter, "only" such do, or "mixed"; with those at the limit `edge`."""
    if source.kind == "char":
        return characters(test, shape, edge, rng)
    pool = {"number": NUMBERS, "pair": NUMBERS, "word": WORDS, "digit": range(10)}[source.kind]
    passing, failing = [x for x in pool if test(x)], [x for x in pool if not test(x)]
    limit = edge if isinstance(edge, int) else 0
    at_edge = [x for x in pool if failing and limit == (len(x) if isinstance(x, str) else x)]
    if shape != "mixed":
        chosen = passing if shape == "only" else failing
        return [*rng.choices(chosen, k=rng.randint(1, 3)), *[x for x in at_edge if x in chosen][:1]] if chosen else []
    drawn = [
        *rng.choices(passing, k=rng.randint(1, 3)),
        *rng.choices(failing or pool, k=rng.randint(1, 3)),
        *rng.sample(at_edge, min(1, len(at_edge))),
    ]
    rng.shuffle(drawn)
    return drawn


def characters(test: Callable[[str], bool], shape: str, edge: Any, rng: Random) -> list[str]:
    """The same for the characters of a text, which reads like words as far as the shape allows."""
    drawn = phrase(rng)
    if isinstance(edge, str) and rng.random() < 0.7:
        drawn.insert(rng.randint(0, len(drawn)), edge)
    if not any(map(test, drawn)):
        drawn.insert(rng.randint(0, len(drawn)), rng.choice([x for x in ascii_letters + digits if test(x)]))
    return [x for x in drawn if shape == "mixed" or test(x) == (shape == "only")]


def elements(source: Source, test: Callable[[Any], bool], shape: str, edge: Any, rng: Random) -> list:
    """The elements of one input, as `Source.make` takes them."""
    if source.kind == "count":
        longer = rng.choice((rng.randint(3, 16), 2 * edge if edge else rng.randint(3, 9)))  # sometimes with the last number divisible
        return list(range(1, {"empty": 0, "none": 1, "only": 2}.get(shape, longer) + 1))
    drawn = [] if shape == "empty" else mixture(source, test, shape, edge, rng)
    if source.kind == "digit":
        drawn = [int(digit) for digit in str(int("".join(map(str, drawn)) or "0"))]  # no leading zeros
    return list(zip(rng.sample(WORDS, len(drawn)), drawn)) if source.kind == "pair" else drawn


def case(spec: tuple[str, str, str, str], shape: str, k: Any, rng: Random) -> tuple[Any, Any]:
    """(input, value) of one call."""
    result, source, rule, change = RESULTS[spec[0]], SOURCES[spec[1]], FILTERS[spec[2]], CHANGES[spec[3]]
    drawn = elements(source, lambda x: rule.holds(x, k), shape, k, rng)
    if source.kind == "pair":
        rows = [Row(key, key if spec[1] == "keys" else change.apply(value, k), rule.holds(value, k)) for key, value in drawn]
        return source.make(drawn), result.answer(rows)
    given = dict(zip(rng.sample(WORDS, len(drawn)), drawn)) if spec[1] == "values" else source.make(drawn)
    return given, result.answer([Row(x, change.apply(x, k), rule.holds(x, k)) for x in drawn])


def in_words(source: Source, rule: Filter, change: Change, names: dict[str, str], rng: Random) -> dict[str, str]:
    """What the templates of a result call the elements that count."""
    noun, nouns = rule.nouns or (source.one, source.many)
    place, verb = fill(rng.choice(source.places), names), fill(rule.verb, names)
    before, after = f"{rule.before} " * bool(rule.before), f" {fill(rule.after, names)}" * bool(rule.after)
    bare, single = before + nouns + after, before + noun + after
    if source.kind == "pair":
        bare, single, place = source.many, source.one, f"{place} whose value {verb}" if verb else place
    said = {
        **names,
        "noun": source.one,
        "many": source.many,
        "bare": bare,
        "single": single,
        "place": place,
        "verb": verb,
        "these": f"{bare} {place}",
    }
    return {**said, "group": fill(rng.choice(change.words), said), "changed": change.tag.removesuffix("s")}


def function_name(spec: tuple[str, str, str, str], rng: Random) -> str:
    """A name made of the pieces, such as count_numbers_above; the noun may be left out where something else is said."""
    source, rule, change = SOURCES[spec[1]], FILTERS[spec[2]], CHANGES[spec[3]]
    noun = rule.nouns[1].replace(" ", "_") if rule.nouns else source.tag
    keep = bool(rule.nouns) or not (rule.before or rule.tag or change.tag) or rng.random() < 0.5
    parts = (rng.choice(RESULTS[spec[0]].verbs.split()), change.tag, rule.before, noun if keep else "", rule.tag)
    return "_".join(part for part in parts if part)


def negation(condition: str) -> str:
    for sign, opposite in NEGATED.items():
        if sign in condition:
            return condition.replace(sign, opposite)
    return f"not {condition}"


def codes(source: Source, rule: Filter, change: Change, names: dict[str, str], rng: Random) -> dict[str, str]:
    """What the templates of a way stand for."""
    y = names["key"] if source.many == "keys" else fill(rng.choice(change.codes), names)
    condition, iterated = fill(rule.code, names), fill(source.iterated, names)
    guard = f" if {condition}" if condition else ""
    some = f"{y} for {names['target']} in {iterated}{guard}"
    trivial = not guard and y == names["target"]
    return {
        **names, "y": y, "it": iterated, "cond": condition, "unless": negation(condition), "if": guard, "some": some,
        "stream": iterated if trivial else some, "gen": iterated if trivial else f"({some})",
    }  # fmt: skip


def guarded(body: str, condition: bool) -> str:
    """The body with its "?" lines under the filter's `if`."""
    done: list[str] = []
    inside = False
    for line in body.split("\n"):
        head, mark, rest = line.partition("?")
        if mark and condition and not inside:
            done.append(f"{head}if $cond:")
        inside = bool(mark)
        done.append(f"{head}{'    ' if condition else ''}{rest}" if mark else line)
    return "\n".join(done)


def composed(spec: tuple[str, str, str, str], rng: Random) -> Problem:
    """A draw of a family that is put together from a result, a source, a filter and a change."""
    result, source, rule, change = RESULTS[spec[0]], SOURCES[spec[1]], FILTERS[spec[2]], CHANGES[spec[3]]
    kind, used = rule.constant or change.constant, set()
    arguments = [choose(rng, source.arguments, used)]
    constant = rng.choice(CONSTANTS[kind].values) if kind else None
    if kind and rng.random() < 0.5:
        arguments.append(choose(rng, CONSTANTS[kind].names, used))
    given = len(arguments) > 1
    name = function_name(spec, rng)
    target = choose(rng, source.elements, used).replace(",", ", ")
    used.update(target.split(", "))
    names = {
        "a": arguments[0],
        "target": target,
        "key": target.split(", ")[0],
        "x": target.split(", ")[-1],
        "k": arguments[1] if given else repr(constant),
    }
    said = in_words(source, rule, change, names, rng)
    names["k"] = arguments[1] if given else f'"{constant}"' if isinstance(constant, str) else repr(constant)
    names |= {
        role: choose(rng, options, used)
        for role, options in (("acc", result.built or "result"), ("found", "found matches chosen"), ("i", "i index position"))
    }
    spelled = codes(source, rule, change, names, rng)

    def call(shape: str) -> dict[str, str]:
        k = rng.choice(CONSTANTS[kind].values) if given else constant
        argument, value = case(spec, shape, k, rng)
        return tested(name, (argument, k) if given else (argument,), value)

    tests = [call(shape) for shape in ("empty", "none", "only", "mixed", "mixed", "mixed", "mixed")]
    sample = call("mixed")
    closings = [f"For {source.empty} it returns {result.none}."] * bool(source.empty)
    if rule.code and source.kind != "pair":
        closings.append(f"The test `{spelled['cond']}` finds the {said['bare']}.")
    whole = not rule.code and change is CHANGES["same"] and source.iterated == "$a"
    ways = [way for way in result.ways if not (whole and "$found" in way.body)]  # a plain copy of the list first helps nobody
    return Problem(
        "function", name, tuple(arguments), fill(rng.choice(result.whats), said),
        tuple(way._replace(body=guarded(way.body, bool(rule.code)).replace("[$some]", "list($it)" if whole else "[$some]")) for way in ways),
        {**said, **spelled}, tests, (sample["call"], sample["returns"]), (name, *arguments, constant) if kind else (), tuple(closings),
    )  # fmt: skip
