"""The gateway's simulator: it holds for the real hub, always alike, and sees what is wrong."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.kit.gateway.mutants import MUTANTS
from tests.kit.places import ROOT
from tests.long.simulate_gateway import Schedules, play_all

CLEAN = re.compile(
    r"schedules=(\d+) lost=0 double=0 disorder=0 untold=0 unanswered=0 trace=[0-9a-f]{16}"
)


def _run(*arguments: str, hashes: str = "0") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.long.simulate_gateway", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={"PYTHONHASHSEED": hashes},
    )


def test_two_thousand_sessions_with_accidents_of_every_kind_keep_every_promise() -> None:
    done = _run("--schedules", "2000", "--seed", "1")
    assert done.returncode == 0, done.stdout
    found = CLEAN.fullmatch(done.stdout.splitlines()[-1])
    assert found is not None, done.stdout
    assert int(found[1]) == 2000


def test_a_seed_gives_the_same_trace_whatever_the_hashes_and_the_processes() -> None:
    traces = {_run("--schedules", "100", "--seed", "5", hashes=each).stdout for each in "12"}
    traces.add(_run("--schedules", "100", "--seed", "5", "--jobs", "2").stdout)
    assert len(traces) == 1
    assert _run("--schedules", "100", "--seed", "6").stdout not in traces


@pytest.mark.parametrize(
    ("mutant", "promises"),
    [
        ("send_before_commit", {"V3"}),
        ("live_path", {"lost", "disorder"}),
        ("end_overtakes", {"V5"}),
        ("reset_at_open", {"endless"}),
        ("joins_the_live", {"joined"}),
        ("forgets_the_id", {"lost"}),
        ("opens_again", {"reopened"}),
        ("answers_the_cut", {"unanswered"}),
        ("confuses_viewers", {"mistaken"}),
        ("one_id_one_session", {"mistaken"}),
        ("forgets_that_it_went_on", {"continued"}),
        ("forgets_the_cancel", {"continued"}),
        ("goes_on_late", {"continued"}),
    ],
)
def test_a_gateway_that_is_put_together_wrongly_is_seen(mutant: str, promises: set[str]) -> None:
    run = Schedules()
    for played in play_all(1, mutant, range(1000), 1):
        run.add(played)
        if promises <= run.broken.keys():
            break
    assert promises <= run.broken.keys()
    assert run.first_failing


def test_every_mutant_is_looked_for() -> None:
    looked_for = {"send_before_commit", "live_path", "end_overtakes", "reset_at_open"}
    looked_for |= {"joins_the_live", "forgets_the_id", "opens_again", "answers_the_cut"}
    looked_for |= {"confuses_viewers", "one_id_one_session", "forgets_that_it_went_on"}
    assert set(MUTANTS) == looked_for | {"forgets_the_cancel", "goes_on_late"}


def test_one_schedule_can_be_played_alone_and_a_failing_one_is_named() -> None:
    assert _run("--schedule", "7").stdout.startswith("schedules=1 ")
    done = _run("--schedules", "20", "--mutant", "live_path")
    assert done.returncode == 1
    assert re.match(r"schedule \d+: \w+: ", done.stdout)
