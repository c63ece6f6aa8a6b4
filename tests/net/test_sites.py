#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""One closing for all modes: the same lost fragments get the same stage in a lab, between two ports
(-i), between two hosts (--to), and by `send` and `recv` whose ledgers are joined. The truth is the
counter of whatever dropped them. Between two hosts a router is not seen: what it drops is the wire's
there, as a whole packet is."""

import itertools
import os
import re
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from ends import nft, nft_counters, sysctl
from labs import PORT, TARGET, Hosts, Lab
from lib import (EVERYTHING, TIMEOUT, assert_balanced, assert_ok, is_suppressed, lost, main,
                 observed, pktledger, require, skip, table, until)

COUNT = 2000
LAB = f"pl-sites-{os.getpid()}"
TRAFFIC = ["-q", "-r", "4k", "-c", str(COUNT), "-l", "3000", "--rcvbuf", "16M"]
# the second of three fragments, in units of 8 bytes, at an MTU of 1500
SECOND = {4: 185, 6: 181}
EACH = 8


def expression(family):
    """An nft expression: the second fragment of those with some ids."""
    if family == 4:
        return f"ip frag-off & 0x1fff == {SECOND[4]} ip id & {EACH - 1} == 3 counter drop"
    return f"frag frag-off {SECOND[6]} frag id & {EACH - 1} == 3 counter drop"


class Place:
    """Where fragments are dropped; `do(side, ...)` runs a command, `dev` are names of devices."""

    def __init__(self, do, netns, dev, name, family):
        self.do, self.netns, self.dev, self.name, self.family = do, netns, dev, name, family
        if name == "tc":
            self.side = "a"
            self.by_tc()
            return
        self.side = {"forward": "m", "egress": "a"}.get(name, "b")
        at_device = name in ("ingress", "egress")
        hook = f"{name} device {dev[self.side]}" if at_device else name
        nft(self.netns(self.side), f"""
            table {"netdev" if at_device else "inet"} cut {{ chain c {{
                type filter hook {hook} priority -450; {expression(family)}
            }}
            }}
            """)

    def by_tc(self):
        dev = self.dev["a"]
        offset, number = ((hex(SECOND[4]), "0x1fff", "6"), "4") if self.family == 4 else (
            (hex(SECOND[6] << 3), "0xfff8", "42"), "46")
        self.do("a", "tc", "qdisc", "add", "dev", dev, "clsact")
        try:
            self.do("a", "tc", "filter", "add", "dev", dev, "egress", "protocol",
                    "ip" if self.family == 4 else "ipv6", "u32",
                    "match", "u16", *offset[:2], "at", offset[2],
                    "match", "u16", "3", hex(EACH - 1), "at", number, "action", "drop")
        except AssertionError as error:
            skip(f"tc cannot drop here: {error}")

    def dropped(self):
        """As the rule's own counter says."""
        if self.name == "tc":
            text = self.do("a", "tc", "-s", "filter", "show", "dev", self.dev["a"], "egress")
            return int(re.search(r"dropped (\d+)", text)[1])
        return nft_counters(self.netns(self.side))[None]


def settle_soon(netns):
    """What lacks a fragment is given up soon."""
    for name in "net/ipv4/ipfrag_time", "net/ipv6/ip6frag_time":
        sysctl(netns, name, 1)


class Between(Hosts):
    """Two hosts without a default route, so that their devices may be named as ports."""

    def build(self):
        super().build()
        for side, net in ("a", 8), ("b", 7):
            for family, far in (((), f"198.18.{net}.0/24"), (("-6",), f"2001:2:0:{net}::/64")):
                via = self.route(side, family)
                self.do(side, "ip", *family, "route", "add", far, "via", via)
                self.do(side, "ip", *family, "route", "del", "default")
        settle_soon(self.netns("b"))

    def route(self, side, family):
        text = self.do(side, "ip", *family, "route", "show", "default")
        return re.search(r"via (\S+)", text)[1]


def in_lab(family, place):
    """The document of a run in a named lab, and the counter."""
    sides = {"a": "tx", "b": "rx", "m": "router"}

    with Lab(LAB, "--topology", "router") as lab:
        def do(side, *command):
            return lab.do(sides[side], *command)

        settle_soon(lab.netns("rx"))
        where = Place(do, lambda side: lab.netns(sides[side]), {"a": "v-tx", "b": "v-rx"}, place,
                      family)
        result = pktledger("run", "-j", "--lab", LAB, "--tx", "socket", *TRAFFIC,
                           *(["--ipv6"] if family == 6 else []))
        return result, where.dropped()


def between_ports(hosts, family):
    ports = ",".join(f"{hosts.netns(side)}/v0" for side in "ab")
    return pktledger("run", "-j", "-i", ports, "--tx", "socket", "--settle", "5", *TRAFFIC,
                     *(["--ipv6"] if family == 6 else []))


def between_hosts(hosts, family):
    with hosts.serve():
        return hosts.run("-j", *TRAFFIC, to=family)


def joined(hosts, family):
    with tempfile.TemporaryDirectory() as directory:
        files = [f"{directory}/{side}.ledger" for side in "ab"]
        receiver = hosts.start("b", "recv", "-q", "-t", "30", "--rcvbuf", "16M", "--ledger",
                               files[1], *(["-6"] if family == 6 else []))
        until(lambda: f":{PORT:04X} " in hosts.do("b", "cat", "/proc/net/udp", "/proc/net/udp6"),
              20, "recv opens no socket")
        to = TARGET[family] if family == 4 else f"[{TARGET[family]}]"
        assert_ok(hosts.command("send", to, "-q", "-r", "4k", "-c", str(COUNT), "-l", "3000",
                                "--ledger", files[0], to=None))
        assert receiver.wait(TIMEOUT) == 0, receiver.stderr.read()
        result = assert_ok(pktledger("report", "-j", "--join", *files))
        document = result.json["documents"][0]
        return SimpleNamespace(json=document, status=0, out=result.out, err=result.err)


MODES = {"-i": between_ports, "--to": between_hosts, "report": joined}
PLACES = {"ingress": "netfilter", "prerouting": "netfilter", "forward": "netfilter",
          "egress": "netfilter", "tc": "tc_egress"}


COVERING = [(6, "prerouting", "--to")]  # two hosts, and the family whose fragments are harder to follow


@table([(f"{place}, IPv{family}, {mode}", family, place, mode) for family, place, mode in
        (itertools.product((4, 6), PLACES, ("lab", *MODES)) if EVERYTHING else COVERING)])
def a_later_fragment_is_lost(family, place, mode):
    def attempt():
        if mode == "lab":
            return in_lab(family, place)
        with Between() as hosts:
            where = Place(hosts.do, hosts.netns, {"a": "v0", "b": "v0"}, place, family)
            return MODES[mode](hosts, family), where.dropped()

    result, dropped = observed(attempt, lambda both: is_suppressed(both[0]))
    require(result.status != 3, result.err.strip())
    assert 0 < dropped < COUNT, dropped
    stage = "wire" if place == "forward" and mode in ("--to", "report") else PLACES[place]
    assert_balanced(result.json, COUNT)
    assert lost(result.json) == {stage: dropped}, lost(result.json)


if __name__ == "__main__":
    main()
