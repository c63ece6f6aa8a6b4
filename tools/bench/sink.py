#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Attaches an XDP program that drops every frame, and stays until stdin ends: sink.py IFNAME

Two instructions loaded by bpf(2) itself, so that the sink is the same whatever tools are installed.
The program goes with the process: it hangs on a BPF link held by a file descriptor.
"""

import ctypes
import os
import socket
import struct
import sys

SYS_BPF = {"x86_64": 321, "aarch64": 280}
BPF_PROG_LOAD, BPF_LINK_CREATE = 5, 28
BPF_PROG_TYPE_XDP, BPF_XDP = 6, 37
XDP_DROP, XDP_FLAGS_DRV_MODE = 1, 1 << 2
ATTR_SIZE = 128


def bpf(command, attr):
    number = SYS_BPF.get(os.uname().machine)
    if number is None:
        sys.exit(f"sink: the number of bpf(2) on {os.uname().machine} is not known here")
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(number, command, attr, ATTR_SIZE)
    if fd < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return fd


def load():
    """r0 = XDP_DROP; exit"""
    code = ctypes.create_string_buffer(struct.pack("=BBhiBBhi", 0xb7, 0, 0, XDP_DROP,
                                                   0x95, 0, 0, 0))
    name = ctypes.create_string_buffer(b"GPL")
    attr = struct.pack("=IIQQ", BPF_PROG_TYPE_XDP, 2, ctypes.addressof(code),
                       ctypes.addressof(name))
    return bpf(BPF_PROG_LOAD, attr.ljust(ATTR_SIZE, b"\0"))


def attach(program, ifname):
    attr = struct.pack("=IIII", program, socket.if_nametoindex(ifname), BPF_XDP,
                       XDP_FLAGS_DRV_MODE)
    return bpf(BPF_LINK_CREATE, attr.ljust(ATTR_SIZE, b"\0"))


def main():
    try:
        attach(load(), sys.argv[1])
    except OSError as error:
        sys.exit(f"sink: cannot attach an XDP program to {sys.argv[1]}: {error.strerror}")
    print("ready", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
