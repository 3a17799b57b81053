"""The front: accepts viewers over WebSocket or HTTP, and connects them to the holders.

Owns the routes and the life of each socket. It knows only which holder has which session;
everything else is the holder's, so a front can be replaced at any moment.
"""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute

from lastword._version import __version__
from lastword.core.protocol import jsonrpc
from lastword.gateway.api.handlers import EventsApi
from lastword.gateway.api.openapi import OPERATIONS
from lastword.gateway.api.requests import ProblemError, answer, problem
from lastword.gateway.api.shapes import Healthy
from lastword.gateway.front.doorkeeper import (
    PROTOCOL,
    Asked,
    Refusal,
    for_session,
    is_loopback,
    too_many,
)
from lastword.gateway.front.framed_protocol import tell_of_pings
from lastword.gateway.front.greetings import Greetings
from lastword.gateway.front.http import HttpTransport
from lastword.gateway.front.limits import Rate, RateLimiter, Shares, Slots
from lastword.gateway.front.socket import ViewerSocket
from lastword.gateway.front.web_page import PageSettings, WebPage, refused
from lastword.gateway.quality.service import Quality, QualityOptions
from lastword.gateway.viewing.attachment import Role
from lastword.web.files import GUARDED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import HTTPConnection, Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
    from starlette.websockets import WebSocket

    from lastword.gateway.api.openapi import Operation
    from lastword.gateway.front.doorkeeper import Doorkeeper
    from lastword.gateway.front.holders import Holders
    from lastword.gateway.front.tokens import Grant, Keeper

CONNECTION_HEADER = "acp-connection-id"
NODE_COOKIE = "lastword_node"

ATTACHES = Rate(per_second=50, burst=500)
"""How often sessions may be attached and listed over one link of the owner's."""

MIN_GUESTS = 64
"""Sockets of one guest's token, at most, where `--viewers` does not allow more."""


class FrontOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a front.

    Attributes:
        root: sessions work in this folder or below it.
        path: the path of ACP's own transport.
        node: the value of its cookie, for a proxy in front of several.
        frame_limit_bytes: the maximum size of a viewer's frame.
        viewers: the maximum number of viewers of one session.
        quality: what `/readyz` and `/metrics` look at.
        record: the file that `lastword run` records to; empty for none.
    """

    root: str
    path: str = "/acp"
    node: str = "local"
    frame_limit_bytes: int = 16 * 1024 * 1024
    viewers: int = 64
    quality: QualityOptions = QualityOptions()
    record: str = ""


class Front:
    """The application, and the open sockets."""

    def __init__(
        self, holders: Holders, keeper: Keeper, doorkeeper: Doorkeeper, options: FrontOptions
    ) -> None:
        """Serve the holders' sessions to those whom the doorkeeper admits."""
        self.holders = holders
        self.keeper = keeper
        self.root: str = os.path.realpath(options.root)
        self.greetings: Greetings = Greetings(holders)
        shares = socket_shares(options.viewers)
        all_come_back = Rate(per_second=4, burst=4 * shares.of_token)
        self.guest_pace: RateLimiter = RateLimiter(all_come_back, time.monotonic)
        """How often sessions may be attached and listed with one guest's token."""
        self.attach_pace: RateLimiter = RateLimiter(ATTACHES, time.monotonic)
        self._doorkeeper = doorkeeper
        self._path = options.path
        self._page = WebPage(doorkeeper)
        self._cookie = f"{NODE_COOKIE}={options.node}; Path=/; HttpOnly; SameSite=Lax"
        self._transport = HttpTransport(
            self, doorkeeper, frame_limit_bytes=options.frame_limit_bytes, cookie=self._cookie
        )
        self._sockets: set[ViewerSocket] = set()
        self._slots = Slots(shares)
        self.quality: Quality = Quality(holders, options.quality)
        self._events = EventsApi(holders, doorkeeper, self.quality.measured, options.record)
        self._open = {
            "health": self._health,
            "ready": self.quality.ready,
            "metrics": self._metrics,
        }
        """What is answered without a token, or says itself who needs one."""
        self.app: ASGIApp = guarded(self._application())

    def _application(self) -> Starlette:
        return Starlette(
            routes=[
                WebSocketRoute(self._path, self._acp),
                Route(self._path, self._http, methods=["GET", "POST", "DELETE"]),
                WebSocketRoute("/v1/sessions/{session_id:path}/ws", self._session),
                *(self._route(each) for each in OPERATIONS),
                Route("/", self._home, methods=["GET"]),
                Route("/page/settings.json", self._settings, methods=["GET"]),
                Route("/page/{name}", self._page.asset, methods=["GET"]),
                WebSocketRoute("/{path:path}", self._nowhere),
            ],
            exception_handlers={
                HTTPException: _not_here,  # type: ignore[dict-item]
                ClientDisconnect: _left,
                Exception: _failed,
            },
        )

    async def close(self, code: int, reason: str) -> None:
        """Close every viewer's socket, and every stream."""
        self.quality.readiness.shut_down()
        self._events.close()
        await self._transport.close(code, reason)
        await asyncio.gather(*(socket.close(code, reason) for socket in list(self._sockets)))

    async def _acp(self, websocket: WebSocket) -> None:
        try:
            grant = self._doorkeeper.admit(_asked(websocket))
        except Refusal as refusal:
            await _refuse(websocket, refusal)
            return
        await self._serve(websocket, grant, "")

    async def _session(self, websocket: WebSocket) -> None:
        """Serve one session by its URL: only here does an unknown session close the socket."""
        session_id = websocket.path_params["session_id"]
        try:
            grant = self._doorkeeper.admit(_asked(websocket))
            for_session(grant, session_id)
            self._look_for(session_id)
        except Refusal as refusal:
            await _refuse(websocket, refusal)
            return
        await self._serve(websocket, grant, session_id)

    @staticmethod
    async def _nowhere(websocket: WebSocket) -> None:
        """Refuse an upgrade at an unknown path: Starlette's own answer would be 403."""
        said = f"There is nothing at {websocket.url.path[:200]}. See the gateway's --path."
        await _refuse(websocket, Refusal(404, 4404, "not_found", said))

    def _look_for(self, session_id: str) -> None:
        if not self.holders.is_known(session_id):
            said = "There is no such session on this gateway."
            raise Refusal(404, 4404, "session_unknown", said)

    async def _serve(self, websocket: WebSocket, grant: Grant, session_id: str) -> None:
        slot = self._slots.acquire(grant, _peer(websocket))
        if slot is None:
            await _refuse(websocket, too_many("viewers"))
            return
        socket = ViewerSocket(self, websocket, grant, session_id)
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
            if grant.expires:  # only now: what is not accepted yet cannot be closed
                ending = asyncio.create_task(self._close_in_time(socket))
            await socket.run()
        finally:
            if ending is not None:
                ending.cancel()
            self._slots.release(slot)
            self._sockets.discard(socket)
            self.quality.measured.closed(socket.met, socket.code, socket.cause)

    async def _close_in_time(self, socket: ViewerSocket) -> None:
        """Close a socket when the token with which it was opened expires."""
        await self._doorkeeper.wait_for_end(socket.grant)
        await socket.close(4401, "unauthorized")

    def _route(self, operation: Operation) -> Route:
        """Return the path of an operation of the events API."""
        path = operation.path.replace("{session_id}", "{session_id:path}")
        if not operation.needs_token:
            return Route(path, self._openly(operation.handler), methods=[operation.method])
        handler = getattr(self._events, operation.handler)

        async def answered(request: Request) -> Response:
            try:
                grant = self._doorkeeper.admit(_asked(request))
                return await handler(request, grant)  # type: ignore[no-any-return]
            except Refusal as refusal:
                return _answer_of(refusal)
            except ProblemError as refused:
                return refused.response()

        return Route(path, answered, methods=[operation.method])

    def _openly(self, name: str) -> Callable[[Request], Awaitable[Response]]:
        """Return a handler that needs no token, but does not answer pages of other sites."""

        async def answered(request: Request) -> Response:
            try:
                self._doorkeeper.look_at_site(_asked(request))
                return await self._open[name](request)
            except Refusal as refusal:
                return _answer_of(refusal)

        return answered

    async def sessions(self, grant: Grant) -> list[dict[str, Any]]:
        """Return the sessions that the requester may see."""
        found: list[dict[str, Any]] = []
        for status in await self.holders.statuses():
            found += status.get("sessions", [])
        return [each for each in found if grant.session in {"", each.get("sessionId")}]

    async def _home(self, request: Request) -> Response:
        """Serve the page, or the reason why not."""
        try:
            if "code" in request.query_params:
                return self._page.log_in(request, _asked(request))
            self._doorkeeper.admit(_asked(request))
        except Refusal as refusal:
            return refused(refusal)
        return self._page.page(request)

    async def _settings(self, request: Request) -> Response:
        try:
            grant = self._doorkeeper.admit(_asked(request))
        except Refusal as refusal:
            return _answer_of(refusal)
        opens = grant.role is Role.CONTROLLER and not grant.session
        return answer(
            PageSettings(
                path=self._path,
                root=self.root if opens else "",
                role=grant.role.value,
                version=__version__,
            )
        )

    @staticmethod
    async def _health(_: Request) -> Response:
        return answer(Healthy())

    async def _metrics(self, request: Request) -> Response:
        asked = _asked(request)
        try:
            if self.quality.may_read(asked, is_local=is_loopback(asked.peer)):
                self._doorkeeper.look_at_place(asked)
            else:
                for_session(self._doorkeeper.admit(asked), "")
        except Refusal as refusal:
            return _answer_of(refusal)
        return await self.quality.metrics()

    async def _http(self, request: Request) -> Response:
        try:
            grant = self._doorkeeper.admit(_asked(request))
            return await self._transport.answer(request, grant)
        except Refusal as refusal:
            return _answer_of(refusal)


def socket_shares(viewers: int) -> Shares:
    """Return how many sockets a front takes, for sessions with so many viewers."""
    of_token = max(viewers, MIN_GUESTS)
    return Shares(of_all=0, of_guests=4 * of_token, of_address=2 * of_token, of_token=of_token)


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


def _peer(connection: HTTPConnection) -> str:
    return connection.client.host if connection.client else ""


def _asked(connection: HTTPConnection) -> Asked:
    return Asked(
        peer=_peer(connection),
        headers={key.lower(): value for key, value in connection.headers.items()},
        subprotocols=connection.scope.get("subprotocols", []),
        cookies=connection.cookies,
    )


def _answer_of(refusal: Refusal) -> Response:
    headers = {"retry-after": str(refusal.retry_after)} if refusal.retry_after else {}
    if refusal.status == 401:  # noqa: PLR2004
        headers["www-authenticate"] = 'Bearer realm="lastword"'
    return problem(refusal.status, refusal.reason, refusal.said, headers)


async def _not_here(_: Request, error: HTTPException) -> Response:
    """Refuse an unknown path, in the shape of every refusal."""
    if error.status_code == 405:  # noqa: PLR2004
        said = "This path does not take that method."
        return problem(405, "method_not_allowed", said, error.headers)
    said = "There is nothing at this path; /v1/openapi.json lists what there is."
    return problem(error.status_code, "not_found", said, error.headers)


async def _left(_: Request, __: Exception) -> Response:
    """End a request whose sender has left in the middle of its body: nobody reads an answer."""
    return Response(status_code=400)


async def _failed(_: Request, __: Exception) -> Response:
    said = "The gateway failed at this; its stderr says how. Report it as a bug."
    return problem(500, "internal", said)


async def _refuse(websocket: WebSocket, refusal: Refusal) -> None:
    """Refuse a browser by a close code, since it cannot see a failed upgrade; others by status."""
    if "origin" in websocket.headers:
        offered = websocket.scope.get("subprotocols", [])
        await websocket.accept(PROTOCOL if PROTOCOL in offered else None)
        reason = {"reason": refusal.reason, "message": refusal.said}
        if refusal.retry_after:
            reason["retry"] = refusal.retry_after  # type: ignore[assignment]
        text = jsonrpc.dumps(reason).decode()
        fits = len(text.encode()) <= MAX_REASON
        await websocket.close(refusal.code, text if fits else refusal.reason)
        return
    await websocket.send_denial_response(_answer_of(refusal))


MAX_REASON = 123
"""A close frame's reason is so long at most (RFC 6455, 5.5: 125 bytes with the code)."""
