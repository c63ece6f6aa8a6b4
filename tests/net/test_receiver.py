#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The C of pktledger-receiver(7): each block is compiled into a receiver, which gets numbered packets
of `pktledger send` in a test network, and has to count all of them."""

import contextlib
import functools
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from ends import do, inside, udp
from lib import ROOT, assert_ran, case, first, main, require, table, thorough, until
from labs import Lab
from traced import tracing

PAGE = ROOT / "tools/man/pktledger-receiver.7.scd"
NAME = f"pl-receiver-{os.getpid()}"
RX, TX = f"{NAME}-rx", f"{NAME}-tx"
PORT = 5060
COUNT = 1000
RECEIVING = ("45", "47")  # recvfrom() and recvmsg() on x86-64
SMALL = 20000  # bytes of buffer that a burst does not fit into

AROUND = """
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#ifndef UDP_GRO
#define UDP_GRO 104
#endif
static char buf[65536];
static volatile unsigned expected;
static void enough(int number)
{
    (void)number;
    expected = 0;
}
static int bound(int port, int rcvbuf)
{
    int fd = socket(AF_INET, SOCK_DGRAM, 0), on = 1;
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(port)};
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &rcvbuf, sizeof(rcvbuf));
    if (fd < 0 || bind(fd, (struct sockaddr *)&any, sizeof(any))) {
        perror("bind");
        exit(1);
    }
    return fd;
}
int main(int argc, char **argv)
{
    int fd = bound(atoi(argv[1]), atoi(argv[3])), other = -1;
    unsigned received = 0, dropped = 0, queued = 0, limit = 0, elsewhere = 0;
    struct sigaction end = {.sa_handler = enough};
    sigaction(SIGUSR1, &end, NULL);
    expected = atoi(argv[2]);
    if (argc > 4)
        other = bound(atoi(argv[1]), atoi(argv[3]));
    @BEFORE@
    puts("ready");
    fflush(stdout);
    @AFTER@
    while (received + elsewhere < expected) {
        if (other >= 0 && recv(other, buf, sizeof(buf), MSG_DONTWAIT) >= 0)
            elsewhere++;
        if (recv(fd, buf, sizeof(buf), other >= 0 ? MSG_DONTWAIT : 0) >= 0)
            received++;
    }
    @LAST@
    printf("%u %u %u %u %u\\n", received, dropped, queued, limit, elsewhere);
    return 0;
}
"""


@functools.cache
def blocks():
    """C of the page, by the first word of its heading."""
    found = re.findall(r"^## (\S+?):? .*?\n```\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S)
    return {name.rstrip(":"): block for name, block in found}


@contextlib.contextmanager
def receiver(name, count=COUNT, rcvbuf=64 << 20, more=(), place="@AFTER@"):
    require(shutil.which("cc") or shutil.which("gcc"), "needs a C compiler")
    source = AROUND.replace(place, blocks()[name])
    with tempfile.TemporaryDirectory() as where:
        program = f"{where}/receiver"
        built = subprocess.run(["cc", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wno-unused-variable",
                                "-Wno-unused-but-set-variable", "-Wno-unused-parameter", "-Werror",
                                "-x", "c", "-", "-o", program, "-lbpf"], text=True,
                               input=re.sub(r"@\w+@", "", source), capture_output=True, check=False)
        assert built.returncode == 0, built.stderr
        with inside(RX):
            process = subprocess.Popen([program, str(PORT), str(count), str(rcvbuf), *more], text=True,
                                       stdout=subprocess.PIPE)
        with process:
            try:
                assert process.stdout.readline() == "ready\n"
                yield process
            finally:
                process.kill()


def counts(process):
    said = process.communicate(timeout=60)[0]
    assert process.returncode == 0, said
    return dict(zip(("received", "dropped", "queued", "limit", "elsewhere"), map(int, said.split())))


def send(lab, *options, cpu=None):
    where = {} if cpu is None else {"prefix": ("taskset", "-c", str(cpu))}
    sent = lab.run("tx", "send", f"198.18.0.2:{PORT}", "-c", str(COUNT), "--rate", "10k", "-j",
                   *options, **where)
    assert_ran(sent)
    return sent.json["end"]["sent"]


@case
def recvmmsg_receives_all():
    """From a plain socket: a batch could also have end records of `pktledger send`."""
    with Lab(NAME), receiver("recvmmsg()") as process, udp(TX, socket.AF_INET) as sock:
        for _ in range(COUNT):
            sock.sendto(bytes(100), ("198.18.0.2", PORT))
        assert counts(process)["received"] == COUNT


@table(first(1, [(name, name) for name in ("SO_BUSY_POLL", "SO_RCVBUF", "UDP_GRO")]))
def receives_all(name):
    with Lab(NAME) as lab, receiver(name) as process:
        assert send(lab) == COUNT
        assert counts(process)["received"] == COUNT


@case
def gro_counts_the_datagrams_of_a_train():
    with Lab(NAME) as lab, receiver("UDP_GRO") as process:
        assert send(lab, "--gso") == COUNT
        assert counts(process)["received"] == COUNT


@thorough
def reuseport_gives_packets_to_the_socket_of_their_cpu():
    require(len(os.sched_getaffinity(0)) > 1, "needs two CPUs")
    with Lab(NAME) as lab, receiver("SO_REUSEPORT", more=("2",)) as process:
        assert send(lab, cpu=1) == COUNT
        found = counts(process)
        assert (found["received"], found["elsewhere"]) == (0, COUNT), found


def waits(process):
    """Whether it sleeps in recvmsg(), so that all options are set."""
    return Path(f"/proc/{process.pid}/syscall").read_text("utf-8").split()[0] in RECEIVING


def drops_of_the_socket():
    rows = do(RX, "cat", "/proc/net/udp").splitlines()[1:]
    return sum(int(row.split()[-1]) for row in rows if f":{PORT:04X} " in row)


def overflow(process, sock):
    """Stops the waiting receiver and sends a burst that its buffer cannot hold; returns the drops."""
    until(lambda: waits(process), 10, "the receiver waits")
    process.send_signal(signal.SIGSTOP)
    for _ in range(500):
        sock.sendto(bytes(100), ("198.18.0.2", PORT))
    return drops_of_the_socket()


@case
def rxq_ovfl_counts_what_trace_counts():
    """A burst meets a stopped program, then one datagram brings the counter."""
    require(os.uname().machine == "x86_64", "knows the number of recvmsg() on x86-64 only")

    with Lab(NAME), receiver("SO_RXQ_OVFL", count=1 << 30, rcvbuf=SMALL) as process, \
            tracing("-n", RX, "udp", "port", str(PORT)) as trace:
        with udp(TX, socket.AF_INET) as sock:
            truth = overflow(process, sock)
            process.send_signal(signal.SIGCONT)
            until(lambda: waits(process), 10, "the queue is empty")
            sock.sendto(bytes(100), ("198.18.0.2", PORT))
            until(lambda: waits(process), 10, "the last datagram is read")
        process.send_signal(signal.SIGUSR1)
        stage = trace.stop()["end"]["stages"][0]
        found = counts(process)
        assert 0 < truth < 500 and found["dropped"] == truth, (found, truth)
        assert found["received"] == 501 - truth, (found, truth)
        assert (stage["stage"], stage["packets"]) == ("rcvbuf", truth), stage


@case
def meminfo_shows_the_queue():
    """Datagrams fill the queue of a stopped program, which reads the counters when it goes on."""
    require(os.uname().machine == "x86_64", "knows the number of recvmsg() on x86-64 only")
    with Lab(NAME), receiver("SO_MEMINFO", count=1 << 30, place="@LAST@", rcvbuf=SMALL) as process:
        with udp(TX, socket.AF_INET) as sock:
            truth = overflow(process, sock)
        process.send_signal(signal.SIGUSR1)
        process.send_signal(signal.SIGCONT)
        found = counts(process)
        assert found["limit"] == 2 * SMALL and 0 < found["queued"] <= 2 * SMALL + 4096, found
        assert found["dropped"] == truth > 0, (found, truth)


if __name__ == "__main__":
    main()
