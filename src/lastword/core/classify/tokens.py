"""Machine-readable words, names of exception classes, and codes: the type that each one means.

The words are in `protocol/failures/words.json`. `STRONG` words outrank the HTTP
status; `WEAK` ones are so often wrong or so broad that messages go first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from lastword.core.classify.text import names, normalise
from lastword.core.failure.taxonomy import ErrorType, Origin
from lastword.quirks import failure_groups

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lastword.quirks import FailureGroup

_GROUPS = failure_groups("words")


def by_type(groups: Iterable[FailureGroup], tier: str) -> dict[ErrorType, tuple[str, ...]]:
    """Return what the groups of a tier match, by the type that they mean."""
    return {ErrorType(group.type): group.matches for group in groups if group.tier == tier}


_BY_TIER = {group.tier: group for group in _GROUPS}
STRONG = {kind: names(words) for kind, words in by_type(_GROUPS, "strong").items()}
WEAK = {kind: names(words) for kind, words in by_type(_GROUPS, "weak").items()}
PARTS = by_type(_GROUPS, "part")
GENERIC_CLASSES = names(_BY_TIER["generic"].matches)
LISTED = GENERIC_CLASSES.union(*WEAK.values())
"""Words that have their own meaning, whatever they are made of: `extra_forbidden`."""

VAGUE = names(_BY_TIER["vague"].matches)
LONG_INPUT = names(_BY_TIER["long_input"].matches)
PASSING = VAGUE | names(_BY_TIER["passing"].matches)
WINDOW_WORDS = {
    row["match"]: (ErrorType(row["type"]), row["reason"]) for row in _BY_TIER["window"].rows
}
"""Parts of a quota's id (`GenerateRequestsPerDayPerProject...`) -> type and reason."""


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
BY_STATUS = {
    name: kind for kind, words in by_type(_GROUPS, "by_status").items() for name in names(words)
}

_BUILTIN_MODULES = frozenset({"builtins", "", "asyncio.queues", "java.lang"})


def is_builtin(module: str, name: str) -> bool:
    """Return whether a class is one of a language's own errors."""
    return module in _BUILTIN_MODULES and normalise(name) in BUILTINS


# --- HTTP statuses and JSON-RPC codes: what each means when the failure says nothing better -------

NOT_FOUND = 404
PAYMENT_REQUIRED = 402
DECISIVE = frozenset({400, 401, 402, 403, 404, 422})
"""Statuses that outrank a word that only says that something broke."""

REQUEST_BLAMED = frozenset({400, 413, 422})
REQUEST_TIMEOUT = 408
TOO_MANY_REQUESTS = 429

_CODES = failure_groups("codes")
_AGENTS = [group for group in failure_groups("endings") if group.agent]

STATUS_TYPES = {
    row["match"]: ErrorType(row["type"])
    for group in _CODES
    if group.tier == "status"
    for row in group.rows
}
"""By status, and for all others of a class by `4xx` and `5xx`."""

_RpcTypes: TypeAlias = dict[int, tuple[ErrorType, str | None, Origin | None]]


_RPC: dict[str, _RpcTypes] = {
    group.agent: {
        row["match"]: (
            ErrorType(row["type"]),
            row.get("reason"),
            Origin(row["origin"]) if "origin" in row else None,
        )
        for row in group.rows
    }
    for group in _CODES
    if group.tier == "rpc"
}
RPC_TYPES = _RPC[""]
"""JSON-RPC code -> type, reason, origin where it is not the type's own."""

AGENT_RPC_TYPES = {agent: types for agent, types in _RPC.items() if agent}
"""The codes of single agents, by the agent's key; other agents may mean other things by them."""

AGENT_WORDS = {
    normalise(word): (group.agent, ErrorType(group.type), group.reason)
    for group in _AGENTS
    if group.tier == "word"
    for word in group.matches
}
"""Names that one agent gives its failures -> the agent's key, type and reason."""

AGENT_SENTENCES = {
    tuple(parts): (group.agent, ErrorType(group.type), group.reason)
    for group in _AGENTS
    if group.tier == "sentence"
    for parts in group.matches
}
"""The same for sentences: the text must contain all of these parts."""


def type_of_status(status: int) -> ErrorType:
    """Return the type that an HTTP error status stands for."""
    of_class = "5xx" if status >= 500 else "4xx"  # noqa: PLR2004 - RFC 9110
    return STATUS_TYPES.get(status) or STATUS_TYPES[of_class]
