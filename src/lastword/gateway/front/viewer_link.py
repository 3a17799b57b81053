"""A viewer's link: carries frames between the viewer and the holders.

Owns the answer to `initialize` and the routing of each frame. There is one connection to a holder
for each agent that the viewer uses, and it is read no faster than the viewer reads. The transports
are in `protocols` and `http`.

Delivery: a viewer's frames on their way to the holders. Owns their order: the frames of one session
are delivered one after the other, and no session waits for another. The number and size of waiting
frames are bounded.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from abc import ABC, abstractmethod
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from msgspec import UNSET

from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.acp import object_of
from lastword.gateway import wire
from lastword.gateway.front.holders import StartError
from lastword.gateway.holder.connection import Introduction
from lastword.gateway.viewing import access
from lastword.gateway.viewing.frames import read_question_id, session_key
from lastword.gateway.viewing.reader import Role
from lastword.gateway.viewing.render import META, Form

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from lastword.core.protocol.jsonrpc import Frame
    from lastword.gateway.front.services import FrontServices
    from lastword.gateway.front.tokens import Grant
    from lastword.gateway.front.upstream import Item, Upstream
    from lastword.gateway.quality.metrics import LinkQuality


OPENS = frozenset({"session/new", acp.FORK})
"""Requests whose answers name a new session."""

_COSTLY = acp.BRINGS_BACK | {"session/list"}
"""Requests that read a log, or what there is of every session."""

_Reached = TypeVar("_Reached")
OWN_ID = b'"lastword-front"'
"""The id of the front's own requests; viewers do not get the answers."""

LINGER_SECONDS = 0.25
"""How long a connection without sessions stays open: its viewer may open or load another."""

HOLDER_LOST = 1012
"""The close code when a session's holder is lost and another will take the session over."""


class _Unanswered(NamedTuple):
    """A request whose answer the front reads.

    Attributes:
        upstream: the connection to the holder that has it.
        opens: its answer names a new session.
        closes: the session that its answer ends; empty for none.
    """

    upstream: Upstream
    opens: bool
    closes: str = ""


class ViewerLink(ABC):
    """One connection of one viewer."""

    transport = "http"
    """The transport's name in metrics."""

    def __init__(self, services: FrontServices, grant: Grant, only: str = "") -> None:
        """Serve the bearer of a grant; `only` is the session that the URL names, if any."""
        self.connection_id: str = secrets.token_hex(16)
        self.grant = grant
        self._services = services
        self._only = only
        self._client: dict[str, Any] = {}
        self._viewer = ""
        self._is_new = True
        self._has_left = False
        self._replay = False
        self._takes_lines = False
        self._upstreams: dict[str, Upstream] = {}
        self._by_session: dict[str, Upstream] = {}
        self._by_question: dict[str, Upstream] = {}
        self._delivery = Delivery(
            self._deliver, lambda frame: self._refuse(frame, access.holder_lost())
        )
        self._opening: dict[str, asyncio.Task[Upstream]] = {}
        """The connections that are being made, by their holder's place."""
        self._detached: set[str] = set()
        """Sessions whose holder was lost; naming one attaches the viewer to it again."""
        self._own_requests = 0
        """The front's own requests that holders have not answered."""
        self._unanswered: dict[bytes, _Unanswered] = {}
        """By their ids, such as the one that opens a session."""
        self._lingering: asyncio.Task[None] | None = None
        """Closes the connection after `LINGER_SECONDS`."""
        self.quality: LinkQuality = services.quality.measured.open_link(self.transport)
        """The link's measurements."""
        self.code: int = 1006
        self.cause: str = "cut"
        """How it ended."""

    def ended(self, code: int, cause: str) -> None:
        """Note how the link ended."""
        self.code, self.cause = code, cause

    @abstractmethod
    async def send(self, *lines: bytes) -> None:
        """Send the viewer frames, once it can take them."""

    @property
    def takes_framed(self) -> bool:
        """Return whether it can take encoded WebSocket frames."""
        return False

    async def send_framed(self, frames: bytes) -> None:
        """Send the viewer encoded frames, once it can take them."""
        raise NotImplementedError

    @abstractmethod
    async def close(self, code: int, reason: str) -> None:
        """Close the connection."""

    has_events = False
    """Frames from a log come with their places in it."""

    def before(self, frame: Frame, upstream: Upstream) -> None:  # noqa: B027 - optional
        """Send a holder what must precede a frame."""

    async def leave(self) -> None:
        """Disconnect from the holders, after delivering what the viewer has sent."""
        self._has_left = True
        if self._lingering is not None:
            self._lingering.cancel()
        await self._delivery.finish()
        for opening in list(self._opening.values()):
            opening.cancel()
        upstreams = list(self._upstreams.values())
        for each in upstreams:
            each.leave(self.code, self.cause)

    async def introduce(self, frame: Frame) -> bytes:
        """Receive `initialize`; return the answer: the agent's, with what the gateway adds."""
        self._client = jsonrpc.without_surrogates(jsonrpc.params_of(frame))
        # A viewer that returns proves by its secret who it is.
        ours = object_of(object_of(self._client.get("_meta")).get(META))
        viewer, secret = ours.get("viewer"), ours.get("secret")
        self._replay = ours.get("replay") == 1
        self._takes_lines = ours.get("lines") == 1
        keeper = self._services.keeper
        if isinstance(viewer, str) and isinstance(secret, str) and keeper.is_secret(viewer, secret):
            self._viewer, self._is_new = viewer, False
        else:
            self._viewer = secrets.token_hex(8)
        self._services.newest[self._viewer] = self
        request_id = frame.message.request_id or jsonrpc.NULL_ID
        result: dict[str, Any] = {}
        if self.grant.is_owners and (self._only or self._services.directory.has_room):
            try:
                welcome = (await self._tried(self._upstream_for_greeting)).welcome
            except (StartError, OSError) as error:
                self._services.quality.readiness.failed()
                welcome = {"failed": _error_of(error)}
            else:
                self._services.quality.readiness.greeted(welcome.get("failed"))
            refused = welcome.get("failed")
            if not isinstance(refused, dict):
                result = object_of(welcome.get("initialize"))
                self._services.greetings.note(result)
            elif not self._services.sessions(self.grant):  # else they can be reached
                return jsonrpc.error(request_id, refused)
        if not result:
            result = await self._services.greetings.of(self._client.get("protocolVersion"))
        dialect = acp.dialect(result.get("protocolVersion"))
        capabilities = object_of(result.get(dialect.agent_capabilities))
        can = object_of(capabilities.get("sessionCapabilities"))
        capabilities = capabilities | {
            "loadSession": True,
            "sessionCapabilities": can | {"resume": {}, "list": {}, "close": {}},
        }
        identity = {"replay": 1, "viewer": self._viewer, "secret": keeper.secret(self._viewer)}
        meta = object_of(result.get("_meta")) | {META: identity}
        added = {dialect.agent_capabilities: capabilities, "_meta": meta}
        return jsonrpc.result(request_id, result | added)

    async def _upstream_for_greeting(self) -> Upstream:
        path = None
        if self._only:
            path = await self._services.directory.of_session(self._only, self._client)
        if path is None:
            path = await self._services.directory.spare(self._client)
        return await self._upstream(path)

    async def _tried(
        self, reach: Callable[[], Awaitable[_Reached]], *, is_any: bool = True
    ) -> _Reached:
        """Reach a holder; try once more if it is lost meanwhile.

        Args:
            reach: Reaches the holder.
            is_any: Any holder will do, so a silent one is replaced by another.

        Raises:
            StartError: There is none, and no second attempt was due or it found none either.
            OSError: The connection was lost on the second attempt.
        """
        try:
            return await reach()
        except OSError:
            return await reach()
        except StartError as error:
            if not (is_any and error.is_silent):
                raise
            return await reach()

    # From the viewer to the holders.

    async def receive_frame(self, frame: Frame) -> None:
        """Receive a frame that has been checked."""
        lane = lane_of(frame)
        if await self._is_answered_here(frame):
            return
        try:
            root = self._services.root if self._services.checks_paths else ""
            frame = access.within(frame, root)
        except access.OutsideRootError as error:
            if (request_id := frame.message.request_id) is not None:
                opens = self.grant.is_owners and not self._only
                root = self._services.root if opens else ""
                refused = access.outside_root(error.member, root)
                await self.send(jsonrpc.error(request_id, refused))
            return
        self.quality.request(frame)
        is_waiting = lane in self._delivery.lanes
        known = None if is_waiting else self._connected_holder_of(frame)
        if known is not None and known.is_ready:
            self._hand_over(known, frame)
            return
        if not await self._delivery.put(lane, frame):
            await self._refuse(frame, access.too_much_waits())

    async def _deliver(self, frame: Frame) -> None:
        """Bring a frame to its holder, however long that takes, or refuse it."""
        session_id = frame.message.session_id
        if is_cancel(frame):  # behind what holders had not read when it came
            for each in list(self._upstreams.values()):
                if each.is_ready:
                    each.send(frame)
            for each in list(self._upstreams.values()):
                if not each.is_ready and not each.is_closing:
                    with contextlib.suppress(OSError):
                        await each.ready()
                        each.send(frame)
            return
        try:
            upstream = await self._tried(lambda: self._reached(frame), is_any=session_id is None)
        except (StartError, OSError) as error:
            await self._refuse(frame, _error_of(error))
            return
        if upstream is None:
            is_observer = self.grant.role is Role.OBSERVER
            if is_observer and await self._services.directory.exists(session_id or ""):
                await self._refuse(frame, access.agent_not_running())
            else:
                await self._refuse(frame, access.unknown_session(session_id or ""))
            return
        is_back = self._has_left and self._services.newest.get(self._viewer, self) is not self
        if is_back and frame.message.method in acp.BRINGS_BACK:
            return  # it would take the session from the viewer's new link
        self._hand_over(upstream, frame)
        with contextlib.suppress(OSError):
            await upstream.ready()

    async def _reached(self, frame: Frame) -> Upstream | None:
        """Return the holder that a frame is for, once it takes more; `None` if there is none.

        Raises:
            StartError: It could not be started.
            OSError: The connection to it is lost.
        """
        message, directory = frame.message, self._services.directory
        upstream = self._connected_holder_of(frame)
        path: str | None
        if message.method is None:
            pass  # an answer is for the holder that asked
        elif message.session_id is not None:
            if upstream is None or upstream.is_closing:
                path = await self._holder_of(message.session_id)
                if path is None:
                    return None
                upstream = await self._upstream(path)
                self._by_session[message.session_id] = upstream
                # Questions that came over an earlier socket are answered over this one.
                self._by_question[session_key(message.session_id)] = upstream
        elif message.method == "session/new":
            key = f"{self._viewer} {(message.request_id or b'').decode(errors='replace')}"
            cwd = jsonrpc.params_of(frame).get("cwd")
            path = await directory.opener(
                key, self._client, cwd=cwd if isinstance(cwd, str) else "", is_new=self._is_new
            )
            upstream = await self._upstream(path)
        else:  # any will do; a login is for the one that has just refused a session
            ways = reversed(self._upstreams.values())
            upstream = next((each for each in ways if not each.is_closing), None)
            if upstream is None:
                if self.grant.is_owners:
                    path = await directory.spare(self._client)
                else:
                    path = await self._holder_of(self.grant.session)
                upstream = await self._upstream(path) if path is not None else None
        if upstream is not None and not upstream.is_ready:
            await upstream.ready()
        if upstream is not None and upstream.is_closing:
            raise ConnectionResetError
        return upstream

    async def _refuse(self, frame: Frame, error: dict[str, Any]) -> None:
        message = frame.message
        if message.request_id is not None and message.method is not None:
            self.quality.failed(message.request_id)
            await self.send(jsonrpc.error(message.request_id, error))

    def _hand_over(self, upstream: Upstream, frame: Frame) -> None:
        message = frame.message
        request_id, session_id = message.request_id, message.session_id
        if request_id is not None and message.method is not None:
            upstream.unanswered.add(request_id)
            opens, closes = message.method in OPENS, message.method == acp.CLOSE
            if opens or closes or session_id is None:
                of = session_id if closes else None
                self._unanswered[request_id] = _Unanswered(upstream, opens, of or "")
        if session_id in self._detached:
            self._detached.discard(session_id)
            if message.method not in acp.BRINGS_BACK:
                params = {"sessionId": session_id, "cwd": "/", "mcpServers": []}
                attach = jsonrpc.decode(jsonrpc.request(OWN_ID, acp.RESUME, params))
                assert isinstance(attach, jsonrpc.Frame)  # noqa: S101 - for the type checker
                upstream.send(attach)
                self._own_requests += 1
        self.before(frame, upstream)
        upstream.send(frame)

    async def _is_answered_here(self, frame: Frame) -> bool:
        """Handle a frame that is for no single holder; return whether it was one."""
        method, request_id = frame.message.method, frame.message.request_id
        answer = None
        if method == "_lastword/ping":
            self.quality.ping(frame, self._by_session)
            answer = jsonrpc.result(request_id or jsonrpc.NULL_ID, {})
        elif (refusal := self._refusal(frame)) is not None:
            answer = jsonrpc.error(request_id or jsonrpc.NULL_ID, refusal)
        elif method == "session/list":
            # ACP requires a folder for each session; only controllers may see where it works.
            controls = self.grant.role is Role.CONTROLLER
            listed = [
                {"sessionId": each.id, "cwd": (each.cwd or "") if controls else "/"}
                for each in self._services.sessions(self.grant)
            ]
            answer = jsonrpc.result(request_id or jsonrpc.NULL_ID, {"sessions": listed})
        elif is_cancel(frame):
            upstreams = list(self._upstreams.values())
            for each in upstreams:  # the one with the request knows its id
                if each.is_ready:
                    each.send(frame)
            is_behind = any(not each.is_ready and not each.is_closing for each in upstreams)
            self._delivery.cancel(frame, even_alone=is_behind)
            return True
        if answer is not None and request_id is not None:
            await self.send(answer)
        return answer is not None

    def _refusal(self, frame: Frame) -> dict[str, Any] | None:
        """Return why a frame is not passed on."""
        message = frame.message
        if self._only and message.session_id not in {None, self._only}:
            return access.unknown_session(message.session_id or "")
        controls = self.grant.role is Role.CONTROLLER
        refused = access.refusal(message, controls=controls, session=self.grant.session)
        if refused is None and self._only and message.method in OPENS:
            return access.one_session()
        if refused is None and message.method in _COSTLY:
            if self.grant.is_owners:
                wait = self._services.attach_pace.wait_seconds(self.connection_id)
            else:
                wait = self._services.guest_pace.wait_seconds(self.grant)
            return access.too_fast() if wait > 0 else None
        return refused

    def _connected_holder_of(self, frame: Frame) -> Upstream | None:
        """Return the holder that a frame is for, if it is connected."""
        message = frame.message
        if message.method is None:  # an answer: the question's id names its session
            return self._by_question.get(read_question_id(message.request_id)[0])
        return self._by_session.get(message.session_id or "")

    async def _holder_of(self, session_id: str) -> str | None:
        """Return the place of a session's holder; only a controller has one started."""
        directory = self._services.directory
        if self.grant.role is Role.CONTROLLER:
            return await directory.of_session(session_id, self._client)
        path = directory.live(session_id)
        return path if path is not None and await directory.answers(path) else None

    async def _upstream(self, path: str) -> Upstream:
        upstream = self._upstreams.get(path)
        if upstream is not None and not upstream.is_closing:
            return upstream
        task = self._opening.get(path)
        if task is None:
            task = self._opening[path] = asyncio.create_task(self._opened(path))
            task.add_done_callback(lambda done: self._has_opened(path, done))
        return await asyncio.shield(task)

    def _has_opened(self, path: str, task: asyncio.Task[Upstream]) -> None:
        del self._opening[path]
        if not task.cancelled():
            task.exception()  # raised to whoever still waits; asyncio need not report it

    async def _opened(self, path: str) -> Upstream:
        form = Form.FRAMED if self.takes_framed else Form.LINES
        introduction = Introduction(
            viewer=self._viewer,
            role=self.grant.role,
            session=self.grant.session,
            replay=self._replay,
            new=self._is_new,
            form=Form.EVENTS if self.has_events else form,
            initialize=self._client,
        )
        upstream = await self._services.directory.open(path, introduction)
        self._upstreams[path] = upstream
        upstream.task = asyncio.create_task(self._pass_back(upstream))
        return upstream

    async def _pass_back(self, upstream: Upstream) -> None:
        """Send the viewer what a holder sends, until the holder is lost.

        Then the requests that it has are refused. Sessions of other holders continue.
        """
        with contextlib.suppress(OSError):
            async for item in upstream.items():
                await self._pass(upstream, item)
        upstream.close()
        gone = [name for name, way in self._by_session.items() if way is upstream]
        for session_id in gone:
            del self._by_session[session_id]
        lost = [name for name, each in self._unanswered.items() if each.upstream is upstream]
        for request_id in lost:
            del self._unanswered[request_id]
        unanswered, upstream.unanswered = upstream.unanswered, set()
        if not self._replay:  # a replaying viewer sends unanswered requests again by itself
            error = access.holder_silent() if upstream.is_silent else access.holder_lost()
            for request_id in unanswered:
                await self.send(jsonrpc.error(request_id, error))
        # This connection would hear no more of the sessions; a new one finds them again.
        if self._replay or not self._by_session:
            if gone or (unanswered and self._replay):
                await self.close(HOLDER_LOST, "agent_lost")
        else:
            self._detached.update(gone)

    async def _pass(self, upstream: Upstream, item: Item) -> None:
        """Pass on encoded frames, or the lines of one read, without answers to own requests."""
        if isinstance(item, bytes):
            await self.send_framed(item)
        elif isinstance(item, wire.Control):
            await self._control(upstream, item.word, item.facts)
        elif isinstance(item, list):
            lines = item
            for line in lines:
                self._note(upstream, line)
            if self._own_requests:
                lines = [line for line in item if b'"id":' + OWN_ID not in line[:64]]
                self._own_requests -= len(item) - len(lines)
            await self.send(*lines)

    async def _control(self, upstream: Upstream, word: str, facts: dict[str, Any]) -> None:
        if word == wire.SHUT:
            code, reason = int(facts.get("code", 1011)), str(facts.get("reason", ""))
            session_id = facts.get("session")
            if isinstance(session_id, str):
                await self._session_ended(upstream, session_id, code, reason)
            else:
                await self.close(code, reason)

    async def _session_ended(
        self, upstream: Upstream, session_id: str, code: int, reason: str
    ) -> None:
        """Leave a session that has ended; close the connection if it carries no other."""
        self._leave_session(session_id, upstream)
        if self._is_unused and self._lingering is None:
            self._lingering = asyncio.create_task(self._close_unused(code, reason))

    @property
    def _is_unused(self) -> bool:
        return not (self._by_session or self._unanswered or self._delivery.lanes)

    async def _close_unused(self, code: int, reason: str) -> None:
        """Close the connection, unless its viewer opens another session meanwhile."""
        await asyncio.sleep(LINGER_SECONDS)
        self._lingering = None
        if self._is_unused:
            await self.close(code, reason)

    def _leave_session(self, session_id: str, upstream: Upstream) -> None:
        """Forget that this holder has a session, unless another has it by now."""
        for ways, name in (
            (self._by_session, session_id),
            (self._by_question, session_key(session_id)),
        ):
            if ways.get(name) is upstream:
                del ways[name]

    def _note(self, upstream: Upstream, line: bytes) -> None:
        """Note which requests a line answers, and which session it opens, closes or asks in."""
        is_question = b'"id":"lastword:' in line
        is_answer = upstream.unanswered and b'"method"' not in line[:64]
        frame = jsonrpc.decode(line) if is_question or is_answer or self._unanswered else None
        if not isinstance(frame, jsonrpc.Frame):
            return
        message, request_id = frame.message, frame.message.request_id or b""
        if message.method is not None:
            if is_question:
                self._by_question[read_question_id(request_id)[0]] = upstream
            return
        self.quality.answered(message)
        upstream.unanswered.discard(request_id)
        request = self._unanswered.get(request_id)
        if request is not None and request.upstream is upstream:
            del self._unanswered[request_id]
            if request.closes and message.error is UNSET:
                self._leave_session(request.closes, upstream)
            session_id = object_of(jsonrpc.loads(message.result)).get("sessionId")
            if request.opens and isinstance(session_id, str):
                self._by_session[session_id] = upstream


def _error_of(error: StartError | OSError) -> dict[str, Any]:
    """Return the error object for a holder that could not be reached."""
    return error.error if isinstance(error, StartError) else access.holder_lost()


MAX_FRAMES = 4096
MAX_BYTES = 32 * 1024 * 1024
"""The most that may wait for holders, of one viewer."""

ROOM_SECONDS = 1.0
"""How long a frame waits for room before it is refused."""

FINISH_SECONDS = 10.0
"""How long delivery may continue after the viewer has gone."""


def lane_of(frame: Frame) -> str:
    """Return the name of a frame's lane: frames of one lane keep their order."""
    message = frame.message
    if message.method is None:
        return f"answer {read_question_id(message.request_id)[0]}"
    if message.session_id is not None:
        return f"session {message.session_id}"
    if message.method == "session/new":  # each may be for another holder
        return f"new {(message.request_id or b'').decode(errors='replace')}"
    return ""


class Delivery:
    """The frames of one link that wait."""

    def __init__(
        self,
        deliver: Callable[[Frame], Awaitable[None]],
        failed: Callable[[Frame], Awaitable[None]],
    ) -> None:
        """Deliver each frame.

        Args:
            deliver: Delivers a frame; takes as long as its holder does.
            failed: Refuses a frame whose delivery raised an exception.
        """
        self._deliver = deliver
        self._failed = failed
        self.lanes: dict[str, deque[Frame]] = {}
        """The frames on their way, by lane; a lane without frames is absent."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._frames = self._bytes = 0
        self._has_room = asyncio.Event()

    def _is_full(self, frame: Frame) -> bool:
        is_full = self._frames >= MAX_FRAMES or self._bytes + len(frame.line) > MAX_BYTES
        return is_full and self._frames > 0

    async def put(self, lane: str, frame: Frame) -> bool:
        """Deliver a frame after those of its lane; return whether there was room."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ROOM_SECONDS):
                while self._is_full(frame):
                    self._has_room.clear()
                    await self._has_room.wait()
        if self._is_full(frame):
            return False
        self._add(lane, frame)
        return True

    def _add(self, lane: str, frame: Frame) -> None:
        self._frames += 1
        self._bytes += len(frame.line)
        waiting = self.lanes.get(lane)
        if waiting is not None:
            waiting.append(frame)
            return
        self.lanes[lane] = deque([frame])
        task = asyncio.create_task(self._run(lane))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def cancel(self, frame: Frame, *, even_alone: bool) -> None:
        """Deliver `$/cancel_request` behind all waiting frames: one may be what it cancels.

        Args:
            frame: The cancel.
            even_alone: Deliver it although no frame waits, to a holder that reads slowly.
        """
        for lane in list(self.lanes) or [""] * even_alone:
            if not self._is_full(frame):
                self._add(lane, frame)

    async def _run(self, lane: str) -> None:
        waiting = self.lanes[lane]
        try:
            while waiting:
                frame = waiting[0]
                try:
                    await self._deliver(frame)
                except Exception as error:  # noqa: BLE001 - the next frames are still delivered
                    context = {"message": "a frame was not delivered", "exception": error}
                    asyncio.get_running_loop().call_exception_handler(context)
                    await self._failed(frame)
                finally:
                    waiting.popleft()
                    self._frames -= 1
                    self._bytes -= len(frame.line)
                    self._has_room.set()
        finally:
            del self.lanes[lane]

    async def finish(self) -> None:
        """Deliver what was sent before the viewer left, within a bound."""
        tasks = list(self._tasks)
        try:
            if tasks:
                await asyncio.wait(tasks, timeout=FINISH_SECONDS)
        finally:
            for task in tasks:
                task.cancel()


def is_cancel(frame: Frame) -> bool:
    """Return whether a frame cancels a request without naming its session."""
    return frame.message.method == acp.CANCEL_REQUEST and frame.message.session_id is None
