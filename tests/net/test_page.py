#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Pages of `report --html`: of real runs, and in a browser."""

import json
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "unit")]
import chromium
from html_check import Page, assert_true
from lib import EVERYTHING, assert_ok, case, main, pktledger, require, rootless, run
from test_report_html import SENT, between, capture, directory, document, end, ledger, start


@case
def a_run_and_its_page():
    """Three losses on the way: the picture, the data and the run's own document are the same."""
    with directory() as d:
        file, out = f"{d}/run.ledger", f"{d}/page.html"
        shown = run("-c", "30k", "--rate", "60k", "-I", "50ms", "--fault",
                   "qdisc:replace,netfilter,xdp", "--ledger", file)
        assert_ok(pktledger("report", "--html", out, file))
        page = Page(Path(out).read_text())
        assert_true(page)
        kept = {d["start"]["time"]: d for d in page.documents}  # run() may have tried again
        assert kept[shown["start"]["time"]]["end"] == shown["end"]
        for stage in shown["end"]["stages"]:
            assert f"{stage['packets']:,}" in page.text, stage
        histogram = shown["end"]["latency_histogram"]
        assert sum(b["packets"] for b in histogram) == shown["end"]["delivered"]


# In a browser

# Boxes of all texts that can be seen, those of an axis that lie on each other, and what sticks out
LOOK = """(() => {
  const seen = e => e.getClientRects().length && getComputedStyle(e).visibility != 'hidden';
  const box = e => { const r = document.createRange(); r.selectNodeContents(e);
                     return r.getBoundingClientRect(); };
  const bad = [];
  const wide = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > wide) bad.push('the page scrolls sideways');
  for (const axis of document.querySelectorAll('.x, .y, .path svg')) {
    const labels = [...axis.querySelectorAll(':scope > span, text')].filter(seen).map(
      e => [box(e), e.textContent]);
    labels.forEach(([a, text], i) => {
      if (a.left < 0 || a.right > wide) bad.push('beyond the edge: ' + text);
      for (const [b, other] of labels.slice(0, i))
        if (a.left < b.right && b.left < a.right && a.top < b.bottom - 2 && b.top < a.bottom - 2)
          bad.push('one on the other: ' + text + ', ' + other);
    });
  }
  for (const chart of document.querySelectorAll('.plot, .path')) {
    const svg = [...chart.querySelectorAll('svg')].filter(seen);
    if (svg.length != 1) bad.push(svg.length + ' pictures in one place');
  }
  for (const e of document.querySelectorAll('.figures div'))
    if (e.scrollWidth > e.clientWidth) bad.push('out of its frame: ' + e.textContent);
  return [bad, getComputedStyle(document.body).backgroundColor];
})()"""


def look(browser, path, name):
    browser.show(path, **chromium.LOOKS[name])
    browser.ask("document.querySelectorAll('details').forEach(d => d.open = true)")
    bad, ground = browser.ask(LOOK)
    assert not bad, (name, bad)
    assert not browser.complaints(), browser.complaints()
    assert len(browser.requests()) == 1, browser.requests()
    return ground


@rootless
def in_chromium():
    """Light and dark, on a screen, a phone and paper: nothing overlaps, nothing is loaded."""
    require(chromium.PROGRAM, "needs chromium")
    with directory() as d:
        ledger(d / "run", document())
        ledger(d / "soak", document(7200))
        ledger(d / "pairs", *(between(a, b, SENT // 2) for a in "abcdefgh" for b in "abcdefgh"))
        many = {"start": start(),
                "trials": [{**end(), "intended": SENT, "unsent": 5, "loss_fraction": 0.1 / (i + 1),
                            "parameters": {"rcvbuf": f"{i}k", "rate_pps": 1000.0 * (i + 1)}}
                           for i in range(20)]}
        rate = {"lower_pps": 9000.0, "upper_pps": 9100.0, "stage": "rcvbuf"}
        sweep = {"schema": "pktledger/sweep/1", **many, "end": {}}
        search = {"schema": "pktledger/search/1", **many, "end": {"ndr": rate, "pdr": rate}}
        (d / "sweep").write_text(json.dumps(sweep))
        (d / "search").write_text(json.dumps(search))
        capture(d / "a.pcap", range(1, 1001), 0)
        capture(d / "b.pcap", [n for n in range(1, 901) if n % 10 != 5], 2500)
        with chromium.browser() as browser:
            for args in (["run"], ["sweep"], ["search"], ["run", "soak"], ["--matrix", "pairs"],
                         ["a.pcap", "b.pcap"]):
                files = [word if word[0] == "-" else str(d / word) for word in args]
                assert_ok(pktledger("report", "--html", str(d / "page.html"), *files))
                ground = {name: look(browser, d / "page.html", name) for name in chromium.LOOKS}
                assert ground["light"] == ground["phone"] != ground["dark"] == ground["phone-dark"]


if EVERYTHING:
    case(in_chromium)


if __name__ == "__main__":
    main()
