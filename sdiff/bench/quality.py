"""Quality: many decodes at once, as the app decodes (`sdiff.many`), one outcome per problem. Useless for timing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from torch import Tensor

from sdiff.acceptance import Interpolation, Rule
from sdiff.bench.settings import SEED, Setting, seed_of
from sdiff.decode import Plan, decode
from sdiff.drafters import NoDrafter
from sdiff.fidelity import divergence
from sdiff.many import LaneDenoiser, LaneVerifier, Together
from sdiff.measures import statistics
from sdiff.network import BlockDenoiser
from sdiff.pairs import make_drafter, ruled
from sdiff.policy import Banked
from sdiff.sampling import Dice, Shape
from sdiff.tasks import Grade, Item, items
from sdiff.trace import Emit, End, Event, Verdict
from sdiff.verifier import Llama

LANES, CONTEXT = 32, 448
MOST = {"reasoning": 200, "coding": 200, "chat": 96}  # new tokens


@dataclass(frozen=True)
class Outcome:
    """One problem decoded at one setting. `right` None: nothing to grade. Sums over its tokens: `tv` and `kl` (nat) from the law
    emitted to the verifier's, `nll` of the verifier; `repeated` 4-grams that stood before. Counts per position.

    The law emitted is that given the drafter's own state, as it is known. Where the state says more than the kept tokens do (any
    proposal but left to right, beyond one step) the mean over states is closer to p than the mean of these distances: there `tv`
    and `kl` are upper bounds. NaN for `any_order`, whose q is not the law of its tokens.
    """

    problem: int
    right: bool | None
    ended: bool
    tokens: int
    cycles: int
    tv: float
    kl: float
    nll: float
    repeated: int
    drafted: tuple[int, ...]
    examined: tuple[int, ...]
    accepted: tuple[int, ...]


@dataclass(frozen=True)
class Failure:
    """A problem that could not be decoded, and why."""

    problem: int
    error: str


class Observed:
    """A rule that lets its laws be looked at after each examination."""

    def __init__(self, rule: Rule) -> None:
        self.rule, self.laws = rule, None

    def target(self, p: Tensor, q: Tensor, x: Tensor, unit: Tensor | None = None) -> Tensor:
        self.laws = p, q, unit
        return self.rule.target(p, q, x, unit)

    def residual(self, p: Tensor, q: Tensor, x: Tensor) -> Tensor:
        return self.rule.residual(p, q, x)

    def divergence(self, examined: int) -> tuple[float, float]:
        """Sums of TV and KL over the first `examined` positions of the last block."""
        p, q, unit = (law if law is None else law[:examined] for law in self.laws)
        if isinstance(self.rule, Banked):  # a λ of its own at each position
            rows = [divergence(p[i : i + 1], q[i : i + 1], Interpolation(lam)) for i, lam in enumerate(self.rule.spending(p, q))]
            return sum(float(tv) for tv, _ in rows), sum(float(kl) for _, kl in rows)
        tv, kl = divergence(p, q, self.rule, unit)
        return float(tv.sum()), float(kl.sum())


def repeated(tokens: Sequence[int], n: int = 4) -> int:
    """How many n-grams occurred earlier in the text (seq-rep-n of Welleck 1908.04319, not yet divided)."""
    grams = Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))
    return sum(grams.values()) - len(grams)


class Bench:
    """Loaded models and the tokenizer, and the decodes of one setting. `encode` gives a prompt's token ids, `eos` end an answer.

    `grade` is `sdiff.tasks.grading.grade`, handed in so that only those who have answers graded reach the sandbox.
    """

    def __init__(
        self, model: Llama, network: BlockDenoiser, scale: float, tokenizer: Any, encode: Callable[[str], list[int]], eos: Collection[int], temperature: float,
        grade: Callable[[Item, str], Grade],
    ) -> None:  # fmt: skip
        self.together = Together(model, network, scale, LANES, CONTEXT)
        self.tokenizer, self.encode, self.eos, self.shape, self.grade = tokenizer, encode, eos, Shape(temperature), grade
        self.vocabulary, self.device = model.d.vocabulary, model.embedding.device

    def outcomes(self, setting: Setting, problems: range, split: str = "test") -> Iterator[Outcome | Failure]:
        """Decode these problems of a split, in the order they finish. Every setting sees the same problems and seeds."""
        asked = islice(enumerate(items(setting.task, split, SEED)), problems.start, problems.stop)
        return self.together.run(self._job(setting, i, item) for i, item in asked)

    def _job(self, setting: Setting, i: int, item: Item) -> Callable[[LaneVerifier, LaneDenoiser], Outcome | Failure]:
        plan = Plan(setting.gamma if setting.noise else 0, max(1, setting.steps), MOST[item.task], self.eos, False)

        def run(verifier: LaneVerifier, denoiser: LaneDenoiser) -> Outcome | Failure:
            try:
                return outcome(verifier, denoiser)
            except ArithmeticError as error:
                return Failure(i, str(error))

        def outcome(verifier: LaneVerifier, denoiser: LaneDenoiser) -> Outcome:
            if setting.noise:
                drafter = make_drafter(denoiser, setting.noise, setting.proposal, self.shape)
            else:
                drafter = NoDrafter(self.vocabulary, self.device)
            observed: list[Observed] = []

            def decoding(rule: Rule) -> Iterator[Event]:
                observed.append(Observed(rule))
                prompt, dice = self.encode(item.prompt), Dice(seed_of(i))
                return decode(verifier, drafter, observed[0], self.shape, prompt, plan, dice)

            events: list[Event] = []
            tv = kl = nll = 0.0
            fresh: list[Verdict] = []
            for event in ruled(setting.rule, setting.leniency, decoding):
                events.append(event)
                if isinstance(event, Verdict):
                    fresh.append(event)
                    nll -= math.log(max(event.p, 1e-30)) * event.accepted
                elif isinstance(event, Emit):
                    if setting.proposal == "any_order":
                        tv = kl = float("nan")
                    elif setting.leniency:
                        more, nats = observed[0].divergence(len(fresh))
                        tv, kl = tv + more, kl + nats
                    nll -= math.log(max(event.p, 1e-30)) * bool(event.extra)
                    fresh = []
            end: End = events[-1]
            stats = statistics(events, setting.gamma)
            right = None if item.task == "chat" else self.grade(item, self.tokenizer.decode(end.tokens, skip_special_tokens=True)).right
            counts = (tuple(stats[key][: setting.gamma]) for key in ("drafted", "examined", "accepted"))
            return Outcome(i, right, end.reason == "eos", stats["tokens"], stats["cycles"], tv, kl, nll, repeated(end.tokens), *counts)

        return run
