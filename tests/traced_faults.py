# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Faults for the tests of `trace`, made with plain means."""

import contextlib
import ctypes
import os
import socket
import struct
from pathlib import Path

import ends
from ends import PORT, SO_RCVBUFFORCE, XDP_DROP, XDP_GENERIC, at, family_of, need, shell, udp, verdict, xdp
from lib import require
from traced import RX


# Each is a context in which packets to the receiver are lost; it yields what is known.


@contextlib.contextmanager
def closed_port(address):
    yield {"stage": "udp_lookup", "reason": "NO_SOCKET", "socket": at(address), "process": None}


@contextlib.contextmanager
def tiny_rcvbuf(address):
    with udp(RX, family_of(address), ("", PORT), rcvbuf=2304) as sock:
        yield {"stage": "rcvbuf", "reason": "SOCKET_RCVBUFF", "reader": sock,
               "socket": f"*:{PORT}", "process": f"{name_of_this()}[{os.getpid()}]"}


@contextlib.contextmanager
def filter_on_socket(address):
    """SO_ATTACH_FILTER with one instruction: return 0."""
    code = ctypes.create_string_buffer(bytes([6, 0, 0, 0, 0, 0, 0, 0]))  # BPF_RET | BPF_K, 0
    with udp(RX, family_of(address), (address, PORT)) as sock:
        sock.setsockopt(socket.SOL_SOCKET, 26, struct.pack("H6xQ", 1, ctypes.addressof(code)))
        yield {"stage": "socket_filter", "reason": "SOCKET_FILTER", "reader": sock,
               "socket": at(address), "process": f"{name_of_this()}[{os.getpid()}]"}


@contextlib.contextmanager
def unread_at_close(address):
    sock = udp(RX, family_of(address), (address, PORT))
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
    yield {"stage": "socket_close", "close": sock, "socket": at(address)}


@contextlib.contextmanager
def nft(hook, place, address, **fields):
    family = "ip6" if ":" in address else "ip"
    ends.nft(place, f"table {family} t {{ chain c {{ type filter hook {hook} priority 0;"
                    f" udp dport {PORT} drop; }}; }}")
    try:
        yield {"stage": "netfilter", "reason": "NETFILTER_DROP", "hook": hook, "socket": None,
               **fields}
    finally:
        shell(place, "nft", "delete", "table", family, "t")


@contextlib.contextmanager
def tc_ingress(address):
    need(RX, "tc", "qdisc", "add", "dev", "v-rx", "clsact")
    try:
        number = "ipv6" if ":" in address else "ip"
        done = shell(RX, "tc", "filter", "add", "dev", "v-rx", "ingress", "protocol", number,
                     "bpf", "direct-action", "bytecode", "1,6 0 0 2")  # TC_ACT_SHOT
        require(done.returncode == 0, f"tc: {done.stderr.strip()}")
        yield {"stage": "tc_ingress", "reason": "TC_INGRESS"}
    finally:
        shell(RX, "tc", "qdisc", "del", "dev", "v-rx", "clsact")


@contextlib.contextmanager
def generic_xdp(address):
    with xdp(RX, "v-rx", verdict(XDP_DROP), XDP_GENERIC):
        yield {"stage": "xdp"}


def name_of_this():
    return Path("/proc/self/comm").read_text().strip()
