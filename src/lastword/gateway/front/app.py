"""The front: accepts viewers over WebSocket or HTTP, and connects them to the holders.

Owns the routes and the life of each socket. It knows only which holder has which session;
everything else is the holder's.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute

from lastword._version import __version__
from lastword.core.protocol import jsonrpc
from lastword.gateway.api.openapi import OPERATIONS
from lastword.gateway.api.requests import ProblemError, answer, problem
from lastword.gateway.api.shapes import Healthy
from lastword.gateway.front import web_page
from lastword.gateway.front.doorkeeper import (
    PROTOCOL,
    Refusal,
    Requester,
    for_session,
    peer_of,
    too_many,
)
from lastword.gateway.front.events_api import EventsApi
from lastword.gateway.front.http import HttpTransport
from lastword.gateway.front.protocols import ViewerSocket, tell_of_pings
from lastword.gateway.front.push_api import PushApi
from lastword.gateway.front.tokens import Slots, socket_shares
from lastword.gateway.front.web_page import PageSettings, refused
from lastword.gateway.viewing.reader import Role
from lastword.gateway.wire import is_loopback
from lastword.record.paths import store_path
from lastword.web.files import GUARDED, SAFE, answer_files

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.requests import HTTPConnection, Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
    from starlette.websockets import WebSocket

    from lastword.gateway.api.openapi import Operation
    from lastword.gateway.front.doorkeeper import Doorkeeper
    from lastword.gateway.front.services import FrontServices, Quality
    from lastword.gateway.settings.values import GatewaySettings

CONNECTION_HEADER = "acp-connection-id"
NODE_COOKIE = "lastword_node"
"""Lets a proxy in front of several gateways keep a viewer at one of them."""

LOOK_SECONDS = 30.0
"""How often a token is checked for its expiry."""


class Front:
    """The application, and the open sockets."""

    def __init__(
        self, services: FrontServices, doorkeeper: Doorkeeper, settings: GatewaySettings
    ) -> None:
        """Serve sessions to those whom the doorkeeper admits."""
        self._services = services
        self.quality: Quality = services.quality
        self._doorkeeper = doorkeeper
        self._path = settings.path
        self._cookie = f"{NODE_COOKIE}={services.node}; Path=/; HttpOnly; SameSite=Lax"
        self._transport = HttpTransport(
            self._services,
            doorkeeper,
            frame_limit_bytes=settings.frame_limit_bytes,
            cookie=self._cookie,
        )
        self._sockets: set[ViewerSocket] = set()
        self._slots = Slots(socket_shares(settings.holder.viewers))
        record = settings.holder.record_folder and store_path(settings.holder.record_folder)
        self._events = EventsApi(services.source, doorkeeper, self.quality.measured, record)
        self._push = PushApi(services.push_folder, services.shared_subscriptions)
        self._open = {
            "health": self._health,
            "ready": self.quality.ready,
            "metrics": self._metrics,
        }
        """The handlers of requests without a token; `_metrics` itself checks who needs one."""
        by_path: dict[str, dict[str, Operation]] = {}
        for each in OPERATIONS:
            path = each.path.replace("{session_id}", "{session_id:path}")
            by_path.setdefault(path, {})[each.method] = each
        routes = [
            WebSocketRoute(self._path, self._acp),
            Route(self._path, self._http, methods=["GET", "POST", "DELETE"]),
            WebSocketRoute("/v1/sessions/{session_id:path}/ws", self._acp),
            *(Route(path, self._endpoint(own), methods=[*own]) for path, own in by_path.items()),
            Route("/", self._home, methods=["GET"]),
            Route(web_page.PATH, self._answer, methods=["GET", "POST"]),
            Route("/page/settings.json", self._settings, methods=["GET"]),
            Route("/page/{name}", web_page.asset, methods=["GET"]),
            WebSocketRoute("/{path:path}", self._nowhere),
        ]
        handlers = {
            HTTPException: _not_here,
            ProblemError: _refused,
            ClientDisconnect: _left,
            Exception: _failed,
        }
        app = Starlette(routes=routes, exception_handlers=handlers)  # type: ignore[arg-type]
        app.router.redirect_slashes = False  # it redirects without a token, to any `Host`
        self.app: ASGIApp = guarded(app)

    async def close(self, code: int, reason: str) -> None:
        """Close every viewer's socket, and every stream."""
        self.quality.readiness.shut_down()
        self._events.close()
        await self._transport.close(code, reason)
        await asyncio.gather(*(socket.close(code, reason) for socket in list(self._sockets)))

    async def _acp(self, websocket: WebSocket) -> None:
        """Serve a viewer's sessions, or the one that the URL names.

        Only there does an unknown session close the socket.
        """
        session_id = websocket.path_params.get("session_id")
        try:
            grant = self._doorkeeper.admit(_requester(websocket))
            if session_id is not None:
                for_session(grant, session_id)
        except Refusal as refusal:
            await _refuse(websocket, refusal)
            return
        if session_id is not None and not await self._services.directory.exists(session_id):
            message = "There is no such session on this gateway."
            await _refuse(websocket, Refusal(404, 4404, "session_unknown", message))
            return
        slot = self._slots.acquire(grant, peer_of(websocket))
        if slot is None:
            await _refuse(websocket, too_many("viewers"))
            return
        socket = ViewerSocket(self._services, websocket, grant, session_id or "")
        headers = [
            (CONNECTION_HEADER.encode(), socket.connection_id.encode()),
            (b"set-cookie", self._cookie.encode()),
        ]
        offered = websocket.scope.get("subprotocols", [])
        self._sockets.add(socket)
        tell_of_pings(websocket.scope, self.quality.measured)
        ending = None
        try:
            await websocket.accept(PROTOCOL if PROTOCOL in offered else None, headers)
            if grant.expires:  # only now: a socket that is not accepted yet cannot be closed
                ending = asyncio.create_task(self._close_in_time(socket))
            await socket.run()
        finally:
            if ending is not None:
                ending.cancel()
            self._slots.release(slot)
            self._sockets.discard(socket)
            self.quality.measured.close_link(socket.quality, socket.code, socket.cause)

    @staticmethod
    async def _nowhere(websocket: WebSocket) -> None:
        """Refuse an upgrade at an unknown path: Starlette's own answer would be 403."""
        message = f"There is nothing at {websocket.url.path[:200]}. See the gateway's --path."
        await _refuse(websocket, Refusal(404, 4404, "not_found", message))

    async def _close_in_time(self, socket: ViewerSocket) -> None:
        """Close a socket when its token expires, by the time of day: a machine may sleep."""
        while not self._doorkeeper.has_expired(socket.grant):
            left = self._doorkeeper.seconds_left(socket.grant)
            await asyncio.sleep(min(left, LOOK_SECONDS))
        await socket.close(4401, "unauthorized")

    def _endpoint(
        self, operations: Mapping[str, Operation]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Return what answers each method of a path by its operation; `HEAD` by that of `GET`.

        Operations without a token still do not answer the pages of other sites.
        """
        handlers: dict[str, Callable[..., Awaitable[Response]]] = {}
        for method, operation in operations.items():
            name = operation.handler
            api = self._push if hasattr(self._push, name) else self._events
            handlers[method] = getattr(api, name) if operation.needs_token else self._open[name]

        async def answered(request: Request) -> Response:
            method = "GET" if request.method == "HEAD" else request.method
            requester = _requester(request)
            if operations[method].needs_token:
                return await handlers[method](request, self._doorkeeper.admit(requester))
            self._doorkeeper.look_at_site(requester)
            return await handlers[method](request)

        return answered

    async def _home(self, request: Request) -> Response:
        """Serve the page, or a refusal as a page."""
        try:
            if "code" in request.query_params:
                return await web_page.log_in(request, _requester(request), self._doorkeeper)
            self._doorkeeper.admit(_requester(request))
        except Refusal as refusal:
            return refused(request, refusal)
        return web_page.page(request)

    async def _answer(self, request: Request) -> Response:
        """Answer a question by a code, or serve the page for that."""
        requester = _requester(request)
        if request.method == "POST":
            source = self._services.source
            return await web_page.post_answer(request, requester, source, self._doorkeeper)
        self._doorkeeper.look_at_place(requester)
        # This page sends a code on a click; it has nothing about a session.
        headers = SAFE | {"cache-control": "no-store"}
        return Response(answer_files()["answer.html"].body, 200, headers, "text/html")

    async def _settings(self, request: Request) -> Response:
        grant = self._doorkeeper.admit(_requester(request))
        opens = grant.role is Role.CONTROLLER and not grant.session
        return answer(
            PageSettings(
                path=self._path,
                root=self._services.root if opens else "",
                role=grant.role.value,
                version=__version__,
            )
        )

    @staticmethod
    async def _health(_: Request) -> Response:
        return answer(Healthy())

    async def _metrics(self, request: Request) -> Response:
        requester = _requester(request)
        if self.quality.may_read(requester, is_local=is_loopback(requester.peer)):
            self._doorkeeper.look_at_place(requester)
        else:
            for_session(self._doorkeeper.admit(requester), "")
        return await self.quality.metrics()

    async def _http(self, request: Request) -> Response:
        return await self._transport.answer(request, self._doorkeeper.admit(_requester(request)))


def guarded(app: ASGIApp) -> ASGIApp:
    """Return the application with the headers that protect every answer, refusals included."""

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            if message["type"] in {"http.response.start", "websocket.http.response.start"}:
                headers = MutableHeaders(raw=message["headers"])
                for name, value in GUARDED.items():
                    headers[name] = value
            await send(message)

        await app(scope, receive, sent)

    return answered


def _requester(connection: HTTPConnection) -> Requester:
    return Requester(
        peer=peer_of(connection),
        headers={key.lower(): value for key, value in connection.headers.items()},
        subprotocols=connection.scope.get("subprotocols", []),
        cookies=connection.cookies,
    )


async def _refused(_: HTTPConnection, error: ProblemError) -> Response:
    """Refuse a request, in the shape of every refusal."""
    return problem(error.status, error.reason, str(error), error.headers)


async def _not_here(_: Request, error: HTTPException) -> Response:
    """Refuse an unknown path, in the shape of every refusal."""
    if error.status_code == 405:  # noqa: PLR2004
        message = "This path does not support that method."
        return problem(405, "method_not_allowed", message, error.headers)
    message = "There is nothing at this path. /v1/openapi.json lists the paths."
    return problem(error.status_code, "not_found", message, error.headers)


async def _left(_: Request, __: Exception) -> Response:
    """End a request whose sender left in the middle of its body: nobody reads the answer."""
    return Response(status_code=400)


async def _failed(_: Request, __: Exception) -> Response:
    message = "The gateway failed to answer this; its stderr has the details. Report it as a bug."
    return problem(500, "internal", message)


async def _refuse(websocket: WebSocket, refusal: Refusal) -> None:
    """Refuse browsers by a close code, since they cannot see a failed upgrade; others by status."""
    if "origin" in websocket.headers:
        offered = websocket.scope.get("subprotocols", [])
        await websocket.accept(PROTOCOL if PROTOCOL in offered else None)
        reason = {"reason": refusal.reason, "message": str(refusal)}
        if refusal.retry_after:
            reason["retry"] = refusal.retry_after  # type: ignore[assignment]
        text = jsonrpc.dumps(reason).decode()
        fits = len(text.encode()) <= MAX_REASON
        await websocket.close(refusal.code, text if fits else refusal.reason)
        return
    await websocket.send_denial_response(await _refused(websocket, refusal))


MAX_REASON = 123
"""The maximum length of a close frame's reason (RFC 6455, 5.5: 125 bytes with the code)."""
