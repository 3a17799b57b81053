"""`lastword log` of a record that is there: lists, timelines, and what goes wrong."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from lastword.core.timeline.entry import Kind
from tests.kit.recording import (
    DAY_MS,
    HOUR_MS,
    Book,
    a_run,
    lastword,
    now_ms,
    write,
)
from tests.kit.rows import every

if TYPE_CHECKING:
    from pathlib import Path

INCIDENT = "01M7X4Q9WSKR12H4A9DNDD1JMH-1"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """Three sessions, written by the real writer."""
    book = Book(now_ms() - 2 * DAY_MS)
    book.created("old-session")
    book.ok("old-session", 1)
    write(tmp_path, book, a_run("01OLD", at_ms=book.began_ms))
    book = Book(now_ms() - HOUR_MS)
    book.note(Kind.CLIENT_ATTACHED, name="an-editor", version="1")
    book.note(Kind.AGENT_READY, name="an-agent", version="2")
    book.created("abc-1")
    book.failed("abc-1", 1, "budget", reason="credits", incident_id=INCIDENT)
    book.ok("abc-1", 2)
    book.created("abd-2")
    book.note(Kind.PROMPT, "abd-2", 3)
    book.note(Kind.CANCEL, "abd-2", 3, by="user")
    book.note(Kind.ANSWER, "abd-2", 3, stop_reason="cancelled", by="agent")
    write(tmp_path, book, a_run("01NEW", at_ms=book.began_ms))
    return tmp_path


def test_every_incident_of_the_record_is_explained(state: Path) -> None:
    book = Book()
    book.failed("abe-3", 1, "unknown", reason="silent_success", incident_id="01SILENT-1")
    book.note(Kind.HOLDER_DIED, "abe-3", open_turns=1, incident_id="01SILENT-h1")
    write(state, book, a_run("01SILENT"))
    for incident, kind in {
        INCIDENT: "budget",
        "01SILENT-1": "unknown",
        "01SILENT-h1": "agent_crash",
    }.items():
        done = lastword("explain", incident, state=state)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"{kind}\n")


def test_a_session_without_failures_and_a_number_beyond_the_list_are_answered(state: Path) -> None:
    done = lastword("log", "old-session", "--errors", state=state)
    assert done.stdout == "No turn of this session failed.\n"
    assert (
        "no session begins with '17', and there are 3 sessions"
        in lastword("log", "17", state=state).stderr
    )


def test_failures_are_listed_alone_the_newest_first(state: Path) -> None:
    book = Book()
    book.note(Kind.ERROR, type="auth", method="session/new", reason="login_required")
    write(state, book, a_run("01AUTH"))
    done = lastword("log", "--errors", state=state)
    kinds = re.findall(r"\d\d:\d\d  ([\w ]+)", done.stdout)
    assert kinds == ["login refused", "budget used up"]
    assert "session/new" in done.stdout
    assert INCIDENT in done.stdout
    told = json.loads(lastword("log", "--errors", "--json", state=state).stdout)
    assert [failure["of"] for failure in told["failures"]] == ["request", "turn"]
    limited = lastword("log", "--errors", "--limit", "1", state=state)
    assert "login refused" in limited.stdout
    assert "Older failures are not shown; --limit 2 shows more of them" in limited.stdout


SINCE = {
    "2h": ["abd-2", "abc-1"],
    "30m": [],
    "3d": ["abd-2", "abc-1", "old-session"],
    "2020-01-01": ["abd-2", "abc-1", "old-session"],
    "2999-12-31T10:00": [],
}


def test_only_sessions_since_the_given_time_are_listed(state: Path) -> None:
    for since, sessions in SINCE.items():
        told = json.loads(lastword("log", "--since", since, "--json", state=state).stdout)
        assert [session["session_id"] for session in told["sessions"]] == sessions
        shown = lastword("log", "--since", since, state=state)
        assert bool(sessions) != ("No turn is recorded in this time." in shown.stdout)


def test_a_turn_of_another_day_is_shown_with_its_date(tmp_path: Path) -> None:
    book = Book(1795122000_000)
    book.ok("s", 1)
    book.seconds += 24 * 3600
    book.ok("s", 2)
    book.seconds += 60
    book.note(Kind.PROMPT, "s", 3)
    book.note(Kind.ANSWER, "s", 3, stop_reason="max_turn_requests", by="agent")
    write(tmp_path, book)
    listed = lastword("log", state=tmp_path, TZ="UTC").stdout.splitlines()
    assert [line.split()[:2] for line in listed[2:5]] == [
        ["11-19", "ok"],
        ["21:00:02", "ok"],
        ["21:01:03", "request"],
    ]
    shown = lastword("log", "s", state=tmp_path, TZ="UTC").stdout
    assert "turn 1: ok after 1.0 s, 2026-11-19 21:00:00" in shown


REFUSED = (
    (["nonsense"], 2, "no session begins with 'nonsense'; `lastword log` lists them"),
    ([""], 2, "no session begins with ''"),
    (["ab"], 2, "is ambiguous; give more of it:\n  abd-2"),
    (["--since", "yesterday"], 2, "--since cannot be 'yesterday': it takes 30m, 2h"),
    (["--limit", "0"], 2, "a whole number from 1 up"),
    (["--limit", "many"], 2, "a whole number from 1 up"),
    (["abc", "--last"], 2, "--last already names a session"),
    (["--follow", "--since", "2h"], 2, "--follow begins now"),
    (["--follow", "zzz"], 2, "no session begins with 'zzz'"),
    (["--web", "nonsense"], 2, "no session begins with 'nonsense'"),
    (["--web", "abc", "--last"], 2, "--last already names a session"),
    (["--record", "/nonexistent"], 1, "there is no record at /nonexistent/record.db yet"),
)


@every("arguments, status, words", REFUSED)
def test_an_impossible_request_is_refused_in_a_sentence(
    state: Path, arguments: list[str], status: int, words: str
) -> None:
    done = lastword("log", *arguments, state=state)
    assert (done.returncode, done.stdout) == (status, "")
    assert words in done.stderr


def test_log_finds_the_record_where_run_was_configured_to_store_it(
    state: Path, tmp_path: Path
) -> None:
    elsewhere = str(tmp_path / "elsewhere")
    by_option = lastword("log", "--record", str(state), LASTWORD_STATE_DIR=elsewhere)
    by_variable = lastword("log", LASTWORD_RECORD=str(state), LASTWORD_STATE_DIR=elsewhere)
    assert "abc-1" in by_option.stdout
    assert by_variable.stdout == by_option.stdout


@pytest.mark.parametrize("command", ["log", "stats", "export"])
def test_an_unusable_store_is_reported_in_a_sentence(state: Path, command: str) -> None:
    path = state / "record.db"
    arguments = [command, *(["--last"] if command == "export" else [])]
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 77")
    newer = lastword(*arguments, state=state)
    path.write_bytes(b"garbage" * 1000)
    damaged = lastword(*arguments, state=state)
    path.write_bytes(b"")
    empty = lastword(*arguments, state=state)
    for done, words in (
        (newer, "a newer lastword made it (schema 77; this one knows 1); update lastword"),
        (damaged, "it is damaged; once another session is recorded, a new one takes its place"),
        (empty, "nothing has been recorded in it yet"),
    ):
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith(f"lastword {command}: {path} cannot be used: ")
        assert words in done.stderr
        assert done.stderr.count("\n") == 1


def test_a_record_that_was_set_aside_is_reported(state: Path) -> None:
    path = state / "record.db"
    path.write_bytes(b"garbage" * 1000)
    book = Book()
    book.ok("s", 1)
    write(state, book, a_run("01AFTER"))
    done = lastword("log", state=state)
    assert done.returncode == 0
    assert re.search(
        rf"a damaged record was set aside as {path}\.broken-[-\d]+; delete", done.stderr
    )


def test_a_name_cannot_move_the_cursor(tmp_path: Path) -> None:
    book = Book()
    book.note(Kind.AGENT_READY, name="evil\x1b[2J\nagent", version="\r1")
    book.failed("s\x1b]0;title\x07", 1, "budget", reason="\x1b[31mred")
    write(tmp_path, book)
    for arguments in ((), ("--last",), ("--errors",)):
        shown = lastword("log", *arguments, state=tmp_path).stdout
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", shown)
