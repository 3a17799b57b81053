"""Requests to the events API: reading and refusing them.

Owns the query's parameters, the choice of the response's type, and the one shape of a refusal:
`{error, reason}`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from starlette.responses import Response

from lastword.gateway.api.scan import DEFAULT_LIMIT, MAX_LIMIT, EventQuery
from lastword.gateway.api.shapes import ApiProblem, EventKind, encode

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from starlette.requests import Request

JSON_TYPE, EVENTS_TYPE = "application/json", "text/event-stream"
CURSOR = "^[A-Za-z0-9_-]{1,64}:[0-9]{1,15}$"
DEFAULT_DAYS, MAX_DAYS = 7, 3650

_CURSOR = re.compile(r"([A-Za-z0-9_-]{1,64}):([0-9]{1,15})")
_NUMBER = re.compile(r"[0-9]{1,9}")


class ProblemError(Exception):
    """A request is refused.

    Attributes:
        status: the status of the response.
        reason: a word.
        headers: further headers of the response.
    """

    def __init__(
        self, status: int, reason: str, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.headers: dict[str, str] = dict(headers or {})

    def response(self) -> Response:
        """Return the response."""
        return problem(self.status, self.reason, str(self), self.headers)


def problem(
    status: int, reason: str, message: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a refusal as a response."""
    shown = {"cache-control": "no-store"} | dict(headers or {})
    return Response(encode(ApiProblem(message, reason)), status, shown, JSON_TYPE)


def answer(value: Any, status: int = 200) -> Response:
    """Return a response."""
    return Response(encode(value), status, {"cache-control": "no-store"}, JSON_TYPE)


def unknown_session() -> ProblemError:
    """Return the refusal for a session that does not exist or is not open to the requester."""
    return ProblemError(404, "session_unknown", "There is no such session on this gateway.")


def _bad(message: str) -> ProblemError:
    return ProblemError(400, "bad_request", message)


def accepts(request: Request, *types: str) -> str:
    """Return the type that a client accepts, out of those available.

    Raises:
        ProblemError: It accepts none of them.
    """
    accepted = _accepted_types(request.headers.get("accept", ""))
    for kind in types:
        if kind in accepted:
            return kind
    for kind in types:
        if not accepted or {"*/*", f"{kind.partition('/')[0]}/*"} & accepted:
            return kind
    message = f"The answer is {' or '.join(types)}, which the request does not accept."
    raise ProblemError(406, "not_acceptable", message)


def _accepted_types(header: str) -> set[str]:
    types = set()
    for part in header.split(","):
        kind, _, options = part.partition(";")
        if kind.strip() and not re.search(r"\bq=0(\.0*)?\s*$", options):
            types.add(kind.strip().lower())
    return types


async def body_of(request: Request, limit_bytes: int) -> bytes:
    """Return the body of a request; of one over the limit, a part that is over it, too."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > limit_bytes:
            break
    return bytes(body)


def number(request: Request, name: str, default: int, most: int) -> int:
    """Return a number of the query, from 1 up.

    Raises:
        ProblemError: It is not a number, or over the bound.
    """
    text = request.query_params.get(name)
    if text is None:
        return default
    if not _NUMBER.fullmatch(text) or not 1 <= int(text) <= most:
        raise _bad(f"{name} is a whole number from 1 to {most}.")
    return int(text)


def flag(request: Request, name: str) -> bool:
    """Return whether a flag of the query is set.

    Raises:
        ProblemError: It is neither 0 nor 1.
    """
    text = request.query_params.get(name, "0")
    if text not in {"0", "1"}:
        raise _bad(f"{name} is 0 or 1.")
    return text == "1"


def event_query(request: Request) -> EventQuery:
    """Return which events are wanted; a stream that returns gives its cursor in `Last-Event-ID`.

    Raises:
        ProblemError: It cannot be read.
    """
    began = _cursor(request.query_params.get("after"))
    epoch, seq = _cursor(request.headers.get("last-event-id")) or began or ("", 0)
    return EventQuery(
        epoch=epoch,
        seq=seq,
        limit=number(request, "limit", DEFAULT_LIMIT, MAX_LIMIT),
        kinds=_kinds(request.query_params.get("kinds", "")),
        content=flag(request, "content"),
    )


def _cursor(text: str | None) -> tuple[str, int] | None:
    if text is None:
        return None
    match = _CURSOR.fullmatch(text)
    if not match:
        message = "after and Last-Event-ID take EPOCH:SEQ, as in the member next of an answer."
        raise ProblemError(400, "bad_cursor", message)
    return match[1], int(match[2])


def _kinds(text: str) -> frozenset[EventKind]:
    try:
        return frozenset(EventKind(word.strip()) for word in text.split(",") if word.strip())
    except ValueError:
        known = ", ".join(kind.value for kind in EventKind)
        raise _bad(f"kinds are of these, with commas between them: {known}.") from None
