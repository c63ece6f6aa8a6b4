#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Linux 5.10, which gives no reasons: `trace` and `export` count by place, and the rest says what it
needs."""

import json
import socket
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / part) for part in ("net", "")]
from ends import PORT, do, read_all, udp  # noqa: E402
from lib import assert_ok, case, main, pktledger, table  # noqa: E402
from test_export import exporting, total  # noqa: E402
from traced import RX, TX, V4, V6, causes, lab, send, tracing  # noqa: E402


def counter(name):
    return json.loads(do(RX, *"nstat -asz -j".split()))["kernel"][name]


def lose(address):
    """In front of a full buffer, at a closed port, and in a full queue; what counters tell of each."""
    udp_counter = "Udp6" if ":" in address else "Udp"
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with udp(RX, family, ("", PORT), rcvbuf=4096) as sock:
        send(address, 300)
        send(address, 200, port=PORT + 1)
        do(TX, *"tc qdisc replace dev v-tx root tbf rate 8kbit burst 1600 limit 2000".split())
        send(address, 300, port=PORT + 1)
        read_all(sock)
        qdisc = json.loads(do(TX, *"tc -s -j qdisc show dev v-tx root".split()))[0]["drops"]
        return {"udp_lookup": counter(f"{udp_counter}NoPorts"), "rcvbuf": counter(f"{udp_counter}RcvbufErrors"),
                "qdisc": qdisc}


@table([(f"IPv{6 if ':' in address else 4}, {options[0]}", address, options) for address in (V4, V6)
        for options in ([f"udp portrange {PORT}-{PORT + 1}"], ["--by", "flow", f"udp portrange {PORT}-{PORT + 1}"])])
def losses_are_what_counters_say(address, options):
    with lab(), tracing(*options) as t:
        truth = lose(address)
        document = t.stop()
    assert all(truth.values()), truth
    assert {stage: row["packets"] for stage, row in causes(document).items()} == truth, (truth, document["end"])


@case
def metrics():
    with lab(), exporting() as exporter:
        truth = lose(V4)
        found = exporter.scrape()
    assert {stage: total(found, "pktledger_stage_lost_packets_total", f"stage={stage}") for stage in truth} == truth


@case
def what_works():
    with lab():
        assert_ok(pktledger("check", "-t", "1"))


@case
def what_needs_another_kernel():
    for version, *args in (("6.1", "run", "-c", "10"), ("6.3", "trace", "--balance", "-t", "1", "udp port 9"),
                           ("5.17", "trace", "--balance", "-t", "1", "tcp port 9")):
        result = pktledger(*args)
        assert result.status == 3 and f"needs Linux {version}" in result.err, result


if __name__ == "__main__":
    main()
