"""Every sentence a person reads, by name, from words/LANGUAGE/*.toml. Refuses to know what they are shown on.

`{name}` is filled in where the sentence is used. Numbers are defined in measures.py. The language is that of SDIFF_LANGUAGE when the
page is first imported; what a translation lacks stays English. Sentences that are made below the page, such as a refusal, are written
in English there (sentence.py); the table SAID of words/LANGUAGE/said.toml has them in another language, by their English template.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any

from sdiff.request import KNOBS
from sdiff.sentence import Sentence, why

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
SAID: dict[str, str] = load(LANGUAGE).get("SAID", {})

# What a decoder writes into a run, which the page shows wherever the run was made.
WRITTEN = ("masked", "uniform", "plain decoding", "λ unused", "{symbol} = all", "{n}-layer block denoiser", "{kind} CPU, {n} cores")


def said(text: str | BaseException) -> str:
    """`text`, or what an exception says, in the page's language; what nobody translated stays as it is."""
    text = why(text) if isinstance(text, BaseException) else text
    if not isinstance(text, Sentence):
        return SAID.get(text, text)
    values = {name: said(value) if isinstance(value, Sentence) else value for name, value in text.values.items()}
    template = SAID.get(text.template, text.template)
    return template.format(**values) if values else template


def all_said(value: Any) -> Any:
    """`value` with every Sentence in its lists and tables in the page's language."""
    if isinstance(value, dict):
        return {key: all_said(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [all_said(one) for one in value]
    return said(value) if isinstance(value, Sentence) else value


def recognised(words: dict[str, str]) -> list[tuple[str, str]]:
    """(pattern, replacement with $1, $2, …) for the rules, which a run names as the command line does, and each of WRITTEN that `words` translates."""
    pairs = [(f"^{rule}$", words.get(knob.label, knob.label)) for rule, knob in KNOBS.items()]
    for template in filter(words.get, WRITTEN):
        fixed, names = re.split(r"\{\w+\}", template), re.findall(r"\{(\w+)\}", template)
        places = {name: f"${i}" for i, name in enumerate(names, 1)}
        pairs.append((f"^{'(.+)'.join(map(re.escape, fixed))}$", words[template].format(**places)))
    return pairs


RECOGNISED = recognised(SAID)


def read(text: Any) -> Any:
    """A text out of a run in the page's language; anything else as it is. The player does the same (caption.js)."""
    for pattern, mine in RECOGNISED if isinstance(text, str) else ():
        if found := re.match(pattern, text):
            return re.sub(r"\$(\d)", lambda place, found=found: found[int(place[1])], mine)
    return text
