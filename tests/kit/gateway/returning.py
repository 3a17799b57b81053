"""A viewer's way back to the gateway: the reconnect policy on the clock of a simulated world.

Owns the shell around the policy, and gateways that accept and close, over and over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from lastword.client import reconnect
from lastword.client.reconnect import Attached, Closed, Connect, LinkPhase, ReconnectState, Signal

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.client.reconnect import Event, ReconnectAction

Policy: TypeAlias = (
    "Callable[[ReconnectState, Event, int, float], "
    "tuple[ReconnectState, tuple[ReconnectAction, ...]]]"
)

MOST_CONNECTS = reconnect.PATIENT_TRIES + 1
"""Connections of one round at most: the one that is tried at once is the first of the tries."""

CODES = (1006, 1011, 1012, 1013, 4408)
"""With which a link is closed that may be had again."""


class Returning:
    """One viewer's policy."""

    def __init__(self, policy: Policy, dice: Callable[[], float]) -> None:
        self._policy = policy
        self._dice = dice
        self._state = reconnect.initial(0)
        self.due: int | None = None
        """When the policy wants to be asked, in milliseconds."""

    @property
    def has_given_up(self) -> bool:
        return self._state.phase is LinkPhase.GAVE_UP

    def _take(self, event: Event, now: int) -> bool:
        """Take in what happened; is there to be a connection?"""
        self._state, actions = self._policy(self._state, event, now, self._dice())
        self.due = reconnect.timer(self._state)
        return any(isinstance(action, Connect) for action in actions)

    def comes(self, now: int) -> None:
        """Its user comes, or wants it to be tried now: the link is there."""
        if self._state.phase is not LinkPhase.ATTACHED:
            self._take(Signal.RETRY, now)
            self.opened(now)

    def opened(self, now: int) -> None:
        """The link that it asked for is there, and the session answers."""
        self._take(Signal.OPENED, now)
        self._take(Attached(), now)

    def lost(self, code: int, now: int) -> bool:
        """The link is gone; is there to be another at once?"""
        return self._take(Closed(code), now)

    def ticks(self, now: int) -> bool:
        """Its timer has ended; is there to be a connection?"""
        return self._take(Signal.TICK, now)

    def loops(self, code: int, now: int, *, attaches: bool) -> tuple[int, int]:
        """The link is lost to a gateway that accepts each further one, and closes it.

        Args:
            code: With which it closes.
            now: The time.
            attaches: It answers the attach before.

        Returns:
            How many connections there were, one more than there may be where there was no end to
            them, and the time at the end.
        """
        connects = 0
        wants = self.lost(code, now)
        while connects <= MOST_CONNECTS and not self.has_given_up:
            if wants:
                connects += 1
                self._take(Signal.OPENED, now)
                if attaches:
                    self._take(Attached(), now)
                now += int(self._dice() * 10_000)
                wants = self.lost(code, now)
            elif self.due is None:
                break
            else:
                now = max(now, self.due)
                wants = self.ticks(now)
        return connects, now
