#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What --help and messages say about options is what the options take."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import case, main, pktledger, rootless, table

ANY = {"", "all", "none", "off"}  # the option is not given

COMMANDS = pktledger("help", "-j").json["commands"]


@case
@rootless
def defaults_are_values():
    """A default list that --help shows is one that the option takes; what is required has none."""
    wrong, lists = [], 0
    for command in COMMANDS:
        rows = command["arguments"] + [o for g in command["groups"] for o in g["options"]]
        for option in rows:
            default, known = option["default"] or "", {v["name"] for v in option["values"]}
            if option["required"] and default:
                wrong.append((command["name"], option["name"], default))
            if option["type"] == "enums" and default not in ANY:
                lists += 1
                if not set(default.split(",")) <= known:
                    wrong.append((command["name"], option["name"], default))
    assert lists and not wrong, wrong


@case
@rootless
def hint_once():
    """A closed set that is too long for the message is named by one hint."""
    err = pktledger("trace", "--stage", "foo").err
    assert err.count("--stage help") == 1 and err.count("lists them") == 1, err
    assert "the value help" not in err, err


@table([(old, command, old, new) for command, old, new in [
    ("run", "--legs", "--latency-breakdown"), ("recv", "--legs", "--latency-breakdown"),
    ("send", "--gap", "--skip"), ("run", "--stamp", "--sequence-header"),
    ("run", "--device-gro", "--interface-gro"),
]])
@rootless
def former_names(command, old, new):
    """An option that was renamed answers with its new name."""
    result = pktledger(command, old)
    assert result.status == 2 and f"{old} is now called {new}" in result.err, result


if __name__ == "__main__":
    main()
