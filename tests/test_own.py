"""A drafter of one's own, the whole way: sampled, trained, written, loaded by name, decoded; and what is refused on it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from hubs import causal, saved, tokenizer

from sdiff import bundled
from sdiff.__main__ import main
from sdiff.fetch import PairError
from sdiff.hub_files import Source
from sdiff.pairs import load_pair
from sdiff.request import Request
from sdiff.trace import End, Run, Trace, Verdict
from sdiff.training import corpus
from sdiff.training.command import LEAST, problems, read_prompts
from sdiff.training.own import identity, source_layers

FAMILIES = ("llama", "qwen2", "qwen3")
COUNT = LEAST + 30  # of prompts and answers: some answers end at once and teach nothing
MACHINE = ["--device", "cpu", "--dtype", "float32", "--threads", "1"]


def train(verifier, out, *options, minutes="0.01"):
    return main(["train-drafter", "--verifier", str(verifier), "--out", str(out), "--minutes", minutes, *options, *MACHINE])


@pytest.fixture(scope="module", autouse=True)
def patient():
    """Sampling is short and has all the time it needs, however slow the machine."""
    with pytest.MonkeyPatch.context() as patch:
        make = corpus.make
        patch.setattr(corpus, "MOST", 12)
        patch.setattr(corpus, "make", lambda *args, encode: make(*args[:5], encode=encode))
        yield


@pytest.fixture(scope="module")
def prompts(tmp_path_factory):
    path = tmp_path_factory.mktemp("prompts") / "prompts.txt"
    path.write_text("".join(f"say {i}\n\n" for i in range(COUNT)))
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory, prompts):
    """A verifier of each class and the drafter that was trained for it."""
    root, found = tmp_path_factory.mktemp("own"), {}
    for seed, family in enumerate(FAMILIES):
        changes = {"tie_word_embeddings": family == "qwen2", "num_hidden_layers": 3, "eos_token_id": None}
        verifier = tokenizer(saved(causal(family, seed, **changes), root / family))
        assert train(verifier, root / f"{family}-drafter", "--prompts", str(prompts), "--answers", str(COUNT)) == 0
        found[family] = str(verifier), str(root / f"{family}-drafter")
    return found


def loaded(verifier, drafter, **options):
    return load_pair("cpu", "float32", threads=1, name="own", verifier=verifier, drafter=drafter, context=128, **options)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_trained_drafter_decodes_without_loss(made, family):
    """At temperature 0 drafted and plain text are the same; at temperature 1 drafts are examined and some are kept."""
    pair = loaded(*made[family])
    asked = {"prompt": "say 7", "max_tokens": 24, "gamma": 5}
    texts = {}
    for name, options in {
        "plain": {"plain": True},
        "masked": {"noise": "masked", "steps": 2},
        "uniform": {"noise": "uniform", "steps": 2},
    }.items():
        trace = Trace()
        list(trace.record(pair.stream(Request(**asked, **options, temperature=0))))
        assert trace.of(Run)[0].lossless
        texts[name] = trace.of(End)[0].tokens
    assert len(set(texts.values())) == 1
    trace = Trace()
    list(trace.record(pair.stream(Request(**asked, temperature=1.0))))
    assert any(v.accepted for v in trace.of(Verdict))
    names, card = trace.of(Run)[0].models, json.loads((Path(made[family][1]) / "card.json").read_text())
    assert names["pair"] == "own"
    assert card["config"]["verifier_sha256"].startswith(names["sha256"])
    assert pair.most == card["config"]["block"]


def test_training_prompts_are_encoded_as_the_pair_encodes_them(made, prompts):
    pair = loaded(*made["qwen3"])
    rows = corpus.load(Path(made["qwen3"][1]) / "unfinished/corpus.jsonl.gz")
    assert [row.index for row in rows] == list(range(COUNT))
    assert [row.prompt for row in rows] == [pair.encode(prompt, raw=False) for prompt in read_prompts(prompts)]
    assert pair.tokenizer.decode(rows[0].prompt).endswith("!"), "the template's arguments are used"


def test_the_card_tells_what_was_done(made):
    card = json.loads((Path(made["qwen2"][1]) / "card.json").read_text())
    assert (card["verifier"], card["license"], card["noise"], card["answers"]) == ("qwen2", "unknown", "both", COUNT)
    assert "prompts.txt" in card["data"]
    assert "/" not in card["command"], "no folder of this machine"
    assert set(card["expected_acceptance"]) == {"masked", "uniform"}
    assert all(0 < a < 1 for tasks in card["expected_acceptance"].values() for a in tasks["own"])
    assert card["steps"] > 0
    assert set(card["files"]) == {"head.safetensors", *(f"layer{i}.safetensors" for i in range(3))}


def test_the_commands_find_it(made, capsys):
    verifier, folder = made["llama"]
    where = ["--pair", "own", "--verifier", verifier, "--context", "128", *MACHINE]
    assert main(["decode", "say a", *where, "--drafter", folder, "--max-tokens", "9", "--gamma", "4", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["tokens"]) <= 9
    assert main(["decode", "say a", *where]) == 1
    assert "name both" in " ".join(capsys.readouterr().err.split())
    assert main(["pairs"]) == 0
    assert "train-drafter" in capsys.readouterr().out


def test_the_same_command_goes_on_and_another_job_does_not(made, prompts, tmp_path, monkeypatch, capsys):
    verifier, folder = made["qwen3"]
    out = tmp_path / "out"
    shutil.copytree(folder, out)
    before = json.loads((out / "card.json").read_text())["steps"]
    options = "--prompts", str(prompts), "--answers", str(COUNT)
    with monkeypatch.context() as patch:
        patch.setattr(corpus, "make", lambda *a, **k: pytest.fail("sampled again"))
        assert train(verifier, out, *options, "--license", "MIT", minutes="0.02") == 0
    card = json.loads((out / "card.json").read_text())
    assert card["steps"] > before
    assert card["license"] == "MIT"
    loaded(verifier, str(out))
    capsys.readouterr()
    for other, words in (
        ((verifier,), "or other prompts"),
        ((made["llama"][0], *options), "work for another verifier"),
    ):
        assert train(other[0], out, *other[1:]) == 1
        assert words in capsys.readouterr().err
    shutil.rmtree(out / "unfinished")
    assert train(verifier, out, *options) == 1
    assert "is not empty. Choose another --out." in capsys.readouterr().err


def test_too_little_time_for_sampling_is_said_and_the_next_sitting_goes_on(made, prompts, tmp_path, monkeypatch, capsys):
    options = "--prompts", str(prompts), "--answers", str(COUNT)
    make = corpus.make
    with monkeypatch.context() as patch:
        patch.setattr(corpus, "make", lambda *args, encode: make(*args[:3], 30, *args[4:5], encode=encode))
        assert train(made["llama"][0], tmp_path / "out", *options) == 1
    assert "answers of more than one token were sampled, 100 are needed" in capsys.readouterr().err
    first = corpus.load(tmp_path / "out/unfinished/corpus.jsonl")
    assert train(made["llama"][0], tmp_path / "out", *options) == 0
    rows = corpus.load(tmp_path / "out/unfinished/corpus.jsonl.gz")
    assert sorted(first, key=lambda row: row.index) == rows[:30]


def test_a_wrong_pair_and_a_damaged_folder_are_refused(made, tmp_path):
    with pytest.raises(PairError, match=r"trained for another verifier \(qwen3\)\. Name the verifier it was trained for, or train one"):
        loaded(made["qwen2"][0], made["qwen3"][1])
    with pytest.raises(PairError, match=r"trained for another verifier \(SmolLM2-135M-Instruct\)"):
        loaded(made["qwen2"][0], str(bundled.DRAFTERS))
    (tmp_path / "empty").mkdir()
    with pytest.raises(PairError, match=r"empty/card\.json is missing.* train-drafter"):
        loaded(made["qwen2"][0], str(tmp_path / "empty"))
    shutil.copytree(made["qwen2"][1], tmp_path / "cut")
    (tmp_path / "cut/layer1.safetensors").write_bytes(b"x")
    with pytest.raises(PairError, match=r"layer1\.safetensors differs from its card"):
        loaded(made["qwen2"][0], str(tmp_path / "cut"))
    gemma = str(tokenizer(saved(causal("gemma"), tmp_path / "gemma")))
    with pytest.raises(PairError, match="is a gemma"):
        loaded(gemma, made["qwen2"][1])
    with pytest.raises(PairError, match="leave out --bits"):
        loaded(*made["qwen2"], bits=4)


def test_what_cannot_be_trained_on_is_refused_before_anything_is_written(made, tmp_path, capsys):
    few, bad, latin = tmp_path / "few.txt", tmp_path / "bad.jsonl", tmp_path / "latin.txt"
    few.write_text("one\none\ntwo\n")
    bad.write_text('{"prompt": "a"}\n{"text": "b"}\n')
    latin.write_bytes("größer".encode("latin-1"))
    out = tmp_path / "out"
    for path, words in (
        (few, "has 2 different prompts; a drafter needs 100"), (bad, "line 2: not a JSON object"), (latin, "no UTF-8 text"),
        (tmp_path / "none.txt", "cannot be read (No such file or directory)"),
    ):  # fmt: skip
        assert train(made["llama"][0], out, "--prompts", str(path)) == 1
        assert words in capsys.readouterr().err
    gemma = tokenizer(saved(causal("gemma"), tmp_path / "gemma"))
    assert train(gemma, out) == 1
    assert "is a gemma" in capsys.readouterr().err
    for options in (("--minutes", "0"), ("--answers", "5")):
        assert train(made["llama"][0], out, *options) == 2
        assert "must be positive" in capsys.readouterr().err
    assert not out.exists()


def test_prompts_for_validation_are_answered_once():
    stream = problems([str(i) for i in range(LEAST)], corpus.HELD_OUT)
    drawn = [next(stream).prompt for _ in range(300)]
    assert drawn[:LEAST] == [str(i) for i in range(LEAST)]
    assert not {str(i) for i in range(corpus.HELD_OUT)} & set(drawn[LEAST:])


def test_json_lines_are_read(tmp_path):
    path = tmp_path / "p.jsonl"
    path.write_text("\n".join(json.dumps({"prompt": f"a\nb {i}", "task": "x"}) for i in range(LEAST)))
    assert read_prompts(path)[:2] == ["a\nb 0", "a\nb 1"]


def test_a_verifier_of_the_hub_is_named_by_its_commit(tmp_path):
    assert identity(Source("a/b"), SimpleNamespace(_commit_hash="c" * 40)) == "a/b@" + "c" * 40
    assert identity(Source(str(tmp_path)), SimpleNamespace()) == tmp_path.name


def test_sources_are_spread_over_all_layers():
    assert source_layers(30) == (0, 7, 14, 22, 29)
    assert source_layers(2) == (0, 1)
    assert source_layers(1) == (0,)
