"""`python -m sdiff doctor`: what this machine reaches, beside what it could reach at best. Knows one pair; refuses to store anything."""

from __future__ import annotations

import argparse
import json
from typing import Any

from sdiff import limits
from sdiff.bench.machine import where
from sdiff.measures import statistics
from sdiff.pairs import load_pair
from sdiff.request import Request

TRIED = Request("Tell me a short story about a lighthouse keeper.", steps=1, max_tokens=96)
BUSY = 1.0  # a load average above this many idle cores' worth spoils a timing


def checkup(facts: dict[str, Any], plain_ms: float, stats: dict[str, Any]) -> dict[str, Any]:
    """Measured against possible. `facts`: `where` of the pair; `plain_ms` of one plainly decoded token; `stats` of a run of one step per block.

    floor_ms: reading every weight once at this machine's bandwidth; mbu: floor ÷ plain; cycle_cost at S = 1 in plain tokens, which is also
    the number of tokens per cycle at which speculation breaks even.
    """
    ms, cycles = stats["ms"], stats["cycles"]
    draft, verify, rest = (ms[phase] / cycles for phase in ("draft", "verify", "examine"))
    floor = limits.floor_ms(facts["weight_bytes"], facts["gigabytes_per_second"])
    return {
        **{key: facts[key] for key in ("device", "name", "dtype", "threads", "load", "torch", "transformers")},
        "weight_megabytes": round(facts["weight_bytes"] / 1e6, 1), "gigabytes_per_second": facts["gigabytes_per_second"],
        "floor_ms": round(floor, 2), "plain_ms": round(plain_ms, 2), "mbu": round(floor / plain_ms, 3), "step_ms": round(draft, 2),
        "verify_ms": round(verify, 2), "examine_ms": round(rest, 2), "step_cost_ratio": round(draft / verify, 3),
        "cycle_cost": round(limits.cycle_cost(draft, verify, rest, plain_ms), 3), "compiled": facts["compiled"],
    }  # fmt: skip


def advice(found: dict[str, Any]) -> list[str]:
    """What a person could do about it, in sentences."""
    says = []
    if found["load"] is not None and found["load"] > found["threads"] + BUSY:
        says.append(
            f"The load average is {found['load']:g}: something else computes here, and these timings are worth little. Stop it and run this again."
        )
    if found["mbu"] < 0.4:
        says.append(
            f"Plain decoding reaches {found['mbu']:.0%} of the memory bandwidth. Try --threads 1 or another number: one thread too many can cost a lot."
        )
    if found["cycle_cost"] > 2:
        says.append(
            f"A cycle costs {found['cycle_cost']:.1f} plain tokens here: speculation pays only where more tokens per cycle than that are written."
        )
    return says or ["Nothing stands out."]


def doctor(args: argparse.Namespace) -> int:
    """Load the bundled pair, time it for a few seconds, and tell. → exit status"""
    pair = load_pair(args.device, args.dtype, threads=args.threads, compile=args.compile)
    pair.calibrate(48)
    list(pair.stream(TRIED, detail=False))  # warm
    found = checkup(where(pair, pair.denoiser.scale), pair.plain_ms, statistics(pair.stream(TRIED, detail=False)))
    if args.json:
        print(json.dumps(found))
        return 0
    print("\n".join([*(f"{key.replace('_', ' '):<22} {value}" for key, value in found.items()), "", *advice(found)]))
    return 0
