#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`search`: finds the bottleneck that was put in the way, and what is to blame for it.

A bottleneck with a rate and a buffer lets rate + buffer / duration through in a trial. Nothing that
is faster can hold, however slow this host is; that nothing slower fails needs a host with time to
spare, so it is asserted by `make test-all` only, where a rate has many trials.
"""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from ends import need
from html_check import Page
from lib import (EVERYTHING, PATIENCE, ROOT, Result, assert_balanced, assert_ended, assert_ok, assert_valid, case,
                 directory, first, main, pktledger, require, started, table, telling, thorough)
from traced import NAME, RX, TX, lab

TBF_FRAMES = 256 + 64  # the queue of the fault and its burst
NEAR = 0.01


def search(*args, status=0, seconds=60):
    with started("search", "-j", *args) as process:
        out, err = process.communicate(timeout=seconds * PATIENCE)
    result = Result(args, process.returncode, out, err)
    assert_ended(result, result.status)
    assert_valid(result.json)
    assert status is None or result.status == status, (
        err, result.json.get("end"), [t["parameters"] | {"stages": t["stages"]} for t in
                                      result.json.get("trials", ()) if not t["balanced"]])
    return result.json


def assert_log(document):
    """Each trial's loss follows from its ledger, what was not sent included."""
    assert document["trials"][0]["parameters"]["phase"] == "warm-up"
    for t in document["trials"]:
        if t["parameters"]["phase"] == "warm-up":
            continue
        assert_balanced({"end": t})
        seconds = t["parameters"]["duration_ns"] / 1e9
        assert t["intended"] == int(t["parameters"]["rate_pps"] * seconds + 1e-6), t
        assert t["sent"] <= t["intended"] and t["unsent"] >= t["intended"] - t["sent"]
        bad = t["sent"] - t["delivered"] + t["unsent"]
        assert abs(t["loss_fraction"] - min(1, bad / t["intended"])) < 1e-9, t
        assert t["parameters"]["rate_pps"] <= document["end"]["max_rate_pps"] * (1 + 1e-6)


@thorough
def a_known_bottleneck():
    """A token bucket on the way out. The lowest rate is no more than its burst."""
    document = search("--fault", "qdisc=10k", "-t", "200ms", "--sum", "200ms", "--precision", "20%",
                      "--warmup", "100ms", "--min-rate", "100", "--max-rate", "20k",
                      "--rcvbuf", "4m")
    assert_log(document)
    ndr, pdr, mrr = (document["end"][name] for name in ("ndr", "pdr", "mrr"))
    capacity = 10000 + TBF_FRAMES / 0.2
    assert ndr["done"] and ndr["lower_pps"] <= capacity * (1 + NEAR), ndr
    assert ndr["lower_pps"] < ndr["upper_pps"] <= ndr["lower_pps"] / (1 - 0.2) * (1 + NEAR), ndr
    assert pdr["done"] and pdr["lower_pps"] >= ndr["lower_pps"], (ndr, pdr)
    assert mrr["upper_pps"] <= capacity * (1 + NEAR), mrr
    assert mrr["limited_by"] in ("generator", "send_queue") or mrr["stage"] == "qdisc", mrr


@thorough
def the_lowest_rate_fails():
    """What was measured is shown all the same."""
    document = search("--fault", "netfilter=20%", "-t", "200ms", "--sum", "200ms",
                      "--warmup", "300ms", "--min-rate", "1k", "--max-rate", "3k",
                      "--precision", "40%", status=1)
    assert_log(document)
    assert "lowest rate" in document["error"]["message"], document["error"]
    ndr = document["end"]["ndr"]
    assert ndr["lower_pps"] is None and ndr["upper_pps"] == 1000, ndr
    assert ndr["limited_by"] == "generator" or (
        ndr["stage"] == "netfilter" and "netfilter" in document["error"]["message"]), document


def shape(burst=50, limit=None):
    """A token bucket at the sender's device: its queue and its burst are the buffer."""
    need(TX, "tc", "qdisc", "add", "dev", "v-tx", "root", "tbf", "rate", f"{RATE * FRAME * 8}bit", "burst",
         str(burst * FRAME), "limit", limit or str((BUFFER - burst) * FRAME))


def police():
    """XDP in generic mode at the receiver's device; its credit is the buffer."""
    with tempfile.TemporaryDirectory() as directory:
        program = f"{directory}/police.o"
        built = subprocess.run(
            ["clang", "-O2", "-g", "-target", "bpf", f"-DRATE={RATE}", f"-DBURST={BUFFER}",
             "-idirafter", f"/usr/include/{os.uname().machine}-linux-gnu", "-c",
             ROOT / "tests/fixtures/search/police.bpf.c", "-o", program],
            capture_output=True, check=False)
        require(not built.returncode, f"needs clang: {built.stderr.decode()}")
        need(RX, "ip", "link", "set", "v-rx", "xdpgeneric", "obj", program, "sec", "xdp")


def assert_found(rate, capacity, stage):
    """Both bounds are within 1 % of what gets through."""
    require(rate["limited_by"] != "generator", "this host has no time to spare: it could not send")
    assert rate["done"] and (rate["stage"], rate["limited_by"]) == (stage, "path"), rate
    assert capacity * (1 - NEAR) <= rate["lower_pps"] <= capacity * (1 + NEAR), (capacity, rate)
    assert capacity * (1 - NEAR) <= rate["upper_pps"] <= capacity * (1 + NEAR), (capacity, rate)


# A sender that was kept from the CPU for 100 ms catches up: the buffer takes that in.
RATE, BUFFER, FRAME = 10000, 1500, 14 + 20 + 8 + 512
BOTTLENECKS = [("tbf", shape, "qdisc"), ("XDP", police, "xdp")]

if EVERYTHING:
    @table(BOTTLENECKS)
    def found_within_1_percent(bottleneck, stage):
        """The partial drop rate is above it by the loss that is allowed."""
        with lab():
            bottleneck()
            document = search("--lab", NAME, "--tx", "socket", "-t", "2", "--sum", "14",
                              "--precision", "0.5%", "--min-rate", "1k", "--max-rate", "30k",
                              "--rcvbuf", "8m", "--sndbuf", "8m", "--nice", "-20", "-q", seconds=900)
        assert_log(document)
        capacity = RATE + BUFFER / 2
        assert_found(document["end"]["ndr"], capacity, stage)
        assert_found(document["end"]["pdr"], capacity / (1 - 0.005), stage)


@thorough
def mrr():
    """And a ledger tells what the search told."""
    with directory() as where:
        ledger = str(where / "ledger")
        document = search("--mrr", "-t", "100ms", "--max-rate", "20k", "--fault", "netfilter=50%", "--ledger",
                          ledger)
        kept = assert_ok(pktledger("report", "-j", ledger)).json
        text = assert_ok(pktledger("report", ledger)).out
        page = assert_ok(pktledger("report", "--html", "-", ledger)).out
    assert_valid(kept)
    assert [{key: one[key] for key in ("start", "trials", "end")} for one in kept["documents"]] == [
        {key: document[key] for key in ("start", "trials", "end")}], kept
    assert "MRR" in text and "netfilter" in text, text
    assert Page(page).documents[0]["end"] == document["end"]
    assert_log(document)
    mrr_trials = [t for t in document["trials"] if t["parameters"]["phase"] != "warm-up"]
    assert [t["parameters"]["phase"] for t in mrr_trials] == ["mrr"] * 10
    end = document["end"]
    assert end["ndr"] is None and end["pdr"] is None
    rates = sorted(end["max_rate_pps"] * (1 - t["loss_fraction"]) for t in mrr_trials)
    wanted = {"lower_pps": rates[0], "upper_pps": rates[-1],
              "throughput_pps": (rates[4] + rates[5]) / 2}
    for name, value in wanted.items():
        assert abs(end["mrr"][name] - value) < 0.01, (name, value, end)
    assert end["mrr"]["stage"] == "netfilter"


@thorough
def the_device_takes_no_more():
    """A queue that holds all that the send buffer lets through: nothing is lost, and nothing slow."""
    with lab():
        shape(10, "10m")
        document = search("--lab", NAME, "--tx", "socket", "-t", "1", "--sum", "3", "--nice", "-20",
                          "--min-rate", "1k", "--max-rate", "30k", "--precision", "5%", "-q",
                          "--rcvbuf", "8m", seconds=300)
    assert_log(document)
    end = document["end"]
    require(end["ndr"]["limited_by"] != "generator", "this host has no time to spare")
    assert end["held_back"] and document["trials"][0]["waits"], document["trials"][0]
    assert end["ndr"]["limited_by"] == "send_queue" and end["ndr"]["stage"] is None, end["ndr"]
    # 166 packets fit the send buffer
    assert end["ndr"]["lower_pps"] <= (RATE + 166 + 10) * (1 + NEAR), end["ndr"]


@thorough
def interrupted():
    with telling("search", "--json-lines", "-t", "100ms", "--max-rate", "5k") as search_:
        search_.read_line()  # warm-up
        search_.read_line()  # the first trial
        document, result = search_.finish(number=signal.SIGINT)
    assert_ok(result)
    assert document["end"]["interrupted"] is True and not document["end"]["ndr"]["done"]


@table(first(0, [("time", "--time-limit", "1ms", "within 1.00 ms", 0),
                 ("trials", "--max-trials", "2", "with 2 trials", 2)]))
def out_of(option, most, words, trials):
    document = search("-t", "100ms", "--max-rate", "5k", option, most, status=1)
    assert document["end"]["out_of_trials" if trials else "out_of_time"], document["end"]
    assert f"not finish {words}" in document["error"]["message"], document["error"]
    phases = [t["parameters"]["phase"] for t in document["trials"]]
    assert phases == ["warm-up", *["search"] * trials], phases


@case
def between_interfaces():
    """Their names are options of the search, of which each trial has a copy."""
    with lab():
        document = search("-i", f"{TX}/v-tx,{RX}/v-rx", "--min-rate", "1k", "--max-rate", "2k", "-t", "50ms",
                          "--sum", "50ms", "--warmup", "20ms", "--max-trials", "2", status=None)
        assert document["trials"] and all(t["delivered"] for t in document["trials"]), document


if __name__ == "__main__":
    main()
