#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Scripts are clean, and every source file names its license."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import ROOT, case, main, require, table

SPDX = "SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause"
SOURCES = (".c", ".h", ".py", ".sh")


def sources():
    for directory in ("bpf", "include", "user", "tests", "tools", ".ci"):
        for path in (ROOT / directory).rglob("*"):
            if path.is_file() and "fixtures" not in path.parts:
                yield path


@case
def shell_scripts_pass_shellcheck():
    require(shutil.which("shellcheck"), "needs shellcheck")
    scripts = [p for p in sources() if p.read_bytes().startswith(b"#!/bin/sh")]
    assert scripts
    done = subprocess.run(["shellcheck", *scripts], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@case
def python_passes_pyflakes():
    require(shutil.which("pyflakes3"), "needs pyflakes3")
    scripts = [p for p in sources()
               if p.suffix == ".py" or p.read_bytes().startswith(b"#!/usr/bin/python3")]
    assert scripts
    done = subprocess.run(["pyflakes3", *scripts], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@table([
    ("a program", ["tests/run", "no-such-program"], 2, "no program has"),
    ("a case", [__file__, "no such case"], 2, "no case has"),
    ("--help", ["tests/run", "--help"], 0, "Usage:"),
])
def words_of_the_runner(command, status, said):
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == status and said in done.stdout + done.stderr, done


@case
def sources_name_their_license():
    bare = [p for p in sources() if p.suffix in SOURCES or os.access(p, os.X_OK)
            if SPDX not in "".join(p.read_text().splitlines(keepends=True)[:2])]
    assert not bare, bare


if __name__ == "__main__":
    main()
