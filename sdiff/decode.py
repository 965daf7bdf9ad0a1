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
from sdiff.telling import Stopwatch, Story
from sdiff.trace import Emit, End, Event, Prefill


@dataclass(frozen=True)
class Plan:
    """How to decode. `gamma` drafts per block in `steps` denoising passes; text ends at an id in `eos` or after `max_tokens`.

    `at_once`: tell a canvas as soon as it is drawn, which reads the device once more per pass; None: where that costs nothing, on a CPU.
    Otherwise all of a cycle is read and told when it is over.
    """

    gamma: int
    steps: int
    max_tokens: int
    eos: Collection[int]
    detail: bool = True  # record canvases and alternatives
    chunk: int = 128  # prompt tokens read between two chances to stop
    at_once: bool | None = None


def decode(
    verifier: Any, drafter: Any, rule: Rule, shape: Shape, prompt: Sequence[int], plan: Plan, dice: Dice,
    readable: Callable[[Sequence[int]], str] = lambda tokens: "", stop: Callable[[], bool] = lambda: False,
) -> Iterator[Event]:  # fmt: skip
    """Decode behind `prompt` (token ids, at least one); yields events, the last one always an `End`.

    verifier: `prefill`, `score`, `rollback`, `length`, `room`, `device` (verifier.py); drafter: `propose` (drafters). `readable`
    gives the text that new tokens complete; `stop` is asked around every denoising pass. A model that fails with an
    ArithmeticError (NaN) ends the run with reason "error" and the text so far, then the error is raised.
    """
    watch, told, reason, error = Stopwatch(verifier.device), [], "error", None
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
    end, device = len(context) + plan.max_tokens, verifier.device
    at_once = device.type == "cpu" if plan.at_once is None else plan.at_once
    for first in range(0, max(1, len(context) - 1), plan.chunk):
        chunk = context[first : min(first + plan.chunk, len(context) - 1)]
        _, span = watch.timed(lambda chunk=chunk, first=first: verifier.prefill(chunk, first))
        yield Prefill(tokens=len(chunk), ms=watch.spent(span), at=watch.at)
        if stop():
            return "stopped"
    anchor = torch.tensor(context[-1:], device=device)
    for cycle in itertools.count(1):
        # 2. A cycle emits at most n+1 tokens: blocks shrink where the limit or the context ends.
        n, start = min(plan.gamma, end - len(context) - 1, verifier.room - 1), verifier.length
        if n < 0:
            return "limit" if len(context) >= end else "context"
        # 3. Draft, one timed denoising pass at a time. No drafter needs more random numbers than these.
        dice.fill((plan.steps + 2) * n + 1, device)
        story, proposing, draft = Story(cycle, context[-1], plan.detail, watch), drafter.propose(context, n, plan.steps, dice), None
        while draft is None:
            if stop():
                yield from story.sketches()
                return "stopped"
            draft = story.advance(proposing)
            if at_once and draft is None:
                yield from story.sketches()
        # 4. Verify anchor and drafts in one forward pass.
        block = torch.cat([anchor, draft.tokens])
        (p, unit), verifying = watch.timed(lambda block=block: shape.laws(verifier.score(block)))
        # 5. Examine left to right; the first refusal, or the end of the block, draws one token of the verifier's.
        exam, examining = watch.timed(lambda d=draft, p=p, unit=unit: examine(p, d.q, d.tokens, rule, dice, unit))
        # 6. Read, once for the whole cycle, and commit: the verifier keeps everything but the new anchor.
        numbers, canvases = story.read(draft, p, exam)
        tokens = [*numbers.drafted[: numbers.accepted], numbers.extra]
        ended = next((i for i, token in enumerate(tokens) if token in plan.eos), None)
        tokens = tokens if ended is None else tokens[: ended + 1]  # nothing behind the end is emitted or counted
        verifier.rollback(start + len(tokens))
        context += tokens
        anchor = exam.extra
        # 7. Tell, outside every timing.
        yield from story.told(tokens, numbers, canvases, (verifying, examining), readable(tokens))
        if ended is not None:
            return "eos"
