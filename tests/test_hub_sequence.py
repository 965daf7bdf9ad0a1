"""Bidirectional conversions from disk: logits as a slow reference says, exact proposals, whole runs through `decode`."""

from __future__ import annotations

import pytest
import torch
from hubs import block_error, causal, converted

from sdiff.acceptance import Lossless
from sdiff.decode import Plan, decode
from sdiff.drafters.masked import MaskedDrafter
from sdiff.drafters.sequence import SequenceDenoiser, draft_ids, native_config
from sdiff.hub_files import Source, load_model, raw_config
from sdiff.hub_verifier import HubVerifier
from sdiff.sampling import Dice, Shape
from sdiff.trace import MASKED, Emit, End

CPU, MASK, CONTEXT = torch.device("cpu"), 47, [3, 9, 1, 20, 11]


def loaded(folder, model, model_type, **options):
    source = Source(str(converted(model, folder, model_type)))
    drafter = load_model(source, CPU, torch.float32, native_config(raw_config(source)))
    size = drafter.config.vocab_size
    mask = options.pop("mask_id", MASK)
    return SequenceDenoiser(drafter, mask, draft_ids(size, size, mask), size, **options)


def reference(model, ids, mask=None):
    """transformers' eager attention with a written-out additive mask."""
    model.set_attn_implementation("eager")
    seen = torch.ones(len(ids), len(ids), dtype=torch.bool) if mask is None else mask
    bias = torch.where(seen, 0.0, -1e9)[None, None]
    with torch.inference_mode():
        return model(torch.tensor([ids]), attention_mask=bias, use_cache=False).logits[0]


@pytest.mark.parametrize(("family", "model_type"), [("qwen3", "a2d-qwen3"), ("llama", "a2d-llama"), ("qwen2", "Dream"), ("qwen3", "sdar")])
@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize("causal_blocks", [0, 4])
def test_logits_equal_a_written_out_bidirectional_mask(tmp_path, family, model_type, shifted, causal_blocks):
    model = causal(family)
    denoiser = loaded(tmp_path, model, model_type, block=6, shifted=shifted, causal_blocks=causal_blocks)
    denoiser.start(CONTEXT)
    got = denoiser.predict(torch.tensor([MASKED, 7, MASKED]), torch.ones(3))
    number = torch.arange(11) // max(1, causal_blocks)
    mask = number[None] <= number[:, None] if causal_blocks else None
    want = reference(model, [*CONTEXT, MASK, 7, MASK, MASK, MASK, MASK], mask)[5 - shifted : 8 - shifted, :MASK]
    assert got.shape == (3, 47)
    assert want.std() > 0.5
    assert (got - want).abs().max() < 1e-4
    if not causal_blocks:
        assert (
            got - reference(model, [*CONTEXT, MASK, 7, MASK, MASK, MASK, MASK], torch.ones(11, 11).tril().bool())[5:8, :47]
        ).abs().max() > 0.1


@pytest.mark.parametrize("shifted", [False, True])
def test_whole_blocks_are_read_once_and_change_nothing(tmp_path, shifted):
    """Texts that grow, are replaced and shrink across blocks of 4; every pass against one that reads everything."""
    model = causal("qwen3")
    denoiser = loaded(tmp_path, model, "sdar", block=6, shifted=shifted, causal_blocks=4, context=64)
    text = torch.randint(MASK, (30,), generator=torch.Generator().manual_seed(4)).tolist()
    for context in (text[:3], text[:4], text[:13], text[:16], [*text[:9], 7, 8, 9], text[:21], text[4:30], text[4:10]):
        denoiser.start(context)
        assert len(denoiser.read) == (len(context) - shifted) // 4 * 4
        for canvas in ([MASKED] * 3, [5, MASKED, 2]):
            got = denoiser.predict(torch.tensor(canvas), torch.ones(3))
            number = torch.arange(len(context) + 6) // 4
            ids = [*context, *(MASK if x == MASKED else x for x in canvas), MASK, MASK, MASK]
            first = len(context) - shifted
            want = reference(model, ids, number[None] <= number[:, None])[first : first + 3, :MASK]
            assert (got - want).abs().max() < 1e-4


def test_a_published_configuration_is_understood():
    """Dream's config.json, written by an older transformers."""
    raw = {"architectures": ["DreamModel"], "attention_dropout": 0.0, "auto_map": {"AutoModel": "modeling_dream.DreamModel"}, "bos_token_id": 151643,
           "eos_token_id": 151643, "hidden_act": "silu", "hidden_size": 3584, "initializer_range": 0.02, "intermediate_size": 18944, "mask_token_id": 151666,
           "max_position_embeddings": 131072, "max_window_layers": 28, "model_type": "Dream", "num_attention_heads": 28, "num_hidden_layers": 28,
           "num_key_value_heads": 4, "pad_token_id": 151643, "rms_norm_eps": 1e-06, "rope_scaling": None, "rope_theta": 1000000.0, "sliding_window": None,
           "tie_word_embeddings": False, "torch_dtype": "bfloat16", "transformers_version": "4.46.2", "use_cache": True, "use_mrope": False,
           "use_sliding_window": False, "vocab_size": 152064}  # fmt: skip
    config = native_config(raw)
    assert (config.model_type, config.is_causal, config.num_key_value_heads) == ("qwen2", False, 4)
    assert config.rope_parameters["rope_theta"] == 1e6
    assert set(config.layer_types) == {"full_attention"}


def test_the_mask_is_never_drafted_wherever_it_is(tmp_path):
    denoiser = loaded(tmp_path, causal("qwen3"), "a2d-qwen3", block=4, mask_id=5)
    assert 5 not in denoiser.ids
    denoiser.start(CONTEXT)
    model = denoiser.model
    assert (
        denoiser.predict(torch.tensor([MASKED, 5]), torch.ones(2))[1] - reference(model, [*CONTEXT, 5, 6, 5, 5])[6, denoiser.ids]
    ).abs().max() < 1e-4


@pytest.mark.parametrize(("proposal", "lossless"), [("monotone", True), ("final_step", True), ("one_hot", True), ("any_order", False)])
def test_enumeration_shows_which_proposals_are_lossless(tmp_path, proposal, lossless):
    """Every block that this drafter can draft for this verifier, with its exact probability: vocabulary 4, γ = 2, 2 steps."""
    small = {"vocab_size": 4, "hidden_size": 16, "intermediate_size": 16, "num_attention_heads": 2, "num_key_value_heads": 1}
    verifier, errors = HubVerifier(causal("qwen3", seed=5, **small), 32), []
    for seed in range(3):
        denoiser = loaded(tmp_path / str(seed), causal("qwen3", seed, **small), "a2d-qwen3", block=3, mask_id=3)
        errors.append(block_error(verifier, MaskedDrafter(denoiser, Shape(), proposal), [1, 0, 2], 2, 2))
    assert (max(errors) < 1e-6) == lossless, errors


def test_a_whole_run_through_the_loop(tmp_path):
    verifier = HubVerifier(causal("qwen3", seed=3), 64)
    denoiser = loaded(tmp_path, causal("qwen3"), "a2d-qwen3", block=8)
    events = list(decode(verifier, MaskedDrafter(denoiser, Shape(0.7)), Lossless(), Shape(0.7), CONTEXT, Plan(4, 2, 20, ()), Dice(1)))
    assert isinstance(events[-1], End)
    assert (events[-1].reason, len(events[-1].tokens)) == ("limit", 20)
    assert sum(len(e.tokens) for e in events if isinstance(e, Emit)) == 20
    greedy = list(decode(verifier, MaskedDrafter(denoiser, Shape(0)), Lossless(), Shape(0), CONTEXT, Plan(4, 2, 12, ()), Dice(1)))[-1]
    plain = verifier.model.generate(torch.tensor([CONTEXT]), max_new_tokens=12, do_sample=False, eos_token_id=None, pad_token_id=0)
    assert list(greedy.tokens) == plain[0, len(CONTEXT) :].tolist(), "at temperature 0 the text is the verifier's own"


def test_a_family_that_is_not_native_is_named():
    with pytest.raises(ValueError, match="'llada' is no family"):
        native_config({"model_type": "llada"})
