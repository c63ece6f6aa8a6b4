#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`sweep` and `run --repeat`: every point is measured and shown, whatever became of the others."""

import csv
import io
import json
import os
import signal
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import (assert_balanced, assert_ended, assert_ok, assert_valid, case, first, lost, main, pktledger, run,
                 table, telling, thorough)

QUICK = ["-c", "1000", "--rate", "50k", "--settle", "1"]
NO_CPU = str(8 * (os.cpu_count() or 1))  # none of this host


def sweep(*args, status=0):
    result = assert_ended(pktledger("sweep", "-j", *args), status)
    assert_valid(result.json)
    return result.json


def lost_fraction(trial):
    return (trial["sent"] - trial["delivered"]) / trial["sent"]


def assert_whole(trial):
    """A trial is the end of a run, with its parameters."""
    assert_balanced({"end": trial}, attempted=1000)
    assert_valid(trial, "run", "end")


@thorough
def every_combination():
    document = sweep(*QUICK, "--vary", "fault=netfilter=50%,socket_filter=50%",
                     "--vary", "threaded-napi=off,on")
    wanted = [{"fault": f, "threaded-napi": n} for f in ("netfilter=50%", "socket_filter=50%")
              for n in ("off", "on")]
    assert [t["parameters"] for t in document["trials"]] == wanted
    assert [p["parameters"] for p in document["end"]["points"]] == wanted
    for trial, point in zip(document["trials"], document["end"]["points"]):
        stage = trial["parameters"]["fault"].partition("=")[0]
        assert_whole(trial)
        assert set(lost({"end": trial})) == {stage}, lost({"end": trial})
        assert point["stage"] == stage and point["trials"] == 1 and point["balanced"]
        assert point["lost_fraction"]["median"] == lost_fraction(trial)


@case
def a_trial_that_fails_loses_no_other():
    document = sweep(*QUICK, "--vary", f"rx-cpu={NO_CPU},default", status=1)
    failed, whole = document["trials"]
    assert_whole(whole)
    assert failed["parameters"] == {"rx-cpu": NO_CPU} and "attempted" not in failed
    assert failed["error"]["status"] in (1, 3)
    assert document["end"]["failed"] == 1 and document["end"]["trials"] == 2
    assert "1 of 2" in document["error"]["message"], document["error"]


@thorough
def csv_with_repeat():
    result = assert_ended(pktledger("sweep", "--csv", *QUICK, "--repeat", "2", "--vary", f"rx-cpu={NO_CPU},0"), 1)
    rows = list(csv.DictReader(io.StringIO(result.out)))
    assert [(r["rx-cpu"], r["trial"]) for r in rows] == [(NO_CPU, "1"), (NO_CPU, "2"), ("0", "1"),
                                                        ("0", "2")], result
    assert all(not r["sent"] and NO_CPU in r["error"] for r in rows[:2]), result
    assert all(r["sent"] == "1000" and r["balanced"] == "true" and not r["error"]
               for r in rows[2:]), result


@case
def interrupted():
    """What was measured until then is shown."""
    with telling("sweep", "--json-lines", "-c", "1M", "-r", "1k", "--vary", "settle=1..9/1", "--vary",
                 "length=64,128") as lines:
        document, result = lines.finish(number=signal.SIGINT)
    assert_ok(result)
    assert document["end"]["interrupted"] is True and document["end"]["trials"] <= 1, document["end"]
    assert len(document.get("trials", [])) == document["end"]["trials"], document


@case
def a_sweep_that_is_killed_has_a_ledger():
    """Of all that was measured: each trial with its parameters, and each of their runs."""
    with tempfile.TemporaryDirectory() as directory:
        ledger = f"{directory}/sweep.ledger"
        with telling("sweep", "--json-lines", *QUICK, "--fault", "netfilter=50%", "--ledger",
                     ledger, "--vary", "seed=1..50/1") as lines:
            shown = [lines.read_line()["data"] for _ in range(2)]
            lines.process.kill()
            lines.process.wait()
        assert all(line["event"] == "trial" for line in lines.lines[1:]), lines.lines
        report = assert_ok(pktledger("report", "-j", ledger))
        assert_valid(report.json)
        document, = report.json["documents"]
        assert document["schema"] == "pktledger/sweep/1" and "end" not in document, document
        assert document["trials"][:2] == shown
        text = pktledger("report", ledger).out
        assert "was killed" in text and "netfilter" in text, text
        assert pktledger("report", "--csv", ledger).out.startswith("seed,trial,")
        run_2 = pktledger("report", "-j", "--number", "3", ledger).json["documents"]
        assert [d["schema"] for d in run_2] == ["pktledger/run/1"], run_2
        assert run_2[0]["outcomes_agree"] and run_2[0]["end"]["sent"] == shown[1]["sent"], run_2


@table(first(1, [("the same network", ["--vary", "length=64,128"], True),
                 ("losses in between", ["--fault", "netfilter=50%", "--vary", "length=64,128"], False),
                 ("another network", ["--vary", "mtu=1400,1450"], False)]))
def trials_of_a_session(options, shared):
    """A trial whose network and observers serve the next one leaves its numbers behind."""
    with tempfile.TemporaryDirectory() as directory:
        ledger = f"{directory}/sweep.ledger"
        for trial in sweep(*QUICK, "--ledger", ledger, *options)["trials"]:
            assert_whole(trial)
        lines = Path(ledger).read_text().splitlines()
    starts = [json.loads(line[line.index("{"):])["data"] for line in lines
              if '"event":"start"' in line]
    (first,), (second,) = (start["streams"] for start in starts)
    assert (second["base"] == first["base"] + 1000) == shared, starts
    assert (second["stream"] == first["stream"]) == shared, starts


def stolen():
    return int(Path("/proc/stat").read_text().split(maxsplit=9)[8]) * (10 ** 9 // os.sysconf("SC_CLK_TCK"))


@case
def settings_of_the_lab():
    """Each interface where it is, and settings of the namespace that decides."""
    before = stolen()
    document = run(*QUICK, "--topology", "router", "--mtu", "1450", "--queues", "3", "-l", "4000",
                   "--threaded-napi", "--rps", "0")
    env = document["start"]["env"]
    assert before <= env["steal_ns"] <= stolen(), (before, env["steal_ns"])
    assert_balanced(document, attempted=1000)
    assert document["start"]["lab"]["topology"] == "router"
    tx, *_, rx = ports = env["interfaces"]
    assert [(p["netns"], p["ifname"]) for p in ports] == [
        ("tx", "v-tx"), ("router", "v-r0"), ("router", "v-r1"), ("rx", "v-rx")], ports
    for port in ports:
        shown = [port[key] for key in ("driver", "qdisc", "mtu", "speed_mbit", "xdp", "xdp_program_id", "tx_checksum")]
        assert shown == ["veth", "noqueue", 1450, 10000, None, None, True], port
        assert port["txqueuelen"] and port["rp_filter"] and "losses" not in port, port  # losses take two samples
    assert len(env["sysctls"]["net.ipv4.udp_mem"]) == 3, env
    assert env["sysctls"]["net.ipv4.ipfrag_time"] == 1, env  # so set for fragments, at the receiver only
    assert tx["rx_queues"] == rx["rx_queues"] == rx["tx_queues"] == 3
    assert rx["threaded_napi"] is True and tx["threaded_napi"] is False
    assert rx["gro"] and not tx["gro"]
    masks = [int(port["rps_cpus"].replace(",", ""), 16) for port in (tx, rx)]
    assert masks == [0, 1], masks


@thorough
def trials_take_as_long():
    """Without -c and -t, at a rate or as fast as it goes: else they are not comparable."""
    result = pktledger("sweep", "-j", "--vary", "rate=1k,max", "--rx", "xdp")
    planned = [t["duration_ns"] for t in result.json["trials"]]
    assert result.status == 0 and len(planned) == 2, result
    assert all(9e9 < ns < 12e9 for ns in planned), planned


if __name__ == "__main__":
    main()
