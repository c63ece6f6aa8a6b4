#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What people take: the Debian packages of both machines, the tarballs with a static program, and
the container, of what is committed. They are built in a fresh Debian, and tried in others.
"""

import atexit
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import ROOT, case, main, require, table

ENV = {**os.environ, "MAKEFLAGS": "", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
# What apt and dpkg themselves remember, and caches of others.
NOT_OURS = re.compile(r"(var/(lib/(apt|dpkg|rpm|systemd)|cache|log)|etc/ld\.so\.cache|root|tmp|run)"
                      r"(/|$)")
APT = "apt-get -qqy --no-install-recommends"
CROSS = "CROSS_COMPILE=aarch64-linux-gnu-"
PROGRAM = "/usr/sbin/pktledger"


def call(*words, **kwargs):
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=ENV, **kwargs)
    assert done.returncode == 0, f"{words}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def need(*programs):
    require(os.geteuid() == 0, "needs root")
    for program in ("git", "unshare", *programs):
        require(shutil.which(program), f"needs {program}")
    require((ROOT / ".git").exists(), "needs the git repository")


def directory():
    """It lives as long as this program."""
    made = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
    atexit.register(made.cleanup)
    return made.name


def mirror():
    """Where this host has its Debian from."""
    shown = call("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages",
                 "Origin: Debian")
    found = [line for line in shown.split() if "security" not in line]
    return found[0] if found else "http://deb.debian.org/debian"


@functools.cache
def base(suite):
    """A fresh Debian, whose apt goes out as this host's does."""
    need("debootstrap", "apt-config")
    root = f"{directory()}/root"
    # in a namespace: what it mounts goes with it, also if it is stopped
    done = subprocess.run(["unshare", "-m", "debootstrap", "--variant=minbase", suite, root,
                           mirror()], capture_output=True, text=True, check=False, env=ENV)
    require(done.returncode == 0, "debootstrap: " + (done.stdout.splitlines() or ["failed"])[-1])
    Path(root, "etc/apt/apt.conf.d/99proxy").write_text("\n".join(
        line for line in call("apt-config", "dump").splitlines()
        if line.startswith("Acquire::") and "::Proxy" in line) + "\n", "utf-8")
    return root


def debian(suite):
    """A copy of it."""
    root = f"{directory()}/root"
    call("cp", "-a", base(suite), root)
    return root


def inside(root, script):
    """A shell script in that root, with mounts that end with it."""
    mounts = (f"mount -t proc proc {root}/proc && mount --rbind /sys {root}/sys && "
              f"mount --rbind /dev {root}/dev && mount -t tmpfs tmpfs {root}/run && "
              f"cp -L /etc/resolv.conf {root}/run/ && exec chroot {root} \"$@\"")
    words = ("sh", "-ec", script) if isinstance(script, str) else script
    return call("unshare", "-m", "sh", "-c", mounts, "sh", *words)


def listing(root):
    return {str(p.relative_to(root)) for p in Path(root).rglob("*")
            if not p.is_dir() and not NOT_OURS.match(str(p.relative_to(root)))}


def packages(root):
    return set(inside(root, "dpkg-query -W -f '${Package}\\n'").split())


def clone_in(root, name):
    call("git", "clone", "-q", "--no-hardlinks", ROOT, f"{root}/{name}")


@functools.cache
def workshop():
    """A Debian 12 with what debian/control says that building takes, also for the other machine."""
    root = debian("bookworm")
    clone_in(root, "src")
    shutil.copytree(ROOT / "tools/packaging/deb", f"{root}/tmp/deb/debian")
    inside(root, f"""dpkg --add-architecture arm64; apt-get -qq update
        {APT} install git lintian crossbuild-essential-arm64
        cd /tmp/deb; {APT} build-dep .; {APT} build-dep -a arm64 -P cross .""")
    return root


@functools.cache
def debs():
    """The packages, by machine, as paths in the workshop."""
    inside(workshop(), f"cd /src; make deb; make deb {CROSS} B=build/cross")
    return {machine: f"/src/{where}/deb/pktledger_{version()}-1_{machine}.deb"
            for machine, where in (("amd64", "build"), ("arm64", "build/cross"))}


@functools.cache
def tarballs():
    """Those with the static program, by machine."""
    inside(workshop(), f"cd /src; make -j2 dist-static; make -j2 dist-static {CROSS} B=build/cross")
    return {machine: f"/src/{where}/pktledger-{version()}-linux-{machine}.tar.gz"
            for machine, where in (("x86_64", "build"), ("aarch64", "build/cross"))}


@functools.cache
def version():
    changes = call("git", "-C", ROOT, "show", "HEAD:CHANGELOG.md")
    return re.search(r"^## (\d\S*)", changes, re.M)[1]


def is_used(root):
    """What people begin with; in a namespace of its own, where it looks at this host's state."""
    said = inside(root, "pktledger --version; pktledger run -c 10000; "
                        "unshare -n pktledger check -j; unshare -n pktledger trace -t 1 -j")
    assert f"pktledger {version()} " in said and "balanced: every packet" in said, said
    for command in ("check", "trace"):
        assert f'"schema":"pktledger/{command}/1"' in said, said


@case
def lintian_is_silent():
    need()
    for deb in debs().values():
        said = inside(workshop(), "lintian --allow-root --fail-on error,warning "
                                  + deb.removesuffix(".deb") + ".changes")
        assert not said.strip(), said


@case
def same_bytes_twice():
    need()
    names = {**debs(), **tarballs()}
    clone_in(workshop(), "another")
    inside(workshop(), "cd /another; make deb; make -j2 dist-static")
    for one in (names["amd64"], names["amd64"].replace("pktledger_", "pktledger-dbgsym_"),
                names["x86_64"]):
        other = one.replace("/src/", "/another/")
        call("cmp", f"{workshop()}{one}", f"{workshop()}{other}")


def who_may(root):
    """Capabilities, if there are any, in the alphabet's order; owner, group, mode."""
    said = inside(root, f"getcap {PROGRAM}; stat -c '%U %G %a' {PROGRAM}").replace(PROGRAM, "")
    return re.sub(r"cap_[a-z_,]+", lambda m: ",".join(sorted(m[0].split(","))), said).split()


def answer(root, yes):
    inside(root, f"echo pktledger pktledger/group boolean {yes} | debconf-set-selections; "
                 "dpkg-reconfigure pktledger")


CAPABILITIES = "cap_bpf,cap_perfmon,cap_syslog=ep"


def shows_payloads_to_a_group(root):
    """By default for root alone, then for a group, until that is taken back."""
    assert who_may(root) == ["root", "root", "755"]
    answer(root, "true")
    assert who_may(root) == [CAPABILITIES, "root", "pktledger", "750"], who_may(root)
    inside(root, "useradd -r -G pktledger member; useradd -r stranger")
    # what cap_syslog, cap_bpf and cap_perfmon allow is what this host's kernel says
    for name, option in (("headers", ""), ("payloads", "--snaplen 256")):
        inside(root, f"""install -d -o member /tmp/{name}
            su -s /bin/sh member -c '
                pktledger trace {option} -w /tmp/{name}/lost.pcapng -t 2 udp port 9' >/dev/null &
            while kill -0 $! 2>/dev/null; do
                sleep 0.2
                bash -c 'echo a-letter >/dev/udp/127.0.0.1/9'
            done
            wait $!""")
    headers, payloads = (Path(root, "tmp", n, "lost.pcapng") for n in ("headers", "payloads"))
    assert b"NO_SOCKET" in headers.read_bytes() and b"a-letter" not in headers.read_bytes()
    assert b"a-letter" in payloads.read_bytes() and payloads.stat().st_mode & 0o777 == 0o600
    said = inside(root, "su -s /bin/sh stranger -c 'pktledger trace -t 1' 2>&1 || true")
    assert "Permission denied" in said, said
    inside(root, f"{APT} install --reinstall /tmp/pktledger.deb")
    assert CAPABILITIES in who_may(root) and "750" in who_may(root), who_may(root)
    # what an administrator has overridden stays, but without the capabilities
    inside(root, f"dpkg-statoverride --update --add root pktledger 0710 {PROGRAM}")
    answer(root, "false")
    assert who_may(root) == ["root", "pktledger", "710"], who_may(root)
    inside(root, f"dpkg-statoverride --remove {PROGRAM}")
    answer(root, "false")
    assert who_may(root) == ["root", "root", "755"], who_may(root)
    inside(root, "userdel member; userdel stranger; groupdel pktledger")


@table([("Debian 12", "bookworm"), ("Debian 13", "trixie")])
def installs_works_and_goes(suite):
    need()
    root = debian(suite)
    inside(root, f"apt-get -qq update; {APT} install iproute2 nftables")
    before, known = listing(root), packages(root)
    shutil.copy(workshop() + debs()["amd64"], f"{root}/tmp/pktledger.deb")
    inside(root, f"{APT} install /tmp/pktledger.deb")
    assert PROGRAM[1:] in listing(root) - before
    is_used(root)
    said = inside(root, "pktledger selftest")
    assert re.search(r"\d+ agree, 0 disagree", said), said
    shows_payloads_to_a_group(root)
    inside(root, "apt-get -qqy purge pktledger; apt-get -qqy autoremove --purge")
    # apt keeps what came with it if another package recommends or suggests it: files of those
    kept = packages(root) - known
    files = inside(root, f"dpkg -L {' '.join(kept)}").split() if kept else []
    assert kept <= {"adduser", "libidn2-0", "libunistring5"}, kept
    files += ["/etc/shadow-", "/etc/gshadow-"]  # of the users of this test
    now = listing(root)
    assert before <= now and not now - before - {f[1:] for f in files}, (before - now, now - before)


@table([("Debian 12", "bookworm"), ("Debian 13", "trixie")])
def from_a_clone_as_the_readme_says(suite):
    """A fresh Debian and a clone: all that building and running takes is installed by itself."""
    need()
    root = debian(suite)
    clone_in(root, "src")
    said = inside(root, "cd /src; ./tools/setup run")
    assert "Installing with apt:" in said and "balanced: every packet" in said, said
    inside(root, "cd /src; make -s install")
    is_used(root)


def contents(deb):
    return {line.split()[5]: line.split()[0] for line in
            inside(workshop(), f"dpkg-deb -c {deb}").splitlines()}


@case
def arm64_package_is_the_same_for_another_machine():
    need()
    amd64, arm64 = debs()["amd64"], debs()["arm64"]
    assert contents(amd64) == contents(arm64)
    inside(workshop(), f"dpkg-deb -x {amd64} /tmp/amd64; dpkg-deb -x {arm64} /tmp/arm64")
    said = inside(workshop(), "diff -rq /tmp/amd64 /tmp/arm64 || true")
    assert said == f"Files /tmp/amd64{PROGRAM} and /tmp/arm64{PROGRAM} differ\n", said
    depends = {re.sub(r" \([^)]*\)", "", inside(workshop(), f"dpkg-deb -f {deb} Depends"))
               for deb in (amd64, arm64)}
    assert len(depends) == 1, depends
    # it installs, with the libraries of its machine, and they are enough for it
    shown = inside(workshop(), f"""{APT} install {arm64} >&2
        readelf -h {PROGRAM}
        qemu-aarch64 {PROGRAM} --version
        qemu-aarch64 {PROGRAM} check --explain rcvbuf
        {APT} purge pktledger:arm64 >&2""")
    assert "AArch64" in shown and f"pktledger {version()} " in shown, shown
    assert "The receive buffer of the socket was full" in shown, shown


def unpack(root, machine="x86_64"):
    call("tar", "-xzf", workshop() + tarballs()[machine], "-C", root, "--strip-components=1")


@case
def static_program_needs_no_library():
    need("readelf")
    root = directory()
    for name in ("proc", "sys", "dev", "run", "tmp"):
        Path(root, name).mkdir()
    unpack(root)
    shown = call("readelf", "-ldW", f"{root}/sbin/pktledger")
    assert "NEEDED" not in shown and "INTERP" not in shown, shown
    # nothing else is there, not even a shell
    said = inside(root, ["/sbin/pktledger", "run", "-c", "10000"])
    assert "balanced: every packet" in said, said
    said = inside(root, ["/sbin/pktledger", "selftest"])
    assert re.search(r"\d\d agree, 0 disagree", said), said
    said = subprocess.run([f"{root}/sbin/pktledger", "recv", "--serve", "--new-token", f"{root}/t"],
                          capture_output=True, text=True, check=False)
    assert said.returncode == 3 and "this build has no TLS" in said.stderr, said


@case
def static_program_links_without_a_warning():
    """Also none about functions that look up names, which a static program may not be able to do."""
    need()
    tarballs()
    said = inside(workshop(), "cd /src; rm build/static/pktledger-static; make dist-static 2>&1")
    assert "warning" not in said and "DIST" in said, said


@table([("Debian 12", "bookworm"), ("Debian 13", "trixie")])
def tarball_by_its_script(suite):
    """install.sh installs, replaces a program that is running, and removes what it installed."""
    need()
    root = debian(suite)
    before = listing(root)
    Path(root, "opt/new").mkdir(parents=True)
    unpack(f"{root}/opt/new")
    said = inside(root, """/opt/new/install.sh
        pktledger trace -t 2 >/dev/null & sleep 1
        /opt/new/install.sh /usr/local; wait $!""")
    assert said.count(f"Installed pktledger {version()} ") == 2, said
    is_used(root)
    said = inside(root, "/opt/new/install.sh --uninstall; rm -r /opt/new; ! pktledger --version")
    assert "Removed pktledger from /usr/local" in said, said
    assert listing(root) == before, listing(root) ^ before


@table([("not absolute", "there", 2, "has to be an absolute path"),
        ("not installed", "--uninstall /nowhere", 1, "/nowhere/share/pktledger/installed does not"),
        ("two", "/a /b", 2, "too many arguments")])
def install_script_refuses(words, status, text):
    done = subprocess.run([ROOT / "tools/packaging/install.sh", *words.split()],
                          capture_output=True, text=True, check=False)
    assert done.returncode == status and text in done.stderr, done
    assert done.stderr.count("\n") == 1, done.stderr


@functools.cache
def rpms():
    """Paths in the workshop, by package."""
    inside(workshop(), f"{APT} install rpm rpmlint cpio; cd /src; make rpm")
    where = f"/src/build/rpm/RPMS/{{}}/pktledger{{}}-{version()}-1.{{}}.rpm"
    return {"pktledger": where.format("x86_64", "", "x86_64"),
            "group": where.format("noarch", "-group", "noarch")}


@case
def rpmlint_is_silent():
    need()
    said = inside(workshop(), f"cd /src; rpmlint -c tools/packaging/rpmlint.toml "
                              f"{' '.join(rpms().values())} build/rpm/SRPMS/*.rpm "
                              "build/rpm/pktledger.spec")
    assert "4 packages" in said or "3 packages" in said, said
    assert "0 errors, 0 warnings" in said, said


def same_place(name):
    """The path of a file of either package, where both have it."""
    name = name.removeprefix(".").removesuffix(".gz").removesuffix("/")
    return re.sub(r"zsh/(vendor-completions|site-functions)", "zsh",
                  re.sub(r"^/lib/systemd", "/usr/lib/systemd", name))


@case
def rpm_has_the_files_of_the_deb():
    need()
    deb = {same_place(f) for f in contents(debs()["amd64"]) if not f.endswith("/")}
    rpm = {same_place(f) for f in inside(workshop(), f"rpm -qpl {rpms()['pktledger']}").split()}
    only = {"/usr/share/doc/pktledger/copyright", "/usr/share/doc/pktledger/changelog",
            "/usr/share/doc/pktledger/changelog.Debian",
            "/usr/share/lintian/overrides/pktledger"}
    directories = {f for f in rpm if any(other.startswith(f + "/") for other in rpm)}
    rpm -= directories | {f for f in rpm if "licenses" in f}
    rpm -= {"/usr/share/doc/pktledger/CHANGELOG.md"}
    assert deb - only == rpm, (deb - only) ^ rpm


@table([("Debian 12", "bookworm"), ("Debian 13", "trixie")])
def rpm_installs_works_and_goes(suite):
    """In a root whose libraries are those that the deb depends on. Without rpm's plugins: one of them
    changes the propagation of /, which is no mount point in a chroot."""
    need()
    root = debian(suite)
    shutil.copy(workshop() + debs()["amd64"], f"{root}/tmp/pktledger.deb")
    for name, path in rpms().items():
        shutil.copy(workshop() + path, f"{root}/tmp/{name}.rpm")
    inside(root, f"apt-get -qq update; {APT} install rpm iproute2 nftables /tmp/pktledger.deb; "
                 f"{APT} purge pktledger")
    before = listing(root)
    inside(root, "rpm --noplugins -i --nodeps /tmp/pktledger.rpm")
    assert who_may(root) == ["root", "root", "755"], who_may(root)
    is_used(root)
    inside(root, "rpm --noplugins -i --nodeps /tmp/group.rpm")
    assert who_may(root) == [CAPABILITIES, "root", "pktledger", "750"], who_may(root)
    inside(root, "rpm --noplugins -U --nodeps --replacepkgs /tmp/pktledger.rpm")
    assert who_may(root) == [CAPABILITIES, "root", "pktledger", "750"], who_may(root)
    inside(root, "rpm --noplugins -e --nodeps pktledger-group")
    assert who_may(root) == ["root", "root", "755"], who_may(root)
    inside(root, "rpm --noplugins -e --nodeps pktledger")
    # the group stays, as usual, since its number must not be used again
    assert listing(root) - before <= {"etc/group-", "etc/gshadow-"}, listing(root) - before


@case
def image_from_scratch_runs():
    need("podman", "buildah", "runc")
    where = directory()
    at = ["--root", f"{where}/storage", "--runroot", f"{where}/run", "--storage-driver", "vfs"]
    podman = ["podman", *at, "--cgroup-manager", "cgroupfs", "--runtime", "runc"]
    run = [*podman, "run", "--rm", "--network", "none", "--privileged", "--pid", "host",
           "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=4096:4096"]
    call("git", "clone", "-q", "--no-hardlinks", ROOT, f"{where}/src")
    try:
        call("make", "-j2", "image", f"BUILDAH=buildah {' '.join(at)}", cwd=f"{where}/src")
        (file,) = Path(where, "src/build").glob("*-image.tar")
        call(*podman, "rmi", "--all", "--force")
        call(*podman, "load", "-i", file)
        name = f"pktledger:{version()}"
        tried = subprocess.run([*run, name, "--version"], capture_output=True, text=True,
                               check=False, env=ENV)
        require(tried.returncode == 0, f"no container starts: {tried.stderr.strip()}")
        assert f"pktledger {version()} " in tried.stdout, tried.stdout
        for command in ("check", "trace"):
            shown = call(*run, name, command, "-t", "1", "-j")
            assert json.loads(shown)["schema"] == f"pktledger/{command}/1", shown
        # as `kubectl debug ... -- pktledger check` starts it
        call(*run, "--entrypoint", "pktledger", name, "check")
    finally:
        call(*podman, "system", "reset", "-f")


@table([("Debian 11", "bullseye"), ("Debian 13", "trixie")])
def tarball_below_usr_local(suite):
    need()
    root = debian(suite)
    unpack(f"{root}/usr/local")
    # libraries of other versions, and what the C library looks up at run time
    is_used(root)
    said = inside(root, "echo 127.0.0.1 here >/etc/hosts; pktledger send here:9 -c 10 --rate 100; "
                        "pktledger sweep --preset help; "
                        "pktledger trace udp prot 53 2>&1 || echo status $?")
    assert "10" in said and "million" in said, said
    assert "syntax error" in said and said.endswith("status 2\n"), said
    manual = Path(root, "usr/local/share/man/man8/pktledger-trace.8").read_text("utf-8")
    assert "--snaplen" in manual.replace("\\", ""), manual
    assert Path(root, "usr/local/share/doc/pktledger/libraries/libbpf-dev").exists()
    said = inside(root, f"""{APT} update; {APT} install bash-completion
        bash -c '. /usr/share/bash-completion/bash_completion; _completion_loader pktledger
        COMP_WORDS=(pktledger tr); COMP_CWORD=1; COMP_LINE="pktledger tr"; COMP_POINT=12
        $(complete -p pktledger | sed "s/.*-F //; s/ .*//"); echo "${{COMPREPLY[@]}}"'""")
    assert said.splitlines()[-1] == "trace", said


@case
def tarball_of_arm64():
    need()
    said = inside(workshop(), f"""mkdir -p /tmp/tar
        tar -xzf {tarballs()['aarch64']} -C /tmp/tar --strip-components=1
        readelf -hldW /tmp/tar/sbin/pktledger; qemu-aarch64 /tmp/tar/sbin/pktledger --version""")
    assert "AArch64" in said and "NEEDED" not in said and "INTERP" not in said, said
    assert f"pktledger {version()} " in said, said


@case
def container_runs():
    """On a base image of debootstrap. Where cgroups of both versions are in use, it takes runc."""
    need("podman")
    where = directory()
    runtime = [word for word in ("--runtime", "runc") if shutil.which("runc")]
    podman = ["podman", "--root", f"{where}/storage", "--runroot", f"{where}/run",
              "--cgroup-manager", "cgroupfs", *runtime]
    limits = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=4096:4096"]
    call("tar", "-C", base("bookworm"), "--one-file-system", "-cf", f"{where}/base.tar", ".")
    try:
        call(*podman, "import", f"{where}/base.tar", "docker.io/library/debian:12")
        call("git", "clone", "-q", "--no-hardlinks", ROOT, f"{where}/src")
        call(*podman, "build", "--pull=never", "--isolation", "chroot", "--network", "host",
             "-t", "pktledger", "-f", "tools/packaging/Containerfile", ".", cwd=f"{where}/src")
        run = [*podman, "run", "--rm", "--network", "host", *limits]
        tried = subprocess.run([*run, "pktledger", "--version"], capture_output=True, text=True,
                               check=False, env=ENV)
        require(tried.returncode == 0, f"no container starts: {tried.stderr.strip()}")
        assert f"pktledger {version()} " in tried.stdout
        said = call(*run, "--privileged", "pktledger", "selftest")
        assert re.search(r"\d\d agree, 0 disagree", said), said
        said = call(*run, "--pid", "host", "--cap-drop", "all", "--cap-add", "bpf,perfmon,syslog",
                    "-v", "/sys/kernel:/sys/kernel:ro", "--security-opt", "seccomp=unconfined",
                    "pktledger", "trace", "-t", "1")
        assert "dropped" in said or "lost" in said, said
    finally:
        call(*podman, "system", "reset", "-f")


if __name__ == "__main__":
    main()
