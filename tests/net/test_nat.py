#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Flows that NAT renames on this host, for `trace` and its balance: what sockets got and rules
counted is the truth."""

import contextlib
import socket
import struct
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from ends import PORT, datagram, inside, nft, nft_counters, read_all, repeating, tun, udp
from lib import first, first_finding, main, pktledger, proves, table, thorough
from test_balance import EXPR, assert_balance, balancing
from test_others import BOTH, family_of, patient
from traced import NAME, RX, TX, V4, V6, assert_only, lab, send, tracing

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


def at(address, port):
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


# What becomes of packets behind the translation: each returns the reader and the stage


@contextlib.contextmanager
def all_read(address):
    with patient(family_of(address), NEW) as sock:
        yield sock, None


@contextlib.contextmanager
def small_buffer(address):
    with udp(RX, family_of(address), ("", NEW), rcvbuf=5000) as sock:
        yield sock, "rcvbuf"


@contextlib.contextmanager
def nobody(_):
    yield None, "udp_lookup"


@contextlib.contextmanager
def rule_in_input(address):
    nft(RX, f"table {ruleset(address)} f {{ chain c {{ type filter hook input priority 0; "
            f"udp dport {NEW} numgen inc mod 5 0 counter drop; }}; }}")
    with patient(family_of(address), NEW) as sock:
        yield sock, "netfilter"


@contextlib.contextmanager
def unread(address):
    """The socket is closed with all that came."""
    with patient(family_of(address), NEW) as sock:
        yield sock, "socket_close"


FATES = [(what.__name__.replace("_", " "), what) for what in
         (all_read, small_buffer, nobody, rule_in_input, unread)]
EACH = [(f"{name}, {family}", fate, address) for name, fate in FATES for family, address in BOTH]


def traffic(sock, stage, to, port=PORT):
    """Returns what was sent and what was received."""
    sent = sum(send(to, 100, port=port) for _ in range(SENT // 100))
    if stage == "socket_close":
        sock.close()
        time.sleep(0.2)
        return sent, 0
    return sent, read_all(sock) if sock else 0


def assert_flow(document, sent, received, stage):
    lost = {stage: sent - received} if stage else {}
    end = assert_balance(document, sent, received, **lost)
    assert end["verdict"] == ("this_host" if stage else "none_seen"), end["verdict"]
    assert received < sent if stage else received == sent, (sent, received)
    return end


@table(first(1, EACH))
def redirected(fate, address):
    with lab(), fate(address) as (sock, stage):
        redirect(address)
        with balancing(EXPR) as t:
            sent, received = traffic(sock, stage, address)
            end = assert_flow(t.stop(), sent, received, stage)
        assert shown(end, "destination", at(address, NEW))["datagrams"] >= received


@table(first(1, EACH[2:]))
def redirected_without_balance(fate, address):
    """Drops of what has another name by then are found by the old one."""
    with lab(), fate(address) as (sock, stage):
        redirect(address)
        with tracing(EXPR) as t:
            sent, received = traffic(sock, stage, address)
            document = t.stop()
        if stage == "netfilter":
            assert sent - received == nft_counters(RX)[None], nft_counters(RX)
        assert_only(document, stage, sent - received)


@table(first(1, EACH[1:]))
def forwarded(fate, address):
    """A port of the receiver behind the router stands for another one."""
    with lab("--topology", "router"), fate(address) as (sock, stage):
        translate(ROUTER, address, "prerouting",
                  f"udp dport {PORT} counter dnat to {at(far(address), NEW)}")
        with balancing(EXPR) as t:
            sent, received = traffic(sock, stage, far(address))
            end = assert_flow(t.stop(), sent, received, stage)
        shown(end, "destination", at(far(address), NEW))


# Other ways of NAT


@table(first(0, EACH[2:]))
def masqueraded(fate, address):
    """On the way out of the router the sender has another address."""
    source, outside = (("2001:2::1", "2001:2:0:1::fe") if ":" in address else
                       ("198.18.0.1", "198.18.1.254"))
    with lab("--topology", "router"), fate(address) as (sock, stage):
        translate(ROUTER, address, "postrouting", 'oifname "v-r1" counter masquerade')
        with balancing(f"udp dst port {NEW} and src host {source}") as t:
            sent, received = traffic(sock, stage, far(address), NEW)
            end = assert_flow(t.stop(), sent, received, stage)
        assert shown(end, "source", outside)["from"] == source, end["nat"]


@table(first(0, BOTH))
def of_this_host_itself(address):
    """Translated before it is sent, over loopback."""
    with lab(), patient(family_of(address), NEW) as sock:
        redirect(address, hook="output")
        with udp(RX, family_of(address)) as sender, balancing(EXPR) as t:
            for n in range(SENT):
                sender.sendto(b"x" * 100, (address, PORT))
                if n % 50 == 49:
                    time.sleep(0.005)
            received = read_all(sock)
            assert_flow(t.stop(), SENT, received, None)


@table(first(1, [(f"{name}, {family}", fate, address) for name, fate in FATES[1::2]
                 for family, address in BOTH]))
def only_the_new_name_is_asked_for(fate, address):
    """It enters where it is given that name."""
    with lab(), fate(address) as (sock, stage):
        redirect(address)
        with balancing(f"udp port {NEW}") as t:
            sent, received = traffic(sock, stage, address)
            assert_flow(t.stop(), sent, received, stage)


# What leads to where nobody is: `check` and `trace` name the entry, the rule and the backend


def forget_connections(netns):
    """What `conntrack -D` does, to all of them: IPCTNL_MSG_CT_DELETE without a tuple."""
    with inside(netns), socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12) as nl:
        nl.send(struct.pack("=IHHIIBBH", 20, 1 << 8 | 2, 5, 1, 0, 0, 0, 0))
        assert struct.unpack("=i", nl.recv(4096)[16:20])[0] == 0


def stale(command, stage):
    """The finding of the NAT."""
    netns = RX if (command, stage) == ("trace", "udp_lookup") else ROUTER
    document = pktledger(command, "-j", "-t", "1" if command == "check" else "4",
                         "--netns", netns).json
    found = [f for f in document["end"]["findings"] if f["id"].endswith("-dnat")]
    assert len(found) == 1 and found[0]["netns"] == ROUTER, document["end"]["findings"]
    first_finding(document["end"]["findings"])
    return found[0]


@table(first(1, [(f"{kind}, {command}, {family}", kind, command, address, [id])
                 for kind, id in (("silent", "neigh-dnat"), ("closed", "udp-lookup-dnat"))
                 for command in ("check", "trace")
                 for family, address in BOTH]))
@proves()
def dead_backend(kind, command, address, ids):
    """Behind a new rule the old entry still leads there; deleted, all is well."""
    vip, gone = ("2001:2:0:1::c8", "2001:2:0:1::4d") if ":" in address else ("198.18.1.200",
                                                                             "198.18.1.77")
    backend, stage = (gone, "neigh") if kind == "silent" else (far(address), "udp_lookup")
    with lab("--topology", "router"), patient(family_of(address), NEW + 1) as sock, \
            udp(TX, family_of(address)) as sender:
        rule = f"udp dport {PORT} counter dnat to "
        translate(ROUTER, address, "prerouting", rule + at(backend, NEW))
        with repeating(0.05, lambda: sender.sendto(b"x" * 100, (vip, PORT))):
            time.sleep(0.5)
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
            forget_connections(ROUTER)
            time.sleep(0.5)
            assert read_all(sock, 0.02) > 5


@thorough
def two_flows_of_one_socket():
    """One under its own name, of another length: only the other one was asked for."""
    with lab(), patient(port=NEW) as sock:
        redirect(V4)
        with balancing(EXPR) as t:
            for _ in range(5):
                send(V4, 50)
                send(V4, 50, port=NEW, size=70)
            assert read_all(sock) == 500
            assert_balance(t.stop(), 250, 250)


@thorough
def from_outside_with_replies():
    """By a device whose other end is no part of the host; the replies have the old name again."""
    with lab(), tun(RX) as device, patient(port=NEW) as sock:
        redirect(V4)
        with balancing(EXPR) as t:
            for n in range(300):
                device.write(datagram(PORT, b"x" * 100))
                if n % 50 == 49:
                    time.sleep(0.01)
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
def five_rounds():
    for _ in range(5):
        redirected(all_read, V4)
        redirected(all_read, V6)


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
