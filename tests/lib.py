# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the namespace tests share. Each test program prints TAP: one line a case.

A case is a function under @case, or a row under @table. It fails by an exception, is skipped by
skip() or require(), and fails too if it leaves anything behind on the host.
"""

import contextlib
import functools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BINARY = ROOT / os.environ.get("B", "build") / "pktledger"
EVERYTHING = os.environ.get("PKTLEDGER_TEST") == "all"  # make test-all
CROWDED = "PKTLEDGER_TEST_CROWDED" in os.environ  # make tsan
DOCUMENTS = os.environ.get("PKTLEDGER_TEST_DOCUMENTS")  # a directory of tests/run, see assert_valid()
KERNEL = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2]))  # (6, 12)
PATIENCE = int(os.environ.get("PKTLEDGER_TEST_PATIENCE", "1"))  # of slow machines; times all limits
TIMEOUT = 60 * PATIENCE  # seconds, of one command
# The first of ten ports that no other test program uses meanwhile, because others trace and send then.
PORT = int(os.environ.get("PKTLEDGER_TEST_PORT", 20000 + 10 * (os.getpid() % 800)))
TOGETHER = 8  # cases at once, see together()
SHOWN, LONGEST = 40, 4000  # of what a failed case says: lines at each end, characters of one

# What tools/setup has not installed, but unpacked or put into a virtual environment.
TOOLS = ROOT / "build/test-tools/usr"
os.environ["PATH"] += f":/usr/sbin:/sbin:{TOOLS}/bin:{TOOLS}/sbin"
sys.path[:0] = map(str, ROOT.glob("build/venv/lib/python3*/site-packages"))

# A shell starts what is in the background with SIGINT ignored, which all children would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)
# A test that is ended removes what it made; a process that it forked has made nothing.
signal.signal(signal.SIGTERM, signal.default_int_handler)
os.register_at_fork(after_in_child=lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL))

cases = []
running = threading.local()  # of the case: its `name`, `repeated` runs, see observed(); `named` findings


class Skip(Exception):
    """The host lacks what the case needs."""


def skip(reason):
    raise Skip(reason)


def require(condition, reason):
    if not condition:
        skip(reason)


def require_root():
    require(os.geteuid() == 0, "needs root")
    require(os.path.exists("/sys/kernel/btf/vmlinux"), "needs a kernel with BTF")


def case(function):
    cases.append((function.__name__.replace("_", " "), function, ()))
    return function


def rootless(function):
    """A case that anybody can run; the others of namespace tests need root."""
    function.rootless = True
    return function


def together(function):
    """A case that mostly waits, in labs of its own: those of a program run first, and at once. It
    changes nothing of the host, and measures no speed."""
    function.together = True
    return function


def exclusive(function):
    """A case that reads or sets what the whole host shares: softnet, neighbour caches, udp_mem, the
    load of CPUs, host-wide check, trace, top and export. No other case that changes the host runs then."""
    function.exclusive = ("",)
    return function


def exclusive_rows(*words):
    """Rows of a table that have one of the words in their name or arguments are exclusive cases."""
    def mark(function):
        function.exclusive = words
        return function

    return mark


def thorough(function):
    """A case of `make test-all` only."""
    return case(function) if EVERYTHING else function


def crowded(function):
    """Many callers at once: a thorough case that `make tsan` has, too."""
    return case(function) if EVERYTHING or CROWDED else function


def first(count, rows):
    """The rows of a table that `make test` has; all with `make test-all`."""
    return rows if EVERYTHING else rows[:count]


def table(rows):
    """Each row is (name, *arguments of the function)."""

    def decorate(function):
        group = function.__name__.replace("_", " ")
        cases.extend((f"{group}: {name}", function, args) for name, *args in rows)
        return function

    return decorate


def until(condition, seconds, what):
    """Waits until condition() is true and returns its value; it is asked once at the end, too."""
    end, pause = time.monotonic() + seconds * PATIENCE, 0.005
    while True:
        late = time.monotonic() >= end
        value = condition()
        if value:
            return value
        assert not late, f"not within {seconds} s: {what}"
        time.sleep(pause)
        pause = min(1.5 * pause, 0.05)  # many conditions start a program


def paced(count, each=1, pause=0.005):
    """Numbers from 0, with a pause after each so many of them: what receives may be a thread that waits
    for a CPU."""
    for n in range(count):
        yield n
        if n % each == each - 1:
            time.sleep(pause)


# The program


class Result:
    def __init__(self, args, status, out, err):
        self.args, self.status, self.out, self.err = args, status, out, err

    def __str__(self):
        return f"pktledger {' '.join(self.args)}: status {self.status}\n{self.err}{self.out}"

    @property
    def json(self):
        try:
            return json.loads(self.out)
        except ValueError as error:
            raise AssertionError(f"stdout is no JSON document: {error}\n{self}") from None


def start(*args, binary=BINARY, prefix=(), **kwargs):
    """The program as a process in a group of its own."""
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen([*prefix, binary, *args], text=True, start_new_session=True,
                               **{**streams, **kwargs})
    process.words = args
    return process


@contextlib.contextmanager
def bounded(process):
    """The group is dead after the with block."""
    with process:
        try:
            yield process
        finally:
            kill_group(process)


def started(*args, **kwargs):
    return bounded(start(*args, **kwargs))


def kill_group(process):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def is_blocked(pid, number):
    """Whether a process has blocked a signal."""
    return int(re.search(r"SigBlk:\s*(\w+)", Path(f"/proc/{pid}/status").read_text())[1], 16) >> number - 1 & 1


@contextlib.contextmanager
def standing_still(process):
    """The process is stopped in the with block."""
    process.send_signal(signal.SIGSTOP)
    until(lambda: Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T", 10, "it stops")
    yield
    process.send_signal(signal.SIGCONT)


def finish(process):
    """Its result, once it has ended; nothing of its group is left."""
    with process:
        try:
            out, err = process.communicate(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"pktledger {' '.join(process.words)}: hangs") from None
        finally:
            kill_group(process)
    return Result(process.words, process.returncode, out or "", err or "")


class Lines:
    """A program with --json-lines. Its events that were read so far are in `lines`."""

    def __init__(self, process):
        self.process, self.lines = process, []

    def read_line(self):
        line = self.process.stdout.readline()
        if not line:
            said = self.process.stderr.read()
            require(self.process.wait() != 3, said.strip())
            raise AssertionError(f"pktledger {' '.join(self.process.words)} ended: {said}")
        self.lines.append(json.loads(line))
        return self.lines[-1]

    def read_until(self, condition):
        """Reads up to the first event whose data meets the condition; returns the data."""
        while not condition(data := self.read_line()["data"]):
            pass
        return data

    def until_sent(self, packets=1):
        return self.read_until(lambda data: data.get("sent", 0) >= packets)

    def finish(self, seconds=30, number=None):
        """Its document and its result, once it has ended, after a signal of this number."""
        if number and self.process.poll() is None:
            self.process.send_signal(number)
        # not by communicate(): it loses what read_line() has in its buffer
        guard = threading.Timer(seconds * PATIENCE, self.process.kill)
        guard.start()
        out, err = self.process.stdout.read(), self.process.stderr.read()
        status, late = self.process.wait(), not guard.is_alive()
        guard.cancel()
        result = Result(self.process.words, status, out, err)
        assert not late, f"does not end: {result}"
        self.lines += map(json.loads, out.splitlines())
        document = {}
        for line in self.lines:
            if line["event"] in ("start", "end", "error"):
                document[line["event"]] = line["data"]
            else:
                document.setdefault(line["event"] + "s", []).append(line["data"])
            document.setdefault("schema", line.get("schema"))
        if document:
            assert_valid(document)
        return document, result


@contextlib.contextmanager
def begun(process, kind=Lines):
    """The process as Lines, once it has begun; its group is dead after the with block."""
    with bounded(process):
        lines = kind(process)
        while lines.read_line()["event"] != "start":
            pass
        yield lines


def telling(*args, **kwargs):
    return begun(start(*args, **kwargs))


@contextlib.contextmanager
def killed_within(seconds, *args):
    """The program is killed at any moment of its first seconds, then comes the with block; what it
    started lives until its end."""
    with started(*args) as process:
        time.sleep(random.uniform(0, seconds))
        process.kill()
        process.communicate()
        yield


def pktledger(*args, **kwargs):
    """Runs it to its end."""
    return finish(start(*args, **kwargs))


@contextlib.contextmanager
def directory():
    """One for files of a test."""
    with tempfile.TemporaryDirectory(prefix="pl-test-") as path:
        yield Path(path)


@contextlib.contextmanager
def copied_program():
    """Where everybody may run it, with what a test gives it."""
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        yield shutil.copy(BINARY, directory)


NOBODY = {"user": "nobody", "group": "nogroup", "extra_groups": []}  # of subprocess


def as_nobody(*args):
    """Runs it to its end as a user without capabilities."""
    with copied_program() as program:
        return pktledger(*args, binary=program, **NOBODY)


def is_suppressed(result):
    """The kernel skipped our tracing in the context of PID 1, and all that is missing was last seen there."""
    if result.status != 4:
        return False
    end = result.json["end"]
    return 0 < end["unaccounted"] <= end["missed"]["suppressed"]


def observed(attempt, suppressed=is_suppressed):
    """What attempt() returns; it is repeated where the host hid drops from all tracing, which no
    change of ours could mend. The case's line says how often, and the last line of all counts it."""
    for left in 4, 3, 2, 1, 0:
        result = attempt()
        if not left or not suppressed(result):
            return result
        running.repeated.append(result)


def run(*args):
    """`run -j` that must end well; returns the document. Skips where the host cannot do it."""
    result = assert_ran(observed(lambda: pktledger("run", "-j", *args)))
    assert_valid(result.json)
    return result.json


def assert_ok(result):
    assert result.status == 0, result
    return result


def assert_ended(result, status):
    """It ended so; skips where the host cannot do it."""
    require(result.status != 3, result.err.strip() or "exit status 3 without a word")
    assert result.status == status, result
    return result


def assert_ran(result):
    return assert_ended(result, 0)


def assert_error(result, status, *words):
    """It failed in this way, and said so: see assert_said_once()."""
    assert result.status == status, result
    assert_said_once(result, *words)


def assert_said_once(result, *words):
    """Exactly one line of error, which has the words in it."""
    errors = [line for line in result.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, result
    for word in words:
        assert word in errors[0], f"no word of {word!r}: {result}"


# The document


@functools.cache
def validator(command):
    """By the schema of the command; None if this host has no python3-jsonschema."""
    try:
        from jsonschema.validators import validator_for
    except ImportError:
        return None
    schema = pktledger("help", "--schema", command).json
    kind = validator_for(schema)
    if EVERYTHING:  # takes ten times as long as a document; unit tests do it, too
        kind.check_schema(schema)
    return kind(schema)


def violation(value, command, kind):
    """Why a document, or a part of such a kind, does not meet the schema of its command; None: it does."""
    by = validator(command)
    errors = by and (by.descend(value, {"$ref": f"#/$defs/{kind}"}) if kind else by.iter_errors(value))
    for error in errors or ():
        where = "/".join(str(key) for key in error.absolute_path)
        return f"not valid: {where}: {error.message[:300]}"
    return None


def assert_valid(value, command=None, kind=None):
    """The value meets the schema of its command. tests/run validates all values at its end, because loading
    a validator takes longer than most cases."""
    what = value, command or value["schema"].split("/")[1], kind
    if DOCUMENTS:
        with open(Path(DOCUMENTS, f"{os.getpid()}-{threading.get_ident()}"), "a") as file:
            file.write(json.dumps([f"{Path(sys.argv[0]).name}: {running.name}", *what]) + "\n")
    elif why := violation(*what):
        raise AssertionError(why)


def violations(directory):
    """Yields the case and the reason of each invalid document that assert_valid() has written there."""
    for path in Path(directory).iterdir():
        for line in path.read_text().splitlines():
            whose, *what = json.loads(line)
            if why := violation(*what):
                yield whose, why


def lost(document):
    """Packets lost at each stage that lost any."""
    stages = document["end"]["stages"]
    return {s["stage"]: s["packets"] for s in stages if s["packets"]}


def assert_balanced(document, attempted=None):
    """From the numbers alone; the program's own verdict has to agree."""
    end = document["end"]
    text = {key: end[key] for key in ("attempted", "refused", "sent", "delivered", "dropped",
                                      "in_flight", "unaccounted", "unaccounted_last_seen",
                                      "impossible", "balanced", "missed")}
    text["lost"] = lost(document)
    assert end["attempted"] == end["refused"] + end["sent"], text
    assert end["sent"] == (end["delivered"] + end["dropped"] + end["in_flight"]
                           + end["unaccounted"]), text
    assert end["dropped"] == sum(lost(document).values()), text
    assert end["unaccounted"] == end["in_flight"] == end["impossible"] == 0, text
    assert end["balanced"] is True, text
    if attempted is not None:
        assert end["attempted"] == attempted, text
    for stage in end["stages"]:
        causes = stage.get("causes", [])
        assert not causes or sum(c["packets"] for c in causes) == stage["packets"], text


def assert_counters_agree(document, stage):
    """The counter check; counters of the whole host may have moved for other reasons."""
    row = next(s for s in document["end"]["stages"] if s["stage"] == stage)
    wrong = [c for c in row.get("counters", []) if c.get("scope") != "host"
             and not c["agrees"] and not c.get("documented")]
    assert not wrong, f"{stage} {row['packets']} packets, {row['events']} events: {wrong}"


# Findings


def assert_findings(found, *ids):
    """These and no others, the first one first; returns it. So each scene is the look-alike of all
    others: a finding that shows up in one that is not its own fails."""
    names = [f["id"] for f in found]
    assert names[:1] == list(ids[:1]) and set(names) == set(ids), f"not {ids}: {found}"
    return first_finding(found)


def first_finding(found):
    """None: there is none."""
    running.named.update(f["id"] for f in found[:1])
    return found[0] if found else None


def proves(*ids):
    """A case that brings each of these findings about and has it named first; without ids, those of a
    row's last argument. `check --explain` says so of them: unit/proofs compares."""
    def decorate(function):
        @functools.wraps(function)
        def proof(*args):
            function(*args)
            missing = set(ids or args[-1]) - running.named
            assert not missing, f"not shown: {missing}"

        proof.proves = ids
        return proof

    return decorate


# The host


SYSCTLS = """net/core/dev_weight net/core/flow_limit_cpu_bitmap net/core/mem_pcpu_rsv
    net/core/netdev_budget net/core/netdev_max_backlog net/core/rmem_default net/core/rmem_max
    net/core/wmem_default net/core/wmem_max net/core/rps_sock_flow_entries
    net/ipv4/ip_forward net/ipv4/udp_mem net/ipv4/udp_rmem_min""".split()


def sysctl(name):
    try:
        return Path("/proc/sys", name).read_text().split()
    except OSError:
        return None


def listing(path):
    return set(os.listdir(path)) if os.path.isdir(path) else set()


@functools.cache
def our_program_names():
    """As the kernel keeps them, cut to 15 characters."""
    source = "".join(p.read_text() for p in ROOT.glob("bpf/*.bpf.c"))
    return {name[:15] for name in re.findall(r'^SEC\("[^".]+"\)\s+int (\w+)\(', source, re.M)}


def our_programs():
    shown = subprocess.run(["bpftool", "-j", "prog", "show"], capture_output=True, text=True,
                           check=False)
    if shown.returncode:
        return set()
    names = our_program_names()
    return {f"{p['name']} {p['id']}" for p in json.loads(shown.stdout) if p.get("name") in names}


def held_programs():
    """Ids of programs that a living process holds, itself or by a link."""
    ids = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            for info in (process / "fdinfo").iterdir():
                with contextlib.suppress(OSError):
                    ids.update(re.findall(r"^prog_id:\s+(\d+)", info.read_text(), re.M))
    return ids


def is_of_another(name, gone):
    """By the number of its process, which tests have in the names of what they make."""
    return any(int(pid) != os.getpid() and (gone or os.path.exists(f"/proc/{pid}"))
               for pid in re.findall(r"^pl-[a-z]+-(\d+)", name))


class Host:
    """What a test could leave behind. `mounts`: in /run and /sys/fs/bpf, too. `programs`: of BPF, too."""

    def __init__(self, mounts=True, programs=True):
        self.mounts = mounts
        self.look(programs)

    def look(self, programs=True):
        self.files = {"/sys/class/net": listing("/sys/class/net")}
        # those of others come and go; ours are called so
        for path, ours in (("/run/pktledger/journal", ""), ("/run/netns", "pl-"),
                           ("/run/pktledger/labs", "pl-"), ("/sys/fs/bpf", "pktledger")):
            if self.mounts:
                self.files[path] = {name for name in listing(path) if name.startswith(ours)}
        self.sysctls = {name: sysctl(name) for name in SYSCTLS}
        self.programs = our_programs() if programs else set()

    def difference(self, programs=True):
        """What is another now, but for what another living test has made."""
        now = Host(self.mounts, programs)
        found = {f"{path}/{name}" for path, names in self.files.items()
                 for name in now.files[path] ^ names if not is_of_another(name, name in names)}
        found |= {f"{name} was {value}, is {now.sysctls[name]}"
                  for name, value in self.sysctls.items() if now.sysctls[name] != value}
        orphans = now.programs - self.programs
        if orphans:
            held = held_programs()
            found |= {f"BPF program {p}" for p in orphans if p.split()[1] not in held}
        return found

    def assert_same(self, seconds, programs=True):
        """The kernel takes down namespaces and programs in its own time. What was not there for a
        moment was not left behind, whatever has come since: others work on this host, too."""
        end = time.monotonic() + seconds * PATIENCE
        left = self.difference(programs)
        while left:
            assert time.monotonic() < end, "left behind: " + "; ".join(sorted(left))
            time.sleep(0.02)
            left &= self.difference(programs)


# The cases


def comment(text):
    """Its beginning and its end: the document of a search has thousands of lines."""
    lines = str(text).rstrip().splitlines()
    if len(lines) > 2 * SHOWN:
        lines[SHOWN:-SHOWN] = [f"... {len(lines) - 2 * SHOWN} lines ..."]
    for line in lines:
        print("#", line if len(line) <= LONGEST else f"{line[:LONGEST]} ...")


class Outcome:
    """Of a case: its lines, what went wrong, how often it ran again."""

    def __init__(self, name, function, args, rooted):
        running.name, running.repeated, running.named = name, [], set()
        self.name, self.error, self.reason = name, None, None
        try:
            if rooted and not hasattr(function, "rootless"):
                require_root()
            function(*args)
        except Skip as reason:
            self.reason = " ".join(str(reason).split())
        except Exception as error:  # pylint: disable=broad-except
            self.error = error
        self.repeated = len(running.repeated)

    def show(self, number):
        """Prints the case's line; returns whether it failed."""
        if self.error:
            print(f"not ok {number} - {self.name}" + self.said_repeated())
            import traceback
            at = [f for f in traceback.extract_tb(self.error.__traceback__) if f.filename.startswith(
                  str(ROOT))][-1]
            comment(f"{Path(at.filename).name}:{at.lineno}: {at.line}")
            comment(f"{type(self.error).__name__}: {self.error}")
        elif self.reason is not None:
            print(f"ok {number} - {self.name} # SKIP {self.reason}")
        else:
            print(f"ok {number} - {self.name}" + self.said_repeated())
        return bool(self.error)

    def said_repeated(self):
        return f" # REPEATED {self.repeated}" if self.repeated else ""


def run_cases(host, first_number, group, last):
    """Those of a group at once; returns whether each failed. After the last one no program of BPF is
    left either: all processes are asked for those that they hold, which takes long."""
    def attempt(named):
        return Outcome(*named, host is not None)

    if len(group) == 1:
        outcomes = [attempt(group[0])]  # in the thread that has the signals
    else:
        from concurrent.futures import ThreadPoolExecutor  # most programs have no such group
        with ThreadPoolExecutor(len(group)) as threads:
            outcomes = list(threads.map(attempt, group))
    try:
        if host:
            host.assert_same(5, last)
    except AssertionError as error:
        outcomes[-1].error = outcomes[-1].error or error
    if host and any(o.error for o in outcomes):
        host.look()  # what it left behind is not the next one's
    return [o.show(number) for number, o in enumerate(outcomes, first_number)]


def grouped(wanted):
    """Lists of cases that run at once; most are of one case."""
    both = [c for c in wanted if hasattr(c[1], "together")]
    yield from (both[i:i + TOGETHER] for i in range(0, len(both), TOGETHER))
    yield from ([c] for c in wanted if c not in both)


def is_exclusive(name, function, args):
    return any(word in f"{name} {args}" for word in getattr(function, "exclusive", ()))


def main(all_exclusive=False):
    """Runs the cases whose names contain one of the arguments; all without arguments.

    Cases of a program that was imported for its helpers do not run.
    """
    part = os.environ.get("PKTLEDGER_TEST_CASES")  # of tests/run
    wanted = [c for c in cases if c[1].__module__ == "__main__"
              and (not sys.argv[1:] or any(a in c[0] for a in sys.argv[1:]))
              and (not part or (all_exclusive or is_exclusive(*c)) == (part == "exclusive"))]
    sys.stdout.reconfigure(line_buffering=True)
    print(f"1..{len(wanted)}")
    if not wanted and sys.argv[1:]:
        print(f"# no case has {' or '.join(map(repr, sys.argv[1:]))} in its name", file=sys.stderr)
        sys.exit(2)
    if not wanted:
        return
    # unit tests leave the host alone, and run beside others that do not
    host = None if Path(sys.argv[0]).resolve().parent.name == "unit" else Host()
    failed = []
    for group in grouped(wanted):
        failed += run_cases(host, len(failed) + 1, group, len(failed) + len(group) == len(wanted))
    sys.exit(any(failed))
