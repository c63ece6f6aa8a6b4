#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Ledgers that `trace` and `run` keep, and what `report` tells of them."""

import contextlib
import json
import os
import random
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import (EVERYTHING, PATIENCE, assert_valid, case, main, pktledger, require, require_root, run,
                 started, table, until)
from traced import PORT, RX, TX, V4, lab, read_all, send, tracing, udp

FAILED, USAGE, BROKEN, OURS = 1, 2, 4, 125  # exit statuses
SENDER = """
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
end = time.monotonic() + float(sys.argv[3])
while time.monotonic() < end:
    for i in range(10):
        s.sendto(b"x" * 100, (sys.argv[1], int(sys.argv[2])))
    time.sleep(0.005)
"""


def sender(seconds):
    return ["ip", "netns", "exec", TX, sys.executable, "-c", SENDER, V4, str(PORT), str(seconds)]


@contextlib.contextmanager
def directory():
    with tempfile.TemporaryDirectory(prefix="pl-test-") as path:
        yield Path(path)


def report(*args):
    """The document; what it says beside it is in `said`."""
    result = pktledger("report", "-j", *map(str, args))
    assert result.status == 0, result
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
            time.sleep(0.3)
            between = datetime.now(timezone.utc)
            time.sleep(0.3)
            late = send(V4, 70, port=PORT + 1)
            time.sleep(0.3)
            told = t.stop()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert told["end"]["dropped"] == early + late, told["end"]
        whole = only(report(file))
        assert whole["start"] == told["start"]
        assert whole["sum"]["dropped"] == early + late, whole["sum"]
        assert sum(i["dropped"] for i in whole["intervals"]) == early + late
        assert sum(f["packets"] for f in whole["sum"]["flows"]) == early + late
        assert len(whole["sum"]["flows"]) == 2, whole["sum"]["flows"]
        assert [f["id"] for f in whole["end"]["findings"]] == \
            [f["id"] for f in told["end"]["findings"]]
        assert [x["name"] for x in whole["limits"]] == ["udp_lookup"], whole["limits"]
        rows = {s["stage"]: s for s in whole["sum"]["stages"]}
        assert rows["rcvbuf"]["packets"] == early and rows["udp_lookup"]["packets"] == late
        if not told["end"]["own_losses"]["no_sockets"]:
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
        assert nothing.status == FAILED and "nothing is of this time" in nothing.err, nothing


@case
def test_killed_at_any_moment():
    """SIGKILL, again and again: all before is there, and the next trace goes on behind it."""
    rounds = 20 if EVERYTHING else 3
    with lab(), directory() as path:
        file = path / "ledger"
        for _ in range(rounds):
            before = file.stat().st_size if file.exists() else 0
            with started("trace", "-q", "-I", "100ms", "--ledger", str(file), "udp", "port",
                         str(PORT)) as process, \
                    subprocess.Popen(sender(30 * PATIENCE)) as load:
                until(lambda: process.poll() is not None or  # pylint: disable=cell-var-from-loop
                      file.exists() and
                      file.read_bytes()[before:].count(b"udp_lookup") > 5, 20, "intervals")
                require(process.returncode != 3, "trace cannot run here")
                time.sleep(random.random() * 0.2)
                os.kill(process.pid, signal.SIGKILL)
                load.kill()
        result = pktledger("trace", "-q", "--ledger", str(file), "udp", "port", str(PORT), "--",
                           *sender(0.2))
        require(result.status != 3, result.err)
        assert result.status == 0, result
        documents = report(file)["documents"]
        assert len(documents) == rounds + 1, len(documents)
        assert [("end" in d) for d in documents] == [False] * (len(documents) - 1) + [True]
        assert all(d["sum"]["dropped"] for d in documents), documents
        assert "it was killed" in pktledger("report", str(file)).out


@case
def test_full_disk():
    """It stops to write, says so once, and goes on; what was written is whole."""
    with lab(), directory() as path:
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "none", str(path)],
                              check=False)
        require(done.returncode == 0, "cannot mount a tmpfs")
        try:
            file = path / "ledger"
            load = " ".join(f"'{word}'" for word in sender(0.6))
            result = pktledger("trace", "-j", "-I", "100ms", "--ledger", str(file), "udp", "port",
                               str(PORT), "--", "sh", "-c",
                               f"{load}; cat /dev/zero >{path}/fill 2>/dev/null; {load}")
            assert result.status == OURS, result
            assert result.err.count("No space left on device") == 1, result
            assert_valid(result.json)
            document = only(report(file))
            assert 0 < document["sum"]["dropped"] < result.json["end"]["dropped"]
            assert document["sum"]["dropped"] == sum(
                i["dropped"] for i in result.json["intervals"]
                if i["time_ns"] <= document["sum"]["time_ns"])
            assert "end" not in document
        finally:
            subprocess.run(["umount", str(path)], check=True)


@case
def test_keep_is_shorter_than_the_trace():
    with lab(), directory() as path:
        file = path / "ledger"
        result = pktledger("trace", "-j", "-I", "100ms", "--ledger", str(file), "--keep", "1s", "udp",
                           "port", str(PORT), "--", *sender(2.5))
        assert result.status == 0, result
        told, kept = result.json, only(report(file))
        first = next(i for i, x in enumerate(told["intervals"])
                     if x["time_ns"] == kept["intervals"][0]["time_ns"])
        assert first > 8, first  # of some 25
        assert kept["start"]["time"] == told["start"]["time"]
        assert [i["time_ns"] for i in kept["intervals"]] == \
            [i["time_ns"] for i in told["intervals"][first:]]
        assert kept["sum"]["dropped"] == sum(i["dropped"] for i in told["intervals"][first:])
        assert kept["end"]["dropped"] == told["end"]["dropped"]
        assert os.listdir(path) == ["ledger"], os.listdir(path)


@table([
    ("keep alone", ["trace", "--keep", "1h"], USAGE, "--keep needs a ledger"),
    ("keep too short", ["trace", "--ledger", "{new}", "--keep", "1ms"], USAGE, "--keep"),
    ("foreign file", ["trace", "--ledger", "{text}"], USAGE, "is no ledger"),
    ("no directory", ["trace", "--ledger", "{none}/x"], FAILED, "cannot open"),
    ("foreign report", ["report", "{text}"], USAGE, "is no ledger"),
    ("absent report", ["report", "{none}"], FAILED, "cannot open"),
    ("directory", ["report", "{dir}"], USAGE, "is a directory"),
    ("empty", ["report", "{empty}"], FAILED, "tells of nothing"),
    ("no file", ["report"], USAGE, "FILE is missing"),
    ("bad moment", ["report", "--since", "yesterday", "{empty}"], USAGE, "is no moment"),
    ("backwards", ["report", "--since", "-1h", "--until", "-2h", "{empty}"], USAGE, "is after"),
])
def test_usage(args, status, said):
    if args[0] == "trace":
        require_root()
    with directory() as path:
        names = {"new": path / "new", "text": path / "text", "none": path / "none", "dir": path,
                 "empty": path / "empty"}
        names["text"].write_text("not a ledger, but notes of mine\n")
        names["empty"].write_text("")
        result = pktledger(*(word.format(**names) for word in args))
        assert result.status == status and said in result.err, result
        assert len(result.err.strip().splitlines()) == 1 and not result.out, result
        assert names["text"].read_text() == "not a ledger, but notes of mine\n"


if __name__ == "__main__":
    main()
