"""Delivery: a viewer's frames on their way to the holders.

Owns their order: the frames of one session are delivered one after the other, and no session waits
for another's. What waits for holders is bounded.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from typing import TYPE_CHECKING

from lastword.core.protocol import acp
from lastword.gateway.viewing.request_ids import read_question_id

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from lastword.core.protocol.jsonrpc import Frame

MAX_FRAMES = 4096
MAX_BYTES = 32 * 1024 * 1024
"""What of a viewer's waits for holders at most."""

ROOM_SECONDS = 1.0
"""How long a frame waits for room among those that wait, before it is refused."""

FINISH_SECONDS = 10.0
"""How long what a viewer has sent may take to be delivered once the viewer has gone."""


def lane_of(frame: Frame) -> str:
    """Return the name of what a frame must not overtake."""
    message = frame.message
    if message.method is None:
        return f"answer {read_question_id(message.request_id)[0]}"
    if message.session_id is not None:
        return f"session {message.session_id}"
    if message.method == "session/new":  # each may be for another holder
        return f"new {(message.request_id or b'').decode(errors='replace')}"
    return message.method if message.method == "session/list" else ""


class Delivery:
    """The frames of one link that wait."""

    def __init__(
        self,
        deliver: Callable[[Frame], Awaitable[None]],
        failed: Callable[[Frame], Awaitable[None]],
    ) -> None:
        """Deliver each frame.

        Args:
            deliver: What delivers one; it takes as long as a holder does.
            failed: What answers one whose delivery has raised an error.
        """
        self._deliver = deliver
        self._failed = failed
        self._lanes: dict[str, deque[Frame]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._frames = self._bytes = 0
        self._has_room = asyncio.Event()

    def is_waiting(self, lane: str) -> bool:
        """Return whether frames of this lane are on their way."""
        return lane in self._lanes

    def _is_full(self, frame: Frame) -> bool:
        is_full = self._frames >= MAX_FRAMES or self._bytes + len(frame.line) > MAX_BYTES
        return is_full and self._frames > 0

    async def put(self, lane: str, frame: Frame) -> bool:
        """Deliver a frame after those of its lane; return whether there was room."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ROOM_SECONDS):
                while self._is_full(frame):
                    self._has_room.clear()
                    await self._has_room.wait()
        if self._is_full(frame):
            return False
        self._add(lane, frame)
        return True

    def _add(self, lane: str, frame: Frame) -> None:
        self._frames += 1
        self._bytes += len(frame.line)
        waiting = self._lanes.get(lane)
        if waiting is not None:
            waiting.append(frame)
            return
        self._lanes[lane] = deque([frame])
        task = asyncio.create_task(self._run(lane))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @property
    def is_busy(self) -> bool:
        """Return whether anything is on its way."""
        return bool(self._lanes)

    def cancel(self, frame: Frame, *, even_alone: bool) -> None:
        """Deliver `$/cancel_request` behind everything that waits, which may be what it names.

        Args:
            frame: The cancel.
            even_alone: Deliver it where nothing waits, too: a holder has not read all it was sent.
        """
        for lane in list(self._lanes) or [""] * even_alone:
            if not self._is_full(frame):
                self._add(lane, frame)

    async def _run(self, lane: str) -> None:
        waiting = self._lanes[lane]
        try:
            while waiting:
                frame = waiting[0]
                try:
                    await self._deliver(frame)
                except Exception as error:  # noqa: BLE001 - the frames behind it are to go on
                    context = {"message": "a frame was not delivered", "exception": error}
                    asyncio.get_running_loop().call_exception_handler(context)
                    await self._failed(frame)
                finally:
                    waiting.popleft()
                    self._frames -= 1
                    self._bytes -= len(frame.line)
                    self._has_room.set()
        finally:
            del self._lanes[lane]

    async def finish(self) -> None:
        """Deliver what was sent before the viewer left, within a bound."""
        tasks = list(self._tasks)
        try:
            if tasks:
                await asyncio.wait(tasks, timeout=FINISH_SECONDS)
        finally:
            for task in tasks:
                task.cancel()


def is_cancel(frame: Frame) -> bool:
    """Return whether a frame cancels a request without naming its session."""
    return frame.message.method == acp.CANCEL_REQUEST and frame.message.session_id is None
