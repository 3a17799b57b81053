"""The ids of requests: questions towards viewers, and numbers towards the agent.

Owns the form of a question's, `lastword:SESSION:NUMBER`. The same question has the same id for
every viewer and on every socket, so an answer may be sent again.
"""

from __future__ import annotations

import re

from lastword.gateway.wire import name_of

_ID = re.compile(rb'"lastword:([0-9a-f]{8}):([0-9]{1,15})"')
_NUMBER = re.compile(rb"[0-9]{1,16}")
_SESSION_CHARS = 8


def session_key(session_id: str) -> str:
    """What stands for a session in the ids of its questions."""
    return name_of(session_id)[:_SESSION_CHARS]


def ask_id(key: str, number: int) -> bytes:
    """The id of a question, as JSON text."""
    return f'"lastword:{key}:{number}"'.encode()


def read_ask_id(request_id: bytes | None) -> tuple[str, int]:
    """The session's key and the question's number; an empty key where it is no such id."""
    found = _ID.fullmatch(request_id or b"")
    return (found[1].decode(), int(found[2])) if found else ("", 0)


def number_of(request_id: bytes | None) -> int:
    """The number that was given towards the agent; 0 where an id is none."""
    found = _NUMBER.fullmatch(request_id or b"")
    return int(found[0]) if found else 0
