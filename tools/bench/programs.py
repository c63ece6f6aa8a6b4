# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Where the programs are, which versions, and what ours can do."""

import glob
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from lab import EMPTY, LabError

# Name: arguments that print the version, and the package of Debian that has it. xdpsock is built
# from xdp-project/bpf-examples and has neither.
CATALOGUE = {
    "iperf3": (["--version"], "iperf3"),
    "nuttcp": (["-V"], "nuttcp"),
    "sockperf": (["--version"], "sockperf"),
    "trafgen": (["--version"], "netsniff-ng"),
    "xdp-trafficgen": (["udp", "--version"], "xdp-tools"),
    "xdp-bench": (["drop", "--version"], "xdp-tools"),
    "xdpsock": (None, None),
    "bpftrace": (["--version"], "bpftrace"),
    "perf": (["--version"], "linux-perf"),
    "dropwatch": (["--version"], "dropwatch"),
}
# The loops that are the bounds of our engines, and the capture that sees gaps.
BOUND = Path(__file__).with_name("bound.c")
# Of libxdp: less work for a peer without it, and nothing pinned.
NO_DISPATCHER = {"LIBXDP_SKIP_DISPATCHER": "1"}
SYSTEM = [*os.environ.get("PATH", "").split(":"), "/usr/sbin", "/sbin"]
BELOW = ["usr/bin", "usr/sbin", "bin", "sbin", "usr/local/bin", "usr/local/sbin", "."]


class Program:
    """How one is started."""

    def __init__(self, name, argv, env=None, root=None):
        self.name, self.argv, self.env, self.root = name, argv, env or {}, root
        self.version = None

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
            return Program(name, [path], env, root)
        return Program(name, [start, "--library-path", ":".join(libraries(root)), "--argv0", name,
                              path], env, root)
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


def package_version(package, root):
    """That of Debian's package, for tools that do not say theirs."""
    path = Path(root or "/", "usr/share/doc", package, "changelog.Debian.gz")
    try:
        with gzip.open(path, "rt", errors="replace") as stream:
            found = re.match(r"\S+ \(([^)]+)\)", stream.readline())
            return found[1] if found else None
    except OSError:
        return None


def version(program):
    args, package = CATALOGUE[program.name]
    text = program.output(args) if args else ""
    return (parse_version(text) or (package and package_version(package, program.root))
            or "unknown")


class Compiled(Program):
    """Of one file in C, when it is started first."""

    def __init__(self, name, source):
        super().__init__(name, None, NO_DISPATCHER)
        self.source, self.directory, self.version = source, None, "of the bench"

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


def peers(peer_dirs):
    """Name: program, or None if absent."""
    found = {"empty": Program("empty", [sys.executable, str(EMPTY)]),
             "bound": Compiled("bound", BOUND) if shutil.which(os.environ.get("CC", "cc")) else None}
    found["empty"].version = "of the bench"
    for name in CATALOGUE:
        found[name] = find(name, peer_dirs)
        if found[name]:
            found[name].version = version(found[name])
    return found


def parse_engines(text):
    """Names of `--tx help` and `--rx help`: the first word of each line."""
    return {line.split()[0] for line in text.splitlines() if line.strip()}


class Ours(Program):
    def __init__(self, path):
        super().__init__("pktledger", [os.path.abspath(path)])
        self.version = parse_version(self.output(["--version"])) or "unknown"
        self.engines = {"--tx": parse_engines(self.output(["send", "--tx", "help"])),
                        "--rx": parse_engines(self.output(["recv", "--rx", "help"]))}
        self.help = {command: self.output([command, "--help"])
                     for command in ("send", "recv", "run", "trace")}

    def lacks(self, command, args):
        """The first option or engine of a command line that this build does not have."""
        for option, value in zip(args, [*args[1:], ""]):
            if option in self.engines and value not in self.engines[option] | {"auto"}:
                return f"{option} {value}"
            if option.startswith("--") and option not in self.engines \
                    and not re.search(rf"{re.escape(option)}(?![\w-])", self.help[command]):
                return option
        return None
