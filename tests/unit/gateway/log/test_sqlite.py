"""A log's file: what is there after a crash, after damage, on another disk, on a full one."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from functools import partial
from glob import glob
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest

from lastword.errors import StoreError
from lastword.gateway.log import files
from lastword.gateway.log import sqlite as sqlite_log
from lastword.gateway.log.entries import Pins
from lastword.gateway.log.session_log import LastingLog, reading
from lastword.gateway.log.sqlite import LogCopy, SqliteLog, write_copy
from lastword.gateway.log.store import LogUnavailableError
from lastword.gateway.viewing.reader import Reader
from tests.kit.gateway.entries_made import ask, out, said, told
from tests.kit.gateway.serving import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "log.db")


_opened: list[SqliteLog] = []


@pytest.fixture(autouse=True)
def _none_stays_open() -> Iterator[None]:
    """Close what a test left open, as a process that died would have."""
    yield
    while _opened:
        _opened.pop().close()


def opened(path: str) -> SqliteLog:
    _opened.append(SqliteLog(path))
    return _opened[-1]


def filled(path: str, count: int = 5) -> SqliteLog:
    log = opened(path)
    for number in range(count):
        log.append([out(text=f"<{number}>"), out("plan", x=number)])
    return log


def test_a_log_continues_under_its_epoch_while_the_machine_is_up(path: str) -> None:
    log = filled(path)
    log.append([ask(1), ask(2)])
    log.append([told(1)])
    log.remember("id", "s1")
    for name in os.listdir(os.path.dirname(path)):
        mode = os.stat(os.path.join(os.path.dirname(path), name)).st_mode
        assert stat.S_IMODE(mode) == 0o600, name
    for is_open in (True, False):
        again = opened(path)
        assert (again.epoch, again.head) == (log.epoch, 13)
        assert again.remembered("id") == "s1"
        assert again.remembered("never") == ""
        assert [seq for seq, _ in again.pins.between(0, 13)] == [10, 12]
        assert again.reason == ""
        again.close()
        if is_open:
            log.close()
    assert opened(path).append([out()]) == 14


def test_what_was_pinned_is_known_after_a_crash_though_its_entry_was_trimmed(path: str) -> None:
    log = opened(path)
    for number in (1, 2):
        log.append([ask(number)])
    log.append([out()])
    log.trim(limit_bytes=1)
    log.append([told(1), ask(3)])
    for _ in ("crashed", "closed"):
        assert [seq for seq, _ in reading(path, lambda stored: stored.pins).of("ask:")] == [2, 5]
        again = opened(path)
        assert (again.first, again.head) == (3, 5)
        assert [seq for seq, _ in again.pins.of("ask:")] == [2, 5]
        again.close()


def test_an_unclosed_log_has_another_epoch_after_a_reboot(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = filled(path)
    monkeypatch.setattr(sqlite_log, "boot_id", lambda: "another")
    again = opened(path)
    assert (again.reason, again.head) == ("rebooted", 10)
    assert again.epoch != log.epoch
    again.close()
    monkeypatch.setattr(sqlite_log, "boot_id", lambda: "a third")
    assert opened(path).epoch == again.epoch  # it was closed


def test_a_copy_of_a_log_has_another_epoch(path: str, tmp_path: Path) -> None:
    log = filled(path)
    log.close()
    copied = str(tmp_path / "copy.db")
    shutil.copy(path, copied)
    copy = opened(copied)
    assert (copy.reason, copy.head) == ("restored", 10)
    assert copy.epoch != log.epoch
    copy.close()


@pytest.mark.parametrize(
    ("damage", "kept"),
    [("no_database", ""), ("cut", "{}"), ("torn_page", "{}"), ("torn_facts", "")],
)
def test_a_damaged_file_is_set_aside_and_a_new_one_has_the_facts_that_can_be_read(
    path: str, damage: str, kept: str
) -> None:
    log = filled(path, 400)
    log.remember("params", "{}")
    epoch = log.epoch
    log.close()
    with open(path, "r+b") as file:
        if damage == "no_database":
            file.write(b"this is no database at all" * 10)
        elif damage == "cut":
            file.truncate(os.path.getsize(path) // 2)
        else:
            file.seek(4096 if damage == "torn_facts" else 3 * 4096)
            file.write(os.urandom(8192))
    again = opened(path)
    assert glob(f"{path}.broken-*")
    assert (again.head, again.reason) == (0, "damaged")
    assert again.epoch != epoch
    assert again.remembered("params") == kept
    assert again.append([out()]) == 1
    again.close()


def test_an_unreadable_batch_is_a_gap_and_the_rest_is_read(path: str) -> None:
    filled(path, 4).close()
    log = opened(path)
    log._db.execute("UPDATE batches SET entries=x'c1c1' WHERE first IN (3, 7)")
    reader, seen, gaps = Reader(log, 0), [], []
    while not (pulled := reader.pull()).is_empty:
        seen += [seq for seq, _ in pulled.entries]
        gaps += [(pulled.gap.first, pulled.gap.last)] if pulled.gap else []
    assert seen == [1, 2, 5, 6]
    assert gaps == [(3, 4), (7, 8)]
    log.close()


def test_a_file_that_cannot_be_used_is_reported_and_left_alone(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(words: str, at: str = path) -> None:
        with pytest.raises(StoreError, match=words):
            SqliteLog(at)
        assert {*os.listdir(tmp_path)} <= {"log.db", "log.db-wal", "log.db-shm"}  # none set aside

    filled(path).close()
    refused("cannot be written \\(no such file", str(tmp_path / "nowhere" / "log.db"))
    connect = sqlite3.connect
    with monkeypatch.context() as patch:
        read_only = partial(connect, f"file:{path}?mode=ro", uri=True)
        patch.setattr(sqlite_log.sqlite3, "connect", lambda _, **options: read_only(**options))
        refused("readonly")
    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorcode = sqlite3.SQLITE_FULL
    with monkeypatch.context() as patch:
        patch.setattr(SqliteLog, "_prepare", Mock(side_effect=full))
        refused("disk is full")
    log = opened(path)
    log._remember(format="99")
    log.close()
    refused("another version")
    os.unlink(path)
    os.mkdir(path)
    refused("cannot be written \\(is a directory\\)")


def test_a_log_on_a_full_disk_continues_in_memory_under_another_epoch_without_loss(
    path: str,
) -> None:
    disk = filled(path)
    disk.append([ask(3), said(1)])
    log = LastingLog(disk)
    reader = Reader(log, 0)
    before = log.epoch
    (pages,) = disk._db.execute("PRAGMA page_count").fetchone()
    disk._db.execute(f"PRAGMA max_page_count={pages}")  # the file grows no more
    appended = 0
    while log.epoch == before:
        log.append([out(text="x" * 3000), out("plan", x="last")])
        appended += 2
    log.append([told(3), ask(4)])
    assert log.head == 12 + appended + 2
    seen = []
    while not (pulled := reader.pull()).is_empty:
        assert pulled.gap is None
        seen += [seq for seq, _ in pulled.entries]
    assert seen == list(range(1, log.head + 1))
    assert [seq for seq, _ in log.pins.of("ask:")] == [log.head]
    assert len(log.pins.of("open:")) == 1
    assert log.pins.between(0, log.head)[-1].seq == log.head
    assert not log.is_behind
    assert log.first == 1
    log.close()
    again = opened(path)
    assert again.head < log.head
    again.close()


def test_a_log_in_memory_is_trimmed_too_beginning_with_its_full_disk(path: str) -> None:
    disk = filled(path)
    log = LastingLog(disk)
    disk._db.execute("PRAGMA query_only=ON")
    assert log.trim(limit_bytes=1) == 0  # which the disk cannot do
    assert (log.first, len(log.read(0))) == (1, 10)
    entry = out(text="x" * 1000)
    for _ in range(5):
        log.append([entry])
    assert log.trim(limit_bytes=10**9) == 0
    assert log.trim(limit_bytes=5 * entry.size) == 10
    assert log.first == 11
    assert [seq for seq, _ in log.read(0)] == [11, 12, 13, 14, 15]
    assert log.trim(limit_bytes=2 * entry.size) == 3
    gap = Reader(log, 4).pull().gap
    assert gap is not None
    assert (gap.first, gap.last) == (5, 13)
    log.close()


def test_an_unreadable_file_is_a_gap_and_the_session_continues(
    path: str,
) -> None:
    filled(path).close()
    disk = opened(path)
    log = LastingLog(disk)
    disk._db.execute("DROP TABLE batches")
    reader = Reader(log, 0)
    gap = reader.pull().gap
    assert gap is not None
    assert (gap.first, gap.last) == (1, 10)
    assert log.append([out()]) == 11
    assert [seq for seq, _ in reader.pull().entries] == [11]
    log.close()


def test_the_write_ahead_log_is_checkpointed_in_the_background(path: str) -> None:
    log = opened(path)
    for _ in range(40):
        log.append([out(text="x" * 100_000)])
    until("a checkpoint", lambda: log._checkpoints.waiting_bytes < sqlite_log.CHECKPOINT_BYTES)
    assert os.path.getsize(path) > sqlite_log.CHECKPOINT_BYTES
    assert not log.is_behind
    log._checkpoints.waiting_bytes = sqlite_log.WAL_LIMIT_BYTES + 1
    assert log.is_behind
    assert LastingLog(log).is_behind
    log.close()
    assert not os.path.exists(f"{path}-wal")


def test_a_crash_is_not_a_reboot_where_the_system_names_no_boot(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(sqlite_log.boot_id()) == 36

    def no_such_file(*_: object, **__: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr("builtins.open", no_such_file)
    assert sqlite_log.boot_id() == ""


def test_readers_that_lag_differently_come_to_read_the_same(path: str) -> None:
    log = opened(path)
    for _ in range(40):
        log.append([out(text="x" * 1000)] * 60)
    stretches = []
    for after in (0, 30, 61):
        reader = Reader(log, after)
        seen = []
        while entries := reader.pull().entries:
            seen.append((entries[0].seq, entries[-1].seq))
        assert seen[0][0] == after + 1
        assert seen[-1][1] == log.head
        stretches.append(set(seen))
    common = stretches[0] & stretches[1] & stretches[2]
    assert len(common) >= len(stretches[0]) - 4
    log.close()


def test_a_copy_stands_in_place_of_a_file_with_all_that_it_was_made_from(path: str) -> None:
    opened(path).append([out(text="of before")])
    _opened.pop().close()
    asked, pins = ask(1), Pins()
    pins.note(5, asked)
    batches = [(4, [out(text="a"), asked]), (6, [out(text="b")])]
    write_copy(path, LogCopy("e7", 6, {"title": "T"}, batches, pins))
    log = opened(path)
    assert (log.epoch, log.first, log.remembered("title")) == ("e7", 4, "T")
    assert [seq for seq, _ in log.read(0)] == [4, 5, 6]
    assert [seq for seq, _ in log.pins.of("ask:")] == [5]
    assert log.append([out()]) == 7
    _opened.pop().close()
    write_copy(path, LogCopy("e8", 8, {}, [], Pins()))  # its entries are all trimmed
    assert opened(path).append([out()]) == 9


def test_a_copy_that_cannot_take_its_place_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "log.db" / "full").mkdir(parents=True)
    with pytest.raises(LogUnavailableError):
        write_copy(str(tmp_path / "log.db"), LogCopy("e7", 0, {}, [], Pins()))
    assert os.listdir(tmp_path) == ["log.db"]


def test_a_deleted_lock_keeps_no_file_open(tmp_path: Path) -> None:
    def next_descriptor() -> int:
        number = os.open(tmp_path, os.O_RDONLY)
        os.close(number)
        return number

    free = next_descriptor()
    files.LogLock(str(tmp_path / "log.db"), files.LogOwner()).delete()
    assert (next_descriptor(), os.listdir(tmp_path)) == (free, [])


def test_the_logs_of_a_folder_are_its_files_with_their_ending(tmp_path: Path) -> None:
    for name in ("one.db", "one.db-wal", "one.lock", "two.db"):
        (tmp_path / name).touch()
    found = sorted(files.logs_in(str(tmp_path)))
    assert found == [(name, str(tmp_path / f"{name}.db")) for name in ("one", "two")]
    assert files.logs_in(str(tmp_path / "absent")) == []
