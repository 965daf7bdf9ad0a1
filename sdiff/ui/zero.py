"""Hugging Face ZeroGPU: a run borrows a GPU for as long as it lasts. Where the `spaces` package is not there, nothing changes.

Its rules: imported before torch, a sync generator, arguments and results that pickle, a worker forked after the models are loaded.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from sdiff.request import Request
from sdiff.trace import Event

Stream = Callable[[Request], Iterator[Event]]
START_SECONDS, SECONDS_PER_TOKEN = 4, 0.06  # a generous cycle of one token each; less asked for means less quota needed


def seconds(request: Request) -> int:
    """How long the GPU is asked for, from the request alone."""
    return int(START_SECONDS + SECONDS_PER_TOKEN * request.max_tokens)


def borrowing(stream: Stream) -> Stream:
    """`stream`, run on a borrowed GPU where there are any to borrow."""
    try:
        import spaces
    except ImportError:
        return stream
    return spaces.GPU(duration=seconds)(stream)


def is_zero() -> bool:
    """Does this process run on ZeroGPU? Then the models must be there before the first worker is forked."""
    return bool(os.environ.get("SPACES_ZERO_GPU"))
