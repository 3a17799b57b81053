"""Hints: what a source other than the answer says of a failed model call while its turn goes on.

A source is the pipe itself, stderr, or whatever else the shell reads: an agent's journal, its event
stream. Owns which turn a hint belongs to. `core.link.retries.reporting` reports it, once;
`core.link.decision` decides what it means at the end of a turn. A hint never ends a turn.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.core.failure.attribution import Attribution

LATE_SECONDS = 2.0
"""How long after a turn's end evidence of it may still arrive: agents log an error as they answer
(0.1 s), and a journal's lines are read once a second."""

OVERTAKEN_SECONDS = 0.3
"""A failure this long before the turn's last output was overcome. What is nearer may be what cut
the output off: that comes through pipes, and is seen after a line that was written later. An agent
that tries again shows nothing sooner: it waits 0.3 s or more, and the model needs its time."""


TOOL_TAIL_SECONDS = 0.2
"""How long after a tool call's end its output may still be read: it came through another pipe."""


class HintSource(IntEnum):
    """Where a hint comes from; more precise sources are greater."""

    STDERR = 1
    """What the agent wrote on stderr: whose failure it is, is not certain."""
    LOG = 2
    """A file of the agent's whose format nobody has told us, read by the form of its lines."""
    WIRE = 3
    """The agent's own frames: a retry that it announced, or one that was asked for."""
    EVENTS = 4
    """A stream of events that the agent serves."""
    JOURNAL = 5
    """A file that the agent writes: it has the provider's own words."""


class Hint(msgspec.Struct, frozen=True, kw_only=True):
    """One failed model call of an open turn, as a source reports it.

    Attributes:
        source: where it was seen.
        verdict: why the call failed.
        attribution: how certain it is that the call was this turn's.
        at_seconds: when it happened or was seen, by the clock of `now`.
        session_id: the agent's id of the session, `None` if the source names none.
        attempt: the number of the next try; the first was 1.
        max_attempts: the most tries that there will be, if known.
        wait_seconds: how long the agent itself waits, counted from `at_seconds`.
        goes_on: whether the agent tries again; `None` if the source does not say.
        may_go_on: whether it was written as a warning, or about a call that is tried again, so that
            the agent may have got over it.
        side: the call was not for the turn itself but, for example, for a title: it has no effect.
    """

    source: HintSource
    verdict: Verdict
    attribution: Attribution
    at_seconds: float
    session_id: str | None = None
    attempt: int | None = None
    max_attempts: int | None = None
    wait_seconds: float | None = None
    goes_on: bool | None = None
    may_go_on: bool = False
    side: bool = False


class SilentTurn(msgspec.Struct, frozen=True):
    """A turn at work that has shown nothing for a while.

    Attributes:
        session_id: the agent's id of its session.
        began_at: when its prompt was sent.
        silent_since: when the agent last sent something in its session.
        answered: whether the agent has answered, and the answer waits for a look alone.
        unread: whether stderr has had what may be an error since the model last answered.
    """

    session_id: str
    began_at: float
    silent_since: float
    answered: bool = False
    unread: bool = False
