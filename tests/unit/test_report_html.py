#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`report --html`: pages that are whole, true and alone, of whatever a ledger holds."""

import json
import os
import stat
import struct
import sys
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from html_check import Page
from lib import ROOT, assert_valid, case, directory, main, pktledger

WHOLE = json.loads((ROOT / "tests/golden/run-losses.json").read_text())
SENT, LOST = 1000000, {"qdisc": 120000, "netfilter": 3000, "rcvbuf": 7}


def cause(stage, packets, reason):
    return {"reason": reason, "location": f"function_of_{stage}", "ifname": "v-rx", "netns": "rx",
            "direction": "rx", "stream": 7, "packets": packets, "first": 0, "last": packets - 1,
            "note": None}


def counter(name, delta, expected):
    return {"name": name, "delta": delta, "expected": expected, "agrees": delta == expected,
            "documented": False, "scope": "flow", "note": None}


def stages(share, reason="A_REASON"):
    return [{"stage": stage, "packets": int(n * share), "bytes": n, "events": n, "source": "event",
             "scope": "flow", "causes": [cause(stage, n, reason)],
             "counters": [counter(f"rx {stage}:drops", n, n)]} for stage, n in LOST.items()]


def start(host="host"):
    return {**WHOLE["start"], "time": "2024-05-01T12:00:00.000000Z", "host": host,
            "command": ["pktledger", "run", "--lab", host],
            "env": {**WHOLE["start"]["env"], "interfaces": [],
                    "sysctls": {"net.core.rmem_max": 212992, "net.ipv4.udp_mem": [1, 2, 3]}},
            **{f"{end}_port": {**WHOLE["start"][f"{end}_port"], "address": address}
               for end, address in (("tx", "2001:2::1"), ("rx", "2001:2::2"))}}


def end(reason="A_REASON"):
    lost = sum(LOST.values())
    finding = {"id": "qdisc", "stage": "qdisc", "cause": reason, "facts": {}, "fix": "wait",
               "command": "tc -s qdisc " + "x" * 300}
    return {**WHOLE["end"], "sent": SENT, "delivered": SENT - lost, "dropped": lost, "reordered": 3,
            "tx_pps": 123456.0, "rx_pps": 100000.0, "duration_ns": 8100000000,
            "latency_ns": {"min": 3000, "p50": 10000, "p90": 15000, "p99": 50000, "p999": 1000000,
                           "p9999": 7000000, "max": 90000000},
            "latency_histogram": [{"from_ns": 2048 << i, "to_ns": (4096 << i) - 1,
                                   "packets": 400000 >> i} for i in range(12)],
            "loss_bursts": {"bursts": 7, "packets": lost, "longest": 9,
                          "length": [{"from": 1, "to": 1, "bursts": 7}]},
            "stages": stages(1, reason), "findings": [{**WHOLE["end"]["findings"][0], **finding}]}


def intervals(count):
    return [{"time_ns": 100000000 * i, "sent": SENT * i // count, "dropped": 0,
             "delivered": SENT * i // count // 2, "tx_cpu_ns": 0, "rx_cpu_ns": 0, "memory_bytes": 0,
             "settling": False, "stages": stages(i / count)}
            for i in range(1, count + 1)]


def document(count=80):
    return {"schema": "pktledger/run/1", "start": start(), "intervals": intervals(count),
            "end": end()}


def ledger(path, *runs):
    """As `run --ledger` writes it: out/ledgerfile.h."""
    lines = []
    for run in runs:
        lines.append({"event": "start", "schema": run["schema"], "data": run["start"]})
        lines += [{"event": "interval", "data": i} for i in run["intervals"]]
        lines.append({"event": "end", "data": run["end"]})
    texts = [json.dumps(line, separators=(",", ":")).encode() for line in lines]
    path.write_bytes(b"".join(b"%08x %s\n" % (zlib.crc32(t), t) for t in texts))


def page(path, *files, options=()):
    """Written to `path`, and judged: its text is that of `report`, which shows up to two files."""
    result = pktledger("report", *options, "--html", str(path), *map(str, files))
    assert (result.status, result.out, result.err) == (0, "", ""), result
    found = Page(path.read_text())
    text = pktledger("report", *options, *map(str, files)).out.replace("\u202e", "\ufffd")
    assert found.pre == text or len(files) > 2, found.pre
    return found


def same(a, b):
    """Of a document, what its command reported."""
    return all(a.get(key) == b.get(key) for key in ("schema", "start", "end", "trials"))


@case
def a_reader_that_has_enough():
    """A closed pipe is the end of the page, and no error."""
    with directory() as d:
        ledger(d / "run.ledger", document(1))
        reader, writer = os.pipe()
        os.close(reader)
        result = pktledger("report", "--html", "-", str(d / "run.ledger"), stdout=writer)
        os.close(writer)
        assert (result.status, result.err) == (0, ""), result


@case
def it_is_made_to_be_given_away():
    """0644, less what the user withholds."""
    with directory() as d:
        ledger(d / "run.ledger", document(1))
        for mask in 0o022, 0o077, 0:
            result = pktledger("report", "--html", str(d / "run.html"), str(d / "run.ledger"),
                               umask=mask)
            assert result.status == 0, result
            assert stat.S_IMODE((d / "run.html").stat().st_mode) == 0o644 & ~mask, oct(mask)


@case
def a_long_run_is_a_bounded_history():
    with directory() as d:
        run = document(7200)
        for i, interval in enumerate(run["intervals"]):  # all is lost in one of them
            interval["dropped"] = 7000 * (i >= 3600)
        ledger(d / "soak", run)
        found = page(d / "soak.html", d / "soak")
        history = found.documents[0]["intervals"]
        assert [i for i, interval in enumerate(history) if interval["peak_pps"]] == [3600 // 32], history
        assert history[3600 // 32]["peak_pps"] == 7000 / 0.1, history
        assert 120 < len(history) <= 240, len(history)
        assert (history[-1]["sent"], history[-1]["time_ns"]) == (SENT, 7200 * 100000000)
        assert {s["stage"]: s["packets"] for s in history[-1]["stages"]} == LOST
        assert found.documents[0]["covers"]["joined"] == 32, found.documents[0]["covers"]
        assert (d / "soak.html").stat().st_size < 300000


@case
def of_many_trials_there_is_what_is_shown():
    trials = [{**end(), **({} if i % 2 else {"stages": [], "delivered": SENT, "dropped": 0}),
               "tx_pps": 1000.0 * (i + 1), "parameters": {"rcvbuf": "64k"}} for i in range(200)]
    sweep = {"schema": "pktledger/sweep/1", "start": {**start(), "parameters": ["rcvbuf"]},
             "trials": trials, "end": {"points": []}}
    search = {"schema": "pktledger/search/1", "start": start(), "trials": trials[:9],
              "end": {"ndr": {"lower_pps": 9000.0, "upper_pps": 9100.0, "lost_below": 2,
                              "trials_below": 17}, "pdr": None}}
    with directory() as d:
        (d / "sweep").write_text(json.dumps(sweep))
        (d / "search").write_text(json.dumps(search))
        data = page(d / "page.html", d / "sweep").documents[0]
        assert len(data["trials"]) == 200 and (d / "page.html").stat().st_size < 300_000
        for brief, whole in zip(data["trials"], trials):
            assert "latency_ns" not in brief and brief["sent"] == whole["sent"]
            assert ([(s["stage"], s["packets"]) for s in brief["stages"]] ==
                    [(s["stage"], s["packets"]) for s in whole["stages"]])
        again = page(d / "again.html", d / "page.html")
        assert again.documents[0]["trials"] == data["trials"]
        found = page(d / "page.html", d / "search")
        assert same(found.documents[0], search)
        assert found.view["headlines"] == ["9.000 kpps held, not each time"]


def between(a, b, delivered):
    run = document(1)
    run["start"]["hosts"] = {"tx": {"name": a, "probe": None},
                             "rx": {"name": b, "probe": None}}
    run["end"]["delivered"] = delivered
    return run


def capture(path, numbers, late_ns):
    """UDP datagrams with an ID each, a microsecond apart, as seen `late_ns` later."""
    packets = [struct.pack("<IHHIIII", 0xa1b23c4d, 2, 4, 0, 0, 65535, 101)]  # ns, raw IP
    for n in numbers:
        payload = f"packet {n:09}".encode()
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 28 + len(payload), n, 0, 64, 17, 0,
                         bytes([198, 18, 0, 1]), bytes([198, 18, 0, 2]))
        data = ip + struct.pack(">HHHH", 5000, 9000, 8 + len(payload), 0) + payload
        time = 1000000 + n * 1000 + late_ns
        packets.append(struct.pack("<IIII", 1714564800, time, len(data), len(data)) + data)
    path.write_bytes(b"".join(packets))


@case
def two_captures_are_a_page():
    with directory() as d:
        capture(d / "a.pcap", range(1, 1001), 0)
        capture(d / "b.pcap", [n for n in range(1, 1001) if n % 10 != 5], 2500)
        reported = pktledger("report", "-j", str(d / "a.pcap"), str(d / "b.pcap")).json
        assert_valid(reported)
        assert sum(b["packets"] for b in reported["between"]["latency_histogram"]) == 900
        # what -j has printed makes the same page
        (d / "reported.json").write_text(json.dumps(reported))
        assert page(d / "again", d / "reported.json").documents == [reported]
        # a clock that is behind: no delays, and no chart of them
        capture(d / "c.pcap", range(1, 1001), -2500)
        found = page(d / "page", d / "a.pcap", d / "c.pcap")
        assert "the clocks differ" in found.text


@case
def more_than_two_stand_one_below_the_other():
    with directory() as d:
        for name in "abc":
            ledger(d / name, document(2))
        found = page(d / "page", d / "a", d / "b", d / "c")
        assert len(found.documents) == 3 and "compared" not in found.text


if __name__ == "__main__":
    main()
