"""What is measured, in which order. Knows names and numbers only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sdiff.request import DEFAULT_PROPOSAL, NOISES
from sdiff.sentence import Sentence
from sdiff.tasks import TASKS

GAMMA = 8
GRADED = ("reasoning", "coding")
SEED = 3  # of the problems and, with their number, of the coins
BESIDE = ("lenience", "cactus")  # rules that only smaller looks beside the grid have
SWEPT = ("tv", *BESIDE, "tv_bank")
STEPS, LENIENCIES = (1, 2, 3, 4, 6, 8), (0.0, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
QUICK = {"minutes": 5.0, "steps": (1, 2, 4, 8), "leniencies": (0.0, 0.4, 1.0)}


def seed_of(problem: int) -> int:
    """The seed that every setting decodes a problem with, whoever measures it."""
    return SEED * 1_000_003 + problem


@dataclass(frozen=True)
class Setting:
    """What a row was measured at. `noise` "": plain decoding, which has no other knobs. `proposal` "": the noise's default."""

    task: str
    noise: str = ""
    steps: int = 0
    leniency: float = 0.0
    rule: str = "tv"
    gamma: int = GAMMA
    proposal: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "proposal", self.proposal or DEFAULT_PROPOSAL.get(self.noise, ""))

    @property
    def name(self) -> Sentence:
        known = {**asdict(self), "task": Sentence(self.task), "noise": Sentence(self.noise)}
        drafted = "{task}, {noise} {proposal}, S = {steps}, {rule} λ = {leniency:g}, γ = {gamma}"
        return Sentence(drafted if self.noise else "{task}, plain decoding", **known)

    def key(self) -> tuple[Any, ...]:
        return tuple(asdict(self).values())


FIELDS = tuple(Setting.__dataclass_fields__)


def measured(task: str, noise: str, steps: int, leniency: float = 0.0, **other: Any) -> Setting:
    """The setting whose rows tell of these. The bundled network knows nothing of its noise before the first step, so that drafts
    of one step have the same law for both noises: they are measured once, as masked."""
    return Setting(task, NOISES[0] if steps == 1 else noise, steps, leniency, **other)


def _unique(settings: Iterator[Setting]) -> list[Setting]:
    return list(dict.fromkeys(settings))


def grid(tasks: tuple[str, ...], steps: tuple[int, ...], leniencies: Sequence[float], **other: Any) -> list[Setting]:
    """Both noises × steps × leniencies of each task, and plain decoding first."""
    return _unique(
        s for task in tasks for s in (Setting(task), *(measured(task, noise, n, lam, **other) for lam in leniencies for n in steps for noise in NOISES))
    )  # fmt: skip


def paper(tasks: tuple[str, ...]) -> list[Setting]:
    """The two settings that "A Tale of Two Tradeoffs" (2610.31819) reports beside the baseline."""
    return _unique(s for task in tasks for s in (Setting(task), Setting(task, "masked", 3, 0.8), Setting(task, "uniform", 5, 0.6)))


def cuts(tasks: tuple[str, ...]) -> list[Setting]:
    """Smaller looks beside the grid: other rules, shorter blocks, other proposals, the adaptive parts."""
    rules = [
        measured(t, n, s, lam, rule=r)
        for r in BESIDE
        for lam in (0.1, 0.2, 0.4, 0.6, 0.8)
        for n, s in (("masked", 1), ("masked", 2), ("masked", 4), ("uniform", 4))
        for t in tasks
    ]
    blocks = [measured(t, n, s, lam, gamma=4) for lam in (0.0, 0.4) for s in (1, 4) for n in NOISES for t in tasks]
    proposals = [
        Setting(t, n, 4, lam, proposal=p)
        for lam in (0.0, 0.4)
        for n, p in (("masked", "final_step"), ("masked", "one_hot"), ("uniform", "monotone"))
        for t in tasks
    ]
    banked = [measured(t, n, s, epsilon, rule="tv_bank") for epsilon in (0.05, 0.1, 0.2) for s in (1, 4) for n in NOISES for t in tasks]
    paced = [Setting(t, "masked", GAMMA, lam, proposal="paced") for lam in (0.0, 0.4) for t in tasks]
    return _unique(iter([*rules, *blocks, *proposals, *banked, *paced]))


def shown(tasks: tuple[str, ...] = TASKS) -> list[Setting]:
    """The settings with a recorded decode to look at: every one that is measured."""
    return _unique(iter([*grid(tasks, STEPS, LENIENCIES), *paper(tuple(t for t in tasks if t in GRADED)), *cuts(tasks)]))


def stages(tasks: tuple[str, ...] = TASKS, most: int = 300) -> Iterator[tuple[list[Setting], int]]:
    """(settings, problems each of them should have by then), so that every prefix is a useful sweep: first a coarse grid, then
    the whole one, then more problems where the headline figures are."""
    coarse, paired = grid(tasks, (1, 4), (0.0, 0.1, 0.4, 1.0)), paper(tuple(t for t in tasks if t in GRADED))
    whole = [*grid(tasks, STEPS, LENIENCIES), *paired]
    for settings, n in (
        (coarse, 24),
        ([*grid(tasks, STEPS, [lam for lam in LENIENCIES if lam <= 0.4]), *paired], 24),  # above, little is left of the quality
        (cuts(tasks), 24),
        (whole, 24),
        ([*coarse, *paired], 100),
        (whole, 60),
        ([*coarse, *paired], 300),
        (whole, 100),
        (whole, 300),
    ):
        yield _unique(iter(settings)), min(n, most)
