#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What this kernel offers to a tracer is what pktledger-stages(7) says of it."""

import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import ROOT, case, main, require

BTF = "/sys/kernel/btf/vmlinux"
# The tracepoint and its arguments, or a name among the kernel's types.
SOURCES = {
    "drop reason": ("kfree_skb", 3),
    "socket that dropped the packet": ("kfree_skb", 4),
    "function that freed a packet as consumed": ("consume_skb", 2),
    "reason of the queueing discipline": "enum qdisc_drop_reason {",
    "reads of a socket": ("sock_recv_length", 3),
    "connection resets": ("tcp_send_reset", 2),
    "reason of a reset": ("tcp_send_reset", 3),
    "failed TCP retransmissions": ("tcp_retransmit_skb", 3),
    "transmit queue timeouts": ("net_dev_xmit_timeout", 2),
    "late completions of a transmit queue": ("dql_stall_detected", 6),
    "counters per queue, by netdev-genl": "NETDEV_CMD_QSTATS_GET",
    "statistics of page pools": "struct page_pool_stats {",
}


def of_manual():
    """{source: {kernel: "yes" or "no"}}"""
    text = (ROOT / "tools/man/pktledger-stages.7.scd").read_text().split("# SOURCES")[1].split("# SEE ALSO")[0]
    head, *rows = [re.split(r"\n:\[?", row) for row in re.split(r"^\|\[?", text, flags=re.M)[1:]]
    kernels = [cell.strip(" *\n") for cell in head[1:]]
    return {row[0].strip(): dict(zip(kernels, (cell.split()[0] for cell in row[1:]))) for row in rows}


def offers(types, source):
    if isinstance(source, str):
        return source in types
    name, arguments = source
    found = re.search(rf"\(\*btf_trace_{name}\)\(([^;]*)\);", types)
    return bool(found) and found[1].count(",") >= arguments  # the first one is none


@case
def as_the_manual_says():
    require(os.path.exists(BTF), "the kernel has no BTF")
    types = subprocess.run(["bpftool", "btf", "dump", "file", BTF, "format", "c"], check=True,
                           capture_output=True, text=True).stdout
    found = {name: "yes" if offers(types, source) else "no" for name, source in SOURCES.items()}
    release = re.match(r"\d+\.\d+", os.uname().release)[0]
    for name, answer in found.items():
        print(f"# Linux {release}: {name}: {answer}")
    table = of_manual()
    assert table.keys() == SOURCES.keys(), table.keys() ^ SOURCES.keys()
    kernels = next(iter(table.values()))
    require(release in kernels, f"the manual has no Linux {release}, only {' '.join(kernels)}")
    assert found == {name: row[release] for name, row in table.items()}, (found, table)


if __name__ == "__main__":
    main()
