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
    "altered shard": (lambda f: flip(f / "layer1.safetensors"), r"The drafter file layer1\.safetensors differs from its card\."),
    "truncated shard": (lambda f: cut(f / "head.safetensors"), r"The drafter file head\.safetensors differs from its card\."),
    "missing shard": (lambda f: (f / "layer0.safetensors").unlink(), r"The drafter file layer0\.safetensors is missing\."),
    "missing card": (lambda f: (f / "card.json").unlink(), r"The drafter file card\.json is missing\."),
    "missing folder": (shutil.rmtree, r"The drafter file card\.json is missing\."),
    "truncated card": (lambda f: cut(f / "card.json"), "The drafter in drafters cannot be read"),
    "empty card": (lambda f: (f / "card.json").write_text(""), "The drafter in drafters cannot be read"),
    "binary card": (lambda f: (f / "card.json").write_bytes(b"\xff\xfe\x00"), "The drafter in drafters cannot be read"),
    "card of a list": (lambda f: (f / "card.json").write_text("[]"), "The drafter in drafters cannot be read"),
    "card of a number": (lambda f: (f / "card.json").write_text("3"), "The drafter in drafters cannot be read"),
    "card without files": (lambda f: change_card(f, lambda c: c.pop("files")), r"cannot be read \(card\.json lacks files\)"),
    "card without date": (lambda f: change_card(f, lambda c: c.pop("date")), r"cannot be read \(card\.json lacks date\)"),
    "files as a list": (lambda f: change_card(f, lambda c: c.update(files=["head.safetensors"])), "cannot be read"),
    "file without hash": (lambda f: change_card(f, lambda c: c["files"]["head.safetensors"].pop("sha256")), "cannot be read"),
    "layer not listed": (lambda f: change_card(f, lambda c: c["files"].pop("layer1.safetensors")), "cannot be read"),
    "head not listed": (lambda f: change_card(f, lambda c: c["files"].pop("head.safetensors")), "cannot be read"),
    "config of text": (lambda f: change_card(f, lambda c: c.update(config="x")), "cannot be read"),
    "block of text": (lambda f: change_card(f, lambda c: c["config"].update(block="x")), "cannot be read"),
    "other block": (lambda f: change_card(f, lambda c: c["config"].update(block=5)), "cannot be read"),
    "other layers": (lambda f: change_card(f, lambda c: c["config"].update(sources=[0])), "cannot be read"),
    "not safetensors": (lambda f: _garbage(f), "cannot be read"),
    "no ids": (lambda f: resave(f, "head.safetensors", lambda t: t.update(ids=t["ids"][:0])), "cannot be read"),
    "other verifier": (lambda f: change_card(f, lambda c: c["config"].update(verifier_sha256="0" * 64)), "This drafter was trained for another verifier"),
    "other vocabulary": (lambda f: change_card(f, lambda c: c["config"].update(vocabulary=65)), "This drafter was trained for another verifier"),
    "id too large": (lambda f: resave(f, "head.safetensors", lambda t: t["ids"].__setitem__(0, 64)), "This drafter was trained for another verifier"),
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
    assert str(caught.value).endswith(("Restore precomputed/drafters from the repository.", "Restore it from the repository."))


SHIPPED = bundled.DRAFTERS / "card.json"


@pytest.mark.skipif(not SHIPPED.exists(), reason="no trained drafter is shipped yet")
def test_shipped_drafters_match_their_card_and_stay_below_ten_megabytes():
    card = json.loads(SHIPPED.read_text())
    present = {str(f.relative_to(bundled.DRAFTERS)) for f in bundled.DRAFTERS.rglob("*") if f.is_file()}
    assert present == {*card["files"], "card.json"}
    for name, about in card["files"].items():
        data = (bundled.DRAFTERS / name).read_bytes()
        assert len(data) == about["bytes"] < 10_000_000, name
        assert hashlib.sha256(data).hexdigest() == about["sha256"], name
    assert card["config"]["verifier_sha256"] == fetch.SHA256
    assert {"date", "training_temperature", "command", "corpus", "hardware", "license"} <= set(card)


@pytest.mark.model
@pytest.mark.skipif(not SHIPPED.exists(), reason="no trained drafter is shipped yet")
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
