# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Debian's kernels, unpacked below a cache directory; nothing is installed.

The network is needed once a kernel: what the cache holds is not asked for again. A package up to
6.18 holds all of a kernel; later ones depend on linux-binary (vmlinuz), -modules and -base. So is a
QEMU that knows igb (8 or later), where that of this machine does not.
"""

import contextlib
import functools
import os
import re
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

from machines import AMD64, ARM64

CACHE = Path(os.environ.get("PKTLEDGER_KERNELS") or Path(
    os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "pktledger/kernels"))

# The suites that ship each, which of their versions are meant, and the machine. "newest" is what
# the first of its suites has that is complete: its parts come and go with each upload.
WANTED = {
    "5.10": (("bullseye-security",), r"5\.10\.", AMD64),
    "6.1": (("bookworm-security", "bookworm"), r"6\.1\.", AMD64),
    "6.12": (("trixie-security", "trixie"), r"6\.12\.", AMD64),
    "6.12-arm64": (("trixie-security", "trixie"), r"6\.12\.", ARM64),
    "newest": (("sid",), r"", AMD64),
}

NEWER_QEMU = ("qemu-system-x86", "qemu-system-data", "seabios")


class Unavailable(Exception):
    """No such kernel can be had here."""


class Kernel:
    """Unpacked below `root`, which holds boot/ and lib/modules/ as on a machine."""

    def __init__(self, root, machine):
        self.root = Path(root)
        self.machine = machine
        self.release = (self.root / "release").read_text().strip()
        self.modules = self.root / "lib/modules" / self.release

    @property
    def image(self):
        of_old = self.root / f"boot/vmlinuz-{self.release}"
        return of_old if of_old.exists() else self.modules / "vmlinuz"

    @property
    def series(self):
        """Of the machine that most have, only the number."""
        number = re.match(r"\d+\.\d+", self.release)[0]
        return number if self.machine == AMD64 else f"{number} {self.machine.name}"


def output(*args, **kwargs):
    done = subprocess.run(args, capture_output=True, text=True, check=False, **kwargs)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["no reason given"]
        raise Unavailable(f"{args[0]}: {said[-1]}")
    return done.stdout


class Archive:
    """
    An apt configuration of its own: this machine's Debian mirror, with other suites, for a machine
    on which nothing is installed.
    """

    def __init__(self, suites, machine):
        self.dir = Path(tempfile.mkdtemp(prefix="pl-apt-"))
        for part in ("lists/partial", "archives/partial"):
            (self.dir / part).mkdir(parents=True)
        (self.dir / "status").touch()
        sources = self.dir / "sources.list"
        mirrors = self.mirrors()
        sources.write_text("".join(f"deb [arch={machine.name}] {mirrors[security]} {suite} main\n"
                                   for suite in suites
                                   if (security := "security" in suite) in mirrors))
        self.options = ["-q", f"-oDir::Etc::sourcelist={sources}",
                        "-oDir::Etc::sourceparts=/dev/null",
                        f"-oDir::State::Lists={self.dir}/lists",
                        f"-oDir::State::status={self.dir}/status",
                        f"-oDir::Cache::archives={self.dir}/archives",
                        f"-oDir::Cache::pkgcache={self.dir}/pkgcache.bin",
                        f"-oDir::Cache::srcpkgcache={self.dir}/srcpkgcache.bin",
                        f"-oAPT::Architecture={machine.name}",
                        f"-oAPT::Architectures::={machine.name}",
                        "-oAcquire::Languages=none", "-oAPT::Sandbox::User=",
                        "-oDebug::NoLocking=1"]

    @staticmethod
    def mirrors():
        """The address of each: {is it of security: URI}."""
        found = {}
        for line in output("apt-get", "indextargets", "--format",
                           "$(LABEL) $(REPO_URI)", "Created-By: Packages",
                           "Origin: Debian").splitlines():
            label, uri = line.split()
            found.setdefault("Security" in label, uri)
        if not found:
            raise Unavailable("apt knows no Debian archive on this machine")
        return found

    def apt(self, command, *args, **kwargs):
        return output(command, *self.options, *args, env={**os.environ, "LC_ALL": "C"}, **kwargs)

    def update(self):
        """One that failed in part is none to apt, as it is."""
        self.apt("apt-get", "-oAPT::Update::Error-Mode=any", "update")

    def releases(self, pattern, flavour):
        """Newest first."""
        names = self.apt("apt-cache", "pkgnames", "linux-image-").split()
        found = [m[1] for name in names
                 if (m := re.fullmatch(rf"linux-image-({pattern}[\d.]+(\+deb\d+|-\d+)?-{flavour})",
                                       name))]
        return sorted(found, key=lambda r: [int(n) for n in re.findall(r"\d+", r)], reverse=True)

    def download(self, release, to):
        """The package and those it is split into; apt says which versions still exist."""
        packages = [f"linux-image-{release}"]
        self.apt("apt-get", "download", packages[0], cwd=to)
        deb = next(to.glob("*.deb"))
        packages = re.findall(r"linux-(?:binary|modules|base)-\d[^ ,|]*",
                              output("dpkg", "-f", deb, "Depends"))
        if packages:
            self.apt("apt-get", "download", *packages, cwd=to)

    def download_all(self, packages):
        """With what they depend on; the files."""
        self.apt("apt-get", "--download-only", "--no-install-recommends", "-y", "install",
                 *packages)
        return sorted((self.dir / "archives").glob("*.deb"))

    def close(self):
        shutil.rmtree(self.dir)


def unpack(release, debs, root):
    for deb in debs:
        output("dpkg", "-x", deb, root)
    if not (root / "lib/modules").exists():
        (root / "lib").symlink_to("usr/lib")
    output("/sbin/depmod", "-b", root, release)
    (root / "release").write_text(release + "\n")


def fetch(name):
    """Unpacks it into the cache; the directory appears there when it is complete."""
    suites, pattern, machine = WANTED[name]
    archive = Archive(suites, machine)
    reason = "no such package"
    CACHE.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(archive), tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        archive.update()
        for release in archive.releases(pattern, machine.name)[:8]:
            debs, root = Path(scratch, release, "debs"), Path(scratch, release, "root")
            debs.mkdir(parents=True)
            root.mkdir()
            try:
                archive.download(release, debs)
            except Unavailable as error:
                reason = str(error)
                continue
            unpack(release, debs.glob("*.deb"), root)
            root.rename(CACHE / name)
            return
    raise Unavailable(f"{' '.join(suites)}: {reason}")


def kernel(name):
    """From the cache, or Unavailable."""
    for program in ("dpkg", "apt-get", "depmod"):
        if not shutil.which(program, path=os.environ["PATH"] + ":/sbin:/usr/sbin"):
            raise Unavailable(f"{program} is not here (a Debian machine is needed)")
    if not (CACHE / name / "release").exists():
        fetch(name)
    return Kernel(CACHE / name, WANTED[name][2])


@functools.cache
def knows_igb(*emulator):
    return "igb options" in subprocess.run([*emulator, "-device", "igb,help"], text=True,
                                           capture_output=True, check=False).stdout


def fetch_qemu(root):
    """That of the backports for this release, which runs with the libraries that are here."""
    release = re.search(r"^VERSION_CODENAME=(\S+)", Path("/etc/os-release").read_text(), re.M)
    if not release:
        raise Unavailable("this is no Debian release")
    CACHE.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(Archive((f"{release[1]}-backports",), AMD64)) as archive, \
            tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        archive.update()
        archive.apt("apt-get", "download", *NEWER_QEMU, cwd=scratch)
        for deb in Path(scratch).glob("*.deb"):
            output("dpkg", "-x", deb, f"{scratch}/root")
        Path(scratch, "root").rename(root)


FETCHING = threading.Lock()  # guests begin side by side


@functools.cache
def emulator(machine):
    """The command that emulates it."""
    installed = [os.environ.get("VMRUN_QEMU") or machine.qemu]
    if machine != AMD64 or not machine.native or "VMRUN_QEMU" in os.environ or knows_igb(*installed):
        return installed
    root = CACHE / "qemu"
    # modules are looked for where those of the other QEMU are, unless told otherwise
    newer = ["env", f"QEMU_MODULE_DIR={root}", root / f"usr/bin/{machine.qemu}",
             "-L", root / "usr/share/qemu", "-L", root / "usr/share/seabios"]
    with contextlib.suppress(Unavailable):
        with FETCHING:
            if not root.exists():
                fetch_qemu(root)
        if knows_igb(*newer):
            return newer
    return installed
