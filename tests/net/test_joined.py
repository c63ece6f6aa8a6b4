#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Ledgers of several senders and of their receiver, joined. Three hosts send to one by a router that
drops some packets of each; its own counters know how many. Ledgers that do not belong together, or are not
whole, are in tests/golden (joined-*)."""

import atexit
import contextlib
import functools
import json
import re
import shutil
import signal
import socket
import struct
import sys
import tempfile
import time
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from ends import enter, inside, libc, nft, nft_counters
from labs import COUNT, EACH, PORT, TARGET, Hosts, share
from lib import (EVERYTHING, TIMEOUT, assert_balanced, assert_ran, assert_valid, bounded, case, finish,
                 lost, main, observed, pktledger, start, table, thorough, together, until)

SENDERS = {"a": 7, "c": 9, "d": 10}  # and their networks
CLONE_NEWUTS = 0x04000000
BROKEN = 4


class Fleet(Hosts):
    """Senders `a`, `c`, `d`, the receiver `b`, and a router `m`."""

    links = (("b", 8), *SENDERS.items())

    def __init__(self):
        self.directory = Path(tempfile.mkdtemp(prefix="pl-joined-"))
        atexit.register(shutil.rmtree, self.directory, ignore_errors=True)

    def start(self, side, *args):
        """Each has a name of its own."""
        def become():
            enter(self.netns(side))
            libc.unshare(CLONE_NEWUTS)
            libc.sethostname(f"host-{side}".encode(), len(f"host-{side}"))

        return start(*args, preexec_fn=become)

    def cut(self):
        """The router drops of each sender: a share of its numbers, and what comes too fast, but
        for end records (36 bytes of payload), which are not of the ledger."""
        source = {side: f"ip saddr 198.18.{net}.1 udp dport {PORT}" for side, net in SENDERS.items()}
        nft(self.netns("m"), f"""
            table inet cut {{
                counter a {{ }}
                counter c {{ }}
                counter d {{ }}
                chain c {{ type filter hook forward priority 0;
                    {source["a"]} @th,136,8 & {EACH - 1:#x} == 3 counter name "a" drop
                    {source["c"]} @th,136,8 & {EACH - 1:#x} == 6 counter name "c" drop
                    {source["d"]} udp length != 44 limit rate over 3000/second burst 50 packets counter name "d" drop
                }}
            }}
            """)

    def dropped(self):
        """What the router has dropped of each."""
        return nft_counters(self.netns("m"))

    def file(self, name):
        return str(self.directory / f"{name}.ledger")

    @contextlib.contextmanager
    def receiving(self, *args, port=PORT):
        with bounded(self.start("b", "recv", "-q", "-t", "60", "--rcvbuf", "16M", "-p", str(port),
                                "--ledger", self.file("b"), *args)) as receiver:
            until(lambda: f":{port:04X} " in self.do("b", "cat", "/proc/net/udp", "/proc/net/udp6")
                  or "xdp" in self.do("b", "ip", "link", "show", "v0")
                  or receiver.poll() is not None, 20, "recv does not listen")
            yield receiver

    def send(self, side, *args, rate="16k", count=COUNT, to=TARGET[4]):
        return self.start(side, "send", to, "-q", "-r", rate, "-c", str(count), "--ledger",
                          self.file(side), *args)

    def exchange(self, streams=3, recv_args=(), send_args=(), sides=SENDERS, **kwargs):
        """All send at once; everybody ends well."""
        with self.receiving("--streams", str(streams), *recv_args) as receiver:
            senders = [self.send(side, *send_args, **kwargs) for side in sides]
            for process in (*senders, receiver):
                assert_ran(finish(process))

    def report(self, *args, names=("a", "c", "d", "b")):
        return pktledger("report", "--join", *args, *(self.file(name) for name in names))


def losses_of(sender):
    return {s["stage"]: s["packets"] for s in sender["end"]["stages"] if s["packets"]}


def senders_of(document):
    return {s["start"]["hosts"]["tx"]["name"][-1]: s for s in document["senders"]}


def joined(result, status=0):
    assert result.status == status, result
    assert_valid(result.json)
    assert len(result.json["documents"]) == 1, result.json["documents"]
    return result.json["documents"][0]


def suppressed(fleet):
    """Whether all that is missing was hidden from our tracing (see lib.is_suppressed())."""
    result = fleet.report("-j")
    if result.status != 4:
        return False
    document = result.json["documents"][0]
    hidden = sum(s["end"]["missed"]["suppressed"] for s in document["senders"])
    return 0 < document["end"]["unaccounted"] <= hidden


@functools.cache
def kept():
    """Ledgers of one exchange, and what the router had dropped: of each case below."""
    def attempt():
        with Fleet() as fleet:
            fleet.cut()
            fleet.drop("a", "output", 5)
            fleet.drop("b", "input", 7)
            fleet.exchange()
            fleet.truth = fleet.dropped()
        return fleet

    return observed(attempt, suppressed)


@case
@together
def three_senders_and_their_receiver():
    """Each packet of each sender has its place; the wire is what the router has dropped."""
    fleet = kept()
    document = joined(fleet.report("-j"))
    assert_balanced(document, 3 * COUNT)
    senders = senders_of(document)
    assert senders.keys() == SENDERS.keys(), senders.keys()
    for side, sender in senders.items():
        assert_balanced(sender, COUNT)
        expected = {"wire": fleet.truth[side],
                    "netfilter": share(7) + (share(5) if side == "a" else 0)}
        if side == "d":  # of those that its limit let through
            expected["netfilter"] = losses_of(sender)["netfilter"]
            assert expected["netfilter"] > 0
        assert losses_of(sender) == expected, (side, losses_of(sender), expected)
        hosts = sender["start"]["hosts"]
        assert hosts["tx"] == {"name": f"host-{side}", "probe": "net_dev_start_xmit"}, hosts
        assert hosts["rx"]["name"] == "host-b" and hosts["rx"]["probe"], hosts
    assert fleet.truth["a"] == share(3) and fleet.truth["d"] > 0, fleet.truth
    wire = next(s for s in document["end"]["stages"] if s["stage"] == "wire")
    assert wire["source"] == "difference" and wire["packets"] == sum(fleet.truth.values()), wire
    assert not document["unknown_streams"] and not document["notes"], document["notes"]
    netfilter = next(s for s in document["end"]["stages"] if s["stage"] == "netfilter")
    by_host = {}
    for cause in netfilter["causes"]:
        by_host[cause["host"]] = by_host.get(cause["host"], 0) + cause["packets"]
    assert by_host == {"host-a": share(5), "host-b": netfilter["packets"] - share(5)}, by_host


ENGINES = [
    ("IPv6", ["-6"], [], 1),
    ("two threads", [], ["-P", "2", "--flows", "4"], 2),
    ("AF_XDP sends", [], ["--tx", "xsk", "-i", "v0"], 1),
    ("AF_XDP receives", ["--rx", "xsk", "-i", "v0"], [], 1),
    ("XDP receives", ["--rx", "xdp", "-i", "v0"], [], 1),
    ("fragments", [], ["-l", "3000"], 1),
    ("segments", ["--gro"], ["--gso"], 1),
    ("no time in the packets", [], ["-l", "20"], 1),
]


@table(ENGINES if EVERYTHING else [])
def engines(recv_args, send_args, streams):
    """Two senders; a packet is lost on the way, at the sender, and at the receiver."""
    with Fleet() as fleet:
        lossy = "--gso" not in send_args  # a filter sees several at a time
        for which, side, hook in (3, "m", "forward"), (5, "a", "output"), (7, "b", "input"):
            if lossy:
                fleet.drop(side, hook, which)
        if "xdp" in recv_args:
            fleet.do("m", "ethtool", "-K", "vb", "gro", "on")
        if "xsk" in send_args:  # frames need the address of the next hop
            for side in "ac":
                fleet.do(side, "bash", "-c", f"echo > /dev/udp/{TARGET[4]}/9")
                until(lambda at=side: "lladdr" in fleet.do(at, "ip", "neigh"), 10, "no next hop")
        to = TARGET[6] if "-6" in recv_args else TARGET[4]
        fleet.exchange(2 * streams, recv_args, send_args, "ac", rate="4k", to=to)
        document = joined(fleet.report("-j", names=("a", "c", "b")))
        each = COUNT // streams
        stack = "--rx" not in recv_args  # what AF_XDP and XDP take does not come to the filter
        for side, sender in senders_of(document).items():
            assert_balanced(sender, COUNT)
            filtered = (stack and share(7, each)) + (
                side == "a" and "--tx" not in send_args and share(5, each))
            expected = {"wire": streams * share(3, each), "netfilter": streams * filtered}
            assert losses_of(sender) == {k: v for k, v in expected.items() if lossy and v}, (
                side, losses_of(sender), expected)


@thorough
def a_receiver_that_comes_late():
    """What was sent before it came is not lost on the wire; nor what was sent when it was gone."""
    with Fleet() as fleet:
        sender = fleet.send("a", rate="1k", count=100 * COUNT)
        time.sleep(1)  # nobody receives
        with fleet.receiving("-t", "1.5") as receiver:
            receiver.communicate(timeout=TIMEOUT)
        time.sleep(1)  # nobody receives any more
        sender.send_signal(signal.SIGTERM)
        sender.communicate(timeout=TIMEOUT)
        document = joined(fleet.report("-j", names=("a", "b")), BROKEN)
        end = document["end"]
        assert "wire" not in lost(document), lost(document)
        assert end["delivered"] > 0 and end["unaccounted"] > 0, end
        assert end["sent"] == end["delivered"] + end["dropped"] + end["unaccounted"], end


def stamped(stream, number):
    word = stream << 48 | number
    return struct.pack(">HQQ", 0x706b, word, word ^ (1 << 64) - 1)


def received(stream, numbers):
    """The ledger of a receiver to which these came, whoever sent them."""
    with Fleet() as fleet, fleet.receiving() as receiver, inside(
            fleet.netns("a")), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        for number in numbers:
            s.sendto(stamped(stream, number), (TARGET[4], PORT))
            time.sleep(0.001)
        until(lambda: not any(int(line.split()[1]) for line in fleet.do("b", "ss", "-Huln").splitlines()),
              20, "all is read")
        receiver.send_signal(signal.SIGTERM)
        receiver.communicate(timeout=TIMEOUT)
        return lines_of(fleet.file("b"))


@thorough
def a_gap_that_is_longer_than_the_window():
    """What came while the receiver could not note it is called unknown: nobody may think it lost."""
    stream, base, window, jump = 7, 5 << 32, 1 << 21, 4000000
    numbers = [*range(base, base + 500), *range(base + jump, base + jump + 500)]
    lines = received(stream, numbers)
    outcomes = {line["data"]["id"]: line["data"]["outcome"] for line in lines if line["event"] == "outcome"}
    runs = [(first - base, last - base, outcomes[i]) for line in lines if line["event"] == "outcomes"
            for first, last, i in line["data"]["ranges"]]
    assert runs[0] == (0, 499, "delivered"), runs
    unknown = [run for run in runs if run[2] == "unknown"]
    delivered = runs[-1]
    assert unknown[0][0] == window and unknown[-1][1] + 1 == delivered[0] > jump, runs
    assert all(a[1] + 1 == b[0] for a, b in zip(unknown, unknown[1:])), "no hole in it"
    assert delivered == (delivered[0], jump + 499, "delivered"), runs
    end = data_of(lines, "end")
    assert end["foreign"] + end["late"] == delivered[0] - jump, (end, runs)
    assert [r for r in runs if r[2] == "delivered"] == [runs[0], delivered], "nothing else came"


@thorough
@together
def a_stream_beyond_2_to_the_32():
    """It is one stream still, whatever the upper half of its word is by now."""
    stream, base, half = 7, 5 << 32, 300
    middle = base + (1 << 32)
    lines = received(stream, range(middle - half, middle + half))
    end = data_of(lines, "end")
    runs = [r for line in lines if line["event"] == "outcomes" for r in line["data"]["ranges"]]
    assert (len(end["streams"]), end["delivered"], end["foreign"]) == (1, 2 * half, 0), end
    assert [r[:2] for r in runs] == [[middle - half, middle + half - 1]], runs


def lines_of(path):
    return [json.loads(line.split(" ", 1)[1]) for line in Path(path).read_text().splitlines()]


def write_texts(path, texts):
    Path(path).write_text("".join(f"{zlib.crc32(t.encode()):08x} {t}\n" for t in texts))


def data_of(lines, event):
    return next(line["data"] for line in lines if line["event"] == event)


@thorough
def ledgers_of_a_thousand_hosts():
    """As many as a mesh of 32 nodes writes: 250 times the same four, each with streams of its own."""
    fleet = kept()
    texts = {name: Path(fleet.file(name)).read_text().splitlines() for name in (*SENDERS, "b")}
    known = {s["stream"] for s in data_of(lines_of(fleet.file("b")), "end")["streams"]}
    names = []
    for k in range(250):
        new = {str(stream): str(1 + 3 * k + i) for i, stream in enumerate(sorted(known))}
        for name, lines in texts.items():
            own = [re.sub(r'"stream":(\d+)', lambda m: f'"stream":{new.get(m[1], m[1])}',
                          line.split(" ", 1)[1]) for line in lines]
            names.append(f"{name}{k}")
            write_texts(fleet.file(names[-1]), own)
    documents = fleet.report("-j", names=names).json["documents"]
    wire = [s["packets"] for d in documents for s in d["end"]["stages"] if s["stage"] == "wire"]
    assert len(documents) == 250 and all(d["end"]["balanced"] for d in documents), len(documents)
    assert wire == [sum(fleet.truth.values())] * 250, wire
    for name in names:
        Path(fleet.file(name)).unlink()


if __name__ == "__main__":
    main()
