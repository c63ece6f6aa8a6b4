#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What cannot be done ends at once: one clear line, and the right exit status."""

import socket
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import as_nobody, case, directory, main, pktledger, rootless, table

FAILED, USAGE, UNABLE = 1, 2, 3


def assert_refused(result, status, *words):
    """One line on stderr, and a second one at most for the hint."""
    assert result.status == status, result
    assert 1 <= len(result.err.splitlines()) <= 2, result
    for word in words:
        assert word in result.err, f"no word of {word!r}: {result}"


@case
@rootless
def help_of_a_command():
    asked = pktledger("help", "run")
    assert asked.status == 0 and asked.out == pktledger("run", "--help").out, asked
    assert_refused(pktledger("help", "rnu"), USAGE, "did you mean run?")


# Each is refused with and without -j.
@table([(" ".join(args), args, words) for args, words in [
    (["--nonsense"], ["--nonsense"]),
    (["--cuont", "5"], ["--count"]),
    (["stray"], ["stray"]),
    (["--count"], ["--count"]),
    (["--count", "12abc"], ["12abc"]),
    (["--count=-1"], ["-1"]),
    (["--count", "0"], ["--count"]),
    (["--count", "99999999999999999999"], ["--count"]),
    (["--count", ""], ["--count"]),
    (["--duration", "5parsecs"], ["5parsecs"]),
    (["--duration", "0"], ["--duration"]),
    (["--rate", "fast"], ["fast"]),
    (["--rate", "-5"], ["-5"]),
    (["--rate", "50%"], ["speed"]),
    (["--size", "63"], ["63", "64"]),
    (["--size", "83", "--ipv6"], ["83", "84"]),
    (["--length", "17"], ["17", "18"]),
    (["--length", "65508"], ["65508"]),
    (["--size", "100", "--length", "100"], ["--size", "--length"]),
    (["--size", "1519"], ["1519", "MTU"]),
    (["--tx", "xsk", "--length", "1473"], ["1473", "MTU", "--tx socket"]),
    (["--port", "0"], ["--port"]),
    (["--port", "65536"], ["--port"]),
    (["--threads", "0"], ["--threads"]),
    (["--rcvbuf", "1q"], ["1q"]),
    (["--settle", "soon"], ["soon"]),
    (["--tx", "pigeon"], ["pigeon", "xsk"]),
    (["--rx", "pigeon"], ["pigeon", "xsk"]),
    (["--limit", "loss"], ["--limit"]),
    (["--limit", "losses=1%"], ["losses"]),
    (["--fault", "rcvbuff"], ["rcvbuff", "did you mean rcvbuf?"]),
    (["--fault", "netfilter=200%"], ["netfilter"]),
    (["--fault", "udp_lookup=5%"], ["udp_lookup"]),
    (["--fault", "rcvbuf,udp_mem"], ["rcvbuf", "udp_mem"]),
    (["--fault", "rcvbuf,rcvbuf"], ["rcvbuf"]),
    (["--fault", "rcvbuf,"], ["--fault"]),
    (["--fault", "xsk:ring"], ["--rx xsk"]),
    (["--fault", "rcvbuf", "--rx", "xsk"], ["--rx socket"]),
    (["--fault", "qdisc", "--tx", "xsk"], ["--tx socket"]),
    (["--fault", "socket_read:csum", "--length", "68"], ["69"]),
    (["--fault", "rcvbuf", "-i", "lo,lo"], ["--fault and --interface"]),
    (["-i", "lo"], ["-i"]),
]])
def usage(args, words):
    result = pktledger("run", *args)
    assert_refused(result, USAGE, *words)
    assert result.out == "", result
    result = pktledger("run", "-j", *args)
    assert_refused(result, USAGE, *words)
    assert set(result.json["error"]) == {"message", "hint", "status"}, result
    assert result.json["error"]["status"] == USAGE, result


@table([(" ".join(args), args, status, words) for args, status, words in [
    (["udp", "prot", "53"], USAGE, ["bad filter", "syntax error"]),
    (["--by", "procces"], USAGE, ["procces", "did you mean process?"]),
    (["--stage", "rcvbuff"], USAGE, ["rcvbuff", "did you mean rcvbuf?"]),
    (["--reason", "SOCKET_RCVBUF"], USAGE, ["SOCKET_RCVBUF", "did you mean SOCKET_RCVBUFF?"]),
    (["--pid", "0"], USAGE, ["--pid"]),
    (["--pid", "2147483647"], FAILED, ["2147483647"]),
    (["--netns", "nosuchns"], FAILED, ["nosuchns"]),
    (["--netns", "1"], FAILED, ["1"]),
    (["-i", "nosuch0"], FAILED, ["nosuch0"]),
    (["--cgroup", "slice"], USAGE, ["slice"]),
    (["--cgroup", "/pl-none"], FAILED, ["no cgroup /pl-none"]),
    (["--until-limit"], USAGE, ["--limit"]),
    (["--limit", "loss=1%"], USAGE, ["share"]),
    (["--interval", "1ms"], USAGE, ["1ms"]),
    (["--"], USAGE, ["--"]),
]])
def usage_of_trace(args, status, words):
    result = pktledger("trace", *args)
    assert_refused(result, status, *words)
    assert result.out == "", result
    result = pktledger("trace", "-j", *args)
    assert_refused(result, status, *words)
    assert result.json["error"]["status"] == status, result


# Options that would be ignored; none of these opens a socket.
@table([(" ".join(args), args, words) for args, words in [
    (["recv", "--token-file", "/dev/null"], ["--token-file", "--serve"]),
    (["recv", "--max-rate", "50k"], ["--max-rate", "--serve"]),
    (["recv", "--control-port", "5"], ["--control-port", "--serve"]),
    (["recv", "--listen", "::"], ["--listen", "--serve"]),
    *[(["recv", "--serve", *given], [given[0].split("=")[0], "--serve"]) for given in [
        ["--duration", "1"], ["--count=1"], ["--gro"], ["--rx", "xsk"], ["--ipv6"],
        ["--rcvbuf", "1m"], ["--interval", "2"], ["--streams", "2"], ["--group", "239.1.1.1"],
        ["--rt", "5"], ["--work", "1us"], ["--log", "/dev/null"]]],
    (["recv", "--stdio", "--port", "5"], ["--stdio", "--port"]),
    (["recv", "--stdio", "--gro"], ["--stdio"]),
    (["recv", "--stdio", "-o", "/dev/null"], ["--stdio"]),
    (["recv", "--serve", "--new-token", "/dev/null", "--insecure"], ["--new-token", "--insecure"]),
    (["recv", "--serve", "-t", "1"], ["--duration"]),
    (["recv", "--serve", "-c1"], ["--count"]),
    (["check", "--undo", "-p", "9"], ["--undo", "--port"]),
    (["check", "--undo-file", "x"], ["--undo-file", "--apply"]),
    (["check", "--explain", "all", "-n", "x"], ["--explain"]),
    (["check", "--pod", "a/b", "--pid", "1"], ["--pod", "--pid"]),
    (["lab", "list", "--queues", "2"], ["--queues", "lab up"]),
    (["lab", "down", "--mtu", "1400"], ["--mtu", "lab up"]),
    (["lab", "list", "x"], ["lab list"]),
    (["send", "127.0.0.1", "-6", "--rate", "10"], ["--ipv6", "IPv4"]),
    (["run", "--to", "127.0.0.1", "-6", "--rate", "10"], ["--ipv6", "IPv4"]),
]])
@rootless
def ignored_options(args, words):
    result = pktledger(*args)
    assert_refused(result, USAGE, *words)
    assert result.out == "", result
    result = pktledger(*args, "-j")
    assert_refused(result, USAGE, *words)
    assert result.json["error"]["status"] == USAGE, result


@table([(args[0], args) for args in (["run", "--profile", "onoff:1ms/1ms"], ["send", "127.0.0.1"])])
@rootless
def refused_without_a_ledger(args):
    """Nothing was recorded, so no file is left that later runs cannot append to."""
    with directory() as d:
        assert_refused(pktledger(*args, "--ledger", f"{d}/ledger"), USAGE, "--rate")
        assert not (d / "ledger").exists()


@table([(args[0], args) for args in (["run", "-c", "1"], ["trace", "-n", "1"])])
def unwritable_report(args):
    """It is refused before anything is sent or traced."""
    result = pktledger(*args, "--junit", "/nowhere/x")
    assert_refused(result, FAILED, "/nowhere/x")
    assert result.out == "", result


@case
def trace_that_cannot_start():
    """The capture of an earlier trace stays as it is."""
    with directory() as d:
        (d / "old").write_text("capture")
        assert_refused(pktledger("trace", "-n", "nosuchns", "-w", f"{d}/old"), FAILED, "nosuchns")
        assert (d / "old").read_text() == "capture"


@case
def packets_or_bits():
    """A rate that may have been meant in bits says once what it is."""
    for rate, said in ("100M", 1), ("1M", 0), ("100Mbit", 0):
        err = pktledger("run", "--rate", rate, "-c", "10").err
        assert err.count(f"{rate} means pps (for bit/s write {rate}bit)") == said, err


@case
@rootless
def unknown_command():
    result = pktledger("rnu")
    assert_refused(result, USAGE, "rnu", "run")
    assert result.out == ""


@table([(name, ["run", option], word) for name, option, word in [
    ("of faults", "--fault=help", "ip_forward:ttl"),
    ("of senders", "--tx=help", "xsk"),
    ("of receivers", "--rx=help", "xsk"),
]])
@rootless
def list_of_values(args, word):
    result = pktledger(*args)
    assert result.status == 0 and word in result.out and not result.err, result


@table([(" ".join(args), args) for args in (
    ["--help"], ["--version"], ["-V"], ["run", "--help"], ["send", "--help"], ["recv", "--help"],
    ["lab", "--help"], ["trace", "--help"],
)])
@rootless
def shown(args):
    result = pktledger(*args)
    assert result.status == 0 and result.out and not result.err, result


@case
def interface_missing():
    result = pktledger("run", "-i", "nosuch0,nosuch1", "--rate", "1k", "--count", "1")
    assert_refused(result, FAILED, "nosuch0")


@case
def lab_missing():
    result = pktledger("run", "--lab", "nosuchlab", "--count", "1")
    assert_refused(result, FAILED, "nosuchlab")


@case
def port_in_use():
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as taken:
        taken.bind(("::", 0))
        port = taken.getsockname()[1]
        result = pktledger("recv", "--port", str(port), "--count", "1")
    assert_refused(result, FAILED, str(port))


@case
def no_privilege():
    """The missing capabilities are named."""
    result = as_nobody("run", "--count", "1")
    assert_refused(result, UNABLE, "CAP_")
    assert result.out == ""


if __name__ == "__main__":
    main()
