#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`report` of ledgers of TCP that were made by hand: joined if they can be, and whatever a stranger
has written into them, no more is said than they tell."""

import json
import sys
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import ROOT, assert_valid, case, directory, first, main, pktledger, table

USAGE, BROKEN = 2, 4
SRC, DST, ISN = "[2001:2::1]:1000", "[2001:2::2]:443", 2 ** 32 - 3000
LEFT, RIGHT = (ROOT / f"tests/golden/parts/{side}.ledger" for side in ("left", "right"))


def flow(sends, **more):
    return {"src": SRC, "dst": DST, "sends": sends, "known": True, "begun": True, "cut": False,
            "first": ISN, "next": ISN + 100000, "acked": ISN + 100000 if sends else 0, "ttl": 63,
            "came": 0, "dropped": 0, "taken": 0,
            **more}


def trail(flows, ranges, **more):
    return {"time": "2026-01-01T00:00:00.000000Z", "flows": flows, "ranges": ranges,
            "left_out": {"flows": 0, "ranges": 0, "resent": 0, "segments": 0}, **more}


def trace(host, what, tcp=(), stages=(), time="2026-01-01T00:00:00.000000Z", netns=None, end=()):
    start = {"time": time, "host": host, "env": {}, "command": ["pktledger", "trace"],
             "filter": {"expression": "tcp", "netns": netns}, "by": ["stage"], "interval_ns": 10 ** 9,
             "all": False, "netns": None}
    tcp = {"window_ns": 5 * 10 ** 9, "missed": {}, "listeners": [], "trail": what, **dict(tcp)}
    end = {"duration_ns": 5 * 10 ** 9, "dropped": 0, "stages": list(stages), "suspected": [],
           "expected": [], "tcp": tcp, "findings": [], "interrupted": False, **dict(end)}
    return [{"event": "start", "schema": "pktledger/trace/1", "data": start},
            {"event": "end", "data": end}]


def report(*hosts, options=("-j",), join=True):
    with directory() as path:
        files = []
        for i, lines in enumerate(hosts):
            if isinstance(lines, Path):
                files.append(lines)
                continue
            files.append(Path(path) / str(i))
            texts = [json.dumps(line, separators=(",", ":")).encode() for line in lines]
            files[-1].write_bytes(b"".join(b"%08x %s\n" % (zlib.crc32(t), t) for t in texts))
        return pktledger("report", *["--join"][:join and len(hosts) > 1], *options,
                         *map(str, files))


def joined(*hosts, status=0):
    result = report(*hosts)
    assert result.status == status, result
    assert_valid(result.json)
    found = result.json["documents"][0]["joined"]
    parts = ([row["segments"] + row["doubtful"] for row in found["wire"]]
             + [row["segments"] for row in found["lost"] + found["undecided_why"]])
    assert found["segments"] == sum(parts) + found["spurious"], found
    return found


def has_joined(result):
    return any("joined" in d for d in result.json["documents"])


def again(n=1, first=ISN + 1):
    return [[0, "resent", first + 1000 * i, 1000, 1000 + i] for i in range(n)]


@case
def each_kind():
    sent = trace("a", trail([flow(True)], again(5)))
    came = [[0, "hole", ISN + 1, 1000, 900], [0, "again", ISN + 1, 1000, 1100],
            [0, "dropped", ISN + 1001, 1000, 900, "netfilter"], [0, "again", ISN + 1001, 1000, 950],
            [0, "again", ISN + 2001, 1000, 1100], [0, "twice", ISN + 2001, 1000, 1101],
            [0, "again", ISN + 3001, 1000, 1100],
            [0, "outside", ISN + 4001, 1000, 1000, "no such stage"]]
    found = joined(sent, trace("b", trail([flow(False)], came)), status=BROKEN)
    assert [(w["from"], w["to"], w["segments"]) for w in found["wire"]] == [("a", "b", 1)], found
    assert [(r["stage"], r["segments"]) for r in found["lost"]] == [("netfilter", 1), ("other", 1)]
    assert (found["spurious"], found["undecided"]) == (1, 1), found


@table([("ring", "nic_ring", 3, "b"), ("XDP", "xdp", 1, "b"), ("the sender's", "tx_device", 2, "a")])
def a_counter_that_moved(stage, packets, host):
    """A device may have lost them, so they are not said to be lost between."""
    rows = [{"stage": stage, "packets": packets, "bytes": 0, "events": 0, "source": "counter",
             "scope": "interface",
             "causes": [{"reason": "rx_missed", "ifname": "eth0", "source": "counter",
                         "scope": "interface", "packets": packets, "bytes": 0, "events": 0}]},
            {"stage": stage, "packets": 1, "bytes": 0, "events": 1, "source": "event",
             "scope": "flow", "causes": [{"source": "event", "packets": 1}]}]
    sent = trace("a", trail([flow(True)], again(2)), stages=rows if host == "a" else ())
    came = [[0, "hole", ISN + 1, 2000, 900], [0, "again", ISN + 1, 2000, 1100]]
    found = joined(sent, trace("b", trail([flow(False)], came), stages=rows if host == "b" else ()),
                   status=BROKEN)
    wire, = found["wire"]
    assert (wire["segments"], wire["doubtful"]) == (max(2 - packets, 0), min(2, packets)), found
    assert wire["or"] == [{"host": host, "stage": stage, "ifname": "eth0", "counter": "rx_missed",
                           "packets": packets}], found


@case
def losses_the_other_way():
    """They, and no other order, are why segments came twice, in golden/joined-tcp; the order of the files does not
    matter."""
    left, _ = report(LEFT, RIGHT).json["documents"]
    assert_valid(report(LEFT, RIGHT).json)
    _, turned = report(RIGHT, LEFT).json["documents"]
    assert turned["joined"] == left["joined"], turned
    alone = trace("b", trail([flow(False)], [[0, "again", ISN + 1, 1000, 1100], [0, "twice", ISN + 1, 1000, 1101]]))
    left, _ = report(LEFT, alone).json["documents"]
    assert [f["id"] for f in left["end"]["findings"]] == ["tcp-reordered"], left


STRANGE = [
    ("nothing", {}),
    ("no lists", trail(7, "x")),
    ("flows that are none", trail([None, 1, {}, {"src": "x"}], [])),
    ("other families", trail([flow(False, src="198.18.0.1:1000")], [])),
    ("numbers that are none", trail([flow(False, first=-1)], [[0, "again", "x", None, {}]])),
    ("numbers that end before they begin", trail([flow(False, next=5)], [])),
    ("numbers beyond all", trail([flow(False, next=2 ** 64 - 1)], [])),
    ("ranges of no flow", trail([flow(False)], [[1, "hole", ISN, 1, 0], [-1, "hole", ISN, 1, 0]])),
    ("ranges that are none", trail([flow(False)], [7, [], [0], [0, "malformed_lines", ISN, 1, 0]])),
    ("ranges beyond all", trail([flow(False)], [[0, "hole", 2 ** 63, 2 ** 63, 0],
                                                [0, "hole", ISN, 2 ** 40, 2 ** 64 - 1]])),
    ("ranges of the other side", trail([flow(False)], [[0, "resent", ISN, 1, 0]])),
    ("the flow twice", trail([flow(False), flow(False, first=0)], [[1, "hole", ISN, 1, 0]])),
    *first(0, [("more flows than fit", trail([flow(False, src=f"[2001:2::2]:{i + 1}", first=i)
                                              for i in range(33000)], []))]),
]


@table(STRANGE)
def what_a_stranger_wrote(what):
    """Of the other host: what it does not tell as it should is not taken for a loss between; nor of a sender."""
    result = report(trace("a", trail([flow(True)], again(3))), trace("b", what))
    assert result.status in (0, BROKEN), result
    found = result.json["documents"][0]["joined"]
    assert not found["wire"] and not found["lost"], found
    assert sum(row["segments"] for row in found["undecided_why"]) == found["segments"] == 3, found
    assert not result.err or "rror" not in result.err, result
    result = report(trace("a", trail([flow(False)], [])), trace("b", what))
    assert result.status == 0 and not has_joined(result), result


@case
def which_are_joined():
    a = trace("a", trail([flow(True)], again()))
    later = trace("b", trail([flow(False)], []), time="2026-01-01T01:00:00.000000Z")
    for hosts, words in ((a, later), "are of different runs"), ((a, a), "are the same ledger"):
        asked = report(*hosts)
        assert asked.status == USAGE and words in asked.err, asked
        alone = report(*hosts, join=False)
        assert alone.status == 0 and not has_joined(alone), "they stand one below the other"
    many = report(*(trace(str(i), trail([], [])) for i in range(17)))
    assert many.status == USAGE and "more than 16" in many.err, many
    old = trace("b", None)
    del old[1]["data"]["tcp"]["trail"]
    refused = report(a, old)
    assert refused.status == USAGE and not has_joined(report(a, old, join=False)), refused


if __name__ == "__main__":
    main()
