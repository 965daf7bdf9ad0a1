"""Training the block denoiser on the corpus against the verifier's own next-token law. One network learns both noises.

Recipe: layers started from the verifier's, soft targets at the decoding temperature, position weights exp(−k/4),
and block noise drawn so that the states met when decoding in 1, 2, 4 or 8 steps all occur.
"""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from sdiff.layers import rotary_table
from sdiff.network import BlockDenoiser
from sdiff.noise import corrupt_masked, corrupt_uniform
from sdiff.trace import MASKED
from sdiff.training.teacher import read
from sdiff.verifier import Llama

BLOCK, SIZE, HELD_OUT = 8, 8192, 48
SOURCES = (0, 8, 16, 24, 29)
TEMPERATURE = 0.7
BATCH, ANCHORS, UPDATES = 8, 16, 2  # answers read together; blocks of each per update; updates per reading
RATE, WARM_UP = 5e-4, 30
Rows = list[tuple[list[int], list[int]]]


def draft_vocabulary(corpus: Rows, size: int, special: list[int]) -> Tensor:
    """The `size` most frequent answer tokens, special tokens first, then the lowest ids as filling. Sorted [size]."""
    counts = Counter(t for _, answer in corpus for t in answer)
    ranked = [*special, *(t for t, _ in counts.most_common()), *range(size)]
    return torch.tensor(sorted(list(dict.fromkeys(ranked))[:size]))


def fresh_network(model: Llama, ids: Tensor, sources: tuple[int, ...] = SOURCES) -> BlockDenoiser:
    """A denoiser whose layers are copies of the verifier's layers `sources`."""
    network = BlockDenoiser(model.d, sources, ids, model.embedding.float(), BLOCK)
    for layer, source in zip(network.layers, sources, strict=True):
        layer.load_state_dict({k: v.float() for k, v in model.layers[source].state_dict().items()})
    network.norm.data.copy_(model.norm)
    network.masked.data.copy_(network.rows.mean(0))
    return network.to(model.embedding.device)


def noisy_blocks(clean: Tensor, size: int, generator: torch.Generator, noise: str) -> tuple[Tensor, Tensor, Tensor]:
    """Corrupt blocks [N, n] of draft ids (−2: outside the draft vocabulary). → canvas, level, masked-noise? [N, n].

    Half of the blocks are pure noise (step 1 of any schedule), a quarter has a settled prefix (what left-to-right
    proposals meet), a quarter a random noise level (what the others meet).
    """
    count, n = clean.shape

    def uniform(*shape: int) -> Tensor:
        return torch.rand(shape, generator=generator).to(clean.device)

    mode, level = uniform(count, 1), torch.ones(count, n, device=clean.device)
    settled = torch.arange(n, device=clean.device) < (uniform(count, 1) * n).ceil()
    level = torch.where((mode >= 0.5) & (mode < 0.75) & settled, 0.0, level)
    level = torch.where(mode >= 0.75, uniform(count, 1), level)
    level = torch.where(clean < 0, 1.0, level)  # a token outside the draft vocabulary cannot be shown: it is noise
    known = clean.clamp(min=0)
    as_mask = uniform(count, 1) < {"masked": 1.0, "uniform": 0.0, "both": 0.5}[noise]
    canvas = torch.where(as_mask, corrupt_masked(known, level, generator), corrupt_uniform(known, level, size, generator))
    level = torch.where(as_mask, (canvas == MASKED).float(), level)
    return canvas, level, as_mask.expand(count, n)


@dataclass(frozen=True)
class Lesson:
    """Answers as the verifier read them: ids [B, T + n], keys and values, last hidden [B, T, width], first and last anchor [B, 1]."""

    ids: Tensor
    past: list[tuple[Tensor, Tensor]]
    hidden: Tensor
    first: Tensor
    last: Tensor


def lesson(model: Llama, network: BlockDenoiser, rows: Rows) -> Lesson:
    """Let the verifier read `rows`; anchors run from the last prompt token to the last but one token of the answer."""
    device = model.embedding.device
    longest = max(len(p) + len(a) for p, a in rows)
    ids = torch.zeros(len(rows), longest + BLOCK, dtype=torch.int64)
    for i, (prompt, answer) in enumerate(rows):
        ids[i, : len(prompt) + len(answer)] = torch.tensor(prompt + answer)
    past, hidden = read(model, ids[:, :longest].to(device), network.sources)
    first = torch.tensor([[len(p) - 1] for p, _ in rows], device=device)
    last = torch.tensor([[len(p) + len(a) - 1] for p, a in rows], device=device)
    return Lesson(ids.to(device), past, hidden, first, last)


def noised(
    model: Llama, network: BlockDenoiser, on: Lesson, inverse: Tensor, generator: torch.Generator, noise: str, anchors: int
) -> dict[str, Any]:
    """`anchors` random blocks per answer: inputs of the network, soft targets [B, A, n, K] and position weights [B, A, n]."""
    device, n, (count, longest) = on.ids.device, BLOCK, on.hidden.shape[:2]
    at = on.first + (torch.rand(count, anchors, generator=generator).to(device) * (on.last - on.first)).long()  # [B, A]
    spots = at[..., None] + torch.arange(n, device=device)  # rows' positions [B, A, n]; row i predicts spots + 1
    inside = spots < on.last[..., None]
    lanes = torch.arange(count, device=device)[:, None, None]
    clean = inverse[on.ids[lanes, spots + 1]]  # draft ids or −2
    canvas, level, as_mask = noisy_blocks(clean.flatten(0, 1), len(network.ids), generator, noise)
    canvas, level, as_mask = canvas.view_as(clean), level.view_as(clean), as_mask.view_as(clean)
    with torch.no_grad():
        teacher = on.hidden[lanes, spots.clamp(max=longest - 1)]
        target = torch.softmax(F.linear(teacher, model.embedding[network.ids]).float() / TEMPERATURE, -1)
    block = torch.arange(anchors, device=device).repeat_interleave(n)
    prefix = torch.arange(longest, device=device) < at.repeat_interleave(n, 1)[..., None]  # the anchor itself is not cached
    mask = torch.cat([prefix, (block[:, None] == block).expand(count, -1, -1)], -1)
    table = rotary_table(longest + n, model.d.head_width, model.d.rope_base, device)[:, spots.flatten(1)][..., None, :]
    # under masked noise a revealed token is carried over: nothing to learn there
    weight = inside * torch.exp(-torch.arange(n, device=device) / 4) * ~(as_mask & (canvas != MASKED))
    inputs = (on.ids[lanes[..., 0], at], canvas, level, on.past, table, mask)
    return {"inputs": inputs, "hidden": teacher, "target": target, "weight": weight, "pure": (level == 1).all(-1), "inside": inside}


def log_laws(network: BlockDenoiser, b: dict[str, Any]) -> Tensor:
    """The denoiser's log-laws at the training temperature, float32 [B, A, n, K]."""
    canvas = b["inputs"][1]
    with torch.autocast(canvas.device.type, torch.bfloat16):
        return F.log_softmax(network(*b["inputs"]).float(), -1)


def loss_of(network: BlockDenoiser, b: dict[str, Any]) -> Tensor:
    """Cross-entropy against the soft targets, weighted by position."""
    loss = -torch.einsum("bank,bank->ban", b["target"], log_laws(network, b))
    return (loss * b["weight"]).sum() / b["weight"].sum()


def expected_tau(acceptance: list[float]) -> float:
    """1 + Σ_k Π_{i≤k} a_i: tokens per cycle if positions were kept independently (modelled)."""
    return 1 + sum(math.prod(acceptance[:k]) for k in range(1, len(acceptance) + 1))


class Training:
    """Network, optimiser and progress of one run. The first HELD_OUT answers are for validation only."""

    def __init__(
        self, model: Llama, corpus: Rows, special: list[int], noise: str, sources: tuple[int, ...] = SOURCES, seed: int = 0
    ) -> None:
        self.model, self.noise, self.seed, device = model, noise, seed, model.embedding.device
        corpus = [row for row in corpus if len(row[1]) > 1]
        self.held_out, self.corpus = corpus[:HELD_OUT], corpus[HELD_OUT:]
        ids = draft_vocabulary(self.corpus, min(SIZE, model.d.vocabulary), special).to(device)
        self.inverse = torch.full((model.d.vocabulary,), -2, device=device).scatter_(0, ids, torch.arange(len(ids), device=device))
        self.network = fresh_network(model, ids, sources)
        self.optimiser = torch.optim.AdamW(self.network.parameters(), lr=RATE, weight_decay=0.01)
        self.batch = BATCH if device.type == "cpu" else 4 * BATCH
        self.state: dict[str, Any] = {"step": 0, "seconds": 0.0, "blocks": 0, "curve": []}

    def step(self, done: float) -> float:
        """One reading, UPDATES updates; `done` in [0, 1] places them on the learning-rate schedule. → mean loss

        Answers, blocks and noise depend on seed and step alone.
        """
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + self.state["step"])
        rows = [self.corpus[i] for i in torch.randint(len(self.corpus), (self.batch,), generator=generator).tolist()]
        for group in self.optimiser.param_groups:
            group["lr"] = RATE * min(1, (self.state["step"] + 1) * UPDATES / WARM_UP) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * done)))
        read, total = lesson(self.model, self.network, rows), 0.0
        for _ in range(UPDATES):
            loss = loss_of(self.network, noised(self.model, self.network, read, self.inverse, generator, self.noise, ANCHORS))
            self.optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
            self.optimiser.step()
            total += loss.item()
        self.state["step"] += 1
        self.state["blocks"] += self.batch * ANCHORS * UPDATES
        return total / UPDATES

    @torch.no_grad()
    def validate(self) -> dict[str, list[float]]:
        """Expected acceptance Σ min(p, q) per position of fully noised blocks on held-out answers, for both noises.

        p is the verifier's law over its whole vocabulary: mass outside the draft vocabulary is never accepted.
        """
        result = {}
        for noise in ("masked", "uniform"):
            generator, total, count = torch.Generator().manual_seed(0), torch.zeros(BLOCK), torch.zeros(BLOCK)
            for i in range(0, len(self.held_out), BATCH):
                b = noised(
                    self.model,
                    self.network,
                    lesson(self.model, self.network, self.held_out[i : i + BATCH]),
                    self.inverse,
                    generator,
                    noise,
                    ANCHORS,
                )
                use = b["pure"][..., None] & b["inside"]
                hidden, kept = b["hidden"], self.network.ids
                whole = F.linear(hidden, self.model.embedding).float().div(TEMPERATURE).logsumexp(-1)
                mass = (F.linear(hidden, self.model.embedding[kept]).float().div(TEMPERATURE).logsumexp(-1) - whole).exp()
                overlap = torch.minimum(b["target"] * mass[..., None], log_laws(self.network, b).exp()).sum(-1)
                total += (overlap * use).sum((0, 1)).cpu()
                count += use.sum((0, 1)).cpu()
            result[noise] = [round(x, 4) for x in (total / count.clamp(min=1)).tolist()]
        return result

    def save(self, path: Path) -> None:
        part = path.with_suffix(".part")
        torch.save({"network": self.network.state_dict(), "optimiser": self.optimiser.state_dict(), "state": self.state}, part)
        part.replace(path)

    def resume(self, path: Path) -> None:
        saved = torch.load(path, weights_only=True)
        self.network.load_state_dict(saved["network"])
        self.optimiser.load_state_dict(saved["optimiser"])
        self.state = saved["state"]


def train(run: Training, minutes: float, checkpoint: Path) -> dict[str, Any]:
    """Train until `minutes` are spent in all, resuming from `checkpoint`. The schedule follows the time spent. → history."""
    state = run.state
    if checkpoint.exists():
        run.resume(checkpoint)
        state = run.state
        print(f"resuming at step {state['step']}, {state['seconds'] / 60:.1f} minutes", flush=True)
    saved = time.monotonic()
    while state["seconds"] < minutes * 60:
        start = time.monotonic()
        loss = run.step(state["seconds"] / (minutes * 60))
        state["seconds"] += time.monotonic() - start  # validation and saving are not training time
        if state["step"] % 20 == 0:
            print(f"step {state['step']}: loss {loss:.3f}, {state['seconds'] / 60:.1f} of {minutes:g} minutes", flush=True)
        if state["step"] % 100 == 0:
            accepted = run.validate()
            taus = {noise: round(expected_tau(a), 3) for noise, a in accepted.items()}
            state["curve"].append({"step": state["step"], "minutes": round(state["seconds"] / 60, 2), "loss": round(loss, 4), "tau": taus})
            print(json.dumps(state["curve"][-1]), flush=True)
        if time.monotonic() - saved > 120:
            run.save(checkpoint)
            saved = time.monotonic()
    run.save(checkpoint)
    return {**state, "acceptance": run.validate()}
