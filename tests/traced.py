# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the tests of `trace` share: a lab, and a tracer that runs meanwhile."""

import contextlib
import fcntl
import functools
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time

import ends
from labs import Lab
from lib import PATIENCE, Lines, begun, start

NAME = f"pl-test-{os.getpid()}"
TX, RX = f"{NAME}-tx", f"{NAME}-rx"
V4, V6 = "198.18.0.2", "2001:2::2"
# Senders of fragments made by tests. Later fragments have no port, only addresses and an ID, by which fragments of a
# program that runs at the same time would be taken for these.
FRAGMENTING4, FRAGMENTING6 = (f"198.18.0.{3 + ends.PORT // 10 % 250}", f"2001:2::{3 + ends.PORT // 10 % 250:x}")
UNABLE, BROKEN = 3, 4  # exit statuses
SIOCSIFFLAGS, IFF_UP = 0x8914, 1

send = functools.partial(ends.send, TX)


def lab(*options):
    return Lab(NAME, *options)


@contextlib.contextmanager
def namespaces(count, first=0):
    """Namespaces with a loopback device; yields their names, which are numbered."""
    names = [f"{NAME}-{i}" for i in range(first, first + count)]

    def each(line):
        text = "".join(line.format(name) + "\n" for name in names)
        subprocess.run(["ip", "-batch", "-"], input=text, text=True, check=True)

    each("netns add {}")
    try:
        for name in names:
            with ends.inside(name), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
                fcntl.ioctl(sock, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
        yield names
    finally:
        each("netns del {}")


SENDER = """
import socket, sys, time
to, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
s = socket.socket(socket.AF_INET6 if ":" in to else socket.AF_INET, socket.SOCK_DGRAM)
for i in range(count):
    try:
        s.sendto(b"secret" * 20, (to, port))
    except OSError:  # the answer to the one before
        s.sendto(b"secret" * 20, (to, port))
    if i % 10 == 9:
        time.sleep(0.005)
"""


def sender(packets, to=V4, *more):
    """A command that sends so many datagrams of 120 bytes to the port."""
    return ["ip", "netns", "exec", TX, sys.executable, "-c", SENDER, to, str(ends.PORT), str(packets), *more]


# The tracer


class Tracing(Lines):
    end = None

    def until(self, packets, seconds=20):
        """Waits until the intervals show so many lost packets."""
        def shown():
            return sum(line["data"]["dropped"] for line in self.lines if line["event"] == "interval")

        end = time.monotonic() + seconds * PATIENCE
        while shown() < packets:
            assert time.monotonic() < end, f"{shown()} of {packets} lost packets within {seconds} s"
            self.read_line()

    def pass_intervals(self, number=1):
        """Waits until so many more have ended."""
        while number:
            number -= self.read_line()["event"] == "interval"

    def stop(self, seconds=30):
        """The document of a run that ends by a signal, within so long."""
        document, result = self.finish(seconds, signal.SIGINT)
        assert result.status in (0, BROKEN), result
        self.end = document["end"]
        assert self.end["missed"]["without_cause"] == 0, self.end["missed"]
        return document


def tracing(*args):
    return begun(start("trace", "--json-lines", "-I", "100ms", *args), Tracing)


def causes(document, kind="stages"):
    return {row["stage"]: row for row in document["end"][kind]}


def assert_only(document, stage, packets, kind="stages", scope="flow", **fields):
    """All loss of this scope is at one stage, and each of its causes says so of `fields`. What
    counters tell of whole devices obeys no filter: it may be others'."""
    text = json.dumps(document["end"])[:2000]
    rows = [(s["stage"], c) for s in document["end"][kind] for c in s["causes"]
            if c["scope"] == scope]
    assert {name for name, _ in rows} == {stage}, f"not only {stage}: {text}"
    found = sum(row["packets"] for _, row in rows)
    assert found == packets, f"{found}, not {packets}: {text}"
    for _, row in rows:
        for key, value in fields.items():
            assert row[key] == value, f"{key} is {row[key]}, not {value}: {text}"
    assert document["end"]["dropped"] == sum(s["packets"] for s in document["end"]["stages"]), text
    intervals = sum(i["dropped"] for i in document["intervals"])
    assert intervals == document["end"]["dropped"], f"{intervals} in the intervals: {text}"
