#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Every example of --help, which are the EXAMPLES of the manuals, is typed as it is printed, on a host
of its own: with eth0 and eth1, 198.18.0.2, a namespace called shop, and the files that it names. `make
test` takes the first of three commands."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import BINARY, EVERYTHING, PATIENCE, assert_ok, main, pktledger, require, table

SECONDS = 1.5  # what has not ended by then is told to
# These are not run: why. Their options are looked at all the same.
ELSEWHERE = {
    "top": "is for a terminal: test_top.py",
    "top udp port 5060": "is for a terminal: test_top.py",
    "top --by flow -I 5": "is for a terminal: test_top.py",
    "check --apply": "asks on a terminal: test_change.py",
    "check --undo": "takes back what the host has changed: test_change.py",
    "check --bundle bug.ledger": "takes a minute: test_check.py",
    "check --from bug.ledger": "reads that: test_check.py",
    "selftest --host-global -6": "changes sysctls of all namespaces, under other tests: test_selftest.py",
}
# Exit statuses beside 0 that are an answer here: nothing to change, nobody there, a limit is broken.
ANSWERS = {
    "run --to tls://198.18.0.2 --token-file token --rate 100k": {1},
    "send 198.18.0.2 --rate max --tx xsk -i eth1": {1},
    "check --apply --yes nic-ring": {1},
    "check --fail-on warning -q": {4},
    "run --limit loss=0.1% -j": {4},
    "trace --balance udp port 5060": {4},
    "report lost.pcapng udp port 5060": {1},
    "report --since 03:10 --until 03:15 trace.ledger": {1},  # unless it is that time
    "selftest": {1, 3},  # it is told to end, and no host can make all of it
}
BEFORE = {
    "lab down": "pktledger lab up", "run --lab lab -c 100k": "pktledger lab up",
    "run --to root@198.18.0.2 --rate 100k":  # the other host is shop
        "ip link set eth1 netns shop; ip addr flush dev eth0; ip addr add 198.18.0.1/24 dev eth0;"
        "ip -n shop addr add 198.18.0.2/24 dev eth1; ip -n shop link set eth1 up; sleep 1",
}
# What stands in PATH before programs of others: ssh to that host, and a resolver that nobody answers.
STAND_INS = {
    "ssh": """#!/bin/sh
while [ "$1" != -- ]; do shift; done
[ "$2" = root@198.18.0.2 ] || exit 255
shift 2
echo "$*" >asked
exec ip netns exec shop "$@"
""",
    "dig": """#!/bin/bash
echo "$*" >asked
printf 'a query of its own' >"/dev/udp/${1#@}/53"
""",
}
# What the last of them was asked, and what the program says then.
SHOWS = {
    "run --to root@198.18.0.2 --rate 100k": ("pktledger ", "rx on ", "balanced: every packet"),
    "trace udp port 53 -- dig @198.18.0.2 example.org":
        ("@198.18.0.2 example.org", "udp_lookup", "NO_SOCKET"),
}
HOST = """
mount -t tmpfs t /run && mkdir -p /run/netns /var/lib/prometheus/node-exporter
mount -t sysfs s /sys; mount -t bpf b /sys/fs/bpf
mount -t tracefs tr /sys/kernel/tracing 2>/dev/null
ip link set lo up
ip link add eth0 type veth peer name eth1
ip addr add 198.18.0.2/24 dev eth0
ip addr add 2001:2::2/64 dev eth0 nodad
ip link set eth0 up; ip link set eth1 up
ip netns add shop
exec "$@"
"""


def examples():
    document = assert_ok(pktledger("help", "--json")).json
    return [e["line"] for c in document["commands"] for e in c["examples"]]


def make_files(directory):
    """What examples read: ledgers of runs, of ends, of a trace, a search, captures; and a token."""
    def make(*args):
        done = subprocess.run([BINARY, *args], cwd=directory, capture_output=True, text=True,
                              check=False, timeout=60 * PATIENCE)
        require(done.returncode != 3, done.stderr)
        assert done.returncode in (0, 4), (args, done.stderr)
        return done.stdout
    for name in "run", "before", "after":
        make("run", "-c", "1000", "--rate", "10k", "-q", "--ledger", f"{name}.ledger")
    make("trace", "-t", "0.3", "-q", "--ledger", "trace.ledger")
    (Path(directory) / "search.json").write_text(
        make("search", "--mrr", "-t", "50ms", "--max-rate", "5k", "-j"))
    lab = ["unshare", "-n", "sh", "-ec", f"""ip link set lo up
        {BINARY} recv -t 9 -q --streams 2 --ledger recv.ledger & sleep 1
        for end in a b; do
            {BINARY} send 127.0.0.1 -c 100 --rate 1k -q --ledger $end.ledger
        done
        wait"""]
    subprocess.run(lab, cwd=directory, check=True, capture_output=True, timeout=60 * PATIENCE)
    make("trace", "-t", "0.3", "-q", "--events", "-w", "lost.pcapng")
    shutil.copy(f"{directory}/lost.pcapng", f"{directory}/here.pcap")
    shutil.copy(f"{directory}/lost.pcapng", f"{directory}/there.pcap")


def typed(line, directory, seconds=SECONDS):
    """Exit status and what was said of a line in a shell, which is told to end after a while; after
    a longer one where it was not at work yet."""
    env = {**os.environ, "PATH": f"{directory}/bin:{BINARY.parent}:{os.environ['PATH']}"}
    process = subprocess.Popen(
        ["unshare", "-m", "-n", "--propagation", "private", "bash", "-c", HOST, "host", "bash", "-c",
         f"{BEFORE.get(line, 'true')} >&2; exec pktledger {line}"], cwd=directory, env=env,
        stdin=subprocess.DEVNULL, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True)
    try:
        out, err = process.communicate(timeout=seconds * PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGINT)
        try:
            out, err = process.communicate(timeout=20 * PATIENCE)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    if process.returncode == -signal.SIGINT and seconds == SECONDS:
        return typed(line, directory, 10 * SECONDS)
    return process.returncode, out, err


@table([(name, name) for name in sorted({line.split()[0] for line in examples()})
        if EVERYTHING or name in ("check", "run", "trace")])
def examples_of(command):
    lines = [line for line in examples() if line.split()[0] == command]
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "bin").mkdir()
        for name, script in STAND_INS.items():
            (Path(directory) / "bin" / name).write_text(script)
            (Path(directory) / "bin" / name).chmod(0o755)
        if command == "run":
            (Path(directory) / "token").write_text("t" * 32 + "\n")
            (Path(directory) / "token").chmod(0o600)
        if command == "report":
            make_files(directory)
        for line in lines if EVERYTHING else lines[:1]:
            if "*" in line:  # of ends, not of all that this directory has
                line = line.replace("*.ledger", "a.ledger b.ledger recv.ledger")
            if line in ELSEWHERE:  # it is parsed: --help is shown if all before it are options
                words = [w for w in shlex.split(line.split(" -- ")[0])]
                result = assert_ok(pktledger(words[0], *words[1:], "--help"))
                assert "Usage" in result.out or "usage" in result.out, result
                continue
            status, out, err = typed(line, directory, SECONDS * (10 if " -- dig" in line else 1))
            assert status in {0} | ANSWERS.get(line, set()), (line, status, err[-600:])
            if line in SHOWS:
                asked, *words = SHOWS[line]
                assert asked in (Path(directory) / "asked").read_text(), line
                assert all(word in out for word in words), (line, out, err)


if __name__ == "__main__":
    main()
