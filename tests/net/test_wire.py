#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What is really on the wire: each shape and engine, captured at the other end and read by tshark.

A rate is checked in the only way that no busy host can upset: by the send times in the stamps, which
are never earlier than the schedule plus what may be caught up.
"""

import os
import struct
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import ROOT, first, main, table, thorough
from wire import PORT, TARGET, TX, Lab, datagrams, pcap, require_tshark, tshark

NAME = f"pl-wire-{os.getpid()}"
COUNT = 1200
END_RECORDS = 4  # of each stream
DEBT = 0.1  # seconds of the schedule that a late sender may catch up: pace.h
SIGMAS = 6
IMIX = {64: 7, 594: 4, 1518: 1}
RAW = {"xsk", "xdp"}  # engines that make whole frames


def options(engine, ipv6=False):
    """Of `send` for an engine; the rate is low enough for any host."""
    device = ["-i", TX] if engine in RAW else []
    return ["--tx", engine, *device, "--rate", "20k", TARGET[ipv6]]


def sent(*args, count=COUNT):
    """Sends `count` packets; the document, and the numbered packets in the order of their arrival."""
    require_tshark()
    with Lab(NAME, queues=args.count("--threads") + 1) as lab:
        document, frames = lab.send("--count", str(count), *args)
    packets, ends = datagrams(frames)
    assert ends == END_RECORDS * len({p.stream for p in packets}), f"{ends} end records"
    assert document["end"]["sent"] == count == len(packets), (document["end"], len(packets))
    assert_in_order(packets)
    return document, packets


def assert_in_order(packets):
    """Each stream's numbers follow each other without a gap."""
    for stream in {p.stream for p in packets}:
        numbers = [p.number for p in packets if p.stream == stream]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), "order"
        assert numbers[0] % (1 << 32) == 0, numbers[0]


def assert_atomic(packets):
    """As RFC 6864 wants frames that are never fragmented."""
    for packet in packets:
        if packet["ip.src"]:
            assert packet["ip.flags.df"] == "1" and int(packet["ip.id"], 16) == 0, packet.fields


@table(first(1, [
    ("xdp, IPv6, flows", "xdp", True, ["--size", "100", "--flows", "7"]),
    ("socket, GSO, IPv6", "socket", True, ["--gso", "--length", "200"]),
    ("xdp", "xdp", False, ["--size", "64"]),
    ("xdp, with time", "xdp", False, ["--length", "512"]),
    ("xdp, two threads", "xdp", True, ["--size", "1518", "--threads", "2"]),
    ("xsk", "xsk", False, ["--size", "64"]),
    ("xsk, IPv6", "xsk", True, ["--size", "84"]),
    ("xsk, two threads", "xsk", False, ["--size", "1518", "--threads", "2"]),
    ("socket", "socket", False, ["--length", "18"]),
    ("socket, unconnected", "socket", True, ["--length", "1452", "--unconnected"]),
    ("socket, GSO", "socket", False, ["--gso", "--length", "1472"]),
]))
def engine(name, ipv6, args):
    document, packets = sent(*args, *options(name, ipv6))
    assert {p.size for p in packets} == {document["start"]["frame_bytes"]}
    assert {len(p.payload) for p in packets} == {document["start"]["payload_bytes"]}
    assert {p.target for p in packets} == {TARGET[ipv6]}
    assert {p["udp.dstport"] for p in packets} == {str(PORT)}
    assert {p["ip.ttl"] or p["ipv6.hlim"] for p in packets} == {"64"}
    assert all(p.tai for p in packets) or document["start"]["payload_bytes"] < 34, "no send time"
    if name in RAW:
        assert_atomic(packets)
    if "--flows" in args:
        assert len({p.flow for p in packets}) == int(args[args.index("--flows") + 1])


@table(first(0, [
    ("in turn", "xsk", False, []),
    ("by chance", "xsk", True, ["--random", "--imix", "84:7,594:4,1518:1"]),
    ("in turn, by sockets", "socket", False, []),
]))
def mix_of_sizes(name, ipv6, args):
    _, packets = sent("--imix", "simple", *args, *options(name, ipv6))
    found = Counter(p.size for p in packets)
    weights = {max(size, 84 if ipv6 else 64): weight for size, weight in IMIX.items()}
    assert set(found) == set(weights), found
    for size, weight in weights.items():
        expected = COUNT * weight / 12
        spread = SIGMAS * (expected * (1 - weight / 12)) ** 0.5 if "--random" in args else 0
        assert abs(found[size] - expected) <= spread, (size, found)


@table(first(0, [
    ("in turn", "xsk", False, ["--src-addr", "198.18.9.0/28", "--src-port", "5000..5002"], 48),
    ("in turn, live frames", "xdp", False, ["--flows", "45", "--src-addr", "198.18.9.0/28",
                                            "--src-port", "5000..5002"], 45),
    ("of destinations", "xsk", False, ["--dst-addr", "198.18.64.0/30", "--dst-port", "7..9"], 12),
    ("by sockets", "socket", False, ["--src-port", "5000..5011"], 12),
    ("by chance, IPv6", "xsk", True, ["--src-addr", "2001:2::1000/124", "--src-port", "5000..5002",
                                        "--random"], 48),
]))
def flows(name, ipv6, args, number):
    """All of them, in turn or as often as chance has it; and the same seed sends the same."""
    one, again, *others = ([p.flow for p in sent("--seed", seed, *args, *options(name, ipv6))[1]]
                           for seed in first(2, ("5", "5", "6")))
    assert one == again and len(set(one)) == number
    assert all((other != one) == ("--random" in args) for other in others)
    if "--random" in args:
        expected = COUNT / number
        assert max(abs(n - expected) for n in Counter(one).values()) < SIGMAS * expected ** 0.5
    else:
        assert all(flow == one[i % number] for i, flow in enumerate(one)), "not in turn"


@table(first(1, [("VLAN, TOS, TTL", False), ("VLAN, traffic class, hop limit", True)]))
def headers(ipv6):
    _, packets = sent("--vlan", "77", "--tos", "184", "--ttl", "9", *options("xsk", ipv6))
    for packet in packets:
        assert packet["vlan.id"] == "77", packet.fields
        tos = packet["ip.dsfield"] or packet["ipv6.tclass"]
        assert int(tos, 0) == 184, packet.fields
        assert (packet["ip.ttl"] or packet["ipv6.hlim"]) == "9", packet.fields
    assert_atomic(packets)


@table(first(0, [
    ("xsk", "xsk", "5k"),
    ("xdp", "xdp", "5k"),
    ("socket", "socket", "5k"),
    ("bursts", "xsk", "5k", "--burst", "16"),
    ("bursts, xdp", "xdp", "5k", "--burst", "16"),
    ("bit/s", "xsk", "22.8Mbit"),
    ("ramp", "xsk", None),
    ("ramp, xdp", "xdp", None),
]))
def rate(name, text, *extra):
    """Never ahead of the schedule, of which 5,000 a second take 240 ms here."""
    asked = ["--rate", text] if text else ["--profile", "ramp:1k..9k/1"]
    device = ["-i", TX] if name in RAW else []
    _, packets = sent("--size", "570", *asked, *extra, "--tx", name, *device, TARGET[False])
    for i, packet in enumerate(packets):
        # of the ramp from 1k by 8k a second: t + 4 t^2 = i / 1000
        due = i / 5000 if text else ((1 + 16 * i / 1000) ** 0.5 - 1) / 8
        at = (packet.tai - packets[0].tai) * 1e-9
        assert at >= due - DEBT - 0.002, f"packet {i} after {at} s, {due - at} s too early"


@table(first(0, [("IPv4", False), ("IPv6", True)]))
def fragments(ipv6):
    """Put together again by tshark, each is the datagram that was sent."""
    _, packets = sent("--length", "4000", *options("socket", ipv6))
    assert {len(p.payload) for p in packets} == {4000}
    fill = packets[0].payload[34:]
    assert all(p.payload[34:] == fill for p in packets)


def capture():
    """Frames of all kinds, some of them no IP at all."""
    frames = []
    for i in range(60):
        payload = bytes((i + n) % 256 for n in range(18 + 20 * i))
        udp = struct.pack(">HHHH", 1000 + i, 53, 8 + len(payload), 0) + payload
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 4 * i, 20 + len(udp), i, 0, 9, 17, 0,
                         bytes((192, 0, 2, 1)), bytes((192, 0, 2, 2)))
        frames.append(b"\2\0\0\0\0\2\2\0\0\0\0\1\x08\x00" + ip + udp)
    return frames


@thorough
def replay():
    """As captured, byte by byte; stamped, right again and towards the receiver."""
    require_tshark()
    original = capture()
    odd = [b"\xff" * 12 + b"\x88\xb5" + bytes(range(50 + i)) for i in range(20)]
    with tempfile.TemporaryDirectory() as directory, Lab(NAME) as lab:
        path = os.path.join(directory, "capture.pcap")
        Path(path).write_bytes(pcap(original + odd))
        args = ["--tx", "xsk", "-i", TX, "--rate", "2k", TARGET[False]]
        _, frames = lab.send("--pcap", path, *args)
        mine = [f for f in frames if f[:6] in (b"\2\0\0\0\0\2", b"\xff" * 6)]
        assert mine == [f.ljust(60, b"\0") for f in original + odd], "not what was captured"

        Path(path).write_bytes(pcap(original))
        document, frames = lab.send("--pcap", path, "--sequence-header", "--count", "150", *args)
    packets, _ = datagrams(frames)
    assert document["end"]["sent"] == len(packets) == 150
    assert_in_order(packets)
    for i, packet in enumerate(packets):
        assert len(packet.frame) == max(60, len(original[i % 60])), (i, packet.fields)
        assert packet.target == TARGET[False] and packet["udp.srcport"] == str(1000 + i % 60)
        assert int(packet["ip.dsfield"], 0) == 4 * (i % 60) and packet["ip.ttl"] == "9"


@table(first(1, [("IPv4", False), ("IPv6, two threads", True)]))
def wireshark_shows_stamps(ipv6):
    """Of frames that are taken out of a capture, and of one that comes late."""
    require_tshark()
    threads = ["--threads", "2"] if ipv6 else []
    with Lab(NAME, queues=2) as lab:
        document, frames = lab.send("--count", "200", "-l", "64", *threads, *options("socket", ipv6))
    packets, _ = datagrams(frames)
    gone = [p for p in packets if p.number % (1 << 32) in range(10, 90, 7)]
    late = next(p for p in packets if p.number % (1 << 32) == 5)
    frames = [f for f in frames if all(f is not p.frame for p in (*gone, late))] + [late.frame]
    rows = tshark(frames, ["pktledger." + name for name in (
        "number", "missing", "repeated", "time", "stream", "end.sent")],
        "-X", f"lua_script:{ROOT / 'tools/wireshark/pktledger.lua'}")
    stamps = [row for row in rows if row[0]]
    assert len(stamps) == len(packets) - len(gone), (len(stamps), len(packets))
    assert sum(int(row[1] or 0) for row in stamps) == len(gone) + 1, "missing"
    assert [int(row[0]) for row in stamps if row[2]] == [late.number], "overtaken"
    assert all(row[3] for row in stamps), "no send time"
    ends = {row[4]: int(row[5]) for row in rows if row[5]}
    assert sum(ends.values()) == document["end"]["sent"], ends


if __name__ == "__main__":
    main()
