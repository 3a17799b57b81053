"""One prompt turn: an enum of states, and one total table of what each event does in each.

Owns which answer a turn gets, and that it gets one. Does not know frames, ids or clocks
(`core.link.connection` and its modules): it takes events and returns what to do.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING


class State(Enum):
    """Where a turn stands."""

    SENT = auto()
    """The prompt was sent to the agent, which has shown nothing yet."""
    RUNNING = auto()
    """The agent has shown progress."""
    CANCELLING = auto()
    """The user cancelled (or is gone); the agent has not answered yet."""
    STOPPING = auto()
    """We told the agent to stop (watchdog, stderr, runaway); it has not answered yet."""
    WAITING = auto()
    """It failed, and the agent no longer works on it: the prompt is sent again after a wait."""
    ENDED = auto()
    """Answered, and not with a failure."""
    FAILED = auto()
    """Answered with a failure."""

    # Members are singletons. Enum's own hash is a Python call, made twice for every event.
    if not TYPE_CHECKING:  # pragma: no branch
        __hash__ = object.__hash__


class Event(Enum):
    """What can happen to a turn."""

    UPDATE = auto()
    """The agent showed progress."""
    CANCEL = auto()
    """The user cancelled."""
    STOP = auto()
    """We give up on the turn for a reason other than time: stderr, a loop, a lost frame."""
    RESULT = auto()
    """The agent answered with a result that means what it says."""
    ERROR = auto()
    """The agent answered with an error, or with a result that hides one."""
    RETRY = auto()
    """It failed, by an answer or by the agent's end, and another try may help."""
    AGENT_LOST = auto()
    """The agent's process is gone, and no later one serves the turn."""
    CLIENT_LOST = auto()
    """The client closed its side."""
    TIMEOUT = auto()
    """A deadline of this state passed: the watchdog's, or the end of a grace period."""

    if not TYPE_CHECKING:  # pragma: no branch
        __hash__ = object.__hash__


class Move(Enum):
    """What to do about the event."""

    PASS = auto()
    """Let the frame through."""
    DROP = auto()
    """Hold the frame back, and record that."""
    IGNORE = auto()
    """Nothing: there is no frame and nothing to report."""
    CANCEL = auto()
    """Let the user's cancel through and give the agent a grace period."""
    STOP = auto()
    """Send our own cancel and give the agent a grace period."""
    WAIT = auto()
    """Announce another try, and begin the wait before it."""
    RESEND = auto()
    """Send the prompt again: the turn begins anew."""
    FINISH = auto()
    """Let the agent's answer through: it is the turn's answer."""
    CONFIRM = auto()
    """Answer `cancelled` in the agent's place."""
    FAIL = auto()
    """Answer with the typed failure."""


ANSWERS = frozenset({Move.FINISH, Move.CONFIRM, Move.FAIL})
"""The moves that answer a turn; they lead into a final state, and no move leads out of one."""

FINAL = frozenset({State.ENDED, State.FAILED})
AT_WORK = frozenset({State.SENT, State.RUNNING})
"""The agent works on the turn, and nobody has cancelled or stopped it."""

REPORTS_WAITS = AT_WORK | {State.WAITING}
"""The states in which the user may be shown what the agent, or lastword, waits for."""

_S, _E, _M = State, Event, Move

TABLE: dict[tuple[State, Event], tuple[State, Move]] = {
    (_S.SENT, _E.UPDATE): (_S.RUNNING, _M.PASS),
    (_S.SENT, _E.CANCEL): (_S.CANCELLING, _M.CANCEL),
    (_S.SENT, _E.STOP): (_S.STOPPING, _M.STOP),
    (_S.SENT, _E.RESULT): (_S.ENDED, _M.FINISH),
    (_S.SENT, _E.ERROR): (_S.FAILED, _M.FAIL),
    (_S.SENT, _E.RETRY): (_S.WAITING, _M.WAIT),
    (_S.SENT, _E.AGENT_LOST): (_S.FAILED, _M.FAIL),
    (_S.SENT, _E.CLIENT_LOST): (_S.CANCELLING, _M.IGNORE),
    (_S.SENT, _E.TIMEOUT): (_S.STOPPING, _M.STOP),
    # ---
    (_S.RUNNING, _E.UPDATE): (_S.RUNNING, _M.PASS),
    (_S.RUNNING, _E.CANCEL): (_S.CANCELLING, _M.CANCEL),
    (_S.RUNNING, _E.STOP): (_S.STOPPING, _M.STOP),
    (_S.RUNNING, _E.RESULT): (_S.ENDED, _M.FINISH),
    (_S.RUNNING, _E.ERROR): (_S.FAILED, _M.FAIL),
    (_S.RUNNING, _E.RETRY): (_S.WAITING, _M.WAIT),
    (_S.RUNNING, _E.AGENT_LOST): (_S.FAILED, _M.FAIL),
    (_S.RUNNING, _E.CLIENT_LOST): (_S.CANCELLING, _M.IGNORE),
    (_S.RUNNING, _E.TIMEOUT): (_S.STOPPING, _M.STOP),
    # The user's cancel is never answered with an error.
    (_S.CANCELLING, _E.UPDATE): (_S.CANCELLING, _M.PASS),
    (_S.CANCELLING, _E.CANCEL): (_S.CANCELLING, _M.PASS),
    (_S.CANCELLING, _E.STOP): (_S.CANCELLING, _M.IGNORE),
    (_S.CANCELLING, _E.RESULT): (_S.ENDED, _M.FINISH),
    (_S.CANCELLING, _E.ERROR): (_S.ENDED, _M.CONFIRM),
    (_S.CANCELLING, _E.RETRY): (_S.ENDED, _M.CONFIRM),
    (_S.CANCELLING, _E.AGENT_LOST): (_S.ENDED, _M.CONFIRM),
    (_S.CANCELLING, _E.CLIENT_LOST): (_S.CANCELLING, _M.IGNORE),
    (_S.CANCELLING, _E.TIMEOUT): (_S.ENDED, _M.CONFIRM),
    # Our own stop is a failure, even if the agent then answers `cancelled`, unless the user cancels
    # as well.
    (_S.STOPPING, _E.UPDATE): (_S.STOPPING, _M.PASS),
    (_S.STOPPING, _E.CANCEL): (_S.CANCELLING, _M.PASS),
    (_S.STOPPING, _E.STOP): (_S.STOPPING, _M.IGNORE),
    (_S.STOPPING, _E.RESULT): (_S.FAILED, _M.FAIL),
    (_S.STOPPING, _E.ERROR): (_S.FAILED, _M.FAIL),
    (_S.STOPPING, _E.RETRY): (_S.FAILED, _M.FAIL),
    (_S.STOPPING, _E.AGENT_LOST): (_S.FAILED, _M.FAIL),
    (_S.STOPPING, _E.CLIENT_LOST): (_S.STOPPING, _M.IGNORE),
    (_S.STOPPING, _E.TIMEOUT): (_S.FAILED, _M.FAIL),
    # The agent has answered, or is gone: no confirmation is expected, and another message about the
    # prompt is not a second answer. Without the wait, the turn fails.
    (_S.WAITING, _E.UPDATE): (_S.WAITING, _M.PASS),
    (_S.WAITING, _E.CANCEL): (_S.ENDED, _M.CONFIRM),
    (_S.WAITING, _E.STOP): (_S.FAILED, _M.FAIL),
    (_S.WAITING, _E.RESULT): (_S.WAITING, _M.DROP),
    (_S.WAITING, _E.ERROR): (_S.WAITING, _M.DROP),
    (_S.WAITING, _E.RETRY): (_S.WAITING, _M.DROP),
    (_S.WAITING, _E.AGENT_LOST): (_S.FAILED, _M.FAIL),
    (_S.WAITING, _E.CLIENT_LOST): (_S.ENDED, _M.CONFIRM),
    (_S.WAITING, _E.TIMEOUT): (_S.SENT, _M.RESEND),
    # Healthy agents still report usage and titles after their answer.
    (_S.ENDED, _E.UPDATE): (_S.ENDED, _M.PASS),
    (_S.ENDED, _E.CANCEL): (_S.ENDED, _M.PASS),
    (_S.ENDED, _E.STOP): (_S.ENDED, _M.IGNORE),
    (_S.ENDED, _E.RESULT): (_S.ENDED, _M.DROP),
    (_S.ENDED, _E.ERROR): (_S.ENDED, _M.DROP),
    (_S.ENDED, _E.RETRY): (_S.ENDED, _M.DROP),
    (_S.ENDED, _E.AGENT_LOST): (_S.ENDED, _M.IGNORE),
    (_S.ENDED, _E.CLIENT_LOST): (_S.ENDED, _M.IGNORE),
    (_S.ENDED, _E.TIMEOUT): (_S.ENDED, _M.IGNORE),
    # ---
    (_S.FAILED, _E.UPDATE): (_S.FAILED, _M.DROP),
    (_S.FAILED, _E.CANCEL): (_S.FAILED, _M.PASS),
    (_S.FAILED, _E.STOP): (_S.FAILED, _M.IGNORE),
    (_S.FAILED, _E.RESULT): (_S.FAILED, _M.DROP),
    (_S.FAILED, _E.ERROR): (_S.FAILED, _M.DROP),
    (_S.FAILED, _E.RETRY): (_S.FAILED, _M.DROP),
    (_S.FAILED, _E.AGENT_LOST): (_S.FAILED, _M.IGNORE),
    (_S.FAILED, _E.CLIENT_LOST): (_S.FAILED, _M.IGNORE),
    (_S.FAILED, _E.TIMEOUT): (_S.FAILED, _M.IGNORE),
}
