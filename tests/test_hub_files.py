"""Checkpoints on disk that are whole, cut short, incomplete or foreign; and every error a hub can answer with, in words."""

from __future__ import annotations

import errno
import json

import pytest
import torch
from hubs import causal, config, saved
from huggingface_hub import errors

from sdiff.fetch import PairError
from sdiff.hub_files import Source, config_of, explained, load_model, load_tensors, raw_config, told

CPU = torch.device("cpu")


def answered(kind, status):
    """As the hub's client makes it: with the response it got."""
    http = pytest.importorskip(errors.HTTPError.__module__.split(".")[0])
    response = http.Response(status, request=http.Request("GET", "https://hub.example/x"), headers={"x-request-id": "1"})
    return kind("refused", response=response)


@pytest.mark.parametrize(("make", "word"), [
    (lambda: answered(errors.GatedRepoError, 403), "is gated"),
    (lambda: answered(errors.RepositoryNotFoundError, 404), "There is no a/b on the hub"),
    (lambda: answered(errors.RevisionNotFoundError, 404), "no such revision"),
    (lambda: answered(errors.RemoteEntryNotFoundError, 404), "lacks a file"),
    (lambda: answered(errors.HfHubHTTPError, 429), "for now"),
    (lambda: errors.LocalEntryNotFoundError("not in the cache"), "cannot be reached"),
    (lambda: errors.OfflineModeIsEnabled("offline"), "HF_HUB_OFFLINE"),
    (lambda: errors.HFValidationError("Repo id must be"), "neither a folder nor a name"),
    (lambda: ConnectionError("no route"), "cannot be reached"),
    (lambda: OSError(errno.ENOSPC, "No space left on device"), "disk is full"),
    (lambda: PermissionError(errno.EACCES, "denied"), "cannot be written"),
    (lambda: torch.OutOfMemoryError("CUDA out of memory"), "too large for this machine"),
    (lambda: MemoryError(), "too large for this machine"),
    (lambda: RuntimeError("DefaultCPUAllocator: not enough memory: you tried"), "too large for this machine"),
    (lambda: json.JSONDecodeError("Expecting value", "", 0), "damaged or cut short"),
    (lambda: RuntimeError("Error(s) in loading state_dict for DFlash:\n\tMissing key(s)"), "not the names or sizes that its config.json implies"),
    (lambda: ValueError("Please pass the argument `trust_remote_code=True`"), "code of its own"),
    (lambda: RuntimeError("something\nnew"), "could not be loaded (RuntimeError: something new)"),
])  # fmt: skip
def test_every_error_of_a_hub_is_one_sentence(make, word):
    def fail():
        try:
            raise make()
        except Exception as error:
            raise OSError("Can't load the model") from error  # as transformers wraps it

    assert word in told(make(), "a/b")
    if "something new" not in word:
        with pytest.raises(PairError) as caught, explained("a/b"):
            fail()
        assert word in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_hub_that_cannot_be_reached(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(PairError, match=r"nobody/nothing is not on this machine"):
        raw_config(Source("nobody/nothing"))


def test_a_whole_checkpoint_is_loaded_and_a_damaged_one_refused(tmp_path):
    model = causal("qwen3")
    source = Source(str(saved(model, tmp_path / "m")))
    loaded = load_model(source, CPU, torch.float32)
    assert all(torch.equal(a, b) for a, b in zip(loaded.state_dict().values(), model.state_dict().values(), strict=True))
    assert set(load_tensors(source)) <= set(model.state_dict())
    assert config_of(source).hidden_size == raw_config(source)["hidden_size"] == 32
    file = tmp_path / "m/model.safetensors"
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    for load in (lambda: load_model(source, CPU, torch.float32), lambda: load_tensors(source)):
        with pytest.raises(PairError, match="damaged or cut short"):
            load()
    file.unlink()
    for load in (lambda: load_model(source, CPU, torch.float32), lambda: load_tensors(source)):
        with pytest.raises(PairError, match="lacks a file"):
            load()
    (tmp_path / "m/config.json").write_text("{")
    with pytest.raises(PairError, match="m "):
        raw_config(source)


def test_a_checkpoint_that_lacks_tensors_is_not_filled_up_with_random_ones(tmp_path):
    folder = saved(causal("qwen3"), tmp_path / "m")
    config("qwen3", num_hidden_layers=3).save_pretrained(folder)
    with pytest.raises(PairError, match=r"lacks 11 tensors of a Qwen3ForCausalLM, model\.layers\.2"):
        load_model(Source(str(folder)), CPU, torch.float32)


def test_bits_need_a_library(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(PairError, match="bitsandbytes"):
        load_model(Source(str(tmp_path)), CPU, torch.float32, bits=4)
    with pytest.raises(PairError, match="4 or 8 bits, not 3"):
        load_model(Source(str(tmp_path)), CPU, torch.float32, bits=3)


def test_sources_are_written_with_their_revision(tmp_path):
    assert Source.parse("a/b@v1") == Source("a/b", "v1")
    assert str(Source.parse("a/b@v1")) == "a/b@v1"
    assert Source.parse("a/b") == Source("a/b", "main")
    (tmp_path / "x@y").mkdir()
    assert Source.parse(str(tmp_path / "x@y")).repo.endswith("x@y")
    with pytest.raises(PairError, match="40 hexadecimal digits"):
        load_model(Source("a/b"), CPU, torch.float32, remote_code=True)
