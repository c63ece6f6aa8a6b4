# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What more of something costs: a curve each, a line of its table for each size.

CPU time and memory are the command's own (wait4), so other load disturbs the time only. "First
drop" is the time from fork to the first drop that `trace` prints, while packets are lost all the
time; the median of some tries.
"""

import contextlib
import ctypes
import json
import os
import re
import resource
import select
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

from lab import ADDR, CLONE_NEWNET, DEV, RX, TX, Lab, LabError
from programs import LOSE, LOSE_PORT as PORT
from report import count

TRIES = 9
PATIENCE = 900  # seconds, for one command
PORTS = 25000  # that --flows takes of an address
SOCKETS_EACH = 15000  # of a process, whose files are limited
FACTORS = {"k": 10 ** 3, "M": 10 ** 6, "G": 10 ** 9}


def size(text):
    return int(text[:-1]) * FACTORS[text[-1]] if text[-1] in FACTORS else int(text)


class Scale:
    def __init__(self, binary, say):
        self.binary, self.say = binary, say

    def start(self, *args):
        # a process takes over the most memory that its parent has had, which ours forgets
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
        return subprocess.Popen([self.binary, *args], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def finish(self, child):
        """Its document, and what it took: seconds of CPU, bytes."""
        text = child.stdout.read()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode not in (0, 4):
            raise LabError(f"{' '.join(child.args)}: status {child.returncode}")
        return text, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024

    def command(self, *args):
        begin = time.monotonic()
        text, cpu, memory = self.finish(self.start(*args))
        return json.loads(text), {"time": f"{time.monotonic() - begin:.2f} s",
                                  "CPU": f"{cpu:.2f} s", "memory": f"{memory / 1e6:.0f} MB"}

    def first_drop(self, *args):
        """Median of TRIES, and the most memory."""
        times, most = [], 0
        for _ in range(TRIES):
            begin = time.monotonic()
            with self.start("trace", "--events", *args) as child:
                if not select.select([child.stdout], [], [], PATIENCE)[0]:
                    raise LabError("nothing was traced")
                times.append(time.monotonic() - begin)
                child.send_signal(signal.SIGINT)
                most = max(most, self.finish(child)[2])
        return {"first drop": f"{statistics.median(times) * 1e3:.0f} ms",
                "memory": f"{most / 1e6:.0f} MB"}

    # The curves

    def run(self, *args):
        document, row = self.command("run", "--tx", "xdp", "--rx", "xdp", "-j", *args)
        end = document["end"]
        return {**row, "delivered": f"{count(end['rx_pps'])}/s",
                "unaccounted": str(end["unaccounted"])}

    def packets(self, n):
        return self.run("-c", str(n))

    def streams(self, n):
        return self.run("-c", "4M", "-P", str(n))

    def tuples(self, n):
        """Flows that are sent: ports, and addresses where there are more than those of one."""
        return self.run("-c", "4M", "--flows", str(n),
                        *(("--src-addr", "198.18.16.0/20") if n > PORTS else ()))

    def flows(self, n):
        """Of packets that nobody listens to; `lost` and what named flows add up to."""
        each = 50000  # source ports of an address
        addresses = -(-n // each)
        with Lab() as lab:
            inside = f"/proc/{lab.pids[RX]}/ns/net"
            with self.start("trace", "-j", "--by", "flow", "--netns", inside, "udp", "port",
                            str(PORT)) as child:
                time.sleep(2)
                subprocess.run(lab.inside(TX, [
                    self.binary, "send", "-q", "--tx", "xsk", "-i", DEV[TX], "-r", "100k", "-c",
                    str(max(n, 200000)), "-p", str(PORT), "--src-port",
                    f"10000..{10000 + min(n, each) - 1}", "--src-addr",
                    f"198.18.1.1..198.18.1.{addresses}", ADDR[RX]]), check=False,
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(1)
                child.send_signal(signal.SIGINT)
                text, cpu, memory = self.finish(child)
        end = json.loads(text)["end"]
        named = sum(c["packets"] for s in end["stages"] for c in s["causes"] if c.get("flow"))
        return {"CPU": f"{cpu:.2f} s", "memory": f"{memory / 1e6:.0f} MB",
                "lost": count(end["dropped"]), "with their flow": count(named)}

    def ledgers(self, n):
        """Of n/2 runs of 1 M packets, a sender's and a receiver's each: one run, renumbered."""
        with Lab() as lab, tempfile.TemporaryDirectory() as scratch:
            files = [os.path.join(scratch, end) for end in (TX, RX)]
            with subprocess.Popen(lab.inside(RX, [
                    self.binary, "recv", "-q", "--rx", "xdp", "-i", DEV[RX], "--ledger", files[1],
                    "-t", "20"]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as receiver:
                time.sleep(2)
                subprocess.run(lab.inside(TX, [
                    self.binary, "send", "-q", "--tx", "xdp", "-i", DEV[TX], "--ledger", files[0],
                    "-c", "1M", "-r", "500k", ADDR[RX]]), check=False, stdout=subprocess.DEVNULL)
                receiver.wait(PATIENCE)
            texts = [Path(file).read_text() for file in files]
            names = []
            for k in range(n // 2):
                for file, text in zip(files, texts):
                    names.append(f"{file}{k}")
                    Path(names[-1]).write_text(renumbered(text, 1 + k))
            return self.command("report", "-j", *names)[1]

    def namespaces(self, n):
        with children(n, lambda: ctypes.CDLL(None).unshare(CLONE_NEWNET)), losing():
            return self.first_drop("udp")

    def sockets(self, n):
        with contextlib.ExitStack() as stack:
            for begin in range(0, n, SOCKETS_EACH):
                stack.enter_context(children(1, lambda: bind(min(SOCKETS_EACH, n - begin))))
            stack.enter_context(losing())
            return self.first_drop("udp")


def renumbered(text, stream):
    """A ledger of one stream, as if it had another number."""
    lines = (re.sub(r'"stream":\d+', f'"stream":{stream}', line.split(" ", 1)[1])
             for line in text.splitlines())
    return "".join(f"{zlib.crc32(line.encode()):08x} {line}\n" for line in lines)


def bind(n):
    """n sockets of any ports and addresses of loopback, as long as this process lives."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    bind.kept = [socket.socket(type=socket.SOCK_DGRAM) for _ in range(n)]
    for i, sock in enumerate(bind.kept):
        sock.bind((f"127.0.{1 + os.getpid() % 250}.{1 + i % 250}", 0))


@contextlib.contextmanager
def children(n, begin):
    """n processes that begin with this and wait, until it is over or this process is gone."""
    read, life = os.pipe()
    ready_read, ready = os.pipe()
    pids = []
    try:
        for _ in range(n):
            pids.append(os.fork())
            if not pids[-1]:
                os.close(life)
                with contextlib.suppress(BaseException):
                    if not begin():
                        os.write(ready, b".")
                    os.close(ready)  # or the others are waited for in vain
                    os.read(read, 1)
                os._exit(0)
        os.close(ready)
        begun = 0
        while begun < n:
            got = len(os.read(ready_read, n))
            if not got:
                raise LabError("a process could not begin")
            begun += got
        yield
    finally:
        for fd in (life, read, ready_read):
            os.close(fd)
        for pid in pids:
            os.waitpid(pid, 0)


@contextlib.contextmanager
def losing():
    with subprocess.Popen([sys.executable, "-c", LOSE], stdout=subprocess.PIPE) as child:
        try:
            child.stdout.readline()
            yield
        finally:
            child.kill()


CURVES = {  # sizes, and what is measured at each
    "packets": ("1M", "10M", "100M", "1G"),
    "streams": ("1", "4", "16", "64", "256"),  # the most that -P takes
    "tuples": ("1", "1k", "25k", "100k", "1M"),
    "flows": ("1k", "10k", "100k", "1M"),
    "ledgers": ("10", "100", "1k"),
    "namespaces": ("1", "100", "1k"),
    "sockets": ("100", "10k", "100k"),
}


def measure(binary, say, chosen):
    """Markdown, a table for each curve."""
    scale, text = Scale(binary, say), ""
    for name in chosen:
        header = None
        for label in CURVES[name]:
            say(f"{name}: {label}")
            try:
                row = getattr(scale, name)(size(label))
            except LabError as error:
                row = {"failed": str(error)}
            if header != list(row):
                header = list(row)
                text += f"\n| {name} | {' | '.join(header)} |\n|---|{'---|' * len(header)}\n"
            text += f"| {label} | {' | '.join(row.values())} |\n"
    return text
