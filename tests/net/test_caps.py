#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Each command works for an ordinary user with exactly the capabilities that it says it needs, and
without any one of them names it and ends with status 3.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib
from lib import main, pktledger, require, require_root, table


USER = ["--reuid=nobody", "--regid=nogroup", "--clear-groups"]


def confined(caps, args):
    """Runs it as nobody with these capabilities and no others; labs, whose files are root's, as
    root with no more than that.
    """
    require(shutil.which("setpriv"), "needs setpriv")
    held = ",".join(["-all"] + [f"+{c.removeprefix('CAP_').lower()}" for c in caps])
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        binary = shutil.copy(lib.BINARY, directory)
        done = subprocess.run(
            ["setpriv", *([] if args[0] == "lab" else USER), f"--bounding-set={held}",
             f"--inh-caps={held}", f"--ambient-caps={held}", binary, *args],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=lib.TIMEOUT,
            check=False)
    return lib.Result(args, done.returncode, done.stdout, done.stderr)


def needs(command, when=None):
    """What the program's own table says."""
    rows = next(c for c in pktledger("help", "-j").json["commands"] if c["name"] == command)
    return [n["name"] for n in rows["capabilities"]
            if not n["without"] and (not n["when"] or when in n["when"].split(", "))]


ROWS = [(" ".join(args), args, when) for args, when in [
    (["run", "-c", "1000"], None),
    (["trace", "-t", "0.1"], None),
    (["lab", "up", "pl-caps", "--fault", "tc_ingress"], "up --fault"),
    *([
        (["run", "-c", "1000", "--tx", "xsk", "--rx", "xsk"], None),
        (["run", "-c", "1000", "--tx", "xdp", "--rx", "xdp"], None),
        (["send", "127.0.0.1", "--rate", "10k", "-c", "10"], None),
        (["recv", "-t", "0.1"], None),
        (["check", "-t", "0.1"], None),
        (["export", "-t", "0.1", "--textfile", "/dev/null"], None),
        (["sweep", "--vary", "rcvbuf=64k,128k", "-c", "1000"], None),
        (["lab", "up", "pl-caps"], None),
        (["selftest"], None),
    ] if lib.EVERYTHING else [])
]]


@table(ROWS)
def with_exactly_these(args, when):
    require_root()
    more = ["CAP_IPC_LOCK"] if "xsk" in args else []  # or a larger RLIMIT_MEMLOCK
    try:
        result = confined(needs(args[0], when) + more, args)
    finally:
        if args[0] == "lab":
            pktledger("lab", "down", "pl-caps")
    assert result.status == 0, result


@table(ROWS)
def without_each(args, when):
    require_root()
    wanted = needs(args[0], when)
    for missing in wanted:
        result = confined([c for c in wanted if c != missing], args)
        assert result.status == 3 and missing in result.err, result
        assert f"setcap {','.join(c.lower() for c in wanted)}=ep" in result.err, result


if __name__ == "__main__":
    main()
