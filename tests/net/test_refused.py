#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the devices and files of this host do not allow: one clear line, the right exit status, and
nothing left attached (which lib.py checks after each case)."""

import os
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import (BINARY, EVERYTHING, TIMEOUT, Result, assert_error, case, main, pktledger, require,
                 table, thorough)
from ends import enter
from wire import RX, TARGET, TX, Lab, pcap, udp_frame

NAME = f"pl-refused-{os.getpid()}"
FAILED, USAGE, UNABLE = 1, 2, 3


def assert_refused(result, status, *words):
    """One line of error, and nothing said twice; the plan of `send` may be shown before it."""
    assert_error(result, status, *words)
    assert "programs" not in result.err and "libbpf" not in result.err, result


def attached(lab, side, ifname):
    """Whatever is attached to the device: XDP, or filters of tc."""
    return ("xdp" in lab.do(side, "ip", "link", "show", ifname)
            or lab.do(side, "tc", "filter", "show", "dev", ifname, "egress").strip())


SEND = ["send", TARGET[False], "-c", "10", "-r", "1k"]


DEVICES = [
    # more threads than queues
    ("tx", [*SEND, "--tx", "xsk", "-i", TX, "-P", "2"], UNABLE,
     ["no queue 1", "-P"]),
    # peer without NAPI
    ("tx", [*SEND, "--tx", "xdp", "-i", TX], UNABLE,
     ["without NAPI", "ethtool -K"]),
    # MTU exceeded, AF_XDP
    ("tx", [*SEND, "--tx", "xsk", "-i", TX, "-l", "1473"], USAGE,
     ["MTU", "1500"]),
    # MTU exceeded, live frames
    ("tx", [*SEND, "--tx", "xdp", "-i", TX, "-l", "1473"], USAGE,
     ["MTU", "1500"]),
    # frame for no page
    ("tx", [*SEND, "--tx", "xdp", "-i", TX, "-l", "5000"], USAGE, ["5000"]),
    # no such interface
    ("tx", [*SEND, "--tx", "xsk", "-i", "nosuch0"], FAILED, ["nosuch0"]),
    # another interface's target
    ("tx", [*SEND, "--tx", "xsk", "-i", "lo"], FAILED, ["next hop"]),
    # no route
    ("tx", ["send", "203.0.113.1", "-c", "1", "-r", "1k"], FAILED, ["unreachable"]),
    # no neighbour
    ("tx", ["send", "198.18.0.77", "-c", "1", "-r", "1k", "--tx", "xsk", "-i", TX],
     FAILED, ["next hop"]),
    # rate of nothing
    ("tx", ["send", TARGET[False], "-c", "1", "-r", "0"], USAGE, ["--rate", "'0'"]),
    # rate of nothing, bits
    ("tx", ["send", TARGET[False], "-c", "1", "-r", "0Mbit"], USAGE,
     ["--rate"]),
    # reader for nothing to read
    ("rx", ["recv", "--rx", "xdp", "-i", RX, "--work", "1us"], USAGE,
     ["--work"]),
    # receiver without interface
    ("rx", ["recv", "--rx", "xdp", "-t", "1"], USAGE, ["interface"]),
    # one port twice
    ("rx", ["run", "-i", f"{RX},{RX}", "-r", "1k", "-c", "1"], USAGE, ["both"]),
]


@thorough
def by_device():
    """In one lab, since it is to stay as it was: nothing is attached after any of them."""
    with Lab(NAME) as lab:
        lab.do("rx", "ethtool", "-K", RX, "gro", "off")
        for side, args, status, words in DEVICES:
            assert_refused(lab.run(side, *args), status, *words)
            assert not attached(lab, "tx", TX) and not attached(lab, "rx", RX), args


@case
def another_program_is_attached():
    """It stays, and ours comes and goes only where there is room."""
    with Lab(NAME) as lab:
        sink = Path(__file__).resolve().parent.parent.parent / "tools/bench/empty.py"
        with subprocess.Popen([sys.executable, sink, "xdp", RX], stdout=subprocess.PIPE, text=True,
                              preexec_fn=lambda: enter(lab.netns("rx"))) as it:
            assert it.stdout.readline() == "ready\n"
            for engine in ("xsk", "xdp"):
                assert_refused(lab.run("rx", "recv", "--rx", engine, "-i", RX, "-t", "1"), UNABLE,
                               "another XDP program", RX)
            assert attached(lab, "rx", RX), "theirs was taken off"
            it.terminate()


@case
def a_missing_port_is_named_before_any_program_is_loaded():
    require(shutil.which("strace"), "needs strace")
    with Lab(NAME) as lab, tempfile.TemporaryDirectory() as path:
        tx, rx = (f"{lab.netns(side)}/{device}" for side, device in (("tx", TX), ("rx", RX)))
        absent, log = f"{lab.netns('rx')}/nosuch1", Path(path, "log")
        for ports, missing in ((f"{tx},{rx}", False), (f"{tx},{absent}", True), (f"{absent},{rx}", True)):
            result = pktledger("run", "-i", ports, "-r", "1k", "-c", "1",
                               prefix=["strace", "-f", "-e", "trace=bpf", "-o", log])
            assert ("BPF_PROG_LOAD" in log.read_text()) != missing, result
            if missing:
                assert_refused(result, FAILED, "nosuch1")
            else:
                assert result.status == 0, result


@case
def mode_of_a_device_without_xdp():
    """Generic XDP serves, and the result says so."""
    with Lab(NAME) as lab:
        lab.do("rx", "ip", "link", "add", "pl-br", "type", "bridge")
        lab.do("rx", "ip", "link", "set", "pl-br", "up")
        for engine in ("xsk", "xdp"):
            result = lab.run("rx", "recv", "-j", "-q", "--rx", engine, "-i", "pl-br", "-t", "100ms")
            assert result.status == 0, result
            assert result.json["start"]["granted_mode"]["rx"] == "skb", result.json["start"]


@case
def memory_lock_too_small():
    require(shutil.which("setpriv") and shutil.which("prlimit"), "needs setpriv and prlimit")
    caps = "-ipc_lock,-sys_resource"
    with Lab(NAME) as lab:
        result = lab.run("tx", *SEND, "--tx", "xsk", "-i", TX,
                    prefix=["prlimit", "--memlock=65536:65536", "setpriv", "--bounding-set", caps,
                            "--inh-caps", caps])
        assert_refused(result, UNABLE, "RLIMIT_MEMLOCK", "ulimit -l")


@table([(f"{files} of {' '.join(args)}", files, args) for files, args in [
    (20, ["run", "-c", "10"]),
    *([(files, ["run", "-c", "10"]) for files in (24, 32, 40)] if EVERYTHING else []),
    (66, ["trace", "--balance", "-t", "0.1", "tcp"]),
]])
def few_open_files(files, args):
    """The limit is named, and not the kernel, whatever libbpf says of it."""
    require(shutil.which("prlimit"), "needs prlimit")
    assert_error(pktledger(*args, prefix=["prlimit", f"--nofile={files}:{files}"]), UNABLE,
                 "Too many open files", "ulimit -n")


@case
def no_proc():
    require(shutil.which("unshare"), "needs unshare (util-linux)")
    done = subprocess.run(["unshare", "-m", "sh", "-c", 'mount -t tmpfs t /proc && exec "$@"', "sh",
                           BINARY, "check", "-t", "0.1"],
                          capture_output=True, text=True, timeout=TIMEOUT, check=False)
    assert done.returncode == UNABLE and "mount /proc" in done.stderr, done


FRAMES = 3 * [udp_frame(bytes(100))]


@table([
    ("not there", None, FAILED, ["No such file"]),
    ("directory", "directory", FAILED, ["Is a directory"]),
    ("empty", b"", FAILED, ["truncated"]),
    ("text", b"#!/bin/sh\n" * 10, FAILED, ["unknown file format"]),
    ("no packets", pcap([]), FAILED, ["no packets"]),
    ("header cut", pcap(FRAMES)[:20], FAILED, ["truncated"]),
    ("packet header cut", pcap(FRAMES)[:-150], FAILED, ["after 2 packets"]),
    ("packet cut", pcap(FRAMES)[:-10], FAILED, ["after 2 packets"]),
    ("snaplen", pcap(FRAMES, cut=20), FAILED, ["packet 1 is truncated", "tcpdump -s 0"]),
    ("no Ethernet", pcap(FRAMES, link=113), FAILED, ["not Ethernet frames"]),
    ("pcapng, block cut", b"\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a\1\0\0\0", FAILED, ["read"]),
    ("pcapng, length wrong", struct.pack("<IIIHHqI", 0x0a0d0d0a, 28, 0x1a2b3c4d, 1, 0, -1, 29),
     FAILED, ["read"]),
])
def capture(content, status, words):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "capture")
        if content == "directory":
            path = directory
        elif content is not None:
            Path(path).write_bytes(content)
        result = pktledger("run", "--pcap", path, "--sequence-header", "--rx", "xsk", "--rate", "1k")
        assert_refused(result, status, *words)


@case
def unreadable_capture():
    """By who is not root."""
    require(shutil.which("setpriv"), "needs setpriv")
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "capture.pcap")
        Path(path).write_bytes(pcap([udp_frame(bytes(50))]))
        os.chmod(path, 0)
        done = subprocess.run(["setpriv", "--bounding-set", "-dac_override,-dac_read_search", BINARY,
                               "send", "127.0.0.1", "--pcap", path, "--tx", "xsk", "-i", "lo"],
                              capture_output=True, text=True, timeout=TIMEOUT, check=False)
        assert_refused(Result(["send"], done.returncode, done.stdout, done.stderr), FAILED,
                       "Permission denied")


if __name__ == "__main__":
    main()
