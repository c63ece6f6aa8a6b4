#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`run` between two NICs: what a ring has no room for, and AF_XDP without a copy."""

import contextlib
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import assert_balanced, lost, main, pktledger, require, run, table  # noqa: E402
from nics import (NETNS, ethtool, link, load_drivers, poll_in_thread, set_queues)  # noqa: E402

RATE, SECONDS = 1000, 8
COUNT = 4000  # without a copy

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
        if driver == "vmxnet3":
            ethtool("-G", nic, "rx", "64")
        with starved(nic):
            document = run("-i", f"{NETNS}/{partner},{nic}", "-t", str(SECONDS), "--rate",
                           str(RATE), "--rcvbuf", "32m", *(options or ["--tx", "socket"]))
        assert_balanced(document)
        end = document["end"]
        told = lost(document)
        assert set(told) == {"nic_ring"}, f"nothing lost at nic_ring: {told}"
        stage = next(s for s in end["stages"] if s["stage"] == "nic_ring")
        assert (stage["source"], stage["scope"]) == ("counter", "interface"), stage
        assert [(c["name"], c["delta"], c["agrees"]) for c in stage["counters"]] == [
            (f"rx {counter % nic}", stage["packets"], True)], stage
        assert end["sent"] == end["delivered"] + stage["packets"], end
        print(f"{driver}: sent {end['sent']}, delivered {end['delivered']}, nic_ring "
              f"{stage['packets']} by {counter % nic}")


def tx_packets(nic):
    text = subprocess.run(["ip", "netns", "exec", NETNS, "cat",
                           f"/sys/class/net/{nic}/statistics/tx_packets"], capture_output=True,
                          text=True, check=True).stdout
    return int(text)


@table([("one queue", 1), ("two queues", 2)])
def zero_copy(queues):
    """
    Of virtio, since Linux 6.16: frames that tx_packets does not count. What a late sender catches
    up with is less than the taps outside of the guest hold, which would lose it unseen.
    """
    with link("virtio_net") as (nic, partner):
        set_queues(nic, queues)
        set_queues(partner, queues, netns=NETNS)
        before = tx_packets(partner)
        result = pktledger("run", "-j", "--tx", "xsk", "--rx", "xsk", "-i",
                           f"{NETNS}/{partner},{nic}", "--count", str(COUNT), "--rate",
                           str(RATE // 2), "--threads", str(queues), "--flows", "16")
        document = result.json
        mode = document["start"]["granted_mode"]
        require("zero" in mode["tx"] and "zero" in mode["rx"], f"granted: {mode}")
        assert result.status == 0, result
        assert_balanced(document, COUNT)
        assert document["end"]["delivered"] == COUNT, document["end"]
        counted = tx_packets(partner) - before
        assert counted < COUNT, counted
        print(f"zero copy: {queues} queues, granted {mode}, sent {COUNT}, delivered "
              f"{document['end']['delivered']}, tx_packets +{counted}")


if __name__ == "__main__":
    load_drivers()
    main()
