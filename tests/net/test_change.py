#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Changes of settings, made, undone to the byte, and never half: tests/net/change.c does them."""

import contextlib
import fcntl
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import BINARY, EVERYTHING, case, directory, main, require, thorough, until
from settings import assert_same, settings, shell

TOOL = BINARY.parent / "tests/net/change"
NAME = f"pl-chg-{os.getpid()}"
TTL = ["sysctl", "-", "net/ipv4/ip_default_ttl"]
RPS = ["sysfs", "v0", "queues/rx-0/rps_cpus", "1"]


def ip(*args):
    subprocess.run(["ip", *args], check=True)


@contextlib.contextmanager
def netns(name=NAME, device="v0"):
    for tool in ("ip", "ethtool", "tc"):
        require(shutil.which(tool), f"needs {tool}")
    ip("netns", "add", name)
    try:
        require(not shell(name, "true").returncode, "ip netns exec does not work here")
        ip("-n", name, "link", "add", "name", device, "numtxqueues", "2", "numrxqueues", "2",
           "type", "veth", "peer", "name", "v1")
        for dev in ("lo", device, "v1"):
            ip("-n", name, "link", "set", "dev", dev, "up")
        shell(name, f"ethtool -L {shlex.quote(device)} rx 1")
        yield
    finally:
        subprocess.run(["ip", "netns", "del", name], check=False)


@contextlib.contextmanager
def scene():
    """The namespace, an undo file, and its settings as they must be again in the end."""
    with netns(), directory() as path:
        before = settings(NAME)
        yield path / "undo"
        assert_same(before, settings(NAME))
        assert not os.listdir(path), os.listdir(path)


class Done:
    def __init__(self, result):
        self.status, self.err, self.out = result.returncode, result.stderr, result.stdout
        self.lines = [line.split("|") for line in result.stdout.splitlines()]
        self.outcomes = [line[0] for line in self.lines]

    def __str__(self):
        return f"status {self.status}\n{self.err}{self.out}"


def tool(*args, name=NAME):
    return Done(shell(name, shlex.join([str(TOOL), *(str(a) for a in args)])))


def undo(file, *outcomes):
    """Undoes from outside, as each entry knows its namespace; all the outcomes, in order."""
    result = Done(subprocess.run([TOOL, "undo", file], capture_output=True, text=True, check=False))
    assert result.outcomes == list(outcomes), result
    return result


def apply(file, *changes):
    result = tool("apply", file, *changes)
    assert result.status == 0 and set(result.outcomes) == {"done"}, result
    return result


def value(path):
    return shell(NAME, f"cat {path}").stdout.strip()


def ttl():
    return value("/proc/sys/net/ipv4/ip_default_ttl")


@thorough
def made_and_undone():
    with scene() as file:
        before = settings(NAME)
        for shows, *change in [
                ("ip_default_ttl:33", *TTL, "33"),
                ("group_range:5\t6", "sysctl", "-", "net/ipv4/ping_group_range", "5 6"),
                ("ports:8080", "sysctl", "-", "net/ipv4/ip_local_reserved_ports", "8080"),
                ("conf/v0/rp_filter:2", "sysctl", "-", "net/ipv4/conf/v0/rp_filter", "2"),
                ("rx-0/rps_cpus:", *RPS),
                ("rx-1/rps_cpus", "channels", "v0", "rx", "2"),
                ("limit 5000p", "qdisc", "v0", "root", "pfifo limit 5000")]:
            planned = tool("command", *change)
            if "No such file" in planned.err:  # on this kernel
                print("#", planned.err.strip())
                continue
            assert planned.status == 0 and len(planned.lines) == 2, planned
            make, take_back = planned.out.splitlines()
            apply(file, *change)
            made = settings(NAME)
            news = [line for line in made if line not in before]
            assert any(shows in line for line in news), (change, news)
            undo(file, "done")
            assert_same(before, settings(NAME))
            # the commands do the very same, if the host has the tool
            if shutil.which(make.split()[0]) or make.startswith("echo"):
                assert not shell(NAME, make).stderr
                assert_same(made, settings(NAME))
                assert not shell(NAME, take_back).stderr


@case
def names_that_a_shell_would_run():
    """Of interfaces and namespaces; nothing is run but what is meant, and the print is the same."""
    for netns_name, device in [(f"{NAME};$(touch x)", "a;$(id>x)"), (f"-{NAME}", "-K"),
                               (f"{NAME}'\"`", "$HOME'\"&|")]:
        with netns(netns_name, device), directory() as path, contextlib.chdir(path):
            changes = ["channels", device, "rx", "2",
                       "qdisc", device, "root", "pfifo limit 7",
                       "sysfs", device, "queues/rx-0/rps_cpus", "1",
                       "sysctl", "-", f"net/ipv4/conf/{device}/rp_filter", "2"]
            lines = tool("command", *changes, name=netns_name).out.splitlines()
            made = tool("apply", path / "undo", *changes, name=netns_name)
            assert made.outcomes == ["done"] * 4, made
            assert device in shlex.split(lines[0]) and lines[0].startswith("ethtool -L "), lines
            undo(path / "undo", *["done"] * 4)
            for line in lines:  # and by a shell, from the print
                done = shell(netns_name, line)
                assert not done.returncode and not done.stderr, (line, done)
            assert not os.listdir(path), os.listdir(path)


@case
def qdisc_that_was_set_up():
    with netns(), directory() as path:
        file = path / "undo"
        shell(NAME, "tc qdisc add dev v0 root handle 7: pfifo limit 3")
        before = settings(NAME)
        apply(file, "qdisc", "v0", "root", "pfifo limit 5000")
        assert "pfifo 7: root" in shell(NAME, "tc qdisc show dev v0").stdout
        undo(file, "done")
        assert_same(before, settings(NAME))
        other = tool("apply", file, "qdisc", "v0", "root", "bfifo limit 5000")
        assert other.status == 1 and "out of domain" in other.err, other


@case
def several_newest_first():
    with scene() as file:
        apply(file, *TTL, "33", *RPS, "channels", "v0", "rx", "2")
        apply(file, *TTL, "44", "sysfs", "v0", "queues/rx-1/rps_cpus", "1")
        assert len(json.loads(file.read_text())) == 5, file.read_text()
        assert file.stat().st_mode & 0o777 == 0o600
        result = undo(file, *["done"] * 5)
        assert [line[1] for line in result.lines] == [
            "v0 queues/rx-1/rps_cpus", "net.ipv4.ip_default_ttl", "v0 rx channels",
            "v0 queues/rx-0/rps_cpus", "net.ipv4.ip_default_ttl"], result


@case
def all_or_none():
    with scene() as file:
        result = tool("apply", file, *RPS, *TTL, "33", "sysctl", "-",
                      "net/ipv4/ip_nonlocal_bind", "1", "sysctl", "-", "net/ipv4/tcp_retries1",
                      "256", "sysctl", "-", "net/ipv4/tcp_retries2", "9")
        assert result.status == 3 and "net.ipv4.tcp_retries1" in result.err, result
        assert result.outcomes == ["done"] * 3 + ["failed"] + ["back"] * 3, result


@case
def value_that_the_kernel_prints_differently():
    """What was read back is recorded, so that the undo knows its own change."""
    with scene() as file:
        apply(file, "sysctl", "-", "net/ipv4/ip_local_reserved_ports", "8080,8081")
        assert json.loads(file.read_text())[0]["new"] == "8080-8081", file.read_text()
        undo(file, "done")


@case
def value_that_does_not_change():
    """A mask that means the old one: nothing of what was asked for has happened."""
    with scene() as file:
        was = value("/sys/class/net/v0/queues/rx-0/rps_cpus")
        result = tool("apply", file, *TTL, "33", *RPS[:-1], "0" + was)
        assert result.status == 1 and f"keeps '{was}'" in result.err, result
        assert result.outcomes == ["done", "failed", "back"], result


@case
def refused():
    with scene() as file:
        for change, words in [
                (["ring", "v9", "rx", "64"], "No such device"),
                (["ring", "v0", "rx", "64"], "not supported"),
                ([*TTL, "1\n2"], "Invalid argument")]:
            result = tool("apply", file, *change)
            assert result.status == 1 and words in result.err and not result.out, result


@case
def put_back_by_somebody_else():
    with scene() as file:
        was = ttl()
        apply(file, *TTL, "33")
        shell(NAME, f"echo {was} > /proc/sys/net/ipv4/ip_default_ttl")
        undo(file, "nothing")


@case
def interface_is_gone():
    with netns(), directory() as path:
        file = path / "undo"
        apply(file, *RPS)
        ip("-n", NAME, "link", "del", "v0")
        ip("-n", NAME, "link", "add", "v0", "type", "veth", "peer", "name", "v1")
        shell(NAME, "echo 1 > /sys/class/net/v0/queues/rx-0/rps_cpus")  # of another v0
        undo(file, "gone")
        assert value("/sys/class/net/v0/queues/rx-0/rps_cpus") == "1"
        assert not file.exists()


@case
def interface_has_another_name():
    with scene() as file:
        apply(file, *RPS, *TTL, "33")
        ip("-n", NAME, "link", "set", "v0", "down", "name", "lan0")
        result = undo(file, "done", "kept")
        assert "is called lan0 now" in result.lines[1][3], result
        ip("-n", NAME, "link", "set", "lan0", "name", "v0", "up")
        undo(file, "done")


@case
def namespace_is_gone():
    with directory() as path:
        file = path / "undo"
        with netns():
            apply(file, *TTL, "33")
        # a new one, with the inode number of the old one if the kernel likes
        with netns():
            before = settings(NAME)
            result = undo(file, "gone")
            assert "namespace is gone" in result.lines[0][3], result
            assert_same(before, settings(NAME))


@case
def each_in_its_namespace():
    with scene() as file, netns(f"{NAME}-2"):
        before = settings(f"{NAME}-2")
        apply(file, *TTL, "33", *RPS)
        other = tool("apply", file, *TTL, "34", *RPS, name=f"{NAME}-2")
        assert other.status == 0, other
        undo(file, *["done"] * 4)
        assert_same(before, settings(f"{NAME}-2"))


@case
def host_was_booted():
    with scene() as file:
        was = ttl()
        apply(file, *TTL, "33")
        record = file.read_text()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        assert boot in record
        file.write_text(record.replace(boot, "0" + boot[1:] if boot[0] != "0" else "1" + boot[1:]))
        undo(file, "gone")
        assert ttl() == "33"
        shell(NAME, f"echo {was} > /proc/sys/net/ipv4/ip_default_ttl")


@case
def damaged_file():
    with scene() as file:
        apply(file, *TTL, "33")
        record = file.read_text()
        file.write_text(record[:-30])
        for words in (["undo", file], ["apply", file, *RPS]):
            result = tool(*words)
            assert result.status == 1 and "not a file of changes" in result.err, result
        assert file.read_text() == record[:-30]
        file.write_text(record)
        undo(file, "done")


@case
def entry_of_another_version():
    with scene() as file:
        apply(file, *TTL, "33", *RPS)
        record = file.read_text()
        file.write_text(record.replace('"kind":"sysctl"', '"kind":"thing"')
                        .replace("queues/rx-0/rps_cpus", "../../v0/threaded"))
        undo(file, "kept", "kept")
        assert ttl() == "33"
        file.write_text(record)
        undo(file, "done", "done")


@case
def program_beyond_path():
    """As /usr/sbin is for many users."""
    with scene() as file:
        result = Done(shell(NAME, f"PATH=/nowhere exec {TOOL} apply {file} "
                            "channels v0 rx 2"))
        assert result.status == 0, result
        undo(file, "done")


@case
def program_that_is_not_there():
    """It is named before anything is changed."""
    with scene() as file:
        result = Done(shell(NAME, "unshare -m sh -c 'for f in $(which -a ethtool); do mount --bind "
                            f"/dev/null $f; done; exec {TOOL} apply {file} {' '.join(TTL)} 33 "
                            "channels v0 rx 2'"))
        assert result.status == 3 and "there is no ethtool here" in result.err, result
        assert not result.out and not file.exists(), result


@case
def value_of_the_host_in_a_namespace():
    with scene() as file:
        require("rmem_max" in shell(NAME, "ls /proc/sys/net/core").stdout, "not shown here")
        result = tool("apply", file, "sysctl", "-", "net/core/rmem_max", "123456")
        assert result.status == 3 and "network namespace" in result.err, result


@case
def a_record_of_strangers():
    """Whoever could have written it could have any setting made what he likes."""
    with scene() as file:
        apply(file, *TTL, "33")
        for owner, mode in (65534, 0o600), (0, 0o620), (0, 0o602):
            os.chown(file, owner, 0)
            file.chmod(mode)
            for words in (["undo", file], ["apply", file, *TTL, "34"]):
                result = tool(*words)
                assert result.status == 1 and "another user" in result.err, result
        assert "33" in shell(NAME, "cat /proc/sys/net/ipv4/ip_default_ttl").stdout
        file.chmod(0o600)
        undo(file, "done")


@case
def waits_for_a_change_that_ends():
    """`run` holds a sysctl that it has changed for a while: that is not the old value."""
    with scene() as file:
        apply(file, *TTL, "33")  # makes the directory
        undo(file, "done")
        path = Path("/run/pktledger/journal/sysctl:net:ipv4:ip_default_ttl")
        path.touch()
        with path.open("r+") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            with subprocess.Popen(["ip", "netns", "exec", NAME, TOOL, "apply", file, *TTL, "33"],
                                  stdout=subprocess.PIPE) as process:
                time.sleep(0.2)  # it waits for as long as the lock is held
                assert process.poll() is None
                path.unlink()
                other.close()
                assert process.communicate()[0].startswith(b"done") and not process.returncode
        undo(file, "done")


@case
def two_at_once():
    with scene() as file:
        both = [subprocess.Popen(["ip", "netns", "exec", NAME, TOOL, "apply", file, *TTL, want],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                for want in ("33", "44")]
        reported = [process.communicate() for process in both]
        done = [process for process in both if process.returncode == 0]
        assert done, reported
        for process, (_, err) in zip(both, reported):
            assert process in done or "is no longer" in err, reported
        undo(file, *["done"] * len(done))


@thorough
def killed_anywhere():
    """However far it came: the record was there first."""
    with scene() as file:
        before = settings(NAME)
        changes = [*RPS, "channels", "v0", "rx", "2"]
        for conf in ("all", "default", "lo", "v0", "v1"):
            for name in ("rp_filter", "log_martians", "arp_ignore", "arp_announce"):
                changes += ["sysctl", "-", f"net/ipv4/conf/{conf}/{name}", "1"]
        undone = []
        for step in range(200 if EVERYTHING else 12):
            with subprocess.Popen(["ip", "netns", "exec", NAME, TOOL, "apply", file, *changes],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                if step % 2:  # right after the record is there
                    while not file.exists() and process.poll() is None:
                        pass
                time.sleep(step // 2 % 12 * 0.0008)
                process.send_signal(signal.SIGKILL)
            result = Done(subprocess.run([TOOL, "undo", file], capture_output=True, text=True,
                                         check=False))
            assert result.status == 0, result
            assert set(result.outcomes) <= {"done", "nothing"}, result
            undone.append(result.outcomes.count("done"))
            assert not list(file.parent.iterdir())
            assert_same(before, settings(NAME))
        print(f"# undone of {len(changes) // 4}: {undone}")
        apply(file, *changes)  # also takes over the locks that were left
        undo(file, *["done"] * (len(changes) // 4))


@case
def killed_while_a_program_works():
    """It outlives the one that started it, so who undoes waits until it has ended."""
    with scene() as file, directory() as path:
        slow = path / "ethtool"
        slow.write_text(f'#!/bin/sh\ncase $1 in -L) touch {path}/begun; sleep 0.3;; esac\n'
                        f'exec {shutil.which("ethtool")} "$@"\n')
        slow.chmod(0o700)
        with subprocess.Popen(["ip", "netns", "exec", NAME, TOOL, "apply", file,
                               "channels", "v0", "rx", "2"],
                              env={**os.environ, "PATH": f"{path}:{os.environ['PATH']}"}) as process:
            until((path / "begun").exists, 20, "the program")
            process.send_signal(signal.SIGKILL)
        undo(file, "done")


@case
def host_global_values_are_read():
    for irq in sorted(os.listdir("/proc/irq"))[:3]:
        path = Path("/proc/irq", irq, "smp_affinity_list")
        if path.exists():
            result = subprocess.run([TOOL, "read", "irq", "-", irq], capture_output=True,
                                    text=True, check=True)
            assert result.stdout == path.read_text()


if __name__ == "__main__":
    main()
