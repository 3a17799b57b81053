"""The gateway under kills and reports, in short; `tests/long/outbox_kills.py` is the long form."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.kit.places import ROOT


def test_a_gateway_under_kills_reports_or_counts_each_failure() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.long.outbox_kills", "--kills", "10", "--seed", "3"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (kills, told) = re.findall(r"\b(?:kills|told)=(\d+)", done.stdout)
    assert int(kills) >= 10
    assert int(told) >= 5
    assert "untold=0 adds_up=True" in done.stdout
