# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs a command on another kernel: in a QEMU guest, by software emulation.

The guest sees this machine's files, read-only below a file system in memory: what it writes there
is gone after it. /out is a directory of the host. So a program is built here and run there. A
guest that is another machine has a root of its own, and of this machine the directories that the
command needs. It has two NICs of each model in NICS, with a link between, which are down, and of
igb, if QEMU knows it; and, where this machine lets us make taps, two of virtio with two queues each.
"""

import contextlib
import ctypes
import mmap
import os
import shlex
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import foreign
import kernels

NEEDED = ("cpio", "modprobe", "setpriv", "xz", "zstd")
MODULES = ("virtio_pci", "virtio_console", "9pnet_virtio", "9p", "overlay")
PACKAGES = "busybox-static cpio kmod util-linux xz-utils zstd"
UNPACK = {".xz": ["xz", "-dc"], ".zst": ["zstd", "-qdc"], ".gz": ["gzip", "-dc"]}
NICS = ("vmxnet3", "rtl8139")  # two of each; they count what their rings lose
TAIL = 30  # lines of the console that are shown

# Queues are a matter of taps, a hub has none. They are joined in a network namespace that QEMU has
# for itself, and that ends with it. For each queue 150 packets wait for the guest; more are lost.
NETWORK = """
set -e
ipv6=/proc/sys/net/ipv6/conf/default/disable_ipv6
[ ! -e $ipv6 ] || echo 1 > $ipv6
ip link add joint type bridge
for dev in one two; do
	ip tuntap add dev $dev mode tap multi_queue
	ip link set $dev txqueuelen 150 master joint up
done
ip link set joint up
exec "$@"
"""
IN_NETWORK = ["unshare", "--net", "sh", "-c", NETWORK, "sh"]
TAPS = ("one", "two")

# rdtsc; shl $32,%rdx; or %rdx,%rax; ret
RDTSC = bytes.fromhex("0f31 48c1e220 4809d0 c3")

COMMAND_LINE = ("quiet loglevel=4 panic=-1 mitigations=off nokaslr random.trust_cpu=on"
                " net.ifnames=0")

INIT = """#!/bin/sh
b=/bin/busybox
$b mount -t proc proc /proc; $b mount -t sysfs sys /sys; $b mount -t devtmpfs dev /dev
for m in $($b cat /m/list); do $b insmod /m/$m || echo "guest: insmod $m failed"; done
o=trans=virtio,version=9p2000.L,msize=512000
$b mount -t 9p -o ro,cache=loose,$o root /host || echo "guest: no root over 9p"
$b mount -t tmpfs rw /rw; $b mkdir /rw/u /rw/w
$b mount -t overlay -o lowerdir=/host$guest_root,upperdir=/rw/u,workdir=/rw/w overlay /new ||
	echo "guest: no overlay"
$b mkdir -p /new/out; $b mount -t 9p -o rw,cache=none,$o out /new/out || echo "guest: no /out"
[ -z "$guest_root" ] || { $b mkdir /new/host; $b mount --move /host /new/host; }
for d in proc sys dev; do $b mkdir -p /new/$d; $b mount --move /$d /new/$d; done
exec $b switch_root /new /bin/sh /out/init
"""

SECOND_INIT = """
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/root OUT=/out TERM=dumb LC_ALL=C.UTF-8
mount -t tmpfs run /run
mkdir -p /dev/pts /dev/shm /run/netns /run/lock
mount -t devpts devpts /dev/pts; mount -t tmpfs shm /dev/shm
mount -t cgroup2 cgroup /sys/fs/cgroup; mount -t bpf bpf /sys/fs/bpf
mount -t tracefs tracefs /sys/kernel/tracing
ln -sfn /proc/self/fd /dev/fd
for d in {visible}; do mkdir -p "$d"; mount --bind "/host$d" "$d"; done
mkdir -p /lib/modules/{release}; mount --bind {modules} /lib/modules/{release}
modprobe tun # there is no udev that would make /dev/net/tun
hostname guest; ip link set lo up
port=/dev/console
for p in /sys/class/virtio-ports/*; do
	[ "$(cat $p/name)" = guest.output ] && port=/dev/${{p##*/}}
done
cd {cwd}
setsid {environment} {command} </dev/null >$port 2>&1
echo $? >/out/status
sync; poweroff -f 2>/dev/null || busybox poweroff -f
"""


class NoGuest(Exception):
    """It did not come up, or ended without a word; says what its console showed last."""


def static_shell(machine):
    """The path of busybox for it, or None."""
    return shutil.which("busybox", path=None if machine.native else foreign.root(machine) / "bin")


def missing(machine):
    """What would have to be installed or made, or None."""
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    absent = [name for name in (os.environ.get("VMRUN_QEMU") or machine.qemu, *NEEDED) if not shutil.which(name, path=path)]
    if machine.native and not static_shell(machine):
        absent.append("busybox")
    if absent:
        return f"{' '.join(absent)} not here (Debian: {machine.package} {PACKAGES})"
    return foreign.missing(machine)


def modules_to_load(kernel):
    """Files, in the order to load them in, each once."""
    files = []
    for module in MODULES:
        shown = subprocess.run(["/sbin/modprobe", "-d", kernel.root, "-S", kernel.release,
                                "--show-depends", module], capture_output=True, text=True,
                               check=False).stdout
        files += [line.split()[1] for line in shown.splitlines() if line.startswith("insmod ")]
    return list(dict.fromkeys(files))


def make_initramfs(kernel):
    """A static shell and what it takes to mount the root; once a kernel."""
    made = kernel.root / "initramfs"
    if made.exists() and made.stat().st_mtime > Path(__file__).stat().st_mtime:
        return made
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        for name in ("bin", "m", "proc", "sys", "dev", "host", "rw", "new"):
            (root / name).mkdir()
        shutil.copy(static_shell(kernel.machine), root / "bin/busybox")
        (root / "bin/sh").symlink_to("busybox")
        names = []
        for file in map(Path, modules_to_load(kernel)):
            unpack = UNPACK.get(file.suffix, ["cat"])
            names.append(file.stem if file.suffix in UNPACK else file.name)
            with open(root / "m" / names[-1], "wb") as plain:
                subprocess.run([*unpack, file], stdout=plain, check=True)
        (root / "m/list").write_text("\n".join(names) + "\n")
        (root / "init").write_text(INIT)
        (root / "init").chmod(0o755)
        listed = "\n".join(str(p.relative_to(root)) for p in sorted(root.rglob("*")))
        archive = subprocess.run(["cpio", "--quiet", "-o", "-H", "newc"], cwd=root,
                                 input=listed.encode(), stdout=subprocess.PIPE, check=True).stdout
    part = made.with_suffix(".part")
    part.write_bytes(archive)
    part.rename(made)
    return made


def pair(model, hub):
    """Two NICs of a model and what is between them. Their ROMs would be asked to boot from."""
    port = ",bus={}" if model == "igb" else ""  # is of PCIe, and wants a port of its own
    options = [[*(["-device", f"pcie-root-port,id=port{i},chassis={i}"] if port else []),
                "-netdev", f"hubport,id={model}{i},hubid={hub}",
                "-device", f"{model},netdev={model}{i},mac=52:54:00:00:{hub:02}:0{i},romfile="
                           + port.format(f"port{i}")] for i in (0, 1)]
    return [word for words in options for word in words]


def taps_work():
    """They need root, /dev/net/tun and a bridge."""
    if not shutil.which("unshare") or not shutil.which("ip", path=os.environ["PATH"] + ":/sbin"):
        return False
    return not subprocess.run([*IN_NETWORK, "true"], capture_output=True, check=False).returncode


def tapped(i):
    """With the IOMMU's feature bit the driver has a device to map memory for: zero-copy AF_XDP."""
    name = TAPS[i]
    return ["-netdev", f"tap,id={name},ifname={name},script=no,downscript=no,vhost=off,queues=2",
            "-device", f"virtio-net-pci,netdev={name},mac=52:54:00:00:0f:0{i},romfile=,mq=on,"
                       "vectors=6,disable-legacy=on,iommu_platform=on"]


def clock_option(machine):
    """Of the kernel: how fast its clock counts, which is this machine's. A guest that has to wait for
    a CPU does not find that out for itself: its seconds were 28 ms."""
    if not machine.native or machine.kernel_name != "x86_64":
        return ""
    with contextlib.closing(mmap.mmap(-1, len(RDTSC), prot=mmap.PROT_READ | mmap.PROT_WRITE
                                      | mmap.PROT_EXEC)) as code:
        code.write(RDTSC)
        place = ctypes.c_char.from_buffer(code)
        rdtsc = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(place))

        def now():  # of some readings that between which least time has passed
            tried = []
            for _ in range(20):
                before, ticks, after = time.monotonic_ns(), rdtsc(), time.monotonic_ns()
                tried.append((after - before, before, ticks))
            return min(tried)[1:]

        begun = now()
        time.sleep(0.1)
        ended = now()
        del place
    return f"tsc_early_khz={(ended[1] - begun[1]) * 1000000 // (ended[0] - begun[0])}"


def qemu(kernel, out, cpus, memory):
    taps, machine = taps_work(), kernel.machine
    emulator = kernels.emulator(machine)
    nics = [*NICS, "igb"] if kernels.knows_igb(*emulator) else NICS
    root = [] if machine.native else [f'"guest_root={foreign.root(machine)}"']
    return [*(IN_NETWORK if taps else []), *emulator, "-name", "guest", "-nodefaults",
            "-display", "none", "-no-reboot", *machine.hardware, "-accel", machine.accel,
            "-smp", str(cpus), "-m", memory,
            "-kernel", str(kernel.image), "-initrd", str(make_initramfs(kernel)),
            "-append", " ".join([machine.command_line, clock_option(machine), COMMAND_LINE, *root]),
            "-chardev", f"file,id=console,path={out}/console", "-serial", "chardev:console",
            "-fsdev", "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap",
            "-device", "virtio-9p-pci,fsdev=root,mount_tag=root",
            "-fsdev", f"local,id=out,path={out},security_model=none",
            "-device", "virtio-9p-pci,fsdev=out,mount_tag=out",
            "-device", "virtio-serial-pci",
            # no stdio: the end of its input would close the port to the guest, too
            "-chardev", "file,id=output,path=/proc/self/fd/1",
            "-device", "virtserialport,chardev=output,name=guest.output",
            *(word for hub, model in enumerate(nics) for word in pair(model, hub)),
            *(word for i in range(len(TAPS) if taps else 0) for word in tapped(i))]


def console_tail(out):
    try:
        text = Path(out, "console").read_text(errors="replace")
    except OSError:
        text = ""
    return "\n".join(line.rstrip() for line in text.splitlines()[-TAIL:]) or "(nothing)"


def run(kernel, command, on_line, seconds=600, cpus=2, memory="1G", environment=(), needs=()):
    """
    The status of the command. It is run in this directory. A guest with a root of its own has this
    one and those that the command needs, none of which can be written to. on_line() gets each line
    of its output as it comes. Guests are slow and no hurry: they leave the CPUs to others.
    """
    visible = [] if kernel.machine.native else [os.getcwd(), kernel.modules.resolve(), *needs]
    with tempfile.TemporaryDirectory(prefix="pl-guest-") as out:
        Path(out, "init").write_text(SECOND_INIT.format(
            release=kernel.release, modules=shlex.quote(str(kernel.modules.resolve())),
            cwd=shlex.quote(os.getcwd()), command=shlex.join(command),
            visible=shlex.join(map(str, visible)),
            environment=shlex.join(["env", *environment])))
        with open(f"{out}/qemu.log", "w+") as log, \
                subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "nice", "-n", "5",
                                  *qemu(kernel, out, cpus, memory)],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
                                 text=True, errors="replace") as process:
            timer = threading.Timer(seconds, process.kill)
            timer.start()
            try:
                for line in process.stdout:
                    on_line(line.rstrip())
                process.wait()
            finally:
                late = not timer.is_alive()
                timer.cancel()
                process.kill()
            log.seek(0)
            said = log.read().strip()
        status = Path(out, "status")
        if status.exists() and status.read_text().strip():
            return int(status.read_text())
        why = f"not done after {seconds} s" if late else "ended without a status"
        raise NoGuest(f"{why}; last on its console:\n{console_tail(out)}"
                      + (f"\nQEMU: {said}" if said else ""))
