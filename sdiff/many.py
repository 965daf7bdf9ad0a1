"""Many decodes at once, for measuring quality: the one loop `decode` runs in many lanes, its model calls in common passes.

Each job is ordinary code around a verifier and a denoiser that serve one sequence. Here both are facades: a call hands a
request to the scheduler and sleeps (as a greenlet) until all lanes have asked for something; then one batched pass
serves all requests of a kind. Nothing about decoding is written twice. Useless for timing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from greenlet import getcurrent, greenlet
from torch import Tensor

from sdiff.layers import attend, grouped, rms_norm
from sdiff.network import BlockDenoiser
from sdiff.verifier import ContextFull, Llama


def padded(texts: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, list[int]]:
    """Token ids [B, T] with zeros behind the shorter texts, and their lengths."""
    lengths = [len(text) for text in texts]
    ids = torch.zeros(len(texts), max(lengths), dtype=torch.int64)
    for row, text in zip(ids, texts, strict=True):
        row[: len(text)] = torch.as_tensor(text)
    return ids.to(device), lengths


class Lanes:
    """Key/value caches of many sequences beside each other; one pass may read behind any of them."""

    def __init__(self, model: Llama, lanes: int, context: int) -> None:
        d, weight = model.d, model.embedding
        self.model, self.context = model, context
        # one cell more than the context: where padding goes that would lie behind it
        self.cache = torch.zeros(d.layers, 2, lanes, d.kv_heads, context + 1, d.head_width, dtype=weight.dtype, device=weight.device)
        self.table = d.rotary(context + 64, weight.device).to(weight.dtype)

    @torch.inference_mode()
    def read(self, ids: Sequence[Sequence[int]], lanes: Sequence[int], lengths: Sequence[int]) -> Tensor:
        """Read `ids`, a list per lane, behind the first `lengths` tokens of `lanes`. → last hidden states [n, T, width]

        Shorter lists are padded; rows of padding mean nothing, and nothing attends to them.
        """
        device = self.cache.device
        texts, _ = padded(ids, device)
        rows, time = torch.tensor(lanes, device=device), texts.shape[1]
        at = torch.tensor(lengths, device=device)[:, None] + torch.arange(time, device=device)  # [n, T]
        at = at.clamp(max=self.context)
        end = min(max(lengths) + time, self.context)
        d, seen = self.model.d, torch.arange(end, device=device) <= at[..., None]  # [n, T, end]
        mask = grouped(seen, d.heads, d.kv_heads, self.cache.dtype)
        table, x = self.table[:, at][:, :, :, None], self.model.embedding[texts]
        whole = list(lanes) == list(range(self.cache.shape[2]))
        for layer, (keys, values) in zip(self.model.layers, self.cache, strict=True):

            def store_and_attend(q: Tensor, k: Tensor, v: Tensor, keys: Tensor = keys, values: Tensor = values) -> Tensor:
                keys[rows[:, None], :, at] = k
                values[rows[:, None], :, at] = v
                seen = (keys[:, :, :end], values[:, :, :end]) if whole else (keys[rows, :, :end], values[rows, :, :end])
                return attend(q, *seen, mask)

            x = layer(x, table, store_and_attend)
        return rms_norm(x, self.model.norm, self.model.d.epsilon)


@dataclass(frozen=True)
class Read:
    """A lane waits for its verifier to read `tokens` behind its first `length`. `score`: for the logits too."""

    lane: int
    tokens: list[int]
    length: int
    score: bool


@dataclass(frozen=True)
class Predict:
    """A lane waits for its denoiser; the fields are those of `BlockDenoiser.forward`."""

    lane: int
    anchor: int
    thought: Tensor
    canvas: Tensor
    level: Tensor
    length: int


def _answer(ask: Read | Predict) -> Any:
    """Sleep until the scheduler has the answer."""
    return getcurrent().parent.switch(ask)


class LaneVerifier:
    """As `Verifier`, for one lane."""

    def __init__(self, lane: int, lanes: Lanes) -> None:
        self.lane, self.d, self.context, self.device = lane, lanes.model.d, lanes.context, lanes.cache.device
        self.length, self.recent = 0, (0, torch.zeros(0, self.d.width, dtype=lanes.cache.dtype, device=self.device))

    @property
    def room(self) -> int:
        return self.context - self.length

    def prefill(self, tokens: Sequence[int], start: int = 0) -> None:
        self.rollback(start)
        self._read(tokens, score=False)

    def score(self, tokens: Sequence[int] | Tensor) -> Tensor:
        return self._read(torch.as_tensor(tokens).tolist(), score=True)

    def _read(self, tokens: Sequence[int], score: bool) -> Any:
        if len(tokens) > self.room:
            raise ContextFull(f"{len(tokens)} more tokens do not fit: the context holds {self.context:,}.")
        if not tokens:
            return None
        hidden, logits = _answer(Read(self.lane, list(tokens), self.length, score))
        self.recent = (self.length, hidden)
        self.length += len(tokens)
        return logits

    def rollback(self, kept: int) -> None:
        if not 0 <= kept <= self.length:
            raise ValueError(f"cannot keep {kept} of {self.length} tokens")
        self.length = kept

    def last_hidden(self) -> Tensor:
        start, hidden = self.recent
        row = self.length - 1 - start
        return hidden[row] if 0 <= row < len(hidden) else torch.zeros(self.d.width, dtype=hidden.dtype, device=self.device)


class LaneDenoiser:
    """As `CachedDenoiser`, for one lane."""

    def __init__(self, verifier: LaneVerifier, network: BlockDenoiser, scale: float) -> None:
        self.verifier, self.scale, self.ids, self.vocabulary = verifier, scale, network.ids, network.d.vocabulary

    def start(self, context: Sequence[int]) -> None:
        if len(context) != self.verifier.length + 1:
            raise ValueError(f"the verifier has read {self.verifier.length} tokens, the context has {len(context)} with its anchor")
        self.anchor, self.thought = context[-1], self.verifier.last_hidden()

    def predict(self, canvas: Tensor, level: Tensor) -> Tensor:
        return _answer(Predict(self.verifier.lane, self.anchor, self.thought, canvas, level, self.verifier.length))


class Together:
    """Serves the lanes' requests in common passes."""

    def __init__(self, model: Llama, network: BlockDenoiser | None, scale: float, lanes: int, context: int) -> None:
        self.lanes, self.network, self.scale, self.count = Lanes(model, lanes, context), network, scale, lanes

    def run(self, jobs: Iterator[Callable[[LaneVerifier, LaneDenoiser | None], Any]]) -> Iterator[Any]:
        """What the jobs return, in the order they finish. An error in a job ends the run."""
        workers: dict[int, greenlet] = {}
        asked: dict[int, Read | Predict] = {}
        while True:
            for lane in range(self.count):
                while lane not in workers and (job := next(jobs, None)) is not None:
                    verifier = LaneVerifier(lane, self.lanes)
                    workers[lane] = greenlet(job)
                    denoiser = LaneDenoiser(verifier, self.network, self.scale) if self.network else None
                    yield from self._resume(workers, asked, lane, verifier, denoiser)
            if not workers:
                return
            # what is furthest behind goes first, so that as many as possible ask for the same in the end
            ranks = (lambda a: isinstance(a, Read) and not a.score, lambda a: isinstance(a, Predict), lambda a: isinstance(a, Read))
            asks = next(group for rank in ranks if (group := [ask for _, ask in sorted(asked.items()) if rank(ask)]))
            answers = self._predict(asks) if isinstance(asks[0], Predict) else self._read(asks)
            for ask, answer in zip(asks, answers, strict=True):
                yield from self._resume(workers, asked, ask.lane, answer)

    @staticmethod
    def _resume(workers: dict[int, greenlet], asked: dict[int, Read | Predict], lane: int, *answer: Any) -> Iterator[Any]:
        """Let a lane run to its next request, or to its end."""
        asked.pop(lane, None)
        result = workers[lane].switch(*answer)
        if workers[lane].dead:
            del workers[lane]
            yield result
        else:
            asked[lane] = result

    @torch.inference_mode()
    def _read(self, asks: list[Read]) -> list[tuple[Tensor, Tensor | None]]:
        hidden = self.lanes.read([a.tokens for a in asks], [a.lane for a in asks], [a.length for a in asks])
        kept = [h[: len(a.tokens)] for h, a in zip(hidden, asks, strict=True)]
        if not asks[0].score:
            return [(h, None) for h in kept]
        logits = F.linear(torch.cat(kept), self.lanes.model.unembedding).split([len(h) for h in kept])
        return list(zip(kept, logits, strict=True))

    @torch.inference_mode()
    def _predict(self, asks: list[Predict]) -> list[Tensor]:
        """Blocks of one size go together."""
        answers: dict[int, Tensor] = {}
        for size in {len(a.canvas) for a in asks}:
            group = [a for a in asks if len(a.canvas) == size]
            lengths = torch.tensor([a.length for a in group], device=self.lanes.cache.device)
            end, rows = int(lengths.max()), torch.tensor([a.lane for a in group], device=lengths.device)
            past = [tuple(self.lanes.cache[i, :, rows, :, :end].unbind(0)) for i in self.network.sources]
            spots = lengths[:, None] + torch.arange(size, device=lengths.device)
            prefix = (torch.arange(end, device=lengths.device) < lengths[:, None])[:, None].expand(-1, size, -1)
            mask = torch.cat([prefix, prefix.new_ones(len(group), size, size)], -1)
            anchor = torch.tensor([[a.anchor] for a in group], device=lengths.device)
            thought, canvas, level = (torch.stack([getattr(a, f) for a in group])[:, None] for f in ("thought", "canvas", "level"))
            logits = self.network(anchor, thought, canvas, level, past, self.lanes.table[:, spots][..., None, :], mask)[:, 0]
            answers |= {a.lane: row for a, row in zip(group, logits, strict=True)}
        return [answers[a.lane] for a in asks]
