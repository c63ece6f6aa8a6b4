#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`sweep --preset`: each line is run and shown, with the options of the command line behind it."""

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import (EVERYTHING, ROOT, assert_balanced, assert_valid, case, lost, main, pktledger,
                 require, rootless, table)

NO_CPU = 8 * (os.cpu_count() or 1)  # none of this host
TEXT = f"""Three lines

About them.

    run -c 100k --size 64 --fault netfilter=50%     # lossy
    run -c 100k --rx-cpu {NO_CPU}                   # not here
    run -c 100k --length 100                        # fine
"""
SHIPPED = sorted(p.stem for p in (ROOT / "tools/presets").glob("*.txt"))


def preset(name, *options):
    with tempfile.TemporaryDirectory() as directory:  # the soaks write a log
        result = pktledger("sweep", "-j", "--preset", name, *options, cwd=directory)
    require(result.status != 3, result.err.strip() or "exit status 3 without a word")
    assert_valid(result.json)
    return result


@case
def lines_with_options_of_the_command_line():
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "own.txt")
        path.write_text(TEXT)
        result = preset(str(path), "-c", "1000", "--rate", "50k")
    lossy, failed, fine = result.json["trials"]
    assert [t["parameters"]["trial"] for t in result.json["trials"]] == ["lossy", "not here",
                                                                         "fine"]
    assert_balanced({"end": lossy}, attempted=1000)
    assert_balanced({"end": fine}, attempted=1000)
    assert set(lost({"end": lossy})) == {"netfilter"}
    assert str(NO_CPU) in failed["error"]["message"] and "sent" not in failed
    assert result.status == 1 and "1 of 3" in result.json["error"]["message"], result


@case
@rootless
def those_there_are():
    result = pktledger("sweep", "--preset", "help")
    assert result.status == 0 and not result.err, result
    assert [line.split()[0] for line in result.out.splitlines()] == SHIPPED, result
    assert {"million", "burst-1m", "soak-40k", "soak-60k", "buffers", "datagram-size",
            "parallel", "same-node", "cross-node"} <= set(SHIPPED)


if EVERYTHING:
    @table([(name, name) for name in SHIPPED])
    def shipped(name):
        """Shortened. What this host lacks may fail, the rest balances."""
        document = preset(name, "-c", "5000", "-t", "500ms").json
        trials = [t for t in document["trials"] if "error" not in t]
        assert len(trials) >= len(document["trials"]) / 2, document["end"]
        for trial in trials:
            assert_balanced({"end": trial})


if __name__ == "__main__":
    main()
