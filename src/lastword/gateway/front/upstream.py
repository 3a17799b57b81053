"""A viewer's connection to one holder.

Owns the interface of such a connection, and the one to a holder in this process. The one to a
holder of another node is `fleet_sessions.RemoteUpstream`.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from lastword.gateway import wire
from lastword.gateway.viewing.reader import UNREAD_BY_FRONT_BYTES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from lastword.core.protocol.jsonrpc import Frame
    from lastword.gateway.holder.connection import Introduction
    from lastword.gateway.holder.process import Holder
    from lastword.gateway.viewing.render import LogPlace, StreamEvent


class SessionFrames(NamedTuple):
    """Frames of a session with their places in its log."""

    session: str
    events: list[StreamEvent]


Item: TypeAlias = "wire.Lines | wire.Control | bytes | SessionFrames"
"""What a holder sends: frames, a word with its facts, encoded WebSocket frames, or events."""


class Upstream(ABC):
    """A connection to one holder, on behalf of one viewer."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.welcome: dict[str, Any] = {}
        """The agent's answer to `initialize`, and the sessions of the holder."""
        self.unanswered: set[bytes] = set()
        """The ids of the viewer's requests that it has not answered."""
        self.task: asyncio.Task[None] | None = None
        """Passes its frames on to the viewer."""

    @property
    def is_silent(self) -> bool:
        """Return whether it was closed because it did not answer."""
        return False

    @abstractmethod
    def items(self) -> AsyncIterator[Item]:
        """Yield what the holder sends, in its order, until it ends."""

    @property
    @abstractmethod
    def is_closing(self) -> bool:
        """Return whether it takes no more frames."""

    @property
    def is_ready(self) -> bool:
        """Return whether it takes a frame at once."""
        return not self.is_closing

    @abstractmethod
    def send(self, frame: Frame) -> None:
        """Send a frame that has been checked."""

    @abstractmethod
    def answer_first(self) -> None:
        """Have the next attach answered before the past is sent."""

    @abstractmethod
    def resume(self, session_id: str, number: int, place: LogPlace) -> None:
        """Have a session sent from here on; the answer (`wire.RESUMED`) has the number."""

    async def ready(self) -> None:  # noqa: B027 - those that are always ready wait for nothing
        """Wait until it takes more.

        Raises:
            OSError: It has ended.
        """

    @abstractmethod
    def close(self) -> None:
        """Disconnect; what it has sent is still read."""

    @abstractmethod
    def leave(self, code: int, cause: str) -> None:
        """Disconnect, with the reason."""


class LocalUpstream(Upstream):
    """A connection to a holder in this process, and what that has sent but is not read yet."""

    def __init__(self, place: str, holder: Holder, introduction: Introduction) -> None:
        super().__init__(place)
        self._items: deque[tuple[Item, int]] = deque()
        self._bytes = 0
        self._is_closing = False
        self._has_news = asyncio.Event()
        self._has_room = asyncio.Event()
        self._link = holder.connected(introduction, self)

    @classmethod
    async def open(cls, place: str, holder: Holder, introduction: Introduction) -> LocalUpstream:
        """Connect, and wait until the agent has started.

        Raises:
            ConnectionResetError: The holder has ended.
        """
        upstream = cls(place, holder, introduction)
        try:
            failed = await holder.ready()
        except BaseException:  # a viewer that leaves before its agent has started cancels this
            upstream.leave(1006, cause="left")
            raise
        if upstream.is_closing:
            upstream.leave(1006, cause="ended")
            raise ConnectionResetError
        upstream.welcome = holder.welcome(failed)
        return upstream

    # What the holder does.

    def lines(self, frames: list[bytes]) -> None:
        """Write frames."""
        self._put(frames, sum(map(len, frames)))

    def framed(self, blocks: list[bytes]) -> None:
        """Write encoded WebSocket frames."""
        for block in blocks:
            self._put(block, len(block))

    def events(self, session_id: str, events: list[StreamEvent]) -> None:
        """Write frames of a session with their places in its log."""
        self._put(SessionFrames(session_id, events), sum(len(each.frame) for each in events))

    def control(self, word: str, **facts: Any) -> None:
        """Write a word."""
        self._put(wire.Control(word, facts), 0)

    def _put(self, item: Item, size: int) -> None:
        if not self._is_closing:
            self._items.append((item, size))
            self._bytes += size
            self._has_news.set()

    async def drain(self) -> None:
        """Wait until the viewer has read enough.

        Raises:
            ConnectionResetError: It is closed.
        """
        while self._bytes > UNREAD_BY_FRONT_BYTES and not self._is_closing:
            self._has_room.clear()
            await self._has_room.wait()
        if self._is_closing:
            raise ConnectionResetError

    # What both do.

    @property
    def is_closing(self) -> bool:
        """Return whether nothing more is taken."""
        return self._is_closing

    def close(self) -> None:
        """Take no more; what was written can still be read."""
        self._is_closing = True
        self._has_news.set()
        self._has_room.set()

    # What the viewer's link does.

    async def items(self) -> AsyncIterator[Item]:
        """Yield what was written, in its order, until the end."""
        while True:
            while self._items:
                item, size = self._items.popleft()
                self._bytes -= size
                self._has_room.set()
                yield item
            if self._is_closing:
                return
            self._has_news.clear()
            await self._has_news.wait()

    def send(self, frame: Frame) -> None:
        """Send a frame that has been checked."""
        if not self.is_closing:
            self._link.receive(frame)

    def answer_first(self) -> None:
        """Have the next attach answered before the past is sent."""
        self._link.answer_first()

    def resume(self, session_id: str, number: int, place: LogPlace) -> None:
        """Have a session sent from here on."""
        self._link.resume(session_id, number, place)

    def leave(self, code: int, cause: str) -> None:
        """Disconnect, with the reason."""
        if self.task is not None:
            self.task.cancel()
        self._link.close(code, cause)
