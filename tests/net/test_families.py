#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Rules of nft's families bridge and arp, told apart from those of inet: hook and direction of what
`trace` and `run` show. What the rules have counted is the truth."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from ends import PORT, do, drop, nft, nft_counters, send, shell, sysctl
from labs import PORT as RUN_PORT
from lib import assert_ran, first, main, pktledger, require, table
from test_balance import EXPR
from traced import NAME, TX, V4, V6, assert_only, lab, tracing

BRIDGE = f"{NAME}-bridge"
OWN = {V4: "198.18.0.9", V6: "2001:2::9"}  # the bridge's own, in the network of this address


def bridged():
    return lab("--topology", "bridge")


def own_address(address):
    prefix = "64 nodad" if ":" in address else "24"
    do(BRIDGE, "ip", "addr", "add", *f"{OWN[address]}/{prefix}".split(), "dev", "br0")


# Family, hook, who sends, whether to the bridge's own address, direction, whether br_netfilter is on. Chains of inet
# are beside one of a bridge that drops nothing; br_netfilter calls them of what is bridged, and then the bridge's own.
RULES = [("bridge", "forward", TX, False, "forward", False), ("bridge", "prerouting", TX, False, "rx", False),
         ("bridge", "input", TX, True, "rx", False), ("bridge", "output", BRIDGE, False, "tx", False),
         ("bridge", "postrouting", TX, False, "forward", False), ("bridge", "postrouting", BRIDGE, False, "tx", False),
         ("inet", "prerouting", TX, False, "rx", True), ("inet", "forward", TX, False, "forward", True),
         ("inet", "postrouting", TX, False, "forward", True), ("inet", "input", TX, True, "rx", False),
         ("inet", "prerouting", TX, True, "rx", False),
         ("bridge", "prerouting", TX, False, None, True), ("bridge", "forward", TX, False, None, True)]


@table(first(1, [(f"{family} {hook}, {way}{', br_netfilter' if called else ''}, IPv{6 if ':' in to else 4}",
                  family, hook, sender, to, own, way, called)
                 for i, (family, hook, sender, own, way, called) in enumerate(RULES)
                 for to in ((V4, V6), (V6, V4))[i % 2]]))
def rule_of(family, hook, sender, to, own, way, called):
    with bridged():
        if called:
            done = shell(BRIDGE, "ip", "link", "set", "br0", "type", "bridge", "nf_call_iptables", "1",
                         "nf_call_ip6tables", "1")
            require(done.returncode == 0, f"br_netfilter: {done.stderr.strip()}")
        own_address(to)
        send(TX, to, 1)  # neighbours, and where they are
        drop(BRIDGE, hook, f"udp dport {PORT}", family, priority=10 * called * (family == "bridge"))
        if family == "inet":
            nft(BRIDGE, "table bridge u { chain c { type filter hook input priority 0; }; }")
        with tracing(EXPR) as t:
            send(sender, OWN[to] if own else to, 50)
            require(nft_counters(BRIDGE)[None] or not called, "br_netfilter does not call it")
            t.until(50)
            document = t.stop()
        assert nft_counters(BRIDGE)[None] == 50, nft_counters(BRIDGE)
        assert_only(document, "netfilter", 50, hook=f"bridge {hook}" if family == "bridge" else hook, netns=BRIDGE,
                    **({"direction": way} if way else {}))
        assert family == "inet" or "bridge t c" in json.dumps(document["end"]["findings"]), document["end"]["findings"]


@table(first(1, [("input", "input", "rx"), ("output", "output", "tx")]))
def of_arp(hook, way):
    """Answers to the sender, which are to it alone, or its questions."""
    with lab():
        drop(TX, hook, family="arp")
        sysctl(TX, "net/ipv4/neigh/v-tx/retrans_time_ms", 60000)  # it asks once
        with tracing("--netns", TX) as t:
            shell(TX, "ip", "neigh", "flush", "dev", "v-tx", "nud", "all")
            send(TX, V4, 1)
            t.until(1)
            document = t.stop()
        dropped = nft_counters(TX)[None]
        assert dropped, "nobody asked"
        assert_only(document, "netfilter", dropped, hook=f"arp {hook}", direction=way, netns=TX)


@table(first(0, [(hook, hook, way) for hook, way in
                 (("prerouting", "rx"), ("forward", "forward"), ("postrouting", "forward"))]))
def run(hook, way):
    with bridged():
        drop(BRIDGE, hook, f"udp dport {RUN_PORT} numgen inc mod 5 0", "bridge")
        result = json.loads(assert_ran(pktledger("run", "--json", "--lab", NAME, "-c", "500")).out)
        causes = [c for s in result["end"]["stages"] if s["stage"] == "netfilter" for c in s["causes"]]
        assert [(c["hook"], c["direction"], c["packets"]) for c in causes] == [
            (f"bridge {hook}", way, nft_counters(BRIDGE)[None])], result["end"]["stages"]


if __name__ == "__main__":
    main()
