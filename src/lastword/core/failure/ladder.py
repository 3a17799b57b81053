"""The ladder: the choice of frames in which a failure reaches a given client.

Owns the choice of the rung and the frames of each rung (`protocol/README.md`, section "The
ladder"). `core.failure.error_object` builds the error object of the JSON-RPC rungs.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.failure import air
from lastword.core.failure.error_object import (
    MAX_FRAME_BYTES,
    Details,
    SentError,
    error_object,
    typed_payload,
)
from lastword.core.failure.rungs import ALIASES
from lastword.core.protocol import acp, jsonrpc
from lastword.quirks import clients

if TYPE_CHECKING:
    from lastword.core.failure.taxonomy import AgentError
    from lastword.core.link.handshake import ClientProfile


class Rung(StrEnum):
    """The end of a failing turn, named for what is sent; `Rung("rpc_error")` is `Rung.ERROR`."""

    TYPED = "typed"
    V2 = "v2"
    AIR = "air"
    ERROR = "error"
    ERROR_WITH_META = "error_with_meta"
    RESULT = "result"
    TEXT = "text"

    @classmethod
    def _missing_(cls, value: object) -> Rung | None:
        """Return the rung that used to have this name."""
        now = ALIASES.get(value) if isinstance(value, str) else None
        return None if now is None else cls(now)


AUTO = "auto"


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """A failing turn, with everything needed to build its frames.

    Attributes:
        error: the failure.
        session_id: the session in which it happened.
        prompts: ids (JSON text) of the session's prompts that are still unanswered.
        sent: the error that the agent itself sent, if any.
        had_output: the turn produced text or a tool call.
        can_login: the agent offered a way to authenticate.
        agent_gone: the agent's process has ended (in version 2, its background work with it).
        ends_foreground: version 2: the session's foreground work ends with it. A rejected prompt
            that joined running work does not end that work.
        state: version 2: the members of the agent's own idle update, if it sent one.
        announced: the agent itself has already sent the typed update.
        failure_id: JetBrains AIR's id for this turn's failures.
        revision: the number of records sent to AIR under that id, this one included.
    """

    error: AgentError
    session_id: str
    prompts: tuple[bytes, ...]
    sent: SentError | None = None
    had_output: bool = False
    can_login: bool = False
    agent_gone: bool = False
    ends_foreground: bool = True
    state: dict[str, Any] = {}
    announced: bool = False
    failure_id: str = ""
    revision: int = 1


class CancelledEnding(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that the user cancelled without the agent confirming it.

    Attributes: the same as those of `Ending`.
    """

    session_id: str
    prompts: tuple[bytes, ...]
    agent_gone: bool = False
    ends_foreground: bool = True


CANCELLED_ERROR: dict[str, Any] = {
    "code": acp.REQUEST_CANCELLED,
    "message": "The prompt was cancelled.",
}
"""The answer to a cancelled prompt in version 2."""


class Outgoing(msgspec.Struct, frozen=True):
    """One frame of an ending; `answers` is the id (JSON text) of the prompt that it answers."""

    frame: bytes
    answers: bytes | None = None


def rung_for(option: str, client: ClientProfile, dialect: acp.Dialect) -> Rung:
    """Return the rung: the user's choice, or else what the client said in `initialize`."""
    if dialect.turn_ends_by_state:
        return Rung.V2
    # Version 1 has no frames for that rung: the idle state would follow the answer.
    if option not in {AUTO, Rung.V2}:
        return Rung(option)
    if client.typed:
        return Rung.TYPED
    if client.air:
        return Rung.AIR
    rule = clients.RULES.get(client.name)
    return Rung(rule.rung) if rule else Rung.ERROR_WITH_META


def frames_for(
    ending: Ending | CancelledEnding, *, rung: Rung, client: ClientProfile, dialect: acp.Dialect
) -> list[Outgoing]:
    """Return the frames that end this turn for this client, in order; the last is terminal."""
    if isinstance(ending, CancelledEnding):
        return _cancelled_frames(ending, dialect)
    if rung is Rung.V2:
        return _v2_frames(ending, client, dialect)
    updates = _updates(ending, rung, dialect)
    # On one rung, nothing else informs the user.
    out = [Outgoing(update) for update in updates if rung is Rung.TEXT or is_short(update)]
    result = _result(ending, rung, client)
    if result is None and rung is Rung.AIR and ending.revision > 1:
        # No result carries the record that supersedes the warnings of the turn.
        update = {"sessionUpdate": "session_info_update", "_meta": _air_meta(ending)}
        out.append(Outgoing(session_update(ending.session_id, update)))
    if result is None:
        return out + _error_answers(ending, client)
    return out + [Outgoing(jsonrpc.result(prompt, result), prompt) for prompt in ending.prompts]


def _cancelled_frames(ending: CancelledEnding, dialect: acp.Dialect) -> list[Outgoing]:
    if not dialect.turn_ends_by_state:
        result = {"stopReason": acp.CANCELLED}
        return [Outgoing(jsonrpc.result(prompt, result), prompt) for prompt in ending.prompts]
    out = [Outgoing(jsonrpc.error(prompt, CANCELLED_ERROR), prompt) for prompt in ending.prompts]
    if ending.ends_foreground:
        state = idle(acp.CANCELLED, agent_gone=ending.agent_gone)
        out.append(Outgoing(session_update(ending.session_id, state)))
    return out


def _result(ending: Ending, rung: Rung, client: ClientProfile) -> dict[str, Any] | None:
    """Return the prompt result that reports the failure, or `None` if an error does."""
    meta = {"agent_error": typed_payload(ending.error)}
    if rung is Rung.TEXT:
        return {"stopReason": acp.END_TURN, "_meta": meta}
    if rung is Rung.AIR:
        # Never replace the error that starts the client's login: a result would disable it.
        if _members(ending, client)["code"] == acp.AUTH_REQUIRED:
            return None
        return {"stopReason": acp.END_TURN, "_meta": _air_meta(ending) | meta}
    if rung is Rung.RESULT or client.stop_reason:
        return {"stopReason": acp.STOP_ERROR, "_meta": meta}
    return None


def _air_meta(ending: Ending) -> dict[str, Any]:
    failure_id = ending.failure_id or ending.error.incident_id or ending.session_id
    return air.failure_meta(ending.error, failure_id=failure_id, revision=ending.revision)


def _updates(ending: Ending, rung: Rung, dialect: acp.Dialect) -> tuple[bytes, ...]:
    if rung is Rung.TYPED:
        if ending.announced:
            return ()
        return (typed_update(ending.error, ending.session_id, dialect),)
    if rung in (Rung.ERROR_WITH_META, Rung.RESULT):
        meta = {"agent_error": typed_payload(ending.error)}
        update = {"sessionUpdate": "session_info_update", "_meta": meta}
        return (session_update(ending.session_id, update),)
    if rung is Rung.TEXT:
        content = {"type": "text", "text": ending.error.message}
        update = {"sessionUpdate": "agent_message_chunk", "content": content}
        return (session_update(ending.session_id, update),)
    return ()


def _v2_frames(ending: Ending, client: ClientProfile, dialect: acp.Dialect) -> list[Outgoing]:
    error = error_object(
        ending.error,
        sent=ending.sent,
        had_output=ending.had_output,
        can_login=ending.can_login,
    )
    update = typed_update(ending.error, ending.session_id, dialect)
    is_reported = client.typed and not ending.announced and is_short(update)
    out = [Outgoing(update)] if is_reported else []
    out += _error_answers(ending, client)
    if ending.ends_foreground:
        state = idle(acp.STOP_ERROR, agent_gone=ending.agent_gone) | {"error": error}
        frame = session_update(ending.session_id, ending.state | state)
        if not is_short(frame):
            frame = session_update(ending.session_id, state)
        out.append(Outgoing(frame))
    return out


def _error_answers(ending: Ending, client: ClientProfile) -> list[Outgoing]:
    members = _members(ending, client)
    return [Outgoing(jsonrpc.error(prompt, members), prompt) for prompt in ending.prompts]


def _members(ending: Ending, client: ClientProfile) -> dict[str, Any]:
    return error_object(
        ending.error,
        sent=ending.sent,
        had_output=ending.had_output,
        can_login=ending.can_login,
        details=details_of(client),
    )


def details_of(client: ClientProfile) -> Details:
    """Return how this client uses `data.details`; one that negotiated reads the payload."""
    rule = clients.RULES.get(client.name)
    return Details(rule.details) if rule is not None and not client.typed else Details.KEPT


def is_short(frame: bytes) -> bool:
    """Return whether one of our frames is within its bound, whatever agent ids it repeats."""
    return len(frame) < MAX_FRAME_BYTES


def session_update(session_id: str, update: dict[str, Any]) -> bytes:
    """Return a `session/update` notification of our own."""
    return jsonrpc.notification(acp.UPDATE, {"sessionId": session_id, "update": update})


def typed_update(error: AgentError, session_id: str, dialect: acp.Dialect) -> bytes:
    """Return the typed update itself."""
    update = {
        "sessionUpdate": dialect.error_kind,
        "stopReason": acp.STOP_ERROR,
        "error": error.payload(),
    }
    return session_update(session_id, update)


def idle(stop_reason: str, *, agent_gone: bool) -> dict[str, Any]:
    """Return the version 2 update that ends a session's foreground work."""
    update: dict[str, Any] = {
        "sessionUpdate": acp.STATE_UPDATE,
        "state": acp.IDLE,
        "stopReason": stop_reason,
    }
    # Only a dead agent is known to have no background work left.
    return update | {"background": []} if agent_gone else update


def notice(session_id: str, *, severity: str, title: str) -> bytes:
    """Return an advisory line for the user; it never carries a failure itself."""
    return session_update(
        session_id, {"sessionUpdate": "notice", "severity": severity, "title": title}
    )
