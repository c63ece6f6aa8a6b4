#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Nobody is surprised: nothing is shown of processes but their names, no address of the kernel, no
packets outside a lab that were not asked for, and nothing is touched by asking for help.
"""

import re
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import (BINARY, PATIENCE, assert_ok, case, first, main, pktledger, require, rootless,
                 started, table, thorough, until)
from ends import PORT, python
from test_owners import RECEIVER
from traced import RX, V4, lab, sender

SECRET = "hunter2"
POINTER = re.compile(r"(?<![0-9a-f:])(?:0x)?ffff[89a-f][0-9a-f]{11}(?![0-9a-f])")


def outputs(*forms):
    """Of trace while packets are lost; each with what it says on stderr, and its ledger."""
    name = Path(sys.executable).name[:15]
    with lab(), python(RX, RECEIVER, PORT, "sleeps", SECRET), tempfile.TemporaryDirectory() as directory:
        for form in forms:
            ledger = Path(directory, "ledger")
            result = assert_ok(pktledger("trace", "--ledger", str(ledger), *form, "udp", "port",
                                         str(PORT), "--", *sender(500, V4, SECRET)))
            assert stat.S_IMODE(ledger.stat().st_mode) == 0o600
            yield name, result, ledger.read_text()
        for form in first(0, [["-j"], []]):
            yield name, pktledger("check", "-t", "0.05", "--netns", RX, *form), ""


@case
def processes_have_names_only_and_the_kernel_no_addresses():
    seen, forms = 0, first(1, [["-j", "--events", "--stack"], ["-vv", "--by", "process"]])
    for name, result, ledger in outputs(*forms):
        everything = result.out + result.err + ledger
        seen += name in everything
        shown = [line for line in everything.splitlines() if SECRET in line]
        assert not shown, (result.args[:4], shown)
        found = POINTER.search(everything)
        assert not found, found.group()
    assert seen >= len(forms), "the reader was not found"


@thorough
def nor_of_a_run():
    for form in (["-j"], ["-vv"]):
        result = pktledger("run", "-c", "1000", "--fault", "tc_ingress=10%", *form)
        found = POINTER.search(result.out + result.err)
        assert result.status == 0 and not found, found or result


@thorough
def files_are_its_users_own():
    with tempfile.TemporaryDirectory() as directory:
        files = {"--ledger": Path(directory, "ledger"), "--log": Path(directory, "log")}
        options = [word for name, path in files.items() for word in (name, str(path))]
        assert_ok(pktledger("run", "-c", "100", *options))
        for path in files.values():
            assert path.stat().st_size and stat.S_IMODE(path.stat().st_mode) == 0o600, path


@case
@rootless
def the_plan_is_told_before_the_first_packet():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        sock.settimeout(20 * PATIENCE)
        port = sock.getsockname()[1]
        with started("send", f"127.0.0.1:{port}", "--rate", "10", "-c", "20") as process:
            sock.recv(2048)
            assert select.select([process.stderr], [], [], 0)[0], "nothing was shown"
            shown = process.stderr.readline()
    assert re.fullmatch(r"sending 20 datagrams of .* to 127\.0\.0\.1:\d+\n", shown), shown


@thorough
def a_second_signal_kills():
    """The first one is the command's, which does not care."""
    command = "trap '' INT; echo ready; exec sleep 60"
    with started("trace", "-q", "--", "sh", "-c", command) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        status = Path(f"/proc/{process.pid}/status")
        until(lambda: re.search(r"^ShdPnd:\s+0+$", status.read_text(), re.M), 10, "the first one is taken")
        assert process.poll() is None  # the command goes on
        process.send_signal(signal.SIGINT)
        until(lambda: process.poll() is not None, 10, "its end")
        assert process.returncode == -signal.SIGINT


CHANGES = re.compile(r"^\d+ +(?:openat\(.*O_(?:WRONLY|RDWR|CREAT)|socket\(|bpf\(|unshare\(|setns\(|"
                     r"mount\(|fsopen\(|mkdir|unlink|rename|kill\(|fork\(|vfork\(|clone)", re.M)


@table(first(1, [(" ".join(args), args) for args in (
    ["trace", "-h"], ["-V"], ["-h"], ["run", "--help"], ["run", "--fault", "help"],
    ["sweep", "--preset", "help"], ["help", "-j"])]))
@rootless
def asking_touches_nothing(args):
    require(shutil.which("strace"), "needs strace")
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory, "log")
        done = subprocess.run(["strace", "-f", "-o", str(log), str(BINARY), *args],
                              capture_output=True, text=True, check=False)
        require("PTRACE_TRACEME" not in done.stderr, "strace is not allowed to trace")
        assert done.returncode == 0 and done.stdout, done
        found = CHANGES.search(log.read_text())
        assert "execve(" in log.read_text() and not found, found.group()


if __name__ == "__main__":
    main()
