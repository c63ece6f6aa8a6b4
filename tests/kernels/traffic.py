# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Traffic that counts on its own what was sent and what arrived, between namespaces."""

import contextlib
import os
import subprocess
import sys

PORT = 28780
ROUNDS = 3  # that are counted

OPEN = """
import ctypes, os, select, socket, sys, time

def open_in(netns):
    if netns:
        fd = os.open(f"/run/netns/{netns}", os.O_RDONLY)
        assert not ctypes.CDLL(None).setns(fd, 0x40000000)
        os.close(fd)
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

# Rounds of: COUNT datagrams at once, then all read, until none has come for PAUSE seconds. A line
# "sent received" each. With STALL, nothing else runs on CPU 1 while they are sent: who empties a
# ring there is late.
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

def read_until_quiet():
    n, end = 0, time.monotonic() + pause
    while n < count and time.monotonic() < end:
        select.select([receiver], [], [], pause)
        came = read_all()
        n += came
        if came:
            end = time.monotonic() + pause
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
    print(count, read_until_quiet(), flush=True)
"""

# A datagram of each of FLOWS is always under way, however slow the host is; so those that wait in
# the queues of a NIC are as many as its flows. Those of one flow come in order: one is lost when a
# later one has come, which is sent when all that were before it in any queue must have come. A line
# "sent received" for each FLOWS of them.
FLOOD = OPEN + """
from collections import deque

tx, rx, to, port, flows = sys.argv[1:]
port, flows = int(port), int(flows)
receiver = open_receiver(rx, to, port, 32 << 20, True)
senders = [open_in(tx) for _ in range(flows)]
for s in senders:
    s.bind(("0.0.0.0", 0))
flow_of = {s.getsockname()[1]: i for i, s in enumerate(senders)}
sent, last = [0] * flows, [-1] * flows
ready, under_way = deque(range(flows)), deque()
came = received = lost = 0
heard = time.monotonic()

def send(flow):
    senders[flow].sendto(sent[flow].to_bytes(8, "big"), (to, port))
    under_way.append((came + 3 * flows, flow, sent[flow]))
    sent[flow] += 1

def give_up(n):
    for _ in range(min(n, len(under_way))):
        ready.append(under_way.popleft()[1])

while True:
    while ready:
        send(ready.popleft())
    try:
        data, (_, source) = receiver.recvfrom(64)
    except BlockingIOError:
        if time.monotonic() > heard + 2:  # they may all be lost
            give_up(16)
            heard = time.monotonic()
        time.sleep(0.02)
        continue
    if source not in flow_of:
        continue  # of other traffic before, from the queue of a slow link
    heard = time.monotonic()
    flow, number = flow_of[source], int.from_bytes(data, "big")
    came += 1
    received += 1
    if number > last[flow]:
        lost += number - last[flow] - 1
        last[flow] = number
        if number == sent[flow] - 1:
            ready.append(flow)
    else:
        lost -= 1  # another queue was slower
    while under_way and last[under_way[0][1]] >= under_way[0][2]:
        under_way.popleft()
    if under_way and came >= under_way[0][0]:
        give_up(1)
    if received + lost >= flows:
        print(received + lost, received, flush=True)
        received = lost = 0
"""


class Traffic:
    def __init__(self, script, *args, settling=1):
        self.command = [sys.executable, "-c", script, *map(str, args)]
        self.settling = settling

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
        """
        In ROUNDS that begin after now: what the pipe holds is older. So is what was lost or under
        way before, and shown in the next rounds.
        """
        fd = self.process.stdout.fileno()
        os.set_blocking(fd, False)
        with contextlib.suppress(BlockingIOError):
            while os.read(fd, 65536):
                pass
        os.set_blocking(fd, True)
        for _ in range(self.settling):
            self.round()
        return sum(self.round() for _ in range(ROUNDS))


def bursts(tx, rx, to, count, size=512, rcvbuf=0, pause=0.5, stall=0):
    """A socket that asks for `rcvbuf` bytes (0: for none) is sent `count` datagrams at once."""
    return Traffic(BURSTS, tx, rx, to, PORT, count, size, rcvbuf, pause, stall)


def flood(tx, rx, to, flows):
    return Traffic(FLOOD, tx, rx, to, PORT, flows, settling=9)
