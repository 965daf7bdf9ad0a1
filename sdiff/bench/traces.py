"""A recorded decode for each point of the frontier: the first problem of its task, as a trace file. Refuses to measure."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

from sdiff.bench.settings import SEED, Setting
from sdiff.bench.speed import request
from sdiff.bench.sweep import Clock
from sdiff.pairs import Pair
from sdiff.tasks import items
from sdiff.trace import Run, Trace


def path_of(folder: Path, setting: Setting) -> Path:
    """Where the decode of a setting is kept."""
    return folder / "traces" / f"{'-'.join(str(value) or 'plain' for value in setting.key())}.json.gz"


def opened(folder: Path, setting: Setting) -> Trace | None:
    """The recorded decode of a setting, or None where there is none that can be read."""
    try:
        return Trace.from_json(gzip.decompress(path_of(folder, setting).read_bytes()).decode())
    except (OSError, EOFError, zlib.error, ValueError):
        return None


def record(pair: Pair, folder: Path, settings: Sequence[Setting], clock: Clock, say: Callable[[str], None] = print) -> bool:
    """Record what is missing or was recorded with other models. → is everything there?"""
    for i, setting in enumerate(settings, 1):
        known = opened(folder, setting)
        if known and isinstance(known.events[0], Run) and known.events[0].models == pair.names:
            continue
        if clock.over:
            return False
        item, trace = next(islice(items(setting.task, "test", SEED), 1)), Trace()
        for _ in trace.record(pair.stream(request(setting, item, 0))):
            pass
        path = path_of(folder, setting)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_bytes(gzip.compress(trace.to_json().encode(), mtime=0))
        part.replace(path)
        say(f"{i} of {len(settings)}: {setting.name} recorded; {clock.left()}")
    return True
