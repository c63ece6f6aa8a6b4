#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The colours of `report --html`: seen on their ground, told apart, also by the colour-blind."""

import itertools
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import ROOT, main, table

# Simulation of severity 1: G. Machado et al., IEEE TVCG 15(6), 2009
SIGHT = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216),
                   (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413),
                     (-0.011820, 0.042940, 0.968881)),
}
STAGES = [f"c{i}" for i in range(8)]


def colours(mode):
    """Name to linear red, green, blue of the first (light) or second (dark) :root."""
    style = (ROOT / "user/report/html.css").read_text()
    root = re.findall(r":root \{(.*?)\}", style, re.S)[mode == "dark"]
    found = {}
    for name, value in re.findall(r"--(\w+): #([0-9a-f]{6});", root):
        bytes_ = [int(value[i:i + 2], 16) / 255 for i in (0, 2, 4)]
        found[name] = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in bytes_]
    return found


def contrast(a, b):
    """As in WCAG 2."""
    luminance = [0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in (a, b)]
    return (max(luminance) + 0.05) / (min(luminance) + 0.05)


def lab(colour, sight):
    """CIE L*a*b* of D65, as somebody sees it."""
    seen = [min(max(sum(m * c for m, c in zip(row, colour)), 0), 1) for row in SIGHT[sight]]
    xyz = [sum(m * c for m, c in zip(row, seen)) / white for row, white in (
        ((0.4124, 0.3576, 0.1805), 0.9505), ((0.2126, 0.7152, 0.0722), 1),
        ((0.0193, 0.1192, 0.9505), 1.089))]
    x, y, z = [v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in xyz]
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def difference(a, b, sight):
    return sum((x - y) ** 2 for x, y in zip(lab(a, sight), lab(b, sight))) ** 0.5


@table([("light", "light"), ("dark", "dark")])
def text_is_readable(mode):
    found = colours(mode)
    for name in ("text", "dim", "good", "bad", "warn"):
        for ground in ("card", "page"):
            assert contrast(found[name], found[ground]) >= 4.5, (name, ground)


@table([("light", "light"), ("dark", "dark")])
def marks_are_seen(mode):
    found = colours(mode)
    for name in ["flow", "sent", "refused", "unknown", *STAGES]:
        assert contrast(found[name], found["card"]) >= 3, (name, contrast(found[name], found["card"]))


@table([(f"{mode}, {sight}", mode, sight) for mode in ("light", "dark") for sight in SIGHT])
def marks_are_told_apart(mode, sight):
    """Most of all neighbours, and all from the stream. Names stand beside them in any case."""
    found = colours(mode)
    for i, k in itertools.combinations(range(len(STAGES)), 2):
        least = 15 if k - i == 1 else 9
        apart = difference(found[STAGES[i]], found[STAGES[k]], sight)
        assert apart >= least, (STAGES[i], STAGES[k], apart)
    for name in STAGES:
        assert difference(found[name], found["flow"], sight) >= 15, name


if __name__ == "__main__":
    main()
