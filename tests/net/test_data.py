#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What pktledger-data(7) and pktledger-fleet(7) show of DuckDB, pandas and polars: it runs as it is
printed, where pip has brought them, and what comes out is what the program said."""

import collections
import datetime
import importlib
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from ends import PORT, repeating, udp
from lib import BINARY, PATIENCE, ROOT, assert_ok, case, main, pktledger, skip, thorough
from traced import RX, V4, lab, send

NODES, PODS = 200, 7
WORST = 10  # rows that the example asks for


def module(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        skip(f"needs the {name} of PyPI")


def shown(page):
    """What stands between fences in a manual."""
    return re.findall(r"^```\n(.*?)^```", (ROOT / f"tools/man/{page}.7.scd").read_text(), re.M | re.S)


def losses():
    """A lab in which a socket loses most of what comes."""
    return repeating(0.05, lambda: send(V4, 50))


def interval():
    """An event as a node writes it, with losses."""
    with lab(), udp(RX, socket.AF_INET, (V4, PORT), rcvbuf=1), losses():
        lines = [json.loads(line) for line in assert_ok(pktledger(
            "trace", "-t", "1.5", "-I", "0.5", "--netns", RX, "--by", "stage,process,pod",
            "--json-lines")).out.splitlines()]
    return next(line for line in lines if line["event"] == "interval" and line["data"]["stages"])


@case
def worst_of_many_nodes():
    """200 nodes, each with an hour's lines, one that is too old, and one that is being written."""
    duckdb = module("duckdb")
    query = next(text for text in shown("pktledger-fleet") if text.startswith("WITH"))
    template, now = interval(), datetime.datetime.now(datetime.timezone.utc)
    sums = collections.Counter()
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "nodes").mkdir()
        for node in range(NODES):
            lines = ['{"event":"start","schema":"pktledger/trace/1","data":{"host":"x","by":[]}}']
            for minutes in 5, 30, 55, 90:
                line = json.loads(json.dumps(template))
                line["data"]["time"] = (now - datetime.timedelta(minutes=minutes)).isoformat()
                for stage in line["data"]["stages"]:
                    for cause in stage["causes"]:
                        cause["pod"] = f"shop/p{node % PODS}" if node % PODS else None
                        cause["packets"] += (node * 7919 + minutes) % 1009
                        if minutes < 60:
                            sums[f"n{node}", stage["stage"], cause["pod"]] += cause["packets"]
                lines.append(json.dumps(line))
            lines.append(json.dumps(template)[:100])
            (Path(directory) / f"nodes/n{node}.ndjson").write_text("\n".join(lines))
        found = duckdb.sql(query.replace("nodes/", f"{directory}/nodes/")).fetchall()
    packets = sorted(sums.values(), reverse=True)[:WORST]
    assert [row[3] for row in found] == packets, (found, packets)
    assert all(sums[row[:3]] == row[3] for row in found), (found, sums.most_common(WORST))


def count(lines):
    """Packets by stage, process and pod in the intervals of a file."""
    sums = collections.Counter()
    for line in map(json.loads, lines):
        for stage in line["data"]["stages"] if line["event"] == "interval" else ():
            for cause in stage["causes"]:
                sums[stage["stage"], cause["process"], cause["pod"]] += cause["packets"]
    return dict(sums)


@thorough
def tables():
    """Each command of the page, then what reads its file."""
    module("pandas"), module("polars")
    blocks = shown("pktledger-data")
    env = {**os.environ, "PATH": f"{BINARY.parent}:{os.environ['PATH']}"}
    was, names = os.getcwd(), []
    with tempfile.TemporaryDirectory() as directory, lab(), \
            udp(RX, socket.AF_INET, (V4, PORT), rcvbuf=1), losses():
        os.chdir(directory)
        try:
            for block in (block.replace(" -t 5 ", " -t 1 ") for block in blocks):
                if block.startswith("pktledger "):
                    done = subprocess.run(["sh", "-ec", block], env=env, check=False, text=True,
                                          capture_output=True, timeout=60 * PATIENCE)
                    noise = block.startswith("pktledger search ") and "noise: " in done.stderr  # of a busy host
                    assert done.returncode == (1 if noise else 0), (block, done.stderr)
                    continue
                names.append({})
                exec(block, names[-1])
            sweep, rows, lines, search = names
            trials = Path("sweep.csv").read_text().splitlines()
            assert sweep["sweep"].shape[0] == len(trials) - 1 == 6, trials
            wanted = json.loads(assert_ok(pktledger("report", "-j", "trace.ledger")).out)
            by_stage = {s["stage"]: s["packets"]
                        for s in wanted["documents"][0]["end"]["stages"]}
            got = rows["lost"].groupby("stage")["packets"].sum().to_dict()
            assert got == by_stage and by_stage["rcvbuf"] > 100, (got, by_stage)
            got = {row[:3]: row[3] for row in lines["lost"].collect().rows()}
            assert got == count(Path("trace.ndjson").read_text().splitlines()), got
            assert search["trials"].shape[0] == len(search["search"]["trials"]) > 1  # two if the maximum passes
        finally:
            os.chdir(was)


if __name__ == "__main__":
    main()
