"""The reconnect policy's values: events, actions and state, and the lines that people read.

Owns their meaning, units and sentences, and what may revive a link that was given up. `reconnect`
owns the transitions, decides when a line is shown, and exports the values' names.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import NamedTuple

from lastword.client.close_codes import Why


class LinkPhase(StrEnum):
    """Where the link stands."""

    WAITING = "waiting"
    """For the next try, or for the network."""
    CONNECTING = "connecting"
    ATTACHING = "attaching"
    ATTACHED = "attached"
    GAVE_UP = "gave_up"
    """It failed; the user wakes it, and, where that can help, so do the network and a look."""
    ENDED = "ended"
    """It is over, and did not fail; the user alone wakes it."""


class Signal(Enum):
    """Events that carry no further information."""

    OPENED = "opened"
    """The socket is open."""
    FRAME = "frame"
    """Something came over it."""
    OFFLINE = "offline"
    ONLINE = "online"
    """The network went; it came back, or changed."""
    HIDDEN = "hidden"
    VISIBLE = "visible"
    """Nobody looks at the page; somebody does."""
    TICK = "tick"
    """The timer ended. The first one begins the first connection."""
    RETRY = "retry"
    CLOSE = "close"
    """The user's wishes."""


@dataclass(frozen=True, slots=True)
class Attached:
    """The session answered.

    Attributes:
        updates: The number of missed updates that have arrived or are about to.
        probes: The gateway answers `_lastword/ping`.
    """

    updates: int = 0
    probes: bool = False


@dataclass(frozen=True, slots=True)
class Closed:
    """The socket was closed, by the other end or by something in between; see `classify_close`."""

    code: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """The upgrade was answered with a status other than 101; see `classify_upgrade`."""

    status: int
    retry_after: int | str | None = None


@dataclass(frozen=True, slots=True)
class ConnectFailed:
    """The connection failed before there was a response; see `classify_failure`."""

    kind: str


@dataclass(frozen=True, slots=True)
class TokenFailed:
    """No token could be obtained, and why, in words."""

    kind: str = ""


Event = Signal | Attached | Closed | Refused | ConnectFailed | TokenFailed


@dataclass(frozen=True, slots=True)
class Connect:
    """Ask for URL and token, open a socket, attach.

    Attributes:
        fetch_token: The last token was refused, so a stored one will not do.
    """

    fetch_token: bool


@dataclass(frozen=True, slots=True)
class CloseSocket:
    """Close the socket, or drop the attempt, and ignore its further events."""

    code: int
    reason: str


@dataclass(frozen=True, slots=True)
class Probe:
    """Send `_lastword/ping`; the next message, whatever it is, counts as the answer."""


@dataclass(frozen=True, slots=True)
class Show:
    """Show this line in place of the previous one.

    Attributes:
        line: One sentence or two; empty if there is nothing to show.
        cause: What happened, in a peer's or a library's words.
    """

    line: str
    cause: str


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Show this in place of the line, with a button; no timer is running.

    Attributes:
        why: Why, as a word.
        line: Why, as a sentence.
        advice: What to do.
        button: The label of the one button, which sends `Signal.RETRY`; empty if there is none.
        cause: As in `Show`.
    """

    why: Why
    line: str
    advice: str
    button: str
    cause: str


@dataclass(frozen=True, slots=True)
class WaitUntil:
    """Set the one timer to this moment, replacing any earlier one; with `None`, stop it."""

    until: int | None


ReconnectAction = Connect | CloseSocket | Probe | Show | GiveUp | WaitUntil


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconnectState:
    """The state of the policy. Moments are in milliseconds of the caller's clock.

    Attributes:
        phase: Where the link stands.
        due: When waiting, the moment of the next try; when connecting or attaching, the deadline;
            when attached, the next probe.
        tries: Further tries since the link was last stable; while waiting, including the next one.
        budget: The maximum number of tries.
        earliest: The earliest moment for a try that the gateway allows.
        lost: Since when there has been no link; `None` once there is one and, if the loss was
            reported, that has been reported too.
        tell: The moment at which the line for this try, or for its success, is to be shown; `None`
            once it has been.
        returning: There has been a link before.
        probes: The gateway answers probes.
        unanswered: When a probe counts as unanswered; `None` while there is none.
        stable: The moment from which the link counts as stable; `None` once it does.
        heard: Something has arrived since the deadline was set.
        refused: A token was refused since the link was last stable.
        online: Whether there is a network, as far as the platform knows.
        hidden: Since when the page has been hidden; `None` while it is visible.
        line: What is shown.
        news: The line that reports the link's return, until it is shown.
        cause: What ended the link, or the last attempt.
        why: Why the policy gave up, or the link ended.
    """

    phase: LinkPhase
    due: int | None
    tries: int
    budget: int
    earliest: int
    lost: int | None
    tell: int | None
    returning: bool
    probes: bool
    unanswered: int | None
    stable: int | None
    heard: bool
    refused: bool
    online: bool
    hidden: int | None
    line: str
    news: str
    cause: str
    why: Why | None


class EndWords(NamedTuple):
    """The words for an end.

    Attributes:
        line: Why, as a sentence; `{tries}` and `{wait}` are filled in.
        advice: What to do.
        button: The label of the button that begins again; empty if there is none.
        wakes: Whether the network's return, or a user's look, may help.
    """

    line: str
    advice: str
    button: str
    wakes: bool = False


ENDS = {
    Why.UNREACHABLE: EndWords(
        "Gave up after {tries} tries.", "Check that the gateway is running.", "Retry", wakes=True
    ),
    Why.ASKED_TO_WAIT: EndWords(
        "The gateway asks for a wait of {wait}.", "Try again after the wait.", "Retry", wakes=True
    ),
    Why.UNAUTHORIZED: EndWords(
        "The gateway refused the token twice.", "Log in again.", "Retry", wakes=True
    ),
    Why.FORBIDDEN: EndWords(
        "The gateway allows no access here.", "Ask its owner, or check its address.", "Retry"
    ),
    Why.SESSION_UNKNOWN: EndWords(
        "This session no longer exists on the gateway.", "Start a new session.", ""
    ),
    Why.PROTOCOL: EndWords(
        "The gateway and the viewer do not understand each other.", "Report this as a bug.", "Retry"
    ),
    Why.REFUSED: EndWords("The gateway refused the connection.", "Check its address.", "Retry"),
    Why.REDIRECTED: EndWords("The gateway is at another address.", "Set the new address.", "Retry"),
    Why.CERTIFICATE: EndWords(
        "The gateway's certificate is not trusted.",
        "Check the certificate, and this machine's clock.",
        "Retry",
    ),
    Why.SESSION_ENDED: EndWords("This session has ended.", "Start a new session.", ""),
    Why.SUPERSEDED: EndWords(
        "This session is open in another window.", "Continue there.", "Use it here"
    ),
}

CONNECTING = "Connecting."
OFFLINE = "Offline. Waits for the network."
_TWO_MINUTES, _TWO_HOURS = 120, 120  # in seconds, and in minutes


def progress_line(state: ReconnectState, now: int) -> str:
    """Return the line for a link that is being established."""
    doing = "Connecting"
    if state.phase is LinkPhase.WAITING and state.due is not None:
        if not state.online:
            return OFFLINE
        doing = f"Retrying in {span(max(state.due - now, 1))}"
    if not state.tries:
        return f"{doing}."
    what = "Connection lost." if state.returning else "No connection."
    return f"{what} {doing} ({state.tries} of {state.budget})."


def success_line(state: ReconnectState, updates: int, now: int) -> str:
    """Return the line for a link that was established, from the state before that."""
    word = "Reconnected" if state.returning else "Connected"
    after = f" after {span(now - state.lost)}" if state.lost is not None else ""
    caught_up = f", {updates} update{'' if updates == 1 else 's'} caught up" if updates else ""
    return f"{word}{after}{caught_up}."


def span(duration: int) -> str:
    """Return a duration, given in milliseconds, in whole units, rounded up: `4 s`, `20 min`."""
    seconds = -(-duration // 1000)
    if seconds < _TWO_MINUTES:
        return f"{seconds} s"
    minutes = -(-seconds // 60)
    return f"{minutes} min" if minutes < _TWO_HOURS else f"{-(-minutes // 60)} h"
