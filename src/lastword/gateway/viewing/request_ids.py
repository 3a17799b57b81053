"""The ids of requests: questions to viewers, and numbers to the agent.

Owns the form of a question's id, `lastword:SESSION:NUMBER`. A question has the same id for every
viewer and on every socket, so that an answer can be sent again.
"""

from __future__ import annotations

import re

from lastword.gateway.wire import name_of

_ID = re.compile(rb'"lastword:([0-9a-f]{8}):([0-9]{1,15})"')
_NUMBER = re.compile(rb"[0-9]{1,16}")
_SESSION_CHARS = 8


def session_key(session_id: str) -> str:
    """Return the key that identifies a session in the ids of its questions."""
    return name_of(session_id)[:_SESSION_CHARS]


def question_id(key: str, number: int) -> bytes:
    """Return a question's id, as JSON text."""
    return f'"lastword:{key}:{number}"'.encode()


def read_question_id(request_id: bytes | None) -> tuple[str, int]:
    """Return the session's key and the question's number; an empty key for any other id."""
    match = _ID.fullmatch(request_id or b"")
    return (match[1].decode(), int(match[2])) if match else ("", 0)


def number_of(request_id: bytes | None) -> int:
    """Return the number of a request to the agent; 0 for any other id."""
    found = _NUMBER.fullmatch(request_id or b"")
    return int(found[0]) if found else 0
