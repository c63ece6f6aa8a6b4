#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What --help and messages say about options is what the options take."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import ROOT, case, main, pktledger, rootless, table

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


@table([(command["name"], command) for command in COMMANDS])
@rootless
def short_help(command):
    """--help fits on a screen, and names only options that there are; --help all names each."""
    name = command["name"]
    short, whole = pktledger(name, "--help"), pktledger(name, "--help", "all")
    assert short.status == whole.status == 0 and len(short.out.splitlines()) <= 40, short.out
    assert max(map(len, short.out.splitlines())) <= 80, short.out
    assert short.out.count("\n  pktledger ") <= 2 and f"{name} --help all" in short.out, short.out
    assert pktledger("help", name, "all").out == pktledger(name, "--help=all").out == whole.out
    options = {o["name"]: o["letter"] for g in command["groups"] for o in g["options"]}
    everyday = set(re.findall(r"^  (?:-\w, )? *--([a-z0-9-]+)", short.out, re.M))
    assert "help" in everyday and everyday <= set(options), everyday
    for option in options:
        assert f"--{option}" in whole.out, option
    assert "Manual: pktledger-" in whole.out and "Manual: pktledger-" in short.out


@case
@rootless
def everyday_names():
    """Each name in a command's list of everyday options is one of its options."""
    for command in COMMANDS:
        source = (ROOT / f"user/cli/cmd_{command['name']}.c").read_text()
        found = re.search(r"\.everyday =((?:\s*\"[^\"]*\")+)", source)
        if not found:
            continue
        listed = set("".join(re.findall(r"\"([^\"]*)\"", found[1])).split())
        options = {o["name"] for g in command["groups"] for o in g["options"]}
        assert listed <= options, (command["name"], listed - options)


@case
@rootless
def names_of_other_options():
    """Help names only options that the command has."""
    for command in COMMANDS:
        options = [o for g in command["groups"] for o in g["options"]]
        known = {o["name"]: {v["name"] for v in o["values"]} for o in options}
        for o in options:
            rules = f"{o['needs'] or ''} {o['excludes'] or ''}"
            for other, value in re.findall(r"--([a-z0-9-]+)(?: (?!or)([a-z0-9]+))?", rules):
                assert other in known and (not value or value in known[other]), (command["name"], o)


if __name__ == "__main__":
    main()
