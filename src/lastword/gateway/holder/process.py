"""The holder: one agent, the logs of its sessions, and the viewers that are connected to it.

Owns what is between viewers and one agent. It is the agent's only client; viewers come and go
without ending a turn. `Hub` makes all decisions; this module reads, commits and sends, in that
order.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import sys
import time
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.acp import object_of
from lastword.core.timeline.entry import Kind
from lastword.errors import LastwordError, StoreError
from lastword.gateway import wire
from lastword.gateway.holder import agent_process
from lastword.gateway.holder.agent_process import (
    OwnRequests,
    RequestFailedError,
    exit_facts,
    wall_ahead,
)
from lastword.gateway.holder.connection import ViewerConnection
from lastword.gateway.holder.effects import waiting_turn
from lastword.gateway.holder.handover import FLEET_SECONDS, HandedHolder, OpenedBy, past_lines
from lastword.gateway.holder.openings import UNDER_WAY, Opening, Openings, bring_back, resume_again
from lastword.gateway.holder.recording import HolderRecord
from lastword.gateway.holder.session import HeldSession
from lastword.gateway.log.files import LogOwner
from lastword.gateway.quality import metrics
from lastword.gateway.viewing import access
from lastword.gateway.viewing.frames import number_of
from lastword.gateway.viewing.render import with_session
from lastword.outbox.own_reports import OwnReports
from lastword.outbox.store import now_ms

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from lastword.core.link.waits import StoredWait
    from lastword.core.protocol.jsonrpc import Frame
    from lastword.gateway.fleet.ownership import Ownership, Takeover
    from lastword.gateway.holder.agent_process import HeldAgent, StartAgent
    from lastword.gateway.holder.connection import Introduction, ViewerOutput
    from lastword.gateway.holder.effects import HubEffect
    from lastword.gateway.holder.quality import HolderQuality
    from lastword.gateway.holder.recording import SessionNotices
    from lastword.gateway.log.files import LogLock
    from lastword.gateway.settings.values import HolderSettings

    OwnershipOf: TypeAlias = Callable[["Holder"], Ownership]
    """Returns the ownership of a holder's sessions in a fleet."""

MAX_EARLY = 256
"""Frames that are kept of a session before the agent has answered the request for it."""

MAX_SESSIONS = 64
"""Sessions of one agent, which has more than one only by forks."""

LOOK_SECONDS = 0.05
"""The shortest time between two checks of what no frame announces."""

SPARE_SECONDS = 600.0
"""How long an agent without a session is kept after the last viewer has left."""


class Holder:
    """One agent and its sessions."""

    def __init__(  # noqa: PLR0913 - what it is made of
        self,
        settings: HolderSettings,
        agent: StartAgent,
        *,
        quality: HolderQuality,
        notices: SessionNotices | None = None,
        fleet: OwnershipOf | None = None,
        at_end: Callable[..., object] | None = None,
    ) -> None:
        """Put a holder together.

        Args:
            settings: Its settings.
            agent: Makes its agent, which is started later.
            quality: Counts what happens.
            notices: What notifications are made from, if there are any.
            fleet: Returns the ownership of its sessions in a fleet, if it is in one.
            at_end: Called in a thread at its end, for what may take a moment; `goes_on` says
                whether its sessions continue in the program that replaces this one.
        """
        self._at_end = at_end
        self.settings = settings
        self.notices: SessionNotices | None = notices
        self.quality: HolderQuality = quality
        self.record: HolderRecord = HolderRecord(
            settings.record_folder,
            program=settings.command[0],
            run=settings.run,
            noted=self.quality.noted,
        )
        self.reports: OwnReports = OwnReports(
            settings.report, settings.state_folder, settings.command[0]
        )
        self.agent: HeldAgent = agent(
            self._from_agent, self._agent_ended, self._limit_waits, self.record
        )
        self.conversation: OwnRequests = OwnRequests(self.agent.send)
        self.sessions: dict[str, HeldSession] = {}
        self._by_agents_id: dict[str, HeldSession] = {}
        """The same, by the ids that the agent knows."""
        self.initialized: dict[str, Any] = {}
        """What the agent answered to `initialize`."""
        self._initialize_failed: dict[str, Any] | None = None
        self._ready = asyncio.Event()
        self._over = asyncio.Event()
        self._is_terminated = False
        self._is_handed_over = False
        self.abandoned: set[str] = set()
        """Sessions that other nodes have now."""
        self._stirred = asyncio.Event()
        """Set when a timeout may have begun or ended; an idle holder sleeps until then."""
        self._early: dict[str, list[Frame]] = {}
        self._openings = Openings()
        self.links: set[ViewerConnection] = set()
        """The connections of its viewers."""
        self._alone_since = time.monotonic()
        self._status: int | None = None
        self._lock: LogLock | None = None
        """Of the log that it takes over."""
        self._takeover: Takeover | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.unused: Callable[[], object] = lambda: None
        """Called when it has no session after a request for one."""
        self.begun: asyncio.Event = asyncio.Event()
        """Set once its agent's process has been started, or could not be."""
        self.opened: list[HeldSession] = []
        """All sessions that it has opened, whose files are closed at its end."""
        self.fleet: Ownership | None = fleet(self) if fleet is not None else None

    @property
    def owner(self) -> LogOwner:
        """Return how this process is named as the owner of logs."""
        settings = self.settings
        return LogOwner(pid=os.getpid(), address=settings.address, run_folder=settings.run_folder)

    async def run(self, handed: HandedHolder | None = None) -> None:
        """Hold the agent until its sessions have ended.

        Args:
            handed: Its state in the program that this one has replaced, if it was there.

        Raises:
            LogOwnedError: Another process has the session that it is started for.
            FleetError: The fleet cannot be used.
            OSError: The agent cannot be started.
        """
        if self.settings.session:  # before an agent is started for it
            self._lock = HeldSession.locked(self, self.settings.session)
        beside: list[asyncio.Task[None]] = []
        try:
            if self.fleet is not None:
                try:
                    self._takeover = await self.fleet.start(self.settings.session)
                except LastwordError:
                    if handed is not None:  # an agent that runs on ends, too
                        self.agent.adopt(handed.agent.state, [], handed.turns)
                    raise
            beside = [asyncio.create_task(self._watch())]
            if handed is not None:
                await self._adopt(handed)
            elif not self.is_over:
                await self.agent.start()
                beside.append(asyncio.create_task(self._start()))
            elif self.settings.session:  # which ends, too, and needs no agent for that
                session = HeldSession.open(self, self.settings.session, lock=self._lock)
                self.add(session)
                if self.fleet is not None:
                    await self.fleet.opened(session)
            self.begun.set()
            await self._over.wait()
        finally:
            for task in beside:
                task.cancel()
            await self._leave()
            if self._lock is not None:
                self._lock.release()

    @property
    def can_be_handed_over(self) -> bool:
        """Whether the agent can run on at this moment while this process replaces itself."""
        is_idle = self.is_ready and not (
            self._openings.are_waiting or self.conversation.are_waiting
        )
        has_all = all(each.failed is None and each.is_stored for each in self.sessions.values())
        return is_idle and has_all and self.goes_on and self.agent.can_be_handed_over

    @property
    def can_only_end(self) -> bool:
        """Return whether it cannot be later either: it has ended, or could load no session."""
        sessions = self.sessions.values()
        has_failed = bool(sessions) and all(each.failed is not None for each in sessions)
        return self.agent.can_only_end or (has_failed and not self.conversation.are_waiting)

    @property
    def goes_on(self) -> bool:
        """Return whether it may get further viewers."""
        return self._initialize_failed is None and not self._over.is_set()

    async def hand_over(self, until: float) -> HandedHolder | None:
        """Hand the agent, which keeps running, to the program that replaces this one.

        If that is impossible, the agent ends with its turns, and the result is `None`.

        Args:
            until: How long its fleet may take to store what it has said, by the monotonic clock.
        """
        if (
            self.fleet is not None and not await self.fleet.settle(until - time.monotonic())
        ) or not self.can_be_handed_over:
            self.terminate()
            return None
        self._is_handed_over = True
        agent = self.agent.hand_over()
        numbers, turns = self.conversation.counts
        handed = HandedHolder(
            name=self.settings.name,
            client=self.settings.client,
            initialized=self.initialized,
            run=self.record.run,
            numbers=numbers,
            turns=turns,
            sessions=list(self.sessions),
            clocks={name: each.clock for name, each in self.sessions.items()},
            opened=[OpenedBy(*each) for each in self._openings.all_opened()],
            agent=agent,
        )
        for session in self.sessions.values():
            session.leave()
        self.sessions.clear()
        self._over.set()
        return handed

    async def _adopt(self, handed: HandedHolder) -> None:
        """Continue with an agent that was handed over, and with its sessions."""
        self.conversation.count_on(handed.numbers, handed.turns)
        if handed.turns:
            self.record.keep()
        self.initialized = handed.initialized
        if self.notices is not None:
            info = acp.dialect(handed.initialized.get("protocolVersion")).agent_info
            self.notices.go_on(str(object_of(handed.initialized.get(info)).get("name") or ""))
        until = time.monotonic() + FLEET_SECONDS
        for session_id in handed.sessions:
            clock = handed.clocks.get(session_id, wall_ahead())
            try:
                if self.fleet is not None:
                    await self.fleet.reclaim(session_id, until)
                self.add(HeldSession.open(self, session_id, clock=clock))
                if self.fleet is not None:
                    await self.fleet.opened(self.sessions[session_id])
            except LastwordError as error:
                sys.stderr.write(f"lastword: {error}\n")
        for opened in handed.opened:
            self._openings.opened(opened.viewer, opened.request_id, opened.session)
        params = self.settings.initialize_params(self.settings.client)
        past = past_lines(params, handed, self.sessions.values())
        self.agent.adopt(handed.agent.state, past, handed.turns)
        for session in self.sessions.values():
            waiting = waiting_turn(session.log) if self.agent.waits_for_limits else None
            if waiting is not None:
                session.restore_wait(waiting)
        self._ready.set()
        if handed.sessions and not self.sessions:
            self.stop()

    async def _start(self) -> None:
        """Initialize the agent, and restore the session that it is started for."""
        params = self.settings.initialize_params(self.settings.client)
        try:
            answer = await self.conversation.request(acp.INITIALIZE, params)
            self.initialized = jsonrpc.without_surrogates(answer)
        except RequestFailedError as failed:
            self._initialize_failed = failed.error
        if self.settings.session and self._initialize_failed is None:
            try:
                session = HeldSession.open(self, self.settings.session, lock=self._lock)
            except StoreError as error:
                self._initialize_failed = self._no_log(error)
            else:
                await bring_back(self, session, self._takeover)
        self._ready.set()
        if self._initialize_failed is not None:  # the next viewer gets another agent
            self._end_soon()

    # Viewers.

    def connected(self, introduction: Introduction, out: ViewerOutput) -> ViewerConnection:
        """Return the connection of a viewer, until that closes it.

        Args:
            introduction: Who it is.
            out: Where to write.
        """
        link = ViewerConnection(self, introduction, out)
        self.links.add(link)
        return link

    def left(self, link: ViewerConnection) -> None:
        """Note that a connection has ended."""
        self.links.discard(link)
        if not self.links:
            self._alone_since = time.monotonic()
        self.stir()

    def welcome(self, failed: dict[str, Any] | None) -> dict[str, Any]:
        """Return the welcome of a viewer, after `ready` has returned this."""
        return {"initialize": self.initialized, "failed": failed}

    def status(self) -> dict[str, Any]:
        """Return what `lastword gateway status` shows of it."""
        return {
            "version": wire.VERSION,
            "pid": os.getpid(),
            "agent_pid": self.agent.pid,
            "sessions": [session.describe() for session in self.sessions.values()],
        }

    @property
    def is_over(self) -> bool:
        """Return whether it ends, or has ended."""
        return self._over.is_set()

    @property
    def is_ready(self) -> bool:
        """Return whether viewers may come: its agent has answered `initialize`."""
        return self._ready.is_set()

    async def ready(self) -> dict[str, Any] | None:
        """Wait for the agent's answer to `initialize`; return the error object if it refused."""
        await self._ready.wait()
        return self._initialize_failed

    def has_session(self) -> None:
        """Let viewers come to the session that it was started for."""
        self._ready.set()

    def not_opened(self, session_id: str) -> dict[str, Any] | None:
        """Return why a session is not here although the agent was started for it."""
        return self._initialize_failed if session_id == self.settings.session else None

    def resume(self, session: HeldSession) -> None:
        """Have the agent resume a session that it could not resume before."""
        self._in_task(resume_again(self, session))

    def open_session(
        self,
        link: ViewerConnection,
        frame: Frame,
        params: dict[str, Any],
        origin: HeldSession | None = None,
    ) -> None:
        """Ask the agent for a session; a viewer that asks again gets the one it has.

        Args:
            link: The viewer's link.
            frame: The request.
            params: Its params.
            origin: The session that it forks, if any.
        """
        request_id = frame.message.request_id or b"null"
        outcome = self._openings.again(link, link.viewer, request_id, self.sessions)
        if outcome == UNDER_WAY:
            return
        if outcome is not None:
            session = self.sessions[outcome]
            link.has_opened(session, request_id, session.loaded() | {"sessionId": session.id})
            return
        if origin is not None:  # a fork stays with this agent, which alone knows its past
            if len(self.sessions) >= MAX_SESSIONS:
                link.send(jsonrpc.error(request_id, access.too_many_sessions()))
                return
            if origin.agents_id != origin.id:
                line = with_session(frame.line, origin.agents_id)
                frame = msgspec.structs.replace(frame, line=line)
            own = {name: value for name, value in params.items() if name != "sessionId"}
            past = origin.recall("params")
            params = {name: past[name] for name in past if name in {"cwd", "mcpServers"}} | own
        self.pass_on(link, frame, params)

    def pass_on(
        self, link: ViewerConnection, frame: Frame, params: dict[str, Any] | None = None
    ) -> None:
        """Send the agent a viewer's request that belongs to no session, such as a login.

        Args:
            link: The viewer's link.
            frame: The request.
            params: The params of a request for a session; `None` for any other.
        """
        request_id = frame.message.request_id or b"null"
        if self._status is not None:
            link.send(jsonrpc.error(request_id, access.agent_lost("Send it again.")))
            return
        if self._initialize_failed is not None:
            link.send(jsonrpc.error(request_id, self._initialize_failed))
            return
        number = self.conversation.next_number()
        self._openings.add(number, Opening(link, link.viewer.id, request_id, params or {}))
        self.agent.send(jsonrpc.with_id(frame, b"%d" % number))

    # The agent.

    def _from_agent(self, block: bytes) -> None:
        """Receive the agent's output, passing consecutive lines of a session on together."""
        run: list[Frame] = []
        owner: HeldSession | None = None
        is_suspect = agent_process.may_be_in(block)
        for read in jsonrpc.decode_lines(block):
            frame = read if isinstance(read, jsonrpc.Frame) else None
            if is_suspect and frame is not None:
                clean, request_id = agent_process.cleaned(frame), frame.message.request_id
                if clean.used:
                    self.quality.counts.add(metrics.RESERVED, 1, clean.used)
                if clean.frame is None and request_id is not None:
                    self.agent.send(jsonrpc.error(request_id, access.RESERVED))
                frame = clean.frame
            if frame is None:
                continue
            message = frame.message
            if message.method is None:
                number = number_of(message.request_id)
                session = next((s for s in self.sessions.values() if s.hub.has_open(number)), None)
            else:
                session = self._by_agents_id.get(message.session_id or "")
                if session is None and message.session_id is None and len(self.sessions) == 1:
                    session = next(iter(self.sessions.values()))
            if session is not owner:
                if owner is not None:
                    owner.from_agent(run)
                owner, run = session, []
            if session is not None:
                run.append(frame)
            else:
                self._of_no_session(frame)
        if owner is not None:
            owner.from_agent(run)
        if any(session.log.is_behind for session in self.sessions.values()):
            self.agent.pause(paused=True)

    def _of_no_session(self, frame: Frame) -> None:
        message = frame.message
        if message.method is None:
            if self.conversation.resolve(frame):
                return
            opening = self._openings.pop(number_of(message.request_id))
            if opening is not None:
                self._answer_opening(opening, frame)
                if not self._openings.are_waiting:
                    self._early.clear()
                    if opening.params and not self.sessions:
                        self.unused()
        elif self._openings.are_waiting and message.session_id is not None:
            early = self._early.setdefault(message.session_id, [])
            if len(early) < MAX_EARLY:
                early.append(frame)
        elif message.request_id is not None and message.session_id is not None:
            # The session is over: nobody is left to answer.
            gone = access.unknown_session(message.session_id)
            self.agent.send(jsonrpc.error(message.request_id, gone))

    def _answer_opening(self, opening: Opening, frame: Frame) -> None:
        """Answer a viewer's request of no session; it may have opened one."""
        link, request_id, params = opening.link, opening.request_id, opening.params
        result = jsonrpc.loads(frame.message.result)
        session_id = result.get("sessionId") if isinstance(result, dict) else None
        if not isinstance(session_id, str) or not session_id or not params:
            link.send(jsonrpc.with_id(frame, request_id))
            return
        try:
            session = HeldSession.made(self, session_id)
            session.remember(params, object_of(result), self.settings.client)
        except StoreError as error:
            link.send(jsonrpc.error(request_id, self._no_log(error)))
            return
        self.add(session)
        self._openings.opened(opening.viewer, request_id, session.id)
        early = self._early.pop(session_id, [])
        if early:
            session.from_agent(early)
        answer = object_of(result) | {"sessionId": session.id}
        if self.fleet is None:
            link.has_opened(session, request_id, answer)
        else:
            self._in_task(self._show_opened(self.fleet, session, opening, answer))

    def _in_task(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _show_opened(
        self, fleet: Ownership, session: HeldSession, opening: Opening, answer: dict[str, Any]
    ) -> None:
        """Answer a request that opened a session once the fleet knows whose it is."""
        try:
            await fleet.opened(session)
        except LastwordError as error:
            sys.stderr.write(f"lastword: {error}\n")
            opening.link.send(jsonrpc.error(opening.request_id, access.fleet_away()))
            self.close_session(session, "stopped")
        else:
            opening.link.has_opened(session, opening.request_id, answer)

    def add(self, session: HeldSession) -> None:
        """Add a session."""
        self.sessions[session.id] = session
        self._by_agents_id[session.agents_id] = session

    @property
    def can_close(self) -> bool:
        """Return whether the agent can close a session on request."""
        dialect = acp.dialect(self.initialized.get("protocolVersion"))
        capabilities = object_of(self.initialized.get(dialect.agent_capabilities))
        return isinstance(object_of(capabilities.get("sessionCapabilities")).get("close"), dict)

    def close_session(
        self, session: HeldSession, word: str, effects: Iterable[HubEffect] = ()
    ) -> None:
        """End a session: tell its viewers, and keep its log for readers.

        Args:
            session: The session.
            word: Why it ends.
            effects: What is carried out just before its end, such as the answer to its close.
        """
        if self.sessions.pop(session.id, None) is None:
            return
        if self._by_agents_id.get(session.agents_id) is session:
            del self._by_agents_id[session.agents_id]
        session.carry_out(effects)
        session.end(word)
        if not self.sessions:
            self._over.set()

    def fenced(self, session_id: str, term: int, entries: int) -> None:
        """Leave a session that another node has, and end with the agent.

        Args:
            session_id: The session.
            term: The term that was this holder's.
            entries: How many entries of its log the fleet does not have, and will not.
        """
        session = self.sessions.pop(session_id, None)
        self._over.set()
        self.agent.kill()  # before anything else: another agent may have its files now
        if session is not None:
            self.record.fenced(session.agents_id, term, entries)
            self._abandon(session, "agent_lost", f"fenced-{term}")

    def leave_all(self) -> None:
        """Leave every session unchanged to the next holder, and end with the agent."""
        sessions = list(self.sessions.values())
        self.sessions.clear()  # the next holder logs the end of the agent
        self._over.set()
        self.agent.kill()  # before anything else, as above
        for session in sessions:
            self._abandon(session, "left to another node")

    def _abandon(self, session: HeldSession, reason: str, aside: str = "") -> None:
        self._by_agents_id.pop(session.agents_id, None)
        self.abandoned.add(session.id)
        session.abandon(reason, aside)

    def _limit_waits(self, agents_id: str, stored: StoredWait | None) -> None:
        """Log that a session waits for the end of a limit, or that it continues now."""
        session = self._by_agents_id.get(agents_id)
        if session is not None:
            session.note_wait(stored)

    def _agent_ended(self, status: int) -> None:
        """Note the end of the link, which ends only if it cannot restart the agent."""
        self._status = status
        incident = self.record.incident()
        error = access.agent_lost("Send the prompt again.", incident)
        if self.sessions and not self._over.is_set():
            self.reports.add("holder", error["data"]["agent_error"] | {"reason": "run_ended"})
        self.conversation.lost(error)
        for session in self.sessions.values():
            left: dict[str, Any] = {"open_turns": session.hub.open_turns, "incident_id": incident}
            session.carry_out(session.hub.lost_agent(error, now_ms()))
            session.failed = error  # later requests reach nobody
            session.note(Kind.SUPERVISOR_EXITED, status=status, **exit_facts(status), **left)
        for opening in self._openings.pop_all():
            opening.link.send(jsonrpc.error(opening.request_id, error))
        self._initialize_failed = self._initialize_failed or error
        self._ready.set()
        self._end_soon()

    def _end_soon(self) -> None:
        """End once those who wait for the agent know why."""
        asyncio.get_running_loop().call_later(1.0, self._over.set)

    def _no_log(self, error: Exception) -> dict[str, Any]:
        """Return the error object for a session whose log cannot be written."""
        sys.stderr.write(f"lastword: {error}\n")
        error_object = access.no_log()
        self.reports.add("request", error_object["data"]["agent_error"])
        return error_object

    def stop(self) -> None:
        """Stop, and end the agent and its sessions."""
        self._over.set()

    def terminate(self) -> None:
        """Stop, and end the agent and its turns, but leave the sessions to the next holder."""
        self._is_terminated = True
        self._over.set()

    def stir(self) -> None:
        """Note that something has happened, which may have begun or ended a timeout."""
        self._stirred.set()

    async def _watch(self) -> None:
        """Watch what no frame announces: timeouts, a slow disk, sessions without viewers."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self._stirred.clear()
            now, due, is_behind = time.monotonic(), math.inf, False
            for session in list(self.sessions.values()):
                session.tick(now)
                is_behind = is_behind or session.log.is_behind
                due = min(due, session.next_tick())
            self.agent.pause(paused=is_behind)
            self.record.flush()
            if not self.sessions and not self.links:
                due = min(due, self._alone_since + SPARE_SECONDS)
                if due <= now:
                    self._over.set()
            wait = (now if is_behind else due) - time.monotonic()
            if wait > LOOK_SECONDS:  # nothing is due; something may happen
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(wait - LOOK_SECONDS):
                        await self._stirred.wait()

    async def _leave(self) -> None:
        if self._is_handed_over:
            if self.fleet is not None:
                await self.fleet.close(goes_on=True)
            await asyncio.to_thread(self._finish)
            return
        if self._is_terminated:  # the sessions are left to the next holder
            sessions = list(self.sessions.values())
            for session in sessions:
                session.end_turns()
            self.sessions.clear()  # they get nothing that the agent says as it ends
            self._by_agents_id.clear()
            await self.agent.stop()  # before another one can be started in the same files
            if self.fleet is not None:
                await self.fleet.settle()
            for session in sessions:
                session.leave()
        for session in list(self.sessions.values()):
            self.close_session(session, "stopped")
        if self.fleet is not None:
            await self.fleet.close()
        await asyncio.gather(*(link.finish() for link in list(self.links)))
        self._ready.set()  # those who wait for it see that it is closed
        await self.agent.stop()
        for session in self.opened:
            session.close()
        await asyncio.to_thread(self._finish)

    def _finish(self) -> None:
        """Finish what may take a moment: the record, and reports that are sent."""
        self.record.close()
        self.reports.finish()
        if self._at_end is not None:
            self._at_end(goes_on=self._is_handed_over)
