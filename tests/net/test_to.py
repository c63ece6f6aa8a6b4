#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`run --to` and `recv --serve`: one ledger of two hosts, which are namespaces here. Between them
is a router that drops packets by their number, so that what is lost on the wire is known."""

import contextlib
import json
import os
import re
import signal
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from ends import counter, family_of, inside, nft
from labs import COUNT, EACH, PORT, TARGET, Hosts, numbered, share
from lib import (EVERYTHING, PATIENCE, TIMEOUT, assert_balanced, assert_counters_agree,
                 assert_error, assert_valid, bounded, case, crowded, directory, finish, first, is_blocked,
                 is_suppressed, lost, main, table, thorough, together, until)

FAILED, UNABLE = 1, 3


def causes(document, stage):
    """Packets of a stage by the role of the host that lost them."""
    row = next(s for s in document["end"]["stages"] if s["stage"] == stage)
    found = {}
    for cause in row["causes"]:
        found[cause["netns"]] = found.get(cause["netns"], 0) + cause["packets"]
    return found


def assert_wire(document, which=3):
    """Found by the difference of two named probes, to the packet."""
    end, start = document["end"], document["start"]
    expected = sum(share(which, s["count"]) for s in start["streams"])
    row = next(s for s in end["stages"] if s["stage"] == "wire")
    assert row["packets"] == expected, row
    assert row["source"] == "difference", row
    assert all(start["hosts"][side]["name"] and start["hosts"][side]["probe"]
               for side in ("tx", "rx")), start["hosts"]


def compare(document, losses):
    assert_balanced(document, COUNT)
    assert_wire(document)
    assert lost(document) == losses, lost(document)


@table(first(1, [("here", 4, []), ("there", 6, ["--reverse"])]))
@together
def each_loss_is_found_where_it_is(to, args):
    """On both hosts and between them, all at once; the sender is here or there."""
    with Hosts() as hosts:
        hosts.drop("m", "forward", 3)
        hosts.drop("b" if args else "a", "output", 5)
        hosts.drop("a" if args else "b", "input", 7)
        document = hosts.ledger(*args, to=to)
        compare(document, {"wire": share(3), "netfilter": share(5) + share(7)})
        assert causes(document, "netfilter") == {"tx": share(5), "rx": share(7)}
        end = document["end"]
        assert end["latency_ns"] is None, "delays of clocks that nobody has said to agree"
        clocks = end["host_clocks"]
        # the same clock, in truth
        assert abs(clocks["offset_ns"]) <= clocks["error_ns"] and not clocks["shared"], clocks


@case
@together
def the_receiver_is_the_bound():
    """While it stands still no number settles, and what may be sent meanwhile is little."""
    with Hosts() as hosts, hosts.serve("--stay") as server, \
            hosts.client("-r", "12k", "-t", "3", "--settle", "500ms") as client:
        client.until_sent(1000)
        server.send_signal(signal.SIGSTOP)
        time.sleep(2)  # for so long it does not read
        server.send_signal(signal.SIGCONT)
        end = client.finish()[0]["end"]
    assert end["bound"] == "receiver" and end["held_ns"] > 5e8, end
    assert end["sent"] < 0.9 * 12000 * 3, end


@table(first(0, [("slow", ["--work", "400us"]), ("stands still", ["--pause", "400ms/100ms"])]))
@together
def window_waits_for_the_reader_of_the_other_host(reader):
    """What lies in its queue for longer than packets have to settle is not given up."""
    with Hosts() as hosts, hosts.serve():
        document = hosts.run("-j", "-q", "-r", "60k", "-c", "72k", "-l", "512", "--settle", "20ms",
                             "--rcvbuf", "100000", *reader).json
        end = document["end"]
        assert end["sent"] == 72000 and lost(document).keys() == {"rcvbuf"}, end
        assert end["late"] == 0 and end["unaccounted"] <= end["missed"]["suppressed"], end


ENGINES = [
    ("IPv6", 6, []),
    ("AF_XDP sends", 4, ["--tx", "xsk"]),
    ("AF_XDP sends IPv6", 6, ["--tx", "xsk"]),
    ("XDP sends", 4, ["--tx", "xdp"]),
    ("AF_XDP receives", 4, ["--rx", "xsk"]),
    ("XDP receives", 6, ["--rx", "xdp"]),
    ("XDP looks, a socket receives", 4, ["--rx", "xdp", "--pass"]),
    ("AF_XDP at both ends", 4, ["--tx", "xsk", "--rx", "xsk"]),
    ("two streams", 4, ["-P", "2", "--flows", "4"]),
    ("all streams that there can be", 4, ["-P", "256"]),
    ("fragments", 4, ["-l", "3000"]),
    ("sizes that differ", 4, ["--imix", "simple"]),
    ("a shape", 4, ["--imix", "simple", "--random", "--src-port", "2000..2099", "--tos", "8",
                    "--burst", "8", "-P", "2"]),
    ("a shape in frames", 4, ["--tx", "xsk", "--imix", "64:1,128:1", "--src-port", "1000..1009",
                              "--ttl", "9"]),
    ("threads where they are asked for", 4, ["--tx-cpu", "0", "--rx-cpu", "1", "--nice", "1"]),
    ("a window that moves", 4, ["--settle", "100ms"]),
]


@table([(name + (", the other way" if back else ""), back, to, args)
        for name, to, args in ENGINES for back in (False, True)
        if EVERYTHING])
def engines(back, to, args):
    with Hosts() as hosts:
        hosts.drop("m", "forward", 3)
        for side in "ab":
            # a veth takes live frames only if its peer has NAPI
            hosts.do("m", "ethtool", "-K", f"v{side}", "gro", "on" if "xdp" in args else "off")
        document = hosts.ledger(*args, *(["--reverse"] if back else []), to=to)
        compare(document, {"wire": sum(share(3, s["count"]) for s in document["start"]["streams"])})
        assert document["start"]["hosts"]["tx"]["probe"] == (
            "AF_XDP completion" if "--tx xsk" in " ".join(args)
            else "xdp_devmap_xmit" if "--tx xdp" in " ".join(args) else "net_dev_start_xmit")


@table([("here", []), ("there", ["--reverse"])] if EVERYTHING else [])
def a_rate_that_grows(args):
    with Hosts() as hosts, hosts.serve("--max-rate", "20k"):
        result = hosts.run("-j", "-q", "--profile", "ramp:2k..20k/1s", "-t", "1", *args)
        assert result.status == 0 or is_suppressed(result), result
        # the integral of the ramp; a sender may owe the last few
        assert 10000 <= result.json["end"]["attempted"] <= 11000, result


@table([("here", []), ("there", ["--reverse"])] if EVERYTHING else [])
def fragments_are_counted(args):
    """On both hosts: made where they leave, seen and put together where they come."""
    with Hosts() as hosts:
        end = hosts.ledger("-l", "3000", *args)["end"]
        assert end["delivered"] == end["datagrams_reassembled"] == COUNT, end
        assert end["fragments_made"] == end["fragments_seen"] == 3 * COUNT, end
        assert end["tx_calls"] and end["rx_calls"] and end["tx_cpu_ns"] and end["rx_cpu_ns"], end


@case
@together
def payload_that_is_changed_on_the_way():
    """Under a checksum that is valid again: with its number it is damaged, without it is lost, and a
    line says what it may have become."""
    with Hosts() as hosts, directory() as where:
        nft(hosts.netns("m"), f"""
            table inet change {{ chain c {{ type filter hook forward priority 0;
                {numbered(3)} @th,64,16 set 0x4242
                {numbered(5)} @th,480,16 set 0x4242
            }}
            }}
            """)
        end = hosts.ledger("--ledger", str(where / "ledger"))["end"]
        assert numbers_of(where / "ledger")["wire"] == [*range(3, COUNT, EACH)]
        text = " ".join(hosts.command("report", str(where / "ledger"), to=None).out.split())
    assert lost({"end": end}) == {"wire": share(3)} and end["balanced"], end
    assert (end["damaged"], end["invalid"]) == (share(5), share(3)), end
    assert f"{share(3):,} datagrams arrived at this port without a valid header" in text, text


@thorough
def a_queue_on_the_sending_host_drops():
    with Hosts() as hosts:
        hosts.do("a", "tc", "qdisc", "add", "dev", "v0", "root", "handle", "1:", "tbf", "rate",
                 "20mbit", "burst", "5000", "limit", "20000")
        document = hosts.ledger()
        assert_balanced(document, COUNT)
        assert set(lost(document)) == {"qdisc"}, lost(document)


@table([("here", []), ("there", ["--reverse"])] if EVERYTHING else [])
def a_small_buffer_is_named(args):
    """On the receiving host, and by its own counters; both hosts tell what they are."""
    with Hosts() as hosts:
        document = hosts.ledger("--rcvbuf", "4k", "--work", "200us", *args)
        assert_balanced(document, COUNT)
        assert set(lost(document)) == {"rcvbuf"} and causes(document, "rcvbuf").keys() == {"rx"}
        assert_counters_agree(document, "rcvbuf")
        row = next(s for s in document["end"]["stages"] if s["stage"] == "rcvbuf")
        assert {"rx Udp:RcvbufErrors", "rx socket:drops"} <= {c["name"] for c in row["counters"]}
        assert row["causes"][0]["host"] == document["start"]["hosts"]["rx"]["name"]
        start = document["start"]
        assert start["peer_env"]["kernel"] == start["env"]["kernel"], start["peer_env"]


@table(first(0, [("that agree", ["--shared-clock"]), ("that may differ", [])]))
def latency_of_clocks(args):
    with Hosts() as hosts:
        end = hosts.ledger("--latency-breakdown", *args)["end"]
    legs = [(leg["from"], leg["to"]) for leg in end["latency_breakdown"]]
    here = [("device_in", "socket"), ("socket", "read")]
    assert legs == ([("sent", "device_in"), *here, ("sent", "read")] if args else here), legs
    if args:
        assert end["latency_breakdown"][-1]["latency_ns"] == end["latency_ns"], end
        assert 0 < end["latency_ns"]["min"] <= end["latency_ns"]["p50"], end["latency_ns"]
        assert end["host_clocks"]["shared"] is True


def numbers_of(ledger):
    """The numbers of each outcome, a drop by its stage."""
    lines = [json.loads(line.split(" ", 1)[1]) for line in ledger.read_text().splitlines()]
    names = {line["data"]["id"]: line["data"].get("stage") or line["data"]["outcome"]
             for line in lines if line["event"] == "outcome"}
    found = {name: [] for name in names.values()}
    for line in lines:
        for first_one, last, outcome in line["data"]["ranges"] if line["event"] == "outcomes" else []:
            found[names[outcome]] += range(first_one, last + 1)
    return found


@crowded
def three_clients_at_once_are_served_in_turn():
    with Hosts() as hosts:
        hosts.drop("m", "forward", 3)
        with hosts.serve("--stay", "-j") as server:
            clients = [hosts.start("a", "run", "--to", TARGET[4], "--insecure", "-j", "-r", "20k", "-c",
                                   str(COUNT), "--rcvbuf", "16M") for _ in range(3)]
            results = [finish(client) for client in clients]
        for result in results:
            assert result.status == 0 or is_suppressed(result), result
            if result.status == 0:
                compare(result.json, {"wire": share(3)})
        served = json.loads(server.out)
        assert_valid(served)
        assert served["end"] == {"clients": 3, "refused": 0}, served
        assert sum(c["experiments"] for c in served["clients"]) == 3, served


@thorough
def sweeps_and_searches():
    """Both directions in one session, and the rates that the server allows."""
    with Hosts() as hosts, tempfile.TemporaryDirectory() as directory:
        hosts.drop("m", "forward", 3)
        with hosts.serve("--stay", "--max-rate", "20k"):
            ledger = f"{directory}/sweep.ledger"
            result = hosts.command("sweep", "-j", "-r", "20k", "-c", str(COUNT), "--rcvbuf", "16M",
                                   "--vary", "reverse=off,on", "--ledger", ledger)
            assert result.status == 0 or is_suppressed(result), result
            assert [lost({"end": t}) for t in result.json["trials"]] == [{"wire": share(3)}] * 2
            kept = hosts.command("report", "-j", ledger, to=None).json["documents"]
            assert [d["trials"] for d in kept] == [result.json["trials"]]
            result = hosts.command("search", "-j", "-q", "--mrr", "-t", "100ms", "--warmup",
                                   "100ms", "--max-rate", "10k", "--rcvbuf", "16M", "--reverse")
            assert result.status in (0, 4), result
            phases = [trial["parameters"]["phase"] for trial in result.json["trials"]]
            assert phases.count("mrr") == 10 and set(phases) == {"warm-up", "mrr"}, phases
            assert result.json["end"]["mrr"]["stage"] == "wire", result.json["end"]["mrr"]


# What goes wrong


def write_token(stack, text, mode=0o600):
    file = stack.enter_context(tempfile.NamedTemporaryFile("w"))
    file.write(text + "\n")
    file.flush()
    os.chmod(file.name, mode)
    return file.name


SHORT = ["-q", "-r", "10k", "-c", "100"]


RELAYED = 9100
SECRET = "0123456789abcdef" * 2


class Relay:
    """Somebody on the way, in front of the server: hears all, and may change one byte of what comes
    from the side "client" or "server" once it has passed on so many."""

    def __init__(self, hosts, side=None, after=0):
        self.heard, self.side, self.after = {"client": bytearray(), "server": bytearray()}, side, after
        self.hosts, self.listener = hosts, None
        threading.Thread(target=self.serve, daemon=True).start()
        until(lambda: self.listener, 5, "no relay")

    def serve(self):
        self.hosts.inside("b")()
        listener = socket.create_server(("", RELAYED))
        self.listener = listener
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = socket.create_connection(("127.0.0.1", PORT))
                for side, source, sink in (("client", client, server), ("server", server, client)):
                    threading.Thread(target=self.carry, args=(side, source, sink), daemon=True).start()

    def carry(self, side, source, sink):
        with contextlib.suppress(OSError):
            while data := bytearray(source.recv(65536)):
                at = self.after - len(self.heard[side])
                if side == self.side and 0 <= at < len(data):
                    data[at] ^= 1
                self.heard[side] += data
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


@crowded
def tokens():
    with Hosts() as hosts, contextlib.ExitStack() as stack:
        right, wrong = (write_token(stack, text) for text in (SECRET, SECRET[:-1] + "0"))
        with hosts.serve("--token-file", right) as server:
            assert_error(hosts.run(*SHORT), FAILED, "closed the connection", "--token-file")
            assert_error(hosts.run(*SHORT, "--token-file", wrong), FAILED, "has a different token")
            assert server.poll() is None, "whoever was refused ended it"
            result = hosts.run(*SHORT, "-j", "--token-file", right)
            assert result.status == 0 and result.json["end"]["delivered"] == 100, result
            assert server.wait(10 * PATIENCE) == 0
        assert server.err.count("was refused") == 2, server.err
        with directory() as where, hosts.serve("--new-token", str(where / "new")) as server:
            assert os.stat(where / "new").st_mode & 0o777 == 0o600
            assert re.fullmatch(r"[0-9a-f]{64}\n", (where / "new").read_text())
            result = hosts.run(*SHORT, "--token-file", str(where / "new"))
            assert result.status == 0 and server.wait(10 * PATIENCE) == 0, result
        with hosts.serve():  # one that has none
            assert_error(hosts.run(*SHORT, "--token-file", right), FAILED, "speaks no TLS")


def through(relay, *args):
    """A run by way of the relay."""
    hosts = relay.hosts
    to = f"tls://{TARGET[4]}:{RELAYED}"
    return hosts.command("run", "--to", to, *SHORT, *args, to=None)


@thorough
def whoever_is_on_the_way_learns_nothing():
    """And what was heard is no login when it is said again."""
    with Hosts() as hosts, contextlib.ExitStack() as stack:
        token = write_token(stack, SECRET)
        with hosts.serve("--token-file", token, "--stay") as server:
            relay = Relay(hosts)
            result = through(relay, "-j", "--token-file", token)
            assert result.status == 0 and result.json["end"]["delivered"] == 100, result
            for heard in relay.heard.values():
                assert len(heard) > 2000, len(heard)
                assert not re.search(rb"type|protocol|delivered|0123456789", heard), bytes(heard)
            relay.close()
            with connect(hosts) as again:
                again.sendall(relay.heard["client"])
                answer = bytearray()
                with contextlib.suppress(ConnectionError):
                    while data := again.recv(65536):
                        answer += data
            assert len(answer) < len(relay.heard["server"]) / 4, len(answer)
            assert server.poll() is None
        assert server.returncode == 0 and server.err.count("was refused") == 1, server.err


@table(first(1, [("handshake", "client", 100), ("login", "client", 700), ("plan", "client", 1500),
                 ("hello", "server", 400), ("status", "server", 2000)]))
@together
def whoever_changes_a_byte_is_found_out(side, after):
    with Hosts() as hosts, contextlib.ExitStack() as stack:
        token = write_token(stack, SECRET)
        with hosts.serve("--token-file", token, "--stay") as server:
            relay = Relay(hosts, side, after)
            result = through(relay, "--token-file", token)
            relay.close()
            assert len(relay.heard[side]) > after, len(relay.heard[side])
            assert result.status == FAILED, result
            assert server.poll() is None
            result = hosts.run(*SHORT, "-j", "--token-file", token)
            assert result.status == 0 and result.json["end"]["delivered"] == 100, result


@crowded
def a_thousand_silent_callers():
    """Whoever holds connections keeps nobody out, with TLS and without."""
    with Hosts() as hosts, contextlib.ExitStack() as stack:
        token = write_token(stack, SECRET)
        for args in ([], ["--token-file", token]):
            with hosts.serve("--stay", *args) as server, contextlib.ExitStack() as idle:
                for _ in range(1000):
                    with contextlib.suppress(ConnectionError):
                        idle.enter_context(connect(hosts))
                start = time.monotonic()
                result = hosts.run(*SHORT, "-j", *args)
                assert result.status == 0 and result.json["end"]["delivered"] == 100, result
                assert time.monotonic() - start < 10 * PATIENCE
                assert server.poll() is None
            said = server.err.count("was refused")
            assert 16 <= said < 40, f"{said} lines of log"


@thorough
def a_server_listens_where_it_was_told():
    """By default on loopback, of both families; strangers are told nothing else than nothing."""
    with Hosts() as hosts:
        for args, at in ([], ["127.0.0.1", "::1"]), (["--listen", "127.0.0.2"], ["127.0.0.2"]):
            server = hosts.start("b", "recv", "--serve", *args)
            until(lambda: hosts.listens("b", PORT), 20, "it does not listen")
            try:
                for address in ("127.0.0.1", "::1", "127.0.0.2", TARGET[4], TARGET[6]):
                    with inside(hosts.netns("b")):
                        sock = socket.socket(family_of(address))
                    with sock:
                        assert (sock.connect_ex((address, PORT)) == 0) == (address in at), address
            finally:
                server.terminate()
                _, err = server.communicate(timeout=10 * PATIENCE)
            assert ("loopback only" if not args else args[1]) in err, err
            assert "limits of a client: " in err and "INSECURE" not in err, err
    with Hosts() as hosts:
        with hosts.serve() as server:
            assert hosts.run(*SHORT).status == 0
        assert "INSECURE" in server.err, server.err


@thorough
def server_limits():
    with Hosts() as hosts, hosts.serve("--max-rate", "5k", "--stay"):
        assert_error(hosts.run(*SHORT, "-R"), FAILED, "limits the rate to 5.000 kpps", "--max-rate")
        assert_error(hosts.run("-q", "-r", "max", "-c", "9", "-R"), FAILED, "limits the rate to 5.000 kpps")
        for shape in (["--profile", "ramp:1k..6k/1s"],
                      ["--profile", "onoff:1ms/999ms", "-r", "6k"]):
            assert_error(hosts.run("-q", "-c", "9", "-R", *shape), FAILED, "limits the rate to 5.000 kpps")
        assert_error(hosts.run(*SHORT[:1], "-r", "4k", "-R", "--burst", "5001"), FAILED, "burst")
        assert_error(hosts.run("-q", "-r", "1k", "-R", "--rt", "1"), FAILED, "no priority")
        second = hosts.start("b", "recv", "--serve", "--listen", "::", "--insecure")
        _, err = second.communicate(timeout=TIMEOUT)
        assert second.returncode == FAILED and f"TCP port {PORT}" in err, err


def line(**message):
    return json.dumps(message).encode() + b"\n"


READY = {"type": "ready", "mode": None, "place": None, "rcvbuf": 1, "rmem_max": 1, "udp_mem": [],
         "netdev_max_backlog": 1}
STATUS = {"type": "status", "running": True, "idle": False, "caught_up": True, "delivered": 0,
          "dropped": 0, "in_queues": 0, "next": []}
CAUSE = {"type": "cause", "reason": "X", "location": None, "ifname": None, "netns": None,
         "stage": "rcvbuf", "direction": "rx", "hook": None, "id": 3, "events": 0, "packets": 0,
         "bytes": 0, "memory": 0}
OUTCOMES = {"type": "outcomes", "slot": 0, "first": 0, "kinds": [7], "runs": "1g"}  # one, delivered
ANSWERS = {"login": line(type="welcome", port=PORT, max_pps=0.0), "plan": line(**READY),
           "time": line(type="time", tai_ns=0), "start": line(**STATUS), "status": line(**STATUS),
           "stop": line(**STATUS), "fold": line(type="folded")}


HELLO = {"type": "hello", "protocol": 7, "version": "1", "host": "b"}


@contextlib.contextmanager
def liar(hosts, to=None, answer=b"", hello=line(**HELLO)):
    """A program at the port that greets its client so, and answers one question as nobody would: again
    and again, as long as somebody listens. Yields the messages that it has heard."""
    with inside(hosts.netns("b")):
        listener = socket.create_server((TARGET[4], PORT))
    heard = []

    def serve():
        with contextlib.suppress(OSError):
            client, _ = listener.accept()
            with client:
                client.sendall(hello)
                for question in client.makefile("rb"):
                    heard.append(json.loads(question))
                    wrong = heard[-1]["type"] == to
                    client.sendall(answer if wrong else ANSWERS.get(heard[-1]["type"], b""))
                    while wrong and answer:
                        client.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield heard
    finally:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(TIMEOUT)


LIES = [
    ("a sender that is further than it can be", "status", {**STATUS, "next": [1 << 60]}, ["-R"]),
    ("the same outcomes for ever", "fold", OUTCOMES, []),
    ("outcomes of nothing", "fold", {**OUTCOMES, "runs": ""}, []),
    ("the same cause for ever", "fold", CAUSE, []),
    ("a verdict on the ledger", "plan", {"type": "error", "status": 4, "message": "x", "hint": "y"},
     []),
    ("a refusal in place of a status", "status",
     {"type": "error", "status": 1, "message": "x", "hint": "y"}, ["-R"]),
]


@table(first(1, LIES))
@together
def lies_cost_nothing(to, answer, args):
    """What cannot be is not waited for, counted or believed."""
    with Hosts() as hosts, liar(hosts, to, line(**answer)):
        begun = time.monotonic()
        assert_error(hosts.run("-q", "-r", "1k", "-c", "100", *args), FAILED,
                     "b: x" if answer.get("status") == 1 else "it does not speak the protocol")
        assert time.monotonic() - begun < 10 * PATIENCE


@table(first(1, [("none", b""), ("endless", line(type="busy") * 100)]))
@together
def a_second_signal_kills_who_waits_for_an_answer(answer):
    """It has been let in; what it asks for then is answered without end, or not at all."""
    with Hosts() as hosts, liar(hosts, "plan", answer) as heard, \
            bounded(hosts.start("a", "run", "--to", TARGET[4], "--insecure", *SHORT)) as client:
        until(lambda: any(message["type"] == "plan" for message in heard), 10, "no plan came")
        client.send_signal(signal.SIGTERM)
        until(lambda: not is_blocked(client.pid, signal.SIGTERM), 5, "the next signal kills")
        assert client.poll() is None, client.communicate()
        client.send_signal(signal.SIGTERM)
        assert client.wait(5 * PATIENCE) == -signal.SIGTERM


def ask(client, **message):
    """The next line that comes; nothing: b""."""
    if message:
        client.sendall(line(**message))
    data = b""
    while not data.endswith(b"\n") and (more := client.recv(1)):
        data += more
    return json.loads(data or b"{}").get("type", "")


@case
@together
def who_is_let_in_and_rests():
    """It has logged in, and asks for no experiment, whether it is silent or not: others take their
    turn, and then it is its own again."""
    with Hosts() as hosts, hosts.serve() as server, connect(hosts) as client:
        assert ask(client) == "hello"
        assert ask(client, type="login", protocol=7, version="1", host="h") == "welcome"
        assert ask(client, type="time") == "time"
        begun = time.monotonic()
        result = hosts.run(*SHORT, "-j")
        assert result.status == 0 and result.json["end"]["delivered"] == 100, result
        assert time.monotonic() - begun < 60 * PATIENCE  # a client that is not asked stays for 120 s
        answers = [ask(client, type="time")]
        while answers[-1] == "busy":
            answers.append(ask(client))
        assert answers[-1] == "time", answers
        client.close()
        assert server.wait(5 * PATIENCE) == 0


@case
@together
def another_version_is_told_to_both():
    """The server hears which one the client has, and says so, too."""
    with Hosts() as hosts, hosts.serve("--stay") as server, connect(hosts) as client:
        assert ask(client) == "hello"
        client.sendall(line(type="login", protocol=99, version="9.9", host="other"))
        answer = json.loads(client.makefile().readline())
    assert answer["type"] == "error" and answer["status"] == UNABLE, answer
    assert "version 7 of the protocol, the client 99" in answer["message"], answer
    assert "a different protocol version" in server.err, server.err
    with Hosts() as hosts, liar(hosts, hello=line(**{**HELLO, "protocol": 99})) as heard:
        assert_error(hosts.run(*SHORT), UNABLE, "version 99")
        until(lambda: [(m["type"], m.get("protocol")) for m in heard] == [("login", 7)], 5, "no login")


NOBODY = [
    ("nobody listens", None, ["nobody listens", "recv --serve"]),
    ("it says nothing", b"", ["does not respond"]),
    ("a web server", b"HTTP/1.1 400 Bad Request\r\n\r\n", ["not pktledger"]),
    ("another version", line(**{**HELLO, "protocol": 99, "version": "9.9"}), ["version 99", "9.9", "the same version"]),
    ("an endless line", b"x" * 100000, ["not pktledger"]),
]


@table(NOBODY if EVERYTHING else NOBODY[:1])
@together
def nobody_to_talk_to(answer, words):
    with Hosts() as hosts, contextlib.ExitStack() as stack:
        if answer is not None:
            stack.enter_context(liar(hosts, hello=answer))
        start = time.monotonic()
        assert_error(hosts.run(*SHORT), UNABLE if "version 99" in words else FAILED, *words)
        assert time.monotonic() - start < (15 if answer == b"" else 5) * PATIENCE


@case
@together
def a_route_is_missing_for_a_moment():
    """At a high rate, many sends in a row fail: what counts is for how long."""
    way = "default", "via", "198.18.7.254"
    with Hosts() as hosts, hosts.serve(), hosts.client("-r", "20k", "-t", "60", "-q") as client:
        client.until_sent(2000)
        hosts.do("a", "ip", "route", "del", *way)
        try:
            until(lambda: counter(hosts.netns("a"), "Ip:OutNoRoutes") > 1500, 10, "1500 refused sends")
        finally:
            hosts.do("a", "ip", "route", "add", *way)
        document, result = client.finish(number=signal.SIGINT)
    end = document["end"]
    assert result.status == 0 and end["balanced"] and end["refused"] > 1500, (result.err, end)


@table([("here", []), ("there", ["-R"])] if EVERYTHING else [])
def an_engine_cannot(args):
    """Its error is reported with the host that has it; whatever it sent until then is in the ledger."""
    with Hosts() as hosts, hosts.serve("--stay"):
        result = hosts.run("-j", "-q", "-r", "10k", "-c", "100", "--tx", "xdp", *args)
        assert_error(result, 3, "live frames")
        end = result.json.get("end")
        assert not end or end["balanced"], end
        assert hosts.run(*SHORT).status == 0


@thorough
def client_is_lost():
    with Hosts() as hosts, hosts.serve("--stay") as server:
        with hosts.client("-r", "10k", "-t", "30", "-R") as client:
            client.until_sent()
        result = hosts.run(*SHORT, "-j")
        assert result.status == 0 and result.json["end"]["delivered"] == 100, result
        assert server.poll() is None
    # what it had sent to the lost one counts, too
    said = re.search(r"([\d,]+) sent; gone in the middle", server.out)
    assert said and int(said[1].replace(",", "")) > 0, server.out


def connect(hosts):
    with inside(hosts.netns("a")):
        return socket.create_connection((TARGET[4], PORT), timeout=10 * PATIENCE)


RUBBISH = [bytes(range(256)), b"[" * 5000, line(type="plan", streams=2 ** 70, payload=[1] * 100)[:-3],
           line(type="status", next={}) + line(type="login") + line(type="stop", upto=-1)]


@thorough
def garbage():
    """Nobody who talks nonsense, or nothing, keeps the server from serving. fuzz/fuzz_server says more."""
    login = line(type="login", protocol=7, version="1", host="h")
    with Hosts() as hosts, hosts.serve("--stay") as server:
        for said in *RUBBISH, *(login + text for text in RUBBISH):
            with contextlib.suppress(ConnectionError), connect(hosts) as client:
                client.sendall(said + b"\n" + said)
        with connect(hosts):
            result = hosts.run(*SHORT, "-j")
        assert result.status == 0 and result.json["end"]["delivered"] == 100, result
        assert server.poll() is None
    assert server.returncode == 0, server.err


if __name__ == "__main__":
    main()
