#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What cannot be done ends at once: one clear line, and the right exit status. The command lines and what is
said of each are in tests/fixtures/refused; with UPDATE set, what is said now is written there."""

import contextlib
import os
import re
import shlex
import shutil
import socket
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import EVERYTHING, ROOT, as_nobody, case, directory, main, pktledger, rootless, table

FAILED, UNABLE = 1, 3
os.environ["TZ"] = "UTC"  # of times in messages
REFUSED = ROOT / "tests/fixtures/refused"
WITHOUT_JSON = {"top", "export", "help"}
FORMS = {"-j", "--json", "--json-lines", "--csv", "--html", "--stdio", "--explain"}  # with which -j is another error


def assert_refused(result, status, *words):
    """One line on stderr, and a second one at most for the hint."""
    assert result.status == status, result
    assert 1 <= len(result.err.splitlines()) <= 2, result
    for word in words:
        assert word in result.err, f"no word of {word!r}: {result}"


def stories():
    """The names of the cases, and of each [(command line, what is said)]."""
    for text in REFUSED.read_text().split("\ncase ")[1:]:
        name, _, rest = text.partition("\n")
        yield name, re.findall(r"^(?!#|is )(.+)\n(?:is (.*))?", rest, re.M)


@contextlib.contextmanager
def files():
    """A directory with what the command lines name; `none` is none of them."""
    with directory() as path:
        shutil.copytree(ROOT / "tests/fixtures/files", path, dirs_exist_ok=True)
        for end in "ab":
            shutil.copy(ROOT / f"tests/golden/parts/number-{end}.pcap", path / f"{end}.pcap")
        for ledger in (ROOT / "tests/golden/parts").glob("*.ledger"):
            shutil.copy(ledger, path)
        os.mkfifo(path / "pipe")
        (path / "token").chmod(0o644)
        yield path


def refusal(words, path):
    """Exit status and line of error of a command line, and the same as JSON if it has that. What goes to stderr
    is the same with -j, so the line without it is for `make test-all`."""
    asked = [words]
    if words[0] not in WITHOUT_JSON and not FORMS & set(words) and words[1:]:
        asked = [words] * EVERYTHING + [[words[0], "-j", *words[1:]]]
    told = set()
    for line in asked:
        result = pktledger(*line, cwd=path)
        said, = re.findall("^error: (.*)\n", result.err, re.M) or [None]
        assert said and result.err.endswith(f"{said}\n") and result.status, result
        told.add((result.err, f"{result.status} {said}"))
        if line is not words:
            error = result.json["error"]
            assert set(error) == {"message", "hint", "status"} and "trials" not in result.json, result
            assert error["status"] == result.status, result
            assert ": ".join(filter(None, (error["message"], error["hint"]))) == said, result
        else:
            assert not result.out or words[0] == "report" or FORMS & set(words), result
    (_, refused_so), = told
    return refused_so


@table([(name, rows) for name, rows in stories()])
@rootless
def refused(rows):
    """A host that lacks what comes before is not asked."""
    wrong = []
    with files() as path:
        before = {p.name: p.read_bytes() for p in path.iterdir() if p.is_file()}
        for words, expected in rows:
            said = refusal(shlex.split(words), path)
            if said != expected and not (os.geteuid() and said.startswith(f"{UNABLE} ")):
                wrong.append(f"{words}\nis {said}\nnot {expected}")
                if "UPDATE" in os.environ:
                    REFUSED.write_text(re.sub(rf"^{re.escape(words)}\n(?:is .*\n)?", lambda _, words=words, said=said:
                                              f"{words}\nis {said}\n", REFUSED.read_text(), flags=re.M))
        assert {p.name: p.read_bytes() for p in path.iterdir() if p.is_file()} == before, "a file has changed"
    assert not wrong, "\n".join(wrong)


@case
@rootless
def help_of_a_command():
    asked = pktledger("help", "run")
    assert asked.status == 0 and asked.out == pktledger("run", "--help").out, asked


@case
def packets_or_bits():
    """A rate that may have been meant in bits says once what it is."""
    for rate, said in ("100M", 1), ("1M", 0), ("100Mbit", 0):
        err = pktledger("run", "--rate", rate, "-c", "10").err
        assert err.count(f"{rate} means pps (for bit/s write {rate}bit)") == said, err


@table([(" ".join(args), args, word) for *args, word in (
    ["run", "--fault=help", "ip_forward:ttl"], ["run", "--tx=help", "xsk"], ["run", "--rx=help", "xsk"],
    ["--help", ""], ["--version", ""], ["-V", ""], ["run", "--help", ""], ["send", "--help", ""],
    ["recv", "--help", ""], ["lab", "--help", ""], ["trace", "--help", ""])])
@rootless
def shown(args, word):
    result = pktledger(*args)
    assert result.status == 0 and result.out and word in result.out and not result.err, result


@table([("UDP", socket.SOCK_DGRAM, ["recv", "--count", "1", "--port", "{}"]),
        ("TCP", socket.SOCK_STREAM, ["export", "--listen", "127.0.0.1:{}"])])
def port_in_use(kind, args):
    with socket.socket(socket.AF_INET6, kind) as taken:
        taken.bind(("::", 0))
        if kind == socket.SOCK_STREAM:
            taken.listen()
        port = str(taken.getsockname()[1])
        result = pktledger(*(arg.format(port) for arg in args))
    assert_refused(result, FAILED, port, "another port" if kind == socket.SOCK_STREAM else "")


@case
def client_that_does_not_speak_the_protocol():
    with directory() as where:
        (where / "garbage").write_text("garbage\n")
        with (where / "garbage").open() as garbage:
            assert_refused(pktledger("recv", "--stdio", stdin=garbage), FAILED, "does not speak the protocol")


@case
def no_privilege():
    """The missing capabilities are named."""
    result = as_nobody("run", "--count", "1")
    assert_refused(result, UNABLE, "CAP_")
    assert result.out == ""


if __name__ == "__main__":
    main()
