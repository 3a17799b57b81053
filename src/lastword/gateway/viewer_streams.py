"""A viewer over plain HTTP: what it posts, and the streams of events on which it is answered.

Owns one connection of ACP's streamable HTTP transport: a queue for the connection's own stream and
one for each session's, which of them a frame belongs on, and what a frame becomes as an event. What
nobody reads is not pulled from the log: a full queue holds its holder's connection up.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from lastword.core.protocol import acp, jsonrpc
from lastword.gateway.viewer_link import ViewerLink

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from lastword.core.protocol.jsonrpc import Frame
    from lastword.gateway.front import Front
    from lastword.gateway.tokens import Grant

QUEUED = 256
"""Frames that wait on a stream at most."""

MAX_STREAMS = 64
"""Sessions whose streams are kept for one connection."""

COMMENT_SECONDS = 15.0
"""A comment is sent so often, as the official servers do: proxies close what is silent."""

ALONE_SECONDS = 60.0
"""A connection that no stream is open for is over after so long."""

ON_CONNECTION = frozenset({"session/new", acp.LOAD, acp.FORK, "session/list", "authenticate"})
"""Requests that are answered on the connection's stream: no session's may be open before."""


class SessionEvents:
    """One stream: frames that wait for whoever reads it."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[bytes] = asyncio.Queue(QUEUED)
        self._reader: object = None

    async def put(self, line: bytes) -> None:
        """Queue a frame, once there is room."""
        await self._queue.put(line)

    async def events(self) -> AsyncIterator[bytes]:
        """The events for a reader, until another takes its place."""
        self._reader = reader = object()
        yield b": open\n\n"
        while self._reader is reader:
            try:
                async with asyncio.timeout(COMMENT_SECONDS):
                    line = await self._queue.get()
            except TimeoutError:
                yield b": still here\n\n"
                continue
            yield b"data: " + line + b"\n\n"

    @property
    def is_read(self) -> bool:
        """Does somebody read it?"""
        return self._reader is not None

    def left(self) -> None:
        """Its reader has gone."""
        self._reader = None


class ViewerStreams(ViewerLink):
    """One connection of one viewer, over requests and streams."""

    def __init__(self, front: Front, grant: Grant) -> None:
        super().__init__(front, grant)
        self.is_over = asyncio.Event()
        self._own = SessionEvents()
        self._sessions: dict[str, SessionEvents] = {}
        self._asked: dict[bytes, str] = {}
        """For each open request the session on whose stream it is answered; empty for our own."""

    def stream(self, session_id: str) -> SessionEvents | None:
        """A session's stream, or the connection's own; `None` where there are too many."""
        if not session_id:
            return self._own
        if session_id not in self._sessions and len(self._sessions) >= MAX_STREAMS:
            return None
        return self._sessions.setdefault(session_id, SessionEvents())

    @property
    def is_read(self) -> bool:
        """Is a stream of it open?"""
        return self._own.is_read or any(stream.is_read for stream in self._sessions.values())

    async def post(self, line: bytes) -> None:
        """Take a frame of the viewer's; its answer comes on a stream."""
        frame = jsonrpc.decode(line)
        if isinstance(frame, jsonrpc.Frame) and frame.message.method is not None:
            request_id = frame.message.request_id
            if request_id is not None:
                own = frame.message.method in ON_CONNECTION
                self._asked[request_id] = "" if own else frame.message.session_id or ""
        await self.take(line)

    def answers_first(self, frame: Frame) -> bool:
        """Some clients open a session's stream only once the answer has named it."""
        stream = self._sessions.get(frame.message.session_id or "")
        loads = frame.message.method == acp.LOAD
        return loads and (stream is None or not stream.is_read)

    async def send(self, *lines: bytes) -> None:
        """Queue frames on the streams where they belong."""
        for line in lines:
            await self._queue(line)

    async def _queue(self, line: bytes) -> None:
        frame = jsonrpc.decode(line)
        session_id = ""
        if isinstance(frame, jsonrpc.Frame):
            if frame.message.method is None:
                session_id = self._asked.pop(frame.message.request_id or b"", "")
            elif frame.message.method != acp.CANCEL_REQUEST:
                session_id = frame.message.session_id or ""
            else:
                session_id = next(iter(self._sessions), "")
        stream = self.stream(session_id)
        if stream is not None:
            await stream.put(line)

    async def close(self, code: int, reason: str) -> None:
        """End the connection, with its streams."""
        self.code, self.cause = code, reason
        self.is_over.set()

    async def wait_until_over(self) -> None:
        """Wait until it is closed, or until nobody has read a stream of it for a while."""
        while not self.is_over.is_set():
            try:
                async with asyncio.timeout(ALONE_SECONDS):
                    await self.is_over.wait()
            except TimeoutError:
                if not self.is_read:
                    await self.close(1006, "no stream is open")
        await self.leave()
