"""`python -m sdiff.training corpus|drafter`: makes the files in `precomputed/drafters`. Resumable; same path on CPU and GPU."""

from __future__ import annotations

import argparse
import datetime
import json
import platform
from pathlib import Path

import torch

from sdiff import bundled
from sdiff.fetch import cache_folder
from sdiff.training import corpus, drafter


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m sdiff.training", description=__doc__)
    parser.add_argument("what", choices=("corpus", "drafter"))
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--noise", choices=("masked", "uniform", "both"), default="both")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int, default=0, help="0: torch's default")
    parser.add_argument("--out", type=Path, default=bundled.DRAFTERS)
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    device = torch.device(("cuda" if torch.cuda.is_available() else "cpu") if args.device == "auto" else args.device)
    model, tokenizer = bundled.load_verifier(device, torch.bfloat16, lambda text, done: None)
    folder = cache_folder() / "training"
    folder.mkdir(parents=True, exist_ok=True)
    if args.what == "corpus":
        tokens = corpus.make(model, tokenizer, folder / "corpus.jsonl", args.minutes)
        print(f"{tokens:,} tokens in {folder / 'corpus.jsonl'}")
        return
    rows = corpus.load(folder / "corpus.jsonl")
    if len(rows) < 200:
        raise SystemExit(f"Only {len(rows)} answers in {folder / 'corpus.jsonl'}. Run `python -m sdiff.training corpus` first.")
    run = drafter.Training(model, rows, tokenizer.all_special_ids, args.noise)
    history = drafter.train(run, args.minutes, folder / f"drafter-{args.noise}.pt")
    card = {
        "verifier": bundled.NAME, "license": "Apache-2.0", "noise": args.noise, "training_temperature": drafter.TEMPERATURE,
        "command": f"python -m sdiff.training drafter --noise {args.noise} --minutes {args.minutes:g}",
        "corpus": {"answers": len(rows), "tokens": sum(len(a) for _, a in rows), "seed": corpus.SEED, "source": "the verifier's own answers at temperature 0.7"},
        "hardware": {"device": device.type, "machine": platform.machine(), "threads": torch.get_num_threads(), "torch": torch.__version__},
        "date": datetime.date.today().isoformat(), "minutes": round(history["seconds"] / 60, 1), "steps": history["step"], "blocks": history["blocks"],
        "expected_acceptance": history["acceptance"], "curve": history["curve"],
    }  # fmt: skip
    bundled.save_drafter(run.network, args.out, card)
    print(json.dumps(card, indent=1))


if __name__ == "__main__":
    main()
