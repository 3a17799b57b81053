"""The folders of a gateway, as a front finds them."""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from typing import TYPE_CHECKING

import pytest

from lastword.gateway.front.holders import Holders
from lastword.gateway.settings.holder import HolderSettings

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
    return Holders(template)


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
    (tmp_path / "run" / "live.session").symlink_to("agent.sock")
    assert holders.forget_old(7 * DAY, time.time()) == 1
    assert not any(path.exists() for path in old)
    assert all(path.exists() for path in (young, live, written, aside))


def test_a_new_session_that_is_asked_for_again_goes_where_it_went(
    holders: Holders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    spares = itertools.count(1)

    async def find(*_: object) -> str:
        path = run / f"spare-kind-{next(spares)}.sock"
        path.touch()
        return str(path)

    async def listens(path: str) -> bool:
        return path in holders.sockets()

    monkeypatch.setattr(Holders, "_find_spare", find)
    monkeypatch.setattr("lastword.gateway.front.holders.answers", listens)

    def asked(key: str, *, is_new: bool = False) -> str:
        return os.path.basename(asyncio.run(holders.opener(key, {}, cwd="/", is_new=is_new)))

    assert asked("a 1", is_new=True) == "spare-kind-1.sock"
    (run / "spare-kind-1.sock").rename(run / "agent-1.sock")  # as its holder does
    assert asked("a 1") == "agent-1.sock"
    assert asked("a 2") == "spare-kind-2.sock"
    assert asked("a 1", is_new=True) == "spare-kind-3.sock"  # an id that is used again
    (run / "spare-kind-3.sock").unlink()
    assert asked("a 1") == "spare-kind-4.sock"
    assert len(list(run.glob("*.opening"))) == 2


def test_a_folder_that_is_not_there_has_no_old_logs(holders: Holders, tmp_path: Path) -> None:
    (tmp_path / "logs").rmdir()
    assert holders.forget_old(0.0, time.time()) == 0
