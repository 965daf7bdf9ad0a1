"""Uniform drafters from disk: DiffusionGemma against transformers' class, the small transformer of Duo and MDLM against a second writing of it."""

from __future__ import annotations

import math

import pytest
import torch
from hubs import block_error, causal, diffusion_gemma, dit
from toys import distance
from transformers import DiffusionGemmaForBlockDiffusion

from sdiff.acceptance import Lossless
from sdiff.decode import Plan, decode
from sdiff.drafters.diffusion_gemma import DiffusionGemmaDenoiser
from sdiff.drafters.dit import DiT, DiTConfig, DiTDenoiser, tensors_of
from sdiff.drafters.masked import MaskedDrafter
from sdiff.drafters.uniform import UniformDrafter
from sdiff.hub_files import Source, load_model, load_tensors, raw_config
from sdiff.hub_verifier import HubVerifier
from sdiff.sampling import Shape
from sdiff.theory import law_of
from sdiff.trace import MASKED, Emit

CPU = torch.device("cpu")


def gemma(folder, block=0, context=64):
    model = load_model(Source(str(folder)), CPU, torch.float32, cls=DiffusionGemmaForBlockDiffusion)
    size = model.config.text_config.vocab_size
    return DiffusionGemmaDenoiser(model, torch.arange(size), size, context, block)


def small(folder, size=48):
    source = Source(str(folder))
    network = DiT(DiTConfig.read(raw_config(source)))
    network.load_state_dict(tensors_of(load_tensors(source)))
    return DiTDenoiser(network.eval(), torch.arange(size), size, size)


def test_diffusion_gemma_equals_transformers_over_several_cycles(tmp_path):
    """Texts longer than the window (6) that grow, are replaced and shrink; two passes each, the second conditioned on the first."""
    denoiser = gemma(diffusion_gemma(tmp_path))
    model = DiffusionGemmaForBlockDiffusion.from_pretrained(tmp_path).eval()
    text = torch.randint(48, (30,), generator=torch.Generator().manual_seed(4)).tolist()
    for context in (text[:4], text[:13], [*text[:15], 7, 8], text[:10], text[3:29]):
        denoiser.start(context)
        rest = torch.Generator().manual_seed(len(context))
        conditioning = None
        for canvas in ([5, 9, 1], [5, 2, 30]):
            got = denoiser.predict(torch.tensor(canvas), torch.ones(3))
            block = [*canvas, *torch.randint(48, (5,), generator=rest).tolist()]
            with torch.inference_mode():
                logits = model(
                    torch.tensor([context]), decoder_input_ids=torch.tensor([block]), self_conditioning_logits=conditioning
                ).logits
            assert logits.std() > 0.5
            assert (got - logits[0, :3]).abs().max() < 1e-4
            assert conditioning is None or (conditioning * 0.6 - logits).abs().max() > 0.01
            conditioning = logits / 0.6


class Remembered:
    """A model that computes each canvas of one text only once, for enumerations."""

    def __init__(self, model):
        self.real, self.known = model, {}

    def __getattr__(self, name):
        return getattr(self.real, name)

    def __call__(self, decoder_input_ids, self_conditioning_logits, **rest):
        key = (*decoder_input_ids[0].tolist(), str(self_conditioning_logits))
        if key not in self.known:
            self.known[key] = self.real(decoder_input_ids=decoder_input_ids, self_conditioning_logits=self_conditioning_logits, **rest)
        return self.known[key]


@pytest.mark.parametrize(("proposal", "steps"), [("monotone", 2), ("final_step", 2), ("one_hot", 1)])
def test_self_conditioned_drafts_are_lossless(tmp_path, proposal, steps):
    """Every path of dice, none merged: what the model predicted from noise that was thrown away still matters to it."""
    verifier = HubVerifier(causal("llama", seed=3, vocab_size=2), 16)
    denoiser = gemma(diffusion_gemma(tmp_path, vocabulary=2), block=2, context=16)
    denoiser.model, drafter = Remembered(denoiser.model), UniformDrafter(denoiser, Shape(), proposal)
    context, known = [1, 0, 1], {}

    def run(dice):
        events = decode(verifier, drafter, Lossless(), Shape(), context, Plan(1 if steps == 1 else 2, steps, 3, (), False), dice)
        tokens = next(e.tokens for e in events if isinstance(e, Emit))
        events.close()
        return tuple(tokens)

    def p(prefix):
        if prefix not in known:
            verifier.prefill([])
            known[prefix] = torch.softmax(verifier.score([*context, *prefix])[-1].double(), -1)
        return known[prefix]

    whole = {}
    for tokens, weight in law_of(run).items():  # the first cycle's tokens, continued by the verifier to three
        paths = {tokens: weight}
        while any(len(t) < 3 for t in paths):
            longer = {}
            for t, w in paths.items():
                for x in range(2) if len(t) < 3 else [None]:
                    longer[t if x is None else (*t, x)] = w if x is None else w * float(p(t)[x])
            paths = longer
        for t, w in paths.items():
            whole[t] = whole.get(t, 0.0) + w
    own = {(a, b, c): float(p(())[a] * p((a,))[b] * p((a, b))[c]) for a in (0, 1) for b in (0, 1) for c in (0, 1)}
    assert distance(whole, own) < 1e-6


def written_again(tensors, raw, tokens, sigma):
    """The small transformer position by position and head by head, complex numbers for the rotation. → logits [T, V]"""
    t = {name.removeprefix("backbone."): value.double() for name, value in tensors.items()}
    heads, width = raw["n_heads"], raw["hidden_dim"]
    d = width // heads

    def linear(name, x):
        return x @ t[f"{name}.weight"].T + t.get(f"{name}.bias", 0.0)

    def norm(name, x):
        return (x - x.mean(-1, keepdim=True)) / (x.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt() * t[f"{name}.weight"]

    angles = torch.tensor([sigma * 10_000.0 ** (-i / 128) for i in range(128)], dtype=torch.float64)
    c = linear("sigma_map.mlp.2", torch.nn.functional.silu(linear("sigma_map.mlp.0", torch.cat([angles.cos(), angles.sin()]))))
    c = torch.nn.functional.silu(c)
    spin = torch.tensor(
        [[position / 10_000.0 ** (2 * i / d) for i in range(d // 2)] for position in range(len(tokens))], dtype=torch.float64
    )
    turn = torch.polar(torch.ones_like(spin), spin)

    def rotated(x):
        z = torch.complex(x[:, : d // 2], x[:, d // 2 :]) * turn
        return torch.cat([z.real, z.imag], -1)

    x = t["vocab_embed.embedding"][tokens]
    for i in range(raw["n_blocks"]):
        parts = linear(f"blocks.{i}.adaLN_modulation", c).chunk(6)
        qkv = linear(f"blocks.{i}.attn_qkv", norm(f"blocks.{i}.norm1", x) * (1 + parts[1]) + parts[0])
        out = []
        for h in range(heads):
            q, k, v = (qkv[:, part * width + h * d : part * width + (h + 1) * d] for part in range(3))
            out.append(torch.softmax(rotated(q) @ rotated(k).T / math.sqrt(d), -1) @ v)
        x = x + parts[2] * linear(f"blocks.{i}.attn_out", torch.cat(out, -1))
        inner = linear(f"blocks.{i}.mlp.0", norm(f"blocks.{i}.norm2", x) * (1 + parts[4]) + parts[3])
        x = x + parts[5] * linear(f"blocks.{i}.mlp.2", torch.nn.functional.gelu(inner, approximate="tanh"))
    shift, scale = linear("output_layer.adaLN_modulation", c).chunk(2)
    return linear("output_layer.linear", norm("output_layer.norm_final", x) * (1 + scale) + shift)


@pytest.mark.parametrize("kind", ["duo", "mdlm"])
def test_the_small_transformer_equals_a_second_writing(tmp_path, kind):
    denoiser = small(dit(tmp_path, kind))
    denoiser.start([3, 9, 1, 20, 11])
    canvas = torch.tensor([5, 9, 1] if kind == "duo" else [MASKED, 9, MASKED])
    got = denoiser.predict(canvas, torch.tensor([1.0, 0.0, 1.0]))
    tokens = torch.tensor([3, 9, 1, 20, 11, *(48 if x == MASKED else x for x in canvas.tolist())])
    sigma = -math.log(1 - 0.999 * 2 / 8) if kind == "duo" else 0.0
    source = Source(str(tmp_path))
    want = written_again(load_tensors(source), raw_config(source), tokens, sigma)[5:, :48]
    assert want.std() > 0.5
    assert (got - want).abs().max() < 1e-4


def test_of_a_long_text_the_last_part_is_seen(tmp_path):
    denoiser = small(dit(tmp_path))
    text = torch.randint(48, (100,), generator=torch.Generator().manual_seed(1)).tolist()
    rows = []
    for context in (text, text[-61:]):
        denoiser.start(context)
        rows.append(denoiser.predict(torch.tensor([1, 2, 3]), torch.ones(3)))
    assert torch.equal(*rows)


@pytest.mark.parametrize(("kind", "proposal"), [("duo", "monotone"), ("duo", "final_step"), ("mdlm", "monotone"), ("mdlm", "final_step")])
def test_enumeration_shows_no_loss(tmp_path, kind, proposal):
    size = 2 if kind == "duo" else 3
    denoiser = small(dit(tmp_path, kind, vocabulary=size + 1), size)
    drafter = (UniformDrafter if kind == "duo" else MaskedDrafter)(denoiser, Shape(), proposal)
    verifier = HubVerifier(causal("gpt2", seed=2, vocab_size=size), 32)
    assert block_error(verifier, drafter, [1, 0, 1], 2, 2) < 1e-6


def test_other_networks_are_refused():
    base = {"hidden_dim": 8, "n_heads": 2, "n_blocks": 1, "cond_dim": 4, "vocab_size": 9, "model_length": 16}
    with pytest.raises(ValueError, match="autoregressive variant"):
        DiTConfig.read({**base, "model_type": "duo", "causal": True})
    with pytest.raises(ValueError, match="'sedd', not mdlm or duo"):
        DiTConfig.read({**base, "model_type": "sedd"})
    assert DiTConfig.read({**base, "model_type": "duo"}).timed
    assert not DiTConfig.read({**base, "model_type": "mdlm"}).timed
