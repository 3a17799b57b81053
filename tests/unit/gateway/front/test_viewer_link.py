"""A viewer's link: what is still delivered once the viewer has left, and how long it is kept."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast
from unittest.mock import MagicMock
from weakref import WeakValueDictionary

import pytest

from lastword.core.protocol import jsonrpc
from lastword.gateway.front.http import ViewerStreams
from lastword.gateway.front.tokens import Grant
from lastword.gateway.front.viewer_link import ViewerLink
from lastword.gateway.viewing.reader import ALONE_SECONDS, Role
from tests.kit.patience import fused

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from lastword.core.protocol.jsonrpc import Frame
    from lastword.gateway.front.services import FrontServices


class Holder:
    """A holder at another node, which notes what it is sent."""

    is_closing, is_silent, is_ready = False, False, True

    def __init__(self) -> None:
        self.unanswered: set[bytes] = set()
        self.received: list[str] = []

    async def items(self) -> AsyncIterator[Any]:
        for item in ():
            yield item
        await asyncio.Event().wait()

    async def ready(self) -> None: ...

    def send(self, frame: Frame) -> None:
        self.received.append(str(frame.message.method))

    def leave(self, *_: object) -> None: ...


class Front:
    """A front that finds a session's holder when a test says so."""

    def __init__(self) -> None:
        self.holder = Holder()
        self.is_found = asyncio.Event()
        self.services = SimpleNamespace(
            quality=MagicMock(),
            attach_pace=SimpleNamespace(wait_seconds=lambda _: 0.0),
            checks_paths=False,
            directory=self,
            newest=WeakValueDictionary(),
        )

    async def of_session(self, _session: str, _client: object) -> str:
        await self.is_found.wait()
        return "node:one/h"

    async def open(self, *_: object) -> Holder:
        return self.holder


class Link(ViewerLink):
    def __init__(self, front: Front) -> None:
        super().__init__(cast("FrontServices", front.services), Grant(Role.CONTROLLER))
        self._viewer = "v"
        front.services.newest["v"] = self

    async def send(self, *_: bytes) -> None: ...

    async def close(self, code: int, reason: str) -> None: ...


@pytest.mark.parametrize("returns", [False, True])
@fused
async def test_a_session_is_not_taken_from_the_link_by_which_its_viewer_came_back(
    *, returns: bool
) -> None:
    front = Front()
    link = Link(front)
    params = {"sessionId": "s", "cwd": "/", "mcpServers": []}
    load = jsonrpc.decode(jsonrpc.request(b"1", "session/load", params))
    assert isinstance(load, jsonrpc.Frame)
    await link.receive_frame(load)
    leaving = asyncio.create_task(link.leave())
    await asyncio.sleep(0)
    newer = Link(front) if returns else None
    front.is_found.set()
    await leaving
    assert front.holder.received == ([] if newer else ["session/load"])


@fused
async def test_a_connection_over_http_is_kept_for_a_minute_after_its_last_stream_was_cut() -> None:
    link = ViewerStreams(cast("FrontServices", Front().services), Grant(Role.CONTROLLER))
    stream = link.stream("")
    assert stream is not None
    reading = stream.events(lambda: False)
    await anext(reading)
    stream.left_at -= 2 * ALONE_SECONDS  # it has been open for so long
    assert link.seconds_left == ALONE_SECONDS
    await reading.aclose()
    assert 0 < link.seconds_left <= ALONE_SECONDS
    stream.left_at -= ALONE_SECONDS
    assert link.seconds_left <= 0
