# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Captures in a named lab, and what tshark says of them."""

import contextlib
import os
import shutil
import socket
import struct
import subprocess
import tempfile
from pathlib import Path

import labs
from ends import SO_RCVBUFFORCE, inside
from lib import TIMEOUT, assert_ran, require

TX, RX = "v-tx", "v-rx"
TARGET = {False: "198.18.0.2", True: "2001:2::2"}
PORT = 28779
STAMP, END = b"\x70\x6b", b"\x70\x65"

ETH_P_ALL = 3
SOL_PACKET, PACKET_AUXDATA = 263, 8
TP_STATUS_VLAN_VALID = 1 << 4
BUFFER = 256 << 20  # holds all that a test sends: it is read when sending is over

FIELDS = ("frame.len", "eth.type", "vlan.id", "ip.checksum.status", "udp.checksum.status",
          "ip.dsfield", "ipv6.tclass", "ip.ttl", "ipv6.hlim", "ip.flags.df", "ip.id",
          "ip.src", "ipv6.src", "ip.dst", "ipv6.dst", "udp.srcport", "udp.dstport", "udp.length",
          "udp.payload", "_ws.malformed")
GOOD = "1"  # of the checksum fields


def require_tshark():
    for program in ("tshark", "ethtool"):
        require(shutil.which(program), f"needs {program}")


class Packet:
    """One captured frame, by tshark's fields; empty where it has none."""

    def __init__(self, frame, fields):
        self.frame = frame
        self.fields = dict(zip(FIELDS, fields))
        payload = bytes.fromhex(self["udp.payload"])
        self.payload = payload
        self.stream = self.number = self.tai = None
        if payload[:2] == STAMP:
            word, check = struct.unpack(">QQ", payload[2:18])
            assert check == word ^ (1 << 64) - 1, f"the stamp's check: {payload[:18].hex()}"
            self.stream, self.number = word >> 48, word & (1 << 48) - 1
        if len(payload) >= 34:
            tai, check = struct.unpack(">QQ", payload[18:34])
            if check == tai ^ (1 << 64) - 1:
                self.tai = tai

    def __getitem__(self, field):
        return self.fields[field]

    @property
    def size(self):
        """With FCS, as --size counts."""
        return len(self.frame) + 4

    @property
    def source(self):
        return self["ip.src"] or self["ipv6.src"]

    @property
    def target(self):
        return self["ip.dst"] or self["ipv6.dst"]

    @property
    def flow(self):
        return self.source, self["udp.srcport"], self.target, self["udp.dstport"]


class Tap:
    """An AF_PACKET socket in the receiver's namespace; and one at the port, so that nothing is refused."""

    def __init__(self, netns):
        with inside(netns):
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            self.port = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        self.port.bind(("::", PORT))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)
        self.socket.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        self.socket.setblocking(False)

    def open(self, ifname):
        self.socket.bind((ifname, ETH_P_ALL))

    def frames(self):
        """What arrived. The kernel keeps a VLAN tag beside the frame."""
        found = []
        with contextlib.suppress(BlockingIOError):
            while True:
                frame, control, _, address = self.socket.recvmsg(65536, 256)
                if address[2] == socket.PACKET_OUTGOING:
                    continue
                for level, kind, data in control:
                    if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
                        status, *_, tci, tpid = struct.unpack("IIIHHHH", data[:20])
                        if status & TP_STATUS_VLAN_VALID:
                            frame = frame[:12] + struct.pack(">HH", tpid or 0x8100, tci) + frame[12:]
                found.append(frame)
        return found


class Lab(labs.Lab):
    """Its offloads are off, so that what is sent is whole."""

    def __init__(self, name, queues=1, topology="pair"):
        super().__init__(name, "--queues", str(queues), "--topology", topology)

    def __enter__(self):
        super().__enter__()
        try:
            self.do("tx", "ethtool", "-K", TX, "tx-checksum-ip-generic", "off",
                    "tx-udp-segmentation", "off")
            self.do("rx", "ethtool", "-K", RX, "gro", "on")  # live frames need NAPI there
        except BaseException:
            self.__exit__()
            raise
        return self

    def send(self, *args):
        """Runs `send`; returns its document, and every frame that came to the other end."""
        tap = Tap(self.netns("rx"))
        with tap.socket, tap.port:
            tap.open(RX)
            result = assert_ran(self.run("tx", "send", "-j", "-q", *args))
            return result.json, tap.frames()


def udp_frame(payload):
    udp = struct.pack(">HHHH", 1234, 53, 8 + len(payload), 0) + payload
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0,
                     bytes((192, 0, 2, 1)), bytes((192, 0, 2, 2)))
    return bytes(12) + b"\x08\x00" + ip + udp


def pcap(frames, cut=0, link=1):
    """A capture of frames a millisecond apart, each without its last `cut` bytes."""
    data = struct.pack("<IHHIIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, link)
    for i, frame in enumerate(frames):
        kept = frame[:len(frame) - cut]
        data += struct.pack("<IIII", 1 + i // 1000, i % 1000 * 1000, len(kept), len(frame)) + kept
    return data


def tshark(frames, fields, *options):
    """What tshark shows of a capture: a list of these fields for each frame."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "capture.pcap"
        path.write_bytes(pcap(frames))
        done = subprocess.run(
            ["tshark", "-n", "-r", path, *options, "-T", "fields", "-E", "occurrence=l"]
            + [word for f in fields for word in ("-e", f)],
            capture_output=True, text=True, timeout=TIMEOUT, check=False,
            env={**os.environ, "HOME": directory})
    assert done.returncode == 0, done.stderr
    return [line.split("\t") for line in done.stdout.splitlines()]


def dissect(frames):
    """UDP among the frames; fragments are put together in the last one."""
    rows = tshark(frames, ("frame.number", *FIELDS), "-Y", "udp", "-o", "ip.check_checksum:TRUE",
                  "-o", "udp.check_checksum:TRUE", "-o", "ip.defragment:TRUE")
    return [Packet(frames[int(number) - 1], fields) for number, *fields in rows]


def datagrams(frames):
    """The numbered ones, each of which tshark finds right; and how many end records there were."""
    found = [p for p in dissect(frames) if p.target not in ("", "198.18.0.1", "2001:2::1")
             and not p["ip.dst"].startswith("224.") and not p["ipv6.dst"].startswith("ff")]
    for packet in found:
        assert packet["udp.checksum.status"] == GOOD, packet.fields
        assert packet["ip.checksum.status"] in ("", GOOD), packet.fields
        assert bool(packet["ip.checksum.status"]) == bool(packet["ip.src"]), packet.fields
        assert not packet["_ws.malformed"], packet.fields
        assert int(packet["udp.length"]) == 8 + len(packet.payload), packet.fields
    numbered = [p for p in found if p.number is not None]
    return numbered, sum(p.payload[:2] == END for p in found)
