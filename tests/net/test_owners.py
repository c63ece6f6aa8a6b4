#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`trace`: whose packets were lost, why the reader of a socket did not keep up, which rule dropped,
and the command behind `--`."""

import contextlib
import json
import os
import re
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import (assert_ok, case, exclusive, first, main, pktledger, require, run, started, table,
                 thorough, until)
from ends import PORT, do, drop, nft, python, send as send_in, shell
from traced import NAME, RX, V4, assert_only, causes, lab, namespaces, send, tracing

ID = "d4e8e05a546c86b6443f101966c618e47753ed01fa9929cae00d3b692f7a9f80"


# A receiver in a process of its own


RECEIVER = """
import os, socket, sys, threading, time
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 5000)
sock.bind(("", int(sys.argv[1])))

def sleeps():
    time.sleep(3600)

def spins():
    while True:
        pass

def reads():
    while True:
        sock.recv(2048)

def inherits():
    for i in range(2):
        if not os.fork():
            open("/proc/self/comm", "w").write(f"worker-{i}")
            (sleeps, reads)[i]()
    sleeps()

def forks(does):
    if not os.fork():
        open("/proc/self/comm", "w").write("idle")
        sleeps()
    open("/proc/self/comm", "w").write("parent")
    does()

def polls():
    sock.settimeout(0.01)
    while True:
        try:
            sock.recv(2048)
        except TimeoutError:
            pass
        time.sleep(0.02)

def parent_reads():
    forks(polls)

def nobody_reads():
    forks(sleeps)

def in_a_thread():
    threading.Thread(target=reads, daemon=True).start()
    spins()

print("ready", flush=True)
globals()[sys.argv[2]]()
"""


def receiver(does, port=PORT, group=None):
    """A process in the receiver's namespace that has a socket with a small buffer, maybe of this cgroup."""
    join = group and (lambda: (group / "cgroup.procs").write_text(str(os.getpid())))
    return python(RX, RECEIVER, port, does, become=join)


def process_name(pid):
    return f"{Path(f'/proc/{pid}/comm').read_text().strip()}[{pid}]"


@contextlib.contextmanager
def cgroup(mount, *parts):
    """Makes cgroups one in another; yields the innermost."""
    made = []
    path = Path(mount)
    try:
        for part in parts:
            path = path / part
            try:
                path.mkdir()
            except OSError:
                require(False, f"no cgroup can be made in {mount}")
            made.append(path)
        yield path
    finally:
        for path in reversed(made):
            until(lambda path=path: not os.path.isdir(path) or remove(path), 10, f"rmdir {path}")


def remove(path):
    with contextlib.suppress(OSError):
        path.rmdir()
    return not path.exists()


def cgroup2():
    for mount in re.findall(r"^\S+ (\S+) cgroup2 ", Path("/proc/mounts").read_text(), re.M):
        return mount
    require(False, "needs cgroup version 2")


# Whose


def fill(times=1):
    """More than the receiver's buffer holds."""
    for _ in range(times):
        send(V4, 30)


def drops(*args):
    """The document of a trace in which a full socket loses packets."""
    with tracing(*args, f"udp port {PORT}") as t:
        fill()
        return t.stop()


def the_row(document):
    rows = causes(document)
    assert list(rows) == ["rcvbuf"], document["end"]
    assert len(rows["rcvbuf"]["causes"]) == 1, rows
    return rows["rcvbuf"]["causes"][0]


@case
def reader_of_an_inherited_socket():
    """Three processes have it; one waits in recv()."""
    with lab(), receiver("inherits") as process:
        workers = until(lambda: workers_of(process), 10, "two workers")
        reader = next(pid for pid, name in workers.items() if name == "worker-1")
        until(lambda: Path(f"/proc/{reader}/syscall").read_text().split()[0] != "running", 10,
              "the worker waits")
        os.kill(reader, signal.SIGSTOP)  # it stays in its recv()
        row = the_row(drops("--by", "process"))
        assert row["process"] == f"worker-1[{reader}]", (row, workers)


def lossy(t, intervals=4):
    """Until so many intervals of the trace have had losses."""
    while intervals:
        fill()
        line = t.read_line()
        intervals -= line["event"] == "interval" and line["data"]["dropped"] > 0


@table(first(0, [("the parent", "parent_reads", "parent"), ("nobody", "nobody_reads", "held by 2 processes")]))
def of_two_after_a_fork_reads(does, name):
    """The child, which was started last, has the same socket and does nothing."""
    with lab(), receiver(does) as process:
        with tracing("--by", "process", f"udp port {PORT}") as t:
            lossy(t)
            document = t.stop()
        require(not document["start"]["env"]["quirks"]["no_sock_recv_length"] or name != "parent",
                "needs Linux 6.3")
        reader = f"parent[{process.pid}]" if name == "parent" else name
        names = {row["process"] for row in causes(document)["rcvbuf"]["causes"]}
        assert reader in names and names <= {reader, "held by 2 processes"}, names  # before it read
        found = finding(document, "rcvbuf")
        checked = [f for f in pktledger("check", "-j", "-t", "0.5", "--netns", RX).json["end"]["findings"]
                   if f["id"].startswith("rcvbuf")]
        assert all("idle[" not in json.dumps(f) and "idle (" not in json.dumps(f)
                   for f in [found, *checked]), (found, checked)
        assert (f"parent[{process.pid}]" in json.dumps(found)) == (name == "parent"), found


def workers_of(process):
    path = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    names = {int(pid): Path(f"/proc/{pid}/comm").read_text().strip()
             for pid in path.read_text().split()}
    return names if sorted(names.values()) == ["worker-0", "worker-1"] else None


@case
def container_by_the_cgroup_of_the_socket():
    with lab(), cgroup(cgroup2(), NAME, f"docker-{ID}.scope") as group, receiver("sleeps", group=group):
        row = the_row(drops("--by", "cgroup,container,process"))
        assert row["container"] == ID[:12], row
        assert row["cgroup"] == f"/{NAME}/docker-{ID}.scope", row
        assert row["process"].startswith("python"), row


@case
def a_pod_is_its_network_namespace():
    """That of its first process; other namespaces lose unseen. Who asks for another is told which."""
    uid = "0b7632a2-a56e-4278-987a-22de18008dbe"
    with lab(), cgroup(cgroup2(), NAME, f"pod{uid}", ID) as group, receiver("sleeps", group=group):
        row = the_row(drops("--pod", f"pod-{uid}"))
        assert row["socket"].endswith(f":{PORT}"), row
        checked = assert_ok(pktledger("check", "-j", "-t", "100ms", "--pod", f"pod-{uid}"))
        assert str(checked.json["end"]).count("v-rx"), checked.json["end"]
        assert "v-tx" not in str(checked.json["end"]), checked.json["end"]
        for command in ["trace", "-t", "1"], ["export", "-t", "1"], ["check"]:
            result = pktledger(*command, "--pod", "shop/cart")
            assert result.status == 1 and "no pod shop/cart" in result.err, result
            assert f"pod-{uid}" in result.err, result


@case
def socket_that_nobody_has_any_more():
    """Its process ends before anybody can look: the loss is shown all the same."""
    with lab():
        with tracing("--by", "socket,process", f"udp port {PORT}") as t:
            with receiver("sleeps"):
                fill()
            rows = causes(t.stop())
        assert rows["rcvbuf"]["causes"][0]["socket"].endswith(f":{PORT}"), rows


# Why a socket was full


def finding(document, stage):
    found = [f for f in document["end"]["findings"] if f["stage"] == stage]
    assert len(found) == 1, document["end"]["findings"]
    return found[0]


@thorough
def full_because_the_thread_that_reads_waits():
    """Another thread of the process uses the CPU."""
    with lab(), receiver("in_a_thread") as process, tracing(f"udp port {PORT}") as t:
        lossy(t)
        found = finding(t.stop(), "rcvbuf")
        assert f"of {process_name(process.pid)}" in found["cause"] or \
            "busiest" in found["cause"], found


@contextlib.contextmanager
def cpu_quota():
    """A cgroup whose processes get 5 % of a CPU."""
    mounts = Path("/proc/mounts").read_text()
    v1 = re.search(r"^\S+ (\S+) cgroup \S*\bcpu\b", mounts, re.M)
    if v1:
        with cgroup(v1[1], NAME) as group:
            (group / "cpu.cfs_quota_us").write_text("5000")
            yield group
        return
    top = Path(cgroup2())
    require("cpu" in (top / "cgroup.subtree_control").read_text().split(),
            "no cgroup may have a CPU quota here")
    with cgroup(top, NAME) as group:
        (group / "cpu.max").write_text("5000 100000")
        yield group


# Which rule dropped


def handle(chain, words):
    listed = shell(RX, "nft", "-a", "list", "chain", *chain.split()).stdout
    return next((re.search(r"# handle (\d+)", line)[1] for line in listed.splitlines()
                 if words in line), None)


def dropped_by_rules(chain):
    """The finding of 40 packets that this chain drops, and the handle of the rule with the port."""
    with lab():
        nft(RX, f"table inet t {{ chain c {{ type filter hook input priority 0; {chain} }}; }}")
        with tracing(f"udp port {PORT}") as t:
            send(V4, 40)
            t.until(40)
            document = t.stop()
        assert_only(document, "netfilter", 40, netns=RX)
        return finding(document, "netfilter"), handle("inet t c", str(PORT))


COUNTED = f"udp dport {PORT} counter drop"


@table([
    ("rule with a counter", f'udp dport {PORT + 1} counter drop; {COUNTED} comment "no voice";',
     "netfilter-rule", "rule with handle {} of chain inet t c (no voice): 40 packets"),
    ("rule without a counter", f"udp dport {PORT} drop;", "netfilter",
     "by elimination: rule with handle {} of chain inet t c"),
    ("policy", "policy drop;", "netfilter", "by elimination: the policy of chain inet t c"),
])
def who_dropped(chain, name, seen):
    found, number = dropped_by_rules(chain)
    assert found["id"] == name and found["netns"] == RX, found
    assert seen.format(number) in found["facts"]["seen"], found
    assert name == "netfilter" or found["command"] == (
        f"ip netns exec {RX} nft delete rule inet t c handle {number}"), found


@case
def rules_of_several_chains():
    """EXPR leaves out what the other one drops; which dropped what, counters do not say."""
    with lab():
        drop(RX, "input", f"udp dport {PORT}")
        drop(RX, "input", f"udp dport {PORT + 1}", table="u", priority=1)
        with tracing(f"udp port {PORT}") as t:
            send(V4, 40)
            send(V4, 60, port=PORT + 1)
            document = t.stop()
    assert_only(document, "netfilter", 40, netns=RX)
    found = finding(document, "netfilter")
    for words in "of chain inet u c: 60 packets", "of chain inet t c: 40 packets, of any traffic":
        assert words in found["facts"]["seen"], found
    assert (found["id"], found["command"]) == (
        "netfilter", f"ip netns exec {RX} nft -a list ruleset"), found


@case
@exclusive
def namespace_that_is_gone():
    """What would be changed there is not shown, nor what that would risk."""
    with tracing("udp port 28779") as t:
        run("-c", "30000", "--fault", "backlog")
        gone = finding(t.stop(), "backlog")
    assert [gone[key] for key in ("command", "undo", "risk", "applies")] == [None] * 4, gone


@case
def rule_among_many_namespaces():
    """All rules are listed before there is a loss, wherever they are."""
    with namespaces(40):
        found, number = dropped_by_rules(COUNTED + ";")
    assert f"rule with handle {number} of chain inet t c: 40 packets" in found["facts"]["seen"], found


@case
def rules_are_listed_late():
    """What the rule had dropped before is not said to be of now."""
    with tracing(f"udp port {PORT}") as t, namespaces(1) as (late,):
        drop(late, "input", f"udp dport {PORT}")
        send_in(late, "127.0.0.1", 45)
        found = finding(t.stop(), "netfilter")
    assert "rules were listed only after the loss began; since it was made: rule" in found["facts"]["seen"], found
    assert "of chain inet t c: at most 45 packets" in found["facts"]["seen"], found
    assert found["id"] == "netfilter", found


def inode_of(netns):
    return Path(f"/run/netns/{netns}").stat().st_ino


def lost_in_two(again):
    """The document of a trace, and two namespaces that lost 20 and 45 packets to a rule. The former is gone when the
    new one is made, which has the same name (`again`) or the same inode number."""
    with contextlib.ExitStack() as stack:
        other, = stack.enter_context(namespaces(1))
        with namespaces(1, 1) as (former,):
            inode = inode_of(former)
            do(other, "ip", "link", "add", "to-former", "type", "veth", "peer", "name", "to-other", "netns", former)
            drop(former, "input", f"udp dport {PORT}")
            send_in(former, "127.0.0.1", 10)
            t = stack.enter_context(tracing(f"udp port {PORT}"))
            send_in(former, "127.0.0.1", 20)
            t.until(20)
        until(lambda: not shell(other, "ip", "-o", "link", "show", "type", "veth").stdout, 10, "it is gone")
        for n in range(2, 12):
            new, = stack.enter_context(namespaces(1, n))
            if inode_of(new) == inode:
                break
            time.sleep(0.01 * n)  # the number is given back a little later
        if again:
            new, = stack.enter_context(namespaces(1, 1))
        # files of /proc have numbers of the same range
        require((inode_of(new) == inode) != again, "a number that is used again")
        drop(new, "input", f"udp dport {PORT}")
        send_in(new, "127.0.0.1", 45)
        return t.stop(), former, new


@case
@exclusive
def number_of_a_former_namespace():
    """Each namespace has its own losses and rules, also if both have the same inode number."""
    document, former, new = lost_in_two(False)
    rows = causes(document)["netfilter"]["causes"]
    assert {row["netns"]: row["packets"] for row in rows} == {former: 20, new: 45}, rows
    found = {one["netns"]: one for one in document["end"]["findings"]}
    assert found[former]["command"] is None, found
    assert "of chain inet t c: at most 45 packets" in found[new]["facts"]["seen"], found
    assert found[new]["command"] == f"ip netns exec {new} nft -a list ruleset", found


@case
@exclusive
def name_of_a_former_namespace():
    """The losses of both are in one row, for which there is no command: it would be one of this namespace."""
    document, former, new = lost_in_two(True)
    row, = causes(document)["netfilter"]["causes"]
    assert (former, row["netns"], row["packets"]) == (new, new, 65), row
    found = finding(document, "netfilter")
    assert (found["netns"], found["command"]) == (new, None), found


# The command behind --


@table(first(1, [
    ("its own", ["sh", "-c", "exit 3"], 3),
    ("ended by a signal", ["sh", "-c", "kill -TERM $$"], 143),
    ("not found", ["no-such-command-pktledger"], 127),
    ("not executable", ["/dev/null"], 126),
    ("killed", ["sh", "-c", "kill -KILL $$"], 137),
    ("success", ["true"], 0),
]))
def status_of_the_command(command, status):
    for options in ([], ["-j"]):
        result = pktledger("trace", *options, "--", *command)
        assert result.status == status, result
        if options:
            assert result.json["schema"] == "pktledger/trace/1", result
            assert ("error" in result.json) == (status in (126, 127)), result


@case
def command_sees_all_it_loses():
    """Tracing has begun when the command does."""
    with lab():
        script = ("import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                  "s.bind(('127.0.0.1', 0)); s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)\n"
                  "for _ in range(100): s.sendto(b'x', s.getsockname())\n"
                  "s.setblocking(False)\n"
                  "n = 0\n"
                  "try:\n"
                  "    while s.recv(10): n += 1\n"
                  "except BlockingIOError: pass\n"
                  "print(n)")
        result = assert_ok(pktledger("trace", "-j", "--netns", RX, "--by", "process", "--",
                                     "ip", "netns", "exec", RX, sys.executable, "-c", script))
        received = int(re.search(r"^(\d+)$", result.err, re.M)[1])
        assert result.json["end"]["dropped"] == 100 - received, result


@table(first(1, [("SIGINT", signal.SIGINT), ("SIGTERM", signal.SIGTERM)]))
def signal_to_both(number):
    """As Ctrl-C at a terminal; the command ends, and the summary comes."""
    with started("trace", "--json-lines", "--", "sh", "-c", "echo ready >&2; exec sleep 60") as p:
        until(lambda: "ready" in p.stderr.readline(), 30, "the command runs")
        os.killpg(p.pid, number)
        out, err = p.communicate(timeout=30)
        assert p.returncode == 128 + number, (p.returncode, err)
        assert '"event":"end"' in out.replace(" ", ""), out


@case
def signal_to_us_alone():
    """It is passed on, and what the command does then is waited for."""
    script = "trap 'echo asked >&2; exit 9' TERM; echo ready >&2; while :; do sleep 0.05; done"
    with started("trace", "-q", "--", "sh", "-c", script) as p:
        until(lambda: "ready" in p.stderr.readline(), 30, "the command runs")
        os.kill(p.pid, signal.SIGTERM)
        _, err = p.communicate(timeout=30)
        assert p.returncode == 9, (p.returncode, err)
        assert "asked" in err, err


if __name__ == "__main__":
    main()
