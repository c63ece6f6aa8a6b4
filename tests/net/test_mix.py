#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Random mixes of faults, sizes, rates and engines: balanced, or the program says why not.

PKTLEDGER_SEED draws other mixes, PKTLEDGER_MIXES another number of them. A failure names its
command, which shows it again.
"""

import os
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from ends import PORT
from lib import EVERYTHING, assert_valid, first, main, pktledger, table

SEED = int(os.environ.get("PKTLEDGER_SEED", "4"))
MIXES = int(os.environ.get("PKTLEDGER_MIXES", "200" if EVERYTHING else "2"))

# udp_mem, backlog:flow_limit and in `make test` backlog are left to their own tests: they affect others on
# the host; ip_frag:missing too, because it ends in a timer, where the host may suppress tracing
FAULTS = ["tx_route", "neigh", "tc_egress", "qdisc", "qdisc:pfifo", "qdisc:replace", "tx_device", "xdp", "xdp:aborted",
          "xdp:generic", "xsk:ring", *["backlog"] * EVERYTHING, "tc_ingress", "l2:address", "ip_header",
          "netfilter", "netfilter:ingress", "netfilter:egress", "netfilter:prerouting",
          "netfilter:forward", "netfilter:output", "netfilter:postrouting", "ip_route:rp_filter",
          "ip_route:blackhole", "ip_frag:mem", "ip_forward:ttl", "udp_lookup", "udp_header",
          "udp_csum", "socket_filter", "rcvbuf", "socket_read:csum", "socket_close",
          "ip_route:martian", "ip_forward:mtu", "tc_egress:stolen", "tc_ingress:stolen",
          "tx_socket", "tunnel:header", "xsk:fill", "xsk:oversize", "xdp:redirect", "xdp:devmap",
          "xdp:cpumap", "ip_frag:overlap", "ip_frag:duplicate", "l2:blocked", "l2:flood", "l2:silent",
          "tx_device:tap", "tx_device:detach", "tunnel", "xfrm", "xfrm:plain", "gso"]
SHARED = ("tx_socket", "ip_frag", "netfilter", "xdp", "tc_egress", "tc_ingress", "ip_header",
          "udp_header", "xfrm", "gso")
WHOLE = ("xdp:cpumap", "ip_frag:mem")  # of them take no share


def draw(dice):
    """A command line, sensible or not."""
    faults = dice.sample(FAULTS, dice.choice([1, 2, 2, 3, 3, 4]))
    longest = 6000 if any("ip_frag" in fault for fault in faults) else 1452
    args = ["--count", str(dice.randint(10000, 40000)), "--length", str(dice.randint(18, longest))]
    args += ["--fault", ",".join(
        fault + (f"={dice.randint(1, 60)}%" if fault.split(":")[0] in SHARED
                 and fault not in WHOLE and dice.random() < 0.5 else "") for fault in faults)]
    args += ["--tx", dice.choice(["auto", "socket", "xsk"])]
    args += ["--rx", dice.choice(["socket", "socket", "xsk"])]
    if dice.random() < 0.5:
        args += ["--rate", str(dice.choice([15000, 50000, 200000]))]
    if dice.random() < 0.4:
        args += ["--ipv6"]
    if dice.random() < 0.2:
        args += ["--topology", dice.choice(["router", "bridge", "tap", "vxlan"])]
    if dice.random() < 0.3:
        args += ["--threads", "2"]
    if dice.random() < 0.3:
        args += ["--flows", str(dice.randint(2, 20))]
    return args


def is_explained(end):
    """Not balanced is no lie if the program shows what it rests on."""
    losses = end["missed"]
    return any(losses[key] for key in ("suppressed", "causes_full", "header_unreadable",
                                       "recursion_misses"))


# Combinations that once failed.
KEPT = [
    # the frames' room is less than newer kernels let AF_XDP have: refused before anything is made
    (2, "--count 31316 --length 396 --fault xsk:oversize --tx socket --rx xsk --topology bridge"),
    # sockets whose fragments had the same ID: a late copy of one met the other's, delivered twice;
    # a loss of one was taken for the other's
    (0, "--count 17830 --length 2325 --fault ip_frag:duplicate,qdisc:replace,xdp:aborted "
        "--tx socket --rx socket --flows 15"),
    (0, "--count 23159 --length 1782 --fault ip_frag:overlap=10% --tx socket --rx socket "
        "--rate 300000 --topology tap --threads 2 --flows 11"),
]


def drawn():
    """Mixes that make sense: a contradiction, or what this host cannot do, is drawn again."""
    dice = random.Random(SEED)
    return [(f"{number}", dice.randrange(1 << 32)) for number in range(1, MIXES + 1)]


def is_beyond_this_host(args):
    """A fault of it cannot be here, as `selftest` says of it alone."""
    family = [arg for arg in args if arg == "--ipv6"]
    faults = args[args.index("--fault") + 1].split(",")
    alone = pktledger("selftest", "-j", *family, "--host-global", "--fault",
                      ",".join(fault.split("=")[0] for fault in faults))
    return any(row["verdict"] == "skipped" for row in alone.json["end"]["rows"])


def run(args):
    """At a port that other runs on this host do not have, whose packets would be foreign ones."""
    return pktledger("run", "-j", "--port", str(PORT), *args)


@table(drawn())
def mix(seed):
    dice = random.Random(seed)
    while True:
        args = draw(dice)
        result = run(args)
        if result.status == 3:
            assert is_beyond_this_host(args), result
        elif result.status != 2:
            break
    assert_closed(result, args)


def queue_stands_still(result):
    """veth from Linux 6.16 on stops a queue when its ring is full, and now and then nobody starts it
    again: of a device queue that is stopped, a NAPI that sleeps and a ring that is empty."""
    return result.status == 1 and "no packet could be sent" in result.err


def assert_closed(result, args):
    assert_valid(result.json)
    end = result.json["end"]
    assert result.status == 0 or (result.status == 4 and is_explained(end)) or \
        (queue_stands_still(result) and end["in_flight"]), result
    if result.status:
        print(f"not balanced: {' '.join(args)}: unaccounted {end['unaccounted']}, in flight "
              f"{end['in_flight']}, {end['missed']}")
    assert end["attempted"] == end["refused"] + end["sent"], result
    assert end["sent"] == end["delivered"] + end["dropped"] + end["in_flight"] + \
        end["unaccounted"], result
    assert end["dropped"] == sum(stage["packets"] for stage in end["stages"]), result
    assert end["impossible"] == end["damaged"] == end["foreign"] == 0, result
    assert end["duplicated"] == 0, result


@table(first(0, [(line, status, line.split()) for status, line in KEPT]))
def kept(status, args):
    result = run(args)
    if status == 2:
        assert result.status == 2, result
    else:
        assert_closed(result, args)


if __name__ == "__main__":
    main(all_exclusive=EVERYTHING)
