"""An outage: since when a connector has no link, and of what its users have been told of that.

Owns the times: a short outage is told to nobody, and one that stays in a conversation, as a thought
does, is told no more often than a sidecar tells of retries there.
"""

from __future__ import annotations

from lastword.core.link.told import SHOW_EVERY_SECONDS

TELL_AFTER_SECONDS = 5.0
"""How long a link may be gone before an open turn's user is told."""


class Outage:
    """The one that lasts, if one does."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._was_told = False
        self._thought_at: dict[str, float] = {}

    def begin(self, now: float) -> None:
        """There is no link; it may have been gone before."""
        if self._since is None:
            self._since = now

    def end(self) -> None:
        """There is a link again, or none is sought any more."""
        self._since = None
        self._was_told = False

    @property
    def first_due(self) -> float | None:
        """When users are told first; `None` once they have been, and while there is a link."""
        if self._since is None or self._was_told:
            return None
        return self._since + TELL_AFTER_SECONDS

    def tells(self, now: float) -> bool:
        """Has it lasted so long that users are told?"""
        if self._since is None or now - self._since < TELL_AFTER_SECONDS:
            return False
        self._was_told = True
        return True

    def thinks(self, session_id: str, now: float) -> bool:
        """Is a line due that stays in this session's conversation?"""
        last = self._thought_at.get(session_id)
        if last is not None and now - last < SHOW_EVERY_SECONDS:
            return False
        self._thought_at[session_id] = now
        return True
