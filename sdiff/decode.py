"""The loop: draft a block, verify it in one pass, examine, commit. Takes verifier, drafter and rule; imports none of them.

Plain decoding is the same loop with empty drafts: every cycle then emits the "bonus" token alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sdiff.acceptance import Rule, examine
from sdiff.sampling import Dice, Shape
from sdiff.tally import Tally, emission, sketch, verdicts
from sdiff.trace import End, Event, Prefill, Verify


@dataclass(frozen=True)
class Plan:
    """How to decode. `gamma` drafts per block in `steps` denoising passes; text ends at an id in `eos` or after `max_tokens`."""

    gamma: int
    steps: int
    max_tokens: int
    eos: Collection[int]
    detail: bool = True  # record canvases and alternatives


def decode(
    verifier: Any,
    drafter: Any,
    rule: Rule,
    shape: Shape,
    prompt: Sequence[int],
    plan: Plan,
    dice: Dice,
    readable: Callable[[Sequence[int]], str] = lambda tokens: "",
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[Event]:
    """Decode behind `prompt` (token ids, at least one); yields events, the last one always an `End`.

    verifier: `prefill`, `score`, `rollback`, `length`, `room` (verifier.py); drafter: `propose` (drafters). `readable`
    gives the text that new tokens complete; `stop` is asked around every denoising pass. A model that fails with an
    ArithmeticError (NaN) ends the run with reason "error" and the text so far, then the error is raised.
    """
    out: list[int] = []
    context, tally, text, error, reason = list(prompt), Tally(plan.gamma), "", None, ""
    try:
        # 1. Read the prompt except its last token: the anchor leads the first verify pass.
        _, ms = tally.timed("prefill", lambda: verifier.prefill(context[:-1]))
        yield Prefill(tokens=len(context) - 1, ms=ms, at=tally.at)
        while not reason:
            # 2. A cycle emits at most n+1 tokens: blocks shrink where the limit or the context ends.
            n, start, cycle = min(plan.gamma, plan.max_tokens - len(out) - 1, verifier.room - 1), verifier.length, tally.cycles + 1
            if n < 0:
                reason = "limit" if len(out) >= plan.max_tokens else "context"
                break
            # 3. Draft, one timed denoising pass at a time.
            draft = yield from drafting(drafter.propose(context, n, plan.steps, dice), tally, plan, stop)
            if draft is None:
                reason = "stopped"
                break
            drafted, fixed_at = draft.tokens.tolist(), draft.fixed_at.tolist()
            # 4. Verify anchor and drafts in one forward pass.
            block = torch.cat([draft.tokens.new_tensor(context[-1:]), draft.tokens])
            (p, unit), ms = tally.timed("verify", lambda block=block: laws(verifier.score(block), shape))
            yield Verify(cycle=cycle, anchor=context[-1], tokens=tuple(drafted), fixed_at=tuple(fixed_at),
                         draft_ms=tally.cycle_ms("draft"), ms=ms, at=tally.at)  # fmt: skip
            # 5. Examine left to right; the first refusal, or the end of the block, draws one token of the verifier's.
            exam, ms = tally.timed("examine", lambda d=draft, p=p, unit=unit: examine(p, d.q, d.tokens, rule, dice, unit))
            tokens = [*drafted[: exam.accepted], exam.extra]
            ended = next((i for i, token in enumerate(tokens) if token in plan.eos), None)
            tokens = tokens if ended is None else tokens[: ended + 1]  # nothing behind the end is emitted or counted
            # 6. Commit: the verifier keeps everything but the new anchor.
            verifier.rollback(start + len(tokens))
            context, out = context + tokens, out + tokens
            seen = tally.count(len(drafted), len(tokens), exam)
            # 7. Tell, outside every timing.
            yield from verdicts(cycle, drafted[:seen], exam, (p, draft.q) if plan.detail else None, tally.at)
            piece = readable(tokens)
            yield emission(cycle, tokens, exam, len(drafted), p if plan.detail else None, piece, ms, tally.at)
            text, reason = text + piece, "" if ended is None else "eos"
    except ArithmeticError as failure:
        reason, error = "error", failure
    yield End(reason=reason, text=text, tokens=tuple(out), stats=tally.stats(), error=str(error or ""), at=tally.at)
    if error:
        raise error


def drafting(proposing: Generator[Any, None, Any], tally: Tally, plan: Plan, stop: Callable[[], bool]) -> Generator[Event, None, Any]:
    """Run a drafter one timed pass at a time. → its draft, or None when asked to stop."""
    tally.start_cycle()
    step = -1
    while not stop():
        (canvas, draft), ms = tally.timed("draft", lambda: _advance(proposing))
        if draft is not None:
            return draft
        step += 1
        if plan.detail:
            yield sketch(tally.cycles + 1, step, canvas, ms, tally.at)
    return None


def _advance(proposing: Generator[Any, None, Any]) -> tuple[Any, Any]:
    try:
        return next(proposing), None
    except StopIteration as done:
        return None, done.value


def laws(logits: Tensor, shape: Shape) -> tuple[Tensor, Tensor | None]:
    """The verifier's laws after shaping; at temperature 0 also its law at temperature 1, which `lenience` needs."""
    return shape.law(logits), Shape().law(logits) if shape.temperature == 0 else None
