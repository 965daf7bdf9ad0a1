"""Training the block denoiser on the corpus against the verifier's own next-token law. One network learns both noises.

Recipe: layers started from the verifier's, soft targets at the decoding temperature, position weights exp(−k/4),
and block noise drawn so that the states met when decoding in 1, 2, 4 or 8 steps all occur.
"""

from __future__ import annotations

import json
import math
import time
from collections import Counter
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

BLOCK, SIZE = 8, 8192
SOURCES = (0, 8, 16, 24, 29)
TEMPERATURE = 0.7
BATCH, ANCHORS = 8, 32
RATE, WARM_UP = 5e-4, 30
Rows = list[tuple[list[int], list[int]]]


def draft_vocabulary(corpus: Rows, size: int, special: list[int]) -> Tensor:
    """The `size` most frequent answer tokens, special tokens first, then the lowest ids as filling. Sorted [size]."""
    counts = Counter(t for _, answer in corpus for t in answer)
    ranked = [*special, *(t for t, _ in counts.most_common()), *range(size + len(special))]
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
    known = clean.clamp(min=0)
    uni = corrupt_uniform(known, level, size, generator)
    mask = corrupt_masked(known, level, generator)
    as_mask = uniform(count, 1) < {"masked": 1.0, "uniform": 0.0, "both": 0.5}[noise]
    canvas = torch.where(as_mask, mask, uni)
    # a settled token outside the draft vocabulary cannot be shown: treat it as noise
    canvas = torch.where((clean < 0) & as_mask, MASKED, canvas)
    level = torch.where(as_mask, (canvas == MASKED).float(), torch.where(clean < 0, 1.0, level))
    return canvas, level, as_mask.expand(count, n)


def batch(
    model: Llama, network: BlockDenoiser, rows: Rows, inverse: Tensor, generator: torch.Generator, noise: str, anchors: int
) -> dict[str, Any]:
    """Everything one step needs: inputs of the network, soft targets [B, A, n, K] and position weights [B, A, n]."""
    device, n = model.embedding.device, BLOCK
    rows = [(p, a) for p, a in rows if len(a) > 1]
    longest = max(len(p) + len(a) for p, a in rows)
    ids = torch.zeros(len(rows), longest + n, dtype=torch.int64)
    starts, ends = [], []
    for i, (prompt, answer) in enumerate(rows):
        ids[i, : len(prompt) + len(answer)] = torch.tensor(prompt + answer)
        starts.append(len(prompt) - 1)
        ends.append(len(prompt) + len(answer) - 1)
    past, hidden = read(model, ids[:, :longest].to(device), network.sources)
    low, high = torch.tensor(starts)[:, None], torch.tensor(ends)[:, None]
    at = (low + (torch.rand(len(rows), anchors, generator=generator) * (high - low)).long()).to(device)  # [B, A]
    ids, high = ids.to(device), high.to(device)
    spots = at[..., None] + torch.arange(n, device=device)  # rows' positions [B, A, n]; row i predicts spots + 1
    inside = spots < high[..., None]
    lanes = torch.arange(len(rows), device=device)[:, None, None]
    clean = inverse[ids[lanes, (spots + 1)]]  # draft ids or −2
    canvas, level, as_mask = noisy_blocks(clean.flatten(0, 1), len(network.ids), generator, noise)
    canvas, level = canvas.view_as(clean), level.view_as(clean)
    teacher = hidden[lanes, spots.clamp(max=longest - 1)]
    with torch.no_grad():
        target = torch.softmax(F.linear(teacher, model.embedding[network.ids]).float() / TEMPERATURE, -1)
    block = torch.arange(anchors, device=device).repeat_interleave(n)
    prefix = torch.arange(longest, device=device) < at.repeat_interleave(n, 1)[..., None]  # the anchor itself is not cached
    mask = torch.cat([prefix, (block[:, None] == block).expand(len(rows), -1, -1)], -1)
    table = rotary_table(longest + n, model.d.head_width, model.d.rope_base, device)[:, spots.flatten(1)][..., None, :]
    # under masked noise a revealed token is carried over: nothing to learn there
    weight = inside * torch.exp(-torch.arange(n, device=device) / 4) * ~(as_mask.view_as(clean) & (canvas != MASKED))
    return {
        "inputs": (ids[lanes[..., 0], at], canvas, level, past, table, mask), "target": target, "weight": weight,
        "first": level.amin(-1) == 1, "as_mask": as_mask.view_as(clean)[..., 0], "inside": inside,
    }  # fmt: skip


def log_laws(network: BlockDenoiser, b: dict[str, Any]) -> Tensor:
    """The denoiser's log-laws at the training temperature, float32 [B, A, n, K]."""
    canvas = b["inputs"][1]
    with torch.autocast(canvas.device.type, torch.bfloat16):
        return F.log_softmax(network(*b["inputs"]).float(), -1)


def loss_of(network: BlockDenoiser, b: dict[str, Any]) -> Tensor:
    """Cross-entropy against the soft targets, weighted by position."""
    loss = -torch.einsum("bank,bank->ban", b["target"], log_laws(network, b))
    return (loss * b["weight"]).sum() / b["weight"].sum()


@torch.no_grad()
def validate(model: Llama, network: BlockDenoiser, rows: Rows, inverse: Tensor) -> dict[str, list[float]]:
    """Expected acceptance per position of fully noised blocks on held-out answers, for both noises."""
    result = {}
    for noise in ("masked", "uniform"):
        generator, total, count = torch.Generator().manual_seed(0), torch.zeros(BLOCK), torch.zeros(BLOCK)
        for i in range(0, len(rows), BATCH):
            b = batch(model, network, rows[i : i + BATCH], inverse, generator, noise, ANCHORS)
            use = b["first"][..., None] & b["inside"]
            overlap = torch.minimum(b["target"], log_laws(network, b).exp()).sum(-1)  # Σ min(p, q)
            total += (overlap * use).sum((0, 1)).cpu()
            count += use.sum((0, 1)).cpu()
        result[noise] = [round(x, 4) for x in (total / count).tolist()]
    return result


def expected_tau(acceptance: list[float]) -> float:
    """1 + Σ_k Π_{i≤k} a_i: tokens per cycle if positions were kept independently (modelled)."""
    return 1 + sum(math.prod(acceptance[:k]) for k in range(1, len(acceptance) + 1))


def train(
    model: Llama, corpus: Rows, special: list[int], minutes: float, noise: str, checkpoint: Path, seed: int = 0
) -> tuple[BlockDenoiser, dict[str, Any]]:
    """Train for `minutes` in all, resuming from `checkpoint`; the learning rate follows the time spent. → network, history.

    A resumed run draws other blocks than an uninterrupted one would: the seed is mixed with the step.
    """
    device = model.embedding.device
    held_out, corpus = corpus[:48], corpus[48:]
    ids = draft_vocabulary(corpus, SIZE, special).to(device)
    inverse = torch.full((model.d.vocabulary,), -2, dtype=torch.int64, device=device).scatter_(0, ids, torch.arange(SIZE, device=device))
    torch.manual_seed(seed)
    network = fresh_network(model, ids)
    optimiser = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=0.01)
    state: dict[str, Any] = {"step": 0, "seconds": 0.0, "blocks": 0, "curve": []}
    if checkpoint.exists():
        saved = torch.load(checkpoint, weights_only=True)
        network.load_state_dict(saved["network"])
        optimiser.load_state_dict(saved["optimiser"])
        state = saved["state"]
        print(f"resuming at step {state['step']}, {state['seconds'] / 60:.1f} minutes", flush=True)
    size, last = (BATCH, ANCHORS) if device.type == "cpu" else (4 * BATCH, ANCHORS), time.monotonic()
    saved_at = last
    while state["seconds"] < minutes * 60:
        generator = torch.Generator().manual_seed(seed * 1_000_003 + state["step"])
        picks = torch.randint(len(corpus), (size[0],), generator=generator).tolist()
        done = state["seconds"] / (minutes * 60)
        for group in optimiser.param_groups:
            group["lr"] = RATE * min(1, (state["step"] + 1) / WARM_UP) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * done)))
        b = batch(model, network, [corpus[i] for i in picks], inverse, generator, noise, size[1])
        loss = loss_of(network, b)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        now = time.monotonic()
        state["step"] += 1
        state["blocks"] += size[0] * size[1]
        state["seconds"] += now - last
        last = now
        if state["step"] % 20 == 0:
            print(f"step {state['step']}: loss {loss.item():.3f}, {state['seconds'] / 60:.1f} minutes", flush=True)
        if state["step"] % 100 == 0:
            accepted = validate(model, network, held_out, inverse)
            taus = {k: round(expected_tau(v), 3) for k, v in accepted.items()}
            point = {
                "step": state["step"],
                "minutes": round(state["seconds"] / 60, 2),
                "blocks": state["blocks"],
                "loss": round(loss.item(), 4),
                "tau": taus,
                "acceptance": accepted,
            }
            state["curve"].append(point)
            print(json.dumps(point), flush=True)
            last = time.monotonic()  # validation is not training time
        if now - saved_at > 120:
            save_checkpoint(checkpoint, network, optimiser, state)
            saved_at = now
    save_checkpoint(checkpoint, network, optimiser, state)
    return network, {**state, "acceptance": validate(model, network, held_out, inverse)}


def save_checkpoint(path: Path, network: BlockDenoiser, optimiser: torch.optim.Optimizer, state: dict[str, Any]) -> None:
    part = path.with_suffix(".part")
    torch.save({"network": network.state_dict(), "optimiser": optimiser.state_dict(), "state": state}, part)
    part.replace(path)
