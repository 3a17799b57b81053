"""The gateway's simulator: it holds for the real hub, and sees what is wrong."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from unittest import mock

import pytest

from tests.kit.gateway.mutants import MUTANTS
from tests.kit.rows import every
from tests.long.simulate_gateway import Schedules, main, play_all

pytestmark = pytest.mark.no_cover  # thousands of turns, whose lines other tests reach

CLEAN = re.compile(
    r"schedules=(\d+) lost=0 double=0 disorder=0 untold=0 unanswered=0 trace=[0-9a-f]{16}"
)


FOUND_AS = {
    "send_before_commit": {"V3"},
    "live_path": {"lost", "disorder"},
    "end_overtakes": {"V5"},
    "joins_the_live": {"joined"},
    "forgets_the_id": {"lost"},
}


def _run(*arguments: str) -> str:
    said = io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["simulate_gateway", *arguments]),
        contextlib.redirect_stdout(said),
    ):
        status = main()
    assert status == ("--mutant" in arguments), said.getvalue()
    return said.getvalue()


def test_sessions_with_accidents_of_every_kind_keep_every_promise() -> None:
    said = _run("--schedules", "600", "--seed", "1")
    found = CLEAN.fullmatch(said.splitlines()[-1])
    assert found is not None, said
    assert int(found[1]) == 600


@every("mutant", MUTANTS)
def test_a_wrongly_assembled_gateway_is_caught(mutant: str) -> None:
    run = Schedules()
    for played in play_all(1, mutant, range(1000), 1):
        run.add(played)
        if FOUND_AS[mutant] <= run.broken.keys():
            break
    assert FOUND_AS[mutant] <= run.broken.keys()
    assert run.first_failing


def test_a_schedule_can_be_played_alone_and_a_failing_one_is_named() -> None:
    assert _run("--schedule", "7").startswith("schedules=1 ")
    assert re.match(r"schedule \d+: \w+: ", _run("--schedules", "20", "--mutant", "live_path"))
