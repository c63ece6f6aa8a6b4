#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Manuals and completion are made from the program's own tables, and say the same as --help."""

import copy
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import BINARY, ROOT, assert_valid, case, main, pktledger, require, table

MAN = ROOT / "tools/man/generate"
COMPLETION = ROOT / "tools/completion/generate"


@functools.cache
def tables():
    return pktledger("help", "--json").json


def document_names():
    return [*(c["name"] for c in tables()["commands"] if c["name"] not in ("top", "export")), "help"]


def generate(program, document, directory):
    """Runs a generator on the tables; returns how it ended."""
    source = Path(directory, "help.json")
    source.write_text(json.dumps(document))
    Path(directory, "schema").mkdir(exist_ok=True)
    for name in document_names():
        Path(directory, "schema", f"{name}.schema.json").write_text(pktledger("help", "--schema", name).out)
    return subprocess.run([program, source, Path(directory, "out")], capture_output=True,
                          text=True, check=False)


@functools.cache
def generated(program):
    """What a generator makes: {name: text}."""
    with tempfile.TemporaryDirectory() as directory:
        done = generate(program, tables(), directory)
        assert done.returncode == 0, done.stderr
        return {p.name: p.read_text() for p in Path(directory, "out").iterdir()}


@functools.cache
def long_options(command):
    """As --help shows them, at the beginning of their lines."""
    shown = pktledger(command, "--help", "all").out
    return set(re.findall(r"^  (?:-\w, )? *--([a-z0-9-]+)", shown, re.M))


@case
def tables_are_told():
    document = tables()
    assert_valid(document)
    listed = re.findall(r"^  ([a-z]+) ", pktledger("help").out, re.M)
    assert [c["name"] for c in document["commands"]] == listed, listed
    for command in document["commands"]:
        reported = {o["name"] for g in command["groups"] for o in g["options"]}
        assert reported == long_options(command["name"]), command["name"]
    for words in ("check", "--help", "-j"), ("help", "check", "--json"):
        alone = pktledger(*words).json
        assert_valid(alone)
        assert alone["commands"] == [c for c in document["commands"] if c["name"] == "check"]
    short = [s["name"] for s in document["stages"] for part in ("what", "causes", "remedy")
             if not re.fullmatch(r"[A-Z`].*[.]", s[part] or "", re.S)]
    assert not short, short


@case
def a_page_for_each_command():
    require(shutil.which("scdoc"), "needs scdoc")
    pages = generated(MAN)
    document = tables()
    for command in document["commands"]:
        page = pages[f"pktledger-{command['name']}.8"].replace("\\", "")
        missing = [o for o in long_options(command["name"]) if f"--{o}" not in page]
        assert not missing, (command["name"], missing)
        shown = " ".join(page.replace("\n", " ").replace("&", "").split())
        shown = re.sub(r"fB|fI|fR", "", shown)
        reported = " ".join(pktledger(command["name"], "--help", "all").out.split())
        for option in (o for g in command["groups"] for o in g["options"]):
            if option["default"] in (None, "", "none"):
                continue
            wanted = " ".join(f"(default: {option['default']}".replace("`", "").split())
            assert wanted in shown, (command["name"], option["name"], "manual")
            assert wanted in reported.replace("`", ""), (command["name"], option["name"], "--help")
        assert all(need["name"] in page for need in command["capabilities"]), command["name"]
    stages = pages["pktledger-stages.7"].replace("\\", "")
    assert all(s["name"] in stages for s in document["stages"])
    for name in document_names():
        assert f"pktledger/{name}/1" in pages["pktledger-json.5"], name


def assert_clean(pages, *linter):
    with tempfile.TemporaryDirectory() as directory:
        for name, text in pages.items():
            path = Path(directory, name)
            path.write_text(text)
            done = subprocess.run([*linter, path], capture_output=True, text=True, check=False)
            assert not done.stderr and done.returncode == 0, (name, done.stderr, done.stdout)


@case
def groff_has_no_warning():
    require(shutil.which("scdoc") and shutil.which("groff"), "needs scdoc and groff")
    assert_clean(generated(MAN), "groff", "-Kutf8", "-man", "-Tutf8", "-ww", "-z", "-rHY=0")


@case
def mandoc_has_no_warning():
    require(shutil.which("scdoc") and shutil.which("mandoc"), "needs scdoc and mandoc")
    assert_clean(generated(MAN), "mandoc", "-T", "lint", "-W", "warning")


def new_command(document):
    document["commands"].append({**document["commands"][0], "name": "shout"})


def lost_option(document):
    for command in document["commands"]:
        for group in command["groups"]:
            group["options"] = [o for o in group["options"] if o["name"] != "balance"]


@case
def what_is_missing_is_named():
    for change, word in ((new_command, "no page for shout"),
                         (lost_option, "no command has --balance")):
        document = copy.deepcopy(tables())
        change(document)
        with tempfile.TemporaryDirectory() as directory:
            done = generate(MAN, document, directory)
        assert done.returncode != 0 and word in done.stderr, done.stderr


def assert_commands_exist(lines):
    """What is typed, as (command, the rest of its line): the command has the options."""
    options = {c["name"]: {o["name"] for group in c["groups"] for o in group["options"]}
               for c in tables()["commands"]}
    for command, rest in lines:
        for option in re.findall(r"(?<![\w-])--([a-z][a-z0-9-]+)", rest.split(" # ")[0]):
            assert option in options[command], (command, option)


@case
def front_page():
    """Its commands have their options, its manuals and pictures are there, and it is short."""
    text = (ROOT / "README.md").read_text()
    lines = re.findall(r"^    (?:# )?pktledger ([a-z]+)(.*)", text, re.M)
    assert len(lines) > 6 and len(text.encode()) <= 9000, (len(lines), len(text.encode()))
    assert_commands_exist(lines)
    for page, section in re.findall(r"\b(pktledger(?:-[a-z]+)?)\((\d)\)", text):
        assert (ROOT / f"tools/man/{page}.{section}.scd").exists(), (page, section)
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", text)
    assert pictures and all((ROOT / path).exists() for path in pictures), pictures


@case
def exit_statuses():
    """The front page has those of the program, and no manual names another one."""
    known = [s["name"] for s in tables()["exit_status"]]
    listed = re.search(r"^Exit statuses: (.*?)\n\n", (ROOT / "README.md").read_text(), re.M | re.S)
    assert re.findall(r"(?:^|[,\n] ?)(\d) ", listed[1]) == known, (listed[1], known)
    for path in (ROOT / "tools/man").glob("*.scd"):
        for status in re.findall(r"exit\s+status\s+(?:is\s+)?(\d+)", path.read_text()):
            assert status in known, (path.name, status)


@case
def screens():
    """The picture is well-formed, of text only, and its commands can be typed."""
    path = ROOT / "tools/man/screens.svg"
    drawn = list(ElementTree.parse(path).getroot())
    kinds = {element.tag.rpartition("}")[2] for element in drawn}
    assert kinds == {"title", "style", "rect", "text"}, kinds
    assert path.stat().st_size <= 60000
    typed = [e.text for e in drawn if e.get("class") == "prompt"]
    lines = [re.fullmatch(r"# pktledger ([a-z]+)(.*)", line).groups() for line in typed]
    assert [command for command, _ in lines] == ["check", "trace", "top"], typed
    assert_commands_exist(lines)


# Completion


COMPLETED = [  # what was typed; what is to be offered, and what not
    ("pktledger ", ["run", "trace", "help"], None),
    ("pktledger tr", ["trace"], "run"),
    ("pktledger run --si", ["--size"], "--count"),
    ("pktledger trace --si", [], "--size"),
    ("pktledger run --tx ", ["auto", "socket", "xsk", "xdp"], "help"),
    ("pktledger run --tx x", ["xsk", "xdp"], "auto"),
    ("pktledger run --tx=x", ["xsk", "xdp"], "auto"),  # bash divides at =
    ("pktledger run -c 5 --rx s", ["socket"], "xsk"),
    ("pktledger run --fault rcvbuf,tx", ["rcvbuf,tx_device"], "tx_device"),
    ("pktledger run --fault ip_forward:t", ["ttl"], "ip_forward:ttl"),  # and at :
    ("pktledger run --fault rcvbuf,ip_forward:", ["ttl"], "rcvbuf"),
    ("pktledger trace --stage=rcvbuf,back", ["rcvbuf,backlog"], "backlog"),
    ("pktledger trace -i l", ["lo"], None),
    ("pktledger run --ledger /etc/host", ["/etc/hosts"], None),
    ("pktledger lab ", ["up", "down", "list"], None),
    ("pktledger trace -- unsh", ["unshare"], None),
    ("pktledger nosuch --", [], "--count"),
    ("pktledger help re", ["report"], "run"),
    ("pktledger report /etc/passw", ["/etc/passwd"], "/etc"),
    ("pktledger check --explain rcvbuf-b", ["rcvbuf-burst", "rcvbuf-busy"], "rcvbuf"),
    ("pktledger run --limit rcv", ["rcvbuf="], "loss="),
    ("pktledger check --limit ", ["warning", "never"], "rcvbuf="),
    ("pktledger sweep --vary rcv", ["rcvbuf="], "vary="),
]
if (BINARY.parent / "../tools/presets").exists():  # where the program looks for them
    COMPLETED.append(("pktledger sweep --preset mil", ["million"], "buffers"))

SHELL = """
source "$1"; shift
for COMP_LINE; do
    COMP_POINT=${#COMP_LINE}
    _pktledger
    echo "${COMPREPLY[@]}"
done
"""


@case
def bash_offers_what_fits():
    with tempfile.TemporaryDirectory() as directory:
        script = Path(directory, "completion")
        script.write_text(generated(COMPLETION)["pktledger"])
        done = subprocess.run(["bash", "-c", SHELL, "bash", script, *(c[0] for c in COMPLETED)],
                              capture_output=True, text=True, check=True,
                              env={**os.environ, "PATH": f"{BINARY.parent}:{os.environ['PATH']}"})
    assert not done.stderr, done.stderr
    offers = done.stdout.splitlines()
    for (line, wanted, other), offered in zip(COMPLETED, map(str.split, offers), strict=True):
        assert set(wanted) <= set(offered) and other not in offered, (line, offered)


@case
def fish_offers_what_fits():
    require(shutil.which("fish"), "needs fish")
    with tempfile.TemporaryDirectory() as directory:
        script = Path(directory, "completion.fish")
        script.write_text(generated(COMPLETION)["pktledger.fish"])
        for line, wanted, other in COMPLETED[:6]:
            done = subprocess.run(["fish", "--no-config", "-c", f'source {script}; complete -C "{line}"'],
                                  capture_output=True, text=True, check=True)
            offered = [row.split("\t")[0] for row in done.stdout.splitlines()]
            assert set(wanted) - {"help"} <= set(offered) and other not in offered, (line, offered)


@table([(linter[0], name, linter) for name, *linter in [
    ("pktledger", "shellcheck", "-s", "bash", "-e", "SC2034"),  # unused: COMPREPLY
    ("_pktledger", "zsh", "-n"),
    ("pktledger.fish", "fish", "--no-execute"),
]])
def accepted_by(name, linter):
    require(shutil.which(linter[0]), f"needs {linter[0]}")
    assert_clean({name: generated(COMPLETION)[name]}, *linter)


@case
def every_shell_knows_all_options():
    made = generated(COMPLETION)
    for command in tables()["commands"]:
        for option in long_options(command["name"]):
            assert f"--{option}" in made["pktledger"], option
            assert f"--{option}" in made["_pktledger"], option
            assert re.search(rf"from {command['name']}' -l {option} ", made["pktledger.fish"]
                             ), option


if __name__ == "__main__":
    main()
