#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the BPF maps of a command take is bounded, and shown in `env` of its document.
And a stack of 256 KiB is enough for every command.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import (BINARY, EVERYTHING, TIMEOUT, assert_ran, assert_valid, case, main, pktledger,
                 table)

MIB = 1 << 20


@table([(" ".join(args), args, most) for args, most in [
    (["trace", "-t", "0.1"], 64 * MIB),
    (["run", "--rate", "100M", "-t", "10ms"], 64 * MIB),  # sized by the engine's rate
    *([
        (["run", "-c", "1000"], 32 * MIB),
        (["run", "-c", "1M"], 64 * MIB),
        (["trace", "-t", "0.1", "--microburst", "1ms", "udp", "port", "9"], 64 * MIB),
        (["trace", "-t", "0.1", "--counters", "--events", "--stack", "--by", "flow,process", "udp",
          "port", "9"], 64 * MIB),
        (["trace", "-t", "0.1", "--balance", "udp", "port", "9"], 128 * MIB),
        (["send", "127.0.0.1:9", "--rate", "10k", "-c", "100"], 32 * MIB),
        (["recv", "-t", "0.1"], 32 * MIB),
    ] if EVERYTHING else [])
]])
def bounded(args, most):
    result = assert_ran(pktledger(*args, "-j"))
    assert_valid(result.json)
    assert 0 < result.json["start"]["env"]["bpf_bytes"] <= most, result.json["start"]["env"]


LOSE = [sys.executable, "-c", "import socket as s\nwith s.socket(s.AF_INET, s.SOCK_DGRAM) as u:\n"
        " for n in range(100): u.sendto(bytes(9000), ('127.0.0.1', 9))"]


def with_a_stack(kilobytes, *args):
    return subprocess.run(["sh", "-c", f'ulimit -s {kilobytes} && exec "$@"', "sh", BINARY, *args],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT, check=False)


@table([(" ".join(args), args, behind) for args, behind in [
    (["trace", "-j", "--events", "--hex", "-s", "9000", "-w", "FILE.pcapng"], ["--", *LOSE]),
    (["check", "-t", "0.2"], []),
    (["export", "--balance", "--textfile", "FILE", "-t", "1"], []),
    *([
        (["trace", "--balance", "-j"], ["tcp", "port", "9", "--", *LOSE]),
        (["trace", "--events", "--stack", "--by", "flow,process"], ["--", *LOSE]),
        (["top", "-t", "0.2"], []),
        (["run", "-c", "1000", "--fault", "netfilter", "--ledger", "FILE"], []),
        (["sweep", "--vary", "rcvbuf=64k,128k", "-t", "0.1"], []),
    ] if EVERYTHING else [])
]])
def a_small_stack(args, behind):
    with tempfile.TemporaryDirectory() as directory:
        args = [arg.replace("FILE", f"{directory}/file") for arg in args]
        done = with_a_stack(256, *args, *behind)
    # what it found is another matter
    assert done.returncode in (0, 4), done


@case
def a_stack_too_small():
    """It says so, in JSON too, and does not end by SIGSEGV."""
    for args in (["check", "-t", "0.1"], ["check", "-t", "0.1", "-j"], ["-V"]):
        done = with_a_stack(128, *args)
        refused = args != ["-V"]
        assert done.returncode == (3 if refused else 0), done
        assert ("128 KiB is too small: for example: ulimit -s" in done.stderr) == refused, done
        if "-j" in args:
            assert json.loads(done.stdout)["error"]["status"] == 3, done


if __name__ == "__main__":
    main()
