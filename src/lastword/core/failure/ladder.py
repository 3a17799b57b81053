"""The ladder: the choice of frames in which a failure reaches a given client.

Owns the choice of the rung and the frames of each rung (`protocol/README.md`, section "The
ladder"); the JSON-RPC error object for a client without the extension (section "The JSON-RPC
error"), each rule of which rests on what a measured client does with the frame; and the frame that
shows an outage of a connection while a turn is open.

JetBrains AIR's convention for failures, `sessionFailure`. Owns the convention: its negotiation, its
members and their closed sets, and the mapping from our vocabulary to its words
(`protocol/README.md`, section "The rung `air`"). It follows what the agents that use it send
(claude-agent-acp 0.101). Reading what such agents send is the job of `core.classify.agents`.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from lastword.core.failure.signs import EMPTY_MESSAGES, without_empty_lead
from lastword.core.failure.taxonomy import (
    MAX_MESSAGE_CHARS,
    Action,
    AgentError,
    ErrorType,
    Origin,
    RetrySafety,
)
from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.acp import has_version, object_of, raw_members
from lastword.quirks import clients

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lastword.core.link.handshake import ClientProfile
    from lastword.core.redact.redactor import Redactor


# --- the JSON-RPC error object --------------------------------------------------------------------

RECOGNISED_CODES = frozenset(
    {
        acp.AUTH_REQUIRED,
        -32001,
        acp.RESOURCE_NOT_FOUND,
        acp.METHOD_NOT_FOUND,
        acp.INVALID_PARAMS,
    }
)
"""An agent's own codes that clients already act on, and which are therefore kept."""

MAX_FRAME_BYTES = 60 * 1024
"""Emacs and Neovim clients slow down or break on longer lines."""

_ROOM_FOR_ENVELOPE = 2 * 1024


class Details(StrEnum):
    """A client's use of `data.details`."""

    KEPT = "kept"
    """It reads the message, so the agent's own details stay unchanged."""
    TOLD = "told"
    """It shows `details` instead of the message, so our sentence comes first there."""
    ALONE = "alone"
    """It shows `details` if a prompt's error with the code -32603 has nothing else, and otherwise
    appends the raw `data` to the message."""


class SentError:
    """The `error` member that the agent itself sent, read tolerantly and redacted."""

    __slots__ = ("code", "data", "message")

    def __init__(self, error: object, redactor: Redactor) -> None:
        members = error if isinstance(error, dict) else {}
        code = members.get("code")
        self.code: int | None = (
            code if isinstance(code, int) and not isinstance(code, bool) else None
        )
        message = members.get("message")
        text = redactor(message).strip() if isinstance(message, str) else ""
        self.message: str = "" if text.lower() in EMPTY_MESSAGES else text
        data = redactor.json(members.get("data"))
        # Clients accept nothing but an object, so any other value becomes a member of one.
        if data is None or data == "":
            data = {}
        elif isinstance(data, str):
            data = {"details": data}
        self.data: dict[str, Any] = data if isinstance(data, dict) else {"value": data}


def error_object(  # noqa: PLR0913 - six options is our own limit
    error: AgentError,
    *,
    sent: SentError | None = None,
    had_output: bool = False,
    can_login: bool = False,
    details: Details = Details.KEPT,
    is_prompt: bool = True,
) -> dict[str, Any]:
    """Return the `error` member of a response.

    Args:
        error: the failure.
        sent: the error that the agent itself sent, if any.
        had_output: the turn produced text or a tool call, so no client may log in and resend.
        can_login: the agent offered a way to authenticate.
        details: how this client uses `data.details`.
        is_prompt: the response answers a prompt.
    """
    if sent is not None and sent.code in RECOGNISED_CODES:
        code = sent.code
    elif error.type is ErrorType.AUTH:
        fresh = can_login and not had_output and error.action is not Action.REPORT
        code = acp.AUTH_REQUIRED if fresh else acp.INTERNAL_ERROR
    elif not error.retryable and not had_output:
        code = acp.DO_NOT_RESEND
    else:
        code = acp.INTERNAL_ERROR
    message = (sent.message if sent else "") or error.message
    if details is Details.ALONE:
        text = _full_text(error, sent)
        code = acp.INTERNAL_ERROR if code == acp.DO_NOT_RESEND else code  # it never resends
        if code != acp.INTERNAL_ERROR or not is_prompt:
            return {"code": code, "message": text[:MAX_MESSAGE_CHARS]}
        return {"code": code, "message": message[:MAX_MESSAGE_CHARS], "data": {"details": text}}
    data = dict(sent.data) if sent else {}
    if details is Details.TOLD:
        data["details"] = _full_text(error, sent, quote=data.get("details"))
    elif not isinstance(data.get("details"), str) or not data["details"]:
        data["details"] = error.message if sent else message
    if not data.get("errorKind"):
        data["errorKind"] = error.type.value
    data["agent_error"] = payload = typed_payload(error)
    members = {"code": code, "message": message[:MAX_MESSAGE_CHARS], "data": data}
    limit = MAX_FRAME_BYTES - _ROOM_FOR_ENVELOPE
    if len(jsonrpc.dumps(members)) <= limit:
        return members
    # What does not fit loses `detail` first, then the agent's data.
    payload.pop("detail", None)
    if len(jsonrpc.dumps(members)) <= limit:
        return members
    kind = data["errorKind"]
    is_short_word = isinstance(kind, str) and len(kind) < MAX_MESSAGE_CHARS
    return members | {
        "data": {
            "details": data["details"][: MAX_MESSAGE_CHARS * 4],
            "agent_error": payload,
            "errorKind": kind if is_short_word else "error",
        }
    }


def typed_payload(error: AgentError) -> dict[str, Any]:
    """Return the payload as carriers other than the typed update hold it."""
    return error.payload() | {"stopReason": acp.STOP_ERROR}


def _full_text(error: AgentError, sent: SentError | None, *, quote: object = None) -> str:
    """Return one text for a client that shows nothing else: our sentence, then the provider's."""
    if not isinstance(quote, str):
        quote = error.detail.get("text") if error.detail else None
    if not isinstance(quote, str) and sent is not None:
        quote = sent.message
    quote = without_empty_lead(quote) if isinstance(quote, str) else ""
    # A sentence of ours quotes without the backquotes.
    if not quote or quote in error.message or quote.replace("`", "") in error.message:
        return error.message
    return f"{error.message} ({quote[:MAX_MESSAGE_CHARS]})"


# --- the rungs and their frames -------------------------------------------------------------------


class Rung(StrEnum):
    """The ways to end a failing turn, named for the frames that are sent."""

    TYPED = "typed"
    V2 = "v2"
    AIR = "air"
    ERROR = "error"
    ERROR_WITH_META = "error_with_meta"
    RESULT = "result"
    TEXT = "text"


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
    """Return the rung: the user's choice, or else the one for what the client advertised."""
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
    session_id, error = ending.session_id, ending.error
    meta: dict[str, Any] = {"agent_error": typed_payload(error)}
    update = result = None
    if rung is Rung.TYPED and not ending.announced:
        update = typed_update(error, session_id, dialect)
    elif rung in (Rung.ERROR_WITH_META, Rung.RESULT):
        info = {"sessionUpdate": "session_info_update", "_meta": meta}
        update = session_update(session_id, info)
    elif rung is Rung.TEXT:
        content = {"type": "text", "text": error.message}
        chunk = {"sessionUpdate": "agent_message_chunk", "content": content}
        update = session_update(session_id, chunk)
    out = []
    # On one rung, nothing else informs the user.
    if update is not None and (rung is Rung.TEXT or is_short(update)):
        out.append(Outgoing(update))
    if rung is Rung.TEXT:
        result = {"stopReason": acp.END_TURN, "_meta": meta}
    elif rung is Rung.AIR:
        failure_id = ending.failure_id or error.incident_id or session_id
        record = failure_meta(error, failure_id=failure_id, revision=ending.revision)
        # Never replace the error that starts the client's login: a result would disable it.
        if _members(ending, client)["code"] != acp.AUTH_REQUIRED:
            result = {"stopReason": acp.END_TURN, "_meta": record | meta}
        elif ending.revision > 1:
            # No result carries the record that supersedes the warnings of the turn.
            info = {"sessionUpdate": "session_info_update", "_meta": record}
            out.append(Outgoing(session_update(session_id, info)))
    elif rung is Rung.RESULT or client.stop_reason:
        result = {"stopReason": acp.STOP_ERROR, "_meta": meta}
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


def notice(
    session_id: str, *, severity: str, title: str, meta: dict[str, Any] | None = None
) -> bytes:
    """Return an advisory line for the user; it never carries a failure itself."""
    update: dict[str, Any] = {"sessionUpdate": "notice", "severity": severity, "title": title}
    return session_update(session_id, update if meta is None else update | {"_meta": meta})


# --- an outage while a turn is open ---------------------------------------------------------------

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
        line: What cannot be reached, as a sentence.
        attempt: The number of tries so far.
        max_attempts: The most tries that there will be, if known.
        wait_seconds: The wait before the next try, if known.
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
        return session_update(session_id, update | {"error": error.payload()})
    shown = outage_notice(session_id, client, line)
    if shown is not None:
        return shown
    if client.air:
        meta = warning_meta(ErrorType.NETWORK, title=line, failure_id=session_id, revision=attempt)
        return session_update(session_id, {"sessionUpdate": "session_info_update", "_meta": meta})
    content = {"type": "text", "text": f"{line}\n\n"}
    return session_update(session_id, {"sessionUpdate": "agent_thought_chunk", "content": content})


def stays_in_conversation(client: ClientProfile) -> bool:
    """Return whether this client can show an outage only as a thought."""
    shows_notices = client.notices or not client.dialect.notice_needs_capability
    return not (client.typed and client.retry) and not shows_notices and not client.air


def outage_notice(session_id: str, client: ClientProfile, title: str) -> bytes | None:
    """Return a notice for the user; `None` if this client shows none."""
    if client.notices or not client.dialect.notice_needs_capability:
        return notice(session_id, severity="warning", title=title)
    return None


SESSION_FAILURE = "sessionFailure"
VERSION = 1

CATEGORIES: dict[ErrorType, str] = {
    ErrorType.RATE_LIMIT: "limit",
    ErrorType.BUDGET: "limit",
    ErrorType.PROVIDER_UNAVAILABLE: "service",
    ErrorType.CONTEXT_OVERFLOW: "limit",
    ErrorType.AUTH: "access",
    ErrorType.MODEL_NOT_FOUND: "request",
    ErrorType.INVALID_REQUEST: "request",
    ErrorType.CONTENT_FILTER: "request",
    ErrorType.TIMEOUT: "connection",
    ErrorType.NETWORK: "connection",
    ErrorType.CANCELLED: "unknown",
    ErrorType.AGENT_CRASH: "connection",
    ErrorType.AGENT_STALLED: "connection",
    ErrorType.STDERR_OVERFLOW: "service",
    ErrorType.PROTOCOL_ERROR: "service",
    ErrorType.INTERNAL: "service",
    ErrorType.UNKNOWN: "unknown",
}
"""Its category for each of our types; an agent's lost worker is a `connection` to it."""

_NEW_SESSION = frozenset({Action.SHORTEN, Action.RESTART})
_NEW_SESSION_REASONS = frozenset({"context_lost", "crash_loop"})


def negotiated(capabilities: Mapping[str, Any]) -> bool:
    """Return whether a side's decoded capabilities announce `sessionFailure`."""
    air = extension_in(object_of(capabilities.get("_meta")))
    names = air.get("capabilities")
    return has_version(air) and isinstance(names, list) and SESSION_FAILURE in names


def extension_in(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a `_meta` for JetBrains AIR."""
    return object_of(object_of(meta.get("jetbrains")).get("air"))


def advertise(meta: dict[str, Raw]) -> None:
    """Add `sessionFailure` to the `_meta` of the agent's advertised capabilities.

    A client may look for it there before it reads a failure. If the agent's own members leave no
    room for it, they are left unchanged.
    """
    try:
        jetbrains = raw_members(meta.get("jetbrains"))
        air = raw_members(jetbrains.get("air"))
        names = msgspec.json.decode(air.get("capabilities", Raw(b"[]")), type=list[Any])
    except (msgspec.MsgspecError, ValueError):
        return
    if SESSION_FAILURE not in names:
        names.append(SESSION_FAILURE)
    air.setdefault("version", Raw(msgspec.json.encode(VERSION)))
    air["capabilities"] = Raw(msgspec.json.encode(names))
    jetbrains["air"] = Raw(msgspec.json.encode(air))
    meta["jetbrains"] = Raw(msgspec.json.encode(jetbrains))


def failure_meta(error: AgentError, *, failure_id: str, revision: int) -> dict[str, Any]:
    """Return the `_meta` members of a prompt result that report a failed turn.

    Args:
        error: the failure.
        failure_id: the id shared by every record of one turn.
        revision: the number of this record within the turn, counted from 1.
    """
    text = error.detail.get("text") if error.detail else None
    has_text = isinstance(text, str) and text.lower() not in EMPTY_MESSAGES
    actions = []  # the buttons to show
    if error.action is Action.LOGIN:
        actions.append("login")
    else:
        # AIR cannot ask first, so no button is offered for a retry that could do harm.
        if error.retryable and error.retry_safety not in {RetrySafety.ASK, RetrySafety.NEVER}:
            actions.append("retry")
        if error.action in _NEW_SESSION or error.reason in _NEW_SESSION_REASONS:
            actions.append("new_session")
    return _meta(
        {
            "id": failure_id,
            "revision": revision,
            "category": CATEGORIES[error.type],
            "severity": "error",
            "title": error.message,
            "details": text if has_text else None,
            # The convention leaves this word open. We send the type, which the category blurs.
            "reason": error.type.value,
            "actions": actions,
        }
    )


def warning_meta(
    error_type: ErrorType | None, *, title: str, failure_id: str, revision: int
) -> dict[str, Any]:
    """Return the `_meta` members of an update that reports a retry or, without a type, a delay."""
    return _meta(
        {
            "id": failure_id,
            "revision": revision,
            "category": CATEGORIES[error_type] if error_type else "unknown",
            "severity": "warning",
            "title": title,
            "reason": error_type.value if error_type else None,
            "actions": [],
        }
    )


def _meta(record: dict[str, Any]) -> dict[str, Any]:
    members = {key: value for key, value in record.items() if value is not None}
    return {"jetbrains": {"air": {"version": VERSION, SESSION_FAILURE: members}}}
