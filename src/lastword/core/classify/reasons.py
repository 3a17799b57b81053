"""The reason: a further word about a failure, from an open but small set, for statistics and text.

Set only if the rule that decided did not name one. The first row whose sign occurs counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.core.failure.taxonomy import ErrorType

if TYPE_CHECKING:
    from lastword.core.classify.evidence import Evidence

UNREADABLE = "not_http"
"""The reason where the provider's answer could not be read, or had nothing in it.

What an agent's words call so is the provider's: a message of the agent's own that cannot be read
has no words.
"""

_WINDOWS = (
    *("usage limit", "session limit", "weekly", "monthly", "5-hour", "hit your limit"),
    *(
        "quota reached",
        "quota limit reached",
        "\u4f7f\u7528\u4e0a\u9650",
        "\u9650\u989d\u5c06",
        "\u989d\u5ea6\u5c06",
    ),
)
_SIGNS: dict[ErrorType, tuple[tuple[str, tuple[str, ...]], ...]] = {
    ErrorType.RATE_LIMIT: (
        ("tokens_per_minute", ("tokens per min", "(tpm)", "token rate limit", "too many tokens")),
        ("requests_per_minute", ("requests per min", "(rpm)", "max rpm", "request rate")),
        ("concurrency", ("concurren", "parallel", "in-flight")),
    ),
    ErrorType.BUDGET: (
        ("daily_quota", ("per day", "per-day", "daily", "(tpd)", "(rpd)", "limit_rpd")),
        ("usage_window", _WINDOWS),
        ("spend_cap", ("spend", "budget", "hard limit")),
        ("credits", ("credit", "balance", "recharge", "arrears", "billing", "payment")),
    ),
    ErrorType.AUTH: (
        ("login_required", ("authentication required", "/login", "log in", "login", "sign in")),
        ("expired", ("expired",)),
        ("region", ("location", "country", "region")),
        ("blocked", ("blocked", "just a moment", "attention required")),
        ("forbidden", ("permission", "forbidden", "access", "not authorized", "scope")),
    ),
    ErrorType.NETWORK: (
        ("truncated_stream", ("complete message body", "incomplete chunked", "cut off")),
    ),
    ErrorType.PROVIDER_UNAVAILABLE: (
        ("overloaded", ("overload", "capacity", "busy", "high demand", "high traffic")),
        ("model_loading", ("loading", "not ready")),
        ("oom", ("system memory", "out of memory")),
        ("gateway", ("bad gateway", "upstream")),
    ),
}


def read_reason(kind: ErrorType, evidence: Evidence) -> str | None:
    """Return a reason for a failure of this type, if its text shows one."""
    for reason, signs in _SIGNS.get(kind, ()):
        if any(sign in evidence.folded for sign in signs):
            return reason
    return UNREADABLE if kind is ErrorType.PROTOCOL_ERROR else None
