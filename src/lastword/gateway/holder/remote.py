"""Viewers at other nodes of a fleet: their links to a holder here.

Owns the holder's end: who the viewer is, and what it sends and is sent.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.gateway import wire
from lastword.gateway.fleet.node_link import BLOCK, FRAME, control_of
from lastword.gateway.holder.connection import Introduction
from lastword.gateway.viewing import frames
from lastword.gateway.viewing.reader import UNREAD_BY_FRONT_BYTES, CursorError
from lastword.gateway.viewing.render import events_facts, place_of

if TYPE_CHECKING:
    from lastword.gateway.fleet.node_link import NodeLink
    from lastword.gateway.holder.connection import ViewerConnection
    from lastword.gateway.holder.process import Holder
    from lastword.gateway.viewing.render import LogPlace, StreamEvent


class RemoteOutput:
    """What is written to another node."""

    def __init__(self, link: NodeLink) -> None:
        self._link = link

    def lines(self, frames: list[bytes]) -> None:
        """Write frames."""
        self._link.write(FRAME, *frames)

    def framed(self, blocks: list[bytes]) -> None:
        """Write encoded WebSocket frames."""
        self._link.write(BLOCK, *blocks)

    def events(self, session_id: str, events: list[StreamEvent]) -> None:
        """Write frames of a session with their places in its log."""
        self.control(wire.EVENTS, session=session_id, events=events_facts(events))

    def control(self, word: str, **facts: Any) -> None:
        """Write a word."""
        self._link.control(word, **facts)

    async def drain(self) -> None:
        """Wait until the other node has taken enough."""
        await self._link.drain(UNREAD_BY_FRONT_BYTES)

    @property
    def is_closing(self) -> bool:
        """Whether nothing more is taken."""
        return self._link.is_closing

    def close(self) -> None:
        """Close it once what was written has been sent."""
        self._link.close()


class RemoteViewer:
    """A viewer at another node."""

    def __init__(self, holder: Holder, link: NodeLink) -> None:
        self._holder = holder
        self._link = link
        self._out = RemoteOutput(link)
        self._code, self._cause = 1006, "the front is gone"

    async def run(self, facts: dict[str, Any]) -> None:
        """Serve it until its link is closed; its introduction has these facts.

        Raises:
            ConnectionResetError: Its link was lost.
            ValueError: They do not say who it is.
        """
        viewer = self._holder.connected(msgspec.convert(facts, Introduction), self._out)
        try:
            items = await self._welcomed()
            while items:
                for kind, item in items:
                    self._receive(viewer, kind, item)
                items = await self._link.read()
        finally:
            viewer.close(self._code, self._cause)

    async def _welcomed(self) -> list[tuple[bytes, bytes]]:
        """Welcome the viewer once the agent has started, unless it leaves before.

        Returns:
            What it sends next; nothing if it has left.
        """
        ready = asyncio.create_task(self._holder.ready())
        ahead = asyncio.create_task(self._link.read())
        try:
            await asyncio.wait((ready, ahead), return_when=asyncio.FIRST_COMPLETED)
            if not ready.done() and not ahead.result():
                return []
            welcome = self._holder.welcome(await ready)
            self._out.control(wire.WELCOME, version=wire.VERSION, pid=os.getpid(), **welcome)
            return await ahead
        finally:
            ready.cancel()
            ahead.cancel()

    def _receive(self, viewer: ViewerConnection, kind: bytes, item: bytes) -> None:
        if kind == FRAME:
            # As trustworthy as the role: only a node of the fleet can open a link.
            try:
                frame = frames.read_checked(item)
            except frames.FrameError as error:
                viewer.send(error.answer)
            else:
                viewer.receive(frame)
            return
        word, facts = control_of(item)
        if word == wire.RESUME:
            viewer.resume(str(facts.get("session")), int(facts.get("number", 0)), _place(facts))
        elif word == wire.ANSWER_FIRST:
            viewer.answer_first()
        elif word == wire.LEAVE:
            code, cause = facts.get("code"), facts.get("cause")
            self._code = code if isinstance(code, int) else 1006
            self._cause = cause if isinstance(cause, str) else ""


def _place(facts: dict[str, Any]) -> LogPlace | CursorError:
    try:
        return place_of(facts)
    except CursorError as error:
        return error
