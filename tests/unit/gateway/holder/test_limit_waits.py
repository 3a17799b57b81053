"""The wait of a session's turn, as the next process finds it: in the log, and as a mark."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, cast

from lastword.gateway.holder.limit_waits import waiting_turn
from lastword.gateway.log import files
from lastword.gateway.log.entries import LogEntry, LogKind, Numbered

if TYPE_CHECKING:
    from pathlib import Path

    from lastword.gateway.log.store import ReadableLog


class Log:
    """A log in which another version of lastword has written a wait."""

    def pins_of(self, prefix: str) -> list[Numbered]:
        entry = LogEntry(LogKind.LIFE, 0, b'{"until": "the end of days"}')
        return [Numbered(1, entry)] if prefix == "wait:" else []


def test_a_wait_that_another_version_wrote_is_none() -> None:
    assert waiting_turn(cast("ReadableLog", Log())) is None


def test_a_mark_is_its_users_alone_and_replaced_as_a_whole(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        for folder in ("/run/one", "/run/two"):
            files.mark_waiting(str(tmp_path / "s.db"), folder)
    finally:
        os.umask(before)
    assert os.listdir(tmp_path) == ["s.db.wait"]
    assert os.stat(tmp_path / "s.db.wait").st_mode & 0o777 == 0o600
    assert files.waiting_in(str(tmp_path), "/run/two") == [str(tmp_path / "s.db")]
    assert files.waiting_in(str(tmp_path), "/run/one") == []
