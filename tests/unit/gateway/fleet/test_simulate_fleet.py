"""The simulator's fleet: it holds for the real parts, and sees what is wrong."""

from __future__ import annotations

import re

import pytest

from tests.kit.fleet.simulation.mutants import FLEET_MUTANTS
from tests.kit.fleet.simulation.referee import FLEET_PROMISES
from tests.kit.rows import every
from tests.long.simulate_gateway import Schedules, play_all, play_fleet

pytestmark = pytest.mark.no_cover  # thousands of turns, whose lines other tests reach

FOUND_AS = {
    "shows_before_replicated": {"unreplicated"},
    "lease_for_fence": {"terms", "mixed"},
    "renews_without_expiry": {"late"},
    "resends_unsettled": {"mixed", "terms"},
    "acknowledged_by_another": {"unreplicated", "terms"},
    "rebuilds_too_little": {"unreplicated", "mixed"},
}


def test_sessions_of_a_fleet_with_accidents_of_every_kind_keep_every_promise() -> None:
    run = Schedules(FLEET_PROMISES)
    for played in play_all(1, "", range(300), 1, play_fleet):
        run.add(played)
    counts = " ".join(f"{promise}=0" for promise in FLEET_PROMISES)
    assert re.fullmatch(rf"schedules=300 {counts} trace=[0-9a-f]{{16}}", run.line())


@every("mutant", FLEET_MUTANTS)
def test_a_wrongly_assembled_fleet_is_caught(mutant: str) -> None:
    run = Schedules(FLEET_PROMISES)
    for played in play_all(1, mutant, range(300), 1, play_fleet):
        run.add(played)
        if FOUND_AS[mutant] <= run.broken.keys():
            break
    assert FOUND_AS[mutant] <= run.broken.keys()
