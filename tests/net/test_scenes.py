#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Random scenes for `trace --balance`: what sockets got and rules counted is the truth, and each
term of the balance has to agree with it. PKTLEDGER_SCENES and PKTLEDGER_SEED in the environment say
how many, and the first: a scene is its seed."""

import contextlib
import os
import random
import shutil
import socket
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import ends
from ends import (PORT, SO_RCVBUFFORCE, XDP_DROP, XDP_GENERIC, nft, nft_counters, read_all, shell,
                  sysctl, udp, xdp)
from lib import EVERYTHING, main, require, table
from test_balance import assert_balance, balancing
from traced import NAME, RX, TX, lab

SCENES = int(os.environ.get("PKTLEDGER_SCENES", 500 if EVERYTHING else 2))
SEED = int(os.environ.get("PKTLEDGER_SEED", 1))
UDP_SEGMENT = 103
MTU = 1500


class Scene:
    """`lost`: how many each stage has to have lost, once the traffic is over."""

    def __init__(self, seed):
        pick = self.pick = random.Random(seed)
        self.topology = pick.choice(["pair", "pair", "router", "bridge"])
        self.version = pick.choice([4, 6])
        self.family = socket.AF_INET if self.version == 4 else socket.AF_INET6
        self.size = pick.choice([0, 1, 60, 400, 1200, 1452, 2000, 4000, 8000, 20000])
        self.fragments = self.size > MTU - 28 - 20 * (self.version == 6)
        self.count = pick.choice([50, 200, 400])
        self.segments = (pick.randint(2, 8) if 0 < self.size <= 1200 and pick.random() < 0.3
                         and self.topology != "router" else 1)
        self.receivers = pick.choice([1, 1, 1, 3])
        self.others = pick.random() < 0.4
        causes = ["prerouting", "input", "output", "postrouting", "tc_ingress", "xdp", "rcvbuf",
                  "closed_port", "neigh", "unread"]
        if self.topology == "router":
            causes.append("forward")
        self.causes = pick.sample(causes, pick.randint(0, 3))
        if self.fragments:  # these see fragments; two such rules may hit one datagram
            at_fragments = ["prerouting", "forward"] + ["input"] * (self.version == 6)
            for extra in [c for c in self.causes if c in at_fragments][1:]:
                self.causes.remove(extra)
            self.causes = [c for c in self.causes if c not in ("tc_ingress", "xdp")]
        if "rcvbuf" in self.causes and "unread" in self.causes:
            self.causes.remove("unread")
        self.every = pick.choice([2, 3, 7])
        self.reader = []
        # last: what a seed had before stays; netfilter's own reassembly has other timers
        self.nat = pick.random() < 0.4 and not self.fragments
        self.port = PORT + 3 if self.nat else PORT  # of the readers
        if (pick.random() < 0.5 and self.topology == "pair" and not self.nat and
                self.size <= 1200):  # fragments in tunnels are in test_tunnels.py
            self.topology = "vxlan"

    def __str__(self):
        return (f"{self.topology} IPv{self.version} {self.count} x {self.size} bytes"
                f"{f', {self.segments} segments' if self.segments > 1 else ''}"
                f"{', 3 receivers' if self.receivers > 1 else ''}"
                f"{', others' if self.others else ''}"
                f"{', NAT' if self.nat else ''}: {' '.join(self.causes) or 'nothing lost'}")

    def address(self, host=None):
        net = {"router": "1", "vxlan": "3"}.get(self.topology, "0")
        if self.version == 4:
            return f"198.18.{net}.{host or 2}"
        return f"2001:2::{host or 2}" if net == "0" else f"2001:2:0:{net}::{host or 2}"

    def rules(self, stack, hook, netns):
        """Each so manieth packet, or last fragment, is dropped and counted."""
        table_family = "ip" if self.version == 4 else "ip6"
        match = f"udp dport {self.port if hook == 'input' else PORT}"
        if self.fragments and hook in ("prerouting", "forward"):
            offset = "ip frag-off & 0x1fff" if self.version == 4 else "frag frag-off"
            last = self.size - self.size % 8 - 1300
            match = f"{offset} > {max(last, 8) // 8}"
            if hook == "forward" and self.version == 6:
                match = "frag more-fragments 0 " + match
        priority = -450 if hook == "prerouting" else 0
        nft(netns, f"table {table_family} t{hook} {{ counter dropped {{ }}; chain c {{ "
                   f"type filter hook {hook} priority {priority}; {match} numgen inc mod "
                   f"{self.every} 0 counter name dropped drop; }}; }}")
        stack.callback(shell, netns, "nft", "delete", "table", table_family, f"t{hook}")
        return lambda: nft_counters(netns)["dropped"]

    def prepare(self, stack):
        """Returns what tells the losses of each stage: [(stage, function)]."""
        found = []
        places = {"prerouting": RX, "input": RX, "output": TX, "postrouting": TX,
                  "forward": f"{NAME}-router"}
        hooks = [c for c in self.causes if c in places]
        for netns in {places[c] for c in hooks}:
            here = [c for c in hooks if places[c] == netns]
            for extra in here[1:]:  # one named counter a namespace
                self.causes.remove(extra)
                hooks.remove(extra)
        for cause in hooks:
            found.append(("netfilter", self.rules(stack, cause, places[cause])))
        if self.nat:
            family = "ip" if self.version == 4 else "ip6"
            nft(RX, f"table {family} nat {{ chain c {{ type nat hook prerouting priority -100; "
                    f"udp dport {PORT} redirect to :{self.port}; }}; }}")
        if "tc_ingress" in self.causes:
            done = shell(RX, "tc", "qdisc", "add", "dev", "v-rx", "clsact")
            require(done.returncode == 0, done.stderr)
            kind = "ip" if self.version == 4 or self.topology == "vxlan" else "ipv6"
            done = shell(RX, "tc", "filter", "add", "dev", "v-rx", "ingress", "protocol", kind,
                         "u32", "match", "u8", "0", "0", "police", "pkts_rate", "200",
                         "pkts_burst", "20", "conform-exceed", "drop")
            if done.returncode:
                self.causes.remove("tc_ingress")
        for name in "net/ipv4/ipfrag", "net/ipv6/ip6frag":
            sysctl(RX, f"{name}_time", 1)
            sysctl(RX, f"{name}_high_thresh", 256 << 20)
        return found

    def send(self):
        """How many datagrams, each of which was made."""
        datagrams = 0
        with udp(TX, self.family) as sock, udp(TX, self.family) as other:
            if self.segments > 1:
                sock.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, self.size)
            for n in range(self.count):
                to = (self.address(), PORT)
                if "closed_port" in self.causes and n % 11 == 3:
                    to = (self.address(), PORT + 1)
                elif "neigh" in self.causes and n % 13 == 5:
                    to = (self.address(77), PORT)
                if self.others and n % 3 == 0:
                    other.sendto(b"y" * 77, (self.address(), PORT + 2))
                with contextlib.suppress(OSError):
                    sock.sendto(b"x" * (self.size * self.segments), to)
                datagrams += self.segments
                if n % 20 == 19:
                    time.sleep(0.003)
        return datagrams


@table([(f"{SEED + n}: {Scene(SEED + n)}", Scene(SEED + n)) for n in range(SCENES)])
def scene(s):
    require(shutil.which("nft"), "needs nft")
    options = ["--topology", s.topology] if s.topology != "pair" else []
    with lab(*options), contextlib.ExitStack() as stack:
        told = s.prepare(stack)
        readers = []
        for _ in range(s.receivers):
            reader = udp(RX, s.family)
            stack.callback(reader.close)
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            if "rcvbuf" in s.causes:
                reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 20000)
            else:
                reader.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
            reader.bind(("", s.port))
            readers.append(reader)
        stack.callback(udp(RX, s.family, ("", PORT + 2)).close)
        if "xdp" in s.causes and s.version == 4:
            # data[23] is the protocol; each packet whose length is even is dropped: all or none
            stack.enter_context(xdp(RX, "v-rx", ends.verdict(XDP_DROP), XDP_GENERIC))
        inner = ["--inner"] if s.topology == "vxlan" else []
        with balancing(*inner, f"udp dst port {PORT} or udp dst port {PORT + 1}") as t:
            sent = s.send()
            time.sleep(0.3)
            unread = 0
            if "unread" in s.causes:
                readers.pop().close()
                time.sleep(0.3)
            received = sum(read_all(reader) for reader in readers)
            time.sleep(1.3 if s.fragments or "neigh" in s.causes else 0)
            if "neigh" in s.causes:
                time.sleep(2.5)
            counted = {}
            for stage, count in told:
                counted[stage] = counted.get(stage, 0) + count() * s.segments
            document = t.stop()
        end = document["end"]
        lost = {}
        for row in end["stages"] + end["suspect"]:
            n = sum(c["packets"] for c in row["causes"] if c["scope"] == "flow")
            if n:
                lost[row["stage"]] = lost.get(row["stage"], 0) + n
        brief = {k: end[k] for k in ("arrived", "delivered", "suspected", "in_flight",
                                     "unaccounted", "balanced", "verdict", "rests_on",
                                     "own_losses")}
        if s.nat and any("NAT that cannot be followed" in why for why in end["rests_on"]):
            assert not end["balanced"], brief  # Linux before 6.4: said, and no verdict
            return
        assert end["delivered"] == received, (received, lost, brief)
        assert end["arrived"] == sent, (sent, lost, brief)
        assert sum(lost.values()) == sent - received - unread, (sent, received, lost, brief)
        assert lost.get("netfilter", 0) == counted.get("netfilter", 0), (counted, lost, brief)
        assert end["balanced"] and end["unaccounted"] == 0, (lost, brief)
        assert_balance(document, sent, received, **lost)


if __name__ == "__main__":
    main()
