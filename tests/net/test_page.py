#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Pages of `report --html`: of real runs, and in a browser."""

import contextlib
import json
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "unit")]
import chromium
from html_check import Page
from lib import EVERYTHING, assert_ok, case, main, pktledger, require, rootless, run
from test_golden import DOCUMENTS, GOLDEN
from test_report_html import LOST, SENT, between, capture, cause, directory, document, end, ledger, start

EVIL = "</script><!--<script>alert(1)\"'&\u00e9\u2028\u202e"


@case
def a_run_and_its_page():
    """Three losses on the way: the data is the run's own document, the text that of `report`."""
    with directory() as d:
        file, out = f"{d}/run.ledger", f"{d}/page.html"
        shown = run("-c", "30k", "--rate", "60k", "-I", "50ms", "--fault",
                   "qdisc:replace,netfilter,xdp", "--ledger", file)
        assert_ok(pktledger("report", "--html", out, file))
        page = Page(Path(out).read_text())
        assert page.pre == pktledger("report", file).out
        kept = {d["start"]["time"]: d for d in page.documents}  # run() may have tried again
        assert kept[shown["start"]["time"]]["end"] == shown["end"]
        for stage in shown["end"]["stages"]:
            assert f"{stage['packets']:,}" in page.text, stage


# In a browser

# What of the page cannot be read: labels on each other, what sticks out, charts without a text
LOOK = """(() => {
  const seen = e => e.getClientRects().length && getComputedStyle(e).visibility != 'hidden';
  const bad = [], wide = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > wide) bad.push('the page scrolls sideways');
  for (const picture of document.querySelectorAll('.plot svg, .path svg')) {
    if (!picture.getAttribute('aria-label') && !picture.closest('.exit')) bad.push('no text: ' + picture.id);
    const labels = [...picture.querySelectorAll('text')].filter(seen).map(e => [e.getBoundingClientRect(), e.textContent]);
    labels.forEach(([a, text], i) => {
      if (a.left < 0 || a.right > wide) bad.push('beyond the edge: ' + text);
      for (const [b, other] of labels.slice(0, i))
        if (a.left < b.right && b.left < a.right && a.top < b.bottom - 2 && b.top < a.bottom - 2)
          bad.push('one on the other: ' + text + ', ' + other);
    });
  }
  for (const plot of document.querySelectorAll('.plot'))
    if (seen(plot) && plot.querySelectorAll('svg').length != 1) bad.push('no picture');
  for (const e of document.querySelectorAll('.figures div'))
    if (e.scrollWidth > e.clientWidth) bad.push('out of its frame: ' + e.textContent);
  return [bad, getComputedStyle(document.body).backgroundColor,
          document.querySelectorAll('svg, svg *').length, document.querySelectorAll('svg').length];
})()"""
DRAWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"
PRE = "document.querySelector('#full pre').textContent"
TABLE = """[...document.querySelectorAll('#d0-table tbody tr')].map(
  row => [...row.cells].slice(0, 2).map(cell => cell.textContent))"""


@contextlib.contextmanager
def opened(*files, options=(), **look):
    """A page of these documents, in a browser that complains about nothing."""
    require(chromium.PROGRAM, "needs chromium")
    with directory() as d, chromium.browser() as browser:
        names = [str(d / f"{i}") for i in range(len(files))]
        for name, made in zip(names, files):
            if isinstance(made, dict):
                ledger(Path(name), made)
            else:
                made(Path(name))
        assert_ok(pktledger("report", "--html", str(d / "page.html"), *options, *names))
        browser.file = d / "page.html"
        browser.show(browser.file, **look)
        browser.ask(DRAWN)
        yield browser
        assert not browser.complaints(), browser.complaints()
        assert len(browser.requests()) == 1, browser.requests()


def press(browser, *keys):
    for name in keys:
        text = {"Enter": "\r"}.get(name, name if len(name) == 1 else "")
        for kind in "keyDown", "keyUp":
            browser.call("Input.dispatchKeyEvent", type=kind, key=name, text=text,
                         windowsVirtualKeyCode=13 if name == "Enter" else 0)
    browser.ask(DRAWN)


@rootless
def what_the_page_draws():
    """Losses and sums are those of the document. The surroundings of both hosts can be unfolded. Of a finding the
    fix comes first, values have their units, and ports are not grouped by thousands."""
    made = document()
    made["start"].update(hosts={side: {"name": f"{side}-host", "probe": None} for side in ("tx", "rx")},
                         peer_env={"kernel": "6.12.3"})
    made["end"]["findings"] = [{"id": "rcvbuf", "stage": "rcvbuf", "severity": "warning",
                                "cause": "The receive buffer was full.",
                                "facts": {"lost": 2802, "port": 5060, "window_ns": 1500000000,
                                          "sleeping_percent": 98}, "fix": "read faster"}]
    with opened(made) as browser:
        assert browser.ask(TABLE) == [[stage, f"{n:,}"] for stage, n in LOST.items()]
        figures = browser.ask("[...document.querySelectorAll('.figures dd')].map(e => e.innerText)")
        lost = sum(LOST.values())
        for n in SENT, SENT - lost, lost:
            assert any(text.startswith(f"{n:,}") for text in figures), figures
        path = browser.ask("[...document.querySelectorAll('.path text')].map(e => e.textContent)")
        assert path[::3] == list(LOST) and path[1::3] == [f"{n:,}" for n in LOST.values()], path
        legend = browser.ask("[...document.querySelectorAll('#d0-losses')].map(e => e.closest('figure')"
                             ".querySelector('.legend').textContent)")
        assert legend == ["qdisc 120,000netfilter 3,000rcvbuf 7"], legend
        assert "120,000 packets" in browser.ask("document.querySelector('#d0-losses').ariaLabel")
        text = browser.ask(PRE)
        assert text == Page(browser.file.read_text()).pre
        shown = browser.ask("[...document.querySelectorAll('.finding .facts dd')].map(e => e.textContent)")
        assert shown == ["read faster", "2,802", "5060", "1.50 s", "98 %"], shown
        shown = browser.ask("[...document.querySelectorAll('#d0 summary')].map(e => e.textContent)")
        assert shown == ["host", "rx-host"], shown
        browser.ask("document.querySelector('#d0-env1 summary').click()")
        browser.ask(DRAWN)
        assert "6.12.3" in browser.ask("document.querySelector('#d0-env1').textContent")


def rows_of(end):
    """Stage and packets of each cause, as the table of losses shows them."""
    return [[s["stage"] or "copy", f"{(c if 'packets' in c else s)['packets']:,}"]
            for kind in ("stages", "suspected", "expected") for s in end.get(kind) or []
            for c in s.get("causes") or [s]]


@rootless
def numbers_of_golden_documents():
    """The same for each result in tests/golden: losses, sums, and the text of `report`."""
    require(chromium.PROGRAM, "needs chromium")
    with directory() as d, chromium.browser() as browser:
        for name in set(DOCUMENTS) - {"run-error-alone.json"}:  # that is an error, and no page
            made = pktledger("report", "--html", str(d / "page.html"), str(GOLDEN / name))
            assert made.status in (0, 4), made
            browser.show(d / "page.html")
            browser.ask(DRAWN)
            assert not browser.complaints(), (name, browser.complaints())
            (document,), pre = Page((d / "page.html").read_text()).documents, browser.ask(PRE)
            assert pre == Page((d / "page.html").read_text()).pre, name
            end = document.get("end") or document.get("sum") or {}
            if "hostile" in name or "trials" in document:
                continue
            assert browser.ask(TABLE) == rows_of(end), (name, browser.ask(TABLE), rows_of(end))
            figures = browser.ask("[...document.querySelectorAll('#d0 .figures div')].map(e => e.innerText)")
            for key in "sent", "arrived", "received", "delivered":
                assert (end.get(key) or 0) > 2 ** 53 or end.get(key) is None or any(
                    text.lower().startswith(f"{key}\n{end[key]:,}".lower()) for text in figures), (name, key, figures)


@rootless
def without_script_and_style():
    """Who blocks both reads headline, losses, findings and the text of the command."""
    with opened(document()) as browser:
        browser.call("Emulation.setScriptExecutionDisabled", value=True)
        text = browser.file.read_text()
        browser.file.write_text(text[:text.index("<style>")] + text[text.index("</style>") + 8:])
        browser.show(browser.file)
        seen = browser.ask("document.body.innerText")
        for words in ("12.30 % lost, most at qdisc", "function_of_netfilter", "120,000", "tc -s qdisc",
                      "delivered         876,993"):
            assert words in seen, (words, seen[:2000])


@rootless
def names_that_are_hostile():
    """They are seen, and do nothing: no markup, no order of their own."""
    made = document()
    made["start"], made["end"] = start(EVIL), end(EVIL)
    with opened(made) as browser:
        assert browser.ask("document.querySelectorAll('script').length") == 3
        shown = browser.ask("document.querySelector('#d0-table').textContent")
        assert EVIL.replace("\u202e", "\ufffd") in shown and "\u202e" not in shown, shown


@rootless
def by_keyboard():
    """Zoom, sort and filter; paper has all of it."""
    made = document()
    made["end"]["stages"][0]["causes"] = [{**cause("qdisc", n, f"R{n}"), "packets": n} for n in (5, 70, 600)]
    axis = "document.querySelector('#d0-rates').querySelectorAll('text').length && " \
           "[...document.querySelector('#d0-rates').querySelectorAll('text')].map(e => e.textContent).join()"
    rows = "[...document.querySelectorAll('#d0-table tbody tr td:nth-child(2)')].map(e => e.textContent)"
    with opened(made) as browser:
        whole = browser.ask(axis)
        browser.ask("document.querySelector('#d0-rates').focus()")
        press(browser, "ArrowRight")
        said = browser.ask("document.querySelector('#d0-rates').closest('figure').querySelector('output').textContent")
        assert "12:00:00.000 to 12:00:00.100 UTC" in said and "sent 125.0 kpps" in said, said
        press(browser, "+", "+")
        near = browser.ask(axis)
        assert near != whole, whole
        assert browser.ask("document.activeElement.id") == "d0-rates"
        browser.ask("document.querySelector('#d0-table-by1').focus()")
        press(browser, "Enter")
        assert browser.ask(rows) == ["3,000", "600", "70", "7", "5"], browser.ask(rows)
        browser.ask("document.querySelector('#d0-table-filter').focus()")
        browser.call("Input.insertText", text="netf")
        assert browser.ask(rows) == ["3,000"], browser.ask(rows)
        drawn = browser.ask("dispatchEvent(new Event('beforeprint')),"
                            "[...document.querySelectorAll('.plot, .path')].map(e => e.querySelectorAll('svg').length)")
        assert len(drawn) > 2 and all(drawn), drawn  # at once: the printer does not wait
        browser.ask(DRAWN)
        assert (browser.ask(axis), len(browser.ask(rows))) == (whole, 5)
        browser.ask("dispatchEvent(new Event('afterprint'))")
        browser.ask(DRAWN)
        assert (browser.ask(axis), browser.ask(rows)) == (near, ["3,000"])
        browser.ask("document.querySelector('#d0-rates').focus()")
        press(browser, "0")
        assert browser.ask(axis) == whole


def hour_of_interfaces():
    """A trace of one hour on a host with 200 interfaces, each of which loses something."""
    causes = [{**cause("rcvbuf", 100 + i, "SOCKET_RCVBUFF"), "ifname": f"eth{i}", "events": 1, "bytes": 1,
               "process": f"server{i}", "source": "event"} for i in range(200)]
    lost = [{"stage": "rcvbuf", "packets": sum(c["packets"] for c in causes), "bytes": 1, "events": 1,
             "source": "event", "scope": "flow", "causes": causes}]
    made = {"schema": "pktledger/trace/1", "start": start(), "end": {
        "duration_ns": 3600 * 10**9, "dropped": lost[0]["packets"], "stages": lost, "findings": []}}
    made["intervals"] = [{"time_ns": (i + 1) * 10**9, "interval_ns": 10**9, "dropped": 200, "stages": [
        {**lost[0], "packets": 200, "causes": [{**c, "packets": 1} for c in causes]}]} for i in range(3600)]
    return made


@rootless
def an_hour_of_200_interfaces():
    with opened(hour_of_interfaces()) as browser:
        assert browser.file.stat().st_size < 1 << 20
        bad, _, nodes, _ = browser.ask(LOOK)
        assert not bad and nodes < 5000, (bad, nodes)
        assert len(browser.ask(TABLE)) == 200
        browser.ask("document.querySelector('#d0-table-filter').focus()")
        browser.call("Input.insertText", text="eth17")
        assert len(browser.ask(TABLE)) == 11


@rootless
def in_each_look():
    """Light and dark, on a screen, a phone and paper: nothing overlaps, nothing is loaded."""
    require(chromium.PROGRAM, "needs chromium")
    with directory() as d:
        ledger(d / "run", document())
        ledger(d / "soak", document(7200))
        ledger(d / "pairs", *(between(a, b, SENT // 2) for a in "abcdefgh" for b in "abcdefgh"))
        many = {"start": {**start(), "parameters": ["rcvbuf", "rate_pps"]},
                "trials": [{**end(), "intended": SENT, "unsent": 5, "loss_fraction": 0.1 / (i + 1),
                            "parameters": {"rcvbuf": f"{i}k", "rate_pps": 1000.0 * (i + 1)}}
                           for i in range(20)]}
        rate = {"lower_pps": 9000.0, "upper_pps": 9100.0, "stage": "rcvbuf"}
        point = {"parameters": {"rcvbuf": "1k", "rate_pps": 1000}, "trials": 3, "balanced": True,
                 "lost_fraction": {"median": 0.1, "min": 0.01, "max": 0.2}, "stage": "rcvbuf"}
        sweep = {"schema": "pktledger/sweep/1", **many, "end": {"points": [point]}}
        search = {"schema": "pktledger/search/1", **many, "end": {"ndr": rate, "pdr": rate}}
        (d / "sweep").write_text(json.dumps(sweep))
        (d / "search").write_text(json.dumps(search))
        capture(d / "a.pcap", range(1, 1001), 0)
        capture(d / "b.pcap", [n for n in range(1, 901) if n % 10 != 5], 2500)
        with chromium.browser() as browser:
            for args, words, pictures in (
                    (["run"], "12.30 % lost", 6), (["sweep"], "differ by more than 2x", 20),
                    (["search"], "lost below the NDR 9", 20), (["run", "soak"], "A and B compared", 12),
                    (["--matrix", "pairs"], "50.00 %", 0), (["a.pcap", "b.pcap"], "9.00 % lost between", 2)):
                files = [word if word[0] == "-" else str(d / word) for word in args]
                assert_ok(pktledger("report", "--html", str(d / "page.html"), *files))
                ground = {}
                for name, look in chromium.LOOKS.items():
                    browser.show(d / "page.html", **look)
                    browser.ask(DRAWN)
                    bad, ground[name], nodes, drawn = browser.ask(LOOK)
                    assert not bad and nodes < 5000 and drawn >= pictures, (args, name, bad, nodes, drawn)
                    assert words in browser.ask("document.body.textContent"), (args, words)
                    assert not browser.complaints(), browser.complaints()
                    assert len(browser.requests()) == 1, browser.requests()
                assert ground["light"] == ground["phone"] != ground["dark"] == ground["phone-dark"]


if EVERYTHING:
    for function in (what_the_page_draws, numbers_of_golden_documents, without_script_and_style,
                     names_that_are_hostile, by_keyboard, an_hour_of_200_interfaces, in_each_look):
        case(function)


if __name__ == "__main__":
    main()
