#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`sweep` and `run --repeat`: every point is measured and shown, whatever became of the others."""

import csv
import io
import json
import math
import os
import signal
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import (assert_balanced, assert_ok, assert_valid, case, lost, main, pktledger, require,
                 run, started, table, thorough)

QUICK = ["-c", "1000", "--rate", "50k", "--settle", "1"]
NO_CPU = str(8 * (os.cpu_count() or 1))  # none of this host


def sweep(*args, status=0):
    result = pktledger("sweep", "-j", *args)
    require(result.status != 3, result.err.strip() or "exit status 3 without a word")
    assert result.status == status, result
    assert_valid(result.json)
    return result.json


def lost_fraction(trial):
    return (trial["sent"] - trial["delivered"]) / trial["sent"]


def assert_whole(trial):
    """A trial is the end of a run, with its parameters."""
    assert_balanced({"end": trial}, attempted=1000)
    try:
        import jsonschema
    except ImportError:
        return
    schema = pktledger("help", "--schema", "run").json
    jsonschema.validate(trial, {"$defs": schema["$defs"], "$ref": "#/$defs/end"})


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
    result = pktledger("sweep", "--csv", *QUICK, "--repeat", "2", "--vary", f"rx-cpu={NO_CPU},0")
    require(result.status != 3, result.err)
    rows = list(csv.DictReader(io.StringIO(result.out)))
    assert [(r["rx-cpu"], r["trial"]) for r in rows] == [(NO_CPU, "1"), (NO_CPU, "2"), ("0", "1"),
                                                        ("0", "2")], result
    assert all(not r["sent"] and NO_CPU in r["error"] for r in rows[:2]), result
    assert all(r["sent"] == "1000" and r["balanced"] == "true" and not r["error"]
               for r in rows[2:]), result
    assert result.status == 1


@case
def interrupted():
    """What was measured until then is shown."""
    with started("sweep", "--json-lines", "-c", "1M", "-r", "1k", "--vary", "settle=1..9/1",
                 "--vary", "length=64,128") as process:
        assert json.loads(process.stdout.readline())["event"] == "start", process.stderr.read()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    events = [json.loads(line) for line in out.splitlines()]
    end = events[-1]["data"]
    assert events[-1]["event"] == "end" and end["interrupted"] is True
    assert [e["event"] for e in events[:-1]] == ["trial"] * end["trials"] and end["trials"] <= 1


@case
def a_sweep_that_is_killed_has_a_ledger():
    """Of all that was measured: each trial with its parameters, and each of their runs."""
    with tempfile.TemporaryDirectory() as directory:
        ledger = f"{directory}/sweep.ledger"
        with started("sweep", "--json-lines", *QUICK, "--fault", "netfilter=50%", "--ledger",
                     ledger, "--vary", "seed=1..50/1") as process:
            lines = [json.loads(process.stdout.readline()) for _ in range(3)]
            process.kill()
            process.wait()
        shown = [line["data"] for line in lines if line["event"] == "trial"]
        assert len(shown) == 2, lines
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


@table([("the same network", ["--vary", "length=64,128"], True),
        ("another network", ["--vary", "mtu=1400,1450"], False),
        ("losses in between", ["--fault", "netfilter=50%", "--vary", "length=64,128"], False)])
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


@case
def settings_of_the_lab():
    document = run(*QUICK, "--topology", "router", "--mtu", "1450", "--queues", "3",
                   "--threaded-napi", "--rps", "0")
    assert_balanced(document, attempted=1000)
    assert document["start"]["lab"]["topology"] == "router"
    tx, *_, rx = document["start"]["env"]["interfaces"]
    assert {p["mtu"] for p in document["start"]["env"]["interfaces"]} == {1450}
    assert tx["rx_queues"] == rx["rx_queues"] == rx["tx_queues"] == 3
    assert rx["threaded_napi"] is True and tx["threaded_napi"] is False
    assert rx["gro"] and not tx["gro"]
    masks = [int(port["rps_cpus"].replace(",", ""), 16) for port in (tx, rx)]
    assert masks == [0, 1], masks


@case
def too_few_queues():
    result = pktledger("run", "-P", "2", "--tx", "xsk", "--queues", "1", "-c", "10")
    require(result.status != 3, result.err)
    assert result.status == 2 and "each of 2 threads needs its own" in result.err, result


@thorough
def repeat():
    document = run(*QUICK, "--repeat", "3")
    assert len(document["trials"]) == 3 and document["end"]["trials"] == 3
    for measure in ("tx_pps", "rx_pps", "delivered"):
        values = sorted(t[measure] for t in document["trials"])
        shown = document["end"][measure]
        wanted = [*values, (values[2] - values[0]) / values[1]]
        for value, name in zip(wanted, ("min", "median", "max", "spread")):
            assert math.isclose(shown[name], value, rel_tol=1e-4, abs_tol=1e-6), (shown, values)
    spread = max(document["end"][m]["spread"] for m in ("tx_pps", "rx_pps"))
    assert document["end"]["steady"] == (spread <= 0.05)


@thorough
def trials_take_as_long():
    """Without -c and -t, at a rate or as fast as it goes: else they are not comparable."""
    result = pktledger("sweep", "-j", "--vary", "rate=1k,max", "--rx", "xdp")
    planned = [t["duration_ns"] for t in result.json["trials"]]
    assert result.status == 0 and len(planned) == 2, result
    assert all(9e9 < ns < 12e9 for ns in planned), planned


if __name__ == "__main__":
    main()
