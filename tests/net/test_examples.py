#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Every example of --help, which are the EXAMPLES of the manuals, and every command that the README and
the manuals show beside, is typed as it is printed, on a host of its own: with eth0 and eth1,
198.18.0.2, a namespace called shop, and the files that it names. `make test` takes the first of three
commands, and the README."""

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import (BINARY, EVERYTHING, PATIENCE, ROOT, assert_ok, case, is_blocked, main, pktledger, require, table,
                 together, until)

SECONDS = 1.5  # what has not ended by then is told to
# These are not run: why. Their options are looked at all the same.
ELSEWHERE = {
    "top": "is for a terminal: test_top.py",
    "top udp": "is for a terminal: test_top.py",
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
    "run -j -c 100k --rate 50k --limit loss=0.1% >result.json": {4},
    "send 198.18.0.2 --rate max --tx xsk -i eth1": {1},
    "check --apply --yes nic_ring": {1},
    "check --limit warning -q": {4},
    "run --limit loss=0.1% -j": {4},
    "report --compare --limit loss=+0.1%,p99=+20% before.ledger after.ledger": {4},  # p99 of a busy host
    "trace --balance udp port 5060": {4},
    "trace --stage rcvbuf,backlog --limit loss=100/s --until-limit": {4},  # by others of this host
    "report --since 03:10 --until 03:15 trace.ledger": {1},  # unless it is that time
    "selftest": {1, 3},  # it is told to end, and no host can make all of it
}
# Before a command: the other host is shop; it serves; a socket loses packets; a lab.
SHOP = ("ip link set eth1 netns shop; ip addr flush dev eth0; ip addr add 198.18.0.1/24 dev eth0;"
        "ip -n shop addr add 198.18.0.2/24 dev eth1; ip -n shop link set eth1 up; sleep 1; ")
SERVING = SHOP + ("rm -f token; ip netns exec shop setpriv --pdeathsig KILL pktledger recv --serve"
                  " --listen :: --new-token token & until [ -s token ]; do sleep 0.1; done; sleep 1; ")
LOSING = """setpriv --pdeathsig KILL python3 -c '
import socket, sys, threading, time
r = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
r.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
r.bind(("", PORT))
open(sys.argv[1], "w")
threading.Thread(target=lambda: [time.sleep(0.003) for _ in iter(lambda: r.recv(2000), 0)]).start()
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    [s.sendto(bytes(400), ("127.0.0.1", PORT)) for _ in range(20)]
    time.sleep(0.01)
' losing.$$ & until [ -e losing.$$ ]; do sleep 0.05; done; """
EXPORTED = "export --textfile /dev/stdout -t 2 udp port 5060 | grep 'lost_packets_total.*netns'"
# The recipes of pktledger-scripts(7).
FINDINGS = "check -j --limit warning | jq -r '.end.findings[] | [.stage, .cause, .command] | @tsv'"
WORST = "trace -j -t 10 udp | jq -r '.end.stages[] | [.packets, .stage] | @tsv' | sort -rn"
BEFORE = {
    FINDINGS: LOSING.replace("PORT", "5060"), WORST: LOSING.replace("PORT", "5060"),
    "lab down": "pktledger lab up", "run --lab lab -c 100k": "pktledger lab up",
    "run --lab lab": "pktledger lab up", "lab list": "pktledger lab up",
    "trace --netns lab-rx -t 3 udp": "pktledger lab up",
    "trace udp": LOSING.replace("PORT", "5060"), EXPORTED: LOSING.replace("PORT", "5060"),
    "check -p 5060": LOSING.replace("PORT", "5060"),
    "check --netns app -p 5001": "ip netns add app; ip -n app link set lo up; ip netns exec app "
                                 + LOSING.replace("PORT", "5001"),
    "recv --serve --listen :: --new-token token": "rm -f token",
    "export --listen :: --tls-cert cert --tls-key key --token-file token":
        "openssl req -x509 -newkey ed25519 -nodes -subj /CN=a -out cert -keyout key; (umask 77; openssl rand -hex 32 >token); ",
    "trace -I 60 --by stage,process,pod --json-lines >>nodes/$(hostname).ndjson": "mkdir nodes",
    "run --to root@198.18.0.2 --rate 100k": SHOP,
    "run --to 198.18.0.2 --rate 100k --via 'ssh -J jump rx' --remote 'sudo -n /opt/pktledger'": SHOP,
    "run --to 198.18.0.2 --rate 100k --via 'kubectl exec -i rx --'": SHOP,
    "run --to tls://198.18.0.2 --token-file token --rate 100k": SERVING,
    "run --to 198.18.0.2 --rate 100k --token-file token": SERVING,
}
# What stands in PATH before programs of others: ssh to that host, and a resolver that nobody answers.
STAND_INS = {
    "ssh": """#!/bin/sh
if [ "$1" = -J ]; then
    [ "$2 $3" = "jump rx" ] || exit 255
    shift 3
else
    while [ "$1" != -- ]; do shift; done
    [ "$2" = root@198.18.0.2 ] || exit 255
    shift 2
fi
echo "$*" >asked
exec ip netns exec shop "$@"
""",
    "kubectl": """#!/bin/sh
[ "$1 $2 $3 $4" = "exec -i rx --" ] || exit 255
shift 4
exec ip netns exec shop "$@"
""",
    "sudo": """#!/bin/sh
[ "$1 $2" = "-n /opt/pktledger" ] || exit 255
shift 2
exec pktledger "$@"
""",
    "dig": """#!/bin/bash
echo "$*" >asked
printf 'a query of its own' >"/dev/udp/${1#@}/53"
""",
}
# What the last of them was asked.
ASKED = {
    "run --to root@198.18.0.2 --rate 100k": "pktledger ",
    "trace udp port 53 -- dig @198.18.0.2 example.org": "@198.18.0.2 example.org",
}
# What is said then; such a command is not told to end before its time.
BALANCED = "balanced: every packet is accounted for"
SHOWS = {
    "run": (BALANCED,),
    "run --to root@198.18.0.2 --rate 100k": ("rx on ", BALANCED),
    "run --to tls://198.18.0.2 --token-file token --rate 100k": ("rx on ", BALANCED),
    "run --to 198.18.0.2 --rate 100k --token-file token": ("rx on ", BALANCED),
    "run --to 198.18.0.2 --rate 100k --via 'kubectl exec -i rx --'": ("rx on ", BALANCED),
    "run --to 198.18.0.2 --rate 100k --via 'ssh -J jump rx' --remote 'sudo -n /opt/pktledger'":
        ("rx on ", BALANCED),
    "run --fault netfilter=5%,rcvbuf,qdisc": ("netfilter", "rcvbuf", "qdisc", BALANCED),
    "run -c 100k --rate 50k --fault netfilter=5%,rcvbuf": ("netfilter ", "rcvbuf ", BALANCED),
    "run --tx socket --rate 20k -c 20k --latency-breakdown": ("tx interface - rx interface  ", "socket - receiver  "),
    "run -c 1000 -j --fault netfilter=20% | jq -c '.end | {attempted, sent, delivered, dropped,"
    " balanced}'": ('"sent":1000,', '"balanced":true}'),
    "run --ledger run.ledger -c 1000 --fault netfilter=20% -q": (BALANCED,),
    "run --lab lab": (BALANCED,),
    "lab list": ("lab",),
    "check": ("watched",),
    FINDINGS: ("rcvbuf\t",), WORST: ("\trcvbuf",),
    "check -p 5060": ("rcvbuf", "port 5060", "python3["),
    "check --netns app -p 5001": ("rcvbuf", "port 5001 in app"),
    EXPORTED: ('stage="rcvbuf",reason="SOCKET_RCVBUFF"',),
    "trace udp": ("rcvbuf", "SOCKET_RCVBUFF", "*:5060", "python3["),
    "trace udp port 53 -- dig @198.18.0.2 example.org": ("udp_lookup", "NO_SOCKET"),
    "search --mrr -t 300ms --max-rate 300k": ("MRR ", " mrr ", " between "),
    "sweep --vary rcvbuf=16k..256k/x4 -c 40k --rate 20k --work 100us": ("16k", "64k", "256k"),
    "send 198.18.0.2 --rate 10k -c 10k": ("10,000",),
}
# Commands with a name or a pattern that the reader replaces, and what is typed here.
PLACEHOLDERS = {
    "report --matrix *.ledger": "report --matrix hosts.ledger",
    "send --rate 10k --ledger a.ledger B": "send --rate 10k -t 1 --ledger a2.ledger 198.18.0.2",
    "recv --ledger b.ledger --streams 2": "recv --ledger b2.ledger --streams 2",
    "report --join a.ledger b.ledger": "report --join a.ledger b.ledger recv.ledger",
    "report --join a.ledger c.ledger b.ledger": "report --join a.ledger b.ledger recv.ledger",
}
ENDLESS = 3 if EVERYTHING else 1.5  # seconds for what is told to end
HOST = """
mount -t tmpfs t /run && mount -t tmpfs t /var/lib &&
    mkdir -p /run/netns /var/lib/prometheus/node-exporter
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
    """What examples read: ledgers of runs, of ends, of a trace, a search, and captures."""
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
        wait
        {BINARY} run --to 127.0.0.1 --via env --remote {BINARY} -c 100 --rate 1k -q --ledger hosts.ledger"""]
    subprocess.run(lab, cwd=directory, check=True, capture_output=True, timeout=60 * PATIENCE)
    lost = ["unshare", "-n", "bash", "-ec", f"""ip link set lo up
        {LOSING.replace("PORT", "5060")}
        {BINARY} trace -t 1 -q --events --snaplen 128 -w lost.pcapng udp port 5060"""]
    subprocess.run(lost, cwd=directory, check=True, capture_output=True, timeout=60 * PATIENCE)
    shutil.copy(f"{directory}/lost.pcapng", f"{directory}/here.pcap")
    shutil.copy(f"{directory}/lost.pcapng", f"{directory}/there.pcap")


def heeds_signals(pid, watches):
    """Whether a program waits for signals and, if it `watches`, has loaded its BPF programs."""
    with contextlib.suppress(OSError):
        status = Path(f"/proc/{pid}/status").read_text()
        return status.startswith("Name:\tpktledger\n") and is_blocked(pid, signal.SIGINT) and (
            not watches or "NoNewPrivs:\t1" in status)
    return False


def typed(line, directory):
    """Exit status and what was said of a line in a shell, which is told to end a while after it began
    to wait for signals."""
    endless = line.split()[0] in ("trace", "export", "recv") and not {"-t", "--"} & {*line.split()}
    seconds = SECONDS if line not in SHOWS else ENDLESS if endless else 20 * SECONDS
    env = {**os.environ, "PATH": f"{directory}/bin:{BINARY.parent}:{os.environ['PATH']}"}
    process = subprocess.Popen(
        ["unshare", "-m", "-n", "--propagation", "private", "bash", "-c", HOST, "host", "bash", "-c",
         f"{BEFORE.get(line, 'true')} >&2; exec pktledger {line}"], cwd=directory, env=env,
        stdin=subprocess.DEVNULL, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True)
    try:
        watches = endless and line in SHOWS
        until(lambda: process.poll() is not None or heeds_signals(process.pid, watches), 60, line)
        out, err = process.communicate(timeout=seconds * PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGINT)
        try:
            out, err = process.communicate(timeout=20 * PATIENCE)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, out, err


def assert_works(lines):
    """In a directory with the files that they name."""
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "bin").mkdir()
        for name, script in STAND_INS.items():
            (Path(directory) / "bin" / name).write_text(script)
            (Path(directory) / "bin" / name).chmod(0o755)
        if any(line.startswith("report") for line in lines):
            make_files(directory)
        for line in lines:
            line = PLACEHOLDERS.get(line, line)
            if line in ELSEWHERE:  # it is parsed: --help is shown if all before it are options
                words = [w for w in shlex.split(line.split(" -- ")[0])]
                result = assert_ok(pktledger(words[0], *words[1:], "--help"))
                assert "Usage" in result.out or "usage" in result.out, result
                continue
            status, out, err = typed(line, directory)
            assert status in {0} | ANSWERS.get(line, set()), (line, status, err[-600:])
            if line in ASKED:
                assert ASKED[line] in (Path(directory) / "asked").read_text(), line
            assert all(word in out + err for word in SHOWS.get(line, ())), (line, out, err)


@table([(name, name) for name in sorted({line.split()[0] for line in examples()})
        if EVERYTHING or name == "trace"])  # the README begins with those of `check`
@together
def examples_of(command):
    lines = [line for line in examples() if line.split()[0] == command]
    assert_works(lines if EVERYTHING else lines[:1])


# Pages whose commands are run by tests of their own, with what the page says of them.
OWN_TESTS = {"pktledger-troubleshooting.7.scd": "test_troubleshooting.py",
             "pktledger-data.7.scd": "test_data.py"}


def blocks_of(path):
    """What is set apart in a README or a manual."""
    text = path.read_text().replace("\\\n", "")  # a line that goes on
    if path.suffix == ".md":
        return [re.sub("^    ", "", block, flags=re.M)
                for block in re.findall(r"(?:^    .*\n)+", text, re.M)]
    return re.findall(r"^```\n(.*?)^```", text, re.M | re.S)


def shown(path):
    """The lines that are typed, in their order, each once."""
    lines = []
    for block in blocks_of(path):  # with a prompt, or only what is typed
        prompt = "[#$] " if re.match("[#$] ", block) else "(?:# )?"
        lines += re.findall(rf"^{prompt}pktledger ([a-z]+(?: .*)?)$", block, re.M)
    lines = [re.sub(r"  +", " ", re.sub(r"  +# .*", "", line)).strip() for line in lines]
    return list(dict.fromkeys(line for line in lines if line.split()[0] in COMMANDS))


# Shown after prompts, but by no test of this program's.
NOT_TYPED = {
    "README.md": {"./tools/setup run", "./tools/setup test", "make install"},  # package/packages
    "pktledger-ledger.5.scd": {"cut -c 1-78 run.ledger", "python3 -c '"},  # below
    "pktledger-trace.8.scd": {  # net/privileges
        "groupadd -r pktledger",
        "chown root:pktledger /usr/sbin/pktledger && chmod 0750 /usr/sbin/pktledger",
        "setcap cap_bpf,cap_perfmon,cap_syslog=ep /usr/sbin/pktledger"},
    "pktledger-fleet.7.scd": {"systemctl start pktledger-export"},  # unit/prometheus has the unit
    # the screen of top
    "pktledger-top.8.scd": {"pktledger top sick udp port 5060 12:03:44 2 s"},
}
README_FIRST = 3  # those that take seconds
COMMANDS = {line.split()[0] for line in examples()}
PAGES = [path for path in (ROOT / "README.md", *sorted((ROOT / "tools/man").glob("*.scd")))
         if shown(path) and path.name not in OWN_TESTS]


def rows():
    """A page each; of the README, in `make test`, its first lines one by one."""
    if EVERYTHING:
        return [(path.name, shown(path)) for path in PAGES]
    return [(f"README.md: {line}", [line]) for line in shown(ROOT / "README.md")[:README_FIRST]]


@table(rows())
@together
def shown_by(lines):
    assert_works(lines)


@case
def no_command_is_left_out():
    """What looks typed, with any prompt, is run here or by a test that is named."""
    begins = re.compile(r"^(?:[\w-]*[#$] )?((?:\./tools/|(?:pktledger|make|systemctl) [a-z]).*)$|"
                        r"^[\w-]*[#$] (.*)$", re.M)
    for path in (ROOT / "README.md", *sorted((ROOT / "tools/man").glob("*.scd"))):
        known = {f"pktledger {line}" for line in shown(path)} | NOT_TYPED.get(path.name, set())
        found = {re.sub(r"  +", " ", re.sub(r"  +# .*", "", a or b)).strip()
                 for block in blocks_of(path) for a, b in begins.findall(block)}
        assert path.name in OWN_TESTS or found <= known, (path.name, found - known)


@case
def a_ledger_is_verified_as_its_page_says():
    """The script of the page is silent about a ledger, and names the line of one that was cut."""
    block = next(b for b in blocks_of(ROOT / "tools/man/pktledger-ledger.5.scd") if "zlib" in b)
    script = block.removeprefix("$ ").replace("\\\\", "\\")
    with tempfile.TemporaryDirectory() as directory:
        ledger = Path(directory, "run.ledger")
        assert_ok(pktledger("run", "-c", "1000", "--rate", "10k", "-q", "--ledger", str(ledger)))
        for cut, said in ((0, ""), (9, f"line {ledger.read_bytes().count(10)} was truncated\n")):
            ledger.write_bytes(ledger.read_bytes()[:-cut or None])
            done = subprocess.run(["sh", "-c", script], cwd=directory, capture_output=True, text=True,
                                  check=False)
            assert (done.returncode, done.stdout) == (0, said), (cut, done)


if __name__ == "__main__":
    main()
