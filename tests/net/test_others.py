#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`trace` and `trace --balance` of flows that pktledger did not send: what sockets got and rules
counted is the truth."""

import contextlib
import json
import os
import shutil
import socket
import struct
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import ends
from ends import (PORT, SO_RCVBUFFORCE, XDP_DROP, XDP_GENERIC, assert_read, await_reassembly, capture_statistics,
                  checksum, counter, datagram, drop, family_of, ip4, mac_of, need, nft_counters, raw, read_all, syns,
                  sysctl, tun, udp, xdp)
from lib import (KERNEL, case, exclusive_rows, first, main, observed, paced, pktledger, require, skip, started,
                 table, thorough, until)
from test_balance import EXPR, assert_balance, balancing, lost
from traced import NAME, RX, TX, V4, V6, assert_only, lab, send, tracing

IPV6_HOPOPTS, IPV6_DSTOPTS = 54, 59
TCP_MD5SIG = 14
XDP_PASS, XDP_TX = 2, 3
SEEN = 300


def patient(family=socket.AF_INET, port=PORT, netns=RX):
    """A socket with room for all that comes."""
    sock = udp(netns, family, ("", port))
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 32 << 20)
    return sock


# Fragments

BOTH = [("IPv4", V4), ("IPv6", V6)]


@thorough
def fragment_that_never_came():
    """Only the first one of 20 datagrams comes to this host."""
    payload = struct.pack("!HHHH", 1234, PORT, 8 + 2000, 0) + b"x" * 1472
    with lab(), tun(RX) as device, patient() as sock:
        sysctl(RX, "net/ipv4/ipfrag_time", 1)
        with balancing(EXPR) as t:
            for n in range(20):
                device.write(ip4(socket.IPPROTO_UDP, payload, ident=n + 1, fragment=0x2000))
            for _ in range(30):
                device.write(datagram(PORT, b"x" * 100))
            assert_read(sock, 30)
            await_reassembly(RX, 20)
            end = t.stop()["end"]
        assert end["delivered"] == 30 and end["lost_before"] == 20, end
        assert end["verdict"] == "before_this_host", end["verdict"]


# Headers of IPv6


@case
def destination_options():
    with lab(), patient(socket.AF_INET6) as sock, udp(TX, socket.AF_INET6) as sender:
        sender.setsockopt(socket.IPPROTO_IPV6, IPV6_DSTOPTS, bytes([0, 0, 1, 4, 0, 0, 0, 0]))
        with balancing(EXPR) as t:
            for _ in paced(SEEN, 50, 0.01):
                sender.sendto(b"x" * 100, (V6, PORT))
            assert_read(sock, SEEN)
            assert_balance(t.stop(), SEEN, SEEN)


@case
def packet_too_big():
    """The first one dies at a router with a smaller MTU behind it; the sender cuts the others."""
    with lab("--topology", "router"), patient(socket.AF_INET6) as sock:
        need(f"{NAME}-router", *"ip link set v-r1 mtu 1400".split())
        with balancing(EXPR) as t:
            send("2001:2:0:1::2", 1, size=1440)
            until(lambda: "mtu 1400" in ends.do(TX, *"ip -6 route get 2001:2:0:1::2".split()), 10,
                  "the answer of the router")
            send("2001:2:0:1::2", 499, size=1440)
            assert_read(sock, 499)
            end = t.stop()["end"]
            assert end["arrived"] == 500 and end["delivered"] == 499, end
            assert sum(lost(end).values()) == 1 and end["balanced"], end


@case
def broadcast_that_everybody_gets():
    """The sender's own copy finds no socket: nobody wanted it."""
    with lab(), patient() as sock, udp(TX, socket.AF_INET) as sender:
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        with tracing(EXPR) as t:
            for _ in range(100):
                sender.sendto(b"x" * 100, ("198.18.0.255", PORT))
            assert_read(sock, 100)
            end = t.stop()["end"]
        assert end["dropped"] == 0, end


# Queues. From Linux 7.2 on kfree_skb says QDISC_DROP of each, and qdisc_drop has the reason.

SO_TXTIME = 61


def reason_here(*names):
    """The first that this kernel has."""
    known = pktledger("trace", "--reason", "help").out.split()
    return next((name for name in names if name in known), "")


def late(sock):
    """Sends what is to leave in 20 seconds: fq keeps nothing for longer than 10."""
    sock.setsockopt(socket.SOL_SOCKET, SO_TXTIME, struct.pack("iI", time.CLOCK_MONOTONIC, 0))
    then = struct.pack("Q", time.monotonic_ns() + 20_000_000_000)
    for _ in range(SEEN):
        sock.sendmsg([b"x" * 100], [(socket.SOL_SOCKET, SO_TXTIME, then)], 0, (V4, PORT))


@table([
    ("tbf", ["root tbf rate 1mbit burst 2k limit 4k"], ["QDISC_DROP"], None),
    ("fq, flow limit", ["root fq flow_limit 5 maxrate 1mbit"],
     ["qdisc:FLOW_LIMIT", "FQ_FLOW_LIMIT", "QDISC_DROP"], None),
    ("fq, limit", ["root fq limit 5 maxrate 1mbit"], ["qdisc:BAND_LIMIT", "FQ_BAND_LIMIT", "QDISC_DROP"], None),
    ("fq, horizon", ["root fq"], ["qdisc:HORIZON_LIMIT", "FQ_HORIZON_LIMIT", "QDISC_DROP"], late),
    ("fq_codel in a tbf", ["root handle 1: tbf rate 1mbit burst 2k limit 1m", "parent 1:1 fq_codel limit 5"],
     ["qdisc:OVERLIMIT", "QDISC_OVERLIMIT", "QDISC_DROP"], None),
])
def full_queue(qdiscs, names, sending):
    """One loss each, whatever events tell of it; tc counts them."""
    with lab(), patient() as sock, udp(TX, socket.AF_INET) as sender:
        for qdisc in qdiscs:
            need(TX, *f"tc qdisc replace dev v-tx {qdisc}".split())
        with tracing(EXPR) as t:
            if sending:
                sending(sender)
            else:
                for _ in range(SEEN):
                    sender.sendto(b"x" * 100, (V4, PORT))
            counted = json.loads(ends.do(TX, *"tc -s -j qdisc show dev v-tx root".split()))[0]["drops"]
            t.until(counted)
            document = t.stop()
        assert read_all(sock) <= SEEN - counted
    assert counted, "the queue had room"
    assert_only(document, "qdisc", counted, reason=reason_here(*names))


@case
def full_broadcast_queue_of_a_macvlan():
    """One loss each. From Linux 7.1 on hardly any has an event, and the lower interface counts them; the
    macvlan is in another namespace, as a container's is."""
    with lab(), patient() as sock, udp(TX, socket.AF_INET) as sender:
        need(RX, *"ip link add link v-rx name m0 type macvlan mode bridge bcqueuelen 5".split())
        need(RX, *f"ip link set m0 netns {TX}".split())
        need(TX, *"ip link set m0 up".split())
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        before = ends.link(RX, "v-rx")["rx"]["dropped"]
        with tracing("--netns", RX) as t:
            for _ in range(3000):
                sender.sendto(b"x" * 100, ("198.18.0.255", PORT))
            assert_read(sock, 3000)  # only the copies for the macvlan are lost
            end = t.stop()["end"]
        counted = ends.link(RX, "v-rx")["rx"]["dropped"] - before
    rows = [(s["stage"], c) for s in end["stages"] for c in s["causes"] if c["ifname"] == "v-rx"]
    assert counted and sum(c["packets"] for _, c in rows) == counted, (counted, end)
    (stage,) = {stage for stage, _ in rows}
    if any(c["source"] == "counter" for _, c in rows):
        assert stage == "backlog" and end["findings"][0]["id"] == "backlog-macvlan", end
    else:
        assert stage == "l2", end


# Programs that take packets


@case
def bounced_by_generic_xdp():
    """What XDP_TX has sent back was not delivered, and nothing may call it so."""
    with lab(), patient() as sock, xdp(RX, "v-rx", ends.verdict(XDP_TX), XDP_GENERIC), \
            balancing("--settle", "300ms", EXPR) as t:
        send(V4, 100)
        assert read_all(sock) == 0
        end = t.stop()["end"]
    assert end["arrived"] == 100 and end["delivered"] == 0, end
    assert sum(lost(end).values()) + end["unaccounted"] == 100, end
    assert not end["balanced"] or sum(lost(end).values()) == 100, end


@case
def dropped_by_xdp_of_a_tap():
    """Its generic XDP runs before the packet has an entry: it arrives where it is dropped."""
    code = ends.LENGTH + ends.insn(0xb7, 0, XDP_DROP) + ends.insn(0x25, 3, 150, 1) + ends.verdict(XDP_PASS)
    with lab(), tun(RX, kind=ends.IFF_TAP) as device, patient() as sock, xdp(RX, "t0", code, XDP_GENERIC), \
            balancing(EXPR) as t:
        frame = mac_of(RX, "t0") + bytes.fromhex("020000000009" "0800")
        for n in range(500):
            device.write(frame + datagram(PORT, b"x" * (200 if n % 10 == 0 else 50)))
        received = read_all(sock)
        assert received == 450, received
        assert_balance(t.stop(), 500, 450, xdp=50)


@table(first(1, BOTH))
def closes_with_unread_in_a_namespace(address):
    """The packets have lost their device: which namespace they were in follows from where to. One
    callback frees those of a socket: none is seen if that runs in the context of PID 1."""
    family = family_of(address)

    def attempt():
        with lab(), patient(family) as sock, patient(family, netns=TX) as other, \
                tracing("--netns", RX) as t:
            for _ in range(30):  # of the other namespace, and not asked for
                other.sendto(b"y", ("198.18.0.1" if family == socket.AF_INET else "2001:2::1", PORT))
            send(address, 40)
            other.close()
            sock.close()
            with contextlib.suppress(AssertionError):
                t.until(40, 3)
            return t.stop()

    document = observed(attempt, lambda document: not document["end"]["dropped"]
                        or not document["end"]["missed"]["without_netns"])
    assert_only(document, "socket_close", 40)
    assert document["end"]["missed"]["without_netns"] >= 30, document["end"]["missed"]


# Losses without an event: only the counter of the socket moves


def silent(document, stage):
    """Of each socket of this process with such losses: how many."""
    here = f"[{os.getpid()}]"
    return {c["socket"]: c["packets"] for s in document["end"]["stages"] if s["stage"] == stage
            for c in s["causes"] if c["source"] == "counter" and (c["process"] or "").endswith(here)}


@case
def raw_socket_with_a_small_buffer():
    with lab(), patient() as sock, tracing() as t, raw(RX, socket.IPPROTO_UDP) as tap:
        tap.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2304)
        sent = send(V4, 200)
        assert_read(sock, sent)
        got = read_all(tap)
        assert 0 < got < sent, got
        lost_there = silent(t.stop(), "rcvbuf")
    require(not t.end["missed"]["no_sockets"], "this kernel has an event for it")
    assert sum(lost_there.values()) == sent - got, (lost_there, sent - got)


@thorough
def packet_socket_with_a_small_buffer():
    everything = 3  # ETH_P_ALL
    with lab(), patient() as sock, raw(RX, 0, socket.AF_PACKET) as tap:
        tap.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2304)
        tap.bind(("v-rx", everything))
        with tracing("--netns", RX) as t:
            send(V4, 200)
            assert_read(sock, 200)
            document = t.stop()
        _, drops = capture_statistics(tap)
    require(not t.end["missed"]["no_sockets"], "an old kernel")
    assert drops > 100 and silent(document, "rcvbuf") == {"packet": drops}, (document["end"], drops)


def refused_connections(least=0):
    """By listeners of the receiver; None: fewer than this."""
    counted = tcp_counter("ListenDrops")
    return counted if counted >= least else None


@table(first(0, BOTH[::-1]))
def accept_queue_is_full(address):
    family = family_of(address)
    with lab():
        with ends.inside(RX):
            listener = socket.create_server(("", PORT), family=family, backlog=1)
        with listener, contextlib.ExitStack() as open_files, tracing() as t:
            for client in syns(TX, address, 20):
                open_files.enter_context(client)
            counted = until(lambda: refused_connections(10), 10, "ten refused")
            # SYNs are sent again while the collector ends
            found, after = sum(silent(t.stop(), "tcp_listen").values()), refused_connections()
    require(not t.end["missed"]["no_sockets"], "an old kernel")
    assert counted <= found <= after, (counted, found, after)


OWN_HOOKS = {"output": "inet", "postrouting": "inet", "egress device v-tx": "netdev"}


@table(first(1, BOTH))
def rules_drop_what_a_process_sends(address):
    """Counted by its process, and at the hook where it was dropped."""
    with lab():
        send(address, 1)  # neighbours
        with udp(TX, family_of(address)) as sender, tracing("--pid", str(os.getpid())) as t:
            for hook, family in OWN_HOOKS.items():
                drop(TX, hook, f"udp dport {PORT}", family)
                for _ in range(60):
                    with contextlib.suppress(PermissionError):
                        sender.sendto(b"x", (address, PORT))
                assert nft_counters(TX)[None] == 60, nft_counters(TX)
                ends.do(TX, "nft", "flush", "ruleset")
            document = t.stop()
    assert_only(document, "netfilter", 180, direction="tx", netns=TX)
    found = {c["hook"]: c["packets"] for s in document["end"]["stages"] for c in s["causes"]}
    assert found == {hook.split()[0]: 60 for hook in OWN_HOOKS}, found


@case
def unknown_options_of_ipv6():
    """Hop by hop and for the destination, to be discarded or answered."""
    with lab(), patient(socket.AF_INET6) as sock, tracing("--netns", RX, f"ip6 host {V6} and not icmp6") as t:
        for where in IPV6_HOPOPTS, IPV6_DSTOPTS:
            for kind in 0x5e, 0x9e:
                with udp(TX, socket.AF_INET6) as sender:
                    sender.setsockopt(socket.IPPROTO_IPV6, where, struct.pack("BBBB4x", 0, 0, kind, 4))
                    for _ in range(50):
                        sender.sendto(b"x", (V6, PORT))
        assert read_all(sock) == 0
        document = t.stop()
    assert_only(document, "ip_header", 200)


@table(first(1, BOTH[::-1]))
def a_nat_keepalive_is_no_loss(address):
    with lab(), patient(family_of(address)) as sock:
        try:  # UDP_ENCAP, UDP_ENCAP_ESPINUDP
            sock.setsockopt(socket.IPPROTO_UDP, 100, 2)
        except OSError as error:
            skip(f"no IPsec in UDP here: {error}")
        with tracing("--netns", RX, f"udp port {PORT}") as t:
            with udp(TX, family_of(address)) as sender:
                for _ in range(50):
                    sender.sendto(b"\xff", (address, PORT))
            # they are counted as received, and not given to the socket
            name = f"{'Udp6' if ':' in address else 'Udp'}:InDatagrams"
            until(lambda: counter(RX, name) == 50, 10, "all of them")
            document = t.stop()
    assert_only(document, "xfrm", 50, kind="expected")
    assert not document["end"]["dropped"], document["end"]


def tcp_counter(name):
    return counter(RX, f"TcpExt:{name}")


def connect(address, count):
    """So many SYNs, of which a fast host sends none again."""
    for client in syns(TX, address, count):
        client.close()


def tcp_causes(document):
    return [c for s in document["end"]["stages"] for c in s["causes"] if s["stage"].startswith("tcp")]


@table(first(0, BOTH))
def syn_queue_is_full(address):
    """Nobody answers its SYN-ACKs, so no connection leaves the queue of SYNs."""
    with lab(), ends.inside(RX):
        ends.sysctl(RX, "net/ipv4/tcp_syncookies", 0)
        drop(TX, "input", f"tcp sport {PORT}")
        with socket.create_server(("", PORT), backlog=4, family=family_of(address)), tracing("--netns", RX) as t:
            connect(address, 30)
            until(lambda: tcp_counter("TCPReqQFullDrop"), 5, "a SYN is refused")
            document = t.stop()
        counted = tcp_counter("TCPReqQFullDrop")
    require(not t.end["missed"]["no_sockets"], "an old kernel")
    found = tcp_causes(document)
    assert counted >= 20 and sum(c["packets"] for c in found) == counted, (counted, found)
    assert all("SYN queue" in c["note"] for c in found), found


def want_signatures(listener, peer):
    """Of what comes from this address (TCP_MD5SIG)."""
    family = family_of(peer)
    key = struct.pack("=HH4x16s104x" if ":" in peer else "=HH4s120x", family, 0, socket.inet_pton(family, peer))
    try:
        listener.setsockopt(socket.IPPROTO_TCP, TCP_MD5SIG, key + struct.pack("=BBHi80s", 0, 0, 3, 0, b"key"))
    except OSError as error:
        skip(f"no MD5 signatures here: {error}")


@table(first(1, BOTH[::-1]))
def segments_without_a_signature(address):
    """Each has an event; that the listener's own counter has them too makes no more of them."""
    with lab(), ends.inside(RX):
        with socket.create_server(("", PORT), family=family_of(address)) as listener:
            want_signatures(listener, {V4: "198.18.0.1", V6: "2001:2::1"}[address])
            with tracing("--netns", RX) as t:
                for _ in range(20):  # while intervals end
                    connect(address, 100)
                document = t.stop()
        counted = tcp_counter("TCPMD5NotFound")
    assert counted >= 2000, counted  # a slow host sends some again
    assert sum(c["packets"] for c in tcp_causes(document)) == counted, (counted, tcp_causes(document))


def segment(address, source, sequence, acknowledged, flags, stamp, echo):
    """Of TCP with timestamps, from a port of the address's peer. The checksum of IPv6 is the kernel's."""
    options = struct.pack("!BBBBII", 1, 1, 8, 10, stamp, echo)
    header = [source, PORT, sequence, acknowledged, 8 << 4, flags, 65535, 0, 0]
    text = struct.pack("!HHIIBBHHH", *header) + options
    header[7] = 0 if ":" in address else checksum(socket.inet_aton("198.18.0.1") + socket.inet_aton(V4)
                                                  + struct.pack("!HH", 6, len(text)) + text)
    return struct.pack("!HHIIBBHHH", *header) + options


@table(first(0, BOTH))
def wrong_echo_of_a_timestamp(address):
    """Ends a handshake with an event; that the listener's own counter has it too makes no more of it."""
    syn, ack = 2, 16
    family = family_of(address)
    with lab(), contextlib.ExitStack() as open_files:
        client = open_files.enter_context(raw(TX, socket.IPPROTO_TCP, family))
        if family == socket.AF_INET6:  # raw(7): IPV6_CHECKSUM
            client.setsockopt(socket.IPPROTO_IPV6, 7, 16)
        drop(TX, "output", "tcp flags rst")
        client.settimeout(5)
        with ends.inside(RX), socket.create_server(("", PORT), family=family), tracing("--netns", RX) as t:
            for source in range(40000, 40050):
                client.sendto(segment(address, source, 7, 0, syn, 1000, 0), (address, 0))
                to = 0
                while to != source:  # others are sent again
                    answer = client.recv(200)[0 if family == socket.AF_INET6 else 20:]
                    to, sequence = struct.unpack("!2xHI", answer[:8])
                client.sendto(segment(address, source, 8, sequence + 1 & 0xffffffff, ack, 1001, 12345), (address, 0))
            document = t.stop()
            counted = 0
            with contextlib.suppress(KeyError):  # older kernels
                counted = tcp_counter("TSEcrRejected")
    require(counted, "this kernel takes any echo")
    assert counted == 50 and not tcp_causes(document), (counted, tcp_causes(document))
    assert sum(c["packets"] for s in document["end"]["suspected"] for c in s["causes"]
               if c["reason"] == "TCP_RFC7323_TSECR") == counted, document["end"]["suspected"]


def connection(address, port):
    """Both ends: that of TX, and that of RX."""
    with ends.inside(RX):
        listener = socket.create_server(("", port), family=family_of(address))
    with listener, ends.inside(TX):
        client = socket.create_connection((address, port))
        return client, listener.accept()[0]


def unread(ours, others):
    """Is closed with data that nobody read."""
    others.sendall(b"x")
    until(lambda: ours.recv(1, socket.MSG_PEEK), 5, "data")
    ours.close()


def after_the_end(ours, others):
    """Gets data after it was closed."""
    ours.close()
    others.sendall(b"x")


@table(first(1, [(f"{name}, {family}", address, *rest) for family, address in BOTH for name, *rest in (
    ("unread data", unread, "TCPAbortOnClose", "TCP_ABORT_ON_CLOSE", "tcp_send_active_reset"),
    ("data for a closed socket", after_the_end, "TCPAbortOnData", "TCP_ABORT_ON_DATA", "tcp_send_reset"))]))
def why_it_reset_a_connection(address, how, counter, reason, place):
    """A row without a packet; not of a connection that EXPR does not select."""
    with lab(), tracing("--netns", RX, f"tcp port {PORT}") as t:
        for n, port in enumerate([PORT] * 3 + [PORT + 1]):
            client, server = connection(address, port)
            with client, server:
                how(server, client)
                until(lambda: tcp_counter(counter) > n, 5, "a reset")
        counted = tcp_counter(counter)
        document = t.stop()
    found = [c for s in document["end"]["suspected"] for c in s["causes"] if c["location"] == place]
    assert counted == 4 and sum(c["events"] for c in found) == 3, (counted, found)
    assert {(c["packets"], c["direction"], c["socket"].endswith(f":{PORT}")) for c in found} == {(0, "tx", True)}, found
    assert {c["reason"] for c in found} <= {reason, None}, found
    assert found[0]["reason"] == reason or not reset_reasons(), found
    assert not document["end"]["dropped"], document["end"]["stages"]


def reset_reasons():
    """Whether tcp_send_reset has its reason here."""
    return KERNEL >= (6, 10)


@table(first(1, [("one", ["--netns", RX]), ("all namespaces", [])]))
@exclusive_rows("all namespaces")
def only_a_counter_knows(args):
    """A listener that is there for a moment: no event, and nobody who could be asked afterwards."""
    with lab(), tracing("-I", "60", *args) as t:
        with ends.inside(RX), socket.create_server(("", PORT), backlog=1) as listener:
            clients = syns(RX, "127.0.0.1", 20, listener.getsockname()[1])
            until(lambda: refused_connections(10), 10, "ten refused")
            for client in clients:
                client.close()
        counted = refused_connections()
        found = [(s["stage"], c["location"], c["packets"]) for s in t.stop()["end"]["stages"]
                 for c in s["causes"] if c["source"] == "counter"]
    assert found == [("tcp_listen", "TcpExt:ListenDrops", counted)], (counted, found)


@case
def icmp_errors_about_closed_sockets():
    """Icmp:InErrors counts them: nothing is lost, and none of them is called invalid."""
    body = struct.pack("!BBHI", 3, 3, 0, 0) + ip4(
        socket.IPPROTO_UDP, struct.pack("!HHHH", PORT, 9, 8, 0), "198.18.0.1", V4)
    with lab(), tracing("--netns", TX) as t:
        with raw(RX, socket.IPPROTO_ICMP) as sock:
            for _ in range(50):
                sock.sendto(body[:2] + struct.pack("!H", checksum(body)) + body[4:], ("198.18.0.1", 0))
        until(lambda: counter(TX, "Icmp:InErrors") == 50, 10, "all of them")
        end = t.stop()["end"]
    assert not end["dropped"], end["stages"]
    assert [(s["stage"], s["packets"]) for s in end["suspected"]] == [("icmp", 50)], end["suspected"]


# Healthy traffic that looks odd: answers to an address that nobody has yet


@thorough
def dhcp():
    """busybox's client asks for a lease three times, each from the begin."""
    require(shutil.which("busybox"), "needs busybox")
    with lab(), tempfile.TemporaryDirectory() as files:
        configuration = Path(files, "conf")
        configuration.write_text("start 198.18.0.100\nend 198.18.0.120\ninterface v-rx\n"
                                 f"lease_file {files}/leases\npidfile {files}/pid\n"
                                 "option subnet 255.255.255.0\n")
        Path(files, "leases").touch()
        script = Path(files, "script")
        script.write_text("#!/bin/sh\n[ \"$1\" != bound ] || ip addr replace $ip/24 dev v-tx\n")
        script.chmod(0o700)
        with tracing("--netns", TX) as client, tracing("--netns", RX) as server:
            with started("udhcpd", "-f", configuration, binary="busybox", preexec_fn=lambda: ends.enter(RX)):
                for _ in range(3):
                    ends.do(TX, "busybox", "udhcpc", "-fqn", "-T", "1", "-i", "v-tx",
                            "-s", str(script))
            for t in client, server:
                t.pass_intervals(2)  # what is on its way arrives
            documents = client.stop(), server.stop()
        leased = ends.do(TX, "ip", "-4", "-o", "addr", "show", "dev", "v-tx")
    assert "198.18.0.1" in leased and leased.count("\n") > 1, leased
    for document in documents:
        assert not document["end"]["stages"] and not document["end"]["suspected"], document["end"]


def dhcp6(sock, kind, to):
    """RFC 8415 section 8: a message of this kind, of no options but an empty client identifier."""
    sock.sendto(bytes([kind, 1, 2, 3, 0, 1, 0, 0]), to)


@thorough
def dhcp_of_ipv6():
    """To ff02::1:2, of which the servers are members, and back to the client's link-local."""
    with lab():
        with ends.inside(TX):
            client_index = socket.if_nametoindex("v-tx")
        with ends.inside(RX):
            index = socket.if_nametoindex("v-rx")
        with udp(TX, socket.AF_INET6, ("", 546)) as client, \
                udp(RX, socket.AF_INET6, ("", 547)) as server:
            server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP,
                              socket.inet_pton(socket.AF_INET6, "ff02::1:2") +
                              struct.pack("I", index))
            client.settimeout(5)
            server.settimeout(5)
            with tracing("--netns", TX) as asking, tracing("--netns", RX) as serving:
                for kind in (1, 3, 5):  # SOLICIT, REQUEST, RENEW
                    dhcp6(client, kind, ("ff02::1:2", 547, 0, client_index))
                    asked, peer = server.recvfrom(100)
                    dhcp6(server, 2 if kind == 1 else 7, peer)  # ADVERTISE, REPLY
                    assert asked[0] == kind and client.recv(100)[0] in (2, 7)
                documents = asking.stop(), serving.stop()
    for document in documents:
        assert not document["end"]["stages"] and not document["end"]["suspected"], document["end"]


FAR = {"IPv4": "198.18.1.2", "IPv6": "2001:2:0:1::2"}


@table(first(0, [(f"{size} bytes, {family}", address, size)
                 for size in (400, 8000) for family, address in FAR.items()]))
def of_one_namespace(address, size):
    """What a router drops never arrives behind it; of fragments, it drops the last."""
    router, version = f"{NAME}-router", "ip6" if ":" in address else "ip"
    last = "" if size < 1500 else {"ip": "ip frag-off & 0x1fff > 800", "ip6": "frag frag-off > 800"}[version]
    with lab("--topology", "router"), patient(family_of(address)) as sock:
        drop(router, "forward", f"{last or f'udp dport {PORT}'} numgen inc mod 10 0", version)
        drop(RX, "input", f"udp dport {PORT} numgen inc mod 4 0", version)
        for name in "net/ipv4/ipfrag_time", "net/ipv6/ip6frag_time":
            sysctl(RX, name, 1)
        with balancing("--netns", TX, EXPR) as tx, balancing("--netns", router, EXPR) as way, \
                balancing("--netns", RX, EXPR) as rx:
            send(address, 400, size=size)
            received = read_all(sock)
            await_reassembly(RX, (400 - nft_counters(RX)[None] - received) if last else 0)
            documents = [t.stop() for t in (tx, way, rx)]
        by_router, by_rx = (nft_counters(netns)[None] for netns in (router, RX))
    came = 400 if last else 400 - by_router
    incomplete = came - by_rx - received
    assert by_router == 40 and received and (incomplete > 0) == bool(last), (by_router, by_rx, received)
    assert_balance(documents[0], 0, 0)
    assert assert_balance(documents[1], 40, 0, netfilter=40)["probes"]["left"] == 360
    assert_balance(documents[2], came, received, netfilter=by_rx, **({"ip_frag": incomplete} if last else {}))


if __name__ == "__main__":
    main()
