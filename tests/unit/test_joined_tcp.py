#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`report` of ledgers of TCP that were made by hand: joined if they can be, and whatever a stranger
has written into them, no more is said than they tell."""

import json
import sys
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import assert_valid, case, directory, main, pktledger, table

USAGE, BROKEN = 2, 4
SRC, DST, ISN = "198.18.0.1:1000", "[2001:2::2]:443", 2 ** 32 - 3000
SRC = "[2001:2::1]:1000"


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
            files.append(Path(path) / str(i))
            texts = [json.dumps(line, separators=(",", ":")).encode() for line in lines]
            files[-1].write_bytes(b"".join(b"%08x %s\n" % (zlib.crc32(t), t) for t in texts))
        return pktledger("report", *["--join"][:join and len(hosts) > 1], *options,
                         *map(str, files))


def joined(*hosts, status=0):
    result = report(*hosts)
    document = json.loads(result.out)
    assert result.status == status, result
    assert_valid(document)
    found = document["documents"][0]["joined"]
    parts = ([row["segments"] + row["doubtful"] for row in found["wire"]]
             + [row["segments"] for row in found["lost"] + found["undecided_why"]])
    assert found["segments"] == sum(parts) + found["spurious"], found
    return found


def has_joined(result):
    return any("joined" in d for d in json.loads(result.out)["documents"])


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


def two_ways(unseen=0):
    """`left` loses two of 200 on its way, and one comes twice; `right` loses one of 50."""
    back = {"src": DST, "dst": SRC, "first": 7000}
    come = [[0, "hole", ISN + 1, 2000, 900], [0, "again", ISN + 1, 2000, 1100],
            [0, "again", ISN + 2001, 1000, 1100], [0, "twice", ISN + 2001, 1000, 1101]]
    finding = {"id": "tcp-reordered", "stage": "tcp", "severity": "warning", "title": "Reordered."}
    why = [{"why": "unseen", "segments": unseen}] if unseen else []
    udp = {"verdict": "none_seen", "rests_on": []}
    return (trace("same", trail([flow(True), flow(False, **back, next=107000)],
                                [*again(3), [1, "hole", 7001, 1000, 900], [1, "again", 7001, 1000, 1100]]),
                  {"data_segs_out": 200, "retransmitted": 3 + unseen, "undecided_why": why}, netns="left",
                  end={"findings": [finding], **udp, "arrived": 0, "probes": {"sent": 1000}}),
            trace("same", trail([flow(False), {**flow(True, **back), "next": 107000, "acked": 107000}],
                                [*come, [1, "resent", 7001, 1000, 1000]]),
                  {"data_segs_out": 50, "retransmitted": 1}, netns="right",
                  time="2026-01-01T00:00:00.100000Z",
                  end={**udp, "arrived": 970, "probes": {"sent": 0}}))


WHOLE = "3 TCP segments lost on the wire: 1.00 % left to right, 2.00 % right to left"


@case
def the_whole_comes_first():
    """In each form, by direction; the counts of UDP, which are not joined, below it."""
    first, udp = report(*two_ways(), options=()).out.split("\n\n")[0].split("UDP", 1)
    assert " ".join(first.split()) == f"joined {WHOLE}", first
    udp = " ".join(udp.split())
    assert udp.startswith("1,000 sent by left, 970 arrived at right: 30 fewer, 3.00 %, if both chose "
                          "the same packets. The two windows differ by 200 ms, in which 40 packets were "
                          "sent exact"), udp
    page = report(*two_ways(), options=("--html", "-")).out
    assert page.split("<h1>", 1)[1].startswith(f"{WHOLE}</h1>"), page.split("<h1>", 1)[1][:300]
    assert "Nothing was lost" not in page and "UDP: 1,000 sent by left, 970 arrived at right" in page
    assert 'class="pktledger-document"' in page and '"trail"' not in page
    left, _ = json.loads(report(*two_ways()).out)["documents"]
    _, turned = json.loads(report(*two_ways()[::-1]).out)["documents"]
    assert turned["joined"] == left["joined"], "the order of the files does not matter"
    hidden = " ".join(report(*two_ways(), options=("--redact",)).out.split())
    assert "1.00 % netns-1 to netns-2, 2.00 % netns-2 to netns-1" in hidden, hidden
    rows = [line.split(",") for line in report(*two_ways(), options=("--csv",)).out.splitlines()]
    at = {name: i for i, name in enumerate(rows[0])}
    assert [(r[at["class"]], r[at["location"]], r[at["packets"]]) for r in rows if r[at["stage"]] == "wire"] == [
        ("joined", "left to right", "2"), ("joined", "right to left", "1")], rows


@case
def losses_the_other_way():
    """They, and no other order, are why segments came twice."""
    result = report(*two_ways())
    left, right = json.loads(result.out)["documents"]
    assert_valid(json.loads(result.out))
    assert (left["joined"]["spurious"], left["joined"]["lost_back"]) == (1, 1), left["joined"]
    assert not left["end"]["findings"] and "lost_back" not in right["joined"], left["end"]
    alone = trace("b", trail([flow(False)], [[0, "again", ISN + 1, 1000, 1100], [0, "twice", ISN + 1, 1000, 1101]]))
    sent, _ = two_ways()
    left, _ = json.loads(report(sent, alone).out)["documents"]
    assert [f["id"] for f in left["end"]["findings"]] == ["tcp-reordered"], left


@case
def without_an_event_nobody_knows():
    result = report(*two_ways(unseen=2))
    left, _ = json.loads(result.out)["documents"]
    assert (result.status, left["joined"]["undecided"]) == (BROKEN, 2), result
    assert report(*two_ways()).status == 0
    text = " ".join(report(*two_ways(unseen=2), options=()).out.split())
    assert f"{WHOLE}; 2 undecided" in text, text


def intervals(*ends):
    """{second they end at: lost}"""
    stages = lambda lost: [{"stage": "rcvbuf", "packets": lost, "bytes": 0, "events": lost,
                            "causes": []}] if lost else []
    return [{"event": "interval",
             "data": {"time": f"2026-01-01T00:00:{at:02}.000000Z", "time_ns": at * 10 ** 9,
                      "interval_ns": 10 ** 9, "dropped": lost, "stages": stages(lost), "suspected": [],
                      "expected": [], "flows": []}} for at, lost in ends]


@table([("nothing lost", [(1, 0), (2, 0), (5, 0)], None), ("each", [(1, 0), (2, 7), (3, 0)], "each 1s"),
        ("some are left out", [(1, 3), (2, 0), (5, 0)], "from")])
def rows_of_time(steps, head):
    """None where there is nothing to show, and they are `each` only if they are."""
    start, end = trace("a", None, end={"dropped": sum(n for _, n in steps), "duration_ns": 5 * 10 ** 9})
    text = report([start, *intervals(*steps), end], options=()).out
    assert ("  lost " in text and "  peak" in text) == bool(head), text
    assert not head or f"\n{head} " in text, text


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
    ("more flows than fit", trail([flow(False, src=f"[2001:2::2]:{i + 1}", first=i)
                                   for i in range(33000)], [])),
]


@table(STRANGE)
def what_a_stranger_wrote(what):
    """Of the other host: what it does not tell as it should is not taken for a loss between."""
    result = report(trace("a", trail([flow(True)], again(3))), trace("b", what))
    document = json.loads(result.out)
    assert result.status in (0, BROKEN), result
    found = document["documents"][0]["joined"]
    assert not found["wire"] and not found["lost"], found
    assert sum(row["segments"] for row in found["undecided_why"]) == found["segments"] == 3, found
    assert not result.err or "rror" not in result.err, result


@table(STRANGE)
def what_a_strange_sender_wrote(what):
    result = report(trace("a", trail([flow(False)], [])), trace("b", what))
    document = json.loads(result.out)
    assert result.status == 0 and "joined" not in document["documents"][0], result


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
