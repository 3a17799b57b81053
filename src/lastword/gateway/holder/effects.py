"""Effects: what a hub asks its session to do, and the order in which that is done.

Owns one rule: an effect is carried out once everything that the hub committed before it is in the
log, also where the log commits later than it is written.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, TypeAlias

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lastword.gateway.log.entries import LogEntry, Numbered
    from lastword.gateway.log.store import Log
    from lastword.gateway.viewing.attachment import Attachment


class Commit(msgspec.Struct, frozen=True):
    """Commit these entries to the log."""

    entries: Sequence[LogEntry]


class ToAgent(msgspec.Struct, frozen=True):
    """Send this line to the agent."""

    line: bytes


class ToViewer(msgspec.Struct, frozen=True):
    """Send this to one attachment, outside the log: a refusal is not part of the session."""

    attachment: Attachment
    line: bytes


class Retell(msgspec.Struct, frozen=True):
    """Send one attachment the outcome of its own request again, outside the log."""

    attachment: Attachment
    end: Numbered


class Then(msgspec.Struct, frozen=True):
    """Call this: it shows something that is to be in the log first."""

    call: Callable[[], None]


Message: TypeAlias = ToAgent | ToViewer | Retell | Then
"""What is done outside the log."""

HubEffect: TypeAlias = Commit | Message


class Effects:
    """The effects of one hub, on their way to its log, its agent and its viewers."""

    def __init__(self, log: Log, send: Callable[[Message], None]) -> None:
        self._log = log
        self._send = send
        self._last = 0
        """The number of the last entry that was written."""
        self._waiting: deque[tuple[int, Message]] = deque()
        """Messages, each with the entry that is to be committed first."""
        self.is_writing: bool = False
        """Whether a commit is reported while it is being written, rather than later."""

    def carry_out(self, effects: Iterable[HubEffect]) -> None:
        """Carry out effects in their order."""
        for effect in effects:
            if isinstance(effect, Commit):
                self.is_writing = True
                try:
                    self._last = self._log.append(effect.entries)
                finally:
                    self.is_writing = False
            elif self._last <= self._log.head and not self._waiting:
                self._send(effect)
            else:
                self._waiting.append((self._last, effect))
        self.send_waiting()

    def send_waiting(self) -> None:
        """Send the messages whose entries have been committed."""
        while self._waiting and self._waiting[0][0] <= self._log.head:
            self._send(self._waiting.popleft()[1])

    def drop(self) -> None:
        """Send nothing of what waits: another process may have the session."""
        self._waiting.clear()
