# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Judges the form of a page of `report --html`: well-formed, alone, and with a policy that fits."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

VOID = {"meta"}
ELEMENTS = set("""html head meta title style body main footer section article h1 h2 h3 p div pre dl dt
dd table thead tbody tr th td button output script""".split())
ATTRIBUTES = set("lang charset http-equiv content name class id type hidden data-name".split())


class Page(HTMLParser):
    """Fails while it parses; then `documents`, `view` and `pre` are what is in it."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.words, self.data, self.documents, self.view = [], [], None, [], None
        self.pre, self.policy, self.emitted = None, "", {}
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"
        for name, content in self.emitted.items():
            digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
            assert f"{name}-src 'sha256-{digest}'" in self.policy, (name, digest, self.policy)
        assert set(self.emitted) == {"style", "script"} and "unsafe" not in self.policy, self.policy
        assert "innerHTML" not in self.emitted["script"]

    def handle_decl(self, decl):
        assert decl == "DOCTYPE html" and not self.open, decl

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")

    def handle_pi(self, data):
        raise AssertionError(f"an instruction: {data}")

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        assert tag in ELEMENTS, f"<{tag}>"
        assert set(attrs) <= ATTRIBUTES, (tag, attrs)
        if attrs.get("http-equiv"):
            self.policy = attrs["content"]
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("script", "style", "pre"):
            self.data, self.kind = "", attrs.get("class", tag)

    def handle_startendtag(self, tag, attrs):
        raise AssertionError(f"<{tag}/>")

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> in {self.open}"
        self.open.pop()
        if self.data is None:
            return
        if self.kind == "pktledger-document":
            self.documents.append(json.loads(self.data))
        elif self.kind == "pktledger-view":
            self.view = json.loads(self.data)
        elif self.kind == "pre":
            self.pre = self.data[1:]  # the first line ends with the tag
        else:
            assert self.kind not in self.emitted, self.kind
            self.emitted[self.kind] = self.data
            assert not re.search(r"@import|url\(|https?://(?!www.w3.org/2000/svg)", self.data)
        self.data = None

    def handle_data(self, data):
        if self.data is not None:
            self.data += data
        if "script" not in self.open and "style" not in self.open:
            self.words.append(data)

    @property
    def text(self):
        return "".join(self.words)
