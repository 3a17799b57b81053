"""Sentences of providers, gateways, clouds and agents, in English and in other languages.

The rows are in `protocol/failures/messages.json`. `STRONG` sentences take precedence
over the HTTP status, `UNLESS` names what disables a type's, and `WEAK` and `MENTIONED` count only
if nothing else is left.
"""

from __future__ import annotations

from lastword.core.classify.text import phrase_in, without_advice
from lastword.core.classify.tokens import by_type
from lastword.core.failure.taxonomy import ErrorType
from lastword.quirks import failure_groups

_GROUPS = failure_groups("messages")

STRONG = by_type(_GROUPS, "strong")
WEAK = by_type(_GROUPS, "weak")
MENTIONED = by_type(_GROUPS, "mentioned")
SPOKEN = by_type(_GROUPS, "spoken")
UNLESS = {ErrorType(group.name): group.matches for group in _GROUPS if group.tier == "unless"}
_BY_TIER = {group.tier: group.matches for group in _GROUPS}
QUOTA = _BY_TIER["quota"]
PER_MINUTE = _BY_TIER["per_minute"]
PER_DAY = _BY_TIER["per_day"]
CLIENT_BLAMED = _BY_TIER["client_blamed"]
TOOL_SERVERS = _BY_TIER["tool_servers"]
PROVIDERS_PROCESS = _BY_TIER["providers_process"]
FAILED = _BY_TIER["failed"]
PROTOCOL_VERSION = _BY_TIER["protocol_version"]
OTHER_PROTOCOLS = _BY_TIER["other_protocols"]
HOPELESS: frozenset[str] = frozenset(
    row["match"]
    for group in _GROUPS
    if group.tier == "strong" and group.retryable
    for row in group.rows
    if isinstance(row, dict) and row.get("retryable") is False
)
"""Rows of a retryable type that no retry helps."""

REASONS = [(group.type, group.reason, group.matches) for group in _GROUPS if group.tier == "reason"]
"""The type, the reason and its signs."""

SOURCES = {group.name: group.matches for group in _GROUPS if group.tier == "source"}
_SPOKEN_ASCII = {kind: tuple(filter(str.isascii, parts)) for kind, parts in SPOKEN.items()}


def spoken_in(folded: str, kind: ErrorType) -> str | None:
    """Return the sentence in another language than English that names a type, if there is one."""
    table = _SPOKEN_ASCII if folded.isascii() else SPOKEN
    return phrase_in(without_advice(folded), table.get(kind, ()))
