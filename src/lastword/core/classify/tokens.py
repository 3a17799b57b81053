"""Machine-readable words, names of exception classes, and codes: the type that each one means.

The words are in `data/words.txt`, which says how they are compared. `STRONG` words outrank the HTTP
status; `WEAK` ones are so often wrong or so broad that messages go first.
"""

from __future__ import annotations

from lastword.core.classify.data import read_tables
from lastword.core.classify.text import names, normalise
from lastword.core.failure.taxonomy import ErrorType, Origin
from lastword.core.protocol import acp
from lastword.quirks import agents

_TABLES = {heading: " ".join(rows) for heading, rows in read_tables("words")}


def _by_type(kind: str) -> dict[ErrorType, str]:
    return {
        ErrorType(heading.removeprefix(kind).strip()): block
        for heading, block in _TABLES.items()
        if heading.startswith(f"{kind} ")
    }


STRONG = {kind: names(block) for kind, block in _by_type("strong").items()}
WEAK = {kind: names(block) for kind, block in _by_type("weak").items()}
PARTS = {kind: tuple(block.split()) for kind, block in _by_type("part").items()}
GENERIC_CLASSES = names(_TABLES["generic"])
LISTED = GENERIC_CLASSES.union(*WEAK.values())
"""Words that have a meaning of their own, whatever they are made of: `extra_forbidden`."""

VAGUE = names(_TABLES["vague"])
LONG_INPUT = names(_TABLES["long_input"])
PASSING = VAGUE | names(_TABLES["passing"])
WINDOW_WORDS = {
    "perday": (ErrorType.BUDGET, "daily_quota"),
    "permonth": (ErrorType.BUDGET, "monthly_quota"),
    "perminute": (ErrorType.RATE_LIMIT, "per_minute"),
    "persecond": (ErrorType.RATE_LIMIT, "per_second"),
}
"""Parts of a quota's id (`GenerateRequestsPerDayPerProject...`) -> type and reason."""


def weak_type(word: str) -> ErrorType | None:
    """Return the type of a weak word that blames the request, else None."""
    for kind in (ErrorType.MODEL_NOT_FOUND, ErrorType.INVALID_REQUEST):
        if word in WEAK[kind]:
            return kind
    return None


# --- exception classes whose name alone says something: those of transports are in `transport` ----

CANCELLED = names(_TABLES["cancelled"])
PROCESS = {
    "clinotfound": ("spawn_failed", False),
    "process": ("exit_status", False),
    "calledprocess": ("exit_status", False),
    "cliconnection": ("connection_closed", False),
    "systemexit": ("exit_status", False),
    "brokenprocesspool": ("killed", True),
}
"""Normalised class name -> reason and whether a retry can help."""

MISUSE = names(_TABLES["misuse"])
BUILTINS = names(_TABLES["builtins"])
BUGS = names(_TABLES["bugs"])
OWN_BUGS = names(_TABLES["own_bugs"])
PROVIDER_PACKAGES = frozenset(_TABLES["provider_packages"].split())
BY_STATUS = {name: kind for kind, block in _by_type("by_status").items() for name in names(block)}

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
