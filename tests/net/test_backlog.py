#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A backlog queue that refuses fragments at the peer of the sender's veth: the kernel then gives up
the rest of the datagram in the sender's namespace. For the sender such a datagram is lost on the
wire, as a whole packet is that the same queue refuses."""

import contextlib
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from ends import sysctl
from labs import TARGET, Hosts
from lib import assert_balanced, finish, first, is_suppressed, lost, main, observed, require, skip, start, table

COUNT = 4000
LIMIT = Path("/proc/sys/net/core/netdev_max_backlog")


@contextlib.contextmanager
def short_backlog(hosts):
    """The router handles the sender's packets on another CPU, whose queue is short."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        skip("needs two CPUs")
    for side, device, cpu in ("m", "va", cpus[1]), ("b", "v0", cpus[0]):
        hosts.ip("netns", "exec", hosts.netns(side), "sh", "-c",
                 f"echo {1 << cpu:x} > /sys/class/net/{device}/queues/rx-0/rps_cpus")
    before = LIMIT.read_text()
    LIMIT.write_text("1")
    try:
        yield cpus[0]
    finally:
        LIMIT.write_text(before)


def refused(hosts):
    """Packets that the router's device did not take, as the sender's device counts them."""
    link = json.loads(hosts.do("a", "ip", "-j", "-s", "link", "show", "dev", "v0"))
    return link[0]["stats64"]["tx"]["dropped"]


def sent(family, length):
    with Hosts() as hosts, hosts.serve():
        for name in "net/ipv4/ipfrag_time", "net/ipv6/ip6frag_time":
            sysctl(hosts.netns("b"), name, 1)
        with short_backlog(hosts) as cpu:
            def inside():
                hosts.inside("a")()
                os.sched_setaffinity(0, {cpu})

            result = finish(start("run", "-j", "-q", "-r", "20k", "--burst", "32", "-c", str(COUNT),
                                  "-l", str(length), "--rcvbuf", "16M", "--to", TARGET[family],
                                  "--insecure", preexec_fn=inside))
        return result, refused(hosts)


@table(first(1, [(f"{length} bytes, IPv{family}", family, length)
                 for family, length in ((4, 1000), (6, 3000), (4, 3000), (6, 1000))]))
def a_packet_is_refused_at_the_peer(family, length):
    result, drops = observed(lambda: sent(family, length), lambda both: is_suppressed(both[0]))
    require(result.status != 3, result.err.strip())
    assert drops, "the backlog refused nothing"
    assert_balanced(result.json, COUNT)
    assert "wire" in lost(result.json), lost(result.json)


if __name__ == "__main__":
    main(all_exclusive=True)
