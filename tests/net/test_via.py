#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`run --to` over a pipe: by ssh, with an sshd of the test's own, and by other commands. What the
hosts say is the same as by TCP; their addresses they find by probes."""

import contextlib
import json
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from ends import inside, nft
from labs import COUNT, EACH, PORT, TARGET, Hosts, share
from lib import (BINARY, PATIENCE, Lines, assert_error, assert_ran, assert_valid, bounded, case, directory,
                 finish, first, lost, main, observed, require, start, table, thorough, together, until)
from test_to import SHORT, causes, compare, numbers_of

FAILED, UNABLE = 1, 3
SSHD_PORT = 2222
REMOTE = ["--remote", str(BINARY)]


def children(pid):
    return [int(c) for c in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_there(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return False


def remotes(pid):
    """Processes below this one that serve, whatever carries what they say."""
    found = []
    for child in children(pid):
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
            found += [child] if b"--stdio" in words and b"pktledger" in words[0] else []
            found += remotes(child)
    return found


class Piped(Hosts):
    """Two hosts; `a` starts the program on `b` by a command."""

    def via(self, *args, before="", to=4, remote=REMOTE, **kwargs):
        command = f"ip netns exec {self.netns('b')} {before}"
        with inside(self.netns("a")):
            return start("run", "--to", TARGET[to], "--via", command, *remote, *args, **kwargs)

    def run(self, *args, **kwargs):
        return finish(self.via(*args, **kwargs))

    def ledger(self, *args, serve=(), **kwargs):
        result = assert_ran(observed(lambda: self.run(
            "-j", "-q", "-r", "20k", "-c", str(COUNT), "--rcvbuf", "16M", *args, **kwargs)))
        assert_valid(result.json)
        return result.json


def script(where, name, text):
    path = where / name
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return str(path)


@table(first(1, [("IPv4", 4, []), ("IPv6", 6, []), ("IPv6, the other way", 6, ["--reverse"]),
                 ("the other way", 4, ["--reverse"]),
                 ("AF_XDP at both ends", 4, ["--tx", "xsk", "--rx", "xsk"]),
                 ("a port of its own", 4, ["--port", "5000", "-R"])]))
@together
def by_a_command(to, args):
    with Piped() as hosts:
        if "--port" in args:
            document = hosts.ledger(*args)
            assert document["end"]["delivered"] == COUNT, document["end"]
            return
        hosts.drop("m", "forward", 3)
        hosts.drop("a", "input" if "--reverse" in args else "output", 5)
        tx = share(5) if "xsk" not in args else 0  # frames do not pass the hook
        document = hosts.ledger(*args, to=to)
        compare(document, {"wire": share(3), **({"netfilter": tx} if tx else {})})
        if tx:
            assert causes(document, "netfilter") == {"rx" if args else "tx": tx}
        ports = [document["start"][end]["address"] for end in ("tx_port", "rx_port")]
        assert set(ports) == {"2001:2:0:7::1" if to == 6 else "198.18.7.1", TARGET[to]}, ports


@table(first(1, [("there", "vb", []), ("here", "va", ["--reverse"])]))
@together
def packets_that_come_too_late(device, args):
    """A queue between the hosts still delivers them when the ledger closes. The document says when that was.
    All later packets are lost on the wire, including those that arrive before the socket is closed."""
    with Piped() as hosts:
        hosts.do("m", "tc", "qdisc", "add", "dev", device, "root", "tbf", "rate", "20mbit", "burst",
                 "5000", "limit", "10m")
        result = hosts.run("-j", "-q", "-r", "60k", "-c", "12k", "-l", "512", "--settle", "300ms",
                           "--rcvbuf", "16M", *args)
    end = result.json["end"]
    assert lost(result.json).keys() == {"wire"} and end["delivered"], end
    assert end["unaccounted"] == end["late"] == 0, end
    assert 3e8 <= end["settled_ns"] < 3e9 * PATIENCE, end


@case
@together
def packets_that_the_other_host_frees_after_the_end():
    """Its socket is closed with packets in it, which the tracer of this host sees on the same kernel."""
    with Piped() as hosts, directory() as where:
        relay = script(where, "relay", """"$@" | while IFS= read -r line; do
            case $line in *'"type":"end"'*) sleep 1 ;; esac
            printf '%s\\n' "$line"
        done""")
        result = hosts.run("-j", "-q", "-r", "60k", "-c", "12k", "-l", "512", "--settle", "20ms",
                           "--rcvbuf", "1M", "--work", "2ms", before=relay)
    end = result.json["end"]
    assert end["in_flight"] and not end["late"], end


@thorough
def several_trials_in_one_session():
    with Piped() as hosts:
        result = hosts.run("-j", "-r", "20k", "-c", "2000", "--repeat", "3")
        assert result.status == 0 and len(result.json["trials"]) == 3, result


# By ssh


@contextlib.contextmanager
def sshd(hosts):
    """A real one on `b`; yields the environment in which `ssh` finds its keys, and the process."""
    require(Path("/usr/sbin/sshd").exists() and shutil.which("ssh"), "no openssh-server")
    try:
        pwd.getpwnam("sshd")
    except KeyError:
        require(False, "no user sshd")
    os.makedirs("/run/sshd", exist_ok=True)  # where it wants to be at home
    with directory() as where:
        where.chmod(0o755)
        for key in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", where / key],
                           check=True)
        (where / "sshd_config").write_text(f"""
            Port {SSHD_PORT}
            HostKey {where}/host
            AuthorizedKeysFile {where}/user.pub
            PidFile none
            StrictModes no
            UsePAM no
            PasswordAuthentication no
            AllowUsers root
            """)
        key = (where / "host.pub").read_text()
        (where / "known_hosts").write_text(f"* {key}")
        (where / "ssh_config").write_text(f"""
            IdentityFile {where}/user
            IdentitiesOnly yes
            UserKnownHostsFile {where}/known_hosts
            GlobalKnownHostsFile /dev/null
            """)
        script(where, "ssh", f'exec {shutil.which("ssh")} -F {where}/ssh_config "$@"\n')
        log = open(where / "log", "w+")
        server = subprocess.Popen(["/usr/sbin/sshd", "-D", "-e", "-f", where / "sshd_config"],
                                  preexec_fn=hosts.inside("b"), stdin=subprocess.DEVNULL,
                                  stderr=log,
                                  start_new_session=True)
        try:
            until(lambda: hosts.listens("b", SSHD_PORT) or server.poll() is not None, 20,
                  "sshd does not listen")
            assert server.poll() is None, (where / "log").read_text()
            yield {**os.environ, "PATH": f"{where}:{os.environ['PATH']}"}, server
        finally:
            for child in children(server.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            server.kill()
            server.wait()
            log.close()


def by_ssh(hosts, env, *args, to=4, user="root", host=None, prefix=()):
    address = host or (f"[{TARGET[to]}]" if to == 6 else TARGET[to])
    return start("run", "--to", f"{user}@{address}:{SSHD_PORT}", *REMOTE, *args, prefix=prefix,
                 preexec_fn=hosts.inside("a"), env=env)


@table(first(0, [("IPv4", 4, [], False), ("IPv6", 6, [], False), ("the other way", 4, ["-R"], False),
                 ("IPv4, by name", 4, [], True), ("IPv6, by name", 6, [], True)]))
def over_ssh(to, args, named):
    """The data goes to the address of the name, and ssh gets the name itself."""
    with Piped() as hosts, sshd(hosts) as (env, server), directory() as where:
        hosts.drop("m", "forward", 3)
        how = {"to": to}
        if named:
            (where / "hosts").write_text(f"{TARGET[to]} rx.example\n")
            script(where, "ssh", f'echo "$@" > {where}/asked; exec {shutil.which("ssh", path=env["PATH"])} "$@"\n')
            env["PATH"] = f"{where}:{env['PATH']}"
            how = {"host": "rx.example", "prefix": [
                "unshare", "-m", "sh", "-c", f'mount --bind {where}/hosts /etc/hosts && exec "$@"', "sh"]}
        result = assert_ran(observed(lambda: finish(by_ssh(
            hosts, env, "-j", "-r", "20k", "-c", str(COUNT), "--rcvbuf", "16M", *args, **how))))
        assert_valid(result.json)
        compare(result.json, {"wire": share(3)})
        assert not named or "root@rx.example" in (where / "asked").read_text()
        until(lambda: not remotes(server.pid), 5, "the other side stays")


@thorough
def ssh_leads_nowhere():
    """A login that is refused, the wrong key, of the user and of the host, which may be another one in its
    place; with what ssh says about it. And a program that is not there."""
    with Piped() as hosts, sshd(hosts) as (env, server):
        where = Path(env["PATH"].split(":")[0])
        config = where / "ssh_config"
        right = config.read_text()

        def refused(words, **kwargs):
            result = finish(by_ssh(hosts, env, *SHORT, **kwargs))
            assert_error(result, FAILED, "ssh ended with status 255")
            assert words in result.err, result

        refused("Permission denied", user="nobody")
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", where / "other"], check=True)
        config.write_text(right.replace(f"{where}/user", f"{where}/other"))
        refused("Permission denied")
        config.write_text(right)
        result = finish(by_ssh(hosts, env, *SHORT, "--remote", "/nowhere/pktledger"))
        assert_error(result, FAILED, "there is no /nowhere/pktledger", "--remote")
        assert finish(by_ssh(hosts, env, *SHORT)).status == 0
        (where / "known_hosts").write_text(f"* {(where / 'other.pub').read_text()}")
        refused("Host key verification failed")
        assert not remotes(server.pid)


# What comes before the first word


HELLO = {"type": "hello", "version": "9.9", "host": "other"}
NOISE = 'printf "Welcome\\n\\nlast login: {}\\n{\\"type\\":\\"x\\"}\\n$ "\n'


@table(first(1, [
    ("it ends with that", NOISE + 'printf "\\033[31mred"\nexit 3\n',
     ["status 3", "Welcome", "last login: {}", '{"type":"x"}', "$ ?[31mred"]),
    ("it is passed over", NOISE + 'exec "$@"\n', []),
    ("60 KiB", 'head -c 61440 /dev/zero | tr "\\0" "x"\nexec "$@"\n', []),
    ("too much", 'head -c 71680 /dev/zero | tr "\\0" "x"\nexec "$@"\n', ["64 KiB", "xxxx"]),
    ("another version", f"echo '{json.dumps({**HELLO, 'protocol': 99})}'\nsleep 9\n",
     ["version 99", "9.9", "the same version"]),
    ("nothing at all", "exit 0\n", ["status 0"]),
    ("it says nothing", "exec sleep 1000\n", ["brought no answer of pktledger"]),
]))
@together
def noise(text, words):
    """Of the scripts of a login, shown if nothing follows; and a remote that is none."""
    with Piped() as hosts, directory() as where:
        result = hosts.run("-r", "10k", "-c", "100", "-j", before=script(where, "login", text))
    if words:
        assert_error(result, UNABLE if "version 99" in words else FAILED, words[0])
        assert all(word in result.err for word in words), result
        assert "\033" not in result.err, result
    else:
        assert result.status == 0 and result.json["end"]["delivered"] == 100, result
        assert "Welcome" not in result.err, result


@table([
    ("the command", ["--via", "no-such-command x"], ["no-such-command", "installed"]),
    ("the program there", ["--via", "env", "--remote", "/nowhere/pktledger"],
     ["there is no /nowhere/pktledger", "--remote"]),
])
@together
def missing(args, words):
    with Hosts() as hosts:
        assert_error(hosts.command("run", *args, *SHORT), FAILED, *words)


# Ends in the middle


@contextlib.contextmanager
def running(hosts, *args, **kwargs):
    """A client that sends, as Lines, and its remote."""
    process = hosts.via("--json-lines", "-r", "2k", "-t", "60", "-I", "100ms", *args, **kwargs)
    with bounded(process):
        client = Lines(process)
        client.until_sent(600)
        remote, = remotes(process.pid)
        yield client, remote


MOMENTS = 7
USUAL = [("cut off", "TCP", [], 3), ("killed", "TCP", [], 0), ("killed", "TCP", [], 3)]
GOING = USUAL + [row for row in (
    (how, way, args, n) for n in range(MOMENTS) for args in ([], ["-R"]) for how, way in (
        ("killed", "TCP"), ("stopped", "TCP"), ("cut off", "TCP"), ("killed", "a pipe"),
        ("stopped", "a pipe"), *[("killed", "ssh")] * (n == 3))) if row not in USUAL]


def client_by(way, hosts, words, stack):
    """A run to the other host by this way; and the process that carries or is its other end."""
    if way == "TCP":
        server = stack.enter_context(hosts.serve("--stay"))
        stack.callback(server.send_signal, signal.SIGCONT)
        return hosts.start("a", "run", "--to", TARGET[4], "--insecure", *words), server.pid
    if way == "ssh":
        env, server = stack.enter_context(sshd(hosts))
        stack.callback(lambda: until(lambda: not remotes(server.pid), 5, "the other side stays"))
        client = by_ssh(hosts, env, *words)
        until(lambda: remotes(server.pid), 10, "no remote")
        return client, children(client.pid)[0]
    client = hosts.via(*words)
    other, = until(lambda: remotes(client.pid) or client.poll() is not None and [0], 10, "no remote")
    assert other, client.communicate()
    return client, other


@table(first(2, [(f"{how}, {way}, {'it sends' if args else 'it receives'}, {n}", how, way, args, n)
                 for how, way, args, n in GOING]))
@together
def the_other_end_goes(how, way, args, n):
    """At any moment, between the first message and the last: outcomes that were known by then stay, and
    nothing else is said to be lost than what the router between drops. All but a host that stands still, whose
    kernel goes on, is known long before the 15 s after which any answer is given up."""
    dice = random.Random(f"{how} {way} {args} {n} {os.environ.get('PKTLEDGER_SEED', 1)}")
    # a run that is to be cut in the middle goes on for longer than a busy host needs for that
    count = 40000 if 2 < n < MOMENTS - 1 and how != "stopped" else 4000
    words = ["--json-lines", "-I", "50ms", "-q", "-r", "2k", "-c", str(count), "--settle", "300ms", "--rcvbuf",
             "16M", *args]

    def attempt():
        with Piped() as hosts, directory() as where, contextlib.ExitStack() as stack:
            ledger = where / "ledger"
            hosts.drop("m", "forward", 3)
            process, other = client_by(way, hosts, ["-o", str(ledger), *words], stack)
            client = Lines(stack.enter_context(bounded(process)))
            if n > 1:  # else while everything is set up
                client.until_sent({2: 1, MOMENTS - 1: 3750}.get(n) or dice.randrange(1000, 3000))
            if n in (0, 1, 2, MOMENTS - 1):
                time.sleep(dice.random() * 1.5)
            if how == "cut off":
                wall(hosts, "m", "type filter hook forward priority 0; policy drop;")
            else:
                with contextlib.suppress(ProcessLookupError):  # it may be done
                    os.kill(other, signal.SIGSTOP if how == "stopped" else signal.SIGKILL)
            # a host that loads its programs may take two minutes
            document, result = client.finish(140 if how == "stopped" and (n < 2 or way == "TCP") else 13)
            until(lambda: way == "TCP" or not is_there(other), 5, "the other end stays")
            return SimpleNamespace(status=result.status, err=result.err, json=document,
                                   numbers=numbers_of(ledger) if ledger.exists() else {})

    result = observed(attempt)
    numbers = result.numbers
    dropped = set(range(3, count, EACH))
    assert set(numbers.get("wire", [])) <= dropped, numbers["wire"]
    assert not dropped & set(numbers.get("delivered", [])), dropped & set(numbers["delivered"])
    end = result.json.get("end")
    if result.status == 0:  # all was said before
        assert n in (0, 1, 2, MOMENTS - 1), result
        assert end["balanced"] and lost(result.json) == {"wire": share(3, end["sent"])}, end
        return
    assert result.status == FAILED and len(result.err.strip().splitlines()) == 1, result
    if not end:  # nothing was sent
        return
    assert end["impossible"] == 0 and not end["balanced"], end
    assert end["remote"]["unknown_since_ns"] > 0 and set(lost(result.json)) <= {"wire"}, end
    assert end["sent"] == end["delivered"] + end["dropped"] + end["unaccounted"], end
    if 2 < n < MOMENTS - 1:
        assert "lost" in result.json["error"]["message"] and end["delivered"] > 0, result
        assert args or end["unaccounted"] > 0 and not end["loss_bursts"]["bursts"], end
        assert args or end["remote"]["delivered"] > 0, end


@table(first(0, [("while it sends", []), ("while it receives", ["-R"])]))
def this_end_is_killed(args):
    with Piped() as hosts, running(hosts, *args) as (client, remote):
        client.process.kill()
        until(lambda: not is_there(remote), 5, "the other end stays")
        client.process.communicate()


@thorough
def control_c_ends_both_with_the_ledger():
    """It reaches all processes of the terminal's group: a shell between them, and the other end."""
    with Piped() as hosts, directory() as where, \
            running(hosts, before=script(where, "login", '"$@"\n')) as (client, remote):
        os.killpg(client.process.pid, signal.SIGINT)
        document, result = client.finish()
        end = document["end"]
        assert result.status in (0, 4) and end["interrupted"] and "remote" not in end, result
        assert end["delivered"] > 0 and (end["balanced"] or result.status == 4), end
        assert not is_there(remote)


@thorough
def a_silent_client_is_left():
    """As kubectl exec does not pass an end on: it is stopped, and says nothing any more."""
    with Piped() as hosts, running(hosts) as (client, remote):
        os.kill(client.process.pid, signal.SIGSTOP)
        until(lambda: not is_there(remote), 25, "the other end stays")
        _, result = client.finish(number=signal.SIGCONT)
        assert_error(result, FAILED, "lost")


# Addresses


def wall(hosts, side, rule):
    nft(hosts.netns(side), f"table inet wall {{ chain c {{ {rule}\n}}\n}}\n")


@thorough
def reverse_needs_a_way_back():
    with Piped() as hosts:
        wall(hosts, "a", "type filter hook input priority 0; udp dport 1-65535 drop")
        assert_error(hosts.run(*SHORT, "-R"), FAILED, "--reverse does not work", "198.18.7.1")
        result = hosts.run(*SHORT, "-j")
        assert result.status == 0 and result.json["end"]["delivered"] == 100, result


@thorough
def reverse_needs_a_way_there():
    with Piped() as hosts:
        wall(hosts, "b", "type filter hook input priority 0; udp dport 1-65535 drop")
        assert_error(hosts.run(*SHORT, "-R"), FAILED, "--reverse does not work", "no probe packet")
        result = hosts.run("-r", "10k", "-c", "100", "-j")
        assert result.json["end"]["dropped"] == 100 and "no probe packet" in result.err, result
        assert lost(result.json) == {"netfilter": 100}, result


@thorough
def nat_is_told():
    with Piped() as hosts:
        wall(hosts, "m", "type nat hook postrouting priority 100; oif vb masquerade")
        result = hosts.run("-r", "10k", "-c", "100", "-j")
        assert result.status == 0 and result.json["end"]["delivered"] == 100, result
        assert "sees this host, 198.18.7.1" in result.err and "198.18.8.254" in result.err, result
        assert_error(hosts.run(*SHORT, "-R"), FAILED, "--reverse does not work", "198.18.8.254")


@thorough
def a_port_that_is_in_use():
    for side, args in ("b", []), ("a", ["-R"]):
        with Piped() as hosts, inside(hosts.netns(side)), \
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as used:
            used.bind(("", PORT))
            assert_error(hosts.run(*SHORT, *args), FAILED, f"UDP port {PORT}", "--port")


if __name__ == "__main__":
    main()
