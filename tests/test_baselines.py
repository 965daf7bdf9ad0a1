"""transformers with the verifier's weights says what the verifier says."""

from __future__ import annotations

import math

import torch
from toys import random_

from sdiff.bench.baselines import ENGINES, runner, to_transformers
from sdiff.layers import Dimensions
from sdiff.verifier import Llama, Verifier

D = Dimensions(width=24, heads=4, kv_heads=2, head_width=6, feed_forward=40, layers=3, vocabulary=61, rope_base=500.0, epsilon=1e-5)


def test_the_weights_are_the_same_model():
    model = random_(Llama(D), 3)
    ids = [1, 7, 30, 12, 55, 3, 8]
    verifier = Verifier(model, 16)
    with torch.inference_mode():
        theirs = to_transformers(model)(torch.tensor([ids])).logits[0]
    torch.testing.assert_close(theirs, verifier.score(ids), atol=1e-4, rtol=1e-4)


def test_every_engine_generates_and_times():
    other = to_transformers(random_(Llama(D), 3))
    for options in ENGINES.values():
        figures = runner(other, 0.7, [60], **options)([1, 7, 30, 1, 7], 5, 12)
        assert 1 <= figures["tokens"] <= 12
        assert figures["tokens"] == 1 or figures["tokens_per_second"] > 0
    greedy = runner(other, 0.0, [60])
    assert greedy([1, 7, 30], 0, 1)["tokens"] == 1
    assert math.isnan(greedy([1, 7, 30], 0, 1)["tokens_per_second"])
