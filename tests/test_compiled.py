"""Compiled layers against the very same layers under the interpreter: everywhere a pass can stand, and whole runs."""

from __future__ import annotations

import logging
import shutil

import pytest
import torch
from toys import random_

from sdiff import compiled, pairs
from sdiff.drafters.block import CachedDenoiser
from sdiff.layers import Dimensions
from sdiff.network import BlockDenoiser
from sdiff.trace import MASKED
from sdiff.verifier import ContextFull, Llama, Verifier

D = Dimensions(width=32, heads=4, kv_heads=2, head_width=8, feed_forward=48, layers=2, vocabulary=61, rope_base=300.0, epsilon=1e-5)
CONTEXT, BLOCK = 40, 4
IDS = torch.tensor([0, 2, 3, 5, 8, 13, 21, 34, 40, 55, 60])
needs_compiler = pytest.mark.skipif(not shutil.which("g++"), reason="this machine has no C++ compiler")


@pytest.fixture(scope="module")
def twins(tmp_path_factory) -> dict[bool, tuple[Verifier, CachedDenoiser]]:
    """Verifier and denoiser with random weights, compiled (True) and as they are (False)."""

    def made(compile) -> tuple[Verifier, CachedDenoiser]:
        model = random_(Llama(D), 0)
        network = random_(BlockDenoiser(D, (0, 1), IDS, model.embedding.detach(), BLOCK), 1).requires_grad_(False)
        verifier = Verifier(model.requires_grad_(False), CONTEXT, compile)
        network.pack_for_inference(compile, verifier)
        return verifier, CachedDenoiser(network, verifier, 1.0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SDIFF_CACHE", str(tmp_path_factory.mktemp("cache")))
        return {True: made(compiled.compiled), False: made(None)}


def tokens(n: int, seed: int = 1) -> list[int]:
    return torch.randint(61, (n,), generator=torch.Generator().manual_seed(seed)).tolist()


def gap(a: torch.Tensor, b: torch.Tensor) -> float:
    assert a.shape == b.shape
    return (a - b).abs().max().item()


@needs_compiler
@pytest.mark.parametrize("prefix", [0, 1, 2, 17, CONTEXT - 6, CONTEXT - 5, CONTEXT - 1])
@pytest.mark.parametrize("block", [1, 2, 5])
def test_a_compiled_verifier_gives_the_same_logits(twins, prefix, block):
    """At the beginning, in the middle and up to the last cell of the context; the padding of a single token leaves no trace."""
    if prefix + block > CONTEXT:
        with pytest.raises(ContextFull):
            fed(twins[True][0], prefix).score(tokens(block))
        return
    fast, slow = (fed(twins[kind][0], prefix) for kind in (True, False))
    assert gap(fast.score(tokens(block)), slow.score(tokens(block))) <= 1e-4
    assert gap(fast.last_hidden(), slow.last_hidden()) <= 1e-4
    for verifier in (fast, slow):
        verifier.rollback(prefix)
    if prefix < CONTEXT:
        assert gap(fast.score(tokens(1, 2)), slow.score(tokens(1, 2))) <= 1e-4


def fed(verifier: Verifier, prefix: int) -> Verifier:
    verifier.prefill(tokens(prefix, 5))
    return verifier


@needs_compiler
@pytest.mark.parametrize("prefix", [0, 1, 2, 17, CONTEXT - 1])
@pytest.mark.parametrize("n", range(1, BLOCK + 1))
def test_a_compiled_drafter_gives_the_same_logits(twins, prefix, n):
    generator = torch.Generator().manual_seed(n)
    canvas, level = torch.randint(MASKED, len(IDS), (n,), generator=generator), torch.rand(n, generator=generator)
    if prefix + n > CONTEXT:
        return
    answers = []
    for verifier, denoiser in twins.values():
        denoiser.start([*tokens(prefix, 5), 7]) if fed(verifier, prefix) else None
        answers.append(denoiser.predict(canvas, level))
    assert gap(*answers) <= 1e-4


@needs_compiler
def test_what_was_compiled_once_is_loaded(twins, monkeypatch, tmp_path):
    """The file's name tells other weights apart, and the same weights find it again without compiling."""
    monkeypatch.setenv("SDIFF_CACHE", str(tmp_path))
    first = random_(Llama(D), 0).requires_grad_(False)
    Verifier(first, CONTEXT, compiled.compiled)
    monkeypatch.setattr(torch.export, "export", lambda *_, **__: pytest.fail("compiled again"))
    verifier = Verifier(random_(Llama(D), 0).requires_grad_(False), CONTEXT, compiled.compiled)
    assert gap(fed(verifier, 9).score(tokens(5)), fed(twins[False][0], 9).score(tokens(5))) <= 1e-4
    assert len(list((tmp_path / "compiled").glob("*.pt2"))) == 1
    with pytest.raises(BaseException, match="compiled again"):
        Verifier(random_(Llama(D), 1).requires_grad_(False), CONTEXT, compiled.compiled)


@pytest.mark.parametrize("trouble", [OSError("No space left on device"), RuntimeError("No working C++ compiler found")])
def test_where_compiling_fails_the_pair_is_loaded_without(monkeypatch, caplog, trouble, tmp_path):
    monkeypatch.setenv("SDIFF_CACHE", str(tmp_path))
    asked = []

    def export(*_, **__):
        raise trouble

    def load(*_, compile=None):
        asked.append(compile)
        return compile(lambda *a: a, torch.nn.Linear(2, 2), torch.ones(2), [torch.ones(2)], [None], "x") if compile else "pair"

    monkeypatch.setattr(torch.export, "export", export)
    monkeypatch.setattr(pairs, "load_bundled_pair", load)
    with caplog.at_level(logging.WARNING):
        assert pairs.load_pair("cpu", "float32", compile=True) == "pair"
    assert asked == [compiled.compiled, None]
    assert str(trouble) in caplog.text


def test_compiling_is_refused_where_there_is_nothing_to_compile():
    with pytest.raises(pairs.PairError, match="--compile"):
        pairs.load_pair("cpu", name="gpt2-duo", compile=True)
