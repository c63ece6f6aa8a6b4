#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""report --compare with limits, --junit, and the one spelling of options in documents."""

import copy
import json
import sys
import zlib
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import assert_valid, case, directory, main, pktledger, rootless, table

KEPT, USAGE, BROKEN = 0, 2, 4

START = {"time": "2026-11-01T12:00:00.000000Z", "host": "h", "env": {}, "command":
         ["pktledger", "run", "--rate=100k"]}
END = {"attempted": 1000, "sent": 1000, "delivered": 990, "dropped": 10, "in_flight": 0,
       "unaccounted": 0, "balanced": True, "tx_pps": 1000.0, "rx_pps": 990.0, "findings": [],
       "latency_ns": {"min": 1, "p50": 100, "p90": 200, "p99": 1000, "p999": 1500, "p9999": 2000,
                      "max": 2000},
       "stages": [{"stage": "rcvbuf", "packets": 10}]}


def ledger(path, start=START, **changes):
    lines = [{"event": "start", "schema": "pktledger/run/1", "data": start},
             {"event": "end", "data": {**copy.deepcopy(END), **changes}}]
    texts = [json.dumps(line, separators=(",", ":")).encode() for line in lines]
    path.write_bytes(b"".join(b"%08x %s\n" % (zlib.crc32(t), t) for t in texts))
    return str(path)


def compared(limits, *options, **changes):
    with directory() as d:
        files = ledger(d / "a"), ledger(d / "b", **changes)
        return pktledger("report", "--compare", "--limit", limits, *options, *files)


WORSE = {"delivered": 980, "dropped": 20, "stages": [{"stage": "rcvbuf", "packets": 20}]}
SLOWER = {"latency_ns": {**END["latency_ns"], "p99": 1201}}


@table([("nothing is lost", ([], 100, 100, {}), ([], 7, 7, {}), "Neither A nor B lost anything."),
        ("twelve times more", (["--rcvbuf=4m", "--duration=2"], 1000, 990, {"rcvbuf": 10}),
         (["--work=3us", "--rcvbuf=64k"], 100, 88, {"rcvbuf": 12}),
         "B lost 12 times more (12 % and 1 %), all of it at rcvbuf; B's --rcvbuf was 64k instead of 4m."),
        ("only one of them", (["--work=9us", "-q"], 100, 60, {"rcvbuf": 30, "xdp": 10}), (["-j"], 10, 10, {}),
         "A lost 40 % of the packets it sent, most of it at rcvbuf, and B lost nothing; A's --work was 9us instead of "
         "the default."),
        ("as many", (["--gso", "--seed=1"], 100, 90, {}), (["--seed=2"], 100, 90, {}),
         "B lost the same fraction as A, 10 %.")])
@rootless
def verdict(a, b, sentence):
    """Which lost more, where, and the option that may be the cause."""
    with directory() as d:
        files = [ledger(d / name, {**START, "command": ["pktledger", "run", *options]}, sent=sent, delivered=delivered,
                        stages=[{"stage": stage, "packets": n} for stage, n in stages.items()])
                 for name, (options, sent, delivered, stages) in zip("ab", (a, b))]
        assert pktledger("report", "--compare", "-j", *files).json["comparison"]["verdict"] == sentence


@case
@rootless
def a_result_that_is_not_balanced():
    result = compared("loss=+50%", unaccounted=10, delivered=980, balanced=False)
    assert result.status == BROKEN and "b, number 1: not balanced" in result.err, result


@table([(" ".join((limits, name)), limits, changes, status) for limits, name, changes, status in [
    ("loss=+0%", "same", {}, KEPT),
    ("loss=+1%", "at the limit", WORSE, KEPT),
    ("loss=+0.9%", "worse", WORSE, BROKEN),
    ("loss=+0.9%", "better", {"delivered": 1000, "dropped": 0, "stages": []}, KEPT),
    ("p99=+20%", "slower", SLOWER, BROKEN),
    ("p99=+21%,p50=+0%", "slower", SLOWER, KEPT),
    ("rx_pps=-5%", "fewer", {"rx_pps": 940.0}, BROKEN),
    ("rx_pps=-6%", "fewer", {"rx_pps": 940.0}, KEPT),
    ("rx_pps=-0%", "more", {"rx_pps": 1000.0}, KEPT),
    ("loss=+50%,rx_pps=-5%", "one of two", {"rx_pps": 10.0}, BROKEN),
]])
@rootless
def limits_of_a_comparison(limits, changes, status):
    result = compared(limits, **changes)
    assert result.status == status, result
    assert result.out.count("kept:") + result.out.count("broken:") == limits.count("=")
    assert ("broken:" in result.out) == (status == BROKEN), result
    document = compared(limits, "-j", **changes)
    assert document.status == status, document
    found = document.json["comparison"]["limits"]
    assert [limit["limit"] for limit in found] == limits.split(","), found
    assert any(limit["broken"] for limit in found) == (status == BROKEN), found


@case
@rootless
def two_results_are_shown():
    """Nothing is compared or joined unless it is asked for."""
    with directory() as d:
        files = ledger(d / "a"), ledger(d / "b", **WORSE)
        shown = pktledger("report", "-j", *files).json
        assert len(shown["documents"]) == 2 and "comparison" not in shown, shown
        assert_valid(shown)
        assert pktledger("report", *files).out.count("run on h") == 2
        assert "comparison" in pktledger("report", "-j", "--compare", *files).json


@table([("64 hosts", 64, KEPT, ""), ("65 hosts", 65, USAGE, "64")])
@rootless
def matrix(runs, status, words):
    with directory() as d:
        result = pktledger("report", "--matrix", *(ledger(d / str(i), {**START, "hosts": {
            "tx": {"name": f"host{i}"}, "rx": {"name": "host0"}}}) for i in range(runs)))
    assert result.status == status and words in result.err, result


@case
@rootless
def junit():
    """A case for each limit, each finding of severity error, and the balance of each result."""
    finding = {"id": "a<b&c", "stage": "rcvbuf", "severity": "error", "cause": "It \"lost\" <much>.",
               "fix": "10 & 5", "facts": {}, "command": None, "undo": None,
               "risk": None}
    with directory() as d:
        files = ledger(d / "a"), ledger(d / "b", **WORSE, balanced=False, unaccounted=3,
                                        findings=[finding, {**finding, "severity": "warning"}])
        result = pktledger("report", "--compare", "--limit", "loss=+0.1%,p99=+1%", "--junit",
                           str(d / "x.xml"), *files)
        assert result.status == BROKEN, result
        suite = ElementTree.parse(d / "x.xml").getroot().find("testsuite")
        cases = [(c.get("name"), c.find("failure") is None) for c in suite.iter("testcase")]
        assert cases == [("balanced", True), ("balanced", False), ("finding a<b&c", False),
                         ("limit loss=+0.1%", False), ("limit p99=+1%", True)], cases
        assert (suite.get("tests"), suite.get("failures")) == ("5", "3"), suite.attrib
        failure = suite.findall("testcase")[2].find("failure")
        assert (failure.get("message"), failure.text) == ("It \"lost\" <much>.", "10 & 5"), failure


@case
@rootless
def junit_of_a_search():
    """A case for each rate that was looked for: it fails if none was found."""
    end = {"ndr": {"lower_pps": 1000.0, "done": True}, "pdr": {"lower_pps": None, "done": True},
           "mrr": None, "trials": 0, "min_rate_pps": 1.0, "max_rate_pps": 2.0, "frame_bytes": 64,
           "duration_ns": 1}
    with directory() as d:
        (d / "s.json").write_text(json.dumps({"schema": "pktledger/search/1", "start": START,
                                              "trials": [], "end": end}))
        result = pktledger("report", "--junit", str(d / "x.xml"), str(d / "s.json"))
        assert result.status == KEPT, result
        suite = ElementTree.parse(d / "x.xml").getroot().find("testsuite")
        cases = [(c.get("name"), c.find("failure") is None) for c in suite.iter("testcase")]
        assert cases == [("ndr", True), ("pdr", False)], cases


@case
@rootless
def options_have_one_spelling():
    """-r 100k and --rate=100k are the same option in a document."""
    with directory() as d:
        file = ledger(d / "a")
        first = pktledger("report", "-j", "-v", "--since=2026-01-01", file).json["start"]["command"]
        again = pktledger("report", "--json", "--since", "2026-01-01", file, "--verbose")
        assert first[:2] == ["pktledger", "report"] and first[-1] == file, first
        assert sorted(first) == sorted(again.json["start"]["command"]), (first, again)
        assert set(first[2:-1]) == {"--json", "--verbose", "--since=2026-01-01"}, first


@case
def a_matrix_joins_senders_and_receivers():
    seed = Path(__file__).resolve().parent.parent / "fuzz/seeds/report/ends-lines"
    lines = seed.read_bytes()[1:].splitlines()
    with directory() as d:
        (d / "ends").write_bytes(b"".join(b"%08x %s\n" % (zlib.crc32(t), t) for t in lines))
        result = pktledger("report", "-j", "--matrix", d / "ends")
    assert result.status == KEPT, result
    assert [(p["from"], p["to"], p["sent"]) for p in result.json["matrix"]["pairs"]] == [
        ("host-1", "host-1", 20)], result


if __name__ == "__main__":
    main()
