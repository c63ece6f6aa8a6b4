#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The Debian package: lintian has nothing to say, and in a fresh Debian it installs with what it
depends on, works, and leaves nothing when it is purged.
"""

import atexit
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import ROOT, case, main, require

SUITE = "bookworm"
ENV = {**os.environ, "MAKEFLAGS": "", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
# What apt and dpkg themselves remember, and caches of others.
NOT_OURS = re.compile(r"(var/(lib/(apt|dpkg|systemd)|cache|log)|etc/ld\.so\.cache|root|tmp|run)(/|$)")


def call(*words, **kwargs):
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=ENV, **kwargs)
    assert done.returncode == 0, f"{words}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def need(*programs):
    require(os.geteuid() == 0, "needs root")
    for program in programs:
        require(shutil.which(program), f"needs {program}")
    require((ROOT / ".git").exists(), "needs the git repository")


@functools.cache
def built():
    """The directory of what `make deb` makes, of what is committed; it lives as long as this."""
    directory = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
    atexit.register(directory.cleanup)
    call("make", "-s", "-C", ROOT, f"B={directory.name}/build", "deb")
    return Path(directory.name, "build/deb")


def file_of(pattern):
    return next(built().glob(pattern))


def mirror():
    """Where this host has its Debian from."""
    shown = call("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages")
    found = [line for line in shown.split() if "security" not in line]
    return found[0] if found else "http://deb.debian.org/debian"


def debian(root):
    """A fresh Debian; its apt is set up as this host's."""
    done = subprocess.run(["debootstrap", "--variant=minbase", SUITE, root, mirror()],
                          capture_output=True, text=True, check=False, env=ENV)
    require(done.returncode == 0, "debootstrap: " + (done.stdout.splitlines() or ["failed"])[-1])
    for part in ("apt.conf.d", "sources.list.d", "trusted.gpg.d"):
        shutil.copytree(f"/etc/apt/{part}", f"{root}/etc/apt/{part}", dirs_exist_ok=True)
    if os.path.exists("/etc/apt/sources.list"):
        shutil.copy("/etc/apt/sources.list", f"{root}/etc/apt/sources.list")


def inside(root, script):
    """A shell script in that root, with mounts that end with it."""
    mounts = (f"mount -t proc proc {root}/proc && mount --rbind /sys {root}/sys && "
              f"mount --rbind /dev {root}/dev && mount -t tmpfs tmpfs {root}/run && "
              f"cp -L /etc/resolv.conf {root}/run/ && exec chroot {root} sh -ec")
    return call("unshare", "-m", "sh", "-c", mounts + ' "$1"', "sh", script)


def listing(root):
    return {str(p.relative_to(root)) for p in Path(root).rglob("*")
            if not p.is_dir() and not NOT_OURS.match(str(p.relative_to(root)))}


@case
def lintian_is_silent():
    need("dpkg-buildpackage", "lintian", "dh", "scdoc")
    said = call("lintian", "--allow-root", "--fail-on", "error,warning", file_of("*.changes"))
    assert not said.strip(), said


@case
def installs_works_and_goes():
    need("dpkg-buildpackage", "debootstrap", "dh", "scdoc", "unshare")
    with tempfile.TemporaryDirectory() as directory:
        root = f"{directory}/root"
        debian(root)
        inside(root, "apt-get -qq update; apt-get -qqy install nftables")
        before = listing(root)
        shutil.copy(file_of("pktledger_*.deb"), f"{root}/tmp/pktledger.deb")
        inside(root, "apt-get -qqy install --no-install-recommends /tmp/pktledger.deb")
        assert "usr/sbin/pktledger" in listing(root) - before
        said = inside(root, "pktledger --version; pktledger run -c 10000; pktledger selftest")
        assert "balanced" in said and re.search(r"\d+ agree, 0 disagree", said), said
        # by default for root alone, then for a group
        assert inside(root, "getcap /usr/sbin/pktledger; stat -c '%G %a' /usr/sbin/pktledger") == "root 755\n"
        inside(root, "echo pktledger pktledger/group boolean true | debconf-set-selections; "
                     "dpkg-reconfigure pktledger; adduser --quiet --system --no-create-home someone; "
                     "adduser --quiet someone pktledger")
        shown = inside(root, "getcap /usr/sbin/pktledger; stat -c '%G %a' /usr/sbin/pktledger")
        assert "cap_bpf" in shown and shown.endswith("pktledger 750\n"), shown
        # cap_syslog, cap_bpf and cap_perfmon are those of this host's kernel
        said = inside(root, "su -s /bin/sh someone -c 'pktledger trace -t 1'; "
                            "su -s /bin/sh nobody -c 'pktledger --version' 2>&1 || true")
        assert "lost" in said and "denied" in said, said
        inside(root, "apt-get -qqy purge pktledger; apt-get -qqy autoremove --purge; "
                     "deluser --quiet someone; delgroup --quiet pktledger; "
                     "rm -f /etc/shadow- /etc/gshadow-")  # copies that these two leave
        assert listing(root) == before, sorted(listing(root) ^ before)


if __name__ == "__main__":
    main()
