#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`trace`: traffic of plain sockets, lost by plain means, is attributed to the stage, socket and
process that lost it, and every packet of it."""

import contextlib
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import (EVERYTHING, PATIENCE, assert_valid, case, main, pktledger, require, require_root,
                 skip, started, table, until)

NAME = f"pl-test-{os.getpid()}"
TX, RX = f"{NAME}-tx", f"{NAME}-rx"
V4, V6 = "198.18.0.2", "2001:2::2"
PORT = 9000
PACKETS = 500
ROUNDS = 10 if EVERYTHING else 1
USAGE, UNABLE, BROKEN = 2, 3, 4
CLONE_NEWNET = 0x40000000
libc = ctypes.CDLL(None, use_errno=True)


# Namespaces and sockets


@contextlib.contextmanager
def lab():
    require_root()
    result = pktledger("lab", "up", NAME)
    try:
        assert result.status == 0, result
        yield
    finally:
        pktledger("lab", "down", NAME)


@contextlib.contextmanager
def inside(name):
    """This thread is in the namespace; sockets made there stay there."""
    with open("/proc/thread-self/ns/net") as home, open(f"/run/netns/{name}") as there:
        assert not libc.setns(there.fileno(), CLONE_NEWNET), os.strerror(ctypes.get_errno())
        try:
            yield
        finally:
            assert not libc.setns(home.fileno(), CLONE_NEWNET)


def udp(name, family, bind=None, rcvbuf=None):
    with inside(name):
        sock = socket.socket(family, socket.SOCK_DGRAM)
    if rcvbuf:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
    if bind is not None:
        sock.bind(bind)
    return sock


def shell(name, *command, stdin=None):
    return subprocess.run(["ip", "netns", "exec", name, *command], input=stdin, text=True,
                          capture_output=True, check=False)


def send(to, packets=PACKETS, port=PORT, size=100):
    """How many the kernel took; it refuses where the sender's own hooks drop."""
    family = socket.AF_INET6 if ":" in to else socket.AF_INET
    taken = 0
    with udp(TX, family) as sock:
        for _ in range(packets):
            with contextlib.suppress(OSError):
                sock.sendto(b"x" * size, (to, port))
            taken += 1
            if taken % 50 == 0:
                time.sleep(0.001)  # the other end works in a thread of its own
    return taken


def read_all(sock):
    sock.settimeout(0.2)
    received = 0
    with contextlib.suppress(TimeoutError):
        while sock.recv(65536):
            received += 1
    return received


# The tracer


class Tracing:
    def __init__(self, process):
        self.process = process
        self.lines = []
        self.end = None

    def read_line(self):
        line = self.process.stdout.readline()
        assert line, f"trace ended: {self.process.stderr.read()}"
        self.lines.append(json.loads(line))
        return self.lines[-1]

    def stop(self):
        """The document of a run that ends by a signal."""
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=30 * PATIENCE)
        self.lines += [json.loads(line) for line in out.splitlines()]
        assert self.process.returncode in (0, BROKEN), (self.process.returncode, err)
        document = {"schema": self.lines[0]["schema"]}
        for line in self.lines:
            if line["event"] in ("start", "end"):
                document[line["event"]] = line["data"]
            else:
                document.setdefault(line["event"] + "s", []).append(line["data"])
        assert_valid(document)
        self.end = document["end"]
        assert self.end["own_losses"]["without_cause"] == 0, self.end["own_losses"]
        return document


@contextlib.contextmanager
def tracing(*args):
    with started("trace", "--json-lines", "-I", "100ms", *args) as process:
        t = Tracing(process)
        while t.read_line()["event"] != "start":
            pass
        yield t


def causes(document, kind="stages"):
    return {row["stage"]: row for row in document["end"][kind]}


def assert_only(document, stage, packets, kind="stages", **fields):
    """All loss is at one stage, and each of its causes says so of `fields`."""
    rows = causes(document, kind)
    text = json.dumps(document["end"])[:2000]
    assert list(rows) == [stage], f"not only {stage}: {text}"
    assert rows[stage]["packets"] == packets, f"{rows[stage]['packets']}, not {packets}: {text}"
    assert sum(c["packets"] for c in rows[stage]["causes"]) == packets, text
    for row in rows[stage]["causes"]:
        for key, value in fields.items():
            assert row[key] == value, f"{key} is {row[key]}, not {value}: {text}"
    if kind == "stages":
        assert document["end"]["dropped"] == packets, text
    intervals = sum(i["dropped"] for i in document["intervals"])
    assert intervals == document["end"]["dropped"], f"{intervals} in the intervals: {text}"


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
def nft(hook, netns, address, **fields):
    require(subprocess.run(["which", "nft"], capture_output=True, check=False).returncode == 0,
            "needs nft")
    family = "ip6" if ":" in address else "ip"
    rules = (f"table {family} t {{ chain c {{ type filter hook {hook} priority 0;"
             f" udp dport {PORT} drop; }}; }}")
    done = shell(netns, "nft", "-f", "-", stdin=rules)
    require(done.returncode == 0, f"nft: {done.stderr.strip()}")
    try:
        yield {"stage": "netfilter", "reason": "NETFILTER_DROP", "hook": hook, "socket": None,
               **fields}
    finally:
        shell(netns, "nft", "delete", "table", family, "t")


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
            if document["end"]["own_losses"]["no_sockets"]:  # before Linux 6.11
                fields.pop("process", None)
                if fields.get("socket"):
                    fields["socket"] = f"[{address}]:{PORT}" if ":" in address else \
                        f"{address}:{PORT}"
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
