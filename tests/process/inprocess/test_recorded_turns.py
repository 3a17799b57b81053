"""The guard and `serve` keep a record as the sidecar does, and no turn pays for it."""

from __future__ import annotations

import sqlite3
import stat
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from lastword import Options
from tests.kit.doors import DoorClient
from tests.kit.patience import FUSE_SECONDS, patient

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process.inprocess.conftest import Record, Start


def test_turns_are_kept_with_the_door_the_script_and_how_they_ended(
    start: Start, record: Record, door: str
) -> None:
    client = start().opened()
    client.turn("tool x")
    client.turn("throttle")
    assert client.end() == 0
    assert record.outcomes == [("ok", None), ("failed", "rate_limit")]
    assert record.rows("SELECT door, program, agent, client, ended FROM runs") == [
        ("guard" if door == "sdk" else "serve", "doors", "recorded", "raw-client", 1)
    ]
    assert record.kinds[:4] == ["client_attached", "agent_ready", "session_created", "prompt"]
    assert "tool_started" in record.kinds
    assert record.kinds[-1] == "client_gone"
    assert stat.S_IMODE(record.path.stat().st_mode) == 0o600


def test_incident_ids_begin_with_the_runs_id(start: Start, record: Record) -> None:
    client = start().opened()
    shown = client.turn("throttle").error["incident_id"]
    client.end()
    assert record.rows("SELECT incident_id FROM turns") == [(shown,)]
    assert shown.startswith(record.rows("SELECT run_id FROM runs")[0][0])


def test_a_failure_is_on_disk_while_the_agent_still_runs(start: Start, record: Record) -> None:
    client = start().opened()
    client.turn("throttle")
    until = time.monotonic() + FUSE_SECONDS
    while not record.path.exists() or "error" not in _kinds_so_far(record):
        assert time.monotonic() < until
    assert client.exit_status is None


def _kinds_so_far(record: Record) -> list[str]:
    try:
        return record.kinds
    except sqlite3.OperationalError:
        return []  # the tables are being made


def test_before_a_prompt_nothing_is_kept(start: Start, record: Record) -> None:
    assert start().opened().end() == 0
    assert not record.path.parent.exists()


@pytest.mark.parametrize("switched_off", [{"LASTWORD_NO_RECORD": "1"}, "record=off"])
def test_a_user_or_an_author_can_switch_it_off(
    start: Start, record: Record, switched_off: dict[str, str] | str
) -> None:
    client = start(switched_off) if isinstance(switched_off, str) else start(**switched_off)
    client.open()
    client.turn("throttle")
    assert client.end() == 0
    assert not record.path.parent.exists()


def test_an_option_that_is_neither_a_choice_nor_a_folder_is_refused() -> None:
    with pytest.raises(ValueError, match="record takes True, False, or a folder's path as text"):
        Options(record=None)  # type: ignore[arg-type]


def test_a_user_who_wants_no_record_goes_before_an_author_who_names_a_folder(
    start: Start, tmp_path: Path
) -> None:
    client = start(f"record={tmp_path / 'own'}", LASTWORD_NO_RECORD="yes").opened()
    client.turn("say")
    client.end()
    assert not (tmp_path / "own").exists()


def test_it_is_kept_where_the_author_says_else_where_the_user_says(
    start: Start, record: Record, tmp_path: Path
) -> None:
    own, users = tmp_path / "own", tmp_path / "users"
    for arguments in ([f"record={own}"], []):
        client = start(*arguments, LASTWORD_RECORD=str(users)).opened()
        client.turn("say")
        client.end()
    assert (own / "record.db").exists()
    assert (users / "record.db").exists()
    assert not record.path.exists()


@pytest.mark.parametrize("wanted", [True, False])
def test_a_failures_words_are_kept_where_they_were_asked_for(
    start: Start, record: Record, *, wanted: bool
) -> None:
    client = start(LASTWORD_RECORD_TEXT="1" if wanted else "0").opened()
    client.turn("throttle at the third bridge")
    client.end()
    (facts,) = record.rows("SELECT facts FROM entries WHERE kind = 'error'")[0]
    assert ("third bridge" in facts) is wanted


def test_an_agent_that_ends_its_process_in_a_turn_leaves_the_turn_in_the_record(
    start: Start, record: Record
) -> None:
    client = start().opened()
    client.prompt("fail exit")
    assert client.wait() == 3
    assert record.outcomes == [("failed", "agent_crash")]
    assert record.rows("SELECT ended FROM runs") == [(1,)]


@pytest.mark.parametrize("how", ["at_once", "by_multiprocessing"])
def test_a_forked_child_of_the_authors_leaves_the_record_alone(
    start: Start, record: Record, how: str
) -> None:
    client = start().opened()
    client.turn("throttle")
    client.turn(f"fork {how}")
    client.turn("say")
    assert client.end() == 0
    assert record.rows("PRAGMA integrity_check") == [("ok",)]
    assert len(record.rows("SELECT id FROM runs")) == 1
    assert record.kinds.count("prompt") == len(record.outcomes) == 3
    assert record.kinds.count("client_gone") == 1


def test_a_folder_that_cannot_be_written_costs_the_record_and_no_turn(
    start: Start, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    client = start(LASTWORD_STATE_DIR=str(tmp_path / "file")).opened()
    assert client.turn("say").text == "Hello."
    assert client.turn("throttle").error["type"] == "rate_limit"
    assert client.end() == 0
    assert "sqlite" not in client.said.lower()


def test_a_store_that_another_process_holds_keeps_no_agent_alive(
    start: Start, record: Record
) -> None:
    first = start().opened()
    first.turn("say")
    first.end()
    with closing(sqlite3.connect(record.path, isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        client = start().opened()
        assert client.turn("say").text == "Hello."
        began = time.monotonic()
        assert client.end() == 0
        # A second for the record, the rest for the interpreter.
        assert time.monotonic() - began < patient(1 + 5)
    assert len(record.outcomes) == 1


def test_the_scripted_agent_keeps_no_record(record: Record, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "lastword", "agent", "rate_limit"]
    client = DoorClient(*command, LASTWORD_STATE_DIR=str(tmp_path / "state"))
    try:
        client.open()
        assert client.turn("go").answer["error"]
        client.end()
    finally:
        client.kill()
    assert not record.path.exists()
