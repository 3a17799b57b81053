"""Redaction of what is recorded, in the one place that every row passes.

Owns the ids and names that other parties chose: an agent may put a key into the id of a tool call
as well as into a text. The core leaves them unchanged, because a turn would wait for the patterns
to be compiled; the recorder may take its time. `core.redact.redactor` knows what a secret looks
like.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.redact.redactor import Redactor

if TYPE_CHECKING:
    from lastword.record.run import Row


class Scrub:
    """Removes secrets from rows. The ids that agents and clients really use stay as they are.

    Args:
        secrets: exact values that are known to be secret, whatever they look like.
    """

    __slots__ = ("_redact",)

    def __init__(self, secrets: tuple[str, ...] = ()) -> None:
        # Most texts are the same from row to row: ids, words of ours.
        self._redact = lru_cache(1024)(Redactor(secrets))

    def __call__(self, row: Row) -> Row:
        """Return the row without secrets."""
        return msgspec.structs.replace(
            row,
            session_id=self._value(row.session_id),
            request_id=self._value(row.request_id),
            facts=self._value(row.facts),
            content=self._value(row.content),
        )

    def _value(self, value: Any) -> Any:
        # The names of facts are ours, and some of them are the names of redaction rules.
        if isinstance(value, str):
            return self._redact(value)
        if isinstance(value, dict):
            return {name: self._value(inner) for name, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self._value(inner) for inner in value]
        return value
