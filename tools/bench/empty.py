#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Attaches BPF programs of two instructions, and stays until it is ended.

empty.py xdp IFNAME: one that drops every frame. empty.py TRACEPOINT...: those that do nothing, which
is what observers cost at the least. Loaded by bpf(2) itself, so that they are the same whatever tools
are installed. They go with the process: they hang on file descriptors that it holds.
"""

import ctypes
import os
import signal
import socket
import struct
import sys

SYS_BPF = {"x86_64": 321, "aarch64": 280}
BPF_PROG_LOAD, BPF_RAW_TRACEPOINT_OPEN, BPF_LINK_CREATE = 5, 17, 28
BPF_PROG_TYPE_XDP, BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_XDP = 6, 17, 37
XDP_DROP, XDP_FLAGS_DRV_MODE = 1, 1 << 2
ATTR_SIZE = 128


def bpf(command, attr):
    number = SYS_BPF.get(os.uname().machine)
    if number is None:
        sys.exit(f"empty: the number of bpf(2) on {os.uname().machine} is not known here")
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(number, command, attr.ljust(ATTR_SIZE, b"\0"), ATTR_SIZE)
    if fd < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return fd


def load(kind, value):
    """r0 = value; exit"""
    code = ctypes.create_string_buffer(struct.pack("=BBhiBBhi", 0xb7, 0, 0, value, 0x95, 0, 0, 0))
    name = ctypes.create_string_buffer(b"GPL")
    return bpf(BPF_PROG_LOAD, struct.pack("=IIQQ", kind, 2, ctypes.addressof(code),
                                          ctypes.addressof(name)))


def attach_xdp(ifname):
    bpf(BPF_LINK_CREATE, struct.pack("=IIII", load(BPF_PROG_TYPE_XDP, XDP_DROP),
                                     socket.if_nametoindex(ifname), BPF_XDP, XDP_FLAGS_DRV_MODE))


def attach_tracepoint(name):
    text = ctypes.create_string_buffer(name.encode())
    bpf(BPF_RAW_TRACEPOINT_OPEN, struct.pack("=QI", ctypes.addressof(text),
                                             load(BPF_PROG_TYPE_RAW_TRACEPOINT, 0)))


def main():
    attach, names = (attach_xdp, sys.argv[2:]) if sys.argv[1] == "xdp" \
        else (attach_tracepoint, sys.argv[1:])
    for name in names:
        try:
            attach(name)
        except OSError as error:
            sys.exit(f"empty: cannot attach a program to {name}: {error.strerror}")
    print("ready", flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
