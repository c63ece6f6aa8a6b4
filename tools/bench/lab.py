# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Two namespaces, a veth pair between them, and what runs inside.

A namespace has no name: it is held by a keeper, a child that waits for the end of a pipe. When that
comes, because the lab was closed or this process was killed, the keeper kills whatever lives in its
namespace and ends; namespace, devices and programs attached to them go with it. What a peer pins
goes too: each namespace has a BPF file system of its own.
"""

import contextlib
import ctypes
import errno
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TX, RX = "tx", "rx"
DEV = {TX: "b-tx", RX: "b-rx"}
ADDR = {TX: "198.18.0.1", RX: "198.18.0.2"}
ADDR6 = {TX: "2001:2::1", RX: "2001:2::2"}
MAC_OTHER = "02:70:6b:00:00:03"
MAC = {TX: "02:70:6b:00:00:01", RX: "02:70:6b:00:00:02"}

# Ingress of the receiver, before IP: takes UDP of more than 200 bytes, so that a peer's handshake
# still gets through. ldh [12]; IPv4?; ldb [23]; UDP?; ld len; > 200?; ret 4 (TC_ACT_STOLEN: no drop
# that a tracer on the host would see, as there is none on a sending host); ret 0
TAKE_LARGE_UDP = "8,40 0 0 12,21 0 5 2048,48 0 0 23,21 0 3 17,128 0 0 0,37 0 1 200,6 0 0 4,6 0 0 0"

CLONE_NEWNET, CLONE_NEWNS = 0x40000000, 0x00020000
MS_REC, MS_PRIVATE = 0x4000, 0x40000
START_SECONDS = 10
STOP_SECONDS = 5
EMPTY = Path(__file__).with_name("empty.py")


class LabError(Exception):
    """A command or the kernel refused."""


def until(condition, seconds, what):
    """Waits until condition() is true and returns its value."""
    end = time.monotonic() + seconds
    while True:
        late = time.monotonic() >= end
        value = condition()
        if value:
            return value
        if late:
            raise LabError(f"not within {seconds} s: {what}")
        time.sleep(0.01)


def kill_all_in(namespace):
    """Everything in the network namespace but the caller; again until nothing is left."""
    found = True
    while found:
        found = False
        for path in Path("/proc").glob("[0-9]*/ns/net"):
            pid = int(path.parts[2])
            with contextlib.suppress(OSError):
                state = re.match(r".*\) (\S)", Path(f"/proc/{pid}/stat").read_text(), re.S)[1]
                if pid != os.getpid() and os.readlink(path) == namespace and state != "Z":
                    os.kill(pid, signal.SIGKILL)
                    found = True
        time.sleep(0.01)


def own_mounts(libc):
    """On top of the host's, if the host has them: bpffs for XDP tools, tracefs for tracers."""
    def mount(kind, path):
        # there is one tracefs only, and it is not mounted twice at one path
        return (not os.path.isdir(path) or libc.mount(kind, path, kind, 0, None) == 0
                or ctypes.get_errno() == errno.EBUSY)
    if libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None):
        return False
    return mount(b"bpf", b"/sys/fs/bpf") and mount(b"tracefs", b"/sys/kernel/tracing")


def keeper(life):
    """Body of the child; `life` ends with the lab. Returns to nobody."""
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNS) == 0 and own_mounts(libc) and libc.unshare(CLONE_NEWNET) == 0:
            while os.read(life, 1):
                pass
            kill_all_in(os.readlink("/proc/self/ns/net"))
    finally:
        os._exit(0)


def start_keeper(life_read, life_write):
    here = os.readlink("/proc/self/ns/net")
    pid = os.fork()
    if pid == 0:
        os.close(life_write)
        keeper(life_read)

    def moved():
        try:
            return os.readlink(f"/proc/{pid}/ns/net") != here
        except OSError:
            raise LabError("cannot make a network namespace") from None

    until(moved, START_SECONDS, "a network namespace")
    return pid


class Process:
    """A program inside the lab. A file takes its output, which says why it failed."""

    def __init__(self, argv, env=None, stdin=subprocess.DEVNULL):
        self.output = tempfile.TemporaryFile()
        self.popen = subprocess.Popen(argv, stdin=stdin, stdout=self.output,
                                      stderr=subprocess.STDOUT, env=env, start_new_session=True)

    def said(self):
        self.output.seek(0)
        lines = self.output.read().decode(errors="replace").strip().splitlines()
        return lines[-1].strip() if lines else "no output"

    def has_said(self, text):
        self.output.seek(0)
        return text.encode() in self.output.read()

    def check(self):
        if self.popen.poll() is not None:
            raise LabError(f"ended with status {self.popen.returncode}: {self.said()}")

    def stop(self):
        """SIGINT first: XDP tools take their programs off only then."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.popen.pid, number)
            try:
                self.popen.wait(STOP_SECONDS)
                break
            except subprocess.TimeoutExpired:
                continue
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.popen.pid, signal.SIGKILL)  # children that outlived it
        self.output.close()


class Lab:
    def __init__(self, queues=1):
        self.processes, self.pids, self.xdp_stays = [], {}, None
        life_read, self.life = os.pipe()
        try:
            for end in (TX, RX):
                self.pids[end] = start_keeper(life_read, self.life)
            self.build(queues)
        except BaseException:
            self.close()
            raise
        finally:
            os.close(life_read)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """The keepers end what is left inside."""
        if self.life is not None:
            os.close(self.life)
            self.life = None
        for pid in self.pids.values():
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
        for process in self.processes:
            process.stop()
        self.pids, self.processes = {}, []

    def inside(self, end, argv, cpu=None):
        pin = ["taskset", "-c", str(cpu)] if cpu is not None else []
        return ["nsenter", f"--target={self.pids[end]}", "--net", "--mount", "--", *pin, *argv]

    def do(self, end, *argv):
        done = subprocess.run(self.inside(end, argv), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)
        if done.returncode:
            raise LabError(f"{' '.join(argv)}: {done.stderr.strip() or done.returncode}")
        return done.stdout

    def build(self, queues):
        pair = f"numtxqueues {queues} numrxqueues {queues}".split()
        self.do(TX, "ip", "link", "add", DEV[TX], "address", MAC[TX], *pair, "type", "veth",
                "peer", "name", DEV[RX], "address", MAC[RX], *pair, "netns", str(self.pids[RX]))
        for end, other in ((TX, RX), (RX, TX)):
            dev = DEV[end]
            for key in ("accept_dad=0", "accept_ra=0", "router_solicitations=0"):
                name, value = key.split("=")
                self.write(end, f"/proc/sys/net/ipv6/conf/{dev}/{name}", value)
            self.do(end, "ip", "link", "set", "lo", "up")
            self.do(end, "ip", "address", "add", f"{ADDR[end]}/24", "dev", dev)
            self.do(end, "ip", "address", "add", f"{ADDR6[end]}/64", "dev", dev, "nodad")
            self.do(end, "ip", "link", "set", dev, "up")
            self.do(end, "ip", "neigh", "add", ADDR[other], "lladdr", MAC[other], "dev", dev)
            self.do(end, "ip", "neigh", "add", ADDR6[other], "lladdr", MAC[other], "dev", dev)
        until(lambda: all(self.running(end) for end in (TX, RX)), START_SECONDS, "carrier")

    def write(self, end, path, value):
        self.do(end, "sh", "-c", f"[ ! -e {path} ] || echo {value} >{path}")

    def running(self, end):
        return "LOWER_UP" in self.do(end, "ip", "-o", "link", "show", "dev", DEV[end])

    # Programs

    def start(self, end, argv, cpu=None, env=None, ready=None):
        """`ready` is (kind, port or text) that says when it may be talked to."""
        process = Process(self.inside(end, argv, cpu), env and {**os.environ, **env})
        self.processes.append(process)
        if ready:
            def there():
                process.check()
                return self.is_ready(end, *ready)
            until(there, START_SECONDS, f"{argv[0]}: {ready[0]} {ready[1]}")
        return process

    def is_ready(self, end, kind, what):
        if kind == "said":
            return self.processes[-1].has_said(what)
        if kind == "xdp":
            return " xdp" in self.do(end, "ip", "link", "show", "dev", DEV[end])
        wanted = f":{what:04X}"
        for path in (f"/proc/{self.pids[end]}/net/{kind}", f"/proc/{self.pids[end]}/net/{kind}6"):
            with contextlib.suppress(OSError):
                for line in Path(path).read_text().splitlines()[1:]:
                    local, _, state = line.split()[1:4]
                    if local.endswith(wanted) and (kind == "udp" or state == "0A"):
                        return True
        return False

    def stop_from(self, mark):
        """Stops the processes from this one on, the last first, and detaches what they left."""
        while len(self.processes) > mark:
            self.processes.pop().stop()
        for end in (TX, RX):
            if end != self.xdp_stays and self.is_ready(end, "xdp", DEV[end]):
                for mode in ("xdp", "xdpgeneric"):
                    with contextlib.suppress(LabError):
                        self.do(end, "ip", "link", "set", "dev", DEV[end], mode, "off")

    def drop_at_xdp(self):
        """A native XDP program of two instructions drops what arrives."""
        self.start(RX, [sys.executable, str(EMPTY), "xdp", DEV[RX]], ready=("xdp", DEV[RX]))
        self.xdp_stays = RX

    def poll(self):
        """GRO: without an XDP program, live frames need NAPI."""
        self.do(RX, "ethtool", "-K", DEV[RX], "gro", "on")

    def be_another(self):
        """The receiver gets another address than the sender has for it."""
        self.poll()
        self.do(RX, "ip", "link", "set", "dev", DEV[RX], "address", MAC_OTHER)

    def hold_port(self, port):
        """A socket with a small buffer that nobody reads."""
        hold = ("import socket, sys; s = socket.socket(type=socket.SOCK_DGRAM); "
                f"s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1); s.bind(('', {port})); "
                "sys.stdin.read()")
        process = Process(self.inside(RX, [sys.executable, "-c", hold]), stdin=subprocess.PIPE)
        self.processes.append(process)
        until(lambda: process.check() or self.is_ready(RX, "udp", port), START_SECONDS,
              "the socket")

    def take_at_tc(self):
        """What arrives ends before IP. It stays as the sender made it: GSO is not segmented."""
        self.do(RX, "tc", "qdisc", "replace", "dev", DEV[RX], "clsact")
        self.do(RX, "tc", "filter", "replace", "dev", DEV[RX], "ingress", "handle", "1", "prio",
                "1", "bpf", "da", "bytecode", TAKE_LARGE_UDP)

    def take_polled(self):
        """Also takes live frames."""
        self.poll()
        self.take_at_tc()

    # Counters

    def device(self, end):
        text = Path(f"/proc/{self.pids[end]}/net/dev").read_text()
        return parse_dev(text)[DEV[end]]

    def udp(self, end):
        return parse_snmp(Path(f"/proc/{self.pids[end]}/net/snmp").read_text())["Udp"]

    def counters(self, end, wanted):
        """Those of the device, of UDP and, if wanted, the frames that XDP redirected."""
        found = {**self.device(end), **self.udp(end)}
        if wanted == "xdp_redirect":
            found[wanted] = parse_ethtool(self.do(end, "ethtool", "-S", DEV[end]), wanted)
        return found


def parse_dev(text):
    """/proc/net/dev: the fields of each device that are used here."""
    devices = {}
    for line in text.splitlines()[2:]:
        name, _, rest = line.partition(":")
        fields = [int(word) for word in rest.split()]
        devices[name.strip()] = {"rx_bytes": fields[0], "rx_packets": fields[1],
                                 "rx_dropped": fields[3], "tx_bytes": fields[8],
                                 "tx_packets": fields[9], "tx_dropped": fields[11]}
    return devices


def parse_snmp(text):
    """/proc/net/snmp: a line of names and a line of values for each protocol."""
    protocols = {}
    lines = [line.split() for line in text.splitlines()]
    for names, values in zip(lines[::2], lines[1::2]):
        protocols[names[0].rstrip(":")] = dict(zip(names[1:], map(int, values[1:])))
    return protocols


def parse_ethtool(text, suffix):
    """`ethtool -S`: the sum over the receive queues."""
    return sum(int(value) for value in
               re.findall(rf"^\s*rx_queue_\d+_{suffix}: (\d+)$", text, re.M))
