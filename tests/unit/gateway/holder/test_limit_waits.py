"""The wait of a session's turn, as the next process finds it: in the log, and as a mark."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from lastword.core.failure.taxonomy import ErrorType
from lastword.core.link.facts import Facts
from lastword.core.link.waits import LimitWait, StoredWait
from lastword.core.protocol import jsonrpc
from lastword.gateway.holder.effects import begun, waiting_turn
from lastword.gateway.log import files
from lastword.gateway.log.entries import LogEntry, LogKind
from lastword.gateway.log.store import MemoryLog
from tests.kit.gateway.entries_made import said
from tests.kit.rows import every

if TYPE_CHECKING:
    from pathlib import Path


STORED = StoredWait(
    request_id=b"7",
    wait=LimitWait(until_epoch_seconds=9.0, latest_epoch_seconds=None, resends=True),
    type=ErrorType.RATE_LIMIT,
    reason=None,
    waits=1,
    waited_seconds=9.0,
    facts=Facts(),
)


def log_with(wait: LogEntry, *later: LogEntry) -> MemoryLog:
    """A log in which a prompt waits, and after it what the agent has said."""
    log = MemoryLog()
    log.append([said(7), wait, *later])
    return log


def test_a_wait_that_another_version_wrote_is_ignored() -> None:
    wait = begun(STORED, 0)
    assert waiting_turn(log_with(wait)) is not None
    assert waiting_turn(log_with(replace(wait, frame=b'{"until": "the end of days"}'))) is None


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
    waiting = waiting_turn(log_with(begun(STORED, 0), entry))
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
