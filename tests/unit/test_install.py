#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`make install` puts everything below DESTDIR, `make uninstall` takes all of it away."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import BINARY, ROOT, case, main, require, table


def make(*words):
    done = subprocess.run(["make", "-C", ROOT, f"B={os.environ.get('B', 'build')}", *words],
                          capture_output=True, text=True, check=False,
                          env={**os.environ, "MAKEFLAGS": ""})
    assert done.returncode == 0, done.stdout + done.stderr


def files(root):
    return {str(p.relative_to(root)): stat.S_IMODE(p.stat().st_mode)
            for p in Path(root).rglob("*") if p.is_file()}
DOCUMENTS = "check help lab recv report run search selftest send sweep trace".split()


@case
def installs_and_uninstalls():
    require(shutil.which("scdoc"), "needs scdoc")
    with tempfile.TemporaryDirectory() as root:
        words = f"DESTDIR={root}", "PREFIX=/opt/x"
        make("install", *words)
        found = files(root)
        data = {f"opt/x/share/pktledger/{p.parent.name}/{p.name}" for p in
                [*(ROOT / "tools/presets").glob("*.txt"),
                 *(ROOT / "tools/prometheus").iterdir(), *(ROOT / "tools/grafana").iterdir(),
                 *(ROOT / "tools/otel").iterdir(),
                 *(ROOT / "tools/wireshark").iterdir()]}
        data |= {f"opt/x/share/pktledger/schema/{name}.schema.json" for name in DOCUMENTS}
        pages = {f"opt/x/share/man/man{p.stem[-1]}/{p.stem}"
                 for p in (ROOT / "tools/man").glob("*.scd")}
        others = {f"opt/x/share/{name}" for name in (
            "bash-completion/completions/pktledger", "zsh/site-functions/_pktledger",
            "fish/vendor_completions.d/pktledger.fish", "doc/pktledger/LICENSE",
            "doc/pktledger/README.md", "doc/pktledger/CHANGELOG.md")}
        unit = "opt/x/lib/systemd/system/pktledger-export.service"
        assert set(found) == {"opt/x/sbin/pktledger", unit} | data | pages | others, found
        assert "\nExecStart=/opt/x/sbin/pktledger export " in Path(root, unit).read_text()
        assert found.pop("opt/x/sbin/pktledger") == 0o755
        assert set(found.values()) == {0o644}, found
        assert Path(root, "opt/x/sbin/pktledger").read_bytes() == BINARY.read_bytes()
        make("uninstall", *words)
        assert not files(root), files(root)


@table([("deb", "deb", "git dpkg-dev"), ("html", "html", "mandoc scdoc python3")])
def names_missing_packages_before_it_starts(goal, packages):
    with tempfile.TemporaryDirectory() as root:
        for name in ("make", "sh", "sed", "grep", "cat"):
            Path(root, name).symlink_to(shutil.which(name))
        done = subprocess.run(["make", "-C", ROOT, f"B={root}/build", goal], text=True,
                              capture_output=True, check=False,
                              env={"PATH": root, "MAKEFLAGS": ""})
        assert done.returncode == 2, done
        assert f"make {goal} needs packages: {packages}; install them with: tools/setup package" \
            in done.stderr, done.stderr
        assert not Path(root, "build").exists()


@case
def is_hardened():
    require(shutil.which("readelf"), "needs readelf")
    shown = subprocess.run(["readelf", "-hldW", "--dyn-syms", BINARY], capture_output=True,
                           text=True, check=True).stdout
    require("__asan_init" not in shown, "built with sanitizers")
    for word in ("DYN (Position-Independent Executable file)", "GNU_RELRO", "NOW PIE",
                 "__stack_chk_fail", "_chk@GLIBC"):
        assert word in shown, word
    assert "RWE" not in shown


if __name__ == "__main__":
    main()
