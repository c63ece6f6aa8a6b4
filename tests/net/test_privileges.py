#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What each thread may still do once a command is at work: as the command's own table says, and
nothing for the threads that send and receive. And what a COMMAND may, and capabilities of a file.
"""

import contextlib
import os
import pty
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib
from lib import (BINARY, EVERYTHING, KERNEL, NOBODY, assert_balanced, assert_ok, case, copied_program,
                 exclusive, exclusive_rows, first, main, pktledger, require, started, table,
                 thorough, until)
from test_export import Exporter, free_port, total

BITS = {"CAP_DAC_OVERRIDE": 1, "CAP_DAC_READ_SEARCH": 2, "CAP_NET_ADMIN": 12, "CAP_NET_RAW": 13,
        "CAP_IPC_LOCK": 14, "CAP_SYS_PTRACE": 19, "CAP_SYS_ADMIN": 21, "CAP_SYS_NICE": 23,
        "CAP_SYSLOG": 34, "CAP_PERFMON": 38, "CAP_BPF": 39}  # linux/capability.h
SETS = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
ALL = "all"  # rows of the table, for what is to be done again
FILTERED = 2  # SECCOMP_MODE_FILTER
PORT = str(lib.PORT)


def shared():
    """The libraries that the program is linked with."""
    return subprocess.run(["ldd", BINARY], capture_output=True, text=True, check=False).stdout


def bits(names):
    return sum(1 << BITS[name] for name in names)


def needs(command, which):
    """Names in the program's own table: all, or those that say why they are kept."""
    rows = next(c for c in pktledger("help", "-j").json["commands"] if c["name"] == command)
    return {n["name"] for n in rows["capabilities"]
            if which == ALL or n["keeps"] and not n["when"]
            and not (n["keeps"].startswith("before Linux 5.19") and KERNEL >= (5, 19))}


def status(path):
    """Sets of capabilities as numbers, and the flag."""
    text = (path / "status").read_text()
    found = {s: int(re.search(rf"^{s}:\s+([0-9a-f]+)$", text, re.M)[1], 16) for s in SETS}
    found["Seccomp"] = int(re.search(r"^Seccomp:\s+(\d)$", text, re.M)[1])
    found["NoNewPrivs"] = int(re.search(r"^NoNewPrivs:\s+(\d)$", text, re.M)[1])
    return found


def threads(pid):
    """Of each thread, the first one first."""
    found = {}
    for path in sorted(Path(f"/proc/{pid}/task").iterdir(), key=lambda p: int(p.name)):
        with contextlib.suppress(OSError):
            found[int(path.name)] = status(path)
    return found


def assert_kept(pid, names, others=()):
    """Soon the first thread has these, and each other one those of one of the sets; none has more
    to take up again, or to give to a program that it starts.
    """
    ours = status(Path("/proc/self"))["CapEff"]
    kept, allowed = bits(names) & ours, [bits(o) & ours for o in others]
    found = {}

    def all_have():
        found.clear()
        found.update(threads(pid))
        rest = [t for thread, t in found.items() if thread != pid]
        return (len(rest) >= len(others) and found[pid]["CapEff"] == kept
                and all(t["CapEff"] in allowed for t in rest)
                and all(t["CapPrm"] == t["CapEff"] and not t["CapAmb"] and t["NoNewPrivs"]
                        # one that may not change it any more has that of its parent
                        and t["CapBnd"] in (t["CapEff"], kept) for t in found.values()))

    try:
        until(all_have, 20, "only what the table says")
    except AssertionError as error:
        texts = [", ".join(f"{k} {v:x}" for k, v in t.items()) for t in found.values()]
        raise AssertionError(f"{error}: {kept:x}, others {allowed}: {texts}") from None


AT_WORK = [(" ".join(args), args, which, others) for args, which, others in [
    (["run", "-t", "9"], "kept", ((), ())),
    (["trace", "-t", "9"], "kept", ()),
    *([
        (["send", "127.0.0.1:" + PORT, "--rate", "100", "-t", "9"], "kept", ((),)),
        (["recv", "-p", PORT, "-t", "9"], "kept", ((),)),
        (["run", "-t", "9", "--tx", "xsk", "--rx", "xsk"], "kept", ((), ())),
        (["run", "-t", "9", "--tx", "xdp", "--rx", "xdp"], "kept", ((), ())),
        (["run", "-t", "9", "--threads", "3", "--flows", "3", "--rx-threads", "2"], "kept",
         ((),) * 5),
        (["run", "-t", "9", "--topology", "tap"], "kept", ((), (), ())),
        (["run", "-t", "9", "--repeat", "2"], ALL, ((), ())),
        (["run", "-t", "9", "--fault", "netfilter"], "kept", ((), ())),
        (["recv", "-i", "lo", "-p", PORT, "-t", "9", "--rx", "xsk"], "kept", ((),)),
        (["recv", "-i", "lo", "-p", PORT, "-t", "9", "--rx", "xdp"], "kept", ((),)),
        (["recv", "--serve", "-p", PORT], ALL, ()),
        (["trace", "-t", "9", "--balance", "udp", "port", PORT], "kept", ()),
        (["sweep", "--vary", "rcvbuf=64k,128k", "-t", "9"], ALL, ((), ())),
        (["search", "-t", "9"], ALL, ((), ())),
        (["selftest"], ALL, ((), ())),
    ] if EVERYTHING else [])
]]


@table(AT_WORK)
@exclusive_rows("selftest")
def at_work(args, which, others):
    names = needs(args[0], which)
    with started(*args) as process:
        assert_kept(process.pid, names, others)


@table([("recv", ["recv", "-p", PORT, "-t", "9"]),
        ("export", ["export", "--listen", "127.0.0.1:" + PORT])])
def stays_and_is_filtered(args):
    """By seccomp, in all threads; tests/unit/host/test_caps.c has what the filter refuses."""
    require("libseccomp" in shared(), "built without libseccomp")
    with started(*args) as process:
        until(lambda: {t["Seccomp"] for t in threads(process.pid).values()} == {FILTERED}, 20,
              "the filter")


@thorough
def the_last_of_several_runs():
    kept = bits(needs("run", "kept")) & status(Path("/proc/self"))["CapEff"]
    with started("run", "-t", "1", "--repeat", "2") as process:
        until(lambda: threads(process.pid)[process.pid]["CapEff"] == kept, 20, "the second run")
        assert process.wait(20 * lib.PATIENCE) == 0, process.stderr.read()


@thorough
def top_at_work():
    pid, terminal = pty.fork()
    if not pid:
        os.environ.update(TERM="xterm")
        os.execv(BINARY, [BINARY, "top"])
    try:
        assert_kept(pid, needs("top", "kept"))
        until(lambda: {t["Seccomp"] for t in threads(pid).values()} == {FILTERED}, 20, "the filter")
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)


@contextlib.contextmanager
def full_pipe():
    """Who writes to it waits."""
    reader, writer = os.pipe()
    try:
        os.set_blocking(writer, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writer, bytes(4096))
        os.set_blocking(writer, True)
        yield writer
    finally:
        os.close(reader)
        os.close(writer)


@thorough
def check_when_it_has_looked():
    with full_pipe() as pipe, subprocess.Popen([BINARY, "check", "-t", "0.01", "-j"],
                                               stdin=subprocess.DEVNULL, stdout=pipe) as process:
        try:
            assert_kept(process.pid, ())
        finally:
            process.kill()


@thorough
def report_before_it_reads():
    with tempfile.TemporaryDirectory() as directory:
        ledger = Path(directory, "fifo")
        os.mkfifo(ledger)  # nobody writes
        with started("report", str(ledger)) as process:
            assert_kept(process.pid, needs("report", "kept"))


@thorough
@exclusive
def the_guard_of_a_setting():
    """It puts the value back when the program is killed, with what that takes."""

    def guards(pid):
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [c for c in children if Path(f"/proc/{c}/comm").read_text() == "pktledger-guard\n"]

    before = lib.sysctl("net/ipv4/udp_mem")
    with started("run", "--fault", "udp_mem", "-t", "9") as process:
        guard, = until(lambda: guards(process.pid), 20, "the guard")
        held = status(Path("/proc", guard))
        assert held["CapEff"] == held["CapPrm"] == bits(["CAP_NET_ADMIN"]), held
        assert lib.sysctl("net/ipv4/udp_mem") != before
        process.kill()
        until(lambda: lib.sysctl("net/ipv4/udp_mem") == before, 10, "the old value")


@thorough
def a_ledger_in_a_directory_of_others():
    """It is made anew there with what root may only by a capability, which is kept for that."""
    with (tempfile.TemporaryDirectory() as directory,
          socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock):
        shutil.chown(directory, "nobody")
        ledger = Path(directory, "ledger")

        def made_anew():
            sock.sendto(b"lost", ("127.0.0.1", 9))
            return ledger.stat().st_ino != first

        with started("trace", "--ledger", str(ledger), "--keep", "1", "-I", "0.1"):
            first = until(lambda: ledger.exists() and ledger.stat().st_ino, 20, "a ledger")
            until(made_anew, 20, "a new ledger")


@case
def a_command_keeps_all():
    """What somebody runs under sudo behind `--` can do what it could before."""
    ours = status(Path("/proc/self"))
    result = assert_ok(pktledger("trace", "-q", "--", "cat", "/proc/self/status"))
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "status").write_text(result.out)
        assert status(Path(directory)) == ours, result


def give_to_file(path, names):
    """As `setcap NAMES=ep`: struct vfs_cap_data, revision 2, with VFS_CAP_FLAGS_EFFECTIVE."""
    value = bits(names)
    try:
        os.setxattr(path, "security.capability",
                    struct.pack("<5I", 0x02000001, value & 0xffffffff, 0, value >> 32, 0))
    except OSError as error:
        require(False, f"files have no capabilities here: {error.strerror}")


@contextlib.contextmanager
def nobodys(*args):
    """A tracing command of nobody's, whose file has what README says. It is at work when this is
    entered, and has nothing left.
    """
    kept = 0 if KERNEL >= (5, 19) else bits(["CAP_BPF"])
    with copied_program() as program:
        give_to_file(program, ["CAP_BPF", "CAP_PERFMON", "CAP_SYSLOG"])
        with subprocess.Popen([program, *args, "udp", "dst", "port", PORT],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, **NOBODY) as process:
            def is_at_work():
                return all(t["CapPrm"] == t["CapEff"] == kept * (thread == process.pid)
                           and t["NoNewPrivs"] for thread, t in threads(process.pid).items())

            try:
                until(lambda: process.poll() is not None or is_at_work(), 20, "nothing left")
                said = process.stderr.read() if process.poll() is not None else ""
                require("needs CAP_" not in said, "capabilities of files are ignored here")
                assert not said, said
                yield process
            finally:
                process.kill()


def lose(packets):
    """At a port that nobody has."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for _ in range(packets):
            sock.sendto(b"lost", ("127.0.0.1", int(PORT)))


@table(first(1, [("by stage", []), ("by flow", ["--by", "flow"])]))
def setcap_for_trace(options):
    with nobodys("trace", "-j", *options) as process:
        lose(100)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=lib.TIMEOUT)
    result = lib.Result(["trace"], process.returncode, out, err)
    assert result.status == 0 and lib.lost(result.json) == {"udp_lookup": 100}, result


@case
def setcap_for_export():
    port = free_port()
    with nobodys("export", "--listen", f"127.0.0.1:{port}") as process:
        def shown():
            with contextlib.suppress(ConnectionRefusedError):
                found = Exporter(process, port).scrape_once()
                return total(found, "pktledger_stage_lost_packets_total", "stage=udp_lookup")

        until(lambda: shown() == 0, 20, "no losses")
        lose(100)
        until(lambda: shown() == 100, 20, "100 losses")


@table([("with capabilities of the file", True), ("without", False)])
def a_terminal_that_the_user_describes(trusted):
    """ncurses would read the user's file with capabilities that the user has not."""
    require(shutil.which("tic"), "needs tic of ncurses")
    with copied_program() as program, tempfile.TemporaryDirectory() as theirs:
        os.chmod(theirs, 0o755)
        if trusted:
            give_to_file(program, ["CAP_BPF", "CAP_PERFMON", "CAP_SYSLOG"])
        text = subprocess.run(["infocmp", "xterm"], capture_output=True, text=True, check=True).stdout
        subprocess.run(["tic", "-o", theirs, "-"], input=re.sub("smcup=[^,]*", "smcup=THEIRS", text),
                       text=True, check=True)
        own, other = pty.openpty()
        with subprocess.Popen([program, "top", "-t", "0.1"], stdin=other, stdout=other, stderr=other,
                              env={"TERM": "xterm", "TERMINFO": theirs},
                              **(NOBODY if trusted else {})) as process:
            os.close(other)
            said = b""
            with contextlib.suppress(OSError):
                while more := os.read(own, 65536):
                    said += more
        os.close(own)
    require(b"needs CAP_" not in said, "capabilities of files are ignored here")
    assert process.returncode == 0, said
    assert (b"THEIRS" in said) == (not trusted), said


@thorough
def setcap_for_run():
    """nft, which the fault starts, has what it needs there, but no other program of that name."""
    require(shutil.which("nft"), "needs nft")
    with copied_program() as program:
        give_to_file(program, needs("run", ALL) - {"CAP_SYS_NICE"})
        theirs = Path(program).parent
        (theirs / "nft").write_text("#!/bin/sh\nexit 1\n")
        (theirs / "nft").chmod(0o755)
        done = subprocess.run([program, "run", "-c", "2000", "-j", "--fault", "netfilter=10%"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=lib.TIMEOUT, check=False,
                              env={"PATH": f"{theirs}:{os.environ['PATH']}"}, **NOBODY)
    result = lib.Result(["run"], done.returncode, done.stdout, done.stderr)
    require("needs CAP_" not in result.err, "capabilities of files are ignored here")
    assert result.status == 0, result
    assert_balanced(result.json, attempted=2000)
    assert 0 < lib.lost(result.json)["netfilter"] < 2000, lib.lost(result.json)


if __name__ == "__main__":
    main()
