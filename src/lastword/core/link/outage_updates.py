"""What the user of an open turn is shown while a connection is away on which the turn depends.

Owns the form, which depends on the client: a retry, a notice, AIR's warning, or a line of thought.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from lastword.core.failure import air, ladder
from lastword.core.failure.taxonomy import AgentError, ErrorType, Origin, RetrySafety

if TYPE_CHECKING:
    from lastword.core.link.handshake import ClientProfile

UNREACHABLE = "gateway_unreachable"


def outage_update(  # noqa: PLR0913 - what the contract's update has
    session_id: str,
    client: ClientProfile,
    *,
    line: str,
    attempt: int,
    max_attempts: int | None = None,
    wait_seconds: float | None = None,
    reason: str = UNREACHABLE,
) -> bytes:
    """Return the frame that shows an outage to the user, in this client's form of a retry.

    Args:
        session_id: The session of the turn.
        client: What the client can show.
        line: What is away, in a sentence.
        attempt: How often it has been tried.
        max_attempts: The most tries that there will be, if known.
        wait_seconds: How long until the next one, if known.
        reason: The reason of the error in a typed retry.
    """
    if client.typed and client.retry:
        error = AgentError(
            type=ErrorType.NETWORK,
            message=line,
            retryable=True,
            source="lastword-gateway",
            reason=reason,
            origin=Origin.NETWORK,
            retry_safety=RetrySafety.AUTO,
        )
        update: dict[str, Any] = {"sessionUpdate": client.dialect.retry_kind, "attempt": attempt}
        if max_attempts is not None:
            update["max_attempts"] = max_attempts
        if wait_seconds is not None:
            update["wait_seconds"] = math.ceil(wait_seconds)
        return ladder.session_update(session_id, update | {"error": error.payload()})
    shown = notice(session_id, client, line)
    if shown is not None:
        return shown
    if client.air:
        meta = air.warning_meta(
            ErrorType.NETWORK, title=line, failure_id=session_id, revision=attempt
        )
        return ladder.session_update(
            session_id, {"sessionUpdate": "session_info_update", "_meta": meta}
        )
    content = {"type": "text", "text": f"{line}\n\n"}
    return ladder.session_update(
        session_id, {"sessionUpdate": "agent_thought_chunk", "content": content}
    )


def stays_in_conversation(client: ClientProfile) -> bool:
    """Return whether this client can show an outage only as a thought."""
    shows_notices = client.notices or not client.dialect.notice_needs_capability
    return not (client.typed and client.retry) and not shows_notices and not client.air


def notice(session_id: str, client: ClientProfile, title: str) -> bytes | None:
    """Return a notice for the user; `None` if this client shows none."""
    if client.notices or not client.dialect.notice_needs_capability:
        return ladder.notice(session_id, severity="warning", title=title)
    return None
