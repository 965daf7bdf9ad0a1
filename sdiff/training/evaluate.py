"""What the shipped models can do, measured on the test split: accuracy, tokens per cycle, and the price of a step.

Quality comes from many decodes at once (`sdiff.many`: the loop of the app in common passes), the price of a step from single
runs. Rows are appended to `precomputed/evaluation.json` as they are finished; `report` reads that file and nothing else.
"""

from __future__ import annotations

import datetime
import itertools
import json
import statistics as st
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

from sdiff.acceptance import make_rule
from sdiff.decode import Plan, decode
from sdiff.drafters import NoDrafter
from sdiff.drafters.masked import MaskedDrafter
from sdiff.drafters.uniform import UniformDrafter
from sdiff.many import LaneDenoiser, LaneVerifier, Together, padded
from sdiff.measures import statistics, wilson
from sdiff.network import BlockDenoiser
from sdiff.request import DEFAULT_PROPOSAL, NOISES
from sdiff.sampling import Dice, Shape
from sdiff.tasks import Item, grade, items
from sdiff.trace import Denoise, End, Event, Verify
from sdiff.training.corpus import TEMPERATURE, Row, chat_tokens
from sdiff.training.teacher import read
from sdiff.verifier import Llama

SEED, LANES, CONTEXT, GAMMA = 3, 32, 448, 8
MOST = {"reasoning": 200, "coding": 200, "chat": 96}  # new tokens


@dataclass(frozen=True)
class Setting:
    """What a row was measured at. `noise` "": plain decoding."""

    task: str
    noise: str = ""
    steps: int = 0
    leniency: float = 0.0
    rule: str = "tv"
    gamma: int = GAMMA
    proposal: str = ""  # the noise's default
    split: str = "test"

    def __post_init__(self) -> None:
        object.__setattr__(self, "proposal", self.proposal or DEFAULT_PROPOSAL.get(self.noise, ""))


def settings() -> list[Setting]:
    """All that the report needs, the most telling first."""
    graded = ("reasoning", "coding")
    plain = [Setting(task) for task in graded]
    lossless = [Setting(task, noise, steps) for steps in (1, 4) for noise in NOISES for task in (*graded, "chat")]
    lenient = [Setting(task, noise, steps, 0.4) for noise in NOISES for steps in (1, 4) for task in graded]
    drafts = [Setting(task, noise, steps, 1.0) for noise in NOISES for steps in (1, 4) for task in graded]
    return [*plain, *lossless, *lenient, *drafts]


class Bench:
    """Loaded models and the tokenizer, and the decodes of one setting. `eos`: ids that end an answer."""

    def __init__(self, model: Llama, network: BlockDenoiser, scale: float, tokenizer: Any, eos: Collection[int]) -> None:
        self.together = Together(model, network, scale, LANES, CONTEXT)
        self.tokenizer, self.eos, self.vocabulary, self.device = tokenizer, eos, model.d.vocabulary, model.embedding.device

    def job(self, setting: Setting, item: Item, seed: int) -> Callable[[LaneVerifier, LaneDenoiser], tuple[Item, list[Event]]]:
        """One decode, as the app does it."""
        shape = Shape(TEMPERATURE)
        plan = Plan(setting.gamma if setting.noise else 0, max(1, setting.steps), MOST[item.task], self.eos, False)
        prompt = chat_tokens(self.tokenizer, item.prompt)

        def run(verifier: LaneVerifier, denoiser: LaneDenoiser) -> tuple[Item, list[Event]]:
            if setting.noise:
                drafter = {"masked": MaskedDrafter, "uniform": UniformDrafter}[setting.noise](denoiser, shape, setting.proposal)
            else:
                drafter = NoDrafter(self.vocabulary, self.device)
            return item, list(decode(verifier, drafter, make_rule(setting.rule, setting.leniency), shape, prompt, plan, Dice(seed)))

        return run

    def measure(self, setting: Setting, n: int) -> dict[str, Any]:
        """Decode the first `n` problems of a split. Every setting sees the same problems and seeds."""
        asked = itertools.islice(items(setting.task, setting.split, SEED), n)
        jobs: Iterator[Any] = (self.job(setting, item, SEED * 1_000_003 + i) for i, item in enumerate(asked))
        stats, right, ends, start = [], 0, 0, time.monotonic()
        for item, events in self.together.run(jobs):
            end: End = events[-1]
            text = self.tokenizer.decode(end.tokens, skip_special_tokens=True)
            stats.append(statistics(events, setting.gamma))
            right += item.task != "chat" and grade(item, text).right
            ends += end.reason == "eos"
        totals = {key: [sum(s[key][k] for s in stats) for k in range(setting.gamma)] for key in ("drafted", "examined", "accepted")}
        tau, tau_low, tau_high = ratio([s["tokens"] for s in stats], [s["cycles"] for s in stats])
        row = {**asdict(setting), "n": len(stats), "tokens": sum(s["tokens"] for s in stats), "cycles": sum(s["cycles"] for s in stats),
               "tau": tau, "tau_low": tau_low, "tau_high": tau_high, "ended": ends, **totals}  # fmt: skip
        if setting.task != "chat":
            low, high = wilson(right, len(stats))
            row |= {"right": right, "accuracy": round(right / len(stats), 4), "low": round(low, 4), "high": round(high, 4)}
        return {**row, "seed": SEED, "temperature": TEMPERATURE, "seconds": round(time.monotonic() - start, 1)}


def ratio(above: list[int], below: list[int], draws: int = 2000) -> tuple[float, float, float]:
    """Σ above ÷ Σ below with the 95 % interval of a bootstrap over problems."""
    pairs = torch.tensor([above, below], dtype=torch.float64)
    picked = torch.randint(len(above), (draws, len(above)), generator=torch.Generator().manual_seed(0))
    sums = pairs[:, picked].sum(-1)
    low, high = torch.quantile(sums[0] / sums[1], torch.tensor([0.025, 0.975], dtype=torch.float64)).tolist()
    return round(sum(above) / sum(below), 4), round(low, 4), round(high, 4)


@torch.no_grad()
def likelihood(model: Llama, rows: list[Row], batch: int = 8) -> float:
    """Mean negative log-likelihood of the answers' tokens, in nat."""
    total, count = 0.0, 0
    for i in range(0, len(rows), batch):
        part = rows[i : i + batch]
        ids, _ = padded([row.prompt + row.answer for row in part], model.embedding.device)
        _, hidden = read(model, ids)
        for lane, row in enumerate(part):
            first, last = len(row.prompt), len(row.prompt) + len(row.answer)
            logits = F.linear(hidden[lane, first - 1 : last - 1], model.embedding).float()
            total += F.cross_entropy(logits, ids[lane, first:last], reduction="sum").item()
            count += last - first
    return total / count


def step_cost(events: Iterator[Event]) -> dict[str, float]:
    """Milliseconds of one denoising step and of one verify pass over a whole block, medians of a real run's cycles."""
    steps: list[float] = []
    passes: list[float] = []
    for event in events:
        if isinstance(event, Denoise) and event.step > 0 and len(event.canvas) == GAMMA:
            steps.append(event.ms)
        elif isinstance(event, Verify) and len(event.tokens) == GAMMA:
            passes.append(event.ms)
    step, whole = st.median(steps), st.median(passes)
    return {"step_ms": round(step, 3), "verify_ms": round(whole, 3), "ratio": round(step / whole, 4), "cycles": len(passes)}


def load(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text()) if path.exists() else {"schema": 1, "rows": [], "chat": {}, "step_cost": {}}


def store(results: dict[str, Any], path: Path) -> None:
    """Whole or not at all: an interrupted run loses nothing."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(results, indent=1) + "\n")
    part.replace(path)


def missing(results: dict[str, Any], models: dict[str, str], n: int) -> list[Setting]:
    """Settings without a row of these models at `n` problems."""
    keys = Setting.__dataclass_fields__
    done = [{k: row[k] for k in keys} for row in results["rows"] if row["n"] >= n and row["models"] == models]
    return [setting for setting in settings() if asdict(setting) not in done]


def run(bench: Bench, path: Path, models: dict[str, str], where: dict[str, Any], n: int, minutes: float) -> None:
    """Measure what is missing until the time is up, one row after the other. Rows of other models are dropped."""
    results, start = load(path), time.monotonic()
    results["rows"] = [row for row in results["rows"] if row["models"] == models]
    for setting in missing(results, models, n):
        if time.monotonic() - start > minutes * 60:
            print("time is up; the same command goes on from here", flush=True)
            return
        row = {**bench.measure(setting, n), "models": models, "hardware": where, "date": datetime.date.today().isoformat()}
        results["rows"] = [r for r in results["rows"] if any(r[k] != v for k, v in asdict(setting).items())] + [row]
        store(results, path)
        print(json.dumps({k: row.get(k) for k in ("task", "noise", "steps", "leniency", "n", "accuracy", "tau", "seconds")}), flush=True)


def report(precomputed: Path, models: dict[str, str], least: int = 300) -> dict[str, Any]:
    """The figures by which `models` are judged, from stored rows of at least `least` problems only; null where there is none."""
    results, graded = load(precomputed / "evaluation.json"), ("reasoning", "coding")
    rows = [row for row in results["rows"] if row["models"] == models and row["n"] >= least]

    def value(setting: Setting, key: str) -> float | None:
        wanted = asdict(setting)
        row = next((row for row in rows if all(row[k] == v for k, v in wanted.items())), None)
        return row and row[key]

    def gap(upper: Setting, lower: Setting) -> float | None:
        a, b = value(upper, "accuracy"), value(lower, "accuracy")
        return None if a is None or b is None else round(100 * (a - b), 1)

    def room(task: str) -> float | None:
        gaps = [gap(Setting(task), Setting(task, noise, steps, 1.0)) for noise in NOISES for steps in (1, 4)]
        return None if None in gaps else min(gaps)

    base = {task: Setting(task) for task in graded}
    return {
        "verifier": {t: {k: value(s, k) for k in ("accuracy", "low", "high", "n")} for t, s in base.items()},
        "chat_nll_rise": results["chat"].get("rise") if results["chat"].get("adapter") == models["adapter"] else None,
        "tau": {
            noise: {f"S{s}": {t: value(Setting(t, noise, s), "tau") for t in (*graded, "chat")} for s in (1, 4)} for noise in NOISES
        },
        "lenient_gain_points": {
            noise: {t: gap(Setting(t, noise, 4, 0.4), Setting(t, noise, 1, 0.4)) for t in graded} for noise in NOISES
        },
        "step_cost_ratio": results["step_cost"].get("ratio") if results["step_cost"].get("models") == models else None,
        "quality_room": {task: room(task) for task in graded},
        "bytes": sum(file.stat().st_size for file in precomputed.rglob("*") if file.is_file()),
    }  # fmt: skip


def bars(figures: dict[str, Any]) -> list[tuple[str, float | None, str, float]]:
    """(what, figure, at least or at most, bar) of each figure in `report`."""
    rows: list[tuple[str, float | None, str, float]] = []
    for task, bar in (("reasoning", 0.75), ("coding", 0.70)):
        rows.append((f"accuracy of plain decoding, {task}", figures["verifier"][task]["accuracy"], "≥", bar))
    rows.append(("rise of the chat answers' NLL, nat per token", figures["chat_nll_rise"], "≤", 0.10))
    for noise, least in (("masked", (3.5, 3.5, 1.6)), ("uniform", (3.0, 3.0, 1.5))):
        for task, bar in zip(("reasoning", "coding", "chat"), least, strict=True):
            rows.append((f"τ at S = 1, {noise}, {task}", figures["tau"][noise]["S1"][task], "≥", bar))
        for task in ("reasoning", "coding"):
            one, four = (figures["tau"][noise][s][task] for s in ("S1", "S4"))
            rows.append((f"τ at S = 4 ÷ S = 1, {noise}, {task}", one and four and round(four / one, 3), "≥", 1.10))
        gains = [g for g in figures["lenient_gain_points"][noise].values() if g is not None]
        rows.append((f"points gained by S = 4 over S = 1 at λ = .4, {noise}, best task", max(gains, default=None), "≥", 5))
    rows.append(("one denoising step ÷ one verify pass of 9 tokens", figures["step_cost_ratio"], "≤", 0.18))
    rows += [(f"points lost by drafts alone, {task}", room, "≥", 25) for task, room in figures["quality_room"].items()]
    return [*rows, ("megabytes in precomputed", round(figures["bytes"] / 1e6, 1), "≤", 120)]
