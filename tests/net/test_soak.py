#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A minute at 90 % of the rate without loss: balanced, and nothing grows (make test-all only).

Loss is no failure here, for a busy host loses packets; a count that does not close is, and so is
memory that grows with time. PKTLEDGER_SOAK is another number of seconds.
"""

import json
import os
import re
import sys
import threading
import time
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import EVERYTHING, PATIENCE, assert_balanced, comment, main, run, started, table

SECONDS = int(os.environ.get("PKTLEDGER_SOAK", "60" if EVERYTHING else "0"))
WARM = 0.4  # of the time: by then every number's place in the window was used
TRIAL = 2  # seconds
GROWTH = 1 << 20  # bytes: of the allocator, not of the traffic
KEPT = re.compile(r"^memlock:\s+(\d+)", re.M)


def kept(pid):
    """Resident bytes, bytes of BPF maps and programs, descriptors, threads."""
    base = Path(f"/proc/{pid}")
    status = (base / "status").read_text()
    maps = sum(int(found[1]) for info in (base / "fdinfo").iterdir()
               if (found := KEPT.search(info.read_text())))
    return {"resident": int(re.search(r"^VmRSS:\s+(\d+)", status, re.M)[1]) << 10, "bpf": maps,
            "descriptors": len(list((base / "fd").iterdir())),
            "threads": len(list((base / "task").iterdir()))}


def lossless_rate(options):
    """Packets/s at which a short run loses nothing, or as good as nothing; each try is a tenth lower."""
    end = run("--duration", str(TRIAL), *options)["end"]
    rate = end["rx_pps"]
    for _ in range(12):
        end = run("--duration", str(TRIAL), "--rate", str(int(rate)), *options)["end"]
        if end["dropped"] == 0:
            break
        rate *= 0.9
    return rate


def samples(process):
    """What it keeps, every second or two while it runs."""
    begin, found = time.monotonic(), []
    while process.poll() is None and time.monotonic() - begin < SECONDS:
        time.sleep(max(SECONDS / 30, 0.5))
        try:
            found.append((time.monotonic() - begin, kept(process.pid)))
        except (OSError, TypeError):  # it has just ended
            break
    return found


@table([] if not SECONDS else [
    ("xsk to a socket", ["--size", "64", "--rcvbuf", "8M"]),
    ("socket to socket, fragments, IPv6", ["--tx", "socket", "--length", "8000", "--ipv6",
                                           "--rcvbuf", "8M"]),
    ("xsk to xsk, flows", ["--tx", "xsk", "--rx", "xsk", "--size", "64", "--flows", "1000"]),
    ("live frames to XDP", ["--tx", "xdp", "--rx", "xdp", "--size", "64"]),
])
def soak(options):
    rate = int(lossless_rate(options) * 0.9)
    # as lines: one document keeps its intervals in memory until the end
    argv = ["run", "--json-lines", "-I", "100ms", "--duration", str(SECONDS), "--rate", str(rate),
            *options]
    lines = []
    with started(*argv) as process:
        reader = threading.Thread(target=lambda: lines.extend(deque(process.stdout, 1)))
        reader.start()
        seen = samples(process)
        err = process.stderr.read()
        process.wait(SECONDS + 60 * PATIENCE)
        reader.join()
    event = json.loads(lines[0])
    assert event["event"] == "end", (event, err)
    end = event["data"]
    if not 0 < end["unaccounted"] <= end["own_losses"]["suppressed"]:  # see lib.is_suppressed()
        assert process.returncode == 0, (process.returncode, err, event)
        assert_balanced({"end": end})
    warm = [what for at, what in seen if at > WARM * SECONDS]
    assert len(warm) > 3, f"ended after {seen[-1] if seen else None}"
    first, last = warm[0], warm[-1]
    comment(f"{rate} packets/s for {SECONDS} s: sent {end['sent']}, lost {end['dropped']}, "
            f"unaccounted {end['unaccounted']}; {first['resident'] >> 10} KiB resident, "
            f"{first['bpf'] >> 10} KiB of BPF, {first['descriptors']} descriptors, "
            f"{first['threads']} threads; then {last['resident'] >> 10}, {last['bpf'] >> 10}, "
            f"{last['descriptors']}, {last['threads']}")
    assert last["resident"] - first["resident"] < GROWTH, (first, last)
    for what in ("bpf", "descriptors", "threads"):
        assert last[what] == first[what], (what, first, last)


if __name__ == "__main__":
    main()
