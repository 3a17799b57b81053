"""The simulators of the gateway and of a fleet: they hold for the real parts, and see mutants."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from unittest import mock

import pytest

from tests.kit.rows import every
from tests.long.simulate_gateway import GAMES, Schedules, main

pytestmark = pytest.mark.no_cover  # thousands of turns, whose lines other tests reach

FOUND_AS = {
    "gateway": {
        "send_before_commit": {"V3"},
        "live_path": {"lost", "disorder"},
        "end_overtakes": {"V5"},
        "joins_the_live": {"joined"},
        "forgets_the_id": {"lost"},
    },
    "fleet": {
        "shows_before_replicated": {"unreplicated"},
        "lease_for_fence": {"terms", "mixed"},
        "renews_without_expiry": {"late"},
        "resends_unsettled": {"mixed", "terms"},
        "acknowledged_by_another": {"unreplicated", "terms"},
        "rebuilds_too_little": {"unreplicated", "mixed"},
    },
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


@every("game, count", [("gateway", 600), ("fleet", 300)])
def test_sessions_with_accidents_of_every_kind_keep_every_promise(game: str, count: int) -> None:
    run = Schedules(game, 1)
    for number in range(count):
        run.play(number)
    counts = " ".join(f"{promise}=0" for promise in GAMES[game].promises)
    assert re.fullmatch(rf"schedules={count} {counts} trace=[0-9a-f]{{16}}", run.line()), run.line()


@every("game, mutant", [(game, name) for game in FOUND_AS for name in GAMES[game].mutants])
def test_a_wrongly_assembled_gateway_is_caught(game: str, mutant: str) -> None:
    run = Schedules(game, 1, mutant)
    while not FOUND_AS[game][mutant] <= run.broken.keys():
        assert run.count < 1000, run.broken
        run.play(run.count)
    assert run.first_failing


def test_a_schedule_can_be_played_alone_and_a_failing_one_is_named() -> None:
    assert _run("--schedule", "7").startswith("schedules=1 ")
    assert re.match(r"schedule \d+: \w+: ", _run("--schedules", "20", "--mutant", "live_path"))
