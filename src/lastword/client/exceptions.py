"""The error object in an exception raised by a client's library.

Owns the duck-typing: no library is imported, and no exception from an attribute escapes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.client.classify import connection_lost
from lastword.client.shapes import object_of
from lastword.core.classify.gather import attribute
from lastword.core.failure.taxonomy import AgentError

if TYPE_CHECKING:
    from lastword.client.shapes import Members

MAX_EXCEPTIONS = 16
"""At most this many are looked at, of a group and of a chain of causes."""

_CONNECTION_CLOSED = frozenset({"BrokenResourceError", "ClosedResourceError", "EndOfStream"})
"""anyio's words for it; the standard library's are classes."""


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
        data = attribute(exception, "data")
        return {"code": code, "message": _message(exception), "data": data}
    closed = isinstance(exception, ConnectionError | EOFError)
    if closed or type(exception).__name__ in _CONNECTION_CLOSED:
        return connection_lost()
    return None


def _message(exception: Exception) -> str:
    message = attribute(exception, "message")
    if isinstance(message, str) and message:
        return message
    try:
        return str(exception)
    except Exception:  # noqa: BLE001 - a hostile __str__
        return ""
