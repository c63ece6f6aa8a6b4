#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Findings, each brought about in namespaces by ends that are not ours; `check --explain` calls them
proven in a lab. Every scene is the look-alike of all others: it shows its findings and no other, in
`check`, in `trace` and in the ledger of that trace. PKTLEDGER_VERDICTS in the environment says how
often each is asked."""

import contextlib
import functools
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from ends import (PORT, SO_RCVBUFFORCE, XDP_GENERIC, counter, do, drop, family_of, inside, ip4, mac_of, nft,
                  nft_counters, raw, read_all, repeating, send, shell, sysctl, udp, verdict, xdp)
from labs import Hosts
import test_troubleshooting as stories
from lib import (BINARY, EVERYTHING, assert_findings, assert_ok, case, directory, exclusive,
                 exclusive_rows, finish, first, first_finding, main, observed, paced, pktledger,
                 proves, require, run, skip, start, started, table, thorough, until)
from test_others import segment, want_signatures
from test_owners import cgroup, cpu_quota
from test_troubleshooting import program
from traced import FRAGMENTING4, FRAGMENTING6, NAME, RX, TX, V4, V6, lab, tracing

TIMES = int(os.environ.get("PKTLEDGER_VERDICTS", "1"))
ROUTER = f"{NAME}-router"
XDP_PASS = 2

# Faults of `run`: an experiment shows what it means, and nothing else


FAULTS = [
    ("tx_socket", "", "tx_socket"),
    ("tx_route", "", "tx_route"),
    ("tc_egress", "", "tc_egress"),
    ("qdisc", "", "qdisc"),
    ("tx_device", "-c 30000", "tx_device"),
    ("xdp", "", "xdp"),
    ("xsk:ring", "--rx xsk -c 30000", "xsk"),
    ("gso", "", "gso"),
    ("backlog", "-c 30000", "backlog"),
    ("tc_ingress", "", "tc_ingress"),
    ("l2:address", "", "l2-otherhost"),
    ("ip_header", "", "ip_header"),
    ("netfilter", "", "netfilter"),
    ("ip_route:martian", "", "ip-own-source"),
    ("ip_route:blackhole", "", "ip-discard"),
    ("ip_frag:missing", "-l 4000", "ip_frag"),
    ("ip_forward:mtu", "-l 1400", "ip-too-big"),
    ("tunnel", "", "tunnel"),
    ("xfrm", "", "xfrm"),
    ("udp_header", "", "udp_header"),
    ("udp_csum", "", "udp_csum"),
    ("socket_filter", "", "socket_filter"),
    ("rcvbuf", "-c 10000", "rcvbuf-slow"),
    ("socket_read:csum", "", "socket_read"),
    ("socket_close", "", "socket_close"),
    ("neigh", "-r 1k -t 4", "neigh-failed"),
]


@table(first(1, [(name, f"--fault {name} {options}", [id]) for name, options, id in FAULTS]))
@proves()
@exclusive_rows("backlog")
def fault(options, ids):
    words = options.split()
    if "-c" not in words and "-t" not in words:
        words += ["-c", "3000", "-r", "20k"]
    assert_findings(run(*words)["end"]["findings"], *ids)


@table(first(2, [("stops at times", ["--pause", "230ms/700ms"], ["rcvbuf-burst"]),
                 ("is slow", ["--work", "1ms"], ["rcvbuf-slow"])]))
@proves()
def reader_of_a_run(reader, ids):
    """Both read fewer packets than arrive, and only one of them is helped by a larger buffer."""
    end = run("--tx", "socket", "-c", "10000", "-r", "5k", *reader)["end"]
    assert_findings(end["findings"], *ids)
    facts = end["findings"][0]["facts"]
    assert ("read_pps" in facts) == (ids == ["rcvbuf-slow"]), facts


@case
@proves("qdisc-noop")
def link_that_is_down():
    """There is no qdisc then, so none that is full; with the link one takes packets again."""
    def passes(probe):
        send(TX, V4, 1, PORT + 1)
        return read_all(probe, 0.02) > 0

    with lab(), udp(RX, socket.AF_INET, ("", PORT + 1)) as probe, \
            tracing("--netns", TX, f"udp port {PORT}") as t:
        for state in "down", "up":
            shell(RX, "ip", "link", "set", "v-rx", state)
            until(lambda state=state: f"state {state.upper()}" in
                  shell(TX, "ip", "link", "show", "v-tx").stdout, 10, f"v-tx {state}")
            # the qdisc goes right after that
            until(lambda state=state: passes(probe) == (state == "up"), 10, "the qdisc")
            with udp(RX, socket.AF_INET, ("", PORT)) as sock:
                send(TX, V4, 100)
                assert read_all(sock) == (100 if state == "up" else 0)
        document = t.stop()
    row, = document["end"]["stages"]
    assert (row["stage"], row["packets"]) == ("qdisc", 100), row
    assert {cause["location"] for cause in row["causes"]} == {"noop_enqueue"}, row
    found = assert_findings(document["end"]["findings"], "qdisc-noop")
    assert "The link of v-tx was down" in found["cause"] and "full" not in found["cause"], found


@case
@proves("l2-stp", "l2-bridge")
def port_of_a_bridge():
    """In a state of spanning tree, or isolated: either of which takes all."""
    isolated = ("dev v-b0 state 3 isolated on", "dev v-b1 isolated on")
    with lab("--topology", "bridge") as ends, udp(RX, socket.AF_INET, ("", PORT)) as sock:
        for settings, id in ((("dev v-b0 state 1",), "l2-stp"), (("dev v-b0 state 2",), "l2-stp"),
                             (isolated, "l2-bridge")):
            for words in settings:
                ends.do("bridge", "bridge", "link", "set", *words.split())
            with tracing(f"udp port {PORT}") as t:
                send(TX, V4, 60)
                t.until(60)
                document = t.stop()
            assert read_all(sock) == 0
            row, = document["end"]["stages"]
            assert (row["stage"], row["packets"]) == ("l2", 60), row
            if row["causes"][0]["reason"] == "NOT_SPECIFIED":  # as all of them before Linux 6.18
                id = "l2-bridge"
            found = assert_findings(document["end"]["findings"], id)
            assert "v-b0" in found["cause"], found


@table(first(1, [("IPv4", V4, "ip frag-off & 0x1fff == 370"), ("IPv6", V6, "meta protocol ip6 frag frag-off 362")]))
@proves("netfilter-rule")
def packet_of_which_a_fragment_is_refused(address, third):
    """The kernel frees the rest of it, counts FragFails, and the packet is not too large for anything."""
    source = FRAGMENTING6 if ":" in address else FRAGMENTING4

    def send_five():
        with udp(TX, family_of(address), (source, 0)) as sock:
            for _ in range(5):
                with contextlib.suppress(OSError):  # of the hook
                    sock.sendto(bytes(8000), (address, PORT))

    with lab():
        do(TX, "ip", "addr", "add", source, "dev", "v-tx", *["nodad"] * (source == FRAGMENTING6))
        nft(TX, f"""table netdev f {{ chain c {{ type filter hook egress device "v-tx" priority 0;
                    {third} counter drop; }}; }}""")
        with tracing("--netns", TX) as of_all, tracing("--netns", TX, f"udp port {PORT}") as of_flow:
            with started("check", "-j", "-t", "1", "--netns", TX) as process:
                with repeating(0.1, send_five):
                    process.wait()
                checked = assert_ok(finish(process)).json["end"]["findings"]
            lost, = nft_counters(TX).values()
            of_all.until(lost)
            of_flow.until(lost)
            for document in of_all.stop(), of_flow.stop():
                shown = {row["stage"]: row["packets"] for row in document["end"]["stages"]}
                assert shown == {"netfilter": lost}, (lost, document["end"]["stages"])
        assert_findings([f for f in checked if f["losing"]], "netfilter-rule")


@contextlib.contextmanager
def without_udp_mem():
    """Lowers the host's limit. A process that outlives this one, however it ends, restores the limit."""
    script = 'old=$(cat "$1"); echo 500 600000 600000 > "$1"; echo; read end; echo "$old" > "$1"'
    with subprocess.Popen(["sh", "-c", script, "sh", "/proc/sys/net/ipv4/udp_mem"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, start_new_session=True) as keeper:
        assert keeper.stdout.read(1)
        yield


@contextlib.contextmanager
def sockets_limited(limit):
    """A cgroup whose sockets share so many bytes."""
    v1 = re.search(r"^\S+ (\S+) cgroup \S*\bmemory\b", Path("/proc/mounts").read_text(), re.M)
    require(v1, "needs the memory controller of cgroup v1, which limits sockets by themselves")
    with cgroup(v1[1], NAME) as group:
        (group / "memory.kmem.tcp.limit_in_bytes").write_text(str(limit))
        yield group


@contextlib.contextmanager
def member_without_memory():
    """Sockets that this thread opens belong to a cgroup."""
    with sockets_limited(131072) as group:
        here = re.search(r":memory:(.*)", Path("/proc/thread-self/cgroup").read_text())[1]
        (group / "tasks").write_text(str(threading.get_native_id()))
        try:
            yield
        finally:
            Path(f"{group.parent}{here}/tasks").write_text(str(threading.get_native_id()))


DOUBLED = "sysctl -w net.ipv4.udp_mem='1000 1200000 1200000'"


@table(first(1, [("check, net.ipv4.udp_mem", "check", without_udp_mem, DOUBLED, ["udp_mem"]),
                 ("check, of its cgroup", "check", member_without_memory, None, ["udp-mem-cgroup"]),
                 ("trace, net.ipv4.udp_mem", "trace", without_udp_mem, DOUBLED, ["udp_mem"]),
                 ("trace, of its cgroup", "trace", member_without_memory, None, ["udp-mem-unclear"])]))
@proves()
@exclusive
def socket_without_memory(program, limited, fix, ids):
    """In bursts: between them nothing is in use."""
    with lab(), limited(), udp(RX, socket.AF_INET, ("", PORT)) as sock:
        sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 32 << 20)
        with started(program, "-j", "-t", "1", "--netns", RX) as process:
            while process.poll() is None:
                send(TX, V4, 2000, size=1400)
                read_all(sock, 0.1)
            found = assert_ok(finish(process)).json["end"]["findings"]
    found = assert_findings([f for f in found if f["facts"].get("lost")], *ids)
    assert found["command"] == fix and (found["facts"].get("udp_mem_exceeded", 0) > 0) == bool(fix), found


@thorough
@proves("udp-mem-cgroup")
@exclusive
def cgroup_without_memory():
    """It has a limit for its sockets: more of udp_mem would not help, and without it nothing is lost
    there."""
    with sockets_limited(-1) as group:
        join = ("sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh")

        def lost(limit):
            (group / "memory.kmem.tcp.limit_in_bytes").write_text(limit)
            end = assert_ok(finish(start("run", "-j", "-c", "4k", "-r", "100k", "--rcvbuf", "32M",
                                         "--work", "100us", "--settle", "30s", prefix=join))).json["end"]
            return [f for f in end["findings"] if f["stage"] == "udp_mem"]
        found = assert_findings(lost("131072"), "udp-mem-cgroup")
        assert found["command"] is None and "memory.max" in found["fix"], found
        assert not lost("-1")


@thorough
@proves("mcast-not-joined")
def multicast_that_was_asked_for():
    """To a group without members; on the device by which it comes, or at all."""
    def traced(*expression):
        document = assert_ok(pktledger("trace", "-j", "-t", "1", "--netns", RX, *expression)).json
        return document["end"]["findings"]

    group = f"udp port {PORT}"
    with stories.not_joined():
        found = assert_findings(traced(group), "mcast-not-joined")
        assert "v-rx" in found["cause"] and found["severity"] == "info", found
        assert not traced() and not traced("udp port 9"), "nobody has asked for it"
        with udp(RX, socket.AF_INET) as sock:
            join(sock, "127.0.0.1")
            assert_findings(traced(group), "mcast-not-joined")
            join(sock, V4)
            assert not traced(group), "it has joined"


@thorough
@proves("ip-rpfilter-unseen")
def sources_that_cannot_be_seen():
    """Without the right to load programs nobody knows whose packets reverse path filtering refused."""
    require(shutil.which("setpriv"), "needs setpriv (util-linux)")
    drop = "-bpf,-sys_admin,-perfmon"
    with stories.asymmetric():
        done = shell(RX, "setpriv", "--bounding-set", drop, "--inh-caps", drop, str(BINARY), "check",
                     "-j", "-t", "1")
        assert done.returncode == 0, done.stderr
        found = [f for f in json.loads(done.stdout)["end"]["findings"] if f["scope"] != "host"]
        assert_findings(found, "ip-rpfilter-unseen")


FAR = {"IPv4": "198.18.1.2", "IPv6": "2001:2:0:1::2"}


@table(first(2, [("IPv4, the router says nothing", "IPv4", "icmp type destination-unreachable", ["mtu-black-hole"]),
                 ("IPv4, the router says it", "IPv4", "", ["mtu-path"]),
                 ("IPv6, the router says nothing", "IPv6", "icmpv6 type packet-too-big", ["mtu-black-hole"]),
                 ("IPv6, the router says it", "IPv6", "", ["mtu-path"])]))
@proves()
def path_with_a_small_mtu(family, silenced, ids):
    """The largest packet that arrives, and who drops a larger one, with the commands of the finding."""
    def check():
        end = assert_ok(pktledger("check", "-j", "-t", "0.1", "-n", TX, "--mtu", FAR[family])).json["end"]
        found, = (f for f in end["findings"] if f["id"] in ("mtu-black-hole", "mtu-path"))
        return first_finding([found])

    with lab("--topology", "router"):
        shell(ROUTER, "ip", "link", "set", "v-r1", "mtu", "1321")
        if silenced:
            drop(ROUTER, "output", silenced)
        found = check()
        facts = found["facts"]
        hop = json.loads(do(ROUTER, "ip", "-j", "addr", "show", "v-r0"))[0]["addr_info"]
        router = [a["local"] for a in hop if (a["family"] == "inet6") == (family == "IPv6") and a["scope"] == "global"]
        assert found["id"] == ids[0] and facts["path_mtu"] == 1321, found
        assert facts["ifname"] == "v-tx" and facts["mtu"] == 1500, facts
        if not silenced:
            assert facts["told_by"] in router, (facts, router)
            return
        assert (facts["path_before"], facts["path_after"]) == (router[0], FAR[family]), (facts, router)
        for command, id in ("command", "mtu-path"), ("undo", "mtu-black-hole"):
            do(TX, *found[command].split()[4:])  # without ip netns exec
            assert check()["id"] == id


@case
def path_without_an_answer():
    with lab():
        end = assert_ok(pktledger("check", "-j", "-t", "0.1", "-n", TX, "--mtu", "198.18.0.77")).json["end"]
        assert [u["why"] for u in end["unread"] if u["what"] == "path MTU"] == [
            "198.18.0.77 does not answer pings"], end["unread"]
        assert_findings([f for f in end["findings"] if f["id"].startswith("mtu")])


@thorough
@proves("wire")
def between_two_hosts():
    with Hosts() as hosts:
        hosts.drop("m", "forward", 3)
        assert_findings(hosts.ledger()["end"]["findings"], "wire")


# Scenes


@contextlib.contextmanager
def scene_of_page(scene):
    with scene() as (process, _):
        yield process


def page(scene):
    return functools.partial(scene_of_page, getattr(stories, scene) if isinstance(scene, str) else scene)


def at(nice=0, first=False):
    """A process becomes so nice and runs on CPU 1; `first`: before all others."""
    def become():
        os.nice(nice)
        if first:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        os.sched_setaffinity(0, {1})

    return become


READER = """
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 50000)
s.bind(("", int(sys.argv[-1] if len(sys.argv) > 3 else sys.argv[1])))
print(flush=True)
while True:
    s.recv(65536)
    end = time.thread_time() + float(sys.argv[2])
    while time.thread_time() < end:
        pass
"""
SPIN = "print(flush=True)\nwhile True:\n    pass"


@contextlib.contextmanager
def busy_reader():
    with lab(), program(READER, 0.01, become=at(first=True)) as process, traffic(20):
        yield process


@contextlib.contextmanager
def reader_without_cpu():
    with lab(), program(READER, 0.001, become=at(19)), program(SPIN, become=at(-5)), traffic(20):
        yield


@contextlib.contextmanager
def reader_with_a_quota():
    with lab(), cpu_quota() as group, program(READER, 0.01) as process:
        (group / "cgroup.procs").write_text(str(process.pid))
        with traffic(20):
            yield process


@contextlib.contextmanager
def reader_that_does_not_read():
    with lab(), contextlib.closing(udp(RX, socket.AF_INET, ("", PORT), 100000)):
        send(TX, V4, 115, PORT, 512)  # some 147 of 200 KB: no loss yet
        yield


@contextlib.contextmanager
def sockets_that_are_gone():
    """Each is full and closed before anybody looks."""
    def once():
        with udp(RX, socket.AF_INET, ("", PORT), 5000) as reader, udp(TX, socket.AF_INET) as sender:
            datagrams(sender, 50, 500)
            read_all(reader, 0.001)

    with lab(), repeating(0.01, once):
        yield


def join(sock, address):
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                    socket.inet_aton(stories.GROUP) + socket.inet_aton(address))


def datagrams(sock, burst, size, to=V4):
    for _ in range(burst):
        with contextlib.suppress(OSError):
            sock.sendto(bytes(size), (to, PORT))


def traffic(burst=10, pause=0.01, to=V4):
    return stories.sender(to, burst, pause, 200)


@contextlib.contextmanager
def slow_neighbour():
    """It answers the third request: until then packets wait, and more than fit."""
    with lab(), stories.reader():
        for name, value in ("retrans_time_ms", 60), ("mcast_solicit", 50), ("unres_qlen_bytes", 2000):
            sysctl(TX, f"net/ipv4/neigh/v-tx/{name}", value)
        nft(RX, "table arp slow { chain c { type filter hook input priority 0; "
                "arp operation request numgen inc mod 3 != 2 drop; }; }")

        def forget():
            shell(TX, "ip", "neigh", "del", V4, "dev", "v-tx")

        with traffic(), repeating(0.3, forget):
            yield


@contextlib.contextmanager
def send_buffer():
    """A sender that does not wait, behind a queue that is long and slow."""
    with lab(), contextlib.closing(udp(RX, socket.AF_INET, ("", PORT), 4 << 20)):
        if shell(TX, *"tc qdisc add dev v-tx root tbf rate 1mbit burst 4kb limit 9mb".split()).returncode:
            skip("no tbf here")
        with udp(TX, socket.AF_INET) as sock:
            sock.setblocking(False)
            with repeating(0.01, lambda: datagrams(sock, 400, 1000)):
                yield


@contextlib.contextmanager
def listening(*rooms):
    """A listener per backlog, on PORT and the ports after it, that accepts nothing; yields what connects
    to the port with that number, without waiting."""
    clients = []

    def connect(port):
        with inside(TX):
            clients.append(socket.socket())
        clients[-1].setblocking(False)
        with contextlib.suppress(OSError):
            clients[-1].connect((V4, port))

    with lab(), contextlib.ExitStack() as stack:
        with inside(RX):
            listeners = [stack.enter_context(socket.create_server(("", PORT + i), backlog=room))
                         for i, room in enumerate(rooms)]
        try:
            yield listeners, connect
        finally:
            for sock in clients:
                sock.close()


@contextlib.contextmanager
def forged_cookies():
    """Yields what sends a SYN to PORT, which a cookie answers, and acknowledgments of no cookie."""
    with raw(TX, socket.IPPROTO_TCP) as sock:
        def once():
            sock.sendto(segment(V4, 40000, 7, 0, 2, 1000, 0), (V4, 0))
            for source in range(40001, 40006):
                sock.sendto(segment(V4, source, 8, 12345, 16, 1001, 1), (V4, 0))
            read_all(sock, 0.001)  # it gets all answers, too

        yield once


@case
@proves("tcp-listen-own", "tcp-listen-syn", "tcp-cookie", "tcp-signature")
def four_ways_to_refuse_a_connection():
    """Each is a finding of its own, and each listener has one, however many clients it refuses."""
    with listening(8, 1, 4, 8) as (listeners, connect), forged_cookies() as forge:
        want_signatures(listeners[3], "198.18.0.1")
        drop(TX, "input", f"tcp sport {PORT + 2}")  # no handshake with the third one ends

        def once():
            sysctl(RX, "net/ipv4/tcp_syncookies", 0)
            for port in PORT + 1, PORT + 2, PORT + 3:
                connect(port)
            sysctl(RX, "net/ipv4/tcp_syncookies", 2)
            forge()

        names = "ListenDrops", "SyncookiesFailed", "TCPMD5NotFound"
        before = [counter(RX, f"TcpExt:{name}") for name in names]
        with repeating(0.02, once):
            until(lambda: counter(RX, "TcpExt:TCPReqQFullDrop") and
                  counter(RX, "TcpExt:ListenOverflows"), 10, "both queues are full")
            # counters and listeners are not read at the same moment
            found = assert_ok(pktledger("check", "-j", "-t", "3", "--netns", RX)).json["end"]["findings"]
        drops, cookies, unsigned = (counter(RX, f"TcpExt:{name}") - was
                                    for name, was in zip(names, before))
    found = [f for f in found if f["scope"] != "host" and f["losing"]]
    for one in found:
        first_finding([one])
    lost = {(f["id"], f["facts"].get("port")): f["facts"]["lost"] for f in found}
    assert len(found) == len(lost) == 4, found
    own, syn = lost.pop(("tcp-listen-own", PORT + 1), 0), lost.pop(("tcp-listen-syn", PORT + 2), 0)
    assert own and syn and own + syn <= drops, (own, syn, drops, found)
    assert 0 < lost.pop(("tcp-cookie", None)) <= cookies, (found, cookies)
    assert 0 < lost.pop(("tcp-signature", PORT + 3), 0) <= unsigned, (found, unsigned)


@contextlib.contextmanager
def incomplete_datagrams():
    """Their last fragments never come, and the memory for the others is small."""
    with lab(), contextlib.closing(udp(RX, socket.AF_INET, ("", PORT))):
        sysctl(RX, "net/ipv4/ipfrag_low_thresh", 50000)
        sysctl(RX, "net/ipv4/ipfrag_high_thresh", 60000)
        nft(RX, "table netdev edge { chain c { type filter hook ingress device v-rx priority 0; "
                "ip frag-off & 0x1fff != 0 ip frag-off & 0x2000 == 0 drop; }; }")
        send(TX, V4, 12, size=4000)
        yield


fragments = stories.host(None, stories.reader, lambda: stories.sender(burst=5, size=4000))
bridge_of_two_mtus = stories.host(None, stories.reader, commands=[
    "receiver ip link add br0 type bridge",
    "receiver ip link add p0 mtu 1500 master br0 up type veth peer name p0-end",
    "receiver ip link add p1 mtu 1400 master br0 up type veth peer name p1-end mtu 1400"])
# The router has lost the route to the receiver's network.
no_route = stories.host(None, lambda: traffic(to=stories.FAR), topology="router",
                        commands=["router ip route del 198.18.1.0/24"])
# Some to a neighbour that is there, and more than may wait to one that is not.
one_of_two_neighbours = stories.host(None, stories.reader, traffic, lambda: traffic(to="198.18.0.77"))


@contextlib.contextmanager
def raw_socket():
    with lab(), raw(RX, socket.IPPROTO_UDP):
        yield


@contextlib.contextmanager
def generic_xdp():
    with lab(), xdp(RX, "v-rx", verdict(XDP_PASS), XDP_GENERIC):
        yield


# Each cause has a finding of its own, with its own count; the largest loss comes first


@thorough
def stopped_and_slow_receiver():
    ports = PORT, PORT + 1
    with lab(), program(READER, 0.01), program(READER, 0, PORT + 1) as stopped, tracing("--netns", RX) as t:
        stopped.send_signal(signal.SIGSTOP)
        for _ in paced(12, pause=0.1):
            send(TX, V4, 40, port=ports[1])
            send(TX, V4, 20, port=ports[0])
        told = [line.split() for line in do(RX, "cat", "/proc/net/udp").splitlines()[1:]]
        lost = [int(words[-1]) for port in ports for words in told if words[1].endswith(f":{port:04X}")]
        document = t.stop()
        stopped.send_signal(signal.SIGCONT)
    first, second = document["end"]["findings"]
    assert first["id"] == "rcvbuf-stopped" and second["id"] in ("rcvbuf-busy", "rcvbuf-cpu"), document
    assert lost[1] > lost[0] > 0, lost
    assert [f["facts"]["lost"] for f in (first, second)] == lost[::-1], (lost, document)


@case
def own_source_and_another_s_destination():
    packet = ip4(socket.IPPROTO_UDP, struct.pack("!HHHH", 9, PORT, 8, 0), V4, V4)
    with lab():
        shell(TX, "ip", "neigh", "add", "198.18.0.77", "lladdr", mac_of(RX, "v-rx").hex(":"), "dev", "v-tx")
        with tracing("--netns", RX, f"udp port {PORT}") as t:
            with raw(TX, socket.IPPROTO_RAW) as sock:
                for _ in range(60):
                    sock.sendto(packet, (V4, 0))
            send(TX, "198.18.0.77", 40)
            t.until(100)
            document = t.stop()
    found = [(f["id"], f["facts"]["lost"]) for f in document["end"]["findings"]]
    assert found == [("ip-own-source", 60), ("ip-not-router", 40)], found


@case
def largest_loss_first():
    """However early on the path the smaller one is. The kernel gives fragments up in a timer, on top
    of any task: where that is PID 1, this host hides it."""
    def attempt():
        with lab(), contextlib.closing(udp(RX, socket.AF_INET, ("", PORT), 5000)), \
                tracing("--netns", RX) as t:
            sysctl(RX, "net/ipv4/ipfrag_time", 1)
            drop(RX, "ingress device v-rx", "ip frag-off & 0x1fff != 0", "netdev")
            with udp(TX, socket.AF_INET) as sock:
                datagrams(sock, 5, 4000)
            send(TX, V4, 800)
            until(lambda: counter(RX, "Ip:ReasmFails") == 5, 10, "fragments are given up")
            return t.stop()["end"]

    end = observed(attempt, lambda end: sum(
        stage["packets"] for stage in end["stages"] if stage["stage"] == "ip_frag") < 5)
    found = end["findings"]
    assert [f["stage"] for f in found] == ["rcvbuf", "netfilter", "ip_frag"], found
    assert found[0]["facts"]["lost"] > 700 and found[2]["facts"]["lost"] == 5, found


# What `check` says of each host, then what `trace` says; hosts that are not named are well.


SCENES = [
    ("nothing is wrong", page(stories.host(None, stories.reader, traffic)), {}, {}),
    ("fragments", page(fragments), {TX: ["frag-leaving"], RX: ["frag-arriving"]}, {}),
    ("a bridge of two MTUs", page(bridge_of_two_mtus), {RX: ["mtu-mismatch"]}, {}),
    ("a reader sleeps", page("sleeping_reader"), {RX: ["rcvbuf-asleep"]}, {RX: ["rcvbuf-asleep"]}),
    ("a reader is stopped", page("stopped_reader"), {RX: ["rcvbuf-stopped"]},
     {RX: ["rcvbuf-stopped"]}),
    ("a reader does not read", reader_that_does_not_read, {RX: ["rcvbuf-filling"]}, {}),
    ("two uplinks", page("asymmetric"), {RX: ["ip-rpfilter"]}, {RX: ["ip-rpfilter"]}),
    ("a slow queue", page("shaped"), {TX: ["qdisc"]}, {TX: ["qdisc"]}),
    ("a capture is slow", page("slow_capture"), {RX: ["capture-ring"]}, {RX: ["capture-ring"]}),
    ("one flow has one of several sockets", page("one_flow"), {RX: ["rcvbuf-one-flow"]},
     {RX: ["rcvbuf-asleep"]}),
    ("a thread waits for another", page("full_queue_of_a_program"), {RX: ["rcvbuf-futex"]},
     {RX: ["rcvbuf-futex"]}),
    ("a tun is read slowly", page("slow_tunnel"), {TX: ["tx-tun"]}, {TX: ["tx_device"]}),
    ("frames of a protocol that nobody has", page("unknown_protocol"), {RX: ["l2-stray"]}, {}),
    ("frames of a VLAN that is not set up", page("vlan_without_interface"), {RX: ["l2-vlan"]}, {}),
    ("a bridge with a larger MTU than the uplink", page("larger_bridge"), {ROUTER: ["mtu-egress"]},
     {}),
    ("NAT to a container that is gone", page("replaced_container"), {ROUTER: ["l2-dnat", "l2-stray"]},
     {}),
    ("a blackhole route", page("blackhole"), {}, {ROUTER: ["ip-discard"]}),
    ("the other end's MTU is smaller", page("small_peer"), {TX: ["mtu-peer"], RX: ["mtu-peer"]},
     {TX: ["tx-peer"]}),
    ("bursts", page("bursts"), {RX: ["rcvbuf-bursts"]}, {RX: ["rcvbuf-bursts"]}),
    ("a reader is slow", busy_reader, {RX: ["rcvbuf-busy"]}, {RX: ["rcvbuf-busy"]}),
    ("a reader gets no CPU", reader_without_cpu, {RX: ["rcvbuf-cpu"]}, {RX: ["rcvbuf-cpu"]}),
    ("a reader has a quota", reader_with_a_quota, {RX: ["rcvbuf-quota"]}, {RX: ["rcvbuf-quota"]}),
    ("sockets are gone", sockets_that_are_gone, {RX: ["rcvbuf"]}, {RX: ["rcvbuf"]}),
    ("a port is closed", page("closed_port"), {RX: ["udp_lookup"]}, {RX: ["udp_lookup"]}),
    ("a firewall", page("firewall"), {RX: ["netfilter-rule"]}, {RX: ["netfilter-rule"]}),
    ("a group without members", page("not_joined"), {}, {}),
    ("a wrong MAC address", page("wrong_mac"), {RX: ["l2-stray"]}, {}),
    ("fragments are lost", page("lost_fragments"),
     {TX: ["frag-leaving"], RX: ["netfilter-rule", "ip_frag", "frag-arriving"]}, {RX: ["netfilter-rule", "ip_frag"]}),
    ("fragments wait", incomplete_datagrams, {RX: ["frag-memory"]}, {}),
    ("a small MTU behind", page("black_hole"),
     {TX: ["netfilter-rule"], RX: ["mtu-peer"], ROUTER: ["ip-too-big", "mtu-peer"]},
     {TX: ["netfilter-rule"], ROUTER: ["ip-too-big"]}),
    ("forwarding is off", page("no_forwarding"), {ROUTER: ["ip-not-router"]},
     {ROUTER: ["ip-not-router"]}),
    ("a small TTL", page("short_ttl"), {ROUTER: ["ip-ttl"]}, {ROUTER: ["ip-ttl"]}),
    ("a neighbour is gone", page("silent_neighbour"), {TX: ["neigh-failed"]},
     {TX: ["neigh-failed"]}),
    ("one neighbour of two is gone", page(one_of_two_neighbours), {TX: ["neigh-failed"]},
     {TX: ["neigh-failed"]}),
    ("a neighbour is slow", slow_neighbour, {TX: ["neigh-queue"]}, {TX: ["neigh-queue"]}),
    ("a small send buffer", send_buffer, {TX: ["sndbuf"]}, {}),
    ("a tunnel's checksum", page("wrong_checksum"), {RX: ["udp-csum-tunnel"]}, {RX: ["udp-csum-tunnel"]}),
    ("a listener does not accept", page("no_accept"), {RX: ["tcp-listen-own"]}, {RX: ["tcp-listen-own"]}),
    ("no route onwards", page(no_route), {ROUTER: ["ip-no-route"]}, {ROUTER: ["ip-no-route"]}),
    ("source NAT has no port left", page("no_port_left"), {ROUTER: ["netfilter-clash"]},
     {ROUTER: ["netfilter-clash"]}),
    ("no carrier", page("unplugged"), {TX: ["qdisc-no-carrier"]}, {TX: ["qdisc-no-carrier"]}),
    ("a raw socket", raw_socket, {}, {}),
    ("generic XDP", generic_xdp, {RX: ["xdp-generic"]}, {}),
]


def hosts():
    return [n for n in (RX, TX, ROUTER) if os.path.exists(f"/run/netns/{n}")]


@contextlib.contextmanager
def looking(*args):
    """The program at work; yields what its document will be."""
    with started(*args) as process:
        yield lambda: assert_ok(finish(process)).json


def assert_found(document, expected):
    """Those of the namespace, and of the host, which has a life of its own, what is expected."""
    found = document["end"]["findings"]
    assert_findings([f for f in found if f["scope"] != "host" or f["id"] in expected], *expected)


def assert_traced(document, ledger, *ids):
    """The same from its ledger, which `report` reads."""
    traced = document["end"]["findings"]
    reported = assert_ok(pktledger("report", "-j", ledger)).json
    # a CPU's backlog belongs to all that use the host
    found = assert_findings([f for f in traced if f["stage"] != "backlog" or f["id"] in ids], *ids)
    again = reported["documents"][0] if "documents" in reported else reported
    assert again["end"]["findings"] == traced, (reported, traced)
    return found


@table(first(4, [(name, make, *said, sorted({ids[0] for by in said for ids in by.values()}))
                 for name, make, *said in SCENES]))
@exclusive_rows("neighbour")
@proves()
def scene(make, by_check, by_trace, _):
    with make() as process:
        for _ in range(TIMES):
            look(by_check, by_trace, process)


# What facts of the reader show; its process is named in the cause.
READERS = {
    "rcvbuf-asleep": lambda facts: "nanosleep" in facts["sleeps"],
    "rcvbuf-stopped": lambda facts: facts["running_percent"] == 0,
    "rcvbuf-busy": lambda facts: facts["running_percent"] > 0,
    "rcvbuf-quota": lambda facts: "the quota withheld" in facts["seen"],
}


def look(by_check, by_trace, process):
    """By both commands at all hosts at once; in `make test` at the receiver and where something is found."""
    with contextlib.ExitStack() as stack:
        path = stack.enter_context(directory())
        checks, traces = {}, {}
        for netns in hosts() if EVERYTHING else [n for n in hosts() if n in {RX, *by_check, *by_trace}]:
            # a neighbour is given up after three seconds, fragments after one
            seconds = "4" if {"neigh-failed", "ip_frag"} & {*by_trace.get(netns, [])} else "2"
            checks[netns] = stack.enter_context(looking("check", "-j", "-t", "1", "--netns", netns))
            traces[netns] = stack.enter_context(looking(
                "trace", "-j", "-t", seconds, "--netns", netns, "--ledger", f"{path}/{netns}"))
        for netns, document in checks.items():
            expected = by_check.get(netns, [])
            if expected == ["neigh-queue"] and not os.path.exists("/proc/net/stat/arp_cache"):
                expected = []  # its counter is shown in the first network namespace only
            assert_found(document(), expected)
            found = assert_traced(traces[netns](), f"{path}/{netns}", *by_trace.get(netns, []))
            if process and found and found["id"] in READERS:
                assert READERS[found["id"]](found["facts"]), found
                assert str(process.pid) in found["cause"], found


if __name__ == "__main__":
    main()
