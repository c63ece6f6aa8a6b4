#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`selftest`: what both ends know, the events and the counters say the same of every fault."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import (BINARY, EVERYTHING, ROOT, assert_ok, assert_ran, assert_valid, case, finish, first, main,
                 pktledger, rootless, running, started, table)
from test_run import OFTEN

HOST_GLOBAL = {"udp_mem", "backlog:flow_limit"}
ASKED_FOR = ["xdp", "udp_lookup", "xdp:generic"]
AT_ONCE = 8  # by two commands beside each other, which end in time on a busy host too


def known():
    """Every fault; in `make test` every second one of those that no other case shows."""
    every = re.findall(r"^ *(\S+)  ", pktledger("run", "--fault", "help").out, re.M)
    if EVERYTHING:
        return every
    elsewhere = {*ASKED_FOR, *(row[0] for row in OFTEN)}
    return sorted({*every} - elsewhere - HOST_GLOBAL)[::2] + sorted(HOST_GLOBAL)


def parts():
    faults = known()
    return [faults[i::len(faults) // AT_ONCE + 1] for i in range(len(faults) // AT_ONCE + 1)]


def name(row):
    return row["stage"] + (f":{row['variant']}" if row["variant"] else "")


@table([(f"{family}, {', '.join(faults)}", faults, options)
        for family, options in [("IPv4", []), ("IPv6", ["--ipv6"])][:2 if EVERYTHING else 1]
        for faults in first(1, parts())])
def agrees(faults, options):
    words = [("selftest", "-j", "--fault", ",".join(faults[i::2]), *options) for i in (0, 1)]
    with started(*words[0]) as one, started(*words[1]) as other:
        for process, part in ((one, faults[::2]), (other, faults[1::2])):
            assert_agrees(finish(process), part)


def assert_agrees(result, faults):
    assert_ran(result)
    assert_valid(result.json)
    rows = result.json["end"]["rows"]
    running.repeated.extend(row for row in rows for _ in range(row["repeated"]))
    assert {name(row) for row in rows} == set(faults), rows
    done = [row for row in rows if row["verdict"] == "agrees"]
    assert len(done) > len(rows) / 2, result
    for row in done:
        if row["variant"] == "duplicate":
            assert row["events"] > row["settled"] == row["injected"] == 0, row
            continue
        assert row["injected"] == row["settled"] > 0, row
        if row["variant"] == "silent":
            assert row["events"] == 0, row
            continue
        if row["stage"] != "ip_frag":
            assert row["events"] == row["settled"], row
        elif row["variant"] == "mem":  # its datagrams have three fragments, each of which is lost
            assert row["events"] == row["settled"] * 3, row
    # nothing that touches the rest of the host unless asked for
    assert not HOST_GLOBAL & {name(row) for row in done}, rows


@case
def only_what_was_asked_for():
    """By its value too; faults that exclude each other are injected one by one."""
    result = assert_ran(pktledger("selftest", "-j", "--fault", "xdp=100%,udp_lookup,xdp:generic"))
    rows = result.json["end"]["rows"]
    assert [name(row) for row in rows] == ["xdp", "xdp:generic", "udp_lookup"], rows
    assert rows[0]["injected"] == 10000 > rows[1]["injected"] > 0, rows


@case
@rootless
def stages_have_faults():
    """Every stage, with every fault at its own; what no fault injects is said to be so."""
    stages = assert_ok(pktledger("help", "-j")).json["stages"]
    for stage in stages:
        assert stage["mechanism"] and stage["hook"], stage
        assert stage["faults"] or stage["limit"] or stage["name"] == "other", stage
    named = [fault for stage in stages for fault in stage["faults"]]
    help_ = pktledger("run", "--fault", "help").out
    assert set(named) == set(re.findall(r"^ *(\S+)  ", help_, re.M)) and \
        len(named) == len(set(named)), (named, help_)


@case
@rootless
def what_was_proven_is_a_fault():
    """By the name of a fault; of a stage without one by its own and what else makes it."""
    stages = pktledger("help", "-j").json["stages"]
    faults = {fault for stage in stages for fault in stage["faults"]}
    without = {stage["name"] for stage in stages if not stage["faults"]}
    for line in (ROOT / "tools/proven.tsv").read_text().splitlines():
        loss, kernel, verdict = line.split("\t")
        assert loss in faults or loss.split(":")[0] in without, line
        assert re.fullmatch(r"\d+\.\d+( arm64)?", kernel) and verdict in ("agrees", "disagrees"), line


@case
@rootless
def catalogue_as_a_table():
    """A kernel is named where every result of it says so."""
    with tempfile.NamedTemporaryFile("w", suffix=".md") as kernels:
        kernels.write("| case | 6.1 | 6.12 arm64 | 6.12 | 7.0 |\n|---|---|---|---|---|\n"
                      "| stages: IPv4, neigh | not here | ok | ok | ok |\n"
                      "| stages: IPv6, neigh | not here | ok | ok | disagrees |\n"
                      "| stages: IPv4, xsk:fill | ok | - | - | - |\n")
        kernels.flush()
        table_ = subprocess.run([ROOT / "tools/catalogue", BINARY, kernels.name], check=True,
                                capture_output=True, text=True).stdout
    rows = {line.split("`")[1]: [c.strip() for c in re.split(r"(?<!\\)\|", line)][1:-1]
            for line in table_.splitlines()[2:]}
    assert rows["neigh"][5] == "6.12, 6.12 arm64, 7.0 (not neigh)", rows["neigh"]
    assert rows["xsk"][5] == "6.1 (1 of 3)", rows["xsk"]
    assert rows["rcvbuf"][5] == "-", rows["rcvbuf"]
    assert all(len(row) == 7 for row in rows.values()), rows


if __name__ == "__main__":
    main(all_exclusive=True)
