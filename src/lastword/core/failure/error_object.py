"""The JSON-RPC error object that reports a failure to a client without the extension.

Owns the code, the message, and the contents of `data` (`protocol/README.md`, section "The JSON-RPC
error"). Every rule here rests on what a measured client does with the frame.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from lastword.core.failure.quoting import without_empty_lead
from lastword.core.failure.taxonomy import MAX_MESSAGE_CHARS, Action, AgentError, ErrorType
from lastword.core.protocol import acp, jsonrpc

if TYPE_CHECKING:
    from lastword.core.redact.redactor import Redactor

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

EMPTY_MESSAGES = frozenset({"", "internal error", "error", "unknown error"})
"""Messages without information, which ours replaces."""

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
        self.data: dict[str, Any] = _data_object(redactor.json(members.get("data")))


def _data_object(data: object) -> dict[str, Any]:
    """Return `data` as the object that clients accept; any other value becomes a member of it."""
    if isinstance(data, dict):
        return data
    if data is None or data == "":
        return {}
    return {"details": data} if isinstance(data, str) else {"value": data}


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
    code = _code(error, sent, had_output=had_output, can_login=can_login)
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
    data["agent_error"] = typed_payload(error)
    return _bounded({"code": code, "message": message[:MAX_MESSAGE_CHARS], "data": data})


def typed_payload(error: AgentError) -> dict[str, Any]:
    """Return the payload as carriers other than the typed update hold it."""
    return error.payload() | {"stopReason": acp.STOP_ERROR}


def _code(error: AgentError, sent: SentError | None, *, had_output: bool, can_login: bool) -> int:
    if sent is not None and sent.code in RECOGNISED_CODES:
        return sent.code
    if error.type is ErrorType.AUTH:
        fresh = can_login and not had_output and error.action is not Action.REPORT
        return acp.AUTH_REQUIRED if fresh else acp.INTERNAL_ERROR
    if not error.retryable and not had_output:
        return acp.DO_NOT_RESEND
    return acp.INTERNAL_ERROR


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


def _bounded(members: dict[str, Any]) -> dict[str, Any]:
    """Keep the object within the frame's bound by cutting `detail` first, then the agent's data."""
    limit = MAX_FRAME_BYTES - _ROOM_FOR_ENVELOPE
    if len(jsonrpc.dumps(members)) <= limit:
        return members
    data = dict(members["data"])
    data["agent_error"] = {k: v for k, v in data["agent_error"].items() if k != "detail"}
    ours = {"details": data["details"][: MAX_MESSAGE_CHARS * 4], "agent_error": data["agent_error"]}
    kind = data["errorKind"]
    ours["errorKind"] = kind if isinstance(kind, str) and len(kind) < MAX_MESSAGE_CHARS else "error"
    if len(jsonrpc.dumps(members | {"data": data})) <= limit:
        return members | {"data": data}
    return members | {"data": ours}
