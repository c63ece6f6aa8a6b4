#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Ledgers of `trace --balance` of TCP of several hosts, joined by `report`. Hosts are namespaces, to
each of which the others are strangers; nft's counters on the way are the truth."""

import contextlib
import json
import os
import random
import signal
import socket
import struct
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import ends
from ends import PORT, do, inside, nft, nft_counters, stolen, sysctl, xdp
from labs import Hosts
from lib import (PATIENCE, assert_valid, first, main, paced, pktledger, require, started,
                 table, thorough, until)
from test_balance import NETS, past_the_entry
from test_random import scenes, spoil
from test_tcp import (DATA, EXPR, Hidden, connect, dropped, look_for_hidden, offloads, queue_drops, read_to_the_end,
                      refusal, resent, rule, server, transfer, unacknowledged, where_seen)
from traced import BROKEN, NAME, RX, TX, lab

ROUTER = f"{NAME}-router"
FAR = {4: "198.18.1.2", 6: "2001:2:0:1::2"}  # the receiver behind the router
SIZE = 1000000


class Ledgers:
    """Of some hosts, kept while the block runs; names of hosts are their namespaces."""

    def __init__(self, *hosts, expr=EXPR):
        require(not refusal(), refusal())
        self.hosts, self.expr = hosts, expr
        self.stack = contextlib.ExitStack()
        self.files, self.running = {}, []

    def __enter__(self):
        self.directory = self.stack.enter_context(tempfile.TemporaryDirectory(prefix="pl-test-"))
        for host in self.hosts:
            self.begin(host)
        return self

    def begin(self, host):
        self.files[host] = os.path.join(self.directory, f"{host}-{len(self.files)}")
        process = self.stack.enter_context(started(
            "trace", "--balance", "-t", f"{int(60 * PATIENCE)}s", "--netns", host, "--ledger",
            self.files[host], self.expr))
        self.running.append(process)
        while "tracing" not in (line := process.stderr.readline()):
            assert line, process.wait()

    def end(self):
        for process in self.running:
            process.send_signal(signal.SIGINT)
        for process in self.running:
            _, err = process.communicate(timeout=30 * PATIENCE)
            assert process.returncode in (0, BROKEN), (process.returncode, err)
        self.running = []

    def report(self, *options, hosts=None):
        return pktledger("report", "--join", *options, *(self.files[h] for h in hosts or self.hosts))

    def joined(self, status=0, sender=TX, missing_ok=False, **options):
        """What the others know of the sender; the whole document, too."""
        self.end()
        result = self.report("-j", **options)
        document = json.loads(result.out)
        assert_valid(document)
        for d in document["documents"]:
            look_for_hidden(d)
            if d["end"]["tcp"]["missed"]["recursion_misses"]:
                raise Hidden(json.dumps(d["end"]["tcp"]["missed"]))
        own, = (d for d in document["documents"] if d["start"]["filter"]["netns"] == sender)
        found = own.get("joined")
        if missing_ok and not found:
            return None, document
        tcp = own["end"]["tcp"]
        # the sender proves by itself what came though the next one never left it
        # and of those that a timer sent again it is the others that know
        by_timer = sum(row["segments"] for row in tcp["undecided_why"] if row["why"] == "no_dsack")
        told = tcp["spurious"] + by_timer + sum(b["segments"] for b in tcp["downstream"])
        proven = told - found["segments"]
        assert 0 <= proven <= tcp["not_resent"] + tcp["ack_lost"], (proven, tcp)
        found["told_not_lost"], found["proven"] = tcp["spurious"] - proven, proven
        if {"unseen"} & {row["why"] for row in found["undecided_why"]}:
            raise Hidden(json.dumps(found))
        assert_sums(found)
        assert result.status == status, (result, found)
        return found, document

    def __exit__(self, *error):
        return self.stack.__exit__(*error)


def assert_sums(joined):
    wire = sum(row["segments"] + row["doubtful"] for row in joined["wire"])
    lost = sum(row["segments"] for row in joined["lost"])
    undecided = sum(row["segments"] for row in joined["undecided_why"])
    text = json.dumps(joined)
    assert undecided == joined["undecided"] + joined["unjoined"], text
    assert joined["segments"] == wire + lost + joined["spurious"] + undecided, text
    if joined["all_flows"] <= 16:
        for key, total in ("lost", lost), ("wire", wire), ("spurious", joined["spurious"]):
            assert sum(flow[key] for flow in joined["flows"]) == total, text


def assert_joined(joined, wire=None, lost=None, spurious=None, undecided=0):
    """`wire`: by (from, to); `lost`: by (host, stage). On a busy host TCP also sends again what is not
    lost; its sender knows of most of that by DSACK."""
    text = json.dumps(joined)
    assert {(r["from"], r["to"]): r["segments"] for r in joined["wire"]} == (wire or {}), (wire, text)
    assert {(r["host"], r["stage"]): r["segments"] for r in joined["lost"]} == (lost or {}), (lost,
                                                                                              text)
    assert joined["undecided"] == undecided, text
    assert joined["spurious"] == (max(joined["told_not_lost"], joined["spurious"])
                                  if spurious is None else spurious), text


def packets(netns):
    return dropped(netns)[0]


def singly():
    """An skb is a segment everywhere, which rules count."""
    offloads("off")
    for device in "v-r0", "v-r1":
        do(ROUTER, "ethtool", "-K", device, "tso", "off", "gso", "off", "gro", "off")


def some(counts):
    """Those that are not 0."""
    return {key: n for key, n in counts.items() if n}


def lose_between_and_there():
    nft(ROUTER, rule("forward", DATA, 50))
    nft(RX, rule("input", DATA, 70))


def lost_between_and_there():
    """By the router, and by the receiver, as assert_joined() takes it."""
    lost = {(TX, RX): packets(ROUTER)}, {(RX, "netfilter"): packets(RX)}
    assert packets(ROUTER) and packets(RX), lost
    return lost


@table([(f"IPv{version}, {control}", version, control)
        for version, control in first(0, [(6, "bbr"), (4, "cubic"), (4, "bbr"), (6, "cubic")])])
@where_seen
def between_and_there(version, control):
    """A router loses, the receiver, and the sender, of which nobody else knows."""
    with lab("--topology", "router"), server():
        singly()
        lose_between_and_there()
        nft(TX, rule("output", DATA, 90))
        with Ledgers(TX, RX) as l:
            transfer(FAR[version], SIZE, control)
            joined, document = l.joined()
        lost = lost_between_and_there()
    assert_joined(joined, *lost)
    assert joined["balanced"] and joined["unjoined"] == 0, joined
    tcp = document["documents"][0]["end"]["tcp"]
    assert tcp["rejected_locally"] > 0 and "joined" not in document["documents"][1], tcp


@contextlib.contextmanager
def all_lost(expression, name="lost"):
    """On the router, while the block runs; yields what reads how many. The counter outlives its rule:
    nothing is lost behind the last reading."""
    counted = []

    def lost():
        return counted[0] if counted else nft_counters(ROUTER)[name]

    nft(ROUTER, f"table inet {name} {{\n counter {name} {{}}\n"
        f" chain c {{\n type filter hook forward priority 0\n {expression} counter name {name} drop\n}}\n}}\n")
    try:
        yield lost
    finally:
        do(ROUTER, "nft", "flush", "chain", "inet", name, "c")
        counted.append(lost())
        do(ROUTER, "nft", "delete", "table", "inet", name)


@table(first(0, [("SYN", "dport"), ("its answer", "sport")]))
@where_seen
def lost_while_it_connects(end):
    """What nothing follows leaves no hole."""
    with lab("--topology", "router"), server(), Ledgers(TX, RX) as l:
        with inside(TX):
            sock = socket.socket()
        with sock:
            sock.setblocking(False)
            with all_lost(f"tcp {end} {PORT}") as lost:
                sock.connect_ex((FAR[4], PORT))
                until(lost, 10, "the first segment is lost")
            sock.settimeout(20 * PATIENCE)
            until(lambda: not sock.connect_ex((FAR[4], PORT)), 10, "the connection")
            read_to_the_end(sock)
        again = resent(TX)
        joined, _ = l.joined()
    if end == "dport":
        assert again > 0 and lost() == again, (lost(), again)
        assert_joined(joined, {(TX, RX): again})
    else:
        assert_joined(joined, spurious=again)


@thorough
@where_seen
def the_last_one_stays_at_its_sender():
    """It does not hear that a segment has come, and what it sends again does not leave it: behind one
    that was lost on the router, and behind none."""
    stayed = 0
    with lab("--topology", "router"), contextlib.ExitStack() as stack:
        with inside(RX):
            listener = stack.enter_context(socket.create_server(("", PORT)))
        l = stack.enter_context(Ledgers(TX, RX))
        with inside(TX):
            sock = stack.enter_context(socket.create_connection((FAR[4], PORT)))
        peer = stack.enter_context(listener.accept()[0])
        for is_lost in True, False:
            with all_lost(f"tcp sport {PORT}", "unheard") as unheard:
                if is_lost:
                    with all_lost(DATA) as lost:
                        sock.sendall(bytes(1000))
                        until(lost, 10, "it is lost")
                else:
                    sock.sendall(bytes(1000))
                until(unheard, 10, "it comes")
                nft(TX, rule("output", DATA, 1))
                until(lambda: packets(TX), 10, "it stays")
            peer.sendall(b"x")
            assert sock.recv(1) == b"x"
            stayed += packets(TX) - 1  # one explains the next
            do(TX, "nft", "flush", "ruleset")
        again = resent(TX)
        joined, _ = l.joined()
    assert_joined(joined, {(TX, RX): lost()}, spurious=again - lost() - stayed - joined["proven"])


@table(first(0, [("and nothing comes any more", True), ("and sent again", False)]))
@where_seen
def the_tail_is_lost(for_ever):
    with lab("--topology", "router"), contextlib.ExitStack() as stack:
        if for_ever:  # a server would wait for its client's end
            with inside(RX):
                stack.enter_context(socket.create_server(("", PORT)))
        else:
            stack.enter_context(server())
        l = stack.enter_context(Ledgers(TX, RX))
        with connect(FAR[4]) as sock:
            sock.settimeout(20 * PATIENCE)
            sock.sendall(bytes(3000))
            until(lambda: not unacknowledged(sock), 10, "all is there")
            with all_lost(f"tcp dport {PORT}") as lost:
                sock.sendall(bytes(1000))
                until(lambda: lost() > 2, 10, "two retransmissions")
                if for_ever:
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    sock.close()
            if not for_ever:
                read_to_the_end(sock)
        again = resent(TX)
        time.sleep(0.5)  # nothing more arrives
        joined, _ = l.joined()
    gone = lost() - 2 * for_ever  # the last transmission and the reset were lost, too
    # a slow host also sends again what has just arrived
    assert gone > 0 and (again == gone if for_ever else again >= gone), (lost(), again)
    assert_joined(joined, {(TX, RX): gone}, spurious=again - gone)


@table(first(1, [("by native XDP", True), ("without an event", False)]))
@where_seen
def lost_there(native):
    """Native XDP is before the entry where others are counted. Of what no event shows it is not said that
    it was lost on the wire, nor that it has arrived twice."""
    with lab("--topology", "router"), server(), Ledgers(TX, RX) as l:
        with connect(FAR[4]) as sock:
            with (xdp(RX, "v-rx", ends.verdict(ends.XDP_DROP), ends.XDP_NATIVE) if native
                  else stolen(RX, "v-rx")):
                sock.sendall(bytes(1000))
                until(lambda: resent(TX), 10, "a retransmission")
            read_to_the_end(sock)
        again = resent(TX)
        joined, _ = l.joined(0 if native else BROKEN)
    assert again > 0
    if native:
        assert_joined(joined, lost={(RX, "xdp"): again})
    else:
        assert_joined(joined, spurious=0, undecided=again)
        assert [row["why"] for row in joined["undecided_why"]] == ["no_event"], joined


@thorough
@where_seen
def shaped_on_its_way_in():
    """An ifb gives packets back to their device, to which they have not come twice."""
    with lab("--topology", "router"), server():
        do(RX, "ip", "link", "add", "ifb0", "type", "ifb")
        do(RX, "ip", "link", "set", "ifb0", "up")
        singly()
        lose_between_and_there()
        with inside(RX):
            to_ifb = ends.redirect(socket.if_nametoindex("ifb0"))
        with ends.tcx(RX, "v-rx", to_ifb), Ledgers(TX, RX) as l:
            transfer(FAR[4], SIZE)
            joined, _ = l.joined()
        through = ends.link(RX, "ifb0")
        lost = lost_between_and_there()
    assert through["tx"]["packets"] > 100, through
    assert_joined(joined, *lost)


@contextlib.contextmanager
def chain(names):
    """Namespaces one behind the other, by veth; yields the address of the last."""
    names = [f"{NAME}-{name}" for name in names]
    Hosts.ips(*(f"netns add {name}" for name in names))
    try:
        for name in names:
            sysctl(name, "net/ipv4/ip_forward", 1)
            Hosts.ips("link set lo up", netns=name)
        for i, (here, there) in enumerate(zip(names, names[1:])):
            Hosts.ips(f"link add right type veth peer name left netns {there}", netns=here)
            for netns, device, host in (here, "right", 1), (there, "left", 2):
                Hosts.ips(f"addr add 198.18.{20 + i}.{host}/24 dev {device}",
                          f"link set {device} gso_max_segs 1 up", netns=netns)
                do(netns, "ethtool", "-K", device, "tso", "off", "gso", "off", "gro", "off")
        for i, name in enumerate(names):
            via = f"198.18.{20 + i}.2" if i < len(names) / 2 else f"198.18.{19 + i}.1"
            Hosts.ips(f"route add default via {via}", netns=name)
        yield f"198.18.{20 + len(names) - 2}.2"
    finally:
        Hosts.ips(*(f"netns del {name}" for name in names))


@table(first(1, [("first", ["tx", "m", "r", "rx"]), ("second", ["tx", "r", "m", "rx"])]))
@where_seen
def three_hosts(names):
    """A router with a ledger, and one without before or behind it."""
    lossy, router = f"{NAME}-m", f"{NAME}-r"
    with chain(names) as address, server():
        for netns, hook, every in (lossy, "forward", 50), (router, "forward", 60), (RX, "input", 70):
            nft(netns, rule(hook, DATA, every))
        with Ledgers(router, TX, RX) as l:
            transfer(address, SIZE)
            joined, _ = l.joined()
            two, _ = l.joined(hosts=(RX, TX))
        lost = {netns: packets(netns) for netns in (lossy, router, RX)}
    assert all(lost.values()), lost
    wire = (TX, router) if names[1] == "m" else (router, RX)
    assert_joined(joined, {wire: lost[lossy]},
                  {(router, "netfilter"): lost[router], (RX, "netfilter"): lost[RX]})
    assert [stop["host"] for stop in joined["flows"][0]["way"]] == [router, RX], joined
    assert_joined(two, {(TX, RX): lost[lossy] + lost[router]}, {(RX, "netfilter"): lost[RX]})


@table(first(0, [
    ("source", "src", "postrouting priority 100", 'oifname "v-r1" masquerade', FAR[4]),
    ("destination", "dst", "prerouting priority -100", f"tcp dport {PORT} dnat to {FAR[4]}", "198.18.77.7"),
]))
@where_seen
def renamed_on_the_way(changed, hook, what, address):
    """It is known by where it begins, and by the end that keeps its name."""
    with lab("--topology", "router"), server():
        way = json.loads(do(TX, "ip", "-j", "route", "get", FAR[4]))[0]
        do(TX, "ip", "route", "add", "198.18.77.0/24", "via", way["gateway"])
        singly()
        lose_between_and_there()
        nft(ROUTER, f"table ip n {{\n chain c {{\n type nat hook {hook}\n {what}\n }}\n}}\n")
        with Ledgers(TX, RX) as l:
            transfer(address, SIZE)
            joined, _ = l.joined()
        lost = lost_between_and_there()
    assert_joined(joined, *lost)
    flow, = joined["flows"]
    assert joined["renamed_flows"] == 1 and flow["way"][0]["host"] == RX, joined
    kept = {"src": "dst", "dst": "src"}[changed]
    assert flow["way"][0][kept] == flow[kept] and flow["way"][0][changed] != flow[changed], flow


@thorough
@where_seen
def one_of_several_receivers():
    """What went to others is not joined, and no fault of this join."""
    with lab("--topology", "router"), server(), server(ROUTER):
        singly()
        near = json.loads(do(TX, "ip", "-j", "route", "get", FAR[4]))[0]["gateway"]
        nft(ROUTER, rule("forward", DATA, 50) + rule("input", DATA, 40))
        with Ledgers(TX, RX) as l:
            transfer(FAR[4], SIZE)
            wire = packets(ROUTER)
            transfer(near, SIZE)
            joined, _ = l.joined()
        lost = packets(ROUTER)
    assert_joined(joined, {(TX, RX): wire})
    assert joined["unjoined"] == lost - wire > 0, (joined, lost, wire)
    assert [row["why"] for row in joined["undecided_why"]] == ["elsewhere"], joined
    assert sorted(flow["unjoined"] or "" for flow in joined["flows"]) == ["", "elsewhere"], joined


@table(first(0, [("both", (TX, RX)), ("the receiver's", (RX,)), ("the sender's", (TX,))]))
@where_seen
def begun_in_the_middle(late):
    """Of a connection that was there before a ledger was."""
    early = [host for host in (TX, RX) if host not in late]
    with lab("--topology", "router"), server():
        singly()
        with Ledgers(*early) as l:
            with connect(FAR[4]) as sock:
                sock.sendall(bytes(300000))
                until(lambda: not unacknowledged(sock), 20, "all is there")
                l.hosts = (TX, RX)
                # a slow host sends again what is not lost: of that, which came unseen, nothing is known
                unseen = resent(TX) if late == (RX,) else 0
                for host in late:
                    l.begin(host)
                lose_between_and_there()
                for _ in paced(50, pause=0.002):
                    sock.sendall(bytes(20000))
                read_to_the_end(sock)
            joined, _ = l.joined(BROKEN if unseen else 0)
        wire, there = lost_between_and_there()
    assert_joined(joined, wire, there, undecided=unseen,
                  spurious=joined["segments"] - wire[TX, RX] - there[RX, "netfilter"] - unseen)


@table(first(0, NETS))
@where_seen
def arrivals_that_no_tracepoint_shows(net):
    """The receiver's device is on another namespace's device, so nothing is seen to enter; what it drops is told.
    Nothing is said of what was sent again: no other host saw it, or else records of a busy host were lost."""
    with past_the_entry(net, "macvlan") as (inner, to), server(inner):
        offloads("off")
        do(inner, "ip", "link", "set", "in", "gso_max_segs", "1")
        nft(inner, rule("input", DATA, 20))
        with Ledgers(TX, inner) as l:
            transfer(to, SIZE)
            l.end()
            text, joined = l.report(), l.report("-j")
        lost = packets(inner)
    ends_of = [d["end"]["tcp"] for d in joined.json["documents"]]
    for end in ends_of:
        look_for_hidden({"start": joined.json["documents"][0]["start"], "end": {"tcp": end}})
    assert ends_of[1]["received"] == lost > 0, (lost, ends_of[1])
    assert f"{lost} TCP segments lost on {inner}, on arrival" in text.out, text
    joint = joined.json["documents"][0]["joined"]
    assert {row["why"] for row in joint["undecided_why"]} <= {"elsewhere", "full"}, joint
    assert joint["unjoined"] + joint["undecided"] == joint["segments"] > 0, joint


# Random scenes


class Scene:
    """What is lost where; PKTLEDGER_SEED and PKTLEDGER_SCENES as in test_random.py."""

    def __init__(self, seed):
        pick = random.Random(seed)
        self.version = pick.choice([4, 6])
        self.control = pick.choice(["cubic", "bbr", "reno"])
        self.state = pick.choice(["on", "off"])
        self.size = pick.choice([20000, 100000, 400000])
        self.connections = pick.choice([1, 3])
        self.causes = pick.sample(["input", "ingress", "output", "queue", "forward", "router queue",
                                   "acks", "acks there"], pick.choice([1, 2, 3, 4]))
        self.every = pick.choice([7, 20, 50])

    def __str__(self):
        return (f"IPv{self.version} {self.control} {self.connections} x {self.size} offloads "
                f"{self.state}: {', '.join(self.causes)}")

    def lose(self):
        acks = f"tcp sport {PORT} tcp flags & (syn | fin) == 0x0"
        rules = {"input": (RX, "input", DATA), "output": (TX, "output", DATA),
                 "forward": (ROUTER, "forward", DATA), "acks": (ROUTER, "prerouting", acks),
                 "acks there": (RX, "output", acks)}
        for cause in self.causes:
            if cause in rules:
                netns, hook, match = rules[cause]
                nft(netns, rule(hook, match, self.every))
            else:
                spoil(*{"ingress": (RX, "v-rx"), "queue": (TX, "v-tx"), "router queue": (ROUTER, "v-r1")}[cause],
                      cause)

    def lost(self):
        """By the router, of data; and at the receiver."""
        wire = queue_drops(ROUTER, "v-r1")
        if "forward" in self.causes:
            wire += dropped(ROUTER, "tforward")[0]
        return wire, {"tc_ingress": queue_drops(RX, "v-rx"),
                      "netfilter": dropped(RX, "tinput")[0] if "input" in self.causes else 0}

    def run(self):
        with lab("--topology", "router"), server():
            if self.state == "off":
                singly()
            self.lose()
            with Ledgers(TX, RX) as l:
                transfer(FAR[self.version], self.size, self.control, self.connections)
                joined, _ = l.joined(missing_ok=True)
            wire, there = self.lost()
        if not joined:
            assert not wire and not any(there.values()), (wire, there)
            return
        assert joined["undecided"] == joined["unjoined"] == 0, joined
        found = sum(row["segments"] for row in joined["wire"])
        at = {row["stage"]: row["segments"] for row in joined["lost"]}
        if self.state == "off":
            assert (found, at) == (wire, some(there)), (wire, there, joined)
        else:  # a packet may be several segments
            assert found >= wire and bool(found) == bool(wire), (wire, joined)
            assert at.keys() == some(there).keys(), (there, joined)


@table(scenes(Scene, 0, 60))
@where_seen
def scene(one):
    one.run()


if __name__ == "__main__":
    main()
