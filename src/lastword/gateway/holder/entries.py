"""Entries of a session's log that its hub makes of more than a frame alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lastword.core.protocol import acp, jsonrpc
from lastword.core.timeline.entry import Kind
from lastword.core.timeline.session_events import WORDS
from lastword.gateway.log.entries import About, LogEntry, LogKind

if TYPE_CHECKING:
    from lastword.core.protocol.jsonrpc import Frame
    from lastword.gateway.holder.hub import OpenIn, OpenQuestion


def activity_entry(word: str, now_ms: int) -> LogEntry:
    """Note whether the agent works on without a turn."""
    about = About(word=WORDS[Kind.ACTIVITY], facts={"what": word})
    return LogEntry(LogKind.LIFE, now_ms, b"", about)


def unattended_entry(number: int, question: OpenQuestion, now_ms: int) -> LogEntry:
    """Note a question for which nobody is there who may answer it."""
    about = About(number=number, method=question.method, word=WORDS[Kind.QUESTION_HELD])
    return LogEntry(LogKind.LIFE, now_ms, b"", about)


def end_entry(frame: Frame, number: int, opened: OpenIn, now_ms: int) -> LogEntry:
    """Note the agent's answer to a viewer's request."""
    about = About(
        viewer=opened.viewer,
        request=opened.request,
        number=number,
        turn=opened.turn,
        method=opened.method,
        failure=_payload(frame) if opened.method == acp.PROMPT else None,
    )
    return LogEntry(LogKind.END, now_ms, frame.line, about)


def _payload(frame: Frame) -> dict[str, Any] | None:
    """Return the failure in a prompt's answer, as the sidecar put it there."""
    error = jsonrpc.loads(frame.message.error)
    data = error.get("data") if isinstance(error, dict) else None
    payload = data.get("agent_error") if isinstance(data, dict) else None
    return payload if isinstance(payload, dict) else None
