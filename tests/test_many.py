"""Many decodes in common passes equal the same decodes one by one: same tokens, same verdicts."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from toys import random_

from sdiff.acceptance import Lossless, make_rule
from sdiff.decode import Plan, decode
from sdiff.drafters import NoDrafter
from sdiff.drafters.block import CachedDenoiser
from sdiff.drafters.masked import MaskedDrafter
from sdiff.drafters.uniform import UniformDrafter
from sdiff.layers import Dimensions
from sdiff.many import Together
from sdiff.network import BlockDenoiser
from sdiff.sampling import Dice, Shape
from sdiff.trace import Emit, Verdict
from sdiff.verifier import ContextFull, Llama, Verifier

D = Dimensions(width=32, heads=4, kv_heads=2, head_width=8, feed_forward=48, layers=4, vocabulary=61, rope_base=300.0, epsilon=1e-5)
IDS = torch.tensor([0, 2, 3, 5, 8, 13, 21, 34, 40, 55, 60])
PROMPTS = [[7], [1, 5, 9], list(range(20, 55)), [3, 3], [60, 1, 0, 2, 9, 11, 12]]


@pytest.fixture(scope="module", params=[D, replace(D, qkv_bias=True, head_norm=True, tied=False)], ids=["bundled", "other"])
def pair(request):
    model = random_(Llama(request.param), 0)
    return model, random_(BlockDenoiser(model.d, (0, 2, 3), IDS, model.embedding, 8, model.unembedding), 1)


def drafter(noise, denoiser):
    if not noise:
        return NoDrafter(61)
    return {"masked": MaskedDrafter, "uniform": UniformDrafter}[noise](denoiser, Shape(0.7))


def told(events):
    """What a run decided, without its times."""
    verdicts = [
        (e.position, e.token, e.accepted, pytest.approx(e.p, abs=1e-5), pytest.approx(e.q, abs=1e-5))
        for e in events
        if isinstance(e, Verdict)
    ]
    return [e.tokens for e in events if isinstance(e, Emit)], verdicts, events[-1].reason


@pytest.mark.parametrize("lanes", [1, 3, 8])
@pytest.mark.parametrize(("noise", "steps"), [("", 1), ("masked", 1), ("masked", 3), ("uniform", 2)])
def test_common_passes_equal_single_runs(pair, noise, steps, lanes):
    """The context ends inside some of the runs; prompts, ends and so block sizes differ."""
    model, network = pair
    plan = Plan(5 if noise else 0, steps, 30, {4}, False, chunk=16)
    rule = make_rule("tv", 0.3) if noise == "uniform" else Lossless()

    def job(prompt, seed):
        return lambda verifier, denoiser: (
            seed,
            list(decode(verifier, drafter(noise, denoiser), rule, Shape(0.7), prompt, plan, Dice(seed))),
        )

    together = dict(Together(model, network, 0.7, lanes, 50).run(job(p, i) for i, p in enumerate(PROMPTS)))
    assert sorted(together) == list(range(len(PROMPTS)))
    for i, prompt in enumerate(PROMPTS):
        verifier = Verifier(model, 50)
        alone = list(decode(verifier, drafter(noise, CachedDenoiser(network, verifier, 0.7)), rule, Shape(0.7), prompt, plan, Dice(i)))
        assert told(together[i]) == told(alone)


def test_a_lane_refuses_what_does_not_fit(pair):
    def job(verifier, _):
        verifier.prefill([1] * 9)
        with pytest.raises(ValueError, match="cannot keep 10 of 9"):
            verifier.rollback(10)
        verifier.score([1, 2])

    with pytest.raises(ContextFull, match="2 more tokens do not fit"):
        list(Together(*pair, 1.0, 2, 10).run(iter([job])))


def test_a_lane_may_fill_its_context_to_the_last_cell(pair):
    """Padding for the other lane's longer list lies behind the context and must not touch the last token."""
    last = {}

    def job(tokens):
        def run(verifier, _):
            verifier.prefill(list(range(20, 20 + 10 - len(tokens))) if len(tokens) == 2 else [7])
            last[len(tokens)] = verifier.score(tokens)[-1]

        return run

    list(Together(*pair, 1.0, 2, 10).run(iter([job([5, 6]), job([1, 2, 3, 4, 5, 6])])))
    verifier = Verifier(pair[0], 10)
    verifier.prefill(list(range(20, 28)))
    torch.testing.assert_close(last[2], verifier.score([5, 6])[-1], atol=1e-4, rtol=1e-4)


def test_jobs_that_ask_nothing_and_no_jobs_at_all(pair):
    assert sorted(Together(*pair, 1.0, 2, 10).run(iter([lambda v, d, i=i: i for i in range(5)]))) == [0, 1, 2, 3, 4]
    assert list(Together(*pair, 1.0, 2, 10).run(iter([]))) == []
