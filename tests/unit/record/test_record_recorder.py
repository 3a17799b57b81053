"""What is handed to the store, and when."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from lastword.core.timeline.entry import Entry, Kind
from lastword.record import recorder, run_file, threaded
from lastword.record.paths import Limits, limits_of
from lastword.record.recorder import Recorder
from lastword.record.sink import StoreSink
from lastword.record.threaded import ThreadedRecorder
from tests.kit.gateway.serving import until
from tests.kit.recording import (
    FOR_EVER,
    Carrier,
    a_book,
    a_run,
    count,
    is_recorded,
    recorded,
)
from tests.kit.rows import every

if TYPE_CHECKING:
    from pathlib import Path


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
