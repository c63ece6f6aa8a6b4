# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Traffic that counts on its own what was sent and what arrived, between namespaces."""

import contextlib
import os
import subprocess
import sys

PORT = 28780
ROUNDS = 3  # that are counted

OPEN = """
import ctypes, os, socket, sys, time

def open_in(netns):
    if netns:
        fd = os.open(f"/run/netns/{netns}", os.O_RDONLY)
        assert not ctypes.CDLL(None).setns(fd, 0x40000000)
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

def open_receiver(netns, to, port, rcvbuf, force):
    receiver = open_in(netns)
    if rcvbuf:
        receiver.setsockopt(socket.SOL_SOCKET, 33 if force else socket.SO_RCVBUF, rcvbuf)
    receiver.bind((to, port))
    receiver.setblocking(False)
    return receiver

os.sched_setaffinity(0, {0})
"""

# Rounds of: COUNT datagrams at once, a pause of the reader, all read. A line "sent received" each.
# With STALL, nothing else runs on CPU 1 while they are sent: who empties a ring there is late.
BURSTS = OPEN + """
tx, rx, to, port, count, size, rcvbuf, pause, stall = sys.argv[1:]
port, count, rcvbuf, pause, stall = int(port), int(count), int(rcvbuf), float(pause), float(stall)
receiver = open_receiver(rx, to, port, rcvbuf, stall)
sender = open_in(tx)

def hog(asked, done):
    os.sched_setaffinity(0, {1})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    while os.read(asked, 1):
        end = time.monotonic() + stall
        while time.monotonic() < end:
            pass
        os.write(done, b"x")

if stall:
    asked, done = os.pipe(), os.pipe()
    if not os.fork():
        os.close(asked[1])
        hog(asked[0], done[1])
        os._exit(0)

def read_all():
    n = 0
    while True:
        try:
            receiver.recv(65536)
            n += 1
        except BlockingIOError:
            return n

def send(n):
    for _ in range(n):
        sender.sendto(bytes(int(size)), (to, port))

for _ in range(20):  # the neighbour
    send(1)
    time.sleep(0.1)
    if read_all():
        break
time.sleep(0.3)
read_all()
while True:
    if stall:
        os.write(asked[1], b"x")
        time.sleep(0.02)
    send(count)
    if stall:
        os.read(done[0], 1)
    time.sleep(pause)
    print(count, read_all(), flush=True)
"""

# WINDOW datagrams of many flows are always under way, however slow the host is. Those of one flow
# come in order, so that one is lost when a later one of its flow has come. A line "sent received"
# for each WINDOW of them. Where nothing comes at all, a few more show what became of the others.
FLOOD = OPEN + """
tx, rx, to, port, window = sys.argv[1:]
port, window = int(port), int(window)
flows, patience, few = 512, 2, 16
receiver = open_receiver(rx, to, port, 32 << 20, True)
senders = [open_in(tx) for _ in range(flows)]
for s in senders:
    s.bind(("0.0.0.0", 0))
flow_of = {s.getsockname()[1]: i for i, s in enumerate(senders)}
sent, last = [0] * flows, [-1] * flows
under_way = turn = received = lost = 0
heard = time.monotonic()

def send(n):
    global under_way, turn
    for _ in range(n):
        flow = turn % flows
        senders[flow].sendto(sent[flow].to_bytes(8, "big"), (to, port))
        sent[flow] += 1
        turn += 1
    under_way += n

while True:
    send(max(window - under_way, 0))
    try:
        data, (_, source) = receiver.recvfrom(64)
    except BlockingIOError:
        if time.monotonic() > heard + patience:
            send(few)
            heard = time.monotonic()
        time.sleep(0.005)
        continue
    heard = time.monotonic()
    flow, number = flow_of[source], int.from_bytes(data, "big")
    received += 1
    if number > last[flow]:
        lost += number - last[flow] - 1
        under_way -= number - last[flow]
        last[flow] = number
    else:
        lost -= 1  # another queue was slower
    if received + lost >= window:
        print(received + lost, received, flush=True)
        received = lost = 0
"""


class Traffic:
    def __init__(self, script, *args):
        self.command = [sys.executable, "-c", script, *map(str, args)]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, bufsize=0)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def round(self):
        line = self.process.stdout.readline()
        assert line, "the traffic ended"
        sent, received = map(int, line.split())
        return sent - received

    def lost(self):
        """In ROUNDS that begin after now: what the pipe holds is older."""
        fd = self.process.stdout.fileno()
        os.set_blocking(fd, False)
        with contextlib.suppress(BlockingIOError):
            while os.read(fd, 65536):
                pass
        os.set_blocking(fd, True)
        self.round()
        return sum(self.round() for _ in range(ROUNDS))


def bursts(tx, rx, to, count, size=512, rcvbuf=0, pause=0.1, stall=0):
    """A socket that asks for `rcvbuf` bytes (0: for none) is sent `count` datagrams at once."""
    return Traffic(BURSTS, tx, rx, to, PORT, count, size, rcvbuf, pause, stall)


def flood(tx, rx, to, window):
    return Traffic(FLOOD, tx, rx, to, PORT, window)
