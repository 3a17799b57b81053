"""How much is kept: of a turn, of a run, of all runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lastword.core.timeline.entry import Entry, Kind
from lastword.record import bounds, reader, writer
from lastword.record.retention import Limits
from lastword.record.writer import Writer
from tests.kit.recording import DAY_MS, Book, a_book, a_run, count, now_ms, recorded, write

if TYPE_CHECKING:
    from pathlib import Path


def test_runs_go_when_they_are_too_old_but_not_the_one_that_writes(tmp_path: Path) -> None:
    for number, days in enumerate((50, 31, 29, 1)):
        book = a_book(1, began_ms=now_ms() - days * DAY_MS, session=f"{days}-days")
        write(tmp_path, book, a_run(f"01RUN{number}", at_ms=book.began_ms))
    path = tmp_path / "record.db"
    old = a_book(1, began_ms=now_ms() - 90 * DAY_MS, session="clock-of-1970")
    one = Writer(str(path), a_run("01NOW", at_ms=old.began_ms), Limits(days=30, size_bytes=0))
    one.write(old.rows)
    one.close()
    with reader.reading(str(path)) as record:
        parts, _ = reader.latest_parts(record, 10)
    assert [part.session_id for part in parts] == ["1-days", "29-days", "clock-of-1970"]
    assert count(path) == 9


def test_the_oldest_runs_go_when_the_store_is_too_large(tmp_path: Path) -> None:
    path = tmp_path / "record.db"
    for number in range(40):
        book = a_book(20, began_ms=now_ms() - (40 - number) * 60_000, session=f"s{number}")
        write(tmp_path, book, a_run(f"01RUN{number:03}", at_ms=book.began_ms))
    before, limit = path.stat().st_size, 120 * 1024
    assert before > 2 * limit
    one = Writer(str(path), a_run("01NOW"), Limits(days=0, size_bytes=limit))
    one.write(a_book(1, session="now").rows)
    one.close()
    # No more than has to go: a run is about seven KiB.
    assert limit - 16 * 1024 < path.stat().st_size <= limit
    with reader.reading(str(path)) as record:
        parts, _ = reader.latest_parts(record, 200)
    kept = [part.session_id for part in parts]
    assert kept[0] == "now"
    assert kept[1:] == [f"s{number}" for number in range(39, 40 - len(kept), -1)]


def test_a_run_that_went_while_it_was_idle_writes_into_no_other_run(tmp_path: Path) -> None:
    path = str(tmp_path / "record.db")
    busy = a_run("01BUSY")
    write(tmp_path, a_book(1, session="busy"), busy)
    book = a_book(1, began_ms=now_ms() - 40 * DAY_MS, session="idle")
    idle = Writer(path, a_run("01IDLE", at_ms=book.began_ms), Limits(days=0, size_bytes=0))
    idle.write(book.rows)
    tidying = Writer(path, busy, Limits(days=30, size_bytes=0))
    tidying.write([])
    tidying.close()
    write(tmp_path, a_book(1, session="next"), a_run("01NEXT"))
    again = a_book(2, session="idle")
    idle.write(again.rows)
    idle.close()
    with reader.reading(path) as record:
        parts, _ = reader.latest_parts(record, 10)
    found = {part.session_id: part.run_id for part in parts}
    assert found == {"busy": "01BUSY", "next": "01NEXT", "idle": "01IDLE"}


def test_a_run_that_fills_the_store_by_itself_loses_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "record.db"
    one = Writer(str(path), a_run("01LONG"), Limits(days=0, size_bytes=800 * 1024))
    for first in range(0, 4_000, 800):
        book = Book(now_ms() - 1000)
        book.seconds += first * 3
        for turn in range(first, first + 800):
            book.ok("s", turn)
        one._tidied_at = -writer.TIDY_SECONDS
        one.write(book.rows)
    one.close()
    with reader.reading(str(path)) as record:
        ((oldest,),) = record.execute("SELECT min(turn) FROM entries").fetchall()
        ((newest,),) = record.execute("SELECT max(turn) FROM entries").fetchall()
    assert oldest > 0
    assert newest == 3_999


def test_a_turn_without_end_keeps_its_beginning_its_end_and_says_what_it_left_out() -> None:
    entries = [Entry(kind=Kind.PROMPT, at_seconds=0.0, session_id="s", turn=1)]
    entries += [
        Entry(kind=Kind.FRAME_DROPPED, at_seconds=float(number), session_id="s", turn=1)
        for number in range(1, 5_000)
    ]
    entries.append(Entry(kind=Kind.ANSWER, at_seconds=5000.0, session_id="s", turn=1))
    rows = recorded(entries)
    assert len(rows) == bounds.MAX_ENTRIES
    (omitted,) = [row for row in rows if row.kind == Kind.OMITTED]
    assert len(rows) - 1 + omitted.facts["count"] == len(entries)
    assert omitted.facts["kinds"] == {"frame_dropped": omitted.facts["count"]}
    assert (rows[0].kind, rows[-1].kind) == (Kind.PROMPT, Kind.ANSWER)
    assert [row.at_seconds for row in rows] == sorted(row.at_seconds for row in rows)


@pytest.mark.parametrize("length", [1, 383, 384, 385, 510, 511, 512, 513, 600])
def test_up_to_its_bound_a_turn_is_kept_whole(length: int) -> None:
    entries = [
        Entry(kind=Kind.PROMPT, at_seconds=float(number), session_id="s", turn=1)
        for number in range(length - 1)
    ]
    entries.append(Entry(kind=Kind.ERROR, at_seconds=float(length), session_id="s", turn=1))
    rows = recorded(entries)
    omitted = [row.facts["count"] for row in rows if row.kind == Kind.OMITTED]
    assert len(rows) <= bounds.MAX_ENTRIES
    assert len(rows) - len(omitted) + sum(omitted) == length
    assert bool(omitted) == (length > bounds.MAX_ENTRIES - 1)
