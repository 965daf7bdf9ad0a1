"""The shipped palettes, measured: distances for every kind of colour vision, and contrast. Needs no browser."""

from __future__ import annotations

import itertools
import math

import pytest

from sdiff.ui import states
from sdiff.ui.assets import read

VISION = {  # Machado et al. 2009, severity 1, on linear RGB
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritan": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def linear(colour: str) -> list[float]:
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]


def times(matrix, vector):
    return [sum(m * v for m, v in zip(row, vector, strict=True)) for row in matrix]


def contrast(a: str, b: str) -> float:
    low, high = sorted(sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear(x), strict=True)) for x in (a, b))
    return (high + 0.05) / (low + 0.05)


def lab(colour: str, vision: str) -> tuple[float, float, float]:
    rgb = [min(1.0, max(0.0, c)) for c in times(VISION[vision], linear(colour))]
    xyz = times(((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041)), rgb)
    x, y, z = (v ** (1 / 3) if v > 216 / 24389 else (24389 / 27 * v + 16) / 116 for v in (xyz[0] / 0.95047, xyz[1], xyz[2] / 1.08883))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def ciede2000(one, two) -> float:
    (l1, a1, b1), (l2, a2, b2) = one, two
    mean = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    g = 0.5 * (1 - math.sqrt(mean**7 / (mean**7 + 25**7)))
    a1, a2 = a1 * (1 + g), a2 * (1 + g)
    c1, c2 = math.hypot(a1, b1), math.hypot(a2, b2)
    h1, h2 = math.degrees(math.atan2(b1, a1)) % 360, math.degrees(math.atan2(b2, a2)) % 360
    dh = (h2 - h1 + 180) % 360 - 180 if c1 * c2 else 0.0
    hue = h1 + dh / 2 if c1 * c2 else h1 + h2
    dl, dc, dhh = l2 - l1, c2 - c1, 2 * math.sqrt(c1 * c2) * math.sin(math.radians(dh / 2))
    ml, mc = (l1 + l2) / 2, (c1 + c2) / 2
    cos = lambda degrees: math.cos(math.radians(degrees))  # noqa: E731
    tt = 1 - 0.17 * cos(hue - 30) + 0.24 * cos(2 * hue) + 0.32 * cos(3 * hue + 6) - 0.20 * cos(4 * hue - 63)
    sl, sc, sh = 1 + 0.015 * (ml - 50) ** 2 / math.sqrt(20 + (ml - 50) ** 2), 1 + 0.045 * mc, 1 + 0.015 * mc * tt
    hue_turn = (hue % 360 - 275) / 25
    rt = -2 * math.sqrt(mc**7 / (mc**7 + 25**7)) * math.sin(math.radians(60 * math.exp(-(hue_turn**2))))
    return math.sqrt((dl / sl) ** 2 + (dc / sc) ** 2 + (dhh / sh) ** 2 + rt * dc / sc * dhh / sh)


def test_ciede2000_on_published_pairs():
    # Sharma, Wu and Dalal 2005, test pairs 1, 10 and 25
    assert ciede2000((50, 2.6772, -79.7751), (50, 0, -82.7485)) == pytest.approx(2.0425, abs=1e-4)
    assert ciede2000((50, -0.001, 2.49), (50, 0.0011, -2.49)) == pytest.approx(4.7461, abs=1e-3)
    assert ciede2000((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387)) == pytest.approx(1.2644, abs=1e-4)


@pytest.mark.parametrize("palette", [states.LIGHT, states.DARK], ids=["light", "dark"])
@pytest.mark.parametrize("vision", VISION)
def test_fills_stay_apart_for_every_eye(palette, vision):
    fills = {name: lab(fill, vision) for name, (fill, _) in palette.items()}
    for (a, x), (b, y) in itertools.combinations(fills.items(), 2):
        assert ciede2000(x, y) >= 13.5, (a, b)


def test_ink_and_edges_are_readable():
    for palette in (states.LIGHT, states.DARK):
        for name, (fill, ink) in palette.items():
            assert contrast(fill, ink) >= 4.5, name
    assert contrast(states.EDGE["light"], "#FFFFFF") >= 3
    assert contrast(states.EDGE["dark"], "#0F0F11") >= 3


def test_every_state_differs_in_more_than_colour():
    looks = {(s.glyph, s.line) for s in states.STATES}
    assert len(looks) == len(states.STATES) == 10
    assert len({s.word for s in states.STATES}) == 10
    css = read("player/player.css")
    for s in states.STATES:
        assert s.line == "none" or f'[data-line="{s.line}"]' in css, s
        assert s.fill == "none" or f'[data-fill="{s.fill}"]' in css, s
