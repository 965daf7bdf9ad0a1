"""`python -m sdiff train-drafter`: its options and its prompts. Knows files and words; torch is imported when it runs."""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sdiff.fetch import PairError
from sdiff.registry import OWN
from sdiff.tasks import Item

LEAST = 100  # prompts of a file, and answers to learn from


@dataclass(frozen=True)
class Job:
    """What is asked for. `verifier`: a folder or owner/name[@revision]; `prompts`: None for the project's own tasks."""

    verifier: str
    out: Path
    minutes: float
    answers: int
    prompts: Path | None
    licence: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `train-drafter`, without those of the machine."""
    parser.add_argument("--verifier", required=True, help="a Llama, Qwen2 or Qwen3: a folder, or owner/name[@revision] on the hub")
    parser.add_argument(
        "--prompts", type=Path, help='text file with a prompt per line, or .jsonl of {"prompt": …} (default: this project\'s tasks)'
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=20.0,
        help="of training, all sittings together, after at most half as many of sampling (default 20)",
    )
    parser.add_argument("--answers", type=int, default=6000, help="answers to sample, at most; settled when training begins (default 6000)")
    parser.add_argument(
        "--license", dest="licence", default="unknown", help="of what is trained, for its card: the verifier's decides (default unknown)"
    )
    parser.add_argument("--out", type=Path, help="folder to write (default: drafter- and the verifier's name)")


def train_drafter(args: argparse.Namespace) -> int:
    """`train-drafter`. → exit status: 0, 1 when a model or a file cannot be used, 2 for numbers that make no sense."""
    name = Path(args.verifier.partition("@")[0]).resolve().name
    job = Job(args.verifier, args.out or Path(f"drafter-{name}"), args.minutes, args.answers, args.prompts, args.licence)
    try:
        if not (job.minutes > 0 and job.answers >= LEAST and args.threads >= 0):
            print(f"--minutes must be positive, --answers at least {LEAST:,}, --threads at least 0.", file=sys.stderr)
            return 2
        if job.prompts:
            read_prompts(job.prompts)  # before the seconds that torch takes
        from sdiff.training.own import make

        make(job, args.device, args.dtype, args.threads)
    except PairError as error:
        print(error, file=sys.stderr)
        return 1
    print(f'Try it: python -m sdiff decode "Why is the sky blue?" --pair {OWN} --verifier {job.verifier} --drafter {job.out}')
    return 0


def read_prompts(path: Path) -> list[str]:
    """The different prompts of a text file (one per line) or .jsonl file, in order, blank lines left out. Raises PairError."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")  # splitlines would also split at what JSON may hold
    except OSError as error:
        raise PairError(f"The prompts in {path} cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError:
        raise PairError(f"{path} is no UTF-8 text. Save it as UTF-8, one prompt per line.") from None
    if path.suffix == ".jsonl":
        lines = [_prompt(path, number, line) for number, line in enumerate(lines, 1) if line.strip()]
    found = list(dict.fromkeys(line.strip() for line in lines if line.strip()))
    if len(found) < LEAST:
        raise PairError(f"{path} has {len(found):,} different prompts; a drafter needs {LEAST:,} or more to learn from.")
    return found


def _prompt(path: Path, number: int, line: str) -> str:
    try:
        prompt = json.loads(line)["prompt"]
    except (ValueError, LookupError, TypeError):
        prompt = None
    if not isinstance(prompt, str):
        raise PairError(f'{path}, line {number}: not a JSON object with the text of a "prompt".')
    return prompt


def problems(prompts: list[str], once: int) -> Iterator[Item]:
    """Endless: the first `once` prompts a single time, which are for validation, then the others again and again."""
    return (Item(OWN, OWN, prompt) for prompt in itertools.chain(prompts[:once], itertools.cycle(prompts[once:])))
