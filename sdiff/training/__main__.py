"""`python -m sdiff.training adapter|corpus|trials|drafter|evaluate|report`: makes and measures what lies in `precomputed`, in this order.

Resumable: work under way lies in the cache folder, and a finished file is what later commands start from.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
from functools import partial
from pathlib import Path
from typing import Any

import torch

from sdiff import bundled
from sdiff.bench.quality import Bench
from sdiff.bench.readme import between
from sdiff.bench.settings import SEED
from sdiff.bench.store import Store
from sdiff.bench.sweep import Clock, measure_quality
from sdiff.fetch import cache_folder, sha256
from sdiff.pairs import Request, choose, load_pair, machine
from sdiff.tasks import chat_wide, mixed
from sdiff.tasks.grading import grade
from sdiff.training import adapter, corpus, drafter, evaluate, trials

CHAT_ROWS = {"train": 520, "validation": 60, "test": 300}
CORPUS_ROWS, ASKED_ROWS, WIDE_ROWS = (
    3000,
    9000,
    4000,
)  # answers to this project's prompts, to the verifier's own, to more kinds of open prompts


def shard(text: str) -> tuple[int, int]:
    i, n = map(int, text.split("/"))
    if not 0 <= i < n:
        raise argparse.ArgumentTypeError(f"{text}: the first number runs from 0 to one less than the second")
    return i, n


def share(text: str) -> float:
    if not 0 < (number := float(text)) < 1:
        raise argparse.ArgumentTypeError(f"{text}: a share lies between 0 and 1")
    return number


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m sdiff.training", description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("adapter", "corpus", "trials", "drafter", "evaluate", "report"))
    parser.add_argument("--minutes", type=float, default=20, help="of training or sampling, all sittings together")
    parser.add_argument("--noise", choices=("masked", "uniform", "both"), default="both")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--threads", type=int, default=0, help="0: torch's default")
    parser.add_argument(
        "--shard", type=shard, default=(0, 1), help="i/n: this process's share of `corpus`, for n processes with a core each"
    )
    parser.add_argument(
        "--further", action="store_true", help="begin from what is in --start instead of from scratch (adapter, drafter, trials)"
    )
    parser.add_argument("--loss", choices=("soft", "hard", "tv", "chain", "tau"), default="soft", help="of `drafter` (see Recipe)")
    parser.add_argument("--prose", type=share, default=0.5, help="share of chat in the updates of `drafter`")
    parser.add_argument("--rate", type=float, default=5e-4, help="highest learning rate of `drafter`")
    parser.add_argument("--start", type=Path, help="folder to go on from (default: --out)")
    parser.add_argument("--n", type=int, default=300, help="problems per setting of `evaluate`")
    parser.add_argument("--json", action="store_true", help="machine-readable `report`")
    parser.add_argument("--write", type=Path, help="`report` into the marked place of this file (README.md)")
    parser.add_argument("--out", type=Path, default=bundled.PRECOMPUTED)
    args = parser.parse_args()
    if args.what == "report":
        print_report(args)
        return
    if args.threads:
        torch.set_num_threads(args.threads)
    device, dtype = choose(args.device, args.dtype)
    work = cache_folder() / "training"
    work.mkdir(parents=True, exist_ok=True)
    commands = {"adapter": make_adapter, "corpus": make_corpus, "trials": try_recipes, "drafter": make_drafter, "evaluate": measure}
    commands[args.what](args, device, dtype, work)


def chat_answers(model: Any, tokenizer: Any, split: str, out: Path, work: Path) -> list[corpus.Row]:
    """The unadapted verifier's own answers to open prompts; made once, then read from `out`."""
    stored = out / "corpus" / f"chat-{split}.jsonl.gz"
    if not stored.exists():
        rows = corpus.make(model, tokenizer, corpus.prompts(("chat",), split), CHAT_ROWS[split], work / f"chat-{split}.jsonl")
        corpus.store(rows, stored)
    return corpus.load(stored)


def make_adapter(args: argparse.Namespace, device: torch.device, dtype: torch.dtype, work: Path) -> None:
    # float32 weights: the arithmetic is bfloat16 where the device has it (`adapter.autocast`)
    model, tokenizer = bundled.load_verifier(device, torch.float32)
    chat = {split: chat_answers(model, tokenizer, split, args.out, work) for split in ("train", "validation")}
    earlier: list[dict[str, Any]] = []
    if args.further:
        card, start = bundled.load((args.start or args.out) / "adapter", {"date"})
        earlier = [*card.get("earlier", []), {k: card[k] for k in ("command", "date", "minutes", "steps", "hardware", "curve")}]
    run = adapter.Training(model, tokenizer, chat["train"], adapter.SEED + len(earlier))
    if args.further:
        run.begin_from(start)
    history = adapter.train(run, chat["validation"], args.minutes, work / f"adapter-{len(earlier)}.pt")
    if args.further:
        run.meet(start, chat["validation"])
    card = {
        "verifier": bundled.NAME, "license": "Apache-2.0", "date": datetime.date.today().isoformat(),
        "command": f"python -m sdiff.training adapter{' --further' * args.further} --minutes {args.minutes:g}",
        "data": "worked solutions of the reasoning and coding training families, and the unadapted verifier's own answers to open prompts",
        "limits": "learnt small word problems and small Python functions of the kinds in sdiff/tasks, in English; nothing else got better, "
                  "and answers are often wrong outside of them",
        "hardware": machine(device, dtype), "minutes": round(history["seconds"] / 60, 1), "steps": history["step"],
        "rows": history["step"] * run.scale * adapter.BATCH, "earlier": earlier, "answer_tokens": history["tokens"], "curve": history["curve"],
        "config": {"rank": adapter.RANK, "scale": adapter.ALPHA / adapter.RANK, "modules": adapter.MODULES, "verifier_sha256": bundled.SHA256},
    }  # fmt: skip
    bundled.save({"adapter.safetensors": run.adapter()}, args.out / "adapter", card)
    print(json.dumps({k: v for k, v in card.items() if k != "curve"}, indent=1))


def make_corpus(args: argparse.Namespace, device: torch.device, dtype: torch.dtype, work: Path) -> None:
    model, tokenizer = bundled.load_verifier(device, dtype, adapter=args.out / "adapter")
    adapter_name = bundled.adapter_hash(args.out / "adapter")
    name, stored, about = f"corpus-{adapter_name[:12]}", args.out / "corpus" / "corpus.jsonl.gz", args.out / "corpus" / "card.json"
    path, (i, n) = work / f"{name}-{args.shard[0]}.jsonl", args.shard
    if not path.exists() and about.exists() and json.loads(about.read_text())["adapter_sha256"] == adapter_name:
        corpus.write([row for row in corpus.load(stored) if row.index % n == i], path)
    third = {"path": path, "minutes": args.minutes / 3, "shard": args.shard}
    corpus.make(model, tokenizer, mixed(chat_wide.families(), corpus.SEED), WIDE_ROWS, first=CORPUS_ROWS + ASKED_ROWS, **third)
    asked = corpus.self_asked(model, tokenizer, ASKED_ROWS, work / f"asked-{path.name}", minutes=args.minutes / 3, shard=args.shard)
    wanted = itertools.chain(
        itertools.islice(corpus.prompts(("reasoning", "coding", "chat"), "train", corpus.SEED + 1), CORPUS_ROWS),
        (item for item in asked for _ in range(n)),  # each process asks for itself: one of these n places is its own
    )
    corpus.make(model, tokenizer, wanted, CORPUS_ROWS + ASKED_ROWS, path, args.minutes, shard=args.shard)
    rows = [row for path in sorted(work.glob(f"{name}-*.jsonl")) for row in corpus.load(path)]
    corpus.store(rows, stored)
    card = {
        "source": "the adapted verifier's own answers: to prompts of the training split, a third each of reasoning, coding and chat, "
                  "to prompts that it wrote itself, and to more kinds of open prompts",
        "self_asked": sum(row.family == corpus.SELF_ASKED for row in rows), "wide": sum(row.family in chat_wide.KINDS for row in rows),
        "adapter_sha256": adapter_name, "temperature": corpus.TEMPERATURE, "seed": corpus.SEED, "answers": len(rows),
        "tokens": sum(len(row.answer) for row in rows), "sha256": sha256(stored), "license": "Apache-2.0",
        "hardware": machine(device, dtype), "date": datetime.date.today().isoformat(),
    }  # fmt: skip
    about.write_text(json.dumps(card, indent=1) + "\n")
    print(f"{card['answers']:,} answers, {card['tokens']:,} tokens")


def corpus_rows(out: Path) -> list[corpus.Row]:
    """The corpus of the adapter in `out`. Ends the program where there is none."""
    card, again = out / "corpus" / "card.json", "Run `python -m sdiff.training corpus` first."
    if not card.exists() or json.loads(card.read_text())["adapter_sha256"] != bundled.adapter_hash(out / "adapter"):
        raise SystemExit(f"There is no corpus of this adapter. {again}")
    stored = out / "corpus" / "corpus.jsonl.gz"
    if not stored.exists() or json.loads(card.read_text())["sha256"] != sha256(stored):
        raise SystemExit(f"The corpus is not the one its card speaks of. {again}")
    rows = corpus.load(stored)
    if len(rows) < 200:
        raise SystemExit(f"Only {len(rows)} answers in the corpus. {again}")
    return rows


def try_recipes(args: argparse.Namespace, device: torch.device, dtype: torch.dtype, work: Path) -> None:
    model, tokenizer = bundled.load_verifier(device, dtype, adapter=args.out / "adapter")
    about = {"hardware": machine(device, dtype), "adapter": bundled.adapter_hash(args.out / "adapter")[:12]}
    start = None
    if args.further:
        start, _ = bundled.load_drafter(model, (args.start or args.out) / "drafters", device, torch.float32)
        about["start"] = bundled.names(args.start or args.out)["drafter"]
    trials.compare(model, corpus_rows(args.out), tokenizer.all_special_ids, args.minutes, args.out / "trials.json", about, work, start)


def make_drafter(args: argparse.Namespace, device: torch.device, dtype: torch.dtype, work: Path) -> None:
    rows = corpus_rows(args.out)
    model, tokenizer = bundled.load_verifier(device, dtype, adapter=args.out / "adapter")
    adapter_name = bundled.adapter_hash(args.out / "adapter")
    recipe = drafter.Recipe(noise=args.noise, loss=args.loss, prose=args.prose, rate=args.rate)
    name, start, earlier = "drafters" if args.noise == "both" else f"drafters-{args.noise}", None, []
    if args.further:
        start, card = bundled.load_drafter(model, (args.start or args.out) / name, device, torch.float32)
        earlier = [*card.get("earlier", []), {k: card[k] for k in ("command", "date", "minutes", "steps", "hardware", "curve", "config")}]
    run = drafter.Training(model, rows, tokenizer.all_special_ids, recipe, start=start)
    history = drafter.train(run, args.minutes, work / f"drafter-{args.noise}-{adapter_name[:12]}-{len(earlier)}.pt")
    card = {
        "verifier": bundled.NAME, "license": "Apache-2.0", **drafter.card(history, rows, machine(device, dtype)),
        "command": f"python -m sdiff.training drafter{' --further' * args.further} --noise {args.noise} --loss {args.loss} "
                   f"--prose {args.prose:g} --rate {args.rate:g} --minutes {args.minutes:g}",
        "data": f"the adapted verifier's own answers at temperature {corpus.TEMPERATURE}: {len(rows):,} answers, "
                f"{sum(len(row.answer) for row in rows):,} tokens, seed {corpus.SEED}",
        "limits": "drafts for this verifier with this adapter only, best near its training temperature; prose is drafted far less well than "
                  "worked solutions and code",
        "trials": trials.summary(args.out / "trials.json"), "config": {"adapter_sha256": adapter_name}, "earlier": earlier,
    }  # fmt: skip
    bundled.save_drafter(run.network, args.out / name, card)
    print(json.dumps({k: v for k, v in card.items() if k != "curve"}, indent=1))


def measure(args: argparse.Namespace, device: torch.device, dtype: torch.dtype, work: Path) -> None:
    path, where = args.out / "evaluation.json", machine(device, dtype)
    models = bundled.names(args.out)
    original, tokenizer = bundled.load_verifier(device, dtype)
    model, _ = bundled.load_verifier(device, dtype, adapter=args.out / "adapter")
    results = evaluate.load(path)
    if results["chat"].get("adapter") != models["adapter"]:
        rows = chat_answers(original, tokenizer, "test", args.out, work)
        before, after = evaluate.likelihood(original, rows), evaluate.likelihood(model, rows)
        results["chat"] = {"before": before, "after": after, "rise": after - before, "answers": len(rows), "adapter": models["adapter"]}
        evaluate.store(results, path)
    pair = load_pair(args.device, args.dtype, threads=args.threads)
    if results["step_cost"].get("models") != models:
        request = Request("Tell me a short story about a lighthouse keeper.", steps=4, max_tokens=192)
        list(pair.stream(request))  # warm
        cost = evaluate.step_cost(pair.stream(request))
        results["step_cost"] = {**cost, "models": models, "hardware": where, "date": datetime.date.today().isoformat()}
        evaluate.store(results, path)
    print(json.dumps({"chat": results["chat"], "step_cost": results["step_cost"]}), flush=True)
    network, card = bundled.load_drafter(model, args.out / "drafters", device, dtype)
    scale = card["training_temperature"]
    bench = Bench(model, network, scale, tokenizer, partial(pair.encode, raw=False), pair.eos(), scale, grade)
    stored, where = Store(args.out / "frontier"), {**where, "date": datetime.date.today().isoformat(), "seed": SEED, "temperature": scale}
    stored.forget(models)
    if not measure_quality(bench, where, stored, models, [(evaluate.settings(), args.n)], Clock(args.minutes)):
        print("time is up; the same command goes on from here")


def print_report(args: argparse.Namespace) -> None:
    models = bundled.names(args.out)
    figures = evaluate.report(args.out, models, args.n)
    if args.json:
        print(json.dumps(figures))
        return
    if args.write:
        text = args.write.read_text(encoding="utf-8")
        args.write.write_text(between(text, "measured models", evaluate.markdown(args.out, models, args.n)), encoding="utf-8")
        return
    for what, figure, kind, bar in evaluate.bars(figures):
        met = "not measured" if figure is None else "holds" if evaluate.reached(figure, kind, bar) else "MISSED"
        print(f"{what:<70} {'–' if figure is None else figure:>8}   {kind} {bar:<6} {met}")
    print("\nacceptance at positions 1, 2, … of those examined; at S = 1 both noises draft alike")
    for name, n, values in evaluate.curves(args.out, models):
        print(f"{name:<46} n = {n:<5} {' '.join(f'{value:.2f}' for value in values)}")


if __name__ == "__main__":
    main()
