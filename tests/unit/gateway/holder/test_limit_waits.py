"""The wait of a session's turn, as the next process finds it: in the log, and as a mark."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast

from lastword.core.failure.taxonomy import ErrorType
from lastword.core.link.facts import Facts
from lastword.core.link.waits import LimitWait, StoredWait
from lastword.core.protocol import jsonrpc
from lastword.gateway.holder.effects import begun, waiting_turn
from lastword.gateway.log import files
from lastword.gateway.log.entries import About, LogEntry, LogKind, Numbered
from tests.kit.rows import every

if TYPE_CHECKING:
    from pathlib import Path

    from lastword.gateway.log.store import ReadableLog


class Log:
    """A log in which another version of lastword has written a wait."""

    def pins_of(self, prefix: str) -> list[Numbered]:
        entry = LogEntry(LogKind.LIFE, 0, b'{"until": "the end of days"}')
        return [Numbered(1, entry)] if prefix == "wait:" else []


def test_a_wait_that_another_version_wrote_is_ignored() -> None:
    assert waiting_turn(cast("ReadableLog", Log())) is None


class WaitingLog:
    """A log in which a wait stands, and after it what the agent has said."""

    def __init__(self, *entries: LogEntry) -> None:
        self._entries = [Numbered(2 + place, entry) for place, entry in enumerate(entries)]

    def pins_of(self, prefix: str) -> list[Numbered]:
        stored = StoredWait(
            request_id=b"7",
            wait=LimitWait(until_epoch_seconds=9.0, latest_epoch_seconds=None, resends=True),
            type=ErrorType.RATE_LIMIT,
            reason=None,
            waits=1,
            waited_seconds=9.0,
            facts=Facts(),
        )
        if prefix == "wait:":
            return [Numbered(1, begun(stored, 0))]
        asked = jsonrpc.request(b"7", "session/prompt", {"sessionId": "s", "prompt": []})
        return [Numbered(1, LogEntry(LogKind.IN, 0, asked, About(number=7)))]

    def read(self, after: int) -> list[Numbered]:
        return [each for each in self._entries if each.seq > after]


def _out(method: str, **params: Any) -> LogEntry:
    return LogEntry(LogKind.OUT, 0, jsonrpc.notification(method, {"sessionId": "s", **params}))


@every(
    ("entry", "resends"),
    [
        (_out("session/update", update={"sessionUpdate": "usage_update"}), True),
        (_out("session/update", update={"sessionUpdate": "session_info_update"}), True),
        (_out("elicitation/complete", elicitationId="e"), True),
        (_out("session/update", update={"sessionUpdate": "agent_message_chunk"}), False),
        (_out("session/update", update={"sessionUpdate": "_acme_diff_applied"}), False),
        (_out("session/update"), False),
        (_out("_acme/file_written"), False),
        (LogEntry(LogKind.ASK, 0, b"{}"), False),
        (LogEntry(LogKind.OUT, 0, b"not JSON"), True),
    ],
)
def test_the_next_process_resends_the_users_prompt_only_if_that_is_harmless(
    *, entry: LogEntry, resends: bool
) -> None:
    waiting = waiting_turn(cast("ReadableLog", WaitingLog(entry)))
    assert waiting is not None
    assert waiting.stored.wait.resends is resends


def test_a_mark_is_private_and_replaced_as_a_whole(tmp_path: Path) -> None:
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
