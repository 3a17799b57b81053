"""The store on a disk that is broken, cut, locked, too new, or not ours."""

from __future__ import annotations

import os
import random
import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest

from lastword.errors import StoreError
from lastword.platform import files
from lastword.record import intake, paths, reader, run_file, store
from lastword.record.run_file import RunFile
from tests.kit.recording import FOR_EVER, a_book, a_run, count, stored, write

if TYPE_CHECKING:
    from pathlib import Path


def test_the_record_is_private(tmp_path: Path) -> None:
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


def test_a_store_behind_a_link_to_nothing_is_made_for_its_user_alone(tmp_path: Path) -> None:
    (tmp_path / "record.db").symlink_to(tmp_path / "elsewhere.db")
    store.open_for_writing(str(tmp_path / "record.db"))[0].close()
    assert stat.S_IMODE((tmp_path / "elsewhere.db").stat().st_mode) == 0o600


def test_a_store_that_many_create_at_once_is_usable_by_each(tmp_path: Path) -> None:
    def create(number: int) -> None:
        store.open_for_writing(str(tmp_path / str(number // 8) / "record.db"))[0].close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(create, range(320)))


def unread(folder: Path, turns: int, run: str = "01RUNA") -> str:
    """Write a run's file, and leave it to others to bring it in; returns the store's path."""
    path = str(folder / "record.db")
    one = RunFile(path, a_run(run), FOR_EVER)
    one.write(a_book(turns).rows)
    one.close()
    return path


def test_entries_lost_to_a_broken_disk_are_counted(
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
    unread(tmp_path, 3)
    (file,) = (tmp_path / "runs").iterdir()
    lines = file.read_bytes().splitlines(keepends=True)
    lines[2], lines[4] = b"\xff\x00" + lines[2][2:], lines[4].replace(b"[", b"{", 1)
    lines[5] = lines[5].replace(b'"s1"', rb'"\ud800"')
    lines[6] = lines[6].replace(b'"info",', b'"info",9%s' % (b"9" * 18))
    lines += [b'["agent_ready","info",1,1.0,null,null,null,{"name":["of another version"]}]\n']
    file.write_bytes(b"".join(lines) + b'["half a li')
    for name, line in (("damaged", b'{"run_id":"\xff"}\n'), ("stray", b"of somebody else\n")):
        (tmp_path / "runs" / f"{name}.jsonl").write_bytes(line)
    path = stored(tmp_path)
    assert count(path) == 6
    assert count(path, "runs WHERE lost_entries = 5") == 1
    left = {"damaged.jsonl", "stray.jsonl"}
    assert {each.name for each in tmp_path.rglob("*.*")} == {"record.db", *left}, (
        "set nothing aside"
    )


def test_what_a_full_disk_keeps_out_of_a_new_store_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = unread(tmp_path, 3)
    (tmp_path / "record.db").touch()
    full = sqlite3.OperationalError("database or disk is full")
    monkeypatch.setattr(store, "open_for_writing", Mock(side_effect=full))
    with closing(intake.opened(path)) as connection:
        assert connection.execute("SELECT count(*) FROM turns").fetchone()[0] == 3


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (
            f"PRAGMA user_version = {store.VERSION + 1}",
            "a newer lastword made it .* update lastword",
        ),
        (
            "CREATE TABLE bookmarks (url); PRAGMA user_version = 0; PRAGMA application_id = 0",
            "a database of something else; name another folder",
        ),
    ],
    ids=["newer", "something else"],
)
def test_a_foreign_file_in_the_stores_place_is_left_alone(
    tmp_path: Path, script: str, why: str
) -> None:
    path = tmp_path / "record.db"
    if "bookmarks" not in script:
        write(tmp_path, a_book())
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=why):
        store.open_for_reading(str(path))
    unread(tmp_path, 3, "01OTHER")
    with pytest.raises(StoreError, match=why):
        stored(tmp_path)
    assert path.read_bytes() == before
    assert store.set_aside_before(str(path)) == []
    assert len(os.listdir(tmp_path / "runs")) == 1


def test_reading_broken_bytes_gives_a_sentence_or_an_answer(tmp_path: Path) -> None:
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


def test_an_empty_store_says_so_and_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "record.db"
    path.touch()
    with pytest.raises(StoreError, match="nothing has been recorded in it yet"):
        store.open_for_reading(str(path))
    assert path.stat().st_size == 0
    path.unlink()
    with pytest.raises(StoreError, match=r"no record at .* yet; it begins with the first prompt"):
        store.open_for_reading(str(path))
    assert os.listdir(tmp_path) == []


def test_a_locked_store_is_reported_soon_and_hides_no_new_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.1)
    path = write(tmp_path, a_book(1))
    unread(tmp_path, 2, "01OTHER")
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with reader.reading(str(path)) as record:
            assert reader.last_id(record) == 9
        holder.execute("ROLLBACK")
        holder.execute("PRAGMA locking_mode = EXCLUSIVE")
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match="another process holds it; try again"):
            store.open_for_reading(str(path))
    with reader.reading(str(path)) as record:
        assert reader.last_id(record) == 9
    assert count(path) == 9


def test_reading_creates_nothing_in_another_users_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = unread(tmp_path, 2)
    monkeypatch.setattr(files, "is_own", lambda _: False)
    with reader.reading(path) as record:
        assert reader.last_id(record) == 6
    assert os.listdir(tmp_path) == ["runs"]


def test_entries_are_not_imported_twice_if_tidying_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = Mock(side_effect=sqlite3.OperationalError("database is locked"))
    monkeypatch.setattr(paths, "keep_within", locked)
    write(tmp_path, a_book(2))
    assert count(tmp_path / "record.db") == 6
