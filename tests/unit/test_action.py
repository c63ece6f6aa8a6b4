#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The GitHub Action and the workflows: what the action runs, and what it leaves for the next steps."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import ROOT, case, main, require, thorough

ACTION = ROOT / "tools/action"
WORKFLOWS = ROOT / ".github/workflows"
PROGRAM = """#!/bin/sh
if [ "$1" = report ]; then
    [ "$2 $3" = "-q --html" ] && cp "$5" "$4"
    exit
fi
printf '%s\\n' "$@" >"$HERE/arguments"
echo "a ledger"
: >"$3" >"$5"
exit 4
"""


def act(where, **given):
    program = Path(where, "program")
    program.write_text(PROGRAM, "utf-8")
    program.chmod(0o755)
    for name in ("output", "summary"):
        Path(where, name).touch()
    env = {**os.environ, "HERE": where, "RUNNER_TEMP": where, "PROGRAM": str(program),
           "GITHUB_OUTPUT": f"{where}/output", "GITHUB_STEP_SUMMARY": f"{where}/summary", **given}
    return subprocess.run([ACTION / "run"], env=env, capture_output=True, text=True, check=False)


@case
def keeps_the_result_of_an_exceeded_limit():
    """As root, so that no sudo is looked for."""
    require(os.geteuid() == 0, "needs root")
    with tempfile.TemporaryDirectory() as where:
        done = act(where, COMMAND="trace", ARGS="--limit\nloss=0\n--\n./tests with a blank\n")
        assert done.returncode == 4, done
        words = Path(where, "arguments").read_text("utf-8").splitlines()
        assert words[0] == "trace" and words[1] == "--ledger" and words[3] == "--junit", words
        assert words[5:] == ["--limit", "loss=0", "--", "./tests with a blank"], words
        outputs = dict(line.split("=", 1) for line in
                       Path(where, "output").read_text("utf-8").splitlines())
        assert outputs["status"] == "4"
        assert {p.name for p in Path(outputs["directory"]).iterdir()} == {
            "pktledger.html", "pktledger.ledger", "pktledger.xml", "pktledger.txt"}
        assert "a ledger" in Path(where, "summary").read_text("utf-8")


@case
def inputs_are_used():
    """Each input of action.yml reaches the script or a step."""
    text = (ACTION / "action.yml").read_text("utf-8")
    action = yaml.safe_load(text)
    used = set(re.findall(r"\binputs\.(\w+)", text))
    assert used == set(action["inputs"]), used ^ set(action["inputs"])
    step = action["runs"]["steps"][0]
    script = (ACTION / "run").read_text("utf-8")
    for name in step["env"]:
        assert re.search(rf"\$\{{?{name}\b", script), name


@case
def workflows_run_what_is_here():
    """Steps are our own commands: each make target exists, and each file."""
    steps = [step for path in WORKFLOWS.glob("*.yml")
             for job in yaml.safe_load(path.read_text("utf-8"))["jobs"].values()
             for step in job["steps"]]
    commands = "\n".join(step.get("run", "") for step in steps)
    targets = set(re.findall(r"\bmake (?:--silent )?(\w+)", commands))
    assert targets == {"checksums", "notes"}, targets
    subprocess.run(["make", "-n", *targets, "release"], cwd=ROOT, capture_output=True, check=True)
    assert set(re.findall(r"\./tools/setup (\w+)", commands)) == {"test", "release"}


@thorough
def accepted_by_actionlint():
    """It is no package of Debian: go install github.com/rhysd/actionlint/cmd/actionlint@latest"""
    require(shutil.which("actionlint"), "needs actionlint")
    done = subprocess.run(["actionlint", *WORKFLOWS.glob("*.yml")], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stdout


if __name__ == "__main__":
    main()
