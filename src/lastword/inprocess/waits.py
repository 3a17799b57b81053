"""Waits of a link and of its retries: real ones, except in a test that skips them.

Owns the one place where a wait can be skipped. In production the context holds nothing, and a wait
is the event loop's own. A test (`lastword.testing.without_waits`) puts a `SkippedTime` there: the
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
"""An agent that does nothing for this long, in real time, is taken to do nothing until the next
limit or cancel is due. A step of a healthy handler takes a fraction of it."""

QUIET_STEPS = 100
"""The rounds of the event loop that go by as well; a cancel takes a few of them."""

LOOK_SECONDS = 15.0
"""How often the time of day is looked at in a wait that may be hours long: a computer that slept
may have slept past its end."""

_SILENCES = (
    *("first_update_timeout_seconds", "idle_timeout_seconds", "tool_timeout_seconds"),
    *("warn_after_seconds", "turn_timeout_seconds"),
)


class SkippedTime:
    """How much time has been skipped, and what is to happen at which moment of simulated time.

    Attributes:
        seconds: The time skipped so far.
        retry_bucket: The retries of the tests in it, apart from the process's.
    """

    def __init__(self) -> None:
        self.seconds: float = 0.0
        self.retry_bucket: RetryBucket = RetryBucket()
        self._alarms: list[tuple[float, int, Callable[[], object]]] = []
        self._count = itertools.count()

    def now(self) -> float:
        """Return the monotonic clock, plus what was skipped."""
        return time.monotonic() + self.seconds

    def skip_to(self, moment: float) -> None:
        """Advance to a moment, and make the calls that are due by then."""
        self.seconds += max(0.0, moment - self.now())
        while self._alarms and self._alarms[0][0] <= self.now():
            heapq.heappop(self._alarms)[2]()

    def call_at(self, moment: float, call: Callable[[], object]) -> Callable[[], None]:
        """Schedule a call at this moment; return a function that cancels it."""
        alarm = (moment, next(self._count), call)
        heapq.heappush(self._alarms, alarm)

        def withdraw() -> None:
            if alarm in self._alarms:
                self._alarms.remove(alarm)
                heapq.heapify(self._alarms)

        return withdraw

    def sooner(self, due: float | None) -> float | None:
        """Return which comes first: this moment, or that of the next call."""
        moments = [
            at for at in (due, self._alarms[0][0] if self._alarms else None) if at is not None
        ]
        return min(moments, default=None)

    async def sleep(self, seconds: float) -> None:
        """Let a wait pass; calls due within it happen at their own moments."""
        until = self.now() + seconds
        while (alarm := self.sooner(None)) is not None and alarm <= until:
            self.skip_to(alarm)
            # The call may end this very wait: give it the time to, and the rounds, since a process
            # that is not run may miss all of that time.
            await anyio.sleep(QUIET_SECONDS)
            for _ in range(QUIET_STEPS):
                await anyio.lowlevel.checkpoint()
        self.skip_to(until)
        await anyio.lowlevel.checkpoint()


SKIPPED: ContextVar[SkippedTime | None] = ContextVar("lastword_skipped_time", default=None)


@contextlib.contextmanager
def skipped() -> Iterator[SkippedTime]:
    """Skip the waits of whatever is started in this context."""
    before = SKIPPED.get()
    SKIPPED.set(passed := SkippedTime())
    try:
        yield passed
    finally:
        # By its value: a test's fixture may be left in another context than it was entered in.
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
    """Return the retries that are left to this process, over all of its sessions."""
    passed = SKIPPED.get()
    return _OF_PROCESS if passed is None else passed.retry_bucket


def current_time() -> float:
    """Return the event loop's clock, plus what was skipped."""
    passed = SKIPPED.get()
    return anyio.current_time() + (0.0 if passed is None else passed.seconds)


def roll(*, requested: bool) -> float:
    """Return a random number from 0 to 1, for the jitter of a wait.

    If waits are skipped, it is not random: a wait that the server `requested` is reported as that
    long, and any other wait as long as it can be.
    """
    if SKIPPED.get() is None:
        return random.random()  # noqa: S311 - jitter, no secret
    return 0.0 if requested else 1.0


def limits_that_pass(options: LinkOptions) -> LinkOptions:
    """Return the options without the limits on silence that nobody has set.

    If waits pass at once, a handler that works for a second in silence would have been silent for
    as long as any limit allows. Whoever sets a limit for a test wants to see it reached.
    """
    usual = LinkOptions()
    unset = {name: 0.0 for name in _SILENCES if getattr(options, name) == getattr(usual, name)}
    return msgspec.structs.replace(options, **unset)
