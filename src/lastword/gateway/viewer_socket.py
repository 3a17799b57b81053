"""A viewer's WebSocket: its frames to the holders that they are for, and back.

Owns `initialize`, which is answered here, and the way of each frame. One connection to a holder for
each agent that the viewer uses; what the viewer does not take is not read from there.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
from typing import TYPE_CHECKING, Any

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.tolerant import object_of
from lastword.gateway import refusals, wire
from lastword.gateway.asks import read_ask_id
from lastword.gateway.holders import LINE_LIMIT_BYTES, StartError
from lastword.gateway.render import META

if TYPE_CHECKING:
    from lastword.core.protocol.jsonrpc import Frame
    from lastword.gateway.front import Front
    from lastword.gateway.tokens import Grant

INITIALIZE_SECONDS = 30.0
"""How long a viewer may take to say who it is, as the official server's."""

STALL_SECONDS = 60.0
"""A viewer that takes no byte for so long is closed; its position waits for it."""

NO_INITIALIZE, STALLED, HOLDER_LOST = 1002, 4408, 1012
BATCH = {"code": acp.INVALID_REQUEST, "message": "Batches are not supported. Send one message."}
NOT_JSON = {"code": acp.PARSE_ERROR, "message": "This frame is no JSON-RPC message."}
INVALID_PARAMS = -32602


class Upstream:
    """A connection to one holder, on behalf of one viewer."""

    def __init__(
        self, path: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.path = path
        self.reader = reader
        self.writer = writer
        self.welcome: dict[str, Any] = {}
        self.task: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, path: str, hello: dict[str, Any]) -> Upstream:
        """Connect, and be welcomed.

        Raises:
            OSError: The holder is not there.
        """
        reader, writer = await asyncio.open_unix_connection(path, limit=LINE_LIMIT_BYTES)
        upstream = cls(path, reader, writer)
        upstream.send(wire.control(wire.HELLO, **hello))
        line = await reader.readline()
        if not line:
            raise ConnectionResetError("the agent's holder has ended")
        _, upstream.welcome = wire.read_control(line.rstrip(b"\n"))
        return upstream

    def send(self, line: bytes) -> None:
        """Write a line."""
        if not self.writer.is_closing():
            self.writer.write(line + b"\n")

    async def close(self, code: int, cause: str) -> None:
        """Leave, with the reason."""
        if self.task is not None:
            self.task.cancel()
        self.send(wire.control(wire.LEAVE, code=code, cause=cause))
        with contextlib.suppress(OSError):
            self.writer.close()


class ViewerSocket:
    """One socket of one viewer."""

    def __init__(self, front: Front, websocket: WebSocket, grant: Grant, only: str) -> None:
        self.connection_id = secrets.token_hex(16)
        self._front = front
        self._websocket = websocket
        self._grant = grant
        self._only = only
        """The session that it came for by URL; empty for all."""
        self._client: dict[str, Any] = {}
        self._viewer = ""
        self._replay = False
        self._upstreams: dict[str, Upstream] = {}
        self._by_session: dict[str, Upstream] = {}
        self._by_ask: dict[str, Upstream] = {}
        self._code, self._cause = 1006, "cut"

    async def run(self) -> None:
        """Serve it until it closes."""
        try:
            is_welcome = await self._introduce()
            while is_welcome:
                line = await self._receive()
                if line is not None:
                    await self._take(line)
        except TimeoutError:
            await self.close(NO_INITIALIZE, "no initialize")
        except WebSocketDisconnect as left:
            self._code, self._cause = left.code, left.reason or "left"
        finally:
            await self._leave()

    async def close(self, code: int, reason: str) -> None:
        """Close the socket."""
        self._code, self._cause = code, reason
        if self._websocket.application_state is WebSocketState.CONNECTED:
            with contextlib.suppress(RuntimeError, OSError):
                await self._websocket.close(code, reason)

    async def _leave(self) -> None:
        upstreams = list(self._upstreams.values())
        await asyncio.gather(*(each.close(self._code, self._cause) for each in upstreams))

    async def _receive(self) -> bytes | None:
        """The next text frame; `None` for what is none.

        Raises:
            WebSocketDisconnect: There will be no more.
        """
        message = await self._websocket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code") or 1005, message.get("reason"))
        text = message.get("text")
        return text.encode(errors="replace") if text is not None else None

    async def send(self, line: bytes) -> None:
        """Send a frame, or close a socket that takes none."""
        try:
            async with asyncio.timeout(STALL_SECONDS):
                if self._websocket.application_state is WebSocketState.CONNECTED:
                    await self._websocket.send_text(line.decode(errors="replace"))
        except TimeoutError:
            await self.close(STALLED, "stalled")
        except (RuntimeError, OSError, WebSocketDisconnect):
            pass  # the reading side hears of it

    async def _introduce(self) -> bool:
        """Take the first frame, which has to be `initialize`."""
        line = None
        async with asyncio.timeout(INITIALIZE_SECONDS):  # its agent's start takes what it takes
            while line is None:
                line = await self._receive()
        frame = jsonrpc.decode(line)
        method = frame.message.method if isinstance(frame, jsonrpc.Frame) else None
        if method != acp.INITIALIZE or not isinstance(frame, jsonrpc.Frame):
            await self.close(NO_INITIALIZE, "initialize first")
            return False
        self._client = jsonrpc.params_of(frame)
        self._know(object_of(object_of(self._client.get("_meta")).get(META)))
        try:
            path = await self._holder_for_greeting()
            upstream = await self._upstream(path)
        except (StartError, OSError) as error:
            failed = {"code": acp.INTERNAL_ERROR, "message": f"{str(error).capitalize()}."}
            await self.send(jsonrpc.error(frame.message.request_id or jsonrpc.NULL_ID, failed))
            return True
        request_id = frame.message.request_id or jsonrpc.NULL_ID
        refused = upstream.welcome.get("failed")
        if isinstance(refused, dict):
            await self.send(jsonrpc.error(request_id, refused))
        else:
            await self.send(jsonrpc.result(request_id, self._greeting(upstream.welcome)))
        return True

    def _know(self, ours: dict[str, Any]) -> None:
        """Who it is: the viewer whose secret it has, else a new one."""
        viewer, secret = ours.get("viewer"), ours.get("secret")
        self._replay = ours.get("replay") == 1
        known = isinstance(viewer, str) and isinstance(secret, str)
        if known and self._front.keeper.is_secret(str(viewer), str(secret)):
            self._viewer = str(viewer)
        else:
            self._viewer = secrets.token_hex(8)

    async def _holder_for_greeting(self) -> str:
        if self._only:
            path = await self._front.holders.of_session(self._only, self._client)
            if path is not None:
                return path
        return await self._front.holders.spare(self._client)

    def _greeting(self, welcome: dict[str, Any]) -> dict[str, Any]:
        """What the agent said of itself, with what the gateway can beside."""
        result = object_of(welcome.get("initialize"))
        dialect = acp.dialect(result.get("protocolVersion"))
        capabilities = object_of(result.get(dialect.agent_capabilities))
        can = object_of(capabilities.get("sessionCapabilities"))
        capabilities = capabilities | {
            "loadSession": True,
            "sessionCapabilities": can | {"resume": {}, "list": {}, "close": {}},
        }
        secret = self._front.keeper.secret(self._viewer)
        ours = {"replay": 1, "viewer": self._viewer, "secret": secret}
        meta = object_of(result.get("_meta")) | {META: ours}
        return result | {dialect.agent_capabilities: capabilities, "_meta": meta}

    # The way of a frame.

    async def _take(self, line: bytes) -> None:
        frame = jsonrpc.decode(line)
        if not isinstance(frame, jsonrpc.Frame):
            batch = line.lstrip()[:1] == b"["
            await self.send(jsonrpc.error(jsonrpc.NULL_ID, BATCH if batch else NOT_JSON))
            return
        message = frame.message
        method, request_id = message.method, message.request_id
        if method == "_lastword/ping":
            if request_id is not None:
                await self.send(jsonrpc.result(request_id, {}))
            return
        refusal = await self._refusal(frame)
        if refusal is not None:
            if request_id is not None:
                await self.send(jsonrpc.error(request_id, refusal))
            return
        if method == "session/list" and request_id is not None:
            sessions = await self._front.sessions(self._grant)
            listed = [{"sessionId": each["sessionId"], "cwd": each["cwd"]} for each in sessions]
            await self.send(jsonrpc.result(request_id, {"sessions": listed}))
            return
        try:
            upstream = await self._way_of(frame)
        except (StartError, OSError) as error:
            upstream, said = None, f"{str(error).capitalize()}."
            if request_id is not None and method is not None:
                failed = {"code": acp.INTERNAL_ERROR, "message": said}
                await self.send(jsonrpc.error(request_id, failed))
                return
        if upstream is not None:
            upstream.send(frame.line)
            with contextlib.suppress(OSError):
                await upstream.writer.drain()
        elif request_id is not None and method is not None:
            error_object = refusals.unknown_session(message.session_id or "")
            await self.send(jsonrpc.error(request_id, error_object))

    async def _refusal(self, frame: Frame) -> dict[str, Any] | None:
        """Why a frame is not passed on."""
        message = frame.message
        if message.session_id is not None:
            allowed = {"", message.session_id}
            if self._grant.session not in allowed or self._only not in allowed:
                return refusals.unknown_session(message.session_id)
        if message.method != "session/new":
            return None
        if self._grant.role.value != "controller" or self._grant.session or self._only:
            return refusals.observes()
        cwd = jsonrpc.params_of(frame).get("cwd")
        named = cwd if isinstance(cwd, str) and os.path.isabs(cwd) else ""
        folder = os.path.realpath(named) if named else ""  # noqa: ASYNC240 - microseconds
        if folder == self._front.root or folder.startswith(self._front.root.rstrip("/") + "/"):
            return None
        said = f"Sessions of this gateway work below {self._front.root}; see --root."
        return {"code": INVALID_PARAMS, "message": said}

    async def _way_of(self, frame: Frame) -> Upstream | None:
        """The holder that a frame is for."""
        message = frame.message
        holders = self._front.holders
        if message.method is None:
            return self._asker_of(message.request_id)
        if message.session_id is not None:
            known = self._by_session.get(message.session_id)
            if known is None or known.writer.is_closing():
                path = await holders.of_session(message.session_id, self._client)
                if path is None:
                    return None
                known = await self._upstream(path)
                self._by_session[message.session_id] = known
            return known
        if message.method == "session/new":
            return await self._upstream(await holders.take_spare(self._client))
        return next(iter(self._upstreams.values()), None)

    def _asker_of(self, request_id: bytes | None) -> Upstream | None:
        """Who asked what this answers: its id names the session, as questions' ids do."""
        return self._by_ask.get(read_ask_id(request_id)[0])

    async def _upstream(self, path: str) -> Upstream:
        real = os.path.realpath(path)  # noqa: ASYNC240 - microseconds
        upstream = self._upstreams.get(real)
        if upstream is not None and not upstream.writer.is_closing():
            return upstream
        hello = {
            "viewer": self._viewer,
            "role": self._grant.role.value,
            "replay": self._replay,
            "initialize": self._client,
        }
        upstream = await Upstream.open(path, hello)
        self._upstreams[real] = upstream
        upstream.task = asyncio.create_task(self._pass_back(upstream))
        return upstream

    async def _pass_back(self, upstream: Upstream) -> None:
        """Send the viewer what a holder has for it."""
        with contextlib.suppress(OSError, ValueError):
            while line := await upstream.reader.readline():
                line = line[:-1]
                if line[:1] == wire.CONTROL:
                    word, facts = wire.read_control(line)
                    if word == wire.SHUT:
                        await self.close(int(facts.get("code", 1011)), str(facts.get("reason", "")))
                    continue
                self._note(upstream, line)
                await self.send(line)
        upstream.writer.close()
        for session_id, way in list(self._by_session.items()):
            if way is upstream:
                del self._by_session[session_id]
        if self._websocket.application_state is WebSocketState.CONNECTED:
            # What it waits for will not come by this way: it is told when it is back.
            await self.close(HOLDER_LOST, "agent-lost")

    def _note(self, upstream: Upstream, line: bytes) -> None:
        """Remember what an answer will be for, and which session this holder has opened."""
        if b'"id":"lastword:' in line:
            frame = jsonrpc.decode(line)
            if isinstance(frame, jsonrpc.Frame) and frame.message.method is not None:
                self._by_ask[read_ask_id(frame.message.request_id)[0]] = upstream
        elif b'"sessionId"' in line and b'"result"' in line:
            frame = jsonrpc.decode(line)
            if isinstance(frame, jsonrpc.Frame) and frame.message.method is None:
                session_id = object_of(jsonrpc.loads(frame.message.result)).get("sessionId")
                if isinstance(session_id, str):
                    self._by_session[session_id] = upstream
