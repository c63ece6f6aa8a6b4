# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What is shipped for Prometheus and Grafana, and what it asks for."""

import json
import re

from lib import ROOT

RULES = ROOT / "tools/prometheus/pktledger.rules.yml"
CONFIG = ROOT / "tools/prometheus/prometheus.yml"
DASHBOARD = ROOT / "tools/grafana/pktledger.json"


def dashboard():
    return json.loads(DASHBOARD.read_text())


def dashboard_queries(window="1m"):
    """All of the panels, with the variables as they are when nothing was chosen."""
    values = {"$instance": ".*", "$stage": ".*", "$__rate_interval": window, "$__range": window}
    for panel in dashboard()["panels"]:
        for target in panel.get("targets", []):
            yield re.sub(r"\$\w+", lambda m: values[m[0]], target["expr"])


def dashboard_labels():
    """Metric and label of each variable."""
    for variable in dashboard()["templating"]["list"]:
        if variable["type"] == "query":
            yield re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["definition"]).groups()


def rules():
    """Name, expression and limit of each alert."""
    text = re.sub(r">-\n\s+", "", RULES.read_text())
    text = re.sub(r"\n\s+> ", " > ", text)
    for name, expr in re.findall(r"- alert: (\w+)\n\s+expr: (.*)", text):
        yield (name, *re.fullmatch(r"(.*?) ([<>] [\d.]+)", expr).groups())
