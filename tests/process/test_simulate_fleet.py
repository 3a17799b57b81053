"""The simulator's fleet as a command: always alike."""

from __future__ import annotations

import subprocess
import sys

from tests.kit.fleet.simulation.referee import FLEET_PROMISES
from tests.kit.places import ROOT
from tests.long.simulate_gateway import Schedules, play_all, play_fleet


def test_a_seed_of_a_fleet_gives_the_same_trace_whatever_the_hashes() -> None:
    words = ("--fleet", "--schedules", "20", "--seed", "5")
    other = subprocess.run(
        [sys.executable, "-m", "tests.long.simulate_gateway", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        env={"PYTHONHASHSEED": "1"},
    )
    run = Schedules(FLEET_PROMISES)
    for played in play_all(5, "", range(20), 1, play_fleet):
        run.add(played)
    assert other.stdout.splitlines()[-1] == run.line()
