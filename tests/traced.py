# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the tests of `trace` share: a lab, plain sockets in it, and a tracer that runs meanwhile."""

import contextlib
import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import time

from lib import PATIENCE, assert_valid, pktledger, require, require_root, started

NAME = f"pl-test-{os.getpid()}"
TX, RX = f"{NAME}-tx", f"{NAME}-rx"
V4, V6 = "198.18.0.2", "2001:2::2"
PORT = 20000 + os.getpid() % 20000  # others may trace and send at the same time
PACKETS = 500
UNABLE, BROKEN = 3, 4  # exit statuses
CLONE_NEWNET = 0x40000000
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454ca, 1, 0x1000
XDP_NATIVE, XDP_GENERIC = 4, 2  # XDP_FLAGS_DRV_MODE, XDP_FLAGS_SKB_MODE
BPF_REDIRECT = 23  # BPF_FUNC_redirect
libc = ctypes.CDLL(None, use_errno=True)


# Namespaces and sockets


@contextlib.contextmanager
def lab(*options):
    require_root()
    result = pktledger("lab", "up", NAME, *options)
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


def read_all(sock, patience=0.2):
    sock.settimeout(patience)
    received = 0
    with contextlib.suppress(TimeoutError, BlockingIOError):
        while sock.recv(65536):
            received += 1
    return received


# A tun device


@contextlib.contextmanager
def tun(name):
    """A device whose other end is no part of the host: this process."""
    require(os.path.exists("/dev/net/tun"), "needs /dev/net/tun")
    with inside(name), open("/dev/net/tun", "r+b", buffering=0) as device:
        fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", b"t0", IFF_TUN | IFF_NO_PI))
        for line in ("addr add 198.18.5.1/24 dev t0", "link set t0 up"):
            done = shell(name, "ip", *line.split())
            require(done.returncode == 0, f"ip {line}: {done.stderr.strip()}")
        os.set_blocking(device.fileno(), False)
        yield device


def datagram(port, payload):
    """From the other end of the tun to this one, without checksum."""
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 28 + len(payload), 1, 0, 64, socket.IPPROTO_UDP,
                         0, socket.inet_aton("198.18.5.9"), socket.inet_aton("198.18.5.1"))
    total = sum(struct.unpack("!10H", header))
    total = (total & 0xffff) + (total >> 16)
    checksum = struct.pack("!H", ~((total & 0xffff) + (total >> 16)) & 0xffff)
    return (header[:10] + checksum + header[12:]
            + struct.pack("!HHHH", 1234, port, 8 + len(payload), 0) + payload)


# XDP programs


def insn(code, register=0, immediate=0):
    return struct.pack("<BBhi", code, register, 0, immediate)


def verdict(value):
    return insn(0xb7, 0, value) + insn(0x95)


def redirect(ifindex):
    return (insn(0xb7, 1, ifindex) + insn(0xb7, 2, 0) + insn(0x85, 0, BPF_REDIRECT) + insn(0x95))


def bpf(command, attributes):
    """A descriptor from bpf(2)."""
    require(os.uname().machine == "x86_64", "the number of bpf() is that of x86-64")
    fd = libc.syscall(321, command, ctypes.create_string_buffer(attributes, len(attributes)),
                      len(attributes))
    require(fd >= 0, f"bpf({command}): {os.strerror(ctypes.get_errno())}")
    return fd


@contextlib.contextmanager
def xdp(netns, ifname, code, mode):
    """A program of these instructions at the device, by a link."""
    text, gpl = ctypes.create_string_buffer(code, len(code)), ctypes.create_string_buffer(b"GPL")
    load = struct.pack("<IIQQ", 6, len(code) // 8, ctypes.addressof(text), ctypes.addressof(gpl))
    program = bpf(5, load + bytes(48))
    try:
        with inside(netns):
            index = socket.if_nametoindex(ifname)
            link = bpf(28, struct.pack("<IIII", program, index, 37, mode) + bytes(32))
        try:
            yield
        finally:
            os.close(link)
    finally:
        os.close(program)


# The tracer


class Tracing:
    def __init__(self, process):
        self.process = process
        self.lines = []
        self.end = None

    def read_line(self):
        line = self.process.stdout.readline()
        if not line:
            said = self.process.stderr.read()
            require(self.process.wait() != UNABLE, said.strip())
            raise AssertionError(f"trace ended: {said}")
        self.lines.append(json.loads(line))
        return self.lines[-1]

    def stop(self):
        """The document of a run that ends by a signal."""
        if self.process.poll() is None:
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
