# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the figures were measured on. No names of the host."""

import json
import os
import platform
import re
import shutil
import subprocess
import time
from pathlib import Path

SYSCTLS = ("net.core.rmem_max", "net.core.rmem_default", "net.core.wmem_max",
           "net.core.netdev_max_backlog")

BUSY = 0.05  # a quiet machine's CPUs are idle but for so much


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


def parse_programs(text):
    """bpftool prog show -j: those that run at tracepoints or functions, whoever loaded them."""
    kinds = ("tracing", "tracepoint", "raw_tracepoint", "kprobe", "perf_event")
    return sum(program.get("type") in kinds for program in json.loads(text or "[]"))


def others(seconds=0.3):
    """What else goes on while nothing of the bench runs, in words, or None."""
    before = parse_stat(read("/proc/stat"))
    time.sleep(seconds)
    after = parse_stat(read("/proc/stat"))
    busy = 1 - (after["idle"] - before["idle"]) / max(1, after["total"] - before["total"])
    said = [f"load, {busy * 100:.0f} % of all CPUs"] if busy > BUSY else []
    if shutil.which("bpftool"):
        done = subprocess.run(["bpftool", "prog", "show", "-j"], capture_output=True, text=True,
                              check=False)
        count = parse_programs(done.stdout)
        said += [f"{count} BPF tracing programs"] if count else []
    return " and ".join(said) or None


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
