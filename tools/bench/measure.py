# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Measures rows: ours and its peers in turn, on one veth pair, with the same counters."""

import json
import subprocess
import time

import machine
import stats
from lab import DEV, RX, Lab, LabError, until
from rows import PORT

WARM_PACKETS = 100  # after so many a sender is under way
WARM_SECONDS = 0.1
PATIENCE = 30  # seconds, for a command that ends by itself


def turns(entries, turn):
    """Returns the order of a turn: each turn begins with another entry."""
    first = turn % len(entries)
    return entries[first:] + entries[:first]


class Entry:
    """A contender and its samples."""

    def __init__(self, contender, reason=None, binary=None):
        self.contender, self.reason, self.binary = contender, reason, binary
        self.name = contender.name
        self.samples, self.failures = [], []

    def document(self):
        return {"name": self.name, "skipped": self.reason, "samples": self.samples,
                "failures": self.failures,
                "commands": [" ".join(c.args) for c in self.contender.commands],
                "summary": stats.summary([s["value"] for s in self.samples])}


class Bench:
    def __init__(self, programs, before, pairs, seconds, say):
        """`programs`: name to Program, or None if absent; `before`: Program to compare with."""
        self.programs, self.before = programs, before
        self.pairs, self.seconds, self.say = pairs, seconds, say

    def reason_against(self, contender):
        """Returns why a contender cannot run, or None."""
        for command in contender.commands:
            if not self.programs.get(command.args[0]):
                return f"{command.args[0]} is not installed"
        if contender.help and contender.help not in \
                self.programs[contender.program].output(["--help"]):
            return f"this {contender.program} has no {contender.help}"
        return None

    def entries(self, row):
        if self.before:
            entry = Entry(row.ours, binary=self.before)
            entry.name = "before"
            return [Entry(row.ours), entry]
        return [Entry(row.ours), *(Entry(p, self.reason_against(p)) for p in row.peers)]

    def start(self, lab, contender, binary=None):
        started = []
        for command in contender.commands:
            program = self.programs[command.args[0]]
            if command.args[0] == "pktledger" and binary:
                program = binary
            started.append(lab.start(command.end, [*program.argv, *command.args[1:]], command.cpu,
                                     program.env, command.ready))
        return started

    # One sample

    def warm_up(self, lab, processes):
        begin = lab.device(RX)["rx_packets"]

        def under_way():
            for process in processes:
                process.check()
            return lab.device(RX)["rx_packets"] - begin >= WARM_PACKETS
        try:
            until(under_way, 10, "packets from the sender")
        except LabError as error:
            raise LabError(f"{error}: {'; '.join(p.said() for p in processes)}") from None
        time.sleep(WARM_SECONDS)

    def rate(self, lab, row, processes):
        """Counts what the row counts, per second."""
        self.warm_up(lab, processes)
        before, begin = lab.counters(RX, row.counter), time.monotonic()
        time.sleep(self.seconds)
        after, end = lab.counters(RX, row.counter), time.monotonic()
        for process in processes:
            process.check()
        moved = {key: after[key] - before[key] for key in after}
        count = (stats.datagrams(moved["rx_packets"], moved["rx_bytes"], row.payload)
                 if row.counter == "datagrams" else moved[row.counter])
        return {"value": count / (end - begin), "all": row.lost and moved[row.lost] == 0}

    def gaps(self, lab, row, processes):
        """Measures how far gaps are from even ones, with the time stamps of the receiving end."""
        self.warm_up(lab, processes)
        witness = lab.start(RX, [*self.programs["bound"].argv, "gaps", DEV[RX],
                                 str(self.seconds), str(row.rate)], 1)
        witness.popen.wait(self.seconds + 10)
        try:
            seen = json.loads(witness.said())
        except ValueError:
            raise LabError(f"bound gaps: {witness.said()}") from None
        return {"value": seen["p99_ns"] / 1e9, **seen}

    def first_line(self, lab, row, entry):
        """Measures the time from the start of a command to its first line of output."""
        begin = time.monotonic()
        with self.popen(lab, entry) as child:
            line = child.stdout.readline()
            end = time.monotonic()
            child.terminate()
            if not line:
                raise LabError("no output")
            child.communicate()
        return {"value": end - begin}

    def whole(self, lab, row, entry):
        """Measures how long a command takes; `search`: set-up per trial."""
        begin = time.monotonic()
        with self.popen(lab, entry) as child:
            out, err = child.communicate(timeout=PATIENCE)
        elapsed = time.monotonic() - begin
        if child.returncode not in row.statuses:
            raise LabError(f"status {child.returncode}: {err.strip() or out.strip()[-200:]}")
        return {"value": setup_per_trial(out) if row.unit == "s per trial" else elapsed}

    def popen(self, lab, entry):
        command, = entry.contender.commands
        program = entry.binary or self.programs[command.args[0]]
        return subprocess.Popen(lab.inside(command.end, [*program.argv, *command.args[1:]]),
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def sample(self, lab, row, entry):
        if row.method in ("first_line", "whole"):
            return getattr(self, row.method)(lab, row, entry)
        mark = len(lab.processes)
        try:
            processes = self.start(lab, entry.contender, entry.binary)
            if row.load and not row.load_stays:
                processes += self.start(lab, row.load)
            return getattr(self, row.method)(lab, row, processes)
        finally:
            lab.stop_from(mark)

    # Rows

    def prepare(self, lab, row):
        """Starts what stays the same for all samples of a row."""
        for end, command in row.path:
            lab.do(end, *command.split())
        if row.sink:
            getattr(lab, row.sink)()
        if row.hold:
            lab.hold_port(PORT)
        if row.load and row.load_stays:
            self.start(lab, row.load)

    def take_turns(self, row):
        entries = self.entries(row)
        with Lab(row.queues) as lab:
            self.prepare(lab, row)
            for turn in range(self.pairs):
                for entry in turns([e for e in entries if not e.reason], turn):
                    try:
                        entry.samples.append({"turn": turn, **self.sample(lab, row, entry)})
                    except (LabError, subprocess.TimeoutExpired) as error:
                        entry.failures.append(str(error))
                        self.say(f"{row.id}: {entry.name}: {error}")
        return conclude(row, entries, 0.95 if self.before else None)

    def row(self, row):
        """Returns the results of a row, as in the JSON document."""
        result = {"id": row.id, "title": row.title, "unit": row.unit}
        for contender in (row.ours, row.load, row.needs):
            reason = contender and self.reason_against(contender)
            if reason:
                return {**result, "skipped": reason}
        result["disturbed_by"] = machine.others()
        begin = time.monotonic()
        try:
            found = self.take_turns(row)
            if found["noise"]:
                self.say(f"{row.id}: the interval is wide, once more")
                found = self.take_turns(row)
        except LabError as error:
            return {**result, "skipped": str(error)}
        self.say(f"{row.id}: {time.monotonic() - begin:.1f} s")
        return {**result, **found}


def conclude(row, entries, goal=None):
    """Returns ours, the peers with their ratios, and whether the row is noise."""
    ours, *peers = [entry.document() for entry in entries]
    for entry, peer in zip(entries[1:], peers):
        peer["ratio"] = stats.ratio(ours["samples"], peer["samples"], row.smaller_is_better)
        peer["goal"] = goal or entry.contender.goal
        peer["verdict"] = stats.verdict(peer["ratio"], peer["goal"])
    figures = [peer["ratio"] for peer in peers if peer["ratio"]] or [ours["summary"]]
    return {"ours": ours, "peers": peers, "noise": any(f and f["noise"] for f in figures)}


def setup_per_trial(text):
    """Returns the seconds that a search took per trial, without the trials themselves."""
    try:
        document = json.loads(text)
        spent = sum(trial["duration_ns"] for trial in document["trials"])
        return (document["end"]["duration_ns"] - spent) / len(document["trials"]) / 1e9
    except (ValueError, KeyError, ZeroDivisionError) as error:
        raise LabError(f"search printed no result: {error!r}") from None
