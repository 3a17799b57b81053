"""Lines of the reconnect policy: what people read about a link, one line at a time.

Owns the sentences, and what may revive a link that was given up. `reconnect` decides when a line is
shown.
"""

from __future__ import annotations

from typing import NamedTuple

from lastword.client.close_codes import Why
from lastword.client.reconnect_model import LinkPhase, ReconnectState


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
