#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""--rt, --nice and --busy-poll: the threads that send and receive get them, no other does, and who
may not is told so.
"""

import contextlib
import ctypes
import os
import socket
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib
from lib import as_nobody, first, main, pktledger, require, started, table, thorough, until

PORT = str(lib.PORT)
SO_BUSY_POLL = 46
SYS_PIDFD_GETFD = 438  # the same number on all architectures
UNABLE = 3
libc = ctypes.CDLL(None, use_errno=True)


def workers(process, count):
    """Its threads but the first, as soon as there are so many that wait for or move packets."""
    def there():
        if process.poll() is not None:
            require(process.returncode != UNABLE, process.stderr.read().strip())
            raise AssertionError(f"it has ended: {process.stderr.read()}")
        found = sorted(int(t) for t in os.listdir(f"/proc/{process.pid}/task"))
        status = Path(f"/proc/{process.pid}/status").read_text()
        return found[1:] if len(found) > count and "NoNewPrivs:\t1" in status else None
    return until(there, 20, f"{count} threads at work")


RUN = ["run", "-t", "9", "--rate", "1k"]
SEND = ["send", "127.0.0.1:" + PORT, "--rate", "100", "-t", "9"]
RECV = ["recv", "-p", PORT, "-t", "9"]


def scheduling(thread):
    """Policy, and the priority or nice value of it."""
    return (os.sched_getscheduler(thread) & ~os.SCHED_RESET_ON_FORK,
            os.sched_getparam(thread).sched_priority or os.getpriority(os.PRIO_PROCESS, thread))


@table(first(1, [(f"{args[0]} {option}", args, count, option, wanted)
                 for option, *wanted in (("--rt=7", os.SCHED_FIFO, 7), ("--nice=-5", os.SCHED_OTHER, -5),
                                         ("--nice=7", os.SCHED_OTHER, 7))
                 for args, count in ((RUN, 2), (SEND, 1), (RECV, 1))]))
def threads_at_work(args, count, option, wanted):
    """The main thread keeps its priority. A worker sets its own after its start."""
    ours = scheduling(0)
    with started(*args, option) as process:
        def found():
            with contextlib.suppress(ProcessLookupError):
                return {scheduling(thread) for thread in workers(process, count)}

        until(lambda: found() == {tuple(wanted)}, 8, f"{count} threads at work have {wanted}")
        assert scheduling(process.pid) == ours


def busy_poll(process):
    """SO_BUSY_POLL of its UDP socket."""
    pidfd = os.pidfd_open(process.pid)
    try:
        for name in os.listdir(f"/proc/{process.pid}/fd"):
            if not os.readlink(f"/proc/{process.pid}/fd/{name}").startswith("socket:"):
                continue
            fd = libc.syscall(SYS_PIDFD_GETFD, pidfd, int(name), 0)
            require(fd >= 0, f"pidfd_getfd: {os.strerror(ctypes.get_errno())}")
            with socket.socket(fileno=fd) as sock:
                if sock.type == socket.SOCK_DGRAM and sock.family == socket.AF_INET:
                    return sock.getsockopt(socket.SOL_SOCKET, SO_BUSY_POLL)
    finally:
        os.close(pidfd)
    raise AssertionError("it has no UDP socket")


@table(first(1, [("as asked", ["--busy-poll", "50"], 50), ("off", [], None)]))
def busy_polling(options, usec):
    if usec is None:
        usec = int(Path("/proc/sys/net/core/busy_read").read_text())
    with started(*RECV, *options) as process:
        workers(process, 1)
        assert busy_poll(process) == usec


@table(first(1, [(" ".join(args[:1] + option), args, option, word) for args, option, word in (
    (SEND, ["--rt", "1"], "CAP_SYS_NICE"),
    (SEND, ["--nice=-1"], "CAP_SYS_NICE"),
    (RECV, ["--rt", "1"], "CAP_SYS_NICE"),
    (["recv", "-p", PORT, "-t", "0.1"], ["--busy-poll", "1000"], "CAP_NET_ADMIN"))]))
def refused(args, option, word):
    result = as_nobody(*args, *option, "-q")
    # everybody may have it on newer kernels
    require("--busy-poll" not in option or result.status, "this kernel refuses it to nobody")
    assert result.status == UNABLE and word in result.err, result
    assert result.err.count("\n") == 1 and not result.out, result


@contextlib.contextmanager
def cpus(allowed):
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, allowed)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@table(first(1, [("on one CPU", 1, "more threads than CPUs"), ("on all CPUs", 2, "all else waits")]))
def warned_of(count, words):
    """A thread that never sleeps keeps others from its CPU."""
    allowed = sorted(os.sched_getaffinity(0))[:count]
    require(len(allowed) == count, f"needs {count} CPUs")
    with cpus(allowed):
        result = pktledger("run", "-c", "100", "--rate", "10k", "--rt", "1")
        quiet = pktledger("run", "-c", "100", "--rate", "10k", "--nice", "1")
    require(result.status != UNABLE, result.err.strip())
    assert words in result.err, result
    assert "--rt" not in quiet.err, quiet


@thorough
def not_warned_of_room():
    require(len(os.sched_getaffinity(0)) > 1, "needs two CPUs")
    result = pktledger("send", "127.0.0.1:" + PORT, "--rate", "10k", "-c", "100", "--rt", "1")
    require(result.status != UNABLE, result.err.strip())
    assert "--rt" not in result.err, result


if __name__ == "__main__":
    main()
