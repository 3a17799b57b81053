"""A viewer's connection to one holder.

Owns its opening, its reading, and the look at a holder that answers nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from lastword.gateway import wire
from lastword.gateway.front.holders import StartError
from lastword.gateway.viewing import refusals
from lastword.gateway.viewing.slow_viewers import UNREAD_BY_FRONT_BYTES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from lastword.gateway.connections import ByteReader, ByteWriter
    from lastword.gateway.front.directory import Directory

LOOK_SECONDS = 5.0
"""A holder that has something to answer is looked at so often, while nothing comes from it."""

AGAIN_SECONDS = 1.0
"""How long one that was silent may take to answer the next connection: its agent has started."""

MAX_UNSENT_BYTES = 1024 * 1024
"""What is written to a holder that does not read it; more waits in the delivery."""


class Upstream:
    """A connection to one holder, on behalf of one viewer."""

    def __init__(self, path: str, reader: ByteReader, writer: ByteWriter) -> None:
        self.path = path
        self.reader = reader
        self.writer = writer
        self.items: AsyncIterator[wire.Lines | wire.Control | bytes] = self._items()
        """What the holder sends, in its order, until it ends."""
        self.welcome: dict[str, Any] = {}
        self.task: asyncio.Task[None] | None = None
        self.unanswered: set[bytes] = set()
        """The ids of the viewer's requests that it has."""
        self.is_silent: bool = False
        """It was found to answer nothing."""
        self._heard = False
        """It has sent something since this was looked at."""
        self._watching: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, path: str, hello: dict[str, Any], directory: Directory) -> Upstream:
        """Connect, and wait for the holder's welcome, which comes once its agent has started.

        Raises:
            OSError: The holder is not running.
            StartError: It does not answer.
        """
        # The reader holds twice its limit at most: what a viewer does not take stays in the log.
        reader, writer = await directory.connect(path, UNREAD_BY_FRONT_BYTES)
        upstream = cls(path, reader, writer)
        try:
            upstream.send(wire.control(wire.HELLO, **hello))
            welcome = await upstream._welcomed(directory)
        except BaseException:  # a viewer that leaves before its agent has started cancels this
            writer.close()
            raise
        if not isinstance(welcome, wire.Control):
            writer.close()
            raise ConnectionResetError("the agent's holder has ended")
        upstream.welcome = welcome.facts
        return upstream

    async def _welcomed(self, directory: Directory) -> wire.Lines | wire.Control | bytes | None:
        first = asyncio.ensure_future(anext(self.items, None))
        try:
            was_silent_before = directory.was_silent(self.path)
            look = AGAIN_SECONDS if was_silent_before else LOOK_SECONDS
            while not (await asyncio.wait((first,), timeout=look))[0]:
                if was_silent_before or await directory.is_silent(self.path):
                    directory.avoid(self.path)
                    raise StartError(refusals.holder_silent(), is_silent=True)
            directory.has_answered(self.path)
            return first.result()
        finally:
            first.cancel()

    @property
    def is_ready(self) -> bool:
        """Return whether it takes a frame at once."""
        transport = self.writer.transport
        return not transport.is_closing() and transport.get_write_buffer_size() < MAX_UNSENT_BYTES

    def watch(self, directory: Directory) -> None:
        """Disconnect from the holder if it answers nothing while it has something to do."""
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._watch(directory))

    async def _watch(self, directory: Directory) -> None:
        while self.unanswered or not self.is_ready:
            self._heard = False
            await asyncio.sleep(LOOK_SECONDS)
            if self.writer.is_closing():
                return
            if not self._heard and await directory.is_silent(self.path) and not self._heard:
                self.is_silent = True
                self.writer.transport.abort()
                return

    async def _items(self) -> AsyncIterator[wire.Lines | wire.Control | bytes]:
        incoming = wire.Incoming()
        while data := await self.reader.read(UNREAD_BY_FRONT_BYTES):
            self._heard = True
            for item in incoming.feed(data):
                yield item

    def send(self, line: bytes) -> None:
        """Write a line."""
        if not self.writer.is_closing():
            self.writer.write(wire.one_line(line) + b"\n")

    async def close(self, code: int, cause: str) -> None:
        """Disconnect, with the reason."""
        for task in (self.task, self._watching):
            if task is not None:
                task.cancel()
        self.send(wire.control(wire.LEAVE, code=code, cause=cause))
        with contextlib.suppress(OSError):
            self.writer.close()
