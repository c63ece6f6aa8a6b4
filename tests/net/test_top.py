#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`top` on a terminal of our own: what it draws, its keys, its size, and how it leaves."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import BINARY, PATIENCE, case, first, main, pktledger, skip, table, until
from ends import PORT, udp
from traced import RX, V4, lab, send

STATUS_FAILED, STATUS_USAGE = 1, 2
TITLE = "pktledger top"  # on the first line
ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[a-zA-Z]|[()][0-9A-B]|[=>78])")


def resize(fd, rows, cols):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))


class Screen:
    def __init__(self, *args, size=(24, 80), term="xterm"):
        try:
            self.pid, self.fd = pty.fork()
        except OSError as error:
            skip(f"no terminal can be made: {error.strerror}")
        if not self.pid:
            resize(0, *size)  # a size that changes while ncurses begins may be missed
            os.environ.update(TERM=term, LC_ALL="C.UTF-8")
            os.execv(BINARY, [BINARY, "top", *args])
        self.raw, self.rows = "", size[0]

    @property
    def seen(self):
        """Nothing older than what `raw` has: that may have been emptied before more was drawn."""
        return ESCAPES.sub("", self.raw)

    def resize(self, rows, cols):
        resize(self.fd, rows, cols)

    def redraw(self, rows, cols):
        """Of another size, also if two come at once: all is drawn anew, from its first line on."""
        self.rows = rows + (self.rows - rows + 1) % 8
        self.raw = ""
        self.resize(self.rows, cols)
        self.shows("q quit")
        if TITLE not in self.seen:  # that was the end of what had been drawn before
            self.raw = ""
            self.shows("q quit")

    def read(self):
        while select.select([self.fd], [], [], 0.05)[0]:
            try:
                text = os.read(self.fd, 65536)
            except OSError:
                return
            if not text:
                return
            self.raw += text.decode(errors="replace")

    def shows(self, what):
        def there():
            self.read()
            return what in self.seen
        until(there, 10, f"{what!r} in {self.seen[-2000:]!r}")

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def ends(self):
        """Its exit status."""
        end = time.monotonic() + 10 * PATIENCE
        while time.monotonic() < end:
            self.read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pid = 0
                self.read()  # what it wrote last
                return os.waitstatus_to_exitcode(status)
        raise AssertionError("does not end")


@contextlib.contextmanager
def top(*args, **kwargs):
    screen = Screen(*args, **kwargs)
    try:
        yield screen
    finally:
        os.close(screen.fd)
        if screen.pid:
            os.kill(screen.pid, signal.SIGKILL)
            os.waitpid(screen.pid, 0)


@case
def shows_the_path_and_the_loss():
    with lab(), top("--netns", RX, "-I", "0.2", f"udp port {PORT}") as screen:
        screen.shows("sent")
        with udp(RX, 2, (V4, PORT), rcvbuf=1):
            until(lambda: send(V4, 200) and (screen.read() or "▼" in screen.seen), 10, "a loss")
        screen.shows("rcvbuf")
        screen.type("g")
        screen.shows("SOCKET_RCVBUFF")
        screen.type("h")
        screen.shows("group by sockets")
        screen.type("q")
        assert screen.ends() == 0
        assert "rcvbuf" in screen.seen.rpartition("group by sockets")[2]  # the sum stays


def rates(screen, *labels):
    """What the whole screen has behind words of the path, a second: "read 30.1k/s" is 30100.

    None is shown until the counters of other namespaces were read twice.
    """
    def drawn():
        screen.redraw(30, 160)
        found = [re.findall(label + r" ([0-9.]+)([kMG]?)/s", screen.seen) for label in labels]
        return all(found) and found
    return [float(number) * {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}[unit]
            for number, unit in (of[-1] for of in until(drawn, 20, f"{labels} on the screen"))]


@case
def has_one_scope():
    """Losses and traffic are of all namespaces, or of that of the chosen row.

    Where there are hundreds of others, traffic is read each half minute; of the chosen one always.
    """
    with lab(), top("-I", "0.3", f"udp port {PORT}", size=(30, 160)) as screen:
        screen.shows("all namespaces, by sockets")
        with udp(RX, 2, (V4, PORT), rcvbuf=1):
            def flows(*labels):
                send(V4, 200)
                return rates(screen, *labels)
            until(lambda: all(rate > 0 for rate in flows("in", "sent", "out")) and
                  "▼" in screen.seen, 90, "traffic and losses of other namespaces")
            screen.type(f"/{RX}\r")  # whatever others lose meanwhile
            screen.type("n")
            screen.shows(f"namespace {RX}")
            until(lambda: flows("in")[0] > 0, 10, "traffic of the receiver's namespace")
            assert rates(screen, "sent") == [0], screen.seen  # which is another one
        screen.type("/")
        screen.type("nosuchrow\r")
        screen.shows('no row has "nosuchrow"')
        screen.type("\x1bs")
        screen.shows("sorted by")
        screen.type("n")
        screen.shows("all namespaces")
        screen.type("q")
        assert screen.ends() == 0


@case
def only_the_namespace_that_is_named():
    with lab(), top("-I", "0.2", "--netns", RX) as screen:
        screen.shows(f"namespace {RX}")
        screen.type("n")
        screen.type("d")
        screen.shows("interface")
        screen.type("q")
        assert screen.ends() == 0
        assert "all namespaces" not in screen.seen, screen.seen


@table(first(1, [("unknown", "no-such-terminal", "TERM=no-such-terminal"), ("dumb", "dumb", "TERM=dumb")]))
def prints_lines_where_there_is_no_screen(term, word):
    with top("-t", "0.5", "-I", "0.2", term=term) as screen:
        assert screen.ends() == 0
        assert word in screen.seen and "tracing drops on this host" in screen.seen, screen.seen
        assert "\x1b[?1049h" not in screen.raw, screen.raw


@case
def prints_lines_without_a_terminal():
    with lab():
        reader = pktledger("top", "-t", "1", "-I", "0.2", "--netns", RX)
    assert reader.status == 0, reader
    assert "no terminal: printing lines as trace does" in reader.err, reader
    assert "\x1b" not in reader.out and reader.out.strip(), reader


@case
def an_open_row_has_its_last_packets():
    """Those that are lost while it is open: no other's, and none before."""
    packet = re.compile(r"\d\d\.\d{6}  [^\n]*?\.(\d+): UDP")
    with lab(), top("--netns", RX, "-I", "0.2", size=(50, 120)) as screen:
        with udp(RX, 2, (V4, PORT), rcvbuf=1):
            def loses():
                send(V4, 200)
                send(V4, 20, port=PORT + 1)  # nobody is there: another row
                screen.read()
            until(lambda: loses() or "udp_lookup" in screen.seen and "rcvbuf" in screen.seen, 10,
                  "two rows")
            assert "last lost packets" not in screen.seen, screen.seen
            screen.type("/rcvbuf\r\r")
            screen.shows("losses at this stage in the last")
            screen.raw = ""
            until(lambda: loses() or packet.search(screen.seen), 10, "packets of the row")
            assert {int(port) for port in packet.findall(screen.seen)} == {PORT}, screen.seen
        screen.type("q")
        assert screen.ends() == 0


@case
def another_size_and_a_pause():
    with top("-I", "0.1", size=(10, 40)) as screen:
        screen.shows("too small")
        screen.resize(60, 200)
        screen.shows("socket_close")
        screen.resize(15, 50)
        screen.shows("sorted by")
        screen.type(" d")
        screen.shows("interface")
        screen.type(" q")
        assert screen.ends() == 0


@table(first(1, [(signal.Signals(number).name, number)
                 for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]))
def ends_by(number):
    with top("-I", "0.1") as screen:
        screen.shows("sent")
        os.kill(screen.pid, number)
        assert screen.ends() == 0


@case
def ends_in_time():
    with top("-t", "0.3") as screen:
        assert screen.ends() == 0


@table([("bad filter", ["prot 7"], STATUS_USAGE, "filter"),
        ("no such namespace", ["--netns", "pl-none"], STATUS_FAILED, "pl-none")])
def refused_on_a_terminal(args, status, word):
    with top(*args) as screen:
        assert screen.ends() == status
        assert word in screen.seen.splitlines()[-1], screen.seen


if __name__ == "__main__":
    main()
