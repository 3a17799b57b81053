"""HTTP statuses and JSON-RPC codes: what each means when the failure says nothing better."""

from __future__ import annotations

from lastword.core.taxonomy import ErrorType

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

RPC_TYPES = {
    -32700: (ErrorType.PROTOCOL_ERROR, "parse_error"),
    -32600: (ErrorType.PROTOCOL_ERROR, "invalid_frame"),
    -32601: (ErrorType.INVALID_REQUEST, "method_not_found"),
    -32602: (ErrorType.INVALID_REQUEST, "invalid_params"),
    -32000: (ErrorType.AUTH, "login_required"),
    -32001: (ErrorType.INVALID_REQUEST, "resource_not_found"),
    -32002: (ErrorType.INVALID_REQUEST, "resource_not_found"),
    # Mistral's vibe, vibe/acp/exceptions.py
    -31001: (ErrorType.RATE_LIMIT, None),
    -31002: (ErrorType.INVALID_REQUEST, "agent_configuration"),
    -31003: (ErrorType.CONTEXT_OVERFLOW, "conversation_limit"),
    -31004: (ErrorType.CONTEXT_OVERFLOW, None),
    -31005: (ErrorType.CONTENT_FILTER, "refusal"),
    -31006: (ErrorType.CONTEXT_OVERFLOW, "compaction_failed"),
    -31007: (ErrorType.INVALID_REQUEST, "image_invalid"),
    -31008: (ErrorType.INVALID_REQUEST, "image_unsupported"),
}
"""JSON-RPC code -> type and reason. -32603 says nothing."""

RPC_CANCELLED = -32800


def type_of_status(status: int) -> ErrorType:
    """The type an HTTP error status stands for."""
    named = STATUS_TYPES.get(status)
    if named is not None:
        return named
    server_side = status >= 500  # noqa: PLR2004 - RFC 9110: 5xx is the server's fault
    return ErrorType.PROVIDER_UNAVAILABLE if server_side else ErrorType.INVALID_REQUEST
