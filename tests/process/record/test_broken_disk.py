"""A disk that takes nothing never touches a turn: the client sees what it always sees."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.desk import Desk
from tests.kit.gateway.serving import until
from tests.kit.recording import a_book, is_recorded, lastword, write

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
ONLY_SMALL_FILES = ("sh", "-c", 'ulimit -f 1; exec "$@"', "sh")
"""As a full disk: what goes over it fails (the signal is left alone, Python ignores it)."""


def a_file_in_its_place(state: Path) -> None:
    state.write_text("not a folder")


def a_folder_in_the_stores_place(state: Path) -> None:
    (state / "record.db").mkdir(parents=True)


def a_folder_that_takes_no_file(state: Path) -> None:
    """As a folder that is read-only, for root as well."""
    state.symlink_to("/proc/self/fdinfo")


def a_pipe_in_the_stores_place(state: Path) -> None:
    state.mkdir()
    os.mkfifo(state / "record.db")


def a_disk_that_takes_no_more(_state: Path) -> None:
    """What it runs under does it."""


@contextmanager
def held_by_another(state: Path) -> Iterator[None]:
    """The store is there, and somebody else writes to it for as long as this takes."""
    path = write(state, a_book(1))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield
        other.execute("ROLLBACK")


def played(folder: Path, under: Sequence[str] = ()) -> tuple[list[bytes], int, str]:
    """What a client sees: frames, exit status and stderr."""
    desk = Desk(folder, SCRIPT, under=under)
    for _ in SCRIPT["turns"]:
        desk.answer(desk.prompt())
    status = desk.leave()
    return desk.lines, status, desk.said


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[bytes], int, str]:
    """What it sees where the disk is well."""
    seen = played(tmp_path_factory.mktemp("healthy"))
    assert seen[1:] == (0, "")
    return seen


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    folder = tmp_path / "broken"
    folder.mkdir()
    return folder


BREAKS = {
    a_file_in_its_place: "none can be kept: {state} is not a folder",
    a_folder_in_the_stores_place: "it cannot be opened",
    a_pipe_in_the_stores_place: "record.db cannot be used: ",
    a_folder_that_takes_no_file: "there is no record at",
    a_disk_that_takes_no_more: "is the disk full?",
}


@pytest.mark.parametrize("break_it", BREAKS)
def test_an_unusable_state_folder_affects_no_turn_and_log_explains_the_empty_list(
    break_it: Callable[[Path], None], broken: Path, healthy: tuple[list[bytes], int, str]
) -> None:
    break_it(broken / "state")
    under = ONLY_SMALL_FILES if break_it is a_disk_that_takes_no_more else ()
    assert played(broken, under) == healthy
    told = lastword("log", state=broken / "state")
    assert (told.returncode != 0, told.stdout) == (True, "")
    assert BREAKS[break_it].format(state=broken / "state") in told.stderr
    assert "Traceback" not in told.stderr


def test_a_store_locked_by_another_process_affects_no_turn(
    broken: Path, healthy: tuple[list[bytes], int, str]
) -> None:
    with held_by_another(broken / "state"):
        assert played(broken) == healthy
        told = lastword("log", state=broken / "state")
    assert told.returncode == 0, told.stderr
    assert "agent-x" in told.stdout  # what was there before can be read meanwhile


def their_files_are_overwritten(file: Path) -> None:
    for each in (file.parent / "runs").iterdir():
        each.write_bytes(b"\xff[{" * 4096)


def it_is_overwritten(file: Path) -> None:
    file.write_bytes(b"No database at all." * 4096)


def it_loses_its_folder(file: Path) -> None:
    # At once: while it is emptied, those who write may put another into it.
    shutil.rmtree(file.parent.rename(file.parent.with_name("away")))


def test_no_damage_to_the_store_during_a_run_harms_a_turn_or_a_reader(broken: Path) -> None:
    desk = Desk(broken, {"turns": [TURN]})
    desk.answer(desk.prompt())
    store = broken / "state" / "record.db"
    for happens in (their_files_are_overwritten, it_is_overwritten, it_loses_its_folder):
        until("a record", lambda: is_recorded(store.parent))
        happens(store)
        assert desk.answer(desk.prompt())["result"] == {"stopReason": "end_turn"}, happens
        read = lastword("log", "--json", state=store.parent)  # or says why not
        assert read.returncode in {0, 1, 2}, read
        assert "Traceback" not in read.stderr
    until("a record that is begun anew", lambda: is_recorded(store.parent))
    assert (desk.leave(), desk.said) == (0, "")
