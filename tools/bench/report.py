# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The Markdown table; the JSON document is what it is made from."""

import statistics


def count(value):
    """Three digits that count, with k or M."""
    for factor, unit in ((1e6, " M"), (1e3, " k")):
        if abs(value) >= factor * 0.9995:
            value /= factor
            return f"{value:.{2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0}f}{unit}"
    return f"{value:.0f}"


def percent(value):
    return f"{value * 100:.4f} %"


def gap(entry):
    """Medians of what was seen in each window."""
    p50, p99, most = (statistics.median(s[key] for s in entry["samples"])
                      for key in ("p50_ns", "p99_ns", "max_ns"))
    rate = statistics.median(s["rate_pps"] for s in entry["samples"])
    return (f"p50 {p50 / 1e3:.2f}, p99 {p99 / 1e3:.2f}, max {most / 1e3:.1f} us off "
            f"(at {count(rate)}/s)")


def figure(entry, unit):
    """Median and, in brackets, lowest and highest."""
    if entry.get("skipped"):
        return entry["skipped"]
    summary = entry.get("summary")
    if not summary:
        return "failed: " + (entry["failures"] or ["no sample"])[-1].replace("|", "\\|")
    if unit == "ns":
        return gap(entry)
    show = percent if unit == "rate error" else count
    text = f"{show(summary['median'])} ({show(summary['min'])} to {show(summary['max'])})"
    if entry["failures"]:
        text += f", {len(entry['failures'])} failed"
    return text


def spread(entry, unit):
    summary = entry.get("summary")
    if not summary or summary["spread"] is None or unit == "rate error":
        return ""
    return f"{summary['spread'] * 100:.0f} %"


def target(entry, unit, row_is_open=False):
    """What was asked for, and whether it was reached."""
    if entry.get("floor") is None:
        return ""
    if unit == "rate error":
        asked = f"{entry['floor'] * 100:g} % / {entry['goal'] * 100:g} %"
    elif entry["floor"] >= 1000:
        asked = f"{count(entry['floor'])} / {count(entry['goal'])}"
    else:
        asked = f"{entry['floor']:g} / {entry['goal']:g}"
    said = {"goal": "goal reached", "floor": "floor reached", "below": "below", None: ""}
    verdict = said[entry.get("verdict")]
    if row_is_open:
        verdict = "open, ours took all that was offered"
    return f"{asked}: {verdict}" if verdict else asked


def table_lines(row):
    if row.get("skipped"):
        yield f"| {row['title']} | skipped: {row['skipped']} | | | | |"
        return
    for number, entry in enumerate([row["ours"], *row["peers"]]):
        title = row["title"] if number == 0 else ""
        name = "**pktledger**" if number == 0 else entry["name"]
        ratio = ""
        if entry.get("ratio") is not None:
            low, high = entry["ratio_range"]
            ratio = f"{entry['ratio']:.{3 if entry.get('ratio_95') else 2}f} ({low:.2f} to {high:.2f})"
        if entry.get("ratio_95"):
            ratio += ", median with 95 % {:.3f} to {:.3f}".format(*entry["ratio_95"])
        text = figure(entry, row["unit"])
        if entry.get("bound_by_load"):
            text += ", all that was offered"
        yield (f"| {title} | {name} | {text} | {spread(entry, row['unit'])} | {ratio} "
               f"| {target(entry, row['unit'], row['ours']['bound_by_load'])} |")


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
    present = [f"{name} {p['version']}" for name, p in programs.items() if p["present"]]
    absent = [name for name, p in programs.items() if not p["present"]]
    yield f"- present: {', '.join(present) or 'none'}"
    yield f"- absent: {', '.join(absent) or 'none'}"


def markdown(document):
    settings = document["settings"]
    lines = ["# Benchmark", "", *machine_lines(document["machine"]),
             *program_lines(document["programs"]),
             f"- {settings['runs']} runs of each, in turn, {settings['seconds']:g} s a window, "
             "on one veth pair; figures are packets/s, median (lowest to highest); a ratio is that of "
             "two samples taken one after the other, pktledger's to the peer's, again the median; "
             "targets are floor / goal", ""]
    if document.get("interrupted"):
        lines += ["Interrupted: what follows is not complete.", ""]
    lines += ["| work | program | median (lowest to highest) | spread | ratio | target |",
              "|---|---|---|---|---|---|"]
    for row in document["rows"]:
        lines += table_lines(row)
    notes = [f"- {row['title']}: load is `{row['load']}`" for row in document["rows"]
             if row.get("load")]
    notes += [f"- {row['title']}: disturbed by {row['disturbed_by']}" for row in document["rows"]
              if row.get("disturbed_by")]
    notes += [f"- {row['title']}: {row['note']}" for row in document["rows"] if row.get("note")]
    return "\n".join([*lines, *([""] if notes else []), *notes, ""])
