# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""On which kernels each loss was attributed right: events = counters = truth.

RECORD keeps a line a loss and kernel. Lines come from results alone: the output of `selftest -j`,
or the table kernels.md of tests/kernels/run. A loss is called as its fault; where only a test
makes it, by its stage and what makes it.
"""

import json
import re
from pathlib import Path

RECORD = Path(__file__).resolve().parent / "proven.tsv"
GOOD = ("agrees", "ok")
# Rows of kernels.md and the loss that they are of; (?P<name>) if it is in the row.
CASES = (r"stages: IPv[46], (?P<name>\S+)", r"drivers: ring: (?P<driver>\w+)",
         r"to: (?P<wire>each loss is found where it is)")


def loss_of(case):
    for pattern in CASES:
        if found := re.fullmatch(pattern, case):
            kind, value = next((k, v) for k, v in found.groupdict().items() if v)
            return {"name": value, "driver": f"nic_ring:{value}", "wire": "wire"}[kind]
    return None


def series(env):
    """As tests/kernels calls it: of the machine that most have, only the number."""
    number = ".".join(re.findall(r"\d+", env["kernel"])[:2])
    machine = {"x86_64": "", "aarch64": "arm64"}.get(env["machine"], env["machine"])
    return f"{number} {machine}".strip()


def of_selftest(document):
    """{loss: {kernel: attributed right}} of one run."""
    kernel = series(document["start"]["env"])
    found = {}
    for row in document["end"]["rows"]:
        name = row["stage"] + (f":{row['variant']}" if row["variant"] else "")
        if row["verdict"] != "skipped":
            found[name] = {kernel: row["verdict"] in GOOD}
    return found


def of_guests(text):
    found, kernels = {}, []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if cells[0] == "case":
            kernels = cells[1:]
        elif loss := loss_of(cells[0]):
            verdicts = found.setdefault(loss, {})
            for kernel, verdict in zip(kernels, cells[1:]):
                if verdict in (*GOOD, "disagrees"):  # "lost nothing": a guest was too slow for it
                    verdicts[kernel] = verdicts.get(kernel, True) and verdict in GOOD
    return found


def of_record(text):
    found = {}
    for line in text.splitlines():
        loss, kernel, verdict = line.split("\t")
        found.setdefault(loss, {})[kernel] = verdict == "agrees"
    return found


def read(path):
    text = Path(path).read_text()
    if text.startswith("{"):
        return of_selftest(json.loads(text))
    return of_guests(text) if "| case" in text else of_record(text)


def merged(results):
    """What any of them says is wrong on a kernel is wrong there."""
    found = {}
    for result in results:
        for loss, verdicts in result.items():
            known = found.setdefault(loss, {})
            for kernel, right in verdicts.items():
                known[kernel] = known.get(kernel, True) and right
    return found


def by_version(kernel):
    return [int(n) for n in re.findall(r"\d+", kernel)]


def record(results):
    """Puts results in place of what was recorded of the same losses and kernels."""
    new = merged(results)
    for loss, verdicts in (read(RECORD) if RECORD.exists() else {}).items():
        for kernel, right in verdicts.items():
            new.setdefault(loss, {}).setdefault(kernel, right)
    RECORD.write_text("".join(f"{loss}\t{kernel}\t{'agrees' if right else 'disagrees'}\n"
                              for loss in sorted(new)
                              for kernel, right in sorted(new[loss].items(),
                                                          key=lambda v: by_version(v[0]))))


def kernels(stage, faults, verdicts):
    """Those on which all losses of a stage that could be made were attributed right."""
    names = dict.fromkeys([*faults, *(loss for loss in verdicts if loss.split(":")[0] == stage)])
    seen = {}
    for name in names:
        for kernel, right in verdicts.get(name, {}).items():
            seen.setdefault(kernel, []).append((name, right))
    shown = []
    for kernel in sorted(seen, key=by_version):
        wrong = [name for name, right in seen[kernel] if not right]
        missing = len(names) - len(seen[kernel])
        shown.append(kernel + (f" (not {', '.join(wrong)})" if wrong else "")
                     + (f" ({len(seen[kernel])} of {len(names)})" if missing else ""))
    return ", ".join(shown)
