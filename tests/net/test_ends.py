#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`send` and `recv`: each end alone, and what both know together."""

import contextlib
import fcntl
import itertools
import json
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from ends import link, programs_of, udp
from labs import Lab
from lib import (BINARY, EVERYTHING, PATIENCE, assert_ok, assert_valid, case, directory, finish, first, main, observed,
                 paced, pktledger, require, started, table, thorough, together, until)

COUNT = 20000 if EVERYTHING else 8000
labs = itertools.count()  # several at once


class Ends(Lab):
    """A named lab, with the programs at its two ends."""

    def __init__(self):
        super().__init__(f"pl-ends-{os.getpid()}-{next(labs)}")

    def exchange(self, recv_args, send_args, port=28779):
        """Both documents, of recv and of send."""
        with self.started("rx", "recv", "-j", "-q", "-t", "30", *recv_args) as receiver:
            if "--rx" not in recv_args:
                until(lambda: self.listening(port), 10, "recv did not open its socket")
            else:
                until(lambda: "xdp" in self.do("rx", "ip", "link", "show", "v-rx"), 10,
                      "recv attached no XDP program")
            sent = assert_ok(self.run("tx", "send", "-j", "-q", "-c", str(COUNT), *send_args)).json
            received = assert_ok(finish(receiver)).json
        assert_valid(received)
        assert_valid(sent)
        return received, sent

    @contextlib.contextmanager
    def staying(self, *args):
        """A receiver that stays, to which put() sends; afterwards its `end` and what it said in `err`."""
        self.do("rx", "ip", "link", "set", "lo", "up")
        with self.telling("rx", "recv", "--json-lines", "-I", "100ms", "--stay", *args) as receiver:
            until(lambda: self.listening(28779), 10, "recv did not open its socket")
            yield receiver
            document, result = receiver.finish(5, signal.SIGTERM)
            assert_ok(result)
            receiver.end, receiver.err = document["end"], result.err

    def put(self, payloads, each=50, pause=0.002):
        """Sends them to the receiver from its own namespace, with a pause after so many."""
        with udp(self.netns("rx"), socket.AF_INET) as sock:
            for payload, _ in zip(payloads, paced(len(payloads), each, pause)):
                sock.sendto(payload, ("127.0.0.1", 28779))


def assert_placed(end, lost):
    """Each lost packet has a stage."""
    stages = {stage["stage"]: stage["packets"] for stage in end["stages"]}
    assert sum(stages.values()) == lost, (lost, stages, end["delivered"], end["lost_tail"],
                                          end["missed"])


@table(first(1, [(name, recv, send) for name, recv, send in [
    ("AF_XDP receives", ["--rx", "xsk", "-i", "v-rx"], ["198.18.0.2", "-P", "2", "--flows", "4"]),
    ("AF_XDP sends", [], ["198.18.0.2", "--tx", "xsk", "-i", "v-tx"]),
    ("XDP receives IPv6", ["-6", "-p", "9000", "--rx", "xdp", "-i", "v-rx"],
     ["[2001:2::2]:9000", "--flows", "3"]),
    ("two threads, four flows", [], ["198.18.0.2", "-P", "2", "--flows", "4"]),
    ("XDP receives live frames", ["--rx", "xdp", "-i", "v-rx"],
     ["198.18.0.2", "--tx", "xdp", "-i", "v-tx"]),
    ("XDP receives from sockets", ["--rx", "xdp", "-i", "v-rx"], ["198.18.0.2", "-P", "2"]),
    ("socket", ["-i", "v-rx"], ["198.18.0.2", "-i", "v-tx"]),
    ("IPv6, another port", ["-6", "-p", "9000"], ["[2001:2::2]:9000"]),
]]))
def both_agree(recv, send):
    with Ends() as lab:
        received, sent = lab.exchange(recv, ["--rate", "50k", *send], 9000 if recv[:1] == ["-6"]
                                      else 28779)
    end = received["end"]
    assert sent["end"]["attempted"] == COUNT and sent["end"]["refused"] == 0, sent["end"]
    assert end["lost_tail"] is not None, "the end of the stream was not reported"
    assert end["delivered"] + end["lost"] == COUNT, end
    # what the receiver misses, the tracer of its own namespace has seen end, stage by stage
    assert_placed(end, end["lost"])
    assert end["duplicated"] == end["damaged"] == end["invalid"] == 0, end


@case
def a_small_buffer_is_named():
    with Ends() as lab:
        received, _ = lab.exchange(["--rcvbuf", "2304"], ["198.18.0.2", "--rate", "max"])
    end = received["end"]
    assert end["lost"] > 0, end
    # on a busy host, packets of the sender's CPU can arrive when the receiver has ended
    shown = [stage["stage"] for stage in end["stages"]]
    assert shown[0] == "rcvbuf" and set(shown) <= {"rcvbuf", "socket_close"}, end["stages"]
    # in so small a buffer the end of the stream is lost too if its reader gets no CPU for long
    unknown = 0 if end["lost_tail"] is not None else COUNT - end["delivered"] - end["lost"]
    assert_placed(end, end["lost"] + unknown)


@thorough
@together
def the_engine_counts_what_the_device_dropped():
    """AF_XDP gets each frame itself; nothing has to watch for it. Two at once, for each waits 5 s for
    the link."""
    with Ends() as lab, Ends() as other:
        command = ["send", "-c", "1000", "-r", "10k", "198.18.0.2", "--tx", "xsk", "-i", "v-tx"]
        for each in lab, other:
            each.do("rx", "ip", "link", "set", "v-rx", "down")
        with other.at("tx", *command) as texts:
            end = lab.run("tx", *command, "-j").json["end"]
            text = finish(texts).out
        devices = [each.do("tx", "cat", "/proc/net/dev").split("v-tx:")[1].split()
                   for each in (lab, other)]
    assert end["sent"] == end["dropped"] == 1000, end
    assert [(s["stage"], s["packets"]) for s in end["stages"]] == [("tx_device", 1000)], end
    assert all(int(device[11]) >= 1000 for device in devices), devices
    assert re.search(r"tx_device +1,000 ", text), text
    assert re.search(r"left this host +0 +0.00 %$", text, re.M), text


@table([("the generator", [], "generator"), ("a shaper", ["8mbit"], "interface"),
        ("none", None, None)])
@together
def which_bound_was_met(shaper, wanted):
    """Of a rate that no sender reaches, one that a shaper holds back, and one that is reached, unless a
    busy host gave the sender no CPU for long, which it says."""
    with Ends() as lab, directory() as where:
        if shaper:
            lab.do("tx", "tc", "qdisc", "replace", "dev", "v-tx", "root", "tbf", "rate", *shaper,
                   "burst", "10k", "limit", "10000000")
        rate = ("2k", "1s") if shaper is None else ("20k", "500ms") if shaper else ("5M", "250ms")
        ledger = Path(where, "ledger")

        def attempt():
            ledger.unlink(missing_ok=True)  # it has this attempt only
            return lab.run("tx", "send", "-q", "-j", "-r", rate[0], "-t", rate[1], "-o", ledger,
                           "198.18.0.2").json["end"]

        end = observed(attempt, lambda end: not wanted and end.get("bound") and end["late_ns"] > 20e6)
        text = pktledger("report", ledger).out
    assert end.get("bound") == wanted, end
    assert ("not reached: " in text) == bool(wanted), text


@thorough
@together
def a_sender_of_live_frames_looks_at_no_skb():
    """Others lose many: nothing of ours runs for each of them. The second, which waits for the link,
    begins beside the first."""
    with Ends() as lab, Ends() as unlinked, contextlib.ExitStack() as stack:
        lab.do("rx", "ethtool", "-K", "v-rx", "gro", "on")
        command = ["send", "-r", "10k", "198.18.0.2", "--tx", "xdp", "-i", "v-tx"]
        unlinked.do("rx", "ethtool", "-K", "v-rx", "gro", "on")
        unlinked.do("rx", "ip", "link", "set", "v-rx", "down")
        losing = stack.enter_context(unlinked.at("tx", *command, "-c", "1000", "-j"))
        sender = stack.enter_context(lab.started("tx", *command, "-t", "100", "-q"))
        # what is attached is so before it sends
        until(lambda: link(lab.netns("rx"), "v-rx")["rx"]["packets"] > 999, 10, "it sends")
        names = programs_of(sender.pid)
        sender.send_signal(signal.SIGINT)
        sender.communicate(timeout=30)
        end = finish(losing).json["end"]
    assert "xdp_devmap_xmit" in names and not {n for n in names if "skb" in n}, names
    lost = [(s["stage"], s["packets"], s["source"]) for s in end["stages"]]
    assert end["dropped"] and lost == [("tx_device", end["sent"], "event")], end


@case
@together
def nobody_listens():
    with Ends() as lab:
        result = assert_ok(lab.run("tx", "send", "-j", "-c", "1000", "-r", "10k", "198.18.0.2"))
    end = result.json["end"]
    assert end["attempted"] == 1000 and end["sent"] + end["refused"] == 1000, end
    # the receiver's namespace is not this side's: nothing of it is in this ledger
    assert end["dropped"] == 0, end
    # sendmmsg() may keep the error to itself
    assert ("the port is closed" in result.err) == ("ECONNREFUSED" in end["refused_by"]), result


def stamped(stream, number):
    """A payload that is numbered as ours are."""
    word = stream << 48 | number
    return struct.pack("!HQQ", 0x706b, word, word ^ (1 << 64) - 1)


def end_record(stream, base, sent):
    return struct.pack("!HHQQQQ", 0x7065, stream, base, sent, 0, stream ^ base ^ sent ^ (1 << 64) - 1)


BASE = 5 << 32


@table(first(1, [("socket", []), ("xdp", ["--rx", "xdp", "-i", "lo"])]))
@together
def order_and_copies(args):
    """The first of every 20 numbers comes last, every 50th twice, and one of 100 is never sent."""
    numbers = [20 * group + (i + 1) % 20 for group in range(50) for i in range(20)]
    order = [n for n in numbers if n % 100 != 77 for _ in range(2 if n % 50 == 49 else 1)]
    # the whole burst fits the buffer, in case the receiver waits for a CPU
    with Ends() as lab, lab.staying(*args, *([] if args else ["--rcvbuf", "4M"])) as receiver:
        lab.put([*(stamped(7, BASE + n) for n in order), end_record(7, BASE, 1000)])
        receiver.read_until(lambda data: data.get("delivered", 0) == 990)
    end = receiver.end
    assert (end["delivered"], end["duplicated"], end["lost"]) == (990, 20, 10), end
    assert end["reordered"] == 50, end["reordering"]
    if not args:
        assert end["reordering"]["extent_max"] == 19, end["reordering"]


@case
@together
def forged_numbers_cost_nothing():
    """Two datagrams of each of 64 streams, whose numbers are 2^32 apart: what nobody can have sent
    meanwhile is not counted one by one. Nor is the end of a stream believed that was sent beyond
    it, or is of no stream."""
    with Ends() as lab, lab.staying() as receiver:
        lab.put([*(stamped(stream, BASE + n) for stream in range(1, 65) for n in (0, 0xffffffff)),
                 end_record(1, BASE, 0), end_record(2, BASE + 1, 1), end_record(3, BASE, (1 << 64) - 1),
                 end_record(4, BASE, 1)])
        receiver.read_until(lambda data: data.get("delivered", 0) == 64)
    end = receiver.end
    assert (end["delivered"], end["foreign"], end["lost"]) == (64, 64, 0), end
    assert {s["stream"]: s["sent"] for s in end["streams"] if s["sent"] is not None} == {4: 1}, end


@thorough
@together
def streams_one_after_another():
    """More than there are slots. Each loses its last packet, and every tenth one before."""
    with Ends() as lab, lab.staying() as receiver:
        for i in range(1, 301):
            lab.put([*(stamped(i, BASE + n) for n in range(4) if n != 2 or i % 10), end_record(i, BASE, 5)])
            time.sleep(0.04)
        receiver.read_until(lambda data: data.get("delivered", 0) == 4 * 300 - 30)
    end = receiver.end
    assert (end["delivered"], end["lost"], end["lost_tail"]) == (4 * 300 - 30, 330, 300), end
    assert end["foreign"] == end["late"] == end["duplicated"] == 0, end
    assert len(end["streams"]) + end["streams_more"] == 300, (len(end["streams"]), end)


@thorough
@together
def forged_streams_make_room():
    """256 headers of streams that nobody goes on with keep another one out for ten seconds. The first
    of them goes on in another slot, and its numbers are counted together."""
    first, other, number = 10, 1, 0
    with Ends() as lab, lab.staying() as receiver:
        lab.put([stamped(i, BASE) for i in range(first, first + 256)])
        begun = time.monotonic()
        while receiver.read_line()["data"].get("delivered", 0) <= 256:
            lab.put([stamped(other, BASE + number)])
            number += 1
        assert time.monotonic() - begun < (10 + 5) * PATIENCE, "it waits longer"
        counted = receiver.read_line()["data"]["delivered"]
        lab.put([stamped(first, BASE + 2)])
        receiver.read_until(lambda data: data["delivered"] > counted)
    end = receiver.end
    streams = {s["stream"]: (s["delivered"], s["highest"]) for s in end["streams"]}
    assert len(streams) == len(end["streams"]) == 256 and end["streams_more"] == 1, end
    delivered, highest = streams.pop(other)
    assert delivered and highest == number and end["foreign"] == number - delivered, (number, end)
    assert streams.pop(first) == (2, 3), end
    assert set(streams.values()) == {(1, 1)} and end["lost"] == number - delivered + 1, end


@table(first(1, [("a ledger", ["-o", "{}/ledger"], 16, "that a ledger has room for (--streams)"),
                 ("live frames", ["--rx", "xdp", "-i", "lo"], 8, "that --rx xdp has room for")]))
@together
def streams_without_a_slot(args, room, words):
    """One line says how many there may be."""
    with directory() as where, Ends() as lab, lab.staying(*(a.format(where) for a in args)) as receiver:
        lab.put([*(stamped(i, BASE) for i in range(1, room + 3)), stamped(1, BASE + 1)])
        receiver.read_until(lambda data: data.get("delivered", 0) > room)
    assert receiver.end["foreign"] == 2, receiver.end
    assert (f"2 packets belonged to no known stream: forged numbers, or more streams than the {room} "
            f"{words}") in receiver.err, receiver.err


@contextlib.contextmanager
def keeping(lab, engine):
    """A receiver on lo that keeps a ledger of each number."""
    with directory() as where, lab.staying("--rx", engine, "-i", "lo", "-o", f"{where}/ledger") as receiver:
        yield receiver


@table(first(1, [(engine, engine) for engine in ("socket", "xdp")]))
@together
def a_forged_number_ahead(engine):
    """One that is 2^32 ahead of its stream is none of it, and is not waited for, nor are those between."""
    with Ends() as lab, keeping(lab, engine) as receiver:
        lab.put([stamped(7, BASE + 1), stamped(7, (6 << 32) + 2)])
        time.sleep(2)  # the window of the ledger goes on
    end = receiver.end
    assert (end["delivered"], end["foreign"], end["lost"]) == (1, 1, 1), end


@table(first(1, [(engine, engine) for engine in ("xdp", "socket")]))
@together
def forged_numbers_run_ahead(engine):
    """Each is 2^32 ahead of the one before, so that they come while the window of the ledger goes
    after one: none gets in there that is behind the window's end."""
    payloads = [stamped(7, (5 + n << 32) + 1) for n in range(60)]
    with Ends() as lab, keeping(lab, engine) as receiver:
        with udp(lab.netns("rx"), socket.AF_INET) as sock:
            sock.connect(("127.0.0.1", 28779))
            end = time.monotonic() + (3 if EVERYTHING else 0.4)
            for i in itertools.count():
                sock.send(payloads[i // 2000 % 58 + random.randrange(3)])
                if time.monotonic() > end:
                    break
    assert receiver.end["delivered"] < 60


@case
def a_log_that_nobody_reads():
    """A pipe: the program waits for its reader, and a signal ends that."""
    with Ends() as lab, directory() as where:
        os.mkfifo(f"{where}/log")
        with lab.started("rx", "recv", "-q", "--log", f"{where}/log") as receiver:
            until(lambda: "sigtimedwait" in Path(f"/proc/{receiver.pid}/wchan").read_text() or
                  receiver.poll() is not None, 10, "it waits for a reader")
            assert receiver.poll() is None, receiver.communicate()
            receiver.send_signal(signal.SIGTERM)
            _, err = receiver.communicate(timeout=5 * PATIENCE)
        assert receiver.returncode == 1 and "cannot write to" in err, (receiver.returncode, err)


@table([(" ".join(args), args) for args in (
    ("recv", "-t", "1", "--log"), ("recv", "-t", "1", "--ledger"),
    ("report", "--html"))])
def a_link_of_others(args):
    """It could lead to any file of root's, or to a device."""
    with directory() as where:
        kept, link = Path(where, "kept"), Path(where, "link")
        words = [*args, link]
        if args[0] == "report":
            result = pktledger("recv", "-t", "100ms", "-o", f"{where}/ledger")
            assert not result.status, result
            os.mkfifo(kept)
            words.append(f"{where}/ledger")
        else:
            kept.touch()
        link.symlink_to(kept)
        os.lchown(link, 65534, 65534)
        with started(*map(str, words)) as process:
            _, err = process.communicate(timeout=5 * PATIENCE)
        assert process.returncode == 1 and "Operation not permitted" in err, (process.returncode, err)
        assert not kept.stat().st_size


@case
def a_token_that_nobody_writes():
    """It does not hold up the program, which has begun nothing that a signal could leave half done."""
    with directory() as where:
        os.mkfifo(f"{where}/file")
        with started("run", "-r", "1k", "--to", "tls://127.0.0.1", "--token-file",
                     f"{where}/file") as process:
            until(lambda: "partner" in Path(f"/proc/{process.pid}/wchan").read_text(), 10, "open()")
            process.terminate()
            assert process.wait(5 * PATIENCE) == -signal.SIGTERM, process.returncode


@table([(closed, closed, status) for closed, status in (("<&-", 0), (">&-", 1), ("2>&-", 0))])
def closed_from_the_beginning(closed, status):
    """No file gets the number of the descriptor, and then what is meant for a reader."""
    with directory() as where:
        done = subprocess.run(["sh", "-c", f'exec "$0" "$@" {closed}', BINARY, "run", "-c", "1000",
                               "--rate", "100k", "--ledger", f"{where}/ledger"],
                              capture_output=True, text=True, check=False)
        assert done.returncode == status, done
        assert status == 0 or "stdout is closed" in done.stderr, done
        for line in Path(f"{where}/ledger").read_bytes().splitlines():
            assert re.match(rb'[0-9a-f]{8} {"event":', line), line
        assert_ok(pktledger("report", f"{where}/ledger"))


@contextlib.contextmanager
def unread(*args):
    """A command whose stdout is a pipe with room for a page, and the end of it that reads."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    with started(*args, stdout=writer) as process:
        os.close(writer)
        with open(reader) as out:
            yield process, out


WORDY = "run", "--json-lines", "-r", "1k", "-I", "10ms", "-q"


def is_closed(ledger):
    return os.path.exists(ledger) and '"event":"end"' in Path(ledger).read_text()


@table([("late", True), ("never", False)])
def stdout_is_read(late):
    """All of it waits for the reader, but not the ledger, nor a signal."""
    with directory() as where, unread(*WORDY, "-t", "1", "-o", f"{where}/ledger") as (process, out):
        until(lambda: is_closed(f"{where}/ledger"), 30, "the ledger")
        assert process.poll() is None
        if late:
            events = [json.loads(line)["event"] for line in out]
            assert events[0] == "start" and events[-1] == "end" and events.count("interval") > 20, events
        else:
            process.terminate()
        assert process.wait(20 * PATIENCE) == (0 if late else 1)
        assert ("the reader of stdout has stopped" in process.stderr.read()) != late


@table([(args[0], args) for args in (
    (*WORDY, "-t", "1000"), ("trace", "--json-lines", "-I", "100ms", "-q"))])
def a_signal_while_nobody_reads(args):
    with unread(*args) as (process, out):
        until(lambda: pending(out), 30, "a full pipe")  # of one page, which the first line takes
        process.send_signal(signal.SIGINT)
        assert process.wait(20 * PATIENCE) == 1, process.returncode


def pending(pipe):
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))[0]


@case
def nothing_arrives():
    """The reader learns what to compare."""
    with Ends() as lab:
        result = lab.run("rx", "recv", "-t", "100ms")
    assert result.status == 0 and "no packet of `pktledger send` arrived on UDP port 28779" in result.err, result


@case
def in_a_user_namespace_of_its_own():
    """It could not come back from the network namespaces that it makes."""
    result = pktledger("run", prefix=["unshare", "-U", "-r"])
    require("unshare" not in result.err, result.err)
    assert result.status == 3 and len(result.err.strip().splitlines()) == 1, result


if __name__ == "__main__":
    main()
