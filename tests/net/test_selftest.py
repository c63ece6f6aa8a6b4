#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`selftest`: what both ends know, the events and the counters say the same of every fault."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import EVERYTHING, assert_valid, main, pktledger, require, require_root, table


@table([("IPv4", []), ("IPv6", ["--ipv6"])] if EVERYTHING else [("IPv4", [])])
def agrees(options):
    require_root()
    result = pktledger("selftest", "-j", *options)
    require(result.status != 3, result.err.strip() or "exit status 3 without a word")
    assert result.status == 0, result
    assert_valid(result.json)
    rows = result.json["end"]["rows"]
    done = [row for row in rows if row["verdict"] == "agrees"]
    assert len(done) > len(rows) / 2, result
    for row in done:
        if row["variant"] == "duplicate":
            assert row["events"] > row["settled"] == row["injected"] == 0, row
            continue
        assert row["injected"] == row["settled"] > 0, row
        if row["stage"] != "ip_frag":
            assert row["events"] == row["settled"], row
        elif row["variant"] == "mem":  # its datagrams have three fragments, each of which is lost
            assert row["events"] == row["settled"] * 3, row
    # nothing that touches the rest of the host unless asked for
    assert [row["verdict"] for row in rows if row["stage"] == "udp_mem" or
            row["variant"] == "flow_limit"] == ["skipped", "skipped"], rows


if __name__ == "__main__":
    main()
