"""The store that several processes write, on a disk that is full, damaged or another's."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import sqlite3
from contextlib import closing, suppress
from functools import partial
from typing import TYPE_CHECKING

import pytest

from lastword.errors import StoreError
from lastword.outbox.store import Outbox
from lastword.record import reader, run_file, store
from lastword.record.run_file import RunFile
from tests.kit.patience import FUSE_SECONDS
from tests.kit.recording import FOR_EVER, Book, a_book, a_run, count, stored, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection
    from pathlib import Path

NOBODY = 65534
SPAWN = multiprocessing.get_context("fork")


def in_a_process(work: Callable[[], str]) -> str:
    """What `work` gives, from a process of its own; its limits and its user are its own, too."""
    ours, theirs = SPAWN.Pipe(duplex=False)
    process = SPAWN.Process(target=_send, args=(theirs, work))
    process.start()
    theirs.close()
    assert ours.poll(FUSE_SECONDS)
    told = ours.recv()
    process.join(FUSE_SECONDS)
    assert isinstance(told, str)
    return told


def _send(pipe: Connection, work: Callable[[], str]) -> None:
    try:
        pipe.send(work())
    except BaseException as error:
        pipe.send(f"{type(error).__name__}: {error}")
        raise


def of_another_process(path: str) -> str:
    """What a process that shares no connection with this one is told when it wants to write."""

    def work() -> str:
        with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as db:
            try:
                db.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                return str(error)
        return ""

    return in_a_process(work)


def opened(path: str) -> None:
    connection, _ = store.open_for_writing(path)
    connection.close()


def test_opening_a_store_again_releases_no_lock_of_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.05)
    record, outbox = str(tmp_path / "record.db"), Outbox(str(tmp_path))
    opened(record)
    outbox.status()
    assert of_another_process(record) == ""
    for path, open_again in ((record, partial(opened, record)), (outbox.path, outbox.status)):
        with closing(sqlite3.connect(path, isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            with suppress(StoreError):  # the file is held
                open_again()
            assert of_another_process(path) == "database is locked"


@pytest.fixture
def patient_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever wants to write waits for the others, however long their machine keeps them."""
    monkeypatch.setattr(store, "BUSY_SECONDS", float(FUSE_SECONDS))


@pytest.mark.usefixtures("patient_store")
def test_many_writers_and_a_reader_do_not_lose_an_entry(tmp_path: Path) -> None:
    path, writers, batches = tmp_path / "record.db", 3, 25
    write(tmp_path, a_book(1), a_run("01FIRST"))

    def work(number: int) -> None:
        one = RunFile(str(path), a_run(f"01RUN{number}"), FOR_EVER)
        book = Book()
        for turn in range(1, batches + 1):
            book.ok(f"s{number}", turn)
            one.write(book.rows)
            book.rows.clear()
        one.close()

    def look() -> None:
        for _ in range(batches):
            stored(tmp_path)

    processes = [SPAWN.Process(target=work, args=(number,)) for number in range(writers)]
    processes += [SPAWN.Process(target=look) for _ in range(2)]
    for process in processes:
        process.start()
    seen = []
    while any(process.is_alive() for process in processes):
        with reader.reading(str(path)) as record:
            entries = record.execute("SELECT count(*) FROM entries").fetchone()[0]
            turns = record.execute("SELECT count(*) FROM turns").fetchone()[0]
            ended = record.execute("SELECT count(*) FROM turns WHERE outcome = 'ok'").fetchone()[0]
        # A batch is there whole or not at all.
        assert entries == 3 * turns == 3 * ended
        seen.append(entries)
    for process in processes:
        process.join(FUSE_SECONDS)
        assert process.exitcode == 0
    assert seen == sorted(seen)
    assert count(path) == 3 * (writers * batches + 1)
    assert count(path, "runs WHERE ended = 1 AND lost_entries = 0") == writers + 1
    assert os.listdir(tmp_path / "runs") == []


def test_a_full_disk_keeps_entries_waiting_until_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_file, "RETRY_SECONDS", 0.0)

    def work() -> str:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        one = RunFile(str(tmp_path / "record.db"), a_run("01FULL"), FOR_EVER)
        one.write(a_book(1).rows)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4 * 1024, before[1]))
        for row in a_book(20, session="s2").rows:
            one.write([row])
        was_behind = one.is_behind
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        one.close()
        return f"{was_behind}, {one.is_behind}"

    assert in_a_process(work) == "True, False"
    path = tmp_path / "record.db"
    assert count(path) == 3 * 21
    assert count(path, "runs WHERE ended = 1 AND lost_entries = 0") == 1
    with reader.reading(str(path)) as record:
        assert reader.latest_parts(record, 5)[0][0].session_id == "s2"


@pytest.mark.usefixtures("patient_store")
@pytest.mark.parametrize("first", [0, 8192], ids=["to_open", "to_write"])
def test_a_damaged_store_is_set_aside_once_by_its_processes_and_nothing_is_lost(
    tmp_path: Path, first: int
) -> None:
    path = write(tmp_path, a_book(500))
    damage(path, first)  # all, or all but the pages that are read when it is opened
    damaged = path.read_bytes()
    if not first:
        with pytest.raises(StoreError, match="damaged; once another session is recorded"):
            store.open_for_reading(str(path))
        assert path.read_bytes() == damaged
    processes = 3
    together = SPAWN.Barrier(processes)

    def work(number: int) -> None:
        one = RunFile(str(path), a_run(f"01RUN{number}"), FOR_EVER)
        together.wait(FUSE_SECONDS)
        for _ in range(3):
            one.write(a_book(1).rows[:1])
            stored(tmp_path)
        one.close()

    started = [SPAWN.Process(target=work, args=(number,)) for number in range(processes)]
    for process in started:
        process.start()
    for process in started:
        process.join(FUSE_SECONDS)
        assert process.exitcode == 0
    (aside,) = store.set_aside_before(str(path))
    with open(aside, "rb") as file:
        assert len(file.read()) == len(damaged)
    assert count(path) == processes * 3


def damage(path: Path, first: int) -> None:
    with open(path, "r+b") as file:
        file.seek(first)
        file.write(b"\xff" * (path.stat().st_size - first))


@pytest.mark.parametrize("has_store", [True, False])
def test_a_record_in_an_unwritable_folder_can_be_read(tmp_path: Path, *, has_store: bool) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    path = folder / "record.db"
    if has_store:
        write(folder, a_book())
        path.chmod(0o444)
    one = RunFile(str(path), a_run("01NEWS"), FOR_EVER)
    one.write(a_book(2, session="s2").rows)
    one.close()
    (file,) = (folder / "runs").iterdir()
    for each in (tmp_path, *tmp_path.parents):
        if each.stat().st_uid == os.getuid() and str(each) not in ("/", "/tmp"):
            each.chmod(each.stat().st_mode | 0o055)
    for name, mode in ((file, 0o444), (folder / "runs", 0o555), (folder, 0o555)):
        name.chmod(mode)

    def work() -> str:
        if os.getuid() == 0:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        for _ in range(2):
            with reader.reading(str(path)) as record:
                last = reader.last_id(record)
        return str(last)

    told = in_a_process(work)
    for name in (folder, folder / "runs"):
        name.chmod(0o755)
    assert told == ("15" if has_store else "6")
    assert sorted(os.listdir(folder)) == (["record.db", "runs"] if has_store else ["runs"])
    assert file.exists()
