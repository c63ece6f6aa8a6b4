#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`check` on a machine of its own, made sick: settings of the whole host, and real NICs.

Each case counts on its own what was sent and what arrived: it loses, `check` names the cause
first, nothing is lost once that finding is applied, and after --undo all settings are as before.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import (PATIENCE, assert_valid, case, first_finding, main, pktledger,  # noqa: E402
                 proves, require)
from nics import (NETNS, RECEIVER, ethtool, link, load_drivers, poll_in_thread,  # noqa: E402
                  require_guest, set_queues)
from settings import assert_same, settings, shell  # noqa: E402
from traffic import PORT, bursts, flood  # noqa: E402

NAME = "pl-sick"
TABLE = "pl_sick"
RULES = 400  # of a firewall, each of which is tried once per jump


def setting(path, value):
    Path("/proc/sys", path).write_text(f"{value}\n")


def check(netns, *args):
    where = ["--netns", netns] if netns else []
    return pktledger("check", "-t", f"{PATIENCE}", *where, *args)


def first(netns):
    result = check(netns, "-j")
    assert result.status == 0, result
    assert_valid(result.json)
    found = result.json["end"]["findings"]
    assert found, "nothing was found"
    return first_finding(found)


def assert_mended(traffic, netns, wanted, again=False, counted=True, prepare=lambda: None):
    """
    `wanted`: the finding's id. `again`: only a socket that is opened after it has it. `counted`:
    this machine has a counter for what it loses. prepare() is called before traffic that has to be lost.
    """
    prepare()
    before = settings(netns)
    with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as stack:
        undo = ["--undo-file", f"{directory}/undo"]
        running = stack.enter_context(traffic)
        assert running.lost(), "nothing was lost"
        f = first(netns)
        assert f["id"] == wanted and f["losing"] == counted, f
        result = check(netns, "--apply", "--yes", *undo, wanted)
        assert result.status == 0 and "done " in result.out, result
        if again:
            stack.close()
            running = stack.enter_context(traffic)
        lost = running.lost()
        assert not lost, f"{lost} lost after\n{result}"
        f = [f for f in check(netns, "-j").json["end"]["findings"] if f["id"] == wanted]
        assert not f, f
        result = pktledger("check", "--undo", *undo)
        assert result.status == 0, result
        assert_same(before, settings(netns))
        prepare()
        if again:
            stack.close()
            running = stack.enter_context(traffic)
        # the load comes and goes with what else this machine has to do
        assert any(running.lost() for _ in range(3)), "nothing is lost any more after --undo"


# Settings of the whole host


@contextlib.contextmanager
def lab(*paths):
    """A sender and a receiver; the host's settings of these paths are as before at the end."""
    require_guest()
    kept = {path: Path("/proc/sys", path).read_text().strip() for path in paths}
    result = pktledger("lab", "up", NAME)
    assert result.status == 0, result
    try:
        yield f"{NAME}-tx", f"{NAME}-rx"
    finally:
        for path, value in kept.items():
            setting(path, value)
        pktledger("lab", "down", NAME)


@case
@proves("backlog")
def backlog_of_one():
    require(os.cpu_count() > 1, "needs two CPUs")
    with lab("net/core/netdev_max_backlog") as (tx, rx):
        rps = "/sys/class/net/v-rx/queues/rx-0/rps_cpus"
        require(not shell(rx, f"echo 2 > {rps}").returncode, "no RPS here")
        setting("net/core/netdev_max_backlog", 1)
        # a loss of the whole host is a note if `check` is asked for a namespace
        assert_mended(bursts(tx, rx, "198.18.0.2", 150, 64), None, "backlog")


@case
@proves("udp_mem")
def small_udp_mem():
    """The kernel counts this memory per CPU, in lots of 256 pages."""
    with lab("net/ipv4/udp_mem", "net/core/rmem_max") as (tx, rx):
        setting("net/core/rmem_max", 64 << 20)
        setting("net/ipv4/udp_mem", "1000 1000 1000")
        assert_mended(bursts(tx, rx, "198.18.0.2", 3000, 1400, 32 << 20), rx, "udp_mem")


@case
@proves("rcvbuf-default")
def small_default_buffer():
    with lab("net/core/rmem_default") as (tx, rx):
        setting("net/core/rmem_default", 4096)
        assert_mended(bursts(tx, rx, "198.18.0.2", 60), rx, "rcvbuf-default", again=True)


@case
@proves("rcvbuf-capped")
def small_largest_buffer():
    with lab("net/core/rmem_max") as (tx, rx):
        setting("net/core/rmem_max", 4096)
        assert_mended(bursts(tx, rx, "198.18.0.2", 100, rcvbuf=400000), rx, "rcvbuf-capped",
                      again=True)


@case
@proves("ip-rpfilter")
def reverse_path():
    """The way back to the sender leaves by another device."""
    with lab() as (tx, rx):
        shell(tx, "ip addr add 198.19.0.1/32 dev v-tx; "
                  "ip route add 198.18.0.2/32 dev v-tx src 198.19.0.1")
        shell(rx, "ip link add other type veth peer name elsewhere; ip link set other up; "
                  "ip link set elsewhere up; ip route add 198.19.0.0/16 dev other; "
                  "for i in all other elsewhere v-rx; do "
                  "echo 0 > /proc/sys/net/ipv4/conf/$i/rp_filter; done; "
                  "echo 1 > /proc/sys/net/ipv4/conf/v-rx/rp_filter")
        assert_mended(bursts(tx, rx, "198.18.0.2", 50), rx, "ip-rpfilter")


# NICs


@case
@proves("nic_ring")
def small_ring():
    with link("vmxnet3") as (nic, _):
        poll_in_thread(nic)
        ethtool("-G", nic, "rx", "64")
        assert_mended(bursts(NETNS, "", RECEIVER, 400, rcvbuf=32 << 20, stall=0.4), None,
                      "nic_ring")


@case
@proves("nic-ring-busy")
def ring_that_cannot_grow():
    """All that is left to say is who should have emptied it."""
    with link("8139cp") as (nic, _):
        poll_in_thread(nic)
        traffic = bursts(NETNS, "", RECEIVER, 400, rcvbuf=32 << 20, stall=0.4)
        with traffic as running:
            assert running.lost(), "nothing was lost"
            f = first(None)
            assert f["id"] == "nic-ring-busy" and f["losing"] and f["subject"] == nic, f
            assert not f["changes"], f


# Queues. Each of a virtio NIC holds 160 to 256 packets in its ring and 150 in a tap outside of the
# guest, which drops the rest: nothing in the guest counts that. Two queues hold twice as many, so
# that no load has to be made to the measure of CPUs whose speed is not known.


def rules(nic, jumps):
    """A firewall whose work for each packet is what keeps the CPU busy: some milliseconds."""
    require(shutil.which("nft"), "needs nft")
    ports = range(PORT + 1, PORT + 1 + RULES)
    lines = [f"add table ip {TABLE}", f"add chain ip {TABLE} inner",
             f"add chain ip {TABLE} outer {{ type filter hook prerouting priority raw; }}",
             f'add rule ip {TABLE} outer iifname != "{nic}" accept',
             *[f"add rule ip {TABLE} inner udp dport {port} drop" for port in ports],
             *[f"add rule ip {TABLE} outer jump inner"] * jumps]
    done = subprocess.run(["nft", "-f", "-"], input="\n".join(lines) + "\n", capture_output=True,
                          text=True, check=False)
    assert not done.returncode, done.stderr


@contextlib.contextmanager
def slow_link(jumps):
    """
    A NIC of two queues; what it receives takes a CPU some milliseconds. Yields it, and the files
    with the affinity of the interrupts of its queues.
    """
    with link("virtio_net") as (nic, _):
        device = Path("/sys/class/net", nic, "device").resolve().name
        require(len(list(Path("/sys/class/net", nic, "queues").glob("rx-*"))) > 1,
                "needs a NIC of two queues: root, /dev/net/tun and a bridge outside of the guest")
        try:
            rules(nic, jumps)
            yield nic, [next(Path("/proc/irq").glob(f"*/{device}-input.{i}")).parent
                        / "smp_affinity_list" for i in range(2)]
        finally:
            subprocess.run(["nft", "delete", "table", "ip", TABLE], capture_output=True,
                           check=False)


def load():
    """More than one queue can hold, and less than two: by chance each gets 260 +- 11 of them."""
    return flood(NETNS, "", RECEIVER, 520)


@case
@proves("nic-queues")
def one_queue():
    with slow_link(100) as (nic, irqs):
        set_queues(nic, 1)
        try:
            # the driver routes interrupts anew when the number of queues changes
            assert_mended(load(), None, "nic-queues", counted=False, prepare=lambda: irqs[0].write_text("1"))
        finally:
            set_queues(nic, 2)


def ticks():
    """Returns the ticks that CPU 0 was idle, those that CPU 1 spent in softirq, and all ticks of CPU 1."""
    rows = Path("/proc/stat").read_text().splitlines()
    idle, busy = ([int(n) for n in row.split()[1:9]] for row in rows if row.startswith(("cpu0 ", "cpu1 ")))
    return idle[3], busy[6], sum(busy)


def under_load(check_it, is_found):
    """Returns what check_it() finds. Skips the case if nothing is found and CPU 1 did other work than receive,
    or CPU 0 was not idle."""
    before = ticks()
    found = check_it()
    idle, softirq, total = (now - was for now, was in zip(ticks(), before))
    require(is_found(found) or (softirq > 0.95 * total and idle > 0.6 * total),
            f"CPU 1 receives for {softirq} of {total} ticks, CPU 0 is idle for {idle}")
    return found


@case
@proves("nic-irq")
def two_queues_of_one_CPU():
    """Whether that loses packets, or fills the CPU, is a matter of speed, which is not known."""
    with slow_link(200) as (nic, irqs), tempfile.TemporaryDirectory() as directory:
        undo = ["--undo-file", f"{directory}/undo"]
        for irq in irqs:
            irq.write_text("1")
        before = settings(None), [irq.read_text() for irq in irqs]
        with load() as running:
            running.round()
            found = under_load(lambda: [f for f in check(None, "-j").json["end"]["findings"]
                                        if f["id"] == "nic-irq"], bool)
            (f,) = found
            first_finding(found)
            assert f["subject"] == nic and not f["losing"], f
            result = under_load(lambda: check(None, "--apply", "--yes", *undo, "nic-irq"),
                                lambda result: result.status == 0)
            assert result.status == 0 and "done " in result.out, result
            assert sorted(irq.read_text() for irq in irqs) == ["0\n", "1\n"], result
        with load() as running:  # queues that were empty: now it takes effect
            running.round()
            found = [f["id"] for f in check(None, "-j").json["end"]["findings"]]
            assert "nic-irq" not in found, found
        result = pktledger("check", "--undo", *undo)
        assert result.status == 0, result
        assert [irq.read_text() for irq in irqs] == before[1]
        assert_same(before[0], settings(None))


if __name__ == "__main__":
    load_drivers()
    main()
