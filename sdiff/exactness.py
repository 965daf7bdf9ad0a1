"""What may be asked of the table of Proposition 2 and what it costs to enumerate. Pure arithmetic; refuses to know torch and the page.

toys.py computes the table. `Setting.passes` says beforehand what that takes, so that nobody has to wait long for an answer.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

from sdiff.request import NOISES, PROPOSALS, RULES, RequestError
from sdiff.sentence import Sentence

EQUAL = 1e-9  # below this a TV distance is rounding
LIMITS = {"vocabulary": (2, 4), "gamma": (1, 3), "steps": (1, 3), "seed": (0, 999)}
NAMES = {"vocabulary": "vocabulary V", "gamma": "block length γ", "steps": "steps S", "seed": "table number"}
MOST_PASSES = 4800  # of the toy denoiser, for one table; about half a millisecond each


@dataclass(frozen=True)
class Setting:
    """What to enumerate: V tokens, γ drafts, S steps, the number of the table; `noise` and `proposal` "" mean all of them.

    Raises RequestError when a value is outside `LIMITS`, unknown, or the whole would take more than `MOST_PASSES`.
    """

    vocabulary: int = 3
    gamma: int = 2
    steps: int = 2
    noise: str = ""
    proposal: str = ""
    rule: str = "tv"
    leniency: float = 0.3
    seed: int = 12

    def __post_init__(self) -> None:
        for field, (low, high) in LIMITS.items():
            value = getattr(self, field)
            if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high or value != int(value):
                outside = "The {name} must be a whole number from {low} to {high}."
                raise RequestError(Sentence(outside, name=Sentence(NAMES[field]), low=low, high=high))
            object.__setattr__(self, field, int(value))
        for field, choices in (("noise", NOISES), ("proposal", (*PROPOSALS,)), ("rule", (*RULES,))):
            if getattr(self, field) not in choices and (field == "rule" or getattr(self, field) != ""):
                raise RequestError(Sentence("Unknown {name}; choose one of {known}.", name=Sentence(field), known=", ".join(choices)))
        if not isinstance(self.leniency, int | float) or not 0 <= self.leniency <= 1:
            raise RequestError("The leniency λ must be a number from 0 to 1.")

    @property
    def rows(self) -> list[tuple[str, str]]:
        """(noise, proposal) of every row."""
        return [(n, p) for n in NOISES if self.noise in ("", n) for p in PROPOSALS if self.proposal in ("", p)]

    @property
    def passes(self) -> int:
        """At most so many denoising passes: every way a draft can turn out is replayed once per step it was reached in."""
        return sum(passes(noise, proposal, self.vocabulary, self.gamma, self.steps) for noise, proposal in self.rows)


def passes(noise: str, proposal: str, size: int, gamma: int, steps: int) -> int:
    """An upper bound on the toy denoiser's passes in `draft_law` for one row."""
    ways = size**gamma
    if noise == "uniform" and proposal in ("final_step", "one_hot"):  # every canvas leads to every canvas
        return ways**2 * steps * (steps + 1) // 2
    n = min(steps, gamma)
    settled = n * sum(size ** (gamma - left) for left in range(n))  # tokens settled after each step, a replay takes n passes
    if noise == "masked":
        return settled
    if proposal == "paced":  # noise decides how many positions come next, so at every step some states may settle all of them
        return n * n * ways**2
    return settled * ways * (gamma if proposal == "any_order" and n > 1 else 1)  # by confidence, other positions may come first


def lower(setting: Setting) -> list[tuple[str, int]]:
    """Which single numbers would make the table small enough, and to what: [(field, value), …]."""
    found = []
    for field in ("vocabulary", "gamma", "steps"):
        values = range(getattr(setting, field) - 1, LIMITS[field][0] - 1, -1)
        fits = next((v for v in values if replace(setting, **{field: v}).passes <= MOST_PASSES), None)
        found += [(field, fits)] if fits else []
    return found


def refusal(setting: Setting) -> str:
    """Why this setting is not enumerated and what to change, or "" if it is small enough."""
    if setting.passes <= MOST_PASSES:
        return ""
    changes = [Sentence("the {name} to {value}", name=Sentence(NAMES[field]), value=value) for field, value in lower(setting)]
    either = functools.reduce(lambda one, other: Sentence("{one}, or {other}", one=one, other=other), changes) if changes else ""
    lowered = Sentence("Lower {changes}", changes=either) if changes else Sentence("Lower two of the numbers")
    fewer = Sentence("" if setting.proposal and setting.noise else ", or choose one noise and one proposal")
    much = "Too much to enumerate at once: about {passes:,} denoising passes, and the most is {most:,}. {lowered}{fewer}."
    return Sentence(much, passes=setting.passes, most=MOST_PASSES, lowered=lowered, fewer=fewer)


@dataclass(frozen=True)
class Row:
    """One proposal. `claimed`: what is_lossless says. Strict (λ = 0) and with the setting's rule: TV from the verifier's joint law, E[kept drafts]."""

    noise: str
    proposal: str
    claimed: bool
    distance: float
    accepted: float
    lenient_distance: float
    lenient_accepted: float
    ms: float
