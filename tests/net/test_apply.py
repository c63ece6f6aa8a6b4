#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`check --apply`, `--undo`, `--persist`: a host made sick, repaired, and as sick as before."""

import contextlib
import itertools
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from ends import PORT, link, repeating, udp
from lib import (BINARY, PATIENCE, TIMEOUT, assert_balanced, assert_valid, case, directory, first, first_finding, lost,
                 main, pktledger, proves, require, run, table, thorough, until)
from settings import assert_same, settings, shell
from test_troubleshooting import reader
from traced import NAME, RX, TX, V4, lab

RP_FILTER = "net.ipv4.conf.v-rx.rp_filter"
SICK = f"""
ip link add other type veth peer name elsewhere
ip link set other up
ip link set elsewhere up
ip route add 198.18.0.1/32 dev other
for name in all other elsewhere; do echo 0 > /proc/sys/net/ipv4/conf/$name/rp_filter; done
echo 1 > /proc/sys/{RP_FILTER.replace('.', '/')}
"""


@contextlib.contextmanager
def sick_host():
    """The way back to the sender leaves by another device: all that arrives is dropped."""
    for tool in ("ip", "ethtool", "tc"):
        require(shutil.which(tool), f"needs {tool}")
    with directory() as path, lab():
        require(not shell(RX, SICK).returncode, "ip netns exec does not work here")
        before = settings(RX)
        yield path / "undo"
        assert_same(before, settings(RX))
        assert not os.listdir(path), os.listdir(path)


def arrived():
    return link(RX, "v-rx")["rx"]["packets"]


@contextlib.contextmanager
def traffic(*sources, port=9):
    """From each source in turn, 500 times a second: what is late on a busy host is sent nevertheless."""
    before = arrived()
    with contextlib.ExitStack() as stack:
        socks = [stack.enter_context(udp(TX, socket.AF_INET, (source, 0))) for source in sources or ["198.18.0.1"]]
        turns, due = itertools.cycle(socks), [time.monotonic()]

        def once():
            while due[0] < time.monotonic():
                due[0] += 0.002
                with contextlib.suppress(OSError):  # once it arrives: there is nobody
                    next(turns).sendto(bytes(512), (V4, port))

        stack.enter_context(repeating(0.002, once))
        until(lambda: arrived() > before + 10, 20, "traffic")
        yield


def rp_filter():
    return shell(RX, f"cat /proc/sys/{RP_FILTER.replace('.', '/')}").stdout.strip()


def check(*args):
    return pktledger("check", "-t", "0.3", "--netns", RX, *args)


def small_run():
    """Few enough to fit the socket's buffer, whatever the reader's CPU does meanwhile."""
    document = run("--lab", NAME, "-c", "150", "--rate", "1k")
    assert_balanced(document, attempted=150)
    return lost(document)


def on_terminal(answer, *args):
    """check, with somebody who types; returns the exit status and what was shown."""
    pid, fd = pty.fork()
    if not pid:
        os.execv(BINARY, [str(BINARY), "check", "-t", "0.3", "--netns", RX, *args])
    shown, said = "", False
    end = time.monotonic() + 30 * PATIENCE
    with contextlib.suppress(OSError):  # EIO: it has ended
        while time.monotonic() < end:
            if not select.select([fd], [], [], 0.1)[0]:
                continue
            data = os.read(fd, 4096).decode()
            if not data:
                break
            shown += data
            if not said and shown.endswith("without any: "):
                os.write(fd, answer.encode())
                said = True
    os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown


@case
def mended_and_as_before():
    with sick_host() as file:
        assert small_run() == {"ip_route": 150}
        with traffic():
            found = check("-j").json["end"]["findings"]
            found = [f for f in found if f["scope"] != "host"]
            assert found[0]["id"] == "ip-rpfilter" and found[0]["losing"], found
            assert rp_filter() == "1"
            result = check("--apply", "--yes", "--undo-file", str(file), "ip-rpfilter")
            assert result.status == 0 and f"done     {RP_FILTER}: 2" in result.out, result
            assert "--undo" in result.err, result
            assert re.search(r"measured ip-rpfilter, v-rx in \S+: [1-9]\S* \S* ?lost before, 0", result.out), result
        assert small_run() == {}
        result = pktledger("check", "--undo", "--undo-file", str(file))
        assert result.status == 0 and f"done     {RP_FILTER}: 1" in result.out, result
        assert small_run() == {"ip_route": 150}


@table(first(0, [("of the namespace", ["-t", "0.3", "--netns", RX]), ("from another one", ["-t", "1"])]))
def documents(where):
    """What one advises elsewhere is printed, made and taken back there."""
    with sick_host() as file, traffic():
        args = ["-j", "--undo-file", str(file)]
        result = pktledger("check", *where, "--apply", "--yes", *args, "ip-rpfilter")
        assert result.status == 0, result
        assert_valid(result.json)
        applied = result.json["end"]["applied"]
        assert [(c["title"], c["old"], c["wanted"], c["outcome"], c["current"])
                for c in applied] == [(RP_FILTER, "1", "2", "done", "2")], applied
        found = [f for f in result.json["end"]["findings"] if f["id"] == "ip-rpfilter"]
        assert [(f.get("netns"), f["command"]) for f in found] == [
            (RX, f"ip netns exec {RX} sysctl -w {RP_FILTER}=2")], found
        assert rp_filter() == "2"
        result = pktledger("check", "--undo", *args)
        assert_valid(result.json)
        undone = result.json["end"]["undone"]
        assert [(c["title"], c["outcome"], c["current"])
                for c in undone] == [(RP_FILTER, "done", "1")], undone
        assert rp_filter() == "1", result
        result = pktledger("check", "--undo", *args)
        assert result.status == 0 and result.json["end"]["undone"] == [], result


@case
def what_does_not_help_is_taken_back():
    """To most sources there is no route at all: without the strict filter they are lost all the
    same. To the one of which most are lost there is."""
    lost = [f"198.19.9.{n}" for n in range(5)]
    with sick_host() as file:
        done = shell(TX, "".join(f"ip addr add {ip}/32 dev lo\n" for ip in lost))
        assert not done.returncode, done.stderr
        with traffic(*["198.18.0.1"] * 3, *lost):
            result = check("-j", "--apply", "--yes", "--undo-file", str(file), "ip-rpfilter")
        assert result.status == 0, result
        assert_valid(result.json)
        end = result.json["end"]
        (measured,) = end["measured"]
        assert measured["outcome"] == "no_help" and measured["lost_pps_after"] > 50, measured
        assert [c["outcome"] for c in end["applied"]] == ["done", "done"], end["applied"]
        assert rp_filter() == "1", end


@thorough
def without_traffic_nothing_is_measured():
    with sick_host() as file:
        with traffic():
            process = subprocess.Popen(
                [BINARY, "check", "-j", "-t", "0.3", "--netns", RX, "--apply", "--yes",
                 "--undo-file", str(file), "ip-rpfilter"], text=True, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL)
            until(lambda: rp_filter() == "2", 20, "the change")
        end = json.loads(process.communicate(timeout=TIMEOUT)[0])["end"]
        assert [m["outcome"] for m in end["measured"]] == ["no_traffic"], end["measured"]
        assert rp_filter() == "2", "it was taken back"
        assert pktledger("check", "--undo", "--undo-file", str(file)).status == 0


@thorough
def asked():
    with sick_host() as file, traffic():
        for answers, value in [("y\n", "2"), ("a\n", "2"), ("n\n", "1"), ("\n", "1"),
                               ("q\n", "1"), ("\x04", "1"), ("\x03", "1"),
                               ("nope" * 100 + "\n", "1")]:
            status, shown = on_terminal(answers, "--apply", "--undo-file", str(file), "ip-rpfilter")
            plain = re.sub(r"\x1b\[[0-9;]*m|\\\r\n +", "", shown)  # without colours, long commands in one line
            assert f"{RP_FILTER}: 1 -> 2" in plain and "  risk " in plain, plain
            assert plain.count(f"sysctl -w {RP_FILTER}=2") == 2, plain
            assert status == (-signal.SIGINT if answers == "\x03" else 0), (status, plain)
            assert rp_filter() == value, (answers, plain)
            assert file.exists() == (value == "2")
            assert pktledger("check", "--undo", "--undo-file", str(file)).status == 0


@case
def left_as_somebody_else_set_it():
    with sick_host() as file, traffic():
        assert check("--apply", "--yes", "--undo-file", str(file), "ip-rpfilter").status == 0
        shell(RX, f"echo 0 > /proc/sys/{RP_FILTER.replace('.', '/')}")
        result = pktledger("check", "--undo", "--undo-file", str(file))
        assert result.status == 1 and "1 of 1 settings do not have their original value" in result.err, result
        assert f"left     {RP_FILTER}: 0" in result.out, result
        assert f"sysctl -w {RP_FILTER}=1" in result.out, result
        shell(RX, f"echo 1 > /proc/sys/{RP_FILTER.replace('.', '/')}")


@case
def settings_that_cannot_be_written():
    """As in most containers."""
    with sick_host() as file, traffic():
        result = shell(RX, f"""
unshare -m sh -c 'mount --bind /proc/sys /proc/sys && mount -o remount,ro,bind /proc/sys &&
exec "$@"' - {BINARY} check -t 0.3 --apply --yes --undo-file {file} ip-rpfilter""")
        require("mount:" not in result.stderr, result.stderr.strip())
        assert result.returncode == 3 and "Read-only" in result.stderr, result
        assert rp_filter() == "1", result


@thorough
def kept_for_the_next_boot():
    with sick_host() as file, traffic():
        args = ["--persist", "--undo-file", str(file)]
        advised = check(*args, "ip-rpfilter")
        assert advised.status == 0 and rp_filter() == "1" and not file.exists(), advised
        # of another namespace: no file keeps it
        assert f"# ip netns exec {RX} sysctl -w {RP_FILTER}=2\n" in advised.out, advised
        assert pktledger("check", "-t", "0.3", "--netns", RX, "--apply", "--yes", "--undo-file",
                         str(file), "ip-rpfilter").status == 0
        # from inside, and it advises it no more: but it was made
        inside = shell(RX, f"{BINARY} check " f"-j -t 0.3 {' '.join(args)}")
        text = json.loads(inside.stdout)["end"]["persist"]
        assert f"# /etc/sysctl.d/90-pktledger.conf\n{RP_FILTER} = 2\n" in text, text
        pktledger("check", "--undo", "--undo-file", str(file))


def slow_cpus(tree):
    """CPUs with a governor that saves power, as files. Returns those with the governors."""
    real = Path("/sys/devices/system/cpu")
    tree.mkdir()
    for name in ("online", "possible", "present"):
        shutil.copy(real / name, tree)
    governors = []
    for cpu in real.glob("cpu[0-9]*"):
        directory = tree / cpu.name / "cpufreq"
        directory.mkdir(parents=True)
        (directory / "scaling_cur_freq").write_text("800000\n")
        (directory / "cpuinfo_max_freq").write_text("3000000\n")
        (directory / "scaling_governor").write_text("powersave")
        governors.append(directory / "scaling_governor")
    return governors


@thorough
@proves("cpu-governor")
def governor():
    """The CPUs are files that only this command sees: what they really do is left alone. The kernel may
    have been too slow for a socket that is never read."""
    require(shutil.which("unshare"), "needs unshare (util-linux)")
    with directory() as path, lab(), reader(3600, 4096), traffic(port=PORT), contextlib.ExitStack() as stack:
        governors = slow_cpus(path / "cpu")
        for cpu in os.sched_getaffinity(0):  # the speed of an idle CPU says nothing
            busy = stack.enter_context(subprocess.Popen(["taskset", "-c", str(cpu), sys.executable, "-c",
                                                         "while True: pass"]))
            stack.callback(busy.kill)

        def check_there(*args):
            done = subprocess.run(
                ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /sys/devices/system/cpu && '
                 'exec "$@"', path / "cpu", BINARY, "check", "-j", *args],
                capture_output=True, text=True, check=False)
            require("mount:" not in done.stderr, done.stderr.strip())
            assert done.returncode == 0, done.stderr
            return json.loads(done.stdout)["end"]

        f = [f for f in check_there("--netns", RX, "-t", "0.3")["findings"] if f["id"] == "cpu-governor"]
        first_finding(f)
        assert f and f[0]["scope"] == "host" and "800 of 3000 MHz" in f[0]["facts"]["seen"], f
        assert len(f[0]["changes"]) == len(governors), f
        undo = ["--undo-file", str(path / "undo")]
        check_there("--netns", RX, "-t", "0.3", "--apply", "--yes", *undo, "cpu-governor")
        assert {g.read_text() for g in governors} == {"performance"}
        undone = check_there("--undo", *undo)["undone"]
        assert {c["outcome"] for c in undone} == {"done"} and len(undone) == len(governors), undone
        assert {g.read_text() for g in governors} == {"powersave"}


@case
def nothing_to_do():
    with sick_host() as file:
        result = pktledger("check", "--undo", "--undo-file", str(file))
        assert result.status == 0 and "nothing to undo" in result.err, result
        result = check("--apply", "--yes", "--undo-file", str(file), "ip-rpfilter")
        assert result.status == 1 and "has no finding" in result.err, result


@case
def a_record_that_is_cut():
    """Its changes are neither undone nor kept, and it says so."""
    with directory() as path:
        file = path / "undo"
        file.write_text('{"kind":')
        for args, status in (["--undo"], 1), (["--persist", "-t", "0.1"], 0):
            result = pktledger("check", *args, "--undo-file", str(file))
            assert result.status == status, result
            assert f"{file} is not a file of changes" in result.err, result


if __name__ == "__main__":
    main()
