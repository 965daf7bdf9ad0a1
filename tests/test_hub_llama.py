"""The project's own engine on checkpoints of transformers' classes: equal logits, and in words what it would not reproduce."""

from __future__ import annotations

import json

import pytest
import torch
from hubs import VOCABULARY, block_error, causal, config, saved, tokenizer
from safetensors.torch import load_file, save_file
from toys import random_

from sdiff.drafters.block import CachedDenoiser
from sdiff.drafters.masked import MaskedDrafter
from sdiff.drafters.uniform import UniformDrafter
from sdiff.fetch import PairError
from sdiff.hub_files import Source, config_of, end_ids, load_words
from sdiff.hub_llama import dimensions, fingerprint, load_llama
from sdiff.layers import PackedLinear, bf16_on_cpu
from sdiff.network import BlockDenoiser
from sdiff.sampling import Shape
from sdiff.verifier import Llama, Verifier

LLAMA3 = {"rope_type": "llama3", "rope_theta": 300.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 32}  # fmt: skip
SHAPES = {
    "llama": ("llama", {}),
    "llama, tied, wide heads": ("llama", {"tie_word_embeddings": True, "head_dim": 16}),
    "llama 3.1": ("llama", {"rope_parameters": LLAMA3}),
    "qwen2": ("qwen2", {"tie_word_embeddings": True}),
    "qwen2, untied": ("qwen2", {"rope_parameters": {"rope_type": "default", "rope_theta": 1e6}}),
    "qwen3": ("qwen3", {"tie_word_embeddings": True}),
    "qwen3, untied": ("qwen3", {"num_key_value_heads": 4}),
}


def checkpoint(folder, family, seed=0, **changes):
    """A random model with biases that matter, and its folder."""
    model = causal(family, seed, **changes)
    for name, weight in model.named_parameters():
        if name.endswith("bias"):
            weight.data.uniform_(-1, 1)
    return model, Source(str(saved(model, folder)))


def loaded(source, dtype=torch.float32) -> Llama:
    return load_llama(source, dimensions(source, config_of(source)), "cpu", dtype)


@pytest.mark.parametrize("shape", SHAPES)
def test_logits_equal_transformers(tmp_path, shape):
    """Read in parts and rolled back; 40 tokens reach every band of the scaled rotary waves."""
    model, source = checkpoint(tmp_path, SHAPES[shape][0], **SHAPES[shape][1])
    ids = torch.randint(VOCABULARY, (40,), generator=torch.Generator().manual_seed(1)).tolist()
    with torch.inference_mode():
        want = model(torch.tensor([ids])).logits[0]
    assert want.std() > 0.5, "logits near zero would agree by accident"
    verifier = Verifier(loaded(source), 64)
    verifier.prefill(ids[:23])
    verifier.score(ids[:5])
    verifier.rollback(23)
    assert (verifier.score(ids[23:]) - want[23:]).abs().max() < 1e-4


@pytest.mark.parametrize("shape", ["llama 3.1", "qwen2, untied", "qwen3"])
@pytest.mark.parametrize(("drafter", "proposal"), [(MaskedDrafter, "monotone"), (UniformDrafter, "final_step")])
def test_enumeration_shows_no_loss(tmp_path, shape, drafter, proposal):
    family, changes = SHAPES[shape]
    _, source = checkpoint(tmp_path, family, 2, vocab_size=4, **changes)
    model = loaded(source)
    network = random_(BlockDenoiser(model.d, (0, 1), torch.arange(3), model.embedding, 3, model.unembedding), 3)
    verifier = Verifier(model, 32)
    assert block_error(verifier, drafter(CachedDenoiser(network, verifier, 0.7), Shape(), proposal), [1, 0, 2], 2, 2) < 1e-6


@pytest.mark.parametrize(("family", "changes", "word"), [
    ("gemma", {}, "is a gemma; the project's own engine computes llama, qwen2, qwen3 only"),
    ("qwen3_moe", {}, "is a qwen3_moe"),
    ("llama", {"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0}}, "positions scaled as 'yarn'"),
    ("llama", {"attention_bias": True, "mlp_bias": True}, "biases on its attention's output and biases in its feed-forward layers"),
    ("qwen3", {"attention_bias": True}, "biases on its attention's output"),
    ("qwen2", {"use_sliding_window": True, "max_window_layers": 1}, "sliding windows"),
    ("llama", {"hidden_act": "gelu"}, "the activation 'gelu'"),
])  # fmt: skip
def test_what_would_not_be_reproduced_is_refused(family, changes, word):
    with pytest.raises(PairError, match=word):
        dimensions(Source("a/b"), config(family, **changes))


def test_weights_are_complete_and_nothing_is_left_over(tmp_path):
    _, source = checkpoint(tmp_path, "qwen2")
    file = tmp_path / "model.safetensors"
    whole = load_file(file)
    for change, word in (
        (lambda t: t.pop("model.layers.1.self_attn.k_proj.bias"), r"lacks the tensor model\.layers\.1\.self_attn\.k_proj\.bias"),
        (lambda t: t.update({"model.layers.0.self_attn.o_proj.bias": torch.ones(32)}), r"1 tensors that .* does not use, model\.layers\.0\.self_attn\.o_proj"),
        (lambda t: t.update({"model.layers.0.mlp.down_proj.weight": torch.ones(32, 47)}), "cannot be loaded as its config.json implies"),
    ):  # fmt: skip
        tensors = dict(whole)
        change(tensors)
        save_file(tensors, file, {"format": "pt"})
        with pytest.raises(PairError, match=word):
            loaded(source)


def test_a_verifier_is_named_by_its_weights_and_its_shape(tmp_path):
    _, one = checkpoint(tmp_path / "one", "qwen2", seed=1)
    _, same = checkpoint(tmp_path / "same", "qwen2", seed=1)
    _, other = checkpoint(tmp_path / "other", "qwen2", seed=2)
    names = [fingerprint(source, dimensions(source, config_of(source))) for source in (one, same, other)]
    assert names[0] == names[1] != names[2]
    path = tmp_path / "same/config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"rms_norm_eps": 1e-3}))
    assert fingerprint(same, dimensions(same, config_of(same))) != names[0]
    (tmp_path / "one/model.safetensors").unlink()
    with pytest.raises(PairError, match="lacks a file"):
        fingerprint(one, dimensions(one, config_of(one)))


def test_ids_that_end_an_answer(tmp_path):
    _, source = checkpoint(tmp_path, "qwen2", eos_token_id=[3, 5])
    assert end_ids(source, config_of(source)) == {3, 5}
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": 7}')
    assert end_ids(source, config_of(source)) == {7}
    (tmp_path / "generation_config.json").unlink()
    assert end_ids(source, config_of(source)) == {3, 5}
    assert load_words(Source(str(tokenizer(tmp_path)))).eos_token_id == 46


@pytest.mark.skipif(not bf16_on_cpu(), reason="packing is for CPUs that compute in bf16")
def test_a_packed_map_adds_its_bias():
    torch.manual_seed(0)
    linear = torch.nn.Linear(24, 40).bfloat16().requires_grad_(False)
    x = torch.randn(2, 9, 24).bfloat16()
    assert (PackedLinear(linear.weight, linear.bias)(x) - linear(x)).abs().max() <= 2**-5
