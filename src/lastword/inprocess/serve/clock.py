"""The core's clock on the author's event loop.

Owns when the core is called to do what is due: a task sleeps until then, and is woken if an earlier
moment comes up.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from lastword.inprocess.link import HandlerLink
    from lastword.inprocess.serve.waker import Waker


class Clock:
    """Rings when the link says that it is due."""

    def __init__(self, waker: Waker) -> None:
        self._waker = waker
        self._earlier = anyio.Event()
        self._rings_at: float | None = None

    async def keep(self, link: HandlerLink) -> None:
        """Sleep and ring; runs until it is cancelled."""
        while True:
            due = self._rings_at = link.next_timeout()
            self._earlier = anyio.Event()
            with anyio.move_on_after(None if due is None else max(0.0, due - time.monotonic())):
                await self._earlier.wait()
                continue
            if due is not None:
                link.ring(due)

    def rearm(self, link: HandlerLink) -> None:
        """Note that the link may be due earlier now; from any thread."""
        if not self._waker.is_here:
            # Whoever hears it asks again.
            self._waker.ring()
            return
        due = link.next_timeout()
        if due is not None and (self._rings_at is None or due < self._rings_at):
            self._earlier.set()
