# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Judges a page of `report --html`: is it well-formed, alone, and are its pictures true?

As a program it reads a page from stdin and says what is wrong with it: exit status 1. With --form
the data may be nonsense: only the form is judged.
"""

import json
import re
import sys
from html.parser import HTMLParser

VOID = {"meta", "br", "stop"}
CLOSED_BY = {"tr": {"td", "th", "tr"}, "td": {"td", "th"}, "th": {"td", "th"}}  # end tags left out
ENDS_ALSO = {"thead": {"td", "th", "tr"}, "tbody": {"td", "th", "tr"}}
ELEMENTS = set("""html head meta title style body main header footer section article details summary
figure figcaption h1 h2 h3 p span div b br small code pre dl dt dd ul li i table thead tbody tr th td
svg g path rect text lineargradient stop script""".split())
MIDDLE, SIDE = 8.6, 7.6  # px a character at most: of names, of other labels


class Page(HTMLParser):
    """Fails while it parses; then `documents` and `pictures` are what is in it."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.used, self.documents, self.pictures = [], set(), set(), [], []
        self.words, self.data = [], None
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"
        assert self.used <= self.ids, f"no such id: {self.used - self.ids}"

    def handle_decl(self, decl):
        assert decl == "DOCTYPE html" and not self.open, decl

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")

    def handle_pi(self, data):
        raise AssertionError(f"an instruction: {data}")

    def handle_starttag(self, tag, attrs):
        self.start(tag, dict(attrs))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.start(tag, dict(attrs))

    def start(self, tag, attrs):
        assert tag in ELEMENTS, f"<{tag}>"
        while self.open and self.open[-1] in CLOSED_BY.get(tag, ()):
            self.open.pop()
        for name, value in attrs.items():
            self.attribute(tag, name, value or "")
        if tag == "script":
            assert attrs["type"] == "application/json", attrs
            self.data = ""
        elif tag == "svg":
            self.pictures.append({"class": attrs.get("class", ""), "paths": [], "texts": [], "titles": [],
                                  "box": [float(v) for v in attrs["viewbox"].split()]})
        elif tag == "path" and "fill" in attrs:
            self.pictures[-1]["paths"].append(attrs["d"])
        elif tag == "title" and "svg" in self.open:
            self.pictures[-1]["titles"].append("")
        elif tag == "text":
            self.pictures[-1]["texts"].append([float(attrs["x"]), float(attrs["y"]),
                                               attrs.get("class", ""), ""])

    def attribute(self, tag, name, value):
        assert not name.startswith("on"), f"<{tag} {name}={value}>"
        assert name not in ("src", "href", "xlink:href", "action", "srcset"), f"{name}={value}"
        if name == "id":
            assert value not in self.ids, f"id {value} is there twice"
            self.ids.add(value)
        elif name in ("fill", "style"):
            self.used |= set(re.findall(r"url\(#([^)]*)\)", value))
            assert "//" not in value, value
        if name in ("d", "x", "y", "width", "height", "viewbox", "x1", "y1", "x2", "y2", "style"):
            assert not re.search(r"nan|inf", value), f"{name}={value[:200]}"

    def handle_endtag(self, tag):
        while self.open and self.open[-1] in ENDS_ALSO.get(tag, ()):
            self.open.pop()
        assert self.open and self.open[-1] == tag, f"</{tag}> in {self.open}"
        self.open.pop()
        if tag == "script":
            self.documents.append(json.loads(self.data))
            self.data = None

    def handle_data(self, data):
        if self.data is not None:
            self.data += data
        elif "style" in self.open:
            assert not re.search(r"@import|url\(|//[a-z]", data), "the style loads something"
        else:
            self.words.append(data)
        if self.open and self.open[-1] == "title" and "svg" in self.open:
            self.pictures[-1]["titles"][-1] += data
        if self.open and self.open[-1] == "text":
            self.pictures[-1]["texts"][-1][3] += data

    @property
    def text(self):
        return "".join(self.words)


def boxes(picture):
    """Of the labels: left, top, right, bottom, as wide as they can be."""
    wide = "wide" in picture["class"]
    for x, y, style, text in picture["texts"]:
        width = len(text) * (MIDDLE if style == "name" else SIDE)
        left = x - width / 2 if wide else x
        yield left, y - 12, left + width, y + 4, text


def assert_labels(picture):
    _, _, width, height = picture["box"]
    placed = list(boxes(picture))
    for i, a in enumerate(placed):
        assert a[0] >= 0 and a[1] >= 0 and a[2] <= width and a[3] <= height, (a, picture["box"])
        for b in placed[:i]:
            assert a[0] >= b[2] or b[0] >= a[2] or a[1] >= b[3] or b[1] >= a[3], (a, b)


def thickness(path):
    """px of an exit where it leaves: from its first point to its last, across the path."""
    points = re.findall(r"(-?[\d.]+) (-?[\d.]+)(?=[MLAZ])", path)
    return abs(float(points[-1][1]) - float(points[0][1]))


def assert_picture(picture, end):
    """What leaves is in the order of the path, and as wide as there are packets."""
    wide = "wide" in picture["class"]
    leaves = [("refused", end["refused"])]
    leaves += [(s["stage"], s["packets"]) for s in end["stages"]]
    leaves += [("in flight", end.get("in_flight")), ("unaccounted", end.get("unaccounted"))]
    leaves = [(name, packets) for name, packets in leaves if packets]
    whole = sum(packets for _, packets in leaves) + end.get("delivered", 0)
    if "delivered" not in end:  # a sender alone
        whole = end["attempted"]
    assert_labels(picture)
    arrived = end.get("delivered", whole - sum(packets for _, packets in leaves))
    assert picture["titles"][0].startswith(f"{arrived:,} packets "), picture["titles"][0]
    texts = [t[3] for t in picture["texts"]]
    named = [(texts[i], int(texts[i + 1].split()[0].replace(",", "")))
             for i in range(0, len(texts), 3 if wide else 2)]
    assert named == leaves, (named, leaves)
    for path, (name, packets) in zip(picture["paths"], leaves, strict=True):
        wanted = max((150 if wide else 110) * packets / whole, 1.5)
        assert abs(thickness(path) - wanted) <= 0.11, (name, thickness(path), wanted)


def ledger_between(ends):
    """What two captures tell, as the ledger of a path from one to the other."""
    ways = {"lost": ends["lost"], "B not there": ends["unknown"]["outside"],
            "dropped or cut": ends["unknown"]["dropped_or_cut"]}
    return {"attempted": ends["a"]["compared"], "refused": 0, "delivered": ends["matched"],
            "stages": [{"stage": name, "packets": n} for name, n in ways.items()]}


def assert_true(page):
    """Pictures of paths belong to the ledgers of the documents, in their order."""
    ledgers = []
    for document in page.documents:
        ledgers += [ledger_between(document["between"])] if "between" in document else []
        ledgers += [document["end"]] if "attempted" in document.get("end", {}) else []
        trials = document.get("trials", [])
        ledgers += [t for t in trials if t.get("attempted")
                  and (len(trials) <= 20 or t["delivered"] < t["sent"] or t.get("loss_fraction"))
                  ][:20 if len(trials) <= 20 else 4]
    paths = [p for p in page.pictures if re.search("wide|narrow", p["class"])]
    for end in ledgers:
        if not end["attempted"]:
            continue
        if "wide" in paths[0]["class"]:
            assert_picture(paths.pop(0), end)
        assert "narrow" in paths[0]["class"], paths[0]
        assert_picture(paths.pop(0), end)
    assert not paths, "more pictures than ledgers"


if __name__ == "__main__":
    try:
        page = Page(sys.stdin.read())
        if sys.argv[1:] != ["--form"]:
            assert_true(page)
    except AssertionError as error:
        sys.exit(str(error))
