# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What is compared with what. Data only; measure.py measures it."""

from dataclasses import dataclass

from lab import ADDR, ADDR6, DEV, MAC, RX, TX

SECONDS_MAX = 60  # of a window
LONG = "600"  # seconds: longer than any window, so that the bench ends each sender
PORT = 28779
RCVBUF = "4M"


@dataclass(frozen=True)
class Command:
    """One process; `ready` says when it may be used: (kind, port or text)."""
    end: str
    args: tuple
    cpu: int = None
    ready: tuple = None


@dataclass(frozen=True)
class Contender:
    """Its commands are started in this order; `name` means the first one."""
    name: str
    commands: tuple
    help: str = None  # an option that its --help must list
    goal: float = None  # least ratio of ours to it

    @property
    def program(self):
        return self.commands[0].args[0]


@dataclass(frozen=True)
class Row:
    id: str
    title: str
    method: str  # rate, gaps, first_line or whole
    ours: Contender
    peers: tuple = ()
    load: Contender = None
    load_stays: bool = False  # through all samples: the contenders only watch it
    sink: str = None  # method of Lab that says where packets end
    hold: bool = False  # a socket that is never read has the port
    payload: int = None  # bytes, where a packet may be several datagrams
    queues: int = 1
    rate: int = None  # packets/s, gaps
    unit: str = "packets/s"
    counter: str = "rx_packets"
    lost: str = None  # counter that stands still if a receiver took all that was offered
    path: tuple = ()  # (end, command): changes of the path
    statuses: tuple = (0,)
    needs: Contender = None  # for the measuring itself

    @property
    def smaller_is_better(self):
        return self.unit.startswith("s")


def ours(command, args, end=TX, cpu=0, ready=None):
    args = ("pktledger", command, *args.split())
    return Contender("pktledger " + " ".join(args[1:]),
                     (Command(end, args, cpu, ready),))


def send(args, cpu=0):
    return ours("send", f"{args} -t {LONG} -q {ADDR[RX]}", TX, cpu)


def peer(name, text, end=TX, cpu=0, ready=None, **more):
    return Contender(name, (Command(end, tuple(text.split()), cpu, ready),), **more)


def served(name, client, server, ready, **more):
    """A program whose sender talks to its own server."""
    return Contender(name, (Command(RX, tuple(server.split()), 1, ready),
                            Command(TX, tuple(client.split()), 0)), **more)


def iperf3(args, name="iperf3 -u", **more):
    return served(name, f"iperf3 -c {ADDR[RX]} -u -l 512 -t {LONG} {args}", "iperf3 -s",
                  ("tcp", 5201), **more)


def bound(text, name, end=TX, cpu=0, **more):
    """A bare loop of system calls that writes the sequence header and keeps no outcomes."""
    return peer(f"bare loop of {name}", f"bound {text}", end, cpu, **more)


def trafficgen_udp(threads, goal):
    return peer("xdp-trafficgen udp",
                f"xdp-trafficgen udp -s 64 -t {threads} -m {MAC[RX]} -M {MAC[TX]} -a {ADDR6[RX]} "
                f"-A {ADDR6[TX]} {DEV[TX]}", cpu=0 if threads == 1 else None, goal=goal)


LIVE = send(f"--tx xdp -i {DEV[TX]} --size 64 --rate max")


def receiver(engine):
    return ours("recv", f"--rx {engine} -i {DEV[RX]} --stay -q", RX, 1, ("xdp", DEV[RX]))


def xdp_peer(name, text, goal):
    return peer(name, text, RX, 1, ("xdp", DEV[RX]), goal=goal)


def recv_socket():
    return ours("recv", f"--rx socket --rcvbuf {RCVBUF} --stay -q", RX, 1, ("udp", PORT))


def recv_bound(goal):
    """With the same pause between calls that find few datagrams as ours."""
    return bound(f"recvmmsg {PORT} {4 << 20} 50", "recvmmsg()", RX, 1, ready=("udp", PORT),
                 goal=goal)


def gaps(engine, label, rate):
    port = "" if engine == "socket" else f"-i {DEV[TX]} "
    return Row(f"gap-{engine}-{label}", f"gaps at {label} pps, --tx {engine}, p99 off even",
               "gaps", send(f"--tx {engine} {port}-l 512 --rate {rate}"),
               (iperf3(f"-b {rate * 512 * 8} --pacing-timer 1", "iperf3 -u --pacing-timer 1",
                       goal=1),) if engine == "socket" else (),
               rate=rate, sink="take_polled", unit="s", needs=bound("gaps", "capture"))


def trace(args=""):
    """The whole host. The first event says that the programs are attached."""
    return ours("trace", f"--json-lines {args}".strip(), cpu=None,
                ready=("said", '"event":"start"'))


def untraced(goal):
    return Contender("no tracer", (), goal=goal)


def empty(*tracepoints, goal=None):
    return peer("empty programs at the same hooks", f"empty {' '.join(tracepoints)}", cpu=None,
                ready=("said", "ready"), goal=goal)


BALANCE_HOOKS = ("netif_receive_skb", "net_dev_queue", "kfree_skb", "sock_recv_length")
BALANCE = f"--balance udp port {PORT}"
OTHERS = "--balance udp port 9"


def dropped(name, title, observer, peers, **more):
    return Row(name, title, "rate", observer, peers, **{
        "sink": "poll", "hold": True, "counter": "RcvbufErrors", "load": LIVE, "load_stays": True,
        "unit": "drops/s", **more})


HEALTHY = Contender("pktledger", (*recv_socket().commands,
                                  *send("--tx socket -l 512 --rate max").commands))
TCP = Contender("bare loop of TCP", (Command(RX, ("bound", "tcpread", "5201"), 1, ("tcp", 5201)),
                                     Command(TX, ("bound", "tcpsend", ADDR[RX], "5201"), 0)))


def passed(name, title, observer, peers, **more):
    return Row(name, title, "rate", observer, peers, **{
        "counter": "InDatagrams", "load": HEALTHY, "load_stays": True, "unit": "datagrams/s read",
        **more})


def timed(name, title, method, contender, **more):
    return Row(name, title, method, contender, unit=more.pop("unit", "s"), **more)


LOSING = Contender("losing", (Command(TX, ("losing",), None, ("said", "ready")),))

ROWS = (
    dropped("trace", "drops at a full socket buffer, traced", trace(),
            (untraced(0.92), empty("kfree_skb", goal=0.94))),
    dropped("trace-flow", "drops at a full socket buffer, --by flow", trace("--by flow"), (untraced(0.80),)),
    dropped("trace-closed", "drops at a closed port, traced", trace(), (untraced(0.92),),
            hold=False, counter="NoPorts"),
    dropped("trace-other", "drops of frames for another host, traced", trace(),
            (untraced(0.92),), hold=False, sink="be_another", counter="rx_packets"),
    dropped("balance-drops", "drops at a full socket buffer, --balance of this flow",
            trace(BALANCE), (untraced(0.85), empty(*BALANCE_HOOKS))),
    dropped("balance-drops-other", "drops at a full socket buffer, --balance of another flow",
            trace(OTHERS), (untraced(0.95),)),
    passed("balance", "a path that drops nothing, --balance of this flow", trace(BALANCE),
           (untraced(0.94), empty(*BALANCE_HOOKS))),
    passed("balance-other", "a path that drops nothing, --balance of another flow", trace(OTHERS),
           (untraced(0.96),)),
    passed("balance-xdp", "live frames that XDP drops, --balance", trace(BALANCE),
           (untraced(0.99),), load=LIVE, sink="drop_at_xdp", counter="rx_packets",
           unit="packets/s"),
    passed("trace-tcp", "TCP with TSO, traced", trace(), (untraced(0.99),), load=TCP,
           counter="rx_bytes", unit="bytes/s"),
    passed("balance-tcp", "TCP with TSO, --balance", trace("--balance tcp port 5201"),
           (untraced(0.99),), load=TCP, counter="rx_bytes", unit="bytes/s"),
    Row("tx-xdp-1", "send live frames, 64 B, 1 thread", "rate", LIVE,
        (trafficgen_udp(1, 1.25),
         bound(f"live {DEV[TX]} {MAC[RX]} {MAC[TX]}", "redirected live frames")),
        sink="drop_at_xdp"),
    Row("tx-xdp-2", "send live frames, 64 B, 2 threads", "rate",
        send(f"--tx xdp -i {DEV[TX]} --size 64 --rate max -P 2", cpu=None),
        (trafficgen_udp(2, 1.15),), sink="drop_at_xdp", queues=2),
    Row("tx-xsk", "send over AF_XDP in copy mode, 64 B", "rate",
        send(f"--tx xsk -i {DEV[TX]} --size 64 --rate max"),
        (bound(f"xsk {DEV[TX]} {MAC[RX]} {MAC[TX]}", "AF_XDP", goal=1.0),
         peer("xdp-trafficgen xsk-udp", f"xdp-trafficgen xsk-udp -C copy -s 64 -Q -m {MAC[RX]} "
              f"-M {MAC[TX]} {DEV[TX]}", goal=1.05)), sink="drop_at_xdp"),
    Row("tx-socket", "send over a socket, 512 B payload", "rate",
        send("--tx socket -l 512 --rate max"),
        (bound(f"sendmmsg {ADDR[RX]} {PORT} 512", "sendmmsg()", goal=0.98),
         iperf3("-b 0")), sink="take_at_tc", payload=512, counter="datagrams",
        unit="datagrams/s"),
    Row("tx-socket-gso", "send over a socket with UDP GSO, 512 B payload", "rate",
        send("--tx socket --gso -l 512 --rate max"),
        (bound(f"sendmmsg {ADDR[RX]} {PORT} 512 64", "sendmmsg() with UDP_SEGMENT", goal=0.98),
         iperf3("-b 0"), iperf3("-b 0 --gsro", "iperf3 -u --gsro", help="--gsro")),
        sink="take_at_tc", payload=512, counter="datagrams", unit="datagrams/s"),
    Row("rx-xdp", "receive in XDP, each packet resolved", "rate", receiver("xdp"),
        (xdp_peer("xdp-bench drop", f"xdp-bench drop {DEV[RX]}", 1.0),), load=LIVE),
    Row("rx-xsk", "receive over AF_XDP, each packet resolved", "rate", receiver("xsk"),
        (bound(f"absorb {DEV[RX]}", "AF_XDP that reads each sequence header", RX, 1,
               ready=("xdp", DEV[RX]), goal=0.95),
         xdp_peer("xdp-bench xsk-drop", f"xdp-bench xsk-drop -C copy {DEV[RX]}", 0.95)),
        load=LIVE, counter="xdp_redirect"),
    Row("rx-socket", "receive over a socket, sender with GSO, 512 B payload", "rate",
        recv_socket(), (recv_bound(1.0),), load=send("--tx socket --gso -l 512 --rate max"),
        counter="InDatagrams", lost="RcvbufErrors", unit="datagrams/s read"),
    Row("rx-socket-plain", "receive over a socket, sender without GSO, 512 B payload", "rate", recv_socket(),
        (recv_bound(1.0),), load=send("--tx socket -l 512 --rate max"),
        counter="InDatagrams", lost="RcvbufErrors", unit="datagrams/s read"),
    *(gaps("socket", label, rate) for label, rate in (
        ("1k", 1000), ("10k", 10000), ("100k", 100000), ("300k", 300000))),
    gaps("xsk", "100k", 100000), gaps("xdp", "100k", 100000),
    timed("start-trace", "start of trace, to the first drop printed", "first_line",
          ours("trace", "--events", cpu=None), load=LOSING, load_stays=True),
    timed("start-balance", "start of trace --balance, to the first drop printed", "first_line",
          ours("trace", "--events --balance udp port 28780", cpu=None), load=LOSING,
          load_stays=True),
    timed("run-1000", "run -c 1000, from start to ledger", "whole",
          ours("run", "-c 1000 -j", cpu=None)),
    timed("search-trial", "search, set-up per trial", "whole",
          ours("search", "-t 20ms --warmup 20ms --max-trials 4 --max-rate 20k -j", cpu=None),
          unit="s per trial", statuses=(0, 1)),
)
