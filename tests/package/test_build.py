#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The same source gives the same bytes, wherever it is built."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import ROOT, case, main, require, table

MAKE = ["make", "-s", "-j2"]


def call(*words, cwd=ROOT):
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False,
                          env={**os.environ, "MAKEFLAGS": "", "SOURCE_DATE_EPOCH": "1700000000"})
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def source_files():
    """What git knows, as it is now; without git, what is here."""
    if (ROOT / ".git").exists() and shutil.which("git"):
        return call("git", "ls-files", "-co", "--exclude-standard").split()
    return [str(p.relative_to(ROOT)) for p in ROOT.rglob("*")
            if p.is_file() and p.relative_to(ROOT).parts[0] != "build"]


def copy_tree(directory):
    for name in source_files():
        target = Path(directory, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).exists():
            shutil.copy2(ROOT / name, target)


def digests(root):
    return {str(p.relative_to(root)): hashlib.sha256(p.read_bytes()).hexdigest()
            for p in Path(root).rglob("*") if p.is_file()}


@case
def same_bytes_twice_and_elsewhere():
    require(shutil.which("scdoc"), "needs scdoc")
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        longer = Path(other, "in", "another", "directory")
        made = []
        for tree in (Path(one), longer):
            copy_tree(tree)
            call(*MAKE, "CCACHE_DISABLE=1", f"DESTDIR={tree}/to", "install", cwd=tree)
            made.append(digests(tree / "to"))
            binary = (tree / "to/usr/local/sbin/pktledger").read_bytes()
            assert str(tree).encode() not in binary, "the directory of the build is in it"
        assert made[0] == made[1], [k for k in made[0] if made[0][k] != made[1].get(k)]


@case
def same_tarball_twice():
    require((ROOT / ".git").exists() and shutil.which("git"), "needs the git repository")
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        made = []
        for directory in (one, other):
            call(*MAKE, f"B={directory}", "dist")
            made += [p.read_bytes() for p in Path(directory).glob("*.tar.gz")]
        assert len(made) == 2 and made[0] == made[1]


@table([("-O0", "-O0", ["HARDENING=-fPIE"]), ("-O1", "-O1", [])])
def with_less_optimization(flags, more):
    """Without a warning, and with nothing in what the kernel is given that nobody has set."""
    with tempfile.TemporaryDirectory() as build:
        call(*MAKE, f"B={build}", f"CFLAGS={flags} -g", *more)
        done = subprocess.run([f"{build}/pktledger", "trace", "-t", "100ms", "--balance", "udp port 9"],
                              capture_output=True, text=True, check=False)
        require(done.returncode != 3, done.stderr.strip())
        assert done.returncode == 0, done


if __name__ == "__main__":
    main()
