"""The corpus: the verifier's own sampled answers to open prompts. Keeps token ids; everything else is recomputed."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from sdiff.sampling import Shape
from sdiff.training.prompts import prompts
from sdiff.training.teacher import Sampler
from sdiff.verifier import Llama

CONTEXT = 256  # tokens of prompt and answer together
SEED = 1


def chat_tokens(tokenizer: Any, prompt: str) -> list[int]:
    """Prompt in the verifier's chat template, as token ids."""
    return tokenizer.apply_chat_template([{"role": "user", "content": prompt}], add_generation_prompt=True, return_dict=False)


def load(path: Path) -> list[tuple[list[int], list[int]]]:
    """(prompt, answer) token ids, in file order; a half-written last line is ignored."""
    rows = []
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            rows.append(tuple(json.loads(line)))
        except ValueError:
            break
    return rows


def make(model: Llama, tokenizer: Any, path: Path, minutes: float, slots: int = 64, temperature: float = 0.7) -> int:
    """Append answers to `path` until the time is up; continues where an earlier call stopped. → tokens in the file."""
    done = load(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in done))
    tokens, start, fresh = sum(len(answer) for _, answer in done), time.monotonic(), 0

    def stream() -> Iterator[list[int]]:
        for text in islice(prompts(SEED), len(done), None):
            if time.monotonic() - start > minutes * 60:
                return
            yield chat_tokens(tokenizer, text)

    sampler = Sampler(model, slots, CONTEXT, Shape(temperature), tokenizer.eos_token_id, SEED + len(done))
    with path.open("a") as file:
        for n, row in enumerate(sampler.run(stream(), CONTEXT), 1):
            file.write(json.dumps(row) + "\n")
            fresh += len(row[1])
            if n % 50 == 0:
                file.flush()
                print(f"{len(done) + n} answers, {tokens + fresh:,} tokens, {fresh / (time.monotonic() - start):.0f} tokens/s", flush=True)
    return tokens + fresh
