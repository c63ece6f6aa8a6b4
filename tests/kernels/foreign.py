# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Another machine's files for its guests, and programs that are built for it here.

They are Debian's packages, unpacked below the cache directory; none of their programs is run for
that. The network is needed once a machine.
"""

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import kernels

TREE = Path(__file__).resolve().parent.parent.parent
TOLD = ("CC", "CFLAGS", "PKG_CONFIG", "MAKEFLAGS", "MFLAGS", "MAKELEVEL")  # make, of this machine
TAIL = 10  # lines of what a compiler says that are shown
SUITES = ("bookworm-security", "bookworm")  # the oldest that programs are built on
PACKAGES = ("bpftool", "busybox-static", "coreutils", "dash", "ethtool", "grep", "hostname",
            "iproute2", "kmod", "mount", "nftables", "procps", "python3", "python3-jsonschema",
            "sed", "util-linux")


def root(machine):
    """What a guest has as its root."""
    return Path("/") if machine.native else kernels.CACHE / f"root-{machine.name}"


def missing(machine):
    """What has to be done first, or None."""
    if machine.native:
        return None
    if not root(machine).exists():
        return f"no files for it: tests/kernels/prepare {machine.name}"
    if not shutil.which(f"{machine.cross}gcc"):
        return f"{machine.cross}gcc not here (Debian: gcc-{machine.cross.removesuffix('-')})"
    return None


def libraries():
    """With headers, as tools/setup installs them here."""
    return re.findall(r"\b[\w.+-]+-dev\b", (TREE / "tools/setup").read_text())


def unpack(deb, to):
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE) as archive:
        kernels.output("tar", "-x", "--keep-directory-symlink", "-C", str(to), stdin=archive.stdout)


def point_inside(directory):
    """Links to absolute paths mean files of this root also to a linker that is outside of it."""
    for path in directory.rglob("*"):
        if path.is_symlink() and (target := os.readlink(path)).startswith("/"):
            path.unlink()
            path.symlink_to(os.path.relpath(f"{directory}{target}", path.parent))


def make_root(machine):
    """The directory appears when it is complete."""
    kernels.CACHE.mkdir(parents=True, exist_ok=True)
    archive = kernels.Archive(SUITES, machine)
    with contextlib.closing(archive), tempfile.TemporaryDirectory(dir=kernels.CACHE) as scratch:
        archive.update()
        made = Path(scratch, "root")
        for name in ("bin", "sbin", "lib"):
            (made / "usr" / name).mkdir(parents=True)
            (made / name).symlink_to(f"usr/{name}")
        for deb in archive.download_all([*PACKAGES, *libraries()]):
            unpack(deb, made)
        for name in ("dev", "proc", "sys", "run", "tmp", "root"):
            (made / name).mkdir(exist_ok=True)
        point_inside(made)
        made.rename(root(machine))


def programs(machine, build):
    """The directory that has those for it, if `build` has those for this machine."""
    return build if machine.native else build / machine.name


def build_programs(machine, build):
    """Nothing that a make which called us was told about compilers holds for another machine."""
    if machine.native:
        return
    environment = {name: value for name, value in os.environ.items() if name not in TOLD}
    make = ["make", "-s", "-C", TREE, f"-j{os.cpu_count()}", f"CROSS_COMPILE={machine.cross}",
            f"SYSROOT={root(machine)}", f"B={programs(machine, build)}", "test-programs"]
    done = subprocess.run(make, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        said = "\n".join(done.stderr.splitlines()[:TAIL])
        raise kernels.Unavailable(f"no programs for {machine.name}:\n{said}")
