#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The stories of pktledger-troubleshooting(7): each is made in a lab, its commands are run as they are
printed, show what the page prints, and after its remedy the kernel's own counters stand still."""

import contextlib
import http.server
import json
import os
import re
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from ends import (PORT, counter, do, inside, link, mac_of, need, nft, nft_counters, python, raw, repeating, syns, sysctl,
                  tun, udp)
from lib import (BINARY, ROOT, TIMEOUT, case, exclusive, first, kill_group, main, pktledger, require,
                 rootless, started, table, until)
from test_tcp import Hidden, look_for_hidden, suppressed, where_seen
from traced import NAME, RX, TX, V4, lab

PAGE = ROOT / "tools/man/pktledger-troubleshooting.7.scd"
PAGE_PORT = "5060"
WEB = 8443
FLANNEL = 8472  # port of its VXLAN
FAR = "198.18.1.2"  # the receiver behind a router
GROUP = "239.1.2.3"
ROUTER, SWITCH = f"{NAME}-router", f"{NAME}-bridge"
HOSTS = {"receiver": RX, "sender": TX, "router": ROUTER, "switch": SWITCH}
SERVICE = "198.18.1.200"  # an address that the router translates
IP_MTU_DISCOVER, IP_PMTUDISC_WANT, IP_PMTUDISC_DO = 10, 1, 2

READER = """
import socket, sys, time
open("/proc/self/comm", "w").write("sipd")
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, int(sys.argv[2]))
s.bind(("", int(sys.argv[1])))
print("ready", flush=True)
pause = float(sys.argv[3])
while True:
    s.recv(65536)
    time.sleep(pause) if pause else sum(range(2000))  # even a pause of 0 s would sleep
"""


# Reads from one address or one peer only.
HOLDER = """
import socket, sys
open("/proc/self/comm", "w").write("sipd")
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((sys.argv[2], int(sys.argv[1])))
if len(sys.argv) > 3:
    s.connect((sys.argv[3], 53))
print("ready", flush=True)
while True:
    s.recv(65536)
"""

# As rsyslog: a thread receives, another one works, and the queue between them is short.
SYSLOGD = """
import queue, socket, sys, threading, time
open("/proc/self/comm", "w").write("syslogd")
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 20000)
s.bind(("", int(sys.argv[1])))
q = queue.Queue(maxsize=10)
def work():
    while True:
        q.get()
        time.sleep(0.005)
threading.Thread(target=work, daemon=True).start()
print("ready", flush=True)
while True:
    q.put(s.recv(65536))
"""

# Four workers, each with a socket of its own on the port, and each slow.
WORKERS = """
import socket, sys, threading, time
open("/proc/self/comm", "w").write("sipd")
def work():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 50000)
    s.bind(("", int(sys.argv[1])))
    opened.release()
    while True:
        s.recv(65536)
        time.sleep(0.001)
opened = threading.Semaphore(0)
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
    opened.acquire()
print("ready", flush=True)
time.sleep(3600)
"""


# Ends


def program(text, *args, become=None):
    """A Python program in the receiver's namespace that knows the port."""
    return python(RX, text, PORT, *args, become=become)


def before_all_others():
    """Gives a process real-time priority, above that of the computing reader in net/findings: on a busy host,
    too, only what a scene is about delays the process."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(2))


def reader(pause=0.0, rcvbuf=1 << 20):
    """A program `sipd` with the port open that takes so many seconds for a datagram."""
    return program(READER, rcvbuf, pause, become=before_all_others if pause else None)


@contextlib.contextmanager
def sender(to=V4, burst=10, pause=0.02, size=100, options=(), port=PORT, source=""):
    """Datagrams to the port, so many at once."""
    with udp(TX, socket.AF_INET, (source, 0)) as sock:
        for option in options:
            sock.setsockopt(socket.IPPROTO_IP, *option)

        def send():
            for _ in range(burst):
                with contextlib.suppress(OSError):
                    sock.sendto(bytes(size), (to, port))

        with repeating(pause, send):
            yield


def ip(netns, *args):
    do(netns, "ip", *args)


def drops(netns, *command):
    """Of the first object that `ip -s -j` or `tc -s -j` shows."""
    return json.loads(do(netns, *command))[0]["drops"]


def rule(where, match, hook="input", table="inet filter", chain=None):
    """The command for a rule of nft that counts what it drops."""
    return (f"{where} nft table {table} {{ chain {chain or hook} {{ type filter hook {hook} priority 0; "
            f"{match} counter drop; }}; }}")


def dropped_by(netns):
    """What reads the counter of its rule."""
    return lambda: nft_counters(netns).get(None, 0)


# Scenes: what is wrong. Each yields the receiving program, if a remedy needs it, and what reads a
# counter of the kernel that says so, too, if there is one.


def host(counts, *ends, commands=(), topology="pair"):
    """A scene of these ends, after these commands. `counts` is a function, or a host and its counter; a
    command is a host and its words."""

    @contextlib.contextmanager
    def made():
        with lab("--topology", topology), contextlib.ExitStack() as stack:
            started = [stack.enter_context(end()) for end in ends]
            for line in commands:
                where, *words = line.split()
                do(HOSTS[where], *words)
            if isinstance(counts, str):
                where, name = counts.split()
                yield started[0], lambda: counter(HOSTS[where], name)
            else:
                yield started[0], counts

    return made


def slowly(pause, rcvbuf):
    return lambda: reader(pause, rcvbuf)


def far(**how):
    return lambda: sender(FAR, **how)


def frames_dropped(device="v-tx"):
    return link(TX, device)["tx"]["dropped"]


FULL, NO_PORTS = "receiver Udp:RcvbufErrors", "receiver Udp:NoPorts"
sleeping_reader = host(FULL, slowly(0.003, 20000), lambda: sender(burst=20, pause=0.01))
bursts = host(FULL, slowly(0, 20000), lambda: sender(burst=300, pause=0.2))
one_flow = host(FULL, lambda: program(WORKERS, become=before_all_others), lambda: sender(burst=20, pause=0.005))
full_queue_of_a_program = host(FULL, lambda: program(SYSLOGD, become=before_all_others), lambda: sender(pause=0.01))
closed_port = host(NO_PORTS, sender)
bound_to_localhost = host(NO_PORTS, lambda: program(HOLDER, "127.0.0.1"), sender)
# the client asked .9; the server answers from its first address
answer_of_another_address = host(NO_PORTS, lambda: program(HOLDER, "0.0.0.0", "198.18.0.9"), sender,
                                 commands=["sender ip addr add 198.18.0.9/24 dev v-tx"])
asymmetric = host("receiver TcpExt:IPReversePathFilter", reader, sender, commands=[
    "receiver ip link add up1 up type veth peer name isp1", "receiver ip link set isp1 up",
    "receiver ip route add 198.18.0.1/32 dev up1", "receiver sysctl -qw net.ipv4.conf.v-rx.rp_filter=1"])
not_joined = host(None, reader, lambda: sender(GROUP),
                  commands=["sender ip route add 224.0.0.0/4 dev v-tx"])
wrong_mac = host(None, reader, sender, commands=[
    f"sender ip neigh replace {V4} lladdr 02:00:00:00:00:99 dev v-tx"])
no_forwarding = host("router Ip:InAddrErrors", reader, far(), topology="router",
                     commands=["router sysctl -qw net.ipv4.ip_forward=0"])
short_ttl = host("router Ip:InHdrErrors", reader, far(options=[(socket.IP_TTL, 1)]), topology="router")
silent_neighbour = host(None, lambda: sender("198.18.0.77", burst=1))
shaped = host(lambda: drops(TX, *"tc -s -j qdisc show dev v-tx".split()), reader,
              lambda: sender(size=1000),
              commands=["sender tc qdisc add dev v-tx root tbf rate 1mbit burst 4kb limit 8kb"])
full_fragment_memory = host("receiver Ip:ReasmFails", slowly(0, 4 << 20),
                            lambda: sender(size=60000, burst=4, pause=0.01), commands=[
                                "receiver sysctl -qw net.ipv4.ipfrag_low_thresh=40000",
                                "receiver sysctl -qw net.ipv4.ipfrag_high_thresh=60000"])
small_peer = host(frames_dropped, reader, sender, lambda: sender(size=1200),
                  commands=["receiver ip link set v-rx mtu 1000"])
blackhole = host(None, reader, far(), topology="router",
                 commands=["router ip route add blackhole 198.18.1.0/26"])
spanning_tree = host(None, reader, sender, topology="bridge",
                     commands=["switch bridge link set dev v-b0 state 1"])
# the router's containers have the usual MTU, and its uplink does not
larger_bridge = host(None, reader, far(), topology="router", commands=[
    "router ip link set v-r1 mtu 1400", "receiver ip link set v-rx mtu 1400",
    f"router ip route add default via {FAR}",
    "router sysctl -qw net.ipv6.conf.default.disable_ipv6=1",  # or it sends a frame to no port
    "router ip link add docker0 up type bridge mcast_snooping 0"])


firewall = host(dropped_by(RX), reader, sender, commands=[rule("receiver", f"udp dport {PORT}")])
lost_fragments = host("receiver Ip:ReasmFails", reader, lambda: sender(size=4000, burst=2), commands=[
    "receiver sysctl -qw net.ipv4.ipfrag_time=1",
    rule("receiver", "ip frag-off & 0x1fff != 0", "ingress device v-rx", "netdev edge", "in")])
black_hole = host("router Ip:FragFails", reader, far(size=1400, options=[(IP_MTU_DISCOVER, IP_PMTUDISC_DO)]),
                  topology="router", commands=[rule("sender", "meta l4proto icmp"),
                                               "router ip link set v-r1 mtu 1300"])
# The router may not say what is too large. The sender continues with what it takes to be the MTU.
silent_black_hole = host("router Ip:FragFails", reader,
                         far(size=1300, options=[(IP_MTU_DISCOVER, IP_PMTUDISC_WANT)]),
                         topology="router", commands=[
                             rule("router", "icmp type destination-unreachable", "output"),
                             "router ip link set v-r1 mtu 1300"])


@contextlib.contextmanager
def stopped_reader():
    with lab(), reader(0, 20000) as process, sender():
        process.send_signal(signal.SIGSTOP)
        yield process, lambda: counter(RX, "Udp:RcvbufErrors")


@contextlib.contextmanager
def wrong_checksum():
    datagram = struct.pack("!HHHH", PORT, FLANNEL, 108, 0xdead) + bytes(100)
    with lab():
        ip(RX, *f"link add flannel.1 type vxlan id 1 dstport {FLANNEL} dev v-rx".split())
        ip(RX, "link", "set", "flannel.1", "up")
        with raw(TX, socket.IPPROTO_UDP) as sock, repeating(0.01, lambda: sock.sendto(datagram, (V4, 0))):
            yield None, lambda: counter(RX, "Udp:InCsumErrors")


class Web(http.server.BaseHTTPRequestHandler):
    """One segment for each question, and takes whatever is sent."""

    protocol_version, wbufsize = "HTTP/1.1", -1

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(bytes(1000))

    do_GET = do_PUT = answer

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def web():
    require(shutil.which("curl"), "needs curl")
    with inside(RX):
        server = http.server.ThreadingHTTPServer(("", WEB), Web)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


lossy_router = host(dropped_by(ROUTER), web, topology="router", commands=[
    rule("router", f"tcp sport {WEB} meta length > 1000 numgen inc mod 40 == 39", "forward")])
short_queue = host(lambda: drops(TX, *"tc -s -j qdisc show dev v-tx".split()), web, commands=[
    "sender tc qdisc add dev v-tx root tbf rate 100mbit burst 10kb limit 10kb",
    "sender sysctl -qw net.ipv4.tcp_congestion_control=reno"])  # no timer that sends


@contextlib.contextmanager
def stale_mac():
    """An AF_XDP sender that learned the address of another host."""
    with lab() as ends, reader():
        ip(TX, *"neigh replace 198.18.0.2 lladdr 02:00:00:00:00:99 dev v-tx nud permanent".split())
        process = ends.at("tx", "send", f"{V4}:{PORT}", "--tx", "xsk", "-i", "v-tx", "--rate", "500",
                         "-t", str(TIMEOUT), "-q")
        try:
            until(lambda: link(TX, "v-tx")["tx"]["packets"] > 50, 10, "frames are sent")
            yield None, None
        finally:
            kill_group(process)


@contextlib.contextmanager
def slow_capture():
    """A tcpdump with a small ring, which is stopped as one that waits for its disk."""
    require(shutil.which("tcpdump"), "needs tcpdump")
    with lab(), reader(), sender(burst=40, size=1000):
        with subprocess.Popen(["ip", "netns", "exec", RX, "tcpdump", "-n", "-i", "v-rx", "-B", "1024",
                               "-w", "/dev/null"], stderr=subprocess.PIPE, text=True) as process:
            try:
                assert "listening" in process.stderr.readline()
                process.send_signal(signal.SIGSTOP)
                until(lambda: link(RX, "v-rx")["rx"]["bytes"] > 4 << 20, 10, "more than the ring holds")
                yield process, None
            finally:
                process.kill()


@contextlib.contextmanager
def no_accept():
    """A program that listens and does not accept; its clients do not wait."""
    with lab(), contextlib.ExitStack() as socks:
        with inside(RX):
            socks.enter_context(socket.create_server(("", WEB), backlog=1))
        with repeating(0.02, lambda: socks.enter_context(syns(TX, V4, 1, WEB)[0])):
            yield None, lambda: counter(RX, "TcpExt:ListenOverflows")


@contextlib.contextmanager
def frames(to, rest):
    """To this MAC address, from another one, again and again."""
    frame = to + bytes.fromhex("020000000001" + rest)
    with raw(TX, 0, socket.AF_PACKET, "v-tx") as sock, repeating(0.02, lambda: sock.send(frame.ljust(60, b"\0"))):
        yield


# A switch that says what it is, which nobody on the host listens to.
unknown_protocol = host(lambda: link(RX, "v-rx")["rx"]["dropped"], reader, sender,
                        lambda: frames(bytes.fromhex("0180c200000e"), "88cc"))
vlan_without_interface = host(None, reader, sender, lambda: frames(mac_of(RX, "v-rx"), "8100" "004d" "0800" "45"))


@contextlib.contextmanager
def slow_tunnel():
    """A VPN whose program reads its tun now and then."""
    def work():
        with contextlib.suppress(BlockingIOError):
            while device.read(2000):
                pass

    with lab(), reader(), sender(), tun(TX) as device:
        ip(TX, "link", "set", "t0", "txqueuelen", "50")
        with sender("198.18.5.9", burst=200, pause=0.05), repeating(0.02, work):
            yield None, lambda: frames_dropped("t0")


@contextlib.contextmanager
def unplugged():
    with lab(), reader(), sender():
        ip(RX, "link", "set", "v-rx", "down")
        until(lambda: "NO-CARRIER" in do(TX, "ip", "link", "show", "v-tx"), 10, "no carrier")
        yield None, frames_dropped


@contextlib.contextmanager
def no_port_left():
    """Source NAT has two ports for more flows to one destination."""
    with lab("--topology", "router"), reader():
        nft(ROUTER, "table ip n { chain c { type nat hook postrouting priority 100; "
                    f"udp dport {PORT} snat to 198.18.1.254:1000-1001; }}; }}")

        def once():
            with udp(TX, socket.AF_INET) as sock:
                sock.sendto(bytes(100), (FAR, PORT))

        with repeating(0.005, once):
            yield None, lambda: clashes(ROUTER)


@contextlib.contextmanager
def replaced_container():
    """NAT leads to a container that is gone; the bridge that it was on, and its MAC address in the
    neighbour table, are not. The container has a new address, as the rule has."""
    require(shutil.which("conntrack"), "needs conntrack")
    rule = f"add rule ip nat c udp dport {PORT} dnat to "
    with lab("--topology", "router"), reader():
        # with an address of its own, as Docker's: it does not change with the ports
        for line in ("link add docker0 up address 02:42:00:00:00:01 type bridge",
                     "addr add 198.19.0.1/24 dev docker0",
                     "link add other master docker0 up type veth peer name other-end",
                     "link set other-end up",
                     f"link add old master docker0 up type veth peer name eth0 netns {RX}"):
            need(ROUTER, "ip", *line.split())
        for line in ("addr add 198.19.0.2/24 dev eth0", "link set eth0 up"):
            ip(RX, *line.split())
        for name in "all", "eth0":
            sysctl(RX, f"net/ipv4/conf/{name}/rp_filter", 0)
        nft(ROUTER, "table ip nat { chain c { type nat hook prerouting priority -100; }; }\n"
                    f"{rule}198.19.0.2\n")
        with sender(SERVICE):
            until(lambda: counter(RX, "Udp:InDatagrams"), 10, "the first container receives")
            ip(ROUTER, "link", "del", "old")
            nft(ROUTER, f"flush chain ip nat c\n{rule}{FAR}\n")
            yield None, None


def clashes(netns):
    """Of all CPUs, as `conntrack -S` shows it."""
    names, *rows = do(netns, "cat", "/proc/net/stat/nf_conntrack").splitlines()
    column = names.split().index("insert_failed")
    return sum(int(row.split()[column], 16) for row in rows)


# The page


def page():
    """{title: [block of code]}; a block is a list of lines."""
    stories, blocks, block = {}, None, None
    for line in PAGE.read_text().splitlines():
        if line.startswith("## "):
            blocks = stories[line[3:]] = []
        elif line == "```":
            if block is None:
                block = []
            else:
                blocks.append(block)
                block = None
        elif block is not None:
            block.append(line)
    return stories


def flat(text):
    """Without what differs between two runs: names, numbers with their units, ends of lines."""
    for netns, host in HOSTS.items():
        text = text.replace(host, netns)
    text = re.sub(r"(?<![\w-])\d+(?:[.,]\d+)*[kM]?(?: (?:[kM]?pps|[num]?s)\b)?", "N", text)
    # rules are read before the first event: on a busy host they count a few packets more
    return " ".join(text.split()).replace(", of any traffic", "")


HIDDEN = re.compile("no event showed it|disappeared without a drop event")  # a balance says so


def execute(line, process):
    """A line of the page, in the namespace of the host whose prompt it has."""
    host, command = line.replace(PAGE_PORT, str(PORT)).split("# ", 1)
    words = [str(process.pid) if process and word == "4242" else word for word in shlex.split(command)]
    done = subprocess.run(["ip", "netns", "exec", HOSTS[host],
                           *(BINARY if word == "pktledger" else word for word in words)],
                          capture_output=True, text=True, check=False, timeout=TIMEOUT)
    require(done.returncode != 3, done.stderr.strip())
    if done.returncode == 4 and HIDDEN.search(" ".join(done.stdout.split())):
        raise Hidden(done.stdout)
    assert done.returncode == 0, (command, done.stderr + done.stdout)
    return done.stdout


def fragments(block):
    """What stands between the dots of a block, below its command."""
    return [flat(part) for part in "\n".join(block[1:]).split("...") if part.strip()]


def missing(block, output):
    """The first fragment that is not in the output, in its place."""
    shown = flat(output)
    for part in fragments(block):
        if part not in shown:
            return f"{part!r} is not in\n{output}"
        shown = shown.split(part, 1)[1]
    return None


STORIES = [
    ("tcpdump shows the packets, the program does not get them", firewall),
    ("One of two uplinks receives nothing", asymmetric),
    ("Connections work until something large is sent", black_hole),
    ("Large transfers hang, and no router of the path is yours", silent_black_hole),
    ("UdpRcvbufErrors and packet receive errors go up", sleeping_reader),
    ("Packets are lost in bursts though the program is idle", bursts),
    ("The program runs, has the port open, and gets nothing", stopped_reader),
    ("Packets to unknown port received go up", closed_port),
    ("Multicast arrives, and the program does not get it", not_joined),
    ("Nothing arrives since a machine was replaced", wrong_mac),
    ("Large datagrams never arrive, small ones do", lost_fragments),
    ("A router answers pings and forwards nothing", no_forwarding),
    ("Multicast or discovery stops at the first router", short_ttl),
    ("The first packets to a host are lost, or all to one that is gone", silent_neighbour),
    ("send() succeeds and packets never leave", shaped),
    ("The P99 of a web service jumps, its P50 does not", lossy_router),
    ("TCP is slow, and RetransSegs hardly moves", short_queue),
    ("UDP: bad checksum in the log, pods of other nodes are out of reach", wrong_checksum),
    ("An AF_XDP sender sends, and the receiver gets nothing", stale_mac),
    ("Large DDS or ROS 2 messages disappear under load", full_fragment_memory),
    ("A syslog server or another threaded receiver loses messages", full_queue_of_a_program),
    ("Only one of several workers receives", one_flow),
    ("The service answers on the host, and not from other hosts", bound_to_localhost),
    ("A client gets no answer, and tcpdump shows it arrive", answer_of_another_address),
    ("tcpdump or an IDS misses packets that the host receives", slow_capture),
    ("Clients of a TCP service time out in bursts (ListenOverflows)", no_accept),
    ("rx_dropped goes up, and nothing is missing", unknown_protocol),
    ("Frames of a VLAN arrive, and no program gets them", vlan_without_interface),
    ("A host sends into a link without a carrier", unplugged),
    ("Large packets between two containers or virtual machines disappear", small_peer),
    ("Downloads hang in containers, not on the host", larger_bridge),
    ("A virtual machine has no network for its first 30 seconds", spanning_tree),
    ("Pods of one node cannot reach some pods of another", blackhole),
    ("UDP does not reach a container after its restart", replaced_container),
    ("Connections through NAT fail at random (insert_failed)", no_port_left),
    ("A VPN loses packets in bursts", slow_tunnel),
]


@table((title, title, scene) for title, scene in first(0, STORIES))
@where_seen
def story(title, scene):
    shows, *mends = page()[title]
    with scene() as (process, counted):
        if counted and " -- " not in shows[0]:  # else it is the command that sends
            until(counted, 10, "packets are lost")
        elif not counted:
            time.sleep(1)  # some packets are lost, which only pktledger counts
        before = counted() if counted else None
        wrong = missing(shows, execute(shows[0], process))
        assert not wrong, wrong
        assert not counted or counted() > before, before
        for line in (line for block in mends for line in block):
            execute(line, process)
        if not mends:
            return
        # until what is under way is lost, as fragments are after a second
        time.sleep(0.2 if scene is firewall else 1.5)
        before, received = counted() if counted else None, counter(RX, "Udp:InDatagrams")
        output = execute(shows[0], process)
        assert fragments(shows)[-1] not in flat(output), output
        assert not counted or counted() == before, (before, counted())
        assert counter(RX, "Udp:InDatagrams") > received


CARRIER = "Each side says that it is the other one, or the carrier"


@case
@exclusive
@where_seen
def who_lost_it():
    """Joins the traces of two namespaces. Exclusive: any traffic on the host can hide events from a
    trace, and a join with missed events is undecided."""
    (block,) = page()[CARRIER]
    lines, answer = block[:2], block[2:]
    with lossy_router() as (_, counter), contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="pl-test-"))
        traces = []
        for host, command in (line.split("# ", 1) for line in lines):
            words = shlex.split(command)[1:]
            traces.append(stack.enter_context(started(words[0], "-n", HOSTS[host], *words[1:],
                                                      cwd=directory)))
        for process in traces:
            line = process.stderr.readline()
            while "tracing" not in line:
                require(process.poll() != 3, line)
                assert line, process.wait()
                line = process.stderr.readline()
        do(TX, "curl", "-s", "-o", "/dev/null", f"http://{FAR}:{WEB}/[1-160]")
        for process in traces:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=TIMEOUT)
            assert process.returncode in (0, 4), process.returncode
        files = [f"{directory}/{word}" for word in shlex.split(answer[0])[4:]]
        shown = pktledger("report", "--join", *files)
        assert counter() > 1 and shown.status in (0, 4), (counter(), shown)
        documents = json.loads(pktledger("report", "-j", "--join", *files).out)["documents"]
        for d in documents:
            look_for_hidden(d)
            if suppressed(d) and "unseen" in [row["why"] for row in d.get("joined", {}).get("undecided_why", ())]:
                raise Hidden(json.dumps(d["joined"])[:2000])
        wrong = missing(answer, shown.out)
        assert not wrong, wrong
        wire, = (row for d in documents for row in d.get("joined", {}).get("wire", ()))
        assert (wire["from"], wire["to"]) == (RX, TX) and wire["segments"] == counter(), (wire, counter())


@rootless
@case
def every_story_is_tried():
    """In a scene, or its command says the same as the page, wherever it is run."""
    scenes = {title for title, _ in STORIES} | {CARRIER}
    rest = {title: blocks for title, blocks in page().items() if title not in scenes and blocks}
    explained = {title for title, blocks in page().items() if not blocks}
    assert len(page()) == len(scenes) + len(rest) + len(explained), len(page())
    assert explained == {  # advice without output
        "Calls and streams have gaps (RTP, WebRTC, media servers)",
        "DNS queries take exactly 5 seconds (Kubernetes services)",
        "ethtool, node_exporter, /proc/net/dev and pktledger show different numbers"}, explained
    for title, ((command, *text),) in rest.items():
        words = shlex.split(command.split("# ", 1)[1])
        assert words[:3] == ["pktledger", "check", "--explain"], title
        assert pktledger(*words[1:]).out.splitlines() == text, title


if __name__ == "__main__":
    main()
