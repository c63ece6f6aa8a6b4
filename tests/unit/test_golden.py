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
import random
import re
import shlex
import struct
import sys
import termios
import threading
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from html_check import Page
from lib import EVERYTHING, ROOT, case, directory, main, pktledger, require, rootless, table, validator

GOLDEN = ROOT / "tests/golden"
SOURCES = "json", "ledger", "args"
VIEWS = {"txt": [], "csv": ["--csv"], "v.txt": ["-v"], "q.txt": ["-q"], "all.json": ["-j"],
         "redacted.txt": ["--redact"], "redacted.json": ["--redact", "-j"], "matrix.txt": ["--matrix"],
         "second.txt": ["--number", "2"], "headline.txt": ["--html", "-"], "wide.txt": ["-v"],
         "page.txt": ["--html", "-"], "redacted-page.txt": ["--redact", "--html", "-"],
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
VARIED = RESULTS if EVERYTHING else {name.partition("-")[0]: name for name in RESULTS}.values()  # one of each kind
PLAIN = [name for name, file in RESULTS.items() if not file.endswith(".args")]
DOCUMENTS = [name for name in RESULTS.values() if name.endswith(".json")]


def words(result):
    path = GOLDEN / RESULTS[result]
    return shlex.split(path.read_text()) if path.suffix == ".args" else [path.name]


def shown(result, options, width=None, page=False):
    """stdout, stderr and the exit status; on a terminal if it has a width. Of a page the headlines, or `page`: all
    that is read without its script, but for the text of the command."""
    args = ["report", *options, *words(result)]
    if width:
        done, out = on_terminal(width, args)
    else:
        done = pktledger(*args, cwd=GOLDEN, env=ENVIRONMENT)
        out = pretty(done.json) if "-j" in options else done.out
        if page:
            out = "".join(f"{line.strip()}\n" for line in Page(out).text.partition("In full")[0].splitlines()
                          if line.strip())
        elif "--html" in options:
            out = "\n".join(re.findall("<h1>(.*?)</h1>", out) + Page(out).view["headlines"]) + "\n"
    return out + done.err + (f"exit status {done.status}\n" if done.status else "")


def pretty(document):
    """Without the start, which is about this call of `report`."""
    return json.dumps({**document, "start": None}, indent=1, ensure_ascii=False) + "\n"


END = b"\0"  # no output contains it


def on_terminal(width, args):
    """The result, and what the terminal got: all before a byte that is written after it. The terminal stays open
    until that byte is read, because n_tty_read() may find it closed before it finds what was written last."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 25, width, 0, 0))
    mode = termios.tcgetattr(slave)
    mode[1] &= ~termios.OPOST
    termios.tcsetattr(slave, termios.TCSANOW, mode)
    text = bytearray()

    def read():
        while not text.endswith(END):
            text.extend(os.read(master, 65536))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        done = pktledger(*args, cwd=GOLDEN, env=ENVIRONMENT, stdout=slave)
    finally:
        os.write(slave, END)
        reader.join()
        os.close(slave)
        os.close(master)
    return done, text.decode().rstrip("\0")


def without_colour(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def assert_tidy(text, width):
    """Within the width, no blanks at the end, and no control character of a name reaches the terminal."""
    for line in text.splitlines():
        assert line == line.rstrip(), f"ends with blanks: {line!r}"
        assert len(line) <= width or line.startswith(UNBROKEN), f"{len(line)} columns: {line}"
        assert line.isprintable(), f"control character: {line!r}"


@table([(name, name) for name in EXPECTED])
@rootless
def output(name):
    result, _, view = name.partition(".")
    width = WIDTHS.get(view)
    text = without_colour(shown(result, VIEWS[view], width, "page" in view))
    if view.endswith("txt"):
        assert_tidy(text, 6 * WIDTH if "--html" in VIEWS[view] else width or WIDTH)
    if name in NAMED:
        (GOLDEN / name).write_text(text)
    expected = (GOLDEN / name).read_text()
    difference = difflib.unified_diff(expected.splitlines(), text.splitlines(), "expected", "now", n=1, lineterm="")
    assert text == expected, "\n".join([name, *difference])


@table([(name, name) for name in VARIED])
@rootless
def colour_adds_nothing_else(result):
    text = shown(result, ["-v"], WIDTH)
    assert without_colour(text) == shown(result, ["-v"]), text


@table([(name, name) for name in VARIED if name not in ("run-error-alone", "captures-empty")])
@rootless
def page(result):
    """It has the text of `report`, and the document, from which `report` makes the same page again."""
    made = pktledger("report", "--html", "-", *words(result), cwd=GOLDEN, env=ENVIRONMENT)
    text = pktledger("report", *words(result), cwd=GOLDEN, env=ENVIRONMENT)
    assert made.status == text.status in (0, 4) and made.err == text.err, (made.err, text.err)
    found = Page(made.out)
    assert found.pre == text.out, found.pre
    told = pktledger("report", "-j", *words(result), cwd=GOLDEN, env=ENVIRONMENT).json
    for key in "matrix", "comparison":
        assert found.view.get(key) == told.get(key), (found.view, told)
    if RESULTS[result].endswith(".json"):
        (document,), golden = found.documents, json.loads((GOLDEN / RESULTS[result]).read_text())
        assert document["start"] == golden["start"], document["start"]
        assert document.get("end") == golden.get("end"), document.get("end")
        with directory() as where:
            (where / "page.html").write_text(made.out)
            again = pktledger("report", "--html", "-", str(where / "page.html"), env=ENVIRONMENT)
            assert Page(again.out).documents == found.documents, again


@table([(" ".join([result, *end]), result, end) for result, end in [
    ("run-losses", {"unaccounted": 5}), ("run-losses", {"sent": -1}), ("run-losses", {"delivered": 99999999}),
    ("run-losses", {"stages": None}), ("run-losses", {"impossible": 1}), ("balance-both", {"unaccounted": 5}),
    ("balance-both", {"delivered": 1}), ("send", {"refused": 99999999}),
]])
@rootless
def contradictions(result, end):
    document = json.loads((GOLDEN / f"{result}.json").read_text())
    document["end"].update(end)
    with directory() as where:
        (where / "edited.json").write_text(json.dumps(document))
        shown, told = (pktledger("report", *how, str(where / "edited.json")) for how in ([], ["-j"]))
    assert shown.status == told.status == 4, shown
    assert "contradict each other" in shown.out and "\nbalanced" not in shown.out, shown
    (document,) = told.json["documents"]
    assert document["sums_agree"] is False and document["end"].get("balanced", False) is False, document


OTHER = [None, True, -1, 2 ** 64 - 1, 1e308, [], [[1]], [{}], {"stage": 1}, "", [None], "x" * 20000,
         "<b id=zq></script><!--<script>\"'&\u00e9\u0001\u001b[2J"]


def spoilt(value, dice, depth=0):
    """The same with another value in the place of some members."""
    if isinstance(value, list):
        return [spoilt(item, dice, depth + 1) for item in value]
    if not isinstance(value, dict) or depth > 8:
        return value
    return {key: dice.choice(OTHER) if dice.random() < 0.04 else spoilt(item, dice, depth + 1)
            for key, item in value.items()}


def write_spoilt(source, path, dice):
    if source.suffix == ".json":
        path.write_text(json.dumps(spoilt(json.loads(source.read_text()), dice)))
        return
    lines = [json.loads(line[9:]) for line in source.read_bytes().splitlines() if line[8:9] == b" " and line[9:10]
             == b"{" and line.endswith(b"}")]
    texts = [json.dumps({**line, "data": spoilt(line.get("data"), dice)}).encode() for line in lines]
    path.write_bytes(b"".join(b"%08x %s\n" % (zlib.crc32(text), text) for text in texts))


WAYS = [[], ["-v"], ["-j"], ["--csv"], ["--redact"], ["--html", "-"], ["--html", "-"], ["--matrix"], ["--compare"],
        ["--compare", "--html", "-"], ["--join"]]


@table([(f"{seed}", seed) for seed in range(1000 if EVERYTHING else 30)])
@rootless
def any_result(seed):
    """Whatever a stranger has put into it: one error, or an output in which it is harmless."""
    dice = random.Random(seed)
    with directory() as where:
        paths = [where / "a", where / os.fsdecode(b"b\xff<b id=zq>\x1b[2J")]
        kind = dice.choice(PLAIN).partition("-")[0]
        pool = [name for name in PLAIN if name.startswith(kind)]
        for path in paths:
            write_spoilt(GOLDEN / RESULTS[dice.choice(pool)], path, dice)
        for options in dice.sample(WAYS, 3):
            both = {"--matrix", "--compare", "--join"} & set(options)
            files = paths if both else paths[seed % 2:][:1]
            result = pktledger("report", *options, *map(str, files), env=ENVIRONMENT)
            assert result.status in (0, 1, 2, 4), result
            assert result.err.count("error: ") == (result.status in (1, 2)), result
            if "--html" in options and result.status in (0, 4):
                Page(result.out)
                assert "<b id=zq>" not in result.out, result
            elif "-j" in options:
                assert result.json["schema"] == "pktledger/report/1", result
            else:
                assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", result.out), result


@table([(f"{seed}", seed) for seed in range(500 if EVERYTHING else 20)])
@rootless
def any_capture(seed):
    """One of its bytes in so many is another, or its end is missing."""
    dice = random.Random(seed)
    first = GOLDEN / "parts" / dice.choice(["number-a.pcap", "drops-a.pcap", "cut-a.pcap"])
    data = bytearray((GOLDEN / "parts" / first.name.replace("-a", "-b")).read_bytes())
    for _ in range(4):
        data[dice.randrange(len(data))] = dice.randrange(256)
    with directory() as where:
        (where / "b").write_bytes(data[:dice.choice([len(data), dice.randrange(len(data))])])
        for options in [], ["-j"], ["--match", "bytes"]:
            result = pktledger("report", *options, str(first), str(where / "b"))
            assert result.status in (0, 1, 2), result
            assert result.err.count("error: ") == (result.status > 0), result


def valid_part(validate, kind, part):
    return next(validate.descend(part, {"$ref": f"#/$defs/{kind}"}), None) is None


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
        required = validate.schema["$defs"].get(kind, {}).get("required", ()) if part else ()
        for key in required:
            value = part.pop(key)
            assert not valid_part(validate, kind, part), f"valid without {key} of {kind}"
            part[key] = 1 if isinstance(value, dict) else {"of": "another type"}
            assert not valid_part(validate, kind, part), f"valid with a wrong {key} of {kind}"
            if key == required[0]:
                assert not validate.is_valid(document), f"valid with a wrong {kind}"
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
