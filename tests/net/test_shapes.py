#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Traffic shapes: the ledger stays true, and the receiver finds just what the sender did."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import EVERYTHING, assert_balanced, case, directory, first, main, run, table
from wire import pcap, udp_frame

XSK = ["--tx", "xsk", "--rx", "xsk"]
SHORT = 20000 if EVERYTHING else 8000


@table(first(3, [
    ("the receiver's own address", ["--dst-addr", "198.18.0.2"]),
    ("sizes of IPv6, by chance", ["--imix", "84:3,400:2,1518:1", "--ipv6", "--random"]),
    ("sizes by socket", ["--imix", "64:1,128:1,256:2", "--tx", "socket", "--rx", "xdp"]),
    ("sizes with fragments", ["--imix", "64:9,4000:1", "--tx", "socket"]),
    ("tag", ["--vlan", "7", "--imix", "simple", *XSK]),
    ("destinations", ["--dst-addr", "198.18.64.0/24", "--tx", "socket"]),
    ("ramp", ["--profile", "ramp:10k..100k/200ms"]),
    ("bursts", ["--rate", "50k", "--burst", "32"]),
    ("flows", ["--src-addr", "198.18.9.0/28", "--src-port", "5000..5003", "--random"]),
    ("ports", ["--dst-port", "1000..1999", *XSK]),
    ("sizes", ["--imix", "simple"]),
    ("flows by socket", ["--src-addr", "198.18.9.0/28", "--src-port", "5000..5003",
                         "--tx", "socket"]),
    ("destinations of IPv6", ["--dst-addr", "2001:2:0:77::/120", "--ipv6"]),
    ("threads", ["--threads", "2", "--imix", "simple", "--random"]),
    ("headers", ["--tos", "184", "--ttl", "3"]),
]))
def balanced(options):
    if "--profile" not in options and "--rate" not in options:
        options = ["--rate", "50k", *options]
    document = run("--count", str(SHORT), *options)
    assert_balanced(document, attempted=SHORT)
    assert document["end"]["damaged"] == 0, "a length that was not expected"


@table(first(1, [("steps", "steps:1k,4k/200ms", 1000), ("a ramp", "ramp:1k..5k/500ms", 1500)]))
def a_profile_runs_to_its_end(profile, packets):
    """Without -c and -t: it does not go on at its last rate."""
    document = run("--profile", profile)
    assert_balanced(document)
    assert abs(document["end"]["attempted"] - packets) <= packets // 20, document["end"]["attempted"]


@case
def replay():
    with directory() as where:
        path = str(where / "test.pcap")
        Path(path).write_bytes(pcap([udp_frame(bytes(100 + i)) for i in range(100)]))
        assert_balanced(run("--pcap", path, "--sequence-header", "--rx", "xsk"), attempted=100)
        document = run("--pcap", path, "--sequence-header", "--rx", "xsk", "--count", "1050", "--rate", "10k")
        assert_balanced(document, attempted=1050)
        assert document["end"]["damaged"] == 0


if __name__ == "__main__":
    main()
