# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What is compared with what. Data only; measure.py knows how."""

from dataclasses import dataclass

from lab import ADDR, ADDR6, DEV, MAC, RX, TX

SECONDS_MAX = 60  # of a window
LONG = "600"  # seconds: longer than any window, so that the end is always ours to choose
PORT = 28779
RCVBUF = "4M"


@dataclass(frozen=True)
class Command:
    """One process. An argument may be {rate}, {pps} or {bits} of a paced trial; {rx} is the
    receiver's port as `run -i` names it."""
    end: str
    args: tuple
    cpu: int = None
    ready: tuple = None


@dataclass(frozen=True)
class Contender:
    """Started in this order; the first of `commands` is what `name` means."""
    name: str
    commands: tuple
    help: str = None  # an option that its --help must know
    floor: float = None  # least ratio of ours to it
    goal: float = None

    @property
    def program(self):
        return self.commands[0].args[0]


@dataclass(frozen=True)
class Row:
    id: str
    title: str
    method: str  # transmit, receive, lossless, run, pacing, gaps or beside
    ours: tuple  # of Contender: the first that this build can
    peers: tuple = ()
    load: tuple = ()  # of Contender, as `ours`: what the receivers get
    sink: str = None  # where it ends: xdp, tc, socket (nobody reads), ip or other (host)
    payload: int = None  # bytes, where a packet may be several datagrams
    queues: int = 1
    rate: int = None  # packets/s, pacing
    floor: float = None  # absolute
    goal: float = None
    note: str = None
    unit: str = "packets/s"
    counter: str = "rx_packets"  # receive, beside: what is counted
    path: tuple = ()  # (end, command): what the path is made to be like


def ours(command, args, end=TX, cpu=0, ready=None):
    args = ("pktledger", command, *args.split())
    return Contender("pktledger " + " ".join(args[1:]),
                     (Command(end, args, cpu, ready),))


def send(args, cpu=0):
    return ours("send", f"{args} -t {LONG} -q {ADDR[RX]}", TX, cpu)


def peer(name, text, end=TX, cpu=0, ready=None, **more):
    return Contender(name, (Command(end, tuple(text.split()), cpu, ready),), **more)


def served(name, client, server, ready, **more):
    """A tool whose sender talks to a server of its own."""
    return Contender(name, (Command(RX, tuple(server.split()), 1, ready),
                            Command(TX, tuple(client.split()), 0)), **more)


def iperf3(args, name="iperf3 -u", **more):
    return served(name, f"iperf3 -c {ADDR[RX]} -u -l 512 -t {LONG} {args}", "iperf3 -s",
                  ("tcp", 5201), **more)


def sockperf(args, **more):
    to = f"-i {ADDR[RX]} -p 11111 --buffer-size {4 << 20}"
    return served("sockperf tp", f"sockperf tp {to} -m 512 -t {LONG} {args}",
                  f"sockperf sr {to}", ("udp", 11111), **more)


def bound(text, name, end=TX, cpu=0, **more):
    """A bare loop of system calls, which writes the stamp and keeps no books."""
    return peer(f"bound: {name}", f"bound {text}", end, cpu, floor=0.95, goal=0.98, **more)


NUTTCP = served("nuttcp -u", f"nuttcp -u -l512 -Ru -T{LONG} {ADDR[RX]}", "nuttcp -S --nofork",
                ("tcp", 5000))


def trafficgen_udp(threads, **more):
    return peer("xdp-trafficgen udp",
                f"xdp-trafficgen udp -s 64 -t {threads} -m {MAC[RX]} -M {MAC[TX]} -a {ADDR6[RX]} "
                f"-A {ADDR6[TX]} {DEV[TX]}", cpu=0 if threads == 1 else None, **more)


# Ethernet, IPv4, UDP; 60 bytes, as 64 with FCS. Checksums are left 0.
TRAFGEN_FRAME = "{{ {dst}, {src}, 0x08, 0x00, 0x45, 0, 0, 46, 0, 0, 0x40, 0, 64, 17, 0, 0, " \
    "198, 18, 0, 1, 198, 18, 0, 2, 0x70, 0x6b, 0x70, 0x6b, 0, 26, 0, 0, fill(0, 18) }}".format(
        dst="0x" + MAC[RX].replace(":", ", 0x"), src="0x" + MAC[TX].replace(":", ", 0x"))
# It would set sysctls of the host and the affinity of interrupts.
TRAFGEN_QUIET = ("--no-sock-mem", "--notouch-irq")
TRAFGEN = Contender("trafgen", (Command(TX, ("trafgen", *TRAFGEN_QUIET, "--dev", DEV[TX],
                                             "--cpus", "1", TRAFGEN_FRAME), 0),))
XSK_UDP = peer("xdp-trafficgen xsk-udp", f"xdp-trafficgen xsk-udp -C copy -s 64 -Q -m {MAC[RX]} "
               f"-M {MAC[TX]} {DEV[TX]}", floor=1.1, goal=1.5)
XDPSOCK_TX = peer("xdpsock txonly", f"xdpsock -i {DEV[TX]} -q 0 -t -N -c -s 64 -G {MAC[RX]}",
                  floor=1.1, goal=1.5)

STAMPED = (send(f"--tx xdp -i {DEV[TX]} --size 64 --rate max"),
           send(f"--tx xsk -i {DEV[TX]} --size 64 --rate max"))


def receiver(engine):
    return (ours("recv", f"--rx {engine} -i {DEV[RX]} --stay -q", RX, 1, ("xdp", DEV[RX])),)


def xdp_peer(name, text, **more):
    return peer(name, text, RX, 1, ("xdp", DEV[RX]), **more)


def pacing(rate, label):
    args = f"-i {DEV[TX]} --size 64 --rate {rate}"
    return Row(f"pacing-{label}", f"pacing at {label} packets/s", "pacing",
               (send(f"--tx xdp {args}"), send(f"--tx xsk {args}")), rate=rate, sink="xdp",
               floor=1e-3, goal=1e-4, unit="rate error")


def gaps(engine, label, rate, *peers):
    port = "" if engine == "socket" else f"-i {DEV[TX]} "
    return Row(f"gap-{engine}-{label}", f"gaps at {label} packets/s, --tx {engine}", "gaps",
               (send(f"--tx {engine} {port}-l 512 --rate {rate}"),), peers, rate=rate, payload=512,
               sink="tc", unit="ns")


def gap_rows():
    """Deviation of gaps from the even one."""
    for engine in ("socket", "xsk", "xdp"):
        for label, rate in (("1k", 1000), ("10k", 10000), ("100k", 100000), ("300k", 300000)):
            yield gaps(engine, label, rate,
                       iperf3("-b {bits}", floor=1, goal=1),
                       iperf3("-b {bits} --pacing-timer 1", "iperf3 -u --pacing-timer 1", floor=1,
                              goal=1))


def read_by(name, receiver, sender, **more):
    return Contender(
        name, (Command(RX, tuple(receiver.split()), 1, ("udp", PORT)),
               Command(TX, ("pktledger", "send", "--tx", "socket", "-l", "512", "--rate", "{rate}",
                            *sender, "-t", LONG, "-q", ADDR[RX]), 0)), **more)


def recv_socket(*sender):
    receiver = f"recv --rx socket --rcvbuf {RCVBUF}"
    return read_by(f"pktledger {receiver}", f"pktledger {receiver} --stay -q", sender)


def recv_bound(*sender):
    """With the same gap between calls that find little as ours."""
    return read_by("bound: a loop of recvmmsg()", f"bound recvmmsg {PORT} {4 << 20} 50", sender,
                   floor=0.95, goal=0.98)


def trace(args=""):
    """The whole host. A tracer has some seconds to begin."""
    return (ours("trace", f"-q {args}".strip(), cpu=None, ready=("seconds", 2)),)


def untraced(floor, goal):
    return Contender("no tracer", (), floor=floor, goal=goal)


def empty(*tracepoints, **more):
    return peer("empty programs at the same hooks", f"empty {' '.join(tracepoints)}", cpu=None,
                ready=("said", "ready"), **more)


BALANCE_HOOKS = ("netif_receive_skb", "net_dev_queue", "kfree_skb", "sock_recv_length")
BALANCE = f"--balance udp port {PORT}"
OTHERS = "--balance udp port 9"
# As people type it: the reason is counted in the kernel, by name in the end.
BPFTRACE = peer("bpftrace", "bpftrace -e tracepoint:skb:kfree_skb{@[args->reason]=count();}",
                cpu=None, ready=("seconds", 4))
PERF = peer("perf record -e skb:kfree_skb", "perf record -q -a -e skb:kfree_skb -o {tmp}",
            cpu=None, ready=("seconds", 2))

# As fast as one thread can: what nobody takes is dropped where the row says.
LIVE = (send(f"--tx xdp -i {DEV[TX]} --size 64 --rate max"),)
TCP = (served("iperf3", f"iperf3 -c {ADDR[RX]} -C cubic -t {LONG}", "iperf3 -s", ("tcp", 5201)),)
SEGMENTS = ((TX, f"ethtool -K {DEV[TX]} tso off gso off"),
            (TX, f"ip link set {DEV[TX]} gso_max_segs 1"))
# Always the same ones, or chance decides what TCP reaches.
LOSS = ((RX, "nft add table ip f; add chain ip f c { type filter hook prerouting priority 0; }; "
             "add rule ip f c tcp dport 5201 meta length > 200 numgen inc mod 1000 1 drop"),)


def dropped(name, title, observer, peers, **more):
    more = {"sink": "socket", "counter": "RcvbufErrors", "load": LIVE, **more}
    return Row(name, title, "beside", observer, peers, unit="drops/s", **more)


def passed(name, title, observer, peers, **more):
    more = {"counter": "InDatagrams", "load": (recv_socket(),), "unit": "datagrams/s read", **more}
    return Row(name, title, "beside", observer, peers, **more)


def run(args):
    return (ours("run", f"--rx socket {args} --rcvbuf 8M --size 64 --rate {{rate}} -j", cpu=None),)


ROWS = (
    Row("tx-xdp-1", "send live frames, 64 B, 1 thread", "transmit",
        (send(f"--tx xdp -i {DEV[TX]} --size 64 --rate max"),),
        (bound(f"live {DEV[TX]} {MAC[RX]} {MAC[TX]}", "live frames, redirected and no more"),
         trafficgen_udp(1, floor=1.15, goal=1.3), TRAFGEN), sink="xdp"),
    Row("tx-xdp-2", "send live frames, 64 B, 2 threads", "transmit",
        (send(f"--tx xdp -i {DEV[TX]} --size 64 --rate max -P 2", cpu=None),),
        (trafficgen_udp(2, floor=1.0, goal=1.2),), sink="xdp", queues=2),
    Row("tx-xsk", "send by AF_XDP in copy mode, 64 B", "transmit",
        (send(f"--tx xsk -i {DEV[TX]} --size 64 --rate max"),),
        (bound(f"xsk {DEV[TX]} {MAC[RX]} {MAC[TX]}", "a loop of AF_XDP"),
         XSK_UDP, XDPSOCK_TX, TRAFGEN), sink="xdp"),
    Row("tx-socket", "send by a socket, 512 B payload", "transmit",
        (send("--tx socket -l 512 --rate max"),),
        (bound(f"sendmmsg {ADDR[RX]} {PORT} 512", "a loop of sendmmsg()"),
         iperf3("-b 0", floor=1.5, goal=2), NUTTCP, sockperf("")), sink="tc", payload=512),
    Row("tx-socket-gso", "send by a socket with UDP GSO, 512 B payload", "transmit",
        (send("--tx socket --gso -l 512 --rate max"),),
        (bound(f"sendmmsg {ADDR[RX]} {PORT} 512 64", "a loop of sendmmsg() with UDP_SEGMENT"),
         iperf3("-b 0", floor=4, goal=8), iperf3("-b 0 --gsro", "iperf3 -u --gsro", help="--gsro")),
        sink="tc", payload=512, note="counted in datagrams"),
    Row("rx-xdp", "receive by an XDP program, settling fates", "receive", receiver("xdp"),
        (xdp_peer("xdp-bench drop", f"xdp-bench drop {DEV[RX]}", floor=0.95, goal=1.0),),
        load=STAMPED),
    Row("rx-xsk", "receive by AF_XDP, settling fates", "receive", receiver("xsk"),
        (bound(f"absorb {DEV[RX]}", "a loop of AF_XDP that reads each stamp", RX, 1,
               ready=("xdp", DEV[RX])),
         xdp_peer("xdp-bench xsk-drop", f"xdp-bench xsk-drop -C copy {DEV[RX]}",
                  floor=0.95, goal=1.0),
         xdp_peer("xdpsock rxdrop", f"xdpsock -i {DEV[RX]} -q 0 -r -N -c",
                  floor=0.95, goal=1.0)),
        load=STAMPED, counter="xdp_redirect"),
    Row("rx-socket", "receive by a socket without loss, 512 B payload", "lossless",
        (recv_socket("--gso"),),
        (recv_bound("--gso"), iperf3(f"-b {{bits}} -w {RCVBUF}", floor=2, goal=4),
         sockperf("--mps {pps}")), payload=512,
        note="each with its own sender; ours is `send --gso`, the receiver reads datagram by "
             "datagram"),
    Row("rx-socket-plain", "the same, our sender without GSO", "lossless",
        (recv_socket(),),
        (recv_bound(), iperf3(f"-b {{bits}} -w {RCVBUF}"), sockperf("--mps {pps}")), payload=512),
    Row("run-socket", "run to one socket without loss, 64 B", "run", run("--tx socket --gso"),
        floor=1.0e6, goal=1.3e6, note="the sender uses GSO, the receiver no GRO"),
    Row("run-socket-xdp", "the same, sent as live frames", "run", run("--tx xdp")),
    Row("run-socket-gro", "run to one socket with UDP GRO without loss, 64 B", "run",
        run("--tx socket --gso --gro"), floor=1.3e6, goal=2.0e6),
    dropped("trace", "drops at a full socket buffer, traced", trace(),
            (untraced(0.90, 0.94), empty("kfree_skb"), BPFTRACE, PERF)),
    dropped("trace-flow", "the same, by flow", trace("--by flow"), (untraced(0.85, 0.90),)),
    dropped("trace-closed", "drops at a closed port, traced", trace(),
            (untraced(0.90, 0.94), empty("kfree_skb")), sink="ip", counter="NoPorts"),
    dropped("trace-other", "drops of frames for another host, traced", trace(),
            (untraced(0.90, 0.94), empty("kfree_skb")), sink="other", counter="rx_packets"),
    dropped("balance-drops", "drops at a full socket buffer, the flow's ledger kept",
            trace(BALANCE), (untraced(0.5, 0.8), empty(*BALANCE_HOOKS, floor=0.6, goal=0.92))),
    dropped("balance-drops-other", "the same, the ledger of another flow kept", trace(OTHERS),
            (untraced(0.5, 0.8), empty(*BALANCE_HOOKS, floor=0.6, goal=0.92))),
    passed("trace-quiet", "a path that drops nothing, traced", trace(),
           (untraced(0.97, 0.99), BPFTRACE)),
    passed("balance", "a path that drops nothing, its ledger kept", trace(BALANCE),
           (untraced(0.8, 0.9), empty(*BALANCE_HOOKS, floor=0.85, goal=0.95))),
    passed("balance-other", "the same, the ledger of another flow kept", trace(OTHERS),
           (untraced(0.8, 0.9), empty(*BALANCE_HOOKS, floor=0.85, goal=0.95))),
    passed("balance-xdp", "live frames that XDP drops, a ledger kept", trace(BALANCE),
           (untraced(0.97, 0.99), empty("xdp_devmap_xmit")), load=LIVE, sink="xdp",
           counter="rx_packets", unit="packets/s"),
    passed("trace-tcp", "TCP with TSO, traced", trace(), (untraced(0.97, 0.99),), load=TCP,
           counter="rx_bytes", unit="bytes/s"),
    *(passed(f"balance-tcp{name}", f"TCP {what}, its ledger kept",
             trace("--balance tcp port 5201"),
             (untraced(floor, goal), empty("net_dev_start_xmit", "tcp_probe")), load=TCP, path=path,
             counter="rx_bytes", unit="bytes/s")
      for name, what, path, floor, goal in (
          ("", "with TSO", (), 0.95, 0.99),
          ("-mtu", "without TSO", SEGMENTS, 0.95, 0.99),
          ("-loss", "with TSO, a packet of 1,000 lost", LOSS, 0.95, 0.97),
          ("-mtu-loss", "without TSO, a packet of 1,000 lost", SEGMENTS + LOSS, 0.95, 0.97))),
    pacing(1000, "1k"), pacing(10000, "10k"), pacing(100000, "100k"), pacing(1000000, "1M"),
    *gap_rows(),
)
