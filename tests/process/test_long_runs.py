"""The commands of `tests.long`, for seconds instead of hours: what each says in its last line."""

from __future__ import annotations

import os
import re
import sys

import pytest

from tests.kit.fleet.servers import require_server
from tests.kit.places import ROOT
from tests.kit.programs import run_program
from tests.kit.simulation.processes import ProcessPlayer
from tests.long.simulate import play_processes

LONG_FUSE_SECONDS = 600
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="it looks at processes in /proc")


def last_line(name: str, words: str, *, hashes: str = "random") -> str:
    """Play `tests.long.NAME` with these words; return the last line of what it prints."""
    done = run_program(
        [sys.executable, "-m", f"tests.long.{name}", *words.split()],
        cwd=ROOT,
        check=False,
        timeout=LONG_FUSE_SECONDS,
        env=os.environ | {"PYTHONHASHSEED": hashes},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()[-1]


@on_linux
def test_sixty_crashes_leave_no_descriptor_no_process_no_thread_and_no_memory() -> None:
    nothing = "leaked_fds=0 zombies=0 orphans=0 threads=0"
    last = last_line("chaos", "--cycles 60 --seed 7")
    assert re.fullmatch(rf"cycles=60 answered=\d+ {nothing} rss_growth_mb=\d\.\d", last)


@on_linux
@pytest.mark.real_start
def test_twenty_kills_and_reloads_of_gateway_and_agent_lose_nothing_and_double_nothing() -> None:
    last = last_line("kill_gateway", "--kills 20 --seed 4")
    assert last == "kills=20 lost=0 double=0 unanswered=0 untyped=0 left=0"


@pytest.mark.matrix
def test_a_fleet_under_kills_loses_nothing_that_it_has_shown() -> None:
    require_server()
    kills = "--kills 1 --sessions 2 --kinds reload,server,node --seed 3"
    assert re.fullmatch(
        r"reload=1 server=1 node=[12] stop=0"
        r" lost=0 double=0 unanswered=0 untyped=0 mixed=0 left=0",
        last_line("kill_fleet", kills),
    )


def test_a_gateway_under_kills_reports_or_counts_each_failure() -> None:
    last = last_line("outbox_kills", "--kills 10 --seed 3")
    kills, told = map(int, re.findall(r"\b(?:kills|told)=(\d+)", last))
    assert kills >= 10
    assert told >= 5
    assert "untold=0 adds_up=True" in last


@on_linux
def test_a_failing_system_call_leaves_no_prompt_unanswered_or_unexplained() -> None:
    assert last_line("torture", "--every 6 --first 2").endswith(" problems=0")


def test_twenty_thousand_turns_of_every_kind_keep_every_promise() -> None:
    last = last_line("simulate", "--turns 20000 --seed 1")
    promises = r"silent=0 double=0 late=0 unbounded=0 trace=\w{16} turns_per_s=\d+"
    found = re.fullmatch(rf"turns=(\d+) {promises}", last)
    assert found is not None, last
    assert int(found[1]) >= 20_000


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("simulate", "--turns 1000"),
        ("simulate_gateway", "--schedules 100"),
        ("simulate_gateway", "--fleet --schedules 20"),
    ],
)
def test_a_seed_gives_the_same_trace_whatever_the_hashes(name: str, words: str) -> None:
    def trace(words: str, hashes: str) -> str:
        return last_line(name, words, hashes=hashes).partition(" turns_per_s")[0]

    one = trace(f"{words} --seed 5", "1")
    assert trace(f"{words} --seed 5", "2") == one
    assert trace(f"{words} --seed 6", "1") != one


LINK = (3, 4)
"""One with a bit of everything, in few seconds: a seed and a number."""


@on_linux
def test_random_turns_through_real_processes_keep_every_promise() -> None:
    link, problem = play_processes(*LINK)
    assert problem is None, "\n".join([str(problem), *map(repr, link.world.player.trace[-40:])])
    assert link.world.turns > 10


class Hides(ProcessPlayer):
    """The referee does not see one kind of what reaches the client."""

    def deliver(self, tag: int, *, to_client: bool, frame: bytes) -> None:
        if not (to_client and b"And so on." in frame):
            super().deliver(tag, to_client=to_client, frame=frame)


@on_linux
def test_a_frame_that_does_not_arrive_is_noticed() -> None:
    _, problem = play_processes(*LINK, Hides)
    assert problem is not None
    assert problem.promise == "G4"
