# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Faults for the tests of `trace`, made with plain means."""

import contextlib
import ctypes
import os
import socket
import subprocess
from pathlib import Path

from lib import require
from traced import PORT, RX, inside, libc, shell, udp


# Each is a context in which packets to the receiver are lost; it yields what is known.


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
