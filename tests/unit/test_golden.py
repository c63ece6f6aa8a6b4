#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Results in tests/golden, and the output of `report` for each of them.

NAME.json and NAME.ledger are results; NAME.args has the words of a command for several results. Each
NAME.VIEW (see VIEWS) is an expected output and a case: stdout, stderr, and an exit status other than 0.
`UPDATE=1 tests/unit/test_golden.py FILE ...` writes the named expected outputs and no others.
"""

import difflib
import fcntl
import json
import os
import pty
import re
import shlex
import struct
import sys
import termios
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import ROOT, case, main, pktledger, require, rootless, table, validator

GOLDEN = ROOT / "tests/golden"
SOURCES = "json", "ledger", "args"
VIEWS = {"txt": [], "csv": ["--csv"], "v.txt": ["-v"], "q.txt": ["-q"], "all.json": ["-j"],
         "redacted.txt": ["--redact"], "redacted.json": ["--redact", "-j"], "matrix.txt": ["--matrix"],
         "second.txt": ["--number", "2"], "wide.txt": ["-v"],
         "window.txt": ["--since", "2024-05-01T12:00:04Z", "--until", "2024-05-01T12:00:05Z"]}
WIDTHS = {"wide.txt": 170}
WIDTH = 80
MOST = 3 << 20  # bytes of all files
UNBROKEN = "  command ", "  undo ", "error: ", "warning: "  # lines to be pasted, and messages
ENVIRONMENT = {**os.environ, "TZ": "UTC", "TERM": "xterm"}
NAMED = sys.argv[1:] if os.environ.get("UPDATE") else []

FILES = sorted({path.name for path in GOLDEN.iterdir() if path.is_file()} | set(NAMED))
RESULTS = {name.partition(".")[0]: name for name in FILES if name.partition(".")[2] in SOURCES}
EXPECTED = [name for name in FILES if name not in RESULTS.values()]
DOCUMENTS = [name for name in RESULTS.values() if name.endswith(".json")]


def words(result):
    path = GOLDEN / RESULTS[result]
    return shlex.split(path.read_text()) if path.suffix == ".args" else [path.name]


def shown(result, options, width=None):
    """stdout, stderr and the exit status; on a terminal if it has a width."""
    args = ["report", *options, *words(result)]
    if width:
        done, out = on_terminal(width, args)
    else:
        done = pktledger(*args, cwd=GOLDEN, env=ENVIRONMENT)
        out = pretty(done.json) if "-j" in options else done.out
    return out + done.err + (f"exit status {done.status}\n" if done.status else "")


def pretty(document):
    """Without the start, which is about this call of `report`."""
    return json.dumps({**document, "start": None}, indent=1, ensure_ascii=False) + "\n"


def on_terminal(width, args):
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 25, width, 0, 0))
    mode = termios.tcgetattr(slave)
    mode[1] &= ~termios.OPOST
    termios.tcsetattr(slave, termios.TCSANOW, mode)
    pieces = []

    def read():
        try:
            while piece := os.read(master, 65536):
                pieces.append(piece)
        except OSError:  # the other end is closed
            pass

    reader = threading.Thread(target=read)
    reader.start()
    done = pktledger(*args, cwd=GOLDEN, env=ENVIRONMENT, stdout=slave)
    os.close(slave)
    reader.join()
    os.close(master)
    return done, b"".join(pieces).decode()


def without_colour(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def assert_tidy(text, width):
    """Within the width, and no control character of a name reaches the terminal."""
    for line in text.splitlines():
        assert len(line) <= width or line.startswith(UNBROKEN), f"{len(line)} columns: {line}"
        assert line.isprintable(), f"control character: {line!r}"


@table([(name, name) for name in EXPECTED])
@rootless
def output(name):
    result, _, view = name.partition(".")
    width = WIDTHS.get(view)
    text = without_colour(shown(result, VIEWS[view], width))
    if view.endswith("txt"):
        assert_tidy(text, width or WIDTH)
    if name in NAMED:
        (GOLDEN / name).write_text(text)
    expected = (GOLDEN / name).read_text()
    difference = difflib.unified_diff(expected.splitlines(), text.splitlines(), "expected", "now", n=1, lineterm="")
    assert text == expected, "\n".join([name, *difference])


@table([(name, name) for name in RESULTS])
@rootless
def colour_adds_nothing_else(result):
    text = shown(result, ["-v"], WIDTH)
    assert without_colour(text) == shown(result, ["-v"]), text


@table([(name, name) for name in DOCUMENTS])
@rootless
def schema(name):
    """It is valid, but not without its end, without a required key, or with one of another type."""
    document = json.loads((GOLDEN / name).read_text())
    validate = validator(document["schema"].split("/")[1])
    require(validate, "needs python3-jsonschema")
    assert validate.is_valid(document) == ("end" in document or "error" in document), name
    stages = document.get("end", {}).get("stages") or [None]
    for kind, part in ("start", document.get("start")), ("end", document.get("end")), ("stage", stages[0]):
        for key in validate.schema["$defs"].get(kind, {}).get("required", ()) if part else ():
            value = part.pop(key)
            assert not validate.is_valid(document), f"valid without {key} of {kind}"
            part[key] = 1 if isinstance(value, dict) else {"of": "another type"}
            assert not validate.is_valid(document), f"valid with a wrong {key} of {kind}"
            part[key] = value


@table([(command, command) for command in (
    "run", "send", "recv", "trace", "sweep", "search", "check", "lab", "report", "selftest", "help")])
@rootless
def references(command):
    """Each leads to a type."""
    document = pktledger("help", "--schema", command).json
    text = json.dumps(document)
    assert document["title"] and not re.search(r'"":', text), document["title"]
    assert set(re.findall(r'"#/\$defs/(\w+)"', text)) <= document.get("$defs", {}).keys(), command


@case
@rootless
def types_words_and_what_is_always_there():
    assert pktledger("help", "--schema", "ru").status == 2
    definitions = pktledger("help", "--schema", "run").json["$defs"]
    cause, end = definitions["cause"], definitions["end"]
    assert cause["properties"]["stream"] == {"type": "integer", "minimum": 0, "maximum": 65535}, cause
    assert end["properties"]["sent"]["maximum"] == 2 ** 64 - 1, end
    assert definitions["counter"]["properties"]["scope"] == {"enum": ["flow", "interface", "host", None]}
    assert {"reason"} <= {*cause["required"]} and "host" not in cause["required"], cause
    told = re.findall(r"^  (\w+)  ", pktledger("run", "--topology", "help").out, re.M)
    assert f'"enum": {json.dumps(told)}' in json.dumps(definitions["start"]["properties"]["lab"]), told


@case
@rootless
def each_result_has_its_outputs():
    names = {name.partition(".")[0] for name in EXPECTED if name.endswith(".txt")}
    assert names == set(RESULTS), names ^ set(RESULTS)
    assert all(name.partition(".")[2] in VIEWS for name in EXPECTED), EXPECTED
    tables = {name.partition(".")[0] for name in EXPECTED if name.endswith(".csv")}
    assert all(RESULTS[name].endswith(".args") for name in set(RESULTS) - tables), tables
    assert sum((GOLDEN / name).stat().st_size for name in FILES) < MOST


if __name__ == "__main__":
    main()
