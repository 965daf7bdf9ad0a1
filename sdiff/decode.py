"""The loop: draft a block, verify it in one pass, examine, commit. Takes verifier, drafter and rule; imports none of them.

Plain decoding is the same loop with empty drafts: every cycle then emits the "bonus" token alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from sdiff.acceptance import Rule, examine
from sdiff.measures import statistics
from sdiff.sampling import Dice, Shape
from sdiff.telling import Stopwatch, emission, sketch, verdicts
from sdiff.trace import Emit, End, Event, Prefill, Verify


@dataclass(frozen=True)
class Plan:
    """How to decode. `gamma` drafts per block in `steps` denoising passes; text ends at an id in `eos` or after `max_tokens`."""

    gamma: int
    steps: int
    max_tokens: int
    eos: Collection[int]
    detail: bool = True  # record canvases and alternatives
    chunk: int = 128  # prompt tokens read between two chances to stop


def decode(
    verifier: Any, drafter: Any, rule: Rule, shape: Shape, prompt: Sequence[int], plan: Plan, dice: Dice,
    readable: Callable[[Sequence[int]], str] = lambda tokens: "", stop: Callable[[], bool] = lambda: False,
) -> Iterator[Event]:  # fmt: skip
    """Decode behind `prompt` (token ids, at least one); yields events, the last one always an `End`.

    verifier: `prefill`, `score`, `rollback`, `length`, `room` (verifier.py); drafter: `propose` (drafters). `readable`
    gives the text that new tokens complete; `stop` is asked around every denoising pass. A model that fails with an
    ArithmeticError (NaN) ends the run with reason "error" and the text so far, then the error is raised.
    """
    watch, told, reason, error = Stopwatch(), [], "error", None
    loop = cycles(verifier, drafter, rule, shape, list(prompt), plan, dice, readable, stop, watch)
    try:
        while True:
            told.append(event := next(loop))
            yield event
    except StopIteration as done:
        reason = done.value
    except ArithmeticError as failure:
        error = failure
    emits = [event for event in told if isinstance(event, Emit)]
    text, tokens = "".join(e.text for e in emits), tuple(t for e in emits for t in e.tokens)
    yield End(reason=reason, text=text, tokens=tokens, stats=statistics(told, plan.gamma), error=str(error or ""), at=watch.at)
    if error:
        raise error


def cycles(
    verifier: Any, drafter: Any, rule: Rule, shape: Shape, context: list[int], plan: Plan, dice: Dice, readable: Any, stop: Any, watch: Stopwatch
) -> Generator[Event, None, str]:  # fmt: skip
    """The loop of `decode`, without its last event. → why it ended."""
    # 1. Read the prompt, chunk by chunk, except its last token: the anchor leads the first verify pass.
    end = len(context) + plan.max_tokens
    for first in range(0, max(1, len(context) - 1), plan.chunk):
        chunk = context[first : min(first + plan.chunk, len(context) - 1)]
        _, ms = watch.timed(lambda chunk=chunk, first=first: verifier.prefill(chunk, first))
        yield Prefill(tokens=len(chunk), ms=ms, at=watch.at)
        if stop():
            return "stopped"
    for cycle in itertools.count(1):
        # 2. A cycle emits at most n+1 tokens: blocks shrink where the limit or the context ends.
        n, start = min(plan.gamma, end - len(context) - 1, verifier.room - 1), verifier.length
        if n < 0:
            return "limit" if len(context) >= end else "context"
        # 3. Draft, one timed denoising pass at a time.
        began = watch.at
        draft = yield from drafting(cycle, drafter.propose(context, n, plan.steps, dice), plan, stop, watch)
        if draft is None:
            return "stopped"
        draft_ms, drafted, fixed_at = watch.at - began, draft.tokens.tolist(), draft.fixed_at.tolist()
        # 4. Verify anchor and drafts in one forward pass.
        block = torch.cat([draft.tokens.new_tensor(context[-1:]), draft.tokens])
        (p, unit), ms = watch.timed(lambda block=block: shape.laws(verifier.score(block)))
        yield Verify(
            cycle=cycle, anchor=context[-1], tokens=tuple(drafted), fixed_at=tuple(fixed_at), draft_ms=draft_ms, ms=ms, at=watch.at
        )
        # 5. Examine left to right; the first refusal, or the end of the block, draws one token of the verifier's.
        exam, ms = watch.timed(lambda d=draft, p=p, unit=unit: examine(p, d.q, d.tokens, rule, dice, unit))
        tokens = [*drafted[: exam.accepted], exam.extra]
        ended = next((i for i, token in enumerate(tokens) if token in plan.eos), None)
        tokens = tokens if ended is None else tokens[: ended + 1]  # nothing behind the end is emitted or counted
        # 6. Commit: the verifier keeps everything but the new anchor.
        verifier.rollback(start + len(tokens))
        context += tokens
        # 7. Tell, outside every timing.
        examined = drafted[: min(exam.accepted + 1, len(tokens))]
        yield from verdicts(cycle, examined, exam, (p, draft.q), plan.detail, watch.at)
        yield emission(cycle, tokens, exam, len(drafted), p if plan.detail else None, readable(tokens), ms, watch.at)
        if ended is not None:
            return "eos"


def drafting(
    cycle: int, proposing: Generator[Any, None, Any], plan: Plan, stop: Callable[[], bool], watch: Stopwatch
) -> Generator[Event, None, Any]:
    """Run a drafter one timed pass at a time. → its draft, or None when asked to stop."""
    step = 0
    while not stop():
        canvas, draft, ms = watch.advance(proposing)
        if draft is not None:
            return draft
        if plan.detail:
            yield sketch(cycle, step, canvas, ms, watch.at)
        step += 1
    return None
