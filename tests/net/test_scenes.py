#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Scenes: packets of plain sockets, lost by plain means, and everything that watches them at once:
`trace`, its ledger as `report` reads it, `trace --balance`, and `export` for a pair. The truth is what sockets
read and what nft and the kernel counted."""

import contextlib
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from ends import PORT, at, await_reassembly, do, drop, family_of, need, nft_counters, read_all, sysctl, udp
from lib import KERNEL, assert_ok, directory, first, main, observed, pktledger, table
from test_balance import EXPR, assert_balance, balancing
from test_export import exporting, total
from test_families import BRIDGE
from test_nat import NEW, ROUTER, far, redirect, ruleset, shown, translate
from test_others import patient
from test_tunnels import FAR4, FAR6, VXLAN, drop_outer
from traced import RX, TX, V4, V6, assert_only, lab, send, tracing
from traced_faults import (closed_port, filter_on_socket, generic_xdp, tc_ingress, tiny_rcvbuf,
                           unread_at_close)
from traced_faults import nft as rule_of

HERE = {"netns": RX, "direction": "rx", "ifname": "v-rx"}
FAMILIES = [("IPv4", V4), ("IPv6", V6)]


# How packets are lost: each yields the stage, the reader of the rest (`reader`), a socket to close
# (`close`), what counts the losses, too (`counted`), what to wait for (`wait`), what else the balance
# says (`also`), and fields of the causes.


def before(make, *steps):
    """The same after these were done with the address; a step may return what else the balance says."""

    @contextlib.contextmanager
    def made(address):
        with make(address) as about:
            also = [found for found in [step(address) for step in steps] if found]
            yield {**about, **({"also": also[0]} if also else {})}

    return made


def told(make, stage, **fields):
    """The same, but packets are lost at this stage."""

    @contextlib.contextmanager
    def made(address):
        with make(address) as about:
            yield {**about, "stage": stage, **fields}

    return made


def at_port(port):
    """Losses of the receiver's socket with this port."""

    @contextlib.contextmanager
    def all_read(address):
        with patient(family_of(address), port) as sock:
            yield {"stage": None, "reader": sock}

    @contextlib.contextmanager
    def small_buffer(address):
        with udp(RX, family_of(address), ("", port), rcvbuf=5000) as sock:
            yield {"stage": "rcvbuf", "reader": sock}

    @contextlib.contextmanager
    def nobody(_):
        yield {"stage": "udp_lookup"}

    @contextlib.contextmanager
    def unread(address):
        sock = patient(family_of(address), port)
        yield {"stage": "socket_close", "close": sock}

    rule_in_input = told(before(all_read, lambda _: drop(RX, "input", f"udp dport {port} numgen inc mod 5 0", table="f")),
                         "netfilter", counted=lambda: nft_counters(RX)[None])
    return [("all read", all_read), ("small buffer", small_buffer), ("nobody", nobody), ("rule in input", rule_in_input),
            ("unread", unread)]


READ = at_port(PORT)[0][1]


def drop_fragments(address):
    """The last fragment of each fifth datagram of 8000 bytes is dropped."""
    last = "frag frag-off > 800" if ":" in address else "ip frag-off & 0x1fff > 800"
    drop(RX, "prerouting", f"{last} numgen inc mod 5 0", ruleset(address), priority=-450)
    for name in "net/ipv4/ipfrag_time", "net/ipv6/ip6frag_time":
        sysctl(RX, name, 1)


later_fragment = told(before(READ, drop_fragments), "netfilter", counted=lambda: nft_counters(RX)[None],
                      wait=lambda gone: await_reassembly(RX, gone))
full_queue = told(before(READ, lambda _: need(
    TX, *"tc qdisc add dev v-tx root tbf rate 2mbit burst 2k limit 20k".split())), "qdisc")


def bridge_rule(hook):
    return told(before(READ, lambda _: drop(BRIDGE, hook, f"udp dport {PORT} numgen inc mod 5 0", "bridge")),
                "netfilter", counted=lambda: nft_counters(BRIDGE)[None], hook=f"bridge {hook}")


@contextlib.contextmanager
def silent_neighbour(_):
    for family in "ipv4", "ipv6":
        sysctl(TX, f"net/{family}/neigh/v-tx/retrans_time_ms", 100)
    yield {"stage": "neigh", "late": True}


# The other end of a tunnel


def no_device(_):
    do(RX, "ip", "link", "del", "x-rx")


def other_network(_):
    no_device(_)
    do(RX, *f"ip link add x-rx type vxlan id 7 remote 198.18.0.1 dev v-rx dstport {VXLAN}".split())
    do(RX, "ip", "link", "set", "x-rx", "up")


# The table: name, how packets are lost, where to, then what differs


BASIC = [
    ("nothing lost", READ, V4, {}),
    ("closed port, IPv6", closed_port, V6, {"fields": HERE}),
    ("receive buffer", tiny_rcvbuf, V4, {"fields": HERE}),
    ("unread at close, IPv6", unread_at_close, V6, {"fields": {"direction": "rx"}}),
    ("socket filter", filter_on_socket, V4, {"fields": HERE}),
    ("nft prerouting, IPv6", lambda a: rule_of("prerouting", RX, a), V6, {"fields": HERE}),
    ("generic XDP", generic_xdp, V4, {"fields": HERE}),
    ("tc ingress", tc_ingress, V4, {"fields": HERE}),
    ("queue of the sender", full_queue, V4, {"size": 500}),
    ("closed port", closed_port, V4, {"fields": HERE}),
    ("receive buffer, IPv6", tiny_rcvbuf, V6, {"fields": HERE}),
    ("unread at close", unread_at_close, V4, {"fields": {"direction": "rx"}}),
    ("nft input", lambda a: rule_of("input", RX, a), V4, {"fields": HERE}),
    ("nft input, IPv6", lambda a: rule_of("input", RX, a), V6, {"fields": HERE}),
    ("nft output", lambda a: rule_of("output", TX, a, netns=TX, direction="tx"), V4, {}),
    ("nft postrouting, IPv6", lambda a: rule_of("postrouting", TX, a), V6, {}),
]
FRAGMENTS = [(f"{name}, {family}", make, address, {"size": 8000, **more})
             for name, make, more in (
                 ("a later fragment is lost", later_fragment, {}),
                 ("a later fragment is lost, of a namespace", later_fragment,
                  {"expr": "udp", "options": ["--netns", RX]}),
                 ("whole in fragments", READ, {}))
             for family, address in FAMILIES[::-1]]
NEIGHBOURS = [("a neighbour that does not answer, IPv6", silent_neighbour, "2001:2::77", {"packets": 200}),
              ("a neighbour that does not answer", silent_neighbour, "198.18.0.77", {"packets": 200})]


def redirected(address):
    redirect(address)
    return lambda end, received: shown(end, "destination", at(address, NEW))["datagrams"] >= received


def forwarded(address):
    translate(ROUTER, address, "prerouting", f"udp dport {PORT} counter dnat to {at(address, NEW)}")
    return lambda end, _: shown(end, "destination", at(address, NEW))


def masqueraded(address):
    source, outside = (("2001:2::1", "2001:2:0:1::fe") if ":" in address else
                       ("198.18.0.1", "198.18.1.254"))
    translate(ROUTER, address, "postrouting", 'oifname "v-r1" counter masquerade')
    return lambda end, _: shown(end, "source", outside)["from"] == source


NAT = [(f"{step.__name__}, {name}, {family}", before(make, step), where(address), more)
       for step, where, more in (
           (redirected, str, {}), (forwarded, far, {"topology": "router"}),
           (masqueraded, far, {"topology": "router", "port": NEW,
                               "expr": f"udp dst port {NEW} and (src host 198.18.0.1 or 2001:2::1)"}))
       for name, make in at_port(NEW) for family, address in FAMILIES]
NAT += [(f"only the new name, {name}, {family}", before(make, redirect), address, {"expr": f"udp port {NEW}"})
        for name, make in at_port(NEW)[1::2] for family, address in FAMILIES]

TUNNEL = [(f"tunnel, {name}, {family}", make, address, {"topology": "vxlan", "options": ["--inner"]})
          for name, make in [
              ("a rule for the tunnel", told(before(READ, lambda _: drop_outer()), "netfilter")),
              ("a full queue", full_queue), *at_port(PORT)[:3],
              ("another network", told(before(READ, other_network), "tunnel")),
              ("no device", told(before(READ, no_device), "udp_lookup")),
              ("a rule at the sender", told(before(READ, lambda _: drop_outer(TX, "postrouting")), "netfilter"))]
          for family, address in (("IPv4", FAR4), ("IPv6", FAR6))]
BRIDGES = [(f"bridge {hook}, {family}", bridge_rule(hook), address, {"topology": "bridge"})
           for hook in ("prerouting", "forward", "postrouting") for family, address in FAMILIES]

OUT = {"direction": "tx", "netns": TX, "ifname": "v-tx"}
LAB = [(f"lab --fault {name}", told(READ, stage), V4,
        {"fault": name, "fields": {**HERE, **fields}, "kind": "suspected" if stage == "l2" else "stages"})
       for name, stage, fields in [
           ("netfilter:egress=30%", "netfilter", {"hook": "egress", **OUT}),
           ("netfilter=30%", "netfilter", {"hook": "input"}),
           ("netfilter:ingress=30%", "netfilter", {"hook": "ingress"}),
           ("socket_read:csum=30%", "socket_read", {"reason": "UDP_CSUM", "ifname": None, "netns": None}),
           ("tc_egress=30%", "tc_egress", OUT),
           ("xdp=30%", "xdp", {"location": "veth_xdp_rcv_skb"}),
           ("xdp:generic=30%", "xdp", {"location": "do_xdp_generic"}),
           ("xdp:aborted=30%", "xdp", {"location": "veth_xdp_rcv_skb"}),
           ("tc_ingress=30%", "tc_ingress", {}),
           ("l2:address", "l2", {"reason": "OTHERHOST"}),
           ("ip_header=30%", "ip_header", {"reason": "IP_CSUM"}),
           ("netfilter:prerouting=30%", "netfilter", {"hook": "prerouting"}),
           ("netfilter:forward=30%", "netfilter", {"hook": "forward", "direction": "forward",
                                                   "netns": ROUTER, "ifname": "v-r0"}),
           ("netfilter:postrouting=30%", "netfilter", {"hook": "postrouting", **OUT}),
           ("netfilter:output=30%", "netfilter", {"hook": "output", "direction": "tx", "netns": TX,
                                                  "ifname": None}),
           ("ip_route:rp_filter", "ip_route", {"reason": "IP_RPFILTER"}),
           ("ip_route:blackhole", "ip_route", {"netns": ROUTER, "ifname": "v-r0"}),
           ("udp_header=30%", "udp_header", {"reason": "PKT_TOO_SMALL"})]]


def lab_of(topology, fault):
    return lab(*(["--topology", topology] if topology else []), *(["--fault", fault] if fault else []))


def known(about, fields, document, to):
    """What a cause says, as far as this kernel tells it."""
    fields = {"source": "event", "scope": "flow", **fields, **about}
    if document["end"]["missed"]["no_sockets"]:  # before Linux 6.11
        fields.pop("process", None)
        if fields.get("socket"):
            fields["socket"] = at(to, PORT)
    return {key: value for key, value in fields.items() if value is not None or key in ("socket", "process")}


def watch(make, to, topology=None, fault=None, options=(), expr=EXPR, port=PORT, size=100, packets=300,
          kind="stages", fields=None):
    """Returns a document that lacks what the host hid: the RCU callback that frees the packets of a
    socket and the timers of neighbours and queues may run in the context of PID 1."""
    with lab_of(topology, fault), directory() as path, contextlib.ExitStack() as stack:
        if fault and os.path.exists(f"/run/netns/{ROUTER}"):
            to = far(to)
        about = stack.enter_context(make(to))
        stage, reader, closing, late, counted, wait, also = (
            about.pop(key, None) for key in ("stage", "reader", "close", "late", "counted", "wait", "also"))
        late = late or closing
        send(to, 1, port=PORT + 9)  # neighbours
        tracer = stack.enter_context(tracing(*options, "--ledger", f"{path}/ledger", expr))
        balance = stack.enter_context(balancing(*options, expr)) if kind == "stages" else None
        metrics = stack.enter_context(exporting(expr)) if expr == EXPR and not topology and not fault else None
        sent = send(to, packets, port=port, size=size)
        received = read_all(reader) if reader else 0
        lost = sent - received
        if closing:
            closing.close()
        if wait:
            wait(lost)
        if kind == "stages":
            with contextlib.suppress(*[AssertionError] * bool(late)):
                tracer.until(lost, 3 if late else 20)
        document = tracer.stop()
        if late and document["end"]["dropped"] < (1 if closing else lost):
            return document
        assert (0 < lost if stage else lost == 0), (sent, received)
        assert not counted or counted() == lost, (counted(), sent, received)
        if stage:
            assert_only(document, stage, lost, kind, **known(about, fields or {}, document, to))
        else:
            assert document["end"]["dropped"] == 0, document["end"]
        again = assert_ok(pktledger("report", "-j", f"{path}/ledger")).json["documents"][0]
        assert again["end"] == document["end"], again
        if balance:
            document = balance.stop()
            if stage == "qdisc" and document["end"]["unaccounted"] < 0:
                return document
            if KERNEL < (6, 4) and any("NAT that cannot be followed" in why for why in document["end"]["rests_on"]):
                assert not document["end"]["balanced"], document["end"]
            else:
                assert_balanced_flow(document, sent, received, stage, about, also)
        if metrics and kind == "stages":
            found = metrics.scrape()
            assert total(found, "pktledger_stage_lost_packets_total") == lost, (lost, found)
            assert not stage or total(found, "pktledger_lost_packets_total", f"stage={stage}") == lost, found
        return None


def assert_balanced_flow(document, sent, received, stage, about, also):
    end = assert_balance(document, sent, received, **({stage: sent - received} if stage else {}))
    assert end["verdict"] == ("this_host" if stage else "none_seen"), end["verdict"]
    assert not also or also(end, received) is not False, end["nat"]
    if not stage:
        assert end["culprit"] is None and end["probes"]["entered"] == sent, end
        return
    assert (end["culprit"]["stage"], end["culprit"]["packets"]) == (stage, sent - received), end["culprit"]
    if about.get("process") and not end["missed"]["no_sockets"]:
        assert end["culprit"]["process"] == about["process"], end["culprit"]
        assert end["culprit"]["socket"] == about["socket"], end["culprit"]


def watch_one_after_another(rows):
    """The same, of losses at different stages that the same observers watch: a start costs more than
    all that a scene sends."""
    sent, received, lost, said, closed = 0, 0, {}, {}, None
    with lab(), directory() as path, contextlib.ExitStack() as stack:
        for address in V4, V6:
            send(address, 1, port=PORT + 9)  # neighbours
        tracer = stack.enter_context(tracing("--ledger", f"{path}/ledger", EXPR))
        balance = stack.enter_context(balancing(EXPR))
        metrics = stack.enter_context(exporting(EXPR))
        for _, make, to, more in rows:
            with make(to) as about:
                stage, reader, closing = (about.pop(key, None) for key in ("stage", "reader", "close"))
                packets = send(to, 300, size=more.get("size", 100))
                read = read_all(reader) if reader else 0
                if closing:
                    closing.close()
                    closed = stage
                sent, received = sent + packets, received + read
                if stage:
                    assert packets > read and stage not in lost, (stage, packets, read, lost)
                    lost[stage], said[stage] = packets - read, (about, more.get("fields", {}), to)
                with contextlib.suppress(*[AssertionError] * bool(closed)):
                    tracer.until(sum(lost.values()), 3 if closed else 20)
        document = tracer.stop()
        if closed and document["end"]["dropped"] == sum(lost.values()) - lost[closed]:
            return document
        shown = {s["stage"]: [c for c in s["causes"] if c["scope"] == "flow"]
                 for s in document["end"]["stages"]}
        assert {stage: sum(c["packets"] for c in found) for stage, found in shown.items()} == lost, (
            lost, document["end"])
        for stage, (about, fields, to) in said.items():
            for key, value in known(about, fields, document, to).items():
                assert all(c[key] == value for c in shown[stage]), (key, value, shown[stage])
        again = assert_ok(pktledger("report", "-j", f"{path}/ledger")).json["documents"][0]
        assert again["end"] == document["end"], again
        document = balance.stop()
        if "qdisc" in lost and document["end"]["unaccounted"] < 0:
            return document
        end = assert_balance(document, sent, received, **lost)
        assert (end["verdict"], end["culprit"]["packets"]) == ("this_host", max(lost.values())), end
        found = metrics.scrape()
        assert {stage: total(found, "pktledger_lost_packets_total", f"stage={stage}")
                for stage in lost} == lost, (lost, found)
        assert total(found, "pktledger_stage_lost_packets_total") == sum(lost.values()), (lost, found)
        return None


@table([("each stage", BASIC[:9]), ("in the other family", BASIC[9:13])])
def one_after_another(rows):
    hidden = observed(lambda: watch_one_after_another(rows), bool)
    assert not hidden, hidden


@table(first(0, BASIC) + first(1, FRAGMENTS) + first(1, NEIGHBOURS) + first(1, NAT) + first(1, TUNNEL)
       + first(1, BRIDGES) + first(0, LAB))
def scene(make, to, more):
    hidden = observed(lambda: watch(make, to, **more), bool)
    assert not hidden, hidden


if __name__ == "__main__":
    main()
