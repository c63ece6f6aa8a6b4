#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Rooms of user/ use only those before them in the Makefile's list, by symbols and by includes."""

import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import ROOT, case, main  # noqa: E402

ROOMS = re.search(r"^ROOMS := (.*)", (ROOT / "Makefile").read_text(), re.M)[1].split()
BUILD = ROOT / os.environ.get("B", "build")

# What is still the wrong way round. Lines only ever go.
EXCEPTIONS = set()


def symbols(room):
    """Names that a room defines for others, and those that it needs, with the object."""
    defined, needed = set(), {}
    listing = subprocess.run(["nm", "-A", "-g", BUILD / f"lib/{room}.a"], check=True,
                             capture_output=True, text=True).stdout
    for where, kind, name in re.findall(r"^(.*?):[0-9a-f ]* (\w) (\S+)$", listing, re.M):
        if kind == "U":
            needed.setdefault(name, re.search(r"user/(.*)\.o", where)[1])
        else:
            defined.add(name)
    return defined, needed


@case
def links_upwards_only():
    found = {room: symbols(room) for room in ROOMS}
    home = {name: room for room in ROOMS for name in found[room][0]}
    wrong = {(user, home[name]) for room in ROOMS for name, user in found[room][1].items()
             if name in home and ROOMS.index(home[name]) > ROOMS.index(room)}
    assert wrong == {e for e in EXCEPTIONS if not e[1].endswith(".h")}, sorted(wrong)


@case
def includes_upwards_only():
    wrong = set()
    for path in sorted((ROOT / "user").glob("*/**/*.[ch]")):
        room = path.relative_to(ROOT / "user").parts[0]
        for header in re.findall(r'^#include "([^"]+)"', path.read_text(), re.M):
            other = header.split("/")[0]
            if other in ROOMS and ROOMS.index(other) > ROOMS.index(room):
                wrong.add((str(path.relative_to(ROOT / "user")), header))
    assert wrong == {e for e in EXCEPTIONS if e[1].endswith(".h")}, sorted(wrong)


@case
def every_room_is_in_the_list():
    assert {p.name for p in (ROOT / "user").iterdir() if p.is_dir()} == set(ROOMS)


def variables(path):
    """{name: place and size} of a BPF object's constants and variables."""
    listing = subprocess.run(["readelf", "-SsW", path], check=True, capture_output=True, text=True).stdout
    places = dict(re.findall(r"^ +\[ *(\d+)\] (\.rodata|\.bss|\.data) ", listing, re.M))
    return {name: (places[section], at, size) for at, size, section, name in
            re.findall(r"(\w+) +(\d+) OBJECT +\w+ +DEFAULT +(\d+) (\w+)$", listing, re.M) if section in places}


@case
def builds_of_a_program_are_laid_out_alike():
    """User space sets their variables by one skeleton."""
    others = sorted(BUILD.glob("*_old*.bpf.o"))
    assert others
    for other in others:
        usual = variables(BUILD / re.sub("_old(est)?", "", other.name))
        assert usual and variables(other).items() <= usual.items(), (other.name, usual, variables(other))


if __name__ == "__main__":
    main()
