"""An outage: how long a connector has been without a link, and what its users know about it.

Owns the times. A short outage is not shown. A line that stays in the conversation,
such as a thought, is sent no more often than a sidecar sends those about retries.
"""

from __future__ import annotations

from lastword.core.link.evidence import SHOW_EVERY_SECONDS

SHOW_AFTER_SECONDS = 5.0
"""How long a link may be gone before it is shown to the user of an open turn."""


class Outage:
    """The current outage, if there is one."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._was_shown = False
        self._thought_at: dict[str, float] = {}

    def begin(self, now: float) -> None:
        """Note that there is no link; there may have been none before."""
        if self._since is None:
            self._since = now

    def end(self) -> None:
        """Note that there is a link again, or that the search has ended."""
        self._since = None
        self._was_shown = False

    @property
    def first_due(self) -> float | None:
        """Return when it is first shown; `None` after that, and while there is a link."""
        if self._since is None or self._was_shown:
            return None
        return self._since + SHOW_AFTER_SECONDS

    def must_show(self, now: float) -> bool:
        """Return whether it has lasted long enough to be shown."""
        if self._since is None or now - self._since < SHOW_AFTER_SECONDS:
            return False
        self._was_shown = True
        return True

    def may_add_thought(self, session_id: str, now: float) -> bool:
        """Return whether a line that stays in this session's conversation is due."""
        last = self._thought_at.get(session_id)
        if last is not None and now - last < SHOW_EVERY_SECONDS:
            return False
        self._thought_at[session_id] = now
        return True
