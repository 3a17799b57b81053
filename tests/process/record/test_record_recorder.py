"""What is handed to the store, and that nobody ever waits for it."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from lastword.core.timeline.entry import Kind
from lastword.record import process, reader
from lastword.record.process import RecorderProcess
from lastword.record.run import this_run
from lastword.record.run_file import RunFile
from tests.kit.desk import Editor
from tests.kit.gateway.serving import until
from tests.kit.patience import FUSE_SECONDS
from tests.kit.recording import FOR_EVER, Book, a_book, a_run, count, is_recorded, lastword

if TYPE_CHECKING:
    from pathlib import Path


def test_a_hanging_recorder_is_not_waited_for(
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


@pytest.mark.parametrize("way", [RecorderProcess, RunFile])
def test_a_lone_surrogate_in_a_name_or_an_id_costs_no_entry(
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


def test_a_record_begins_with_a_prompt_in_the_named_folder_or_not_at_all(
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


def test_a_failure_is_recorded_at_once_and_read_although_the_sidecar_is_killed(
    tmp_path: Path,
) -> None:
    editor = Editor(tmp_path)
    editor.play("rate_limit")
    failed = "turns WHERE outcome = 'failed'"
    path = tmp_path / "record.db"
    until("the error is recorded", lambda: is_recorded(tmp_path) and count(path, failed) == 1)
    editor.kill()
    assert count(path, "runs WHERE ended = 0") == 1
