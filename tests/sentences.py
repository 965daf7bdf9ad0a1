"""What a person may read: sentences that are made below the page, found in the source, and those of the page itself. For tests of translations."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sdiff import exactness
from sdiff.registry import OWN, PAIRS
from sdiff.request import KNOBS, LIMITS, NOISES, PROPOSALS, Request, field_name
from sdiff.tasks import TASKS
from sdiff.ui.strings import WRITTEN

ROOT = Path(__file__).resolve().parent.parent
RAISED = ("RequestError", "PairError", "progress")  # what they are given is shown as it is
TERMINAL = ("sdiff/cli.py", "sdiff/training/", "sdiff/bench/cluster.py")  # said on a terminal only

# Where a Sentence is made from more than a text written there: module and expression. What these can be is in VALUES.
DYNAMIC = {
    "request: name", "request: name.replace('_', ' ').capitalize()", "exactness: NAMES[field]", "exactness: field",
    "frontier: bound_axis", "frontier: aim", "frontier: noise", "settings: self.task", "settings: self.noise",
    "pairs: ' and '.join(self.noises)", "pairs: r.noise", "bundled: what", "hub_pairs: what", "hub_pairs: kind",
    "hub_pairs: ' or '.join(wanted.entry.noises)",
}  # fmt: skip
VALUES = {
    *WRITTEN, *NOISES, *TASKS, *PROPOSALS.values(), *(knob.label for knob in KNOBS.values()), *(knob.help for knob in KNOBS.values()),
    *(field_name(name) for name in (*LIMITS, *(name for name, kind in Request.__annotations__.items() if kind == "bool"))),
    "noise", "rule", "proposal", "quality", "speed", *exactness.NAMES.values(), PAIRS[OWN].verifier, PAIRS[OWN].drafter,
    "tokens in its vocabulary", "as the id of a masked position", "positions in a block", "floats per hidden state", "layers in its verifier",
    "tokens in its vocabulary and a mask",
}  # fmt: skip


def sources() -> list[Path]:
    found = [ROOT / "app.py", *sorted((ROOT / "sdiff").rglob("*.py"))]
    return [path for path in found if not str(path.relative_to(ROOT)).startswith(TERMINAL)]


def texts(node: ast.expr, function: ast.AST) -> list[str] | None:
    """What an expression can be, if it is a text written there, a choice of two, or a name for one in the same function."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.IfExp):
        either = [texts(node.body, function), texts(node.orelse, function)]
        return None if None in either else [*either[0], *either[1]]
    if isinstance(node, ast.Name):
        given = [a.value for a in ast.walk(function) if isinstance(a, ast.Assign) and ast.unparse(a.targets[0]) == node.id]
        found = [texts(value, function) for value in given if not isinstance(value, ast.Name)]
        return None if not found or None in found else [text for each in found for text in each]
    return None


def calls(path: Path) -> Iterator[tuple[ast.Call, ast.AST]]:
    """Every call with the function it stands in, or its module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inner = {id(node): f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef | ast.AsyncFunctionDef) for node in ast.walk(f)}
    yield from ((node, inner.get(id(node), tree)) for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args)


def found() -> tuple[set[str], list[str]]:
    """(templates, what could not be told from the source)."""
    templates, unknown = {str(value) for value in VALUES}, []
    for path in sources():
        for call, function in calls(path):
            name, first = getattr(call.func, "id", ""), call.args[0]
            if name == "Sentence" and f"{path.stem}: {ast.unparse(first)}" not in DYNAMIC and path.stem != "strings":
                known = texts(first, function)
                templates.update(known or ())
                unknown += [] if known else [f"{path.stem}, line {call.lineno}: Sentence({ast.unparse(first)})"]
            elif name in RAISED and isinstance(first, ast.Constant):
                templates.add(first.value)
            elif name in RAISED and isinstance(first, ast.JoinedStr | ast.BinOp):
                unknown.append(f"{path.stem}, line {call.lineno}: {ast.unparse(first)}")
    return templates, unknown


def has_words(template: str) -> bool:
    """Is there anything to translate?"""
    return bool(re.search(r"[A-Za-z]{2}", re.sub(r"\{[^}]*\}", "", template)))


# Parts of a component that nobody reads: markup, scripts, recorded runs, and what programs are told.
UNREAD = {
    "elem_id",
    "html_template",
    "css_template",
    "js_on_load",
    "head",
    "api_info",
    "api_info_as_input",
    "api_info_as_output",
    "example_inputs",
}


def leaves(value: Any) -> Iterator[str]:
    """Every text in a component's settings, also in those that travel as JSON."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from () if key in UNREAD else leaves(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from leaves(one)
    elif isinstance(value, str) and not value.startswith('{"kind"'):
        yield from leaves(json.loads(value)) if value.startswith('{"') else (value,)


def shown() -> list[str]:
    """Texts of three words and more on the page as it opens, in the language of SDIFF_LANGUAGE."""
    from sdiff.ui.engine import Engine
    from sdiff.ui.page import build

    demo = build(Engine(lambda progress: None), measure=True)
    texts = set(leaves([{**c, "type": ""} for c in demo.get_config_file()["components"]]))
    return sorted(text for text in texts if len(re.findall(r"\b[A-Za-z]{2,}\b", re.sub(r"\{[^}]*\}", "", text))) > 2)
