"""What is handed to the store, and that nobody ever waits for it."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from lastword.core.timeline.entry import Entry, Kind
from lastword.record import process, reader, recorder, run_file, threaded
from lastword.record.paths import Limits, limits_of
from lastword.record.process import RecorderProcess
from lastword.record.recorder import Recorder
from lastword.record.run import this_run
from lastword.record.run_file import RunFile
from lastword.record.sink import StoreSink
from lastword.record.threaded import ThreadedRecorder
from tests.kit.desk import Editor
from tests.kit.gateway.serving import until
from tests.kit.patience import FUSE_SECONDS
from tests.kit.recording import (
    FOR_EVER,
    Book,
    Carrier,
    a_book,
    a_run,
    count,
    is_recorded,
    lastword,
    recorded,
)
from tests.kit.rows import every

if TYPE_CHECKING:
    from pathlib import Path


def an_entry(kind: Kind, number: int = 0, session: str | None = None) -> Entry:
    turn = 1 if session else None
    return Entry(kind=kind, at_seconds=float(number), session_id=session, turn=turn)


def test_before_anything_is_worth_keeping_nothing_begins() -> None:
    begun: list[Carrier] = []
    one = Recorder(lambda: begun.append(Carrier()) or begun[-1])
    for number in range(1000):
        one.record(an_entry(Kind.FRAME_DROPPED, number))
        one.flush()
    assert begun == []
    one.record(an_entry(Kind.ERROR, 1000))
    one.flush()
    (carrier,) = begun
    assert carrier.rows[-1].kind == Kind.ERROR
    # What was early, and what the bound had kept back for the end.
    assert len(carrier.rows) <= recorder.MAX_EARLY + recorder.MAX_ENTRIES - 384


def test_where_no_process_is_to_be_had_a_session_goes_on_without() -> None:
    one = Recorder(lambda: None)
    for number in range(3):
        one.record(an_entry(Kind.PROMPT, number, "s"))
        one.flush()
    one.close()


def test_of_more_open_turns_than_are_followed_none_loses_an_entry() -> None:
    sessions = [f"s{number}" for number in range(recorder.MAX_STRETCHES + 50)]
    entries = [
        an_entry(Kind.PROMPT if number == 0 else Kind.FRAME_DROPPED, number, session)
        for session in sessions
        for number in range(400)
    ]
    rows = recorded(entries)
    assert len(rows) == len(entries)


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
def test_limits_are_the_environment_s_where_they_are_numbers(
    days: str, mib: str, limits: Limits
) -> None:
    found = {"LASTWORD_RECORD_DAYS": days, "LASTWORD_RECORD_MIB": mib}
    assert limits_of({name: value for name, value in found.items() if value}) == limits


def test_a_recorder_that_hangs_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "record.db"
    one = RecorderProcess(str(path), a_run(), FOR_EVER)
    rows = a_book(100).rows
    os.kill(one._pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        for _ in range(400):
            one.send(rows)
        assert time.monotonic() - began < FUSE_SECONDS
        assert len(one._pending) < 2 * process.MAX_PENDING_BYTES
    finally:
        os.kill(one._pid, signal.SIGCONT)
    monkeypatch.setattr(process, "CLOSE_SECONDS", float(FUSE_SECONDS))
    one.close()
    assert 0 < count(path) < 400 * len(rows)
    assert count(path, "runs WHERE ended = 1") == 1


def test_what_a_disk_could_not_take_is_written_without_another_entry(
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


def test_a_recorder_that_is_killed_is_not_missed(tmp_path: Path) -> None:
    one = RecorderProcess(str(tmp_path / "record.db"), a_run(), FOR_EVER)
    os.kill(one._pid, signal.SIGKILL)
    for _ in range(50):
        one.send(a_book(20).rows)
    one.close()


@pytest.mark.parametrize("way", [RecorderProcess, RunFile])
def test_half_a_character_in_a_name_or_an_id_costs_no_entry(
    tmp_path: Path, way: type[RecorderProcess | RunFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "CLOSE_SECONDS", float(FUSE_SECONDS))
    path = str(tmp_path / "record.db")
    run = this_run("01RUN", door="run", program="agent\udcff")
    book = Book()
    book.note(Kind.AGENT_READY, name="\ud800", version="1")
    book.failed("\ud800", 1, facts_of={"list": ["\udfff"]})
    book.ok("\ud800", 2)
    one = way(path, run, FOR_EVER)
    one.write(book.rows) if isinstance(one, RunFile) else one.send(book.rows)
    one.close()
    assert count(tmp_path / "record.db") == len(book.rows)
    with reader.reading(path) as record:
        (part,), _ = reader.latest_parts(record, 9)
        assert (part.session_id, reader.run_of(record, part.run).program) == ("?", "agent?")
        assert [turn.outcome for turn in reader.turns_of(record, part)] == ["failed", "ok"]


def test_a_record_begins_with_a_prompt_in_the_folder_that_is_named_or_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    editor = Editor(tmp_path / "state", "--no-record")
    editor.play("healthy")
    editor.leave()
    assert not (tmp_path / "state").exists()
    # No shell has looked for the home.
    editor = Editor(tmp_path / "state", "--record", "~/kept")
    assert not (tmp_path / "kept").exists()
    editor.play("healthy")
    editor.leave()
    assert not (tmp_path / "state").exists()
    assert lastword("log", "--record", "~/kept").stdout.count("an-editor") == 1


def test_a_killed_sidecar_s_entries_are_written_all_the_same(tmp_path: Path) -> None:
    editor = Editor(tmp_path)
    editor.play("rate_limit")
    # Its entries leave after its answer has; once the next is answered, they are on their way.
    editor.play("healthy")
    editor.kill()
    until("the error is recorded", lambda: is_recorded(tmp_path) and _has_error(tmp_path))
    assert count(tmp_path / "record.db", "runs WHERE ended = 0") == 1


def _has_error(folder: Path) -> bool:
    return count(folder / "record.db", "turns WHERE outcome = 'failed'") == 1
