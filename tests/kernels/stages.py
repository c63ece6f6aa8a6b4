#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`selftest` on a machine that nobody else uses: a case for each fault."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402


def agrees(fault, options):
    result = lib.pktledger("selftest", "-j", "--host-global", "--fault", fault, *options)
    (row,) = result.json["end"]["rows"]
    if row["verdict"] == "skipped":
        lib.skip(row["note"])
    assert row["verdict"] == "agrees", f"{row['note'] or 'no note'}: {row}"


stages = lib.pktledger("help", "-j").json["stages"]
for family, options in ((4, []), (6, ["--ipv6"])):
    lib.cases += [(f"IPv{family}, {fault}", agrees, (fault, options))
                  for stage in stages for fault in stage["faults"]]
lib.main()
