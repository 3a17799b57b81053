"""Attribution: how certain it is that evidence of a failure is about the model call of this turn.

Owns the levels and, in one table, what evidence of each may do. The level of a line of text is
found by `core.classify.writers`; a source that knows its author by other means says so itself
(`core.link.retries.hints`). `core.link.evidence` and `core.link.decision` follow the table.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Attribution(IntEnum):
    """How it is known whose failure some evidence is about; greater is more certain."""

    FOREIGN = 0
    """Another program, process, session or turn: a package manager, an MCP server, a title."""
    WEAK = 1
    """The words of a failure, and nothing that says whose it is."""
    STRONG = 2
    """The form of a failed model call, written by this agent's process while no tool ran."""
    PROVEN = 3
    """It names this session, or this process, or came in a frame of the protocol."""


class Effect(NamedTuple):
    """What evidence of one level may do.

    Attributes:
        reports: It is reported while the turn is open.
        at_once: It is reported without waiting for a second sign.
        names_cause: It gives a failed turn its type, and whether a retry can help.
        contradicts_success: Together with a sign of another kind, it makes a turn that claims
            success a failure.
        is_quoted: Where nothing better is known, the failed turn's details quote it.
    """

    reports: bool = False
    at_once: bool = False
    names_cause: bool = False
    contradicts_success: bool = False
    is_quoted: bool = False


EFFECTS: dict[Attribution, Effect] = {
    Attribution.FOREIGN: Effect(),
    Attribution.WEAK: Effect(is_quoted=True),
    Attribution.STRONG: Effect(
        reports=True, names_cause=True, contradicts_success=True, is_quoted=True
    ),
    Attribution.PROVEN: Effect(
        reports=True, at_once=True, names_cause=True, contradicts_success=True, is_quoted=True
    ),
}
"""The one table; `protocol/` has a requirement for each of its rows."""
