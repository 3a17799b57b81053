"""A disk that takes nothing never touches a turn: the client sees what it always sees."""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.desk import Desk
from tests.kit.patience import patient
from tests.kit.recording import a_book, lastword, write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

TURN = [
    {"say": "Let me look. "},
    {"tool": {"title": "Edit a.py", "kind": "edit"}},
    {"tool": {"status": "completed"}},
    {"result": "end_turn"},
]
SCRIPT: dict[str, Any] = {"turns": [TURN, TURN, [{"say": "Well. "}, {"result": "refusal"}]]}
TURNS_SECONDS = 1.5
"""Three turns of a scripted agent take milliseconds; SQLite alone would wait 2 s for a lock."""

END_SECONDS = 3.5
"""The agent's end, and the second for which the recorder is waited for."""

SMALL_FILE_BYTES = 512


def nothing_wrong(_state: Path) -> None:
    """The disk is well."""


def a_read_only_folder(state: Path) -> None:
    state.mkdir(mode=0o500)


def a_file_in_its_place(state: Path) -> None:
    state.write_text("not a folder")


def a_folder_in_the_stores_place(state: Path) -> None:
    (state / "record.db").mkdir(parents=True)


LIMIT_FILES = f"""
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, ({SMALL_FILE_BYTES}, {SMALL_FILE_BYTES}))
os.execvp(sys.argv[1], sys.argv[1:])
"""
ONLY_SMALL_FILES = (sys.executable, "-c", LIMIT_FILES)
"""As a full disk: what goes over it fails (the signal is left alone, Python ignores it)."""


@contextmanager
def held_by_another(state: Path) -> Iterator[None]:
    """The store is there, and somebody else writes to it for as long as this takes."""
    path = write(state, a_book(1))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield
        other.execute("ROLLBACK")


def played(
    folder: Path, under: Sequence[str] = ()
) -> tuple[list[bytes], int, str, tuple[float, float]]:
    """What a client sees: frames, exit status, stderr, and how long turns and the end took."""
    desk = Desk(folder, SCRIPT, under=under)
    began = time.monotonic()
    for _ in SCRIPT["turns"]:
        desk.answer(desk.prompt())
    turned = time.monotonic()
    status = desk.leave()
    took = (turned - began, time.monotonic() - turned)
    return desk.lines, status, desk.said, took


def assert_untouched(healthy: Path, broken: Path, under: Sequence[str] = ()) -> None:
    """The same frames and the same end, on a broken disk as on one that is well."""
    healthy.mkdir()
    lines, status, _, _ = played(healthy)
    broken_lines, broken_status, said, (turns_seconds, end_seconds) = played(broken, under)
    assert broken_lines == lines
    assert (status, broken_status) == (0, 0)
    assert turns_seconds < patient(TURNS_SECONDS)
    assert end_seconds < patient(END_SECONDS)
    assert said == ""


BREAKS = {
    a_file_in_its_place: "none can be kept: {state} is not a folder",
    a_folder_in_the_stores_place: "it cannot be opened",
}
if os.geteuid() != 0:  # root may write into every folder
    BREAKS[a_read_only_folder] = "none can be kept: {state} cannot be written"


@pytest.mark.parametrize("break_it", BREAKS)
def test_a_state_folder_that_cannot_be_used_touches_no_turn_and_log_says_why_it_is_empty(
    break_it: Callable[[Path], None], tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    break_it(broken / "state")
    assert_untouched(tmp_path / "healthy", broken)
    assert_said(BREAKS[break_it].format(state=broken / "state"), broken / "state")


def test_a_folder_that_takes_no_file_touches_no_turn(tmp_path: Path) -> None:
    """As a folder that is read-only, for root as well."""
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "state").symlink_to("/proc/self/fdinfo")
    assert_untouched(tmp_path / "healthy", broken)
    assert_said("there is no record at", broken / "state")


def assert_said(words: str, state: Path) -> None:
    """Whoever looks for the record is told why there is none."""
    told = lastword("log", state=state)
    assert told.returncode != 0
    assert told.stdout == ""
    assert words in told.stderr
    assert "Traceback" not in told.stderr


def test_a_store_that_another_process_holds_all_along_touches_no_turn(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    with held_by_another(broken / "state"):
        assert_untouched(tmp_path / "healthy", broken)
        told = lastword("log", state=broken / "state")
    assert told.returncode == 0, told.stderr
    assert "agent-x" in told.stdout  # what was there before can be read meanwhile


def test_a_disk_that_takes_no_more_touches_no_turn(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    assert_untouched(tmp_path / "healthy", broken, ONLY_SMALL_FILES)
    assert_said("is the disk full?", broken / "state")
