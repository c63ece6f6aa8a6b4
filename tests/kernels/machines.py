# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The machines that guests are: an architecture each."""

import os
from typing import NamedTuple


class Machine(NamedTuple):
    name: str          # as Debian calls it
    kernel_name: str   # as uname -m does
    qemu: str
    package: str       # of Debian, that has this QEMU
    hardware: tuple    # options of QEMU
    accel: str         # how QEMU emulates it
    command_line: str  # of the kernel
    cross: str         # prefix of the compiler that makes programs for it on another machine

    @property
    def native(self):
        """Then a guest can have the files of this machine."""
        return self.kernel_name == os.uname().machine


AMD64 = Machine(
    "amd64", "x86_64", "qemu-system-x86_64", "qemu-system-x86",
    ("-machine", "q35", "-cpu", "max"),
    # The CPUs of a guest take turns. Where each has a thread of its own, one can translate kernel
    # text that another is patching and keep what it has made of it: it dies of a stale int3, mostly
    # where a tracepoint is switched while another CPU goes through it.
    "tcg,thread=single",
    # tsc=reliable: else 6.1 falls back to a clock that takes 900 ns to read. no_timer_check: an
    # emulator that has to wait for a CPU looks like a machine without a timer, and 6.12 panics.
    "console=ttyS0 tsc=reliable no_timer_check", "x86_64-linux-gnu-")

# A server's CPU of these years, with atomic instructions. What "max" adds is slow to emulate.
ARM64 = Machine(
    "arm64", "aarch64", "qemu-system-aarch64", "qemu-system-arm",
    ("-machine", "virt", "-cpu", "neoverse-n1"),
    "tcg,thread=multi",
    "console=ttyAMA0", "aarch64-linux-gnu-")

MACHINES = {machine.name: machine for machine in (AMD64, ARM64)}
