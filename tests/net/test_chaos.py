#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""When things go wrong meanwhile: killed, stopped, a full disk, a device or a namespace that goes, a
kernel that refuses, no memory, a clock that is set. Each time one line says what happened, the ledgers
that there are are kept, and nothing is left behind (which lib.py looks for after each case)."""

import contextlib
import json
import os
import random
import re
import resource
import shlex
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import (BINARY, EVERYTHING, PATIENCE, ROOT, TIMEOUT, Host, Result, assert_balanced,
                 assert_said_once, assert_valid, case, exclusive, exclusive_rows, first,
                 killed_within, lost, main, pktledger, require, skip, started, sysctl, table, telling,
                 thorough, until)
from lib import directory as plain_directory
from ends import PORT, counter, do, inside, link, send
from traced import tracing
from wire import RX, TX, Lab

NAME = f"pl-chaos-{os.getpid()}"
CHAOS = ROOT / os.environ.get("B", "build") / "tests/net/chaos"
OK, FAILED, USAGE, UNABLE, BROKEN, OURS = 0, 1, 2, 3, 4, 125
FREE = 30000  # the first port above those that test programs reserve (lib.PORT)


def ip(*args):
    subprocess.run(["ip", *args], check=True)


def execute(*args, netns=None, env=None, **kwargs):
    """The program to its end, in a network namespace, with more in its environment."""
    with inside(netns) if netns else contextlib.nullcontext():
        return pktledger(*args, env={**os.environ, **(env or {})}, **kwargs)


def assert_sums(document):
    """What holds however a run ended."""
    end = document["end"]
    assert end["attempted"] == end["refused"] + end["sent"], end
    assert end["sent"] == (end["delivered"] + end["dropped"] + end["in_flight"]
                           + end["unaccounted"]), end
    assert end["dropped"] == sum(stage["packets"] for stage in end["stages"]), end
    assert end["impossible"] == 0, end
    assert end["balanced"] == (not end["in_flight"] and not end["unaccounted"]), end


@contextlib.contextmanager
def directory(size=None):
    """A directory; with a size, a file system that has no more."""
    with plain_directory() as path, contextlib.ExitStack() as stack:
        if size:
            done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", path],
                                  check=False)
            require(done.returncode == 0, "cannot mount a tmpfs")
            stack.callback(subprocess.run, ["umount", path], check=True)
        yield path


# A full disk


TO_FULL = [
    ("trace, a command", ["trace", "-j", "--", "true"], OURS),
    ("lab list", ["lab", "list", "-j"], FAILED),
    ("check", ["check", "-t", "0.1"], FAILED),
    ("run", ["run", "-j", "-c", "1000"], FAILED),
    ("recv", ["recv", "-t", "0.1"], FAILED),
    ("trace", ["trace", "-j", "-t", "0.1"], FAILED),
    ("run, text", ["run", "-c", "1000"], FAILED),
    ("send", ["send", "127.0.0.1", "-j", "-q", "-c", "10", "-r", "1k"], FAILED),
    ("sweep", ["sweep", "--vary", "rcvbuf=64k,128k", "-c", "1000", "--csv"], FAILED),
    ("search", ["search", "--mrr", "-t", "100ms", "-j"], FAILED),
    ("selftest", ["selftest", "--fault", "tc_ingress"], FAILED),
    ("recv --serve", ["recv", "--serve", "-j"], FAILED),
    ("help", ["run", "--help"], FAILED),
]


@table([(name, args, status) for name, args, status in first(2, TO_FULL)])
def stdout_on_a_full_disk(args, status):
    """A result that is nowhere is no success."""
    with open("/dev/full", "w") as full:
        if "--serve" in args:
            with subprocess.Popen([BINARY, *args], stdout=full, stderr=subprocess.PIPE,
                                  text=True) as server:
                while "waiting" not in server.stderr.readline():
                    assert server.poll() is None
                server.terminate()
                result = Result(args, server.wait(TIMEOUT), "", server.stderr.read())
        else:
            result = execute(*args, stdout=full)
    assert result.status == status, result
    assert_said_once(result, "stdout", "No space left on device")


@table(first(0, [("a run", ["run", "--json-lines", "-I", "10ms", "--rate", "10k"]),
                 ("a trace", ["trace", "--json-lines", "-I", "100ms", "--counters", "--all"])]))
def stdout_fills_up(args):
    """Nobody can read on: sending ends, and the ledger is closed."""
    with directory("64k") as path, open(path / "out", "w") as out:
        result = execute(*args, "-t", "60", stdout=out)
        assert json.loads((path / "out").read_text().splitlines()[0])["event"] == "start"
    assert result.status == FAILED, result
    assert_said_once(result, "stdout", "No space left on device")


@table([("of a user", "--ledger", None, "File too large"), ("of a disk", "--ledger", "16k", "No space left on device"),
        *first(0, [("of a disk, of the reader", "--log", "16k", "No space left on device")])])
def file_without_room(option, size, said):
    """The run goes on; what was written is whole, and the document says that it is not all. `ulimit -f`
    of a user sends a signal."""
    limit = None if size else lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384))
    with directory(size) as path:
        file = path / "file"
        result = pktledger("run", "-j", "-I", "10ms", "-c", "20000", "--rate", "100k", "--rcvbuf", "8M",
                           "--fault", "netfilter", option, str(file), preexec_fn=limit)
        assert option == "--log" or file.read_bytes().endswith(b"\n")
    assert result.status == FAILED, result
    assert_said_once(result, option[2:], said)
    assert_valid(result.json)
    assert_balanced(result.json)
    assert option == "--log" or "not complete" in result.json["error"]["message"], result.json["error"]


@table([("a ledger", "--ledger"), ("a capture", "-w")])
def file_of_a_trace_on_a_full_disk(option):
    """The trace goes on to its end; what was written is whole."""
    lose = f"exec {BINARY} send 127.0.0.1:9 -c 1000 -r 1k > /dev/null 2>&1"
    with directory("16k") as path:
        file = path / "file"
        result = execute("trace", "-j", "-I", "100ms", "--all", "--counters", "udp port 9", option,
                         str(file), "--", "sh", "-c", lose)
        require(result.status != UNABLE, result.err)
        assert result.status == OURS, result
        assert_said_once(result, "file", "No space left on device")
        assert_valid(result.json)
        assert lost(result.json)["udp_lookup"] >= 500, result.json["end"]
        data = file.read_bytes()
        kept = execute("report", "-j", str(file))
    if option == "-w":
        blocks = []
        while data:  # of pcapng
            kind, size = struct.unpack("<II", data[:8])
            assert 12 <= size <= len(data), (size, len(data))
            blocks.append(kind)
            data = data[size:]
        capture = result.json["end"]["capture"]
        assert capture["error"] and blocks.count(6) == capture["packets"] > 0, capture  # enhanced packet blocks
        assert capture["packets"] < result.json["end"]["dropped"], capture
        return
    assert kept.status in (OK, BROKEN), kept
    kept = kept.json["documents"][0]["sum"]
    assert kept["dropped"] == sum(i["dropped"] for i in result.json["intervals"]
                                  if i["time_ns"] <= kept["time_ns"]), kept


# What is looked at, or sent through, goes


RUN = ("run", "--lab", NAME, "--json-lines", "-I", "50ms", "--rate", "2k")
LONG = (*RUN, "-t", "20")


@table(first(1, [(" ".join(args), args) for args in (
    ["--tx", "socket"], ["--tx", "xsk"], ["--tx", "xdp"], ["--tx", "xsk", "--rx", "xsk"],
    ["--tx", "xdp", "--rx", "xdp"])]))
def devices_removed(args):
    """Both ends of the link: the sender cannot go on, and the ledger is closed on what was sent."""
    with Lab(NAME) as lab, telling(*LONG, *args) as run:
        run.until_sent()
        lab.do("tx", "ip", "link", "del", TX)
        document, result = run.finish()
    assert result.status == FAILED, result
    assert_said_once(result)
    assert_sums(document)
    assert document["end"]["delivered"] > 0, document["end"]


@thorough
def receiver_s_device_removed():
    """Behind a router that lives: the sender goes on, and what is sent is lost where it is."""
    with Lab(NAME, topology="router") as lab, telling(*RUN, "-t", "1") as run:
        run.until_sent()
        lab.do("rx", "ip", "link", "del", RX)
        document, result = run.finish()
    assert_sums(document)
    assert document["end"]["sent"] > document["end"]["delivered"] > 0, document["end"]
    assert document["end"]["dropped"] > 0 and result.status in (OK, FAILED, BROKEN), result


@table([(engine, engine) for engine in ("xsk", "xdp")] if EVERYTHING else [])
def receiver_alone(engine):
    """It cannot go on, and what it has received is shown."""
    with Lab(NAME) as lab, lab.telling("rx", "recv", "--json-lines", "-I", "50ms", "--rx", engine, "-i",
                                       RX) as receiver:
        assert execute("send", "198.18.0.2", "-q", "-c", "1000", "-r", "10k", "--tx", "xsk", "-i", TX,
                       "-P", "1", netns=lab.netns("tx")).status == OK
        lab.do("rx", "ip", "link", "del", RX)
        document, result = receiver.finish()
    if result.status != OK:  # else it had heard of the end of the stream before
        assert_said_once(result, "ended")
    assert document["end"]["delivered"] > 0, document


@thorough
def namespaces_deleted():
    """Those of a run live as long as it does, though their names are gone."""
    with Lab(NAME), telling(*RUN, "-t", "500ms") as run:
        run.until_sent()
        assert pktledger("lab", "down", NAME).status == OK
        document, result = run.finish()
    assert result.status == OK, result
    assert_balanced(document)


def await_deleted(trace):
    """Until it says that what it traces was deleted."""
    while "was deleted" not in (said := trace.process.stderr.readline()):
        assert said, trace.process.wait(TIMEOUT)


@table(first(1, [
    ("interface", ["-i", TX], "ip link del"), ("namespace", ["--netns", f"{NAME}-tx"], "down"),
    ("namespace and counters", ["--netns", f"{NAME}-tx", "--counters"], "down")]))
def traced_thing_removed(args, how):
    with Lab(NAME) as lab, lab.telling("tx", "trace", "--json-lines", "-I", "100ms", *args) as trace:
        if how == "down":
            pktledger("lab", "down", NAME)
        else:
            lab.do("tx", *how.split(), TX)
        await_deleted(trace)
        _, result = trace.finish(number=signal.SIGINT)
    assert result.status == OK, result
    assert "was deleted" not in result.err, result


def in_namespace(name, rows):
    return [row for stage in rows["stages"] for row in stage["causes"] if row["netns"] == name]


@case
def traced_namespace_is_not_held():
    """It goes with its name, and what another one of that name loses is not shown."""
    with Lab(NAME) as lab, tracing("--netns", lab.netns("tx"), f"udp port {PORT}") as t:
        ip("netns", "del", lab.netns("tx"))
        until(lambda: RX not in lab.do("rx", "ip", "-br", "link"), 20, "the peer's device is gone")
        await_deleted(t)
        ip("netns", "add", lab.netns("tx"))
        lab.do("tx", "ip", "link", "set", "lo", "up")
        send(lab.netns("tx"), "127.0.0.1", 30)
        t.pass_intervals(2)
        document = t.stop()
        ip("netns", "del", lab.netns("tx"))  # it is not the lab's
    assert not in_namespace(lab.netns("tx"), document["end"]), document["end"]


def of_the_flow(data):
    """Its rows: EXPR does not apply to losses that only an interface counted, such as those of a neighbour."""
    return [row for stage in data["stages"] for row in stage["causes"] if row["scope"] == "flow"]


def enters_before_naming(t, name):
    """As `ip netns add`, but slower: it loses 30 packets in between."""
    file = Path("/run/netns", name)
    lose = shlex.join([sys.executable, "-c", "import socket\ns = socket.socket(type=socket.SOCK_DGRAM)\n"
                       f"for _ in range(30): s.sendto(bytes(100), ('127.0.0.1', {PORT}))"])
    script = f"ip link set lo up; {lose}; read x; mount --bind /proc/self/ns/net {file}"
    file.parent.mkdir(exist_ok=True)
    file.touch()
    with subprocess.Popen(["unshare", "-n", "sh", "-c", script], stdin=subprocess.PIPE) as process:
        t.until(30)
        t.pass_intervals(2)
        process.communicate(b"\n", TIMEOUT)
    return 30


def names_at_once(_, name):
    ip("netns", "add", name)
    do(name, "ip", "link", "set", "lo", "up")
    return 0


@table([("named at once", names_at_once), ("entered first", enters_before_naming)])
def a_new_namespace_has_one_row(make):
    """Also when its name is found after its first drop."""
    late = f"{NAME}-late"

    def is_named():
        nonlocal sent
        send(late, "127.0.0.1", 30)
        sent += 30
        t.pass_intervals()
        return sent > 30 and [row["netns"] for row in of_the_flow(t.lines[-1]["data"])] == [late]

    with tracing(f"udp port {PORT}") as t:
        try:
            sent = make(t, late)
            until(is_named, 20, "named")
            until(lambda: t.read_line()["event"] == "interval" and sum(
                i["data"]["dropped"] for i in t.lines if i["event"] == "interval") == sent, 20, "all lost")
            document = t.stop()
        finally:
            ip("netns", "del", late)
    assert [(row["netns"], row["packets"]) for row in of_the_flow(document["end"])] == [(late, sent)], document["end"]


# Killed


def attached(lab):
    """Programs and queueing disciplines at the lab's devices."""
    found = []
    for side, ifname in ("tx", TX), ("rx", RX):
        for point in "ingress", "egress":
            found.append(lab.do(side, "tc", "filter", "show", "dev", ifname, point))
        found.append(re.sub(r"qlen \d+|prog/xdp id \d+", "", lab.do(side, "ip", "link", "show", ifname)))
        found.append(lab.do(side, "tc", "qdisc", "show", "dev", ifname).replace(
            "qdisc clsact ffff: parent ffff:fff1 \n", ""))
    return found


IN_LAB = [[], ["--tx", "xsk", "--rx", "xsk"], ["--tx", "xsk", "--rx", "xdp"],
          ["--tx", "socket", "--fault", "xdp"], ["--tx", "socket", "--fault", "tx_socket"]]


@case
def killed_in_a_named_lab():
    """At any moment: the lab is as it was."""
    with Lab(NAME) as lab:
        before = attached(lab)
        for args in IN_LAB if EVERYTHING else random.sample(IN_LAB, 1):
            for _ in range(10 if EVERYTHING else 1):
                host = Host()
                with killed_within(0.8, *LONG, *args):
                    pass
                host.assert_same(10)
                assert attached(lab) == before, args


# An older kernel, or one without memory


NEEDED = [
    ("run", ["run", "-c", "1000"], "kfree_skb"),
    ("trace", ["trace", "-t", "0.1"], "watch_drops"),
    ("probes", ["run", "-c", "1000"], "tx_device"),
    ("live frames", ["run", "-c", "1000", "--tx", "xdp"], "gen_stream"),
    ("AF_XDP", ["run", "-c", "1000", "--rx", "xsk"], "xsk_steer"),
    ("XDP sink", ["run", "-c", "1000", "--rx", "xdp"], "sink_take"),
    ("a fault's", ["run", "-c", "1000", "--fault", "tc_ingress"], "fault_ingress"),
    ("balance", ["trace", "--balance", "-t", "0.1", "udp", "port", "5060"], "balance_drop"),
    ("top", ["trace", "--by", "flow", "-t", "0.1"], "watch_drops"),
    ("recv", ["recv", "--rx", "xdp", "-i", "lo", "-t", "0.1"], "sink_take"),
    ("lab", ["lab", "up", NAME, "--fault", "tc_ingress"], "fault_ingress"),
]
MAPS = [("memory, run", ["run", "-c", "1000"], "outcomes"), ("memory, trace", ["trace", "-t", "0.1"], "slots"),
        ("memory, live frames", ["run", "-c", "1000", "--tx", "xdp"], "device")]


@table([(*row, "NO_PROGRAM", "unknown func unknown#999") for row in first(2, NEEDED)] +
       [(*row, "NO_MAP", "Cannot allocate memory") for row in first(0, MAPS)])
def needed_but_refused(args, names, what, words):
    result = execute(*args, binary=CHAOS, env={f"CHAOS_{what}": names})
    assert result.status == UNABLE, result
    assert_said_once(result, words)


@table(first(1, [
    ("readers", ["check", "-t", "0.1"], "read_one", ""),
    ("queues", ["check", "-t", "0.1"], "queue", ""),
    ("open files", ["trace", "-t", "0.1"], "holders", ""),
    ("sender's tracer", ["send", "127.0.0.1", "-c", "10", "-r", "1k"], "kfree_skb",
     "losses on this side are not traced"),
    ("receiver's tracer", ["recv", "-t", "0.1"], "kfree_skb", "losses on this side are not traced"),
    ("quirks", ["trace", "-t", "0.1", "-j"], "quirk_switch", ""),
]) + first(1, [
    # loaded with the program that trace needs, which is then loaded without it
    ("errors of XDP", ["trace", "-t", "0.1"], "watch_exception", "some XDP losses are not visible"),
    ("devmaps", ["trace", "-t", "0.1"], "xdplosses_devma", "some XDP losses are not visible")]))
def optional_but_refused(args, names, words):
    """What is not seen for want of it is said in a line."""
    result = execute(*args, binary=CHAOS, env={"CHAOS_NO_PROGRAM": names})
    assert result.status == OK, result
    assert not words or result.err.count(words) == 1, result
    assert "unknown func" in result.err or "XDP" in words or not words, result


LOSE = [sys.executable, "-c", "import socket\ns = socket.socket(type=socket.SOCK_DGRAM)\n"
        f"for _ in range(100): s.sendto(b'x', ('127.0.0.1', {PORT}))\n"]
LOST = f"udp dst port {PORT} and host 127.0.0.1"


@table(first(1, [
    ("trace", ["trace", "-j", LOST, "--", *LOSE]),
    ("run", ["run", "-j", "-c", "1000", "-r", "10k", "--fault", "netfilter=10%"]),
    ("by flow", ["trace", "-j", "--by", "flow", LOST, "--", *LOSE]),
    ("an end", ["send", "-j", "127.0.0.1:9", "-c", "100", "-r", "1k"]),
]))
def without_functions_of_the_kernel(args):
    """What is built for kernels without them counts the same."""
    result = execute(*args, binary=CHAOS, env={"CHAOS_NO_KFUNC": "1"})
    assert result.status == OK, result
    if args[0] == "run":
        assert_balanced(result.json, attempted=1000)
        assert lost(result.json)["netfilter"] > 0, result
    else:
        losses = result.json["end"]["sent"] if args[0] == "send" else 100
        assert lost(result.json) == {"udp_lookup": losses}, result


# A clock that is set


@table([("an hour later", 3600), ("an hour earlier", -3600)] if EVERYTHING else [])
def clock_set_in_a_run(step):
    """The ledger does not depend on it; delays say that they cannot be trusted."""
    with directory() as path:
        file = path / "now"
        env = {"CHAOS_STEP": str(step), "CHAOS_STEP_FILE": str(file)}
        with telling("run", "--json-lines", "-I", "50ms", "-t", "500ms", "--rate", "10k", "--tx", "socket",
                     binary=CHAOS, env={**os.environ, **env}) as run:
            run.until_sent()
            file.touch()
            document, result = run.finish()
    assert result.status == OK, result
    assert_balanced(document)
    assert document["end"]["duration_ns"] < 5e9 * PATIENCE, document["end"]


def in_a_time_namespace(*args):
    """Its CLOCK_MONOTONIC is not that of the kernel's programs."""
    if subprocess.run(["unshare", "--time", "--fork", "--monotonic", "1000", "true"],
                      capture_output=True, check=False).returncode:
        skip("no time namespaces")
    result = execute("--time", "--fork", "--monotonic", "100000", "--boottime", "100000", str(BINARY),
                     *args, binary="unshare")
    assert result.status == OK, result
    return result.json


@thorough
def live_frames_in_a_time_namespace():
    document = in_a_time_namespace("run", "-j", "--tx", "xdp", "--rx", "xdp", "--rate", "10k", "-t", "1")
    assert_balanced(document)
    assert 5e8 < document["end"]["duration_ns"] < 5e9 * PATIENCE, document["end"]


@thorough
def events_in_a_time_namespace():
    document = in_a_time_namespace(
        "trace", "-j", "--events", "--microburst", "1ms", LOST, "--", *LOSE)
    latest = max(drop["time_ns"] for drop in document["drops"])
    assert latest < document["end"]["duration_ns"] + 1e9 * PATIENCE, (latest, document["end"])


# Ten thousand sockets, a hundred thousand flows


@thorough
def ten_thousand_sockets():
    """Each loses some: what the tables of the observer cannot tell apart is counted all the same."""
    count = min(10000, resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 100)
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    with Lab(NAME) as lab, contextlib.ExitStack() as stack:
        sockets = []
        with inside(lab.netns("rx")):
            for i in range(count):
                sock = stack.enter_context(socket.socket(type=socket.SOCK_DGRAM))
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
                sock.bind(("", FREE + i))
                sock.setblocking(False)
                sockets.append(sock)
        with inside(lab.netns("tx")):
            sender = stack.enter_context(socket.socket(type=socket.SOCK_DGRAM))
        for by in ["socket,process"], ["flow"]:
            with telling("trace", "--json-lines", "-I", "500ms", "--netns", f"{NAME}-rx", "--by", *by,
                         "udp") as trace:
                came = link(lab.netns("rx"), "v-rx")["rx"]["packets"]
                for _ in range(6):
                    for i in range(count):
                        sender.sendto(bytes(100), ("198.18.0.2", FREE + i))
                until(lambda came=came: link(lab.netns("rx"), "v-rx")["rx"]["packets"] >= came + 6 * count,
                      20, "all arrive")
                document, result = trace.finish(60, signal.SIGINT)
            assert result.status == OK, result
            received = 0
            for sock in sockets:
                with contextlib.suppress(BlockingIOError):
                    while sock.recv(2000):
                        received += 1
            assert document["end"]["dropped"] == 6 * count - received > count, document["end"]
            own = document["end"]["missed"]
            assert own["rows_merged"] or own["without_socket_or_flow"], own
        result = execute("check", "-j", "-t", "0.2", netns=lab.netns("rx"))
        assert result.status == OK and "more than" in json.dumps(result.json["end"]["unread"]), result


@thorough
def hundred_thousand_flows():
    """Nobody listens to them, and then somebody does."""
    flows = ["--tx", "xsk", "-i", TX, "--src-port", "1024..65000", "--src-addr", "198.18.0.16..198.18.0.20",
             "-c", "100000", "-r", "50k"]
    with Lab(NAME) as lab:
        with telling("trace", "--json-lines", "-I", "500ms", "--netns", f"{NAME}-rx", "--by", "flow", "udp",
                     "port", "28779") as trace:
            sent = execute("send", "198.18.0.2", "-j", "-q", *flows, netns=lab.netns("tx"))
            require(sent.status != UNABLE, sent.err)
            until(lambda: counter(lab.netns("rx"), "Udp:NoPorts") >= sent.json["end"]["sent"], 20, "all arrive")
            document, result = trace.finish(60, signal.SIGINT)
        assert result.status == OK, result
        assert document["end"]["dropped"] == sent.json["end"]["sent"] + 4, document["end"]
        with lab.telling("rx", "recv", "--json-lines", "-I", "500ms", "--per-flow", "--rcvbuf",
                         "64m") as receiver:
            sent = execute("send", "198.18.0.2", "-j", "-q", *flows, netns=lab.netns("tx"))
            document, result = receiver.finish(60)
        assert result.status == OK, result
        end = document["end"]
        assert end["delivered"] + end["lost"] == sent.json["end"]["sent"], end


# Starved


@table([("run", ["-t", "3"]), ("AF_XDP", ["-t", "3", "--tx", "xsk", "--rx", "xsk"]),
        ("live frames", ["-t", "3", "--tx", "xdp", "--rx", "xdp"])] if EVERYTHING else [])
def stopped_for_two_seconds(args):
    """What was owed meanwhile is not sent all at once, and each number has its outcome."""
    with telling("run", "--json-lines", "-I", "50ms", "--rate", "20k", *args) as run:
        run.until_sent()
        run.process.send_signal(signal.SIGSTOP)
        time.sleep(2)  # for so long it owes packets
        run.process.send_signal(signal.SIGCONT)
        document, result = run.finish()
    assert result.status == OK, result
    assert_balanced(document)


@thorough
def trace_stopped_for_two_seconds():
    with telling("trace", "--json-lines", "-I", "100ms") as trace:
        trace.process.send_signal(signal.SIGSTOP)
        time.sleep(2)  # an interval is that long
        trace.process.send_signal(signal.SIGCONT)
        trace.read_line()
        document, result = trace.finish(number=signal.SIGINT)
    assert result.status == OK, result
    assert max(i["interval_ns"] for i in document["intervals"]) > 1.5e9, document["intervals"]


@thorough
def starved():
    """The least of the CPUs, beside those that spin: exit status 4 only with what is missing."""
    cpus = len(os.sched_getaffinity(0))
    with contextlib.ExitStack() as stack:
        for _ in range(cpus * 2):
            spin = stack.enter_context(subprocess.Popen(["nice", sys.executable, "-c", "while True: pass"]))
            stack.callback(spin.kill)
        for tx, rx in ("socket", "socket"), ("xsk", "xsk"):
            result = execute("-n", "19", str(BINARY), "run", "-j", "-c", "5000", "--rate", "5k", "--tx", tx,
                             "--rx", rx, binary="nice")
            assert result.status in (OK, BROKEN), result
            assert_sums(result.json)
            end = result.json["end"]
            assert result.status == OK or end["in_flight"] or end["unaccounted"], result


# Little of everything


LITTLE = ["--nofile=8", "--nofile=16", "--nofile=24", "--nofile=32", "--nofile=48", "--as=60000000",
          "--as=150000000", "--as=400000000", "--nproc=1"]
COMMANDS = [["run", "-c", "1000", "-P", "2"], ["trace", "-t", "0.2"], ["check", "-t", "0.1"],
            ["recv", "-t", "0.1"], ["send", "127.0.0.1", "-c", "10", "-r", "1k"],
            ["run", "-c", "1000", "--tx", "xsk", "--rx", "xsk"],
            ["run", "-c", "1000", "--tx", "xdp", "--rx", "xdp"],
            ["trace", "--events", "-t", "0.2"], ["search", "--mrr", "-t", "50ms"],
            ["lab", "up", NAME], ["run", "-c", "1000", "--fault", "netfilter,rcvbuf"],
            ["trace", "--balance", "-t", "0.2", "udp", "port", "9"]]


@table([(" ".join(args), args) for args in COMMANDS] if EVERYTHING else [])
def with_little(args):
    """It can do it, or says in a line why not."""
    for limit in LITTLE:
        result = execute(limit, str(BINARY), *args, binary="prlimit")
        try:
            assert result.status in (OK, FAILED, UNABLE), (limit, str(result))
            if result.status:
                assert_said_once(result)
        finally:
            if args[0] == "lab":
                pktledger("lab", "down", NAME)


# Killed, others


KILLED = [
    ["run", "--json-lines", "-I", "50ms", "-t", "60", "-r", "50k"], ["trace"], ["trace", "--events", "--counters", "--microburst", "10ms"], ["trace", "--by", "flow"],
    ["trace", "--balance", "udp", "port", "5060"], ["check", "-t", "2"],
    ["search", "--mrr", "-t", "200ms"], ["sweep", "--vary", "rcvbuf=64k,1m,8m", "-t", "200ms"],
    ["run", "-t", "5", "--tx", "xdp", "--rx", "xdp"], ["run", "-t", "5", "--topology", "vxlan"],
    ["run", "-t", "5", "--topology", "tap", "--tx", "socket"],
    ["run", "-t", "5", "--fault", "netfilter,tc_ingress,rcvbuf"], ["recv", "--rx", "xdp", "-i", "lo"],
    ["selftest"], ["recv", "--serve"], ["sweep", "--preset", "million"],
]


@table(first(1, [(" ".join(args), args) for args in KILLED]))
@exclusive_rows("selftest")
def killed(args):
    """At any moment of its first second."""
    host = Host()
    for _ in range(8 if EVERYTHING else 1):
        with killed_within(1, *args):
            pass
        host.assert_same(10)


@thorough
def lab_up_killed():
    """What is left can be listed and removed."""
    host = Host()
    for _ in range(20):
        with killed_within(0.3, "lab", "up", NAME, "--topology", "router", "--fault", "netfilter"):
            pass
        labs = [lab for lab in pktledger("lab", "list", "-j").json["labs"] if lab["name"] == NAME]
        result = pktledger("lab", "down", NAME)
        assert result.status == (OK if labs else FAILED), result
        host.assert_same(10)


def guard_of(process):
    """The process that puts a value back."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            pid, name, parent = re.match(r"(\d+) \((.*)\) \S (\d+)", stat.read_text()).groups()
            if name == "pktledger-guard" and int(parent) == process.pid:
                return int(pid)
    return None


FLOW_LIMIT, UDP_MEM = "net/core/flow_limit_cpu_bitmap", "net/ipv4/udp_mem"


@contextlib.contextmanager
def changing(path, fault, *args):
    """A run that changes a value of the host, and the value as it was."""
    before = sysctl(path)
    require(before, "needs CONFIG_NET_FLOW_LIMIT and the first network namespace of the host")
    with started("run", "-c", "10M", *args, "--fault", fault) as process:
        until(lambda: process.poll() is not None or sysctl(path) != before, 20, "a change")
        assert process.poll() is None, process.communicate()
        yield process, before


@contextlib.contextmanager
def limiting_flows():
    """The run, its guard, and the value as it was."""
    with changing(FLOW_LIMIT, "backlog:flow_limit", "--rate", "10k") as (process, before):
        yield process, until(lambda: guard_of(process), 5, "a guard"), before


@case
@exclusive
def the_flow_limit_makes_the_losses():
    """It has a counter of its own for as long as it is in force; after that all is as before. Sending
    without a pause leaves the other CPU to softirqs, so nobody could look."""
    def limited():
        return sum(int(line.split()[10], 16)
                   for line in Path("/proc/net/softnet_stat").read_text().splitlines())

    with changing(FLOW_LIMIT, "backlog:flow_limit", "--rate", "50k", "--burst", "5000") as (process, before):
        until(lambda: process.poll() is not None or limited(), 20, "a flow is limited")
        assert process.poll() is None, process.communicate()
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert sysctl(FLOW_LIMIT) == before


@case
@exclusive
def udp_mem_is_restored_after_SIGKILL():
    with changing(UDP_MEM, "udp_mem", "--rate", "10k") as (process, before):
        os.kill(process.pid, signal.SIGKILL)
        until(lambda: sysctl(UDP_MEM) == before, 10, "udp_mem is restored")


@table([("and its owner", True), *first(0, [("alone", False)])])
@exclusive
def guard_is_killed(both):
    """Then the owner does its work, or the next one, which says so."""
    with limiting_flows() as (process, guard, before):
        os.kill(guard, signal.SIGKILL)
        process.send_signal(signal.SIGKILL if both else signal.SIGINT)
        _, err = process.communicate(timeout=TIMEOUT)
        assert (sysctl(FLOW_LIMIT) == before) != both, err
        if not both:
            assert process.returncode == OK, err
            return
        result = pktledger("run", "-c", "1")
        assert sysctl(FLOW_LIMIT) == before, result
        assert f"restored {FLOW_LIMIT} to '{' '.join(before)}'" in result.err, result


# Nobody reads


@table(first(1, [(" ".join(args), args) for args in (
    ["run", "--json-lines", "-I", "50ms", "-t", "60", "--rate", "50k"],
    ["trace", "--json-lines", "-I", "100ms"], ["trace", "-I", "100ms", "--counters"],
    ["recv", "--json-lines", "-I", "100ms"], ["check", "--explain", "all"], ["selftest"],
    ["search", "--json-lines", "-t", "100ms"], ["sweep", "--vary", "rcvbuf=64k,128k,256k", "-t", "200ms"],
    ["send", "127.0.0.1", "--json-lines", "-r", "1k", "-I", "100ms"],
    ["trace", "--events", "-I", "100ms"])]))
def reader_goes(args):
    """It ends soon, by itself and not by a signal."""
    with started(*args) as process:
        process.stdout.read(1)
        process.stdout.close()
        process.stdout = None
        try:
            process.wait(20 * PATIENCE)
        except subprocess.TimeoutExpired:
            raise AssertionError("does not end") from None
        assert process.returncode >= 0, f"killed by signal {-process.returncode}"
        assert process.returncode == OK or args[:2] != ["trace", "--json-lines"], process.returncode
        assert "cannot write" not in process.stderr.read()


if __name__ == "__main__":
    main()
