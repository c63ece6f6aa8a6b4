#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`trace --balance` of TCP: what sockets tell of themselves, rules and SNMP is the truth, and each term
has to agree with it. Random scenes are in test_scenes.py."""

import contextlib
import ctypes
import errno
import fcntl
import functools
import json
import os
import re
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from ends import (PORT, checksum, counter, do, family_of, fill_connections, inside, ip4, need, nft, programs_of,
                  read_all, send, shell, stolen, syns, sysctl, tun, udp)
from lib import (KERNEL, PATIENCE, assert_findings, assert_ok, case, directory, exclusive, first, main,
                 observed, paced, pktledger, proves, require, started, table, thorough, until)
from test_export import exporting, total
from test_top import top
from traced import BROKEN, RX, TX, UNABLE, V4, V6, lab, tracing

EXPR = f"tcp port {PORT}"
BPF_SYSCALL = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
SHOWN = 32  # maximum number of flows in a document
HEADERS = {4: 52, 6: 72}  # of a segment with time stamps


# Real ends


def info(sock):
    """Of TCP_INFO: (data_segs_out, bytes_sent, bytes_retrans)."""
    raw = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232)
    return struct.unpack_from("I", raw, 156) + struct.unpack_from("QQ", raw, 200)


def unacknowledged(sock):
    """Bytes, and those that were not sent yet."""
    return struct.unpack("i", fcntl.ioctl(sock, termios.TIOCOUTQ, bytes(4)))[0]


def timeouts(sock):
    """Since something was acknowledged: of TCP_INFO, tcpi_retransmits."""
    return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 8)[2]


def drain(sock):
    """Reads to the end."""
    with contextlib.suppress(ConnectionResetError):
        while sock.recv(1 << 18):
            pass


def feed(sock, size, ended=None):
    """Sends so much, or a little now and then until something has ended."""
    if not ended:
        sock.sendall(bytes(size))
    while ended and not ended.wait(0.005):
        sock.sendall(bytes(20000))
    sock.shutdown(socket.SHUT_WR)


def serve(listener):
    """Reads each connection to its end, as many as come."""
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            drain(connection)


@contextlib.contextmanager
def server(netns=RX):
    with inside(netns):
        listener = socket.create_server(("::", PORT), family=socket.AF_INET6, dualstack_ipv6=True,
                                        backlog=64)
    thread = threading.Thread(target=serve, args=(listener,))
    thread.start()
    try:
        yield
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
        listener.close()


def transfer(address, size, control="cubic", connections=1):
    """One after the other; the sum of what their sockets tell, when the other end had read all."""
    total = [0, 0, 0]
    for _ in range(connections):
        with inside(TX):
            sock = socket.socket(family_of(address))
        with sock:
            sock.settimeout(60 * PATIENCE)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
            sock.connect((address, PORT))
            sock.sendall(bytes(size))
            read_to_the_end(sock)
            total = [a + b for a, b in zip(total, info(sock))]
    return total


def offloads(state):
    """Without them an skb is a segment, which rules and queues count."""
    for netns, device in ((TX, "v-tx"), (RX, "v-rx")):
        do(netns, "ethtool", "-K", device, "tso", state, "gso", state, "gro", state)
        if state == "off":  # or TCP hands down several in one
            do(netns, "ip", "link", "set", device, "gso_max_segs", "1")


def resent(netns):
    """Tcp:RetransSegs."""
    return counter(netns, "Tcp:RetransSegs")


def too_old(netns):
    """Segments that TCP refused by their time stamps: what overtakes them on another CPU is newer."""
    return counter(netns, "TcpExt:PAWSEstab")


def refused_by_tcp(netns):
    """Segments that TCP refused as too old, or because they end beyond its window (since Linux 6.17)."""
    beyond = 0
    with contextlib.suppress(KeyError):
        beyond = counter(netns, "TcpExt:BeyondWindow")
    return too_old(netns) + beyond


def rule(hook, match, every, family="inet"):
    """Each so manieth packet is dropped and counted; of TCP, in one direction."""
    return (f"table {family} t{hook} {{\n chain c {{\n type filter hook {hook} priority 0\n"
            f" {match} numgen inc mod {every} == {1 % every} counter drop\n }}\n}}\n")


def queue_drops(netns, device):
    """By all queues of a device."""
    return sum(q["drops"] for q in json.loads(do(netns, "tc", "-s", "-j", "qdisc", "show", "dev",
                                                 device)))


def dropped(netns, table=None):
    """Packets and bytes of IP of all rules there, or of a table's."""
    what = ("table", "inet", table) if table else ("ruleset",)
    listed = json.loads(do(netns, "nft", "-j", "list", *what))["nftables"]
    found = [e["counter"] for r in listed if "rule" in r for e in r["rule"]["expr"] if "counter" in e]
    return sum(c["packets"] for c in found), sum(c["bytes"] for c in found)


DATA = f"tcp dport {PORT} meta length > 200"


# The balance


@functools.cache
def refusal():
    """Why this kernel cannot do it, or None."""
    result = pktledger("trace", "-q", "--balance", "-t", "10ms", EXPR)
    return result.err.strip() if result.status == UNABLE else None


@case
def on_this_kernel():
    """What it needs is here, or said: that a program can be attached to what sends again."""
    functions = Path("/sys/kernel/tracing/available_filter_functions")
    new = KERNEL >= (6, 17)
    if new or (functions.exists() and "\n__tcp_retransmit_skb\n" in functions.read_text()):
        assert not refusal(), refusal()
    else:
        assert not refusal() or "__tcp_retransmit_skb" in refusal(), refusal()


def balancing(*args, expr=EXPR):
    return tracing("--balance", *args, expr)


class Hidden(AssertionError):
    """The host hid events from all tracing, see observed() of lib.py."""


def where_seen(function):
    """For cases in which timers send: in the context of PID 1 this host may show nothing of it."""

    def attempt(*args):
        try:
            return function(*args)
        except Hidden as error:
            return error

    @functools.wraps(function)
    def run(*args):
        result = observed(lambda: attempt(*args), lambda result: isinstance(result, Hidden))
        if isinstance(result, Hidden):
            raise result

    return run


def unseen(tcp, size=1):
    """Segments, of at most `size` bytes, that sockets and counters know of and no event showed."""
    told = sum(row["segments"] for row in tcp["undecided_why"] if row["why"] in ("unseen", "inside"))
    counted = [abs(c["delta"] - c["events"]) for c in tcp["counters"] if c["agrees"] is False]
    return max(told, -(-tcp["bytes"]["unaccounted"] // size), *counted, 0)


def look_for_hidden(document, allowed=0, size=1):
    """Sockets counted what no event showed, where that is known to happen. `allowed`: so many."""
    tcp = document["end"]["tcp"]
    if suppressed(document) and unseen(tcp, size) > allowed:
        raise Hidden(json.dumps(tcp)[:2000])


def suppressed(document):
    return document["start"]["env"]["quirks"].get("suppressed_on_pid1", True)


def brief(tcp):
    """For messages: without flows."""
    return json.dumps({k: v for k, v in tcp.items() if k not in ("flows", "counters", "rests_on")})


def stages(tcp, key="stages"):
    return {row["stage"]: row["segments"] for row in tcp[key]}


def assert_sums(tcp, hidden=0, size=1):
    """From the numbers alone. Where events are hidden, so many segments may be missing; it says so."""
    text = brief(tcp)
    beyond = sum(row["segments"] for row in tcp["downstream"])
    assert tcp["data_segs_out"] == (tcp["new"] + tcp["retransmitted"] - tcp["without_data"]
                                    + tcp["rejected_locally"]), text
    assert tcp["retransmitted"] == (tcp["lost_here"] + beyond + tcp["spurious"]
                                    + tcp["undecided"]), text
    no_event = sum(row["segments"] for row in tcp["undecided_why"] if row["why"] == "unseen")
    assert tcp["retransmitted"] == sum(tcp["kinds"].values()) + no_event, text
    assert tcp["lost_here"] == sum(stages(tcp).values()), text
    assert tcp["rejected_locally"] == sum(stages(tcp, "rejected_locally_stages").values()), text
    assert tcp["undecided"] == sum(row["segments"] for row in tcp["undecided_why"]), text
    if tcp["all_flows"] <= SHOWN:
        of_flows = {key: sum(flow[key] for flow in tcp["flows"])
                    for key in ("retransmitted", "lost_here", "downstream", "spurious", "undecided")}
        assert of_flows == {key: beyond if key == "downstream" else tcp[key] for key in of_flows}, tcp["flows"]
    moved = tcp["bytes"]
    open_bytes = moved["sent"] - moved["new"] - moved["retransmitted"] - moved["rejected_locally"]
    assert abs(open_bytes) <= moved["unaccounted"], text
    missing = unseen(tcp, size)
    if missing and hidden:
        assert missing <= hidden and not tcp["balanced"], (hidden, missing, text)
        print(f"# no event of {missing} segments, of {tcp['retransmitted']} retransmitted: said so")
        return
    assert moved["unaccounted"] == 0, text
    assert all(c["agrees"] for c in tcp["counters"] if c["agrees"] is not None), text


def summed(document):
    """The balance of TCP, once its sums are right; Hidden where the host hid events."""
    look_for_hidden(document)
    assert_sums(document["end"]["tcp"])
    return document["end"]["tcp"]


def assert_balance(document, truth, size, again):
    """`truth`: what sockets told; `size`: bytes given to them; `again`: RetransSegs."""
    tcp = summed(document)
    text = json.dumps(tcp)[:3000]
    assert tcp["balanced"] and document["end"]["balanced"], text
    assert tcp["undecided"] == 0 and not tcp["downstream"], text
    moved = tcp["bytes"]
    assert [tcp["data_segs_out"], moved["sent"], moved["retransmitted"]] == truth, (truth, text)
    assert moved["new"] == size, (size, text)
    assert tcp["retransmitted"] == again, (again, text)
    return tcp


def balance_of(size, address=V4, control="cubic", connections=1):
    """The balance of TCP while so much is transferred, once it agrees with sockets and counters; and the
    end of the trace."""
    with balancing() as t:
        truth = transfer(address, size, control, connections)
        tcp = assert_balance(t.stop(), truth, size * connections, resent(TX))
    return tcp, t.end


def connect(address):
    with inside(TX):
        return socket.create_connection((address, PORT))


def read_to_the_end(sock):
    """Waits until the other end has read all and closed."""
    sock.shutdown(socket.SHUT_WR)
    assert sock.recv(1) == b""


@table(first(0, [("IPv6", V6, "bbr"), ("IPv4", V4, "cubic"), ("IPv4, bbr", V4, "bbr")]))
@where_seen
def nothing_lost(address, control):
    with lab(), server():
        tcp, _ = balance_of(300000, address, control, 3)
        again = resent(TX)  # where all is slow TCP may probe
    assert tcp["stall_ns"] is None and tcp["spurious"] == again, tcp
    assert (tcp["sockets"], tcp["all_flows"], tcp["verdict"]) == (6, 6, "none_seen"), tcp


@table([("merged", V4, "on", "cubic", "input"), *first(0, [
            ("bbr, IPv6", V6, "on", "bbr", "input"), ("segments", V4, "off", "cubic", "input")]),
        ("at the sender", V4, "on", "cubic", "output"),
        *first(0, [("at the sender, IPv6", V6, "on", "cubic", "output")])])
@where_seen
def lost_by_a_rule(address, state, control, hook):
    """Whatever the receiver drops is sent again once, byte by byte. What the sender rejects TCP sends again
    as new: no counter of retransmissions moves."""
    here = hook == "output"
    netns, size, every = (TX, 1000000, 10) if here else (RX, 2000000, 20)
    with lab(), server():
        offloads(state)
        nft(netns, rule(hook, DATA, every))
        tcp, _ = balance_of(size, address, control)
        packets, length = dropped(netns)
    moved, length = tcp["bytes"], length - packets * HEADERS[4 if address == V4 else 6]
    if here:
        assert tcp["retransmitted"] == tcp["spurious"], tcp  # on a slow host TCP probes
        assert packets > 0 and stages(tcp, "rejected_locally_stages") == {"netfilter": tcp["rejected_locally"]}, tcp
        assert moved["rejected_locally"] == length, tcp
        return
    assert packets > 0 and stages(tcp) == {"netfilter": tcp["lost_here"]}, tcp
    assert 0 <= moved["retransmitted"] - length <= tcp["spurious"] * 1460, tcp  # on a slow host TCP probes
    assert tcp["rejected_locally"] == 0, tcp
    assert tcp["verdict"] == "this_host", tcp
    assert 0 < tcp["stall_ns"]["p50"] <= tcp["stall_ns"]["p99"] < 2e9 * PATIENCE, tcp


@case
@where_seen
def lost_in_a_bridge():
    """What TCP hands down is a clone of what it keeps, and no copy that the bridge made."""
    bridge = TX[:-2] + "bridge"
    with lab("--topology", "bridge"), server():
        offloads("off")
        nft(bridge, rule("forward", DATA, 20, "bridge"))
        tcp, end = balance_of(300000)
        packets, _ = dropped(bridge)
    # on a slow host TCP probes with a copy, which nobody needs
    assert tcp["lost_here"] > 0 and stages(tcp) == {"netfilter": tcp["lost_here"]}, (packets, tcp)
    assert 0 <= packets - tcp["lost_here"] - tcp["not_resent"] <= tcp["spurious"], (packets, tcp)
    assert end["dropped"] == packets, end


@table(first(1, [("bbr", "bbr"), ("cubic", "cubic")]))
@where_seen
def of_iperf3(control):
    """Its own number of retransmissions, too."""
    require(shutil.which("iperf3"), "needs iperf3")
    with lab():
        nft(RX, rule("input", DATA, 300))
        with balancing() as t:
            with inside(RX), subprocess.Popen(["iperf3", "-s", "-1", "--forceflush", "-p", str(PORT)],
                                              stdout=subprocess.PIPE, text=True) as reader:
                until(lambda: "listening" in reader.stdout.readline(), 20, "iperf3 listens")
                told = json.loads(do(TX, "iperf3", "-c", V4, "-p", str(PORT), "-C", control, "-n", "20M",
                                     "-P", "4", "-J"))
                reader.communicate(timeout=10 * PATIENCE)
            document = t.stop()
        again = resent(TX) + resent(RX)
    tcp = summed(document)
    assert tcp["balanced"] and tcp["retransmitted"] == again, tcp
    assert again >= told["end"]["sum_sent"]["retransmits"] > 0, (again, told["end"]["sum_sent"])
    assert 0 < told["end"]["sum_received"]["bytes"] <= tcp["bytes"]["new"], tcp["bytes"]
    assert told["end"]["sender_tcp_congestion"] == control and tcp["sockets"] == 10, tcp


PAGE = "x" * 3000  # of the web servers
NGINX = """
daemon off; master_process off; pid {0}/pid; error_log stderr;
events {{ worker_connections 4096; }}
http {{
    access_log off; client_body_temp_path {0}; proxy_temp_path {0}; fastcgi_temp_path {0};
    uwsgi_temp_path {0}; scgi_temp_path {0}; keepalive_timeout 0;
    server {{ listen {1}; listen [::]:{1}; location / {{ return 200 "{2}"; }} }}
}}
"""


# as nginx, of one file
PYTHON = """
import http.server, sys
http.server.ThreadingHTTPServer.request_queue_size = 64
handler = http.server.SimpleHTTPRequestHandler
http.server.ThreadingHTTPServer(("", int(sys.argv[1])), handler).serve_forever()
"""


@contextlib.contextmanager
def web(nginx):
    """A server of a page for each connection."""
    with directory() as where:
        (where / "conf").write_text(NGINX.format(where, PORT, PAGE))
        (where / "index.html").write_text(PAGE)
        command = (["nginx", "-p", where, "-c", where / "conf", "-e", "stderr"] if nginx else
                   [sys.executable, "-c", PYTHON, str(PORT)])
        require(shutil.which(command[0]), f"needs {command[0]}")
        with inside(RX), subprocess.Popen(command, cwd=where, stderr=subprocess.DEVNULL) as httpd:
            try:
                until(lambda: shell(RX, "ss", "-ltnH", f"sport = :{PORT}").stdout, 10, "it listens")
                yield
            finally:
                httpd.kill()


@table(first(0, [
    ("python", False, "cubic", 200), ("python, bbr", False, "bbr", 2000), ("nginx, cubic", True, "cubic", 5000),
    ("nginx, bbr", True, "bbr", 5000)]))
@where_seen
def of_a_web_server(nginx, control, count):
    """A connection for each request of curl, which reports how long requests and answers were."""
    require(shutil.which("curl"), "needs curl")
    with lab():
        offloads("off")
        nft(TX, rule("input", f"tcp sport {PORT} meta length > 1000", 100))
        for netns, device in (TX, "v-tx"), (RX, "v-rx"):
            do(netns, "ip", "route", "replace", "198.18.0.0/24", "dev", device, "congctl", control)
        with web(nginx), balancing() as t:
            told = do(TX, "curl", "-sZ", "--parallel-max", "40", "-H", "Connection: close", "-o",
                      "/dev/null", "-w", "%{num_connects} %{size_request} %{size_header} "
                      "%{size_download}\\n", f"http://{V4}:{PORT}/?[1-{count}]")
            until(lambda: not any(do(netns, "ss", "-Htn") for netns in (TX, RX)), 10, "the last FIN")
            document = t.stop()
        again = resent(TX) + resent(RX)
        packets, _ = dropped(TX)
    tcp = summed(document)
    connects, *sizes = [sum(column) for column in zip(*(map(int, line.split())
                                                        for line in told.splitlines()))]
    assert connects == count and sizes[-1] == count * len(PAGE), (connects, sizes)
    assert tcp["balanced"] and tcp["bytes"]["new"] == sum(sizes), (sizes, tcp)
    assert tcp["sockets"] == 2 * count and tcp["retransmitted"] == again, (again, tcp)
    assert packets and tcp["lost_here"] == packets, (packets, tcp)


@table(first(0, [("IPv4", V4), ("IPv6", V6)]))
@where_seen
def of_one_namespace(address):
    """To which the other end is another host: its sockets and drops are none of this one's."""
    with lab(), server():
        offloads("off")
        nft(RX, rule("input", DATA, 20))
        with balancing("--netns", TX) as here, balancing("--netns", RX) as there:
            truth = transfer(address, 1000000)
            again = resent(TX)
            sends, receives = here.stop(), there.stop()
        packets, _ = dropped(RX)
    for document in sends, receives:
        look_for_hidden(document)
        assert_sums(document["end"]["tcp"])
    tcp = sends["end"]["tcp"]
    assert (tcp["data_segs_out"], tcp["retransmitted"]) == (truth[0], again), (truth, tcp)
    assert [(b["interface"], b["segments"]) for b in tcp["downstream"]] == [("v-tx", packets)], tcp
    assert tcp["lost_here"] == tcp["received"] == 0 and tcp["sockets"] == 1, tcp
    tcp = receives["end"]["tcp"]
    assert stages(tcp, "received_stages") == {"netfilter": packets} and tcp["sockets"] == 1, tcp
    assert tcp["retransmitted"] == tcp["data_segs_out"] == 0, tcp
    assert {f["netns"] for f in tcp["flows"]} == {RX}, tcp["flows"]


@table(first(1, [("IPv6", V6), ("IPv4", V4)]))
@where_seen
def acknowledgments_are_lost_elsewhere(address):
    """What the sender's namespace sees is the same as if the segments were lost, unless the peer says
    that it has them twice."""
    with lab(), server():
        offloads("off")
        sysctl(RX, "net/ipv4/tcp_dsack", 0)
        with balancing("--netns", TX) as t:
            with connect(address) as sock:
                sock.sendall(bytes(1000))
                until(lambda: not unacknowledged(sock), 20, "an acknowledgment")
                nft(RX, rule("output", f"tcp sport {PORT}", 1))
                sock.sendall(bytes(1000))
                until(lambda: timeouts(sock) > 1, 20, "retransmissions")
                nft(RX, "flush ruleset")
                until(lambda: not unacknowledged(sock), 20, "an acknowledgment")
                again = resent(TX)
            tcp = summed(t.stop())
    assert again > 1 and tcp["retransmitted"] == tcp["undecided"] == again, (again, tcp)
    assert tcp["lost_here"] == tcp["spurious"] == 0 and not tcp["downstream"], tcp
    assert tcp["undecided_why"] == [{"why": "no_dsack", "segments": again}], tcp


@table(first(0, [("when some was lost", True), ("when all was there", False)]))
@where_seen
def closed_by_reset(lost):
    """SO_LINGER of 0 sets to 0 what the socket had counted (tcp_disconnect()). What was lost before
    is not sent again, and was lost here."""
    with lab(), server(), balancing() as t:
        with connect(V4) as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            sock.sendall(bytes(40000))
            until(lambda: not unacknowledged(sock), 20, "all is there")
            if lost:
                nft(RX, rule("input", DATA, 1))
            sock.sendall(bytes(10000))
            until(lambda: lost or not unacknowledged(sock), 20, "all is there")
            truth = list(info(sock))
        tcp = assert_balance(t.stop(), truth, 50000, resent(TX))
    assert tcp["verdict"] == ("this_host" if lost else "none_seen"), tcp
    assert bool(tcp["not_resent"]) == lost, tcp


@table(first(1, [("IPv4", V4), ("IPv6", V6)]))
@where_seen
@exclusive
def nothing_is_paid_for_a_segment(address):
    """Without losses programs run for connections, not for segments, as each is when none is merged:
    the kernel counts their runs as long as somebody holds the file (BPF_ENABLE_STATS)."""
    enable_stats, run_time = 32, bytes(128)
    with lab(), server():
        offloads("off")
        with balancing() as t:
            stats = ctypes.CDLL(None).syscall(BPF_SYSCALL, enable_stats, run_time, len(run_time))
            require(stats >= 0, "the kernel does not count runs")
            try:
                # so little at a time that no backlog of a CPU is full
                truth = transfer(address, 400000, connections=5)
                ran = programs_of(t.process.pid)
            finally:
                os.close(stats)
            again = resent(TX)  # on a busy host TCP may probe
            tcp = assert_balance(t.stop(), truth, 2000000, again)
    assert ran["tcp_state"] > 0 and (again or ran["tcp_leaves"] + ran["tcp_comes"] == 0), ran
    for of_losses in ("watch_drops", "tcp_drop", "tcp_drop_again", "tcp_retransmit",
                      "tcp_retransmit_again", "tcp_leaves", "tcp_comes"):
        ran.pop(of_losses)
    for name in list(ran):  # of files and receivers, and of what is lost on all of this host
        if name in ("holders", "silent", "read_thread", "lose_one") or name.startswith("xdplosses"):
            ran.pop(name)
    assert sum(ran.values()) < tcp["data_segs_out"] / 10, (tcp["data_segs_out"], ran)


TBF = "tbf", "rate", "100mbit", "burst", "20k", "limit", "30k"


@table([("bbr, on", "bbr", "on", TBF), *first(0, [(f"{control}, {state}", control, state, TBF) for control, state in (
            ("bbr", "off"), ("cubic", "on"), ("cubic", "off"))]),
        ("flow_limit of fq", "cubic", "off", ("fq", "flow_limit", "3", "maxrate", "50mbit"))])
@proves("qdisc-tcp")
@where_seen
def queue_of_the_sender(control, state, queue):
    """bbr does not give way: what is sent again is dropped again, and again."""
    with lab(), server():
        offloads(state)
        need(TX, "tc", "qdisc", "add", "dev", "v-tx", "root", *queue)
        tcp, end = balance_of(1000000 if queue is TBF else 500000, control=control)
        assert_findings(end["findings"], "qdisc-tcp")
        drops, failed = queue_drops(TX, "v-tx"), counter(TX, "TcpExt:TCPRetransFail")
    assert stages(tcp).keys() | stages(tcp, "rejected_locally_stages").keys() == {"qdisc"}, tcp
    if state == "off":
        assert drops and tcp["lost_here"] + tcp["rejected_locally"] + tcp["not_resent"] == drops, (tcp, drops)
    # on a slow host none fails: its queue is empty again when it sends
    told = [(c["delta"], c["events"]) for c in tcp["counters"] if c["name"] == "TcpExt:TCPRetransFail"]
    assert told == [(failed, failed)] * bool(failed), (failed, tcp)


@thorough
@where_seen
def counters_of_others():
    """What a namespace without a socket of the flow counts is not compared with the flow's."""
    other = TX[:-2] + "router"
    with lab("--topology", "router"), server(), contextlib.ExitStack() as stack:
        with inside(other):
            listener = stack.enter_context(socket.create_server(("127.0.0.1", PORT + 1)))
            sock = stack.enter_context(socket.create_connection(listener.getsockname()))
        peer = stack.enter_context(listener.accept()[0])
        nft(other, rule("input", f"tcp dport {PORT + 1} meta length > 200", 2))
        with balancing() as t:
            truth = transfer("198.18.1.2", 300000)
            sock.sendall(bytes(1000))
            sock.sendall(bytes(1000))
            assert len(peer.recv(2000, socket.MSG_WAITALL)) == 2000
            tcp = assert_balance(t.stop(), truth, 300000, resent(TX))
        assert resent(other) > 0
    assert {c["netns"] for c in tcp["counters"]} <= {TX, RX}, tcp["counters"]


@table(first(0, [("IPv4", V4), ("IPv6", V6)]))
@where_seen
def an_acknowledgment_is_lost(address):
    """Of the whole flight, so that its tail is probed or a timer ends."""
    with lab(), server():
        with balancing() as t:
            with connect(address) as sock:
                nft(TX, rule("input", f"tcp sport {PORT}", 1))
                sock.sendall(bytes(1000))
                until(lambda: resent(TX), 10, "a retransmission")
                do(TX, "nft", "flush", "ruleset")
                read_to_the_end(sock)
                truth = list(info(sock))
            tcp = assert_balance(t.stop(), truth, 1000, resent(TX))
    assert tcp["spurious"] == tcp["ack_lost"] == tcp["retransmitted"] > 0, tcp
    assert tcp["verdict"] == "none_seen", tcp


@case
def lost_without_an_event():
    """tc says that it took the packet: nothing is assigned to a stage that is not known."""
    with lab(), server(), balancing() as t:
        with connect(V4) as sock:
            with stolen(RX, "v-rx"):
                sock.sendall(bytes(1000))
                until(lambda: info(sock)[2], 20, "a retransmission")
            read_to_the_end(sock)
        document = t.stop()
        assert t.process.returncode == BROKEN, t.process.returncode
    tcp = document["end"]["tcp"]
    assert_sums(tcp)
    assert not tcp["balanced"] and tcp["lost_here"] == 0 and not tcp["downstream"], tcp
    assert {row["why"] for row in tcp["undecided_why"]} == {"inside"}, tcp
    assert tcp["undecided"] == tcp["retransmitted"] > 0 and tcp["verdict"] == "unknown", tcp


class Peer(threading.Thread):
    """A host behind a tun, which this kernel knows nothing of: takes one connection. Segments whose
    place in the stream is in `lose` are lost the first time, of those in `twice` the acknowledgment
    is, and what comes then is reported as a duplicate (RFC 2883). What is larger than the `mtu` never
    comes. With a `hole` in what it sends itself all that comes is smaller, by the option that reports
    it (SACK)."""

    SEGMENT, THERE = 1000, "198.18.5.9"

    def __init__(self, device, lose=(), twice=(), mtu=1500, hole=False):
        super().__init__()
        self.hole, self.mtu = hole, mtu
        self.device, self.lose, self.twice = device, set(lose), set(twice)
        self.lost, self.doubled, self.stopped = 0, 0, False
        self.isn, self.first, self.have, self.ahead = 1000, None, None, {}

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stopped = True
        self.join()

    @contextlib.contextmanager
    def connection(self, reset=False):
        with connect(self.THERE) as sock:
            if reset:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            yield sock

    def run(self):
        while not self.stopped:
            if select.select([self.device], [], [], 0.01)[0]:
                packet = self.device.read(4096)
                if packet[0] >> 4 == 4 and packet[9] == socket.IPPROTO_TCP:
                    self.take(packet)

    def take(self, packet):
        if len(packet) > self.mtu:
            return
        tcp = packet[20:]
        seq, flags = struct.unpack_from("!I", tcp, 4)[0], tcp[13]
        data = len(tcp) - (tcp[12] >> 4) * 4
        if flags & 2:
            self.first = self.have = (seq + 1) & 0xffffffff
            self.ahead = {}
            # SYN-ACK: MSS of one segment, SACK permitted, padding
            self.say(packet, 0x12, struct.pack("!BBHBBBB", 2, 4, self.SEGMENT, 4, 2, 1, 1))
            return
        place = (seq - self.first) // self.SEGMENT
        if data and place in self.lose:
            self.lose.remove(place)
            self.lost += 1
            return
        if self.hole and not data:
            self.hole = False
            self.device.write(segment(*struct.unpack_from("!HH", tcp)[::-1], self.isn + 501, self.have,
                                      0x10, b"", bytes(100), target=socket.inet_ntoa(packet[12:16])))
        block, again = (), data and (seq < self.have or seq in self.ahead)
        if data and seq < self.have:
            block = (seq, seq + data)
        elif again:  # behind a hole: what it is part of follows
            block = 2 * (seq, seq + data)
        elif data and seq > self.have:
            self.ahead[seq] = seq + data
            block = (seq, seq + data)
        elif data or flags & 1:
            self.have += data
            while self.have in self.ahead:
                self.have = self.ahead.pop(self.have)
            if flags & 1 and not self.ahead:
                self.have += 1
        else:
            return
        if place in self.twice and data:
            self.twice.remove(place)
            return
        sack = struct.pack(f"!BBBB{len(block)}I", 1, 1, 5, 2 + 4 * len(block), *block)
        self.say(packet, 0x11 if flags & 1 and not block else 0x10, sack if block else b"")
        self.doubled += bool(again)  # it has been said

    def say(self, packet, flags, options):
        sport, dport = struct.unpack_from("!HH", packet, 20)
        self.device.write(segment(dport, sport, self.isn + (0 if flags & 2 else 1), self.have, flags,
                                  options, target=socket.inet_ntoa(packet[12:16])))


class Wire(threading.Thread):
    """Between a device of TX and one of RX, which this kernel knows nothing of, so that both ends are
    real. `passes` says of each packet with data from TX whether it does: True, or after so many others
    of them, or False. Nothing passes while it is `cut`."""

    THERE = "198.18.5.9"

    def __init__(self, here, there, passes):
        super().__init__()
        self.here, self.there, self.passes = here, there, passes
        self.lost, self.held, self.cut, self.stopped = 0, [], False, False

    def run(self):
        while not self.stopped:
            came = select.select([] if self.cut else [self.here, self.there], [], [], 0.001)[0]
            for device in came:
                packet = device.read(65536)
                if packet[0] >> 4 != 4 or packet[9] != socket.IPPROTO_TCP:
                    continue
                if device is self.there or len(packet) == 20 + (packet[32] >> 4) * 4:
                    (self.here if device is self.there else self.there).write(packet)
                else:
                    self.carry(packet)

    def carry(self, packet):
        how = self.passes(packet)
        self.lost += how is False
        if how is True:
            self.there.write(packet)
        elif how:
            self.held.append([how, packet])
            return
        for held in list(self.held):
            held[0] -= 1
            if not held[0]:
                self.held.remove(held)
                self.there.write(held[1])


@contextlib.contextmanager
def wired(passes):
    with tun(TX) as here, tun(RX, Wire.THERE) as there:
        wire = Wire(here, there, passes)
        wire.start()
        try:
            yield wire
        finally:
            wire.stopped = True
            wire.join()


def once(places):
    """Those of the data segments, in the order in which they are sent first, do not pass then."""
    seen = {}

    def passes(packet):
        seq = struct.unpack_from("!I", packet, 24)[0]
        again = seq in seen
        return again or seen.setdefault(seq, len(seen)) not in places
    return passes


def segment(sport, dport, seq, ack, flags, options=b"", payload=b"", target="198.18.5.1"):
    """From the other end of the tun to this one."""
    tcp = struct.pack("!HHIIBBHHH", sport, dport, seq, ack, (20 + len(options)) // 4 << 4, flags,
                      60000, 0, 0) + options + payload
    pseudo = socket.inet_aton(Peer.THERE) + socket.inet_aton(target) + struct.pack(
        "!HH", socket.IPPROTO_TCP, len(tcp))
    tcp = tcp[:16] + struct.pack("!H", checksum(pseudo + tcp)) + tcp[18:]
    return ip4(socket.IPPROTO_TCP, tcp, Peer.THERE, target)


@table(first(0, [("both", [3, 7], [12]), ("lost", [5], []), ("in time", [], [12])]))
@where_seen
def beyond(lose, twice):
    """Behind the device that packets leave by; and what the peer has twice."""
    with lab(), tun(TX) as device, Peer(device, lose, twice) as peer, balancing() as t:
        with peer.connection() as sock:
            for _ in paced(13):  # the last one has nothing behind it
                sock.sendall(bytes(Peer.SEGMENT))
            until(lambda: (peer.lost, peer.doubled) >= (len(lose), len(twice)), 5,
                  "what was lost and what came twice")
            until(lambda: not unacknowledged(sock), 20, "all is there")
            truth = list(info(sock))
        tcp = summed(t.stop())
    # on a busy host TCP sends more twice, and the peer says so
    assert peer.lost == len(lose) and peer.doubled >= len(twice), (peer.lost, peer.doubled)
    assert tcp["balanced"] and tcp["lost_here"] == 0, tcp
    assert [(b["interface"], b["segments"]) for b in tcp["downstream"]] == ([("t0", len(lose))] if lose
                                                                     else []), tcp
    assert tcp["spurious"] == peer.doubled, (tcp, peer.doubled)
    assert tcp["verdict"] == ("downstream" if lose else "none_seen"), tcp
    assert tcp["data_segs_out"] == truth[0], (truth, tcp)


def soon_again(device):
    """Timeouts begin with 60 ms there, not 200: the third is over in half a second."""
    do(TX, "ip", "route", "replace", "198.18.5.0/24", "dev", device, "rto_min", "60ms")


@thorough
@proves("tcp-black-hole")
@where_seen
def what_is_too_large_with_its_options():
    """What a path does that this host sees nothing of, by what its peer answers."""
    with lab(), tun(TX) as device, balancing() as t, Peer(device, mtu=600, hole=True) as peer:
        soon_again("t0")
        with peer.connection() as sock:
            for _ in paced(10, pause=0.002):  # or the send buffer fills
                sock.sendall(bytes(Peer.SEGMENT))
            until(lambda: timeouts(sock) > 2, 20, "all is not there for long")
        document = t.stop()
    summed(document)
    assert_findings(document["end"]["findings"], "tcp-black-hole")


@table(first(1, [("too large", lambda packet: len(packet) <= 600, 1500, ["tcp-black-hole"]),
                 ("late", {30, 60, 90, 120}, 1400, ["tcp-reordered"]),
                 ("too large, below the MSS", lambda packet: len(packet) <= 1000, 1100,
                  ["tcp-black-hole"]),
                 ("nothing passes", lambda packet: len(packet) <= 600, 900, []),
                 ("lost", {30, 60, 90, 120}, 1400, [])]))
@proves()
@where_seen
def what_a_path_does(passes, size, findings):
    """The same between two ends of this kernel, which answers as it does."""
    large = callable(passes)
    if not large:
        first_time = once(passes)
        passes = first_time if not findings else lambda packet: first_time(packet) or 20
    with lab(), wired(passes) as wire, server(), balancing() as t:
        if large:
            soon_again("t0")
        with connect(Wire.THERE) as sock:
            sizes = [100] + [size] * (10 if large else 300)
            if size < 1400:  # more than a full segment has arrived, and something smaller is last
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                sizes = [300] * 10 + [size] * 5 + [100] * bool(findings)
            for length in sizes:
                sock.sendall(bytes(length))
                time.sleep(0.002)  # each in a segment of its own
            until(lambda: timeouts(sock) > 2 if large else not unacknowledged(sock), 5,
                  "all is there, or is not for long")
            document = t.stop()
            if large:  # its reader waits for the rest
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    tcp = summed(document)
    found = assert_findings(document["end"]["findings"], *findings)
    if findings == ["tcp-black-hole"]:
        assert found["facts"]["peer"] == Wire.THERE and found["facts"]["ifname"] == "t0", found
        assert 1000 < found["facts"]["segment_bytes"] <= 1460, found
        assert found["command"].endswith(f"pktledger check --mtu {Wire.THERE}"), found
    if not large:
        lost = {"t0": wire.lost} if wire.lost else {}
        assert {b["interface"]: b["segments"] for b in tcp["downstream"]} == lost, (tcp, wire.lost)
        assert tcp["balanced"] and (tcp["spurious"] > 2) == bool(findings), tcp


@case
@where_seen
def beyond_a_device_that_is_gone():
    """Nobody knows what it counted."""
    with lab(), balancing() as t:
        with tun(TX) as device, Peer(device, [3]) as peer, peer.connection(reset=True) as sock:
            sock.sendall(bytes(9 * Peer.SEGMENT))  # at once: what follows shows a gap before any timer ends
            until(lambda: not unacknowledged(sock) and info(sock)[2] == (peer.lost + peer.doubled) * Peer.SEGMENT > 0,
                  20, "a retransmission")
        tcp = summed(t.stop())
    assert tcp["spurious"] == peer.doubled and not tcp["downstream"], tcp
    assert tcp["undecided_why"] == [{"why": "interface", "segments": 1}], tcp


@thorough
@where_seen
def beyond_of_flows_that_are_folded():
    """Where flows find no room any more their losses stay with their device."""
    connections = 40
    with lab(), tun(TX) as device, Peer(device) as peer, balancing("--flows", "16") as t:
        for i in range(connections):
            peer.lose = {2}
            with peer.connection(reset=True) as sock:
                for _ in paced(8, pause=0.002):
                    sock.sendall(bytes(Peer.SEGMENT))
                until(lambda: peer.lost == i + 1 and info(sock)[2] and not unacknowledged(sock), 5,
                      "a retransmission")
        tcp = summed(t.stop())
    assert len(tcp["flows"]) < connections <= tcp["all_flows"], tcp
    assert [(b["interface"], b["segments"]) for b in tcp["downstream"]] == [("t0", connections)], tcp
    assert tcp["spurious"] == peer.doubled and tcp["verdict"] == "downstream", tcp


def send_behind_a_router(peer, then=lambda: None):
    way = json.loads(do(TX, "ip", "-j", "route", "get", "198.18.1.2"))[0]
    do(TX, "ip", "route", "add", "198.18.5.0/24", "via", way["gateway"])
    with peer.connection() as sock:
        for _ in paced(200):
            sock.sendall(bytes(Peer.SEGMENT))
        until(lambda: not unacknowledged(sock), 20, "all is there")
        return then()


@thorough
@where_seen
@exclusive
def beyond_another_namespace():
    """The sender's device leads to a router here, whose device leads away. Until a segment was seen
    to leave there, and where NAT renames it, it is not known. Exclusive: a packet of others that is
    dropped with its headers in pages may be of this flow, so the balance stays open."""
    router = TX[:-2] + "router"
    for translated in (False, True):
        with lab("--topology", "router"), tun(router) as device:
            if translated:
                nft(router, "table ip n {\n chain c {\n type nat hook postrouting priority 100\n"
                            ' oifname "t0" masquerade\n }\n}\n')
            with Peer(device, range(5, 200, 20)) as peer, balancing() as t:
                send_behind_a_router(peer)
                document = t.stop()
        tcp = document["end"]["tcp"] if translated else summed(document)
        assert peer.lost == 10 and tcp["lost_here"] == 0, (peer.lost, tcp)
        if translated:
            assert_sums(tcp)
            assert {row["why"] for row in tcp["undecided_why"]} == {"inside"}, tcp
            assert not tcp["downstream"] and tcp["spurious"] == peer.doubled, (tcp, peer.doubled)
            assert tcp["undecided"] == tcp["retransmitted"] - peer.doubled == 10, tcp
        else:
            assert [(b["interface"], b["netns"], b["segments"]) for b in tcp["downstream"]] == [
                ("t0", router, 10)], tcp
            assert tcp["balanced"] and tcp["verdict"] == "downstream", tcp


@contextlib.contextmanager
def connected(device, peer, options=b""):
    """A connection to a listener here, whose first byte is number 100, and what it acknowledges."""

    def read(wanted):
        end = time.monotonic() + 5 * PATIENCE
        while select.select([device], [], [], max(0, end - time.monotonic()))[0]:
            packet = device.read(4096)
            if packet[0] >> 4 == 4 and packet[9] == 6 and packet[33] == wanted:
                return struct.unpack_from("!I", packet, 24)[0]
        raise AssertionError("no answer")

    with inside(TX):
        listener = socket.create_server(("198.18.5.1", PORT))
    with listener:
        device.write(segment(peer, PORT, 99, 0, 0x02, options))
        theirs = read(0x12) + 1
        device.write(segment(peer, PORT, 100, theirs, 0x10, options))
        with listener.accept()[0] as connection:
            yield connection, theirs


PRUNED = "this kernel throws away what it has behind the hole instead (tcp_prune_ofo_queue())"


@case
@proves("tcp_rcvbuf")
@where_seen
def by_stage():
    """What TCP itself drops, by its stages; the counters of the kernel are the truth."""
    peer = 7777
    with lab(), tun(TX) as device, tracing(f"tcp port {PORT} or tcp port {PORT + 1}") as t:
        with connected(device, peer) as (connection, theirs):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            for i in range(100):  # each behind a hole: they cannot be merged
                device.write(segment(peer, PORT, 102 + 3 * i, theirs, 0x10, b"", b"xx"))
            device.write(segment(peer, PORT, 100 + (1 << 30), theirs, 0x10, b"", b"xx"))
            for _ in range(3):
                device.write(segment(peer, PORT + 1, 1, 1, 0x10, b"", b"xx"))
            until(lambda: counter(TX, "Tcp:OutRsts") >= 3, 20, "answers to the last ones")
            ofo_drop, pruned = counter(TX, "TcpExt:TCPOFODrop"), counter(TX, "TcpExt:OfoPruned")
            shown = do(TX, "ss", "-tmnH", "sport", "=", f":{PORT}", "and", "dport", "=", f":{peer}")
        document = t.stop()
    # Linux 6.1 prunes what is behind the hole: several, which it counts as one
    counted = int(re.search(r",d(\d+)\)", shown)[1]) - 1 if pruned else ofo_drop
    lost, suspect = ({s["stage"]: s["packets"] for s in document["end"][key]
                      if s["stage"].startswith("tcp")} for key in ("stages", "suspected"))
    assert counted > 0 and lost == {"tcp_rcvbuf": counted}, (counted, lost)
    assert suspect == {"tcp_state": 4}, suspect
    require(not pruned, PRUNED)
    assert_findings(document["end"]["findings"], "tcp_rcvbuf")


class Child:
    """Another process, which does some work with its end of a pair of sockets."""

    def __init__(self, work):
        self.socket, theirs = socket.socketpair()
        self.pid = os.fork()
        if not self.pid:
            try:
                work(theirs)
            finally:
                os._exit(0)
        theirs.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.socket.close()

    def hear(self, said=b"."):
        """Waits until it is so far."""
        self.socket.settimeout(120 * PATIENCE)
        assert self.socket.recv(64) == said


def read_when_told(listener, parent):
    """Accepts a connection, sleeps until it is told to read it, and tells how much came."""
    connection, _ = listener.accept()
    listener.close()
    parent.send(b".")
    parent.recv(1)
    size = 0
    while data := connection.recv(1 << 16):
        size += len(data)
    parent.send(struct.pack("Q", size))


def bursts(wire, rcvbuf, sizes):
    """Of small segments to a reader that sleeps until all have come: a connection, and the reader."""
    with inside(RX), socket.socket() as listener, inside(TX), socket.socket() as sock:
        if rcvbuf:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # after the burst before
        listener.bind(("", PORT))
        listener.listen()
        with Child(functools.partial(read_when_told, listener)) as reader:
            sock.connect((Wire.THERE, PORT))
            reader.hear()
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for size in sizes:
                wire.cut = True  # no acknowledgment comes before all is sent
                for _ in range(size):
                    sock.send(bytes(5))
                wire.cut = False
                time.sleep(0.7)  # nothing shows that no more of the burst will come
            sock.shutdown(socket.SHUT_WR)
            reader.socket.send(b".")
            reader.hear(struct.pack("Q", 5 * sum(sizes)))
    return reader


@table(first(1, [("behind a hole", None, 4096, ["tcp-prune"]),
                 ("the application's buffer", None, 4096, ["tcp_rcvbuf"]),
                 ("the host's", "4096 4096 4096", 0, ["tcp-rmem"])]))
@proves()
@where_seen
def no_room_behind_holes(rmem, rcvbuf, findings):
    """Small segments take more memory than the window allows for, which the sender cannot know."""

    with lab(), wired(once(range(0, 2000, 2))) as wire:
        if rmem:
            sysctl(RX, "net/ipv4/tcp_rmem", rmem)
        do(TX, "ip", "route", "replace", "198.18.5.0/24", "dev", "t0", "initcwnd", "400")
        with balancing("-I", "300ms") as t:
            if findings == ["tcp-prune"]:  # as many as just fit
                for count in range(16, 40, 2):
                    reader = bursts(wire, rcvbuf, [count])
                    if counter(RX, "TcpExt:OfoPruned"):
                        break
            else:
                reader = bursts(wire, rcvbuf, [400, 400])
            document = t.stop()
        dropped_last = counter(RX, "TcpExt:TCPOFODrop")
        doubled = counter(TX, "TcpExt:TCPDSACKRecv")
    look_for_hidden(document)
    tcp, (row,) = document["end"]["tcp"], document["end"]["stages"]
    assert_sums(tcp)
    causes = {cause["reason"]: cause["packets"] for cause in row["causes"]}
    assert row["stage"] == "tcp_rcvbuf" and causes.get("PROTO_MEM", 0) == dropped_last, row
    require(dropped_last or findings == ["tcp-prune"], PRUNED)
    # a slow host sends so slowly that timers end before the acknowledgments come
    shown = [f for f in document["end"]["findings"] if not (doubled and f["id"] == "tcp-reordered")]
    pruned = ["tcp-prune"] if "TCP_OFO_QUEUE_PRUNE" in causes and dropped_last else []
    found = assert_findings(shown, *findings, *pruned)  # a finding for each cause
    if findings != ["tcp-prune"]:
        assert f"[{reader.pid}]" in found["facts"]["reader"] and "running_percent" in found["facts"], found


@case
@where_seen
def of_senders_elsewhere():
    """A host that only receives sees what it drops, and that it comes again."""
    peer, size = 7777, 1000
    with lab(), tun(TX) as device:
        with balancing() as t, connected(device, peer) as (connection, theirs):
            nft(TX, rule("input", f"tcp dport {PORT} meta length > 200", 3))
            for again in range(2):
                for i in range(9):
                    device.write(segment(peer, PORT, 100 + i * size, theirs, 0x10, b"",
                                         bytes(size)))
                if not again:
                    packets, _ = dropped(TX)
                    do(TX, "nft", "flush", "ruleset")
                    t.until(packets)
                    begun = time.monotonic()
                    t.pass_intervals(3)  # the first drop makes it look for what comes
                    time.sleep(max(0, begun + 0.3 - time.monotonic()))  # the shortest stall that is asked for
            received = 0
            while received < 9 * size:
                received += len(connection.recv(1 << 16))
            document = t.stop()
    tcp = summed(document)
    assert packets == 3 and (tcp["received"], tcp["received_again"]) == (packets, packets), tcp
    assert tcp["received_timed"] == packets, tcp
    assert stages(tcp, "received_stages") == {"netfilter": packets}, tcp
    assert 0.3e9 <= tcp["received_stall_ns"]["p50"] <= tcp["received_stall_ns"]["max"], tcp
    assert tcp["retransmitted"] == tcp["not_resent"] == 0 and tcp["verdict"] == "this_host", tcp


@thorough
@where_seen
def overtaken():
    """What comes behind a newer one is refused by its time stamp, and lost (RFC 7323, 5: PAWS)."""

    def stamped(number):
        return struct.pack("!BBBBII", 1, 1, 8, 10, number, 0)

    peer, size = 7777, 1000
    with lab(), tun(TX) as device:
        with balancing() as t, connected(device, peer, stamped(1000)) as (connection, theirs):
            for seq, number in (100, 1000), (100, 3000), (1100, 2000), (1100, 4000):
                device.write(segment(peer, PORT, seq, theirs, 0x10, stamped(number), bytes(size)))
            assert connection.recv(2 * size, socket.MSG_WAITALL) == bytes(2 * size)
            refused = too_old(TX)
            document = t.stop()
    tcp = summed(document)
    assert refused == tcp["received_again"] == 1, (refused, tcp)
    assert stages(tcp, "received_stages") == {"tcp_state": refused}, tcp


@case
@where_seen
def behind_the_end():
    """What comes again when its socket is in TIME_WAIT was not lost."""
    peer = 7777
    with lab(), tun(TX) as device:
        with balancing() as t, connected(device, peer) as (connection, theirs):
            device.write(segment(peer, PORT, 100, theirs, 0x10, b"", bytes(1000)))
            assert len(connection.recv(1000, socket.MSG_WAITALL)) == 1000
            connection.close()
            came = counter(TX, "Tcp:InSegs")
            for _ in range(3):
                device.write(segment(peer, PORT, 100, theirs + 1, 0x11, b"", bytes(1000)))
            until(lambda: counter(TX, "Tcp:InSegs") >= came + 3, 20, "all three")
            document = t.stop()
    tcp = summed(document)
    assert tcp["received"] == 0 and tcp["verdict"] == "none_seen", tcp


@table(first(0, [("both", "port {}", 2), ("clients", "dst port {} and greater 200", 1)]))
@where_seen
def in_the_middle(which, sockets):
    """Of a connection that was there before, and goes on: no more than what was seen."""
    with lab("--topology", "router"), server():
        nft(RX, rule("input", DATA, 50))
        with connect("198.18.1.2") as sock:
            sock.sendall(bytes(300000))
            until(lambda: not unacknowledged(sock), 20, "all is there")
            with balancing(expr="tcp " + which.format(PORT)) as t:
                for _ in paced(100, pause=0.002):
                    sock.sendall(bytes(20000))
                document = t.stop()
    tcp = summed(document)
    assert tcp["sockets"] == sockets and tcp["lost_here"] > 0, tcp
    assert 2000000 - 500000 <= tcp["bytes"]["new"] <= 2000000, tcp
    assert {row["why"] for row in tcp["undecided_why"]} <= {"late", "open"}, tcp


@thorough
@where_seen
def short_connections():
    """Their SYNs, SYN-ACKs and FINs are lost, too."""
    with lab(), server():
        nft(RX, rule("input", f"tcp dport {PORT}", 31) + rule("output", f"tcp sport {PORT}", 29))
        with balancing() as t:
            truth = transfer(V4, 5000, "cubic", 200)
            document = t.stop()
        again = resent(TX) + resent(RX)
    tcp = assert_balance(document, truth, 1000000, again)
    assert tcp["kinds"]["syn"] > 0 and tcp["kinds"]["syn_ack"] > 0, tcp
    assert tcp["without_data"] > 0 and tcp["sockets"] == 400, tcp


MOST = 8500  # connections of a process, which may have 20,000 files


def crowd(number, count, parent):
    """Has so many connections, and sends by each when it is told."""
    port, source = PORT + number, f"198.18.0.{10 + number}"
    resource.setrlimit(resource.RLIMIT_NOFILE, (2 * count + 500, 2 * count + 500))
    do(TX, "ip", "addr", "add", f"{source}/24", "dev", "v-tx")
    with inside(RX):
        listener = socket.create_server(("", port), backlog=64)
    clients, accepted = [], []
    with inside(TX):
        for n in range(count):
            # to look for a free port takes the longer the more are taken
            clients.append(socket.create_connection((V4, port), source_address=(source, 2000 + n)))
            accepted.append(listener.accept()[0])
    parent.send(b".")
    parent.recv(1)
    for sock in clients:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(4):
            sock.send(bytes(300))
    parent.send(b".")
    parent.recv(1)


@table(first(0, [("all are kept", 1 << 18), ("not all", 1 << 15)]))
@where_seen
@exclusive
def many_flows_at_once(flows):
    """100,000 connections, of which each loses a segment. What finds no room is said, and no more.
    Exclusive: other cases use some of the same ports."""
    count = 100000
    crowds = []
    with lab(), contextlib.ExitStack() as stack:
        require(resource.getrlimit(resource.RLIMIT_NOFILE)[1] > 2 * MOST + 500, "needs more files")
        for number, left in enumerate(range(count, 0, -MOST)):
            crowds.append(stack.enter_context(Child(functools.partial(crowd, number, min(left, MOST)))))
        ports = f"{PORT}-{PORT + len(crowds) - 1}"
        with balancing("--flows", str(flows), expr=f"tcp portrange {ports}") as t:
            for one in crowds:
                one.hear()
            # the first of four, and then it comes again: no timer sends, where events may be hidden
            nft(RX, rule("input", f"tcp dport {ports} meta length > 200", 5))
            for one in crowds:
                one.socket.send(b".")
                one.hear()
            time.sleep(2 * PATIENCE)  # what was lost comes again
            packets, _ = dropped(RX)
            document = t.stop(150)
            again = resent(TX)
    tcp = document["end"]["tcp"]
    text = brief(tcp) + str(tcp["rests_on"])
    look_for_hidden(document)
    # what waited to be accepted when tracing began has no file, by which it could be found
    assert 1.9 * count < tcp["all_flows"] <= 2 * count, text
    assert tcp["retransmitted"] == again >= packets, (again, text)
    assert packets > 0.9 * count and not tcp["downstream"], (packets, text)
    if flows > count:
        assert_sums(tcp)
        assert tcp["balanced"] and stages(tcp) == {"netfilter": packets}, (packets, text)
    else:
        assert any("(--flows)" in line for line in tcp["rests_on"]) and not tcp["balanced"], text
        assert tcp["undecided_why"] == [{"why": "full", "segments": tcp["undecided"]}], text
        assert tcp["retransmitted"] == tcp["lost_here"] + tcp["undecided"] + tcp["spurious"], text
        assert 0 < tcp["lost_here"] <= packets and tcp["bytes"]["unaccounted"] == 0, text


# What is shown


@case
@where_seen
def two_ledgers():
    """Of a filter that both match, each in its own units."""
    with lab(), server(), udp(RX, socket.AF_INET, ("", PORT)) as reader:
        offloads("off")
        nft(RX, rule("input", DATA, 20) + rule("prerouting", f"udp dport {PORT}", 10))
        with balancing(expr=f"port {PORT}") as t:
            truth = transfer(V4, 500000)
            send(TX, V4, 100)
            received = read_all(reader)
            tcp = assert_balance(t.stop(), truth, 500000, resent(TX))
        end = t.end
    assert received == 90 and (end["arrived"], end["delivered"]) == (100, 90), end
    assert [(row["stage"], row["packets"]) for row in end["stages"]] == [("netfilter", 10)], end
    assert stages(tcp) == {"netfilter": tcp["lost_here"]} and end["verdict"] == "this_host", end

@table(first(1, [("the application's", 0, 4096, ["tcp-listen-own"]),
                 ("the host's", 64, 1, ["tcp-listen-somaxconn"])]))
@proves()
@where_seen
def accept_queue_full(backlog, somaxconn, findings):
    """No event tells of a SYN there: it is undecided, and the counter is named."""
    with lab(), contextlib.ExitStack() as stack:
        sysctl(RX, "net/core/somaxconn", somaxconn)
        with inside(RX):
            listener = stack.enter_context(socket.create_server(("", PORT), backlog=backlog))
        room, more = min(backlog, somaxconn), 3
        with balancing("-I", "300ms") as t:
            for sock in syns(TX, V4, room + 1 + more):
                stack.enter_context(sock)
            until(lambda: counter(TX, "TcpExt:TCPSynRetrans") >= more, 10, "SYNs come again")
            document = t.stop()
        listener.close()
    tcp = summed(document)
    assert tcp["kinds"]["syn"] > 0 and tcp["undecided"] == tcp["retransmitted"], tcp
    assert any("ListenOverflows" in line for line in tcp["rests_on"]), tcp["rests_on"]
    lost, = (c["delta"] for c in tcp["counters"] if c["name"] == "TcpExt:ListenDrops")
    shown, = tcp["listeners"]
    assert (shown["socket"], shown["netns"], shown["lost"]) == (f"*:{PORT}", RX, lost), tcp
    assert (shown["accept_queue"], shown["backlog"]) == (room + 1, room), shown
    assert tcp["verdict"] == "this_host", tcp
    found = assert_findings(document["end"]["findings"], *findings)
    assert (f"net.core.somaxconn={2 * somaxconn}" in found["command"]) == (room == somaxconn), found


@table(first(1, [("half open", ["tcp-listen-syn"]), ("without its key", ["tcp-signature"])]))
@proves()
@where_seen
def accept_queue_not_full(findings):
    """SYNs that a listener does not take for another reason: its sk_drops moves the same."""
    key = struct.pack("HH4s120xHHI80s", socket.AF_INET, 0, socket.inet_aton("198.18.5.9"), 0, 6, 0,
                      b"secret")
    tcp_md5sig = 14
    with lab(), tun(TX) as device:
        sysctl(TX, "net/ipv4/tcp_syncookies", 0)
        sysctl(TX, "net/ipv4/tcp_max_syn_backlog", 4)
        with inside(TX):
            listener = socket.create_server(("198.18.5.1", PORT), backlog=64)
        with listener, balancing() as t:
            if findings == ["tcp-signature"]:
                listener.setsockopt(socket.IPPROTO_TCP, tcp_md5sig, key)
            came = counter(TX, "Tcp:InSegs")
            for port in range(7000, 7020):
                device.write(segment(port, PORT, 99, 0, 0x02))
            until(lambda: counter(TX, "Tcp:InSegs") >= came + 20, 20, "all SYNs")
            refused, sent = counter(TX, "TcpExt:ListenDrops"), counter(TX, "TcpExt:TCPMD5NotFound")
            document = t.stop()
    tcp = document["end"]["tcp"]
    assert (refused > 0, sent > 0) == (findings != ["tcp-signature"], findings == ["tcp-signature"]), (refused, sent)
    assert [row["lost"] for row in tcp["listeners"]] == [refused] * (refused > 0), tcp
    assert_findings(document["end"]["findings"], *findings)


@table(first(0, [("of EXPR", ["--balance", EXPR], "tcp-listen-own"),
                 ("of all", ["-n", RX], "tcp-listen-own"),
                 ("without a balance", [f"port {PORT}"], "tcp-listen-own"),
                 ("perhaps", [f"host 198.18.7.7 and tcp port {PORT}"], None),
                 ("another port", [f"tcp port {PORT + 1}"], None)]))
@where_seen
def who_does_not_accept(args, finding):
    """What lost is found by its counter, and its process is looked at meanwhile."""
    with lab(), contextlib.ExitStack() as stack, tracing("-I", "300ms", *args) as t:
        with inside(RX):
            listener = stack.enter_context(socket.create_server(("", PORT), backlog=0))
        seen = 0
        for _ in range(100 * PATIENCE if finding else 8):  # the counter is not read all the time
            stack.enter_context(*syns(TX, V4, 1))
            line = t.read_line()
            seen += "tcp_listen" in (s["stage"] for s in line["data"].get("stages", []))
            if seen == 2:
                break
        document = t.stop()
        listener.close()
    lost, suspect = ([s["stage"] for s in document["end"][kind]] for kind in ("stages", "suspected"))
    # of the host in EXPR it may be, but what is counted names none
    assert ("tcp_listen" in suspect) == ("198.18.7.7" in args[-1]), document["end"]
    assert ("tcp_listen" in lost) == bool(finding), document["end"]
    found = [f for f in document["end"]["findings"] if f["stage"] == "tcp_listen"]
    assert [f["id"] for f in found] == [finding] * bool(finding), document["end"]
    if not finding:
        return
    assert f"[{os.getpid()}]" in found[0]["facts"]["reader"], found
    assert "sleeping_percent" in found[0]["facts"], found


@thorough
@proves("netfilter-conntrack")
@where_seen
@exclusive
def no_entry_for_a_connection():
    """No rule drops the SYN: the table of connections is full."""
    with lab(), server():
        most = fill_connections(RX)
        with balancing("-I", "300ms") as t:
            with inside(TX), socket.socket() as sock:
                sock.setblocking(False)
                sock.connect_ex((V4, PORT))
                until(lambda: counter(TX, "Tcp:RetransSegs"), 10, "the SYN comes again")
                do(RX, "conntrack", "-F")
                until(lambda: sock.connect_ex((V4, PORT)) in (0, errno.EISCONN), 10, "the connection")
            document = t.stop()
    tcp = summed(document)
    assert stages(tcp) == {"netfilter": tcp["retransmitted"]} and tcp["kinds"]["syn"] > 0, tcp
    found = assert_findings(document["end"]["findings"], "netfilter-conntrack")
    assert f"nf_conntrack_max={2 * most}" in found["command"], found


@contextlib.contextmanager
def keeping_a_ledger():
    """Of a transfer of which a rule drops a tenth: the file, and the tracer, which goes on."""
    with lab(), server(), directory() as where:
        require(not refusal(), refusal())
        file = str(where / "ledger")
        nft(RX, rule("input", DATA, 10))
        with started("trace", "--balance", "--ledger", file, EXPR) as process:
            while "tracing" not in process.stderr.readline():
                pass
            transfer(V4, 500000)
            yield file, process


@thorough
def report_prints_it_again():
    with keeping_a_ledger() as (file, process):
        process.terminate()
        out, err = process.communicate(timeout=30 * PATIENCE)
        assert process.returncode == 0, err
        assert "retransmitted" in out and "lost here" in out and "this_host" in out, out
        again = assert_ok(pktledger("report", file))
        assert out in again.out, f"printed:\n{out}\nreprinted:\n{again.out}"


@thorough
def a_ledger_of_one_that_was_killed():
    """What was decided until then: a look at it is made every 10 s. golden/tcp-so-far is what report prints."""
    with keeping_a_ledger() as (file, process):
        def kept():
            lines = Path(file).read_text().split("\n")[:-1]
            events = [json.loads(line.split(" ", 1)[1])["data"] for line in lines]
            return [data["tcp"] for data in events if "tcp" in data]
        until(kept, 30, "what became of retransmissions")
        process.kill()
        process.wait()
        tcp = kept()[0]
        packets, size = dropped(RX)  # of several segments each, as TSO has them
        assert 0 < packets <= tcp["lost_here"] <= size / 1000, (tcp, packets, size)
        assert tcp["stages"] == [{"stage": "netfilter", "segments": tcp["lost_here"]}], tcp
        # on a busy host TCP also sends again what is not lost
        assert tcp["retransmitted"] == tcp["lost_here"] + tcp["spurious"], tcp
        assert f"netfilter {tcp['lost_here']}" in assert_ok(pktledger("report", "--since", "-1h", file)).out


def resent_so_far(exporter, *labels):
    return total(exporter.scrape_once(), "pktledger_tcp_retransmits_total", *labels)


@thorough
@where_seen
@exclusive
def exported():
    """While connections live on, and when all is given up that attaching takes but what is loaded.
    Exclusive: all of the host is exported."""
    router = TX[:-2] + "router"
    with lab("--topology", "router"), server(), tun(router) as device:
        offloads("off")
        nft(RX, rule("input", DATA, 20))
        # the last has nothing behind it
        with Peer(device, range(5, 200, 20), [199]) as peer, \
                exporting("--balance", "-I", "500ms") as exporter:
            assert resent_so_far(exporter) == 0
            transfer("198.18.1.2", 1000000)

            def told():
                assert resent_so_far(exporter) == 0, "what is new may still change"
                until(lambda: resent_so_far(exporter) == resent(TX), 20, "all that was sent again")
                return {cause: resent_so_far(exporter, f"cause={cause}")
                        for cause in ("lost_here", "downstream", "spurious", "undecided")}

            told = send_behind_a_router(peer, told)
        packets, _ = dropped(RX)
    assert peer.lost == 10 and packets > 0
    assert told == {"lost_here": packets, "downstream": 10, "spurious": peer.doubled,
                    "undecided": 0}, (told, packets, peer.doubled)


@table(first(1, [("when it is left", False), ("while it is shown", True)]))
@where_seen
def on_the_screen(waits):
    """What was sent again, and what became of it: some seconds later, or when it is left."""
    require(not refusal(), refusal())
    with lab(), server():
        offloads("off")
        nft(RX, rule("input", DATA, 20))
        with top("--balance", "-I", "200ms", EXPR, size=(40, 100)) as screen:
            screen.shows("pending")
            transfer(V4, 500000)

            def drawn():
                screen.redraw(40, 100)
                return screen.seen

            if waits:
                until(lambda: re.search(r"netfilter [1-9].*pending\D*0(0\.00|\D)", drawn(), re.S), 20,
                      "where all was lost")
                assert f"in {TX}:" in drawn() and "sent again" in screen.seen, screen.seen
            screen.type("t")
            until(lambda: "pending" not in drawn(), 10, "rows in its place")
            packets, _ = dropped(RX)
            screen.raw = ""
            screen.type("q")
            if screen.ends():
                raise Hidden(screen.seen)
    # what was sent again without need may be lost too
    told = re.findall(r"lost here .*netfilter (\d+)|- (\d+) segments? w\w+ dropped here and not", screen.seen)
    assert packets == sum(int(n or m) for n, m in told) and "this_host" in screen.seen, screen.seen


if __name__ == "__main__":
    main()
