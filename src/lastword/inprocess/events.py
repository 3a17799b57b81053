"""The timeline as log records, one an entry, for whoever already collects logs.

Owns the logger `lastword.timeline` and the names of its records' fields. What an author is told to
mend is said by `inprocess.mistakes`, on `lastword`.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from lastword.core.timeline import Level

if TYPE_CHECKING:
    from lastword.core.timeline import Entry

logger = logging.getLogger("lastword.timeline")
# Where no logging is set up, Python itself would write the warnings among them to stderr.
logger.addHandler(logging.NullHandler())

PREFIX = "lastword_"
"""What every field's name begins with, so that none is one of a log record's own."""

_LEVELS = {
    Level.DEBUG: logging.DEBUG,
    Level.INFO: logging.INFO,
    Level.WARNING: logging.WARNING,
    Level.ERROR: logging.ERROR,
}
_NAMED = ("type", "reason", "tool", "stop_reason", "by")


def tell(entry: Entry) -> None:
    """Log an entry at its level; where nobody listens this is one look into a cache."""
    level = _LEVELS[entry.level]
    if not logger.isEnabledFor(level):
        return
    words = [str(entry.facts[name]) for name in _NAMED if entry.facts.get(name) is not None]
    said = f"{entry.kind.value}: {', '.join(words)}" if words else entry.kind.value
    extra = fields(entry)
    # The first argument stays one of three: collectors of logs put together what it makes equal.
    if entry.session_id is None:
        logger.log(level, "%s", said, extra=extra)
    elif entry.turn is None:
        logger.log(level, "session %s: %s", entry.session_id, said, extra=extra)
    else:
        logger.log(level, "session %s turn %s: %s", entry.session_id, entry.turn, said, extra=extra)


def fields(entry: Entry) -> dict[str, Any]:
    """The record's fields beside its message: the entry's facts, and where it belongs."""
    found = {f"{PREFIX}{name}": value for name, value in entry.facts.items()}
    return found | {
        f"{PREFIX}kind": entry.kind.value,
        f"{PREFIX}at_seconds": entry.at_seconds,
        f"{PREFIX}session_id": entry.session_id,
        f"{PREFIX}turn": entry.turn,
        f"{PREFIX}request_id": entry.request_id,
    }
