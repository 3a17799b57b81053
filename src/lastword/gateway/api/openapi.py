"""The OpenAPI document of the events API.

Owns the list of operations. The front's routes are made from it, and the shapes are those of the
answers, so the document describes what is served.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from lastword._version import __version__
from lastword.gateway.api.requests import (
    CURSOR,
    DEFAULT_DAYS,
    DEFAULT_LIMIT,
    EVENTS_TYPE,
    JSON_TYPE,
    MAX_DAYS,
    MAX_LIMIT,
)
from lastword.gateway.api.shapes import (
    ApiProblem,
    ClientEvent,
    ClientEventTaken,
    EventKind,
    EventsPage,
    Healthy,
    PushRequest,
    PushView,
    SessionList,
    SessionOne,
    StatsView,
)
from lastword.gateway.quality.readiness import NotReadyTold, ReadyTold

_TOKENS: list[dict[str, list[str]]] = [{"bearer": []}, {"cookie": []}]
_REF = "#/components/schemas/{name}"
_PROBLEMS = {
    400: "The request cannot be read.",
    401: "A token is missing, wrong, or has expired.",
    403: "The token, the host or the origin does not allow it.",
    404: "There is no such session, or none for this token.",
    406: "None of the types that Accept names is available.",
    413: "The body is too large.",
    415: "The body is not of the type that this path takes.",
    429: "Too many requests came from this address; see Retry-After.",
    500: "The subscriptions cannot be stored.",
    503: "The session's log cannot be read.",
}


class Parameter(msgspec.Struct, frozen=True):
    """A parameter of an operation, with its JSON schema."""

    name: str
    place: str
    schema: dict[str, Any]
    description: str


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One method of one path.

    Attributes:
        handler: the method of `EventsApi` or `PushApi` that answers; without a token, the front's
            own.
        method: the HTTP method.
        path: as OpenAPI writes it.
        summary: its purpose.
        answer: the shape of its answer; `None` for this document and for text.
        status: the status of that answer.
        parameters: its parameters.
        body: the shape of the request's body.
        problems: the statuses of its refusals.
        streams: it can also answer with a stream.
        needs_token: it refuses requests without a token.
        takes_token: a token admits a request that would be refused without one.
        kind: the media type of its answer.
        unready: the shape of its 503, if it is not a refusal.
    """

    handler: str
    method: str
    path: str
    summary: str
    answer: type[msgspec.Struct] | None
    status: int = 200
    parameters: tuple[Parameter, ...] = ()
    body: type[msgspec.Struct] | None = None
    problems: tuple[int, ...] = (401, 403, 406, 429)
    streams: bool = False
    needs_token: bool = True
    takes_token: bool = True
    kind: str = JSON_TYPE
    unready: type[msgspec.Struct] | None = None


_FLAG = {"type": "string", "enum": ["0", "1"]}
_CONTENT = Parameter(
    "content", "query", _FLAG, "1 to include content, which needs a controller's token."
)
_SESSION = Parameter("session_id", "path", {"type": "string", "minLength": 1}, "The session's id.")
_SUBSCRIPTION = Parameter(
    "subscription_id", "path", {"type": "string", "minLength": 1}, "The subscription's id."
)
_CURSOR = {
    "type": "string",
    "pattern": CURSOR,
    "minLength": 3,
    "maxLength": 80,
    "examples": ["9292412d918b:0"],
}
_EVENTS = (
    _SESSION,
    Parameter(
        "after", "query", _CURSOR, "A cursor, EPOCH:SEQ. Without one, the oldest event comes first."
    ),
    Parameter(
        "limit",
        "query",
        {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
        "The maximum number of events.",
    ),
    Parameter(
        "kinds",
        "query",
        {"type": "array", "items": {"type": "string", "enum": [kind.value for kind in EventKind]}},
        "Only events of these kinds.",
    ),
    _CONTENT,
    Parameter("Last-Event-ID", "header", _CURSOR, "The same as after, as EventSource sends it."),
)
_DAYS = {"type": "integer", "minimum": 1, "maximum": MAX_DAYS, "default": DEFAULT_DAYS}

OPERATIONS = (
    Operation(
        handler="sessions",
        method="GET",
        path="/v1/sessions",
        summary="The sessions, including those that have ended.",
        answer=SessionList,
        parameters=(_CONTENT,),
        problems=(400, 401, 403, 406, 429),
    ),
    Operation(
        handler="events",
        method="GET",
        path="/v1/sessions/{session_id}/events",
        summary="A session's log from a cursor on: one page as JSON, or a stream.",
        answer=EventsPage,
        parameters=_EVENTS,
        problems=(400, 401, 403, 404, 406, 429, 503),
        streams=True,
    ),
    Operation(
        handler="session",
        method="GET",
        path="/v1/sessions/{session_id}",
        summary="One session.",
        answer=SessionOne,
        parameters=(_SESSION, _CONTENT),
        problems=(400, 401, 403, 404, 406, 429, 503),
    ),
    Operation(
        handler="stats",
        method="GET",
        path="/v1/stats",
        summary="Failures and durations of turns, compared with the days before.",
        answer=StatsView,
        parameters=(Parameter("days", "query", _DAYS, "The number of days."),),
        problems=(400, 401, 403, 406, 429),
    ),
    Operation(
        handler="client_event",
        method="POST",
        path="/v1/client-events",
        summary="Report a page's or connector's own error, at most 60 a minute from one address.",
        answer=ClientEventTaken,
        status=202,
        body=ClientEvent,
        problems=(400, 401, 403, 404, 406, 413, 415, 429),
    ),
    Operation(
        handler="push",
        method="GET",
        path="/v1/push",
        summary="The browsers that get notifications, and the key by which one subscribes.",
        answer=PushView,
        problems=(401, 403, 406, 429, 500),
    ),
    Operation(
        handler="subscribe",
        method="POST",
        path="/v1/push",
        summary="Send notifications to a browser until its token expires.",
        answer=PushView,
        status=201,
        body=PushRequest,
        problems=(400, 401, 403, 404, 406, 413, 415, 429, 500),
    ),
    Operation(
        handler="unsubscribe",
        method="DELETE",
        path="/v1/push/{subscription_id}",
        summary="Send no more notifications to a browser.",
        answer=PushView,
        parameters=(_SUBSCRIPTION,),
        problems=(401, 403, 404, 406, 429, 500),
    ),
    Operation(
        handler="openapi",
        method="GET",
        path="/v1/openapi.json",
        summary="This document.",
        answer=None,
    ),
    Operation(
        handler="health",
        method="GET",
        path="/healthz",
        summary="Whether the gateway answers. Shows nothing about sessions, and needs no token.",
        answer=Healthy,
        problems=(),
        needs_token=False,
        takes_token=False,
    ),
    Operation(
        handler="ready",
        method="GET",
        path="/readyz",
        summary="Whether the gateway could take another session now. Needs no token.",
        answer=ReadyTold,
        problems=(),
        needs_token=False,
        takes_token=False,
        unready=NotReadyTold,
    ),
    Operation(
        handler="metrics",
        method="GET",
        path="/metrics",
        summary="Metrics as Prometheus' text. A scraper on the gateway's machine needs no token.",
        answer=None,
        problems=(401, 403, 429),
        needs_token=False,
        kind="text/plain",
    ),
)
"""In the order in which a request is matched: a session's id may have slashes in it."""


@cache
def document(cookie: str) -> bytes:
    """Return the document as JSON, for a gateway whose cookie has this name."""
    answers = [shape for each in OPERATIONS for shape in (each.answer, each.unready)]
    shapes = [shape for shape in answers if shape is not None]
    bodies = [each.body for each in OPERATIONS if each.body is not None]
    _, components = msgspec.json.schema_components(
        [*shapes, *bodies, ApiProblem], ref_template=_REF
    )
    paths: dict[str, dict[str, Any]] = {}
    for each in OPERATIONS:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each)
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "lastword gateway",
                "version": __version__,
                "description": "What a gateway's sessions are and were. Every refusal has one "
                "shape, {error, reason}.",
            },
            "paths": paths,
            "security": _TOKENS,
            "components": {
                "schemas": components,
                "securitySchemes": {
                    "bearer": {"type": "http", "scheme": "bearer"},
                    "cookie": {"type": "apiKey", "in": "cookie", "name": cookie},
                },
            },
        }
    )


def _operation(operation: Operation) -> dict[str, Any]:
    shapeless = {"type": "object" if operation.kind == JSON_TYPE else "string"}
    schema = shapeless if operation.answer is None else _ref(operation.answer)
    content: dict[str, Any] = {operation.kind: {"schema": schema}}
    if operation.streams:
        content[EVENTS_TYPE] = {"schema": {"type": "string"}}
    responses: dict[str, Any] = {
        str(operation.status): {"description": "The answer.", "content": content}
    }
    if operation.unready is not None:
        unready = {JSON_TYPE: {"schema": _ref(operation.unready)}}
        responses["503"] = {"description": "Not now.", "content": unready}
    for status in operation.problems:
        refusal = {JSON_TYPE: {"schema": _ref(ApiProblem)}}
        responses[str(status)] = {"description": _PROBLEMS[status], "content": refusal}
    described: dict[str, Any] = {
        "operationId": operation.handler,
        "summary": operation.summary,
        "responses": responses,
    }
    if operation.parameters:
        described["parameters"] = []
    for each in operation.parameters:
        parameter: dict[str, Any] = {
            "name": each.name,
            "in": each.place,
            "required": each.place == "path",
            "description": each.description,
            "schema": each.schema,
        }
        if each.schema["type"] == "array":
            parameter |= {"style": "form", "explode": False}
        described["parameters"].append(parameter)
    if operation.body is not None:
        body = {JSON_TYPE: {"schema": _ref(operation.body)}}
        described["requestBody"] = {"required": True, "content": body}
    if not operation.needs_token:
        described["security"] = [{}, *_TOKENS] if operation.takes_token else []
    return described


def _ref(shape: type[msgspec.Struct]) -> dict[str, str]:
    return {"$ref": _REF.format(name=shape.__name__)}
