#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`run`: the ledger closes, whatever loses the packets, and nothing stays behind.

How many packets an unthrottled run loses depends on the host: only what the ledger says of itself
is asserted, and where a fault must have lost some.
"""

import itertools
import json
import os
import signal
import socket
import sys
import time
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from ends import drop, ip4, raw, send
from labs import Lab
from lib import (EVERYTHING, TIMEOUT, assert_balanced, assert_counters_agree, assert_ok, case, exclusive,
                 exclusive_rows, first, lost, main, observed, pktledger, require, run, started, table, telling,
                 thorough)

TIMES = 10 if EVERYTHING else 1  # each fault
MATRIX_COUNT = 1000000 if EVERYTHING else 10000
BALANCED = 100000 if EVERYTHING else 15000
FAULT_COUNT = 100000 if EVERYTHING else 10000
OFTEN = [
    ["tx_device", "--tx", "xdp", "--rx", "xdp", "--threads", "2"],
    ["xsk:ring", "--tx", "xsk", "--rx", "xsk"],
    ["backlog"],
    ["netfilter:output"],
    ["ip_forward:ttl", "--tx", "xdp"],
    ["udp_csum", "--ipv6"],
    ["udp_mem"],
    ["rcvbuf"],
    ["socket_close"],
]
RARE = [  # by the engines and sizes of which selftest has no case: it shows each fault, of both families
    ["tx_device", "--tx", "xdp"],
    ["udp_lookup", "--tx", "xsk"],
    ["xdp", "--rx", "xsk"],
    ["xsk:ring", "--rx", "xsk"],
    ["tx_device", "--rx", "xsk"],
    ["xdp", "--rx", "xdp"],
    ["gso", "--rate", "50k", "--ipv6"],
    ["gso", "--gso", "--length", "200", "--threads", "2"],
    ["gso", "--tx", "xsk", "--flows", "3"],
    ["xfrm", "--tx", "xdp"],
    ["xfrm:plain", "--tx", "xsk"],
    ["tx_device:tap", "--tx", "xsk", "--ipv6"],
    ["tx_device:tap", "--tx", "xdp", "--rx", "xsk"],
    ["tx_device:detach", "--tx", "xsk", "--ipv6"],
    ["xdp:redirect", "--tx", "xdp"],
    ["xdp:redirect", "--rx", "xsk", "--tx", "xsk", "--ipv6"],
    ["xdp:devmap", "--rx", "xdp", "--ipv6"],
    ["xdp:devmap", "--tx", "xsk", "--rx", "xsk"],
    ["xdp:cpumap", "--tx", "xsk"],
    ["xsk:fill", "--rx", "xsk"],
    ["xsk:fill", "--tx", "xsk", "--rx", "xsk", "--ipv6"],
    ["xsk:oversize", "--rx", "xsk", "--ipv6"],
    ["xsk:oversize", "--tx", "xsk", "--rx", "xsk"],
    ["l2:blocked", "--tx", "xsk", "--ipv6"],
    ["l2:flood", "--tx", "xdp", "--ipv6"],
    ["l2:silent", "--ipv6", "--length", "4000"],
    ["l2:silent", "--tx", "xdp", "--ipv6"],
    ["netfilter:egress", "--length", "2331", "--threads", "2", "--rate", "15k"],
    ["ip_frag:overlap", "--length", "4000"],
    ["ip_frag:overlap", "--length", "4000", "--ipv6"],
    ["ip_frag:mem", "--length", "4000"],
    ["ip_frag:mem", "--length", "4000", "--ipv6"],
    ["ip_forward:mtu", "--length", "1400"],
    ["ip_forward:mtu", "--length", "1400", "--ipv6"],
]
LOSES_ALL = ("tx_device:detach", "xsk:oversize", "l2:blocked", "l2:flood", "l2:silent", "ip_frag:mem", "ip_forward:ttl", "ip_forward:mtu", "udp_lookup", "socket_close")


@table(first(4, [
    ("IPv4", BALANCED, []),
    ("fragments of IPv6", BALANCED // 10, ["--length", "4000", "--ipv6"]),
    ("no wait", BALANCED, ["--no-wait"]),
    ("one packet", 1, []),
    ("threads", 100000, ["--threads", "2"]),
    ("IPv6", 100000, ["--ipv6"]),
    ("smallest frame", 100000, ["--size", "64"]),
    ("fragments", 10000, ["--length", "4000"]),
    ("flows", 100000, ["--flows", "100"]),
]))
def balanced(count, options):
    document = run("--count", str(count), *options)
    assert_balanced(document, attempted=count)
    # what other tests lose of their fragments in reassembly, without an interface, is unmatched
    pieces = {key: n for key, n in document["end"].items()
              if key.startswith("fragments_") and key != "fragments_unmatched"}
    expected = {"fragments_made": 3 * count, "fragments_seen": 3 * count} if "4000" in options else {}
    assert {key: n for key, n in pieces.items() if n} == expected, pieces


NAME = f"pl-legs-{os.getpid()}"
# a shaper of half the rate before the device; a reader of half the rate; and nothing at all
WAITING = [
    ("at a qdisc", ["tbf", "rate", "40mbit", "burst", "4k", "latency", "5s"], [], ("sent", "device_out")),
    ("for the reader", None, ["--work", "100us"], ("socket", "read")),
]  # as long as 166 packets or more, which the send buffer holds, wait for that


def legs_of(end):
    """Those of most packets; in the context of PID 1 this host may hide some from a point."""
    *legs, whole = end["latency_breakdown"]
    assert (whole["from"], whole["to"]) == ("sent", "read"), whole
    total = sum(leg["packets"] * leg["mean_ns"] for leg in legs)
    assert abs(total - whole["packets"] * whole["mean_ns"]) <= len(legs) * whole["packets"], legs
    return [leg for leg in legs if leg["packets"] > whole["packets"] / 2]


@table(first(1, WAITING))
def legs_show_where_packets_wait(qdisc, options, longest):
    with Lab(NAME) as lab:
        if qdisc:
            lab.do("tx", "tc", "qdisc", "add", "dev", "v-tx", "root", *qdisc)
        end = run("--lab", NAME, "--tx", "socket", "-r", "20k", "-c", "2000", "--rcvbuf", "16M", "--latency-breakdown",
                  *options)["end"]
    legs = legs_of(end)
    assert [leg["from"] for leg in legs] == ["sent", "device_out", "device_in", "socket"], legs
    assert legs[0]["packets"] > 0.9 * end["delivered"] and end["latency_breakdown"][-1]["packets"] == end["delivered"]
    assert end["latency_breakdown"][-1]["latency_ns"] == end["latency_ns"], end
    p50 = {(leg["from"], leg["to"]): leg["latency_ns"]["p50"] for leg in legs}
    assert p50[longest] > 5e6, legs
    assert p50["device_out", "device_in"] < 1e6 and p50["device_in", "socket"] < 1e6, legs


@table([(f"{tx} to {rx}", tx, rx, points) for tx, rx, points in [
    ("xsk", "socket", ["sent", "device_in", "socket"]), ("xdp", "socket", ["sent", "device_in", "socket"]),
    ("socket", "xsk", ["sent", "device_out"])]] if EVERYTHING else [])
def legs_of_engines(tx, rx, points):
    """Frames that bypass a point: its two legs are one."""
    legs = legs_of(run("--tx", tx, "--rx", rx, "-r", "10k", "-c", "2000", "--rcvbuf", "16M", "--latency-breakdown")["end"])
    assert [leg["from"] for leg in legs] == points and legs[-1]["to"] == "read", legs


@table(first(1, [
    ("through a backlog", ["--rps", str(os.cpu_count() - 1)]),
    ("in merged packets", ["--gso", "--gro", "--interface-gro"]),
]))
def timestamps(options):
    """The kernel's own: what waits for a CPU, and a packet within a merged one."""
    end = run("--tx", "socket", "-r", "10k", "-c", "2000", "--rcvbuf", "16M", "--latency-breakdown", *options)["end"]
    stamps, at_device = end["timestamps"], [leg for leg in end["latency_breakdown"] if leg["to"] == "device_in"]
    assert (stamps["kind"], stamps["packets"]) == ("software", end["delivered"]), stamps
    assert sum(leg["packets"] for leg in at_device) == end["delivered"], end["latency_breakdown"]
    if "--rps" in options:
        # of each packet; one whose arrival is not traced (PID 1) shortens the leg, and waits unseen
        assert stamps["backlog_ns"]["max"] <= at_device[-1]["latency_ns"]["max"], (stamps, end["latency_breakdown"])
        assert stamps["backlog_ns"]["p50"] > 500, stamps


@case
def no_timestamps():
    end = run("--rx", "xsk", "-r", "10k", "-c", "1000", "--latency-breakdown")["end"]
    assert end["timestamps"] == {"kind": "none", "packets": 0, "backlog_ns": None}, end


@case
def duration():
    document = run("--duration", "200ms", "--rate", "10k")
    assert_balanced(document)
    assert document["end"]["sent"] > 0
    assert "timestamps" not in document["end"], "nobody asked for a latency breakdown"


@table([(" ".join([name, *options]), name, options)
        for name, *options in OFTEN + (RARE if EVERYTHING else [])])
@exclusive_rows("backlog", "udp_mem")
def fault(name, options):
    stage = name.partition(":")[0]
    for _ in range(TIMES):
        document = run("--count", str(FAULT_COUNT), "--fault", name, *options)
        assert_balanced(document, attempted=FAULT_COUNT)
        assert lost(document).get(stage), f"nothing lost at {stage}: {lost(document)}"
        assert_counters_agree(document, stage)
        if name in LOSES_ALL:
            assert lost(document) == {stage: document["end"]["sent"]}


@table(first(1, [("IPv4", []), ("IPv6", ["--ipv6"])]))
def fragments_that_never_come(options):
    """The kernel gives up in a timer, on top of any task: where that is PID 1, nothing is seen."""
    def hidden(result):
        end = result.json["end"]
        return result.status == 4 and 0 < end["unaccounted"] == end["unaccounted_last_seen"][
            "rx_device"]

    result = assert_ok(observed(lambda: pktledger(
        "run", "-j", "--count", "4000", "--fault", "ip_frag:missing", "--length", "4000",
        *options), hidden))
    end = result.json["end"]
    assert_balanced(result.json, attempted=4000)
    assert lost(result.json) == {"ip_frag": end["sent"] - end["delivered"]}, lost(result.json)


@table(first(1, [("IPv4", []), ("IPv6", ["--ipv6"])]))
def fragments_behind_a_refused_one(options):
    """Where an interface refuses a fragment, the kernel frees the rest: each is made or abandoned."""
    document = run("--count", "3000", "--rate", "20k", "--length", "8000", "--fault", "tx_device", *options)
    end = document["end"]
    assert_balanced(document, attempted=3000)
    assert 0 < lost(document)["tx_device"] <= end["fragments_made"] - end["fragments_seen"], end
    assert end["fragments_made"] + end["fragments_abandoned"] == 6 * end["sent"], end


@table(first(1, [("IPv6", ["--ipv6"]), ("IPv4", [])]))
def fragments_that_come_twice(options):
    """The kernel drops the second, which is no loss of a datagram."""
    document = run("--count", "4000", "--fault", "ip_frag:duplicate", "--length", "4000", *options)
    assert_balanced(document, attempted=4000)
    assert document["end"]["fragments_dropped"] > 0, document["end"]
    assert "ip_frag" not in lost(document), lost(document)


@table(first(0, [(" ".join(options), options) for options in (["--rx", "xdp"], ["--rx", "socket", "--ipv6"],
                                                      ["--rx", "xsk", "--threads", "2"])]))
def live_frames_lost_by_a_foreign_program(options):
    """No event tells of them: the device's counter does, and says so."""
    document = run("--tx", "xdp", "--fault", "xdp", "--count", "40000", "--rate", "100k", *options)
    assert_balanced(document, attempted=40000)
    stage = next(s for s in document["end"]["stages"] if s["stage"] == "xdp")
    assert stage["packets"] > 4000 and stage["source"] == "counter", stage
    assert_counters_agree(document, "xdp")


@thorough
def more_numbers_than_the_window():
    """They leave it while it runs, settled or not, and each is counted once."""
    document = run("--tx", "xdp", "--rx", "xdp", "--size", "64", "--rate", "100k", "--settle", "20ms",
                   "--duration", "2", "--fault", "xdp:generic")
    assert_balanced(document)
    end = document["end"]
    assert end["sent"] > 65536 and lost(document) == {"xdp": end["sent"] - end["delivered"]}, end


@table(first(1, [("stands still", ["--pause", "400ms/100ms"]), ("slow", ["--work", "400us"])]))
def window_waits_for_the_reader(reader):
    """What lies in its queue for longer than packets have to settle is not given up."""
    document = pktledger("run", "-j", "--rate", "60k", "-c", "48k", "--settle", "20ms", "-l", "512",
                         "--rcvbuf", "100000", *reader).json
    end = document["end"]
    assert end["sent"] > 32768 and lost(document).keys() == {"rcvbuf"}, end
    assert end["late"] == 0 and end["unaccounted"] <= end["missed"]["suppressed"], end


@table(first(1, [(names, names) for names in (
    "netfilter:output,xdp,socket_filter",
    "netfilter,rcvbuf,qdisc",
    "netfilter:forward,socket_read:csum",
)]))
def faults_together(names):
    document = run("--count", str(MATRIX_COUNT), "--fault", names)
    assert_balanced(document, attempted=MATRIX_COUNT)
    expected = {name.partition(":")[0] for name in names.split(",")}
    assert expected <= set(lost(document)), lost(document)


ENGINES = [("socket", "xsk"), ("xsk", "socket"), ("xdp", "socket"), ("socket", "socket"), ("xsk", "xsk"),
           ("xsk", "xdp"), ("xdp", "xsk"), ("xdp", "xdp"), ("socket", "xdp")]


@table(first(3, [  # a pair of one engine is in `make test` by others, as `balanced` and a fault
    (f"{tx} to {rx}, IPv{6 if ipv6 else 4}, {rate}", tx, rx, ipv6, rate)
    for ipv6, rate in (([], "max"), (["--ipv6"], "200k"), ([], "200k"), (["--ipv6"], "max"))
    for tx, rx in ENGINES if rate == "max" or "xdp" not in (tx, rx)]))
def engines(tx, rx, ipv6, rate):
    document = run("--tx", tx, "--rx", rx, "--rate", rate, "--count", str(MATRIX_COUNT), *ipv6)
    assert_balanced(document, attempted=MATRIX_COUNT)
    assert document["start"]["tx"] == tx and document["start"]["rx"] == rx
    for stage in lost(document):
        assert_counters_agree(document, stage)


@case
def live_frames_by_flows_and_threads():
    document = run("--tx", "xdp", "--rx", "xdp", "--size", "64", "--flows", "1000", "--threads", "2",
                   "--count", "70001")  # more than the window of numbers
    assert_balanced(document, attempted=70001)
    assert document["end"]["damaged"] == document["end"]["duplicated"] == 0


@thorough
def live_frames_keep_a_rate():
    """A time is a number of packets, exactly; what the CPU could not keep is reported."""
    document = run("--tx", "xdp", "--rx", "xdp", "--rate", "20k", "--duration", "250ms")
    assert_balanced(document)
    assert 0 < document["end"]["sent"] <= 5002, document["end"]["sent"]


@thorough
def live_frames_of_many_threads():
    """More threads than CPUs do not keep each other from their packets."""
    document = run("--tx", "xdp", "--rx", "xdp", "--rate", "20k", "--count", "5000", "--threads", "64")
    assert_balanced(document, attempted=5000)
    assert document["end"]["tx_pps"] > 1000, document["end"]["tx_pps"]  # it was 50


@case
def pass_leaves_it_to_the_socket():
    document = run("--tx", "xdp", "--rx", "xdp", "--pass", "--gro", "--count", "30000",
                   "--fault", "rcvbuf")
    assert_balanced(document, attempted=30000)
    assert lost(document).get("rcvbuf")
    assert_counters_agree(document, "rcvbuf")


@case
def losses_on_top_of_losses():
    """A softirq drops packets while the sender's own are being dropped on that CPU."""
    require(len(os.sched_getaffinity(0)) > 1, "needs two CPUs")
    end = pktledger("run", "-j", "--count", "60000", "--size", "64", "--threads", "2", "--rcvbuf", "4k",
                    "--rps", "1", "--fault", "netfilter:output=50%").json["end"]
    assert not end["missed"]["recursion_misses"], end["missed"]
    assert end["unaccounted"] == end["missed"]["suppressed"], end


@table(first(0, [
    ("datagrams", "rcvbuf", 20000, []),
    ("fragments", "ip_frag:mem", 20000, ["--length", "4000", "--ipv6"]),
]))
def two_at_once(fault, count, options):
    """Neither sees the other's packets, though both have the same addresses and port."""
    options = ["run", "-j", "--count", str(count), "--fault", fault, *options]
    with started(*options) as one, started(*options) as other:
        documents = [json.loads(process.communicate(timeout=TIMEOUT)[0]) for process in (one, other)]
    for document in documents:
        assert_balanced(document, attempted=count)
        assert_counters_agree(document, fault.partition(":")[0])
        if fault == "ip_frag:mem":
            assert document["end"]["fragments_dropped"] == 3 * count, document["end"]


@case
@exclusive
def fragments_of_others_with_the_same_id():
    """Another namespace has the same addresses, and each later fragment is dropped there."""
    other = f"pl-test-{os.getpid()}"
    tx, rx = f"{other}-tx", f"{other}-rx"
    with Lab(other), raw(tx, socket.IPPROTO_RAW) as sock:
        send(tx, "198.18.0.2", 1)
        drop(rx, "ingress device v-rx", "ip frag-off & 0x1fff != 0", "netdev")
        with started("run", "-j", "--count", "1000", "--rate", "1k", "--length", "4000") as process:
            for ident in itertools.cycle(range(1, 1 << 16)):
                sock.sendto(ip4(socket.IPPROTO_UDP, bytes(100), "198.18.0.1", "198.18.0.2", ident, 185),
                            ("198.18.0.2", 0))
                if not ident % 500 and process.poll() is not None:
                    break
                time.sleep(0.005 * (not ident % 500))
            document = json.load(process.stdout)
    assert_balanced(document, attempted=1000)
    assert lost(document).keys() <= {"rcvbuf"}, lost(document)  # of a reader that a busy host kept waiting
    assert not document["end"]["fragments_dropped"], document["end"]
    assert document["end"]["fragments_unmatched"] < 1000, document["end"]  # other tests, in reassembly


@table(first(1, [(name, getattr(signal, name)) for name in ("SIGINT", "SIGTERM", "SIGHUP")]))
def ledger_closed_after(number):
    def attempt():
        with telling("run", "--json-lines", "-I", "50ms", "--duration", "60", "--rate", "50k") as process:
            process.until_sent()
            document, result = process.finish(number=number)
        return SimpleNamespace(status=result.status, err=result.err, json=document)

    result = assert_ok(observed(attempt))
    assert result.json["end"]["interrupted"] is True
    assert_balanced(result.json)


@table(first(2, [("a rate", ["-r", "50"], 10**10, None), ("no limit", ["--rate", "max"], None, 10**6),
                 ("a rate and a count", ["-r", "50", "-c", "9k"], None, 9000),
                 ("a rate and a time", ["-r", "50", "-t", "1h"], 36 * 10**11, None)]))
def without_count_and_time(options, duration, count):
    """At a slow rate the default count would take hours: it is for the unthrottled run."""
    with telling("run", "--json-lines", *options) as process:
        data = process.lines[0]["data"]
    assert (data["duration_ns"], data["streams"][0]["count"]) == (duration, count), data


@thorough
def repetition_ends_if_the_ledger_is_being_closed():
    """The reader sleeps with packets in its queue: all but a moment is waiting for them."""
    with started("run", "-j", "--repeat", "3", "-c", "10", "--pause", "60/1",
                 "--settle", "30") as process:
        time.sleep(4)  # until the ledger is being closed, which no line shows
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    trials = json.loads(out)["trials"]
    assert len(trials) == 1 and trials[0]["interrupted"], (trials, err)


if __name__ == "__main__":
    main()
