"""What the gateway uses of uvicorn beyond its documented interface, in the installed version.

A failure here names what uvicorn has changed, and the module of the gateway to look at before the
upper bound of `uvicorn` in pyproject.toml is raised.
"""

from __future__ import annotations

import asyncio
import inspect
from importlib.metadata import version
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast
from unittest.mock import AsyncMock, Mock, call

import pytest
import uvicorn
from starlette.websockets import WebSocket, WebSocketState
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

from lastword.gateway.front.process import _FrontServer
from lastword.gateway.front.protocols import (
    TRANSPORT,
    AbortableHttp,
    FramedProtocol,
    ViewerSocket,
    while_it_takes,
)
from lastword.gateway.front.tokens import Grant
from lastword.gateway.viewing import reader
from lastword.gateway.viewing.reader import Role
from tests.kit.patience import fused
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import Callable

PARAMETERS: dict[tuple[type, str], tuple[str, ...]] = {
    (H11Protocol, "__init__"): ("self", "config", "server_state", "app_state", "_loop"),
    (H11Protocol, "connection_made"): ("self", "transport"),
    (H11Protocol, "connection_lost"): ("self", "exc"),
    (H11Protocol, "data_received"): ("self", "data"),
    (H11Protocol, "send_400_response"): ("self", "msg"),
    (WebSocketsSansIOProtocol, "connection_lost"): ("self", "exc"),
    (WebSocketsSansIOProtocol, "data_received"): ("self", "data"),
    (WebSocketsSansIOProtocol, "handle_connect"): ("self", "event"),
    (WebSocketsSansIOProtocol, "handle_pong"): ("self", "event"),
    (WebSocketsSansIOProtocol, "keepalive_timeout"): ("self",),
    (WebSocketsSansIOProtocol, "send"): ("self", "message"),
    (WebSocketsSansIOProtocol, "send_keepalive_ping"): ("self",),
    (uvicorn.Server, "__init__"): ("self", "config"),
    (uvicorn.Server, "capture_signals"): ("self",),
    (uvicorn.Server, "main_loop"): ("self",),
    (uvicorn.Server, "on_tick"): ("self", "counter"),
    (uvicorn.Server, "serve"): ("self", "sockets"),
}
"""The methods that the gateway overrides or calls, and their parameters."""

CALLERS: dict[tuple[type, str], tuple[str, ...]] = {
    (H11Protocol, "send_400_response"): ("handle_events",),
    (WebSocketsSansIOProtocol, "handle_connect"): ("handle_events",),
    (WebSocketsSansIOProtocol, "handle_pong"): ("handle_events",),
    (WebSocketsSansIOProtocol, "keepalive_timeout"): ("send_keepalive_ping",),
    (WebSocketsSansIOProtocol, "send"): ("run_asgi",),
    (WebSocketsSansIOProtocol, "send_keepalive_ping"): ("schedule_ping",),
    (uvicorn.Server, "capture_signals"): ("serve",),
    (uvicorn.Server, "main_loop"): ("_serve",),
}
"""The methods that do nothing for the gateway unless uvicorn's own ones call them."""


def changed(of: type, name: str) -> str:
    where = "process" if of is uvicorn.Server else "protocols"
    return (
        f"uvicorn {version('uvicorn')} has changed {of.__name__}.{name}: see "
        f"gateway/front/{where}.py, and then the bound in pyproject.toml"
    )


@every(("of", "name"), PARAMETERS)
def test_a_method_has_the_parameters_that_the_gateway_gives_it(of: type, name: str) -> None:
    method: Callable[..., Any] | None = getattr(of, name, None)
    assert method is not None, changed(of, name)
    assert tuple(inspect.signature(method).parameters) == PARAMETERS[of, name], changed(of, name)
    for caller in CALLERS.get((of, name), ()):
        calling: Any = getattr(of, caller, None)
        assert calling is not None, changed(of, caller)
        assert name in calling.__code__.co_names, changed(of, caller)


def test_every_method_that_the_gateway_overrides_is_in_the_table() -> None:
    of_uvicorn = (H11Protocol, WebSocketsSansIOProtocol, uvicorn.Server)
    overridden = {
        (base, name)
        for ours in (AbortableHttp, FramedProtocol, _FrontServer)
        for name in vars(ours)
        for base in of_uvicorn
        if issubclass(ours, base) and callable(getattr(base, name, None)) and name in vars(base)
    }
    assert overridden - PARAMETERS.keys() == set()


async def app(scope: Any, receive: Any, send: Any) -> None:
    raise AssertionError


@fused
async def test_a_connection_has_the_state_that_the_gateway_reads_and_replaces() -> None:
    config = uvicorn.Config(app, ws=FramedProtocol, http=AbortableHttp, lifespan="off")
    config.load()
    unset = dict.fromkeys(("transport", "scope", "cycle"))
    of_socket = {
        "close_sent": False,
        "disconnected": False,
        "handshake_complete": False,
        "last_ping_rtt": 0.0,
        "pending_ping_payload": None,
        "ping_timeout": 20.0,
        "pong_timer": None,
        "transport": None,
    }
    for kind, expected in ((WebSocketsSansIOProtocol, of_socket), (H11Protocol, unset)):
        made: Any = kind(config, ServerState(), {})
        for name, value in expected.items():
            assert vars(made).get(name, "missing") == value, changed(kind, name)
        assert isinstance(made.loop, asyncio.AbstractEventLoop)
        if kind is WebSocketsSansIOProtocol:
            assert isinstance(made.queue, asyncio.Queue), changed(kind, "queue")
            assert isinstance(made.writable, asyncio.Event), changed(kind, "writable")
            assert made.writable.is_set()
            assert made.conn.close_rcvd is None
            assert made.conn.extensions == []
        else:
            assert callable(made.app), changed(kind, "app")
    cycle = inspect.getsource(H11Protocol.handle_events)
    assert "app = self.app" in cycle, changed(H11Protocol, "handle_events")
    assert "response_complete" in inspect.getsource(inspect.getmodule(H11Protocol) or H11Protocol)
    assert issubclass(ClientDisconnected, OSError)  # a viewer that has left


@fused
async def test_a_tick_renews_the_date_and_says_when_to_end() -> None:
    server = _FrontServer(uvicorn.Config(app))
    assert (server.started, server.should_exit) == (False, False)
    assert not await server.on_tick(0)
    assert b"date" in dict(server.server_state.default_headers)
    server.end()
    assert await server.on_tick(0)


@fused
async def test_a_server_leaves_new_connections_to_the_next_program_before_it_ends() -> None:
    server = _FrontServer(uvicorn.Config(app))
    server.servers = [listens := Mock()]
    await server.leave_new()
    assert listens.mock_calls == [call.close()]
    assert "self.servers" in inspect.getsource(uvicorn.Server.startup)


@pytest.mark.parametrize("error", [OSError("gone"), RuntimeError("closed")], ids=["cut", "closed"])
@fused
async def test_sending_to_a_socket_whose_viewer_has_just_left_raises_nothing(
    error: Exception,
) -> None:
    send = AsyncMock(side_effect=error)
    websocket = WebSocket({"type": "websocket", "extensions": {}}, AsyncMock(), send)
    services = cast("Any", SimpleNamespace(quality=Mock()))
    socket = ViewerSocket(services, websocket, Grant(Role.OBSERVER, "s", 5), "")
    for act in (lambda: socket.send(b"{}\n"), lambda: socket.close(1001, "gateway_stops")):
        websocket.client_state = websocket.application_state = WebSocketState.CONNECTED
        await act()
    sent = [call.args[0]["type"] for call in send.await_args_list]
    assert sent == ["websocket.send", "websocket.close"]


@fused
async def test_a_missing_pong_ends_a_socket_only_when_nothing_moves_on_it() -> None:
    config = uvicorn.Config(app, ws=FramedProtocol, lifespan="off")
    config.load()
    made: Any = FramedProtocol(config, ServerState(), {})
    made.conn = Mock(parser_exc=None)
    made.conn.data_to_send.return_value = made.conn.events_received.return_value = []
    made.transport = Mock()
    made.transport.is_closing.return_value = False
    made.transport.get_write_buffer_size.side_effect = [300, 300, 200, 200]
    made.send_keepalive_ping()
    made.data_received(b"a part")
    for _ in ("a part has come", "a part has gone"):
        made.keepalive_timeout()
        assert made.pong_timer is not None
    made.conn.fail.assert_not_called()
    made.keepalive_timeout()
    made.conn.fail.assert_called_once_with(1011, "keepalive ping timeout")


@fused
async def test_a_send_gives_up_only_when_the_other_end_takes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reader, "STALL_SECONDS", 0.01)
    transport = Mock()
    transport.get_write_buffer_size.side_effect = [300, 200, 200, 100, 100, 100]
    send = AsyncMock(side_effect=asyncio.Event().wait)
    with pytest.raises(TimeoutError):
        await while_it_takes({"extensions": {TRANSPORT: transport}}, send)
    assert send.await_count == 3
