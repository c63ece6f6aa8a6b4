#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Losses that the kernel reports without the packet: our own program left the number on that CPU.

Were another number taken for the one that died, that one would be delivered, too, and the right one
would stay open: balanced ledgers prove that each was right.
"""

import contextlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from labs import Lab
from lib import (EVERYTHING, assert_balanced, assert_counters_agree, first, lost, main, require, run, table,
                 thorough)

COUNT = "50000" if EVERYTHING else "10000"
LAB = f"pl-cells-{os.getpid()}"

# Takes its CPU from whoever is on it, kernel threads too, again and again.
HOG = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
end = time.monotonic() + 120
while time.monotonic() < end:
    until = time.monotonic() + 0.0005
    while time.monotonic() < until:
        pass
    time.sleep(0.0007)
"""

WITHOUT_PACKET = [
    ["xdp:redirect"],
    ["xdp:redirect", "--tx", "xdp"],
    ["xdp:cpumap"],
    ["xdp:devmap"],
    ["xdp:devmap", "--tx", "xsk", "--rx", "xsk"],
    ["tx_device", "--tx", "xdp", "--rx", "xdp"],
    ["xsk:ring", "--rx", "xsk"],
    ["xsk:fill", "--tx", "xsk", "--rx", "xsk"],
]


@contextlib.contextmanager
def preemption():
    """On each CPU that we have, for as long as the block lasts."""
    hogs = [subprocess.Popen([sys.executable, "-c", HOG, str(cpu)], stderr=subprocess.PIPE)
            for cpu in os.sched_getaffinity(0)]
    try:
        yield hogs
    finally:
        for hog in hogs:
            hog.kill()
            hog.communicate()


def switches(pid):
    """How often it took a CPU and gave it back by itself."""
    return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)",
                         Path(f"/proc/{pid}/status").read_text(), re.M).group(1))


def assert_right(fault, *options):
    document = run("--count", COUNT, "--fault", fault, *options)
    stage = fault.partition(":")[0]
    assert_balanced(document, attempted=int(COUNT))
    assert lost(document).get(stage), f"nothing lost at {stage}: {lost(document)}"
    assert_counters_agree(document, stage)
    assert not document["end"]["missed"]["cell_empty"], document["end"]["missed"]
    return lost(document)[stage]


@table([(" ".join(row), *row) for row in first(0, WITHOUT_PACKET)])
def under_preemption(fault, *options):
    """Senders, readers and the threads of NAPI and of CPU maps lose their CPU in the middle."""
    threaded = [] if fault == "tx_device" else ["--threaded-napi"]
    with preemption() as hogs:
        assert_right(fault, *options, *threaded, "--threads", "2")
        for hog in hogs:
            assert hog.poll() is None, hog.stderr.read()
            assert switches(hog.pid) > 50, switches(hog.pid)


@thorough
def on_two_queues():
    """Each has its own NAPI, on its own CPU."""
    rows = WITHOUT_PACKET if len(os.sched_getaffinity(0)) > 1 else []
    require(rows, "needs two CPUs")
    for fault, *options in rows:
        assert_right(fault, *options, "--queues", "2", "--threads", "2", "--flows", "64")


@thorough
def both_queues_are_used():
    with Lab(LAB, "--queues", "2") as lab:
        document = run("--lab", LAB, "--count", COUNT, "--fault", "xdp:redirect", "--threads", "2",
                       "--flows", "64")
        assert_balanced(document, attempted=int(COUNT))
        require(shutil.which("ethtool"), "needs ethtool")
        shown = lab.do("rx", "ethtool", "-S", "v-rx")
        packets = re.findall(r"rx_queue_[01]_xdp_packets: (\d+)", shown)
        assert len(packets) == 2 and all(int(n) > 1000 for n in packets), shown


@table([(" ".join(row), batch, *row) for batch, *row in first(0, [
    (16, "tx_device", "--tx", "xdp", "--rate", "100k"),
    (16, "tx_device", "--tx", "xdp", "--rx", "xdp", "--threads", "2", "--rate", "150k"),
    (8, "xdp:cpumap"),
    (8, "xdp:cpumap", "--ipv6", "--threads", "2", "--queues", "2"),
])])
def batches_refused_in_part(batch, fault, *options):
    """Had only whole batches died, their sum would be a multiple of their size, time after time.

    At full speed they do: a veth takes frames from its ring in batches as large as they came.
    """
    assert any(assert_right(fault, *options) % batch for _ in range(20))


if __name__ == "__main__":
    main()
