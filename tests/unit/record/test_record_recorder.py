"""What is handed to the store, when, and how much is kept: of a turn, of a run, of all runs."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

import pytest

from lastword.core.timeline.entry import Entry, Kind
from lastword.record import reader, recorder, run_file, threaded
from lastword.record.paths import Limits, limits_of
from lastword.record.recorder import Recorder
from lastword.record.run_file import RunFile
from lastword.record.sink import StoreSink
from lastword.record.threaded import ThreadedRecorder
from tests.kit.gateway.serving import until
from tests.kit.recording import (
    DAY_MS,
    FOR_EVER,
    Book,
    Carrier,
    a_book,
    a_run,
    count,
    is_recorded,
    now_ms,
    recorded,
    stored,
    write,
)
from tests.kit.rows import every

if TYPE_CHECKING:
    from pathlib import Path

    from lastword.record.run import Row


def test_no_recording_begins_before_anything_is_worth_it() -> None:
    begun: list[Carrier] = []
    one = Recorder(lambda: begun.append(Carrier()) or begun[-1])
    none = Recorder(lambda: None)  # where it cannot begin, the session continues
    for number in range(1000):
        for recorder_ in (one, none):
            recorder_.record(Entry(kind=Kind.FRAME_DROPPED, at_seconds=float(number)))
            recorder_.flush()
    assert begun == []
    for recorder_ in (one, none):
        recorder_.record(Entry(kind=Kind.ERROR, at_seconds=1000.0))
        recorder_.flush()
    none.close()
    (carrier,) = begun
    assert carrier.rows[-1].kind == Kind.ERROR
    # What was early, and what the bound had kept back for the end.
    assert len(carrier.rows) <= recorder.MAX_EARLY + recorder.MAX_ENTRIES - 384


@pytest.mark.no_cover
def test_turns_beyond_the_number_that_is_followed_lose_no_entry() -> None:
    entries = [
        Entry(kind=kind, at_seconds=float(number), session_id=f"s{session}", turn=1)
        for session in range(recorder.MAX_STRETCHES + 50)
        for number, kind in enumerate([Kind.PROMPT, *[Kind.FRAME_DROPPED] * 399])
    ]
    assert len(recorded(entries)) == len(entries)


def test_the_time_of_day_follows_a_clock_that_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    carrier = Carrier()
    one = Recorder(lambda: carrier)
    one.record(Entry(kind=Kind.PROMPT, at_seconds=time.monotonic(), session_id="s", turn=1))
    later = time.time() + 3600
    monkeypatch.setattr(time, "time", lambda: later)
    one.record(Entry(kind=Kind.ANSWER, at_seconds=time.monotonic(), session_id="s", turn=1))
    one.flush()
    first, second = carrier.rows
    assert 3590 < (second.at_epoch_ms - first.at_epoch_ms) / 1000 < 3610
    assert 0 <= second.at_seconds - first.at_seconds < 10


@every(
    ("days", "mib", "limits"),
    [
        ("", "", Limits()),
        ("0", "0", Limits(days=0, size_bytes=0)),
        ("1.5", "1", Limits(days=1.5, size_bytes=1 << 20)),
        ("-1", "much", Limits()),
        ("nan", "inf", Limits()),
    ],
)
def test_numeric_limits_are_read_from_the_environment(days: str, mib: str, limits: Limits) -> None:
    found = {"LASTWORD_RECORD_DAYS": days, "LASTWORD_RECORD_MIB": mib}
    assert limits_of({name: value for name, value in found.items() if value}) == limits


def test_entries_that_a_disk_refused_are_written_later_by_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_file, "RETRY_SECONDS", 0.1)
    monkeypatch.setattr(threaded, "RETRY_SECONDS", 0.2)
    folder = tmp_path / "state"
    folder.write_text("no folder")
    sinks = StoreSink(str(folder / "record.db"), a_run(), FOR_EVER)
    one = ThreadedRecorder(lambda: sinks)
    one.send(a_book(2).rows)
    until("the disk has refused", lambda: sinks.is_behind)
    folder.unlink()
    until("it is written", lambda: is_recorded(folder))
    assert count(folder / "record.db") == 6
    one.close()


def test_runs_are_deleted_when_they_are_too_old(tmp_path: Path) -> None:
    for number, days in enumerate((50, 31, 29, 1)):
        book = a_book(1, began_ms=now_ms() - days * DAY_MS, session=f"{days}-days")
        write(tmp_path, book, a_run(f"01RUN{number}", at_ms=book.began_ms))
    limits = Limits(days=30, size_bytes=0)
    path = write(tmp_path, a_book(1, session="now"), a_run("01NOW"), limits=limits)
    with reader.reading(str(path)) as record:
        parts, _ = reader.latest_parts(record, 10)
    assert [part.session_id for part in parts] == ["now", "1-days", "29-days"]
    assert count(path) == 9
    old = a_run("01OLD", at_ms=now_ms() - 9 * DAY_MS)  # as is then each of them
    limits = Limits(days=0.5, size_bytes=1)
    path = write(tmp_path / "all", a_book(1, began_ms=old.started_epoch_ms), old, limits=limits)
    assert count(path) == count(path, "runs") == 0


def test_the_oldest_runs_are_deleted_when_the_store_is_too_large(tmp_path: Path) -> None:
    path = tmp_path / "record.db"
    for number in range(40):
        book = a_book(20, began_ms=now_ms() - (40 - number) * 60_000, session=f"s{number}")
        write(tmp_path, book, a_run(f"01RUN{number:03}", at_ms=book.began_ms))
    before, limit = path.stat().st_size, 120 * 1024
    assert before > 2 * limit
    limits = Limits(days=0, size_bytes=limit)
    write(tmp_path, a_book(1, session="now"), a_run("01NOW"), limits=limits)
    # No more than has to go: a run is about seven KiB.
    assert limit - 16 * 1024 < path.stat().st_size <= limit
    with reader.reading(str(path)) as record:
        parts, _ = reader.latest_parts(record, 200)
    kept = [part.session_id for part in parts]
    assert kept[0] == "now"
    assert kept[1:] == [f"s{number}" for number in range(39, 40 - len(kept), -1)]


def test_a_run_that_went_while_it_was_idle_writes_into_no_other_run(tmp_path: Path) -> None:
    book = a_book(1, began_ms=now_ms() - 40 * DAY_MS, session="idle")
    path = str(tmp_path / "record.db")
    idle = RunFile(path, a_run("01IDLE", at_ms=book.began_ms), FOR_EVER)
    idle.write(book.rows)
    stored(tmp_path)
    limits = Limits(days=30, size_bytes=0)
    write(tmp_path, a_book(1, session="next"), a_run("01NEXT"), limits=limits)
    assert count(tmp_path / "record.db", "runs") == 1
    idle.write(a_book(2, session="idle").rows)
    idle.close()
    with reader.reading(str(tmp_path / "record.db")) as record:
        parts, _ = reader.latest_parts(record, 10)
    found = {part.session_id: part.run_id for part in parts}
    assert found == {"next": "01NEXT", "idle": "01IDLE"}


def test_a_run_that_fills_the_store_by_itself_loses_its_beginning(tmp_path: Path) -> None:
    limits = Limits(days=0, size_bytes=800 * 1024)
    one = RunFile(str(tmp_path / "record.db"), a_run("01LONG"), limits)
    for first in range(0, 4_000, 800):
        one.write(many_turns(first, first + 800))
        path = stored(tmp_path)
    one.close()
    with reader.reading(str(path)) as record:
        ((oldest,),) = record.execute("SELECT min(turn) FROM entries").fetchall()
        ((newest,),) = record.execute("SELECT max(turn) FROM entries").fetchall()
    assert oldest > 0
    assert newest == 3_999


def many_turns(first: int, last: int) -> list[Row]:
    book = Book(now_ms() - 1000)
    book.seconds += first * 3
    for turn in range(first, last):
        book.ok("s", turn)
    return book.rows


def test_the_files_of_unread_runs_are_bounded_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_file, "REMOVE_EVERY_SECONDS", 0.0)
    path, folder = str(tmp_path / "record.db"), tmp_path / "runs"

    def recorded_by(run: str, limits: Limits, *, leave: bool = True) -> RunFile:
        one = RunFile(path, a_run(run), limits)
        one.write(many_turns(0, 100))
        if leave:
            one.close()
        return one

    for number in range(6):
        recorded_by(f"01RUN{number}", FOR_EVER)
        (file,) = folder.glob(f"01RUN{number}-*")
        os.utime(file, (time.time() - (6 - number) * 86_400,) * 2)
    size = file.stat().st_size
    lasting = recorded_by("01A", FOR_EVER, leave=False)
    os.utime(next(folder.glob("01A-*")), (0, 0))
    # Of a run that goes on, however old its last row is, the file stays.
    recorded_by("01B", Limits(days=4.5, size_bytes=0))
    assert runs_in(folder) == ["01A", "01B", "01RUN2", "01RUN3", "01RUN4", "01RUN5"]
    recorded_by("01C", Limits(days=0, size_bytes=4 * size))
    assert runs_in(folder) == ["01A", "01B", "01C", "01RUN4", "01RUN5"]
    lasting.close()
    alone = RunFile(path, a_run("01D"), Limits(days=0, size_bytes=2 * size))
    for _ in range(9):
        alone.write(many_turns(0, 100))
        (file,) = folder.glob("01D-*")
        assert file.stat().st_size <= 3 * size + 1000
    alone.close()
    first, *_, last = file.read_text().splitlines()
    assert (json.loads(first)["run_id"], json.loads(last)) == ("01D", {"ended": True})


def runs_in(folder: Path) -> list[str]:
    return sorted(file.name.partition("-")[0] for file in folder.iterdir())


@pytest.mark.parametrize("length", [1, 383, 384, 385, 510, 511, 512, 513, 600, 5000])
def test_a_turn_within_its_bound_is_kept_whole_and_a_longer_ones_ends_and_the_omitted_counted(
    length: int,
) -> None:
    kinds = [Kind.PROMPT, *[Kind.FRAME_DROPPED] * (length - 2), Kind.ERROR][-length:]
    rows = recorded([
        Entry(kind=kind, at_seconds=float(number), session_id="s", turn=1)
        for number, kind in enumerate(kinds)
    ])  # fmt: skip
    omitted = [row.facts for row in rows if row.kind == Kind.OMITTED]
    assert len(rows) <= recorder.MAX_ENTRIES
    assert (rows[0].kind, rows[-1].kind) == (kinds[0], kinds[-1])
    assert [row.at_seconds for row in rows] == sorted(row.at_seconds for row in rows)
    if length < recorder.MAX_ENTRIES:
        assert (len(rows), omitted) == (length, [])
    else:
        left = length - recorder.MAX_ENTRIES + 1
        assert len(rows) == recorder.MAX_ENTRIES
        assert omitted == [{"count": left, "kinds": {"frame_dropped": left}}]
