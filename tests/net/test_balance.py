#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`trace --balance`: a flow balances, whatever happens to its packets."""

import contextlib
import json
import mmap
import os
import random
import shutil
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import (KERNEL, TIMEOUT, assert_ran, case, first, main, observed, pktledger, require, table,
                 thorough, until)
import ends
from ends import (PORT, SO_RCVBUFFORCE, assert_read, drop, family_of, index_of, mac_of, need, read_all, shell,
                  tun, udp)
from traced import BROKEN, FRAGMENTING4, FRAGMENTING6, RX, TX, V4, V6, assert_only, lab, send, tracing
from traced_faults import nft, tiny_rcvbuf, unread_at_close

EXPR = f"udp port {PORT}"


def lost(end):
    """Of the flow; counters of interfaces know no flow."""
    rows = {}
    for stage in end["stages"] + end["suspected"]:
        packets = sum(c["packets"] for c in stage["causes"] if c["scope"] == "flow")
        if packets:
            rows[stage["stage"]] = rows.get(stage["stage"], 0) + packets
    return rows


def assert_balance(document, arrived, delivered, in_flight=0, **stages):
    """From the numbers alone; the program's own verdict has to agree."""
    end = document["end"]
    text = json.dumps({k: v for k, v in end.items() if k != "findings"})[:2500]
    assert end["arrived"] == (end["delivered"] + sum(lost(end).values()) + end["in_flight"]
                              + end["unaccounted"]), text
    assert end["unaccounted"] == 0 and end["balanced"] is True, text
    assert (end["arrived"], end["delivered"], end["in_flight"]) == (arrived, delivered,
                                                                    in_flight), text
    assert lost(end) == stages, f"not {stages}: {text}"
    return end


def balancing(*args):
    return tracing("--balance", *args)


# What happens to packets

BOTH = [("IPv4", V4), ("IPv6", V6)]


@table(first(1, BOTH[::-1]))
def one_stage_at_two_places(to):
    """What is said of the stage is of both."""
    with lab(), nft("input", RX, to), balancing(EXPR) as t:
        drop(TX, "postrouting", f"udp dport {PORT} numgen inc mod 2 0")
        sent = send(to)
        end = assert_balance(t.stop(), sent, 0, netfilter=sent)
        assert end["culprit"]["packets"] == sent, end["culprit"]


@contextlib.contextmanager
def members(group, *sizes):
    """Sockets with these buffers that are members of the group, and a sender to it."""
    with contextlib.ExitStack() as stack:
        socks = [stack.enter_context(udp(RX, family_of(group), rcvbuf=size)) for size in sizes]
        for sock in socks:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind(("", PORT))
            member = socket.inet_pton(family_of(group), group)
            if ":" in group:
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP,
                                member + struct.pack("@I", index_of(RX, "v-rx")))
            else:
                sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member + socket.inet_aton(V4))
        yield socks, stack.enter_context(group_sender(group))


def group_sender(group):
    """A socket that sends to the group by the lab's device."""
    sock = udp(TX, family_of(group))
    if ":" in group:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index_of(TX, "v-tx"))
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_LOOP, 0)
    else:
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("198.18.0.1"))
    return sock


GROUPS = [("IPv4", "239.18.0.9"), ("IPv6", "ff15::9")]


@table(first(1, GROUPS))
def members_of_a_group(group):
    """Copies for each do not add up, and yet it is certain who lost some, unless the kernel skipped
    probes because a neighbour's packets interrupted one: then nothing is certain, which is said."""
    def attempt():
        with lab(), members(group, 2304, 1 << 20) as (socks, sender), balancing(EXPR) as t:
            for _ in range(50):
                sender.sendto(bytes(100), (group, PORT))
            full, whole = (read_all(sock) for sock in socks)
            return full, whole, t.stop()["end"]

    def skipped(result):
        return result[2]["missed"]["recursion_misses"] and result[2]["verdict"] == "unknown"

    full, whole, end = observed(attempt, skipped)
    assert (end["arrived"], end["delivered"], whole) == (50, full + whole, 50), end
    assert lost(end) == {"rcvbuf": 50 - full} and end["culprit"]["stage"] == "rcvbuf", end
    assert end["verdict"] == "this_host" and not end["balanced"], end


@table(first(0, GROUPS[::-1]))
def copies_of_a_group(group):
    """Each member gets a copy, and how many copies that makes is said."""
    with lab(), members(group, None, None, None) as (socks, sender), \
            balancing("--settle", "300ms", EXPR) as t:
        for _ in range(40):
            sender.sendto(bytes(100), (group, PORT))
        for sock in socks:
            assert_read(sock, 40)
        end = t.stop()["end"]
    assert t.process.returncode == BROKEN, t.process.returncode
    assert (end["arrived"], end["delivered"], end["unaccounted"]) == (40, 120, -80), end
    assert any(line.startswith("not balanced: 80 copies") for line in end["rests_on"]), end


@table(first(0, BOTH))
def copies_that_a_program_makes(to):
    """tc lets a copy of each come in at another device; both are read."""
    with lab(), udp(RX, family_of(to), ("", PORT)) as sock:
        ends.do(RX, *f"ip link add m0 address {mac_of(RX, 'v-rx').hex(':')} type veth peer name m1".split())
        for device in "m0", "m1":
            ends.do(RX, "ip", "link", "set", device, "up")
        send(to, 1, port=PORT + 1)  # neighbours
        with ends.tcx(RX, "v-rx", ends.mirror(index_of(RX, "m0"))), balancing("--settle", "300ms", EXPR) as t:
            send(to, 40)
            assert_read(sock, 80)
            end = t.stop()["end"]
    assert t.process.returncode == BROKEN and not end["balanced"], end
    assert (end["arrived"], end["delivered"], end["unaccounted"]) == (40, 80, -40), end
    assert any(line.startswith("not balanced: 40 copies") for line in end["rests_on"]), end


KINDS = {"redirect_peer": None, "macvlan": "type macvlan mode bridge", "ipvlan": "type ipvlan mode l2",
         "VLAN": "type vlan id 7"}
NETS = [("IPv4", "198.18.9.{}/24"), ("IPv6", "2001:2:0:9::{}/64")]
PAST = [(f"{kind}, {version}", net, kind) for kind in KINDS for version, net in NETS]


@contextlib.contextmanager
def past_the_entry(net, kind):
    """A namespace in which netif_receive_skb is seen of no packet: only on the lower device, in another one.
    Yields its name and its address."""
    to, nodad = net.format(5).split("/")[0], " nodad" if ":" in net else ""
    inner = RX + "-in"
    with lab(), contextlib.ExitStack() as stack:
        ends.do(RX, "ip", "netns", "add", inner)
        stack.callback(subprocess.run, ["ip", "netns", "del", inner], check=False)
        if kind == "redirect_peer":
            ends.do(RX, *"ip link add in type veth peer name out".split())
        else:
            need(RX, "ip", "link", "add", "link", "v-rx", "name", "in", *KINDS[kind].split())
        ends.do(RX, "ip", "link", "set", "in", "netns", inner)
        if kind == "VLAN":
            need(TX, "ip", "link", "add", "link", "v-tx", "name", "out", *KINDS[kind].split())
        for netns, device, host in (inner, "in", 5), (TX, "out" if kind == "VLAN" else "v-tx", 1):
            ends.do(netns, "ip", *f"addr add {net.format(host)} dev {device}{nodad}".split())
            ends.do(netns, "ip", "link", "set", device, "up")
        if kind == "redirect_peer":
            ends.do(RX, "ip", "link", "set", "out", "up")
            stack.enter_context(ends.tcx(RX, "v-rx", ends.redirect(index_of(RX, "out"), ends.BPF_REDIRECT_PEER)))
            ends.do(TX, *f"ip neigh add {to} lladdr {mac_of(RX, 'v-rx').hex(':')} dev v-tx".split())
        yield inner, to


@table(first(1, PAST))
def arrivals_that_no_tracepoint_shows(net, kind):
    with past_the_entry(net, kind) as (inner, to), udp(inner, family_of(net), ("", PORT)) as sock:
        with balancing("--netns", inner, "--settle", "300ms", EXPR) as t:
            send(to, 100)
            assert_read(sock, 100)
            end = t.stop()["end"]
        assert t.process.returncode == BROKEN and not end["balanced"], end
        assert any("without being seen to arrive" in line for line in end["rests_on"]), end


@case
def came_and_is_nobodys():
    """Multicast without a member is no loss, but it did come."""
    with lab(), group_sender("239.18.0.9") as sock, balancing(EXPR) as t:
        for _ in range(10):
            sock.sendto(bytes(100), ("239.18.0.9", PORT))
        end = assert_balance(t.stop(), 0, 0)
        assert end["rests_on"][0].startswith("10 packets of the flow arrived"), end["rests_on"]


@case
def closed_with_unread_packets():
    """One callback frees them all: none is seen if that runs in the context of PID 1."""
    def attempt():
        with lab(), unread_at_close(V4) as about:
            before = send(V4, 20)
            with balancing(EXPR) as t:
                sent = send(V4)
                about["close"].close()
                return t.stop(), sent, before

    document, sent, before = observed(attempt, lambda told: told[0]["end"]["unaccounted"] == told[1] + told[2])
    assert_balance(document, sent, 0, -before, socket_close=sent + before)


def fragment_frames(to, mac, ident, payload):
    """A datagram in two fragments, as frames."""
    half = len(payload) // 2 // 8 * 8
    header = struct.pack("!HHHH", PORT + 3, PORT, 8 + len(payload), 0)
    v6 = ":" in to
    sender = FRAGMENTING6 if v6 else FRAGMENTING4
    source, dest = (socket.inet_pton(family_of(to), a) for a in (sender, to))
    pseudo = source + dest + struct.pack("!II" if v6 else "!HH", *((8 + len(payload), 17) if v6
                                                                   else (17, 8 + len(payload))))
    data = header[:6] + struct.pack("!H", ends.checksum(pseudo + header + payload)) + payload
    frames = []
    for offset, part, more in ((0, data[:half], 1), (half, data[half:], 0)):
        if v6:
            ip = (struct.pack("!IHBB", 6 << 28, 8 + len(part), 44, 64) + source + dest
                  + struct.pack("!BBHI", 17, 0, offset | more, ident))
        else:
            ip = ends.ip4(17, part, sender, to, ident, more << 13 | offset // 8)[:20]
        frames.append(mac + bytes.fromhex("020000000001" + ("86dd" if v6 else "0800")) + ip + part)
    return frames


@contextlib.contextmanager
def fragment_sender(to, via):
    """Yields what makes the two fragments of the datagram with this ID, as frames, and the socket that sends them."""
    mac = mac_of(*via)
    with ends.raw(TX, 0, socket.AF_PACKET, "v-tx") as sock:
        yield lambda ident: fragment_frames(to, mac, ident, bytes(range(256)) * 4), sock


def send_fragments(to, via, order, numbers):
    """`order`: which fragments of each datagram are sent, one after the other. Each has a number as its ID."""
    with fragment_sender(to, via) as (frames, sock):
        for ident in numbers:
            both = frames(ident)
            for part in order:
                sock.send(both[part])
            time.sleep(0.0005)


@table(first(1, BOTH))
def fragments_in_any_order(to):
    """The first fragment last, or twice: the kernel delivers all of them."""
    with lab(), udp(RX, family_of(to), ("", PORT)) as sock, balancing(EXPR) as t:
        for number, order in enumerate([(1, 0), (0, 0, 1), (1, 1, 0)]):
            send_fragments(to, (RX, "v-rx"), order, range(60 * number + 1, 60 * number + 61))
            assert_read(sock, 60)
        assert_balance(t.stop(), 180, 180)


@case
def fragments_that_wait_in_a_queue():
    """A first fragment that is sent again while it waits in a queue of the sender is still one datagram."""
    def attempt():
        with lab(), udp(RX, socket.AF_INET, ("", PORT)) as sock, balancing(EXPR) as t:
            need(TX, *"tc qdisc add dev v-tx root tbf rate 200kbit burst 2k limit 1m".split())
            with fragment_sender(V4, (RX, "v-rx")) as (frames, sender):
                for ident in range(1, 7):
                    head, tail = frames(ident)
                    for frame in (head, head, tail):
                        sender.send(frame)
                        time.sleep(0.003)  # longer than FRAGMENT_AT_ONCE
            assert_read(sock, 6)
            return t.stop()

    # a timer sends, in the context of any process: the host may hide the arrival of a last fragment
    assert_balance(observed(attempt, lambda document: document["end"]["unaccounted"] < 0), 6, 6)


def send_at_once(sock, pairs):
    """Sends both frames of a pair on two CPUs at the same moment. Yields after each pair."""
    cpus = sorted(os.sched_getaffinity(0))[:2]
    require(len(cpus) == 2, "two CPUs")
    with memoryview(mmap.mmap(-1, mmap.PAGESIZE)).cast("I") as turn:
        other = os.fork()
        if not other:
            os.sched_setaffinity(0, cpus[1:])
            for n, (_, frame) in enumerate(pairs, 1):
                while turn[0] < n:
                    pass
                sock.send(frame)
                turn[1] = n
            os._exit(0)
        try:
            os.sched_setaffinity(0, cpus[:1])
            for n, (frame, _) in enumerate(pairs, 1):
                turn[0] = n
                sock.send(frame)
                while turn[1] < n:
                    os.sched_yield()
                yield
        finally:
            turn[0] = len(pairs)
            os.waitpid(other, 0)
            os.sched_setaffinity(0, cpus)


@table(first(1, BOTH))
def fragments_on_two_cpus(to):
    """Two copies of a first fragment are one datagram, also if both are sent at the same moment. A datagram of
    which two CPUs drop a fragment is lost once."""
    with lab(), udp(RX, family_of(to), ("", PORT)) as sock, balancing(EXPR) as t:
        with fragment_sender(to, (RX, "v-rx")) as (frames, sender):
            whole = [frames(ident) for ident in range(1, 61)]
            for one, _ in zip(whole, send_at_once(sender, [(head, head) for head, _ in whole]), strict=True):
                sender.send(one[1])
            assert_read(sock, 60)
            drop(RX, "ingress device v-rx", family="netdev")
            for _ in send_at_once(sender, [frames(ident) for ident in range(101, 161)]):
                pass
        end = t.stop()["end"]
        assert (end["arrived"], end["delivered"], end["probes"]["dropped"]) == (120, 60, 60), end
        assert end["unaccounted"] == 0 and end["balanced"] is True, end


LATER = [("IPv6", V6, "frag frag-off > 0"), ("IPv4", V4, "ip frag-off & 0x1fff != 0")]


@table(first(1, LATER))
def fragments_that_the_sender_drops(to, rule):
    """The first fragment is on its way when its host drops the second one: still one datagram."""
    with lab(), balancing(EXPR) as t:
        drop(TX, "egress device v-tx", rule, "netdev")
        sent = send(to, 40, size=4000)
        assert_balance(t.stop(), sent, 0, netfilter=sent)


@table([(", ".join(("first", "second")[part] for part in order), order) for order in ((0, 1), (1, 0))])
def fragments_that_are_all_lost(order):
    """A trace counts the datagram, whichever fragment is dropped first."""
    with lab(), tracing(EXPR) as t:
        drop(RX, "ingress device v-rx", family="netdev")
        send_fragments(V4, (RX, "v-rx"), order, range(1, 41))
        assert_only(t.stop(), "netfilter", 40)


@contextlib.contextmanager
def before_all_others():
    """This process gets its CPU whenever it wants it."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


@case
def fragments_of_many_others():
    """They come between two copies of a first fragment, which stay one datagram."""
    with lab(), udp(RX, socket.AF_INET, ("", PORT)) as sock, balancing(EXPR) as t:
        ends.sysctl(RX, "net/ipv4/ipfrag_high_thresh", 1 << 27)
        ends.sysctl(RX, "net/ipv4/ipfrag_max_dist", 0)
        with fragment_sender(V4, (RX, "v-rx")) as (frames, sender):
            one, two = frames(1)
            # made before, and sent at once, because a copy counts as another datagram after FRAGMENT_CLOSE
            all_frames = [one, *[frames(ident)[1] for ident in range(1000, 13000)], one, two]
            with before_all_others():
                for frame in all_frames:
                    sender.send(frame)
        assert_read(sock, 1)
        assert_balance(t.stop(), 1, 1)


@table(first(1, [(name, to.replace("0.2", "1.2").replace("2001:2::", "2001:2:0:1::"), rule)
                 for name, to, rule in LATER]))
def fragments_that_a_router_drops(to, rule):
    """The second fragments of some datagrams, which come before the first."""
    router = TX[:-2] + "router"
    with lab("--topology", "router"), udp(RX, family_of(to), ("", PORT)) as sock:
        drop(router, "forward", f"{rule} numgen inc mod 5 0")
        with balancing("--settle", "300ms", EXPR) as t:
            send_fragments(to, (router, "v-r0"), (1, 0), range(1, 61))
            assert_read(sock, 48)
            end = t.stop()["end"]
        # the receiver still waits for what the router dropped: those datagrams are lost once
        assert (end["arrived"], end["delivered"]) == (60, 48), end
        assert end["probes"]["dropped"] == 12 and end["in_flight"] == 0, end
        assert end["unaccounted"] == 0, end


# Ways through the host


@thorough
def past_a_router():
    """Through five devices, a packet arrives once."""
    with lab("--topology", "router"), udp(RX, socket.AF_INET, ("", PORT)) as sock:
        with balancing(EXPR) as t:
            sent = send("198.18.1.2")
            received = read_all(sock)
            with udp(TX, socket.AF_INET) as short:
                short.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 1)
                for _ in range(20):
                    short.sendto(b"x", ("198.18.1.2", PORT))
            assert_balance(t.stop(), sent + 20, received, ip_forward=20,
                         **({"rcvbuf": sent - received} if received < sent else {}))


@thorough
def out_of_the_host():
    """What leaves again is not in the sum; what was lost on its way out is."""
    with lab(), tun(RX) as device:
        for place, line in ((RX, "sysctl -q -w net.ipv4.ip_forward=1"),
                            (RX, "ip link set t0 txqueuelen 100"),
                            (TX, f"ip route add 198.18.5.0/24 via {V4}")):
            need(place, *line.split())
        with balancing(EXPR) as t:
            sent = send("198.18.5.9")
            left = 0
            with contextlib.suppress(BlockingIOError):
                while device.read(2048) is not None:
                    left += 1
            document = t.stop()
        assert 0 < left < sent, (left, sent)
        end = assert_balance(document, sent - left, 0, tx_device=sent - left)
        assert end["probes"]["left"] == sent, end["probes"]  # at the device's queue


@case
def at_the_sender():
    """Of its namespace alone: what a socket hands to the device does not arrive, and is counted; of
    one in fragments the datagram."""
    with lab(), udp(RX, socket.AF_INET, ("", PORT)):
        with balancing("--netns", TX, EXPR) as t:
            sent = send(V4, 60) + send(V4, 20, size=4000)
            end = assert_balance(t.stop(), 0, 0)
        assert end["probes"]["sent"] == sent and end["verdict"] == "none_seen", end
        assert any("the other host decides" in line for line in end["rests_on"]), end["rests_on"]


# Whose packets they are


def two_senders(stack, to, family=None):
    sock = stack.enter_context(udp(RX, family or family_of(to), ("", PORT)))
    ours, others = (stack.enter_context(udp(TX, family_of(to), ("", PORT + n))) for n in (1, 2))
    return sock, ours, others


@table(first(1, BOTH))
def told_apart_by_source(to):
    """Some arrive before it begins; the reader's buffer is shorter than what it reads."""
    with lab(), contextlib.ExitStack() as stack:
        sock, ours, others = two_senders(stack, to)
        for sender, before in ((ours, 3), (others, 2)):
            for _ in range(before):
                sender.sendto(b"x" * 100, (to, PORT))
        with balancing(f"{EXPR} and src port {PORT + 1}") as t:
            for _ in range(50):
                others.sendto(b"x" * 100, (to, PORT))
                ours.sendto(b"x" * 200, (to, PORT))
            sources = [sock.recvfrom(20)[1][1] for _ in range(100)]
            read = sources.count(PORT + 1)
            assert_balance(t.stop(), 50, read, 50 - read)


@case
def told_apart_by_the_peer():
    """A connected socket does not ask for the source. The peer of an IPv6 socket may have an IPv4 address."""
    with lab(), contextlib.ExitStack() as stack:
        sock, ours, others = two_senders(stack, V4, socket.AF_INET6)
        with balancing(f"{EXPR} and src port {PORT + 1}") as t:
            others.sendto(b"x" * 100, (V4, PORT))
            assert_read(sock, 1)
            sock.connect(("::ffff:198.18.0.1", PORT + 1))
            for _ in range(50):
                ours.sendto(b"x" * 100, (V4, PORT))
            assert_read(sock, 50)
            assert_balance(t.stop(), 50, 50)


@table(first(1, BOTH[::-1]))
def cannot_be_told_apart(to):
    """A reader that does not ask for the source, on a socket with two."""
    with lab(), contextlib.ExitStack() as stack:
        sock, ours, others = two_senders(stack, to)
        with balancing("--settle", "300ms", f"{EXPR} and src port {PORT + 1}") as t:
            for _ in range(10):
                others.sendto(b"x" * 100, (to, PORT))
                ours.sendto(b"x" * 100, (to, PORT))
            assert_read(sock, 20)
            end = t.stop()["end"]
        assert t.process.returncode == BROKEN, t.process.returncode
        assert end["verdict"] == "unknown" and not end["balanced"], end
        assert any("did not ask for the source" in line for line in end["rests_on"]), end


@case
def taken_without_a_word():
    """What the kernel frees as used (TC_ACT_STOLEN) is missing, and not made up for."""
    with lab(), udp(RX, socket.AF_INET, ("", PORT)) as sock, ends.stolen(RX, "v-rx"):
        with balancing("--settle", "300ms", EXPR) as t:
            sent = send(V4, 50)
            assert read_all(sock) == 0
            end = t.stop()["end"]
        assert t.process.returncode == BROKEN, t.process.returncode
        assert end["arrived"] == end["unaccounted"] == sent and not end["stages"], end
        assert end["verdict"] == "unknown" and not end["balanced"], end


# The application's numbers


def rtp(number, ssrc, size=160):
    return (b"\x80\x00" + (number & 0xffff).to_bytes(2, "big") + bytes(4)
            + ssrc.to_bytes(4, "big") + bytes(size))


def send_numbered(payloads):
    with udp(TX, socket.AF_INET) as sock:
        for payload in payloads:
            sock.sendto(payload, (V4, PORT))


@case
def rtp_lost_before_and_here():
    """Two streams that wrap, with numbers that the sender skips, late and twice."""
    skipped = {1: set(random.Random(1).sample(range(20, 980), 40)),
               2: set(random.Random(2).sample(range(20, 980), 15))}
    payloads = [rtp(65000 + n, ssrc) for n in range(1000) for ssrc in (1, 2)
                if n not in skipped[ssrc]]
    payloads[500], payloads[510] = payloads[510], payloads[500]
    payloads.insert(700, payloads[699])
    with lab(), tiny_rcvbuf(V4) as about, balancing("--seq", "rtp", EXPR) as t:
        send_numbered(payloads)
        received = read_all(about["reader"])
        end = assert_balance(t.stop(), len(payloads), received, rcvbuf=len(payloads) - received)
    assert end["lost_before"] == 55, end["sequence"]
    assert end["verdict"] == "both", end["verdict"]
    assert end["sequence"]["streams"] == 2 and end["sequence"]["duplicated"] == 1, end["sequence"]
    assert end["sequence"]["reordered"] >= 1 and end["sequence"]["stray"] == 0, end["sequence"]


@case
def dropped_before_it_entered():
    """What the sender's own hook drops is a loss here, and no gap from before."""
    payloads = [n.to_bytes(8, "big") + bytes(50 if n % 10 else 200) for n in range(300)]
    with lab(), udp(RX, socket.AF_INET, ("", PORT)) as sock:
        drop(TX, "output", f"udp dport {PORT} meta length > 200")
        sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
        with balancing("--seq", "0:8", EXPR) as t:
            with udp(TX, socket.AF_INET) as tx:
                for payload in payloads:
                    with contextlib.suppress(PermissionError):
                        tx.sendto(payload, (V4, PORT))
            assert_read(sock, 270)
            end = assert_balance(t.stop(), 300, 270, netfilter=30)
    assert end["lost_before"] == 0 and end["verdict"] == "this_host", end


# A program of others


@thorough
def iperf3():
    """Our loss is that of iperf3 and what it left unread."""
    require(shutil.which("iperf3"), "needs iperf3")
    with lab():
        server = subprocess.Popen(["ip", "netns", "exec", RX, "iperf3", "-s", "-1", "-p",
                                   str(PORT)], stdout=subprocess.DEVNULL)
        try:
            until(lambda: shell(RX, "ss", "-ltnH", f"sport = :{PORT}").stdout, 10, "iperf3 listens")
            result = pktledger("trace", "-j", "--balance", f"{EXPR} and greater 128", "--", "ip",
                               "netns", "exec", TX, "iperf3", "-J", "-c", V4, "-p", str(PORT),
                               "-u", "-b", "0", "-l", "100", "-t", "1")
        finally:
            server.terminate()
            server.wait(timeout=TIMEOUT)
        end = assert_ran(result).json["end"]
        theirs = json.loads(result.err[result.err.index("{"):result.err.rindex("}") + 1])["end"]
        sent, seen = theirs["sum_sent"]["packets"], theirs["sum_received"]["packets"]
        dropped = sum(lost(end).values())
        assert end["unaccounted"] == 0 and end["balanced"], end
        assert end["arrived"] == sent, (end["arrived"], sent)
        # of what it never saw: lost after the last number that it read, or unread when it closed
        tail = sent - seen
        assert dropped == theirs["sum_received"]["lost_packets"] + tail, (dropped, theirs, tail)


@table([("balance", ["--balance", EXPR]), ("numbers", ["--balance", "--seq", "rtp", EXPR]),
        ("TCP", ["--balance", f"tcp port {PORT}"]), ("by flow", ["--by", "flow"]), *first(0, [("EXPR", [EXPR])])])
def every_program_loads_at_once(args):
    """What the verifier refuses is replaced by slower programs for older kernels, without a word."""
    require(KERNEL >= (6, 12), "an old kernel")
    with lab():
        result = assert_ran(pktledger("trace", "-vv", "--netns", RX, "-t", "0.1", *args))
    assert "libbpf: loading object" in result.err and "failed to load" not in result.err, result


if __name__ == "__main__":
    main()
