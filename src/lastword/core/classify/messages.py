"""Sentences of providers, gateways, clouds and agents, in English and in other languages.

The tables are in `data/messages.txt`, which says what a row is. `STRONG` sentences take precedence
over the HTTP status, `UNLESS` names what disables a type's, and `WEAK` and `MENTIONED` count only
if nothing else is left.
"""

from __future__ import annotations

from lastword.core.classify.data import read_tables
from lastword.core.classify.text import phrase_in, without_advice
from lastword.core.failure.taxonomy import ErrorType

_TABLES = dict(read_tables("messages"))


def _by(kind: str) -> dict[str, tuple[str, ...]]:
    """Return the tables of one kind, by what follows it in their headings."""
    start = f"{kind} "
    return {
        heading.removeprefix(start): rows
        for heading, rows in _TABLES.items()
        if heading.startswith(start)
    }


def _by_type(kind: str) -> dict[ErrorType, tuple[str, ...]]:
    return {ErrorType(name): rows for name, rows in _by(kind).items()}


STRONG = _by_type("strong")
UNLESS = _by_type("unless")
WEAK = _by_type("weak")
MENTIONED = _by_type("mentioned")
SPOKEN = _by_type("spoken")
QUOTA = _TABLES["quota"]
PER_MINUTE = _TABLES["per_minute"]
PER_DAY = _TABLES["per_day"]
CLIENT_BLAMED = _TABLES["client_blamed"]
HOPELESS = frozenset(_TABLES["hopeless"])
TOOL_SERVERS = _TABLES["tool_servers"]
PROVIDERS_PROCESS = _TABLES["providers_process"]
FAILED = _TABLES["failed"]
PROTOCOL_VERSION = _TABLES["protocol_version"]
OTHER_PROTOCOLS = _TABLES["other_protocols"]
REASONS = _by("reason")
"""Signs of a reason, by `TYPE REASON`."""

SOURCES = _by("source")
_SPOKEN_ASCII = {kind: tuple(filter(str.isascii, parts)) for kind, parts in SPOKEN.items()}


def spoken_in(folded: str, kind: ErrorType) -> str | None:
    """Return the sentence in another language than English that names a type, if there is one."""
    table = _SPOKEN_ASCII if folded.isascii() else SPOKEN
    return phrase_in(without_advice(folded), table.get(kind, ()))
