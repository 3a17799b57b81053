"""A viewer's link to a holder at another node of a fleet.

Owns its opening, and what is read from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lastword.gateway import wire
from lastword.gateway.fleet.node_link import BLOCK, FRAME, control_of
from lastword.gateway.front.upstream import SessionFrames, Upstream
from lastword.gateway.viewing.render import events_of, place_facts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from lastword.core.protocol.jsonrpc import Frame
    from lastword.gateway.fleet.node_link import NodeLink
    from lastword.gateway.front.upstream import Item
    from lastword.gateway.holder.connection import Introduction
    from lastword.gateway.viewing.render import LogPlace

MAX_UNSENT_BYTES = 1024 * 1024
"""What is written to a holder that does not read it; more waits in the delivery."""


class RemoteUpstream(Upstream):
    """A link to a holder at another node."""

    def __init__(self, place: str, link: NodeLink) -> None:
        super().__init__(place)
        self._link = link
        self._items = self._read()

    @classmethod
    async def open(
        cls, place: str, holder: str, introduction: Introduction, link: NodeLink
    ) -> RemoteUpstream:
        """Wait for the holder's welcome, which comes once its agent has started.

        Args:
            place: Where the holder is.
            holder: Its name there.
            introduction: Who the viewer is.
            link: A new link to that node.

        Raises:
            OSError: The holder is not running, or the link was lost.
        """
        upstream = cls(place, link)
        try:
            link.control(wire.HELLO, holder=holder, **msgspec.to_builtins(introduction))
            welcome = await anext(upstream._items, None)
        except BaseException:  # a viewer that leaves before its agent has started cancels this
            link.close()
            raise
        if not isinstance(welcome, wire.Control):
            link.close()
            raise ConnectionResetError("the agent's holder has ended")
        upstream.welcome = welcome.facts
        return upstream

    def items(self) -> AsyncIterator[Item]:
        """Yield what the holder sends, in its order, until it ends."""
        return self._items

    async def _read(self) -> AsyncIterator[Item]:
        while items := await self._link.read():
            lines: list[bytes] = []
            for kind, item in items:
                if kind == FRAME:
                    lines.append(item)
                    continue
                if lines:
                    yield lines
                    lines = []
                yield item if kind == BLOCK else _word_of(item)
            if lines:
                yield lines

    @property
    def is_silent(self) -> bool:
        """Whether it was found to answer nothing."""
        return self._link.is_silent

    @property
    def is_closing(self) -> bool:
        """Whether it takes no more."""
        return self._link.is_closing

    @property
    def is_ready(self) -> bool:
        """Whether it takes a frame at once."""
        return not self.is_closing and self._link.unsent_bytes < MAX_UNSENT_BYTES

    async def drain(self) -> None:
        """Wait until it takes more.

        Raises:
            OSError: It has ended.
        """
        await self._link.drain(MAX_UNSENT_BYTES - 1)

    def send(self, frame: Frame) -> None:
        """Send a frame that has been checked."""
        self._link.lines([frame.line])

    def answer_first(self) -> None:
        """Have the next attach answered before the past is sent."""
        self._link.control(wire.ANSWER_FIRST)

    def resume(self, session_id: str, number: int, place: LogPlace) -> None:
        """Have a session sent from here on."""
        facts = place_facts(place)
        self._link.control(wire.RESUME, session=session_id, number=number, **facts)

    def hang_up(self) -> None:
        """Disconnect; what it has sent is still read."""
        self._link.close()

    def close(self, code: int, cause: str) -> None:
        """Disconnect, with the reason."""
        if self.task is not None:
            self.task.cancel()
        self._link.control(wire.LEAVE, code=code, cause=cause)
        self._link.close()


def _word_of(item: bytes) -> Item:
    word, facts = control_of(item)
    if word == wire.EVENTS:
        return SessionFrames(str(facts.get("session")), events_of(facts))
    return wire.Control(word, facts)
