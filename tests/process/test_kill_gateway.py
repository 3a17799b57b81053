"""A short run of `tests.long.kill_gateway`; the long one is a command."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.kit.places import ROOT

FUSE_SECONDS = 600


@pytest.mark.skipif(sys.platform != "linux", reason="the agent is found in /proc")
@pytest.mark.real_start
def test_twenty_kills_and_reloads_of_gateway_and_agent_lose_nothing_and_double_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.long.kill_gateway", "--kills", "20", "--seed", "4"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=FUSE_SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    last = done.stdout.splitlines()[-1]
    assert last == "kills=20 lost=0 double=0 unanswered=0 untyped=0 left=0"
