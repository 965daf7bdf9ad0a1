"""`python -m sdiff bench`: its arguments to passes of the sweep. Loads the bundled pair; refuses to compute figures."""

from __future__ import annotations

import argparse
import datetime
from functools import partial
from typing import Any

from sdiff import bundled
from sdiff.bench.baselines import ENGINES, runner, to_transformers
from sdiff.bench.quality import LANES, SEED, Bench
from sdiff.bench.settings import LENIENCIES, STEPS, cuts, grid, paper, stages
from sdiff.bench.store import Store
from sdiff.bench.sweep import Clock, measure_quality, measure_speed
from sdiff.fetch import cache_folder
from sdiff.pairs import Pair, load_pair, machine

QUICK = {"minutes": 5.0, "steps": (1, 2, 4, 8), "leniencies": (0.0, 0.4, 1.0)}


def where(pair: Pair, scale: float) -> dict[str, Any]:
    """What is true of every row of a run."""
    return {**machine(pair.verifier), "date": datetime.date.today().isoformat(), "seed": SEED, "temperature": scale}


def bench(args: argparse.Namespace) -> int:
    """Measure until the time is up. → exit status"""
    tasks, store = tuple(args.tasks), Store(args.out or cache_folder() / "frontier")
    pair, models, clock = load_pair(args.device, args.dtype, threads=args.threads), bundled.names(bundled.PRECOMPUTED), None
    scale = pair.denoiser.scale
    if args.quick:
        clock = Clock(QUICK["minutes"])
        settings = grid(tasks, QUICK["steps"], QUICK["leniencies"])
        whole = measure_speed(pair, store, models, where(pair, scale), settings, args.prompts, clock)
    else:
        clock, whole = Clock(args.minutes), True
        device, dtype = pair.verifier.device, pair.verifier.embedding.dtype
        model, tokenizer = bundled.load_verifier(device, dtype, adapter=bundled.ADAPTER)
        if args.kind != "speed":
            network, _ = bundled.load_drafter(model, bundled.DRAFTERS, device, dtype)
            quality = Bench(model, network, scale, tokenizer, partial(pair.encode, raw=False), pair.eos(), scale)
            whole &= measure_quality(quality, store, models, {**where(pair, scale), "lanes": LANES}, stages(tasks, args.n), clock)
        if args.kind != "quality":
            other = to_transformers(model)
            engines = {name: runner(other, scale, sorted(pair.eos()), **options) for name, options in ENGINES.items()}
            settings = [*grid(tasks, STEPS, LENIENCIES), *paper(tasks), *cuts(tasks)]
            whole &= measure_speed(
                pair, store, models, where(pair, scale), list(dict.fromkeys(settings)), args.prompts, clock, engines=engines
            )
    print(f"{'everything is measured' if whole else 'time is up; the same command goes on from here'}: {store.folder}")
    return 0
