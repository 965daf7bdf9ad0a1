"""`python -m sdiff bench`: its arguments to passes of the sweep. Loads the bundled pair; refuses to compute figures."""

from __future__ import annotations

import argparse
import json
from functools import partial
from typing import Any

from sdiff import bundled
from sdiff.bench import cluster, readme, report
from sdiff.bench.baselines import ENGINES, runner, to_transformers
from sdiff.bench.machine import where
from sdiff.bench.quality import LANES, Bench
from sdiff.bench.settings import LENIENCIES, QUICK, SEED, STEPS, cuts, grid, paper, shown, stages
from sdiff.bench.store import Store
from sdiff.bench.sweep import Clock, measure_quality, measure_speed
from sdiff.bench.traces import record
from sdiff.fetch import cache_folder
from sdiff.frontier import Point, choose
from sdiff.pairs import Pair, load_pair, usable_cores
from sdiff.pairs import choose as choose_device
from sdiff.policy import route
from sdiff.tasks.grading import grade


def bench(args: argparse.Namespace) -> int:
    """Measure until the time is up. → exit status"""
    tasks, store = tuple(args.tasks), Store(args.out or cache_folder() / "frontier")
    if args.ray:
        return told_whole(shared(args, tasks, store), store)
    pair, models = load_pair(args.device, args.dtype, threads=args.threads, compile=args.compile), bundled.names(bundled.PRECOMPUTED)
    scale = pair.denoiser.scale
    if args.kind == "traces":
        whole = record(pair, store.folder, shown(tasks), Clock(args.minutes))
    elif args.quick:
        settings = grid(tasks, QUICK["steps"], QUICK["leniencies"])
        whole = measure_speed(pair, store, models, where(pair, scale), settings, args.prompts, Clock(QUICK["minutes"]))
    else:
        share = args.minutes / (2 if args.kind == "both" else 1)
        whole = True
        if args.kind != "speed":
            whole &= measure_quality(*quality_bench(pair), store, models, stages(tasks, args.n), Clock(share))
        if args.kind != "quality":
            model, _ = bundled.load_verifier(pair.verifier.device, pair.verifier.dtype, adapter=bundled.ADAPTER)
            other = to_transformers(model)
            engines = {name: runner(other, scale, sorted(pair.eos()), **options) for name, options in ENGINES.items()}
            settings = [*grid(tasks, STEPS, LENIENCIES), *paper(tasks), *cuts(tasks)]
            whole &= measure_speed(
                pair, store, models, where(pair, scale), list(dict.fromkeys(settings)), args.prompts, Clock(share), engines=engines
            )
    return told_whole(whole, store)


def told_whole(whole: bool, store: Store) -> int:
    """Say how far the sweep is. → exit status"""
    print("everything is measured" if whole else "time is up; the same command goes on from here")
    print(f"what it amounts to: python -m sdiff frontier {store.folder}")
    return 0


def shared(args: argparse.Namespace, tasks: tuple[str, ...], store: Store) -> bool:
    """The quality pass on the workers of a Ray cluster; no model is loaded here. → is everything there?"""
    if args.kind != "quality" or args.quick:
        raise ValueError("A cluster shares the quality pass only: give --pass quality. Speed is measured on each machine by itself.")
    card, _ = bundled.load(bundled.DRAFTERS, bundled.NEEDED)
    seen, clock = {"seed": SEED, "temperature": card["training_temperature"]}, Clock(args.minutes)
    device, cores = choose_device(args.device, args.dtype)[0], args.threads or usable_cores()
    make, needs = partial(workers_bench, str(device), args.dtype, cores), {"CPU": cores, "GPU": float(device.type == "cuda")}
    with cluster.joined(args.ray):
        return cluster.measure_quality(make, needs, store, bundled.names(bundled.PRECOMPUTED), seen, stages(tasks, args.n), clock)


def workers_bench(device: str, dtype: str, threads: int) -> tuple[Bench, dict[str, Any]]:
    """As `quality_bench`, from nothing, on a worker of a cluster."""
    return quality_bench(load_pair(device, dtype, threads=threads))


def quality_bench(pair: Pair) -> tuple[Bench, dict[str, Any]]:
    """The bundled pair's models for many decodes at once, and what is true of the rows."""
    device, dtype = pair.verifier.device, pair.verifier.dtype
    model, tokenizer = bundled.load_verifier(device, dtype, adapter=bundled.ADAPTER)
    network, card = bundled.load_drafter(model, bundled.DRAFTERS, device, dtype)
    scale = card["training_temperature"]
    bench = Bench(model, network, scale, tokenizer, partial(pair.encode, raw=False), pair.eos(), scale, grade)
    return bench, {**where(pair, scale), "lanes": LANES}


def stored(args: argparse.Namespace) -> tuple[Store, Store, dict[str, str]]:
    """The store asked for, the one to take quality from (the laws are the same on every machine), and what names the models."""
    shipped, models = Store(bundled.PRECOMPUTED / "frontier"), bundled.names(bundled.PRECOMPUTED)
    store = Store(args.folder) if args.folder else shipped
    return store, store if len(store.rows("quality", models)) else shipped, models


def frontier(args: argparse.Namespace) -> int:
    """Print what the stored measurements amount to. → exit status"""
    store, decoded, models = stored(args)
    if args.write:
        text = args.write.read_text(encoding="utf-8")
        args.write.write_text(readme.between(text, "measured frontier", readme.markdown(store, models)), encoding="utf-8")
        return 0
    figures = report.report(store, models, decoded)
    if args.json:
        print(json.dumps(figures))
        return 0
    for row in report.lines(store, models, decoded):
        quality = (
            f"{row['accuracy']:.3f} ({row['low']:.2f} – {row['high']:.2f})"
            if "accuracy" in row
            else f"{1 - row['tv']:.3f} (1 − TV)"
            if "tv" in row
            else "–"
        )
        speed = f"{row['speedup']:.2f}× ({row['speedup_low']:.2f} – {row['speedup_high']:.2f})" if "speedup" in row else "–"
        name = (
            f"{row['noise']} S = {row['steps']} {row['rule']} λ = {row['leniency']:g} γ = {row['gamma']} {row['proposal']}"
            if row["noise"]
            else "plain"
        )
        print(
            f"{row['task']:<10} {name:<52} quality {quality:<22} n = {row.get('n', 0):<4} τ = {row.get('tau', float('nan')):<6.2f} speed {speed}"
        )
    print(json.dumps(figures, indent=1))
    return 0


def recommend(args: argparse.Namespace) -> int:
    """Print the setting for a stated quality or speed, the runner-up and what speaks against its neighbours. → exit status"""
    store, decoded, models = stored(args)
    task = args.task or route(args.prompt or "")
    every = report.measured_points(store, models, task, decoded)
    if not every:
        raise ValueError(f"Nothing is measured for {task} with these models. Run `python -m sdiff bench` first.")
    choice = choose(every, args.quality, args.speed)
    print(f"task: {task}")
    if choice.best is None:
        top = max(every, key=lambda p: p.quality if args.speed is None else p.speed)
        print(f"nothing measured meets that; the nearest is {told(top)}")
        return 1
    print(f"take {told(choice.best)}{'' if choice.sure else '; its interval also holds values that miss the bound'}")
    if choice.runner_up:
        print(f"next {told(choice.runner_up)}")
    for point, why in choice.rejected:
        print(f"not  {point.name}: {why}")
    return 0


def told(p: Point) -> str:
    """A point in one line."""
    (slow, fast), (low, high) = p.interval("speed"), p.interval("quality")
    return f"{p.name}, γ = {p.gamma}, {p.proposal or 'no drafts'}: {p.speed:.2f}× ({slow:.2f} – {fast:.2f}), quality {p.quality:.3f} ({low:.3f} – {high:.3f})"
