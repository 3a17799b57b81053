"""The agent's retries, for viewers that do not know `agent_retry`.

Owns when a wait has lasted long enough for a line, by the sidecar's own rule, and the text of the
line. The line is an entry of the log, so all such viewers see the same.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lastword.core.classify.evidence import Verdict
from lastword.core.failure import phrases, sentences, wording
from lastword.core.failure.payload import read_retry
from lastword.core.failure.taxonomy import MAX_AUTO_WAIT_SECONDS, ErrorType
from lastword.core.link.evidence import ReportedRetries, Retrying
from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.tolerant import object_of
from lastword.core.timeline.entry import Kind
from lastword.core.timeline.session_events import WORDS
from lastword.platform.identity import local_time

if TYPE_CHECKING:
    from lastword.core.protocol.jsonrpc import Frame

WAITS = WORDS[Kind.WAITS]
"""The word of an entry that tells of a wait; its fact `text` is the line."""


class WaitLines:
    """The waits of one session's turn."""

    def __init__(self) -> None:
        self._reported = ReportedRetries()

    def note(self, frame: Frame, now: float) -> None:
        """Take in the agent's output."""
        update = frame.message.update
        if update is None:
            return
        kind = update.session_update
        if kind in acp.AGENT_RETRY_KINDS:
            word = retrying(frame.line)
            self._reported.note(word, None, now, since=now)
        elif kind in acp.TEXT_KINDS | acp.THOUGHT_KINDS | acp.TOOL_KINDS:
            self._reported.forget_wait()

    def end(self) -> None:
        """Note the end of the turn."""
        self._reported = ReportedRetries()

    @property
    def due(self) -> float | None:
        """Return when a line is due."""
        return self._reported.due

    def due_line(self, now: float) -> str:
        """Return the line that is due; empty if none is."""
        retry = self._reported.pop_due(now)
        if retry is None:
            return ""
        return sentence(retry, passed_seconds=now - self._reported.last_at)


def retrying(line: bytes) -> Retrying:
    """Return the text for an `agent_retry` update."""
    params = object_of(object_of(jsonrpc.loads(line)).get("params"))
    retry = read_retry(object_of(params.get("update")))
    error_type = retry.error.type if retry.error else ErrorType.UNKNOWN
    reset = retry.error.reset_at_epoch_ms if retry.error else None
    return Retrying(
        verdict=Verdict(type=error_type, rule="told", retryable=True, reset_at_epoch_ms=reset),
        attempt=retry.attempt or 2,
        max_attempts=retry.max_attempts,
        wait_seconds=retry.wait_seconds,
    )


def sentence(word: Retrying, *, passed_seconds: float = 0.0) -> str:
    """Return what failed, and when the agent tries again."""
    left, reset = None, word.verdict.reset_at_epoch_ms
    if (word.wait_seconds or 0) > MAX_AUTO_WAIT_SECONDS and reset is not None:
        # Whoever reads it later reads of a moment, not of a time that has passed since.
        when = phrases.plain_moment(reset, local_time()) or "now"
        return f"{sentences.what_of(word.verdict.type, None)} The turn goes on {when}."
    if word.wait_seconds is not None:
        left = max(math.ceil(word.wait_seconds - passed_seconds), 0) or None
    return wording.of_retry(
        word.verdict, wait_seconds=left, attempt=word.attempt, max_attempts=word.max_attempts
    )
