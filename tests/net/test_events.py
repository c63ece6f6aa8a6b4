#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`trace --events` and `trace -w`: each drop is shown once, and a capture of them can be read by
others, with what befell each packet in its comment."""

import collections
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import (BINARY, PATIENCE, TIMEOUT, assert_valid, case, directory, first, main, pktledger,
                 require, skip, standing_still, table, thorough)
from ends import PORT, drop, family_of, read_all, udp
import test_chaos as chaos
from traced import RX, TX, V4, V6, lab, send, sender, tracing

PACKETS = 200
HEADERS = 14 + 20 + 8


def trace(*args, to=V4):
    return pktledger("trace", *args, "udp", "port", str(PORT), "--", *sender(PACKETS, to))


def tshark(path, *fields):
    """What tshark says of the packets: lists of these fields."""
    require(shutil.which("tshark"), "needs tshark")
    names = [word for field in fields for word in ("-e", field)]
    done = subprocess.run(["tshark", "-n", "-r", str(path), "-T", "fields", *names], text=True,
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return [line.split("\t") for line in done.stdout.splitlines()]


@table(first(1, [("IPv6", V6), ("IPv4", V4)]))
def test_capture_is_read_by_tshark(address):
    with lab(), directory() as path, udp(RX, family_of(address), ("", PORT), rcvbuf=2304) as sock:
        result = trace("-j", "-w", str(path / "f.pcapng"), to=address)
        received = read_all(sock)
        document = result.json
        assert result.status == 0, result
        assert_valid(document)
        assert "drops" not in document
        lost = PACKETS - received
        assert lost > 0 and document["end"]["dropped"] == lost, (lost, document["end"])
        assert document["end"]["missed"]["without_sample"] == 0
        assert document["end"]["capture"]["packets"] == lost, document["end"]["capture"]
        assert stat.S_IMODE((path / "f.pcapng").stat().st_mode) == 0o600
        rows = tshark(path / "f.pcapng", "frame.comment", "udp.dstport", "frame.len",
                      "frame.cap_len", "frame.interface_name", "frame.packet_flags_direction")
    assert len(rows) == lost, (len(rows), lost)
    kinds = collections.Counter(map(tuple, rows))
    assert len(kinds) == 1, kinds
    said, port, length, kept, interface, direction = rows[0]
    words = ["pktledger: stage=rcvbuf ", "reason=SOCKET_RCVBUFF ", f"netns={RX} ", "location=udp"]
    if not document["end"]["missed"]["no_sockets"]:  # else its address stands for it
        words += [f" socket=*:{PORT} process=", f"[{os.getpid()}]"]
    for word in words:
        assert word in said, (word, said)
    headers = HEADERS + (20 if ":" in address else 0)
    assert [int(port), int(length), int(kept)] == [PORT, headers + 120, headers], rows[0]
    assert interface == "v-rx" and direction in ("1", "0x00000001"), rows[0]


@case
def test_events_are_the_drops():
    with lab(), tracing("--events", "udp", "port", str(PORT)) as t:
        sent = send(V4, PACKETS)
        t.until(sent)
        document = t.stop()
    drops = document["drops"]
    assert len(drops) == sent == document["end"]["dropped"], (len(drops), sent)
    for event in drops:
        assert event["stage"] == "udp_lookup" and event["reason"] == "NO_SOCKET", event
        assert event["netns"] == RX and event["packets"] == 1, event
        assert event["captured_bytes"] == HEADERS and event["bytes"] == HEADERS + 100, event
        assert event["packet"].endswith(f"> {V4}.{PORT}: UDP, length 100"), event
        assert "hex" not in event
    times = [drop["time_ns"] for drop in drops]
    assert max(times) < document["end"]["duration_ns"], max(times)


@thorough
def test_what_finds_no_room_is_said():
    """Nobody reads the ring meanwhile: 16 MiB, for 15,000 packets of 1,400 bytes."""
    with lab(), directory() as path:
        with tracing("-w", str(path / "f.pcapng"), "--snaplen", "65535", "udp", "port",
                     str(PORT)) as t:
            with standing_still(t.process):
                sent = send(V4, 15000, size=1400)
            end = t.stop()["end"]
    missed = end["missed"]["without_sample"]
    assert end["dropped"] == sent, end
    assert missed > 0 and end["capture"]["packets"] == sent - missed, end


@case
def test_lines_for_people_with_hex_and_stack():
    with lab():
        result = trace("--events", "--hex", "--stack", "--snaplen", "512", "-q")
    assert result.status == 0, result
    lines = result.out.splitlines()
    events = [line for line in lines if f"> {V4}.{PORT}: UDP, length 120" in line]
    assert len(events) == PACKETS, (len(events), result)
    assert "udp_lookup NO_SOCKET" in events[0] and f" in {RX} " in events[0], events[0]
    ends = [line for line in lines if line.startswith("    0x00a0:")]
    assert len(ends) == PACKETS and ends[0].endswith("et"), ends[:1]
    frames = [line for line in lines if re.match(r"    __udp4_lib_rcv\+0x[0-9a-f]+$", line)]
    assert len(frames) == PACKETS, (len(frames), result)


@table(first(1, [("with all else", ["--microburst", "1ms", "--by", "flow"]), ("alone", [])]))
def test_stack_begins_where_the_packet_was_dropped(options):
    with lab(), udp(RX, socket.AF_INET, ("", PORT), rcvbuf=2304) as sock:
        with tracing("--events", "--stack", *options, "udp", "port", str(PORT)) as t:
            sent = send(V4, 50)
            document = t.stop()
        lost = sent - read_all(sock)
    drops = document["drops"]
    assert len(drops) == lost > 0, (len(drops), lost)
    for event in drops:
        first, *callers = event["stack"]
        assert first.startswith(event["location"] + "+0x"), event
        assert any(frame.startswith("ip_local_deliver_finish+0x") for frame in callers), event
        for frame in event["stack"]:  # no addresses
            assert frame == "?" or re.fullmatch(r"[A-Za-z0-9_.]+\+0x[0-9a-f]+( \[\w+\])?", frame), frame


@case
def test_stack_without_names_of_functions():
    require(shutil.which("setpriv"), "needs setpriv")
    done = subprocess.run(["setpriv", "--bounding-set", "-syslog", "--inh-caps", "-syslog",
                           BINARY, "trace", "--events", "--stack", "-t", "1"], text=True,
                          capture_output=True, check=False, timeout=TIMEOUT)
    if done.returncode == 0:
        skip("kernel.kptr_restrict does not hide them")
    assert done.returncode == 3 and "--stack" in done.stderr and "CAP_SYSLOG" in done.stderr, done


@case
def test_netfilter_has_its_hook_and_no_ethernet_header():
    """The sender's own OUTPUT: the packet has no Ethernet header yet."""
    with lab(), directory() as path:
        drop(TX, "output", f"udp dport {PORT}")
        with tracing("-w", str(path / "f.pcapng"), "udp", "port", str(PORT)) as t:
            send(V4, 20)
            document = t.stop()
        assert document["end"]["dropped"] == 20, document["end"]
        rows = tshark(path / "f.pcapng", "frame.comment", "ip.dst", "udp.dstport",
                      "frame.packet_flags_direction")
    assert len(rows) == 20, rows
    assert "stage=netfilter reason=NETFILTER_DROP" in rows[0][0], rows[0]
    assert "hook=output" in rows[0][0] and f"netns={TX}" in rows[0][0], rows[0]
    assert rows[0][1:3] == [V4, str(PORT)] and int(rows[0][3], 0) == 2, rows[0]


@thorough
def the_end_while_packets_are_lost():
    """What is counted and what is captured end at the same packet."""
    with lab(), directory() as path:
        with subprocess.Popen(sender(10 ** 6), stderr=subprocess.DEVNULL) as process:
            try:
                result = pktledger("trace", "-j", "-t", "0.3", "-w", str(path / "f.pcapng"), "udp",
                                   "port", str(PORT))
            finally:
                process.kill()
    end = result.json["end"]
    left_out = end["missed"]["without_sample"]
    assert end["dropped"] > 0, end
    assert end["capture"]["packets"] == end["dropped"] - left_out, end


@thorough
def test_disk_full_without_a_command():
    with lab(), chaos.directory("16k") as path:
        with tracing("-w", str(path / "f.pcapng"), "udp", "port", str(PORT)) as t:
            send(V4, PACKETS)
            t.process.send_signal(signal.SIGINT)
            out, err = t.process.communicate(timeout=30 * PATIENCE)
    assert t.process.returncode == 1, (t.process.returncode, err)
    assert json.loads(out.splitlines()[-1])["data"]["dropped"] == PACKETS, out
    assert err.count("No space left on device") == 1, err


if __name__ == "__main__":
    main()
