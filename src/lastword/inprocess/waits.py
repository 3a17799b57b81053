"""Waits of a link and of its retries: real ones, except in a test that skips them.

Owns the one place where a wait can be skipped. In production the context is empty, and a wait is
the event loop's own. A test (`lastword.testing.without_waits`) puts a `SkippedTime` there: the
clock then advances by what was skipped, so that everything that is reported, recorded or counted
against a budget has its real value.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import random
import time
from contextvars import ContextVar
from typing import TYPE_CHECKING

import anyio
import msgspec

from lastword.core.failure.retry_policy import RetryBucket
from lastword.core.link.options import LinkOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

QUIET_SECONDS = 0.25
"""If an agent does nothing for this long in real time, it is assumed to do nothing until the next
limit or cancel is due. A step of a healthy handler takes a fraction of this."""

QUIET_STEPS = 100
"""The rounds of the event loop that must also pass; a cancel takes a few."""

LOOK_SECONDS = 15.0
"""How often a wait of perhaps hours checks the time of day: a computer may sleep past its end."""

_SILENCES = (
    *("first_update_timeout_seconds", "idle_timeout_seconds", "tool_timeout_seconds"),
    *("warn_after_seconds", "turn_timeout_seconds"),
)


class SkippedTime:
    """How much time has been skipped, and the calls scheduled in simulated time.

    Attributes:
        seconds: The time skipped so far.
        retry_bucket: The test's retries, separate from the process's.
    """

    def __init__(self) -> None:
        self.seconds: float = 0.0
        self.retry_bucket: RetryBucket = RetryBucket()
        self._alarms: list[tuple[float, int, Callable[[], object]]] = []
        self._count = itertools.count()
        self._has_called = False
        """A call has been made since a wait last gave one time."""

    def now(self) -> float:
        """Return the monotonic clock, plus what was skipped."""
        return time.monotonic() + self.seconds

    def skip_to(self, moment: float) -> None:
        """Advance to a time, and make the calls that are due by then."""
        self.seconds += max(0.0, moment - self.now())
        while self._alarms and self._alarms[0][0] <= self.now():
            heapq.heappop(self._alarms)[2]()
            self._has_called = True

    def call_at(self, moment: float, call: Callable[[], object]) -> Callable[[], None]:
        """Schedule a call at this time; return a function that cancels it."""
        alarm = (moment, next(self._count), call)
        heapq.heappush(self._alarms, alarm)

        def withdraw() -> None:
            if alarm in self._alarms:
                self._alarms.remove(alarm)
                heapq.heapify(self._alarms)

        return withdraw

    def sooner(self, due: float | None) -> float | None:
        """Return the earlier of this time and that of the next call."""
        moments = [
            at for at in (due, self._alarms[0][0] if self._alarms else None) if at is not None
        ]
        return min(moments, default=None)

    async def sleep(self, seconds: float) -> None:
        """Let a wait pass; calls due within it are made at their own times."""
        until = self.now() + seconds
        while True:
            if self._has_called:
                # That may end this wait: give it time, and rounds of the loop, since a process may
                # not run at all in that time.
                self._has_called = False
                await anyio.sleep(QUIET_SECONDS)
                for _ in range(QUIET_STEPS):
                    await anyio.lowlevel.checkpoint()
            alarm = self.sooner(None)
            if alarm is None or alarm > until:
                break
            self.skip_to(alarm)
        self.skip_to(until)
        await anyio.lowlevel.checkpoint()


SKIPPED: ContextVar[SkippedTime | None] = ContextVar("lastword_skipped_time", default=None)


@contextlib.contextmanager
def skipped() -> Iterator[SkippedTime]:
    """Skip the waits of everything that is started in this context."""
    before = SKIPPED.get()
    SKIPPED.set(passed := SkippedTime())
    try:
        yield passed
    finally:
        # Not by a token: a test's fixture may be left in another context than it was entered in.
        SKIPPED.set(before)


async def sleep(seconds: float) -> None:
    """Wait, or skip the wait."""
    passed = SKIPPED.get()
    await (anyio.sleep(seconds) if passed is None else passed.sleep(seconds))


async def sleep_by_day(seconds: float) -> None:
    """Wait until this long has passed by the event loop's clock or by the time of day."""
    until, day = anyio.current_time() + seconds, time.time() + seconds
    if SKIPPED.get() is not None:
        await sleep(seconds)
        return
    while (left := min(until - anyio.current_time(), day - time.time())) > 0:  # noqa: ASYNC110
        await anyio.sleep(min(left, LOOK_SECONDS))


_OF_PROCESS = RetryBucket()


def retry_bucket() -> RetryBucket:
    """Return the bucket of retries that all sessions of this process share."""
    passed = SKIPPED.get()
    return _OF_PROCESS if passed is None else passed.retry_bucket


def current_time() -> float:
    """Return the event loop's clock, plus what was skipped."""
    passed = SKIPPED.get()
    return anyio.current_time() + (0.0 if passed is None else passed.seconds)


def roll(*, requested: bool) -> float:
    """Return a random number from 0 to 1, for the jitter of a wait.

    If waits are skipped, it is not random: a wait that the server `requested` has that length, and
    any other wait its maximum.
    """
    if SKIPPED.get() is None:
        return random.random()  # noqa: S311 - jitter, no secret
    return 0.0 if requested else 1.0


def limits_that_pass(options: LinkOptions) -> LinkOptions:
    """Return the options without limits on silence, except for those that were set.

    If waits are skipped, a handler that works silently for a second would reach any limit. A limit
    that is set for a test should be reached.
    """
    usual = LinkOptions()
    unset = {name: 0.0 for name in _SILENCES if getattr(options, name) == getattr(usual, name)}
    return msgspec.structs.replace(options, **unset)
