# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the figures were measured on. No names of the host."""

import os
import platform
import re
from pathlib import Path

SYSCTLS = ("net.core.rmem_max", "net.core.rmem_default", "net.core.wmem_max",
           "net.core.netdev_max_backlog")


def read(path):
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def parse_cpuinfo(text):
    """Model of the first CPU; arm64 has none and shows its part number instead."""
    found = re.search(r"^model name\s*: (.*)$", text, re.M) \
        or re.search(r"^CPU part\s*: (.*)$", text, re.M)
    return found[1].strip() if found else None


def parse_stat(text):
    """/proc/stat: jiffies of all CPUs, and those that the hypervisor gave to others."""
    fields = [int(word) for word in text.split("\n", 1)[0].split()[1:]]
    return {"total": sum(fields[:8]), "idle": fields[3] + fields[4], "steal": fields[7]}


def parse_os(text):
    found = re.search(r'^PRETTY_NAME="?([^"\n]*)', text, re.M)
    return found[1] if found else None


class Machine:
    """Described at the start; finish() adds what the load was meanwhile."""

    def __init__(self):
        self.stat = parse_stat(read("/proc/stat"))
        memory = re.search(r"^MemTotal:\s+(\d+) kB", read("/proc/meminfo"), re.M)
        self.document = {
            "cpu": parse_cpuinfo(read("/proc/cpuinfo")),
            "cpus": len(os.sched_getaffinity(0)),
            "governor": read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").strip()
            or None,
            "hypervisor": bool(re.search(r"^flags.* hypervisor\b", read("/proc/cpuinfo"), re.M)),
            "memory_bytes": int(memory[1]) * 1024 if memory else None,
            "architecture": platform.machine(),
            "kernel": platform.release(),
            "system": parse_os(read("/etc/os-release")),
            "load_before": os.getloadavg()[0],
            "sysctls": {name: read("/proc/sys/" + name.replace(".", "/")).strip() or None
                        for name in SYSCTLS},
        }

    def finish(self):
        now = parse_stat(read("/proc/stat"))
        total = now["total"] - self.stat["total"]
        if total:
            self.document["steal"] = (now["steal"] - self.stat["steal"]) / total
        return self.document
