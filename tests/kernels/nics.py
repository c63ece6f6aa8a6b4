# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""NICs of a guest: two of a model are one link, of which the sender's end is in a namespace."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import require, until  # noqa: E402

NETNS = "pl-nics"
SENDER, RECEIVER = "198.18.1.1", "198.18.1.2"


def require_guest():
    """Nobody else's settings are touched. (guest.py has put that file there.)"""
    require(Path("/out/init").exists(), "only in a guest: tests/kernels/vmrun")


def load_drivers():
    """There is no udev in a guest. To be called before the cases: devices come with them."""
    if Path("/out/init").exists():
        for module in ("igb", "vmxnet3", "8139cp", "virtio_net"):
            subprocess.run(["modprobe", module], check=False, capture_output=True)


@contextlib.contextmanager
def link(driver):
    """The receiving NIC, and the sending one in NETNS. Nothing but what is sent comes by it."""
    require_guest()
    require(os.cpu_count() > 1, "needs two CPUs")
    nics = sorted(path.name for path in Path("/sys/class/net").iterdir()
                  if (path / "device/driver").resolve().name == driver)
    require(len(nics) == 2, f"needs two {driver} with a link between")
    there, here = nics
    address = "/sys/class/net/%s/address"
    script = f"""
set -e
ip netns add {NETNS}
ip link set {there} netns {NETNS}
ip netns exec {NETNS} sh -c 'echo 1 > /proc/sys/net/ipv6/conf/{there}/disable_ipv6'
echo 1 > /proc/sys/net/ipv6/conf/{here}/disable_ipv6
ip -n {NETNS} addr add {SENDER}/24 dev {there}
ip -n {NETNS} link set {there} up
ip addr add {RECEIVER}/24 dev {here}
ip link set {here} up
ip neigh add {SENDER} dev {here} lladdr $(ip netns exec {NETNS} cat {address % there})
ip -n {NETNS} neigh add {RECEIVER} dev {there} lladdr $(cat {address % here})
"""
    try:
        done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
        assert not done.returncode, done.stderr
        up = Path("/sys/class/net", here, "operstate")
        until(lambda: up.read_text().strip() in ("up", "unknown"), 20, f"the link of {here}")
        yield here, there
    finally:
        subprocess.run(["sh", "-c", f"""
ip -n {NETNS} link set {there} down; ip -n {NETNS} link set {there} netns 1
ip netns del {NETNS}
ip link set {here} down; ip addr flush dev {here}; ip neigh flush nud permanent dev {here}
"""], capture_output=True, check=False)


def ethtool(*args, netns=None):
    done = subprocess.run([*(["ip", "netns", "exec", netns] if netns else []), "ethtool", *args],
                          capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return done.stdout


def poll_in_thread(nic):
    """A thread on CPU 1 empties its ring."""
    Path("/sys/class/net", nic, "threaded").write_text("1")
    for comm in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(FileNotFoundError):
            if comm.read_text().startswith(f"napi/{nic}"):
                os.sched_setaffinity(int(comm.parent.name), {1})


def set_queues(nic, n, netns=None):
    ethtool("-L", nic, "combined", str(n), netns=netns)
