"""A viewer's link: carries frames between the viewer and the holders.

Owns `initialize`, which is answered here, and the routing of each frame. There is one connection
to a holder for each agent that the viewer uses, and nothing is read from it faster than the
viewer reads. The transports are `viewer_socket` and `viewer_streams`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.tolerant import object_of
from lastword.gateway import refusals, rights, viewer_frames, wire
from lastword.gateway.asks import read_ask_id, session_key
from lastword.gateway.holders import StartError
from lastword.gateway.render import META
from lastword.gateway.viewers import Role

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from lastword.core.protocol.jsonrpc import Frame
    from lastword.gateway.front import Front
    from lastword.gateway.quality.links import LinkQuality
    from lastword.gateway.tokens import Grant

OPENS = frozenset({"session/new", acp.FORK})
"""Requests whose answers name a new session."""
INVALID_PARAMS = -32602
READ_BYTES = 64 * 1024
HOLDER_LOST = 1012
"""The close code where the holder of a session has gone, and another will take it over."""


class Upstream:
    """A connection to one holder, on behalf of one viewer."""

    def __init__(
        self, path: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.path = path
        self.reader = reader
        self.writer = writer
        self.items: AsyncIterator[wire.Lines | wire.Control | bytes] = self._items()
        """What the holder sends, in its order, until it ends."""
        self.welcome: dict[str, Any] = {}
        self.task: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, path: str, hello: dict[str, Any]) -> Upstream:
        """Connect, and wait for the holder's welcome.

        Raises:
            OSError: The holder is not running.
        """
        # The reader holds twice its limit at most: what a viewer does not take stays in the log.
        reader, writer = await asyncio.open_unix_connection(path, limit=READ_BYTES)
        upstream = cls(path, reader, writer)
        try:
            upstream.send(wire.control(wire.HELLO, **hello))
            welcome = await anext(upstream.items, None)
        except BaseException:  # a viewer that leaves before its agent has started cancels this
            writer.close()
            raise
        if not isinstance(welcome, wire.Control):
            writer.close()
            raise ConnectionResetError("the agent's holder has ended")
        upstream.welcome = welcome.facts
        return upstream

    async def _items(self) -> AsyncIterator[wire.Lines | wire.Control | bytes]:
        incoming = wire.Incoming()
        while data := await self.reader.read(READ_BYTES):
            for item in incoming.feed(data):
                yield item

    def send(self, line: bytes) -> None:
        """Write a line."""
        if not self.writer.is_closing():
            self.writer.write(wire.one_line(line) + b"\n")

    async def close(self, code: int, cause: str) -> None:
        """Disconnect, with the reason."""
        if self.task is not None:
            self.task.cancel()
        self.send(wire.control(wire.LEAVE, code=code, cause=cause))
        with contextlib.suppress(OSError):
            self.writer.close()


class _Unanswered(NamedTuple):
    """A request of no session's: who has it, and whether its answer names a new session."""

    upstream: Upstream
    opens: bool


class ViewerLink(ABC):
    """One connection of one viewer."""

    transport = "http"
    """What a metric calls the way that it came by."""

    def __init__(self, front: Front, grant: Grant, only: str = "") -> None:
        """Begin for the holder of this grant; `only` is the session that its URL names, if any."""
        self.connection_id: str = secrets.token_hex(16)
        self.grant = grant
        self._front = front
        self._only = only
        self._client: dict[str, Any] = {}
        self._viewer = ""
        self._is_new = True
        self._replay = False
        self._takes_lines = False
        self._upstreams: dict[str, Upstream] = {}
        self._by_session: dict[str, Upstream] = {}
        self._by_ask: dict[str, Upstream] = {}
        self._unanswered: dict[bytes, _Unanswered] = {}
        """By their ids, requests of no session's: such as the one that opens a session."""
        self.met: LinkQuality = front.quality.measured.opened(self.transport)
        """How it is measured."""
        self.code: int = 1006
        self.cause: str = "cut"
        """How it ended."""

    def ended(self, code: int, cause: str) -> None:
        """Keep how it ended."""
        self.code, self.cause = code, cause

    @abstractmethod
    async def send(self, *lines: bytes) -> None:
        """Send the viewer frames, once it can take them."""

    @property
    def takes_framed(self) -> bool:
        """Tell whether it can take encoded WebSocket frames."""
        return False

    async def send_framed(self, frames: bytes) -> None:
        """Send the viewer encoded frames, once it can take them."""
        raise NotImplementedError

    @abstractmethod
    async def close(self, code: int, reason: str) -> None:
        """Close the connection."""

    has_events = False
    """What comes from a log is wanted with its places there (`events`)."""

    def before(self, frame: Frame) -> list[bytes]:  # noqa: ARG002 - some do look at it
        """Return the control lines that precede a frame to its holder."""
        return []

    async def leave(self) -> None:
        """Tell the holders that the viewer has gone."""
        upstreams = list(self._upstreams.values())
        await asyncio.gather(*(each.close(self.code, self.cause) for each in upstreams))

    async def introduce(self, frame: Frame) -> bytes:
        """Take `initialize`; return its answer."""
        self._client = jsonrpc.params_of(frame)
        self._know(object_of(object_of(self._client.get("_meta")).get(META)))
        request_id = frame.message.request_id or jsonrpc.NULL_ID
        try:
            upstream = await self._upstream(await self._holder_for_greeting())
        except (StartError, OSError) as error:
            self._front.quality.readiness.failed()
            failed = {"code": acp.INTERNAL_ERROR, "message": f"{str(error).capitalize()}."}
            return jsonrpc.error(request_id, failed)
        refused = upstream.welcome.get("failed")
        self._front.quality.readiness.greeted(refused)
        if isinstance(refused, dict):
            return jsonrpc.error(request_id, refused)
        return jsonrpc.result(request_id, self._greeting(upstream.welcome))

    def _know(self, ours: dict[str, Any]) -> None:
        """Return the viewer whose secret was sent, or else a new one."""
        viewer, secret = ours.get("viewer"), ours.get("secret")
        self._replay = ours.get("replay") == 1
        self._takes_lines = ours.get("lines") == 1
        known = isinstance(viewer, str) and isinstance(secret, str)
        if known and self._front.keeper.is_secret(str(viewer), str(secret)):
            self._viewer, self._is_new = str(viewer), False
        else:
            self._viewer = secrets.token_hex(8)

    async def _holder_for_greeting(self) -> str:
        if self._only:
            path = await self._front.holders.of_session(self._only, self._client)
            if path is not None:
                return path
        return await self._front.holders.spare(self._client)

    def _greeting(self, welcome: dict[str, Any]) -> dict[str, Any]:
        """Return the agent's capabilities, and those that the gateway adds."""
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

    async def take(self, line: bytes) -> None:
        """Take a frame from the viewer."""
        try:
            frame = viewer_frames.read(line)
        except viewer_frames.FrameError as error:
            await self.send(error.answer)
            return
        if await self._is_answered_here(frame):
            return
        message = frame.message
        method, request_id = message.method, message.request_id
        self.met.asked(frame)
        try:
            upstream = await self._way_of(frame)
        except (StartError, OSError) as error:
            self.met.failed(request_id)
            upstream, said = None, f"{str(error).capitalize()}."
            if request_id is not None and method is not None:
                failed = {"code": acp.INTERNAL_ERROR, "message": said}
                await self.send(jsonrpc.error(request_id, failed))
                return
        if upstream is not None:
            opens = method in OPENS
            is_of_none = method is not None and message.session_id is None
            if request_id is not None and (opens or is_of_none):
                self._unanswered[request_id] = _Unanswered(upstream, opens)
            for control in self.before(frame):
                upstream.send(control)
            upstream.send(frame.line)
            with contextlib.suppress(OSError):
                await upstream.writer.drain()
        elif request_id is not None and method is not None:
            self.met.failed(request_id)
            error_object = refusals.unknown_session(message.session_id or "")
            await self.send(jsonrpc.error(request_id, error_object))

    async def _is_answered_here(self, frame: Frame) -> bool:
        """Handle a frame that is for no single holder; return whether it was one."""
        method, request_id = frame.message.method, frame.message.request_id
        answer = None
        if method == "_lastword/ping":
            self.met.probed(frame, self._by_session)
            answer = jsonrpc.result(request_id or jsonrpc.NULL_ID, {})
        elif (refusal := self._refusal(frame)) is not None:
            answer = jsonrpc.error(request_id or jsonrpc.NULL_ID, refusal)
        elif method == "session/list" and request_id is not None:
            sessions = await self._front.sessions(self.grant)
            listed = [{"sessionId": each["sessionId"], "cwd": each["cwd"]} for each in sessions]
            answer = jsonrpc.result(request_id, {"sessions": listed})
        elif method == acp.CANCEL_REQUEST and frame.message.session_id is None:
            for each in self._upstreams.values():  # whoever has the request knows its id
                each.send(frame.line)
            return True
        if answer is not None and request_id is not None:
            await self.send(answer)
        return answer is not None

    def _refusal(self, frame: Frame) -> dict[str, Any] | None:
        """Return why a frame is not passed on."""
        message = frame.message
        if self._only and message.session_id not in {None, self._only}:
            return refusals.unknown_session(message.session_id or "")
        controls = self.grant.role is Role.CONTROLLER
        refused = rights.refusal(message, controls=controls, session=self.grant.session)
        if refused is not None or message.method not in OPENS:
            return refused
        if self._only:
            return refusals.one_session()
        cwd = jsonrpc.params_of(frame).get("cwd")
        if cwd is None and message.method == acp.FORK:
            return None  # it works where its origin does
        if isinstance(cwd, str) and _is_within(cwd, self._front.root):
            return None
        said = f"Sessions of this gateway work below {self._front.root}; see --root."
        return {"code": INVALID_PARAMS, "message": said}

    async def _way_of(self, frame: Frame) -> Upstream | None:
        """Return the holder that a frame is for."""
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
                # Its questions may have come over an earlier socket, and are answered over this.
                self._by_ask[session_key(message.session_id)] = known
            return known
        if message.method == "session/new":
            key = f"{self._viewer} {(message.request_id or b'').decode(errors='replace')}"
            path = await holders.opener(key, self._client, is_new=self._is_new)
            return await self._upstream(path)
        for upstream in self._upstreams.values():
            if not upstream.writer.is_closing():
                return upstream
        return await self._upstream(await holders.spare(self._client))

    def _asker_of(self, request_id: bytes | None) -> Upstream | None:
        """Return who asked what this answers; the id of a question names its session."""
        return self._by_ask.get(read_ask_id(request_id)[0])

    async def _upstream(self, path: str) -> Upstream:
        real = _real(path)
        upstream = self._upstreams.get(real)
        if upstream is not None and not upstream.writer.is_closing():
            return upstream
        hello = {
            "viewer": self._viewer,
            "role": self.grant.role.value,
            "session": self.grant.session,
            "replay": self._replay,
            "new": self._is_new,
            "events": self.has_events,
            "framed": self.takes_framed,
            "initialize": self._client,
        }
        upstream = await Upstream.open(path, hello)
        self._upstreams[real] = upstream
        upstream.task = asyncio.create_task(self._pass_back(upstream))
        return upstream

    async def _pass_back(self, upstream: Upstream) -> None:
        """Send the viewer what a holder has for it."""
        with contextlib.suppress(OSError):
            async for item in upstream.items:
                await self._pass(upstream, item)
        upstream.writer.close()
        gone = [name for name, way in self._by_session.items() if way is upstream]
        for session_id in gone:
            del self._by_session[session_id]
        lost = [name for name, each in self._unanswered.items() if each.upstream is upstream]
        for request_id in lost:
            del self._unanswered[request_id]
            if not self._replay:
                await self.send(jsonrpc.error(request_id, refusals.agent_lost("Try again.")))
        # Nothing would be heard of them here; who comes back finds the sessions again, and sends
        # again what was not answered.
        if gone or (lost and self._replay):
            await self.close(HOLDER_LOST, "agent_lost")

    async def _pass(self, upstream: Upstream, item: wire.Lines | wire.Control | bytes) -> None:
        """Pass on encoded frames, or those of one read together."""
        if isinstance(item, bytes):
            await self.send_framed(item)
        elif isinstance(item, wire.Control):
            await self._control(item.word, item.facts)
        else:
            for line in item:
                self._note(upstream, line)
            await self.send(*item)

    async def _control(self, word: str, facts: dict[str, Any]) -> None:
        if word == wire.SHUT:
            code, reason = int(facts.get("code", 1011)), str(facts.get("reason", ""))
            session_id = facts.get("session")
            if isinstance(session_id, str):
                await self._session_ended(session_id, code, reason)
            else:
                await self.close(code, reason)

    async def _session_ended(self, session_id: str, code: int, reason: str) -> None:
        """Leave a session that has ended; close the connection if it carries no other."""
        self._by_session.pop(session_id, None)
        self._by_ask.pop(session_key(session_id), None)
        if not self._by_session and not self._unanswered:
            await self.close(code, reason)

    def _note(self, upstream: Upstream, line: bytes) -> None:
        """Remember what an answer will be for, and which session this holder has opened."""
        self.met.passed(line)
        if self._unanswered:
            frame = jsonrpc.decode(line)
            if isinstance(frame, jsonrpc.Frame) and frame.message.method is None:
                self._answered(upstream, frame)
        if b'"id":"lastword:' in line:
            frame = jsonrpc.decode(line)
            if isinstance(frame, jsonrpc.Frame) and frame.message.method is not None:
                self._by_ask[read_ask_id(frame.message.request_id)[0]] = upstream

    def _answered(self, upstream: Upstream, frame: Frame) -> None:
        asked = self._unanswered.get(frame.message.request_id or b"")
        if asked is None or asked.upstream is not upstream:
            return
        del self._unanswered[frame.message.request_id or b""]
        session_id = object_of(jsonrpc.loads(frame.message.result)).get("sessionId")
        if asked.opens and isinstance(session_id, str):
            self._by_session[session_id] = upstream


def _is_within(folder: str, root: str) -> bool:
    """Tell whether an absolute path is this folder or below it, after following links."""
    try:
        real = os.path.realpath(folder) if os.path.isabs(folder) else ""
    except ValueError:  # as of a NUL
        return False
    return real == root or real.startswith(root.rstrip("/") + "/")


def _real(path: str) -> str:
    """Return the socket itself, to which a session's link leads."""
    return os.path.realpath(path)
