"""The timeline of an agent's process: its log, its end, its forks."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from tests.process.inprocess.conftest import Record, Start


@pytest.mark.parametrize("door", ["asyncio"])  # the SDK itself sets logging up
def test_an_agent_without_logging_writes_nothing_of_the_timeline_to_stderr(start: Start) -> None:
    client = start("quiet").opened()
    client.turn("tool x")
    client.turn("throttle")
    client.end()
    assert "session s1" not in client.said


_HANGS = """
import threading
from lastword.record.thread import recorder_thread

recorder_thread().open(threading.Event().wait)
print("done")
"""


def test_a_hanging_recorder_does_not_keep_its_process_alive() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _HANGS],
        capture_output=True,
        text=True,
        timeout=FUSE_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


_FORKS = """
import os, sys
from lastword import Options
from lastword.core.timeline.entry import Entry, Kind
from lastword.inprocess.journal import Journal
from lastword.record import thread

thread.EXIT_SECONDS = 60.0

def note(journal, *kinds):
    for kind in kinds:
        journal.note(Entry(kind=kind, at_seconds=1.0, session_id="s", turn=1))

options = Options(record=sys.argv[1])
parents = Journal(options, door="serve")
note(parents, Kind.PROMPT)
child = os.fork()
if not child:
    note(parents, Kind.ERROR, Kind.ERROR)
    own = Journal(options, door="guard")
    note(own, Kind.PROMPT, Kind.ANSWER)
    own.close()
    parents.close()
    sys.exit(0)
os.waitpid(child, 0)
note(parents, Kind.ANSWER)
"""


def test_a_forked_child_keeps_a_separate_record(
    record: Record,
) -> None:
    folder = str(record.path.parent)
    subprocess.run([sys.executable, "-c", _FORKS, folder], check=True, timeout=FUSE_SECONDS)
    found = record.rows(
        "SELECT door, ended, group_concat(kind) FROM runs JOIN entries ON run = runs.id"
        " GROUP BY run ORDER BY door"
    )
    assert found == [("guard", 1, "prompt,answer"), ("serve", 1, "prompt,answer")]
