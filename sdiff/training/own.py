"""A drafter for another verifier: that verifier's own answers, a block denoiser trained on them, a folder with both noises' drafter.

Resumable: work under way lies in the folder's `unfinished`. Knows the order of the work; refuses to know how each part is done.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from sdiff import bundled
from sdiff.fetch import PairError, sha256
from sdiff.hub_files import Source, config_of, load_words
from sdiff.hub_llama import dimensions, fingerprint, load_llama
from sdiff.pairs import choose, machine, usable_cores
from sdiff.registry import OWN, PAIRS
from sdiff.tasks import TASKS
from sdiff.text import Prompts
from sdiff.training import corpus, drafter
from sdiff.training.command import LEAST, Job, problems, read_prompts
from sdiff.verifier import Llama


def make(job: Job, device: str, dtype: str, threads: int) -> dict[str, Any]:
    """Sample, train, write `job.out`; goes on where an earlier sitting with the same job ended. → card. Raises PairError."""
    torch.set_num_threads(threads or usable_cores())
    where, kind = choose(device, dtype)
    source = Source.parse(job.verifier)
    config = config_of(source)
    d = dimensions(source, config)
    tokenizer, named = load_words(source), fingerprint(source, d)
    work = begin(job, named)
    model = load_llama(source, d, where, kind)
    rows = answers(job, model, tokenizer, work)
    special = [i for i in tokenizer.all_special_ids if i < d.vocabulary]  # a tokenizer may know more than the embedding has rows
    run = drafter.Training(model, rows, special, drafter.Recipe(sources=source_layers(d.layers)))
    history = drafter.train(run, job.minutes, work / "drafter.pt")
    asked = f"the prompts of {job.prompts.name}" if job.prompts else "prompts of this project's training split (reasoning, coding, chat)"
    options = f"{f' --prompts {job.prompts.name}' if job.prompts else ''} --answers {job.answers} --minutes {job.minutes:g}"
    card = {
        "verifier": identity(source, config), "license": job.licence, **drafter.card(history, rows, machine(where, kind)),
        "command": f"python -m sdiff train-drafter --verifier {identity(source, config)}{options}",
        "data": f"the verifier's own answers at temperature {corpus.TEMPERATURE} to {asked}",
        "limits": "drafts for this verifier only, best near its training temperature and on prompts like those it was trained on",
        "config": {"verifier_sha256": named},
    }  # fmt: skip
    bundled.save_drafter(run.network, job.out, card)
    return card


def begin(job: Job, named: str) -> Path:
    """The folder of the work under way. Raises PairError where `job.out` holds anything but this job's own work."""
    work = job.out / "unfinished"
    about = {"verifier": named, "prompts": sha256(job.prompts) if job.prompts else ""}
    try:
        if (work / "about.json").exists():
            if json.loads((work / "about.json").read_text()) != about:
                raise PairError(
                    f"{job.out} holds work for another verifier or other prompts. Choose another --out, or remove {work} to begin again."
                )
        elif job.out.exists() and any(job.out.iterdir()):
            raise PairError(f"{job.out} is not empty. Choose another --out.")
        else:
            work.mkdir(parents=True)
            (work / "about.json").write_text(json.dumps(about))
    except (OSError, ValueError) as error:
        raise PairError(f"{job.out} cannot be used ({error}). Choose another --out.") from None
    return work


def answers(job: Job, model: Llama, tokenizer: Any, work: Path) -> list[corpus.Row]:
    """The verifier's answers in the order of their prompts; sampled once, then read from `work`. Raises PairError."""
    stored = work / "corpus.jsonl.gz"
    if not stored.exists():
        wanted = problems(read_prompts(job.prompts), corpus.HELD_OUT) if job.prompts else corpus.prompts(TASKS, "train", corpus.SEED + 1)
        encode = Prompts(tokenizer, PAIRS[OWN].template).encode  # as the pair will
        rows = corpus.make(model, tokenizer, wanted, job.answers, work / "corpus.jsonl", job.minutes / 2, encode=encode)
        if (usable := sum(len(row.answer) > 1 for row in rows)) < LEAST:
            raise PairError(
                f"{usable:,} answers of more than one token were sampled, {LEAST:,} are needed. Start again with more --minutes or "
                f"--answers, or with shorter prompts: {corpus.CONTEXT - 8} tokens at most."
            )
        corpus.store(rows, stored)
    return corpus.load(stored)


def source_layers(layers: int, count: int = 5) -> tuple[int, ...]:
    """At most `count` of `layers`, evenly from the first to the last: whose weights the drafter starts from and whose cache it reads."""
    return tuple(dict.fromkeys(round(i * (layers - 1) / (count - 1)) for i in range(count)))


def identity(source: Source, config: Any) -> str:
    """owner/name@commit as fetched, or the name of a folder."""
    if Path(source.repo).is_dir():
        return Path(source.repo).resolve().name
    return f"{source.repo}@{getattr(config, '_commit_hash', None) or source.revision}"
