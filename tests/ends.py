# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Ends and counters that are not ours: namespaces, plain sockets, a tun device, XDP programs of few
instructions, rules of nft and their counters. What pktledger reports is compared with them."""

import contextlib
import ctypes
import fcntl
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

from lib import PATIENCE, PORT, TIMEOUT, kill_group, require, until  # noqa: F401

PACKETS = 500
SO_RCVBUFFORCE = 33
CLONE_NEWNET = 0x40000000
TUNSETIFF, IFF_TUN, IFF_TAP, IFF_NO_PI = 0x400454ca, 1, 2, 0x1000
XDP_NATIVE, XDP_GENERIC = 4, 2  # XDP_FLAGS_DRV_MODE, XDP_FLAGS_SKB_MODE
XDP_DROP = 1
BPF_CLONE_REDIRECT, BPF_REDIRECT, BPF_REDIRECT_PEER = 13, 23, 155  # enum bpf_func_id
libc = ctypes.CDLL(None, use_errno=True)


# Namespaces


def enter(netns):
    """Moves this thread into a network namespace: its name, or a path."""
    with open(netns if "/" in netns else f"/run/netns/{netns}") as file:
        if libc.setns(file.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"setns {netns}")


@contextlib.contextmanager
def inside(netns):
    """This thread is in the namespace; sockets made there stay there."""
    with open("/proc/thread-self/ns/net") as home:
        enter(netns)
        try:
            yield
        finally:
            assert not libc.setns(home.fileno(), CLONE_NEWNET)


def shell(netns, *command, stdin=None):
    """A command to its end, as `ip netns exec` shows it the host; the caller looks at its status."""
    return subprocess.run(["ip", "netns", "exec", netns, *command], input=stdin, text=True,
                          capture_output=True, check=False)


def tried(netns, *command, text=None):
    """A command to its end. The thread enters: to fork for that takes longer than most commands."""
    with inside(netns):
        return subprocess.run(command, input=text, text=True, capture_output=True, check=False, timeout=TIMEOUT)


def need(netns, *command, text=None):
    """Runs a command that not every host can do; where it fails the case is skipped."""
    done = tried(netns, *command, text=text)
    require(done.returncode == 0, f"{' '.join(command)}: {done.stderr.strip()}")


def do(netns, *command, text=None):
    """What a command prints that must not fail."""
    done = tried(netns, *command, text=text)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
    return done.stdout


def sysctl(netns, name, value):
    with inside(netns):
        Path("/proc/sys", name).write_text(str(value))


def mac_of(netns, ifname):
    return bytes.fromhex(json.loads(do(netns, "ip", "-j", "link", "show", ifname))[0]["address"].replace(":", ""))


def index_of(netns, ifname):
    with inside(netns):
        return socket.if_nametoindex(ifname)


@contextlib.contextmanager
def python(netns, text, *args, become=None):
    """A Python program in the namespace, once it has printed a line. It and its children are killed in the end."""
    with inside(netns):
        process = subprocess.Popen([sys.executable, "-c", text, *map(str, args)], stdout=subprocess.PIPE,
                                   preexec_fn=become, start_new_session=True)
    with process:
        try:
            assert process.stdout.readline()
            yield process
        finally:
            kill_group(process)


def counter(netns, name):
    """Returns a counter of the namespace, such as Udp:NoPorts or Ip6:ReasmFails."""
    group, _, key = name.partition(":")
    with inside(netns):
        if group.endswith("6"):
            rows = Path("/proc/thread-self/net/snmp6").read_text().split()
            return int(rows[rows.index(group + key) + 1])
        rows = [line.split() for file in ("snmp", "netstat")
                for line in Path("/proc/thread-self/net", file).read_text().splitlines()
                if line.startswith(group + ":")]
    return int(dict(zip(*rows))[key])


def link(netns, ifname):
    """Returns the statistics of an interface: {"rx": {"packets": ...}, "tx": ...}."""
    return json.loads(do(netns, "ip", "-s", "-j", "link", "show", ifname))[0]["stats64"]


def programs_of(pid):
    """Returns the names of the BPF programs that a process holds, with their runs if those are counted."""
    held = set()
    for fd in Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(FileNotFoundError):  # it is closed meanwhile
            held |= {int(line.split()[1]) for line in fd.read_text().splitlines()
                     if line.startswith("prog_id:")}
    shown = json.loads(do("/proc/self/ns/net", "bpftool", "-j", "prog", "show"))
    return {p["name"]: p.get("run_cnt", 0) for p in shown if p["id"] in held}


def await_reassembly(netns, datagrams):
    """Waits until the kernel has given up so many datagrams that lack a fragment."""
    until(lambda: counter(netns, "Ip:ReasmFails") + counter(netns, "Ip6:ReasmFails") >= datagrams,
          20, f"{datagrams} datagrams given up")


# Plain sockets


def family_of(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def at(address, port=PORT):
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def udp(name, family, bind=None, rcvbuf=None):
    with inside(name):
        sock = socket.socket(family, socket.SOCK_DGRAM)
    if rcvbuf:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
    if bind is not None:
        sock.bind(bind)
    return sock


def raw(netns, protocol, family=socket.AF_INET, ifname=None):
    """A raw socket, maybe bound to a device."""
    with inside(netns):
        sock = socket.socket(family, socket.SOCK_RAW, protocol)
        if ifname:
            sock.bind((ifname, 0))
    return sock


def send(netns, to, packets=PACKETS, port=PORT, size=100):
    """How many the kernel took; it refuses where the sender's own hooks drop."""
    taken = 0
    with udp(netns, family_of(to)) as sock:
        for _ in range(packets):
            with contextlib.suppress(OSError):
                sock.sendto(b"x" * size, (to, port))
            taken += 1
            if taken % 50 == 0:
                time.sleep(0.001)  # the other end works in a thread of its own
    return taken


def syns(netns, address, count, port=PORT):
    """Asks for so many connections at once; returns their sockets."""
    socks = []
    for _ in range(count):
        with inside(netns):
            socks.append(socket.socket(family_of(address)))
        socks[-1].setblocking(False)
        socks[-1].connect_ex((address, port))
    return socks


def read_all(sock, patience=0.2):
    """How many come, until for so long none does: what brings them may wait for a CPU."""
    sock.settimeout(patience)
    received = 0
    with contextlib.suppress(TimeoutError, BlockingIOError):
        while True:
            sock.recv(65536)  # it may be empty
            received += 1
    return received


def assert_read(sock, packets):
    """Exactly so many come, however long it takes."""
    sock.settimeout(20 * PATIENCE)
    for n in range(packets):
        try:
            sock.recv(65536)
        except TimeoutError:
            raise AssertionError(f"{n} packets came, not {packets}") from None
    more = read_all(sock, 0.02)
    assert not more, f"{more} more than {packets} packets came"


# Captures

SOL_PACKET, PACKET_RX_RING, PACKET_STATISTICS = 263, 5, 6


def ring_of_a_capture(netns, ifname, frames):
    """A packet socket with a mapped ring of so many frames of 2 KB, bound to the device."""
    tap = raw(netns, 0, socket.AF_PACKET)
    tap.setsockopt(SOL_PACKET, PACKET_RX_RING, struct.pack("IIII", 4096, frames // 2, 2048, frames))
    with inside(netns):
        tap.bind((ifname, 3))
    return tap


def capture_statistics(tap):
    """Packets that came and that were dropped since the last call, as the kernel gives them once."""
    return struct.unpack("II", tap.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))


# A tun device


@contextlib.contextmanager
def tun(name, address="198.18.5.1", kind=IFF_TUN):
    """A device whose other end is no part of the host: this process."""
    require(os.path.exists("/dev/net/tun"), "needs /dev/net/tun")
    with inside(name), open("/dev/net/tun", "r+b", buffering=0) as device:
        fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", b"t0", kind | IFF_NO_PI))
        for line in (f"addr add {address}/24 dev t0", "link set t0 up"):
            need(name, "ip", *line.split())
        os.set_blocking(device.fileno(), False)
        yield device


def checksum(data):
    """Returns the Internet checksum (RFC 1071) of the bytes."""
    total = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + bytes(len(data) % 2)))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ip4(protocol, payload, source="198.18.5.9", target="198.18.5.1", ident=1, fragment=0):
    """Returns an IPv4 packet; `fragment`: the flags and the offset."""
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), ident, fragment, 64, protocol,
                         0, socket.inet_aton(source), socket.inet_aton(target))
    return header[:10] + struct.pack("!H", checksum(header)) + header[12:] + payload


def datagram(port, payload):
    """From the other end of the tun to this one, without checksum."""
    return ip4(socket.IPPROTO_UDP, struct.pack("!HHHH", 1234, port, 8 + len(payload), 0) + payload)


# XDP programs


def insn(code, registers=0, immediate=0, offset=0):
    return struct.pack("<BBhi", code, registers, offset, immediate)


# r3 = the length of the frame
LENGTH = insn(0x61, 0x12) + insn(0x61, 0x13, offset=4) + insn(0x1f, 0x23)


def verdict(value):
    return insn(0xb7, 0, value) + insn(0x95)


def redirect(ifindex, function=BPF_REDIRECT):
    return insn(0xb7, 1, ifindex) + insn(0xb7, 2, 0) + insn(0x85, 0, function) + insn(0x95)


def mirror(ifindex):
    """tc: a copy comes in there, too (BPF_F_INGRESS)."""
    return (insn(0xb7, 2, ifindex) + insn(0xb7, 3, 1) + insn(0x85, 0, BPF_CLONE_REDIRECT)
            + verdict(-1))  # TCX_NEXT


def bpf(command, attributes):
    """A descriptor from bpf(2)."""
    require(os.uname().machine == "x86_64", "the number of bpf() is that of x86-64")
    fd = libc.syscall(321, command, ctypes.create_string_buffer(attributes, len(attributes)),
                      len(attributes))
    require(fd >= 0, f"bpf({command}): {os.strerror(ctypes.get_errno())}")
    return fd


@contextlib.contextmanager
def attached(netns, ifname, code, kind, place, mode=0):
    """A program of these instructions at the device, by a link."""
    text, gpl = ctypes.create_string_buffer(code, len(code)), ctypes.create_string_buffer(b"GPL")
    load = struct.pack("<IIQQ", kind, len(code) // 8, ctypes.addressof(text), ctypes.addressof(gpl))
    program = bpf(5, load + bytes(48))
    try:
        with inside(netns):
            index = socket.if_nametoindex(ifname)
            link = bpf(28, struct.pack("<IIII", program, index, place, mode) + bytes(32))
        try:
            yield
        finally:
            os.close(link)
    finally:
        os.close(program)


def xdp(netns, ifname, code, mode):
    return attached(netns, ifname, code, 6, 37, mode)  # BPF_PROG_TYPE_XDP, BPF_XDP


def tcx(netns, ifname, code):
    return attached(netns, ifname, code, 3, 46)  # BPF_PROG_TYPE_SCHED_CLS, BPF_TCX_INGRESS


@contextlib.contextmanager
def stolen(netns, ifname, side="ingress"):
    """tc takes the IPv4 that passes there and says that it did: no event tells that it is lost."""
    do(netns, "tc", "qdisc", "add", "dev", ifname, "clsact")
    try:
        do(netns, "tc", "filter", "add", "dev", ifname, side, "protocol", "ip", "bpf",
           "direct-action", "bytecode", "1,6 0 0 4")  # TC_ACT_STOLEN
        yield
    finally:
        do(netns, "tc", "qdisc", "del", "dev", ifname, "clsact")


# Rules of nft


def nft(netns, rules):
    """Loads a ruleset. A rule that counts is a witness: see nft_counters()."""
    require(shutil.which("nft"), "needs nft")
    need(netns, "nft", "-f", "-", text=rules)


def drop(netns, hook, match="", family="inet", table="t", priority=0):
    """A chain that drops and counts what a rule matches."""
    nft(netns, f"table {family} {table} {{ chain c {{ type filter hook {hook} priority {priority}; {match} counter drop; }}; }}")


def nft_counters(netns):
    """Packets of each named counter, and under None those of the first rule that counts."""
    listed = json.loads(do(netns, "nft", "-j", "list", "ruleset"))["nftables"]
    found = {c["counter"]["name"]: c["counter"]["packets"] for c in listed if "counter" in c}
    anonymous = [e["counter"]["packets"] for r in listed if "rule" in r for e in r["rule"]["expr"]
                 if isinstance(e.get("counter"), dict)]
    return {**found, **({None: anonymous[0]} if anonymous else {})}


def fill_connections(netns):
    """Fills the table of tracked connections with entries of which none gives way; returns its size."""
    require(shutil.which("conntrack"), "needs conntrack")
    nft(netns, "table ip t { chain c { type filter hook input priority 0; ct state new accept; }; }")
    most = int(do(netns, "cat", "/proc/sys/net/netfilter/nf_conntrack_max"))
    require(most <= 300000, f"{most} connections may be tracked")
    do(netns, "conntrack", "-R", "-", text="".join(
        f"-A -t 600 -u ASSURED,SEEN_REPLY -s 198.18.7.1 -d 198.19.{n >> 15}.1 -p udp "
        f"--sport {1024 + (n & 0x7fff)} --dport 9\n" for n in range(most)))
    assert int(do(netns, "cat", "/proc/sys/net/netfilter/nf_conntrack_count")) > 0.99 * most
    return most


@contextlib.contextmanager
def repeating(pause, function):
    """Is called again and again until the end of the block, if the kernel refuses, too."""
    ended = threading.Event()

    def work():
        while not ended.wait(pause):
            with contextlib.suppress(OSError):
                function()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
