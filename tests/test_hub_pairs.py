"""Pairs by name from checkpoints on disk: decoded through the same door as the bundled one; what does not fit is refused in words."""

from __future__ import annotations

import argparse
import json
import time

import pytest
import torch
import transformers
from hubs import LETTERS, causal, converted, dflash, diffusion_gemma, dit, own_code, saved, tokenizer
from safetensors.torch import load_file

from sdiff import hub_pairs
from sdiff.__main__ import main
from sdiff.fetch import PairError
from sdiff.pairs import load_pair
from sdiff.registry import BUNDLED, PAIRS, add_arguments, chosen
from sdiff.request import Request, RequestError
from sdiff.trace import MASKED, Emit, End, Run, Trace, Verdict
from sdiff.ui.engine import Engine
from sdiff.ui.pair_view import told

FAMILY = {
    "dflash": "qwen3-4b-dflash",
    "sequence": "qwen3-4b-mdlm",
    "diffusion_gemma": "gemma4-diffusiongemma",
    "duo": "gpt2-duo",
    "mdlm": "gpt2-mdlm",
}
LAYERS = {"num_hidden_layers": 4, "eos_token_id": None}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A verifier, and a drafter of each family that fits it."""
    root = tmp_path_factory.mktemp("hub")
    made = {"verifier": tokenizer(saved(causal("qwen3", 1, **LAYERS), root / "verifier")), "dflash": dflash(root / "dflash"),
            "sequence": tokenizer(converted(causal("qwen3", 2), root / "sequence", mask_token_id=47)),
            "duo": dit(root / "duo"), "mdlm": dit(root / "mdlm", "mdlm"), "diffusion_gemma": tokenizer(diffusion_gemma(root / "gemma"))}  # fmt: skip
    return {name: str(folder) for name, folder in made.items()}


def loaded(folders, family, **changes):
    sources = {"verifier": folders["verifier"], "drafter": folders[family], "context": 128, **changes}
    return load_pair("cpu", "float32", threads=1, name=FAMILY[family], **sources)


@pytest.mark.parametrize("family", FAMILY)
def test_every_family_decodes_by_name(folders, family):
    pair = loaded(folders, family)
    trace = Trace()
    asked = Request("hi there", noise=pair.noises[0], gamma=5, steps=2, max_tokens=24, temperature=2.0)
    list(trace.record(pair.stream(asked)))
    run, end = trace.of(Run)[0], trace.of(End)[0]
    assert run.lossless
    assert run.models["pair"] == FAMILY[family]
    assert ("note" in run.models) == (family == "dflash"), "more steps than it was trained for are labelled"
    assert pair.tokenizer.decode(run.prompt_tokens) == "user hi there<|endoftext|>" + "!" * (pair.template != {}), (
        "the template's arguments are used"
    )
    assert len(end.tokens) == 24 or end.tokens[-1] in pair.eos()
    assert end.text == "".join(e.text for e in trace.of(Emit))
    assert any(v.accepted for v in trace.of(Verdict))
    assert all(v.q > 0 for v in trace.of(Verdict))
    again = next(e for e in pair.stream(asked) if isinstance(e, End))
    assert again.tokens == end.tokens, "a second run knows nothing of the first"
    assert Trace.from_json(trace.to_json()).text == end.text


@pytest.mark.parametrize("family", FAMILY)
def test_the_command_line_decodes_with_a_pair(folders, family, capsys):
    where = ["--pair", FAMILY[family], "--verifier", folders["verifier"], "--drafter", folders[family], "--context", "128"]
    common = ["--device", "cpu", "--dtype", "float32", "--threads", "1", "--max-tokens", "9", "--gamma", "4"]
    assert main(["decode", "say a", *where, *common, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["tokens"]) <= 9
    noise = PAIRS[FAMILY[family]].noises[0]
    other = {"masked": "uniform", "uniform": "masked"}[noise]
    assert main(["decode", "say a", *where, *common, "--noise", other]) == 2
    assert f"trained with {noise} noise, not {other}" in capsys.readouterr().err.replace("\n", " ")
    assert main(["decode", "say a", *where, *common, "--plain"]) == 0


@pytest.mark.parametrize("family", FAMILY)
def test_the_page_decodes_with_a_pair(folders, family):
    """Through the page's options and its engine, which loads in the background and streams from there."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    args = parser.parse_args(["--pair", FAMILY[family], "--verifier", folders["verifier"], "--drafter", folders[family], "--context", "64"])
    engine = Engine(lambda progress: load_pair("cpu", "float32", progress, 1, **chosen(args))).start()
    while not (engine.ready or engine.error):
        time.sleep(0.01)
    assert engine.status()[0] == "good", engine.error
    end = [*engine.stream(Request("hi", noise=PAIRS[FAMILY[family]].noises[0], gamma=3, max_tokens=5))][-1]
    assert end.reason in ("limit", "eos")
    assert told(engine, FAMILY[family]).startswith(f"note:Models: {folders['verifier']} checks, {folders[family]} drafts (noise: ")
    assert "in float32 on cpu" in told(engine, FAMILY[family])


def test_code_of_a_checkpoint_runs_only_when_allowed(folders, tmp_path):
    """Such a model is right-shifted here: row i predicts token i + 1, as the reference below computes it."""
    ran = tmp_path / "ran"
    own = str(own_code(tmp_path / "own", ran))
    asked = {**folders, "sequence": own}
    with pytest.raises(PairError, match=r"own brings code of its own.*--remote-code"):
        loaded(asked, "sequence")
    assert not ran.exists()
    pair = load_pair(
        "cpu", "float32", threads=1, name="qwen2.5-14b-dream", verifier=folders["verifier"], drafter=own, context=64, remote_code=True
    )
    assert ran.exists()
    denoiser, weights = pair.denoiser, load_file(tmp_path / "own/model.safetensors")
    assert denoiser.mask_id == 47
    denoiser.start([1, 2, 3])
    got = denoiser.predict(torch.tensor([MASKED, 5]), torch.ones(2))
    x = weights["table.weight"][[1, 2, 3, 47, 5, *[47] * (PAIRS["qwen2.5-14b-dream"].options["block"] - 2)]]
    want = (x + x.mean(0)) @ weights["head.weight"].T + weights["head.bias"]
    assert (got - want[2:4, :47]).abs().max() < 1e-4
    assert list(pair.stream(Request("a", gamma=3, steps=2, max_tokens=6)))[-1].reason in ("limit", "eos")


def test_more_drafts_than_a_block_holds_are_refused(folders):
    pair = loaded(folders, "dflash")
    with pytest.raises(RequestError, match="at most 5 positions per block, not 6"):
        list(pair.stream(Request("a", gamma=6)))


def test_a_model_without_a_chat_template_continues_the_text(folders, tmp_path):
    tokenizer(saved(causal("qwen3", 1, **LAYERS), tmp_path), chat=False)
    pair = loaded({**folders, "verifier": str(tmp_path)}, "dflash")
    assert pair.encode("a b", raw=False) == [0, 26, 1]


@pytest.mark.parametrize(("family", "change", "word"), [
    ("dflash", {"hidden_size": 16}, "expects 16 floats per hidden state, the verifier has 32"),
    ("dflash", {"num_target_layers": 36}, "expects 36 layers in its verifier, the verifier has 4"),
    ("dflash", {"vocab_size": 50}, "expects 50 tokens in its vocabulary, the verifier has 48"),
    ("dflash", {"dflash_config": {"mask_token_id": 48, "target_layer_ids": [0, 2]}}, "masked position, 48, lies outside a vocabulary of 48"),
    ("dflash", {"dflash_config": {"mask_token_id": 47, "target_layer_ids": [0, 4]}}, r"layers \[0, 4\] of a verifier with 4"),
    ("dflash", {"layer_types": ["sliding_attention"] * 2}, "sliding-window"),
    ("dflash", {"block_size": 1}, "blocks of 1 tokens"),
    ("duo", {"vocab_size": 48}, "expects 48 tokens in its vocabulary and a mask, the verifier has 49"),
    ("duo", {"model_type": "mdlm"}, "trained with masked noise, the pair is for uniform noise"),
    ("sequence", {"mask_token_id": 99}, "masked position, 99, lies outside"),
    ("sequence", {"model_type": "llada"}, "brings code of its own"),
])  # fmt: skip
def test_parts_that_do_not_fit_are_refused_before_weights_are_read(folders, tmp_path, monkeypatch, family, change, word):
    monkeypatch.setattr(hub_pairs, "load_model", lambda *a, **k: pytest.fail("weights were read"))
    if family != "sequence":
        folder = {"dflash": dflash, "duo": dit}[family](tmp_path)
        (folder / "config.json").write_text(json.dumps(json.loads((folder / "config.json").read_text()) | change))
    else:
        folder = tokenizer(converted(causal("qwen3", 2), tmp_path, **{"mask_token_id": 47, **change}))
    with pytest.raises(PairError, match=word):
        loaded({**folders, family: str(folder)}, family)


def test_the_context_is_what_both_can_read(folders):
    assert loaded(folders, "dflash", context=10**6).verifier.context == 256 - 6, "the drafter's positions end with a block"
    assert loaded(folders, "duo", context=10**6).verifier.context == 256
    with pytest.raises(PairError, match="context of 3 tokens is too short"):
        loaded(folders, "dflash", context=3)


def test_a_verifier_that_cannot_roll_back_is_refused_before_weights_are_read(folders, tmp_path):
    config = transformers.Qwen3NextConfig(
        vocab_size=48, hidden_size=32, num_hidden_layers=4, layer_types=["linear_attention", "full_attention"] * 2
    )
    config.save_pretrained(tmp_path)
    with pytest.raises(PairError, match=r"qwen3_next keeps a running state .* cannot be rolled back"):
        loaded({**folders, "verifier": str(tmp_path)}, "dflash")


def test_other_words_for_the_same_ids_are_refused(folders, tmp_path):
    swapped = [LETTERS[1], LETTERS[0], *LETTERS[2:]]
    folder = tokenizer(converted(causal("qwen3", 2), tmp_path, mask_token_id=47), swapped)
    with pytest.raises(PairError, match="token 0 is 'a' for the verifier and 'b' for the drafter"):
        loaded({**folders, "sequence": str(folder)}, "sequence")


def test_a_tokenizer_of_two_files_will_do_and_its_mask_is_known(folders, tmp_path):
    """As Dream's repository has it; nothing in its configuration names the mask here."""
    folder = tokenizer(converted(causal("qwen2", 2), tmp_path, "Dream"))
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.json").write_text(json.dumps({letter: i for i, letter in enumerate(LETTERS)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    pair = loaded({**folders, "sequence": str(folder)}, "sequence")
    assert pair.denoiser.mask_id == 47
    assert pair.denoiser.ids.tolist() == list(range(47))


def test_what_does_not_fit_the_memory_is_refused_with_numbers(folders, monkeypatch):
    monkeypatch.setattr(hub_pairs, "memory_there", lambda where: 1e5)
    with pytest.raises(PairError, match=r"needs about 0\.0 GB at 128 tokens of context; 0\.0 GB are free"):
        loaded(folders, "dflash")
    wanted = hub_pairs.Wanted(PAIRS["qwen3-4b-dflash"], None, None, "cpu", torch.bfloat16, 0, 4096, False)
    monkeypatch.undo()
    assert hub_pairs.memory_there("cpu") > 1e6
    config = causal("llama").config
    weights = sum(p.numel() for p in causal("llama").parameters())
    assert hub_pairs.memory_needed(wanted, config, config, 100, 1000) == int(1.1 * (2 * weights + 2000 + 2 * 2 * 2 * 8 * 100 * 2))


def test_names_that_do_not_exist_and_parts_of_the_bundled_pair(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(PairError, match=r"no pair called 'x'\. Choose one of bundled,"):
        load_pair("cpu", name="x")
    with pytest.raises(PairError, match="bundled pair comes as it is"):
        load_pair("cpu", verifier="a/b")
    with pytest.raises(PairError, match=r"nobody/nothing .*(machine|hub)"):
        load_pair("cpu", "float32", threads=1, name="qwen3-4b-dflash", verifier="nobody/nothing")


def test_the_list_names_everything(capsys):
    assert main(["pairs", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == [*PAIRS]
    for row in rows:
        assert all(row[key] for key in ("verifier", "drafter", "noises", "size", "licence", "device", "tested")), row["name"]
        assert row["family"] in (BUNDLED, *hub_pairs.FAMILIES)
        assert set(row["options"]) <= {"sequence": {"mask_id", "block", "shifted", "causal_blocks"}, "diffusion_gemma": {"block"}}.get(
            row["family"], set()
        )
    assert main(["pairs"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in PAIRS)
