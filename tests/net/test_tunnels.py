#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`trace --inner` and its balance: flows in tunnels. What sockets got, and rules and queues on the
tunnel's own packets counted, is the truth."""

import socket
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from ends import PORT, await_reassembly, do, drop, family_of, ip4, nft_counters, raw, read_all, sysctl, udp
from lib import assert_findings, case, first, main, proves, table, thorough
from test_balance import EXPR, assert_balance, balancing
from test_others import patient
from traced import RX, TX, V4, V6, assert_only, lab, send, tracing

VNI = 28779  # of the lab, whose outer addresses are V4
VXLAN, GENEVE = 4789, 6081
FAR4, FAR6 = "198.18.3.2", "2001:2:0:3::2"  # the receiver, in the tunnel
BOTH = [("IPv6", FAR6), ("IPv4", FAR4)]
SENT = 500


def drop_outer(netns=RX, hook="input"):
    """Every fifth packet of the tunnel."""
    drop(netns, hook, f"udp dport {VXLAN} numgen inc mod 5 0", "ip")


# VXLAN: the tunnel's packets are lost, or what comes out of it


@table(first(1, BOTH))
def outer_dropped(address):
    """Only what EXPR says: the other flow dies beside it, and is in none of the rows."""
    with lab("--topology", "vxlan"), patient(family_of(address)) as sock:
        drop_outer()
        with tracing("--inner", "--by", "flow,reason", EXPR) as t:
            for _ in range(SENT // 100):
                send(address, 100)
                send(address, 50, port=PORT + 1)
            received = read_all(sock)
            document = t.stop()
        assert 0 < SENT - received < nft_counters(RX)[None], (received, nft_counters(RX))
        assert_only(document, "netfilter", SENT - received)
        flows = {c["flow"] for s in document["end"]["stages"] for c in s["causes"]}
        assert all(f"{address}" in f and f.endswith(f":{PORT} in vxlan {VNI}") for f in flows), flows


@thorough
def not_asked_for():
    """Without --inner the tunnel's packets have their own addresses only."""
    with lab("--topology", "vxlan"), patient():
        drop_outer()
        with tracing("--by", "flow", f"{EXPR} or udp dst port {VXLAN}") as t:
            send(FAR4, 100)
            t.until(nft_counters(RX)[None])
            document = t.stop()
        assert_only(document, "netfilter", nft_counters(RX)[None])
        flows = {c["flow"] for s in document["end"]["stages"] for c in s["causes"]}
        assert flows and all(f.endswith(f" > {V4}:{VXLAN}") for f in flows), flows


@table(first(1, [(f"{way}, {family}", way, address) for way in ("tunnel", "datagram")
                 for family, address in BOTH]))
def fragments(way, address):
    """Of the tunnel's packets or of the datagrams in them: one that lacks a part is lost once."""
    with lab("--topology", "vxlan"), patient(family_of(address)) as sock:
        if way == "tunnel":
            do(TX, "ip", "link", "set", "v-tx", "mtu", "700")
        part = "ip frag-off & 0x1fff > 100" if way == "tunnel" else f"udp dport {VXLAN}"
        drop(RX, "prerouting", f"{part} numgen inc mod 5 0", "ip", priority=-450)
        for name in "net/ipv4/ipfrag_time", "net/ipv6/ip6frag_time":
            sysctl(RX, name, 1)
        with balancing("--inner", EXPR) as t:
            sent = send(address, 200, size=1400 if way == "tunnel" else 3000)
            received = read_all(sock)
            await_reassembly(RX, sent - received)
            end = assert_balance(t.stop(), sent, received, netfilter=sent - received)
        gone = nft_counters(RX)[None]
        assert 0 < sent - received <= gone, (sent, received, gone)
        assert end["verdict"] == "this_host", end["verdict"]


# Tunnels of which this kernel may have no device: their bytes, sent and dropped as they are


def inner4(proto, payload):
    return ip4(proto, payload, "198.18.9.1", "198.18.9.2")


def ip6(proto, payload):
    return struct.pack("!IHBB16s16s", 6 << 28, len(payload), proto, 64,
                       socket.inet_pton(socket.AF_INET6, "2001:2:0:9::1"),
                       socket.inet_pton(socket.AF_INET6, "2001:2:0:9::2")) + payload


def datagram_to(port, version):
    payload = struct.pack("!HHHH", 1234, port, 8 + 50, 0) + b"x" * 50
    return (inner4 if version == 4 else ip6)(socket.IPPROTO_UDP, payload)


def frame(packet):
    return b"\2" * 12 + struct.pack("!H", ethertype(packet)) + packet


def ethertype(packet):
    return 0x0800 if packet[0] >> 4 == 4 else 0x86dd


def gre(packet):
    return struct.pack("!HHI", 0x2000, ethertype(packet), 42) + packet


def teb(packet):
    """A frame, with all that is optional before it."""
    return struct.pack("!HHIII", 0xb000, 0x6558, 0, 42, 1) + frame(packet)


def geneve(packet):
    return struct.pack("!BBHI", 2, 0, 0x6558, 42 << 8) + b"option!!" + frame(packet)


def ipip(packet):
    return packet


def gre_in_ipip(packet):
    return inner4(socket.IPPROTO_GRE, gre(packet))


# name, how it is put together, how it is sent, what is said of it
KINDS = [("gre", gre, socket.IPPROTO_GRE, "gre 42"), ("geneve", geneve, GENEVE, "geneve 42"),
         ("ipip", ipip, None, "ipip"), ("teb", teb, socket.IPPROTO_GRE, "gre 42"),
         ("gre in ipip", gre_in_ipip, socket.IPPROTO_IPIP, "gre 42")]


def send_bytes(to, how, payload, packets):
    """By a raw socket of this protocol, or to this port."""
    with (udp(TX, family_of(to)) if how == GENEVE else raw(TX, how, family_of(to))) as sock:
        for _ in range(packets):
            sock.sendto(payload, (to, GENEVE if how == GENEVE else 0))


@table(first(1, [(f"{name}, IPv{version} in IPv{6 if ':' in to else 4}", *row, version, to)
                 for i, (name, *row) in enumerate(KINDS)
                 for version, to in ((4, V6), (6, V4), (4, V4), (6, V6))[i % 2:]][::3]))
def by_bytes(make, how, said, version, to):
    """The receiver drops all of them; some are of the flow."""
    if how is None:
        how = socket.IPPROTO_IPIP if version == 4 else socket.IPPROTO_IPV6
    rule = f"udp dport {GENEVE}" if how == GENEVE else f"meta l4proto {how}"
    with lab():
        drop(RX, "input", rule)
        with tracing("--inner", "--by", "flow", EXPR) as t:
            send_bytes(to, how, make(datagram_to(PORT, version)), 30)
            send_bytes(to, how, make(datagram_to(PORT + 1, version)), 20)
            t.until(30)
            document = t.stop()
        assert nft_counters(RX)[None] == 50, nft_counters(RX)
        assert_only(document, "netfilter", 30)
        flows = {c["flow"] for s in document["end"]["stages"] for c in s["causes"]}
        inner = "198.18.9.2" if version == 4 else "[2001:2:0:9::2]"
        assert [f.split(" > ")[1] for f in flows] == [f"{inner}:{PORT} in {said}"], flows
        assert document["end"]["missed"]["filter_unread"] == 0, document["end"]["missed"]


@case
def port_of_a_device():
    """A VXLAN device with a port of its own makes that one known."""
    with lab():
        do(RX, "ip", "link", "add", "x", "type", "vxlan", "id", "9", "dstport", "14789", "dev",
           "v-rx")
        drop(RX, "input", "udp dport { 14789, 14790 }")
        payload = struct.pack("!II", 8 << 24, 9 << 8) + frame(datagram_to(PORT, 4))
        with tracing("--inner", EXPR) as t, udp(TX, socket.AF_INET) as sock:
            for port in 14789, 14790:
                for _ in range(20):
                    sock.sendto(payload, (V4, port))
            t.until(20)
            document = t.stop()
        assert nft_counters(RX)[None] == 40, nft_counters(RX)
        assert_only(document, "netfilter", 20)


@thorough
@proves("tx-too-big")
def larger_than_the_mtu_below():
    """The tunnel's packets have DF and no room for their headers: which device, and its MTU."""
    with lab(), tracing("--netns", TX) as t:
        do(TX, "ip", "link", "add", "x", "type", "vxlan", "id", "5", "local", "198.18.0.1", "remote",
           V4, "dstport", str(VXLAN), "df", "set")
        do(TX, "ip", "addr", "add", "198.18.9.1/24", "dev", "x")
        do(TX, "ip", "link", "set", "x", "mtu", "1500", "up")
        do(TX, "ip", "neigh", "add", "198.18.9.2", "lladdr", "2:2:2:2:2:2", "dev", "x")
        send("198.18.9.2", 1, size=1470)
        t.until(1)
        document = t.stop()
        assert_only(document, "tx_socket", 1, ifname="v-tx")
        found = assert_findings(document["end"]["findings"], "tx-too-big")
        assert found["facts"]["setting"] == "v-tx MTU 1500", found


if __name__ == "__main__":
    main()
