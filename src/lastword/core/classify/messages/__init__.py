"""Sentences that take precedence over the HTTP status, whichever provider wrote them.

Providers report an empty account as 400, 401, 402, 403, 422 and 429, so the status alone is often
wrong. A row is a lower-case part of a message; ` .. ` in it stands for up to 100 characters of
anything. To teach the classifier a new sentence, add the part that no other failure shares.
`UNLESS` names what disables a type's sentences.
"""

from __future__ import annotations

from lastword.core.classify.messages.auth import AUTH
from lastword.core.classify.messages.budget import BUDGET, PER_DAY, PER_MINUTE, QUOTA
from lastword.core.classify.messages.content_filter import CONTENT_FILTER
from lastword.core.classify.messages.context_overflow import CONTEXT_OVERFLOW
from lastword.core.classify.messages.languages import SPOKEN
from lastword.core.classify.messages.model_not_found import MODEL_NOT_FOUND
from lastword.core.classify.messages.service import (
    FAILED,
    NETWORK,
    OTHER_PROTOCOLS,
    PROTOCOL_VERSION,
    PROVIDER_UNAVAILABLE,
    PROVIDERS_PROCESS,
    RATE_LIMIT,
    TIMEOUT,
    TOOL_SERVERS,
)
from lastword.core.classify.text import phrase_in, rows, without_advice
from lastword.core.failure.taxonomy import ErrorType

__all__ = [
    "CLIENT_BLAMED",
    "FAILED",
    "HOPELESS",
    "OTHER_PROTOCOLS",
    "PER_DAY",
    "PER_MINUTE",
    "PROTOCOL_VERSION",
    "PROVIDERS_PROCESS",
    "QUOTA",
    "SPOKEN",
    "STRONG",
    "TOOL_SERVERS",
    "UNLESS",
    "spoken_in",
]

STRONG = {
    ErrorType.CONTEXT_OVERFLOW: CONTEXT_OVERFLOW,
    ErrorType.CONTENT_FILTER: CONTENT_FILTER,
    ErrorType.BUDGET: BUDGET,
    ErrorType.MODEL_NOT_FOUND: MODEL_NOT_FOUND,
    ErrorType.AUTH: AUTH,
    ErrorType.NETWORK: NETWORK,
    ErrorType.PROVIDER_UNAVAILABLE: PROVIDER_UNAVAILABLE,
    ErrorType.RATE_LIMIT: RATE_LIMIT,
    ErrorType.TIMEOUT: TIMEOUT,
}

UNLESS = {
    ErrorType.CONTEXT_OVERFLOW: rows("""
        length of max output tokens
        时间过长
        時間過長
    """),
    ErrorType.CONTENT_FILTER: rows("""
        fair usage
        access to this site
        this website
        fair use
    """),
    ErrorType.BUDGET: rows("""
        in-flight
        increase your rate limit by
        not your usage limit
        allocated quota exceeded,
    """),
    ErrorType.MODEL_NOT_FOUND: rows("""
        currently
        temporarily
        at the moment
        right now
        loading
        capacity
        overloaded
        try again later
        with this model
        by this model
        in your region
        in your country
        所在地区
        当前地区
        的位置
        región
        ubicación
        parameter
        tool_choice
    """),
}

CLIENT_BLAMED = rows("""
    [json.exception.parse_error
    llm provider not provided
    update to the latest version
    upgrade to the latest version
    update to the newest version
    client is too old
    client version is too old
    version is no longer supported
    please update your client
    please update the app
""")
"""Failures that the client itself caused, whatever the service calls them."""

HOPELESS = frozenset({"requires more system memory", "memory .. would exceed"})
"""Rows of a retryable type that no retry helps."""

_SPOKEN_ASCII = {kind: tuple(filter(str.isascii, parts)) for kind, parts in SPOKEN.items()}


def spoken_in(folded: str, kind: ErrorType) -> str | None:
    """Return the sentence in another language than English that names a type, if there is one."""
    table = _SPOKEN_ASCII if folded.isascii() else SPOKEN
    return phrase_in(without_advice(folded), table.get(kind, ()))
