"""Entries of a session's log, as tests make them."""

from __future__ import annotations

from typing import Any

from lastword.core.protocol import jsonrpc
from lastword.gateway.log.entries import About, LogEntry, LogKind

SESSION = "s1"


def frame_of(line: bytes) -> jsonrpc.Frame:
    frame = jsonrpc.decode(line)
    assert isinstance(frame, jsonrpc.Frame)
    return frame


def update_line(kind: str, **members: Any) -> bytes:
    update = {"sessionUpdate": kind} | members
    return jsonrpc.notification("session/update", {"sessionId": SESSION, "update": update})


def out(kind: str = "agent_message_chunk", at_ms: int = 1, **members: Any) -> LogEntry:
    return LogEntry(LogKind.OUT, at_ms, update_line(kind, **members))


def ask(number: int) -> LogEntry:
    params = {"sessionId": SESSION, "options": [{"kind": "reject_once", "optionId": "no"}]}
    line = jsonrpc.request(b"%d" % number, "session/request_permission", params)
    about = About(number=number, method="session/request_permission")
    return LogEntry(LogKind.ASK, 1, line, about)


def told(number: int, viewer: str = "") -> LogEntry:
    return LogEntry(LogKind.TOLD, 1, b"", About(viewer=viewer, number=number, word="viewer"))


def said(number: int, viewer: str = "a", request: bytes = b"7", text: str = "go") -> LogEntry:
    params = {"sessionId": SESSION, "prompt": [{"type": "text", "text": text}]}
    line = jsonrpc.request(request, "session/prompt", params)
    about = About(viewer=viewer, request=request, number=number, method="session/prompt")
    return LogEntry(LogKind.IN, 1, line, about)


def end(
    number: int, viewer: str = "a", request: bytes = b"7", failure: dict[str, Any] | None = None
) -> LogEntry:
    about = About(
        viewer=viewer, request=request, number=number, method="session/prompt", failure=failure
    )
    line = jsonrpc.result(b"%d" % number, {"stopReason": "end_turn"})
    if failure is not None:
        error = {"code": -32603, "message": "no", "data": {"agent_error": failure, "mine": 1}}
        line = jsonrpc.error(b"%d" % number, error)
    return LogEntry(LogKind.END, 1, line, about)
