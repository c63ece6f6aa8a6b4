#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`run` between two NICs: full rings, every engine that a driver offers, links that go away."""

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import (KERNEL, assert_balanced, assert_counters_agree, assert_ok, case,  # noqa: E402
                 first_finding, lost, main, pktledger, proves, require, run, started, table, until)
from nics import (NETNS, SENDER, ethtool, link, load_drivers, poll_in_thread,  # noqa: E402
                  set_queues)
from traced import tracing  # noqa: E402

RATE, SECONDS = 1000, 8
COUNT = 4000  # without a copy
SO_SNDBUFFORCE = 32

# Once the NIC receives, nothing else runs on CPU 1, four times for a while; long before the traffic
# ends, so that the ring has been emptied when the ledger is closed.
HOG = """
import os, sys, time
from pathlib import Path

received = Path("/sys/class/net", sys.argv[1], "statistics/rx_packets")
before = received.read_text()
os.sched_setaffinity(0, {1})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
print("ready", flush=True)
while received.read_text() == before:
    time.sleep(0.01)
for _ in range(4):
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        pass
    time.sleep(0.2)
"""


@contextlib.contextmanager
def short_ring(nic):
    """As short as it can be made; other cases want one that takes what QEMU kept during a flap."""
    usual = re.search(r"Current.*?RX:\s+(\d+)", ethtool("-g", nic), re.DOTALL)[1]
    ethtool("-G", nic, "rx", "64")
    try:
        yield
    finally:
        ethtool("-G", nic, "rx", usual)


@contextlib.contextmanager
def starved(nic):
    """Who empties its ring on CPU 1 is late. It must be over when the run is."""
    with subprocess.Popen([sys.executable, "-c", HOG, nic], stdout=subprocess.PIPE,
                          text=True) as hog:
        try:
            assert hog.stdout.readline() == "ready\n", "no hog"
            yield
            assert hog.poll() == 0, "the traffic was over before it was starved"
        finally:
            hog.kill()


@table([
    ("vmxnet3", "vmxnet3", "ethtool:%s:pkts rx OOB", []),
    ("vmxnet3, any engine", "vmxnet3", "ethtool:%s:pkts rx OOB", ["--tx", "auto"]),
    ("rtl8139", "8139cp", "%s:rx_missed_errors", []),
])
def ring(driver, counter, options):
    """Only a counter of the driver tells of it; sent, lost there and delivered add up."""
    with link(driver) as (nic, partner):
        poll_in_thread(nic)
        with short_ring(nic) if driver == "vmxnet3" else contextlib.nullcontext(), starved(nic):
            document = run("-i", f"{NETNS}/{partner},{nic}", "-t", str(SECONDS), "--rate",
                           str(RATE), "--rcvbuf", "32m", *(options or ["--tx", "socket"]))
        assert_balanced(document)
        end = document["end"]
        shown = lost(document)
        assert set(shown) == {"nic_ring"}, f"nothing lost at nic_ring: {shown}"
        stage = next(s for s in end["stages"] if s["stage"] == "nic_ring")
        assert (stage["source"], stage["scope"]) == ("counter", "interface"), stage
        assert [(c["name"], c["delta"], c["agrees"]) for c in stage["counters"]] == [
            (f"rx {counter % nic}", stage["packets"], True)], stage
        assert end["sent"] == end["delivered"] + stage["packets"], end
        print(f"{driver}: sent {end['sent']}, delivered {end['delivered']}, nic_ring "
              f"{stage['packets']} by {counter % nic}")


def assert_closed(document, attempted=None):
    assert_balanced(document, attempted)
    for stage in document["end"]["stages"]:
        assert_counters_agree(document, stage["stage"])


def tx_packets(nic):
    text = subprocess.run(["ip", "netns", "exec", NETNS, "cat",
                           f"/sys/class/net/{nic}/statistics/tx_packets"], capture_output=True,
                          text=True, check=True).stdout
    return int(text)


@table([
    ("igb, one queue", "igb", 1),
    ("igb, two queues", "igb", 2),
    ("virtio, one queue", "virtio_net", 1),
    ("virtio, two queues", "virtio_net", 2),
])
def zero_copy(driver, queues):
    """
    Since Linux 6.16, at both ends. Of virtio they are frames that tx_packets does not count; igb
    counts a queue from 0 again when a socket comes to it or leaves it. What a late sender catches
    up with is less than what holds frames outside of the guest.
    """
    require(KERNEL >= (6, 16), "without a copy since Linux 6.16")
    with link(driver) as (nic, partner):
        set_queues(nic, queues)
        set_queues(partner, queues, netns=NETNS)
        before = tx_packets(partner)
        document = run("-i", f"{NETNS}/{partner},{nic}", "--tx", "xsk", "--rx", "xsk", "--count",
                       str(COUNT), "--rate", str(RATE // 2), "--threads", str(queues), "--flows",
                       "16")
        mode = document["start"]["granted_mode"]
        assert set(mode.values()) == {"native zero-copy"}, mode
        assert_closed(document, COUNT)
        assert document["end"]["delivered"] == COUNT, document["end"]
        counted = tx_packets(partner) - before
        assert counted < COUNT or driver != "virtio_net", counted
        print(f"zero copy: {driver}, {queues} queues, granted {mode}, sent {COUNT}")


def xdp_packets(nic):
    """Of virtio_net."""
    return sum(int(n) for n in re.findall(r"rx(?:_queue_)?\d+_xdp_packets: (\d+)", ethtool("-S", nic)))


@table([(driver, driver) for driver in ("igb", "virtio_net", "vmxnet3")])
def native_xdp(driver):
    """
    Most drivers take live frames only where the sender has an XDP program, too. Between two of
    virtio_net, QEMU may lose some (on Linux 6.1), which no interface counts: they are on the wire.
    """
    require(driver != "vmxnet3" or KERNEL >= (6, 6), "XDP in vmxnet3 since Linux 6.6")
    with link(driver) as (nic, partner):
        before = xdp_packets(nic)
        document = assert_ok(pktledger(
            "run", "-j", "-i", f"{NETNS}/{partner},{nic}", "--tx", "xdp", "--rx", "xdp", "--count",
            str(COUNT // 2), "--rate", str(RATE // 2))).json
        came = xdp_packets(nic) - before if driver == "virtio_net" else COUNT // 2
        assert document["start"]["granted_mode"] == {"tx": "live frames", "rx": "native"}, document
        assert_closed(document, COUNT // 2)
        assert came and document["end"]["delivered"] == came, (came, document["end"])
        assert lost(document).keys() <= {"wire"}, document["end"]


@table([(driver, driver) for driver in ("igb", "virtio_net", "vmxnet3", "8139cp")])
def slow_reader(driver):
    """What the driver does with a packet that it has sent is no end of it. A guest that is late for
    the ring loses some there."""
    with link(driver) as (nic, partner):
        document = run("-i", f"{NETNS}/{partner},{nic}", "--tx", "socket", "--count", "2000",
                       "--rate", str(RATE // 2), "--rcvbuf", "16k", "--pause", "300ms/100ms")
        assert_closed(document, 2000)
        shown = lost(document)
        assert shown["rcvbuf"] and shown["rcvbuf"] + shown.get("nic_ring", 0) > 1000, shown


def run_and_change(command, *args):
    """`run`, of which a shell does something in the middle; the document's end."""
    with started("run", "--json-lines", "-I", "200ms", *args) as process:
        lines, changing = [], None
        for line in map(json.loads, process.stdout):
            lines.append(line)
            if not changing and line["event"] == "interval" and line["data"]["delivered"] > 100:
                changing = subprocess.Popen(["sh", "-c", command])
        said = process.stderr.read()
    assert changing, f"no traffic: {said}"
    assert not changing.wait(60), command
    assert lines[-1]["event"] == "end", (lines[-1], said)
    return lines[-1]["data"]


@table([
    ("receiver, sockets", "vmxnet3", "socket", "socket", "ip link set {here} {flap}", "wire"),
    ("receiver, AF_XDP", "virtio_net", "xsk", "xsk", "ip link set {here} {flap}", "wire"),
    ("receiver, XDP", "igb", "xdp", "xdp", "ip link set {here} {flap}", None),
    ("sender, XDP", "igb", "xdp", "xdp", "ip -n {ns} link set {there} {flap}", "tx_device"),
    ("MTU of the receiver", "igb", "xsk", "xsk", "ip link set {here} mtu 1400", None),
    ("MTU of the sender", "virtio_net", "socket", "xdp", "ip -n {ns} link set {there} mtu 1400",
     None),
])
def interrupted(driver, tx, rx, command, stage):
    """
    What left one NIC and did not come to the other is known by both; QEMU may keep all of it until
    the other takes packets again, whose ring then may have no room for so many at once.
    """
    with link(driver) as (nic, partner):
        down, up = (command.format(here=nic, there=partner, ns=NETNS, flap=flap)
                    for flap in ("down", "up"))
        try:
            end = run_and_change(down if down == up else f"{down}; sleep 1.5; {up}", "-i",
                                 f"{NETNS}/{partner},{nic}", "--tx", tx, "--rx", rx, "-t",
                                 str(SECONDS), "--rate", str(RATE // 4))
        finally:
            for where in ([], ["-n", NETNS]):
                subprocess.run(["ip", *where, "link", "set", partner if where else nic, "mtu",
                                "1500"], check=True)
        document = {"end": end}
        assert_closed(document)
        shown = lost(document)
        at = {stage, "nic_ring"} if stage == "wire" else {stage}
        assert stage is None or at & set(shown), (shown, end["sent"], end["slipped_ns"])
        assert set(shown) <= {"wire", "nic_ring", "tx_device", "udp_lookup", "rcvbuf"}, shown
        print(f"{driver}, {tx} to {rx}: sent {end['sent']}, lost {shown}")


@case
def counters_of_queues():
    """By netdev-genl and by the driver: the queues are the interface, and each packet counts once."""
    with link("virtio_net") as (nic, _), contextlib.ExitStack() as stack:
        set_queues(nic, 2)
        senders = [stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
                   for _ in range(16)]
        with tracing("--counters", "-i", nic) as t:
            for cpu in 0, 1:  # each has a queue
                os.sched_setaffinity(0, {cpu})
                for sender in senders * 10:
                    sender.sendto(bytes(100), (SENDER, 9))
            os.sched_setaffinity(0, {0, 1})
            t.pass_intervals(3)
            document = t.stop()
    moved = {"interfaces": {}, "queues": {}}
    for interval in document["intervals"]:
        for part, sums in moved.items():
            for row in interval["counters"][part]:
                key = row.get("queue"), "tx_packets"
                sums[key] = sums.get(key, 0) + row["tx_packets"]
    (total,) = moved["interfaces"].values()
    assert total >= 320 and len(moved["queues"]) == 2, moved
    assert sum(moved["queues"].values()) == total, moved


# Nothing else runs on CPU 1 for so long, with the thread that is told by the NIC what it has sent.
BUSY = """
import os, sys, time

os.sched_setaffinity(0, {1})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
print("ready", flush=True)
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    pass
"""


def queue_files(nic, name):
    return sorted(Path("/sys/class/net", nic, "queues").glob(f"tx-*/{name}"))


def counted(nic, name):
    return sum(int(file.read_text()) for file in queue_files(nic, name))


@table([
    ("completions are late", 0.5, "byte_queue_limits/stall_cnt", "DQL_STALL", ["tx-stall"]),
])
@proves()
def queue_stands_still(seconds, counter, reason, findings):
    """The kernel counts it for the queue; no packet of it has an event."""
    throttle = Path("/proc/sys/kernel/sched_rt_runtime_us")
    usual = throttle.read_text()
    with link("igb") as (nic, _), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 64 << 20)
        limits = queue_files(nic, "byte_queue_limits/stall_thrs")
        require(limits or reason != "DQL_STALL", "stalls are found since Linux 6.9")
        poll_in_thread(nic)
        before = counted(nic, counter)
        throttle.write_text("-1")
        for limit in limits:
            limit.write_text("100")
        try:
            with tracing("-i", nic) as t:
                with subprocess.Popen([sys.executable, "-c", BUSY, str(seconds)], text=True,
                                      stdout=subprocess.PIPE) as busy:
                    assert busy.stdout.readline() == "ready\n"
                    while busy.poll() is None:
                        sender.sendto(bytes(1400), (SENDER, 9))
                        time.sleep(0.002)
                until(lambda: counted(nic, counter) > before, 20, f"{counter} moves")
                t.pass_intervals(2)
                document = t.stop()
        finally:
            throttle.write_text(usual)
            for limit in limits:
                limit.write_text("0")
        moved = counted(nic, counter) - before
    rows = [c for s in document["end"]["stages"] if s["stage"] == "tx_device" for c in s["causes"]
            if c["reason"] == reason]
    assert rows and sum(c["events"] for c in rows) == moved, (moved, document["end"]["stages"])
    assert {(c["ifname"], c["packets"]) for c in rows} == {(nic, 0)}, rows
    first_finding([f for f in document["end"]["findings"] if f["id"] in findings])


if __name__ == "__main__":
    load_drivers()
    main()
