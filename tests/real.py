"""The bundled verifier for tests marked `model`: loaded once per process; skipped where it cannot be had, but not in CI."""

from __future__ import annotations

import functools
import os
from typing import Any

import pytest
import torch

from sdiff import bundled
from sdiff.fetch import PairError
from sdiff.verifier import Llama


@functools.cache
def _load(dtype: torch.dtype) -> tuple[Llama, Any] | PairError:
    try:
        return bundled.load_verifier(torch.device("cpu"), dtype)
    except PairError as error:
        return error


def real(dtype: torch.dtype = torch.float32) -> tuple[Llama, Any]:
    """Weights and tokenizer of the bundled verifier."""
    got = _load(dtype)
    if isinstance(got, PairError):
        (pytest.fail if os.environ.get("CI") else pytest.skip)(str(got))
    return got
