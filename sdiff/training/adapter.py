"""The task adapter: a LoRA (2106.09685) that teaches the verifier the tasks and keeps its manner of answering open prompts.

Trained on worked solutions (cross-entropy) and on the unadapted verifier's own answers to open prompts, there against
its full next-token law, so that the law on such text moves as little as possible. Uses `peft`; loading needs none of it.
"""

from __future__ import annotations

import itertools
import json
import math
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from sdiff.layers import bf16_native
from sdiff.many import padded
from sdiff.tasks import items
from sdiff.tasks.reasoning_arithmetic import sheet
from sdiff.training.corpus import Row, chat_tokens
from sdiff.training.teacher import common_prefix, read
from sdiff.verifier import Llama

RANK, ALPHA = 16, 32
MODULES = ("qkv", "out", "gate_up", "down")
RATE, WARM_UP = 1e-3, 20
MIX = {"reasoning": 4, "sums": 1, "coding": 3, "chat": 1}  # rows per step on a CPU
BATCH = sum(MIX.values())
DIGIT = 2.0  # weight of a digit: one wrong digit spoils an answer, other words only sound different
LONGEST, CHAT_TOKENS, OPEN_ROWS = 320, 96, 300
SEED = 7


@dataclass(frozen=True)
class Example:
    """One row to learn from: the n tokens of an answer.

    `laws`: for each of them, every token that could have stood there with its probability; where given, the target instead of the token.
    `original` [n, width]: last hidden states of the unadapted verifier before each; where given, the target is that verifier's law.
    """

    prompt: list[int]
    answer: list[int]
    laws: list[dict[int, float]] | None = None
    original: Tensor | None = None


def next_laws(answer: list[int], wordings: list[tuple[list[int], float]]) -> list[dict[int, float]]:
    """The law of each token of `answer` behind those before it, for an answer drawn from `wordings` (tokens, probability).

    With it as the target, the draw of a wording adds no noise to the gradient: most of the entropy of a worked solution lies in the wording.
    No wording may begin with another whole one.
    """
    laws = []
    for i, token in enumerate(answer):
        law: dict[int, float] = {}
        for text, share in wordings:
            law[text[i]] = law.get(text[i], 0) + share
        total = sum(law.values())
        laws.append({other: share / total for other, share in law.items()})
        wordings = [(text, share) for text, share in wordings if text[i] == token]
    return laws


def worked(tokenizer: Any, task: str, split: str, seed: int = SEED) -> Iterator[Example]:
    """Problems with their worked solutions as token ids, endless; `task` "sums": sheets of sums alone."""
    rng = random.Random(seed)
    sums = ((asked, solution, {solution: 1.0}) for asked, solution in (sheet(rng) for _ in itertools.count()))
    texts = sums if task == "sums" else ((i.prompt, i.solution, i.wordings) for i in items(task, split, seed))
    for asked, solution, wordings in texts:
        tokens = {text: [*tokenizer.encode(text, add_special_tokens=False), tokenizer.eos_token_id] for text in wordings}
        prompt, answer = chat_tokens(tokenizer, asked), tokens[solution]
        if len(prompt) + len(answer) <= LONGEST:
            yield Example(prompt, answer, next_laws(answer, [(tokens[text], share) for text, share in wordings.items()]))


def batches(tokenizer: Any, chat: list[Example], size: int, seed: int) -> Iterator[list[Example]]:
    """Endless batches of `size`·MIX rows; the rows of one task are of similar length within a batch."""
    generator = torch.Generator().manual_seed(seed)
    streams = {task: worked(tokenizer, task, "train", seed) for task in MIX if task != "chat"}
    streams["chat"] = (chat[int(torch.randint(len(chat), (1,), generator=generator))] for _ in itertools.count())
    while True:
        rows = {task: sorted(islice(streams[task], 4 * size * n), key=lambda r: len(r.prompt) + len(r.answer)) for task, n in MIX.items()}
        for i in torch.randperm(4, generator=generator).tolist():
            yield [row for task, n in MIX.items() for row in rows[task][i * size * n : (i + 1) * size * n]]


def autocast(device: torch.device) -> torch.autocast:
    """bfloat16 arithmetic where the device has it."""
    return torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda" or bf16_native())


class Training:
    """The verifier with trainable LoRA matrices, the optimiser and the progress of one run."""

    def __init__(self, model: Llama, tokenizer: Any, chat: list[Row], seed: int = SEED) -> None:
        try:
            from peft import LoraConfig, inject_adapter_in_model
        except ImportError:
            raise SystemExit("Training the adapter needs one more package: pip install peft==0.21.2") from None
        torch.manual_seed(seed)
        self.model, self.tokenizer, self.device = model, tokenizer, model.embedding.device
        open_rows = self.original(chat)  # before the adapter is in place
        config = LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules=list(MODULES), lora_dropout=0.0)
        inject_adapter_in_model(config, model)
        self.parameters = {name: p for name, p in model.named_parameters() if "lora_" in name}
        for parameter in self.parameters.values():
            parameter.data = parameter.data.float()
        self.optimiser = torch.optim.AdamW(self.parameters.values(), lr=RATE, weight_decay=0.0)
        self.scale = 1 if self.device.type == "cpu" else 4
        self.batches = batches(tokenizer, open_rows, self.scale, seed)
        digits = [i for i in range(model.d.vocabulary) if tokenizer.decode([i]).strip().isdecimal()]
        self.weight = torch.ones(model.d.vocabulary, device=self.device).index_fill_(0, torch.tensor(digits, device=self.device), DIGIT)
        self.state: dict[str, Any] = {"step": 0, "seconds": 0.0, "tokens": 0, "curve": []}

    @torch.no_grad()
    def original(self, chat: list[Row]) -> list[Example]:
        """Some open prompts with what the unadapted verifier thought at the first CHAT_TOKENS of its own answers."""
        rows = [Example(row.prompt, row.answer[:CHAT_TOKENS]) for row in chat[:OPEN_ROWS]]
        result = []
        for i in range(0, len(rows), BATCH):
            hidden, _, of = self.hidden(rows[i : i + BATCH])
            result += [replace(r, original=hidden[of == j]) for j, r in enumerate(rows[i : i + BATCH])]
        return result

    def hidden(self, rows: list[Example]) -> tuple[Tensor, Tensor, Tensor]:
        """Last hidden states before every answer token [N, width], the token there [N], and its row [N]."""
        texts = [row.prompt + row.answer for row in rows]
        ids, lengths = padded(texts, self.device)
        time = torch.arange(ids.shape[1], device=self.device)
        first = torch.tensor([[len(row.prompt)] for row in rows], device=self.device)
        here = (time >= first) & (time < torch.tensor(lengths, device=self.device)[:, None])
        _, last = read(self.model, ids[:, :-1], prefix=common_prefix([text[:-1] for text in texts]))
        return last[here[:, 1:]], ids[here], here.nonzero()[:, 0]

    def loss(self, rows: list[Example]) -> Tensor:
        """Mean over answer tokens of the cross-entropy against the law of the solution's wordings, or the unadapted law on open prompts."""
        with autocast(self.device):
            hidden, token, row = self.hidden(rows)
            open_rows = [i for i, r in enumerate(rows) if r.original is not None]
            chat = torch.isin(row, torch.tensor(open_rows, device=self.device))
            losses = hidden.new_zeros(()).float()
            if laws := [law for r in rows if r.original is None for law in r.laws or ({token: 1.0} for token in r.answer)]:
                could = pad_sequence([torch.tensor(list(law)) for law in laws], batch_first=True).to(self.device)
                shares = pad_sequence([torch.tensor(list(law.values())) for law in laws], batch_first=True).to(self.device)
                log_q = F.linear(hidden[~chat], self.model.embedding).float().log_softmax(-1)
                losses = losses - (log_q.gather(1, could) * self.weight[could] * shares).sum()
            if open_rows:
                original = torch.cat([rows[i].original for i in open_rows]).to(hidden.dtype)
                law = F.linear(original, self.model.embedding).float().softmax(-1)
                losses = losses + F.cross_entropy(F.linear(hidden[chat], self.model.embedding).float(), law, reduction="sum")
        self.state["tokens"] += len(token)
        return losses / len(token)

    def step(self, done: float) -> float:
        """One update; `done` in [0, 1] places it on the learning-rate schedule. → loss"""
        for group in self.optimiser.param_groups:
            group["lr"] = RATE * min(1, (self.state["step"] + 1) / WARM_UP) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * done)))
        rows, total = next(self.batches), 0.0
        tokens = sum(len(row.answer) for row in rows)
        self.optimiser.zero_grad()
        for part in self.parts(rows):
            loss = self.loss(part) * (sum(len(row.answer) for row in part) / tokens)
            loss.backward()
            total += loss.item()
        torch.nn.utils.clip_grad_norm_(self.parameters.values(), 1.0)
        self.optimiser.step()
        self.state["step"] += 1
        return total

    def parts(self, rows: list[Example]) -> list[list[Example]]:
        """The rows of a step in groups that are read together: on a CPU few of similar length, since padding costs as much as text."""
        if self.device.type != "cpu":
            return [rows]
        ordered = sorted(rows, key=lambda row: len(row.prompt) + len(row.answer))
        return [ordered[i : i + 3] for i in range(0, len(ordered), 3)]

    @torch.no_grad()
    def validate(self, held_out_chat: list[Row], each: int = 24) -> dict[str, float]:
        """Negative log-likelihood per token (nat) of held-out solutions, and of the unadapted verifier's chat answers."""
        sets = {task: list(islice(worked(self.tokenizer, task, "validation"), each)) for task in ("reasoning", "coding")}
        sets["chat"] = [Example(row.prompt, row.answer) for row in held_out_chat[:each]]
        result = {}
        for task, rows in sets.items():
            total, count = 0.0, 0
            for i in range(0, len(rows), BATCH):
                hidden, token, _ = self.hidden(rows[i : i + BATCH])
                total += F.cross_entropy(F.linear(hidden, self.model.embedding).float(), token, reduction="sum").item()
                count += len(token)
            result[task] = round(total / count, 4)
        return result

    def adapter(self) -> dict[str, Tensor]:
        """The LoRA matrices by the project's own names: `layers.N.MODULE.A` [rank, in] and `.B` [out, rank]."""
        return {
            name.replace(".lora_A.default.weight", ".A").replace(".lora_B.default.weight", ".B"): p.detach()
            for name, p in self.parameters.items()
        }

    def begin_from(self, adapter: dict[str, Tensor]) -> None:
        """Begin from an adapter as `adapter` gives it, instead of from none."""
        with torch.no_grad():
            for name, parameter in self.adapter().items():
                parameter.copy_(adapter[name])

    def meet(self, start: dict[str, Tensor], held_out_chat: list[Row]) -> None:
        """Take the mean of `start`, which this run began from, and its end: better on unseen families than either (2109.01903, 2203.05482).

        The two are near each other, so the means of A and B stand for that of B·A.
        """
        self.begin_from({name: (p + start[name].to(p)) / 2 for name, p in self.adapter().items()})
        self.state["curve"].append({"step": "mean of start and end", "nll": self.validate(held_out_chat)})

    def save(self, path: Path) -> None:
        part = path.with_suffix(".part")
        torch.save(
            {"adapter": {k: p.detach() for k, p in self.parameters.items()}, "optimiser": self.optimiser.state_dict(), "state": self.state},
            part,
        )
        part.replace(path)

    def resume(self, path: Path) -> None:
        """Continue a saved run with the very next batch."""
        saved = torch.load(path, weights_only=True, map_location=self.device)
        with torch.no_grad():
            for name, p in self.parameters.items():
                p.copy_(saved["adapter"][name])
        self.optimiser.load_state_dict(saved["optimiser"])
        self.state = saved["state"]
        for _ in range(self.state["step"]):
            next(self.batches)


def train(run: Training, held_out_chat: list[Row], minutes: float, checkpoint: Path) -> dict[str, Any]:
    """Train until `minutes` in all are spent, resuming from `checkpoint`; the schedule follows the time spent. → history"""
    if checkpoint.exists():
        run.resume(checkpoint)
        print(f"resuming at step {run.state['step']}, {run.state['seconds'] / 60:.1f} minutes", flush=True)
    state, saved = run.state, time.monotonic()
    if not state["step"]:
        state["curve"].append({"step": 0, "minutes": 0.0, "nll": run.validate(held_out_chat)})
        print(json.dumps(state["curve"][-1]), flush=True)
    while state["seconds"] < minutes * 60:
        start = time.monotonic()
        loss = run.step(min(1.0, state["seconds"] / (minutes * 60)))
        state["seconds"] += time.monotonic() - start  # validation and saving are not training time
        if state["step"] % 10 == 0:
            print(f"step {state['step']}: loss {loss:.3f}, {state['seconds'] / 60:.1f} of {minutes:g} minutes", flush=True)
        if state["step"] % 200 == 0:
            state["curve"].append({"step": state["step"], "minutes": round(state["seconds"] / 60, 2), "nll": run.validate(held_out_chat)})
            print(json.dumps(state["curve"][-1]), flush=True)
        if time.monotonic() - saved > 180:
            run.save(checkpoint)
            saved = time.monotonic()
    run.save(checkpoint)
    return state
