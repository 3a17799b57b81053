"""The failure, or the notice of a retry, in any message that a client receives.

Owns where to look, how deep (decoded JSON, SDK models, frames around them, exceptions of a client's
library, of which none is imported), and in which order (`protocol/README.md`, section "Reading");
and the class of `lastword.errors` that a failure is raised as. `core.failure.payload` reads a
payload; `core.classify` interprets an error without one, of which a reader knows only our own codes
and words, and nothing of the turn. `core.classify.agents` has single agents' notices of retries.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar

import msgspec

from lastword import errors
from lastword.core.classify import agents, classify_rpc_error, own_failure
from lastword.core.classify.gather import attribute
from lastword.core.failure import phrases, sentences, signs, wording
from lastword.core.failure.payload import AnnouncedRetry, payload_of, read_payload
from lastword.core.failure.payload import read_retry as read_announced
from lastword.core.failure.taxonomy import UNDECIDED, AgentError, ErrorType
from lastword.core.protocol import acp
from lastword.quirks import wire

if TYPE_CHECKING:
    from pydantic import BaseModel

    from lastword.core.classify import Verdict


# --- exceptions

MAX_EXCEPTIONS = 16
"""The most that are searched of a group and of a chain of causes."""

_CONNECTION_CLOSED = frozenset({"BrokenResourceError", "ClosedResourceError", "EndOfStream"})
"""The names of anyio's exceptions; those of the standard library are looked up by class."""


def error_in(raised: BaseException) -> AgentError | Members | None:
    """Return the content of an exception: a failure read before, or a JSON-RPC error object.

    Causes and the members of a group are searched too, the outermost first. Returns `None` for an
    exception that did not come from the agent, such as a bug in the client itself.
    """
    waiting: list[BaseException] = [raised]
    for _ in range(MAX_EXCEPTIONS):
        if not waiting:
            return None
        exception = waiting.pop(0)
        error = _error_of(exception)
        if error is not None:
            return error
        if isinstance(exception, BaseExceptionGroup):
            waiting += exception.exceptions[:MAX_EXCEPTIONS]
        elif exception.__cause__ is not None:
            waiting.append(exception.__cause__)
    return None


def _error_of(exception: BaseException) -> AgentError | Members | None:
    if not isinstance(exception, Exception):
        return None
    inner = attribute(exception, "error")
    if isinstance(inner, AgentError):
        return inner
    if (members := object_of(inner)) and "code" in members:
        return members
    code = attribute(exception, "code")
    # Some agents use an HTTP status as the code. urllib's exception has one too, but no `data`.
    if isinstance(code, int) and (code < 0 or "data" in dir(exception)):
        message = attribute(exception, "message")
        if not isinstance(message, str) or not message:
            try:
                message = str(exception)
            except Exception:  # noqa: BLE001 - a hostile __str__
                message = ""
        return {"code": code, "message": message, "data": attribute(exception, "data")}
    closed = isinstance(exception, ConnectionError | EOFError)
    if closed or type(exception).__name__ in _CONNECTION_CLOSED:
        return connection_lost()
    return None


# --- errors without a payload

_OURS_ALONE = frozenset(
    {
        ErrorType.AGENT_CRASH,
        ErrorType.AGENT_STALLED,
        ErrorType.STDERR_OVERFLOW,
        ErrorType.PROTOCOL_ERROR,
    }
)
"""As an `errorKind` no measured agent uses these words."""


def type_of_sentence(text: str) -> tuple[ErrorType, str | None] | None:
    """Return the type and reason whose sentence of ours begins a text, as in our notices."""
    return next((what for sentence, what in _own_sentences() if text.startswith(sentence)), None)


@cache
def _own_sentences() -> tuple[tuple[str, tuple[ErrorType, str | None]], ...]:
    general = [(text, (word, None)) for word, text in sentences.WHAT.items()]
    narrow = sentences.WHAT_BY_REASON.items()
    narrower = [(text, (word, reason)) for word, by in narrow for reason, text in by.items()]
    return (*general, *narrower)


def connection_lost() -> AgentError:
    """Return the failure that a client notices itself: the agent's connection is gone."""
    return compose(own_failure(ErrorType.AGENT_CRASH, "connection_lost"))


def compose(verdict: Verdict) -> AgentError:
    """Return the error for a verdict. The turn is unknown, so no retry is known to be safe."""
    return wording.compose_from_facts(verdict, None, now=datetime.now(phrases.LOCAL_ZONE))


# --- objects

Members = dict[str, Any]


def object_of(value: object) -> Members:
    """Return the members of a JSON object or of a model; none for anything else."""
    if isinstance(value, dict):
        return value
    if _is_model(value):
        # The mode "json" makes enums plain, and rejects anything that an author put into a model
        # that is not JSON.
        try:
            return value.model_dump(mode="json", by_alias=True, exclude_none=True)
        except Exception:  # noqa: BLE001 - a foreign model's serialisers may raise anything
            return value.model_dump(by_alias=True, exclude_none=True)
    return dict(value) if isinstance(value, Mapping) else {}


def _is_model(value: object) -> TypeGuard[BaseModel]:
    """Return whether it is a pydantic model, without importing pydantic, which takes 50 ms."""
    base = getattr(sys.modules.get("pydantic"), "BaseModel", None)
    return base is not None and isinstance(value, base)


def update_in(members: Members) -> Members:
    """Return the `update` of a `session/update`, given the notification, its params, or itself."""
    if "sessionUpdate" in members:
        return members
    if members.get("method") == acp.UPDATE:
        members = object_of(members.get("params"))
    return object_of(members.get("update"))


def payload_in(carrier: object) -> Members | None:
    """Return the payload under `agent_error` in a `_meta` or a `data`; not an advertisement."""
    members = object_of(carrier)
    payload = members.get("agent_error")
    if payload is not None and not isinstance(payload, dict):
        members = members | {"agent_error": object_of(payload) or None}
    return signs.payload_in(members)


def kind_of(update: Members) -> str:
    """Return the kind of an update; empty if it has none."""
    kind = update.get("sessionUpdate")
    return kind if isinstance(kind, str) else ""


# --- messages

NO_FAILURE_KINDS = acp.AGENT_RETRY_KINDS | {"notice"}


def read_error(message: object) -> AgentError | None:
    """Return how a turn failed, if this message reports that one did.

    ```python
    error = client.read_error(message)  # whatever came from the agent
    if error is not None:
        show(client.describe(error))
    ```

    A failing turn may report its failure twice: in an update, and in the message that ends it. Both
    give the same value.

    Args:
        message: A `session/update` (the notification, its params or its `update`), a prompt's
            result, a JSON-RPC response or its error, as decoded JSON or as the official SDK's
            models; the exception that the SDK raised; or anything else.

    Returns:
        The failure, or `None` for a message without one, such as a healthy update or a retry.
        Members that the contract does not name are in its `extra`. An error from an agent without
        the extension is classified; its `retry_safety` is then never `auto`.
    """
    try:
        return _read(message)
    except Exception:  # noqa: BLE001 - the last net for hostile objects; no JSON falls into it
        return None


def _read(message: object) -> AgentError | None:
    if isinstance(message, AgentError):
        return message
    if isinstance(message, BaseException):
        error = error_in(message)
        return error if isinstance(error, AgentError) or error is None else _of_error(error)
    members = object_of(message)
    if "method" in members or "sessionUpdate" in members or "update" in members:
        update = update_in(members)
        return _of_update(update) if update else None
    if isinstance(members.get("type"), str) and isinstance(members.get("retryable"), bool):
        return read_payload(members)
    if "stopReason" in members or "_meta" in members:
        return _of_result(members)
    if members.get("error") is not None:
        return _of_error(members["error"])
    if "result" in members:
        return _of_result(object_of(members["result"]))
    if isinstance(members.get("code"), int | str) and {"message", "data"} & members.keys():
        return _of_error(members)
    return None


def _of_update(update: Members) -> AgentError | None:
    kind = kind_of(update)
    if kind in acp.AGENT_ERROR_KINDS:
        error = object_of(update.get("error"))
        return read_payload(payload_of(update | {"error": error} if error else update))
    if kind in NO_FAILURE_KINDS:
        return None
    if kind == acp.STATE_UPDATE:
        failed = update.get("state") == acp.IDLE and update.get("stopReason") == acp.STOP_ERROR
        return _of_error(update.get("error")) if failed else None
    payload = payload_in(update.get("_meta")) if kind == "session_info_update" else None
    if payload is not None:
        return read_payload(payload)
    return _of_sign(agents.read_update(update))


def _of_result(result: Members) -> AgentError | None:
    if result.get("stopReason") == acp.CANCELLED:
        return None
    payload = payload_in(result.get("_meta"))
    if payload is not None:
        return read_payload(payload)
    error = _of_sign(agents.read_result(result))
    if error is None and result.get("stopReason") == acp.STOP_ERROR:
        return _of_error(result.get("error"))
    return error


def _of_sign(sign: agents.Sign | None) -> AgentError | None:
    """Return a failure reported in an agent's own way, unless the agent will retry."""
    return None if sign is None or sign.will_retry else compose(sign.verdict)


def _of_error(error: object) -> AgentError:
    """Return the failure in a JSON-RPC error object, or in whatever replaces it."""
    members = object_of(error)
    data = object_of(members.get("data"))
    payload = payload_in(data)
    if payload is not None:
        return read_payload(payload)
    verdict = classify_rpc_error(members or error)
    # Our own type is named next to the sentence, or implied by the sentence itself.
    kind, details = data.get("errorKind"), data.get("details")
    own: ErrorType | None = None
    if isinstance(kind, str):
        own = next((word for word in ErrorType if word.value == kind), None)
    elif isinstance(details, str) and (implied := type_of_sentence(details)):
        own = implied[0]
    if own is not None and (own in _OURS_ALONE or verdict.type in UNDECIDED):
        verdict = msgspec.structs.replace(own_failure(own), detail=verdict.detail)
    if members.get("code") == acp.DO_NOT_RESEND:
        verdict = msgspec.structs.replace(verdict, retryable=False)
    return compose(verdict)


MAX_TITLE_CHARS = 1000
_UNIT_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}
_OWN_TITLE = re.compile(
    r"(?:Trying again (?:now|in (?P<wait>\d{1,7}) (?P<unit>second|minute|hour|day)s?)"
    r" \(attempt (?P<attempt>\d{1,7})(?: of (?P<most>\d{1,7}))?\)"
    r"|The agent is trying again)\.$"
)
"""How a notice of ours ends (`core.link.reporting`)."""


class RetryNotice(AnnouncedRetry, frozen=True, kw_only=True):
    """The agent's model call failed and will be retried; the turn continues.

    Attributes:
        attempt: The number of the next try; the first was 1.
        max_attempts: The maximum number of tries.
        wait_seconds: How long the agent waits before it, counted from when this was received.
        error: The failure of the previous try.
    """

    @property
    def message(self) -> str:
        """One or two plain sentences for the user."""
        when = f" in {phrases.plain_duration(self.wait_seconds)}" if self.wait_seconds else ""
        attempt = ""
        if self.attempt is not None:
            attempt = f" ({phrases.attempt_words(self.attempt, self.max_attempts)})"
        error = self.error
        what = "" if error is None else f"{sentences.what_of(error.type, error.reason)} "
        return f"{what}Trying again{when}{attempt}."


def read_retry(message: object) -> RetryNotice | None:
    """Return the retry that a message reports, or `None`.

    Args:
        message: A `session/update` (the notification, its params or its `update`), as decoded JSON
            or as the official SDK's models, or a notification of an agent's own; anything else is
            not a retry.

    Returns:
        The retry, as far as it is known. One that an agent reports only in prose is not recognised.
    """
    try:
        return _read_notice(object_of(message))
    except Exception:  # noqa: BLE001 - as in `read_error`
        return None


def _read_notice(members: Members) -> RetryNotice | None:
    method = members.get("method")
    if isinstance(method, str) and method in wire.METHODS:
        params = object_of(members.get("params"))
        return _notice_of_sign(agents.read_notification(method, params))
    update = update_in(members)
    kind = kind_of(update)
    if kind in acp.AGENT_RETRY_KINDS:
        notice = read_announced(update | {"error": object_of(update.get("error")) or None})
        return RetryNotice(**msgspec.structs.asdict(notice))
    if kind == "notice":
        title = update.get("title")
        if not isinstance(title, str) or len(title) > MAX_TITLE_CHARS:
            return None
        match = _OWN_TITLE.search(title)
        if match is None:
            return None
        own = type_of_sentence(title)
        wait = match["wait"] and int(match["wait"]) * _UNIT_SECONDS[match["unit"]]
        return RetryNotice(
            attempt=int(match["attempt"]) if match["attempt"] else None,
            max_attempts=int(match["most"]) if match["most"] else None,
            wait_seconds=wait or None,
            error=compose(own_failure(*own)) if own else None,
        )
    if kind in acp.AGENT_ERROR_KINDS:
        return None
    return _notice_of_sign(agents.read_update(update))


def _notice_of_sign(sign: agents.Sign | None) -> RetryNotice | None:
    if sign is None or not sign.will_retry:
        return None
    return RetryNotice(
        attempt=sign.attempt,
        max_attempts=sign.max_attempts,
        wait_seconds=sign.wait_seconds or sign.verdict.retry_after_seconds,
        error=compose(sign.verdict),
    )


_Message = TypeVar("_Message")

CLASS_FOR: dict[ErrorType, type[errors.PromptFailedError]] = {
    ErrorType.RATE_LIMIT: errors.RateLimitError,
    ErrorType.BUDGET: errors.BudgetError,
    ErrorType.PROVIDER_UNAVAILABLE: errors.ProviderUnavailableError,
    ErrorType.CONTEXT_OVERFLOW: errors.ContextOverflowError,
    ErrorType.AUTH: errors.AuthError,
    ErrorType.UNKNOWN: errors.UnknownError,
    ErrorType.MODEL_NOT_FOUND: errors.ModelNotFoundError,
    ErrorType.INVALID_REQUEST: errors.InvalidRequestError,
    ErrorType.CONTENT_FILTER: errors.ContentFilterError,
    ErrorType.TIMEOUT: errors.ProviderTimeoutError,
    ErrorType.NETWORK: errors.NetworkError,
    ErrorType.CANCELLED: errors.PromptCancelledError,
    ErrorType.AGENT_CRASH: errors.AgentCrashError,
    ErrorType.AGENT_STALLED: errors.AgentStalledError,
    ErrorType.STDERR_OVERFLOW: errors.StderrOverflowError,
    ErrorType.PROTOCOL_ERROR: errors.ProtocolError,
    ErrorType.INTERNAL: errors.InternalError,
}


def raise_for_error(message: _Message) -> _Message:
    """Raise if a turn failed; otherwise return the message.

    ```python
    try:
        client.raise_for_error(answer)
    except errors.RateLimitError as failed:
        wait(failed.error.retry_after_seconds)
    except errors.PromptFailedError as failed:
        show(client.describe(failed.error))
    ```

    Args:
        message: Whatever `read_error` takes. An exception becomes the cause of the one raised; an
            exception that did not come from the agent is returned.

    Returns:
        The message.

    Raises:
        PromptFailedError: The turn failed. The class says what to do, and `error` what happened.
    """
    if isinstance(message, errors.PromptFailedError):
        raise message
    error = read_error(message)
    if error is None:
        return message
    cause = message if isinstance(message, BaseException) else None
    raise CLASS_FOR[error.type](error) from cause
