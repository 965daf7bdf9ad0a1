"""Measurements on disk: one table per pass, one row per problem, and the runs that made them. Whole or not at all.

A row tells by `run` where it was measured; rows of other models or machines than asked for are left alone and not returned.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from sdiff.bench.settings import FIELDS, Setting
from sdiff.sentence import Sentence, why

SCHEMA = 1
MACHINE = ("device", "name", "dtype", "threads", "compiled")  # what must be the same for two timings to stand beside each other
POSITIONS = ("drafted", "examined", "accepted")  # lists in a cell: "8 8 5"
PASSES = {
    "quality": ("right", "ended", "tokens", "cycles", "tv", "kl", "nll", "repeated", *POSITIONS),
    "speed": ("engine", "tokens", "cycles", "draft_ms", "verify_ms", "examine_ms", "other_ms", "tokens_per_second", "plain_tokens_per_second", "load"),
}  # fmt: skip


class Store:
    """A folder of measurements. Raises ValueError on another schema or an unreadable file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.about: dict[str, Any] = {"schema": SCHEMA, "runs": []}
        try:
            if (folder / "about.json").exists():
                self.about = json.loads((folder / "about.json").read_text())
            if self.about["schema"] != SCHEMA:
                raise ValueError(Sentence("schema {schema}, this version reads {known}", schema=self.about["schema"], known=SCHEMA))
            self.tables = {name: self._read(folder / f"{name}.csv.gz", figures) for name, figures in PASSES.items()}
        except (OSError, EOFError, zlib.error, ValueError, LookupError, TypeError) as error:
            unread = "The measurements in {folder} cannot be read ({error}). Move them away, or restore them."
            raise ValueError(Sentence(unread, folder=folder.name, error=why(error))) from None

    @staticmethod
    def _read(path: Path, figures: tuple[str, ...]) -> pd.DataFrame:
        if not path.exists():
            return pd.DataFrame(columns=[*FIELDS, "problem", *figures, "run"])
        texts = ("task", "noise", "rule", "proposal", "engine", *POSITIONS)
        empty = {name: ["", "nan"] for name in figures if name not in texts}
        return pd.read_csv(path, keep_default_na=False, na_values=empty, dtype=dict.fromkeys(texts, str))

    def begin(self, kind: str, models: dict[str, str], where: dict[str, Any]) -> int:
        """Register a run. → its number, for the rows that it will add."""
        known = [run["id"] for run in self.about["runs"]] + [run for table in self.tables.values() for run in table["run"].tolist()]
        number = max(known, default=-1) + 1
        self.about["runs"].append({"id": number, "pass": kind, "models": models, **where})
        return number

    def runs(self, kind: str, models: dict[str, str], **same: Any) -> list[dict[str, Any]]:
        """Runs of a pass with `models` and, where given, the `same` machine, seed or whatever else a run tells."""
        mine = [run for run in self.about["runs"] if run["pass"] == kind and run["models"] == models]
        return [run for run in mine if all(run.get(key) == value for key, value in same.items())]

    def rows(self, kind: str, models: dict[str, str] | None = None, **same: Any) -> pd.DataFrame:
        """The table of a pass; if `models` are given only the rows of their `runs`."""
        table = self.tables[kind]
        if models is None:
            return table
        return table[table["run"].isin([run["id"] for run in self.runs(kind, models, **same)])]

    def add(self, kind: str, run: int, rows: Iterable[dict[str, Any]]) -> None:
        """Add rows of a run and write the folder. Each row names its setting's fields, `problem` and its figures."""
        fresh = pd.DataFrame([{**row, **{k: " ".join(map(str, row[k])) for k in POSITIONS if k in row}, "run": run} for row in rows])
        if fresh.empty:
            return
        table = self.tables[kind]
        self.tables[kind] = fresh if table.empty else pd.concat([table, fresh], ignore_index=True)
        self.write([kind])

    def forget(self, models: dict[str, str]) -> None:
        """Keep only what was measured with `models`; runs without rows go too, the others keep their numbers."""
        for kind in PASSES:
            self.tables[kind] = self.rows(kind, models)
        used = {run for table in self.tables.values() for run in table["run"]}
        self.about["runs"] = [run for run in self.about["runs"] if run["id"] in used]

    def write(self, kinds: Iterable[str] = PASSES) -> None:
        """Runs first: a row never points to a run that is not told of."""
        self.folder.mkdir(parents=True, exist_ok=True)
        _replace(self.folder / "about.json", (json.dumps(self.about, indent=1) + "\n").encode())
        for kind in kinds:
            table, path = self.tables[kind], self.folder / f"{kind}.csv.gz"
            if table.empty:
                path.unlink(missing_ok=True)
                continue
            ordered = table.sort_values([*FIELDS, "problem"], kind="stable", ignore_index=True)
            _replace(path, gzip.compress(ordered.to_csv(index=False, float_format="%.6g").encode(), mtime=0))

    def done(self, kind: str, models: dict[str, str], **same: Any) -> dict[Setting, set[int]]:
        """Problems already measured, per setting."""
        return {setting: set(part["problem"].tolist()) for setting, part in by_setting(self.rows(kind, models, **same)).items()}


def arithmetic(run: dict[str, Any]) -> str:
    """The numbers a run computed with, and whether its layers were compiled."""
    dtype = run.get("dtype", "?")
    return Sentence("{dtype}, compiled", dtype=dtype) if run.get("compiled") else dtype


def _replace(path: Path, data: bytes) -> None:
    part = path.with_suffix(".part")
    part.write_bytes(data)
    part.replace(path)


def lists(column: pd.Series) -> list[list[int]]:
    """Cells of a position column as numbers."""
    return [[int(number) for number in cell.split()] for cell in column]


def setting_of(key: tuple[Any, ...]) -> Setting:
    """From the values of FIELDS, whatever number types a table gave them."""
    kinds = {"steps": int, "leniency": float, "gamma": int}
    return Setting(**{name: kinds.get(name, str)(value) for name, value in zip(FIELDS, key, strict=True)})


def by_setting(table: pd.DataFrame) -> dict[Setting, pd.DataFrame]:
    """Rows of each setting in the order of their problems, other engines' left out; a problem measured twice counts the last time."""
    table = table[table["engine"] == ""] if "engine" in table else table
    unique = table.drop_duplicates([*FIELDS, "problem"], keep="last")
    return {setting_of(key): part.sort_values("problem") for key, part in unique.groupby(list(FIELDS), sort=False)}
