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
    """The prompt went to the agent; nothing came back yet."""
    RUNNING = auto()
    """The agent has shown progress."""
    CANCELLING = auto()
    """The user cancelled (or is gone); the agent has not answered yet."""
    STOPPING = auto()
    """We told the agent to stop (watchdog, stderr, runaway); it has not answered yet."""
    WAITING = auto()
    """It failed, and the agent is done with it: the prompt is sent again after a wait."""
    ENDED = auto()
    """Answered, and not with a failure."""
    FAILED = auto()
    """Answered with a failure."""

    # Members are singletons; Enum's own hash is a Python call, made twice for each event.
    if not TYPE_CHECKING:  # pragma: no branch
        __hash__ = object.__hash__


class Event(Enum):
    """What can happen to a turn."""

    UPDATE = auto()
    """The agent showed progress."""
    CANCEL = auto()
    """The user cancelled."""
    STOP = auto()
    """We give up on the turn for a reason other than time: stderr, runaway, a lost frame."""
    RESULT = auto()
    """The agent answered with a result that means what it says."""
    ERROR = auto()
    """The agent answered with an error, or with a result that hides one."""
    RETRY = auto()
    """It failed, by an answer or by the agent's end, in a way that is worth another try."""
    AGENT_LOST = auto()
    """The agent's process is gone, and nothing that follows it serves the turn."""
    CLIENT_LOST = auto()
    """The client closed its side."""
    TIMEOUT = auto()
    """A deadline of this state passed: the watchdog's, or the grace after a cancel or stop."""

    if not TYPE_CHECKING:  # pragma: no branch
        __hash__ = object.__hash__


class Move(Enum):
    """What to do about the event."""

    PASS = auto()
    """Let the frame through."""
    DROP = auto()
    """Keep the frame back, and record it."""
    IGNORE = auto()
    """Nothing: there is no frame, and nothing to say."""
    CANCEL = auto()
    """Let the user's cancel through and give the agent its grace."""
    STOP = auto()
    """Send our own cancel and give the agent its grace."""
    WAIT = auto()
    """Say that the prompt will be tried again, and let the wait begin."""
    RESEND = auto()
    """Send the prompt again: the turn begins anew."""
    FINISH = auto()
    """Let the agent's answer through: it is the turn's answer."""
    CONFIRM = auto()
    """Answer `cancelled` in the agent's place."""
    FAIL = auto()
    """Answer with the typed failure."""


ANSWERS = frozenset({Move.FINISH, Move.CONFIRM, Move.FAIL})
"""The moves by which a turn is answered; each leads into a final state, and none leads out."""

FINAL = frozenset({State.ENDED, State.FAILED})
AT_WORK = frozenset({State.SENT, State.RUNNING})
"""Neither answered nor told to stop: the other open states have a grace that runs already."""

REPORTS_WAITS = AT_WORK | {State.WAITING}
"""In these the user may be shown what is waited for: by the agent, or by us."""

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
    # The user's cancel is never answered with an error, whatever comes of it.
    (_S.CANCELLING, _E.UPDATE): (_S.CANCELLING, _M.PASS),
    (_S.CANCELLING, _E.CANCEL): (_S.CANCELLING, _M.PASS),
    (_S.CANCELLING, _E.STOP): (_S.CANCELLING, _M.IGNORE),
    (_S.CANCELLING, _E.RESULT): (_S.ENDED, _M.FINISH),
    (_S.CANCELLING, _E.ERROR): (_S.ENDED, _M.CONFIRM),
    (_S.CANCELLING, _E.RETRY): (_S.ENDED, _M.CONFIRM),
    (_S.CANCELLING, _E.AGENT_LOST): (_S.ENDED, _M.CONFIRM),
    (_S.CANCELLING, _E.CLIENT_LOST): (_S.CANCELLING, _M.IGNORE),
    (_S.CANCELLING, _E.TIMEOUT): (_S.ENDED, _M.CONFIRM),
    # Our own stop is a failure, even if the agent then says `cancelled`; but a user who cancels now
    # has cancelled.
    (_S.STOPPING, _E.UPDATE): (_S.STOPPING, _M.PASS),
    (_S.STOPPING, _E.CANCEL): (_S.CANCELLING, _M.PASS),
    (_S.STOPPING, _E.STOP): (_S.STOPPING, _M.IGNORE),
    (_S.STOPPING, _E.RESULT): (_S.FAILED, _M.FAIL),
    (_S.STOPPING, _E.ERROR): (_S.FAILED, _M.FAIL),
    (_S.STOPPING, _E.RETRY): (_S.FAILED, _M.FAIL),
    (_S.STOPPING, _E.AGENT_LOST): (_S.FAILED, _M.FAIL),
    (_S.STOPPING, _E.CLIENT_LOST): (_S.STOPPING, _M.IGNORE),
    (_S.STOPPING, _E.TIMEOUT): (_S.FAILED, _M.FAIL),
    # The agent has answered, or is gone: no confirmation is awaited, and a further message about
    # the prompt is not a second answer. Giving up the wait means failing as without one.
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
