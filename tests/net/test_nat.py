#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Flows that NAT renames on this host, for `trace` and its balance: what sockets got and rules
counted is the truth. Losses behind each kind of NAT are in test_scenes.py."""

import contextlib
import os
import shutil
import socket
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from ends import PORT, at, datagram, do, family_of, inside, need, nft, read_all, repeating, tun, udp
from lib import PATIENCE, case, first, first_finding, main, paced, pktledger, proves, require, table, thorough
from test_balance import EXPR, assert_balance, balancing
from test_others import BOTH, patient
from traced import BROKEN, NAME, RX, TX, V4, lab, send

NEW = PORT + 3
ROUTER = f"{NAME}-router"
SENT = 500


def ruleset(address):
    return "ip6" if ":" in address else "ip"


def translate(netns, address, hook, rule):
    """A chain of type nat, with a counter."""
    priority = {"prerouting": -100, "output": -100, "input": 100, "postrouting": 100}[hook]
    nft(netns, f"table {ruleset(address)} nat {{ chain c {{ type nat hook {hook} priority "
               f"{priority}; {rule}; }}; }}")


def redirect(address, netns=RX, hook="prerouting"):
    translate(netns, address, hook, f"udp dport {PORT} counter redirect to :{NEW}")


def far(address):
    """The address of the receiver behind a router."""
    return "2001:2:0:1::2" if ":" in address else "198.18.1.2"


def shown(end, kind, to):
    found = [t for t in end["nat"] if t["kind"] == kind]
    assert [t["to"] for t in found] == [to], end["nat"]
    assert any("translated by NAT to " + to in line for line in end["rests_on"]), end["rests_on"]
    return found[0]


@table(first(0, BOTH))
def of_this_host_itself(address):
    """Translated before it is sent, over loopback."""
    with lab(), patient(family_of(address), NEW) as sock:
        redirect(address, hook="output")
        with udp(RX, family_of(address)) as sender, balancing(EXPR) as t:
            for _ in paced(SENT, 50, 0.005):
                sender.sendto(b"x" * 100, (address, PORT))
            received = read_all(sock)
            assert_balance(t.stop(), SENT, received)


# What leads to where nobody is: `check` and `trace` name the entry, the rule and the backend


def stale(command, stage):
    """The finding of the NAT."""
    netns = RX if (command, stage) == ("trace", "udp_lookup") else ROUTER
    document = pktledger(command, "-j", "-t", "1" if command == "check" else "4",
                         "--netns", netns).json
    found = [f for f in document["end"]["findings"] if f["id"].endswith("-dnat")]
    assert len(found) == 1 and found[0]["netns"] == ROUTER, document["end"]["findings"]
    first_finding(document["end"]["findings"])
    return found[0]


def bridge_without_port(backend):
    """The neighbour entry of a container that is gone is valid; another port keeps the carrier, and
    takes no frame for an unknown address."""
    network = "2001:2:0:9::1/64 nodad" if ":" in backend else "198.19.0.1/24"
    for line in ("link add b0 up type bridge", f"addr add dev b0 {network}",
                 "link add p0 master b0 up type veth peer name e0", "link set e0 up",
                 f"neigh add {backend} lladdr 02:00:00:00:00:07 dev b0 nud reachable"):
        need(ROUTER, "ip", *line.split())
    need(ROUTER, *"bridge link set dev p0 flood off".split())


@table(first(1, [(f"{kind}, {command}, {family}", kind, command, address, [id])
                 for kind, id in (("silent", "neigh-dnat"), ("closed", "udp-lookup-dnat"),
                                  ("bridge", "l2-dnat"))
                 for command in ("check", "trace")
                 for family, address in BOTH]))
@proves()
def dead_backend(kind, command, address, ids):
    """Behind a new rule the old entry still leads there; deleted, all is well."""
    vip, gone = ("2001:2:0:1::c8", "2001:2:0:1::4d") if ":" in address else ("198.18.1.200",
                                                                             "198.18.1.77")
    on_bridge = "2001:2:0:9::7" if ":" in address else "198.19.0.7"
    backend, stage = {"silent": (gone, "neigh"), "closed": (far(address), "udp_lookup"),
                      "bridge": (on_bridge, "l2")}[kind]
    require(shutil.which("conntrack"), "needs conntrack")
    with lab("--topology", "router"), patient(family_of(address), NEW + 1) as sock, \
            udp(TX, family_of(address)) as sender:
        rule = f"udp dport {PORT} counter dnat to "
        if kind == "bridge":
            bridge_without_port(backend)
        translate(ROUTER, address, "prerouting", rule + at(backend, NEW))
        with repeating(0.05, lambda: sender.sendto(b"x" * 100, (vip, PORT))):
            found = stale(command, stage)
            assert [found["id"]] == ids, found
            assert f"{at(vip, PORT)} to {at(backend, NEW)}" in found["cause"], found
            chain = f"{ruleset(address)} nat c"
            assert chain + " handle" in found["facts"]["setting"] and chain in found["fix"], found
            assert found["command"].startswith(f"ip netns exec {ROUTER} conntrack -D "), found
            assert found["command"].endswith(
                f"-p udp --orig-dst {vip} --orig-port-dst {PORT} --reply-src {backend}"), found
            nft(ROUTER, f"flush table {chain.rsplit(' ', 1)[0]}")
            nft(ROUTER, f"add rule {chain} {rule}{at(far(address), NEW + 1)}")
            found = stale(command, stage)
            assert "setting" not in found["facts"] and not read_all(sock, 0.02), found
            do(ROUTER, "conntrack", "-F")
            sock.settimeout(20 * PATIENCE)
            for _ in range(6):
                sock.recv(2000)


GONE, OWN = "198.18.0.77", f"198.19.{os.getpid() >> 8 & 255}.{os.getpid() & 255}"  # no other test has OWN
# The NAT of a flow to this destination, the port that is open at OWN, the finding, and the backend in it
TRANSLATED = [
    (f"udp dport 54 dnat to {GONE}", V4, None, None, None),
    (f"udp dport 53 dnat to {GONE}:5353", V4, None, "neigh-dnat", f"{GONE}:5353"),
    (f"tcp dport 53 dnat to {GONE}", V4, None, "neigh-dnat", f"{GONE}:53"),
    ("udp dport 53 dnat to [2001:2::77]:5353", "2001:2::2", None, "neigh-dnat", "[2001:2::77]:5353"),
    (f"dnat to udp dport map {{ 53 : {GONE} }}", V4, None, "neigh-dnat", f"{GONE}:53"),
    (f"udp dport 53 dnat to {OWN}:5353", "198.18.0.9", 5354, "udp-lookup-dnat", f"{OWN}:5353"),
    (f"udp dport 53 dnat to {OWN}:5353", "198.18.0.9", 5353, None, None),
    (f"udp dport 53 dnat to {OWN}:5354; udp dport 60-67 dnat to {OWN}:5353", V4, 5353, "udp-lookup-dnat",
     f"{OWN}:5354"),
    (f"udp dport 53 dnat to {GONE}:5353", V4, None, "ip-route-dnat", f"{GONE}:5353"),
]


def dead_ends():
    end = pktledger("check", "-j", "-t", "0.1", "--netns", TX).json["end"]
    return [f for f in end["findings"] if f["id"].endswith("-dnat")]


@contextlib.contextmanager
def translated_flow(rule, asked):
    """Among flows to other ports, and beside a rule of the same backend for another one."""
    protocol = socket.SOCK_STREAM if rule.startswith("tcp") else socket.SOCK_DGRAM
    translate(TX, asked, "output", f"{rule}; udp dport 99 dnat to {at('2001:2::77' if ':' in asked else GONE, 99)}")
    with inside(TX):
        sock = socket.socket(family_of(asked), protocol)
    with sock:
        sock.setblocking(False)
        sock.connect_ex((asked, 53))
        if protocol == socket.SOCK_DGRAM:
            sock.send(b"lost")
        for port in range(60, 68):
            send(V4, 1, port)
        yield
    do(TX, "nft", "delete", "table", ruleset(asked), "nat")
    do(TX, "conntrack", "-F")


@case
def translated_before_they_are_sent():
    """A backend is silent, closed or without a route; one that is open, or has answered, is none."""
    require(shutil.which("conntrack"), "needs conntrack")
    with lab():
        do(RX, "ip", "addr", "add", f"{OWN}/32", "dev", "v-rx")
        do(TX, "ip", "route", "add", OWN, "via", V4)
        for rule, asked, port, id, backend in TRANSLATED:
            with contextlib.ExitStack() as stack:
                receiver = port and stack.enter_context(udp(RX, socket.AF_INET, (OWN, port)))
                stack.enter_context(translated_flow(rule, asked))
                if id == "ip-route-dnat":
                    do(TX, "ip", "route", "add", "blackhole", GONE)
                found = dead_ends()
                assert [f["id"] for f in found] == ([id] if id else []), (rule, found)
                for f in found:
                    assert f"{at(asked, 53)} to {backend}" in f["cause"], f
                    assert ("v-tx" in f["cause"]) == (id == "neigh-dnat"), f
                    assert f["facts"].get("setting") == (
                        None if "map" in rule else f"rule {ruleset(asked)} nat c handle 2"), f
                    family, protocol = " -f ipv6" if ":" in asked else "", "tcp" if rule[0] == "t" else "udp"
                    assert f["command"] == (
                        f"ip netns exec {TX} conntrack -D{family} -p {protocol} --orig-dst {asked} --orig-port-dst 53 "
                        f"--reply-src {backend.rpartition(':')[0].strip('[]')}"), f
                if receiver and not found:  # answered, it may be closed
                    receiver.sendto(b"here", receiver.recvfrom(100)[1])
                    receiver.close()
                    assert not dead_ends()


@table(first(1, [("recv() does not", False), ("recvfrom() tells them apart", True)]))
def two_flows_of_one_socket(asks):
    """One under its own name: only the other one was asked for. A read without a source is undecided."""
    with lab(), patient(port=NEW) as sock:
        redirect(V4)
        with (balancing("--settle", "300ms", EXPR) as t, udp(TX, socket.AF_INET) as one,
              udp(TX, socket.AF_INET) as other):
            for _ in range(250):
                one.sendto(b"x" * 100, (V4, PORT))
                other.sendto(b"x" * 70, (V4, NEW))
            sock.settimeout(20 * PATIENCE)
            for _ in range(500):
                sock.recvfrom(100) if asks else sock.recv(100)
            document = t.stop()
        if asks:
            assert_balance(document, 250, 250)
            return
        end = document["end"]
        assert t.process.returncode == BROKEN and end["verdict"] == "unknown", end
        assert end["arrived"] == end["unaccounted"] == 250 and not end["delivered"], end
        assert any("did not ask for the source" in line for line in end["rests_on"]), end["rests_on"]


@case
def two_flows_of_one_sender():
    """Both use one source port. After NAT, the flow of EXPR has the tuple of the other flow."""
    with lab(), patient(port=NEW) as sock, udp(TX, socket.AF_INET) as sender:
        redirect(V4)
        with balancing("--settle", "300ms", EXPR) as t:
            for port in [PORT, NEW] * 50:
                sender.sendto(b"x" * 100, (V4, port))
            sock.settimeout(20 * PATIENCE)
            for _ in range(100):
                sock.recvfrom(100)
            end = t.stop()["end"]
        assert end["arrived"] == end["delivered"] + end["unaccounted"] == 50, end  # undecided reads deliver nothing
        assert not end["unaccounted"] or any("have the same one" in line for line in end["rests_on"]), end["rests_on"]
        assert [(n["kind"], n["datagrams"]) for n in end["nat"]] == [("destination", 50)], end["nat"]


@thorough
def from_outside_with_replies():
    """By a device whose other end is no part of the host; the replies have the old name again."""
    with lab(), tun(RX) as device, patient(port=NEW) as sock:
        redirect(V4)
        with balancing(EXPR) as t:
            for _ in paced(300, 50, 0.01):
                device.write(datagram(PORT, b"x" * 100))
            received = 0
            sock.settimeout(0.3)
            with contextlib.suppress(TimeoutError):
                while True:
                    _, who = sock.recvfrom(2000)
                    received += 1
                    sock.sendto(b"reply", who)
            replies = 0
            with contextlib.suppress(BlockingIOError):
                while packet := device.read(2000):
                    replies += packet[0] >> 4 == 4 and packet[20:22] == PORT.to_bytes(2, "big")
            end = assert_balance(t.stop(), 300, 300)
        assert (received, replies) == (300, 300), (received, replies)
        assert shown(end, "destination", f"198.18.5.1:{NEW}")["datagrams"] == 600, end["nat"]


@thorough
def two_tracers():
    """Each has a program of its own at the same hook."""
    with lab(), patient(port=NEW) as sock:
        redirect(V4)
        with balancing(EXPR) as t, balancing(EXPR) as other:
            assert send(V4, 100) == read_all(sock) == 100
            assert_balance(t.stop(), 100, 100)
            assert_balance(other.stop(), 100, 100)


if __name__ == "__main__":
    main()
