#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The stories of pktledger-troubleshooting(7): each is made in a lab, its commands are run as they are
printed, show what the page prints, and after its remedy the kernel's own counters stand still."""

import contextlib
import http.server
import json
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
from ends import do, inside, need, nft, nft_counters, repeating, sysctl, tun, udp
from lib import (BINARY, ROOT, TIMEOUT, case, exclusive, first, kill_group, main, pktledger, require,
                 rootless, started, table, until)
from labs import Lab
from test_tcp import Hidden, look_for_hidden, suppressed, where_seen
from traced import NAME, RX, TX, V4

PAGE = ROOT / "tools/man/pktledger-troubleshooting.7.scd"
PORT = 5060  # of the page, which other tests do not have
WEB = 8443
FLANNEL = 8472  # port of its VXLAN
FAR = "198.18.1.2"  # the receiver behind a router
GROUP = "239.1.2.3"
ROUTER, SWITCH = f"{NAME}-router", f"{NAME}-bridge"
HOSTS = {"receiver": RX, "sender": TX, "router": ROUTER, "switch": SWITCH}
SERVICE = "198.18.1.200"  # an address that the router translates
IP_MTU_DISCOVER, IP_PMTUDISC_DO = 10, 2

READER = """
import socket, sys, time
open("/proc/self/comm", "w").write("sipd")
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, int(sys.argv[2]))
s.bind(("", int(sys.argv[1])))
print("ready", flush=True)
while True:
    s.recv(65536)
    time.sleep(float(sys.argv[3]))
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


@contextlib.contextmanager
def program(text, *args):
    """A Python program in the receiver's namespace that knows the port."""
    with subprocess.Popen(["ip", "netns", "exec", RX, sys.executable, "-c", text, str(PORT),
                           *map(str, args)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def reader(pause=0.0, rcvbuf=1 << 20):
    """A program `sipd` with the port open that takes so many seconds for a datagram."""
    return program(READER, rcvbuf, pause)


@contextlib.contextmanager
def sender(to=V4, burst=10, pause=0.02, size=100, options=()):
    """Datagrams to the port, so many at once."""
    with udp(TX, socket.AF_INET) as sock:
        for option in options:
            sock.setsockopt(socket.IPPROTO_IP, *option)
        with repeating(pause, lambda: [sock.sendto(bytes(size), (to, PORT)) for _ in range(burst)]):
            yield


def snmp(netns, protocol, name, file="snmp"):
    """A counter of /proc/net/snmp, as `nstat` shows it."""
    rows = [line.split() for line in do(netns, "cat", f"/proc/net/{file}").splitlines()
            if line.startswith(f"{protocol}: ")]
    return int(dict(zip(*rows))[name])


def ip(netns, *args):
    do(netns, "ip", *args)


def drops(netns, *command):
    """Of the first object that `ip -s -j` or `tc -s -j` shows."""
    return json.loads(do(netns, *command))[0]["drops"]


def rule(netns, chain, match):
    """A rule of nft that counts what it drops; returns what reads its counter."""
    table, of = chain
    nft(netns, f"table {table} {{ chain {of.split()[0]} {{ {of.partition(' ')[2]}\n"
               f"{match} counter drop\n}}\n}}\n")
    return lambda: nft_counters(netns).get(None, 0)


INPUT = "inet filter", "input type filter hook input priority 0;"


# Scenes: what is wrong. Each yields the receiving program, if a remedy needs it, and what reads a
# counter of the kernel that says so, too, if there is one.


@contextlib.contextmanager
def sleeping_reader():
    with Lab(NAME), reader(0.003, 20000), sender(burst=20, pause=0.01):
        yield None, lambda: snmp(RX, "Udp", "RcvbufErrors")


@contextlib.contextmanager
def bursts():
    with Lab(NAME), reader(0, 20000), sender(burst=300, pause=0.2):
        yield None, lambda: snmp(RX, "Udp", "RcvbufErrors")


@contextlib.contextmanager
def stopped_reader():
    with Lab(NAME), reader(0, 20000) as process, sender():
        process.send_signal(signal.SIGSTOP)
        yield process, lambda: snmp(RX, "Udp", "RcvbufErrors")


@contextlib.contextmanager
def closed_port():
    with Lab(NAME), sender():
        yield None, lambda: snmp(RX, "Udp", "NoPorts")


@contextlib.contextmanager
def firewall():
    with Lab(NAME), reader(), sender():
        yield None, rule(RX, INPUT, f"udp dport {PORT}")


@contextlib.contextmanager
def asymmetric():
    with Lab(NAME), reader(), sender():
        ip(RX, "link", "add", "up1", "type", "veth", "peer", "name", "isp1")
        for name in "up1", "isp1":
            ip(RX, "link", "set", name, "up")
        ip(RX, "route", "add", "198.18.0.1/32", "dev", "up1")
        sysctl(RX, "net/ipv4/conf/v-rx/rp_filter", 1)
        yield None, lambda: snmp(RX, "TcpExt", "IPReversePathFilter", "netstat")


@contextlib.contextmanager
def not_joined():
    with Lab(NAME), reader():
        ip(TX, "route", "add", "224.0.0.0/4", "dev", "v-tx")
        with sender(GROUP):
            yield None, None


@contextlib.contextmanager
def wrong_mac():
    with Lab(NAME), reader(), sender():
        ip(TX, "neigh", "replace", V4, "lladdr", "02:00:00:00:00:99", "dev", "v-tx")
        yield None, None


@contextlib.contextmanager
def lost_fragments():
    with Lab(NAME), reader(), sender(size=4000, burst=2):
        sysctl(RX, "net/ipv4/ipfrag_time", 1)
        rule(RX, ("netdev edge", "in type filter hook ingress device v-rx priority 0;"),
             "ip frag-off & 0x1fff != 0")
        yield None, lambda: snmp(RX, "Ip", "ReasmFails")


@contextlib.contextmanager
def black_hole():
    with Lab(NAME, "--topology", "router"), reader():
        ip(ROUTER, "link", "set", "v-r1", "mtu", "1300")
        rule(TX, INPUT, "meta l4proto icmp")
        with sender(FAR, size=1400, options=[(IP_MTU_DISCOVER, IP_PMTUDISC_DO)]):
            yield None, lambda: snmp(ROUTER, "Ip", "FragFails")


@contextlib.contextmanager
def no_forwarding():
    with Lab(NAME, "--topology", "router"), reader(), sender(FAR):
        sysctl(ROUTER, "net/ipv4/ip_forward", 0)
        yield None, lambda: snmp(ROUTER, "Ip", "InAddrErrors")


@contextlib.contextmanager
def short_ttl():
    with Lab(NAME, "--topology", "router"), reader(), sender(FAR, options=[(socket.IP_TTL, 1)]):
        yield None, lambda: snmp(ROUTER, "Ip", "InHdrErrors")
        shown = pktledger("check", "-j", "-t", "0.5", "--netns", ROUTER).json["end"]["findings"]
        assert "ip-ttl" in [f["id"] for f in shown if f["losing"]], shown


@contextlib.contextmanager
def silent_neighbour():
    with Lab(NAME), sender("198.18.0.77", burst=1):
        yield None, None


@contextlib.contextmanager
def shaped():
    with Lab(NAME), reader(), sender(size=1000):
        do(TX, *"tc qdisc add dev v-tx root tbf rate 1mbit burst 4kb limit 8kb".split())
        yield None, lambda: drops(TX, *"tc -s -j qdisc show dev v-tx".split())


@contextlib.contextmanager
def wrong_checksum():
    datagram = struct.pack("!HHHH", PORT, FLANNEL, 108, 0xdead) + bytes(100)
    with Lab(NAME):
        ip(RX, *f"link add flannel.1 type vxlan id 1 dstport {FLANNEL} dev v-rx".split())
        ip(RX, "link", "set", "flannel.1", "up")
        with inside(TX):
            raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
        with raw, repeating(0.01, lambda: raw.sendto(datagram, (V4, 0))):
            yield None, lambda: snmp(RX, "Udp", "InCsumErrors")
            shown = pktledger("check", "-j", "-t", "0.5", "--netns", RX).json["end"]["findings"]
            assert "udp-csum-tunnel" in [f["id"] for f in shown if f["losing"]], shown


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


@contextlib.contextmanager
def lossy_router():
    with Lab(NAME, "--topology", "router"), web():
        yield None, rule(ROUTER, ("inet filter", "forward type filter hook forward priority 0;"),
                         f"tcp sport {WEB} meta length > 1000 numgen inc mod 40 == 39")


@contextlib.contextmanager
def short_queue():
    with Lab(NAME), web():
        do(TX, *"tc qdisc add dev v-tx root tbf rate 100mbit burst 10kb limit 10kb".split())
        sysctl(TX, "net/ipv4/tcp_congestion_control", "reno")  # no timer that sends
        yield None, lambda: drops(TX, *"tc -s -j qdisc show dev v-tx".split())


@contextlib.contextmanager
def stale_mac():
    """An AF_XDP sender that learned the address of another host."""
    with Lab(NAME) as lab, reader():
        ip(TX, *"neigh replace 198.18.0.2 lladdr 02:00:00:00:00:99 dev v-tx nud permanent".split())
        process = lab.at("tx", "send", f"{V4}:{PORT}", "--tx", "xsk", "-i", "v-tx", "--rate", "500",
                         "-t", str(TIMEOUT), "-q")
        try:
            until(lambda: link(TX, "v-tx")["tx"]["packets"] > 50, 10, "frames are sent")
            yield None, None
        finally:
            kill_group(process)


@contextlib.contextmanager
def full_fragment_memory():
    with Lab(NAME), reader(rcvbuf=4 << 20), sender(size=60000, burst=4, pause=0.01):
        sysctl(RX, "net/ipv4/ipfrag_low_thresh", 40000)
        sysctl(RX, "net/ipv4/ipfrag_high_thresh", 60000)
        yield None, lambda: snmp(RX, "Ip", "ReasmFails")


@contextlib.contextmanager
def slow_capture():
    """A tcpdump with a small ring, which is stopped as one that waits for its disk."""
    require(shutil.which("tcpdump"), "needs tcpdump")
    with Lab(NAME), reader(), sender(burst=40, size=1000):
        with subprocess.Popen(["ip", "netns", "exec", RX, "tcpdump", "-n", "-i", "v-rx", "-B", "1024",
                               "-w", "/dev/null"], stderr=subprocess.PIPE, text=True) as process:
            try:
                assert "listening" in process.stderr.readline()
                process.send_signal(signal.SIGSTOP)
                time.sleep(1.5)  # until the ring is full
                yield process, None
            finally:
                process.kill()


@contextlib.contextmanager
def one_flow():
    with Lab(NAME), program(WORKERS), sender(burst=20, pause=0.005):
        yield None, lambda: snmp(RX, "Udp", "RcvbufErrors")


@contextlib.contextmanager
def full_queue_of_a_program():
    with Lab(NAME), program(SYSLOGD), sender(burst=10, pause=0.01):
        yield None, lambda: snmp(RX, "Udp", "RcvbufErrors")


@contextlib.contextmanager
def bound_to_localhost():
    with Lab(NAME), program(HOLDER, "127.0.0.1"), sender():
        yield None, lambda: snmp(RX, "Udp", "NoPorts")


@contextlib.contextmanager
def answer_of_another_address():
    """The client asked .9; the server answers from its first address."""
    with Lab(NAME):
        ip(TX, "addr", "add", "198.18.0.9/24", "dev", "v-tx")
        with program(HOLDER, "0.0.0.0", "198.18.0.9"), sender():
            yield None, lambda: snmp(RX, "Udp", "NoPorts")


@contextlib.contextmanager
def no_accept():
    """A program that listens and does not accept; its clients do not wait."""
    clients = []
    with Lab(NAME), contextlib.ExitStack() as stack:
        with inside(RX):
            listener = stack.enter_context(socket.create_server(("", WEB), backlog=1))

        def connect():
            with inside(TX):
                clients.append(socket.socket())
            clients[-1].setblocking(False)
            clients[-1].connect((V4, WEB))

        stack.callback(lambda: [sock.close() for sock in clients])
        stack.enter_context(repeating(0.02, connect))
        assert listener.fileno() >= 0
        yield None, lambda: snmp(RX, "TcpExt", "ListenOverflows", "netstat")


@contextlib.contextmanager
def unknown_protocol():
    """A switch that says what it is, which nobody on the host listens to."""
    with Lab(NAME), reader(), sender():
        with inside(TX), socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as lldp:
            lldp.bind(("v-tx", 0))
            frame = bytes.fromhex("0180c200000e" "020000000001" "88cc") + bytes(46)
            with repeating(0.02, lambda: lldp.send(frame)):
                yield None, lambda: link(RX, "v-rx")["rx"]["dropped"]


@contextlib.contextmanager
def vlan_without_interface():
    with Lab(NAME), reader(), sender():
        mac = json.loads(do(RX, "ip", "-j", "link", "show", "v-rx"))[0]["address"]
        frame = bytes.fromhex(mac.replace(":", "") + "020000000001" "8100" "004d" "0800" "45") + bytes(59)
        with inside(TX), socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as trunk:
            trunk.bind(("v-tx", 0))
            with repeating(0.02, lambda: trunk.send(frame)):
                yield None, None


@contextlib.contextmanager
def slow_tunnel():
    """A VPN whose program reads its tun now and then."""
    def work():
        with contextlib.suppress(BlockingIOError):
            while device.read(2000):
                pass

    with Lab(NAME), reader(), sender(), tun(TX) as device:
        ip(TX, "link", "set", "t0", "txqueuelen", "50")
        with sender("198.18.5.9", burst=200, pause=0.05), repeating(0.02, work):
            yield None, lambda: link(TX, "t0")["tx"]["dropped"]


@contextlib.contextmanager
def small_peer():
    with Lab(NAME), reader(), sender(), sender(size=1200):
        ip(RX, "link", "set", "v-rx", "mtu", "1000")
        yield None, lambda: link(TX, "v-tx")["tx"]["dropped"]


@contextlib.contextmanager
def unplugged():
    with Lab(NAME), reader(), sender():
        ip(RX, "link", "set", "v-rx", "down")
        until(lambda: "NO-CARRIER" in do(TX, "ip", "link", "show", "v-tx"), 10, "no carrier")
        yield None, lambda: link(TX, "v-tx")["tx"]["dropped"]


@contextlib.contextmanager
def blackhole():
    with Lab(NAME, "--topology", "router"), reader(), sender(FAR):
        ip(ROUTER, "route", "add", "blackhole", "198.18.1.0/26")
        yield None, None


@contextlib.contextmanager
def spanning_tree():
    with Lab(NAME, "--topology", "bridge"), reader(), sender():
        do(SWITCH, *"bridge link set dev v-b0 state 1".split())
        yield None, None


@contextlib.contextmanager
def larger_bridge():
    """The router's containers have the usual MTU, and its uplink does not."""
    with Lab(NAME, "--topology", "router"), reader(), sender(FAR):
        ip(ROUTER, "link", "set", "v-r1", "mtu", "1400")
        ip(RX, "link", "set", "v-rx", "mtu", "1400")
        ip(ROUTER, "route", "add", "default", "via", FAR)
        sysctl(ROUTER, "net/ipv6/conf/default/disable_ipv6", 1)  # or it sends a frame to no port
        need(ROUTER, *"ip link add docker0 up type bridge mcast_snooping 0".split())
        yield None, None


@contextlib.contextmanager
def no_port_left():
    """Source NAT has two ports for more flows to one destination."""
    with Lab(NAME, "--topology", "router"), reader():
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
    with Lab(NAME, "--topology", "router"), reader():
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
            until(lambda: snmp(RX, "Udp", "InDatagrams"), 10, "the first container receives")
            ip(ROUTER, "link", "del", "old")
            nft(ROUTER, f"flush chain ip nat c\n{rule}{FAR}\n")
            yield None, None


def link(netns, ifname):
    return json.loads(do(netns, "ip", "-s", "-j", "link", "show", ifname))[0]["stats64"]


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


def execute(line, process):
    """A line of the page, in the namespace of the host whose prompt it has."""
    host, command = line.split("# ", 1)
    words = [str(process.pid) if process and word == "4242" else word for word in shlex.split(command)]
    done = subprocess.run(["ip", "netns", "exec", HOSTS[host],
                           *(BINARY if word == "pktledger" else word for word in words)],
                          capture_output=True, text=True, check=False, timeout=TIMEOUT)
    require(done.returncode != 3, done.stderr.strip())
    assert done.returncode == 0, (command, done.stderr)
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


@table((title, title, scene) for title, scene in first(1, STORIES))
def story(title, scene):
    shows, *mends = page()[title]
    with scene() as (process, counter):
        if counter and " -- " not in shows[0]:  # else it is the command that sends
            until(counter, 10, "packets are lost")
        elif not counter:
            time.sleep(1)
        before = counter() if counter else None
        wrong = missing(shows, execute(shows[0], process))
        assert not wrong, wrong
        assert not counter or counter() > before, before
        for line in (line for block in mends for line in block):
            execute(line, process)
        if not mends:
            return
        # until what is under way is lost, as fragments are after a second
        time.sleep(0.2 if scene is firewall else 1.5)
        before, received = counter() if counter else None, snmp(RX, "Udp", "InDatagrams")
        output = execute(shows[0], process)
        assert fragments(shows)[-1] not in flat(output), output
        assert not counter or counter() == before, (before, counter())
        assert snmp(RX, "Udp", "InDatagrams") > received


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
