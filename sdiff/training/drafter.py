"""Training the block denoiser on the corpus against the verifier's own next-token law.

Layers start from the verifier's; targets are its laws at the decoding temperature; early positions weigh more; and block
noise is drawn so that the states met when decoding in 1, 2, 4 or 8 steps all occur. `Recipe` holds every choice.
"""

from __future__ import annotations

import datetime
import json
import math
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from sdiff.layers import bf16_native
from sdiff.many import padded
from sdiff.network import BlockDenoiser
from sdiff.noise import corrupt_masked, corrupt_uniform
from sdiff.trace import MASKED
from sdiff.training.corpus import TEMPERATURE, Row, row_odds
from sdiff.training.shelf import Shelf
from sdiff.verifier import Llama

BATCH, ANCHORS = 8, 16  # answers per update, blocks of each
WARM_UP = 30  # updates
STILL = 60  # seconds: an update that took longer was stopped meanwhile
PURE = 0.45  # share of blocks that are noise alone


@dataclass(frozen=True)
class Recipe:
    """What is trained and how. `noise`: masked, uniform or both; `size`: draft vocabulary; `loss`: soft (cross-entropy against
    the law), hard (against the sampled token), tv (1 − Σ min(p, q)), chain (soft − log of the expected tokens per cycle) or tau (− that log alone);
    `thought`: may it see the verifier's last hidden state? `surprise`: more blocks behind unlikely tokens? `prose`: share of updates on
    chat; `rate`: highest learning rate."""

    noise: str = "both"
    sources: tuple[int, ...] = (0, 8, 16, 24, 29)
    block: int = 8
    size: int = 8192
    loss: str = "soft"
    thought: bool = True
    surprise: bool = True
    prose: float = 0.5
    rate: float = 5e-4
    seed: int = 0


def draft_vocabulary(corpus: list[Row], size: int, special: list[int]) -> Tensor:
    """The `size` most frequent answer tokens, special tokens first, then the lowest ids as filling. Sorted [size]."""
    counts = Counter(t for row in corpus for t in row.answer)
    ranked = [*special, *(t for t, _ in counts.most_common()), *range(size)]
    return torch.tensor(sorted(list(dict.fromkeys(ranked))[:size]))


def fresh_network(model: Llama, ids: Tensor, recipe: Recipe) -> BlockDenoiser:
    """A denoiser whose layers are copies of the verifier's."""
    network = BlockDenoiser(model.d, recipe.sources, ids, model.embedding.float(), recipe.block, model.unembedding.float())
    for layer, source in zip(network.layers, recipe.sources, strict=True):
        layer.load_state_dict({k: v.float() for k, v in model.layers[source].state_dict().items()})
    network.norm.data.copy_(model.norm / TEMPERATURE)  # its logits are read at the decoding temperature
    network.masked.data.copy_(network.rows.mean(0))
    return network.to(model.embedding.device)


def noisy_blocks(clean: Tensor, size: int, generator: torch.Generator, noise: str) -> tuple[Tensor, Tensor]:
    """Corrupt blocks [N, n] of draft ids (−2: cannot be shown). → canvas, level [N, n].

    Three kinds: pure noise (step 1 of any schedule); a settled prefix before pure noise (what left-to-right proposals
    meet later, short ones more often: groups are small at first); and, mostly under uniform noise, one level t for the whole block, often the last one of a schedule of 2, 4
    or 8 steps (what ancestral sampling meets). A settled prefix ends before the first token that cannot be shown.
    """
    count, n = clean.shape
    device = clean.device

    def uniform(*shape: int) -> Tensor:
        return torch.rand(shape, generator=generator).to(device)

    as_mask = uniform(count, 1) < {"masked": 1.0, "uniform": 0.0, "both": 0.5}[noise]
    mode, prefixed = uniform(count, 1), torch.where(as_mask, 0.95, 0.7)
    settled = (torch.arange(n, device=device) < (uniform(count, 1) ** 1.5 * (n - 1)).ceil()) & (clean >= 0).cumprod(-1).bool()
    last = torch.tensor([1 / 2, 1 / 4, 1 / 8], device=device)[(uniform(count, 1) * 3).long()]
    t = torch.where(uniform(count, 1) < 0.75, last, uniform(count, 1)).expand(count, n)
    level = torch.where((mode >= PURE) & (mode < prefixed) & settled, 0.0, torch.ones(count, n, device=device))
    level = torch.where(mode >= prefixed, t, level)
    hidden = torch.where(clean < 0, 1.0, level)
    known = clean.clamp(min=0)
    canvas = torch.where(as_mask, corrupt_masked(known, hidden, generator), corrupt_uniform(known, hidden, size, generator))
    return canvas, torch.where(as_mask, (canvas == MASKED).float(), level)


@dataclass(frozen=True)
class Lesson:
    """Blocks to denoise: inputs of the network; `hidden` [B, A, n, width] the verifier's, whose law is the target; `token`
    [B, A, n] what was sampled (draft id or −2); `inside` the answer?; `open`: something to learn there?; `pure` noise [B, A]."""

    inputs: tuple[Any, ...]
    hidden: Tensor
    token: Tensor
    inside: Tensor
    open: Tensor
    pure: Tensor


class Training:
    """Network, optimiser and progress of one run; answers that `odds` gives nothing are for validation only.

    `start`: a trained network to begin from instead of copied layers; the draft vocabulary is that of this corpus, no weight depends on it.
    """

    def __init__(
        self, model: Llama, corpus: list[Row], special: list[int], recipe: Recipe, shelf: Shelf | None = None, start: BlockDenoiser | None = None
    ) -> None:  # fmt: skip
        self.model, self.recipe, device = model, recipe, model.embedding.device
        self.corpus = [row for row in corpus if len(row.answer) > 1]
        self.shelf = shelf or Shelf(model, recipe.sources, self.corpus)
        self.odds = row_odds(self.corpus, recipe.prose)
        taught = [self.corpus[i] for i in self.odds.nonzero()[:, 0]]
        ids = draft_vocabulary(taught, min(recipe.size, model.d.vocabulary), special).to(device)
        self.inverse = torch.full((model.d.vocabulary,), -2, device=device).scatter_(0, ids, torch.arange(len(ids), device=device))
        self.network = fresh_network(model, ids, recipe)
        if start:
            self.network.load_state_dict(start.state_dict())
        self.optimiser = torch.optim.AdamW(self.network.parameters(), lr=recipe.rate, weight_decay=0.01)
        self.batch = BATCH if device.type == "cpu" else 8 * BATCH
        self.state: dict[str, Any] = {"step": 0, "seconds": 0.0, "blocks": 0, "curve": [], "recipe": asdict(recipe)}

    def lesson(self, rows: list[int], generator: torch.Generator, noise: str, anchors: str = "any") -> Lesson:
        """ANCHORS random blocks from each of the answers `rows`; anchors run from the last prompt token to the last but one.

        `anchors` "surprising": half of them where the token was unlikely, since a block often begins behind a correction.
        """
        device, n, count = self.inverse.device, self.recipe.block, len(rows)
        past, hidden, surprise = self.shelf.fetch(rows)
        texts = [self.corpus[i] for i in rows]
        ids, lengths = padded([row.prompt + row.answer for row in texts], device)
        longest, ids = ids.shape[1], F.pad(ids, (0, n))
        first = torch.tensor([[len(row.prompt) - 1] for row in texts], device=device)
        last = torch.tensor(lengths, device=device)[:, None] - 1
        time = torch.arange(longest, device=device)
        odds = (surprise + surprise.mean() if anchors == "surprising" else torch.ones_like(surprise)) * ((time >= first) & (time < last))
        at = torch.multinomial(odds.double().cpu(), ANCHORS, replacement=True, generator=generator).to(device)  # [B, A]
        spots = at[..., None] + torch.arange(n, device=device)  # rows' positions [B, A, n]; row i predicts spots + 1
        inside = spots < last[..., None]
        lanes = torch.arange(count, device=device)[:, None, None]
        clean = torch.where(inside, self.inverse[ids[lanes, spots + 1]], -2)
        canvas, level = (t.view_as(clean) for t in noisy_blocks(clean.flatten(0, 1), len(self.network.ids), generator, noise))
        block = torch.arange(ANCHORS, device=device).repeat_interleave(n)
        prefix = time < at.repeat_interleave(n, 1)[..., None]  # the anchor itself is not cached
        mask = torch.cat([prefix, (block[:, None] == block).expand(count, -1, -1)], -1)
        table = self.model.d.rotary(longest + n, device)[:, spots.flatten(1)][..., None, :]
        thought = hidden[lanes[..., 0], at - 1] * self.recipe.thought
        return Lesson(
            inputs=(ids[lanes[..., 0], at], thought, canvas, level, past, table, mask),
            hidden=hidden[lanes, spots.clamp(max=longest - 1)], token=clean, inside=inside, pure=(level == 1).all(-1),
            open=inside & (level > 0),  # a settled token is carried over
        )  # fmt: skip

    def log_laws(self, on: Lesson) -> Tensor:
        """The denoiser's log-laws at the training temperature, float32 [B, A, n, K]."""
        device = on.token.device.type
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda" or bf16_native()):
            return F.log_softmax(self.network(*on.inputs).float(), -1)

    @torch.no_grad()
    def target(self, on: Lesson, whole: bool) -> Tensor:
        """The verifier's law on the draft vocabulary, [B, A, n, K]: renormalised, or as part of the `whole` law."""
        rows = self.model.unembedding[self.network.ids]
        law = torch.softmax(F.linear(on.hidden.to(rows.dtype), rows).float() / TEMPERATURE, -1)
        return law * self.mass(on)[..., None] if whole else law

    @torch.no_grad()
    def mass(self, on: Lesson) -> Tensor:
        """Probability that the verifier's next token is in the draft vocabulary, [B, A, n]."""
        hidden, every = on.hidden.to(self.model.embedding.dtype), self.model.unembedding
        if len(self.network.ids) == len(every):
            return torch.ones_like(on.token, dtype=torch.float32)
        total = torch.cat([F.linear(h, every).float().div(TEMPERATURE).logsumexp(-1) for h in hidden])
        part = F.linear(hidden, every[self.network.ids]).float().div(TEMPERATURE).logsumexp(-1)
        return (part - total.view_as(part)).exp()

    def loss(self, on: Lesson) -> Tensor:
        """The recipe's loss, weighted by exp(−k/4) over positions, counted from the first open one: it is drawn next."""
        logs, kind = self.log_laws(on), self.recipe.loss
        weight = on.open * torch.exp(-((on.open.cumsum(-1) - 1).clamp(min=0)) / 4)
        if kind == "hard":
            weight = weight * (on.token >= 0)
            loss = -logs.gather(-1, on.token.clamp(min=0)[..., None])[..., 0]
        elif kind == "tv":
            loss = 1 - torch.minimum(self.target(on, whole=False), logs.exp()).sum(-1)
        else:
            loss = -torch.einsum("bank,bank->ban", self.target(on, whole=False), logs)
        loss = (loss * weight).sum() / weight.sum().clamp(min=1)
        if kind in ("chain", "tau"):
            kept = torch.minimum(self.target(on, whole=False), logs.exp()).sum(-1)
            kept = torch.where(on.open, kept, on.inside.float())  # settled positions are kept, nothing is behind the end
            loss = (kind == "chain") * loss - (1 + kept.cumprod(-1).sum(-1)).log().mean()
        return loss

    def step(self, done: float) -> float:
        """One update; `done` in [0, 1] places it on the learning-rate schedule. → loss

        Answers, blocks and noise depend on seed and step alone.
        """
        generator = torch.Generator().manual_seed(self.recipe.seed * 1_000_003 + self.state["step"])
        rows = torch.multinomial(self.odds, self.batch, replacement=True, generator=generator).tolist()
        for group in self.optimiser.param_groups:
            group["lr"] = (
                self.recipe.rate * min(1, (self.state["step"] + 1) / WARM_UP) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * done)))
            )
        loss = self.loss(self.lesson(rows, generator, self.recipe.noise, "surprising" if self.recipe.surprise else "any"))
        self.optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimiser.step()
        self.state["step"] += 1
        self.state["blocks"] += self.batch * ANCHORS
        return loss.item()

    @torch.no_grad()
    def validate(self) -> dict[str, dict[str, list[float]]]:
        """Expected acceptance Σ min(p, q) per position of fully noised blocks on held-out answers, per noise and task.

        p is the verifier's law over its whole vocabulary: mass outside the draft vocabulary is never accepted.
        """
        result: dict[str, dict[str, list[float]]] = {}
        for noise in ("masked", "uniform") if self.recipe.noise == "both" else (self.recipe.noise,):
            result[noise] = {}
            held_out = (self.odds == 0).nonzero()[:, 0].tolist()
            for task in dict.fromkeys(self.corpus[i].task for i in held_out):
                generator, n = torch.Generator().manual_seed(0), self.recipe.block
                total, count = torch.zeros(n), torch.zeros(n)
                rows = [i for i in held_out if self.corpus[i].task == task]
                for i in range(0, len(rows), BATCH):
                    on = self.lesson(rows[i : i + BATCH], generator, noise)
                    use = on.pure[..., None] & on.inside
                    overlap = torch.minimum(self.target(on, whole=True), self.log_laws(on).exp()).sum(-1)
                    total += (overlap * use).sum((0, 1)).cpu()
                    count += use.sum((0, 1)).cpu()
                result[noise][task] = [round(x, 4) for x in (total / count.clamp(min=1)).tolist()]
        return result

    def save(self, path: Path) -> None:
        part = path.with_suffix(".part")
        torch.save({"network": self.network.state_dict(), "optimiser": self.optimiser.state_dict(), "state": self.state}, part)
        part.replace(path)

    def resume(self, path: Path) -> None:
        saved = torch.load(path, weights_only=True, map_location=self.inverse.device)
        self.network.load_state_dict(saved["network"])
        self.optimiser.load_state_dict(saved["optimiser"])
        self.state = saved["state"]


def expected_tau(acceptance: list[float]) -> float:
    """1 + Σ_k Π_{i≤k} a_i: tokens per cycle if positions were kept independently (modelled)."""
    return 1 + sum(math.prod(acceptance[:k]) for k in range(1, len(acceptance) + 1))


def train(run: Training, minutes: float, checkpoint: Path, every: int = 200) -> dict[str, Any]:
    """Train until `minutes` are spent in all, resuming from `checkpoint`. The schedule follows the time spent. → history."""
    if checkpoint.exists():
        run.resume(checkpoint)
        print(f"resuming at step {run.state['step']}, {run.state['seconds'] / 60:.1f} minutes", flush=True)
    run.shelf.fill()
    state, saved = run.state, time.monotonic()
    while state["seconds"] < minutes * 60:
        start = time.monotonic()
        loss = run.step(min(1.0, state["seconds"] / (minutes * 60)))
        state["seconds"] += min(time.monotonic() - start, STILL)  # validation, saving and standing still are not training time
        if state["step"] % 20 == 0:
            print(f"step {state['step']}: loss {loss:.3f}, {state['seconds'] / 60:.1f} of {minutes:g} minutes", flush=True)
        if state["step"] % every == 0:
            tau = {noise: {task: round(expected_tau(a), 3) for task, a in tasks.items()} for noise, tasks in run.validate().items()}
            state["curve"].append({"step": state["step"], "minutes": round(state["seconds"] / 60, 2), "loss": round(loss, 4), "tau": tau})
            print(json.dumps(state["curve"][-1]), flush=True)
        if time.monotonic() - saved > 120:
            run.save(checkpoint)
            saved = time.monotonic()
    run.save(checkpoint)
    return {**state, "acceptance": run.validate()}


def card(history: dict[str, Any], corpus: list[Row], hardware: dict[str, Any]) -> dict[str, Any]:
    """What a drafter's card says of any training: when, how, how long, on what and with what success."""
    return {
        "date": datetime.date.today().isoformat(), "noise": history["recipe"]["noise"], "training_temperature": TEMPERATURE,
        "recipe": history["recipe"], "answers": len(corpus), "tokens": sum(len(row.answer) for row in corpus), "hardware": hardware,
        "minutes": round(history["seconds"] / 60, 1), "steps": history["step"], "blocks": history["blocks"],
        "expected_acceptance": history["acceptance"], "curve": history["curve"],
    }  # fmt: skip
