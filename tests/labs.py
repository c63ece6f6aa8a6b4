# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The program at ends of its own: a named lab, and two hosts with a router between them."""

import contextlib
import itertools
import os
import re
import signal
import subprocess

from ends import do, enter, inside, nft, sysctl
from lib import (EVERYTHING, PATIENCE, assert_ok, assert_ran, assert_valid, begun, bounded, finish, observed,
                 pktledger, start, until)

PREFIX = f"pl-to-{os.getpid()}"
numbers = itertools.count()  # of Hosts, for there may be several at once
PORT = 28779
TARGET = {4: "198.18.8.1", 6: "2001:2:0:8::1"}
COUNT = 8000 if EVERYTHING else 3200
EACH = 16  # one number in so many is dropped at a place: a sixteenth each


class Lab:
    """A named lab; `at(side, ...)` starts the program in one of its namespaces."""

    def __init__(self, name, *options):
        self.name, self.options = name, options

    def __enter__(self):
        assert_ok(pktledger("lab", "up", self.name, *self.options))
        return self

    def __exit__(self, *_):
        pktledger("lab", "down", self.name)

    def netns(self, side):
        return f"{self.name}-{side}"

    def at(self, side, *args, **kwargs):
        with inside(self.netns(side)):
            return start(*args, **kwargs)

    def run(self, side, *args, **kwargs):
        """The program to its end."""
        return finish(self.at(side, *args, **kwargs))

    def started(self, side, *args):
        return bounded(self.at(side, *args))

    def telling(self, side, *args):
        return begun(self.at(side, *args))

    def do(self, side, *command, text=None):
        return do(self.netns(side), *command, text=text)

    def listening(self, port=28779, what="udp"):
        """True once a socket of the receiver's namespace has the port, of either family."""
        sockets = self.do("rx", "cat", f"/proc/net/{what}", f"/proc/net/{what}6")
        return f":{port:04X} " in sockets


def numbered(which):
    """An nft expression: of each EACH numbers, this one (the last byte of the stamp's word)."""
    return f"udp dport {PORT} @th,136,8 & {EACH - 1:#x} == {which}"


def share(which, count=COUNT):
    return len(range(which, count, EACH))


class Hosts:
    """Two hosts `a` and `b`, and a router `m` between them."""

    links = (("a", 7), ("b", 8))  # hosts, and their networks

    def __enter__(self):
        self.prefix = f"{PREFIX}-{next(numbers)}"
        self.keep = contextlib.ExitStack()
        try:
            self.build()
        except BaseException:
            self.keep.close()
            raise
        return self

    def __exit__(self, *_):
        self.keep.close()

    def build(self):
        sides = "m" + "".join(side for side, _ in self.links)
        self.keep.callback(self.ips, *(f"netns del {self.netns(side)}" for side in sides))
        self.ips(*(f"netns add {self.netns(side)}" for side in sides))
        for side in sides:
            self.sysctl(side, "net/ipv6/conf/default/accept_dad", 0)
            self.sysctl(side, "net/ipv6/conf/all/accept_dad", 0)
        self.sysctl("m", "net/ipv4/ip_forward", 1)
        self.sysctl("m", "net/ipv6/conf/all/forwarding", 1)

        def up(name, net, host):
            return (f"addr add 198.18.{net}.{host}/24 dev {name}",
                    f"addr add 2001:2:0:{net}::{host:x}/64 dev {name} nodad", f"link set {name} up")

        for side, net in self.links:
            self.ips(f"link add v0 type veth peer name v{side} netns {self.netns('m')}", *up("v0", net, 1),
                     "link set lo up", netns=self.netns(side))
        self.ips(*(line for side, net in self.links for line in up(f"v{side}", net, 254)),
                 netns=self.netns("m"))
        for side, net in self.links:
            self.ips(f"route add default via 198.18.{net}.254",
                     f"route add default via 2001:2:0:{net}::fe", netns=self.netns(side))
        # until then IPv6 is not routed
        until(lambda: not any("DOWN" in self.do(side, "ip", "link", "show", "up", "type", "veth")
                              for side in sides), 20, "the links do not come up")

    @staticmethod
    def ip(*args):
        subprocess.run(["ip", *args], check=True)

    @staticmethod
    def ips(*lines, netns=None):
        """Commands of ip, by one process."""
        where = ["-n", netns] if netns else []
        subprocess.run(["ip", *where, "-batch", "-"], input="\n".join(lines), text=True, check=True)

    def netns(self, side):
        return f"{self.prefix}-{side}"

    def inside(self, side):
        return lambda: enter(self.netns(side))

    def do(self, side, *command, text=None):
        return do(self.netns(side), *command, text=text)

    def sysctl(self, side, name, value):
        sysctl(self.netns(side), name, value)

    def drop(self, side, hook, which):
        nft(self.netns(side), f"""
            table inet cut_{hook} {{ chain c {{ type filter hook {hook} priority 0;
                {numbered(which)} counter drop
            }}
            }}
            """)

    def start(self, side, *args):
        with inside(self.netns(side)):
            return start(*args)

    def client(self, *args, to=4):
        """A run to the server as Lines."""
        return begun(self.start("a", "run", "--to", TARGET[to], "--insecure", "--json-lines", "-I", "100ms", *args))

    def run(self, *args, to=4, side="a"):
        return self.command("run", *args, to=to, side=side)

    def command(self, command, *args, to=4, side="a"):
        clear = [] if {"--token-file", "--via"} & set(args) else ["--insecure"]
        to = ["--to", TARGET[to], *clear] if to else []
        return finish(self.start(side, command, *to, *args))

    def listens(self, host, port):
        """By TCP, of either family: a connection that has just ended has the port, too."""
        sockets = self.do(host, "cat", "/proc/net/tcp", "/proc/net/tcp6")
        return re.search(f":{port:04X} 0+:0000 0A ", sockets)

    @contextlib.contextmanager
    def serve(self, *args):
        """The server, once it listens; ended by a signal if it still runs."""
        open_to = [] if "--token-file" in args or "--new-token" in args else ["--insecure"]
        server = self.start("b", "recv", "--serve", "--listen", "::", *open_to, *args)
        try:
            until(lambda: self.listens("b", PORT) or server.poll() is not None, 20,
                  "the server does not listen")
            yield server
        finally:
            server.send_signal(signal.SIGTERM)
            try:
                server.out, server.err = server.communicate(timeout=10 * PATIENCE)
            finally:
                server.kill()
                server.wait()

    def ledger(self, *args, serve=(), to=4):
        """The document of a run that ends well."""
        def attempt():
            with self.serve(*serve) as server:
                result = self.run("-j", "-q", "-r", "20k", "-c", str(COUNT), "--rcvbuf", "16M",
                                  *args, to=to)
            assert server.returncode == 0, server.err
            return result

        result = assert_ran(observed(attempt))
        assert_valid(result.json)
        return result.json
