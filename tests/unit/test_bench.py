#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The bench's arithmetic, how it reads other programs' output, its tables. Measures nothing."""

import json
import math
import os
import random
import re
import sys
import tempfile
import zlib
from importlib.machinery import SourceFileLoader
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

bench = SourceFileLoader("bench", str(ROOT / "tools/bench/bench")).load_module()
FIXTURES = ROOT / "tests/fixtures/bench"


def fixture(name):
    return (FIXTURES / name).read_text()


def same(found, wanted):
    assert found == wanted, f"{found!r} is not {wanted!r}"


# Arithmetic


def samples(**values):
    return [{"turn": int(turn[1:]), "value": value} for turn, value in values.items()]


def version_of(name):
    said = re.search(rf"^== {name}\n(.*?)(?=^== |\Z)", fixture("versions.txt"), re.M | re.S)
    return programs.parse_version(said[1])


def refuses(function, *args):
    """Whether it says that this is not a result."""
    try:
        function(*args)
    except lab.LabError:
        return True
    return False


def median_of_ratio(ours, theirs, smaller):
    found = stats.ratio(ours, theirs, smaller)
    return found and found["median"]


def command_of(script):
    with tempfile.TemporaryDirectory() as root:
        file = Path(root, "command")
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
        return scale.Scale(str(file), print).command("a", "b")


# Tables of the sign test have these ranks for 95 %; five are too few.
INTERVALS = {0: None, 5: None, 6: [1, 6], 8: [1, 8], 9: [2, 8], 12: [3, 10], 100: [40, 61]}
VALUES = [
    *[(f"interval of {n}", stats.interval, [list(range(n, 0, -1))], ranks) for n, ranks in INTERVALS.items()],
    *[(f"noise: {name}", lambda values: stats.summary(values)["noise"], [values], wanted)
      for name, values, wanted in (
          ("narrow", [95, 96, 97, 98, 100, 102, 103, 104, 105], False),
          ("one that is far off", [1, 98, 99, 100, 100, 100, 101, 102, 900], False),
          ("wide", [70, 89, 95, 98, 100, 102, 105, 110, 130], True),
          ("too few for an interval", [100] * 5, True))],
    *[(f"ratio: {name}", median_of_ratio, args, wanted) for name, *args, wanted in (
        ("of pairs", samples(t0=3, t1=8, t2=2), samples(t0=2, t1=4, t2=2), False, 1.5),
        ("a shorter time is better", samples(t0=2, t1=4), samples(t0=3, t1=6), True, 1.5),
        ("only of turns that both have", samples(t0=3, t2=2), samples(t1=4, t2=4), False, 0.5),
        ("ours is missing", [], samples(t0=2), False, None),
        ("theirs is missing", samples(t0=2), [], False, None),
        ("theirs is 0", samples(t0=2), samples(t0=0), False, None))],
    *[(f"verdict: {name}", lambda ends, goal: stats.verdict({"interval": ends}, goal), args, wanted)
      for name, *args, wanted in (
          ("no goal", [1, 2], None, None), ("above", [0.96, 0.98], 0.95, "reached"),
          ("below", [0.90, 0.94], 0.95, "missed"), ("inside", [0.94, 0.96], 0.95, "open"),
          ("no interval", None, 0.95, None))],
    *[(f"datagrams: {name}", stats.datagrams, args, wanted) for name, *args, wanted in (
        ("plain", 10, 10 * 554, 512, 10), ("GSO, 2 x 64 and 1 x 3", 3, 3 * 42 + 131 * 512, 512, 131),
        ("packets only", 10, 600, None, 10))],
    *[(f"foreign programs: {name}", machine.parse_programs, [text], wanted) for name, text, wanted in (
        ("none", "[]", 0), ("no bpftool", "", 0),
        ("only those that trace", '[{"type":"xdp"},{"type":"tracing"},{"type":"kprobe"}]', 2))],
    *[(f"duration: {wanted}", report.duration, [seconds], wanted)
      for seconds, wanted in ((23.4e-6, "23.4 us"), (0.1502, "150 ms"))],
    *[(f"count: {wanted}", report.count, [value], wanted) for value, wanted in (
        (0, "0"), (999, "999"), (999.6, "1.00 k"), (12345, "12.3 k"), (123456, "123 k"),
        (1234567, "1.23 M"), (9996000, "10.0 M"))],
    *[(f"size of a curve: {text}", scale.size, [text], wanted) for text, wanted in (
        ("1", 1), ("256", 256), ("25k", 25000), ("100M", 10 ** 8), ("1G", 10 ** 9))],
    *[(f"version of {name}", version_of, [name], version)
      for name, version in (("iperf3", "3.12"), ("xdp-trafficgen", "1.6.3"), ("xdp-bench", "1.6.3"))],
    ("no version", programs.parse_version, ["unknown option --version"], None),
    *[(f"counter of queues: {name}", lab.parse_ethtool, [fixture("ethtool-S.txt"), name], wanted)
      for name, wanted in (("xdp_redirect", 174817), ("xdp_packets", 266242), ("nothing", 0))],
    ("CPU", machine.parse_cpuinfo, ["processor\t: 0\nmodel name\t: AMD EPYC\n"], "AMD EPYC"),
    ("part of a CPU", machine.parse_cpuinfo, ["processor\t: 0\nCPU part\t: 0xd0c\n"], "0xd0c"),
    ("no CPU", machine.parse_cpuinfo, [""], None),
    ("times of CPUs", machine.parse_stat, ["cpu  10 0 20 60 5 1 2 2 0 0\ncpu0 1 1\n"],
     {"total": 100, "idle": 65, "steal": 2}),
    ("names of devices", lambda text: sorted(lab.parse_dev(text)), [fixture("net-dev.txt")], ["b-rx", "lo"]),
    ("counters of devices", lambda text: lab.parse_dev(text)["b-rx"], [fixture("net-dev.txt")],
     {"rx_bytes": 12247372, "rx_packets": 266244, "rx_dropped": 91423, "tx_bytes": 450, "tx_packets": 5,
      "tx_dropped": 0}),
    ("counters of protocols", lab.parse_snmp, ["Ip: Forwarding DefaultTTL\nIp: 1 64\n"
                                               "Udp: InDatagrams NoPorts InErrors\nUdp: 7 8 9\n"],
     {"Ip": {"Forwarding": 1, "DefaultTTL": 64}, "Udp": {"InDatagrams": 7, "NoPorts": 8, "InErrors": 9}}),
    ("setup of a trial", measure.setup_per_trial, [json.dumps(
        {"trials": [{"duration_ns": 2 * 10 ** 8}] * 4, "end": {"duration_ns": 2 * 10 ** 9}})], 0.3),
    *[(f"search without result: {text}", refuses, [measure.setup_per_trial, text], True)
      for text in ("oops", "{}", '{"trials":[],"end":{"duration_ns":1}}')],
    *[(f"a command that fails: {script}", refuses, [command_of, script], True)
      for script in ("echo {}; exit 1", "kill -9 $$")],
    ("absent peer", programs.find, ["no-such-program", [str(FIXTURES)]], None),
    *[(f"rows chosen by {names}", bench.chosen, [None, names, known], wanted) for names, known, wanted in (
        ("b,a-2,a", ["a-1", "a-2", "b"], ["b", "a-2", "a-1"]), ("a", ["ab", "a"], ["a"]),
        (None, ["a", "b"], ["a", "b"]))],
    ("turns begin with another", lambda names: [measure.turns(names, turn) for turn in range(4)], [["a", "b", "c"]],
     [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"], ["a", "b", "c"]]),
    ("system", machine.parse_os,
     ['NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12"\n'], "Debian GNU/Linux 12"),
]


@table(VALUES)
def value(function, args, wanted):
    same(function(*args), wanted)


@case
def the_interval_contains_the_median():
    """In at least 95 of 100 samples, of a skewed distribution as well."""
    pick = random.Random(7)
    inside = 0
    for _ in range(2000):
        low, high = stats.interval([pick.expovariate(1) for _ in range(9)])
        inside += low <= math.log(2) <= high
    assert 1900 <= inside < 1960, inside


@case
def three_percent_are_shown():
    """With nine pairs of samples that vary by 1 %."""
    pick = random.Random(3)
    ours, theirs = ([{"turn": i, "value": of * pick.gauss(1, 0.01)} for i in range(9)]
                    for of in (97, 100))
    assert stats.ratio(ours, theirs)["interval"][1] < 1


# Programs


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


# Rows


@case
def rows_are_sound():
    same(len({row.id for row in rows.ROWS}), len(rows.ROWS))
    known = programs.find_all("pktledger", [])
    for row in rows.ROWS:
        assert hasattr(measure.Bench, row.method), row.id
        assert row.sink is None or hasattr(lab.Lab, row.sink), row.id
        for contender in (row.ours, *row.peers, row.load, row.needs):
            for command in contender.commands if contender else ():
                assert command.args[0] in known, contender.name


class Fake(measure.Bench):
    """Rows take what `script` has, in place of a measurement."""

    def __init__(self, script=(), before=None, installed=("pktledger",)):
        super().__init__({name: programs.Program(name, [name]) for name in installed}, before, 9,
                         0.1, lambda text: None)
        self.script = list(script)

    def take_turns(self, row):
        return {"noise": self.script.pop(0)}


SEND = rows.send("--tx socket")


@table([("quiet", [False], False), ("once noisy", [True, False], False),
        ("twice noisy", [True, True], True)])
def noise_is_measured_again_once(script, wanted):
    bench = Fake(script)
    same(bench.row(rows.Row("x", "send", "rate", SEND))["noise"], wanted)
    same(bench.script, [])


@case
def a_row_without_its_load_is_skipped():
    row = rows.Row("x", "send", "rate", SEND, load=rows.peer("loop", "bound"))
    same(Fake().row(row)["skipped"], "bound is not installed")


@case
def an_older_build_takes_the_place_of_the_peers():
    row = rows.Row("x", "send", "rate", SEND, (rows.peer("peer", "iperf3"),))
    same([(e.name, e.reason) for e in Fake().entries(row)],
         [(SEND.name, None), ("peer", "iperf3 is not installed")])
    old = programs.Program("pktledger", ["old"])
    same([(e.name, e.binary) for e in Fake(before=old).entries(row)],
         [(SEND.name, None), ("before", old)])


# Tables


def document(ours=(2.9e6, 3.0e6, 3.3e6), goal=None, unit="packets/s", **changes):
    row = rows.Row("x", "send", "rate", ours=None, unit=unit)
    entries = [measure.Entry(rows.Contender("pktledger send", ())),
               measure.Entry(rows.Contender("peer", (), goal=1.4)),
               measure.Entry(rows.Contender("other", ()), "other is not installed")]
    for entry, values in zip(entries, (ours, (1.9e6, 2.0e6, 2.1e6))):
        entry.samples = [{"turn": i, "value": value} for i, value in enumerate(values * 3)]
    result = {"id": "x", "title": "send", "unit": unit,
              **measure.conclude(row, entries, goal), **changes}
    return {"settings": {"pairs": 9, "seconds": 2}, "rows": [result], "elapsed": 60,
            "machine": {"cpu": "CPU", "cpus": 2, "hypervisor": True, "architecture": "x86_64",
                        "kernel": "6.1", "system": "Debian", "load_before": 0.5, "steal": 0.01},
            "programs": {"peer": "1.0", "other": None}}


def table_of(text):
    return [line for line in text.splitlines() if line.startswith("|")][2:]


@case
def markdown_table():
    text = report.markdown(document())
    same(table_of(text), [
        "| send | **pktledger** | 3.00 M (2.90 M to 3.30 M) |  |  |",
        "|  | peer | 2.00 M (1.90 M to 2.10 M) | 1.526 (1.500 to 1.571) | 1.4: reached |",
        "|  | other | skipped: other is not installed |  |  |"])
    for line in ("- present: peer 1.0", "- not installed: other", "- Linux 6.1, Debian"):
        assert line in text, text


@table([("others", {}, "1.4: reached"), ("an older build", {"goal": 1.6}, "1.6: missed")])
def goal(changes, wanted):
    assert f"| {wanted} |" in table_of(report.markdown(document(**changes)))[1]


@case
def noise_is_marked():
    found = document(ours=(1e6, 3e6, 9e6))
    same(found["rows"][0]["noise"], True)
    assert "**noise**" in table_of(report.markdown(found))[1]


@case
def a_row_without_peers_shows_its_own_noise():
    found = document(ours=(1e6, 3e6, 9e6))
    row = {**found["rows"][0], "peers": [], "noise": True}
    assert "**noise**" in table_of(report.markdown({**found, "rows": [row]}))[0]


@case
def markdown_of_a_skipped_row():
    lines = table_of(report.markdown({**document(), "rows": [
        {"id": "x", "title": "send", "unit": "packets/s", "skipped": "no program"}]}))
    same(lines, ["| send | skipped: no program | | | |"])


# Curves


@case
def curves_are_sound():
    for name, labels in scale.CURVES.items():
        assert len(set(labels)) == len(labels), name
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


@case
def children_live_as_long_as_is_said():
    with tempfile.TemporaryFile() as log:
        with scale.children(3, lambda: os.write(log.fileno(), b"x") and 0):
            same(os.fstat(log.fileno()).st_size, 3)
    one, end = os.pipe()
    os.write(end, b"x")
    os.close(end)
    try:
        assert refuses(scale.children(2, lambda: not os.read(one, 1)).__enter__), "one of two could not begin"
    finally:
        os.close(one)


@case
def tables_of_curves():
    class Fake:
        def __init__(self, binary, say):
            same((binary, say), ("pktledger", print))

        def packets(self, n):
            if n == 10 ** 8:
                raise lab.LabError("no memory")
            return {"time": f"{n} s", "memory": "1 MB"}

    real, scale.Scale = scale.Scale, Fake
    try:
        text = scale.measure("pktledger", print, ["packets"])
    finally:
        scale.Scale = real
    rows_of = ["| packets | time | memory |", "|---|---|---|", "| 1M | 1000000 s | 1 MB |",
               "| 10M | 10000000 s | 1 MB |", "| packets | failed |", "|---|---|",
               "| 100M | no memory |", "| packets | time | memory |", "|---|---|---|",
               "| 1G | 1000000000 s | 1 MB |"]
    same([line for line in text.splitlines() if line], rows_of)


if __name__ == "__main__":
    main()
