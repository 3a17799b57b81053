"""Viewers at other nodes of a fleet: their connections to a holder here.

Owns the holder's end of the line protocol (`wire`): who the viewer is, its frames, and what else
another node asks of a holder.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.gateway import wire
from lastword.gateway.holder import answering
from lastword.gateway.holder.connection import (
    Introduction,
    ViewerConnection,
)
from lastword.gateway.viewing import viewer_frames
from lastword.gateway.viewing.event_frames import events_facts, place_of
from lastword.gateway.viewing.reader import CursorError
from lastword.gateway.viewing.render import Form
from lastword.gateway.viewing.slow_viewers import UNREAD_BY_FRONT_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.core.protocol.jsonrpc import Frame
    from lastword.gateway.holder.process import Holder
    from lastword.gateway.viewing.event_frames import LogPlace, StreamEvent


class RemoteOutput:
    """What is written to another node."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        writer.transport.set_write_buffer_limits(UNREAD_BY_FRONT_BYTES)

    def lines(self, frames: list[bytes]) -> None:
        """Write frames, a line each."""
        self._write(b"".join([line for frame in frames for line in (frame, b"\n")]))

    def framed(self, blocks: list[bytes]) -> None:
        """Write encoded WebSocket frames."""
        self._write(b"".join(map(wire.block, blocks)))

    def events(self, session_id: str, events: list[StreamEvent]) -> None:
        """Write frames of a session with their places in its log."""
        self.control(wire.EVENTS, session=session_id, events=events_facts(events))

    def control(self, word: str, **facts: Any) -> None:
        """Write a control line."""
        self._write(wire.control(word, **facts) + b"\n")

    def _write(self, data: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(data)

    async def drain(self) -> None:
        """Wait until the other node has read enough."""
        await self._writer.drain()

    @property
    def is_closing(self) -> bool:
        """Whether nothing more is taken."""
        return self._writer.is_closing()

    def close(self) -> None:
        """Close it once what was written has been sent."""
        with contextlib.suppress(OSError, RuntimeError):
            self._writer.close()


class RemoteViewer:
    """A connection of another node: at first it asks, then it may be a viewer's."""

    def __init__(
        self, holder: Holder, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._holder = holder
        self._reader = reader
        self._out = RemoteOutput(writer)
        self._link: ViewerConnection | None = None
        self._code, self._cause = 1006, "the front is gone"
        self._read: Callable[[bytes], Frame] = viewer_frames.read
        self._ahead: asyncio.Task[bytes] | None = None
        """The next line, waited for while the agent starts."""

    async def run(self) -> None:
        """Serve it until it is closed."""
        try:
            while line := await self._next():
                await self._receive(line.rstrip(b"\r\n"))
        except (OSError, ValueError, asyncio.IncompleteReadError):
            pass
        finally:
            if self._ahead is not None:
                self._ahead.cancel()
            if self._link is not None:
                self._link.close(self._code, self._cause)
            self._out.close()

    async def _next(self) -> bytes:
        ahead, self._ahead = self._ahead, None
        return await (ahead or self._reader.readline())

    async def _receive(self, line: bytes) -> None:
        if line[:1] == wire.CONTROL:
            await self._control(*wire.read_control(line))
        elif self._link is not None:
            try:
                frame = self._read(line)
            except viewer_frames.FrameError as error:
                self._link.send(error.answer)
            else:
                self._link.receive(frame)

    async def _control(self, word: str, facts: dict[str, Any]) -> None:
        link = self._link
        if (word in wire.OF_A_VIEWER) is (link is None):
            return
        if word == wire.HELLO:
            await self._introduce(facts)
        elif word == wire.STATUS:
            self._out.control(wire.STATUS, **self._holder.status())
        elif word in answering.ANSWERED:
            answer = await answering.ANSWERED[word](self._holder.sessions, facts)
            self._out.control(word, **answer)
            await self._out.drain()
        elif link is not None and word == wire.RESUME:
            link.resume(str(facts.get("session")), int(facts.get("number", 0)), _place(facts))
        elif link is not None and word == wire.ANSWER_FIRST:
            link.answer_first()
        elif word == wire.LEAVE:
            code, cause = facts.get("code"), facts.get("cause")
            self._code = code if isinstance(code, int) else 1006
            self._cause = cause if isinstance(cause, str) else ""

    async def _introduce(self, facts: dict[str, Any]) -> None:
        """Welcome the viewer once the agent has started, unless its front leaves before.

        Raises:
            ConnectionResetError: It has left.
            ValueError: It does not say who the viewer is.
        """
        # As trustworthy as the role: only a node of the fleet can connect.
        self._read = viewer_frames.read_checked if facts.get("checked") is True else self._read
        self._link = self._holder.connected(introduction_of(facts), self._out)
        ready = asyncio.create_task(self._holder.ready())
        self._ahead = asyncio.create_task(self._reader.readline())
        try:
            await asyncio.wait((ready, self._ahead), return_when=asyncio.FIRST_COMPLETED)
            if not ready.done() and not self._ahead.result():
                raise ConnectionResetError
            welcome = self._holder.welcome(await ready)
        finally:
            ready.cancel()
        self._out.control(wire.WELCOME, version=wire.VERSION, pid=os.getpid(), **welcome)


def hello_facts(introduction: Introduction) -> dict[str, Any]:
    """Return an introduction as the facts of `wire.HELLO`."""
    facts: dict[str, Any] = msgspec.to_builtins(introduction)
    form = facts.pop("form")
    forms = {each.value: each.value == form for each in Form}
    return facts | forms | {"checked": True}


def introduction_of(facts: dict[str, Any]) -> Introduction:
    """Return the introduction with these facts.

    Raises:
        ValueError: They are none.
    """
    form = next((each for each in Form if facts.get(each.value) is True), Form.LINES)
    return msgspec.convert(facts | {"form": form}, Introduction)


def _place(facts: dict[str, Any]) -> LogPlace | CursorError:
    try:
        return place_of(facts)
    except CursorError as error:
        return error
