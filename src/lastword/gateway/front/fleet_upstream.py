"""A viewer's connection to a holder at another node of a fleet, by the line protocol (`wire`).

Owns its opening, its reading, and the look at a holder that answers nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from lastword.gateway import wire
from lastword.gateway.fleet.node_requests import answer_to
from lastword.gateway.front.holders import StartError
from lastword.gateway.front.upstream import SessionFrames, Upstream
from lastword.gateway.holder.remote import hello_facts
from lastword.gateway.viewing import refusals
from lastword.gateway.viewing.event_frames import events_of, place_facts
from lastword.gateway.viewing.slow_viewers import UNREAD_BY_FRONT_BYTES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from lastword.core.protocol.jsonrpc import Frame
    from lastword.gateway.front.fleet_directory import FleetDirectory
    from lastword.gateway.front.upstream import Item
    from lastword.gateway.holder.connection import Introduction
    from lastword.gateway.viewing.event_frames import LogPlace

LOOK_SECONDS = 5.0
"""A holder that has something to answer is looked at so often, while nothing comes from it."""

AGAIN_SECONDS = 1.0
"""How long one that was silent may take to answer the next connection: its agent has started."""

MAX_UNSENT_BYTES = 1024 * 1024
"""What is written to a holder that does not read it; more waits in the delivery."""

SILENT_SECONDS = 8.0
"""A holder that answers nothing for this long hangs."""

SILENT_LOOKS = 2

ANSWER_SECONDS = 10.0
"""How long a holder may take beyond what it was told to wait."""


class RemoteUpstream(Upstream):
    """A connection to a holder at another node."""

    def __init__(
        self,
        place: str,
        directory: FleetDirectory,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        super().__init__(place)
        self._directory = directory
        self._reader = reader
        self._writer = writer
        self._items = self._read()
        self._heard = False
        """It has sent something since this was looked at."""
        self._watching: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls, place: str, introduction: Introduction, directory: FleetDirectory
    ) -> RemoteUpstream:
        """Connect, and wait for the holder's welcome, which comes once its agent has started.

        Raises:
            OSError: The holder is not running.
            StartError: It does not answer.
        """
        # The reader holds twice its limit at most: what a viewer does not take stays in the log.
        reader, writer = await directory.connect(place, UNREAD_BY_FRONT_BYTES)
        upstream = cls(place, directory, reader, writer)
        try:
            upstream._control(wire.HELLO, **hello_facts(introduction))
            welcome = await upstream._welcomed()
        except BaseException:  # a viewer that leaves before its agent has started cancels this
            writer.close()
            raise
        if not isinstance(welcome, wire.Control):
            writer.close()
            raise ConnectionResetError("the agent's holder has ended")
        upstream.welcome = welcome.facts
        return upstream

    async def _welcomed(self) -> Item | None:
        directory = self._directory
        first = asyncio.ensure_future(anext(self._items, None))
        try:
            was_silent_before = directory.was_silent(self.place)
            look = AGAIN_SECONDS if was_silent_before else LOOK_SECONDS
            while not (await asyncio.wait((first,), timeout=look))[0]:
                if was_silent_before or await directory.is_silent(self.place):
                    raise StartError(refusals.holder_silent(), is_silent=True)
            directory.has_answered(self.place)
            return first.result()
        finally:
            first.cancel()

    def items(self) -> AsyncIterator[Item]:
        """Yield what the holder sends, in its order, until it ends."""
        return self._items

    async def _read(self) -> AsyncIterator[Item]:
        incoming = wire.Incoming()
        while data := await self._reader.read(UNREAD_BY_FRONT_BYTES):
            self._heard = True
            for item in incoming.feed(data):
                if isinstance(item, wire.Control) and item.word == wire.EVENTS:
                    yield SessionFrames(str(item.facts.get("session")), events_of(item.facts))
                else:
                    yield item

    @property
    def is_closing(self) -> bool:
        """Whether it takes no more."""
        return self._writer.is_closing()

    @property
    def is_ready(self) -> bool:
        """Whether it takes a frame at once."""
        unsent = self._writer.transport.get_write_buffer_size()
        return not self.is_closing and unsent < MAX_UNSENT_BYTES

    def watch(self) -> None:
        """Disconnect from the holder if it answers nothing while it has something to do."""
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        while self.unanswered or not self.is_ready:
            self._heard = False
            await asyncio.sleep(LOOK_SECONDS)
            if self.is_closing:
                return
            is_silent = not self._heard and await self._directory.is_silent(self.place)
            if is_silent and not self._heard:
                self.is_silent = True
                self._writer.transport.abort()
                return

    async def drain(self) -> None:
        """Wait until it takes more.

        Raises:
            OSError: It has ended.
        """
        await self._writer.drain()

    def send(self, frame: Frame) -> None:
        """Send a frame that has been checked."""
        self._write(wire.one_line(frame.line))

    def answer_first(self) -> None:
        """Have the next attach answered before the past is sent."""
        self._control(wire.ANSWER_FIRST)

    def resume(self, session_id: str, number: int, place: LogPlace) -> None:
        """Have a session sent from here on."""
        self._control(wire.RESUME, session=session_id, number=number, **place_facts(place))

    def _control(self, word: str, **facts: Any) -> None:
        self._write(wire.control(word, **facts))

    def _write(self, line: bytes) -> None:
        if not self.is_closing:
            self._writer.write(line + b"\n")

    def hang_up(self) -> None:
        """Disconnect; what it has sent is still read."""
        self._writer.close()

    def close(self, code: int, cause: str) -> None:
        """Disconnect, with the reason."""
        for task in (self.task, self._watching):
            if task is not None:
                task.cancel()
        self._control(wire.LEAVE, code=code, cause=cause)
        with contextlib.suppress(OSError):
            self._writer.close()


async def remote_request(
    directory: FleetDirectory, place: str, word: str, facts: dict[str, Any]
) -> dict[str, Any] | None:
    """Ask a holder; `None` if it is not running, or its version does not know the word."""
    try:
        reader, writer = await directory.connect(place)
    except OSError:
        return None
    seconds = facts.get("wait_seconds", 0.0) + ANSWER_SECONDS
    return await answer_to(reader, writer, word, facts, seconds)


async def hangs(directory: FleetDirectory, place: str) -> bool:
    """Return whether the holder at a place accepts connections, but answers none."""
    for _ in range(SILENT_LOOKS):  # of which this process may itself have slept through one
        try:
            async with asyncio.timeout(SILENT_SECONDS / SILENT_LOOKS):
                await _ask_status(directory, place)
        except TimeoutError:
            continue
        except BlockingIOError:  # nor does it accept: too many wait for it
            await asyncio.sleep(SILENT_SECONDS / SILENT_LOOKS)
            continue
        except (OSError, ValueError):
            pass
        return False
    return True


async def _ask_status(directory: FleetDirectory, place: str) -> bytes:
    """Return the line with which a holder answers how it is.

    Raises:
        OSError: It is not there.
        ValueError: The line is too long.
    """
    reader, writer = await directory.connect(place)
    try:
        writer.write(wire.control(wire.STATUS) + b"\n")
        return await reader.readline()
    finally:
        writer.close()
