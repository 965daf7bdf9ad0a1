"""Choices of the drafter's recipe compared at equal time: one short training run each, on the same tenth of the corpus, seed and held-out answers."""

from __future__ import annotations

import datetime
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from sdiff.network import BlockDenoiser
from sdiff.training.corpus import HELD_OUT, Row
from sdiff.training.drafter import Recipe, Shelf, Training, expected_tau, train
from sdiff.training.evaluate import store
from sdiff.verifier import Llama

BASE = Recipe(noise="masked")
TRIALS = {
    "base: masked, 5 layers, soft targets, 8,192 tokens, block of 8": BASE,
    "without the verifier's last hidden state": replace(BASE, thought=False),
    "one network for both noises": replace(BASE, noise="both"),
    "uniform noise alone": replace(BASE, noise="uniform"),
    "hard targets": replace(BASE, loss="hard"),
    "TV loss": replace(BASE, loss="tv"),
    "soft targets and chain loss": replace(BASE, loss="chain"),
    "vocabulary of 4,096": replace(BASE, size=4096),
    "vocabulary of 16,384": replace(BASE, size=16384),
    "whole vocabulary": replace(BASE, size=49152),
    "block of 12": replace(BASE, block=12),
    "3 layers: 0, 15, 29": replace(BASE, sources=(0, 15, 29)),
    "3 layers: 27, 28, 29": replace(BASE, sources=(27, 28, 29)),
    "7 layers: 0, 5, 10, 15, 20, 25, 29": replace(BASE, sources=(0, 5, 10, 15, 20, 25, 29)),
}
FURTHER = {
    f"from a trained network: {kind}": Recipe(loss=loss)
    for kind, loss in (("soft targets", "soft"), ("TV loss", "tv"), ("soft targets and chain loss", "chain"), ("chain loss alone", "tau"))
}
TENTH = 10  # every tenth answer: reading the corpus again for each set of layers would outlast the training


def compare(
    model: Llama, corpus: list[Row], special: list[int], minutes: float, path: Path, about: dict[str, Any], work: Path, start: BlockDenoiser | None = None,
) -> None:  # fmt: skip
    """Train each of TRIALS, or of FURTHER from `start`, for `minutes` and add its row to `path`; what is there for the same minutes is not repeated."""
    corpus = [row for i, row in enumerate(corpus) if i < HELD_OUT or row.index % TENTH == 0]
    results = json.loads(path.read_text()) if path.exists() else {"schema": 1, "rows": []}
    shelves: dict[tuple[int, ...], Shelf] = {}
    for name, recipe in (FURTHER if start else TRIALS).items():
        same = [row for row in results["rows"] if (row["name"], row.get("start")) == (name, about.get("start"))]
        if any(row["minutes"] == minutes for row in same):
            continue
        run = Training(model, corpus, special, recipe, shelves.get(recipe.sources), start)
        shelves = {recipe.sources: run.shelf}  # one at a time: each holds the whole corpus
        checkpoint = work / "trial.pt"
        checkpoint.unlink(missing_ok=True)
        history = train(run, minutes, checkpoint, every=10**9)
        tau = {noise: {task: round(expected_tau(a[:8]), 3) for task, a in tasks.items()} for noise, tasks in history["acceptance"].items()}
        row = {"name": name, "minutes": minutes, "steps": history["step"], "blocks": history["blocks"], "expected_tau": tau,
               "acceptance": history["acceptance"], "recipe": asdict(recipe), "date": datetime.date.today().isoformat(), **about}  # fmt: skip
        results["rows"] = [r for r in results["rows"] if r not in same] + [row]
        store(results, path)
        print(json.dumps({k: row[k] for k in ("name", "steps", "expected_tau")}), flush=True)


def summary(path: Path) -> list[dict[str, Any]]:
    """What was tried, for the card of the drafter: expected tokens per cycle of each recipe at equal time."""
    rows = json.loads(path.read_text())["rows"] if path.exists() else []
    return [
        {key: row[key] for key in ("name", "start", "minutes", "steps", "expected_tau", "date", "adapter") if key in row} for row in rows
    ]
