"""The token states a person can see: knows glyph, line, fill, word and palette; refuses to know events and pages.

The one source for the player, its legend, its captions and its colours. A state is never shown by colour alone:
glyph, line, fill and word always agree. Palettes keep every pair of fills apart for protan, deutan and tritan eyes.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from sdiff.ui import strings


@dataclass(frozen=True)
class State:
    """One look of a token. `line` and `fill` name rules in player.css; `word` is what is spoken and printed."""

    name: str
    glyph: str
    line: str
    fill: str
    word: str
    help: str


# name, glyph, line, fill; word and help are strings.STATES'.
_LOOKS = (
    ("text", "", "none", "none"),
    ("masked", "░", "dashed", "hatched"),
    ("noisy", "~", "dotted", "none"),
    ("ready", "", "thin", "none"),
    ("accepted", "✓", "solid", "accepted"),
    ("lenient", "≈", "double", "lenient"),
    ("rejected", "✕", "strike", "rejected"),
    ("unexamined", "–", "faint", "pale"),
    ("correction", "▲", "bold", "correction"),
    ("bonus", "+1", "thick", "bonus"),
)
STATES = tuple(State(name, *look, *strings.STATES[name]) for name, *look in _LOOKS)

# fill -> (background, ink). Ink on background is at least 4.5:1.
LIGHT = {
    "accepted": ("#00509E", "#FFFFFF"),
    "lenient": ("#A6D3F2", "#101418"),
    "rejected": ("#B34700", "#FFFFFF"),
    "correction": ("#FFD84D", "#101418"),
    "bonus": ("#CC79A7", "#101418"),
    "pale": ("#E3E3E3", "#3A4048"),
}
DARK = {
    "accepted": ("#1F6DB5", "#FFFFFF"),
    "lenient": ("#BFE3FB", "#101418"),
    "rejected": ("#C4500A", "#FFFFFF"),
    "correction": ("#FFD84D", "#101418"),
    "bonus": ("#D889BD", "#101418"),
    "pale": ("#3F4550", "#E6EAF0"),
}
EDGE = {"light": "#5B6573", "dark": "#AEB8C6"}  # chip border, at least 3:1 on the page


def as_props() -> dict[str, dict[str, str]]:
    """The table as the player receives it: name -> glyph, line, fill, word, help."""
    return {s.name: asdict(s) for s in STATES}


def palette_css(root: str) -> str:
    """CSS variables of both palettes on selector `root`; written to be nested in a component's own rule."""

    def block(palette: dict[str, tuple[str, str]], edge: str) -> str:
        pairs = "".join(f"--fill-{k}: {fill}; --ink-{k}: {ink}; " for k, (fill, ink) in palette.items())
        return f"{{ {pairs}--edge: {edge}; }}"

    return f"{root} {block(LIGHT, EDGE['light'])}\n.dark & {root} {block(DARK, EDGE['dark'])}\n"
