"""The command line: arguments become the request, events become lines, and nothing a model writes reaches the terminal's ear."""

import json
import subprocess
import sys

import pytest
from rich.console import Console

from sdiff.__main__ import main
from sdiff.cli import Printer, harmless, visible
from sdiff.trace import Denoise, Emit, End, Pieces, Prefill, Run, Trace, Verdict, Verify, recompute


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--steps", "99"], "Steps must be a whole number from 1 to 16, not '99'."),
        (["--leniency", "nan"], "Leniency must be a number from 0 to 1, not 'nan'."),
        (["--max-tokens", "-1"], "Max tokens must be a whole number from 0 to 512, not '-1'."),
        (["--temperature", "1e9"], "Temperature must be a number from 0 to 2, not '1000000000.0'."),
    ],
)
def test_a_wrong_value_gets_one_sentence_and_status_2(arguments, sentence, capsys):
    assert main(["decode", "hello", *arguments]) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())


def test_an_enormous_prompt_is_refused_before_anything_loads(capsys):
    assert main(["decode", "x" * 20_001]) == 2
    assert "Shorten it." in capsys.readouterr().err


def test_help_starts_without_torch():
    code = "import sys, sdiff.__main__ as m\ntry: m.main(['decode', '--help'])\nexcept SystemExit: pass\nassert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "--leniency" in done.stdout


def test_control_characters_are_drawn_not_obeyed():
    assert visible(" a\n\x1b[31m") == "␣a⏎\\x1b[31m"
    assert harmless("a\n\tb\x1b[2J\r") == "a\n\tb\\x1b[2J\\x0d"


def test_every_outcome_is_printed_with_its_glyph():
    console = Console(record=True, width=200, file=open("/dev/null", "w"), highlight=False)  # noqa: SIM115
    printer = Printer(console)
    verdict = {"cycle": 1, "p": 0.5, "q": 0.5, "f": 0.5, "u": 0.1, "keep": 1.0, "tv": 0.0}
    settings = {"plain": False, "noise": "masked", "steps": 2, "rule": "tv", "native": "λ = 0.2", "proposal": "monotone", "gamma": 4}
    for event in (
        Run(prompt="[bold]x", prompt_tokens=(1,), settings=settings, models={"verifier": "V"}, machine={}, lossless=False),
        Pieces(pieces={1: " [red]cat", 2: "\n", 3: "\x1b[0m", 4: "d", 5: "e"}),
        Prefill(tokens=0, ms=1.0),
        Denoise(cycle=1, step=0, steps=2, canvas=(-1, -1, -1, -1), fixed=(False,) * 4, ms=1.0),
        Verify(cycle=1, anchor=1, tokens=(1, 2, 3, 4), fixed_at=(1, 1, 2, 2), draft_ms=2.0, ms=3.0),
        Verdict(position=1, token=1, accepted=True, lenient=False, **verdict),
        Verdict(position=2, token=2, accepted=True, lenient=True, **verdict),
        Verdict(position=3, token=3, accepted=False, lenient=False, **verdict),
        Emit(cycle=1, tokens=(1, 2, 5), accepted=2, extra="correction", text="", ms=1.0),
    ):
        printer.show(event)
    stats = {
        "tokens": 3, "cycles": 1, "tau": 3.0, "tokens_per_second": 9.0, "ms": dict.fromkeys(("prefill", "draft", "verify", "examine"), 1.0),
        "lenient": 1, "drafted": [1] * 4, "examined": [1, 1, 1, 0], "accepted": [1, 1, 0, 0],
    }  # fmt: skip
    printer.summary(End(reason="limit", text="[bold]t\x1b[0m", tokens=(1, 2, 5), stats=stats))
    text = console.export_text()
    assert "✓␣[red]cat ≈⏎ ✕\\x1b[0m –d ▲e" in text
    assert "░ ░ ░ ░" in text
    assert "not lossless" in text
    assert "[bold]t\\x1b[0m" in text
    assert "τ = 3.00" in text


@pytest.mark.model
def test_a_real_decode_as_json_is_a_trace_that_recomputes(capsys):
    assert main(["decode", "What is 2 + 3?", "--max-tokens", "12", "--json", "--leniency", "0.3", "--seed", "5"]) == 0
    out = capsys.readouterr().out
    data = json.loads(out)
    assert set(data) == {"schema", "text", "tokens", "stats", "events"}
    assert {"tau", "tokens_per_second"} <= set(data["stats"])
    trace = Trace.from_json(out)
    assert trace.text == data["text"] == "".join(e.text for e in trace.of(Emit))
    assert list(trace.tokens) == data["tokens"]
    assert len(data["tokens"]) <= 12
    for v in trace.of(Verdict):
        assert recompute(v) == (v.keep, v.accepted, v.lenient)
        assert v.f == pytest.approx(0.7 * v.p + 0.3 * v.q, abs=1e-12)


@pytest.mark.model
def test_the_plain_baseline_and_a_limit_of_zero(capsys):
    assert main(["decode", "Hi", "--plain", "--max-tokens", "5"]) == 0
    assert "τ = 1.00" in capsys.readouterr().out
    assert main(["decode", "Hi", "--max-tokens", "0"]) == 0
    assert "0 tokens in 0 cycles" in capsys.readouterr().out


def test_a_lesson_is_written_from_a_run_and_other_files_are_refused(tmp_path, capsys):
    from sdiff.__main__ import main
    from sdiff.ui.recordings import RECORDED

    run, out = min(RECORDED.glob("*.json")), tmp_path / "lesson.html"
    assert main(["lesson", str(run), "--out", str(out)]) == 0
    assert "<!doctype html>" in out.read_text(encoding="utf-8")
    (tmp_path / "no.json").write_text("hello", encoding="utf-8")
    assert main(["lesson", str(tmp_path / "no.json"), "--out", str(out)]) == 1
    assert "cannot be read" in capsys.readouterr().err
