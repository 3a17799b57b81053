"""The timeline as log records, as what an author's own test collects, and where it is recorded."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from lastword import Options
from lastword.core.timeline.entry import Entry, Kind
from lastword.inprocess.journal import Journal, log, timeline
from lastword.record import thread as recording
from lastword.record.recorder import Recorder
from lastword.testing import capture_timeline
from tests.kit.patience import FUSE_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

    from lastword.record.run import Row


def entry(kind: Kind, **facts: Any) -> Entry:
    return Entry(kind=kind, at_seconds=1.5, session_id="s1", turn=2, request_id="7", facts=facts)


def test_an_entry_is_a_log_record_at_its_level_with_its_facts_as_fields(
    caplog: pytest.LogCaptureFixture,
) -> None:
    taken = dict.fromkeys(("name", "msg", "args", "asctime", "levelname"), "x")
    with caplog.at_level(logging.DEBUG, "lastword"):
        log(entry(Kind.ERROR, type="rate_limit", phase="before_output"))
        log(entry(Kind.FIRST_PROGRESS, **taken))
    failed, first = caplog.records
    assert (failed.name, failed.levelno) == ("lastword.timeline", logging.ERROR)
    assert failed.getMessage() == "session s1 turn 2: error: rate_limit"
    fields = {k: v for k, v in failed.__dict__.items() if k.startswith("lastword_")}
    assert fields == {
        "lastword_kind": "error",
        "lastword_at_seconds": 1.5,
        "lastword_session_id": "s1",
        "lastword_turn": 2,
        "lastword_request_id": "7",
        "lastword_type": "rate_limit",
        "lastword_phase": "before_output",
    }
    # Facts with names that log records have clash with nothing.
    assert (first.name, first.levelno) == ("lastword.timeline", logging.DEBUG)
    assert first.__dict__["lastword_msg"] == "x"


@pytest.mark.parametrize("option", ["first_update_timeout", "idle_timeout"])
def test_the_warning_about_a_stall_names_its_limit_and_the_option(
    caplog: pytest.LogCaptureFixture, option: str
) -> None:
    options = Options(record=False, **{f"{option}_seconds": 2.5})
    Journal(options, door="serve").note(entry(Kind.ERROR, reason=option))
    assert f" 2.5 s ({option}_seconds): " in caplog.text


def test_no_log_record_is_made_without_a_listener() -> None:
    made: list[object] = []
    usual = logging.getLogRecordFactory()

    def counting(*args: Any, **kwargs: Any) -> logging.LogRecord:
        made.append(args)
        return usual(*args, **kwargs)

    logging.setLogRecordFactory(counting)
    try:
        for kind in (Kind.PROMPT, Kind.FIRST_PROGRESS, Kind.TOOL_STARTED, Kind.ANSWER):
            log(entry(kind))
    finally:
        logging.setLogRecordFactory(usual)
    assert made == []


def wait_for(thread: recording.RecorderThread) -> None:
    """Until all that it was given is done."""
    until = time.monotonic() + FUSE_SECONDS
    while not thread.idle:
        assert time.monotonic() < until


def test_only_entries_during_a_capture_are_captured_and_none_is_recorded(tmp_path: Path) -> None:
    journal = Journal(Options(record=str(tmp_path / "own")), door="serve")
    with capture_timeline() as timeline:
        journal.note(entry(Kind.PROMPT))
        journal.note(entry(Kind.ANSWER, stop_reason="end_turn"))
    journal.close()
    wait_for(recording.recorder_thread())
    assert timeline.turns[0].stop_reason == "end_turn"
    assert timeline.summary().outcome == "ok"
    assert not (tmp_path / "own").exists()
    journal = Journal(Options(record=False), door="serve")
    journal.note(entry(Kind.PROMPT))
    with capture_timeline() as timeline:
        journal.note(entry(Kind.RETRY))
        open_turn = timeline.turns[0]
    journal.note(entry(Kind.ANSWER))
    journal.close()
    assert [each.kind for each in timeline.entries] == [Kind.RETRY]
    assert (open_turn.end, open_turn.error_type, open_turn.stop_reason) == (None, None, None)


def test_a_log_handler_that_raises_costs_neither_the_record_nor_a_turn(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    class Broken(logging.Filter):
        def filter(self, _: logging.LogRecord) -> bool:
            raise RuntimeError("no")

    broken = Broken()
    journal = Journal(Options(record=False), door="serve")
    timeline.logger.addFilter(broken)
    try:
        with caplog.at_level(logging.DEBUG, "lastword"):
            journal.note(entry(Kind.PROMPT))
            journal.note(entry(Kind.ANSWER))
    finally:
        timeline.logger.removeFilter(broken)
    journal.close()
    assert "Recording has stopped" not in caplog.text
    assert capsys.readouterr().err.count("RuntimeError: no") == 2


class Rows:
    """A carrier that keeps what it is given."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def send(self, rows: list[Row]) -> None:
        self.rows += rows

    def close(self) -> None:
        """Nothing is to be done."""


def test_entries_that_a_busy_thread_cannot_accept_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recording, "MAX_WAITING", 10)
    kept, go_on = Rows(), threading.Event()

    def held_up() -> Recorder:
        assert go_on.wait(FUSE_SECONDS)
        return Recorder(lambda: kept)

    thread = recording.RecorderThread()
    number = thread.open(held_up)
    for _ in range(25):
        thread.send(number, entry(Kind.PROMPT))
    go_on.set()
    wait_for(thread)
    thread.send(number, entry(Kind.ANSWER))
    thread.close(number)
    thread.finish()
    left_out = [row.facts["count"] for row in kept.rows if row.kind == "omitted"]
    prompts = len([row for row in kept.rows if row.kind == "prompt"])
    assert sum(left_out) + prompts == 25
    assert left_out


NO, USERS = {"LASTWORD_NO_RECORD": "yes"}, {"LASTWORD_RECORD": "{}/users"}


@pytest.mark.parametrize(
    ("author", "user", "kept"),
    [
        (True, {}, "state"),
        (True, NO, None),
        (False, {}, None),
        ("own", NO, None),
        ("own", USERS, "own"),
        (True, USERS, "users"),
    ],
)
def test_the_record_is_stored_where_the_author_or_else_the_user_chose(
    author: bool | str,
    user: dict[str, str],
    kept: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in ({"LASTWORD_STATE_DIR": "{}/state"} | user).items():
        monkeypatch.setenv(name, value.format(tmp_path))
    folder = str(tmp_path / author) if isinstance(author, str) else author
    journal = Journal(Options(record=folder), door="serve")
    journal.note(entry(Kind.PROMPT))
    journal.close()
    wait_for(recording.recorder_thread())
    assert [path.parent.name for path in tmp_path.rglob("runs")] == ([kept] if kept else [])


def test_an_option_that_is_neither_a_choice_nor_a_folder_is_refused() -> None:
    with pytest.raises(ValueError, match="record takes True, False, or a folder's path as text"):
        Options(record=None)  # type: ignore[arg-type]
