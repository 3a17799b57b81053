"""Waking a task from any thread.

Owns one event that a handler's own thread may set, on asyncio and on trio alike.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections import deque
from typing import TYPE_CHECKING, Self

import anyio

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

_DRAIN_BYTES = 4096


class Waker:
    """A signal that anything may send, for the one task that waits."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._calls: deque[Callable[[], object]] = deque()
        self._rung = anyio.Event()
        self._near, self._far = socket.socketpair()
        for end in (self._near, self._far):
            end.settimeout(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._near.close()
        self._far.close()

    @property
    def is_here(self) -> bool:
        """Return whether this is the event loop's own thread."""
        return threading.get_ident() == self._thread

    def ring(self) -> None:
        """Wake the task that waits; never blocks."""
        if self.is_here:
            self._rung.set()
            return
        # A full socket is a waker that rings already; nobody hears a closed one.
        with contextlib.suppress(OSError):
            self._far.send(b"!")

    def call_soon(self, call: Callable[[], object]) -> None:
        """Schedule a call in the event loop; from any thread."""
        self._calls.append(call)
        with contextlib.suppress(OSError):
            self._far.send(b"!")

    async def listen(self) -> None:
        """Listen for other threads; runs until it is cancelled."""
        while True:
            await anyio.wait_readable(self._near)
            with contextlib.suppress(BlockingIOError):
                self._near.recv(_DRAIN_BYTES)
            while self._calls:
                self._calls.popleft()()
            self._rung.set()

    async def wait(self) -> None:
        await self._rung.wait()
        self._rung = anyio.Event()
