"""What a front finds in the folders of a gateway: events of sessions, and logs that are old."""

from __future__ import annotations

import asyncio
import errno
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import msgspec
import pytest

from lastword.core.protocol import jsonrpc
from lastword.errors import StoreError
from lastword.gateway import wire
from lastword.gateway.api.requests import EventQuery, NoSessionError, whole_page
from lastword.gateway.api.shapes import SessionState
from lastword.gateway.api.views import view_in
from lastword.gateway.front import holders as holders_module
from lastword.gateway.front.control import ControlSocket
from lastword.gateway.front.directory import SessionSource
from lastword.gateway.front.holders import Holders, LimitWaits
from lastword.gateway.holder.effects import begun
from lastword.gateway.log.entries import About, LogEntry, LogKind
from lastword.gateway.log.files import LogLock, LogOwner
from lastword.gateway.log.session_log import reading
from lastword.gateway.log.sqlite import SqliteLog
from lastword.gateway.settings.values import HolderSettings
from tests.kit.patience import fused
from tests.unit.gateway.holder.test_limit_waits import STORED

if TYPE_CHECKING:
    from collections.abc import Iterator

SESSION = "s-1"


@pytest.fixture
def folder() -> Iterator[Path]:
    """The folders of a gateway, with the log of one session, which is being written."""
    with tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as made:  # a socket's path is short
        tmp_path = Path(made)
        for name in ("run", "logs"):
            (tmp_path / name).mkdir()
        log = SqliteLog(str(tmp_path / "logs" / f"{wire.name_of(SESSION)}.db"))
        log.remember("id", SESSION)
        log.remember("params", jsonrpc.dumps({"cwd": "/w"}).decode())
        for number in range(3):
            log.append([LogEntry(LogKind.LIFE, number + 1, b"", About(word=f"w{number}"))])
        KEPT.append(log)
        yield tmp_path
        while KEPT:
            KEPT.pop().close()


KEPT: list[SqliteLog] = []
"""Logs stay open for a test, as a holder's do."""


def holders(folder: Path) -> Holders:
    run, logs = str(folder / "run"), str(folder / "logs")
    template = HolderSettings(name="", run_folder=run, log_folder=logs, command=[])
    return Holders(template, mock.Mock())


def source(folder: Path) -> SessionSource:
    of = holders(folder)
    return SessionSource(of, of)


@fused
async def test_a_waiting_reader_of_a_file_is_notified_of_new_entries(folder: Path) -> None:
    query = EventQuery(epoch=KEPT[0].epoch, seq=3)
    waiting = asyncio.create_task(source(folder).page(SESSION, query, 30.0))
    await asyncio.sleep(0)
    KEPT[0].append([LogEntry(LogKind.LIFE, 9, b"", About(word="later"))])
    assert [event["seq"] for event in (await waiting)["events"]] == [4]


@fused
async def test_a_missing_session_and_a_damaged_log_are_reported(folder: Path) -> None:
    with pytest.raises(NoSessionError):
        await source(folder).page("never-was", EventQuery())
    with pytest.raises(NoSessionError):
        await source(folder).one("never-was")
    broken = folder / "logs" / f"{wire.name_of('broken')}.db"
    broken.write_bytes(b"no database" * 100)
    with pytest.raises(StoreError):
        await source(folder).one("broken")
    views, more = await source(folder).ended(set())
    assert ([view.id for view in views], more) == ([SESSION], 0)
    assert (await source(folder).ended({SESSION}))[0] == []


def test_a_closed_log_is_read_without_a_trace_and_shown_as_ended(folder: Path) -> None:
    path = str(folder / "logs" / f"{wire.name_of(SESSION)}.db")
    assert view_in(path).state is SessionState.LOST
    KEPT.pop().close()
    before = os.stat(path)
    view = view_in(path)
    assert (view.state, view.since_epoch_ms) == (SessionState.ENDED, 3)
    page = reading(path, lambda log: whole_page(log, SESSION, EventQuery()))
    assert [event.seq for event in page.events] == [1, 2, 3]
    assert os.listdir(folder / "logs") == [os.path.basename(path)]
    assert os.stat(path).st_mtime_ns == before.st_mtime_ns


def test_a_log_that_was_left_to_a_later_process_is_not_shown_as_ended(folder: Path) -> None:
    log = KEPT.pop()
    log.remember("left", "yes")
    log.close()
    assert view_in(str(folder / "logs" / f"{wire.name_of(SESSION)}.db")).state is SessionState.LOST


@fused
async def test_a_cached_ended_session_is_read_again_once_it_has_changed(
    folder: Path,
) -> None:
    KEPT.pop().close()
    kept = source(folder)
    first, _ = await kept.ended(set())
    again, _ = await kept.ended(set())
    assert again[0] is first[0]
    log = SqliteLog(str(folder / "logs" / f"{wire.name_of(SESSION)}.db"))
    log.append([LogEntry(LogKind.LIFE, 7, b"", About(word="w"))])
    log.close()
    changed, _ = await kept.ended(set())
    assert changed[0].head == 4


DAY = 24 * 3600.0


def test_logs_of_sessions_that_ended_long_ago_are_deleted_and_no_others(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    assert holders(tmp_path).forget_old(0.0, time.time()) == 0  # there are none yet
    logs.mkdir()

    def made(name: str, age: float) -> Path:
        (logs / name).touch()
        os.utime(logs / name, times=(time.time() - age,) * 2)
        return logs / name

    old = [made(f"old.db{end}", 8 * DAY) for end in ("", "-wal", "-shm")]
    stay = [made("young.db", 6 * DAY), made("live.db", 8 * DAY), made("written.db", 8 * DAY)]
    stay += [made("written.db-wal", 0), made("bad.db.broken-1", 80 * DAY)]
    LogLock(str(logs / "live.db"), LogOwner())
    assert holders(tmp_path).forget_old(7 * DAY, time.time()) == 1
    assert not any(path.exists() for path in old)
    assert all(path.exists() for path in stay)


def test_the_log_of_a_session_that_has_not_ended_is_kept_until_it_would_have(folder: Path) -> None:
    log, now = KEPT.pop(), time.time()
    log.remember("left", "yes")
    log.close()
    assert holders(folder).forget_old(DAY, now + 7.9 * DAY) == 0
    wait = msgspec.structs.replace(STORED.wait, latest_epoch_seconds=now + 9 * DAY)
    log = SqliteLog(log.path)
    log.append([begun(msgspec.structs.replace(STORED, wait=wait), int(now * 1000))])
    log.close()
    assert holders(folder).forget_old(DAY, now + 9.9 * DAY) == 0
    assert holders(folder).forget_old(DAY, now + 10.1 * DAY) == 1


@fused
async def test_waiting_sessions_are_looked_for_again_after_a_lack_of_descriptors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(holders_module, "WAITS_LOOK_SECONDS", 0.0)
    loop, looked, lacks = asyncio.get_running_loop(), asyncio.Event(), [True]

    def waiting() -> list[object]:
        if lacks:
            lacks.pop()
            raise OSError(errno.EMFILE, "Too many open files")
        loop.call_soon_threadsafe(looked.set)
        return []

    watching = asyncio.create_task(LimitWaits(mock.Mock(waiting=waiting), mock.Mock()).watch())
    await looked.wait()
    watching.cancel()


@fused
async def test_a_run_folder_that_cannot_be_made_now_is_tried_again(tmp_path: Path) -> None:
    (tmp_path / "run").touch()
    template = HolderSettings(run_folder=str(tmp_path / "run" / "one"), command=["agent"])
    assert await ControlSocket(Holders(template, mock.Mock())).keep()
