"""Transport failures: exception classes, errno names and the sentences that transports write.

Used only if there was no HTTP status, except for certificate failures, which no status can excuse.
Every class of a cause chain counts. The rows and their order are in `data/transport.txt`.
"""

from __future__ import annotations

import msgspec

from lastword.core.classify.data import read_tables
from lastword.core.classify.text import names
from lastword.core.failure.taxonomy import ErrorType


class TransportRow(msgspec.Struct, frozen=True):
    """One kind of transport failure.

    `names` are class names and errno names; `phrases` are lower-case parts of messages.
    """

    type: ErrorType
    reason: str
    retryable: bool
    names: frozenset[str]
    phrases: tuple[str, ...]
    ascii_phrases: tuple[str, ...]

    def phrases_for(self, folded: str) -> tuple[str, ...]:
        """Return the phrases that a text may hold: most texts are plain ASCII."""
        return self.ascii_phrases if folded.isascii() else self.phrases


_TABLES = dict(read_tables("transport"))

SPOKEN = {
    heading.removesuffix(" spoken"): rows
    for heading, rows in _TABLES.items()
    if heading.endswith(" spoken")
}
"""Sentences of systems and transports in other languages than English, by their row's reason."""


def _row(heading: str, rows: tuple[str, ...]) -> TransportRow:
    reason, kind, retry = heading.split()
    phrases = (*_TABLES[f"{reason} phrases"], *SPOKEN.get(reason, ()))
    return TransportRow(
        type=ErrorType(kind),
        reason=reason,
        retryable=retry == "retryable",
        names=names(" ".join(rows)),
        phrases=phrases,
        ascii_phrases=tuple(filter(str.isascii, phrases)),
    )


CERTIFICATE, *_ROWS = (
    _row(heading, rows)
    for heading, rows in _TABLES.items()
    if heading.endswith((" retryable", " final"))
)
ROWS = tuple(_ROWS)

EXACT_MESSAGES = {
    "terminated": "connection_lost",
    "fetch failed": "connection_failed",
    "load failed": "connection_failed",
    "eof": "truncated_stream",
    "error: eof": "truncated_stream",
}
"""Whole messages that mean a lost connection, and that would be too common as parts."""
