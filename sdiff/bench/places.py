"""Where the speeds of a frontier come from: a machine that was timed, or a model of what a verifier of any size would give.

The model: where reading the weights is all that counts, a pass over a block takes as long as one over a token, and a cycle 1 + S·c of that.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from sdiff.bench.settings import FIELDS
from sdiff.bench.store import MACHINE, PASSES
from sdiff.limits import cycle_cost, speed_up

STEP_COSTS = (0.1, 0.03, 0.01)  # denoising step ÷ verify pass


@dataclass(frozen=True)
class Place:
    """A machine that was timed, told by the latest of its runs, or a model: then `step_cost` is set and there is no run. `own`: measured by
    the person who looks."""

    own: bool
    run: dict[str, Any] = field(default_factory=dict)
    step_cost: float | None = None

    @property
    def machine(self) -> dict[str, Any]:
        return {key: self.run.get(key) for key in MACHINE}

    @property
    def id(self) -> str:
        if self.step_cost is not None:
            return f"modelled-{self.step_cost:g}"
        return f"{'own' if self.own else 'shipped'}-{zlib.crc32(repr(self.machine).encode()):08x}"


MODELLED = [Place(False, step_cost=cost) for cost in STEP_COSTS]


def modelled(decoded: pd.DataFrame, step_cost: float) -> pd.DataFrame:
    """Timings that these decodes would have, with a plain token as the unit of time: tokens per cycle over 1 + S·c. Milliseconds are
    unknown (NaN). Left out: `paced`, whose number of steps is its own choice."""
    rows = decoded[decoded["proposal"] != "paced"]
    cost = cycle_cost(rows["steps"] * step_cost, 1.0, 0.0, 1.0)
    pace = np.where(rows["noise"] == "", 1.0, speed_up(rows["tokens"] / rows["cycles"], cost))
    known = rows[[*FIELDS, "problem", "tokens", "cycles"]].assign(engine="", tokens_per_second=pace, plain_tokens_per_second=1.0)
    return known.reindex(columns=[*FIELDS, "problem", *PASSES["speed"]])
