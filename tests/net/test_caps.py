#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Each command works for an ordinary user with exactly the capabilities that it says it needs, and
without any one of them names it and ends with status 3.
"""

import contextlib
import os
import pty
import shutil
import subprocess
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib
from ends import do
from lib import assert_ok, exclusive_rows, main, pktledger, require, table

NAME = f"pl-caps-{os.getpid()}"
V4 = "198.18.0.2"
PORT = str(lib.PORT)
USER = ["--reuid=nobody", "--regid=nogroup", "--clear-groups"]
UNTIL_SIGNAL = ["timeout", "--preserve-status", "-s", "INT", "0.5"]  # that ends it well


def drain(terminal):
    with contextlib.suppress(OSError):  # nobody has its other end any more
        while os.read(terminal, 65536):
            pass


def run_confined(command, terminal):
    """On a terminal of its own if it needs one."""
    with contextlib.ExitStack() as stack:
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}
        if terminal:
            master, slave = pty.openpty()
            stack.callback(os.close, master)
            stack.callback(os.close, slave)
            threading.Thread(target=drain, args=(master,), daemon=True).start()
            streams = {"stdin": slave, "stdout": slave}
        return subprocess.run(command, **streams, stderr=subprocess.PIPE, text=True,
                              timeout=5 * lib.TIMEOUT, check=False,
                              env={**os.environ, "TERM": "xterm"})


def confined(caps, args, side=None):
    """Runs it as nobody with these capabilities and no others, maybe at one side of a lab; what
    makes labs, whose files are root's, as root with no more than that.
    """
    require(shutil.which("setpriv"), "needs setpriv")
    held = ",".join(["-all"] + [f"+{c.removeprefix('CAP_').lower()}" for c in caps])
    with lib.copied_program() as program:
        done = run_confined(
            [*(["ip", "netns", "exec", f"{NAME}-{side}"] if side else []),
             "setpriv", *([] if args[0] == "lab" else USER), f"--bounding-set={held}",
             f"--inh-caps={held}", f"--ambient-caps={held}",
             *(UNTIL_SIGNAL if "--serve" in args else []), program, *args], args[0] == "top")
    return lib.Result(args, done.returncode, done.stdout or "", done.stderr)


def needs(command, when=None, extra=False):
    """What the program's own table says; `extra`: what it can do without."""
    rows = next(c for c in pktledger("help", "-j").json["commands"] if c["name"] == command)["capabilities"]
    return [n["name"] for n in rows
            if bool(n["without"]) == extra and (not n["when"] or when in n["when"].split(", "))]


@contextlib.contextmanager
def place(args, side):
    """The lab that it is to be run in, or that it makes."""
    try:
        if side:
            assert_ok(pktledger("lab", "up", NAME))
        if "xdp" in args and side == "tx":  # a veth takes live frames if its peer has NAPI
            require(shutil.which("ethtool"), "needs ethtool")
            do(f"{NAME}-rx", "ethtool", "-K", "v-rx", "gro", "on")
        yield
    finally:
        if side or args[0] == "lab":
            pktledger("lab", "down", NAME)


SEND = ["send", V4, "--rate", "10k", "-c", "10", "-i", "v-tx", "--tx"]
RECV = ["recv", "-t", "0.1", "-i", "v-rx", "--rx"]
ROWS = [(" ".join(args[:2] + args[-2:]), args, when, side) for args, when, side in [
    (["run", "-c", "1000"], None, None),
    (["trace", "-t", "0.1"], None, None),
    (["trace", "-t", "0.1", "--balance", "udp port " + PORT], "--balance", None),
    (["lab", "up", NAME, "--fault", "tc_ingress"], "up --fault", None),
    *([
        (["run", "-c", "1000", "--tx", "xsk", "--rx", "xsk"], None, None),
        (["run", "-c", "1000", "--tx", "xdp", "--rx", "xdp"], None, None),
        (["send", "127.0.0.1:" + PORT, "--rate", "10k", "-c", "10"], None, None),
        ([*SEND, "xsk"], "--tx xsk", "tx"),
        ([*SEND, "xdp"], "--tx xdp", "tx"),
        (["recv", "-p", PORT, "-t", "0.1"], None, None),
        ([*RECV, "xsk"], "--rx xsk", "rx"),
        ([*RECV, "xdp"], "--rx xdp", "rx"),
        (["recv", "--serve", "-p", PORT], "--serve", None),
        (["top", "-t", "0.3"], None, None),
        (["check", "-t", "0.1"], None, None),
        (["export", "-t", "0.1", "--textfile", "/dev/null"], None, None),
        (["sweep", "--vary", "rcvbuf=64k,128k", "-c", "1000"], None, None),
        (["search", "--mrr", "-t", "0.1"], None, None),
        (["lab", "up", NAME], None, None),
        (["selftest"], None, None),
        (["report", "/dev/null"], None, None),
    ] if lib.EVERYTHING else [])
]]
ENDS = {"report": 1}  # nothing in it


@table(ROWS)
@exclusive_rows("selftest", "check")
def with_exactly_these(args, when, side):
    more = ["CAP_IPC_LOCK"] if "xsk" in args else []  # or a larger RLIMIT_MEMLOCK
    with place(args, side):
        result = confined(needs(args[0], when) + more, args, side)
    assert result.status == ENDS.get(args[0], 0), result


@table(ROWS)
@exclusive_rows("selftest")
def without_each(args, when, side):
    wanted = needs(args[0], when)
    with place(args, side):
        for missing in wanted:
            result = confined([c for c in wanted if c != missing], args, side)
            assert result.status == 3 and missing in result.err, result
            assert f"setcap {','.join(c.lower() for c in wanted)}=ep" in result.err, result
            assert result.err.rstrip().count("\n") == 0, result


@table([row for row in ROWS if row[1][0] in ("trace", "top") and not row[2]])
def without_each_of_the_rest(args, when, side):
    """What it can do without: it says so, or tells less."""
    wanted, more = needs(args[0], when), needs(args[0], when, extra=True)
    assert more
    for missing in more:
        result = confined([c for c in wanted + more if c != missing], args, side)
        assert result.status == 0, result
        said = args[0] == "trace" and missing == "CAP_SYSLOG"
        assert said == (missing in result.err), result


if __name__ == "__main__":
    main()
