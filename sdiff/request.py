"""What a person may ask for: settings, their limits and their names. Refuses to know torch, models and the page.

The single *leniency* slider λ ∈ [0, 1] is mapped to each rule's own knob here and nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields

from sdiff.sentence import Sentence

NOISES = ("masked", "uniform")

# How a block is drawn, and so the law it is weighed with. "" in a request means the noise's default.
PROPOSALS = {
    "monotone": "left to right: a revealed token is final",
    "final_step": "whole block: the last step draws every open position at once",
    "one_hot": "draft taken as given: accept with the verifier's own probability",
    "paced": "left to right, as many at once as their laws allow, and no step that does not pay",
    "any_order": "most confident first (not lossless beyond one step)",
}
DEFAULT_PROPOSAL = {"masked": "monotone", "uniform": "final_step"}

LIMITS: dict[str, tuple[float, float]] = {
    "steps": (1, 16),
    "leniency": (0.0, 1.0),
    "gamma": (1, 15),
    "temperature": (0.0, 2.0),
    "top_k": (0, 1000),
    "top_p": (0.01, 1.0),
    "seed": (0, 2**53 - 1),
    "max_tokens": (0, 512),
}
SLIDERS = {**LIMITS, "gamma": (1, 8)}  # what the page offers: the bundled drafter's block; a pair refuses more than its own
MAX_PROMPT_CHARACTERS = 20_000


@dataclass(frozen=True)
class Knob:
    """How one rule reads the leniency slider: `value(λ)` is its native knob, `symbol` its usual letter."""

    label: str
    help: str
    symbol: str
    value: Callable[[float], float]

    def native(self, leniency: float, most: float = 1e4) -> Sentence:
        """The native setting in words, for example "ℓ = 0.8"; from `most` on it is "all". Whether a run is lossless depends on more: `is_lossless`."""
        if leniency == 0 or not self.symbol:
            return Sentence("λ = 0" if self.symbol else "λ unused")
        value = self.value(leniency)
        return Sentence("{symbol} = {value:.3g}" if value < most else "{symbol} = all", symbol=self.symbol, value=value)


def _medusa_threshold(leniency: float) -> float:
    # ε = (1−λ)², α = √ε: Medusa's published pair (.09, .3) sits at λ = .7, and λ = 1 keeps all with p > 0.
    return (1 - leniency) ** 2


def _kl_budget(leniency: float) -> float:
    # δ = λ²/(1−λ): 0 at the strict end, no bound at λ = 1, where every draft with p > 0 is kept
    return leniency**2 / (1 - leniency) if leniency < 1 else math.inf


RULES: dict[str, Knob] = {
    "lossless": Knob("Lossless", "Keep with min(1, p/q). Leniency has no effect.", "", lambda lam: 0.0),
    "tv": Knob("TV interpolation", "Aim at (1−λ)p + λq: fewest refusals for a given TV distance.", "λ", lambda lam: lam),
    "tv_budget": Knob("TV budget", "Spend at most ε of TV distance on each token.", "ε", lambda lam: lam),
    "lenience": Knob("Lenience", "Aim at p/ℓ: no token gets more than 1/ℓ times its share.", "ℓ", lambda lam: 1 - lam),
    "cactus": Knob(
        "Cactus",
        "A KL budget δ for each drafted token, second-order form; the text's own KL can be larger. Never leaves p's support.",
        "δ",
        _kl_budget,
    ),
    "cactus_exact": Knob(
        "Cactus, exact",
        "The same KL budget δ for each drafted token, its bound solved exactly; the text's own KL can be larger.",
        "δ",
        _kl_budget,
    ),
    "typical": Knob(
        "Typical (Medusa)", "Keep when p(x) exceeds min(ε, √ε·e^−H): a lower bar where the verifier is unsure.", "ε", _medusa_threshold
    ),
    "top_k": Knob("Top-k match", "Keep when x is among the verifier's k likeliest.", "k", lambda lam: max(1, round(49152**lam))),
}

# Rules that remember: what they keep depends on the blocks before (policy.py). All others are pure functions of laws.
ADAPTIVE: dict[str, Knob] = {
    "tv_bank": Knob(
        "TV budget, banked", "Earn ε of TV distance with each token, spend it at the first positions of a block.", "ε", lambda lam: lam
    ),
}
KNOBS = {**RULES, **ADAPTIVE}


class RequestError(ValueError):
    """A request that cannot be served; the message is one sentence for the person who asked, a Sentence where values stand in it."""


@dataclass(frozen=True)
class Request:
    """One decode. Units: `gamma` drafted tokens per block, `steps` denoising passes per block,
    `max_tokens` new tokens. `plain` decodes without a drafter (the baseline); `raw` skips the chat template;
    `original` verifies with the model as published, without the task adapter.

    Raises RequestError when a value is missing, not a number or outside `LIMITS`.
    """

    prompt: str
    noise: str = "masked"
    steps: int = 4
    leniency: float = 0.0
    rule: str = "tv"
    proposal: str = ""
    gamma: int = 8
    temperature: float = 0.7
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0
    max_tokens: int = 128
    raw: bool = False
    original: bool = False
    plain: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.prompt, str):
            raise RequestError("The prompt must be text.")
        if len(self.prompt) > MAX_PROMPT_CHARACTERS:
            long = "The prompt has {n:,} characters; the most is {most:,}. Shorten it."
            raise RequestError(Sentence(long, n=len(self.prompt), most=MAX_PROMPT_CHARACTERS))
        for name, choices in (("noise", NOISES), ("rule", (*KNOBS,)), ("proposal", ("", *PROPOSALS))):
            if getattr(self, name) not in choices:
                values = {"name": Sentence(name), "given": _shown(getattr(self, name)), "known": ", ".join(filter(None, choices))}
                raise RequestError(Sentence("Unknown {name} {given}; choose one of {known}.", **values))
        try:
            self.prompt.encode()
        except UnicodeEncodeError:
            raise RequestError("The prompt contains half a character (a lone surrogate). Type or paste it again.") from None
        for f in fields(self):
            if f.type == "bool" and not isinstance(getattr(self, f.name), bool):
                given = _shown(getattr(self, f.name))
                raise RequestError(Sentence("{name} must be true or false, not {given}.", name=field_name(f.name), given=given))
            if f.name in LIMITS:
                object.__setattr__(self, f.name, _checked(f.name, getattr(self, f.name), whole=f.type == "int"))
        if not self.proposal:
            object.__setattr__(self, "proposal", DEFAULT_PROPOSAL[self.noise])


def _checked(name: str, value: object, whole: bool) -> float:
    low, high = LIMITS[name]
    try:
        number = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not low <= number <= high or (whole and number != int(number)):
        kind = Sentence("a whole number" if whole else "a number")
        outside = "{name} must be {kind} from {low:,.16g} to {high:,.16g}, not {given}."
        raise RequestError(Sentence(outside, name=field_name(name), kind=kind, low=low, high=high, given=_shown(value)))
    return int(number) if whole else number


def field_name(name: str) -> Sentence:
    """A field as a sentence begins with it."""
    return Sentence(name.replace("_", " ").capitalize())


def _shown(value: object) -> str:
    """A value somebody sent, short enough for a sentence."""
    if value is None or value == "":
        return Sentence("empty")
    try:
        return repr(str(value)[:40])
    except ValueError:  # Python refuses to print integers of thousands of digits
        return Sentence("a number of thousands of digits")


def is_lossless(rule: str, leniency: float, proposal: str, steps: int, gamma: int) -> bool:
    """Does the output follow the verifier's law exactly (Proposition 2, see drafters)?

    A rule is strict at λ = 0. A proposal is exact unless it reveals by confidence and weighs by the
    reveal-step law over several steps; one step (or one position) draws everything independently.
    """
    return (rule == "lossless" or leniency == 0) and (proposal != "any_order" or min(steps, gamma) == 1)
