# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Where the programs are, which versions, and what ours can do."""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from lab import EMPTY, LabError

# Name: arguments that print the version.
CATALOGUE = {
    "iperf3": ["--version"],
    "xdp-trafficgen": ["udp", "--version"],
    "xdp-bench": ["drop", "--version"],
}
LOSE_PORT = 28780
# Loses a packet at a closed port every 0.2 ms.
LOSE = f"""
import socket, time
s = socket.socket(type=socket.SOCK_DGRAM)
print("ready", flush=True)
while True:
    s.sendto(bytes(32), ("127.0.0.1", {LOSE_PORT}))
    time.sleep(2e-4)
"""
# The loops that are the bounds of our engines, and the capture that sees gaps.
BOUND = Path(__file__).with_name("bound.c")
# Of libxdp: less work for a peer without it, and nothing pinned.
NO_DISPATCHER = {"LIBXDP_SKIP_DISPATCHER": "1"}
SYSTEM = [*os.environ.get("PATH", "").split(":"), "/usr/sbin", "/sbin"]
BELOW = ["usr/bin", "usr/sbin", "bin", "sbin", "usr/local/bin", "usr/local/sbin", "."]


class Program:
    """How one is started."""

    def __init__(self, name, argv, env=None):
        self.name, self.argv, self.env = name, argv, env or {}

    def output(self, args, seconds=10):
        """stdout and stderr, whatever the status; empty if it does not run at all."""
        try:
            done = subprocess.run([*self.argv, *args], env={**os.environ, **self.env},
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, errors="replace",
                                  timeout=seconds, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return done.stdout


def parse_version(text):
    """The first thing in a tool's output that looks like a version."""
    found = re.search(r"(?<![\w.])v?(\d+(?:\.\d+)+(?:-[\w.+~]+)?)", text)
    return found[1] if found else None


def loader(root):
    """The dynamic loader below an unpacked root, if it has its own."""
    for pattern in ("lib64/ld-linux-*.so.*", "usr/lib64/ld-linux-*.so.*", "lib/ld-linux-*.so.*",
                    "usr/lib/ld-linux-*.so.*", "usr/lib/*/ld-linux-*.so.*"):
        for path in sorted(glob.glob(os.path.join(root, pattern))):
            if os.path.exists(path):
                return path
    return None


def libraries(root):
    """Directories below an unpacked root that hold libraries."""
    found = {os.path.dirname(path) for pattern in ("lib", "usr/lib", "lib/*", "usr/lib/*")
             for path in glob.glob(os.path.join(root, pattern, "lib*.so*"))}
    return sorted(found)


def unpacked(name, root):
    """A program of packages unpacked below `root`, run with the loader and libraries there."""
    for below in BELOW:
        path = os.path.join(root, below, name)
        if not (os.path.isfile(path) and os.access(path, os.X_OK)):
            continue
        env = {}
        objects = glob.glob(os.path.join(root, "usr/lib/*/bpf"))
        if objects:
            env["LIBXDP_OBJECT_PATH"] = objects[0]
        start = loader(root)
        if not start:
            return Program(name, [path], env)
        return Program(name, [start, "--library-path", ":".join(libraries(root)), "--argv0", name,
                              path], env)
    return None


def find(name, peer_dirs):
    """The first of: below one of the directories, on the host."""
    for root in peer_dirs:
        program = unpacked(name, os.path.abspath(root))
        if program:
            break
    else:
        path = shutil.which(name, path=":".join(SYSTEM))
        program = Program(name, [path]) if path else None
    if program:
        program.env.update(NO_DISPATCHER)
    return program


class Compiled(Program):
    """Of one file in C, when it is started first."""

    def __init__(self, name, source):
        super().__init__(name, None, NO_DISPATCHER)
        self.source, self.directory = source, None

    @property
    def argv(self):
        if not self.directory:
            self.directory = tempfile.TemporaryDirectory(prefix="pktledger-bench-")
            done = subprocess.run([os.environ.get("CC", "cc"), "-O2", "-o", self.directory.name
                                   + "/program", str(self.source), "-lxdp", "-lbpf", "-lm"],
                                  capture_output=True, text=True, check=False)
            if done.returncode:
                raise LabError(f"cannot compile {self.source.name}: "
                               + " ".join(done.stderr.splitlines()[:1]))
        return [self.directory.name + "/program"]

    @argv.setter
    def argv(self, _):
        pass


def pktledger(path):
    return Program("pktledger", [os.path.abspath(path)])


def find_all(binary, peer_dirs):
    """Returns every program of the rows by name, None if it is not installed."""
    own = {"pktledger": pktledger(binary),
           "empty": Program("empty", [sys.executable, str(EMPTY)]),
           "losing": Program("losing", [sys.executable, "-c", LOSE]),
           "bound": Compiled("bound", BOUND) if shutil.which(os.environ.get("CC", "cc")) else None}
    return {**own, **{name: find(name, peer_dirs) for name in CATALOGUE}}


def version(program):
    text = program.output(CATALOGUE.get(program.name, ["--version"]))
    return parse_version(text) or "unknown"
