"""Bounds on the entries about viewers, so that these do not push a session's conversation out.

Owns how many are logged in an hour, and the count of those that are not. Sans-IO: times come in.
"""

from __future__ import annotations

from lastword.gateway.viewing.rates import Rate, RateLimiter

PER_HOUR = 240
"""Entries about the viewers of one role, or of clients' own errors: as many as the record keeps of
a session. At the size that an entry counts for, that is 11 KiB."""


class PresenceBounds:
    """The entries of one session."""

    def __init__(self) -> None:
        self._now = 0.0
        self._pace = RateLimiter(Rate(PER_HOUR / 3600, PER_HOUR), lambda: self._now)
        self._left_out: dict[str, int] = {}

    def allow(self, source: str, now_ms: int) -> int | None:
        """Count one entry; return how many were left out since the last, `None` to leave it out.

        A clock that is set back brings nobody more.
        """
        self._now = max(self._now, now_ms / 1000)
        if self._pace.wait_seconds(source):
            self._left_out[source] = self._left_out.get(source, 0) + 1
            return None
        return self._left_out.pop(source, 0)
