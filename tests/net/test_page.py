#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Pages of `report --html` of real runs say what the runs said."""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from html_check import Page, assert_true
from lib import case, main, pktledger, require_root, run


@case
def a_run_and_its_page():
    """Three losses on the way: the picture, the data and the run's own document are the same."""
    require_root()
    with tempfile.TemporaryDirectory(prefix="pl-test-") as directory:
        file, out = f"{directory}/run.ledger", f"{directory}/page.html"
        told = run("-c", "30k", "--rate", "60k", "-I", "50ms", "--fault",
                   "qdisc:replace,netfilter,xdp", "--ledger", file)
        result = pktledger("report", "--html", out, file)
        assert result.status == 0, result
        page = Page(Path(out).read_text())
        assert_true(page)
        kept = {d["start"]["time"]: d for d in page.documents}  # run() may have tried again
        assert kept[told["start"]["time"]]["end"] == told["end"]
        for stage in told["end"]["stages"]:
            assert f"{stage['packets']:,}" in page.text, stage
        histogram = told["end"]["latency_histogram"]
        assert sum(b["packets"] for b in histogram) == told["end"]["delivered"]


if __name__ == "__main__":
    main()
