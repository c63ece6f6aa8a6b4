#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Random scenes for `trace --balance` of UDP and of TCP: what sockets got or tell of themselves, and
rules and queues counted, is the truth, and each term of the balance has to agree with it.
PKTLEDGER_SCENES and PKTLEDGER_SEED in the environment say how many of each, and the first: a scene
is its seed."""

import contextlib
import os
import random
import shutil
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import ends
from ends import (PORT, SO_RCVBUFFORCE, XDP_DROP, XDP_GENERIC, do, inside, nft, nft_counters,
                  read_all, shell, sysctl, udp, xdp)
from lib import EVERYTHING, PATIENCE, main, observed, require, table, until
from test_balance import assert_balance, balancing
import test_tcp as tcp
from traced import NAME, RX, TX, lab

SEED = int(os.environ.get("PKTLEDGER_SEED", 1))
UDP_SEGMENT = 103
MTU = 1500
SLOW = {10}  # a minute: when the sender stops, its retransmission timer has backed off that far


def scenes(kind, usual, thorough):
    """Rows of a table: so many of `make test`, and of `make test-all`."""
    count = int(os.environ.get("PKTLEDGER_SCENES", thorough if EVERYTHING else usual))
    seeds = range(SEED, SEED + count)
    if not EVERYTHING and "PKTLEDGER_SCENES" not in os.environ:
        seeds = [seed for seed in range(SEED, SEED + count + len(SLOW)) if seed not in SLOW][:count]
    return [(f"{seed}: {kind(seed)}", kind(seed)) for seed in seeds]


class Scene:
    def address(self, host=None):
        net = {"router": "1", "vxlan": "3"}.get(self.topology, "0")
        if self.version == 4:
            return f"198.18.{net}.{host or 2}"
        return f"2001:2::{host or 2}" if net == "0" else f"2001:2:0:{net}::{host or 2}"

    def lab(self):
        return lab(*(["--topology", self.topology] if self.topology != "pair" else []))


class Udp(Scene):
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


@table(scenes(Udp, 1, 500))
def udp_scene(s):
    require(shutil.which("nft"), "needs nft")
    hidden = observed(lambda: play(s), bool)
    assert not hidden, hidden


def play(s):
    """Returns the balance if the host hid the drops of a closed socket, else None. The kernel frees
    its queue in an RCU callback, in the context of any thread."""
    with s.lab(), contextlib.ExitStack() as stack:
        shown = s.prepare(stack)
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
            time.sleep(0.3)  # what is on its way reaches the sockets
            unread = 0
            if "unread" in s.causes:
                readers.pop().close()
                time.sleep(0.3)  # its queue is freed later
            received = sum(read_all(reader) for reader in readers)
            time.sleep(1.3 if s.fragments or "neigh" in s.causes else 0)  # fragments are given up after 1 s
            if "neigh" in s.causes:
                time.sleep(2.5)  # and neighbours after 3 s
            counted = {}
            for stage, count in shown:
                counted[stage] = counted.get(stage, 0) + count() * s.segments
            document = t.stop()
        end = document["end"]
        lost = {}
        for row in end["stages"] + end["suspected"]:
            n = sum(c["packets"] for c in row["causes"] if c["scope"] == "flow")
            if n:
                lost[row["stage"]] = lost.get(row["stage"], 0) + n
        brief = {k: end[k] for k in ("arrived", "delivered", "suspected_packets", "in_flight",
                                     "unaccounted", "balanced", "verdict", "rests_on",
                                     "missed")}
        if s.nat and any("NAT that cannot be followed" in why for why in end["rests_on"]):
            assert not end["balanced"], brief  # Linux before 6.4: said, and no verdict
            return None
        if "unread" in s.causes and not end["balanced"] \
           and 0 < end["unaccounted"] == sent - received - sum(lost.values()) - end["in_flight"]:
            return brief
        assert end["delivered"] == received, (received, lost, brief)
        assert end["arrived"] == sent, (sent, lost, brief)
        assert sum(lost.values()) == sent - received - unread, (sent, received, lost, brief)
        assert lost.get("netfilter", 0) == counted.get("netfilter", 0), (counted, lost, brief)
        assert end["balanced"] and end["unaccounted"] == 0, (lost, brief)
        assert_balance(document, sent, received, **lost)
    return None


# of packets of more than 300 bytes each 16th by chance: TC_ACT_SHOT, else TC_ACT_OK
SOME_LARGE = "7,128 0 0 0,37 0 4 300,32 0 0 4294963256,84 0 0 15,21 0 1 0,6 0 0 2,6 0 0 0"
SMALL = 200  # bytes: acknowledgments, SYN and FIN


def spoil(netns, device, cause):
    """The device loses some large packets on their way in, or what its queue has no room for."""
    if cause == "ingress":
        do(netns, "tc", "qdisc", "add", "dev", device, "clsact")
        do(netns, "tc", "filter", "add", "dev", device, "ingress", "protocol", "all", "bpf",
           "direct-action", "bytecode", SOME_LARGE)
    else:
        do(netns, "tc", "qdisc", "add", "dev", device, "root", "tbf", "rate", "200mbit", "burst", "20k",
           "limit", "30k")


class Tcp(Scene):
    """What goes from TX to RX is lost, and acknowledgments that come back."""

    def __init__(self, seed):
        pick = random.Random(seed)
        self.topology = pick.choice(["pair", "pair", "router"])
        self.version = pick.choice([4, 6])
        self.control = pick.choice(["cubic", "bbr", "reno"])
        self.offloads = pick.choice(["on", "off"])
        self.mtu = pick.choice([1500, 1500, 1280, 4000, 9000])
        self.size = pick.choice([1000, 20000, 100000, 400000])
        self.connections = pick.choice([1, 1, 3, 8])
        self.role = pick.choice(["client", "client", "server", "both"])  # who sends
        self.begun = pick.choice(["before", "before", "quiet", "busy"])  # tracing, and connections
        self.closed = pick.random() < 0.5  # before tracing ends
        causes = ["input", "prerouting", "output", "ingress", "queue", "acks"]
        if self.topology == "router":
            causes += ["forward", "router queue"]
        self.causes = pick.sample(causes, pick.choice([0, 1, 1, 2, 2, 3, 3]))
        self.every = pick.choice([7, 20, 50])

    def __str__(self):
        return (f"{self.topology} IPv{self.version} {self.control} {self.connections} x {self.size} "
                f"by {self.role}, MTU {self.mtu}, offloads {self.offloads}, {self.begun}"
                f"{', closed' if self.closed else ''}: {', '.join(self.causes) or 'nothing lost'}")

    def lose(self):
        """What tells how many of each stage: {cause: (stage, function)}."""
        router = TX[:-2] + "router"
        here, back = ("sport", "dport") if self.role == "server" else ("dport", "sport")
        places = {"input": RX, "prerouting": RX, "output": TX, "forward": router, "acks": TX}
        shown = {}
        for cause in self.causes:
            if cause in places:
                hook = "input" if cause == "acks" else cause
                match = (f"tcp {back} {PORT} tcp flags & (syn | fin) == 0 meta length < {SMALL}"
                         if cause == "acks" else f"tcp {here} {PORT} meta length > {SMALL}")
                # data is as small where SACK leaves no room for a segment that is sent again
                spared = [f"tcp doff {words} meta length > "
                          f"{tcp.HEADERS[self.version] + 4 * (words - 8)} accept; "
                          for words in (8, 11, 13, 15) if cause == "acks"]
                nft(places[cause], f"table inet {cause} {{ chain c {{ type filter hook {hook} "
                                   f"priority 0; {''.join(spared)}{match} numgen inc mod "
                                   f"{self.every} 1 counter drop; }}; }}")
                shown[cause] = "netfilter", lambda n=places[cause], c=cause: tcp.dropped(n, c)
                continue
            netns, device = {"queue": (TX, "v-tx"), "router queue": (router, "v-r1"),
                             "ingress": (RX, "v-rx")}[cause]
            spoil(netns, device, cause)
            shown[cause] = ("tc_ingress" if cause == "ingress" else "qdisc",
                           lambda n=netns, d=device: (tcp.queue_drops(n, d), 0))
        shown["refused"] = "tcp_state", lambda: (tcp.refused_by_tcp(TX) + tcp.refused_by_tcp(RX), 0)
        return shown

    def connect(self, listener):
        """A client and what the server has of it."""
        far = self.role == "server"
        with inside(RX if far else TX):
            client = socket.socket(socket.AF_INET if self.version == 4 else socket.AF_INET6)
        near = "198.18.0.1" if self.version == 4 else "2001:2::1"
        client.connect((near if far else self.address(), PORT))
        pair = client, listener.accept()[0]
        for sock in pair:
            sock.settimeout(60 * PATIENCE)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, self.control.encode())
        return pair

    def senders(self, pair):
        return {"client": pair[:1], "server": pair[1:], "both": pair}[self.role]

    def assert_losses(self, found, lost, shown, before):
        """What rules and queues counted was sent again, or not yet, or as new."""
        known = {stage for stage, _ in shown.values()}
        refused = shown["refused"][1]()[0] - before["refused"][0]
        assert set(found) <= known and found.get("tcp_state", 0) <= refused, (
            known, refused, lost)
        if self.begun == "busy":
            return
        most = {stage: 0 for stage in known}
        least = dict(most)
        segment = self.mtu - tcp.HEADERS[self.version]
        for cause, (stage, count) in shown.items():
            packets, length = (b - a for a, b in zip(before[cause], count()))
            if cause in ("acks", "refused"):
                continue
            if self.offloads == "off" or not length:
                least[stage] += packets
                most[stage] += packets if self.offloads == "off" else 1 << 40
            else:
                length -= packets * tcp.HEADERS[self.version]
                least[stage] += -(-length // segment)
                most[stage] += length // segment + packets
        for stage in known - {"tcp_state"}:
            n = found.get(stage, 0)
            acks = stage == "qdisc" and self.role == "both"  # which are dropped there, too
            # a copy that nobody needed is dropped, too, and not sent again
            assert (acks or n + lost["not_resent"] + lost["spurious"] >= least[stage]) and n <= most[stage], (
                stage, least, most, tcp.brief(lost))
        if self.offloads == "off" and self.role != "both":
            more = sum(found.values()) + lost["not_resent"] - sum(least.values())
            assert -lost["spurious"] <= more <= refused, (refused, least, tcp.brief(lost))

    def run(self):
        with self.lab(), contextlib.ExitStack() as stack:
            for netns, device in [(TX, "v-tx"), (RX, "v-rx")] + [
                    (TX[:-2] + "router", f"v-r{i}") for i in (0, 1) if self.topology == "router"]:
                do(netns, "ip", "link", "set", device, "mtu", str(self.mtu))
            tcp.offloads(self.offloads)
            with inside(TX if self.role == "server" else RX):
                listener = stack.enter_context(socket.create_server(
                    ("::", PORT), family=socket.AF_INET6, dualstack_ipv6=True, backlog=64))
            shown = self.lose()
            pairs, work = [], []
            pool = stack.enter_context(ThreadPoolExecutor(4 * self.connections))
            ended = threading.Event()
            stack.callback(ended.set)

            def connect():
                for _ in range(self.connections):
                    pairs.append(self.connect(listener))
                    for sock in pairs[-1]:
                        stack.callback(sock.close)
                        work.append(pool.submit(tcp.drain, sock))

            def truth():
                return [sum(n) for n in zip(*(tcp.info(sock) for pair in pairs for sock in pair))]

            def settle():
                until(lambda: not any(tcp.unacknowledged(sock) for pair in pairs for sock in pair),
                      60, "all is acknowledged")

            def send():
                for pair in pairs:
                    for sock in pair:
                        if sock in self.senders(pair):
                            work.append(pool.submit(tcp.feed, sock, self.size,
                                                    ended if busy else None))
                        else:
                            sock.shutdown(socket.SHUT_WR)

            busy = self.begun == "busy"
            if self.begun != "before":
                connect()
                for pair in pairs:
                    for sock in self.senders(pair):
                        sock.sendall(bytes(self.size // 2))
                settle()
            if busy:
                send()
            before = {cause: count() for cause, (_, count) in shown.items()}
            sent, again = truth() if pairs else [0, 0, 0], tcp.resent(TX) + tcp.resent(RX)
            with tcp.balancing() as t:
                inner = truth() if pairs else sent
                if self.begun == "before":
                    connect()
                if busy:
                    time.sleep(0.3)  # connections send while it is traced
                    if self.closed:
                        ended.set()
                else:
                    send()
                if not busy or self.closed:
                    for job in work:
                        job.result(60 * PATIENCE)
                    settle()
                last = truth()
                inner = [b - a for a, b in zip(inner, last)]
                if self.closed:
                    for pair in pairs:
                        for sock in pair:
                            sock.close()
                document = t.stop()
            outer = [b - a for a, b in zip(sent, last if self.closed else truth())]
            again = tcp.resent(TX) + tcp.resent(RX) - again
            self.judge(document, inner, outer, again, shown, before)

    def judge(self, document, inner, outer, again, *shown):
        found = document["end"]["tcp"]
        text = tcp.brief(found)
        busy = self.begun == "busy"
        # three tasks that interrupt each other miss something in a slow guest, which it counts
        hidden = found["missed"]["recursion_misses"] if busy else 0
        if busy and tcp.suppressed(document):  # of so much traffic always something
            hidden += found["retransmitted"] // 20
        tcp.look_for_hidden(document, hidden, self.mtu)
        tcp.assert_sums(found, hidden, self.mtu)
        moved = found["bytes"]
        counted = [found["data_segs_out"], moved["sent"], moved["retransmitted"]]
        assert all(a <= n <= b for a, n, b in zip(inner, counted, outer)), (inner, outer, text)
        assert not found["downstream"], text
        assert sum(row["segments"] for row in found["undecided_why"]
                   if not busy or row["why"] not in ("late", "open")) <= hidden, text
        if not busy:
            assert document["end"]["balanced"] == found["balanced"] == (not found["undecided"]), text
            senders = self.connections * (2 if self.role == "both" else 1)
            assert moved["new"] == senders * self.size, text
            assert found["retransmitted"] == again, (again, text)
        lost = {}
        for rows in "stages", "rejected_locally_stages":
            for stage, n in tcp.stages(found, rows).items():
                lost[stage] = lost.get(stage, 0) + n
        self.assert_losses(lost, found, *shown)


@table(scenes(Tcp, 3, 300))
@tcp.where_seen
def tcp_scene(s):
    s.run()


if __name__ == "__main__":
    main()
