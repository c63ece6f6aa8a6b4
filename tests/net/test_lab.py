#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`lab`: named namespaces to play in, and `run` between ports that are already there."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import (BINARY, EVERYTHING, assert_balanced, assert_valid, case, first, listing, lost,
                 main, pktledger, run, table, thorough)
from ends import do, nft, read_all, send, sysctl, udp
from traced import NAME, TX, lab


def ours():
    return {name for name in listing("/run/netns") if name.startswith(NAME)}


@table([("pair", "pair", {"tx", "rx"}), ("router", "router", {"tx", "rx", "router"}),
        ("bridge", "bridge", {"tx", "rx", "bridge"}), ("vxlan", "vxlan", {"tx", "rx"})])
def up_and_down(topology, roles):
    with lab("--topology", topology):
        assert ours() == {f"{NAME}-{role}" for role in roles}
        labs = pktledger("lab", "list", "-j").json["labs"]
        assert [row["topology"] for row in labs if row["name"] == NAME] == [topology]
    assert not ours()


@case
def down_gives_json():
    assert pktledger("lab", "up", NAME, "-q").out == ""
    result = pktledger("lab", "down", NAME, "-j")
    assert result.status == 0 and result.json == {"schema": "pktledger/lab/1", "name": NAME}, result
    again = pktledger("lab", "down", NAME, "-j")
    assert again.status == 1 and NAME in again.json["error"]["message"], again
    assert_valid(again.json)


@case
def name_is_taken():
    with lab():
        again = pktledger("lab", "up", NAME)
        assert again.status == 1 and f"lab down {NAME}" in again.err, again
        assert len(ours()) == 2


@table(first(1, [
    ("by its name, router", "router", ["--lab", NAME]),
    ("by its name", "pair", ["--lab", NAME]),
    ("by its ports", "pair", ["--rate", "100k", "-i", f"{NAME}-tx/v-tx,{NAME}-rx/v-rx"]),
    ("by its ports, IPv6", "pair", ["--ipv6", "--rate", "100k", "-i", f"{NAME}-tx/v-tx,{NAME}-rx/v-rx"]),
    ("AF_XDP", "pair", ["--lab", NAME, "--tx", "xsk", "--rx", "xsk"]),
    ("twice", "pair", ["--lab", NAME, "--repeat", "2"]),
    ("by its name, bridge", "bridge", ["--lab", NAME]), ("by its name, vxlan", "vxlan", ["--lab", NAME]),
]))
def run_in_it(topology, options):
    with lab("--topology", topology):
        document = run("--count", "20000", *options)
        if "--repeat" not in options:
            assert_balanced(document, attempted=20000)
        assert "-i" in options or document["start"]["lab"]["topology"] == topology


@table([("named", ["--lab", NAME]), ("ports", ["-i", f"{NAME}-tx/v-tx,{NAME}-rx/v-rx"])])
def command_in_the_namespace_of_the_drop(options):
    """Also if neither end is in it."""
    for role, table_text in (("bridge", "bridge t { chain c { type filter hook forward"),
                             ("rx", "inet t { chain c { type filter hook input")):
        with lab("--topology", "bridge"):
            nft(f"{NAME}-{role}", f"table {table_text} priority 0; udp dport 28779 drop; }}; }}")
            end = run("-c", "100", "-r", "10k", "--tx", "socket", *options)["end"]
        found, = end["findings"]
        assert (found["stage"], found["netns"]) == ("netfilter", f"{NAME}-{role}"), found
        assert found["command"] == f"ip netns exec {NAME}-{role} nft -a list ruleset", found


@table([("by default", [], 0, False), ("accept_local", [], 1, True), ("AF_XDP", ["--rx", "xsk"], 0, True),
        ("XDP", ["--rx", "xdp"], 0, True), ("another source", ["--src-addr", "198.18.0.77"], 0, True),
        ("its own source", ["--src-addr", "198.18.0.1"], 0, False), ("sockets", ["--tx", "socket"], 1, False)])
def both_ports_in_one_namespace(options, accept_local, delivers):
    with lab():
        do(f"{NAME}-rx", "ip", "link", "set", "v-rx", "netns", TX)
        do(TX, "ip", "addr", "add", "198.18.0.2/24", "dev", "v-rx")
        do(TX, "ip", "link", "set", "v-rx", "up")
        sysctl(TX, "net/ipv4/conf/v-rx/accept_local", accept_local)
        result = pktledger("run", "-j", "-c", "100", "-r", "10k", "-i", f"{TX}/v-tx,{TX}/v-rx", *options)
    if delivers:
        assert result.status == 0 and result.json["end"]["delivered"] == 100, result
    else:
        assert result.status == 2 and "(NETNS/IFNAME)" in result.json["error"]["hint"], result


@case
def segments_that_do_not_fit():
    """A tbf takes messages apart that are longer than its burst; if no segment fits, it frees the
    whole before them."""
    with lab():
        do(TX, "tc", "qdisc", "add", "dev", "v-tx", "root", "tbf", "rate", "100mbit", "burst", "4000", "limit",
             "30000")
        document = run("--count", "5000", "--lab", NAME, "--length", "1200", "--gso")
        assert_balanced(document, attempted=5000)
        assert lost(document).get("qdisc", 0) > 3000, lost(document)


@thorough
def queue_that_stands_still():
    """What waits in it is in flight, and the run ends."""
    with lab():
        do(TX, "tc", "qdisc", "add", "dev", "v-tx", "root", "tbf", "rate", "8bit", "burst", "10k", "limit",
             "100mb")
        result = pktledger("run", "-j", "--lab", NAME, "--tx", "socket", "-c", "100k", "--length", "1000")
        end = result.json["end"]
        assert result.status == 1 and "no packet could be sent" in result.err, result
        assert 0 <= end["delivered"] < end["sent"] == end["delivered"] + end["in_flight"], end


def passed():
    """How many of 100 datagrams of other programs come through the lab."""
    address = "198.18.1.2" if f"{NAME}-router" in ours() else "198.18.0.2"
    with udp(f"{NAME}-rx", socket.AF_INET, ("", 9000)) as receiver:
        send(TX, address, 100, port=9000)
        return read_all(receiver, 0.3)


FAULTS = (
    "neigh", "tc_egress=100%", "xdp=100%", "xdp:generic=100%", "xdp:aborted=100%",
    "xdp:redirect=100%", "xdp:devmap=100%", "tc_ingress=100%", "tc_ingress:stolen=100%",
    "l2:address", "l2:blocked", "l2:flood", "ip_header=100%", "netfilter=100%", "netfilter:ingress=100%",
    "netfilter:egress=100%", "netfilter:prerouting=100%", "netfilter:forward=100%",
    "netfilter:postrouting=100%", "ip_route:rp_filter", "ip_route:martian",
    "ip_route:blackhole", "udp_header=100%", "socket_read:csum=100%")


@table([(fault, fault) for fault in (FAULTS if EVERYTHING else FAULTS[::8])])
def fault(name):
    with lab("--fault", name):
        assert passed() == 0


@case
def without_fault():
    with lab():
        assert passed() == 100


@case
def faults_together():
    with lab("--fault", "netfilter=50%,tc_ingress=50%"):
        assert 5 < passed() < 55  # 25 in the mean; wrong once in a million times


@case
def killed_before_it_was_finished():
    """nft is run last: it is another here, which kills its parent. A network has no name before."""
    with tempfile.TemporaryDirectory() as directory:
        nft = Path(directory, "nft")
        nft.write_text("#!/bin/sh\nkill -9 $PPID\n")
        nft.chmod(0o755)
        done = subprocess.run(
            [BINARY, "lab", "up", NAME, "--fault", "tc_ingress=50%,netfilter=50%"],
            env={**os.environ, "PATH": f"{directory}:{os.environ['PATH']}"}, check=False)
    assert done.returncode == -signal.SIGKILL, done
    assert not ours()


@table([(role, role) for role in ("tx", "rx", "router")])
def namespace_is_missing(role):
    with lab("--topology", "router"):
        subprocess.run(["ip", "netns", "del", f"{NAME}-{role}"], check=True)
        row, = [row for row in pktledger("lab", "list", "-j").json["labs"] if row["name"] == NAME]
        assert not row["whole"], row
        result = pktledger("run", "--count", "10", "--lab", NAME)
        assert result.status == 1 and f"lab down {NAME}" in result.err, result
    assert not ours()


@case
def namespace_of_somebody_else():
    subprocess.run(["ip", "netns", "add", f"{NAME}-tx"], check=True)
    try:
        assert NAME not in pktledger("lab", "list").out
        for action in "up", "down":
            result = pktledger("lab", action, NAME)
            assert result.status == 1 and NAME in result.err, result
        assert ours() == {f"{NAME}-tx"}
    finally:
        subprocess.run(["ip", "netns", "del", f"{NAME}-tx"], check=True)


@table(first(1, [(name, name) for name in ("vxlan", "bridge", "router", "pair")]))
def printed_commands(topology):
    """A shell makes the same of them, and nothing was done by printing."""
    printed = pktledger("lab", "up", NAME, "--topology", topology, "--fault", "netfilter=50%",
                        "--print")
    assert printed.status == 0 and not ours(), printed
    try:
        done = subprocess.run(["sh", "-e"], input=printed.out, capture_output=True, text=True,
                              check=False)
        assert done.returncode == 0, done
        document = run("--count", "2000", "--lab", NAME)
        assert_balanced(document, attempted=2000)
        assert document["start"]["lab"]["topology"] == topology, document["start"]
        # the packets of a tunnel pass the rule twice
        share = 0.75 if topology == "vxlan" else 0.5
        assert abs(lost(document)["netfilter"] - 2000 * share) < 200, lost(document)
    finally:
        pktledger("lab", "down", NAME)


@case
def steps_are_not_interrupted():
    """Ctrl-C reaches the whole process group, also a command that has not left it yet."""
    with tempfile.TemporaryDirectory() as directory:
        ip, seen = Path(directory, "ip"), Path(directory, "seen")
        ip.write_text(f"#!{sys.executable}\nimport os, signal, sys\n"  # a shell would unblock them
                      f"print(*sorted(signal.pthread_sigmask(0, [])), file=open({str(seen)!r}, 'a'))\n"
                      f"os.execv({shutil.which('ip')!r}, sys.argv)\n")
        ip.chmod(0o755)
        done = subprocess.run([BINARY, "lab", "up", NAME], capture_output=True, text=True, env={
            **os.environ, "PATH": f"{directory}:{os.environ['PATH']}"}, check=False)
        pktledger("lab", "down", NAME)
        assert done.returncode == 0, done
        assert set(seen.read_text().splitlines()) == {"1 2 15"}, seen.read_text()


@case
def step_that_fails():
    """The command that failed is named: here another `ip` is told a device that is not there."""
    with tempfile.TemporaryDirectory() as directory:
        ip = Path(directory, "ip")
        ip.write_text(f'#!/bin/sh\nsed "s/24 dev v-tx/24 dev v-no/" | {shutil.which("ip")} "$@"\n')
        ip.chmod(0o755)
        done = subprocess.run([BINARY, "lab", "up", NAME], capture_output=True, text=True, env={
            **os.environ, "PATH": f"{directory}:{os.environ['PATH']}"}, check=False)
    assert done.returncode == 3, done
    assert "ip addr add 198.18.0.1/24 dev v-tx" in done.stderr, done
    assert not ours()


if __name__ == "__main__":
    main()
