"""Weights on disk: whatever is damaged, missing or foreign ends in a sentence, and starting again helps. Tiny models, no network."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from real import real
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from sdiff import bundled, fetch
from sdiff.bundled import load_drafter, load_verifier, save_drafter
from sdiff.fetch import PairError
from sdiff.layers import Dimensions
from sdiff.network import BlockDenoiser
from sdiff.verifier import Llama, Verifier

CPU = torch.device("cpu")
D = Dimensions(width=16, heads=2, kv_heads=1, head_width=8, feed_forward=24, layers=3, vocabulary=64, rope_base=300.0, epsilon=1e-5)
IDS = torch.tensor([1, 2, 5, 9, 40, 63])
CARD = {"date": "2030-01-01", "training_temperature": 0.7, "note": "žluť"}
AGAIN = r"^The cached copy of the verifier was damaged \(.*\)\. It was removed; start again\.$"

# ------------------------------------------------------------------------------------------ drafters


def scrambled(module: torch.nn.Module, seed: int) -> Any:
    generator = torch.Generator().manual_seed(seed)
    for parameter in module.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator)
    return module.requires_grad_(False).eval()


@pytest.fixture(scope="module")
def verifier() -> Llama:
    return scrambled(Llama(D), 0)


@pytest.fixture(scope="module")
def network(verifier) -> BlockDenoiser:
    return scrambled(BlockDenoiser(D, (0, 2), IDS, verifier.embedding, 4), 1)


@pytest.fixture
def folder(tmp_path, network) -> Path:
    save_drafter(network, tmp_path / "drafters", CARD)
    return tmp_path / "drafters"


def change_card(folder: Path, change: Any) -> None:
    card = json.loads((folder / "card.json").read_text())
    change(card)
    (folder / "card.json").write_text(json.dumps(card))


def resave(folder: Path, name: str, change: Any) -> None:
    """Alter a shard and make the card agree with it."""
    tensors = load_file(folder / name)
    change(tensors)
    save_file(tensors, folder / name)
    digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    change_card(folder, lambda card: card["files"][name].update(sha256=digest))


def test_a_drafter_round_trip_is_exact_in_float16(folder, network, verifier):
    loaded, card = load_drafter(verifier, folder, CPU, torch.float32)
    wanted = dict(network.named_parameters())
    assert dict(loaded.named_parameters()).keys() == wanted.keys()
    for name, parameter in loaded.named_parameters():
        assert torch.equal(parameter, wanted[name].half().float()), name
        assert not parameter.requires_grad
    assert torch.equal(loaded.ids, IDS)
    assert torch.equal(loaded.rows, verifier.embedding[IDS])
    assert (loaded.sources, loaded.block, loaded.training) == ((0, 2), 4, False)
    assert card.items() >= CARD.items()


def test_saving_what_was_loaded_gives_the_same_files(folder, verifier, tmp_path):
    loaded, _ = load_drafter(verifier, folder, CPU, torch.float32)
    save_drafter(loaded, tmp_path / "again", CARD)
    assert {f.name: f.read_bytes() for f in folder.iterdir()} == {f.name: f.read_bytes() for f in (tmp_path / "again").iterdir()}


def test_a_drafter_loads_in_bfloat16(folder, verifier):
    loaded, _ = load_drafter(verifier, folder, CPU, torch.bfloat16)
    assert {p.dtype for p in loaded.parameters()} == {loaded.rows.dtype, loaded.embedding.dtype} == {torch.bfloat16}


def test_the_card_lists_every_shard_with_its_hash_and_size(folder):
    files = json.loads((folder / "card.json").read_text())["files"]
    assert set(files) == {"head.safetensors", "layer0.safetensors", "layer1.safetensors"} == {f.name for f in folder.glob("*.safetensors")}
    for name, about in files.items():
        data = (folder / name).read_bytes()
        assert about == {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-10])


DRAFTER_DAMAGE = {
    "altered shard": (lambda f: flip(f / "layer1.safetensors"), r"drafters/layer1\.safetensors differs from its card\."),
    "truncated shard": (lambda f: cut(f / "head.safetensors"), r"drafters/head\.safetensors differs from its card\."),
    "missing shard": (lambda f: (f / "layer0.safetensors").unlink(), r"drafters/layer0\.safetensors is missing\."),
    "missing card": (lambda f: (f / "card.json").unlink(), r"drafters/card\.json is missing\."),
    "missing folder": (shutil.rmtree, r"drafters/card\.json is missing\."),
    "truncated card": (lambda f: cut(f / "card.json"), "What is in drafters cannot be used"),
    "empty card": (lambda f: (f / "card.json").write_text(""), "What is in drafters cannot be used"),
    "binary card": (lambda f: (f / "card.json").write_bytes(b"\xff\xfe\x00"), "What is in drafters cannot be used"),
    "card of a list": (lambda f: (f / "card.json").write_text("[]"), "What is in drafters cannot be used"),
    "card of a number": (lambda f: (f / "card.json").write_text("3"), "What is in drafters cannot be used"),
    "card without files": (lambda f: change_card(f, lambda c: c.pop("files")), r"cannot be used: card\.json lacks files"),
    "card without date": (lambda f: change_card(f, lambda c: c.pop("date")), r"cannot be used: card\.json lacks date"),
    "files as a list": (lambda f: change_card(f, lambda c: c.update(files=["head.safetensors"])), "cannot be used"),
    "file without hash": (lambda f: change_card(f, lambda c: c["files"]["head.safetensors"].pop("sha256")), "cannot be used"),
    "layer not listed": (lambda f: change_card(f, lambda c: c["files"].pop("layer1.safetensors")), "cannot be used"),
    "head not listed": (lambda f: change_card(f, lambda c: c["files"].pop("head.safetensors")), "cannot be used"),
    "config of text": (lambda f: change_card(f, lambda c: c.update(config="x")), "cannot be used"),
    "block of text": (lambda f: change_card(f, lambda c: c["config"].update(block="x")), "cannot be used"),
    "other block": (lambda f: change_card(f, lambda c: c["config"].update(block=5)), "cannot be used"),
    "other layers": (lambda f: change_card(f, lambda c: c["config"].update(sources=[0])), "cannot be used"),
    "not safetensors": (lambda f: _garbage(f), "cannot be used"),
    "no ids": (lambda f: resave(f, "head.safetensors", lambda t: t.update(ids=t["ids"][:0])), "cannot be used"),
    "other verifier": (lambda f: change_card(f, lambda c: c["config"].update(verifier_sha256="0" * 64)), "What is in drafters was trained for another verifier"),
    "other vocabulary": (lambda f: change_card(f, lambda c: c["config"].update(vocabulary=65)), "65 tokens in its vocabulary where 64 is needed"),
    "other mask": (lambda f: change_card(f, lambda c: c["config"].update(mask_id=49)), "49 as the id of a masked position where -1 is needed"),
    "shorter block": (lambda f: change_card(f, lambda c: c["config"].update(block=12)), "4 positions in a block where 12 is needed"),
    "id too large": (lambda f: resave(f, "head.safetensors", lambda t: t["ids"].__setitem__(0, 64)), "What is in drafters cannot be used"),
}  # fmt: skip


def _garbage(folder: Path) -> None:
    (folder / "head.safetensors").write_bytes(b"garbage" * 10)
    digest = hashlib.sha256(b"garbage" * 10).hexdigest()
    change_card(folder, lambda card: card["files"]["head.safetensors"].update(sha256=digest))


@pytest.mark.parametrize("damage", DRAFTER_DAMAGE)
def test_a_bad_drafter_is_named_and_says_what_to_do(folder, verifier, damage):
    break_it, sentence = DRAFTER_DAMAGE[damage]
    break_it(folder)
    with pytest.raises(PairError, match=sentence) as caught:
        load_drafter(verifier, folder, CPU, torch.float32)
    assert str(caught.value).endswith("Restore precomputed/drafters from the repository.")


# ------------------------------------------------------------------------------------------ the task adapter


@pytest.fixture
def adapter(tmp_path) -> Path:
    generator = torch.Generator().manual_seed(5)
    sizes = {"layers.0.qkv": (32, 16), "layers.2.down": (16, 24)}
    tensors = {
        f"{name}.{m}": torch.randn(s, generator=generator) for name, (o, i) in sizes.items() for m, s in (("A", (2, i)), ("B", (o, 2)))
    }
    bundled.save(
        {"adapter.safetensors": tensors},
        tmp_path / "adapter",
        {"date": "2030-01-01", "config": {"scale": 2.0, "verifier_sha256": fetch.SHA256}},
    )
    return tmp_path / "adapter"


def test_an_adapter_is_added_to_the_matrices_it_names_and_to_no_other(adapter):
    plain, adapted, tensors = scrambled(Llama(D), 0), scrambled(Llama(D), 0), load_file(adapter / "adapter.safetensors")
    assert bundled.merge_adapter(adapted, adapter)["date"] == "2030-01-01"
    for name, parameter in adapted.named_parameters():
        key = name.removesuffix(".weight")
        update = 2.0 * tensors[f"{key}.B"].float() @ tensors[f"{key}.A"].float() if f"{key}.A" in tensors else 0.0
        torch.testing.assert_close(parameter, plain.get_parameter(name) + update, rtol=0, atol=1e-6)
    assert bundled.adapter_hash(adapter) == hashlib.sha256((adapter / "adapter.safetensors").read_bytes()).hexdigest()


@pytest.mark.parametrize(("break_it", "sentence"), [
    (lambda f: flip(f / "adapter.safetensors"), r"adapter/adapter\.safetensors differs from its card\."),
    (lambda f: (f / "adapter.safetensors").unlink(), r"adapter/adapter\.safetensors is missing\."),
    (lambda f: change_card(f, lambda c: c["config"].update(verifier_sha256="0")), "What is in adapter was trained for another verifier"),
    (lambda f: change_card(f, lambda c: c["config"].pop("scale")), "What is in adapter cannot be used"),
    (lambda f: resave(f, "adapter.safetensors", lambda t: t.update({"layers.0.qkv.A": torch.ones(2, 9)})), "What is in adapter cannot be used"),
    (lambda f: resave(f, "adapter.safetensors", lambda t: t.update({"layers.9.qkv.A": torch.ones(2, 9)})), "What is in adapter cannot be used"),
])  # fmt: skip
def test_a_bad_adapter_is_named_and_says_what_to_do(adapter, break_it, sentence):
    break_it(adapter)
    with pytest.raises(PairError, match=sentence) as caught:
        bundled.merge_adapter(scrambled(Llama(D), 0), adapter)
    assert str(caught.value).endswith("Restore precomputed/adapter from the repository.")


# ------------------------------------------------------------------------------------------ what is shipped


@pytest.mark.parametrize("folder", [bundled.DRAFTERS, bundled.ADAPTER], ids=lambda f: f.name)
def test_shipped_weights_match_their_card(folder):
    card = json.loads((folder / "card.json").read_text())
    assert {str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file()} == {*card["files"], "card.json"}
    for name, about in card["files"].items():
        data = (folder / name).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (about["bytes"], about["sha256"]), name
    assert card["config"]["verifier_sha256"] == fetch.SHA256
    assert {"date", "command", "data", "hardware", "minutes", "curve", "license", "limits"} <= set(card)


def test_the_shipped_drafter_was_trained_for_the_shipped_adapter():
    card = json.loads((bundled.DRAFTERS / "card.json").read_text())
    assert card["config"]["adapter_sha256"] == bundled.adapter_hash(bundled.ADAPTER)


def test_what_is_precomputed_stays_small():
    sizes = {f: f.stat().st_size for f in bundled.PRECOMPUTED.rglob("*") if f.is_file()}
    assert max(sizes.values()) < 10_000_000
    assert sum(sizes.values()) < 120_000_000


@pytest.mark.model
def test_the_shipped_drafter_loads_and_its_numbers_are_finite():
    network, _ = load_drafter(real()[0], bundled.DRAFTERS, CPU, torch.float32)
    for name, parameter in network.named_parameters():
        assert parameter.isfinite().all(), name
    assert torch.equal(network.ids, network.ids.unique()), "sorted, no token twice"


# ------------------------------------------------------------------------------------------ the verifier's cached copy


def tiny_tokenizer() -> PreTrainedTokenizerFast:
    vocabulary = {
        token: i for i, token in enumerate(["<|endoftext|>", "<|im_start|>", "<|im_end|>", *pre_tokenizers.ByteLevel.alphabet()][:64])
    }
    backend = Tokenizer(models.BPE(vocabulary, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<|im_start|>", eos_token="<|im_end|>", unk_token="<|endoftext|>"
    )
    tokenizer.chat_template = "{% for m in messages %}{{ m['content'] }}{% endfor %}"
    return tokenizer


@dataclass
class Cache:
    folder: Path  # where the dequantised copy goes
    reference: LlamaForCausalLM  # what stands in for the GGUF
    dequantised: list[str] = field(default_factory=list)  # one entry per dequantisation

    def files(self) -> set[str]:
        return {f.name for f in self.folder.iterdir()}


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Cache:
    """An empty cache in which a tiny model stands in for the GGUF."""
    config = LlamaConfig(
        hidden_size=16, num_attention_heads=2, num_key_value_heads=1, head_dim=8, intermediate_size=24, num_hidden_layers=2, vocab_size=64, tie_word_embeddings=True,
        rms_norm_eps=1e-5, rope_parameters={"rope_type": "default", "rope_theta": 300.0},
    )  # fmt: skip
    torch.manual_seed(0)
    c = Cache(tmp_path / f"{bundled.NAME}-{fetch.SHA256[:8]}", LlamaForCausalLM(config).eval())
    real_tokenizer = transformers.AutoTokenizer.from_pretrained
    monkeypatch.setenv("SDIFF_CACHE", str(tmp_path))
    monkeypatch.setattr(bundled, "fetch_verifier", lambda progress: tmp_path / "model.gguf")
    monkeypatch.setattr(
        transformers.AutoModelForCausalLM,
        "from_pretrained",
        lambda folder, gguf_file, dtype: c.dequantised.append(gguf_file) or c.reference,
    )
    monkeypatch.setattr(
        transformers.AutoTokenizer,
        "from_pretrained",
        lambda folder, gguf_file=None: tiny_tokenizer() if gguf_file else real_tokenizer(folder),
    )
    return c


def load(dtype: torch.dtype = torch.float32) -> tuple[Llama, Any]:
    return load_verifier(CPU, dtype)


def test_the_first_start_dequantises_and_later_ones_do_not(cache):
    told: list[str] = []
    for _ in range(2):
        model, tokenizer = load_verifier(CPU, torch.float32, lambda text, done: told.append(text))
    assert cache.dequantised == ["model.gguf"]
    assert told == ["Loading the verifier", "Dequantising the verifier (once, about 20 s)", "Loading the verifier"]
    with torch.inference_mode():
        want = cache.reference(torch.tensor([[5, 6, 7]])).logits[0]
    verifier = Verifier(model)
    verifier.prefill([])
    assert (verifier.score([5, 6, 7]) - want).abs().max() < 1e-6
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id) == (1, 2)
    assert "messages" in tokenizer.chat_template


def test_both_dtypes_live_side_by_side(cache):
    assert load(torch.bfloat16)[0].embedding.dtype == torch.bfloat16
    assert load(torch.float32)[0].embedding.dtype == torch.float32
    load(torch.bfloat16)
    assert len(cache.dequantised) == 2
    assert cache.files() >= {"bfloat16.safetensors", "float32.safetensors", "tokenizer.json"}
    assert "unfinished" not in cache.files()


def test_what_a_killed_process_left_is_cleared_and_never_taken_for_whole(cache):
    (cache.folder / "unfinished").mkdir(parents=True)
    for name in ("float32.safetensors", "bfloat16.safetensors"):
        (cache.folder / "unfinished" / name).write_bytes(b"half")
    load()
    assert "bfloat16.safetensors" not in cache.files()
    assert "unfinished" not in cache.files()
    assert len(cache.dequantised) == 1


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), SafetensorError("Error while serializing: No space left on device")]
)
def test_a_disk_that_fills_up_while_dequantising(cache, monkeypatch, error):
    def full(_tensors, path, _metadata):
        Path(path).write_bytes(b"half of it")
        raise error

    with monkeypatch.context() as during:
        during.setattr(bundled, "save_file", full)
        with pytest.raises(PairError, match=r"Writing to .* failed \(.*No space left on device\)\. Free some space or set SDIFF_CACHE"):
            load()
    assert cache.files() <= {"write.lock"}, "the half file would keep the disk full"
    load()


def test_a_cache_that_cannot_be_written(cache):
    cache.folder.write_text("a file in the folder's place")
    with pytest.raises(PairError, match=r"Writing to .* failed"):
        load()


def _metadata(text: str | None) -> Any:
    def change(file: Path) -> None:
        save_file(load_file(file), file, None if text is None else {"dimensions": text})

    return change


def _tensors(change: Any) -> Any:
    def apply(file: Path) -> None:
        with safe_open(file, "pt") as opened:
            metadata = opened.metadata()
        tensors = load_file(file)
        change(tensors)
        save_file(tensors, file, metadata)

    return apply


WEIGHT_DAMAGE = {
    "truncated": cut,
    "empty": lambda f: f.write_bytes(b""),
    "garbage": lambda f: f.write_bytes(b"garbage" * 100),
    "header of zeros": lambda f: f.write_bytes(bytes(64) + f.read_bytes()[64:]),
    "no metadata": _metadata(None),
    "broken metadata": _metadata('{"width": 16'),
    "metadata of a list": _metadata("[]"),
    "other dimensions": _metadata(json.dumps({**D.__dict__, "width": 32})),
    "a tensor is missing": _tensors(lambda t: t.pop("model.norm.weight")),
    "a tensor has another shape": _tensors(lambda t: t.update({"model.layers.1.mlp.down_proj.weight": torch.zeros(3, 3)})),
}


@pytest.mark.parametrize("damage", WEIGHT_DAMAGE)
def test_damaged_weights_are_removed_and_starting_again_helps(cache, damage):
    load()
    WEIGHT_DAMAGE[damage](cache.folder / "float32.safetensors")
    with pytest.raises(PairError, match=AGAIN):
        load()
    assert "float32.safetensors" not in cache.files()
    load()
    assert len(cache.dequantised) == 2


TOKENIZER_DAMAGE = {
    "truncated": lambda f: cut(f / "tokenizer.json"),
    "empty": lambda f: (f / "tokenizer.json").write_text(""),
    "other JSON": lambda f: (f / "tokenizer.json").write_text("{}"),
    "settings truncated": lambda f: cut(f / "tokenizer_config.json"),
    "settings missing": lambda f: (f / "tokenizer_config.json").unlink(),
    "template missing": lambda f: (f / "chat_template.jinja").unlink(),
}


@pytest.mark.parametrize("damage", TOKENIZER_DAMAGE)
def test_a_damaged_tokenizer_is_removed_and_starting_again_helps(cache, damage):
    load()
    TOKENIZER_DAMAGE[damage](cache.folder)
    with pytest.raises(PairError, match=AGAIN):
        load()
    assert "tokenizer.json" not in cache.files()
    load()
    assert len(cache.dequantised) == 2
