"""Layers compiled ahead of time into one native library: no interpreter between the kernels. Knows torch.export and AOTInductor; refuses to know decoding.

Costs a minute once per machine and weights, then a second per start: the library lies in the cache folder. Every matrix is packed in it.
"""

from __future__ import annotations

import hashlib
import inspect
import os
from collections.abc import Callable, Sequence
from typing import Any

import torch
from filelock import FileLock
from torch import Tensor, nn

from sdiff import layers
from sdiff.fetch import cache_folder


class CompileError(RuntimeError):
    """There is no compiled form here; the message says why."""


class Exportable(nn.Module):
    """`run(layers, norm, …)`, a function of modules and tensors, as what `torch.export` takes."""

    def __init__(self, run: Callable[..., Tensor], stack: nn.Module, norm: Tensor) -> None:
        super().__init__()
        self.run, self.stack, self.norm = run, stack, norm

    def forward(self, *args: Any) -> Tensor:
        return self.run(self.stack, self.norm, *args)


@torch.no_grad()
def compiled(
    run: Callable[..., Tensor], stack: nn.Module, norm: Tensor, example: Sequence[Any], sizes: Sequence[Any], name: str
) -> Callable[..., Tensor]:
    """A library that computes `run(stack, norm, *example)` for all `sizes` (dynamic shapes of `torch.export`). Raises CompileError.

    `name` begins the name of its file; the rest tells weights, code, versions, threads and CPU apart.
    """
    module = Exportable(run, stack, norm).eval()
    path = cache_folder() / "compiled" / f"{name}-{_key(module, run)}.pt2"
    from torch._inductor.utils import fresh_cache  # a second of imports, for those who compile

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{path}.lock"):  # a second process waits for the first one's work
            if not path.exists():
                part = path.with_suffix(f".{os.getpid()}.pt2")
                exported = torch.export.export(module, tuple(example), dynamic_shapes=(tuple(sizes),), strict=False)
                with fresh_cache(dir=str(path.parent)):  # the compiler's own files, four times as many, go when it is done
                    torch._inductor.aoti_compile_and_package(exported, package_path=str(part), inductor_configs={"freezing": True})
                part.replace(path)
        return torch._inductor.aoti_load_package(str(path))
    except Exception as error:  # a missing compiler, a full disk, an operation without a kernel: everything here has its own class
        raise CompileError(f"{type(error).__name__}: {' '.join(str(error).split())[:200]}") from error


def _key(module: Exportable, run: Callable[..., Tensor]) -> str:
    """What the library depends on, as 16 hexadecimal digits."""
    told = [
        torch.__version__,
        torch.backends.cpu.get_cpu_capability(),
        str(torch.get_num_threads()),
        inspect.getsource(layers),
        inspect.getsource(inspect.getmodule(run)),
    ]
    digest = hashlib.sha256("\0".join(told).encode())
    for key, tensor in sorted(module.state_dict().items()):
        digest.update(f"{key} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.detach().contiguous().view(torch.uint8).numpy())
    return digest.hexdigest()[:16]
