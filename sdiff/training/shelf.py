"""What the verifier thinks of the corpus, read once and kept in memory. Refuses to know drafters."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from sdiff.many import padded
from sdiff.training.corpus import TEMPERATURE, Row
from sdiff.training.teacher import common_prefix, read
from sdiff.verifier import Llama

TOGETHER = 8  # answers read in one pass


class Shelf:
    """What the verifier thinks of each answer, read once and kept in memory: keys and values of `sources` as `kind`, last
    hidden states, and how surprising each token was: 1 − its probability at the decoding temperature. About 5 kB a token."""

    def __init__(self, model: Llama, sources: tuple[int, ...], corpus: list[Row], kind: torch.dtype = torch.bfloat16) -> None:
        self.model, self.sources, self.corpus, self.kind = model, sources, corpus, kind
        self.kept: dict[int, tuple[Tensor, Tensor, Tensor]] = {}  # [L, 2, heads, T, D], [T, width], [T]

    @torch.no_grad()
    def fill(self) -> None:
        """Read every answer, in batches of like length."""
        order = sorted(range(len(self.corpus)), key=lambda i: len(self.corpus[i].prompt) + len(self.corpus[i].answer))
        for first in range(0, len(order), TOGETHER):
            self.fetch(order[first : first + TOGETHER])
            if first % (40 * TOGETHER) == 0:
                print(f"read {first} of {len(order)} answers", flush=True)

    @torch.no_grad()
    def fetch(self, rows: list[int]) -> tuple[list[tuple[Tensor, Tensor]], Tensor, Tensor]:
        """Keys and values per source [B, heads, T, D], hidden states [B, T, width], surprise [B, T]; zero-padded."""
        missing = [i for i in dict.fromkeys(rows) if i not in self.kept]
        if missing:
            texts = [self.corpus[i].prompt + self.corpus[i].answer for i in missing]
            ids, lengths = padded(texts, self.model.embedding.device)
            past, hidden = read(self.model, ids, self.sources, common_prefix(texts))
            for lane, (i, length) in enumerate(zip(missing, lengths, strict=True)):
                keys_values = torch.stack([torch.stack([k[lane, :, :length], v[lane, :, :length]]) for k, v in past])
                first = len(self.corpus[i].prompt)  # of the prompt only the last token is ever an anchor, and it surprises nobody
                logs = F.linear(hidden[lane, first - 1 : length - 1], self.model.unembedding).float().div(TEMPERATURE).log_softmax(-1)
                surprise = F.pad(1 - logs.gather(-1, ids[lane, first:length, None])[:, 0].exp(), (first, 0))
                self.kept[i] = keys_values.to(self.kind), hidden[lane, :length].clone(), surprise
        kept = [self.kept[i] for i in rows]
        longest, kind = max(len(surprise) for _, _, surprise in kept), self.model.embedding.dtype
        caches = torch.stack([F.pad(kv, (0, 0, 0, longest - kv.shape[-2])) for kv, _, _ in kept], 2).to(kind)  # [L, 2, B, heads, T, D]
        hidden = torch.stack([F.pad(h, (0, 0, 0, longest - len(h))) for _, h, _ in kept])
        return [(kv[0], kv[1]) for kv in caches], hidden, torch.stack([F.pad(s, (0, longest - len(s))) for _, _, s in kept])
