#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Dashboard, alerts and unit: sound, and about metrics that there are."""

import itertools
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import ROOT, case, main, pktledger, require, table
from prometheus import CONFIG, DASHBOARD, RULES, dashboard, dashboard_queries, rules

COLLECTOR = ROOT / "tools/otel/collector.yaml"
UNIT = ROOT / "tools/systemd/pktledger-export.service"


def exported():
    """Names of all samples, from the program's source."""
    source = (ROOT / "user/monitor/metrics.c").read_text()
    suffixes = {"counter": "_total", "gauge": "", "info": "_info"}
    found = re.findall(r'"(\w+)", &(counter|gauge|info)\b', source)
    found += [(name, "counter") for name in re.findall(r'put_series\(&w, "(\w+)"', source)]
    return {f"pktledger_{name}{suffixes[kind]}" for name, kind in found}


@table([("dashboard", DASHBOARD), ("alerts", RULES), ("collector", COLLECTOR)])
def metrics_are_exported(path):
    asked = set(re.findall(r"\bpktledger_\w+", path.read_text()))
    assert asked and asked <= exported(), asked - exported()


@case
def collector_knows_the_direction_of_stages():
    config = yaml.safe_load(COLLECTOR.read_text())
    groups = config["processors"]["transform"]["metric_statements"]
    statements = [s for group in groups for s in group["statements"]]
    named = {direction: set(stages.split("|")) for direction, stages in re.findall(
        r'"(transmit|receive)"\) where IsMatch\(attributes\["stage"\], "\^\((.*?)\)\$"\)',
        "\n".join(statements))}
    stages = set(re.findall(r'STAGE\(\w+, "(\w+)"', (ROOT / "include/stages.h").read_text()))
    assert named["transmit"] | named["receive"] < stages
    assert not named["transmit"] & named["receive"]
    # each label is mapped once, and does not stay beside its attribute
    labels = set(re.findall(r'delete_key\(attributes, "(\w+)"\)', "\n".join(statements)))
    assert labels == {"ifname", "stage", "reason"}, labels
    pipeline = config["service"]["pipelines"]["metrics"]
    for kind, names in pipeline.items():
        assert set(names) <= set(config[kind]), (kind, names)


@case
def alerts_name_their_stage():
    found = list(rules())
    assert len(found) == RULES.read_text().count("- alert:"), found
    for part in RULES.read_text().split("- alert: ")[1:]:
        if "stage_lost" in part or "lost_packets" in part:
            summary = re.search(r"summary: (.*)", part)[1]
            assert "$labels.stage" in summary or "rcvbuf" in summary, summary


def area(panel):
    at = panel["gridPos"]
    return {(x, y) for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])}


@case
def panels_have_room_and_a_source():
    panels = dashboard()["panels"]
    assert len({p["id"] for p in panels}) == len(panels)
    for one, other in itertools.combinations(panels, 2):
        assert not area(one) & area(other), (one["title"], other["title"])
    for panel in panels:
        assert max(x for x, _ in area(panel)) < 24, panel["title"]
        for target in panel.get("targets", []):
            assert target["datasource"]["uid"] == "${datasource}", panel["title"]
    assert len(list(dashboard_queries())) > 15


@table([
    ("rules", "check", "rules", RULES),
    ("configuration", "check", "config", "--syntax-only", CONFIG),
    ("alerts that fire", "test", "rules", ROOT / "tests/fixtures/export/rules-test.yml"),
])
def promtool_accepts(*words):
    require(shutil.which("promtool"), "needs promtool")
    done = subprocess.run(["promtool", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def unit_value(name):
    return re.findall(rf"^{name}=(.*)", UNIT.read_text(), re.M)


@case
def unit_has_the_capabilities_that_export_uses():
    command = next(c for c in pktledger("help", "-j").json["commands"] if c["name"] == "export")
    used = {n["name"]: n["without"] for n in command["capabilities"]}
    given = unit_value("AmbientCapabilities")[0].split()
    assert unit_value("CapabilityBoundingSet")[0].split() == given
    assert {n for n, without in used.items() if not without} <= set(given) <= set(used), given
    for hides_kallsyms in ("ProtectKernelTunables", "ProtectKernelLogs"):
        assert not unit_value(hides_kallsyms), hides_kallsyms


@case
def systemd_accepts_the_unit():
    require(shutil.which("systemd-analyze"), "needs systemd-analyze")
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", UNIT], capture_output=True,
                          text=True, check=False)
    said = [line for line in done.stderr.splitlines() if UNIT.name in line
            and "is not executable" not in line]  # it is not installed here
    assert not said, said


if __name__ == "__main__":
    main()
