#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Rules of nft's families bridge and arp, told apart from those of inet: hook and direction of what
`trace` and `run` show. What the rules have counted is the truth."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from ends import PORT, do, nft, nft_counters, send, shell
from labs import PORT as RUN_PORT
from lib import assert_ran, first, main, pktledger, require, table
from test_balance import EXPR
from traced import NAME, TX, V4, V6, assert_only, lab, tracing

BRIDGE = f"{NAME}-bridge"
OWN = {V4: "198.18.0.9", V6: "2001:2::9"}  # the bridge's own, in the network of this address


def bridged():
    return lab("--topology", "bridge")


def chain(family, hook, rule=f"udp dport {PORT}", priority=0):
    return (f"table {family} t {{ chain c {{ type filter hook {hook} priority {priority}; {rule} "
            f"counter drop; }}; }}")


def own_address(address):
    prefix = "64 nodad" if ":" in address else "24"
    do(BRIDGE, "ip", "addr", "add", *f"{OWN[address]}/{prefix}".split(), "dev", "br0")


# hook, who sends, whether to the bridge's own address, direction
BRIDGE_HOOKS = [("forward", TX, False, "forward"), ("prerouting", TX, False, "rx"),
                ("input", TX, True, "rx"), ("output", BRIDGE, False, "tx"),
                ("postrouting", TX, False, "forward"), ("postrouting", BRIDGE, False, "tx")]


@table(first(1, [(f"{hook}, {way}, IPv{6 if ':' in to else 4}", hook, sender, to, own, way)
                 for i, (hook, sender, own, way) in enumerate(BRIDGE_HOOKS)
                 for to in ((V4, V6), (V6, V4))[i % 2]]))
def of_bridge(hook, sender, to, own, way):
    with bridged():
        own_address(to)
        send(TX, to, 1)  # neighbours, and where they are
        nft(BRIDGE, chain("bridge", hook))
        with tracing(EXPR) as t:
            send(sender, OWN[to] if own else to, 50)
            t.until(50)
            document = t.stop()
        assert nft_counters(BRIDGE)[None] == 50, nft_counters(BRIDGE)
        assert_only(document, "netfilter", 50, hook=f"bridge {hook}", direction=way, netns=BRIDGE)
        assert "bridge t c" in json.dumps(document["end"]["findings"]), document["end"]["findings"]


# Chains of inet beside one of a bridge that drops nothing; by br_netfilter also of what is bridged
INET_HOOKS = [("prerouting", "rx", True), ("forward", "forward", True),
              ("postrouting", "forward", True), ("input", "rx", False), ("prerouting", "rx", False)]


@table(first(0, [(f"{hook}, {'bridged' if through else 'own'}, IPv{6 if ':' in to else 4}", hook, to,
                  through, way)
                 for hook, way, through in INET_HOOKS for to in (V4, V6)]))
def of_inet(hook, to, through, way):
    with bridged():
        if through:
            done = shell(BRIDGE, "ip", "link", "set", "br0", "type", "bridge", "nf_call_iptables", "1",
                         "nf_call_ip6tables", "1")
            require(done.returncode == 0, f"br_netfilter: {done.stderr.strip()}")
        own_address(to)
        send(TX, to, 1)
        nft(BRIDGE, chain("inet", hook))
        nft(BRIDGE, "table bridge u { chain c { type filter hook input priority 0; }; }")
        with tracing(EXPR) as t:
            send(TX, to if through else OWN[to], 50)
            t.until(50)
            document = t.stop()
        require(nft_counters(BRIDGE)[None], "br_netfilter does not call it")
        assert nft_counters(BRIDGE)[None] == 50, nft_counters(BRIDGE)
        assert_only(document, "netfilter", 50, hook=hook, direction=way, netns=BRIDGE)


@table(first(0, [(f"{hook}, IPv{6 if ':' in to else 4}", hook, to)
                 for hook in ("prerouting", "forward") for to in (V4, V6)]))
def behind_br_netfilter(hook, to):
    """br_netfilter goes on with the bridge's own hooks behind its own."""
    with bridged():
        done = shell(BRIDGE, "ip", "link", "set", "br0", "type", "bridge", "nf_call_iptables", "1",
                     "nf_call_ip6tables", "1")
        require(done.returncode == 0, f"br_netfilter: {done.stderr.strip()}")
        send(TX, to, 1)
        nft(BRIDGE, chain("bridge", hook, priority=10))
        with tracing(EXPR) as t:
            send(TX, to, 50)
            t.until(50)
            document = t.stop()
        assert nft_counters(BRIDGE)[None] == 50, nft_counters(BRIDGE)
        assert_only(document, "netfilter", 50, hook=f"bridge {hook}", netns=BRIDGE)


@table(first(1, [("input", "input", "rx"), ("output", "output", "tx")]))
def of_arp(hook, way):
    """Answers to the sender, which are to it alone, or its questions."""
    with lab():
        nft(TX, chain("arp", hook, ""))
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
        nft(BRIDGE, chain("bridge", hook, f"udp dport {RUN_PORT} numgen inc mod 5 0"))
        result = json.loads(assert_ran(pktledger("run", "--json", "--lab", NAME, "-c", "500")).out)
        causes = [c for s in result["end"]["stages"] if s["stage"] == "netfilter" for c in s["causes"]]
        assert [(c["hook"], c["direction"], c["packets"]) for c in causes] == [
            (f"bridge {hook}", way, nft_counters(BRIDGE)[None])], result["end"]["stages"]


if __name__ == "__main__":
    main()
