"""Retries that were reported to a turn's client, and the wait that they add up to.

Owns which of several sources says something new, how long a retry without a cause waits for a
source that knows it, and when a client that reads neither `agent_retry` nor notices is due a line.
`core.link.retries.reporting` does the reporting.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from lastword.core.classify import Verdict
    from lastword.core.link.retries.hints import Hint, HintSource

SHOW_AFTER_SECONDS = 5.0
"""A wait is shown in the conversation once it has lasted this long in all: most retries help
sooner, and a line for each would be noise."""

SHOW_EVERY_SECONDS = 30.0
"""At most so often while it goes on."""


SAME_CALL_SECONDS = 0.3
"""What one source says of failed calls so soon after another is about the same one: an agent that
tries again waits as long."""

WITHHELD_SECONDS = 0.25
"""How long a retry whose source knows no cause is withheld: a journal has the line by then (pi
writes it 0.06 s before it says that it tries again), and it is looked at before this clock."""


UNCONFIRMED_SECONDS = 1.0
"""How long a failure that only its form attributes to the model call is withheld: it is reported
after as long a silence, or with a second sign of it."""


class Retrying(msgspec.Struct, frozen=True, kw_only=True):
    """A model call that is about to be tried again.

    Attributes:
        verdict: why the last try failed.
        attempt: the number of the next try; the first was 1.
        max_attempts: the most tries that there will be, if known.
        wait_seconds: how long from now.
        sentence: of a wait for the end of a limit: what follows, in words.
    """

    verdict: Verdict
    attempt: int
    max_attempts: int | None = None
    wait_seconds: float | None = None
    sentence: str | None = None


class ReportedRetries:
    """The retries of one turn that its client knows of."""

    __slots__ = (
        "_attempt",
        "_shown",
        "_shown_at",
        "_source",
        "_source_at",
        "_withheld",
        "last",
        "last_at",
        "since",
        "withheld_until",
    )

    def __init__(self) -> None:
        self._attempt = 0
        """The greatest number of an attempt that was reported."""
        self._source: HintSource | None = None
        """Which source was the last."""
        self._source_at: float = -math.inf
        """And of a call that had failed when."""
        self.last: Retrying | None = None
        """The last retry, as long as the agent has shown nothing since."""
        self.last_at: float = 0.0
        self.since: float = 0.0
        """Since when the turn waits."""
        self._withheld: Hint | None = None
        self.withheld_until: float | None = None
        """When a retry that waits for its cause is reported."""
        self._shown: Retrying | None = None
        self._shown_at: float | None = None

    def next_attempt(self, hint: Hint) -> int | None:
        """Return the number of the try that this hint announces, or `None` if it is known.

        Each try is reported once, over all sources. A source that does not count its tries is used
        only as long as no other source has reported any: two sources may see the same try.
        """
        if hint.attempt is None:
            own = self._source is None or self._source is hint.source
            # A log may have several lines on one request.
            same = not hint.goes_on and hint.at_seconds < self._source_at + SAME_CALL_SECONDS
            return max(self._attempt, 1) + 1 if own and not same else None
        return hint.attempt if hint.attempt > self._attempt else None

    def note(
        self,
        retry: Retrying,
        source: HintSource | None,
        now: float,
        *,
        since: float,
        attempt: int | None = None,
    ) -> None:
        """Note that a retry is reported, or would be to a client that reads such reports.

        Its wait starts now; the call that it follows had failed at `since`. `attempt` is its number
        by the source's count, if that is another.
        """
        if self.last is None:
            self.since = since
        self._attempt = max(self._attempt, attempt or retry.attempt)
        self._source = source or self._source
        self._source_at = since
        self.last, self.last_at = retry, now

    def add_passed(self, attempt: int | None, source: HintSource) -> None:
        """Note that the agent itself reported a retry to the client."""
        self._attempt = max(self._attempt, attempt or max(self._attempt, 1) + 1)
        self._source = source

    def withhold(self, hint: Hint, now: float, seconds: float = WITHHELD_SECONDS) -> None:
        """Keep a retry until its cause is known, or until it is confirmed, at most this long."""
        self._withheld, self.withheld_until = hint, now + seconds

    def withholds(self, source: HintSource) -> bool:
        """Return whether a retry of this source is withheld."""
        return self._withheld is not None and self._withheld.source is source

    def pop_withheld(self) -> Hint | None:
        """Return the retry that waits for its cause, if any, and forget it."""
        hint, self._withheld, self.withheld_until = self._withheld, None, None
        return hint

    def begin_again(self) -> None:
        """Count tries anew for a prompt that is sent again, keeping what was shown."""
        self._attempt, self._source, self.last = 0, None, None
        self._source_at = -math.inf
        self.pop_withheld()

    def forget_wait(self) -> None:
        """Forget the wait: the agent has shown something, so it has what it waited for."""
        self.last = self._shown = None
        self.pop_withheld()

    @property
    def waits(self) -> bool:
        """Whether there is a retry after which the agent has shown nothing."""
        return self.last is not None or self._withheld is not None

    @property
    def due(self) -> float | None:
        """When a line in the conversation is due."""
        if self.last is None or self.last is self._shown:
            return None
        first = self.since + SHOW_AFTER_SECONDS
        return first if self._shown_at is None else max(first, self._shown_at + SHOW_EVERY_SECONDS)

    def pop_due(self, now: float) -> Retrying | None:
        """Return the retry for which a line is due, and note that it has one."""
        due = self.due
        if due is None or due > now:
            return None
        self._shown, self._shown_at = self.last, now
        return self.last

    def shift(self, seconds: float) -> None:
        """Shift the clocks by the time that they stood still."""
        self.since += seconds
        self.last_at += seconds
        if self.withheld_until is not None:
            self.withheld_until += seconds
        if self._shown_at is not None:
            self._shown_at += seconds
