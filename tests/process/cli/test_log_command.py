"""`lastword log` of sessions that are played: lists, timelines, and what happens meanwhile."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from lastword.record.run_file import RunFile
from tests.kit.command import in_a_process
from tests.kit.desk import Editor
from tests.kit.patience import FUSE_SECONDS
from tests.kit.recording import (
    FOR_EVER,
    Book,
    a_book,
    a_run,
    lastword,
    write,
)
from tests.unit.cli.test_log_command import state

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


__all__ = ["state"]


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a real session leaves: a failure, retries, a tool, and a crash in the middle of one."""
    state = tmp_path_factory.mktemp("real")
    editor = Editor(state)
    for scenario in ("rate_limit", "retried", "healthy_tool", "crash_after_text"):
        editor.play(scenario)
    editor.leave()
    return state


def test_a_real_session_is_listed_with_its_turns(real: Path) -> None:
    done = lastword("log", state=real, COLUMNS="80")
    head, marks, *rows = done.stdout.splitlines()
    assert head.startswith("1   scripted-1-1  ")
    assert head.endswith("lastword-agent in an-editor")
    assert marks == "    x..x  4 turns"
    ended = [re.search(r":\d\d  (\w+(?: \w+)*)", row) for row in rows[:4]]
    assert [found and found[1] for found in ended] == ["rate limit", "ok", "ok", "agent crashed"]
    assert re.search(r"[▁▂▃▄▅▆▇█]{2}$", rows[1])
    assert "1 tool" in rows[2]
    assert "x failed" in done.stdout


def test_a_real_timeline_tells_the_story_without_the_conversation(real: Path) -> None:
    done = lastword("log", "scri", state=real, COLUMNS="100")
    told = [
        "Turn 4: The turn failed",
        "session scripted-1-1",
        "turn 1: rate limit",
        "HTTP 429",
        "retry: yes, after 20 s",
        "tried again in 1.0 s (attempt 2), after provider unavailable",
        "turn 4: agent crashed",
        "agent exited: SIGKILL, during 1 turn",
    ]
    shown = " ".join(done.stdout.split())
    places = [shown.index(words) for words in told]
    assert places == sorted(places)
    assert "tool starts (execute)" in done.stdout
    assert "SECRET" not in done.stdout
    assert "SECRET" not in lastword("log", "scri", "--json", state=real).stdout


def test_an_open_session_is_shown_as_running_and_a_killed_one_as_without_end(
    tmp_path: Path,
) -> None:
    editor = Editor(tmp_path)
    try:
        editor.play("healthy")
        with follower("--json", state=tmp_path) as (process, next_line):
            editor.prompt("/scenario cancelled")
            # What is still to be written of the first turn may come before it.
            while (told := json.loads(next_line()))["kind"] != "first_output" or told["turn"] != 2:
                continue
            process.send_signal(signal.SIGINT)
        assert " running\n" in lastword("log", state=tmp_path).stdout
        assert "still running" in lastword("log", "--last", state=tmp_path).stdout
    finally:
        editor.kill()
    assert " no end recorded\n" in lastword("log", state=tmp_path).stdout
    assert "its end was not recorded" in lastword("log", "--last", state=tmp_path).stdout


def test_an_agent_that_never_started_is_listed_and_its_incident_opens(tmp_path: Path) -> None:
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}
    kept = os.environ | {"LASTWORD_STATE_DIR": str(tmp_path)}
    in_a_process(
        "run", "--", "/nonexistent-agent", stdin=f"{json.dumps(hello)}\n", environment=kept
    )
    listed = lastword("log", state=tmp_path).stdout
    assert "initialize failed: agent crashed, spawn failed\n" in listed
    run, incident = listed.split()[1], listed.split("incident ")[1].split()[0]
    for name in (incident, run, "--last"):
        shown = " ".join(lastword("log", name, state=tmp_path).stdout.split())
        assert f"incident {incident}" in shown
        summary = lastword("export", name, "-o", "-", state=tmp_path).stdout
        (said,) = [line for line in summary.splitlines() if line.startswith("- `initialize` ")]
        assert said.startswith("- `initialize` failed. The agent could not be started. It failed ")
        assert said.endswith(f" Incident `{incident}`.")
    told = json.loads(lastword("log", "--json", state=tmp_path).stdout)["sessions"]
    assert [(each["session_id"], each["turn_count"]) for each in told] == [(None, 0)]
    assert told[0]["failures"][0]["facts"]["incident_id"] == incident
    failures = lastword("log", "--errors", state=tmp_path).stdout
    assert "agent crashed, spawn failed\n    The agent could not be started. It " in failures
    assert "To do: Check that the agent is installed and its command is right.\n" in failures
    assert "Where: initialize, nonexistent-agent.\n" in failures


def test_a_pager_that_is_left_open_does_not_keep_the_record_from_being_tidied(
    tmp_path: Path,
) -> None:
    write(tmp_path, a_book(1000), a_run("01LONG"))
    command = [sys.executable, "-m", "lastword", "log", "--last", "--all"]
    environment = os.environ | {"LASTWORD_STATE_DIR": str(tmp_path)}
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as log,
        closing(sqlite3.connect(tmp_path / "record.db", isolation_level=None)) as record,
    ):
        assert log.stdout is not None
        first = log.stdout.read(1)
        record.execute("CREATE TABLE more (word)")
        busy, *_ = record.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        assert busy == 0
        assert log.poll() is None, "it has written all of it: too little for a pager"
        assert len(first + log.stdout.read()) > 100_000
    assert log.returncode == 0


@contextmanager
def follower(*arguments: str, state: Path) -> Iterator[tuple[subprocess.Popen[str], Any]]:
    """`log --follow`, once it has begun; leaving waits for its end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "lastword", "log", "--follow", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"LASTWORD_STATE_DIR": str(state)},
    )
    fuse = threading.Timer(FUSE_SECONDS, process.kill)
    fuse.start()
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        assert "wait" in (begun := process.stderr.readline()) or "follow" in begun
        yield process, process.stdout.readline
        process.wait(FUSE_SECONDS)
    finally:
        fuse.cancel()
        process.kill()
        process.wait(FUSE_SECONDS)
        process.stdout.close()
        process.stderr.close()


def test_entries_are_shown_live_until_ctrl_c(tmp_path: Path) -> None:
    with follower(state=tmp_path) as (process, next_line):
        # There was no store yet; nor does it matter that another takes its place.
        book = Book()
        book.ok("first-session", 1)
        write(tmp_path, book)
        lines = [next_line() for _ in book.rows]
        os.rename(tmp_path / "record.db", tmp_path / "away.db")
        book = Book()
        book.failed("second-session", 4, "network")
        write(tmp_path, book)
        lines += [next_line() for _ in book.rows]
        process.send_signal(signal.SIGINT)
    assert process.returncode == 0
    assert re.match(r"\d\d:\d\d:\d\d  first-session 1  prompt\n", lines[0])
    assert lines[-1].endswith("second-session 4  failed: network error\n")


def test_an_unread_record_is_followed_from_now_on(tmp_path: Path) -> None:
    one = RunFile(str(tmp_path / "record.db"), a_run(), FOR_EVER)
    one.write(a_book(1).rows)
    with follower(state=tmp_path) as (process, next_line):
        book = Book()
        book.ok("now", 2)
        one.write(book.rows)
        assert next_line().endswith("now 2  prompt\n")
        process.send_signal(signal.SIGINT)
    one.close()


def test_one_session_s_errors_can_be_followed_for_machines(state: Path) -> None:
    with follower("abc", "--errors", "--json", state=state) as (process, next_line):
        book = Book()
        book.failed("abd-2", 9, "network")
        book.ok("abc-1", 9)
        book.failed("abc-1", 10, "timeout")
        write(state, book, a_run("01MORE"))
        assert json.loads(next_line())["facts"]["type"] == "timeout"
        process.send_signal(signal.SIGINT)
    assert process.returncode == 0


def test_following_ends_with_its_reader(state: Path) -> None:
    with follower(state=state) as (process, _):
        assert process.stdout is not None
        process.stdout.close()
    assert process.returncode == 0


def test_retries_are_drawn_in_ascii_without_block_characters(real: Path) -> None:
    done = lastword("log", state=real, PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert re.search(r"[.:=+*%#-]{2}$", done.stdout.splitlines()[3])
