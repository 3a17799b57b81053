"""The signals that end the gateway's process or replace it.

Owns that none is lost, and none ends a process that is about to be replaced: they are blocked from
before its process id is known until it serves, and again from its end until its successor serves.
Blocked and pending signals survive an exec; handlers do not, and without one each of these signals
ends the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

RELOAD = signal.SIGHUP
HANDLED = (RELOAD, signal.SIGTERM, signal.SIGINT)


def hold() -> None:
    """Keep them pending."""
    signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)


class FrontSignals:
    """The signals that were received."""

    def __init__(self) -> None:
        self._numbers: list[int] = []
        self._came = asyncio.Event()

    def receive(self) -> None:
        """Take them from now on, and those that are pending."""
        loop = asyncio.get_running_loop()

        # No handler of the loop's: that one is called later, and what came just before the
        # process ends would be lost.
        def note(number: int, _: FrameType | None) -> None:
            self._numbers.append(number)
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(self._came.set)

        for number in HANDLED:
            signal.signal(number, note)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLED)

    def restore_defaults(self) -> None:
        """Let the next one end the process, which is ending anyway."""
        for number in HANDLED:
            signal.signal(number, signal.SIG_DFL)

    async def wait(self) -> None:
        """Wait for the first one."""
        await self._came.wait()

    @property
    def is_reload(self) -> bool:
        """Return whether a newer program is to take over; a stop at any time takes precedence."""
        return set(self._numbers) == {RELOAD}
