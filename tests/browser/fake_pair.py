"""A deterministic stand-in for a pair: same events, no model. Its verdicts recompute from their own numbers.

The word "slow" in a prompt makes every denoising step last SLOW_STEP seconds; "break" makes the run fail.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

from sdiff import trace as t
from sdiff.measures import statistics
from sdiff.request import KNOBS, Request, is_lossless

SLOW_STEP = 0.2
WORDS = (
    " the keeper found a letter under lamp each night , then read it aloud to sea and wrote back with care . "
    "<script>window.hacked=1</script> ${window.hacked=2} {{window.hacked}} žluť 漢字 🙂 \n"
).split(" ")
PIECES = {i: (" " + w if w.isalpha() and w.isascii() else w) for i, w in enumerate(w for w in WORDS if w)}
MODELS = {"verifier": "a pretend verifier", "drafter": "pretend drafter"}
MACHINE = {"name": "a pretend machine", "threads": 1, "dtype": "float32", "plain_ms": 6.0}
# Machines that run CI are shared: there the time bars are three times as wide.
PATIENCE = 3 if os.environ.get("CI") else 1


class FakePair:
    """One run at a time, like the real one; `worst` counts runs that ever overlapped."""

    def __init__(self) -> None:
        self.active = self.worst = self.steps = 0
        self._lock = threading.Lock()

    def about(self) -> dict[str, object]:
        return {**MODELS, "noises": ("masked", "uniform"), "device": "cpu", "name": MACHINE["name"], "dtype": MACHINE["dtype"]}

    def stream(self, request: Request) -> Iterator[t.Event]:
        with self._lock:
            self.active += 1
            self.worst = max(self.worst, self.active)
        seen: list[t.Event] = []
        try:
            for event in self._events(request):
                seen.append(replace(event, stats=statistics(seen)) if isinstance(event, t.End) else event)
                yield seen[-1]
        finally:
            with self._lock:
                self.active -= 1

    def _events(self, request: Request) -> Iterator[t.Event]:
        run = _Run(request)
        yield run.head()
        yield t.Pieces(pieces=PIECES, at=run.at)
        yield run.prefill()
        while len(run.tokens) < request.max_tokens:
            if "break" in request.prompt and run.cycle == 2:
                yield run.end("error", "The verifier returned NaN.")
                raise ArithmeticError("The verifier returned NaN.")
            if request.plain:
                yield run.plain()
                continue
            for event in run.draft():
                yield event
                if "slow" in request.prompt:
                    time.sleep(SLOW_STEP)
                self.steps += 1
            yield from run.examine()
        yield run.end("limit")


class _Run:
    def __init__(self, request: Request) -> None:
        self.request, self.rng = request, random.Random(request.seed)
        self.at, self.cycle, self.tokens, self.text = 0.0, 0, [], ""

    def clock(self, ms: float) -> float:
        self.at += ms
        return self.at

    def head(self) -> t.Run:
        r = self.request
        names = ("noise", "steps", "leniency", "rule", "proposal", "gamma", "temperature", "seed", "max_tokens", "plain")
        exact = r.plain or is_lossless(r.rule, r.leniency, r.proposal, r.steps, r.gamma)
        return t.Run(prompt=r.prompt, prompt_tokens=(0, 1, 2), lossless=exact,
                     settings={**{n: getattr(r, n) for n in names}, "native": KNOBS[r.rule].native(r.leniency)},
                     models=MODELS, machine=MACHINE)  # fmt: skip

    def prefill(self) -> t.Prefill:
        return t.Prefill(tokens=2, ms=21.5, at=self.clock(21.5))

    def plain(self) -> t.Emit:
        token = self.rng.choice(list(PIECES))
        self.tokens.append(token)
        self.text += PIECES[token]
        self.cycle += 1
        return t.Emit(cycle=self.cycle, tokens=(token,), accepted=0, extra="bonus", text=PIECES[token], ms=0.4, at=self.clock(18))

    def draft(self) -> Iterator[t.Denoise]:
        self.cycle += 1
        r, rng = self.request, self.rng
        n = min(r.gamma, r.max_tokens - len(self.tokens))
        self.final = [rng.choice(list(PIECES)) for _ in range(n)]
        self.fixed_at = [1 + i * r.steps // n for i in range(n)]
        for step in range(r.steps + 1):
            fixed = tuple(step >= f for f in self.fixed_at)
            noise = [t.MASKED if r.noise == "masked" else rng.choice(list(PIECES)) for _ in range(n)]
            canvas = tuple(x if done else z for x, done, z in zip(self.final, fixed, noise, strict=True))
            ms = 3.1 if step else 0.0
            yield t.Denoise(cycle=self.cycle, step=step, steps=r.steps, canvas=canvas, fixed=fixed, ms=ms, at=self.clock(ms))

    def examine(self) -> Iterator[t.Event]:
        r, rng = self.request, self.rng
        draft_ms = 3.1 * r.steps
        yield t.Verify(
            cycle=self.cycle,
            anchor=0,
            tokens=tuple(self.final),
            fixed_at=tuple(self.fixed_at),
            draft_ms=draft_ms,
            ms=19.2,
            at=self.clock(19.2),
        )
        kept = 0
        for i, token in enumerate(self.final):
            p, q, u = rng.uniform(0.1, 0.9), rng.uniform(0.2, 0.7), rng.random()
            f = (1 - r.leniency) * p + r.leniency * q
            verdict = t.Verdict(
                cycle=self.cycle, position=i + 1, token=token, p=p, q=q, f=f, u=u, keep=t.keep_probability(f, q), tv=abs(p - q), at=self.at,
                accepted=u * q < f, lenient=u * q < f and not u * q < p, top_p=((token, p), (0, (1 - p) / 2)), top_q=((token, q), (1, (1 - q) / 2)),
            )  # fmt: skip
            yield verdict
            if not verdict.accepted:
                break
            kept += 1
        room = r.max_tokens - len(self.tokens) > kept
        extra = "" if not room else "correction" if kept < len(self.final) else "bonus"
        tokens = tuple(self.final[:kept]) + ((rng.choice(list(PIECES)),) if room else ())
        text = "".join(PIECES[x] for x in tokens)
        self.tokens += tokens
        self.text += text
        yield t.Emit(
            cycle=self.cycle,
            tokens=tokens,
            accepted=kept,
            extra=extra,
            text=text,
            ms=0.3,
            p=0.4,
            residual=0.5,
            top_p=((3, 0.4), (4, 0.2)),
            at=self.clock(0.3),
        )

    def end(self, reason: str, error: str = "") -> t.End:
        return t.End(reason=reason, text=self.text, tokens=tuple(self.tokens), stats={}, error=error, at=self.at)
