"""A viewer's connection to a holder, and a holder's answers to the events API.

A viewer's connection to a holder: the sessions it is attached to, and what it is sent. Owns opening
and attaching sessions. What the viewer does not take is not pulled from the log: its memory is
bounded. The viewer is in this process, or at another node of a fleet (`remote`).

A holder's answers to a front that asks for events, or answers a question by a code. Owns the
control words and their facts. A front asks over a connection that has no viewer, one question at a
time; what it does not read is not read from the log either.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from lastword.core.link.handshake import read_client
from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.acp import object_of
from lastword.core.timeline.entry import Kind
from lastword.gateway import wire
from lastword.gateway.api.requests import EventQuery, Scan, as_facts
from lastword.gateway.viewing import access
from lastword.gateway.viewing.access import AnswerCode
from lastword.gateway.viewing.reader import CursorError, Role, Viewer, cursor_of, joined
from lastword.gateway.viewing.render import META, Form, stream_events

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from lastword.core.protocol.jsonrpc import Frame
    from lastword.gateway.holder.session import HeldSession
    from lastword.gateway.settings.values import HolderSettings
    from lastword.gateway.viewing.reader import Attachment, Pulled
    from lastword.gateway.viewing.render import LogPlace, StreamEvent


MAX_PLACES = 64
"""Sessions whose next attach may begin at a place that was named before; as many as streams."""
CLOSE_SECONDS = 2.0


class Introduction(msgspec.Struct, frozen=True, kw_only=True):
    """How a viewer is introduced to a holder.

    Attributes:
        viewer: its id.
        role: a `Role`.
        session: the only session that its token is for; empty for any.
        replay: it counts positions, and comes back by them.
        new: it cannot have been here before.
        form: a `Form`: how it is sent what others are sent too.
        initialize: the params of its `initialize`.
    """

    viewer: str = ""
    role: Role = Role.OBSERVER
    session: str = ""
    replay: bool = False
    new: bool = False
    form: Form = Form.LINES
    initialize: dict[str, Any] = {}


class ViewerOutput(Protocol):
    """Where a connection writes, without waiting."""

    def lines(self, frames: list[bytes]) -> None:
        """Write frames."""
        ...

    def framed(self, blocks: list[bytes]) -> None:
        """Write encoded WebSocket frames."""
        ...

    def events(self, session_id: str, events: list[StreamEvent]) -> None:
        """Write frames of a session with their places in its log."""
        ...

    def control(self, word: str, **facts: Any) -> None:
        """Write a word that is not for the viewer itself (`wire`)."""
        ...

    async def drain(self) -> None:
        """Wait until enough of what was written has been taken."""
        ...

    @property
    def is_closing(self) -> bool:
        """Whether nothing more is accepted."""
        ...

    def close(self) -> None:
        """Accept no more; what was written is still delivered."""
        ...


class LinkHolder(Protocol):
    """What a viewer's connection needs of its holder."""

    abandoned: set[str]
    """Sessions that other nodes have now."""
    settings: HolderSettings
    sessions: dict[str, HeldSession]
    """The sessions, by id."""

    def open_session(
        self,
        link: ViewerConnection,
        frame: Frame,
        params: dict[str, Any],
        origin: HeldSession | None = None,
    ) -> None:
        """Ask the agent for a session."""
        ...

    def not_opened(self, session_id: str) -> dict[str, Any] | None:
        """Return why a session is not here although the agent was started for it."""
        ...

    def pass_on(self, link: ViewerConnection, frame: Frame) -> None:
        """Ask the agent for something that belongs to no session."""
        ...

    def left(self, link: ViewerConnection) -> None:
        """Note that a connection has ended."""
        ...


class AttachedSession:
    """One session to which the viewer of a link is attached."""

    def __init__(
        self, link: ViewerConnection, session: HeldSession, attachment: Attachment
    ) -> None:
        self.link = link
        self.session = session
        self.attachment = attachment
        self._grown = asyncio.Event()
        self._answer: tuple[int, bytes] | None = None
        self.task: asyncio.Task[None] | None = None
        """Sends what the log has."""
        self._end: tuple[int, str] | None = None
        """How the viewer's link ends with the session, if it carries no other."""

    def begin(self, answer: bytes | None = None) -> None:
        """Begin to send; the attach request gets this answer where the past ends."""
        if answer is not None:
            self._answer = (self.attachment.live_from, answer)
        self.task = asyncio.create_task(self._pump())

    async def _pump(self) -> None:
        """Send a viewer what the log has for it, as fast as its socket takes it."""
        session, attachment = self.session, self.attachment
        while True:
            pulled = attachment.reader.pull()
            if not pulled.is_empty:
                session.quality.pulled(pulled, attachment.live_from)
                if pulled.gap is not None:
                    session.report_gap(attachment, pulled.gap)
                if attachment.compact:
                    pulled = joined(pulled, attachment.live_from)
                self.show(pulled)
            if self._answer is not None and attachment.reader.pos >= self._answer[0]:
                self.answer_now()
            if not pulled.is_empty:
                await self.link.out.drain()
            if attachment.reader.lag > 0:
                # A log of megabytes must not keep the others from theirs.
                await asyncio.sleep(0)
            elif self._end is not None:
                self.link.leave(self, *self._end)
                return
            else:
                await self._grown.wait()
                self._grown.clear()

    def answer_now(self) -> None:
        """Answer the attach request, if that has not been done."""
        if self._answer is not None:
            line, self._answer = self._answer[1], None
            self.link.write([line])

    def finish(self, code: int, reason: str) -> None:
        """End once everything in the log has been sent: the session is over."""
        self._end = (code, reason)
        self.wake()

    def wake(self) -> None:
        """Note that the log may have grown."""
        self._grown.set()

    def show(self, pulled: Pulled) -> None:
        """Write what was pulled."""
        session, attachment, link = self.session, self.attachment, self.link
        if link.form is Form.EVENTS:
            placed = session.renderer.placed(pulled, attachment)
            if placed:
                link.out.events(session.id, stream_events(session.log.epoch, placed))
            return
        ready = session.renderer.for_all(pulled, attachment, link.form)
        if ready is None:
            link.write(session.renderer.pulled(pulled, attachment))
        elif link.form is Form.FRAMED:
            link.out.framed(ready)
        else:
            link.write(ready)

    def send(self, *frames: bytes) -> None:
        """Write what did not come from the log."""
        self.link.write(list(frames))

    def shut(self, code: int, reason: str) -> None:
        """Close the viewer's socket."""
        self.link.shut(code, reason)

    def stop(self, code: int, cause: str) -> None:
        """Stop sending: the viewer has gone."""
        if self.task is not None:
            self.task.cancel()
        self.session.remove(self, code=code, cause=cause)


class ViewerConnection:
    """One viewer's connection to one holder."""

    def __init__(self, holder: LinkHolder, introduction: Introduction, out: ViewerOutput) -> None:
        """Serve a viewer.

        Args:
            holder: The holder.
            introduction: Who the viewer is.
            out: Where to write.
        """
        self._holder = holder
        self.out: ViewerOutput = out
        self.viewer: Viewer = Viewer(
            id=introduction.viewer,
            role=introduction.role,
            session=introduction.session,
            profile=read_client(jsonrpc.dumps({"params": introduction.initialize})),
            replay=introduction.replay,
            is_new=introduction.new,
        )
        self.form: Form = introduction.form
        self._attached: dict[str, AttachedSession] = {}
        self._answers_first = False
        self._places: dict[str, LogPlace] = {}
        """Where the next attach of a session begins, if it does not say so itself."""

    async def finish(self) -> None:
        """End it once what is in the logs has been written, within a bound."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                for attached in list(self._attached.values()):
                    if attached.task is not None:
                        await asyncio.wait((attached.task,))
        self.out.close()

    def close(self, code: int, cause: str) -> None:
        """Note that the viewer has gone, by this close code and for this cause."""
        for attached in list(self._attached.values()):
            attached.stop(code, cause)
        self._attached.clear()
        self.out.close()
        self._holder.left(self)

    def answer_first(self) -> None:
        """Answer the next attach before the past is sent, since nobody reads that yet."""
        self._answers_first = True

    def resume(self, session_id: str, number: int, place: LogPlace | CursorError) -> None:
        """Go back: the viewer of a stream has applied no more than this.

        Args:
            session_id: The session.
            number: The number that identifies the answer.
            place: Where it continues, or why that cannot be known.
        """
        attached = self._attached.get(session_id)
        is_reset, refused = False, {}
        try:
            if isinstance(place, CursorError):
                raise place
            if attached is not None:
                is_reset = attached.session.hub.go_back(attached.attachment, *place)
                attached.wake()
            elif len(self._places) < MAX_PLACES:
                self._places[session_id] = place
        except CursorError as error:
            refused = {"refused": str(error)}
        self.out.control(wire.RESUMED, session=session_id, number=number, **refused)
        if attached is not None and is_reset:
            session = attached.session
            self.send(session.renderer.reset(attached.attachment, session.log.epoch))

    def receive(self, frame: Frame) -> None:
        """Receive a frame that has been read by `viewer_frames`."""
        viewer, message = self.viewer, frame.message
        try:
            frame = access.within(frame, self._holder.settings.root)
        except access.OutsideRootError as error:
            refused: dict[str, Any] | None = access.outside_root(error.member, "")
        else:
            refused = access.refusal(message, controls=viewer.controls, session=viewer.session)
        message = frame.message
        method, request_id, session_id = message.method, message.request_id, message.session_id
        if refused is not None:
            if request_id is not None and method is not None:
                self.send(jsonrpc.error(request_id, refused))
        elif method == "session/new" and request_id is not None:
            self._holder.open_session(self, frame, jsonrpc.params_of(frame))
        elif method is None or (
            session_id is None and request_id is None and method == acp.CANCEL_REQUEST
        ):
            for attached in list(self._attached.values()):
                attached.session.receive(attached, frame)
        elif session_id is None:
            if request_id is not None:
                self._holder.pass_on(self, frame)
        elif method in acp.BRINGS_BACK and request_id is not None:
            self._attach(frame, request_id)
        elif method == acp.FORK and request_id is not None:
            self._fork(frame, request_id)
        elif session_id in self._attached:
            here = self._attached[session_id]
            here.session.receive(here, frame)
        elif request_id is not None:
            self._refuse(request_id, session_id)

    def _fork(self, frame: Frame, request_id: bytes) -> None:
        """Have a session forked once its agent has it."""
        session_id = frame.message.session_id or ""
        session = self._holder.sessions.get(session_id)
        if session is None:
            self._refuse(request_id, session_id)
        elif session.defers(self, frame, partial(self._fork, frame, request_id)):
            pass
        elif session.failed is not None:
            self.send(jsonrpc.error(request_id, session.failed))
        else:
            params = jsonrpc.params_of(frame)
            self._holder.open_session(self, frame, params, origin=session)

    def _refuse(self, request_id: bytes, session_id: str) -> None:
        """Answer for a session that is not here; its viewers come back to where it is now."""
        if session_id in self._holder.abandoned:
            self.shut(1012, "agent_lost")
        else:
            failed = self._holder.not_opened(session_id)
            self.send(jsonrpc.error(request_id, failed or access.unknown_session(session_id)))

    def _attach(self, frame: Frame, request_id: bytes) -> None:
        """Handle `session/load` and `session/resume`: find the position, without the agent."""
        viewer, session_id = self.viewer, frame.message.session_id or ""
        session = self._holder.sessions.get(session_id)
        if session is None:
            self._refuse(request_id, session_id)
            return
        params = jsonrpc.params_of(frame)
        try:
            cursor, replay = _start_of(params, loads=frame.message.method == acp.LOAD)
            place = self._places.pop(session_id, None)
            if cursor is None and place is not None:
                cursor = place.cursor
            compact = _is_compact(params, viewer)
            self.detach(session_id)
            session.supersede(viewer.id)
            if not session.has_room(viewer):
                self.send(jsonrpc.error(request_id, access.too_many_viewers()))
                return
            attachment, is_reset = session.attach(viewer, cursor, replay=replay, compact=compact)
            if place is not None and cursor is place.cursor:
                session.hub.go_back(attachment, *place)
        except CursorError as error:
            wrong = {"code": acp.INVALID_PARAMS, "message": f"{error}."}
            self.send(jsonrpc.error(request_id, wrong))
            return
        if viewer.replay:  # its link may break before the answer, which also has the epoch
            first = attachment.reader.pos + 1
            self.send(session.renderer.beginning(session.log.epoch, first))
        result = _placed(session.loaded(), session, attachment, is_reset=is_reset)
        answer = None if self._answers_first else jsonrpc.result(request_id, result)
        if self._answers_first:
            self._answers_first = False
            self.send(jsonrpc.result(request_id, {"sessionId": session_id} | result))
        attached = self._attached[session.id] = AttachedSession(self, session, attachment)
        session.add(attached)
        attached.begin(answer)

    def has_opened(self, session: HeldSession, request_id: bytes, result: dict[str, Any]) -> None:
        """Attach to the session that this viewer asked for and that now exists."""
        if self.out.is_closing:
            return  # it asks again when it is back
        self.detach(session.id)
        session.supersede(self.viewer.id)
        if not session.has_room(self.viewer):
            self.send(jsonrpc.error(request_id, access.too_many_viewers()))
            return
        attachment, _ = session.attach(self.viewer, None)
        answer = jsonrpc.result(request_id, _placed(result, session, attachment))
        attachment.live_from = 0
        attached = self._attached[session.id] = AttachedSession(self, session, attachment)
        session.add(attached)
        session.once_committed(partial(self._begin, attached, answer))

    def _begin(self, attached: AttachedSession, answer: bytes) -> None:
        """Answer the request that opened a session, then send what the agent said before."""
        if self._attached.get(attached.session.id) is attached:
            self.send(answer)
            attached.begin()

    def detach(self, session_id: str) -> None:
        """End the viewer's earlier attachment to this session before its next one."""
        attached = self._attached.pop(session_id, None)
        if attached is not None:
            attached.answer_now()  # its past is cut short: the next attach has it
            attached.stop(1000, "attached again")

    def send(self, *frames: bytes) -> None:
        """Write frames."""
        self.write(list(frames))

    def write(self, frames: list[bytes]) -> None:
        """Write frames."""
        if frames and not self.out.is_closing:
            self.out.lines(frames)

    def leave(self, attached: AttachedSession, code: int, reason: str) -> None:
        """Leave a session that is over; a socket that carries no other is closed."""
        session = attached.session
        if self._attached.get(session.id) is attached:
            del self._attached[session.id]
        session.remove(attached, code=code, cause=reason)
        self.out.control(wire.SHUT, code=code, reason=reason, session=session.id)

    def shut(self, code: int, reason: str) -> None:
        """Have the viewer's socket closed."""
        self.out.control(wire.SHUT, code=code, reason=reason)


def _start_of(params: dict[str, Any], *, loads: bool) -> tuple[Any, bool]:
    """Return the cursor of an attach, and otherwise whether the past is wanted.

    Raises:
        CursorError: It is not a usable cursor.
    """
    ours = object_of(object_of(params.get("_meta")).get(META))
    if "after" in ours:
        return cursor_of(ours["after"]), True
    place = params.get("replayFrom")
    if place is None:
        return None, loads
    kind = object_of(place).get("type")
    if kind == "start":
        return None, True
    if kind == "_lastword":
        # Inclusive in version 2: the next one that is wanted.
        wanted = object_of(place)
        first = wanted.get("from")
        seq = first - 1 if isinstance(first, int) and not isinstance(first, bool) else first
        return cursor_of({"epoch": wanted.get("epoch"), "seq": seq}), True
    raise CursorError('replayFrom is {"type": "start"} or {"type": "_lastword", …}')


def _is_compact(params: dict[str, Any], viewer: Viewer) -> bool:
    """Return whether the past is to be compact. It is for stock clients, unless they decline.

    Raises:
        CursorError: The value is not a boolean.
    """
    requested = object_of(object_of(params.get("_meta")).get(META)).get("replay")
    if not isinstance(requested, str):
        return not viewer.replay
    if requested not in {"compact", "full"}:
        raise CursorError('replay is "compact" or "full"')
    return requested == "compact"


def _placed(
    result: dict[str, Any], session: HeldSession, attachment: Attachment, *, is_reset: bool = False
) -> dict[str, Any]:
    """Return an answer with the attachment's position, for a viewer that counts."""
    if not attachment.viewer.replay:
        return result
    place: dict[str, Any] = {
        "epoch": session.log.epoch,
        "head": attachment.live_from,
        "from": attachment.reader.pos + 1,
        "replay": "compact" if attachment.compact else "full",
    }
    place |= {"reset": "epoch"} if is_reset else {}
    return result | {"_meta": object_of(result.get("_meta")) | {META: place}}


MAX_WAIT_SECONDS = 30.0


async def _events(sessions: Mapping[str, HeldSession], facts: dict[str, Any]) -> dict[str, Any]:
    session = sessions.get(str(facts.get("session")))
    if session is None:
        return {wire.UNKNOWN: True}
    query = msgspec.convert(facts.get("query"), EventQuery)
    wait = facts.get("wait_seconds")
    seconds = min(float(wait), MAX_WAIT_SECONDS) if isinstance(wait, int | float) else 0.0
    try:
        scan = await _scanned(session, query, seconds)
    except CursorError as error:
        return {wire.REFUSED: str(error)}
    return {wire.PAGE: as_facts(scan.page())}


async def _scanned(session: HeldSession, query: EventQuery, seconds: float) -> Scan:
    """Return a page with something on it, or after a while whatever there is."""
    until = time.monotonic() + seconds
    scan = Scan(session.log, session.id, query)
    with session.watched() as grown:
        while True:
            grown.clear()
            scan.go_on()
            while not scan.step():  # noqa: ASYNC110 - it waits for nothing
                await asyncio.sleep(0)  # the agent and the viewers have this loop, too
            left = until - time.monotonic()
            if scan.is_news or session.is_over or left <= 0:
                return scan
            try:
                async with asyncio.timeout(left):
                    await grown.wait()
            except TimeoutError:
                return scan


async def _note(sessions: Mapping[str, HeldSession], facts: dict[str, Any]) -> dict[str, Any]:
    session = sessions.get(str(facts.get("session")))
    event = facts.get("facts")
    if session is None or not isinstance(event, dict):
        return {wire.UNKNOWN: True}
    at_ms = time.time_ns() // 1_000_000
    effects = session.hub.note_bounded("client", at_ms, Kind.CLIENT_ERROR, **event)
    if not effects:
        return {wire.UNKNOWN: True}
    seq = session.hub.head
    session.carry_out(effects)
    await session.committed(seq)
    return {"seq": seq}


async def _answer(sessions: Mapping[str, HeldSession], facts: dict[str, Any]) -> dict[str, Any]:
    """Answer a question by a code that has been checked."""
    code = msgspec.convert(facts.get("code"), AnswerCode)
    session = sessions.get(code.session)
    if session is None or session.run != code.run or session.is_over or session.failed is not None:
        return {"outcome": wire.GONE}
    at_ms = time.time_ns() // 1_000_000
    outcome, effects = session.hub.answer(code.question, code.option, at_ms)
    if effects:
        session.carry_out(effects)
    return {"outcome": outcome}


ANSWERED: dict[
    str, Callable[[Mapping[str, HeldSession], dict[str, Any]], Awaitable[dict[str, Any]]]
] = {
    wire.EVENTS_PAGE: _events,
    wire.NOTE: _note,
    wire.ANSWER: _answer,
}
"""The function that answers each word."""
