"""Rows that a user adds to the classifier, tried before the built-in tables.

Owns the rows that are in use and their rule. Reading and checking the configuration file that they
come from is the shells' matter.
"""

from __future__ import annotations

import msgspec

from lastword.core.classify.evidence import Conclusion, Evidence
from lastword.core.classify.text import normalise, phrase_in
from lastword.core.failure.taxonomy import ErrorType  # noqa: TC001 - a struct's types, at runtime

KIND = "config"
"""The first part of the rule's name, before the row's own."""


class OwnRow(msgspec.Struct, frozen=True, kw_only=True):
    """One row.

    Attributes:
        name: the row's name, which the verdict's rule shows.
        type: what a failure that matches is.
        messages: parts of a message, as in `core.classify.messages`.
        words: machine-readable words in their reduced form, as in `core.classify.tokens`.
        unless: parts of a message that disable the row.
        retryable: `False` if no retry helps; `None` for what is usual for the type.
    """

    name: str
    type: ErrorType
    messages: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    unless: tuple[str, ...] = ()
    retryable: bool | None = None


_in_use: list[OwnRow] = []


def use(rows: tuple[OwnRow, ...]) -> None:
    """Use these rows in this process, in place of any earlier ones."""
    _in_use[:] = rows


def own_row(evidence: Evidence) -> Conclusion | None:
    """A row of the user's own."""
    for row in _in_use:
        if _match(row, evidence) is not None:
            return Conclusion(row.type, f"{KIND}:{row.name}", retryable=row.retryable)
    return None


def match_of(name: str, evidence: Evidence) -> str | None:
    """Return the word or the part of a message by which the row of this name matches."""
    matches = (_match(row, evidence) for row in _in_use if row.name == name)
    return next(matches, None)


def _match(row: OwnRow, evidence: Evidence) -> str | None:
    if phrase_in(evidence.folded, row.unless) is not None:
        return None
    if row.words:
        spoken = {*evidence.tokens, *evidence.words, *map(normalise, evidence.classes)}
        if hit := row.words & spoken:
            return min(hit)
    return phrase_in(evidence.folded, row.messages)
