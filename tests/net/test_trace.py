#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`trace`: traffic of plain sockets, lost by plain means, is attributed to the stage, socket and
process that lost it, and every packet of it."""

import contextlib
import ctypes
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import EVERYTHING, case, main, require, table, until
from traced import (PORT, RX, TX, V4, V6, assert_only, causes, inside, lab, libc, read_all, send,
                    shell, tracing, udp)

ROUNDS = 10 if EVERYTHING else 1


# Faults. Each is a context in which packets to the receiver are lost; it yields what is known.


@contextlib.contextmanager
def closed_port(address):
    yield {"stage": "udp_lookup", "reason": "NO_SOCKET", "socket": None, "process": None}


@contextlib.contextmanager
def tiny_rcvbuf(address):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with udp(RX, family, ("", PORT), rcvbuf=2304) as sock:
        yield {"stage": "rcvbuf", "reason": "SOCKET_RCVBUFF", "reader": sock,
               "socket": f"*:{PORT}", "process": f"{name_of_this()}[{os.getpid()}]"}


@contextlib.contextmanager
def filter_on_socket(address):
    """SO_ATTACH_FILTER with one instruction: return 0."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    code = ctypes.create_string_buffer(bytes([6, 0, 0, 0, 0, 0, 0, 0]))  # BPF_RET | BPF_K, 0
    program = ctypes.create_string_buffer(16)
    ctypes.memmove(program, ctypes.byref(ctypes.c_ushort(1)), 2)
    ctypes.memmove(ctypes.byref(program, 8),
                   ctypes.byref(ctypes.c_void_p(ctypes.addressof(code))), 8)
    with udp(RX, family, (address, PORT)) as sock:
        sock.setsockopt(socket.SOL_SOCKET, 26, program)
        name = f"[{address}]:{PORT}" if ":" in address else f"{address}:{PORT}"
        yield {"stage": "socket_filter", "reason": "SOCKET_FILTER", "reader": sock,
               "socket": name, "process": f"{name_of_this()}[{os.getpid()}]"}


@contextlib.contextmanager
def unread_at_close(address):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = udp(RX, family, (address, PORT))
    sock.setsockopt(socket.SOL_SOCKET, 33, 16 << 20)  # SO_RCVBUFFORCE
    name = f"[{address}]:{PORT}" if ":" in address else f"{address}:{PORT}"
    yield {"stage": "socket_close", "close": sock, "socket": name}


@contextlib.contextmanager
def nft(hook, place, address, **fields):
    require(subprocess.run(["which", "nft"], capture_output=True, check=False).returncode == 0,
            "needs nft")
    family = "ip6" if ":" in address else "ip"
    rules = (f"table {family} t {{ chain c {{ type filter hook {hook} priority 0;"
             f" udp dport {PORT} drop; }}; }}")
    done = shell(place, "nft", "-f", "-", stdin=rules)
    require(done.returncode == 0, f"nft: {done.stderr.strip()}")
    try:
        yield {"stage": "netfilter", "reason": "NETFILTER_DROP", "hook": hook, "socket": None,
               **fields}
    finally:
        shell(place, "nft", "delete", "table", family, "t")


@contextlib.contextmanager
def tc_ingress(address):
    done = shell(RX, "tc", "qdisc", "add", "dev", "v-rx", "clsact")
    require(done.returncode == 0, f"tc: {done.stderr.strip()}")
    try:
        number = "ipv6" if ":" in address else "ip"
        done = shell(RX, "tc", "filter", "add", "dev", "v-rx", "ingress", "protocol", number,
                     "bpf", "direct-action", "bytecode", "1,6 0 0 2")  # TC_ACT_SHOT
        require(done.returncode == 0, f"tc: {done.stderr.strip()}")
        yield {"stage": "tc_ingress", "reason": "TC_INGRESS"}
    finally:
        shell(RX, "tc", "qdisc", "del", "dev", "v-rx", "clsact")


def bpf(command, attributes):
    fd = libc.syscall(321, command, attributes, len(attributes))
    require(fd >= 0, f"bpf({command}): {os.strerror(ctypes.get_errno())}")
    return fd


@contextlib.contextmanager
def generic_xdp(address):
    """A program of two instructions, return XDP_DROP, by a link in generic mode."""
    require(os.uname().machine == "x86_64", "the number of bpf() is that of x86-64")
    code = ctypes.create_string_buffer(bytes([0xb7, 0, 0, 0, 1, 0, 0, 0, 0x95] + [0] * 7), 16)
    text = ctypes.create_string_buffer(b"GPL")
    load = bytearray(72)
    load[0:8] = (6).to_bytes(4, "little") + (2).to_bytes(4, "little")  # XDP, instructions
    load[8:16] = ctypes.addressof(code).to_bytes(8, "little")
    load[16:24] = ctypes.addressof(text).to_bytes(8, "little")
    program = bpf(5, ctypes.create_string_buffer(bytes(load), 72))
    try:
        with inside(RX):
            index = socket.if_nametoindex("v-rx")
            link = b"".join(n.to_bytes(4, "little") for n in (program, index, 37, 2))
            fd = bpf(28, ctypes.create_string_buffer(link + bytes(32), 48))  # XDP_FLAGS_SKB_MODE
        try:
            yield {"stage": "xdp"}
        finally:
            os.close(fd)
    finally:
        os.close(program)


def name_of_this():
    return Path("/proc/self/comm").read_text().strip()


# Attribution


def attributed(fault, address, **known):
    """Every packet that was sent and not read is at the stage of the fault, and nowhere else."""
    with lab(), fault(address) as about:
        about |= known
        reader, to_close = about.pop("reader", None), about.pop("close", None)
        send(address, 1)  # resolves the neighbour before tracing
        time.sleep(0.05)
        if reader:
            read_all(reader)
        for _ in range(ROUNDS):
            already = 1 if to_close else 0
            with tracing(f"udp port {PORT}") as t:
                sent = send(address) + already
                if to_close:
                    to_close.close()
                received = read_all(reader) if reader else 0
                time.sleep(0.3)  # RCU callbacks of a closed socket
                document = t.stop()
            fields = {"netns": RX, "direction": "rx", "source": "event", "scope": "flow", **about}
            if to_close:
                fields.pop("netns")  # it has none any more
            assert_only(document, fields.pop("stage"), sent - received, **fields)
            if to_close:
                break


@table([
    ("closed port", closed_port, V4, {"ifname": "v-rx"}),
    ("closed port, IPv6", closed_port, V6, {"ifname": "v-rx"}),
    ("receive buffer", tiny_rcvbuf, V4, {"ifname": "v-rx"}),
    ("receive buffer, IPv6", tiny_rcvbuf, V6, {"ifname": "v-rx"}),
    ("socket filter", filter_on_socket, V4, {"ifname": "v-rx"}),
    ("unread at close", unread_at_close, V4, {}),
    ("unread at close, IPv6", unread_at_close, V6, {}),
    ("nft input", lambda a: nft("input", RX, a), V4, {"ifname": "v-rx"}),
    ("nft prerouting, IPv6", lambda a: nft("prerouting", RX, a), V6, {"ifname": "v-rx"}),
    ("nft output", lambda a: nft("output", TX, a, netns=TX, direction="tx"), V4, {}),
    ("tc ingress", tc_ingress, V4, {"ifname": "v-rx"}),
    ("generic XDP", generic_xdp, V4, {"ifname": "v-rx"}),
])
def attribution(fault, address, known):
    attributed(fault, address, **known)


@case
def neighbour_that_does_not_answer():
    """Nobody knows whether somebody missed them: they are told apart from losses."""
    with lab():
        with tracing(f"udp port {PORT}") as t:
            sent = send("198.18.0.99", 20)
            until(lambda: t.read_line().get("data", {}).get("suspect"), 10, "neigh")
            time.sleep(0.2)
            document = t.stop()
        full = causes(document).get("neigh", {"packets": 0})["packets"]  # its queue is short
        assert list(causes(document, "suspect")) == ["neigh"], document["end"]
        assert causes(document, "suspect")["neigh"]["packets"] + full == sent, document["end"]


if __name__ == "__main__":
    main()
