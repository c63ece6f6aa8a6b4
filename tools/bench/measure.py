# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs rows: ours and the peers in turn, on one veth pair, counted by the same counters."""

import json
import subprocess
import time

import machine
import stats
from lab import DEV, RX, TX, Lab, LabError, until
from rows import PORT

WARM_PACKETS = 100  # after so many a sender is under way
WARM_SECONDS = 0.5
EDGE_SECONDS = 5  # longest wait for one packet of a paced sender


class Skip(Exception):
    """This host or this build lacks what is needed."""


def fill(args, pps=None, payload=None):
    """The rate in the words of each tool; `pps` None is as fast as it goes."""
    words = {"{rate}": "max", "{pps}": "max", "{bits}": "0"}
    if pps is not None:
        whole = str(round(pps))
        words = {"{rate}": whole, "{pps}": whole, "{bits}": str(round(pps * (payload or 0) * 8))}
    return [words.get(arg, arg) for arg in args]


def turns(contenders, run):
    """Who is measured when: each run begins with another."""
    first = run % len(contenders)
    return contenders[first:] + contenders[:first]


class Bench:
    def __init__(self, ours, peers, runs, seconds, say):
        self.ours, self.peers = ours, peers
        self.runs, self.seconds, self.say = runs, seconds, say

    # Who takes part

    def reason_against(self, contender):
        """Why it cannot be run, or None."""
        for command in contender.commands:
            name = command.args[0]
            if name == "pktledger":
                lacks = self.ours.lacks(command.args[1], command.args[2:])
                if lacks:
                    return f"this build has no {lacks}"
            elif not self.peers.get(name):
                return "absent"
        if contender.help:
            program = self.peers[contender.program]
            if contender.help not in program.output(["--help"]):
                return f"version {program.version} has no {contender.help}"
        return None

    def choose(self, contenders):
        """The first that this build can; several are alternatives in order of preference."""
        reasons = [self.reason_against(c) for c in contenders]
        for contender, reason in zip(contenders, reasons):
            if reason is None:
                return contender
        raise Skip("; ".join(dict.fromkeys(reasons)))

    def start(self, lab, contender, pps=None, payload=None):
        started = []
        for command in contender.commands:
            name, *args = fill(command.args, pps, payload)
            args = [arg.replace("{rx}", lab.port(RX)).replace("{tmp}", lab.scratch)
                    for arg in args]
            program = self.ours if name == "pktledger" else self.peers[name]
            started.append(lab.start(command.end, [*program.argv, *args], command.cpu,
                                     program.env, command.ready))
        return started

    # Windows

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

    def window(self, read, processes, seconds):
        """Readings at both ends, and the time between them."""
        before, begin = read(), time.monotonic()
        time.sleep(seconds)
        after, end = read(), time.monotonic()
        for process in processes:
            process.check()
        return before, after, end - begin

    # Methods: each takes one sample

    def transmit(self, lab, row, contender):
        if row.sink == "xdp":
            lab.drop_at_xdp()
        else:
            lab.take_at_tc()
        processes = self.start(lab, contender)
        self.warm_up(lab, processes)
        before, after, elapsed = self.window(lambda: lab.device(RX), processes, self.seconds)
        return {"value": stats.datagrams(before, after, row.payload) / elapsed}

    def receive(self, lab, row, contender, load):
        """What the XDP program took, or what went into the ring of the AF_XDP socket.

        The program is part of the sender's own work, so there the load slows down. The reader of a
        ring has a CPU of its own and can be faster than the load: so that is recorded, too.
        """
        own_cpu = row.counter == "xdp_redirect"

        def read():
            counters = lab.device(RX)
            if own_cpu:
                counters["xdp_redirect"] = lab.redirected(RX)
                counters["overflow"] = lab.device(TX)["tx_dropped"]
            return counters

        processes = self.start(lab, contender) + self.start(lab, load)
        self.warm_up(lab, processes)
        before, after, elapsed = self.window(read, processes, self.seconds)
        moved = {key: after[key] - before[key] for key in after}
        sample = {"value": moved[row.counter] / elapsed}
        if own_cpu:
            sample["offered"] = (moved["rx_packets"] + moved["overflow"]) / elapsed
        return sample

    def lossless(self, lab, row, contender, hint):
        """UDP datagrams that recv() has returned; the rate is lowered until none is lost."""
        def read():
            return {**lab.udp(RX), "rx_dropped": lab.device(RX)["rx_dropped"],
                    "tx_dropped": lab.device(TX)["tx_dropped"]}

        def trial(pps):
            processes = self.start(lab, contender, pps, row.payload)
            try:
                self.warm_up(lab, processes)
                before, after, elapsed = self.window(read, processes, self.seconds / 2)
            finally:
                lab.stop_all()
            moved = {key: after[key] - before[key] for key in after}
            lost = sum(moved[key] for key in ("InErrors", "NoPorts", "rx_dropped", "tx_dropped"))
            return moved["InDatagrams"] / elapsed, lost
        return self.search(trial, hint)

    def run(self, lab, _row, contender, hint):
        """By its own ledger, which must be balanced."""
        def trial(pps):
            name, *args = fill(contender.commands[0].args, pps)
            assert name == "pktledger"
            argv = [*self.ours.argv, *args, "-t", str(self.seconds / 2)]
            done = subprocess.run(lab.inside(TX, argv), stdin=subprocess.DEVNULL, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            return parse_run(done.returncode, done.stdout, done.stderr)
        return self.search(trial, hint)

    def search(self, trial, hint):
        """First without a limit, to know how far up to begin."""
        start = hint * 1.15 if hint else None
        if start is None:
            received, lost = trial(None)
            if not lost:
                return {"value": received}
            start = received * 1.25
        received, rate = stats.search_lossless(trial, start)
        if received is None:
            raise LabError("loss at every rate")
        return {"value": received, "asked": rate}

    def beside(self, lab, row, contender, load):
        """What the row's counter counts a second, while somebody looks on."""
        if row.sink == "xdp":
            lab.drop_at_xdp()
        elif row.sink:
            lab.poll()
        if row.sink == "socket":
            lab.hold_port(PORT)
        elif row.sink == "other":
            lab.be_another()
        processes = self.start(lab, contender) + self.start(lab, load)
        self.warm_up(lab, processes)
        before, after, elapsed = self.window(lambda: lab.counters(RX), processes, self.seconds)
        return {"value": (after[row.counter] - before[row.counter]) / elapsed}

    def pacing(self, lab, row, contender):
        """From one step of the counter to another, so that the window adds no error of its own."""
        def edge():
            last, late = lab.device(RX)["rx_packets"], time.monotonic() + EDGE_SECONDS
            while (now := lab.device(RX)["rx_packets"]) == last:
                if time.monotonic() > late:
                    raise LabError("no packets from the sender")
            return now, time.monotonic()

        lab.drop_at_xdp()
        processes = self.start(lab, contender)
        self.warm_up(lab, processes)
        count, begin = edge()
        time.sleep(self.seconds)
        count_end, end = edge()
        for process in processes:
            process.check()
        error = stats.rate_error(count_end - count, end - begin, row.rate)
        return {"value": error, "rate_pps": (count_end - count) / (end - begin)}

    def gaps(self, lab, row, contender):
        """How far gaps are from the even one, by the kernel's time stamps at the other end."""
        lab.poll()
        lab.take_at_tc()
        processes = self.start(lab, contender, row.rate, row.payload)
        self.warm_up(lab, processes)
        witness = lab.start(RX, [*self.peers["bound"].argv, "gaps", DEV[RX], str(self.seconds),
                                 str(row.rate)], 1)
        witness.popen.wait(self.seconds + 10)
        try:
            seen = json.loads(witness.said())
        except ValueError:
            raise LabError(f"bound gaps: {witness.said()}") from None
        return {"value": seen["p99_ns"], **seen}

    # Rows

    def sample(self, lab, row, contender, load, samples):
        try:
            if row.method in ("receive", "beside"):
                return getattr(self, row.method)(lab, row, contender, load)
            if row.method in ("lossless", "run"):
                hint = max((s["asked"] for s in samples if s.get("asked")), default=None)
                return getattr(self, row.method)(lab, row, contender, hint)
            return getattr(self, row.method)(lab, row, contender)
        finally:
            lab.stop_all()

    def row(self, row):
        """The row's results, as in the JSON document."""
        result = {"id": row.id, "title": row.title, "unit": row.unit, "note": row.note}
        try:
            if row.method == "gaps" and not self.peers.get("bound"):
                raise Skip("no C compiler for the capture")
            ours = self.choose(row.ours)
            load = self.choose(row.load) if row.load else None
        except Skip as reason:
            return {**result, "skipped": str(reason)}
        entries = [Entry(ours, None), *(Entry(p, self.reason_against(p)) for p in row.peers)]
        result["disturbed_by"] = machine.others()
        with Lab(row.queues) as lab:
            for end, command in row.path:
                lab.do(end, *command.split(maxsplit=1 if command.startswith("nft ") else -1))
            for run in range(self.runs):
                for entry in turns([e for e in entries if not e.reason], run):
                    self.take(lab, row, entry, load, run)
        result["load"] = load and load.name
        return {**result, **conclude(row, entries)}

    def take(self, lab, row, entry, load, run):
        self.say(f"{row.id}: {entry.contender.name}, run {run + 1} of {self.runs}")
        try:
            entry.samples.append({
                "run": run, **self.sample(lab, row, entry.contender, load, entry.samples)})
        except LabError as error:
            entry.failures.append(str(error))
            self.say(f"{row.id}: {entry.contender.name}: {error}")


class Entry:
    """A contender and what came of it."""

    def __init__(self, contender, reason):
        self.contender, self.reason = contender, reason
        self.samples, self.failures = [], []

    def document(self):
        summary = stats.summary([s["value"] for s in self.samples])
        return {"name": self.contender.name, "skipped": self.reason, "samples": self.samples,
                "failures": self.failures, "summary": summary,
                "commands": [" ".join(c.args) for c in self.contender.commands]}


def conclude(row, entries):
    """Ours, the peers with ratios, and what the targets say."""
    ours, *peers = [entry.document() for entry in entries]
    if row.floor is not None:
        value = ours["summary"] and ours["summary"]["median"]
        if row.method == "pacing":
            errors = [abs(s["value"]) for s in ours["samples"]]
            ours["summary_abs"] = stats.summary(errors)
            value = ours["summary_abs"] and ours["summary_abs"]["median"]
            ours["verdict"] = stats.verdict_error(value, row.floor, row.goal)
        else:
            ours["verdict"] = stats.verdict(value, row.floor, row.goal)
        ours.update(floor=row.floor, goal=row.goal)
    ours["bound_by_load"] = stats.bound_by_load(ours["samples"])
    for entry, peer in zip(entries[1:], peers):
        peer["bound_by_load"] = stats.bound_by_load(peer["samples"])
        pairs = stats.ratio(ours["samples"], peer["samples"])
        peer["ratio"] = pairs and pairs["median"]
        peer["ratio_range"] = pairs and [pairs["min"], pairs["max"]]
        peer["ratio_95"] = pairs and pairs.get("sure")
        peer.update(floor=entry.contender.floor, goal=entry.contender.goal,
                    verdict=None if ours["bound_by_load"] else
                    (stats.verdict_error if row.method == "gaps" else stats.verdict)(peer["ratio"], entry.contender.floor, entry.contender.goal))
    return {"ours": ours, "peers": peers}


def parse_run(status, out, err):
    """`run -j`: packets received per second, and how many were lost."""
    if status:
        raise LabError(f"pktledger run ended with status {status}: "
                       f"{(err.strip() or out.strip()).splitlines()[-1:]}")
    try:
        end = json.loads(out)["end"]
        return end["rx_pps"], end["sent"] - end["delivered"] + end["refused"]
    except (ValueError, KeyError) as error:
        raise LabError(f"pktledger run printed no result: {error}") from None
