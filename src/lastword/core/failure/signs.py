"""Signs of failure: prose that begins as an error does, a member in the margin, a payload.

Owns only what is cheap enough to ask of every turn that ends well: may there be a failure in it?
What such signs look like is `quirks.prose`'s and `quirks.wire`'s, and what the failure then is
`core.classify.agents`'s, or `core.failure.payload`'s.
"""

from __future__ import annotations

from typing import Any

from lastword.quirks import prose, wire
from lastword.quirks.agents import agent_key

MAX_PROSE_CHARS = 4096
_OPENING_CHARS = 200
_PAYLOAD = b'"agent_error"'


def flattened(text: str) -> str:
    """Return a message in the form that the table is written in."""
    return " ".join(text.replace("\u2019", "'").lower().split())


def may_be_error(text: str) -> bool:
    """Does this message begin as some agent's error does?"""
    if len(text) > MAX_PROSE_CHARS:
        return False
    return flattened(text[:_OPENING_CHARS]).startswith(prose.ALL_OPENINGS)


def may_hold_payload(line: bytes) -> bool:
    """Does this frame have a member by the payload's name?"""
    return _PAYLOAD in line


def payload_in(carrier: object) -> dict[str, Any] | None:
    """The payload that a `_meta` or a `data` holds under `agent_error`; not an advertisement."""
    payload = carrier.get("agent_error") if isinstance(carrier, dict) else None
    if not isinstance(payload, dict):
        return None
    advertises = "version" in payload and not {"type", "message"} & payload.keys()
    return None if advertises else payload


def tells_by_air(line: bytes) -> bool:
    """Does this frame tell of something in JetBrains AIR's way?"""
    return wire.AIR.mark in line


def may_tell_of_failure(line: bytes) -> bool:
    """Does this frame have a member that may tell of a failure?"""
    return any(mark in line for mark in wire.FAILURE_MARKS)


def tells_of_retry(text: str, agent: str) -> bool:
    """Is this text of the agent's about a retry of its model call, and about nothing else?"""
    if not text.startswith(wire.RETRY_TEXT_OPENINGS):
        return False
    key = agent_key(agent)
    return any(text.startswith(row.openings) for row in wire.RETRY_TEXTS if row.agent == key)
