#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Flows that NAT renames on this host, for `trace` and its balance: what sockets got and rules
counted is the truth. Losses behind each kind of NAT are in test_scenes.py."""

import contextlib
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from ends import PORT, at, datagram, do, family_of, need, nft, read_all, repeating, tun, udp
from lib import PATIENCE, first, first_finding, main, paced, pktledger, proves, require, table, thorough
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


@table([("recvfrom() tells them apart", True), ("recv() does not", False)])
def two_flows_of_one_socket(asks):
    """One under its own name: only the other one was asked for. A read without a source is undecided."""
    with lab(), patient(port=NEW) as sock:
        redirect(V4)
        with balancing("--settle", "300ms", EXPR) as t:
            for _ in range(5):
                send(V4, 50)
                send(V4, 50, port=NEW, size=70)
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
