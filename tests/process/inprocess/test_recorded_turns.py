"""The guard and `serve` keep a record as the sidecar does, and no turn pays for it."""

from __future__ import annotations

import sqlite3
import stat
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from lastword.errors import StoreError
from tests.kit.doors import DoorClient
from tests.kit.patience import FUSE_SECONDS
from tests.kit.recording import is_recorded

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process.inprocess.conftest import Record, Start


@pytest.fixture(params=["sdk", "asyncio"])
def door(request: pytest.FixtureRequest) -> str:
    """The guard, and `serve` on one of its event loops."""
    name: str = request.param
    return name


def test_turns_are_recorded_with_their_door_program_and_outcome(
    start: Start, record: Record, door: str
) -> None:
    client = start().opened()
    client.turn("tool x")
    shown = client.turn("throttle").error["incident_id"]
    # A failure is on disk while the agent still runs.
    until = time.monotonic() + FUSE_SECONDS
    while "error" not in _kinds_so_far(record):
        assert time.monotonic() < until
    assert client.exit_status is None
    assert client.end() == 0
    assert record.outcomes == [("ok", None), ("failed", "rate_limit")]
    assert record.rows("SELECT door, program, agent, client, ended FROM runs") == [
        ("guard" if door == "sdk" else "serve", "doors", "recorded", "raw-client", 1)
    ]
    assert record.kinds[:4] == ["client_attached", "agent_ready", "session_created", "prompt"]
    assert "tool_started" in record.kinds
    assert record.kinds[-1] == "client_gone"
    assert stat.S_IMODE(record.path.stat().st_mode) == 0o600
    assert record.rows("SELECT incident_id FROM turns WHERE type IS NOT NULL") == [(shown,)]
    assert shown.startswith(record.rows("SELECT run_id FROM runs")[0][0])


def _kinds_so_far(record: Record) -> list[str]:
    try:
        return record.kinds
    except StoreError:
        return []  # there is none yet


def test_nothing_is_recorded_before_a_prompt(start: Start, record: Record) -> None:
    assert start().opened().end() == 0
    assert not record.path.parent.exists()


def test_an_authors_forked_child_does_not_affect_the_record(start: Start, record: Record) -> None:
    client = start().opened()
    client.turn("throttle")
    for how in ("at_once", "by_multiprocessing"):
        client.turn(f"fork {how}")
    client.turn("say")
    assert client.end() == 0
    assert record.rows("PRAGMA integrity_check") == [("ok",)]
    assert len(record.rows("SELECT id FROM runs")) == 1
    assert record.kinds.count("prompt") == len(record.outcomes) == 4
    assert record.kinds.count("client_gone") == 1


@pytest.mark.parametrize("door", ["asyncio"])
def test_an_unwritable_folder_costs_the_record_and_no_turn(start: Start, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    client = start(LASTWORD_STATE_DIR=str(tmp_path / "file")).opened()
    assert client.turn("say").text == "Hello."
    assert client.turn("throttle").error["type"] == "rate_limit"
    assert client.end() == 0
    assert "sqlite" not in client.said.lower()


@pytest.mark.parametrize("door", ["sdk"])
def test_a_locked_store_does_not_keep_an_agent_alive(start: Start, record: Record) -> None:
    record.path.parent.mkdir()
    with closing(sqlite3.connect(record.path, isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        client = start("hurried").opened()
        assert client.turn("say").text == "Hello."
        assert client.end() == 0
    assert record.outcomes == [("ok", None)]


def test_the_scripted_agent_is_not_recorded(record: Record, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "lastword", "agent", "rate_limit"]
    client = DoorClient(*command, LASTWORD_STATE_DIR=str(tmp_path / "state"))
    try:
        client.open()
        assert client.turn("go").answer["error"]
        client.end()
    finally:
        client.kill()
    assert not is_recorded(record.path.parent)
