#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`trace`: losses that kfree_skb does not tell. XDP without an skb, AF_XDP rings, tc STOLEN and
overlapping fragments; each packet once, and the counters of the path as rates."""

import json
import socket
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import (BINARY, EVERYTHING, assert_ok, assert_valid, case, first, lost, main, pktledger, require,
                 table, thorough, until)
from ends import LENGTH, PORT, XDP_GENERIC, XDP_NATIVE, do, insn, ip4, raw, redirect, shell, stolen, udp, verdict, xdp
from test_balance import EXPR, assert_balance, balancing
from traced import FRAGMENTING4, NAME, RX, TX, V4, V6, assert_only, causes, lab, send, tracing

PACKETS = 300
DEVICES = 100 if EVERYTHING else 20
XDP_ABORTED, XDP_DROP, XDP_PASS, XDP_TX = range(4)
NO_DEVICE = 4242
V4_SENDER = "198.18.0.1"


# Under trace


def interval_sums(document, key):
    return sum(i[key] for i in document["intervals"])


def rows_here(document, kind):
    """What is shown of the receiver's devices; others may lose packets of theirs."""
    return [c for s in document["end"][kind] for c in s["causes"]
            if c["netns"] == RX and c["scope"] == "interface"]


def resolve():
    """The sender knows the receiver's address, and the packet that asked for it is there."""
    send(V4, 1)
    until(lambda: "lladdr" in shell(TX, "ip", "neigh", "show", V4).stdout, 10, "the neighbour")


def traced(*args, known=True):
    """The document of a trace of the receiving namespace while packets are sent to it. `known`: they
    are lost, and not only suspected."""
    resolve()
    with tracing("--netns", RX, *args) as t:
        sent = send(V4, PACKETS)
        t.until(sent * known)
        return sent, t.stop()


@table(first(1, [("generic", XDP_GENERIC), ("native", XDP_NATIVE)]))
def redirect_to_no_device(mode):
    """Known by errno; in generic mode kfree_skb shows it too, and is left out."""
    with lab(), xdp(RX, "v-rx", redirect(NO_DEVICE), mode):
        sent, document = traced()
        assert_only(document, "xdp", sent, reason="EINVAL", ifname="v-rx", netns=RX,
                    source="event", scope="interface")
        location = causes(document)["xdp"]["causes"][0]["location"]
        assert location.startswith("xdp_redirect_err program ["), location


@case
def packet_filter_and_generic_redirect():
    """Only kfree_skb knows which packet it was: it tells them, and XDP's event does not."""
    with lab(), xdp(RX, "v-rx", redirect(NO_DEVICE), XDP_GENERIC):
        sent, document = traced(f"udp port {PORT}")
        assert_only(document, "xdp", sent, reason="XDP", location="do_xdp_generic", scope="flow")
        assert not rows_here(document, "suspected"), document["end"]["suspected"]


@thorough
def packet_filter_and_native_redirect():
    """What was lost at the device may have been others' packets."""
    with lab(), xdp(RX, "v-rx", redirect(NO_DEVICE), XDP_NATIVE):
        sent, document = traced(f"udp port {PORT}", known=False)
        assert not document["end"]["stages"], document["end"]["stages"]
        assert [c["packets"] for c in rows_here(document, "suspected")] == [sent], document["end"]


# XDP_DROP of frames below 180 bytes, XDP_ABORTED of others
BY_LENGTH = LENGTH + insn(0xb7, 0, XDP_DROP) + insn(0xa5, 3, 180, 1) + verdict(XDP_ABORTED)


@table(first(0, [(f"{name}, IPv{6 if ':' in to else 4}", mode, to) for to in (V4, V6)
                 for name, mode in (("native", XDP_NATIVE), ("generic", XDP_GENERIC))]))
def dropped_and_aborted(mode, to):
    """Each packet has its own verdict, also beside those that EXPR does not want."""
    with lab():
        send(to, 1)  # resolves the neighbour
        with xdp(RX, "v-rx", BY_LENGTH, mode), tracing(f"udp port {PORT}") as t:
            for _ in range(10):
                send(to, 5, size=200)
                send(to, 1, size=200, port=PORT + 1)
                send(to, 7)
            t.until(120)
            document = t.stop()
        assert_only(document, "xdp", 120, ifname="v-rx", scope="flow")
        found = {c["reason"]: c["packets"] for c in causes(document)["xdp"]["causes"]}
        assert found == {"XDP_ABORTED": 50, "NOT_SPECIFIED": 70}, found


@case
def dropped_frame():
    """What XDP_TX sends back comes as a frame, and the kernel frees it without a word: only the
    driver counts it."""
    with lab(), xdp(TX, "v-tx", verdict(XDP_TX), XDP_NATIVE), \
            xdp(RX, "v-rx", verdict(XDP_DROP), XDP_NATIVE), udp(RX, socket.AF_INET) as sock:
        with tracing("--counters", "--netns", RX) as t:
            for _ in range(PACKETS):
                sock.sendto(b"x" * 100, (V4_SENDER, PORT))
            t.until(PACKETS)
            document = t.stop()
        assert_only(document, "xdp", PACKETS, ifname="v-rx", source="counter", scope="interface",
                    location="rx_queue_0_xdp_drops")
        rows = counted(document, "losses", name="rx_queue_0_xdp_drops")
        assert sum(r["delta"] for r in rows) == PACKETS, rows
        assert {(r["stage"], r["class"], r["cause"], r["queue"]) for r in rows} == {
            ("xdp", "loss", "xdp", 0)}, rows


def run_under_trace(which, *options):
    """The ledger of `run`, and what trace saw meanwhile of `which` packets."""
    result = pktledger("trace", "-j", "-I", "200ms", *which, "--", str(BINARY), "run", "-j", "-q", *options)
    require(result.status != 3, result.err.strip())
    assert result.status == 0, result
    assert_valid(result.json)
    return json.loads(result.err[result.err.index("{"):result.err.rindex("}") + 1]), result.json


IN_LAB = ["--netns", RX], ["--lab", NAME, "--fault", "xsk:ring"]


@table(first(1, [
    ("AF_XDP ring full, both sides", "xsk", *IN_LAB, ["--tx", "xsk", "--rx", "xsk"]),
    ("ring of a veth", "tx_device", [f"udp port {PORT}"],
     ["-p", str(PORT), "--fault", "tx_device"], ["--rx", "xsk"]),  # no fault for a lab that stays
    ("AF_XDP ring full", "xsk", *IN_LAB, ["--rx", "xsk"]),
]))
def as_many_as_in_the_ledger(stage, which, place, options):
    """`run` knows the outcome of each number, and trace, which does not, says the same."""
    with lab():
        ledger, document = run_under_trace(which, "-c", "20k", *place, *options)
        assert lost(ledger)[stage] > 0, lost(ledger)
        rows = causes(document)[stage]
        assert rows["packets"] == lost(ledger)[stage], (lost(ledger), rows)
        assert {c["source"] for c in rows["causes"]} == {"event"}, rows
        assert interval_sums(document, "dropped") == document["end"]["dropped"]


# What is freed as used up


@table(first(1, [("egress", TX, "v-tx", "egress", "__dev_queue_xmit"),
                 ("ingress", RX, "v-rx", "ingress", "__netif_receive_skb_core")]))
def tc_stolen(netns, ifname, side, place):
    """TC_ACT_STOLEN frees a packet as used: with --consumed a drop, and in the balance one."""
    with lab():
        resolve()
        with stolen(netns, ifname, side), tracing("--consumed", EXPR) as t, balancing("--consumed", EXPR) as balance:
            sent = send(V4, PACKETS)
            t.until(sent)
            document = t.stop()
            assert_balance(balance.stop(), sent, 0, **{f"tc_{side}": sent})
        assert_only(document, f"tc_{side}", sent, reason="CONSUMED", location=place, ifname=ifname)


def fragment(number, offset, size):
    """An IPv4 fragment of a UDP datagram, with more of them behind it."""
    payload = struct.pack("!HHHH", 1234, PORT, 4000, 0) if not offset else b""
    return ip4(socket.IPPROTO_UDP, payload.ljust(size, b"x"), FRAGMENTING4, V4, number, 0x2000 | offset // 8)


@case
def overlapping_fragments():
    """Three of a datagram: the third overlaps the others, which all are dropped for it. One loss."""
    datagrams = 20
    with lab():
        send(V4, 1)
        # in their queue they lose the device, and with it the namespace
        with raw(TX, socket.IPPROTO_RAW) as sock, tracing("--consumed", f"src host {FRAGMENTING4}") as t:
            for number in range(1, datagrams + 1):
                for offset in (0, 400, 600):
                    sock.sendto(fragment(number, offset, 400), (V4, 0))
            t.until(datagrams)
            document = t.stop()
        assert_only(document, "ip_frag", datagrams)


# Counters


def counted(document, kind, **fields):
    """The rows of a kind in all intervals that have these fields."""
    return [row for i in document["intervals"] for row in i["counters"][kind]
            if all(row[k] == v for k, v in fields.items())]


@case
def rates_of_devices_queues_and_counters():
    with lab(), udp(RX, socket.AF_INET, ("", PORT)) as sock, \
            xdp(RX, "v-rx", verdict(XDP_PASS), XDP_NATIVE):  # so that the queue counts
        sock.setsockopt(socket.SOL_SOCKET, 33, 1 << 20)  # SO_RCVBUFFORCE: room for all
        resolve()
        with tracing("--counters", "--netns", RX) as t:
            t.pass_intervals()
            sent = send(V4, PACKETS, size=100)
            t.pass_intervals(2)
            document = t.stop()
        device = counted(document, "interfaces", ifname="v-rx", netns=RX, driver="veth")
        assert sum(d["rx_packets"] for d in device) >= sent, device
        assert sum(d["rx_bytes"] for d in device) >= sent * 128, device  # from IP on
        for i in document["intervals"]:
            for d in i["counters"]["interfaces"]:
                rate = d["rx_packets"] * 1e9 / i["counters"]["interval_ns"]
                assert abs(d["rx_pps"] - rate) < 0.01, d
        queue = counted(document, "queues", ifname="v-rx", queue=0)
        assert sum(q.get("rx_packets", 0) for q in queue) >= sent, queue
        received = counted(document, "counters", scope="netns", name="Udp:InDatagrams")
        delivered = counted(document, "counters", scope="netns", name="Ip:InDelivers")
        assert not received, received  # nobody reads
        assert sum(c["delta"] for c in delivered) == sent, delivered
        assert not any(i["dropped"] for i in document["intervals"]), document["end"]


@thorough
def many_devices():
    with lab():
        do(RX, "ip", "-batch", "-", text="".join(f"link add d{i}a type veth peer name d{i}b\n" for i in range(DEVICES)))
        with tracing("--counters", "--all", "--netns", RX) as t:
            t.pass_intervals(2)
            document = t.stop()
        last = document["intervals"][-1]["counters"]["interfaces"]
        assert len(last) == 2 * DEVICES + 2, len(last)  # and v-rx, lo
        assert {d["driver"] for d in last if d["ifname"] != "lo"} == {"veth"}, last


@thorough
def text_of_counters():
    with lab():
        send(V4, 1)
        result = assert_ok(pktledger("trace", "--counters", "--all", "-I", "200ms", "-t", "0.5",
                                     "--netns", RX))
        assert "interface" in result.out and "v-rx" in result.out, result
        assert all(len(line) <= 80 for line in result.out.splitlines()), result


if __name__ == "__main__":
    main()
