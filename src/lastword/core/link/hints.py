"""Hints: what a source other than the answer says of a failed model call while its turn goes on.

A source is the pipe itself, stderr, or whatever else the shell reads: an agent's journal, its event
stream. Owns which turn a hint belongs to. `core.link.retries` reports it, once;
`core.link.evidence` decides what it means at the end of a turn. A hint never ends a turn.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import msgspec

from lastword.core.link.turn import AT_WORK, State

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.core.link.session import Turn
    from lastword.core.link.state import Link

LATE_SECONDS = 2.0
"""How long after a turn's end evidence of it may still arrive: agents log an error as they answer
(0.1 s), and a journal's lines are read once a second."""

OVERTAKEN_SECONDS = 0.5
"""A failure this long before the turn's last output was overcome. What is nearer may be what cut
the output off: that comes through pipes, and is seen after a line that was written later. An agent
that tries again shows nothing sooner: it waits 0.3 s or more, and the model needs its time."""

HEARD = AT_WORK | {State.STOPPING}
"""The states of a turn whose end a hint may still explain; who cancels gets `cancelled`."""


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
        at_seconds: when it happened or was seen, by the clock of `now`.
        session_id: the agent's id of the session, `None` if the source names none.
        attempt: the number of the next try; the first was 1.
        max_attempts: the most tries that there will be, if known.
        wait_seconds: how long the agent itself waits, counted from `at_seconds`.
        goes_on: whether the agent tries again; `None` if the source does not say.
        side: the call was not for the turn itself but, for example, for a title: it decides
            nothing.
    """

    source: HintSource
    verdict: Verdict
    at_seconds: float
    session_id: str | None = None
    attempt: int | None = None
    max_attempts: int | None = None
    wait_seconds: float | None = None
    goes_on: bool | None = None
    side: bool = False


class SilentTurn(msgspec.Struct, frozen=True):
    """A turn at work that has shown nothing for a while.

    Attributes:
        session_id: the agent's id of its session.
        began_at: when its prompt was sent.
        silent_since: when the agent last sent something in its session.
    """

    session_id: str
    began_at: float
    silent_since: float


def turn_of(link: Link, hint: Hint) -> Turn | None:
    """Return the turn that a hint belongs to: an open one that began before it and is stuck.

    A source that names no session counts only if just one turn can be meant.
    """
    if hint.session_id is None:
        found = _only_one(link, hint)
    else:
        session = link.sessions.get(hint.session_id)
        found = session.turns[-1] if session is not None and session.turns else None
    if found is None or found.state not in HEARD:
        return None
    since = max(found.started_at, found.evidence.output_at - OVERTAKEN_SECONDS)
    return found if hint.at_seconds >= since else None


def _only_one(link: Link, hint: Hint) -> Turn | None:
    """Return the only turn that a hint without a session can be about.

    Of several turns, it is the one whose answer shows nothing: the others are still at work.
    """
    turns = link.open_turns()
    if len(turns) > 1 and hint.goes_on is False:
        turns = [turn for turn in turns if turn.held is not None]
    if len(turns) != 1 or may_be_of_ended(link, turns[0], hint.at_seconds):
        return None
    return turns[0]


def may_be_of_ended(link: Link, turn: Turn, at_seconds: float) -> bool:
    """Return whether a hint from that time may be about another turn, open at the same time."""
    ended_at = link.turn_ended_at
    return turn.started_at < ended_at and at_seconds < ended_at + LATE_SECONDS


def is_of_several(link: Link) -> bool:
    """Return whether a hint given now, without a session, may be about more than one turn."""
    turns = link.open_turns()
    return len(turns) > 1 or any(may_be_of_ended(link, turn, link.now) for turn in turns)


def silent_turns(link: Link, seconds: float) -> list[SilentTurn]:
    """Return the turns at work that have shown nothing for this long."""
    return [
        SilentTurn(session.session_id, turn.started_at, session.progress_at)
        for session in link.sessions.values()
        for turn in session.turns
        if turn.state in HEARD and session.progress_at + seconds <= link.now
    ]
