"""The waits for a limit's end in a session of the simulator: what the link to its agent does.

Owns the link's side alone: a prompt that runs into a limit, the moment at which it goes on, and a
user who ends the wait. What survives the process is the hub's and the log's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.core.failure.taxonomy import ErrorType
from lastword.core.link.facts import Facts
from lastword.core.link.waits import LimitWait, StoredWait
from lastword.core.protocol import jsonrpc
from lastword.gateway.holder.effects import waiting_turn

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.gateway.log.store import ReadableLog

LONGEST_SECONDS = 15.0
LATE_SECONDS = 3.0


class LimitedLink:
    def __init__(self, dice: Callable[[], float]) -> None:
        self._dice = dice
        self.number = 0
        """The prompt that waits; 0 for none."""
        self.stored: StoredWait | None = None

    def begin(self, number: int, now: float) -> StoredWait:
        """A prompt has run into a limit."""
        until = now + self._dice() * LONGEST_SECONDS
        self.number = number
        self.stored = StoredWait(
            request_id=b"%d" % number,
            wait=LimitWait(
                until_epoch_seconds=until, latest_epoch_seconds=until + LATE_SECONDS, resends=False
            ),
            type=ErrorType.RATE_LIMIT,
            reason=None,
            waits=1,
            waited_seconds=until - now,
            facts=Facts(text=True, shown=True),
        )
        return self.stored

    @property
    def until(self) -> float:
        return (self.stored and self.stored.wait.until_epoch_seconds) or 0.0

    @property
    def latest(self) -> float:
        """After which it does not."""
        return (self.stored and self.stored.wait.latest_epoch_seconds) or 0.0

    def end(self) -> int:
        """It waits no more; gives the prompt."""
        number, self.number, self.stored = self.number, 0, None
        return number

    def cancel(self) -> list[bytes]:
        """The user has ended it: the answer, if there was a wait."""
        number = self.end()
        return [jsonrpc.result(b"%d" % number, {"stopReason": "cancelled"})] if number else []

    def resume(self, log: ReadableLog) -> int:
        """The next process finds it in the log; gives the prompt."""
        self.end()
        waiting = waiting_turn(log)
        if waiting is not None:
            self.number, self.stored = waiting.number, waiting.stored
        return self.number
