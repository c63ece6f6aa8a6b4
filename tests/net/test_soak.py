#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A minute at 90 % of the rate without loss, and a minute of two runs below `trace`, `export` and
`top` while namespaces and processes come and go and the clock is set: balanced, and nothing grows
(make test-all only).

Loss is no failure here, for a busy host loses packets; a count that does not close is, and so is
memory that grows with time. PKTLEDGER_SOAK is another number of seconds.
"""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import EVERYTHING, PATIENCE, assert_balanced, comment, main, run, started, table
from test_export import exporting
from test_top import top

SECONDS = int(os.environ.get("PKTLEDGER_SOAK", "60" if EVERYTHING else "0"))
WARM = 0.4  # of the time: by then every number's place in the window was used
TRIAL = 2  # seconds
GROWTH = 1 << 20  # bytes: of the allocator, not of the traffic
HISTORY = 8 << 20  # bytes: who watches keeps up to an hour
KEPT = re.compile(r"^memlock:\s+(\d+)", re.M)


def kept(pid):
    """Resident bytes, bytes of BPF maps and programs, descriptors, threads."""
    base = Path(f"/proc/{pid}")
    status = (base / "status").read_text()
    maps = sum(int(found[1]) for info in (base / "fdinfo").iterdir()
               if (found := KEPT.search(info.read_text())))
    return {"resident": int(re.search(r"^VmRSS:\s+(\d+)", status, re.M)[1]) << 10, "bpf": maps,
            "descriptors": len(list((base / "fd").iterdir())),
            "threads": len(list((base / "task").iterdir()))}


def assert_flat(name, warm, growth):
    """From the first to the last of these. What goes up and down, as of a file that is being read, or
    of a program that is attached while little is lost, does not grow: a leak does."""
    first, last = warm[0], warm[-1]
    assert last["resident"] - first["resident"] < growth, (name, first, last)
    early, late = warm[:len(warm) // 2], warm[len(warm) // 2:]
    for what in ("bpf", "descriptors", "threads"):
        most, least = max(one[what] for one in early), min(one[what] for one in late)
        assert least <= most, (name, what, most, least, first, last)


def lossless_rate(options):
    """Packets/s at which a short run loses nothing, or as good as nothing; each try is a tenth lower."""
    end = run("--duration", str(TRIAL), *options)["end"]
    rate = end["rx_pps"]
    for _ in range(12):
        end = run("--duration", str(TRIAL), "--rate", str(int(rate)), *options)["end"]
        if end["dropped"] == 0:
            break
        rate *= 0.9
    return rate


class Run:
    """A run whose last line is kept: one document would keep its intervals in memory until the end."""

    def __init__(self, stack, *options):
        self.process = stack.enter_context(started("run", "--json-lines", "-t", str(SECONDS), *options))
        self.lines = []
        self.reader = threading.Thread(target=lambda: self.lines.extend(deque(self.process.stdout, 1)))
        self.reader.start()

    def end(self):
        """Its exit status and what it said last."""
        err = self.process.stderr.read()
        status = self.process.wait(SECONDS + 60 * PATIENCE)
        self.reader.join()
        event = json.loads(self.lines[0])
        assert event["event"] == "end", (event, err)
        return status, event["data"]


def samples(runs, watched, meanwhile=lambda: None):
    """What each process keeps, every second or two while the runs go on."""
    begin, found = time.monotonic(), []
    while all(run.process.poll() is None for run in runs) and time.monotonic() - begin < SECONDS - 1:
        time.sleep(max(SECONDS / 60, 0.5))
        meanwhile()
        with contextlib.suppress(OSError, TypeError):  # it has just ended
            found.append((time.monotonic() - begin, {name: kept(pid) for name, pid in watched.items()}))
    return found


def judge(ends, seen):
    """Tells what came of it before anything is asserted that could hide it."""
    for _, end in ends:
        comment(f"sent {end['sent']}, lost {end['dropped']}, unaccounted {end['unaccounted']} "
                f"(last seen: {end['unaccounted_last_seen']}), own losses {end['missed']}")
    warm = [what for at, what in seen if at > WARM * SECONDS]
    assert len(warm) > 3, f"ended after {seen[-1] if seen else None}"
    for name in warm[0]:
        comment(f"{name}: {warm[0][name]} .. {warm[-1][name]}")
    for status, end in ends:
        if not 0 < end["unaccounted"] <= end["missed"]["suppressed"]:  # see lib.is_suppressed()
            assert status == 0, (status, end)
            assert_balanced({"end": end})
    for name in warm[0]:
        assert_flat(name, [what[name] for what in warm], GROWTH if "run" in name else HISTORY)


@table([] if not SECONDS else [
    ("xsk to a socket", ["--size", "64", "--rcvbuf", "8M"]),
    ("socket to socket, fragments, IPv6", ["--tx", "socket", "--length", "8000", "--ipv6",
                                           "--rcvbuf", "8M"]),
    ("xsk to xsk, flows", ["--tx", "xsk", "--rx", "xsk", "--size", "64", "--flows", "1000"]),
    ("live frames to XDP", ["--tx", "xdp", "--rx", "xdp", "--size", "64"]),
])
def soak(options):
    rate = int(lossless_rate(options) * 0.9)
    with contextlib.ExitStack() as stack:
        one = Run(stack, "-I", "100ms", "--rate", str(rate), *options)
        seen = samples([one], {"run": one.process.pid})
        comment(f"{rate} packets/s for {SECONDS} s")
        judge([one.end()], seen)


class Churn(threading.Thread):
    """Namespaces, a fiftieth of them at a time, and processes with a socket that come and go: 10,000
    and 50,000 in two hours; and a clock that is put forward by five seconds, and back at once."""

    NAMESPACES, PROCESSES, CLOCK = 10000 / 7200, 50000 / 7200, 1 / 30  # per second
    AT_ONCE = 200

    def __init__(self):
        super().__init__()
        self.over = threading.Event()
        self.namespaces = self.processes = self.clocks = 0
        self.failed = None

    @staticmethod
    def set_clock():
        for by in 5, -5:
            time.clock_settime(time.CLOCK_REALTIME, time.clock_gettime(time.CLOCK_REALTIME) + by)
            time.sleep(0.05)

    def round(self, passed, kept):
        while self.namespaces < passed * self.NAMESPACES:
            kept.append(subprocess.Popen(["unshare", "-n", "sleep", "3600"]))
            self.namespaces += 1
            if len(kept) > self.AT_ONCE:
                self.end(kept.popleft())
        while self.processes < passed * self.PROCESSES:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
                sock.bind(("127.0.0.1", 0))
                subprocess.run(["true"], pass_fds=[sock.fileno()], check=True)
                sock.sendto(b"x", ("127.0.0.1", 1))  # a closed port
            self.processes += 1
        if self.clocks < passed * self.CLOCK:
            self.set_clock()
            self.clocks += 1

    @staticmethod
    def end(process):
        process.kill()
        process.wait()

    def run(self):
        begin, kept = time.monotonic(), deque()
        try:
            while not self.over.wait(0.2):
                self.round(time.monotonic() - begin, kept)
        except (OSError, subprocess.SubprocessError) as error:
            self.failed = error
        finally:
            for process in kept:
                self.end(process)


def reading(screen, over):
    while not over.wait(0.5):
        screen.read()
        screen.raw = ""


@table([] if not SECONDS else [("beside each other, 60k",)])
def all_at_once():
    """Who watches is as flat as who sends, in spite of what comes and goes."""
    over, churn = threading.Event(), Churn()
    with contextlib.ExitStack() as stack:
        where = stack.enter_context(tempfile.TemporaryDirectory(prefix="pl-test-"))
        runs = [Run(stack, "-I", "1s", "--rate", "60k", "-l", "512") for _ in range(2)]
        trace = stack.enter_context(started("trace", "-o", f"{where}/days", "-I", "1s", "-q"))
        exporter = stack.enter_context(exporting())
        screen = stack.enter_context(top())
        reader = threading.Thread(target=reading, args=(screen, over))
        for thread in reader, churn:
            thread.start()
        watched = {"run": runs[0].process.pid, "other run": runs[1].process.pid, "trace": trace.pid,
                   "export": exporter.process.pid, "top": screen.pid}
        try:
            seen = samples(runs, watched, exporter.scrape_once)
            ends = [run.end() for run in runs]
        finally:
            churn.over.set()
            over.set()
        churn.join()
        reader.join()
        comment(f"{churn.namespaces} namespaces, {churn.processes} processes, clock set "
                f"{2 * churn.clocks} times")
        assert not churn.failed, churn.failed
        judge(ends, seen)
        begin = time.monotonic()
        trace.send_signal(signal.SIGINT)
        status, said = trace.wait(60 * PATIENCE), trace.stderr.read()
        comment(f"trace ended within {time.monotonic() - begin:.1f} s, {len(said)} bytes on stderr")
        assert status == 0, said
        screen.type("q")
        assert screen.ends() == 0, screen.seen[-500:]


if __name__ == "__main__":
    main()
