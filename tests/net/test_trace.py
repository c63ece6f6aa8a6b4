#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`trace`: causes of one stage, filters and groups, many flows, times, limits and ends. That each
packet is attributed to its stage, socket and process is in test_scenes.py."""

import contextlib
import datetime
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import (EVERYTHING, PATIENCE, TIMEOUT, assert_ok, assert_valid, case, exclusive, first,
                 main, paced, pktledger, require, standing_still, started, table, thorough,
                 until)
import ends
from ends import PORT, counter, datagram, do, family_of, ip4, mac_of, raw, read_all, sysctl, tun, udp
from test_owners import receiver
from traced import BROKEN, NAME, RX, TX, V4, V6, assert_only, causes, lab, send, tracing
from traced_faults import name_of_this, nft


# A stage with two causes

FAMILIES = [("IPv4", V4), ("IPv6", V6)]


def findings_of(document, stage):
    return [f for f in document["end"]["findings"] if f["stage"] == stage]


@table(first(1, FAMILIES))
def one_stage_and_many_causes(address):
    """Two sockets; two hooks; the same hook, and the same reason, in another namespace."""
    back = {V4: "198.18.0.1", V6: "2001:2::1"}[address]
    with lab(), contextlib.ExitStack() as stack, tracing(f"udp portrange {PORT}-{PORT + 1}") as t:
        full = []
        for packets, port in (100, PORT), (200, PORT + 1):
            sock = stack.enter_context(udp(RX, family_of(address), ("", port), rcvbuf=2304))
            full.append(send(address, packets, port=port) - read_all(sock))
        places = {("prerouting", RX): 60, ("prerouting", TX): 40, ("output", TX): 50}
        for (hook, netns), packets in places.items():
            with nft(hook, netns, address):
                ends.send(*(RX, back) if (hook, netns) == ("prerouting", TX) else (TX, address), packets)
        t.until(sum(full) + sum(places.values()))
        document = t.stop()
    found = findings_of(document, "rcvbuf")
    assert [f["facts"]["lost"] for f in found] == sorted(full, reverse=True), (full, found)
    rows = causes(document)["netfilter"]["causes"]
    assert {(row["hook"], row["netns"]): row["packets"] for row in rows} == places, rows
    found = findings_of(document, "netfilter")
    assert [(f["facts"]["lost"], f["facts"]["hook"]) for f in found] == [
        (60, "prerouting"), (50, "output"), (40, "prerouting")], found
    assert all(f["facts"]["hook"] in f["cause"] for f in found), found


@table(first(1, [("IPv6", "2001:2:0:1::2"), ("IPv4", "198.18.1.2")]))
def ttl_and_mtu(to):
    """Both end in the router's ip_forward()."""
    v6 = ":" in to
    with lab("--topology", "router"), udp(TX, family_of(to)) as short, \
            udp(TX, family_of(to)) as long:
        router = f"{NAME}-router"
        device = json.loads(do(router, "ip", "-j", "route", "get", to))[0]["dev"]
        do(router, "ip", "link", "set", device, "mtu", "1280")
        if v6:
            short.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, 1)
            long.setsockopt(socket.IPPROTO_IPV6, 23, 3)  # IPV6_MTU_DISCOVER, _PROBE
        else:
            short.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 1)
            long.setsockopt(socket.IPPROTO_IP, 10, 3)  # IP_MTU_DISCOVER, IP_PMTUDISC_PROBE
        with tracing(f"udp port {PORT}") as t:
            for sock, size, n in ((short, 100, 30), (long, 1400, 40)):
                for _ in range(n):
                    with contextlib.suppress(OSError):  # the answer of the one before
                        sock.sendto(bytes(size), (to, PORT))
            document = t.stop()
        rows = causes(document)["ip_forward"]["causes"]
        found = findings_of(document, "ip_forward")
        assert len({row["reason"] for row in rows}) == 2, rows
        assert [(f["id"], f["facts"]["lost"]) for f in found] == [("ip-too-big", 40), ("ip-ttl", 30)], found
        assert f"({device}, 1280)" in found[0]["cause"], found


# Filters and groups


@case
def sockets_and_processes_are_told_apart():
    """Two sockets of this process and one of another, which --pid shows alone."""
    with lab(), udp(RX, socket.AF_INET, ("", PORT), rcvbuf=2304) as one, \
            udp(RX, socket.AF_INET, ("", PORT + 1), rcvbuf=2304) as two, receiver("sleeps", PORT + 2) as other:
        with tracing("--netns", RX, "--by", "socket,process", "udp") as t, tracing("--pid", str(other.pid)) as alone:
            for i in range(3):
                send(V4, 100, PORT + i)
            found, of_other = causes(t.stop()), causes(alone.stop())
        require(not t.end["missed"]["no_sockets"], "needs Linux 6.11")
        rows, of_other = found["rcvbuf"]["causes"], of_other["rcvbuf"]["causes"]
        this = f"{name_of_this()}[{os.getpid()}]"
        left = {f"*:{PORT}": 100 - read_all(one), f"*:{PORT + 1}": 100 - read_all(two)}
    assert left.items() <= {r["socket"]: r["packets"] for r in rows}.items(), (left, rows)
    assert {r["socket"]: r["process"] for r in rows} == {
        f"*:{PORT}": this, f"*:{PORT + 1}": this, f"*:{PORT + 2}": f"python3[{other.pid}]"}, rows
    assert {c["socket"] for c in of_other} == {f"*:{PORT + 2}"}, of_other


@table(first(1, [
    ("interface", ["--netns", RX, "-i", "v-rx"], True),
    ("another namespace", ["--netns", TX], False),
    ("another stage", ["--stage", "netfilter"], False),
    ("reason", ["--reason", "SOCKET_RCVBUFF,NO_SOCKET"], True),
    ("expression", ["src host 198.18.0.1 and ip and greater 100"], True),
    ("another interface", ["--netns", RX, "-i", "lo"], False),
    ("stage", ["--stage", "rcvbuf,xdp"], True),
    ("another reason", ["--reason", "NO_SOCKET"], False),
    ("another expression", ["tcp or ip6"], False),
]))
def only(options, found):
    with lab(), udp(RX, socket.AF_INET, ("", PORT), rcvbuf=2304) as sock:
        filters = [*options] if "--netns" in options else [*options, f"udp port {PORT}"]
        if not options[0].startswith("-"):
            filters = [f"({options[0]}) and udp port {PORT}"]
        with tracing(*filters) as t:
            sent = send(V4, 100)
            document = t.stop()
        if found:
            assert_only(document, "rcvbuf", sent - read_all(sock))
        else:
            assert "rcvbuf" not in causes(document), document["end"]


@case
def flows():
    """As many rows as flows, also where the sockets of all are one."""
    with lab(), udp(RX, socket.AF_INET, ("", PORT), rcvbuf=2304) as sock:
        with tracing("--by", "flow,socket", f"udp port {PORT}") as t:
            for _ in range(20):
                send(V4, 5)
            document = t.stop()
        rows = causes(document)["rcvbuf"]["causes"]
        assert 18 <= len({r["flow"] for r in rows}) == len(rows) <= 20, rows
        for row in rows:
            assert row["flow"].startswith("udp 198.18.0.1:"), row
            assert row["flow"].endswith(f" > 198.18.0.2:{PORT}"), row
        assert sum(row["packets"] for row in rows) == 100 - read_all(sock), document["end"]


def frame_of(flow, macs, broken=False):
    """Of one of 2^24 flows to a port that is closed; or its IP header has a wrong checksum."""
    source = f"198.19.{flow >> 16}.{flow >> 8 & 255}"
    udp_header = struct.pack("!HHHH", 1024 + (flow & 255), PORT, 26, 0)
    packet = bytearray(ip4(socket.IPPROTO_UDP, udp_header + bytes(18), source, V4, 0, 0x4000))
    packet[11] ^= broken
    return macs + b"\x08\x00" + packet, f"udp {source}:{1024 + (flow & 255)}"


@table(first(1, [("in the kernel, while nobody reads", False), ("in user space", True)]))
def more_flows_than_room(reads):
    """No packet loses its stage and reason because its flow had no room; the largest flows are seen
    apart, each with all that it lost, also one that begins late, if it is read by then."""
    number, every = (200000, 64) if EVERYTHING else (30000, 32)
    large, few = -(-number // every), number // 2 // every
    with lab(), tracing("-n", RX, "-I", "1h", "--by", "reason,flow", f"udp port {PORT}") as t:
        do(RX, "ip", "route", "add", "198.19.0.0/16", "dev", "v-rx")
        sysctl(RX, "net/ipv4/conf/v-rx/rp_filter", 0)
        sysctl(RX, "net/ipv4/conf/all/rp_filter", 0)
        macs = mac_of(RX, "v-rx") + mac_of(TX, "v-tx")
        first_large, late, *broken = [frame_of((1 << 22) + i, macs, i > 1) for i in range(12)]
        before = [counter(RX, "Udp:NoPorts"), counter(RX, "IpExt:InCsumErrors")]
        meanwhile = contextlib.nullcontext() if reads else standing_still(t.process)
        with meanwhile, raw(TX, 0, socket.AF_PACKET, "v-tx") as out:
            for i in range(number):
                out.send(frame_of(i, macs)[0])
                if i % every == 0:
                    out.send(first_large[0])
                if i % every == 0 and i // every >= large - few:
                    out.send(late[0])
                    out.send(broken[i % 10][0])
        document = t.stop()
        truth = [counter(RX, "Udp:NoPorts") - before[0], counter(RX, "IpExt:InCsumErrors") - before[1]]
    rows = [c for stage in document["end"]["stages"] for c in stage["causes"]]
    by_reason = {}
    for row in rows:
        by_reason[row["reason"]] = by_reason.get(row["reason"], 0) + row["packets"]
    found = {row["flow"].split(" > ")[0]: row["packets"] for row in rows if row["reason"] != "IP_CSUM"}
    assert by_reason == {"NO_SOCKET": truth[0], "IP_CSUM": truth[1]}, (by_reason, truth)
    assert truth == [number + large + few, few], truth
    assert len(rows) < 12000, len(rows)
    assert document["end"]["missed"]["rows_merged"] > 0, document["end"]["missed"]
    assert found[first_large[1]] == large, (found[first_large[1]], large)
    missing = document["end"]["missed"]["without_socket_or_flow"]
    if reads:
        assert few - missing <= found.get(late[1], 0) <= few, (found.get(late[1]), few, missing)
    else:
        assert missing > number // 3, missing


@table(first(1, [("single packets", ["--events"], True), ("intervals", [], False)]))
def ends_by_a_count(options, exact):
    """Five of those that are lost; whoever counts intervals ends with the one that has the fifth."""
    with lab(), tracing("-n", RX, "-c", "5", *options, f"udp port {PORT}") as t:
        with standing_still(t.process):  # else it may end before all are sent
            assert send(V4, 20) == 20
        assert t.process.wait(TIMEOUT) == 0
        document = t.stop()
        assert len(document.get("drops", [])) == (5 if exact else 0), document
        assert causes(document)["udp_lookup"]["packets"] == 20, document["end"]


# Devices without Ethernet


@case
def tun_device():
    """Its packets begin with the IP header: so are their flow and their bytes found."""
    with lab(), tun(RX) as device, udp(RX, socket.AF_INET, ("", PORT), rcvbuf=2304) as sock:
        with tracing("--by", "flow,interface", f"udp dst port {PORT} or udp dst port {PORT + 1}") as t:
            for _ in range(50):
                device.write(datagram(PORT, b"x" * 100))
            for _ in range(20):
                device.write(datagram(PORT + 1, b"x" * 300))
            document = t.stop()
        full = 50 - read_all(sock)
        for stage, port, packets, size in (("rcvbuf", PORT, full, 128),
                                           ("udp_lookup", PORT + 1, 20, 328)):
            rows = causes(document)[stage]["causes"]
            assert len(rows) == 1, rows
            assert rows[0]["flow"] == f"udp 198.18.5.9:1234 > 198.18.5.1:{port}", rows
            assert rows[0]["ifname"] == "t0", rows
            assert (rows[0]["packets"], rows[0]["bytes"]) == (packets, packets * size), rows


# When it was lost


def burst(part, stage):
    """What --microburst tells of the only cause at a stage."""
    rows = [row for row in part["stages"] if row["stage"] == stage]
    return rows[0]["causes"][0]["burst"] if rows else {"packets": 0}


def seconds(window):
    return datetime.datetime.fromisoformat(window["time"].replace("Z", "+00:00")).timestamp()


@table(first(0, [("spread losses", "rcvbuf", "Udp:RcvbufErrors", 1000, [], (200, 0.002, 100, 2000), 10),
                 ("thousands of an interval", "udp_lookup", "Udp:NoPorts", 100, ["-I", "1h"],
                  (20000, 0.0001, 3000, 1000), 5)]))
def microburst_among(stage, counted, usec, options, packets, least):
    """The window that is shown is one of the burst, in its interval and at the end."""
    number, pause, before, together = packets
    with lab(), contextlib.ExitStack() as stack, udp(TX, socket.AF_INET) as out:
        sock = stage == "rcvbuf" and stack.enter_context(udp(RX, socket.AF_INET, ("", PORT), rcvbuf=2304))
        with tracing("--microburst", f"{usec}us", *options, f"udp port {PORT}") as t:
            for i in paced(number, pause=pause):
                out.sendto(b"x" * 100, (V4, PORT))
                if i == before:
                    begin = time.time()
                    for _ in range(together):
                        out.sendto(b"x" * 100, (V4, PORT))
                    # all but those that a buffer has room for
                    until(lambda: counter(RX, counted) > before + together - 10, 10, "the burst is lost")
                    end = time.time()
            document = t.stop()
        lost = number + together - (read_all(sock) if sock else 0)
    assert_only(document, stage, lost)
    shown = burst(document["end"], stage)
    assert document["end"]["missed"]["without_window"] == 0
    assert shown["window_ns"] == 1000 * usec and least < shown["packets"] <= lost, shown
    assert begin - usec / 1e6 <= seconds(shown) <= end, (begin, end, shown)
    assert max(burst(i, stage)["packets"] for i in document["intervals"]) == shown["packets"]
    assert not options or len(document["intervals"]) == 1


def traced_by(process):
    """Names of the programs that it has attached, by their links."""
    ids = set()
    for info in Path(f"/proc/{process.pid}/fdinfo").iterdir():
        with contextlib.suppress(OSError):  # a file that was read is closed
            ids.update(re.findall(r"^link_type:.*?^prog_id:\s+(\d+)", info.read_text(),
                                  re.M | re.S))
    shown = subprocess.run(["bpftool", "-j", "prog", "show"], capture_output=True, check=True)
    return {p.get("name") for p in json.loads(shown.stdout) if str(p["id"]) in ids}


@case
@exclusive
def each_loss_of_bursts_is_looked_at_until_there_are_many():
    """Above 100,000 losses/s on the host, the program that measures bursts is detached, because it would
    run for each loss. Exclusive: losses of other tests also detach the program."""
    with lab(), udp(RX, socket.AF_INET, ("", PORT), rcvbuf=2304), \
            udp(TX, socket.AF_INET) as out, tracing(f"udp port {PORT}") as t:
        send(V4, 100)
        until(lambda: "lose_one" in traced_by(t.process), 10, "the program")
        for _ in range(5):
            send(V4, 100)
            time.sleep(0.1)  # an interval
        assert "lose_one" in traced_by(t.process)
        out.setsockopt(socket.IPPROTO_UDP, 103, 100)  # UDP_SEGMENT: 60 datagrams a call

        def flood():
            end = time.monotonic() + 0.3
            while time.monotonic() < end:
                out.sendto(b"x" * 6000, (V4, PORT))
            return "lose_one" not in traced_by(t.process)
        until(flood, 10, "its end")
        assert t.stop()["end"]["dropped"] > 10000


@thorough
def windows_of_many_sockets():
    """Also of sockets that find no slot of their own."""
    number, rounds = 3000, 20
    with lab(), contextlib.ExitStack() as stack:
        socks = [stack.enter_context(udp(RX, socket.AF_INET, ("", 10000 + i), rcvbuf=2304)) for i in range(number)]
        with tracing("--netns", RX, "-I", "1h", "--microburst", "1s", "udp") as t, udp(TX, socket.AF_INET) as out:
            for i in paced(number * rounds, 50, 0.001):
                out.sendto(b"x" * 1000, (V4, 10000 + i % number))
            document = t.stop()
        require(not document["end"]["missed"]["no_sockets"], "needs Linux 6.11")
        lost = number * rounds - sum(read_all(sock, 0) for sock in socks)
    assert_only(document, "rcvbuf", lost)
    assert len(causes(document)["rcvbuf"]["causes"]) == 3000
    assert document["end"]["overhead"]["overflow_events"] > 0, document["end"]["overhead"]
    assert document["end"]["missed"]["without_window"] == 0, document["end"]
    shown = [cause["burst"]["packets"] for cause in causes(document)["rcvbuf"]["causes"]]
    assert all(0 < n <= 20 for n in shown), sorted(shown)


# The command, limits, ends


@case
def output_of_the_command_is_apart():
    result = pktledger("trace", "-j", "--", "echo", "hello")
    assert result.status == 0 and "hello" in result.err, result
    assert_valid(result.json)
    assert "hello" in assert_ok(pktledger("trace", "-q", "--limit", "loss=1G", "--", "echo", "hello")).out


@table(first(1, [("per second", "udp_lookup=20/s", True), ("of another stage", "rcvbuf=0", False),
                 ("in all", "loss=10", True), ("not reached", "loss=1M", False)]))
def limit(value, broken):
    with lab():
        with tracing("--limit", value, "--until-limit", f"udp port {PORT}") as t:
            send(V4, 100)
            if broken:
                t.process.wait(20 * PATIENCE)
            else:
                t.until(100)
            document = t.stop()
        assert t.process.returncode == (BROKEN if broken else 0)
        assert [row["broken"] for row in document.get("limits", [])] == [True] * broken
        assert document["end"]["interrupted"] != broken


@case
def detaches_when_it_costs_too_much():
    """And counts again later, by the events of an interval."""
    with lab(), started("trace", "--json-lines", "-I", "500ms", "--max-cpu", "0.1%", "-n", RX,
                        f"udp port {PORT}") as process:
        for said in "the programs are detached for", "the programs are attached again":
            line = process.stderr.readline()
            while said not in line:
                assert line, f"trace ended without {said!r}"
                line = process.stderr.readline()
        lost = send(V4, 50)
        intervals = (json.loads(line)["data"] for line in process.stdout)
        row = next(row for interval in intervals for row in interval.get("stages", []))
        assert (row["stage"], row["packets"]) == ("udp_lookup", lost), row
        assert row["source"] == "event", row
        process.send_signal(signal.SIGINT)
        end = json.loads(process.communicate(timeout=30 * PATIENCE)[0].splitlines()[-1])["data"]
        assert end["overhead"]["paused_ns"] > 1e8, end["overhead"]


if __name__ == "__main__":
    main()
