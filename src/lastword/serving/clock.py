"""The core's clock on the author's event loop.

Owns when the core is asked to do what is due: a task that sleeps, and is woken where an earlier
moment has come up.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from lastword.inprocess.link import Link
    from lastword.serving.bell import Bell


class Clock:
    """Rings when the link says that it is due."""

    def __init__(self, bell: Bell) -> None:
        self._bell = bell
        self._earlier = anyio.Event()
        self._rings_at: float | None = None

    async def keep(self, link: Link) -> None:
        """Sleep and ring; runs until it is cancelled."""
        while True:
            due = self._rings_at = link.next_timeout()
            self._earlier = anyio.Event()
            with anyio.move_on_after(None if due is None else max(0.0, due - time.monotonic())):
                await self._earlier.wait()
                continue
            if due is not None:
                link.ring(due)

    def rearm(self, link: Link) -> None:
        """The link may be due earlier now; from any thread."""
        if not self._bell.is_here:
            # Whoever hears it asks again.
            self._bell.ring()
            return
        due = link.next_timeout()
        if due is not None and (self._rings_at is None or due < self._rings_at):
            self._earlier.set()
