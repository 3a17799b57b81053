"""Viewers at other nodes of a fleet: their links to a holder here.

Owns the holder's end: who the viewer is, and what it sends and is sent.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.gateway import wire
from lastword.gateway.fleet.node_link import FRAME, control_of
from lastword.gateway.holder.connection import Introduction
from lastword.gateway.viewing import frames
from lastword.gateway.viewing.reader import CursorError
from lastword.gateway.viewing.render import place_of

if TYPE_CHECKING:
    from lastword.gateway.fleet.node_link import NodeLink
    from lastword.gateway.holder.connection import ViewerConnection
    from lastword.gateway.holder.process import Holder
    from lastword.gateway.viewing.render import LogPlace


class RemoteViewer:
    """A viewer at another node."""

    def __init__(self, holder: Holder, link: NodeLink) -> None:
        self._holder = holder
        self._link = link
        self._code, self._cause = 1006, "the front is gone"

    async def run(self, facts: dict[str, Any]) -> None:
        """Serve it until its link is closed; its introduction has these facts.

        Raises:
            ConnectionResetError: Its link was lost.
            ValueError: They do not say who it is.
        """
        viewer = self._holder.connected(msgspec.convert(facts, Introduction), self._link)
        try:
            # The viewer is welcomed once the agent has started, unless it leaves before.
            ready = asyncio.create_task(self._holder.ready())
            ahead = asyncio.create_task(self._link.read())
            items: list[tuple[bytes, bytes]] = []
            try:
                await asyncio.wait((ready, ahead), return_when=asyncio.FIRST_COMPLETED)
                if ready.done() or ahead.result():
                    self._link.control(wire.WELCOME, **self._holder.welcome(await ready))
                    items = await ahead
            finally:
                ready.cancel()
                ahead.cancel()
            while items:
                for kind, item in items:
                    self._receive(viewer, kind, item)
                items = await self._link.read()
        finally:
            viewer.close(self._code, self._cause)

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
            place: LogPlace | CursorError
            try:
                place = place_of(facts)
            except CursorError as error:
                place = error
            viewer.resume(str(facts.get("session")), int(facts.get("number", 0)), place)
        elif word == wire.ANSWER_FIRST:
            viewer.answer_first()
        elif word == wire.LEAVE:
            code, cause = facts.get("code"), facts.get("cause")
            self._code = code if isinstance(code, int) else 1006
            self._cause = cause if isinstance(cause, str) else ""
