"""The hand-written Llama against transformers' own, and what the decoder relies on: blocks, rollback, the context's end."""

from __future__ import annotations

import pytest
import torch
from real import real
from torch import Tensor
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

from sdiff.fetch import fetch_verifier
from sdiff.layers import Dimensions, bf16_on_cpu
from sdiff.verifier import ContextFull, Llama, Verifier

VOCABULARY = 97


def tiny(heads: int = 6, kv_heads: int = 2, seed: int = 0) -> tuple[LlamaForCausalLM, Llama]:
    """A random Llama of transformers, with logits of ordinary size, and its twin here."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        hidden_size=48, num_attention_heads=heads, num_key_value_heads=kv_heads, head_dim=8, intermediate_size=80, num_hidden_layers=3, vocab_size=VOCABULARY,
        max_position_embeddings=2048, tie_word_embeddings=True, rms_norm_eps=1e-5, initializer_range=0.2, rope_parameters={"rope_type": "default", "rope_theta": 500.0},
    )  # fmt: skip
    reference = LlamaForCausalLM(config).eval()
    for name, weight in reference.named_parameters():
        if "norm" in name:
            weight.data.uniform_(0.5, 1.5)
    d = Dimensions(48, heads, kv_heads, 8, 80, 3, VOCABULARY, 500.0, 1e-5)
    return reference, Llama.from_tensors(d, reference.state_dict(), torch.float32, "cpu")


def tokens(n: int, seed: int = 1, size: int = VOCABULARY) -> list[int]:
    return torch.randint(size, (n,), generator=torch.Generator().manual_seed(seed)).tolist()


def expected(reference: LlamaForCausalLM, ids: list[int]) -> Tensor:
    with torch.inference_mode():
        return reference(torch.tensor([ids])).logits[0]


def fresh(model: Llama, prefix: list[int], block: list[int], context: int = 2048) -> Tensor:
    verifier = Verifier(model, context)
    verifier.prefill(prefix)
    return verifier.score(block)


def close(one: Tensor, other: Tensor, tolerance: float) -> None:
    assert one.shape == other.shape
    assert (one - other).abs().max().item() <= tolerance


# ------------------------------------------------------------------------------------------ a random model


@pytest.mark.parametrize("kv_heads", [6, 3, 2])  # 1, 2 and 3 query heads share a key head
@pytest.mark.parametrize("split", [0, 1, 20, 39])
def test_logits_equal_transformers_for_every_grouping(kv_heads, split):
    reference, model = tiny(kv_heads=kv_heads)
    ids = tokens(40)
    want = expected(reference, ids)
    assert want.std() > 0.5, "logits near zero would agree by accident"
    close(fresh(model, ids[:split], ids[split:]), want[split:], 2e-5)


def test_a_prompt_read_in_chunks_equals_one_pass():
    reference, model = tiny()
    ids = tokens(1100)  # chunks of 512, 512 and 70
    want = expected(reference, ids)
    close(fresh(model, ids[:1094], ids[1094:]), want[1094:], 5e-5)
    close(fresh(model, ids[:512], ids[512:]), want[512:], 5e-5)


def test_scoring_a_block_equals_scoring_its_tokens_one_by_one():
    _, model = tiny()
    prefix, block = tokens(13), tokens(9, seed=2)
    verifier = Verifier(model)
    verifier.prefill(prefix)
    one_by_one = torch.cat([verifier.score([token]) for token in block])
    close(fresh(model, prefix, block), one_by_one, 2e-5)
    assert verifier.length == len(prefix) + len(block)


def test_rollback_to_every_length_then_scoring_equals_a_fresh_read():
    _, model = tiny()
    ids, block = tokens(20), tokens(5, seed=3)
    verifier = Verifier(model)
    verifier.prefill(ids[:12])
    verifier.score(ids[12:])
    for kept in reversed(range(len(ids) + 1)):  # from 20 down to 0; the block that was scored before is still in the cache
        verifier.rollback(kept)
        assert (verifier.length, verifier.room) == (kept, 2048 - kept)
        close(verifier.score(block), fresh(model, ids[:kept], block), 2e-5)
        verifier.rollback(kept)


@pytest.mark.parametrize("kept", [-1, 6])
def test_rollback_refuses_what_was_never_read(kept):
    verifier = Verifier(tiny()[1])
    verifier.prefill(tokens(5))
    with pytest.raises(ValueError, match=rf"cannot keep {kept} of 5 tokens"):
        verifier.rollback(kept)
    assert verifier.length == 5


@pytest.mark.parametrize(("first", "second"), [(3, 30), (30, 3), (0, 7), (7, 0), (600, 700)])
def test_a_second_prompt_knows_nothing_of_the_first(first, second):
    _, model = tiny()
    verifier, block = Verifier(model), tokens(4, seed=5)
    verifier.prefill(tokens(first, seed=6))
    verifier.score(block)
    verifier.prefill(tokens(second, seed=7))
    assert verifier.length == second
    close(verifier.score(block), fresh(model, tokens(second, seed=7), block), 2e-5)


def test_a_prompt_longer_than_the_context_is_refused_in_words():
    _, model = tiny()
    verifier = Verifier(model, context=1024)
    verifier.prefill(tokens(1024))
    assert verifier.room == 0
    with pytest.raises(ContextFull, match=r"The prompt has 1,025 tokens; this verifier reads at most 1,024\. Shorten it\."):
        verifier.prefill(tokens(1025))
    close(fresh(model, tokens(5), [1], 1024), expected(tiny()[0], [*tokens(5), 1])[-1:], 2e-5)


def test_a_block_may_reach_exactly_the_end_of_the_context():
    reference, model = tiny()
    ids, verifier = tokens(32), Verifier(model, context=32)
    verifier.prefill(ids[:25])
    with pytest.raises(ContextFull, match="8 more tokens do not fit: the context holds 32"):
        verifier.score(tokens(8))
    assert verifier.length == 25, "a refused block leaves everything as it was"
    close(verifier.score(ids[25:]), expected(reference, ids)[25:], 2e-5)
    assert verifier.room == 0
    with pytest.raises(ContextFull):
        verifier.score([1])
    verifier.rollback(31)
    close(verifier.score(ids[31:]), expected(reference, ids)[31:], 2e-5)


def test_reading_nothing_and_scoring_nothing():
    reference, model = tiny()
    verifier = Verifier(model)
    verifier.prefill([])
    assert verifier.length == 0
    assert verifier.score([]).shape == (0, VOCABULARY)
    close(verifier.score([3]), expected(reference, [3]), 2e-5)


def test_lists_and_tensors_are_the_same_and_scoring_keeps_no_graph():
    _, model = tiny()
    ids = tokens(6)
    a, b = fresh(model, [], ids), fresh(model, [], torch.tensor(ids))
    assert torch.equal(a, b)
    assert not a.requires_grad


@pytest.mark.skipif(not bf16_on_cpu(), reason="this CPU does not compute in bf16")
def test_packing_changes_no_more_than_rounding_and_can_be_done_twice():
    """Packed bf16 against ordinary bf16 matrices; the layers of a model are packed in place, its embedding is not."""
    wide, packed = tiny()[1], tiny()[1].bfloat16()
    first = fresh(packed, [], tokens(30))
    assert torch.equal(fresh(packed, [], tokens(30)), first)
    assert packed.embedding.shape == (VOCABULARY, 48)
    exact = fresh(wide, [], tokens(30))
    assert (first.float() - exact).abs().mean() < 0.05 * exact.abs().mean()


# ------------------------------------------------------------------------------------------ the bundled model

PROMPTS = [
    "Hello", "A", " ", "\n\n\n\n", "The capital of France is", "1234567890 + 98765 =", "🙂👩‍👩‍👧 žluť\n漢字", "Ελληνικά και русский и العربية", "()[]{}<>" * 10,
    "def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\n", "import torch\n" * 20, "SELECT name, COUNT(*) FROM t WHERE a >= 3.5 GROUP BY name;",
    "<|im_start|>user\nWhat is 2+2?<|im_end|>\n<|im_start|>assistant\n", "<|im_end|>", "a" * 200, "x = {'k': [1, 2, 3]}\t# ünïcode\r\n", "Once upon a time, " * 60,
    "а б в г д " * 30, "Natalia sold clips to 48 of her friends in April, and then she sold half as many clips in May. How many clips did she sell altogether?",
    "∑ᵢ xᵢ² ≤ ½·π — “quotes” … ﷽",
]  # fmt: skip


@pytest.fixture(scope="module")
def bundled_verifier() -> Verifier:
    return Verifier(real()[0])


@pytest.fixture(scope="module")
def reference() -> LlamaForCausalLM:
    real()  # skips where the file cannot be had
    gguf = fetch_verifier()
    return AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32).eval()


@pytest.mark.model
def test_float32_logits_equal_transformers_on_20_prompts(bundled_verifier, reference):
    tokenizer, worst = real()[1], {}
    for prompt in PROMPTS:
        ids = tokenizer(prompt)["input_ids"]
        bundled_verifier.prefill([])
        got, want = bundled_verifier.score(ids), expected(reference, ids)
        worst[prompt] = (got - want).abs().max().item()
    assert len(worst) == 20
    assert max(worst.values()) <= 1e-4, worst
    assert max(len(tokenizer(p)["input_ids"]) for p in PROMPTS) >= 300


@pytest.mark.model
def test_float32_blocks_and_rollback_on_the_bundled_model(bundled_verifier):
    ids = real()[1](PROMPTS[9] * 2)["input_ids"]
    bundled_verifier.prefill([])
    whole = bundled_verifier.score(ids)
    start = len(ids) - 9
    for size in (1, 2, 3, 9):
        bundled_verifier.rollback(start)
        blocks = torch.cat([bundled_verifier.score(ids[i : i + size]) for i in range(start, len(ids), size)])
        assert (blocks - whole[start:]).abs().max() <= 2e-4, size


@pytest.mark.model
@pytest.mark.skipif(not bf16_on_cpu(), reason="this CPU does not compute in bf16")
def test_bfloat16_stays_close_to_float32(bundled_verifier):
    """Total variation between next-token laws: dtype against dtype, and block against token by token in bf16."""
    model, tokenizer = real(torch.bfloat16)
    verifier = Verifier(model)

    def law(logits: Tensor) -> Tensor:
        return logits.float().softmax(-1)

    between, blocks = [], []
    for prompt in PROMPTS[4:10]:
        ids = tokenizer(prompt)["input_ids"]
        bundled_verifier.prefill([])
        verifier.prefill([])
        exact, block = law(bundled_verifier.score(ids)), law(verifier.score(ids))
        verifier.rollback(max(0, len(ids) - 8))
        single = law(torch.cat([verifier.score([token]) for token in ids[verifier.length :]]))
        between.append((exact - block).abs().sum(-1) / 2)
        blocks.append((single - block[-len(single) :]).abs().sum(-1) / 2)
    between, blocks = torch.cat(between), torch.cat(blocks)
    print(
        f"TV bf16–float32: mean {between.mean():.4f}, worst {between.max():.4f}; block–single: mean {blocks.mean():.4f}, worst {blocks.max():.4f}"
    )
    assert between.mean() < 0.03
    assert blocks.mean() < 0.03
    assert max(between.max(), blocks.max()) < 0.2
