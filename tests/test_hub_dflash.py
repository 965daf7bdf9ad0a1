"""DFlash against transformers' own drafter of that design (same layers, other names), on a file with the published names."""

from __future__ import annotations

import pytest
import torch
from hubs import DFLASH, VOCABULARY, block_error, causal, dflash
from transformers import MuseGlimmerAssistantConfig, MuseGlimmerAssistantModel

from sdiff.acceptance import Lossless
from sdiff.decode import Plan, decode
from sdiff.drafters.dflash import DFlash, DFlashConfig, DFlashDenoiser, spread
from sdiff.drafters.masked import MaskedDrafter
from sdiff.drafters.sequence import draft_ids
from sdiff.hub_files import Source, load_tensors, raw_config
from sdiff.hub_verifier import HubVerifier
from sdiff.sampling import Dice, Shape
from sdiff.trace import MASKED

MASK = 47


def loaded(folder, verifier_model, context=64):
    source = Source(str(folder))
    network = DFlash(DFlashConfig.read(raw_config(source)))
    network.load_state_dict(load_tensors(source))
    size = verifier_model.config.vocab_size
    verifier = HubVerifier(verifier_model, context, network.c.taps)
    return verifier, DFlashDenoiser(network.eval(), verifier, draft_ids(size, size, network.c.mask_id))


def reference(folder, verifier_model, context, block):
    """Logits [block, V] of transformers' class, everything read in one pass. `block`: anchor, drafts and masks."""
    c, names = raw_config(Source(str(folder))), {"fc.weight": "encoder.fc.weight", "hidden_norm.weight": "encoder.output_norm_enc.weight"}
    sizes = (
        "hidden_size",
        "intermediate_size",
        "num_hidden_layers",
        "num_attention_heads",
        "num_key_value_heads",
        "head_dim",
        "rms_norm_eps",
        "layer_types",
    )
    config = MuseGlimmerAssistantConfig(**{name: c[name] for name in sizes}, rope_parameters={"rope_type": "default", "rope_theta": c["rope_theta"]},
                                        block_size=c["block_size"], **c["dflash_config"])  # fmt: skip
    model = MuseGlimmerAssistantModel(config).eval()
    model.load_state_dict({names.get(k, k): t for k, t in load_tensors(Source(str(folder))).items()})
    with torch.inference_mode():
        hidden = verifier_model(torch.tensor([context]), output_hidden_states=True).hidden_states
        tapped = torch.cat([hidden[i + 1] for i in c["dflash_config"]["target_layer_ids"]], -1)
        x = verifier_model.get_input_embeddings()(torch.tensor([block]))
        return verifier_model.lm_head(model(noise_embeds=x, context_hidden_states=tapped).last_hidden_state)[0]


def test_logits_equal_transformers_over_several_cycles(tmp_path):
    """The text grows, shrinks and is replaced between blocks; what the drafter keeps of it must follow."""
    model = causal("qwen3", num_hidden_layers=4)
    verifier, denoiser = loaded(dflash(tmp_path), model)
    text = torch.randint(MASK, (30,), generator=torch.Generator().manual_seed(4)).tolist()
    canvas = torch.tensor([MASKED, 7, MASKED])
    for length, kept, other in ((9, 0, 0), (12, 9, 0), (13, 12, 0), (10, 8, 1), (20, 0, 5)):
        text = text[:kept] + [(t + other) % MASK for t in text[kept:]]
        now = text[:length]
        verifier.prefill(now[kept:], kept)
        verifier.score([1, 2, 3])  # drafts that were refused
        verifier.rollback(length)
        denoiser.start([*now, 11])
        got = denoiser.predict(canvas, torch.ones(3))
        want = reference(tmp_path, model, now, [11, MASK, 7, MASK, MASK, MASK])[1:4, :MASK]
        assert want.std() > 0.5
        assert (got - want).abs().max() < 1e-4


def test_a_whole_run_through_the_loop_equals_the_verifier_at_temperature_0(tmp_path):
    model = causal("qwen3", num_hidden_layers=4)
    verifier, denoiser = loaded(dflash(tmp_path), model)
    for steps in (1, 3):
        end = list(decode(verifier, MaskedDrafter(denoiser, Shape(0)), Lossless(), Shape(0), [3, 1, 4], Plan(5, steps, 16, ()), Dice(0)))[
            -1
        ]
        plain = model.generate(torch.tensor([[3, 1, 4]]), max_new_tokens=16, do_sample=False, eos_token_id=None, pad_token_id=0)
        assert list(end.tokens) == plain[0, 3:].tolist()


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("proposal", ["monotone", "one_hot"])
def test_enumeration_shows_no_loss(tmp_path, steps, proposal):
    """One step, as trained, and two, which no training has seen: quality may suffer, losslessness does not."""
    small = {"vocab_size": 4, "dflash_config": {"mask_token_id": 3, "target_layer_ids": [0, 1]}, "num_target_layers": 2, "block_size": 3}
    verifier, denoiser = loaded(dflash(tmp_path, **small), causal("qwen3", seed=2, vocab_size=4), 32)
    assert block_error(verifier, MaskedDrafter(denoiser, Shape(), proposal), [1, 0, 2], 2, steps) < 1e-6


def test_taps_are_those_published_and_foreign_designs_are_refused():
    assert spread(36, 5) == [1, 9, 17, 25, 33]
    assert spread(28, 1) == [14]
    bare = {**DFLASH, "dflash_config": {"mask_token_id": 5}}
    assert DFlashConfig.read(bare).taps == (1, 1)
    assert (
        DFlashConfig.read({**DFLASH, "rope_theta": None, "rope_parameters": {"rope_type": "default", "rope_theta": 5e5}}).rope_base == 5e5
    )
    for changes, word in (
        ({"layer_types": ["sliding_attention"] * 2}, "sliding"), ({"rope_scaling": {"rope_type": "yarn"}}, "yarn"),
        ({"dflash_config": {"mask_token_id": 1, "selector_rank": 8}}, "DFlash2"), ({"dflash_config": {}}, "mask_token_id"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=word):
            DFlashConfig.read({**DFLASH, **changes})


def test_more_than_a_block_is_refused(tmp_path):
    verifier, denoiser = loaded(dflash(tmp_path), causal("qwen3", num_hidden_layers=4))
    verifier.prefill([1, 2])
    denoiser.start([1, 2, 3])
    assert denoiser.predict(torch.full((5,), MASKED), torch.ones(5)).shape == (5, VOCABULARY - 1)
    with pytest.raises(ValueError, match="at most 5 positions, not 6"):
        denoiser.predict(torch.full((6,), MASKED), torch.ones(6))
    with pytest.raises(ValueError, match="has read 2 tokens"):
        denoiser.start([1, 2])
