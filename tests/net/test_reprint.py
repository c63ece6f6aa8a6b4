#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a command has printed, `report` prints again of its ledger, word for word, and of the JSON
that -j prints of that ledger."""

import contextlib
import os
import signal
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from labs import Lab
from lib import PATIENCE, assert_ok, assert_ended, case, finish, first, main, pktledger, started, table, until

NO_CPU = str(8 * (os.cpu_count() or 1))  # none of this host
NAME = f"pl-reprint-{os.getpid()}"
FAULTS = ["--fault", "netfilter=10%,socket_filter=5%"]
QUICK = ["-c", "2000", "--rate", "50k", "--settle", "1"]


@contextlib.contextmanager
def ledger():
    with tempfile.TemporaryDirectory(prefix="pl-test-") as path:
        yield os.path.join(path, "ledger")


def assert_reprinted(printed, file, *how):
    assert printed.strip(), "nothing was printed"
    result = assert_ok(pktledger("report", *how, file))
    assert printed in result.out, f"printed:\n{printed}\nreprinted:\n{result.out}"
    with tempfile.NamedTemporaryFile("w", prefix="pl-test-") as kept:
        kept.write(assert_ok(pktledger("report", "--json", file)).out)
        kept.flush()
        result = assert_ok(pktledger("report", *how, kept.name))
    assert printed in result.out, f"printed:\n{printed}\nof its JSON:\n{result.out}"


def reprints(*args, how=(), status=0):
    with ledger() as file:
        result = assert_ended(pktledger(*args, *how, "--ledger", file), status)
        assert_reprinted(result.out, file, *how)


@table(first(2, [(" ".join(args + how), args, how) for args, how in [
    (["--threads", "3", *FAULTS], ["-v"]),
    (["--topology", "router", "--fault", "netfilter:forward=10%"], []),
    (["--rcvbuf", "4k", "--work", "1ms"], ["-q"]),
    (["--ipv6", "--tx", "xsk", "--imix", "simple"], []),
    (["--repeat", "3", *FAULTS], []),
    (FAULTS, []),
    (FAULTS, ["-v"]),
    (FAULTS, ["-q"]),
    (["--rcvbuf", "4k", "--work", "1ms"], []),
    (["--length", "3000", "--fault", "netfilter=10%"], ["-v"]),
]]))
def a_run(args, how):
    reprints("run", *QUICK, *args, how=how)


@table(first(1, [
    ("some cannot be", ["--vary", f"rx-cpu=0,{NO_CPU}", *FAULTS], 1),
    ("repeated", ["--repeat", "2", "--vary", "length=64,1000"], 0),
    ("two axes", ["--repeat", "2", "--vary", "rcvbuf=4k,default", "--vary", "length=64,1000"], 0),
]))
def a_sweep(args, status):
    reprints("sweep", *QUICK, *args, status=status)


@table(first(0, [("sweep", ["sweep", "--vary", "length=64,512,1000"]), ("run", ["run"])]))
def what_was_interrupted(args):
    """The columns of a sweep are as wide as what it did not come to needs."""
    with ledger() as file:
        with started(*args, "-c", "20k", "-r", "10k", *FAULTS, "--ledger", file) as process:
            until(lambda: os.path.exists(file) and '"interval"' in Path(file).read_text(), 20,
                  "no interval came")
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30 * PATIENCE)
        assert process.returncode == 0, err
        assert_reprinted(out, file)


@table(first(0, [(" ".join(args), args) for args in [[], ["--repeat", "2"], ["--mrr"]]]))
def a_search(args):
    how = ["-t", "100ms", "--warmup", "100ms", "--max-rate", "20k", "--min-rate", "100",
           "--fault", "qdisc=10k"]
    if "--mrr" not in args:
        how += ["--sum", "100ms", "--precision", "30%"]
    reprints("search", *how, *args)


@case
def two_ends():
    with Lab(NAME) as lab, ledger() as sent, ledger() as received, \
            lab.started("rx", "recv", "-q", "-t", "30", "--rcvbuf", "4k", "--ledger", received) as receiver:
        until(lambda: lab.listening(), 10, "recv did not open its socket")
        sender = lab.at("tx", "send", "-q", "-c", "5000", "--rate", "max", "198.18.0.2", "--ledger", sent)
        for process, file in ((sender, sent), (receiver, received)):
            assert_reprinted(assert_ok(finish(process)).out, file, "-q")


@table(first(0, [("back", ["--reverse"]), ("out", []), ("three times", ["--repeat", "3"])]))
def two_hosts(args):
    with Lab(NAME) as lab, ledger() as file, \
            lab.started("rx", "recv", "--serve", "--listen", "::", "--insecure", "--stay", "-q") as server:
        until(lambda: lab.listening(what="tcp"), 10, "recv does not serve")
        result = assert_ok(lab.run("tx", "run", "--to", "198.18.0.2", "--insecure", "--rate", "50k", "-c", "5000",
                                   "--settle", "1", "--rcvbuf", "4k", "--ledger", file, *args))
        assert_reprinted(result.out, file)
        server.terminate()
        server.communicate(timeout=10 * PATIENCE)


if __name__ == "__main__":
    main()
