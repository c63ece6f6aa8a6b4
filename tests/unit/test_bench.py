#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The bench's arithmetic, how it reads other programs' output, its tables. Measures nothing."""

import json
import os
import re
import sys
import tempfile
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import ROOT, case, main, table

sys.path.insert(0, str(ROOT / "tools/bench"))
sys.dont_write_bytecode = True
import lab
import machine
import measure
import programs
import report
import rows
import scale
import stats

FIXTURES = ROOT / "tests/fixtures/bench"


def fixture(name):
    return (FIXTURES / name).read_text()


def same(found, wanted):
    assert found == wanted, f"{found!r} is not {wanted!r}"


def close(found, wanted):
    assert abs(found - wanted) < 1e-9 * max(1, abs(wanted)), f"{found!r} is not {wanted!r}"


# Arithmetic


@table([
    ("malformed_lines", [3, 1, 2], {"median": 2, "min": 1, "max": 3, "spread": 1.0}),
    ("even", [1, 2, 3, 10], {"median": 2.5, "min": 1, "max": 10, "spread": 3.6}),
    ("one", [7], {"median": 7, "min": 7, "max": 7, "spread": 0.0}),
    ("median of 0", [-1, 0, 1], {"median": 0, "min": -1, "max": 1, "spread": None}),
    ("none", [], None),
])
def summary(values, wanted):
    same(stats.summary(values), wanted)


def samples(**values):
    return [{"run": int(run[1:]), "value": value} for run, value in values.items()]


@table([
    ("of pairs", samples(r0=3, r1=8, r2=2), samples(r0=2, r1=4, r2=2), (1.5, 1, 2)),
    ("only of runs that both have", samples(r0=3, r2=2), samples(r1=4, r2=4), (0.5, 0.5, 0.5)),
    ("ours is missing", [], samples(r0=2), None),
    ("theirs is missing", samples(r0=2), [], None),
    ("theirs is 0", samples(r0=2), samples(r0=0), None),
])
def ratio(ours, theirs, wanted):
    found = stats.ratio(ours, theirs)
    same(found and (found["median"], found["min"], found["max"]), wanted)


@table([
    ("few", 7, 0, None), ("all the same", 8, 0, [1, 1]), ("one differs", 40, 1, [1, 1]),
    ("half differ", 20, 10, [1, 2]),
])
def interval_of_the_median(count, double, wanted):
    """By the pairs themselves: an outlier does not widen it."""
    ours = [{"run": run, "value": 2 if run < double else 1} for run in range(count)]
    found = stats.ratio(ours, [{"run": run, "value": 1} for run in range(count)])
    same(found.get("sure"), wanted)


@table([
    ("none", "[]", 0),
    ("no bpftool", "", 0),
    ("only those that trace", '[{"type":"xdp"},{"type":"tracing"},{"type":"kprobe"}]', 2),
])
def foreign_programs(text, wanted):
    same(machine.parse_programs(text), wanted)



@table([
    ("at the goal", 1.3, "goal"), ("at the floor", 1.15, "floor"), ("between", 1.2, "floor"),
    ("below", 1.1499, "below"), ("no value", None, None),
])
def verdict(value, wanted):
    same(stats.verdict(value, 1.15, 1.3), wanted)


@table([
    ("at the goal", 1e-4, "goal"), ("at the floor", 1e-3, "floor"), ("worse", 2e-3, "below"),
    ("no value", None, None),
])
def verdict_of_an_error(value, wanted):
    same(stats.verdict_error(value, 1e-3, 1e-4), wanted)


@case
def no_verdict_without_a_target():
    same(stats.verdict(5, None, None), None)


@table([
    ("plain", 10, 10 * 554, 512, 10),
    ("GSO, 2 x 64 and 1 x 3", 3, 3 * 42 + 131 * 512, 512, 131),
    ("packets only", 10, 600, None, 10),
])
def datagrams(packets, size, payload, wanted):
    before = {"rx_packets": 5, "rx_bytes": 7}
    after = {"rx_packets": 5 + packets, "rx_bytes": 7 + size}
    same(stats.datagrams(before, after, payload), wanted)


@table([("exact", 2000, 2, 0), ("too fast", 2002, 2, 1e-3), ("too slow", 1998, 2, -1e-3)])
def rate_error(count, seconds, wanted):
    close(stats.rate_error(count, seconds, 1000), wanted)


@table([
    ("took all", [(100, 100), (99.5, 100)], True),
    ("once not", [(100, 100), (50, 100)], False),
    ("nothing known", [(100, None)], False),
    ("no samples", [], False),
])
def bound_by_load(samples, wanted):
    samples = [{"value": v, "offered": o} if o else {"value": v} for v, o in samples]
    same(stats.bound_by_load(samples), wanted)


@table([
    ("below the limit", 50000, 100000, 50000), ("above the limit", 150000, 100000, 100000),
])
def search_lossless(start, limit, most):
    asked = []

    def trial(rate):
        asked.append(rate)
        return min(rate, limit), max(0, rate - limit)
    received, rate = stats.search_lossless(trial, start)
    assert rate in asked and received == rate <= most, (received, rate)
    assert received >= 0.95 * most, f"{received} is far from {most}"


@case
def search_lossless_gives_up():
    same(stats.search_lossless(lambda rate: (rate, 1), 100000), (None, None))


# What other programs say


@table([(name, name, version) for name, version in [
    ("iperf3", "3.12"), ("sockperf", "3.7-no.git"), ("trafgen", "0.6.8"), ("bpftrace", "0.17.0"),
    ("perf", "6.1.192"), ("nuttcp", "6.1.2"), ("xdp-trafficgen", "1.6.3"), ("xdp-bench", "1.6.3"),
]])
def version_of(name, wanted):
    samples = dict(re.findall(r"^== (\S+)\n(.*?)(?=^== |\Z)", fixture("versions.txt"),
                              re.M | re.S))
    same(programs.parse_version(samples[name]), wanted)


@case
def no_version():
    same(programs.parse_version("unknown option --version"), None)


@case
def counters_of_devices():
    devices = lab.parse_dev(fixture("net-dev.txt"))
    same(sorted(devices), ["b-rx", "lo"])
    same(devices["b-rx"], {"rx_bytes": 12247372, "rx_packets": 266244, "rx_dropped": 91423,
                           "tx_bytes": 450, "tx_packets": 5, "tx_dropped": 0})


@case
def counters_of_queues():
    text = fixture("ethtool-S.txt")
    same(lab.parse_ethtool(text, "xdp_redirect"), 174817)
    same(lab.parse_ethtool(text, "xdp_packets"), 266242)
    same(lab.parse_ethtool(text, "nothing"), 0)


@case
def counters_of_protocols():
    snmp = lab.parse_snmp("Ip: Forwarding DefaultTTL\nIp: 1 64\n"
                          "Udp: InDatagrams NoPorts InErrors\nUdp: 7 8 9\n")
    same(snmp, {"Ip": {"Forwarding": 1, "DefaultTTL": 64},
                "Udp": {"InDatagrams": 7, "NoPorts": 8, "InErrors": 9}})


@case
def the_machine():
    same(machine.parse_cpuinfo("processor\t: 0\nmodel name\t: AMD EPYC\n"), "AMD EPYC")
    same(machine.parse_cpuinfo("processor\t: 0\nCPU part\t: 0xd0c\n"), "0xd0c")
    same(machine.parse_cpuinfo(""), None)
    same(machine.parse_stat("cpu  10 0 20 60 5 1 2 2 0 0\ncpu0 1 1\n"),
         {"total": 100, "idle": 65, "steal": 2})
    same(machine.parse_os('NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12"\n'),
         "Debian GNU/Linux 12")


@case
def run_result():
    out = json.dumps({"end": {"rx_pps": 1000.5, "sent": 100, "delivered": 97, "refused": 1}})
    same(measure.parse_run(0, out, ""), (1000.5, 4))


@table([("not balanced", 4, "{}", ""), ("no JSON", 0, "oops", ""), ("no end", 0, "{}", ""),
        ("failed", 1, "", "pktledger: no")])
def run_without_result(status, out, err):
    try:
        measure.parse_run(status, out, err)
    except lab.LabError:
        return
    raise AssertionError("was taken for a result")


# Programs


class Build:
    """A build with `--tx socket, xsk` and `--gso` for send."""
    engines = {"--tx": programs.parse_engines("  auto    the fastest\n  socket  UDP\n  xsk  AF\n"),
               "--rx": {"socket"}}
    help = {"send": "  --tx NAME\n  --gso-size N\n  --rate RATE", "recv": "--rx NAME", "run": ""}
    lacks = programs.Ours.lacks


@table([
    ("engine", "--tx xdp --rate 1", "--tx xdp"), ("all there", "--tx xsk --rate 1", None),
    ("option", "--tx socket --gso", "--gso"), ("auto", "--tx auto", None),
])
def missing_in_this_build(args, wanted):
    same(Build().lacks("send", args.split()), wanted)


def make_tree(root, *paths):
    for path in paths:
        file = Path(root, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
        file.chmod(0o755)


@case
def unpacked_peer_uses_its_own_loader():
    with tempfile.TemporaryDirectory() as root:
        make_tree(root, "usr/sbin/xdp-bench", "usr/lib64/ld-linux-x86-64.so.2",
                  "usr/lib/x86_64-linux-gnu/libxdp.so.1", "usr/lib/x86_64-linux-gnu/bpf/a.o")
        found = programs.find("xdp-bench", [root])
        lib = f"{root}/usr/lib/x86_64-linux-gnu"
        same(found.argv, [f"{root}/usr/lib64/ld-linux-x86-64.so.2", "--library-path", lib,
                          "--argv0", "xdp-bench", f"{root}/usr/sbin/xdp-bench"])
        same(found.env["LIBXDP_OBJECT_PATH"], f"{lib}/bpf")


@case
def unpacked_peer_without_loader():
    with tempfile.TemporaryDirectory() as root:
        make_tree(root, "usr/bin/iperf3")
        same(programs.find("iperf3", [root]).argv, [f"{root}/usr/bin/iperf3"])


@case
def absent_peer():
    with tempfile.TemporaryDirectory() as root:
        same(programs.find("no-such-program", [root]), None)


# Rows


@case
def rows_are_sound():
    same(len({row.id for row in rows.ROWS}), len(rows.ROWS))
    for row in rows.ROWS:
        assert hasattr(measure.Bench, row.method), row.id
        assert row.method != "transmit" or row.sink in ("xdp", "tc"), row.id
        for contender in (*row.ours, *row.peers, *row.load):
            if not contender.commands:
                assert contender.name == "no tracer"
                continue
            assert contender.program in ("pktledger", "empty", "bound", *programs.CATALOGUE)
            assert (contender.floor is None) == (contender.goal is None), contender.name


@case
def paced_commands():
    args = ("a", "{rate}", "{pps}", "{bits}")
    same(measure.fill(args), ["a", "max", "max", "0"])
    same(measure.fill(args, 1000.4, 512), ["a", "1000", "1000", str(round(1000.4 * 512 * 8))])


@case
def turns_begin_with_another():
    same([measure.turns(["a", "b", "c"], run) for run in range(4)],
         [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"], ["a", "b", "c"]])


# Tables


def document(**changes):
    row = rows.Row("x", "send", "transmit", ours=(), floor=None)
    ours = measure.Entry(rows.Contender("pktledger send", ()), None)
    peer = measure.Entry(rows.Contender("peer", (), floor=1.5, goal=2), None)
    absent = measure.Entry(rows.Contender("other", ()), "absent")
    ours.samples = samples(r0=2.9e6, r1=3.0e6, r2=3.3e6)
    peer.samples = samples(r0=1.9e6, r1=2.0e6, r2=2.1e6)
    result = {"id": "x", "title": "send", "unit": "packets/s", "note": None, "load": None,
              **measure.conclude(row, [ours, peer, absent]), **changes}
    return {"settings": {"runs": 3, "seconds": 2}, "rows": [result],
            "machine": {"cpu": "CPU", "cpus": 2, "hypervisor": True, "architecture": "x86_64",
                        "kernel": "6.1", "system": "Debian", "load_before": 0.5, "steal": 0.01},
            "programs": {"peer": {"present": True, "version": "1.0"},
                         "other": {"present": False, "version": None}}}


def table_of(text):
    return [line for line in text.splitlines() if line.startswith("|")][2:]


@case
def markdown_table():
    text = report.markdown(document())
    same(table_of(text), [
        "| send | **pktledger** | 3.00 M (2.90 M to 3.30 M) | 13 % |  |  |",
        "|  | peer | 2.00 M (1.90 M to 2.10 M) | 10 % | 1.53 (1.50 to 1.57) "
        "| 1.5 / 2: floor reached |",
        "|  | other | absent |  |  |  |"])
    for line in ("- present: peer 1.0", "- absent: other", "- Linux 6.1, Debian"):
        assert line in text, text


@case
def markdown_of_a_skipped_row():
    lines = table_of(report.markdown({**document(), "rows": [
        {"id": "x", "title": "send", "unit": "packets/s", "note": None, "skipped": "no --gso"}]}))
    same(lines, ["| send | skipped: no --gso | | | | |"])


@case
def pacing_is_judged_by_its_size():
    row = rows.Row("p", "pacing", "pacing", ours=(), floor=1e-3, goal=1e-4, unit="rate error")
    entry = measure.Entry(rows.Contender("pktledger", ()), None)
    entry.samples = samples(r0=-5e-3, r1=-2e-3, r2=1e-4)
    same(measure.conclude(row, [entry])["ours"]["verdict"], "below")


@case
def a_receiver_bound_by_the_load_gets_no_verdict():
    row = rows.Row("r", "receive", "receive", ours=())
    ours = measure.Entry(rows.Contender("pktledger", ()), None)
    peer = measure.Entry(rows.Contender("peer", (), floor=0.95, goal=1), None)
    ours.samples = [{"run": 0, "value": 100, "offered": 100}]
    peer.samples = [{"run": 0, "value": 200, "offered": 300}]
    done = measure.conclude(row, [ours, peer])
    same((done["peers"][0]["ratio"], done["peers"][0]["verdict"]), (0.5, None))


@table([("0", 0, "0"), ("999", 999, "999"), ("rounds up to k", 999.6, "1.00 k"),
        ("k", 12345, "12.3 k"), ("100 k", 123456, "123 k"), ("M", 1234567, "1.23 M"),
        ("10 M", 9996000, "10.0 M")])
def count(value, wanted):
    same(report.count(value), wanted)


# Curves


@table([("1", "1", 1), ("256", "256", 256), ("k", "25k", 25000), ("M", "100M", 10 ** 8),
        ("G", "1G", 10 ** 9)])
def sizes_of_a_curve(text, wanted):
    same(scale.size(text), wanted)


@case
def curves_are_sound():
    for name, labels in scale.CURVES.items():
        assert len(set(labels)) == len(labels), name
        if name == "start":
            continue
        assert callable(getattr(scale.Scale, name)), name
        sizes = [scale.size(label) for label in labels]
        assert sizes == sorted(sizes), name


@case
def a_ledger_under_another_number():
    lines = ['{"event":"start","data":{"streams":[{"stream":712,"base":5}]}}',
             '{"event":"outcomes","data":{"stream":712,"first":0}}']
    text = "".join(f"{zlib.crc32(line.encode()):08x} {line}\n" for line in lines)
    same(scale.renumbered(text, 712), text)
    for line, before in zip(scale.renumbered(text, 3).splitlines(), lines):
        crc, line = line.split(" ", 1)
        same(line, before.replace("712", "3"))
        same(crc, f"{zlib.crc32(line.encode()):08x}")


def command_of(script):
    with tempfile.TemporaryDirectory() as root:
        file = Path(root, "command")
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
        return scale.Scale(str(file), print).command("a", "b")


@table([("done", 0), ("not balanced", 4)])
def what_a_command_took(status):
    document, row = command_of(f'echo "{{\\"args\\": \\"$*\\"}}"; exit {status}')
    same(document, {"args": "a b"})
    same(list(row), ["time", "CPU", "memory"])
    assert re.fullmatch(r"\d+\.\d\d s", row["CPU"]) and row["memory"] != "0 MB", row


@case
def memory_is_that_of_the_command():
    bytearray(1 << 28)[::4096] = bytes((1 << 28) // 4096)
    memory = command_of("echo {}")[1]["memory"]
    assert int(memory.split()[0]) < 150, memory


@table([("failed", "echo {}; exit 1"), ("killed", "kill -9 $$")])
def a_command_that_fails(script):
    try:
        command_of(script)
    except lab.LabError:
        return
    raise AssertionError("was taken for a result")


@case
def children_live_as_long_as_is_said():
    with tempfile.TemporaryFile() as log:
        with scale.children(3, lambda: os.write(log.fileno(), b"x") and 0):
            same(os.fstat(log.fileno()).st_size, 3)
    one, end = os.pipe()
    os.write(end, b"x")
    os.close(end)
    try:
        with scale.children(2, lambda: not os.read(one, 1)):
            pass
    except lab.LabError:
        return
    finally:
        os.close(one)
    raise AssertionError("one of two could not begin")


@case
def tables_of_curves():
    class Fake:
        def __init__(self, binary, say):
            same((binary, say), ("pktledger", print))

        def packets(self, n):
            if n == 10 ** 8:
                raise lab.LabError("no memory")
            return {"time": f"{n} s", "memory": "1 MB"}

        def starts(self, label):
            return {"first drop": label}

    real, scale.Scale = scale.Scale, Fake
    try:
        text = scale.measure("pktledger", print, ["packets", "start"])
    finally:
        scale.Scale = real
    rows_of = ["| packets | time | memory |", "|---|---|---|", "| 1M | 1000000 s | 1 MB |",
               "| 10M | 10000000 s | 1 MB |", "| packets | failed |", "|---|---|",
               "| 100M | no memory |", "| packets | time | memory |", "|---|---|---|",
               "| 1G | 1000000000 s | 1 MB |", "| start | first drop |", "|---|---|",
               *(f"| {label} | {label} |" for label in scale.CURVES["start"])]
    same([line for line in text.splitlines() if line], rows_of)


if __name__ == "__main__":
    main()
