#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`selftest` on a machine that nobody else uses: a case for each fault."""

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402


def judge(row):
    if row["verdict"] == "skipped":
        lib.skip(row["note"])
    assert row["verdict"] == "agrees", f"{row['note'] or 'no note'}: {row}"


subprocess.run(["modprobe", "-q", "tun"], check=False)  # a machine without udev has no /dev/net/tun
for options in ([], ["--ipv6"]):
    result = lib.pktledger("selftest", "-j", "--host-global", *options)
    for row in result.json["end"]["rows"]:
        name = row["stage"] + (f":{row['variant']}" if row["variant"] else "")
        lib.cases.append((f"IPv{6 if options else 4}, {name}", judge, (row,)))
lib.main()
