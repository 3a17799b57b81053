"""Processes that an agent forks while its record is open: what each of them records arrives."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

from lastword.outbox.store import Outbox
from lastword.record.run_file import RunFile
from tests.kit.patience import FUSE_SECONDS
from tests.kit.recording import FOR_EVER, a_book, a_run, count, stored
from tests.kit.reports_made import a_target

if TYPE_CHECKING:
    from pathlib import Path

_AGENT = """
import os, sys, time
from lastword import Options
from lastword.core.timeline.entry import Entry, Kind
from lastword.inprocess.journal import Journal
from lastword.record import thread
from lastword.record.thread import recorder_thread

thread.EXIT_SECONDS = thread.FORK_SECONDS = 60.0

def note(journal, session, *turns):
    for turn in turns:
        for kind in (Kind.PROMPT, Kind.ERROR):
            journal.note(Entry(kind=kind, at_seconds=float(turn), session_id=session, turn=turn))

def settle():
    while not recorder_thread().idle:
        time.sleep(0.005)

def journal():
    return Journal(Options(record=sys.argv[1]), door="guard")
"""

_FORKS_ALL_THE_TIME = f"""{_AGENT}
import threading
parents = journal()
def busy():
    turn = 0
    while True:
        turn += 1
        note(parents, "parents", turn)
        time.sleep(0.001)
threading.Thread(target=busy, daemon=True).start()
for number in range(int(sys.argv[2])):
    time.sleep(0.003)
    child = os.fork()
    if not child:
        own = journal()
        note(own, f"child {{number}}", 1)
        sys.exit(0)
    os.waitpid(child, 0)
"""


def run(script: str, *arguments: str) -> str:
    """What a script says on stderr, once all that it forked have ended, too."""
    words = [sys.executable, "-c", script, *arguments]
    return subprocess.run(
        words, check=True, timeout=FUSE_SECONDS, stderr=subprocess.PIPE, text=True
    ).stderr


def sessions_in(folder: Path) -> list[tuple[str, int]]:
    with closing(sqlite3.connect(stored(folder))) as record:
        assert record.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        found = "SELECT session_id, count(*) FROM entries GROUP BY session_id ORDER BY session_id"
        return record.execute(found).fetchall()


_CHILD_OF_MULTIPROCESSING = f"""{_AGENT}
import multiprocessing
parents = journal()
note(parents, "parents", 1)
settle()
ended, ends = os.pipe()
def work():
    os.close(ends)
    own = journal()
    note(own, "childs", 1)
    settle()
    os.read(ended, 1)  # the parent's end closes as the very last
    note(own, "childs", 2, 3)
    own.close()

multiprocessing.get_context("fork").Process(target=work).start()
os._exit(0)
"""


def test_a_multiprocessing_childs_last_entries_are_recorded_although_its_parent_ends_first(
    tmp_path: Path,
) -> None:
    run(_CHILD_OF_MULTIPROCESSING, str(tmp_path))
    assert sessions_in(tmp_path) == [("childs", 6), ("parents", 2)]


def test_every_forked_child_is_recorded_although_its_parent_writes_all_the_time(
    tmp_path: Path,
) -> None:
    run(_FORKS_ALL_THE_TIME, str(tmp_path), "10")
    childs = [count for session, count in sessions_in(tmp_path) if session.startswith("child")]
    assert childs == [2] * 10


def test_a_child_that_outlives_its_parent_keeps_neither_its_file_open_nor_its_reports_from_others(
    tmp_path: Path,
) -> None:
    ended, ends = os.pipe()

    def parents() -> None:
        one = RunFile(str(tmp_path / "record.db"), a_run(), FOR_EVER)
        one.write(a_book(1).rows)
        with Outbox(str(tmp_path)).as_sender(a_target()):
            if not os.fork():
                os.close(ends)
                os.read(ended, 1)
            os._exit(0)

    parent = os.fork()
    if not parent:
        parents()
    os.waitpid(parent, 0)
    assert count(tmp_path / "record.db") == 3
    assert os.listdir(tmp_path / "runs") == []
    with Outbox(str(tmp_path)).as_sender(a_target()) as is_ours:
        assert is_ours
    os.close(ends)
    os.close(ended)


_DISK_HANGS = f"""{_AGENT}
import logging, threading

logging.basicConfig(format="%(message)s", level=logging.WARNING)
logging.getLogger("lastword.timeline").setLevel(logging.CRITICAL)
thread.FORK_SECONDS = 0.1
inside, over = threading.Event(), threading.Event()

def hang():
    with thread.gate.use():
        inside.set()
        over.wait()

threading.Thread(target=hang).start()
inside.wait()
child = os.fork()
if not child:
    note(journal(), "childs", 1)
    sys.exit(0)
os.waitpid(child, 0)
over.set()
note(journal(), "parents", 1)
"""


def test_a_child_forked_while_a_disk_hung_reports_that_it_is_not_recorded(
    tmp_path: Path,
) -> None:
    said = run(_DISK_HANGS, str(tmp_path))
    assert said == (
        "Recording has stopped (RuntimeError: this process was forked while a disk kept its "
        "parent's record waiting).\n"
    )
    assert sessions_in(tmp_path) == [("parents", 2)]
