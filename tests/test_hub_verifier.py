"""The hub verifier against transformers' own forward: blocks, rollback, windows, tapped layers, and what it refuses."""

from __future__ import annotations

import pytest
import torch
import transformers
from hubs import FAMILIES, SMALL, VOCABULARY, causal

from sdiff.fetch import PairError
from sdiff.hub_verifier import HubVerifier, longest
from sdiff.verifier import ContextFull

CLOSE = 1e-4


def tokens(n, seed=1):
    return torch.randint(VOCABULARY, (n,), generator=torch.Generator().manual_seed(seed)).tolist()


def expected(model, ids):
    with torch.inference_mode():
        return model(torch.tensor([ids]), use_cache=False).logits[0]


def close(one, other):
    assert one.shape == other.shape
    assert (one - other).abs().max() <= CLOSE


@pytest.mark.parametrize("family", FAMILIES)
def test_blocks_equal_transformers_and_one_by_one_and_survive_rollback(family):
    """Texts longer than the windows and chunks (6), read in parts, rolled back to inside them and read on."""
    model, ids, other = causal(family), tokens(30), tokens(4, seed=2)
    want = expected(model, ids)
    assert want.std() > 0.5, "logits near zero would agree by accident"
    verifier = HubVerifier(model, context=64)
    verifier.prefill(ids[:17])
    close(verifier.score(ids[17:25]), want[17:25])
    verifier.rollback(17)
    close(torch.cat([verifier.score([token]) for token in ids[17:]]), want[17:])
    for kept in (29, 18, 3, 0):
        verifier.rollback(kept)
        close(verifier.score(other), expected(model, ids[:kept] + other)[kept:])
        verifier.rollback(kept)
    verifier.prefill(ids)
    assert (verifier.length, verifier.room, verifier.vocabulary) == (30, 34, VOCABULARY)


WHOLE = {"text_config": FAMILIES["gemma4"][1], "vision_config": {"model_type": "gemma4_vision", "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1,
         "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 8, "patch_size": 4, "position_embedding_size": 16}, "audio_config": None}  # fmt: skip


def test_a_model_of_text_and_images_is_verified_by_its_text_half():
    """As Gemma 4 comes from the hub: AutoModelForCausalLM makes the whole model of it."""
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(transformers.Gemma4Config(**WHOLE)).eval()
    verifier, ids = HubVerifier(model, 64), tokens(20)
    verifier.prefill(ids[:9])
    close(verifier.score(ids[9:]), expected(model, ids)[9:])
    assert (verifier.vocabulary, verifier.context) == (VOCABULARY, 64)


def test_rollback_moves_a_number_and_copies_nothing():
    verifier = HubVerifier(causal("llama"), context=32)
    verifier.prefill(tokens(9))
    where = [layer.keys.data_ptr() for layer in verifier.cache.layers]
    before = [layer.keys.clone() for layer in verifier.cache.layers]
    verifier.rollback(2)
    assert [layer.keys.data_ptr() for layer in verifier.cache.layers] == where
    assert all(torch.equal(layer.keys, old) for layer, old in zip(verifier.cache.layers, before, strict=True))
    verifier.score(tokens(20))
    assert [layer.keys.data_ptr() for layer in verifier.cache.layers] == where


def test_a_pass_that_fails_half_way_leaves_the_verifier_usable(monkeypatch):
    model, ids = causal("qwen3"), tokens(12)
    verifier = HubVerifier(model, context=32)
    verifier.prefill(ids[:5])
    with monkeypatch.context() as patch:
        patch.setattr(model.model.layers[1].mlp, "forward", lambda x: (_ for _ in ()).throw(RuntimeError("out of memory")))
        with pytest.raises(RuntimeError):
            verifier.score(ids[5:8])
    close(verifier.score(ids[5:]), expected(model, ids)[5:])


def test_tapped_layers_are_told_once_and_again_after_a_rollback():
    model, ids = causal("qwen3"), tokens(10)
    with torch.inference_mode():
        layers = model(torch.tensor([ids]), output_hidden_states=True).hidden_states
    want = torch.cat([layers[1][0], layers[2][0]], -1)
    verifier = HubVerifier(model, context=32, taps=(0, 1))
    verifier.prefill(ids[:3])
    verifier.prefill(ids[3:6], 3)
    start, hidden = verifier.fresh()
    assert start == 0
    close(hidden, want[:6])
    verifier.score([1, 2, 3])
    verifier.rollback(4)
    verifier.score(ids[4:])
    start, hidden = verifier.fresh()
    assert start == 4
    close(hidden, want[4:])
    assert verifier.fresh()[1].shape == (0, 64)
    verifier.prefill(ids[:4])
    assert verifier.fresh()[0] == 0


def test_the_context_ends_in_words():
    verifier = HubVerifier(causal("gpt2"), context=1000)
    assert verifier.context == 256, "the model's own limit"
    verifier.prefill(tokens(250))
    with pytest.raises(ContextFull, match="7 more tokens do not fit: the context holds 256"):
        verifier.score(tokens(7))
    assert verifier.score([]).shape == (0, VOCABULARY)
    with pytest.raises(ContextFull, match="The prompt has 257 tokens; this verifier reads at most 256"):
        verifier.prefill(tokens(257))
    with pytest.raises(ValueError, match="cannot keep 3 of 0 tokens"):
        verifier.rollback(3)


def test_scores_that_would_change_with_the_texts_length_are_left_out():
    rope = {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 64}
    assert longest(transformers.LlamaConfig(**SMALL, rope_parameters=rope)) == 64
    assert longest(transformers.LlamaConfig(**SMALL)) == 256


@pytest.mark.parametrize(("cls", "changes"), [
    ("MambaConfig", {"vocab_size": 32, "hidden_size": 16, "num_hidden_layers": 1, "state_size": 4}),
    ("Qwen3NextConfig", {"vocab_size": 32, "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
                         "num_key_value_heads": 2, "head_dim": 8, "num_experts": 2, "moe_intermediate_size": 8, "linear_num_key_heads": 2,
                         "linear_num_value_heads": 2, "linear_key_head_dim": 8, "linear_value_head_dim": 8,
                         "layer_types": ["linear_attention", "full_attention"]}),
])  # fmt: skip
def test_models_that_cannot_roll_back_are_refused_in_words(cls, changes):
    model = transformers.AutoModelForCausalLM.from_config(getattr(transformers, cls)(**changes))
    with pytest.raises(PairError, match="rolled back"):
        HubVerifier(model, 32)
