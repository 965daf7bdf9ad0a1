"""Settings of all tests: one thread, and property tests that try the same examples on every run."""

import sys
from pathlib import Path

import setuptools  # noqa: F401 (torch's compiler wants it, and it cannot be imported behind pip, which some library brings in)
import torch
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # pytest started as a bare command, from anywhere

torch.set_num_threads(1)
settings.register_profile("sdiff", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("sdiff")
