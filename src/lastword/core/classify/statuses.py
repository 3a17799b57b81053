"""HTTP statuses and JSON-RPC codes: what each means when the failure says nothing better."""

from __future__ import annotations

from lastword.core.classify.text import normalise
from lastword.core.failure.taxonomy import ErrorType, Origin
from lastword.core.protocol import acp
from lastword.quirks import agents

NOT_FOUND = 404
PAYMENT_REQUIRED = 402
DECISIVE = frozenset({400, 401, 402, 403, 404, 422})
"""A word that only says that something broke does not outrank these."""

REQUEST_BLAMED = frozenset({400, 413, 422})
REQUEST_TIMEOUT = 408
TOO_MANY_REQUESTS = 429

STATUS_TYPES = {
    401: ErrorType.AUTH,
    402: ErrorType.BUDGET,
    403: ErrorType.AUTH,
    404: ErrorType.MODEL_NOT_FOUND,
    407: ErrorType.AUTH,
    408: ErrorType.TIMEOUT,
    413: ErrorType.CONTEXT_OVERFLOW,
    424: ErrorType.PROVIDER_UNAVAILABLE,
    429: ErrorType.RATE_LIMIT,
    498: ErrorType.PROVIDER_UNAVAILABLE,
    504: ErrorType.TIMEOUT,
    522: ErrorType.TIMEOUT,
    524: ErrorType.TIMEOUT,
    598: ErrorType.TIMEOUT,
    599: ErrorType.TIMEOUT,
}
"""Other 4xx are `invalid_request`, other 5xx `provider_unavailable`."""

_PEER = Origin.CLIENT

RPC_TYPES: dict[int, tuple[ErrorType, str | None, Origin | None]] = {
    acp.PARSE_ERROR: (ErrorType.PROTOCOL_ERROR, "parse_error", _PEER),
    acp.INVALID_REQUEST: (ErrorType.PROTOCOL_ERROR, "invalid_frame", _PEER),
    acp.METHOD_NOT_FOUND: (ErrorType.INVALID_REQUEST, "method_not_found", _PEER),
    acp.INVALID_PARAMS: (ErrorType.INVALID_REQUEST, "invalid_params", _PEER),
    acp.AUTH_REQUIRED: (ErrorType.AUTH, "login_required", None),
    -32001: (ErrorType.INVALID_REQUEST, "resource_not_found", None),
    acp.RESOURCE_NOT_FOUND: (ErrorType.INVALID_REQUEST, "resource_not_found", None),
}
"""JSON-RPC code -> type, reason, origin where it is not the type's own."""

AGENT_RPC_TYPES = {
    row.name: {
        code: (ErrorType(kind), reason, None if origin is None else Origin(origin))
        for code, (kind, reason, origin) in row.codes.items()
    }
    for row in agents.ROWS
    if row.codes
}
"""The codes of single agents, by the agent's key; other agents may mean other things by them."""

AGENT_WORDS = {
    normalise(word): (row.name, ErrorType(kind), reason)
    for row in agents.ROWS
    for word, (kind, reason) in row.words.items()
}
"""Names that one agent gives its failures -> the agent's key, type and reason."""

AGENT_SENTENCES = {
    parts: (row.name, ErrorType(kind), reason)
    for row in agents.ROWS
    for parts, (kind, reason) in row.sentences.items()
}
"""The same by parts of a sentence, all of which the text must contain."""


def type_of_status(status: int) -> ErrorType:
    """Return the type that an HTTP error status stands for."""
    named = STATUS_TYPES.get(status)
    if named is not None:
        return named
    server_side = status >= 500  # noqa: PLR2004 - RFC 9110: 5xx is the server's fault
    return ErrorType.PROVIDER_UNAVAILABLE if server_side else ErrorType.INVALID_REQUEST
