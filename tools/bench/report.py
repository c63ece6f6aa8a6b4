# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The Markdown table; the JSON document is its source."""


def count(value):
    """Three significant digits, with k or M."""
    for factor, unit in ((1e6, " M"), (1e3, " k")):
        if abs(value) >= factor * 0.9995:
            value /= factor
            return f"{value:.{2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0}f}{unit}"
    return f"{value:.0f}"


def duration(seconds):
    return f"{seconds * 1e6:.1f} us" if seconds < 1e-3 else f"{seconds * 1e3:.0f} ms"


def figure(entry, unit):
    """The median and its interval."""
    if entry.get("skipped"):
        return f"skipped: {entry['skipped']}"
    found = entry.get("summary")
    if not found:
        return "failed: " + (entry["failures"] or ["no sample"])[-1].replace("|", "\\|")
    show = duration if unit.startswith("s") else count
    text = show(found["median"])
    if found["interval"]:
        text += " ({} to {})".format(*map(show, found["interval"]))
    if all(sample.get("all") for sample in entry["samples"]):
        text += ", all that was offered"
    if entry["failures"]:
        text += f", {len(entry['failures'])} failed"
    return text


def ratio(found):
    if not found:
        return ""
    text = f"{found['median']:.3f}"
    if found["interval"]:
        text += " ({:.3f} to {:.3f})".format(*found["interval"])
    return text + (", **noise**" if found["noise"] else "")


def goal(entry):
    if not entry.get("goal") or not entry.get("ratio"):
        return ""
    return f"{entry['goal']:g}: {entry['verdict']}" if entry["verdict"] else f"{entry['goal']:g}"


def table_lines(row):
    if row.get("skipped"):
        yield f"| {row['title']} | skipped: {row['skipped']} | | | |"
        return
    mark = ", **noise**" if row["noise"] and not any(p["ratio"] for p in row["peers"]) else ""
    yield f"| {row['title']} | **pktledger** | {figure(row['ours'], row['unit'])}{mark} |  |  |"
    for entry in row["peers"]:
        yield (f"|  | {entry['name']} | {figure(entry, row['unit'])} | {ratio(entry['ratio'])} "
               f"| {goal(entry)} |")


def machine_lines(machine):
    virtual = ", virtual" if machine["hypervisor"] else ""
    governor = f", governor {machine['governor']}" if machine.get("governor") else ""
    yield (f"- {machine['cpu']}, {machine['cpus']} CPUs{virtual}, {machine['architecture']}"
           f"{governor}")
    yield f"- Linux {machine['kernel']}, {machine['system']}"
    load = f"- load average before: {machine['load_before']:.2f}"
    if machine.get("steal") is not None:
        load += f"; CPU time taken by the hypervisor: {machine['steal'] * 100:.1f} %"
    yield load


def program_lines(programs):
    present = [f"{name} {version}" for name, version in programs.items() if version]
    absent = [name for name, version in programs.items() if not version]
    yield f"- present: {', '.join(present) or 'none'}"
    yield f"- not installed: {', '.join(absent) or 'none'}"


def markdown(document):
    settings = document["settings"]
    lines = ["# Benchmark", "", *machine_lines(document["machine"]),
             *program_lines(document["programs"]),
             f"- {settings['pairs']} samples of each, in turn, windows of {settings['seconds']:g} s "
             f"on one veth pair; the whole took {document['elapsed']:.0f} s",
             "- figures and ratios are medians with their 95 % intervals; a ratio pairs two samples "
             "of one turn, and above 1 pktledger is better; noise: wider than 20 %, twice",
             ""]
    if document.get("interrupted"):
        lines += ["Interrupted: the table is not complete.", ""]
    lines += ["| work | program | median (95 %) | ratio (95 %) | goal |", "|---|---|---|---|---|"]
    for row in document["rows"]:
        lines += table_lines(row)
    notes = [f"- {row['title']}: disturbed by {row['disturbed_by']}" for row in document["rows"]
             if row.get("disturbed_by")]
    return "\n".join([*lines, *([""] if notes else []), *notes, ""])
