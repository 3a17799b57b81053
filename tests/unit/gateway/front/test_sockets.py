"""A viewer's WebSocket: one that closes in the middle of a send is not an error."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast
from unittest.mock import Mock

import pytest
from starlette.websockets import WebSocket, WebSocketState

from lastword.gateway.front.protocols import ViewerSocket
from lastword.gateway.front.tokens import Grant
from lastword.gateway.viewing.reader import Role

if TYPE_CHECKING:
    from starlette.types import Message


@pytest.mark.parametrize("error", [OSError("gone"), RuntimeError("closed")], ids=["cut", "closed"])
def test_sending_to_a_socket_whose_viewer_has_just_left_raises_nothing(
    error: Exception,
) -> None:
    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message)
        raise error

    async def play() -> None:
        for act in (lambda: socket.send(b"{}\n"), lambda: socket.close(1001, "gateway_stops")):
            websocket.client_state = websocket.application_state = WebSocketState.CONNECTED
            await act()

    sent: list[Message] = []
    websocket = WebSocket({"type": "websocket", "extensions": {}}, receive, send)
    services = cast("Any", SimpleNamespace(quality=Mock()))
    socket = ViewerSocket(services, websocket, Grant(Role.OBSERVER, "s", 5), "")
    asyncio.run(play())
    assert [message["type"] for message in sent] == ["websocket.send", "websocket.close"]
