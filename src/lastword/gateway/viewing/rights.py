"""Rights: what a viewer may send, by its role and by the session that it is limited to.

Owns the decision, which the front makes before it passes a frame on, and the holder again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lastword.core.protocol import acp
from lastword.gateway.viewing import refusals

if TYPE_CHECKING:
    from lastword.core.protocol.jsonrpc import Envelope

INITIALIZED: dict[str, Any] = {
    "code": acp.INVALID_REQUEST,
    "message": "This connection has been initialized.",
}
LIST = "session/list"
BEYOND_A_SESSION = acp.LOGIN | {"logout", "auth/logout", "session/new", acp.FORK}
"""Requests that concern more than the session that their params may name."""

_FOR_EVERYBODY = frozenset({None, LIST, acp.CANCEL_REQUEST, "_lastword/ping"})
"""Answers, and requests that concern the viewer alone."""


def refusal(message: Envelope, *, controls: bool, session: str) -> dict[str, Any] | None:
    """Return why a viewer may not send a message; `None` if it may.

    Args:
        message: The message.
        controls: The viewer is a controller.
        session: The only session that it may use; empty for all.
    """
    method, named = message.method, message.session_id
    if named is not None and session not in {"", named}:
        return refusals.unknown_session(named)
    if method == acp.INITIALIZE:
        return INITIALIZED
    if method not in BEYOND_A_SESSION and (named is not None or method in _FOR_EVERYBODY):
        return None  # what an observer may send to its session, the session's hub decides
    if not controls:
        return refusals.observes()
    return refusals.one_session() if session else None
