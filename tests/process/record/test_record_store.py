"""The store on a disk that is full, broken, cut, locked, shared, too new, or not ours."""

from __future__ import annotations

import multiprocessing
import os
import random
import resource
import signal
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing, suppress
from functools import partial
from typing import TYPE_CHECKING

import pytest

from lastword.errors import StoreError
from lastword.outbox.store import Outbox
from lastword.platform import files
from lastword.record import intake, paths, reader, run_file, store
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


def test_nobody_else_can_read_the_record(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "state"
    before = os.umask(0)
    try:
        one = RunFile(str(folder / "record.db"), a_run(), FOR_EVER)
        one.write(a_book().rows)
        with closing(intake.opened(str(folder / "record.db"))):
            found = [file for file in folder.rglob("*") if file.is_file()]
            modes = {file: stat.S_IMODE(file.stat().st_mode) for file in found}
        one.close()
    finally:
        os.umask(before)
    assert {"record.db", "record.db-wal", "record.db-shm"} < {file.name for file in modes}
    assert set(modes.values()) == {0o600}
    assert {stat.S_IMODE(each.stat().st_mode) for each in (folder, folder / "runs")} == {0o700}


IN_ANOTHER_PROCESS = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)
try:
    db.execute("BEGIN IMMEDIATE")
except sqlite3.OperationalError as error:
    print(error)
"""


def of_another_process(path: str) -> str:
    """What a process that shares nothing with this one is told when it wants to write."""
    words = [sys.executable, "-c", IN_ANOTHER_PROCESS, path]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=FUSE_SECONDS)
    return done.stdout.strip()


def opened(path: str) -> None:
    connection, _ = store.open_for_writing(path)
    connection.close()


def test_opening_a_store_once_more_releases_no_lock_of_this_process(
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


def test_a_store_behind_a_link_to_nothing_is_made_for_its_user_alone(tmp_path: Path) -> None:
    (tmp_path / "record.db").symlink_to(tmp_path / "elsewhere.db")
    opened(str(tmp_path / "record.db"))
    assert stat.S_IMODE((tmp_path / "elsewhere.db").stat().st_mode) == 0o600


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


def test_a_writer_that_is_killed_leaves_what_it_had_written(tmp_path: Path) -> None:
    path = tmp_path / "record.db"
    ours, theirs = SPAWN.Pipe(duplex=False)

    def work() -> None:
        one = RunFile(str(path), a_run("01KILLED"), FOR_EVER)
        one.write(a_book(40).rows)
        theirs.send("written")
        while True:
            one.write(a_book(5).rows)

    process = SPAWN.Process(target=work)
    process.start()
    assert ours.poll(FUSE_SECONDS)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join(FUSE_SECONDS)
    with reader.reading(str(path)) as record:
        (part,), _ = reader.latest_parts(record, 5)
        run = reader.run_of(record, part.run)
        assert reader.count_turns(record, part) == 40
    assert not run.ended
    write(tmp_path, a_book(1), a_run("01AFTER"))
    assert count(path, "runs") == 2


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


def test_what_a_broken_disk_costs_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_file, "MAX_PENDING", 30)
    folder = tmp_path / "state"
    folder.write_text("no folder")
    one = RunFile(str(folder / "record.db"), a_run(), FOR_EVER)
    for row in a_book(20).rows:
        one.write([row])
    assert one.is_behind
    folder.unlink()
    one.close()
    with reader.reading(str(folder / "record.db")) as record:
        assert reader.run_of(record, 1).lost_entries == 30
    assert count(folder / "record.db") == 30


def test_lines_that_a_disk_has_damaged_are_counted_and_the_others_read(tmp_path: Path) -> None:
    one = RunFile(str(tmp_path / "record.db"), a_run(), FOR_EVER)
    one.write(a_book(3).rows)
    one.close()
    (file,) = (tmp_path / "runs").iterdir()
    lines = file.read_bytes().splitlines(keepends=True)
    lines[2], lines[4] = b"\xff\x00" + lines[2][2:], lines[4].replace(b"[", b"{", 1)
    lines[5] = lines[5].replace(b'"s1"', rb'"\ud800"')
    lines[6] = lines[6].replace(b'"info",', b'"info",9%s' % (b"9" * 18))
    file.write_bytes(b"".join(lines) + b'["half a li')
    (tmp_path / "runs" / "stray.jsonl").write_text("of somebody else\n")
    path = stored(tmp_path)
    assert count(path) == 5
    assert count(path, "runs WHERE ended = 1 AND lost_entries = 4") == 1
    assert [each.name for each in (tmp_path / "runs").iterdir()] == ["stray.jsonl"]


def newer(connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA user_version = {store.VERSION + 1}")


def something_else(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE bookmarks (url)")
    connection.execute("PRAGMA user_version = 0")
    connection.execute("PRAGMA application_id = 0")


@pytest.mark.parametrize(
    ("makes", "why"),
    [
        (newer, "a newer lastword made it .* update lastword"),
        (something_else, "a database of something else; name another folder"),
    ],
)
def test_what_is_no_store_of_ours_is_left_alone(
    tmp_path: Path, makes: Callable[[sqlite3.Connection], None], why: str
) -> None:
    path = tmp_path / "record.db"
    if makes is newer:
        write(tmp_path, a_book())
    with closing(sqlite3.connect(path)) as connection:
        makes(connection)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=why):
        store.open_for_reading(str(path))
    one = RunFile(str(path), a_run("01OTHER"), FOR_EVER)
    one.write(a_book().rows)
    one.close()
    with pytest.raises(StoreError, match=why):
        stored(tmp_path)
    assert path.read_bytes() == before
    assert store.set_aside_before(str(path)) == []
    assert len(os.listdir(tmp_path / "runs")) == 1


@pytest.mark.usefixtures("patient_store")
@pytest.mark.parametrize("first", [0, 8192], ids=["to_open", "to_write"])
def test_a_damaged_store_is_set_aside_once_by_the_processes_that_meet_it_and_nothing_is_lost(
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


def test_whatever_bytes_are_broken_reading_gives_a_sentence_or_an_answer(tmp_path: Path) -> None:
    path = write(tmp_path, a_book(60))
    whole = path.read_bytes()
    dice = random.Random(7)
    refused = 0
    for number in range(150):
        data = bytearray(whole)
        if number % 5 == 0:  # or cut off
            del data[dice.randrange(len(data)) :]
        for _ in range(dice.choice((1, 8, 200))):
            if data:
                data[dice.randrange(len(data))] = dice.randrange(256)
        path.write_bytes(data)
        for name in ("-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.unlink(f"{path}{name}")
        try:
            with reader.reading(str(path)) as record:
                parts, _ = reader.latest_parts(record, 50)
                for part in parts:
                    reader.run_of(record, part.run)
                    reader.turns_of(record, part)
                    list(reader.entries_of(record, part))
                reader.failed_requests(record, 0)
        except StoreError:
            refused += 1
    assert refused > 20


def test_a_store_without_anything_in_it_says_so_and_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "record.db"
    path.touch()
    with pytest.raises(StoreError, match="nothing has been recorded in it yet"):
        store.open_for_reading(str(path))
    assert path.stat().st_size == 0
    path.unlink()
    with pytest.raises(StoreError, match=r"no record at .* yet; one is kept from the first prompt"):
        store.open_for_reading(str(path))
    assert os.listdir(tmp_path) == []


def test_a_store_that_another_process_holds_is_answered_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.1)
    path = write(tmp_path, a_book())
    with closing(sqlite3.connect(path)) as holder:
        holder.execute("PRAGMA locking_mode = EXCLUSIVE")
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match="another process holds it; try again"):
            store.open_for_reading(str(path))
    with reader.reading(str(path)) as record:
        assert reader.last_id(record) == 9


@pytest.mark.parametrize("has_store", [True, False])
def test_a_record_in_a_folder_that_cannot_be_written_can_be_read(
    tmp_path: Path, *, has_store: bool
) -> None:
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


def test_in_another_users_folder_nothing_is_made_by_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = RunFile(str(tmp_path / "record.db"), a_run(), FOR_EVER)
    one.write(a_book(2).rows)
    one.close()
    monkeypatch.setattr(files, "is_own", lambda _: False)
    with reader.reading(str(tmp_path / "record.db")) as record:
        assert reader.last_id(record) == 6
    assert [each.name for each in tmp_path.iterdir()] == ["runs"]


def test_a_store_that_is_held_does_not_hide_what_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.05)
    path = write(tmp_path, a_book(1))
    one = RunFile(str(path), a_run("01OTHER"), FOR_EVER)
    one.write(a_book(2).rows)
    one.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with reader.reading(str(path)) as record:
            assert reader.last_id(record) == 9
    assert count(path) == 9


def test_entries_are_not_brought_in_twice_where_tidying_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def held(*_: object) -> None:
        raise sqlite3.OperationalError("database is locked")

    monkeypatch.setattr(paths, "keep_within", held)
    write(tmp_path, a_book(2))
    assert count(tmp_path / "record.db") == 6
