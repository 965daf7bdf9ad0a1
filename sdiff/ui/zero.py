"""Hugging Face ZeroGPU: a run borrows a GPU for as long as it lasts. Where the `spaces` package is not there, nothing changes.

Its rules: imported before torch, a sync generator, arguments and results that pickle, a worker forked after the models are loaded. Of an
exception in the worker only the name of its class comes back, so a failure travels as an item of the run.
"""

from __future__ import annotations

import logging
import math
import os
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial

from sdiff.fetch import PairError
from sdiff.registry import BUNDLED, PAIRS
from sdiff.request import Request, RequestError
from sdiff.sentence import why
from sdiff.trace import Event
from sdiff.ui import strings

log = logging.getLogger(__name__)
Stream = Callable[[Request], Iterator[Event]]
BUNDLED_SIZE = PAIRS[BUNDLED].size

# What a run may take. Reckoned on the generous side, not measured: a slower answer costs less than a run that is cut off.
START_SECONDS = 4.0  # fork a worker, start CUDA; as much again to load the verifier as published
MOVE_SECONDS = 0.5  # for each billion parameters: 2 GB in bfloat16 reach the GPU at 4 GB/s
PASS_SECONDS = 0.01  # one pass of a small model without captured graphs: about 500 kernels of 20 µs
READ_SECONDS = 0.004  # more of a pass for each billion parameters: 2 GB are read at 0.5 TB/s, a third of what such a GPU can
DRAFT_SECONDS = 0.001  # examine one drafted token
MOST_SECONDS = 60  # what is asked for by default, and half of what a visitor without an account has for a day
UNKNOWN_SIZE = (8.0, 1.0)  # billions

# A part of what `spaces` says to what a visitor is told (strings.BORROWED); the first that fits.
REFUSALS = {
    "No GPU was available": "none",
    "GPU task aborted": "over",
    "illegal duration": "long",
    "quota exceeded": "quota",
    "credits exceeded": "quota",
}


class Failed(RuntimeError):
    """A run failed in its worker of something that nobody foresaw; the message is the name of its class there."""


@dataclass(frozen=True)
class Failure:
    """How a run failed in its worker: the sentence it was refused with, or else the name of what was raised."""

    said: str = ""
    kind: str = ""

    def error(self) -> Exception:
        return RequestError(self.said) if self.said else Failed(self.kind)


def seconds(request: Request, size: str = BUNDLED_SIZE) -> int:
    """How long the GPU is asked for, as if every cycle wrote one token. `size`: verifier + drafter, as the registry has it."""
    known = tuple(float(n) * (1 if unit == "B" else 1e-3) for n, unit in re.findall(r"([\d.]+)([BM])\b", size))
    verifier, drafter = known if len(known) == 2 else UNKNOWN_SIZE
    cycle = PASS_SECONDS + READ_SECONDS * verifier
    if not request.plain:
        cycle += request.steps * (PASS_SECONDS + READ_SECONDS * drafter) + request.gamma * DRAFT_SECONDS
    start = START_SECONDS * (1 + request.original) + MOVE_SECONDS * (verifier + drafter)
    return min(MOST_SECONDS, math.ceil(start + request.max_tokens * cycle))


def borrowing(stream: Stream, size: str = BUNDLED_SIZE) -> Stream:
    """`stream`, run on a borrowed GPU where there are any to borrow. Raises RequestError where none is lent, Failed, and what `stream` raises."""
    try:
        import spaces
    except ImportError:
        return stream

    def worker(request: Request) -> Iterator[Event | Failure]:
        try:
            yield from stream(request)
        except (RequestError, PairError) as error:
            yield Failure(said=why(error))
        except Exception as error:
            yield Failure(kind=type(error).__name__)
            raise  # a worker that raises is not used again: no run recovers from a broken CUDA context

    lent = spaces.GPU(duration=partial(seconds, size=size))(worker)

    def run(request: Request) -> Iterator[Event]:
        failure: Failure | None = None
        try:
            with closing(lent(request)) as items:
                for item in items:
                    if isinstance(item, Failure):
                        failure = item
                    else:
                        yield item
        except Exception as error:
            raise (failure.error() if failure else RequestError(_unlent(error))) from error
        if failure:
            raise failure.error()

    return run


def _unlent(error: Exception) -> str:
    """Why `spaces` lends no GPU, or took it back, for the visitor; as it was said it goes to the log."""
    message = str(getattr(error, "message", "")) or type(error).__name__
    said = f"{getattr(error, 'title', '')}: {message}"
    key = next((key for part, key in REFUSALS.items() if part in said), "broken")
    log.warning("ZeroGPU did not serve a run. %s", said, exc_info=error if key == "broken" else None)
    wait = re.search(r"Try again in (\d+:\d\d:\d\d)", said)
    again = strings.BORROWED["again"].format(wait=wait[1]) if wait else ""
    return strings.BORROWED[key].format(again=again, error=message)


def is_zero() -> bool:
    """Does this process run on ZeroGPU? Then the models must be there before the first worker is forked. Read as `spaces` reads it."""
    return os.environ.get("SPACES_ZERO_GPU", "").lower() in ("1", "t", "true")
