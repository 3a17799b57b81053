"""A short run of `tests.long.kill_fleet`; the long one is a command."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.kit.fleet.servers import require_server
from tests.kit.places import ROOT

LAST = (
    r"reload=1 server=1 node=[12] stop=0"
    r" lost=0 double=0 unanswered=0 untyped=0 mixed=0 left=0"
)


@pytest.mark.matrix
def test_a_fleet_under_kills_loses_nothing_that_it_has_shown() -> None:
    require_server()
    kills = ("--kills", "1", "--sessions", "2", "--kinds", "reload,server,node", "--seed", "3")
    done = subprocess.run(
        [sys.executable, "-m", "tests.long.kill_fleet", *kills],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.fullmatch(LAST, done.stdout.splitlines()[-1])
