"""The drafter's network: one block behind the verifier's cache equals the many-block training form; masks really hide."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor
from toys import random_

from sdiff.drafters.block import CachedDenoiser
from sdiff.layers import Dimensions, bf16_on_cpu
from sdiff.network import BlockDenoiser
from sdiff.trace import MASKED
from sdiff.training.corpus import HELD_OUT, TEMPERATURE, Row
from sdiff.training.drafter import ANCHORS, Recipe, Training
from sdiff.training.shelf import Shelf
from sdiff.training.teacher import read
from sdiff.verifier import Llama, Verifier

D = Dimensions(width=32, heads=4, kv_heads=2, head_width=8, feed_forward=48, layers=4, vocabulary=61, rope_base=300.0, epsilon=1e-5)
FULL = replace(D, qkv_bias=True, head_norm=True, tied=False, rope_scaling=(8.0, 1.0, 4.0, 32))  # what other verifiers have
IDS = torch.tensor([0, 2, 3, 5, 8, 13, 21, 34, 40, 55, 60])
BLOCK = 8


@pytest.fixture(scope="module", params=[D, FULL], ids=["bundled", "full"])
def model(request) -> Llama:
    return random_(Llama(request.param), 0)


@pytest.fixture(scope="module")
def network(model) -> BlockDenoiser:
    return random_(BlockDenoiser(model.d, (0, 2, 3), IDS, model.embedding, BLOCK, model.unembedding), 1)


def draw(high: int, *shape: int, seed: int, low: int = 0) -> Tensor:
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed))


def student(model: Llama, network: BlockDenoiser) -> Training:
    """A training run on random texts, whose network is `network`."""
    rows = [Row(i, "chat", "", draw(61, 9, seed=i).tolist(), draw(61, 20 + i % 3, seed=99 + i).tolist()) for i in range(HELD_OUT + 3)]
    run = Training(model, rows, [], Recipe(sources=network.sources, block=BLOCK), Shelf(model, network.sources, rows, torch.float32))
    run.network, run.inverse = network, torch.full((61,), -2).scatter_(0, IDS, torch.arange(len(IDS)))
    return run


@dataclass
class Form:
    """The training form: blocks of n behind anchors `at` [B, A] of sequences `ids` [B, T]."""

    ids: Tensor
    at: Tensor
    canvas: Tensor  # [B, A, n]
    level: Tensor

    def logits(self, model: Llama, network: BlockDenoiser) -> Tensor:
        """[B, A, n, K], with the mask and the rotary rows that training uses."""
        (lanes, blocks, n), time = self.canvas.shape, self.ids.shape[1]
        past, hidden = read(model, self.ids, network.sources)
        before = torch.where(self.at[..., None] > 0, hidden[torch.arange(lanes)[:, None], (self.at - 1).clamp(min=0)], 0.0)
        spots = (self.at[..., None] + torch.arange(n)).flatten(1)  # [B, A·n]
        block = torch.arange(blocks).repeat_interleave(n)
        prefix = torch.arange(time) < self.at.repeat_interleave(n, 1)[..., None]
        mask = torch.cat([prefix, (block[:, None] == block).expand(lanes, -1, -1)], -1)
        table = model.d.rotary(time + n)[:, spots][..., None, :]
        return network(self.ids.gather(1, self.at), before, self.canvas, self.level, past, table, mask)


def form(n: int = BLOCK) -> Form:
    level = torch.rand(2, 3, n, generator=torch.Generator().manual_seed(4))
    return Form(draw(61, 2, 30, seed=2), torch.tensor([[0, 7, 19], [12, 13, 29]]), draw(len(IDS), 2, 3, n, seed=3, low=MASKED), level)


def cached(model: Llama, network: BlockDenoiser, context: list[int], canvas: Tensor, level: Tensor) -> Tensor:
    verifier = Verifier(model, context=64)
    verifier.prefill(context[:-1])
    denoiser = CachedDenoiser(network, verifier, 1.0)
    denoiser.start(context)
    return denoiser.predict(canvas, level)


def gap(one: Tensor, other: Tensor) -> float:
    assert one.shape == other.shape
    return (one - other).abs().max().item()


@pytest.mark.parametrize("n", range(1, BLOCK + 1))
def test_one_block_behind_the_cache_equals_the_training_form(model, network, n):
    f = form(n)
    trained = f.logits(model, network)
    assert trained.std() > 0.3, "logits near zero would agree by accident"
    for b in range(2):
        for a in range(3):
            context = f.ids[b, : f.at[b, a] + 1].tolist()
            assert gap(cached(model, network, context, f.canvas[b, a], f.level[b, a]), trained[b, a]) <= 2e-4


def test_the_batches_that_training_makes_equal_the_cached_form(model, network):
    """The very inputs of a training step, not a copy of their recipe."""
    run = student(model, network)
    for noise in ("masked", "uniform", "both"):
        b = run.lesson([0, 1, 2], torch.Generator().manual_seed(5), noise)
        anchor, _, canvas, level, _, _, mask = b.inputs
        trained = network(*b.inputs)
        for lane, row in enumerate(run.corpus[:3]):
            for block in range(ANCHORS):
                at = int(mask[lane, block * BLOCK, : -ANCHORS * BLOCK].sum())  # the prefix it sees: everything before the anchor
                context = (row.prompt + row.answer)[: at + 1]
                assert context[-1] == anchor[lane, block]
                assert len(row.prompt) - 1 <= at < len(row.prompt) + len(row.answer) - 1
                assert gap(cached(model, network, context, canvas[lane, block], level[lane, block]), trained[lane, block]) <= 2e-4


def test_training_targets_are_the_verifiers_laws_on_the_draft_vocabulary(model, network):
    """Row i predicts the token behind row i, for the drafter's logits and for the soft targets alike."""
    run = student(model, network)
    b = run.lesson([0], torch.Generator().manual_seed(5), "both")
    part, whole = run.target(b, whole=False), run.target(b, whole=True)
    at = b.inputs[6][0, ::BLOCK, : -ANCHORS * BLOCK].sum(-1)
    verifier, sequence = Verifier(model, 64), run.corpus[0].prompt + run.corpus[0].answer
    verifier.prefill([])
    logits = verifier.score(sequence) / TEMPERATURE
    for block in range(ANCHORS):
        for i in range(BLOCK):
            if b.inside[0, block, i]:
                assert gap(part[0, block, i], logits[at[block] + i, IDS].softmax(-1)) <= 5e-5
                assert gap(whole[0, block, i], logits[at[block] + i].softmax(-1)[IDS]) <= 5e-5
    assert not (b.open & ~b.inside).any()
    assert (b.token[~b.inside] == -2).all()


def test_the_last_canvas_column_is_never_an_input(model, network):
    f = form()
    other = form()
    other.canvas[..., -1] = (other.canvas[..., -1] + 3) % len(IDS)
    other.level[..., -1] = 1 - other.level[..., -1]
    assert torch.equal(f.logits(model, network), other.logits(model, network))


@pytest.mark.parametrize("column", range(BLOCK - 1))
def test_every_other_column_and_its_level_matter_to_the_whole_block(model, network, column):
    f, token, level = form(), form(), form()
    for each in (f, token, level):
        each.canvas = each.canvas.clamp(min=0)
    token.canvas[..., column] = (token.canvas[..., column] + 3) % len(IDS)
    level.level[..., column] = 1 - level.level[..., column]
    for other in (token, level):
        moved = (f.logits(model, network) - other.logits(model, network)).abs().amax(-1)
        assert (moved > 1e-4).all(), "attention inside a block is bidirectional"


def test_tokens_from_the_anchor_on_are_hidden_and_tokens_before_it_seen(model, network):
    f = form()
    base = f.logits(model, network)
    for b in range(2):
        for a in range(3):
            after, before, at = form(), form(), int(f.at[b, a])
            after.ids[b, at + 1 :] = (after.ids[b, at + 1 :] + 7) % 61
            assert gap(after.logits(model, network)[b, a], base[b, a]) <= 2e-5
            if at:
                before.ids[b, at - 1] = (before.ids[b, at - 1] + 7) % 61
                assert gap(before.logits(model, network)[b, a], base[b, a]) > 1e-3


def test_blocks_do_not_see_each_other(model, network):
    f, other = form(), form()
    base = f.logits(model, network)
    other.canvas[:, 1] = (other.canvas[:, 1] + 3) % len(IDS)
    moved = other.logits(model, network)
    assert gap(moved[:, [0, 2]], base[:, [0, 2]]) == 0
    assert gap(moved[:, 1], base[:, 1]) > 1e-3


def test_masked_positions_look_alike_and_unlike_any_token(model, network):
    """The learned vector stands for masked positions, all of them, and where the level is 0 for nothing else."""
    f, other = form(), copy.deepcopy(network)
    f.level[:] = 0
    other.masked.data += 1
    f.canvas[:] = MASKED
    blank = f.logits(model, network)
    assert gap(f.logits(model, other), blank) > 1e-2
    for token in range(len(IDS)):  # −1 must not be read as "the last row", nor 0 as "masked"
        f.canvas[:] = token
        assert gap(f.logits(model, network), blank) > 1e-2
        assert gap(f.logits(model, other), f.logits(model, network)) == 0


@pytest.mark.parametrize("amount", [0.0, 0.25, 1.0])
def test_a_noisy_token_fades_into_the_masked_vector(model, network, amount):
    """At level t a position is (1−t)·token + t·masked, so pure noise says nothing, masked or uniform."""
    f, settled, other = form(), form(), copy.deepcopy(network)
    for each in (f, settled):
        each.canvas[:] = 4
    f.level[:], settled.level[:] = amount, 0
    other.rows = other.rows.clone()
    other.rows[4] = (1 - amount) * network.rows[4] + amount * network.masked
    other.head = network.head
    assert gap(f.logits(model, network), settled.logits(model, other)) <= 1e-4


def test_pure_noise_of_both_kinds_is_the_same_to_the_network(model, network):
    masked, uniform = form(), form()
    masked.canvas[:], uniform.canvas[:] = MASKED, draw(len(IDS), 2, 3, BLOCK, seed=8)
    uniform.level[:] = 1
    assert gap(masked.logits(model, network), uniform.logits(model, network)) == 0


def test_what_the_verifier_thought_of_the_last_token_matters_to_the_whole_block(model, network):
    other, f = copy.deepcopy(network), form()
    other.thought.weight.data *= 2
    moved = (f.logits(model, other) - f.logits(model, network)).abs().amax(-1)
    assert (moved[f.at > 0] > 1e-4).all()
    assert (moved[f.at == 0] == 0).all(), "before the first token nothing was thought"


@pytest.mark.parametrize("extra", [-1, 1])
def test_start_refuses_a_context_the_verifier_has_not_read(model, network, extra):
    verifier = Verifier(model, 64)
    verifier.prefill([1, 2, 3])
    with pytest.raises(ValueError, match="the verifier has read 3 tokens"):
        CachedDenoiser(network, verifier, 1.0).start([1, 2, 3, 4, 5][: 4 + extra])


def test_the_cache_is_read_only_as_far_as_it_is_valid(model, network):
    """Rows behind a rollback are stale: a block drafted after it equals one drafted behind a fresh read."""
    verifier, f = Verifier(model, 64), form()
    canvas, level, context = f.canvas[0, 0], f.level[0, 0], f.ids[0, :10].tolist()
    verifier.prefill(context[:-2])
    verifier.score([context[-2], 7, 8, 9])
    verifier.rollback(9)
    denoiser = CachedDenoiser(network, verifier, 1.0)
    denoiser.start(context)
    assert gap(denoiser.predict(canvas, level), cached(model, network, context, canvas, level)) <= 2e-5


def test_drafting_works_at_both_ends_of_the_context(model, network):
    f = form()
    first = cached(model, network, [5], f.canvas[0, 0], f.level[0, 0])  # the verifier has read nothing yet
    assert first.shape == (BLOCK, len(IDS))
    assert first.isfinite().all()
    context = draw(61, 64 - BLOCK, seed=9).tolist()  # anchor and drafts fill the 64 tokens exactly
    assert cached(model, network, context, f.canvas[0, 0], f.level[0, 0]).isfinite().all()


@pytest.mark.skipif(not bf16_on_cpu(), reason="this CPU does not compute in bf16")
def test_packing_for_inference_changes_no_more_than_rounding(model, network):
    """In bf16: packed and ordinary matrices stay as close to each other as either is to float32."""
    half = Llama(model.d)
    half.load_state_dict(model.state_dict())
    half = half.bfloat16().requires_grad_(False)

    def twin() -> BlockDenoiser:
        same = BlockDenoiser(model.d, network.sources, IDS, half.embedding, BLOCK, half.unembedding)
        same.load_state_dict(network.state_dict())
        return same.bfloat16().requires_grad_(False).eval()

    f, plain, packed = form(), twin(), twin()
    packed.pack_for_inference()
    context = f.ids[0, :20].tolist()
    exact = cached(model, network, context, f.canvas[0, 0], f.level[0, 0])
    results = [cached(half, n, context, f.canvas[0, 0], f.level[0, 0].bfloat16()) for n in (plain, packed)]
    spread = exact.std()
    for result in results:
        assert result.dtype == torch.bfloat16
        assert (result.float() - exact).abs().mean() < 0.1 * spread
    assert (results[0].float() - results[1].float()).abs().mean() < 0.05 * spread
