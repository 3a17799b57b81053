"""What the gateway uses of uvicorn beyond its documented interface, in the installed version.

A failure here names what uvicorn has changed, and the module of the gateway to look at before the
upper bound of `uvicorn` in pyproject.toml is raised.
"""

from __future__ import annotations

import asyncio
import inspect
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

from lastword.gateway.front.process import _FrontServer
from lastword.gateway.front.protocols import AbortableHttp, AbortableProtocol, FramedProtocol
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import Callable

HTTP, WEBSOCKET = (
    "gateway/front/protocols.py",
    "gateway/front/protocols.py and gateway/front/protocols.py",
)
CHANGED = "uvicorn {version} has changed {what}: see {where}, and then the bound in pyproject.toml"
PARAMETERS: dict[tuple[type, str], tuple[str, ...]] = {
    (H11Protocol, "__init__"): ("self", "config", "server_state", "app_state", "_loop"),
    (H11Protocol, "connection_made"): ("self", "transport"),
    (H11Protocol, "connection_lost"): ("self", "exc"),
    (H11Protocol, "data_received"): ("self", "data"),
    (H11Protocol, "send_400_response"): ("self", "msg"),
    (WebSocketsSansIOProtocol, "connection_lost"): ("self", "exc"),
    (WebSocketsSansIOProtocol, "handle_connect"): ("self", "event"),
    (WebSocketsSansIOProtocol, "handle_pong"): ("self", "event"),
    (WebSocketsSansIOProtocol, "keepalive_timeout"): ("self",),
    (WebSocketsSansIOProtocol, "send"): ("self", "message"),
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
    (uvicorn.Server, "capture_signals"): ("serve",),
    (uvicorn.Server, "main_loop"): ("_serve",),
}
"""The methods that do nothing for the gateway unless uvicorn's own ones call them."""

OURS = (AbortableHttp, AbortableProtocol, FramedProtocol, _FrontServer)


def _changed(what: str, where: str) -> str:
    return CHANGED.format(version=version("uvicorn"), what=what, where=where)


def _module(of: type) -> str:
    if of is uvicorn.Server:
        return "gateway/front/process.py"
    return HTTP if of is H11Protocol else WEBSOCKET


@every(("of", "name"), PARAMETERS)
def test_a_method_has_the_parameters_that_the_gateway_gives_it(of: type, name: str) -> None:
    message = _changed(f"{of.__name__}.{name}", _module(of))
    method: Callable[..., Any] | None = getattr(of, name, None)
    assert method is not None, message
    assert tuple(inspect.signature(method).parameters) == PARAMETERS[of, name], message


@pytest.mark.parametrize(("of", "name"), CALLERS)
def test_an_overridden_method_is_still_called_by_the_same_callers(of: type, name: str) -> None:
    for caller in CALLERS[of, name]:
        method: Any = getattr(of, caller, None)
        names = () if method is None else method.__code__.co_names
        assert name in names, _changed(f"{of.__name__}.{caller}", _module(of))


def test_every_method_that_the_gateway_overrides_is_in_the_table() -> None:
    of_uvicorn = (H11Protocol, WebSocketsSansIOProtocol, uvicorn.Server)
    overridden = {
        (base, name)
        for ours in OURS
        for name in vars(ours)
        for base in of_uvicorn
        if issubclass(ours, base) and callable(getattr(base, name, None)) and name in vars(base)
    }
    assert overridden - PARAMETERS.keys() == set()


async def _app(scope: Any, receive: Any, send: Any) -> None:
    raise AssertionError


def _fresh(kind: type[Any]) -> Any:
    async def made() -> Any:
        config = uvicorn.Config(_app, ws=FramedProtocol, http=AbortableHttp, lifespan="off")
        config.load()
        return kind(config, ServerState(), {})

    return asyncio.run(made())


def test_a_websocket_has_the_state_that_the_gateway_reads() -> None:
    socket = _fresh(WebSocketsSansIOProtocol)
    expected = {
        "close_sent": False,
        "disconnected": False,
        "handshake_complete": False,
        "last_ping_rtt": 0.0,
        "pending_ping_payload": None,
        "transport": None,
    }
    for name, value in expected.items():
        message = _changed(f"WebSocketsSansIOProtocol.{name}", WEBSOCKET)
        assert vars(socket).get(name, "missing") == value, message
    assert isinstance(socket.loop, asyncio.AbstractEventLoop)
    assert isinstance(socket.queue, asyncio.Queue), _changed("its queue", WEBSOCKET)
    assert isinstance(socket.writable, asyncio.Event), _changed("its flow control", WEBSOCKET)
    assert socket.writable.is_set()
    assert socket.conn.close_rcvd is None
    assert socket.conn.extensions == []


def test_an_http_connection_has_the_state_that_the_gateway_reads_and_replaces() -> None:
    connection = _fresh(H11Protocol)
    for name in ("transport", "scope", "cycle"):
        message = _changed(f"H11Protocol.{name}", HTTP)
        assert vars(connection).get(name, "missing") is None, message
    assert callable(connection.app), _changed("H11Protocol.app", HTTP)
    assert isinstance(connection.loop, asyncio.AbstractEventLoop)
    cycle = inspect.getsource(H11Protocol.handle_events)
    assert "app = self.app" in cycle, _changed("where a request's application comes from", HTTP)
    assert "response_complete" in inspect.getsource(inspect.getmodule(H11Protocol) or H11Protocol)


def test_a_tick_renews_the_date_and_says_when_to_end() -> None:
    async def ticked() -> None:
        server = _FrontServer(uvicorn.Config(_app))
        assert not await server.on_tick(0)
        assert b"date" in dict(server.server_state.default_headers)
        server.end()
        assert await server.on_tick(0)

    asyncio.run(ticked())


def test_a_server_says_that_it_has_started_and_is_ended_by_a_flag() -> None:
    server = uvicorn.Server(uvicorn.Config(_app))
    assert (server.started, server.should_exit) == (False, False)


def test_a_viewer_that_has_left_is_an_os_error() -> None:
    assert issubclass(ClientDisconnected, OSError)
