#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What `check --explain` says of each finding is what the tests do: see proves() in lib.py."""

import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import ROOT, case, main, pktledger

# Ids that the cases of programs prove, of make test-all too.
IDS = """
import importlib, sys
sys.path[:0] = sys.argv[1:3]
import lib
for name in sys.argv[3:]:
    importlib.import_module(name)
for _, function, args in lib.cases:
    if hasattr(function, "proves"):
        print(*(function.proves or args[-1]), sep="\\n")
"""


def proven_in(directory):
    programs = [p.stem for p in directory.glob("*.py") if "proves(" in p.read_text()]
    assert programs, directory
    done = subprocess.run([sys.executable, "-c", IDS, ROOT / "tests", directory, *programs],
                          env={**os.environ, "PKTLEDGER_TEST": "all"}, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def judged():
    """By facts that are given to the rules."""
    lines = [line for p in (ROOT / "tests/fixtures/advice").glob("*.jsonl")
             for line in p.read_text().splitlines() if '"facts":{"lost":7},"finding"' not in line]
    return set(re.findall(r'"id":"([a-z0-9_-]+)"', "".join(lines)))


@case
def as_the_tests_have_it():
    findings = {f["id"]: f["proof"] for f in pktledger("help", "--json").json["findings"]}
    lab, guest, data = proven_in(ROOT / "tests/net"), proven_in(ROOT / "tests/kernels"), judged()
    assert lab | guest <= findings.keys(), (lab | guest) - findings.keys()
    wrong = {id: (proof, found) for id, proof in findings.items()
             if proof != (found := "lab" if id in lab else "guest" if id in guest else
                          "data" if id in data else "not")}
    assert not wrong, f"id: (what it says, what the tests do): {wrong}"


@case
def reasons_and_counters():
    """--explain takes what nstat, netstat, ethtool -S and perf print, and findings in any spelling."""
    for name, *words in (("NO_SOCKET", "drop reason of stage udp_lookup"),
                         ("RcvbufErrors", "lost at stage rcvbuf"),
                         ("UdpNoPorts", "lost at stage udp_lookup"),
                         ("TcpExtTCPBacklogDrop", "lost at stage tcp_backlog"),
                         ("InErrors", "Udp:InErrors: counts lost packets\n", "socket_filter", "Icmp:InErrors"),
                         ("UdpInErrors", "Udp:InErrors: ", "rcvbuf, udp_mem, udp_csum"),
                         ("Udp:InErrors", "Udp:InErrors: "),
                         ("Udp6InErrors", "Udp6InErrors: "),
                         ("TcpRetransSegs", "pktledger trace --balance tcp"),
                         ("rx_missed_errors", "counter of i40e (every count is a lost packet)"),
                         ("tp_drops", "capture-ring", "tcpdump -B"),
                         ("RetransSegs", "pktledger trace --balance tcp"),
                         ("time_squeeze", "cpu-budget"),
                         ("rx_dropped", "l2-stray", "for this host is lost"),
                         ("rx_resource_errors", "counter of macb", "stage nic_ring"),
                         ("udp-lookup", "udp_lookup           proven: lab")):
        out = pktledger("check", "--explain", name).out
        assert all(w in out for w in words), (name, out)
    out = pktledger("check", "--explain", "RcvbufErrors").out
    assert out.count("receive buffer of the socket") == 2, out  # the title, and "... was full"
    bad = pktledger("check", "--explain", "rx_no_such_counter")
    assert bad.status == 2 and "unknown finding, stage, drop reason or counter" in bad.err, bad


@case
def shown_for_people():
    out = pktledger("check", "--explain", "all").out
    for finding in pktledger("help", "--json").json["findings"]:
        assert re.search(rf"^{finding['id']} +proven: {finding['proof']}\n    \S", out, re.M), out


if __name__ == "__main__":
    main()
