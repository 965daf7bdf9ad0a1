"""The corpus: a verifier's own sampled answers to the tasks' prompts. Keeps token ids; everything else is recomputed.

An answer depends on the seed and its place in the stream alone, so an interrupted run continues to the same file
(up to rounding: a batch's other rows change the last bits of a logit).
"""

from __future__ import annotations

import gzip
import itertools
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sdiff.sampling import Shape
from sdiff.tasks import Item, items
from sdiff.training.teacher import Sampler
from sdiff.verifier import Llama

CONTEXT = 320  # tokens of prompt and answer together
MOST = 160  # tokens of one answer
TEMPERATURE = 0.7
ASKING = 0.8  # temperature of self-asked prompts: strange ones are no loss, the same ones again are
SEED = 1
HELD_OUT, EVERY = 60, 100  # for validation only: the first answers of the corpus, and each 100th of those to self-asked prompts
SELF_ASKED = "self-asked"  # family of prompts that the verifier wrote


@dataclass(frozen=True)
class Row:
    """Answer number `index` of a stream: prompt (with the chat template) and answer as token ids."""

    index: int
    task: str
    family: str
    prompt: list[int]
    answer: list[int]


def chat_tokens(tokenizer: Any, prompt: str) -> list[int]:
    """Prompt in the verifier's chat template, as token ids."""
    return tokenizer.apply_chat_template([{"role": "user", "content": prompt}], add_generation_prompt=True, return_dict=False)


def prompts(tasks: tuple[str, ...], split: str, seed: int = SEED) -> Iterator[Item]:
    """The tasks' problems in turn, endless."""
    streams = [items(task, split, seed) for task in tasks]
    return (next(stream) for stream in itertools.cycle(streams))


def load(path: Path) -> list[Row]:
    """Rows in file order, from plain or gzipped JSON lines; a half-written last line is ignored."""
    rows = []
    if path.exists():
        with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
            for line in file:
                try:
                    rows.append(Row(**json.loads(line)))
                except (ValueError, TypeError):
                    break
    return rows


def write(rows: list[Row], path: Path) -> None:
    """Plain JSON lines, for work under way."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(asdict(row)) + "\n" for row in rows))


def store(rows: list[Row], path: Path) -> None:
    """Gzipped JSON lines in stream order, byte for byte the same for the same rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(asdict(row)) + "\n" for row in sorted(rows, key=lambda row: row.index))
    part = path.with_suffix(".part")
    part.write_bytes(gzip.compress(lines.encode(), mtime=0))
    part.replace(path)


def make(
    model: Llama, tokenizer: Any, wanted: Iterator[Item], count: int, path: Path, minutes: float = 1e9, slots: int = 64, shard: tuple[int, int] = (0, 1),
    encode: Callable[[str], list[int]] | None = None, temperature: float = TEMPERATURE, first: int = 0,
) -> list[Row]:  # fmt: skip
    """Answer the first `count` of `wanted` into the JSON lines `path`, or as many as the time allows; skips what is there already.

    `encode` gives a prompt's token ids (default: `chat_tokens`). `shard` (i, n): only every n-th, beginning at i, so that n processes with a core each can share the work.
    `first`: the stream's place of the first of `wanted`.
    """
    encode = encode or partial(chat_tokens, tokenizer)
    two = zip(encode("a"), encode("b"))
    prefix = [token for token, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], two)][: len(encode("a")) - 1]
    write(done := load(path), path)
    known, start, fresh = {row.index for row in done}, time.monotonic(), 0

    def stream() -> Iterator[tuple[tuple[int, Item], list[int], int]]:
        for index, item in enumerate(itertools.islice(wanted, count), first):
            if time.monotonic() - start > minutes * 60:
                return
            if index % shard[1] != shard[0] or index in known:
                continue
            ids = encode(item.prompt)
            if len(ids) < CONTEXT - 8 and ids[: len(prefix)] == prefix:  # a first word can merge with what stands before it
                yield (index, item), ids, SEED * 1_000_003 + index

    sampler = Sampler(model, slots, CONTEXT, Shape(temperature), tokenizer.eos_token_id, prefix)
    with path.open("a") as file:
        for (index, item), prompt, answer in sampler.run(stream(), MOST):
            done.append(Row(index, item.task, item.family, prompt, answer))
            file.write(json.dumps(asdict(done[-1])) + "\n")
            fresh += len(answer)
            if len(done) % 50 == 0:
                file.flush()
                print(f"{len(done)} of {first + count} answers, {fresh / (time.monotonic() - start):.0f} tokens/s", flush=True)
    return done


def self_asked(model: Llama, tokenizer: Any, count: int, path: Path, **sampling: Any) -> Iterator[Item]:
    """Open prompts of a far wider range than this project's own: what the verifier itself writes where a user's turn begins
    (Magpie, 2406.08464). As `make`, of which these are the arguments, into `path`."""
    turn = tokenizer.apply_chat_template([{"role": "user", "content": "\0"}], tokenize=False)
    opening = tokenizer.encode(turn.split("\0")[0], add_special_tokens=False)
    nothing = itertools.repeat(Item("chat", SELF_ASKED, ""))
    rows = make(model, tokenizer, nothing, count, path, encode=lambda _: opening, temperature=ASKING, **sampling)
    for row in sorted(rows, key=lambda row: row.index):
        text = tokenizer.decode(row.answer[:-1]).strip()
        if row.answer[-1] == tokenizer.eos_token_id and 8 <= len(text) <= 400:
            yield Item("chat", SELF_ASKED, text)


def row_odds(corpus: list[Row], prose: float = 0.5) -> Tensor:
    """How often each answer is drawn for an update, [rows]: chat with the share `prose`, the other tasks alike, held-out answers never."""
    counts = Counter(row.task for row in corpus)
    share = [(prose / (1 - prose) * max(len(counts) - 1, 1)) ** (row.task == "chat") / counts[row.task] for row in corpus]
    held_out = [i < HELD_OUT or (row.family == SELF_ASKED and row.index % EVERY == 0) for i, row in enumerate(corpus)]
    return torch.tensor(share).masked_fill(torch.tensor(held_out), 0)
