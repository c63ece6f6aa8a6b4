#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Ledgers that `trace` and `run` keep, and what `report` tells of them."""

import contextlib
import os
import random
import signal
import socket
import stat
import struct
import subprocess
import sys
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from html_check import Page
from lib import (PATIENCE, assert_ok, assert_ran, assert_valid, case, directory, first, lost, main,
                 pktledger, require, started, table, thorough, until)
from ends import PORT, SO_RCVBUFFORCE, inside, read_all, udp
from test_trace import traced_by
from traced import NAME, RX, TX, V4, lab, send, sender, tracing

FAILED, UNABLE, BROKEN = 1, 3, 4  # exit statuses
ETH_P_ALL, SO_TIMESTAMPNS = 3, 35


def report(*args):
    """The document."""
    result = assert_ok(pktledger("report", "-j", *map(str, args)))
    assert_valid(result.json)
    return result.json


def only(document):
    assert len(document["documents"]) == 1, [d["covers"] for d in document["documents"]]
    return document["documents"][0]


def moment(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def rfc3339(when):
    return when.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


# trace --ledger


@case
def test_what_trace_told():
    """A socket that is full and a port that is closed: report knows each packet, and when."""
    with lab(), directory() as path, udp(RX, socket.AF_INET, ("", PORT), rcvbuf=2304) as sock:
        file = path / "ledger"
        with tracing("--ledger", str(file), "--limit", "udp_lookup=10/s", "udp", "portrange",
                     f"{PORT}-{PORT + 1}") as t:
            early = send(V4, 300) - read_all(sock)
            t.until(early)
            between = datetime.now(timezone.utc)
            t.read_until(lambda data: "interval_ns" in data and moment(data["time"]) > between)
            late = send(V4, 70, port=PORT + 1)
            t.until(early + late)
            shown = t.stop()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert shown["end"]["dropped"] == early + late, shown["end"]
        whole = only(report(file))
        assert whole["start"] == shown["start"]
        assert whole["sum"]["dropped"] == early + late, whole["sum"]
        assert sum(i["dropped"] for i in whole["intervals"]) == early + late
        assert sum(f["packets"] for f in whole["sum"]["flows"]) == early + late
        assert len(whole["sum"]["flows"]) == 2, whole["sum"]["flows"]
        assert [f["id"] for f in whole["end"]["findings"]] == \
            [f["id"] for f in shown["end"]["findings"]]
        assert [x["name"] for x in whole["limits"]] == ["udp_lookup"], whole["limits"]
        rows = {s["stage"]: s for s in whole["sum"]["stages"]}
        assert rows["rcvbuf"]["packets"] == early and rows["udp_lookup"]["packets"] == late
        if not shown["end"]["missed"]["no_sockets"]:
            assert rows["rcvbuf"]["causes"][0]["socket"] == f"*:{PORT}", rows["rcvbuf"]
        before = only(report("--until", rfc3339(between), file))
        after = only(report("--since", rfc3339(between), file))
        assert [s["stage"] for s in before["sum"]["stages"]] == ["rcvbuf"], before["sum"]
        assert before["sum"]["dropped"] == early and not before.get("limits")
        assert [s["stage"] for s in after["sum"]["stages"]] == ["udp_lookup"], after["sum"]
        assert after["sum"]["dropped"] == late and after["limits"] == whole["limits"]
        text = pktledger("report", str(file))
        assert text.status == 0 and f"{early + late} " in text.out.replace(",", ""), text
        for word in ("rcvbuf", "udp_lookup", "limits broken", f"*:{PORT}", "worst", RX):
            assert word in text.out, (word, text.out)
        nothing = pktledger("report", "--since", rfc3339(between + timedelta(hours=1)), str(file))
        assert nothing.status == FAILED and "there is no data in this time range" in nothing.err, nothing


REPRINTED = [
    ("much at once", ("--all", "-v", "--by", "process,netns,cpu", "--microburst", "1ms", "--counters")),
    ("by flow", ("--by", "flow", "-q")),
    ("balance", ("--balance", "--settle", "1")),
    ("plain", ()),
    ("verbose", ("-v",)),
    ("benign ones too", ("--all", "-v")),
    ("by others", ("--by", "process,netns,cpu")),
    ("microbursts", ("--microburst", "1ms")),
    ("counters", ("--counters", "--interval", "500ms")),
]


@table(first(1, REPRINTED))
def test_printed_again(options):
    """What a trace printed, report prints again from its ledger, word for word."""
    verbosity = [o for o in options if o in ("-v", "-q")]
    with lab(), directory() as path, udp(RX, socket.AF_INET, ("", PORT), rcvbuf=2304) as sock:
        file = path / "ledger"
        with started("trace", "-I", "200ms", *options, "--ledger", str(file), "udp", "portrange",
                     f"{PORT}-{PORT + 1}") as t:
            ready = t.stderr.readline() if "-q" not in options else until(
                lambda: "watch_drops" in traced_by(t), 20, "its program")
            for _ in range(3):
                send(V4, 100)
                read_all(sock)  # which takes an interval
                send(V4, 30, port=PORT + 1)
            t.send_signal(signal.SIGINT)
            printed, err = t.communicate(timeout=30 * PATIENCE)
        require(t.returncode != UNABLE, err.strip())
        assert t.returncode in (0, BROKEN), (ready, err)
        again = assert_ok(pktledger("report", *verbosity, str(file)))
        assert "rcvbuf" in printed and "udp_lookup" in printed, printed
        assert printed in again.out, f"{printed}\n--- is not in ---\n{again.out}"


@thorough
def test_killed_at_any_moment():
    """SIGKILL, again and again: all before is there, and the next trace goes on behind it."""
    rounds = 10
    with lab(), directory() as path:
        file = path / "ledger"
        for _ in range(rounds):
            before = file.stat().st_size if file.exists() else 0
            with started("trace", "-q", "-I", "100ms", "--ledger", str(file), "udp", "port",
                         str(PORT)) as process, \
                    subprocess.Popen(sender(60000 * PATIENCE)) as load:
                until(lambda: process.poll() is not None or  # pylint: disable=cell-var-from-loop
                      file.exists() and
                      file.read_bytes()[before:].count(b"udp_lookup") > 5, 20, "intervals")
                require(process.returncode != 3, "trace cannot run here")
                time.sleep(random.random() * 0.2)  # any moment
                os.kill(process.pid, signal.SIGKILL)
                load.kill()
        assert_ran(pktledger("trace", "-q", "--ledger", str(file), "udp", "port",
                             str(PORT), "--", *sender(400)))
        documents = report(file)["documents"]
        assert len(documents) == rounds + 1, len(documents)
        assert [("end" in d) for d in documents] == [False] * (len(documents) - 1) + [True]
        assert all(d["sum"]["dropped"] for d in documents), documents
        assert "the writer was killed" in pktledger("report", str(file)).out


# run --ledger


@case
def test_what_run_printed():
    """To the byte; the outcomes of all numbers add up to the ledger, unless a line is lost."""
    with directory() as path:
        file = path / "ledger"
        result = assert_ran(pktledger("run", "-c", "20k", "--rate", "100k", "--fault",
                                      "netfilter=10%", "-I", "50ms", "--ledger", str(file)))
        text = pktledger("report", str(file))
        assert text.status == 0 and text.out.endswith("\n" + result.out), (text.out, result.out)
        whole = only(report(file))
        assert_valid(whole)
        assert whole["outcomes_agree"] is True
        outcomes = {f.get("stage", f["outcome"]): f["packets"] for f in whole["outcomes"]}
        assert outcomes["delivered"] == whole["end"]["delivered"], (outcomes, whole["end"])
        assert outcomes["netfilter"] == lost(whole)["netfilter"], (outcomes, whole["end"])
        assert sum(outcomes.values()) == 20000, outcomes
        page = pktledger("report", "--html", str(path / "page.html"), str(file))
        assert page.status == 0 and not page.out, page
        assert Page((path / "page.html").read_text()).pre == text.out
        lines = file.read_bytes().splitlines(keepends=True)
        at = next(i for i, line in enumerate(lines) if b'"event":"outcomes"' in line)
        file.write_bytes(b"".join(lines[:at] + [lines[at].replace(b",", b";", 1)] + lines[at + 1:]))
        spoilt = pktledger("report", "-j", str(file))
        assert spoilt.status == 0 and f"line {at + 1}" in spoilt.err, spoilt.err
        assert only(spoilt.json)["outcomes_agree"] is None
        file.write_bytes(b"".join(lines[:at] + lines[at + 1:]))  # gone without a trace
        missing = pktledger("report", str(file))
        assert missing.status == BROKEN and "differ from the ledger" in missing.out, missing


# Captures


@contextlib.contextmanager
def captured(netns, ifname, path):
    """A plain capture of all that passes an interface: a packet socket has room for it."""
    with inside(netns):
        tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    with tap:
        tap.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        tap.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        with inside(netns):
            tap.bind((ifname, 0))
        yield
        tap.settimeout(0.3)
        with path.open("wb") as file, contextlib.suppress(TimeoutError):
            file.write(struct.pack("<IHHiIII", 0xa1b23c4d, 2, 4, 0, 0, 65535, 1))
            while True:
                data, (told, *_), _, _ = tap.recvmsg(2048, 128)
                file.write(struct.pack("<IIII", *struct.unpack("qq", told[2][:16]), min(len(data), 96),
                                       len(data)) + data[:96])


@thorough
def test_captures_of_both_ends():
    """What is missing between them is what the ledger of the same run has lost there."""
    with lab("--fault", "xdp=10%"), directory() as path:
        with captured(TX, "v-tx", path / "a"), captured(RX, "v-rx", path / "b"):
            send(V4, 50, port=9)  # both have begun before the run, whichever of it are lost
            result = pktledger("run", "-j", "--lab", NAME, "-c", "5k", "--rate", "10k", "--tx",
                               "socket", "--rcvbuf", "16m")
            require(result.status != 3, result.err)
            send(V4, 50, port=9)  # so that both are seen to go on
        ledger = lost(result.json)
        assert set(ledger) == {"xdp"}, ledger
        for method in ("header", "bytes"):
            between = assert_ok(pktledger("report", "-j", "--match", method, str(path / "a"),
                                          str(path / "b"), "dst", "port", "28779"))
            assert_valid(between.json)
            found = between.json["between"]
            assert found["lost"] == ledger["xdp"], (found, ledger)
            assert found["a"]["compared"] >= 5000, found
            assert found["unknown"] == {"outside": 0, "dropped_or_cut": 0}, found
            assert found["reordered"] == found["duplicated"] == found["only_b"] == 0, found


if __name__ == "__main__":
    main()
