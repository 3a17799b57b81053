"""Machine-readable words, names of exception classes, and codes: the type that each one means.

The words are in `protocol/failures/words.json`. `STRONG` words outrank the HTTP
status; `WEAK` ones are so often wrong or so broad that messages go first.
"""

from __future__ import annotations

from lastword.core.classify.text import names, normalise
from lastword.core.failure.taxonomy import ErrorType, Origin
from lastword.core.protocol import acp
from lastword.quirks import agents, failure_groups

_GROUPS = failure_groups("words")


def _by_type(tier: str) -> dict[ErrorType, tuple[str, ...]]:
    return {ErrorType(group.type): group.matches for group in _GROUPS if group.tier == tier}


_BY_TIER = {group.tier: group for group in _GROUPS}
STRONG = {kind: names(words) for kind, words in _by_type("strong").items()}
WEAK = {kind: names(words) for kind, words in _by_type("weak").items()}
PARTS = _by_type("part")
GENERIC_CLASSES = names(_BY_TIER["generic"].matches)
LISTED = GENERIC_CLASSES.union(*WEAK.values())
"""Words that have a meaning of their own, whatever they are made of: `extra_forbidden`."""

VAGUE = names(_BY_TIER["vague"].matches)
LONG_INPUT = names(_BY_TIER["long_input"].matches)
PASSING = VAGUE | names(_BY_TIER["passing"].matches)
WINDOW_WORDS = {
    row["match"]: (ErrorType(row["type"]), row["reason"]) for row in _BY_TIER["window"].rows
}
"""Parts of a quota's id (`GenerateRequestsPerDayPerProject...`) -> type and reason."""


def weak_type(word: str) -> ErrorType | None:
    """Return the type of a weak word that blames the request, else None."""
    for kind in (ErrorType.MODEL_NOT_FOUND, ErrorType.INVALID_REQUEST):
        if word in WEAK[kind]:
            return kind
    return None


# --- exception classes whose name alone says something: those of transports are in `transport` ----

CANCELLED = names(_BY_TIER["cancelled"].matches)
PROCESS = {
    normalise(row["match"]): (row["reason"], row["retryable"]) for row in _BY_TIER["process"].rows
}
"""Normalised class name -> reason and whether a retry can help."""

MISUSE = names(_BY_TIER["misuse"].matches)
BUILTINS = names(_BY_TIER["builtins"].matches)
BUGS = names(_BY_TIER["bugs"].matches)
OWN_BUGS = names(_BY_TIER["own_bugs"].matches)
PROVIDER_PACKAGES = frozenset(_BY_TIER["provider_packages"].matches)
BY_STATUS = {name: kind for kind, words in _by_type("by_status").items() for name in names(words)}

_BUILTIN_MODULES = frozenset({"builtins", "", "asyncio.queues", "java.lang"})


def is_builtin(module: str, name: str) -> bool:
    """Return whether a class is one of a language's own errors."""
    return module in _BUILTIN_MODULES and normalise(name) in BUILTINS


# --- HTTP statuses and JSON-RPC codes: what each means when the failure says nothing better -------

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
        for code, (kind, reason, origin) in row.codes
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
    for parts, (kind, reason) in row.sentences
}
"""The same by parts of a sentence, all of which the text must contain."""


def type_of_status(status: int) -> ErrorType:
    """Return the type that an HTTP error status stands for."""
    named = STATUS_TYPES.get(status)
    if named is not None:
        return named
    server_side = status >= 500  # noqa: PLR2004 - RFC 9110: 5xx is the server's fault
    return ErrorType.PROVIDER_UNAVAILABLE if server_side else ErrorType.INVALID_REQUEST
