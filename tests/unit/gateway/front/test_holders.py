"""The folders of a gateway, as a front finds them."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING
from unittest import mock

import pytest

from lastword.gateway.front.holders import Holders
from lastword.gateway.log.files import LogLock, LogOwner
from lastword.gateway.settings.values import HolderSettings

if TYPE_CHECKING:
    from pathlib import Path

DAY = 24 * 3600.0


@pytest.fixture
def holders(tmp_path: Path) -> Holders:
    """Holders of two folders that are there."""
    run, logs = tmp_path / "run", tmp_path / "logs"
    run.mkdir()
    logs.mkdir()
    template = HolderSettings(name="", run_folder=str(run), log_folder=str(logs), command=[])
    return Holders(template, mock.Mock())


def made(folder: Path, name: str, age: float) -> Path:
    path = folder / name
    path.touch()
    os.utime(path, times=(time.time() - age,) * 2)
    return path


def test_logs_of_sessions_that_ended_long_ago_are_deleted_and_no_others(
    holders: Holders, tmp_path: Path
) -> None:
    logs = tmp_path / "logs"
    old = [made(logs, f"old.db{end}", 8 * DAY) for end in ("", "-wal", "-shm")]
    young = made(logs, "young.db", 6 * DAY)
    live = made(logs, "live.db", 8 * DAY)
    written = made(logs, "written.db", 8 * DAY)
    made(logs, "written.db-wal", 0)
    aside = made(logs, "bad.db.broken-1", 80 * DAY)
    LogLock(str(logs / "live.db"), LogOwner())
    assert holders.forget_old(7 * DAY, time.time()) == 1
    assert not any(path.exists() for path in old)
    assert all(path.exists() for path in (young, live, written, aside))


def test_a_missing_folder_has_no_old_logs(holders: Holders, tmp_path: Path) -> None:
    (tmp_path / "logs").rmdir()
    assert holders.forget_old(0.0, time.time()) == 0
