"""HTTP statuses and JSON-RPC codes: what each means when the failure says nothing better."""

from __future__ import annotations

from lastword.core.taxonomy import ErrorType, Origin

NOT_FOUND = 404
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
}
"""Other 4xx are `invalid_request`, other 5xx `provider_unavailable`."""

_PEER = Origin.CLIENT

RPC_TYPES: dict[int, tuple[ErrorType, str | None, Origin | None]] = {
    -32700: (ErrorType.PROTOCOL_ERROR, "parse_error", _PEER),
    -32600: (ErrorType.PROTOCOL_ERROR, "invalid_frame", _PEER),
    -32601: (ErrorType.INVALID_REQUEST, "method_not_found", _PEER),
    -32602: (ErrorType.INVALID_REQUEST, "invalid_params", _PEER),
    -32000: (ErrorType.AUTH, "login_required", None),
    -32001: (ErrorType.INVALID_REQUEST, "resource_not_found", None),
    -32002: (ErrorType.INVALID_REQUEST, "resource_not_found", None),
}
"""JSON-RPC code -> type, reason, origin where it is not the type's own."""

VIBE_TYPES: dict[int, tuple[ErrorType, str | None, Origin | None]] = {
    -31001: (ErrorType.RATE_LIMIT, None, None),
    -31002: (ErrorType.INVALID_REQUEST, "agent_configuration", Origin.AGENT),
    -31003: (ErrorType.CONTEXT_OVERFLOW, "conversation_limit", Origin.AGENT),
    -31004: (ErrorType.CONTEXT_OVERFLOW, None, None),
    -31005: (ErrorType.CONTENT_FILTER, "refusal", None),
    -31006: (ErrorType.CONTEXT_OVERFLOW, "compaction_failed", Origin.AGENT),
    -31007: (ErrorType.INVALID_REQUEST, "image_invalid", _PEER),
    -31008: (ErrorType.INVALID_REQUEST, "image_unsupported", None),
}
"""mistral-vibe's own codes (its vibe/acp/exceptions.py); other agents may mean other things."""

RPC_INTERNAL = -32603
"""Says nothing: most agents send every failure with it."""

RPC_CANCELLED = -32800


def type_of_status(status: int) -> ErrorType:
    """The type an HTTP error status stands for."""
    named = STATUS_TYPES.get(status)
    if named is not None:
        return named
    server_side = status >= 500  # noqa: PLR2004 - RFC 9110: 5xx is the server's fault
    return ErrorType.PROVIDER_UNAVAILABLE if server_side else ErrorType.INVALID_REQUEST
