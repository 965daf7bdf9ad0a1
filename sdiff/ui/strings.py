"""Every sentence a person reads, by name, from words/LANGUAGE/*.toml. Refuses to know what they are shown on.

`{name}` is filled in where the sentence is used. Numbers are defined in measures.py. The language is that of SDIFF_LANGUAGE when the
page is first imported; what a translation lacks stays English.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

WORDS = Path(__file__).parent / "words"
LANGUAGES = tuple(sorted(folder.name for folder in WORDS.iterdir() if folder.is_dir()))


def load(language: str) -> dict[str, Any]:
    """Name → sentence, list or table of them, of one language. Raises ValueError on a language that is not there."""
    if language not in LANGUAGES:
        raise ValueError(f"There is no language {language!r}; there are {', '.join(LANGUAGES)}.")
    words: dict[str, Any] = {}
    for path in sorted((WORDS / language).glob("*.toml")):
        words |= tomllib.loads(path.read_text(encoding="utf-8"))
    return words


def over(base: Any, other: Any) -> Any:
    """`base` with everything that `other` has in its place; tables are merged key by key."""
    if isinstance(base, dict) and isinstance(other, dict):
        return {key: over(value, other[key]) if key in other else value for key, value in base.items()}
    return other


LANGUAGE = os.environ.get("SDIFF_LANGUAGE", "en")
if LANGUAGE not in LANGUAGES:
    raise SystemExit(f"SDIFF_LANGUAGE is {LANGUAGE!r}; there are {', '.join(LANGUAGES)}.")
globals().update(over(load("en"), load(LANGUAGE)))
