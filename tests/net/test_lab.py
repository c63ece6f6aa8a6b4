#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`lab`: named namespaces to play in, and `run` between ports that are already there."""

import contextlib
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import assert_balanced, case, listing, main, pktledger, require_root, run, table

NAME = f"pl-test-{os.getpid()}"


@contextlib.contextmanager
def lab(*options):
    require_root()
    result = pktledger("lab", "up", NAME, *options)
    try:
        assert result.status == 0, result
        yield
    finally:
        pktledger("lab", "down", NAME)


def ours():
    return {name for name in listing("/run/netns") if name.startswith(NAME)}


@table([("pair", "pair", {"tx", "rx"}), ("router", "router", {"tx", "rx", "router"})])
def up_and_down(topology, roles):
    with lab("--topology", topology):
        assert ours() == {f"{NAME}-{role}" for role in roles}
        labs = pktledger("lab", "list", "-j").json["labs"]
        assert [row["topology"] for row in labs if row["name"] == NAME] == [topology]
    assert not ours()


@case
def name_is_taken():
    with lab():
        again = pktledger("lab", "up", NAME)
        assert again.status == 1 and NAME in again.err, again
        assert len(ours()) == 2


@case
def nothing_to_remove():
    require_root()
    result = pktledger("lab", "down", NAME)
    assert result.status == 1 and NAME in result.err, result


@table([(name, options) for name, options in [
    ("by its name", ["--lab", NAME]),
    ("by its ports", ["--rate", "100k", "-i", f"{NAME}-tx/v-tx,{NAME}-rx/v-rx"]),
    ("by its ports, IPv6", ["--ipv6", "--rate", "100k", "-i", f"{NAME}-tx/v-tx,{NAME}-rx/v-rx"]),
    ("AF_XDP", ["--lab", NAME, "--tx", "xsk", "--rx", "xsk"]),
    ("twice", ["--lab", NAME, "--repeat", "2"]),
]])
def run_in_it(options):
    with lab():
        document = run("--count", "50000", *options)
        if "--repeat" not in options:
            assert_balanced(document, attempted=50000)


if __name__ == "__main__":
    main()
