"""Imports go down only, modules stay small, and the light ones stay light. Everything is read from the source tree."""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = {
    **{str(p.relative_to(ROOT).with_suffix("")).replace("/", "."): p for p in sorted((ROOT / "sdiff").rglob("*.py"))},
    "app": ROOT / "app.py",
}

# A module or package may import from lower levels only; modules of one package also from each other.
LEVELS = {
    "sentence": -1,
    "trace": 0, "request": 0, "registry": 0, "fetch": 0, "limits": 0, "tasks": 0,
    "hub_cache": 1, "hub_files": 1, "sampling": 1, "noise": 1, "layers": 1, "text": 1, "measures": 1, "frontier": 1, "exactness": 1,
    "acceptance": 2, "network": 2, "verifier": 2, "compiled": 2,
    "telling": 3, "theory": 3, "bundled": 3, "drafters": 3, "many": 3, "fidelity": 3, "policy": 3, "hub_verifier": 3, "hub_llama": 3,
    "decode": 4, "hub_pairs": 4,
    "pairs": 5,
    "bench": 6, "toys": 6,
    "training": 7, "ui": 7,
    "cli": 8,
    "__main__": 9,
    "app": 10,
}  # fmt: skip
FORBIDDEN = {
    "decode": {"sdiff.pairs", "sdiff.drafters", "sdiff.verifier", "sdiff.bundled", "sdiff.network"},
    "sentence": {"torch"}, "acceptance": {"sdiff.verifier", "sdiff.network", "sdiff.layers", "transformers"},
    "trace": {"torch"}, "measures": {"torch"}, "request": {"torch"}, "registry": {"torch"}, "limits": {"torch"}, "exactness": {"torch"}, "fetch": {"torch"},
    "drafters": {"sdiff.acceptance"}, "tasks": {"torch", "transformers"},
    "verifier": {"sdiff.drafters", "sdiff.network", "transformers"},
}  # fmt: skip
# tables of families and specifications are data
MOST_LINES = {
    "sdiff.decode": 120,
    "sdiff.acceptance": 200,
    "sdiff.tasks.coding_specs": 450,
    "sdiff.tasks.coding_written": 450,
}
LONGER_FUNCTIONS = {"sdiff.decode.decode": 70}


def unit(module: str) -> str:
    """The name that has a level: `sdiff.drafters.masked` → `drafters`; the package itself has none."""
    parts = module.split(".")
    return parts[0] if parts[0] == "app" else parts[1] if len(parts) > 1 else ""


@functools.cache
def tree(module: str) -> ast.Module:
    return ast.parse(SOURCES[module].read_text(encoding="utf-8"))


def imports(module: str) -> Iterator[tuple[str, int]]:
    """Every imported module, wherever in the file, with its line; `from sdiff import x` counts as `sdiff.x`."""
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module}, line {node.lineno}: relative import; write the full name"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in SOURCES or f"{inner}.__init__" in SOURCES else node.module, node.lineno


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


MODULES = [m for m in SOURCES if m != "sdiff.__init__"]


def test_the_tree_was_found():
    assert {"app", "sdiff.decode", "sdiff.ui.page", "sdiff.drafters.masked", "sdiff.__main__"} <= set(SOURCES)
    assert "sdiff.bundled" in dict(imports("sdiff.training.__main__")), "`from sdiff import bundled` is seen"


@pytest.mark.parametrize("module", MODULES)
def test_every_module_has_a_level(module):
    assert unit(module) in LEVELS, (
        f"{module} has no level: give `{unit(module)}` one in tests/test_architecture.py (design: prompt → drafter → acceptance → trace → app)"
    )


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_down(module):
    own = unit(module)
    for name, line in imports(module):
        if not within(name, "sdiff") and name != "app":
            continue
        other = unit(name)
        assert other in LEVELS, f"{module}, line {line}: {name} has no level in tests/test_architecture.py"
        assert other == own or LEVELS[other] < LEVELS[own], (
            f"{module} (level {LEVELS[own]}), line {line}: imports {name} (level {LEVELS[other]}); imports go to lower levels only"
        )


@pytest.mark.parametrize("module", SOURCES)
def test_forbidden_imports(module):
    for name, line in imports(module):
        for package in FORBIDDEN.get(unit(module), ()):
            assert not within(name, package), f"{module}, line {line}: must not import {package}"
        if module != "app" and not within(module, "sdiff.ui"):
            assert not within(name, "gradio"), f"{module}, line {line}: only sdiff/ui and app.py import gradio"


def test_the_package_itself_imports_nothing():
    assert list(imports("sdiff.__init__")) == []


def test_the_light_modules_load_without_torch():
    """Also through others: recordings open, requests are refused and the file is fetched before torch is imported."""
    light = [
        f"sdiff.{name}"
        for name in ("sentence", "trace", "request", "registry", "limits", "exactness", "measures", "fetch", "cli", "__main__")
        if f"sdiff.{name}" in SOURCES
    ]
    program = f"import sys, importlib\nfor m in {light}: importlib.import_module(m)\nprint([m for m in ('torch', 'transformers', 'gradio') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert result.stdout.strip() == "[]", result.stderr


@pytest.mark.parametrize("module", SOURCES)
def test_files_stay_short(module):
    lines, most = len(SOURCES[module].read_text(encoding="utf-8").splitlines()), MOST_LINES.get(module, 80 if module == "app" else 300)
    assert lines <= most, f"{module} has {lines} lines; the most is {most}"


def other_files() -> list[Path]:
    return [p for p in sorted((ROOT / "sdiff").rglob("*")) if p.suffix in (".js", ".css", ".html")]


@pytest.mark.parametrize("path", other_files(), ids=lambda p: p.name)
def test_scripts_and_styles_stay_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 300


@pytest.mark.parametrize("module", SOURCES)
def test_functions_stay_short(module):
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines, most = node.end_lineno - node.lineno + 1, LONGER_FUNCTIONS.get(f"{module}.{node.name}", 60)
            assert lines <= most, f"{module}.{node.name}, line {node.lineno}: {lines} lines; the most is {most}"


@pytest.mark.parametrize("module", MODULES)
def test_modules_say_what_they_know(module):
    assert ast.get_docstring(tree(module)), f"{module} has no docstring; its first line says what it knows and what it refuses to know"
