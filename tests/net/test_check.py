#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`check`: hosts made sick on purpose in namespaces; it names the cause first. And healthy ones."""

import contextlib
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from ends import (PORT, capture_statistics, counter, do, fill_connections, inside, link, need, nft, repeating,
                  ring_of_a_capture, send, sysctl, udp)
import test_troubleshooting as stories
from lib import exclusive, first as named_first
from lib import (BINARY, EVERYTHING, PATIENCE, TIMEOUT, as_nobody, assert_findings, assert_valid, case, copied_program,
                 directory, first_finding, main, pktledger, proves, require, rootless, started, table, thorough, until)
from test_troubleshooting import FAR, GROUP, HOLDER, ROUTER, ip, lab, program, reader, sender
from traced import NAME, RX, TX, V4, namespaces, tracing

OURSELVES = Path("/proc/self/comm").read_text().strip()


def check(*args, netns=RX, status=0):
    if "-t" not in args:
        args = ("-t", "0.4", *args)
    result = pktledger("check", "-j", "--netns", netns, *args)
    assert result.status == status, result
    assert_valid(result.json)
    return result.json["end"]


def of_namespace(end):
    """The rest of the host has its own life."""
    return [f for f in end["findings"] if f["scope"] != "host"]


def findings(*args, **kwargs):
    return of_namespace(check(*args, **kwargs))


def first(*args, **kwargs):
    """A window in which a busy host let no packet come shows nothing: it looks again."""
    for _ in range(5):
        end = check(*args, **kwargs)
        if of_namespace(end) or any(i["rx_packets"] for i in end["interfaces"]):
            break
    assert of_namespace(end), f"nothing was found: {end}"
    return first_finding(of_namespace(end))


def begun_watching(pid):
    """It waits for a signal or the end of its window."""
    return "sigtimedwait" in Path(f"/proc/{pid}/wchan").read_text()


@contextlib.contextmanager
def looking(command, *args):
    """One that has begun to watch; yields what ends it and returns its document."""
    if command == "trace":
        with tracing(*args) as t:
            yield t.stop
        return
    with started("check", "-j", "-t", str(TIMEOUT), *args) as process:
        def end():
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=TIMEOUT)
            assert process.returncode == 0, err
            return json.loads(out)

        until(lambda: begun_watching(process.pid), 10, "check watches")
        yield end


def look_where(netns, *args):
    """The end of a look at all, if this was among those that were read."""
    result = pktledger("check", "-j", *args)
    assert result.status == 0, result
    assert_valid(result.json)
    end = result.json["end"]
    read = any(f.get("netns") == netns and f["subject"] for f in end["findings"])
    return (read or not end["namespaces_losing_unread"]) and end


@case
@exclusive
def another_namespace_loses():
    """It is found by its counters, then looked at; a port is found where it is open."""
    # among those that lose most, whatever else the host does
    with lab(), reader(0.01, 20000), sender(burst=200, size=512):
        for args in [], ["-p", str(PORT), "-t", "0.5"]:
            # where many others lose more, as in bpf/look beside this, it is not looked at
            end = until(lambda: look_where(RX, *args), 20, "this namespace among those that lose most")
            found = [f for f in end["findings"] if f.get("netns") == RX and f["losing"]]
            assert [(f["subject"], f["id"][:6]) for f in found] == [(f"port {PORT}", "rcvbuf")], end
            assert not [f for f in end["findings"] if f["id"] == "port-closed"], end
            assert [s["port"] for s in end["sockets"] if s.get("netns") == RX] == [PORT], end
            assert args or end["window_ns"] > 1.5e9 and end["namespaces"] > 2, end
        text = pktledger("check", "-p", str(PORT), "-t", "0.5").out
        assert f"port {PORT} in {RX}, " in text, text


@case
@exclusive
def more_namespaces_than_are_read():
    """The others are judged by their counters, each once."""
    with namespaces(10) as names, contextlib.ExitStack() as stack:
        socks = [stack.enter_context(udp(name, socket.AF_INET)) for name in names]

        def lose():
            for sock in 20 * socks:
                with contextlib.suppress(OSError):
                    sock.sendto(b"", ("127.0.0.1", 9))

        with repeating(0.1, lose):
            end = pktledger("check", "-j").json["end"]
        found = [f["netns"] for f in end["findings"] if f["losing"] and f.get("netns") in names]
        assert sorted(found) == names, end
        assert all(f["command"].startswith(f"ip netns exec {f['netns']} ss ") for f in end["findings"]
                   if f.get("netns") in names), end
        assert end["namespaces_losing_unread"] >= 3, end  # this one has a place
        assert end["window_ns"] > 1.5e9, end  # a second more for those whose sockets are read then


@case
def namespaces_that_cannot_be_entered():
    """They are not among those that were watched, and it says how many and what is missing."""
    with namespaces(3):
        for args in [], ["-p", str(PORT)]:
            end = as_nobody("check", "-j", "-t", "0.1", *args).json["end"]
            assert end["namespaces"] == 1 and end["namespaces_unread"] >= 3, end
            why = {u["what"]: u["why"] for u in end["unread"]}["other network namespaces"]
            assert why.startswith(f"at least {end['namespaces_unread']}; requires CAP_SYS_ADMIN"), why
        text = " ".join(as_nobody("check", "-q", "-t", "0.1").out.split())
        assert "other network namespaces could not be read" in text, text
        assert "and the counters of" not in text, text


@case
@exclusive
def neighbour_of_another_namespace():
    """Its counter is the host's: neither place nor command are of the namespace that was asked for."""
    require(Path("/proc/net/stat/arp_cache").exists(), "not the first network namespace")
    with lab(), sender("198.18.0.77", burst=100, pause=0.05, size=200):
        end = check("-t", "1")
        found = {f["id"]: f for f in end["findings"] if f["scope"] == "host"}
        assert "neigh-failed" in found, end
        text, command = found["neigh-failed"]["cause"], found["neigh-failed"]["command"]
        assert not found["neigh-failed"].get("netns"), found["neigh-failed"]
        where = text.rsplit(" in ", 1)[1].rstrip(".")  # of others, if they lose as well
        assert where != RX and command.startswith(f"ip netns exec {where} ip neigh"), found


def measured(*args):
    """Seconds and KB that the program takes."""
    begin = time.monotonic()
    with subprocess.Popen([BINARY, *args], stdout=subprocess.PIPE) as process:
        out = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, out
    return time.monotonic() - begin, usage.ru_maxrss, json.loads(out)["end"]


@thorough
@exclusive
def many_namespaces_and_sockets():
    """Within three seconds and 100 MB; where nothing is wrong, within one and a half."""
    seconds, _, end = measured("check", "-j")
    lossy = any(f["losing"] for f in end["findings"])
    assert lossy or seconds < 1.5 * PATIENCE, seconds
    resource.setrlimit(resource.RLIMIT_NOFILE, (6000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    with namespaces(200) as names, contextlib.ExitStack() as stack:
        for name in 25 * names:
            stack.enter_context(udp(name, socket.AF_INET, ("", 0)))
        seconds, kilobytes, end = measured("check", "-j")
        assert end["namespaces"] >= len(names), end["namespaces"]
        lossy = any(f["losing"] for f in end["findings"])
        assert (lossy or seconds < 3 * PATIENCE) and kilobytes < 100 << 10, (seconds, kilobytes)


@thorough
@exclusive
@proves("netfilter-conntrack")
def full_connection_tracking():
    with lab(), reader():
        fill_connections(RX)
        with repeating(0.01, lambda: send(TX, V4, 20, PORT)):  # each time of another connection
            f = first()
            assert f["id"] == "netfilter-conntrack" and f["losing"], f
            do(RX, "conntrack", "-F")
            assert not [f for f in findings() if f["stage"] == "netfilter"]


@thorough
def namespace_without_a_name():
    """A process is in it: its commands are entered by that."""
    with subprocess.Popen(["unshare", "-n", sys.executable, "-c", stories.READER, str(PORT), "20000", "0"],
                          stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            end = pktledger("check", "-j", "-p", str(PORT), "-t", "0.1").json["end"]
            assert [s["port"] for s in end["sockets"]] == [PORT], end
            assert f"[{process.pid}]" in end["sockets"][0]["netns"], end["sockets"]
        finally:
            process.kill()


@thorough
@exclusive
def ends_after_a_second_where_nothing_is_lost():
    end = pktledger("check", "-j").json["end"]
    require(not any(f["losing"] for f in end["findings"]), "this host loses packets")
    assert 1e9 <= end["window_ns"] < 3e9, end["window_ns"]


@case
def healthy():
    """Nothing is found, and what was not covered is said in one line."""
    with lab(), reader(), sender(burst=5):
        end = check()
        read = end["sockets"][0]["reads"]  # null before Linux 6.3
        assert read is None or read > 0, end["sockets"]
        assert not of_namespace(end), end["findings"]
        assert [s["port"] for s in end["sockets"]] == [PORT], end["sockets"]
        assert sum(i["rx_packets"] for i in end["interfaces"]) > 0, end["interfaces"]
        assert [i["ifname"] for i in check("-t", "0.1", "-i", "v-rx")["interfaces"]] == ["v-rx"]
        for args, words in ((["check"], "rules without counters"),
                            (["trace", f"udp port {PORT}"], "packets that the filter excludes")):
            text = pktledger(*args, "-t", "0.3", "--netns", RX)
            lines = " ".join(text.out.split()).partition("not covered ")[2]
            assert text.status == 0 and words in lines, text
            assert args != ["check"] or "interface" in text.out, text


@thorough
@exclusive
def buffer_cut_by_rmem_max():
    """A larger buffer does not help while less is read than arrives, whatever the limit is."""
    path = Path("/proc/sys/net/core/rmem_max")
    require(os.stat(path).st_mode & 0o200, "another network namespace has the host's settings")
    limit = int(path.read_text())
    require(limit <= 16 << 20, f"net.core.rmem_max is {limit}: more is no advice")
    with lab(), reader(0.01, 1 << 30) as process, sender(burst=limit // 256, pause=0.05, size=512):
        f = first()
        assert f["id"] in ("rcvbuf-asleep", "rcvbuf-slow") and f["losing"], f
        assert f["subject"] == f"port {PORT}" and "sipd" in f["cause"], f
        assert f["facts"]["rcvbuf_bytes"] == 2 * limit and f["loss_pps"] > 0, f
        assert not f["command"] and not f["changes"], f
        assert first("--port", str(PORT))["id"] == f["id"]
        by_pid = pktledger("check", "-j", "-t", "0.2", "--pid", str(process.pid)).json["end"]
        assert [s["pid"] for s in by_pid["sockets"]] == [process.pid], by_pid["sockets"]
        assert [x["id"] for x in by_pid["findings"] if x["scope"] == "socket"] == [f["id"]]


@table(named_first(1, [(f"{name}, {busy} busy processes", args, busy) for busy in (0, 2)
                       for name, *args in [("check", "check", "-t", "1"), ("trace", "trace", "-t", "3")]]))
@exclusive
def bursts_for_an_idle_reader(args, busy):
    """The same verdict each time, from both commands: the buffer, and no faster reader."""
    with stories.bursts(), contextlib.ExitStack() as stack:
        for _ in range(busy):
            stack.enter_context(program("print(flush=True)\nwhile True:\n    pass"))
        for _ in range(10 if EVERYTHING else 1):
            end = pktledger(*args, "-j", "--netns", RX).json["end"]
            found = [f for f in end["findings"] if f["stage"] == "rcvbuf"]
            assert [f["id"] for f in found] == ["rcvbuf-bursts"], found
            assert found[0]["facts"]["lost_at_once"], found


@table(named_first(1, [("strict, check", 1, "check"), ("loose, trace", 2, "trace")]))
@proves("ip-rpfilter-no-route")
def no_route_back(mode, command):
    """Multicast from a source to which there is no route: loose mode would not help, a route does."""
    def state():
        return counter(RX, "TcpExt:IPReversePathFilter"), link(RX, "v-rx")["rx"]["packets"]

    with lab(), udp(RX, socket.AF_INET, ("", PORT)) as member:
        member.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(GROUP) + socket.inet_aton(V4))
        ip(TX, "addr", "add", "198.19.0.1/32", "dev", "v-tx")
        ip(TX, "route", "add", GROUP, "dev", "v-tx")
        sysctl(RX, "net/ipv4/conf/v-rx/rp_filter", mode)
        with sender(GROUP, source="198.19.0.1"):
            if command == "check":
                found = first()
                assert found["subject"] == "v-rx" and not found["changes"], found
            else:
                traced = pktledger("trace", "-j", "-t", "1", "--netns", RX).json["end"]
                found = assert_findings(traced["findings"], "ip-rpfilter-no-route")
            assert found["id"] == "ip-rpfilter-no-route" and "source 198.19.0.1" in found["cause"], found
            assert not found["undo"] and "rp_filter=" not in found["command"], found
            advice = re.search(r"`(ip route add [^`]*)`", found["fix"])[1]
            do(RX, *advice.split())
            before, came = state()
            until(lambda: state()[1] > came + 100, 20, "as much again")
            assert state()[0] == before


@case
def most_of_several_sources():
    """Whose packets reverse path filtering refuses, at all interfaces and at one."""
    def send_all():  # in turn, so whatever part of it is seen, most are of the same source
        for sock, to, burst in ends:
            for _ in range(burst):
                sock.sendto(b"", (to, 9))

    with lab("--topology", "router"), contextlib.ExitStack() as stack:
        ends = []
        sysctl(ROUTER, "net/ipv4/conf/all/rp_filter", 1)
        do(ROUTER, "ip", "route", "add", "203.0.113.4", "dev", "v-r0")
        for netns, to, source, burst in ((RX, "198.18.0.1", "203.0.113.4", 8), (TX, FAR, "203.0.113.2", 4),
                                         (TX, FAR, "203.0.113.1", 1), (RX, "198.18.0.1", "203.0.113.5", 1)):
            ip(netns, "link", "set", "lo", "up")
            ip(netns, "addr", "add", f"{source}/32", "dev", "lo")
            ends.append((stack.enter_context(udp(netns, socket.AF_INET, (source, 0))), to, burst))
        stack.enter_context(repeating(0.002, send_all))
        for args, id, words in (((), "ip-rpfilter", "203.0.113.4 leaves by v-r0, and the packets arrived on v-r1"),
                                (("-i", "v-r0"), "ip-rpfilter-no-route", "no route to their source 203.0.113.2")):
            f, = [f for f in findings(*args, netns=ROUTER) if f["stage"] == "ip_route"]
            assert f["id"] == id and words in f["cause"], f
            assert f["command"].startswith(f"ip netns exec {ROUTER} "), f
            assert (bool(f["changes"]) and "v-r1.rp_filter=2" in f["command"]) == (id == "ip-rpfilter"), f


@case
def frames_that_nothing_takes():
    """The most frequent kind is named; ARP, which is taken, is none of them."""
    lldp, arp = "33330000000188cc", "3333000000010806"
    with lab():
        mac = json.loads(do(RX, "ip", "-j", "link", "show", "v-rx"))[0]["address"].replace(":", "")
        with inside(TX):
            trunk = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        with trunk:
            trunk.bind(("v-tx", 0))
            for kind, shown in ((lldp, "LLDP (0x88cc)"), ("3333000000011234", "protocol (0x1234)"),
                                ("0202020202020800", "frames for other MAC addresses"),
                                (mac + "810000070800", "VLAN 7,")):
                frames = [bytes.fromhex(f[:12] + "020000000001" + f[12:]).ljust(64, b"\0")
                          for f in (kind, kind, lldp, arp, arp, arp, arp)]
                with repeating(0.005, lambda frames=frames: [trunk.send(f) for f in frames]):
                    f, = [f for f in findings() if f["stage"] == "l2"]
                assert shown in f["cause"] and f["id"] == ("l2-vlan" if mac in kind else "l2-stray"), f


@case
@proves("port-closed")
def nobody_on_the_port():
    with lab():
        f = first("--port", "9", "--limit", "error", status=4)
        assert f["id"] == "port-closed" and not f["losing"], f
        with sender(port=9):
            f = first("--limit", "error", status=4)
        assert f["id"] == "udp_lookup" and f["losing"] and "for port 9:" in f["cause"], f


@table([("another address", stories.bound_to_localhost, "bound to 127.0.0.1", ["udp-lookup-address"]),
        ("another peer", stories.answer_of_another_address, "connected to 198.18.0.9:53",
         ["udp-lookup-peer"])])
@proves()
def socket_that_takes_other_packets(scene, words, ids):
    """The port is open, and its socket takes packets for one address, or of one peer, only."""
    with scene():
        for args in ("--port", str(PORT)), ():  # seen in the packets that are refused
            f = first(*args)
            assert [f["id"]] == ids and words in f["cause"] and f["losing"], f
            assert str(PORT) in f["cause"] and str(PORT) in f["command"], f


@case
def other_ports_are_not_the_port_s():
    """--port: neither shown nor changed is what other ports lose; what may be of any port is a note."""
    with lab(), program(HOLDER, "0.0.0.0"), contextlib.ExitStack() as stack:
        nft(RX, "table inet t { chain in { type filter hook input priority 0; "
                "udp dport 10 counter drop; ip saddr 198.18.0.9 counter drop; }; }")
        ip(TX, "addr", "add", "198.18.0.9/24", "dev", "v-tx")
        for port, source in (9, ""), (10, ""), (11, "198.18.0.9"), (PORT, ""):
            stack.enter_context(sender(port=port, source=source))
        lost = {f["id"] for f in findings() if f["losing"]}
        assert {"udp_lookup", "netfilter-rule"} <= lost, lost
        of_port = findings("--port", str(PORT))
        assert not [f for f in of_port if f["losing"] or f["stage"] == "udp_lookup"], of_port
        (rule,) = [f for f in of_port if f["id"] == "netfilter-rule"]
        assert rule["severity"] == "info" and "any port" in rule["facts"]["scope"], rule


@case
def rule_as_nft_prints_it():
    """The command deletes the rule, and the loss is gone."""
    with lab(), sender(port=9):
        nft(RX, "table inet t { chain in { type filter hook input priority 0; "
                'udp dport 9 counter drop comment "no discard"; }; }')
        (f,) = [f for f in findings() if f["id"] == "netfilter-rule"]
        assert "udp dport 9 counter packets" in f["facts"]["rule"], f
        assert 'drop comment "no discard"' in f["facts"]["rule"], f
        assert f["command"].startswith(f"ip netns exec {RX} nft delete rule inet t in handle "), f
        subprocess.run(f["command"].split(), check=True)
        assert {f["id"] for f in findings() if f["losing"]} == {"udp_lookup"}


@table(named_first(1, [("trace", "trace"), ("check", "check")]))
def capture_that_loses(command):
    """From outside as many packets as its program is told when it asks; with a larger ring none."""
    with lab(), reader():
        for frames, lost in (16, 300), (4096, 0):
            with ring_of_a_capture(RX, "v-rx", frames) as tap:
                send(TX, V4, 2 * 16, PORT)  # the small one is full
                capture_statistics(tap)
                with looking(command, "--netns", RX) as end:
                    send(TX, V4, 300, PORT)
                    document = end()
                _, dropped = capture_statistics(tap)
            found = [f for f in document["end"]["findings"] if f["id"] == "capture-ring"]
            assert bool(found) == bool(lost) == bool(dropped), (found, dropped)
            for f in found:
                assert lost <= f["facts"]["lost"] <= dropped < lost + 20, (f, dropped)
                assert OURSELVES in f["cause"] and f["facts"]["ifname"] == "v-rx", f


@case
@proves("rcvbuf-one-flow")
def workers_and_one_flow():
    """Of four sockets on the port one has all; with senders of many ports the loss is gone."""
    def losing():
        return [f for f in findings("-t", "1", "-p", str(PORT)) if f["losing"]]

    with lab(), program(stories.WORKERS):
        with sender(burst=20, pause=0.01):
            until(lambda: counter(RX, "Udp:RcvbufErrors"), 10, "a loss")
            (f,) = losing()
            assert f["id"] == "rcvbuf-one-flow" and "4 sockets share port" in f["cause"], f
            first_finding([f])
        with contextlib.ExitStack() as senders:
            for _ in range(20):
                senders.enter_context(sender(burst=1))
            came = counter(RX, "Udp:InDatagrams")
            until(lambda: counter(RX, "Udp:InDatagrams") > came + 200, 10, "what waited was read")
            assert all(f["id"] != "rcvbuf-one-flow" for f in losing())


@case
@proves("tx-tun")
def program_that_reads_the_tun():
    """The command makes its queue longer, and the loss is gone."""
    with stories.slow_tunnel() as (_, dropped):
        until(dropped, 10, "a loss")
        (f,) = [f for f in findings("-t", "1", netns=TX) if f["id"] == "tx-tun"]
        first_finding([f])
        assert f"{OURSELVES} ({os.getpid()})" in f["cause"], f
        do(TX, *f["command"].split()[4:])  # after ip netns exec NAME
        before, sent = dropped(), link(TX, "t0")["tx"]["packets"]
        until(lambda: link(TX, "t0")["tx"]["packets"] > sent + 1000, 20, "as much again")
        assert dropped() == before, (before, dropped())


@table(named_first(1, [
    ("htb", ["root handle 1: htb default 10", "parent 1: classid 1:10 htb rate 1mbit",
             "parent 1:10 pfifo limit 5"], "htb class 1:10 rate 1Mbit"),
    ("tbf", ["root tbf rate 1mbit burst 4kb limit 8kb"], "tbf rate 1Mbit")]))
def rate_of_a_qdisc(lines, setting):
    with lab(), reader(), sender(burst=20, pause=0.01, size=1000):
        for line in lines:
            what = "class" if "classid" in line else "qdisc"
            need(TX, "tc", what, "add", "dev", "v-tx", *line.split())
        (f,) = [f for f in findings(netns=TX) if f["id"] == "qdisc"]
        assert f["facts"]["setting"] == setting, f
        traced = pktledger("trace", "-j", "-t", "0.5", "--netns", TX).json["end"]["findings"]
        assert [f["facts"]["setting"] for f in traced] == [setting], traced


@case
@proves("ip-mtu-discovery")
def path_mtu_discovery():
    """29 downloads through a smaller link: all complete, and nothing is a warning."""
    size, count = 200000, 29
    with lab("--topology", "router"):
        do(ROUTER, "ip", "route", "change", "198.18.0.0/24", "dev", "v-r0", "mtu", "1300")
        with inside(RX):
            server = socket.create_server(("", PORT))

        def serve():
            for _ in range(count):
                do(RX, "ip", "route", "flush", "cache")
                peer, _ = server.accept()
                with peer:
                    peer.sendall(bytes(size))

        def download():
            with inside(TX), socket.create_connection((FAR, PORT), TIMEOUT) as sock:
                return sum(iter(lambda: len(sock.recv(65536)), 0))

        thread = threading.Thread(target=serve)
        thread.start()
        with server, looking("check", "--netns", ROUTER) as end:
            assert [download() for _ in range(count)] == [size] * count
            thread.join()
            found = of_namespace(end()["end"])
        assert counter(ROUTER, "Ip:FragFails") > 0
        assert {f["id"] for f in found if f["severity"] != "info"} == set(), found
        assert "v-r0, 1300" not in found[0]["cause"], found  # the route's MTU, no link's
        first_finding([f for f in found if f["id"] == "ip-mtu-discovery"])


@case
@proves("tcp-retransmitted")
def retransmissions():
    """They point to the command that explains them."""
    with stories.lossy_router():
        with looking("check", "--netns", RX) as end:
            do(TX, "curl", "-s", "-o", "/dev/null", f"http://{FAR}:{stories.WEB}/[1-160]")
            document = end()
        (f,) = [f for f in document["end"]["findings"] if f["id"] == "tcp-retransmitted"]
        first_finding([f])
        assert f["severity"] == "info" and "pktledger trace --balance tcp" in f["cause"], f
        again = counter(RX, "Tcp:RetransSegs")
        assert 0 < f["facts"]["events"] <= again, (f, again)


@thorough
def interface_that_goes_away():
    require(os.path.exists("/proc/self/wchan"), "needs /proc/PID/wchan")
    with lab():
        ip(RX, "link", "add", "gone", "up", "type", "veth", "peer", "name", "gone-too")
        ip(RX, "link", "set", "gone-too", "up")
        with looking("check", "--netns", RX) as end:
            ip(RX, "link", "del", "gone")
            end = end()["end"]
        assert {"gone", "gone-too"} <= {u["what"] for u in end["unread"]}, end["unread"]
        assert [i["ifname"] for i in end["interfaces"]] == ["v-rx"], end["interfaces"]


@case
def interfaces_that_come_and_go():
    """At any time: between being listed and being read, too."""
    def once(name):
        do(RX, "ip", "-batch", "-", text=f"link add {name} up type veth peer name {name}-too\n"
                                         f"link set {name}-too up\nlink del {name}\n")

    with lab(), contextlib.ExitStack() as stack:
        for n in range(4):
            stack.enter_context(repeating(0.05, lambda n=n: once(f"gone-{n}")))
        for _ in range(4):
            assert "v-rx" in [i["ifname"] for i in check("-t", "0.1")["interfaces"]]


# Bundles


def judged_again(path, status=0):
    result = pktledger("check", "-j", "--from", str(path))
    assert result.status == status, result
    return result


def verdict(end):
    """All but the commands: those would be for another host."""
    return [{key: value for key, value in f.items()
             if key not in ("command", "undo", "applies", "changes")} for f in end["findings"]]


def lines_of(path):
    return [json.loads(line[9:]) for line in path.read_text().splitlines()]


def write_lines(path, lines):
    """With the checksums of a ledger."""
    texts = [json.dumps(line) for line in lines]
    path.write_text("".join(f"{zlib.crc32(t.encode()):08x} {t}\n" for t in texts))


def interfaces_of_all_kinds():
    for line in ("link add port1 type veth peer name port2", "link set port2 mtu 1400 up", "link add bridge1 type bridge",
                 "link set port1 master bridge1 up", "link add over1 link port2 up type macvlan"):
        need(RX, "ip", *line.split())
    need(RX, *"tc qdisc add dev port1 root pfifo limit 77".split())
    need(RX, *"ethtool -K port1 gso off rx off".split())
    sysctl(RX, "net/ipv4/conf/all/rp_filter", 1)
    sysctl(RX, "net/ipv4/conf/port1/rp_filter", 2)
    need(RX, "ip", "netns", "exec", RX, "sh", "-c", "echo 64 > /sys/class/net/port1/queues/rx-0/rps_flow_cnt")


def write_bundle(path, *args, enter=()):
    """Without the rights that selftest needs: its minute is spared. It has no stdin, as a daemon may not."""
    require(shutil.which("setpriv"), "needs setpriv (util-linux)")
    drop = "-sys_admin"
    done = subprocess.run([*enter, "sh", "-c", 'exec "$@" <&-', "sh", "setpriv", "--bounding-set", drop, "--inh-caps",
                           drop, str(BINARY), "check", *args, "--bundle", str(path)], capture_output=True, text=True)
    assert done.returncode == 0 and "without selftest" in done.stderr, done
    assert os.stat(path).st_mode & 0o777 == 0o600


@contextlib.contextmanager
def bundle(*args):
    """Of a host that loses."""
    with lab(), directory() as path, reader(0.01, 100000), sender(burst=100, pause=0.01, size=512):
        interfaces_of_all_kinds()
        write_bundle(path / "bug", "-t", "0.5", *args, enter=("ip", "netns", "exec", RX))
        yield path / "bug"


@case
def bundle_is_judged_as_on_the_spot():
    with bundle() as path:
        start, facts, selftest, end = lines_of(path)
        assert [line["event"] for line in (start, facts, selftest, end)] == [
            "start", "facts", "selftest", "end"], start
        again = judged_again(path).json
        assert_valid(again)
        assert again["start"] == start["data"], again["start"]
        assert "rcvbuf-asleep" in [f["id"] for f in again["end"]["findings"]], again["end"]
        assert verdict(again["end"]) == verdict(end["data"]), (again["end"], end["data"])
        for key in "window_ns", "namespaces", "cpus_online", "history", "unread", "interfaces", \
                "sockets", "abilities":
            assert again["end"][key] == end["data"][key], key
        assert not any(f["command"] or f["changes"] for f in again["end"]["findings"])
        text = path.read_text()
        for secret in (NAME, "sipd", "198.18.0.1", V4, socket.gethostname()):
            assert secret not in text, secret
        assert not {"moved", "after"} - facts["data"]["counters"][0].keys(), facts
        assert pktledger("check", "--from", str(path), "--limit", "warning").status == 4
        again = pktledger("check", "--from", str(path)).out
        assert "rcvbuf-asleep, port" in again and "command" not in again, again


SETTINGS = {  # in a bundle, and in /proc
    "rmem_default": "core/rmem_default", "rmem_max": "core/rmem_max", "wmem_default": "core/wmem_default",
    "wmem_max": "core/wmem_max", "netdev_max_backlog": "core/netdev_max_backlog", "netdev_budget": "core/netdev_budget",
    "netdev_budget_usecs": "core/netdev_budget_usecs", "udp_mem": "ipv4/udp_mem",
    "frag_high": "ipv4/ipfrag_high_thresh ipv6/ip6frag_high_thresh",
    "neighbours_max": "ipv4/neigh/default/gc_thresh3 ipv6/neigh/default/gc_thresh3"}
FEATURES = {  # in a bundle, and of ethtool
    "gro": "generic-receive-offload", "gro_hw": "rx-gro-hw", "lro": "large-receive-offload",
    "gso": "generic-segmentation-offload", "udp_gso": "tx-udp-segmentation", "rx_checksum": "rx-checksumming",
    "tx_checksum": "tx-checksumming"}


def settings(names):
    files = [Path(f"/proc/sys/net/{name}") for name in names.split()]
    return [int(word) for file in files for word in (file.read_text() if file.exists() else "0").split()]


@case
def bundle_has_what_the_host_has():
    """Each interface as it was made, and each setting."""
    with bundle() as path:
        facts = lines_of(path)[1]["data"]
        links = {i["ifname"]: i for i in facts["interfaces"]}
        for name, *made in (("port1", "bridge1", "pfifo limit 77", "2", 1400, 64),
                            ("port2", "", "noqueue", "1", 1500, 0), ("over1", "", "noqueue", "1", None, 0)):
            port = links[name]
            assert [port[key] or "" if key == "master" else port[key] for key in (
                "master", "qdisc", "rp_filter", "peer_mtu", "rps_flow_cnt")] == made, port
            assert not port["threaded_napi"] and not port["zero_copy"], port
            assert port["native_xdp"] == (port["features_known"] and name != "over1"), port
            on = dict(re.findall(r"^\s*([\w-]+): (on|off)", do(RX, "ethtool", "-k", name), re.M))
            assert {key: on[feature] == "on" for key, feature in FEATURES.items()} == {
                key: port[key] for key in FEATURES}, (port, on)
        assert not links["port1"]["gso"] and links["port2"]["gso"] and links["port1"]["channels"], links
        write_bundle(path.parent / "host", "-t", "0.1", "-i", "lo")
        found = lines_of(path.parent / "host")[1]["data"]["settings"]
    for key, names in SETTINGS.items():
        assert (found[key] if isinstance(found[key], list) else [found[key]]) == settings(names), (key, found)
    assert found["page_bytes"] == os.sysconf("SC_PAGESIZE"), found


@case
def interface_of_another_namespace():
    """The facts agree with ethtool in that namespace."""
    require(shutil.which("ethtool"), "needs ethtool")
    with lab():
        need(RX, "ip", "link", "add", "port1", "numtxqueues", "3", "numrxqueues", "2", "type", "veth", "peer", "port2")
        (port,) = check("-t", "0.1", "-i", "port1")["interfaces"]
        found = re.findall(r"^(?:driver|\s*Speed|RX|TX|Combined):\s+(\w+)", "".join(
            do(RX, "ethtool", *args, "port1") for args in (["-i"], [], ["-l"])), re.M)
        # the largest numbers of channels, then the current ones
        assert found == [port["driver"], f"{port['speed_mbit']}Mb", str(port["channels"]["rx_max"]), "3", "n",
                         str(port["channels"]["rx"]), str(port["tx_queues"]), "n"], (found, port)
        assert port["rx_queues"] == port["channels"]["rx"] == 2, port


@thorough
@exclusive
def bundle_has_the_rows_of_selftest():
    """Those that there are when somebody has enough of it; and what other namespaces lose."""
    with lab(), directory() as path, reader(0.01, 100000), sender(burst=100, pause=0.01, size=512):
        with started("check", "-t", "1", "--bundle", f"{path}/bug") as process:
            time.sleep(15)  # nothing shows that the first faults were tested
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        (rows,) = [line["data"]["rows"] for line in lines_of(path / "bug")
                   if line["event"] == "selftest"]
        assert len(rows) < 50 and all({"stage", "injected", "verdict"} <= r.keys() for r in rows), rows
        end = lines_of(path / "bug")[-1]["data"]
        again = judged_again(path / "bug").json["end"]
        assert [f["id"] for f in again["findings"] if f.get("netns") and f["losing"]], again
        assert verdict(again) == verdict(end), (verdict(again), verdict(end))
        require(rows, "no fault was tested in 15 s")


@thorough
def bundles_that_are_none():
    """A part of one is judged as far as it goes; all else is refused, with a word."""
    with bundle() as path:
        start, facts, _, end = lines_of(path)
        text = path.read_text()
        path.write_text(text[:-100])
        assert judged_again(path).json["end"]["findings"], "the cut tail was only the end"
        for lines in ([], [start], [start, end], [facts, end], [end],
                      [{**start, "schema": "pktledger/run/1"}, facts]):
            write_lines(path, lines)
            result = judged_again(path, status=2)
            assert "error" in result.json, result
        path.write_bytes(os.urandom(4096))
        judged_again(path, status=2)
        for many in 2, 100:
            write_lines(path, [start] + [facts] * many + [end])
            assert judged_again(path).json["end"]["findings"]
        hostile = {"cpus": {"at": [{"online": True}] * 5000}, "interfaces": [{}] * 500,
                   "sockets": {"at": [{"lost": 1 << 31}] * 2000},
                   "counters": [{"scope": "here", "name": "Udp:RcvbufErrors", "after": 1,
                                 "moved": 1 << 63}] * 100, "window_ns": 0}
        write_lines(path, [start, {"event": "facts", "data": hostile}])
        assert len(judged_again(path).json["end"]["interfaces"]) == 64
        facts["data"]["interfaces"][0].update(ifname="v; reboot", rp_filter="1")
        facts["data"].update(back_source="198.18.0.1`reboot`", back_came_by="v; reboot")
        facts["data"]["counters"].append({"scope": "here", "name": "TcpExt:IPReversePathFilter",
                                          "after": 9, "moved": 9})
        write_lines(path, [start, facts, end])
        assert "reboot" not in judged_again(path).out


@table([("losses between them", [3, 103], 0, "compared two texts\n"),
        ("no losses", [3, 3], 0, "no loss counter increased between the two texts\n"),
        ("reverse order", [103, 3], 2, ": counters decreased between the two texts: exchange the texts"),
        ("three", [3, 3, 3], 2, "error: --from takes FILE or BEFORE,AFTER, not ")])
@rootless
def texts_of_counters(lost, status, says):
    with directory() as where:
        for i, n in enumerate(lost):
            (where / str(i)).write_text(f"Udp: InErrors RcvbufErrors\nUdp: {n} {n}\n")
        result = pktledger("check", "--from", ",".join(f"{where}/{i}" for i in range(len(lost))))
    assert result.status == status and says in result.out + result.err, result
    assert result.out.count("warning: ") == (says == "compared two texts\n"), result


@case
@rootless
def explains():
    one = pktledger("check", "--explain", "rcvbuf-slow")
    assert one.status == 0 and one.out.startswith("rcvbuf-slow          proven: lab\n"), one
    every = pktledger("check", "--explain", "all")
    assert every.status == 0 and one.out in every.out, every


@table([("without privilege", ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"], ["own-capabilities"]),
        ("a container without /sys", ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /sys && exec "$@"', "-"],
         ["own-btf"])])
@proves()
def of_its_own(inside_of, ids):
    """What it may not read is said, and the rest judged."""
    require(shutil.which(inside_of[0]), f"needs {inside_of[0]} (util-linux)")
    with copied_program() as program:
        done = subprocess.run([*inside_of, program, "check", "-j", "-t", "0.1"], capture_output=True, text=True)
    require("mount:" not in done.stderr, done.stderr.strip())
    assert done.returncode == 0, done.stderr
    end = json.loads(done.stdout)["end"]
    assert ids != ["own-btf"] or "/sys" in [u["what"] for u in end["unread"]], end["unread"]
    assert_findings([f for f in end["findings"] if f["id"].startswith("own-")], *ids)


if __name__ == "__main__":
    main()
