"""Replication of one session's log: what is published next, and how far the log is replicated.

Owns the rules by which an owner publishes to the session's stream. Sans-IO: events and a time in,
effects out; `replicated_log` carries them out.

One publication is under way at a time. Unless it succeeds, the stream's last message is read before
anything is published again: that alone shows whether a publication of unknown outcome was stored,
whether the broker has lost messages that it had acknowledged, and whether another node owns the
session. A read that is out of date does no harm: the next publication is then refused.

The stream is read in its order: a batch that begins before the end of the earlier ones replaces
them from its first entry on, and one that begins after it follows entries that were dropped.
So a writer may always continue with its own log from a number at which both agree.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from lastword.gateway.fleet.replica import EMPTY, STATE_ENTRIES, StreamEnd

FIRST_PAUSE_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 1.0
"""The wait before the stream's end is read again, which doubles each time."""

STALL_SECONDS = 5.0
"""How long nothing is replicated until viewers are informed, each time: a new leader takes 5 s."""


class Publish(msgspec.Struct, frozen=True):
    """Publish the next batch of the log; answered by `stored`, `refused` or `unknown`.

    Attributes:
        after: the number of the entry before the batch.
        up_to: the number of the last entry that may be in it; `after` for a state alone.
        end: the stream's end that is expected, with the term and the node of the writer.
        with_state: the session's state is stored with it.
        keeps_epoch: it is of the epoch that `end` has, not of the log's. The log's numbers were
            visible before they were replicated, and the stream has not caught up with them.
    """

    after: int
    up_to: int
    end: StreamEnd
    with_state: bool
    keeps_epoch: bool = False


class Claim(msgspec.Struct, frozen=True):
    """Claim the session again after this end; answered as a publication is.

    The broker has lost the claim. What is there now may be another owner's.
    """

    end: StreamEnd


class ReadEnd(msgspec.Struct, frozen=True):
    """Read the stream's last message; answered by `end_read` or `read_failed`."""


class Visible(msgspec.Struct, frozen=True):
    """Entries up to this number may be sent to viewers, and what depends on them to the agent."""

    last: int


class Stalled(msgspec.Struct, frozen=True):
    """Nothing is being replicated; repeated for as long as that is so.

    Attributes:
        reason: why; empty if the broker gave no reason.
        times: how often this has been reported, this time included.
    """

    reason: str = ""
    times: int = 1


class NewEpoch(msgspec.Struct, frozen=True):
    """Give the log another epoch: readers may know its numbers with other entries."""


class Fenced(msgspec.Struct, frozen=True):
    """Another node owns the session: this one stops writing its log."""


Effect: TypeAlias = Publish | Claim | ReadEnd | Visible | Stalled | NewEpoch | Fenced


class _Step(Enum):
    IDLE = auto()
    PUBLISHING = auto()
    PAUSED = auto()
    """The last publication has failed; the stream's end is read after a pause."""
    READING = auto()
    FENCED = auto()


class Replication:
    """The replication of one session by its owner."""

    def __init__(
        self,
        claimed: StreamEnd,
        inherited: StreamEnd,
        *,
        committed: int,
        now: float,
        goes_on_without: bool = False,
    ) -> None:
        """Begin after a claim.

        Args:
            claimed: The stream's end that the claim gave.
            inherited: The stream's end that the claim followed.
            committed: The last number of the log, which contains all of the stream.
            now: The time, in seconds.
            goes_on_without: Whether entries become visible, in a new epoch, while nothing can be
                replicated.
        """
        self.end: StreamEnd = claimed
        """The stream's end as far as it is known."""
        self.visible: int = claimed.last
        """The last number that was made visible."""
        self.is_without: bool = False
        """Whether entries become visible as they are committed, since none can be replicated."""
        self._stalls = 0
        """How often it has been reported that nothing is replicated."""
        self._inherited = inherited
        self._first_term = self._term = claimed.term
        """The terms that were claimed, of which the last may not be stored."""
        self._committed = committed
        self._goes_on_without = goes_on_without
        self._was_without_to = 0
        """The last number that became visible without being replicated."""
        self._is_state_due = True
        self._sends_state = False
        self._state_at = claimed.last
        self._step = _Step.IDLE
        self._pause_until = 0.0
        self._failures = 0
        self._reason = ""
        self._waits_since: float | None = now if committed > claimed.last else None

    @property
    def is_fenced(self) -> bool:
        """Whether another node owns the session."""
        return self._step is _Step.FENCED

    @property
    def behind(self) -> int:
        """Return how many entries are not replicated."""
        return max(0, self._committed - self.end.last)

    @property
    def is_settled(self) -> bool:
        """Whether the stream has all of the log, and its state."""
        return self._step is _Step.IDLE and not self.behind and not self._is_state_due

    # The log.

    def begin(self, now: float) -> list[Effect]:
        """Publish what is in the log."""
        return self._go_on(now)

    def committed(self, last: int, now: float) -> list[Effect]:
        """Note that entries up to a number are committed to the log."""
        self._committed = last
        return [*self._show(last if self.is_without else 0), *self._go_on(now)]

    def state_changed(self, now: float) -> list[Effect]:
        """Note that a remembered fact has changed."""
        self._is_state_due, self._sends_state = True, False
        return self._go_on(now)

    # The broker's answers.

    def stored(self, end: StreamEnd, now: float) -> list[Effect]:
        """Note that the publication was stored, and the stream's new end."""
        if self.is_fenced:
            return []
        self._step, self._failures, self._reason = _Step.IDLE, 0, ""
        if self._sends_state:
            self._is_state_due, self._state_at = False, self.end.last
        return self._has_grown(end, now)

    def refused(self, now: float, reason: str = "") -> list[Effect]:
        """Note that the publication was not stored, because of the fence or for this reason."""
        return self._doubt(now, reason, at_once=not reason)

    def unknown(self, now: float) -> list[Effect]:
        """Note that the publication may have been stored."""
        return self._doubt(now, "", at_once=True)

    def read_failed(self, now: float) -> list[Effect]:
        """Note that the last message could not be read."""
        return self._doubt(now, self._reason, at_once=False)

    def end_read(self, end: StreamEnd, now: float) -> list[Effect]:
        """Receive the stream's last message."""
        if self.is_fenced:
            return []
        is_own = end.node == self.end.node and self._first_term <= end.term <= self._term
        if end.term >= self._first_term and not is_own:
            self._step = _Step.FENCED
            return [Fenced()]
        if not is_own:
            # A message of an older term: the broker has lost this owner's claim. Unless it is the
            # one that the claim followed, or there is none at all, others may have written since,
            # and the whole log is published in a new epoch.
            is_alone = end in {self._inherited, EMPTY}
            self.end = replace(
                end, term=self._term, node=self.end.node, last=end.last if is_alone else 0
            )
            self._step, self._sends_state = _Step.PUBLISHING, False
            self._term += 1
            return [*([] if is_alone else [self._in_new_epoch()]), Claim(self.end)]
        self._step = _Step.IDLE
        if end.last > self.end.last or end.last == self._committed:
            return self._has_grown(end, now)
        self.end = end
        return self._go_on(now)

    def _has_grown(self, end: StreamEnd, now: float) -> list[Effect]:
        self.end = end
        self._waits_since = None
        self._stalls, self.is_without = 0, False
        return [*self._show(end.last), *self._go_on(now)]

    def _in_new_epoch(self) -> NewEpoch:
        self._is_state_due, self._sends_state = True, False
        return NewEpoch()

    def _doubt(self, now: float, reason: str, *, at_once: bool) -> list[Effect]:
        """Read the stream's end, after a pause unless this is the first failure."""
        if self.is_fenced:
            return []
        self._reason = reason
        pause = min(FIRST_PAUSE_SECONDS * 2**self._failures, LONGEST_PAUSE_SECONDS)
        self._failures += 1
        if at_once and self._failures == 1:
            return self._read_end()
        self._step, self._pause_until = _Step.PAUSED, now + pause
        return []

    # The connection, and time.

    def disconnected(self, now: float) -> list[Effect]:
        """Note that the connection to the broker is lost."""
        if self._waits_since is None:
            self._waits_since = now
        return []

    def connected(self) -> list[Effect]:
        """Note that there is a connection again, to a broker that may have lost messages."""
        is_waiting = self._step in {_Step.IDLE, _Step.PAUSED}
        return self._read_end() if is_waiting else []

    def next_timeout(self) -> float | None:
        """Return when `handle_timeout` is due, on the clock of `now`."""
        if self.is_fenced:
            return None
        due = [self._pause_until] if self._step is _Step.PAUSED else []
        if (stall := self._stall_due()) is not None:
            due.append(stall)
        return min(due, default=None)

    def _stall_due(self) -> float | None:
        """Return when it is next reported that nothing is replicated."""
        if self._waits_since is None or self.is_without:
            return None
        return self._waits_since + STALL_SECONDS * (self._stalls + 1)

    def handle_timeout(self, now: float) -> list[Effect]:
        """End a pause, or report that nothing is replicated."""
        if self.is_fenced:
            return []
        effects: list[Effect] = []
        if self._step is _Step.PAUSED and self._pause_until <= now:
            effects += self._read_end()
        since = self._waits_since
        stall = self._stall_due()
        if since is not None and stall is not None and stall <= now:
            self._stalls = max(self._stalls + 1, int((now - since) / STALL_SECONDS))
            effects.append(Stalled(self._reason, self._stalls))
            if self._goes_on_without:
                self.is_without = True
                effects += [self._in_new_epoch(), *self._show(self._committed)]
        return effects

    def _read_end(self) -> list[Effect]:
        self._step = _Step.READING
        return [ReadEnd()]

    def _show(self, last: int) -> list[Effect]:
        if last <= self.visible:
            return []
        self.visible = last
        if self.is_without:
            self._was_without_to = last
        return [Visible(last)]

    def _go_on(self, now: float) -> list[Effect]:
        """Publish what is due, if nothing is under way."""
        if self._step is not _Step.IDLE or not (self.behind or self._is_state_due):
            return []
        if self._waits_since is None:
            self._waits_since = now
        self._step = _Step.PUBLISHING
        last = self.end.last
        is_state_due = self._is_state_due or last - self._state_at >= STATE_ENTRIES
        # The state is as of what is visible: before it, it would know of entries to come.
        self._sends_state = is_state_due and last >= self.visible
        up_to, keeps_epoch = max(last, self._committed), last < self._was_without_to
        return [Publish(last, up_to, self.end, self._sends_state, keeps_epoch)]
