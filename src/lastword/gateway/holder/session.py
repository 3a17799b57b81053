"""A session in its holder: the log on disk, its hub, and the viewers that pull.

Owns waking viewers when the log grows, trimming it, and resuming a session with a new agent.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import secrets
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from lastword.core.link.choices import Choices, settings_updates
from lastword.core.link.waits import may_wait
from lastword.core.protocol import acp, jsonrpc
from lastword.core.protocol.acp import object_of
from lastword.core.timeline.entry import Kind
from lastword.gateway import wire
from lastword.gateway.api.shapes import ViewerCount
from lastword.gateway.api.views import SessionDetails, view_of
from lastword.gateway.holder.agent_process import RequestFailedError, wall_ahead
from lastword.gateway.holder.effects import (
    Effects,
    Retell,
    Then,
    ToAgent,
    WaitingTurn,
    waiting_turn,
)
from lastword.gateway.holder.hub import Hub
from lastword.gateway.holder.quality import LogCounts
from lastword.gateway.log import files
from lastword.gateway.log.entries import LogEntry, LogKind
from lastword.gateway.log.files import LogLock, LogOwnedError
from lastword.gateway.log.session_log import session_log
from lastword.gateway.log.store import LogUnavailableError
from lastword.gateway.run_folder import make_private
from lastword.gateway.viewing import access
from lastword.gateway.viewing.frames import session_name
from lastword.gateway.viewing.reader import LOOK_AT_LAG_SECONDS, LagMeter, is_conversation
from lastword.gateway.viewing.render import SESSION_ENDED, Renderer, with_session
from lastword.outbox.store import now_ms as _now_ms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lastword.core.link.waits import StoredWait
    from lastword.core.protocol.jsonrpc import Frame
    from lastword.gateway.api.shapes import SessionView
    from lastword.gateway.fleet.ownership import Ownership
    from lastword.gateway.holder.agent_process import HeldAgent, OwnRequests
    from lastword.gateway.holder.connection import AttachedSession, ViewerConnection
    from lastword.gateway.holder.effects import HubEffect, Message
    from lastword.gateway.holder.quality import HolderQuality
    from lastword.gateway.holder.recording import HolderRecord, SessionNotices
    from lastword.gateway.log.entries import Cursor, Gap
    from lastword.gateway.log.files import LogOwner
    from lastword.gateway.log.store import Committed, Log
    from lastword.gateway.settings.values import HolderSettings
    from lastword.gateway.viewing.reader import Attachment, Viewer
    from lastword.outbox.own_reports import OwnReports

ONLY_READ_SECONDS = 60.0
"""How long a session with files on a lost machine is kept without a viewer: that machine may come
back."""

OUTAGE_EVERY = 6
"""One in this many reports of an outage, five seconds apart, is shown: a line that stays in the
conversation comes no more often than one about an agent's retries."""

TRIM_SHARE = 1 / 64
"""The share of the log's limit that is written between two checks of its size. Deleting takes 2 ms
a megabyte, during which no other session of this process is served."""


class SessionHolder(Protocol):
    """What a session needs of its holder."""

    settings: HolderSettings
    agent: HeldAgent
    conversation: OwnRequests
    """The holder's own requests to the agent."""
    initialized: dict[str, Any]
    """The agent's answer to `initialize`."""
    record: HolderRecord
    """The record of events."""
    opened: list[HeldSession]
    """All sessions that it has opened, whose files are closed at its end."""
    quality: HolderQuality
    notices: SessionNotices | None
    """What notifications are made from; `None` if there are none."""
    reports: OwnReports
    """Where failures are reported."""
    fleet: Ownership | None
    """The ownership of sessions in a fleet; `None` without one."""

    @property
    def owner(self) -> LogOwner:
        """The process as the owner of its logs."""
        ...

    @property
    def can_close(self) -> bool:
        """Whether the agent can close a session on request."""
        ...

    def add(self, session: HeldSession) -> None:
        """Add a session, and make it known to fronts."""
        ...

    def has_session(self) -> None:
        """Let viewers come to the session that it was started for."""
        ...

    def close_session(
        self, session: HeldSession, word: str, effects: Iterable[HubEffect] = ()
    ) -> None:
        """End a session, after these effects."""
        ...

    def leave_all(self) -> None:
        """Leave every session unchanged to the next holder, and end with the agent."""
        ...

    def resume(self, session: HeldSession) -> None:
        """Have the agent resume a session that it could not resume before."""
        ...

    def stir(self) -> None:
        """Note that something has happened, which may have begun or ended a timeout."""
        ...


class HeldSession:
    """One session."""

    def __init__(
        self,
        holder: SessionHolder,
        session_id: str,
        log: Log,
        lock: LogLock,
        *,
        clock: float | None = None,
    ) -> None:
        self.id = session_id
        self._lock = lock
        self.agents_id: str = log.remembered("agents_id") or session_id
        """Its id towards the agent. Agents that number their sessions use each more than once."""
        self.quality: HolderQuality = holder.quality
        self.log: Log = log
        self.clock: float = wall_ahead() if clock is None else clock
        """How far the wall clock was ahead of the monotonic one when the agent last spoke or was
        spoken to. It jumps, as when the machine was suspended."""
        self.run: str = holder.notices.run if holder.notices is not None else ""
        record, agents_id = holder.record, self.agents_id
        log.observers.append(lambda commit: record.committed(agents_id, commit.events))
        if holder.notices is not None:
            log.observers.append(holder.notices.of_session(session_id, agents_id))
        log.observers += [LogCounts(self.quality).committed, self._committed]
        self._effects = Effects(log, self._send)
        self.renderer: Renderer = Renderer(session_id, is_renamed=self.agents_id != session_id)
        self.suppressed = False
        """Whether the agent is replaying the past, which the log has already."""
        self._has_replayed = False
        """Whether it has replayed any of it."""
        self.failed: dict[str, Any] | None = None
        """Why the agent could not take the session over."""
        self.may_resume: bool = False
        """Whether the next prompt has it try again."""
        self._until_resumed: list[tuple[Frame, Callable[..., object]]] | None = None
        """The frames that wait while it tries, and what receives each."""
        self.was_left = False
        """Whether its last holder ended in order, with everything that was open."""
        self.is_stored: bool = True
        """Whether another process would find its whole log: a full disk takes no more of it."""
        self.is_only_read = False
        """Whether its files are on a lost machine."""
        self._holder = holder
        self.hub: Hub = Hub(
            self.log,
            session_id=session_id,
            numbers=holder.conversation.next_number,
            turns=holder.conversation.next_turn,
            unattended_seconds=holder.settings.unattended_seconds,
            question_timeout=holder.settings.question_timeout,
            clock=clock,
        )
        self._is_marked = bool(log.pins.of("wait:"))
        """Its log has a mark for its front: the session waits for the end of a limit."""
        self._attached: set[AttachedSession] = set()
        self._outage_shown = 0, 0
        """The open turns when an outage was last shown, and its age in units of `OUTAGE_EVERY`."""
        self.is_over: bool = False
        """Whether it has ended; its log can still be read."""
        self._ended_ms = 0
        self._watching: set[asyncio.Event] = set()
        """Those who wait for entries without being viewers."""
        self._alone_since: float | None = time.monotonic()
        """Since when it has had no viewer; `None` while it has one."""
        self._trimmed_at = self.log.written_bytes
        self._epoch = self.log.epoch
        self._lag = LagMeter(
            limit_bytes=holder.settings.log_limit_bytes,
            first=self.log.first,
            head=self.log.head,
            written_bytes=self.log.written_bytes,
        )
        self._looked_at = time.monotonic()
        holder.record.holds(self.agents_id, session_id)
        holder.opened.append(self)

    @classmethod
    def made(cls, holder: SessionHolder, agents_id: str) -> HeldSession:
        """Return a session that the agent has just made, under a name that has never been used.

        Raises:
            StoreError: Its log cannot be made.
        """
        name = session_name(agents_id, in_fleet=holder.fleet is not None)
        while True:
            with contextlib.suppress(LogOwnedError):
                lock = cls.locked(holder, name)
                if not os.path.exists(cls.path(holder, name)):
                    return cls.open(holder, name, agents_id, lock=lock)
                lock.release()
            name = f"{name}-{secrets.token_hex(4)}"

    @classmethod
    def locked(cls, holder: SessionHolder, session_id: str) -> LogLock:
        """Return the lock of a session's log.

        Raises:
            LogOwnedError: Another process has it.
            StoreError: The folder of the logs cannot be used.
        """
        make_private(holder.settings.log_folder)
        return LogLock(cls.path(holder, session_id), holder.owner)

    @staticmethod
    def path(holder: SessionHolder, session_id: str) -> str:
        """Return the path of a session's log."""
        return files.path_in(holder.settings.log_folder, wire.name_of(session_id))

    @classmethod
    def open(
        cls,
        holder: SessionHolder,
        session_id: str,
        agents_id: str = "",
        *,
        lock: LogLock | None = None,
        clock: float | None = None,
    ) -> HeldSession:
        """Open a session's log, creating it if needed.

        Args:
            holder: Its holder.
            session_id: The session.
            agents_id: The agent's id for it, if it is new.
            lock: Its lock, if that was taken.
            clock: Its `clock` so far, if its agent keeps running, with everything that is open.

        Raises:
            StoreError: It cannot be used, or another process has it.
        """
        lock = lock or cls.locked(holder, session_id)
        try:
            path = cls.path(holder, session_id)
            fleet = holder.fleet
            log = session_log(path) if fleet is None else fleet.open_log(session_id, path)
        except LogUnavailableError:
            lock.release()
            raise
        was_left = bool(log.remembered("left"))
        for name, value in (("id", session_id), ("ended", ""), ("left", "")):
            log.remember(name, value)
        if agents_id:
            log.remember("agents_id", agents_id)
        session = cls(holder, session_id, log, lock, clock=clock)
        session.was_left = was_left
        if log.reason not in {"", "new"}:
            session.note(Kind.LOG_RESET, reason=log.reason, first=log.head + 1)
        return session

    def remember(
        self, params: dict[str, Any], result: dict[str, Any], client: dict[str, Any]
    ) -> None:
        """Store what a later holder needs to resume the session, and a viewer to load it."""
        settled = {key: value for key, value in result.items() if key != "sessionId"}
        facts = {"params": params, "result": settled, "client": client, "agent": self.agent}
        for name, value in facts.items():
            self.log.remember(name, jsonrpc.dumps(value).decode())

    @property
    def agent(self) -> dict[str, Any]:
        """Return the agent's own name and version."""
        initialized = self._holder.initialized
        dialect = acp.dialect(initialized.get("protocolVersion"))
        return object_of(initialized.get(dialect.agent_info))

    def recall(self, name: str) -> dict[str, Any]:
        """Return what was stored."""
        return object_of(jsonrpc.loads(self.log.remembered(name).encode()))

    def loaded(self) -> dict[str, Any]:
        """Return the result of loading it: that of opening it, with the current mode."""
        result, choices = self.recall("result"), self.choices()
        for name, current, value in (
            ("modes", "currentModeId", choices.mode),
            ("models", "currentModelId", choices.model),
        ):
            if result.get(name) and value is not None:
                result[name] = object_of(result[name]) | {current: value}
        for pinned in self.log.pins.of("state:"):
            update = _update_of(pinned.entry)
            if update.get("sessionUpdate") == acp.OPTION_UPDATE and "configOptions" in update:
                result["configOptions"] = update["configOptions"]
        listed = result.get("configOptions")
        if isinstance(listed, list):
            result["configOptions"] = choices.in_list(listed)
        return result

    def choices(self) -> Choices:
        """Return the mode, the model and the options that its log has."""
        choices = Choices()
        choices.read_answer(self.recall("result"))
        for _, entry in sorted(
            (*self.log.pins.of("state:"), *self.log.pins.of("set:")), key=lambda each: each.seq
        ):
            if entry.kind is LogKind.IN:
                params = object_of(jsonrpc.loads(entry.frame)).get("params")
                choices.chose(entry.about.method, object_of(params))
            else:
                choices.changed(self.id, _update_of(entry))
        return choices

    async def restore(self, initialized: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Have a new agent resume the session; return what it knows of the past, and its answer.

        Raises:
            RequestFailedError: The agent cannot.
        """
        params = self.recall("params")
        if not params:
            raise RequestFailedError(access.log_lost())
        names = ("cwd", "additionalDirectories", "mcpServers", "_meta")
        kept = {key: params[key] for key in names if key in params}
        resumed = {"sessionId": self.agents_id} | kept
        root = self._holder.settings.root
        try:  # its folders may have been moved since, or the gateway has another root
            resumed = access.resolved_params(resumed, root) if root else resumed
        except access.OutsideRootError as error:
            raise RequestFailedError(access.outside_root(error.member, root)) from error
        dialect = acp.dialect(initialized.get("protocolVersion"))
        capabilities = object_of(initialized.get(dialect.agent_capabilities))
        can = object_of(capabilities.get("sessionCapabilities"))
        if dialect.always_resumes or isinstance(can.get("resume"), dict):
            result = await self._holder.conversation.request(acp.RESUME, resumed)
        else:
            result = await self._holder.conversation.request(acp.LOAD, resumed)
            if self.log.pins.of("in") and not self._has_replayed:
                return "none", result  # it has opened another session under this name
        return "full", result

    def show_in_force(self, mode: str | None, listed: list[Any] | None) -> None:
        """Log the mode and the options that the agent has, instead of those that were chosen."""
        for update in settings_updates(mode, listed):
            params = {"sessionId": self.agents_id, "update": update}
            frame = jsonrpc.decode(jsonrpc.notification(acp.UPDATE, params))
            if isinstance(frame, jsonrpc.Frame):
                self.carry_out(self.hub.from_agent([frame], time.monotonic(), _now_ms()))

    # The conversation.

    def from_agent(self, frames: list[Frame]) -> None:
        """Receive the agent's output for this session from one read."""
        self.clock = wall_ahead()
        if self.suppressed:
            self._has_replayed |= any(is_conversation(frame) for frame in frames)
            frames = [frame for frame in frames if frame.message.method != acp.UPDATE]
        effects = self.hub.from_agent(frames, time.monotonic(), _now_ms())
        if self.hub.is_closed:
            self._holder.close_session(self, "closed", effects)
        else:
            self.carry_out(effects)

    def carry_out(self, effects: Iterable[HubEffect]) -> None:
        """Commit what the hub commits, and send each message once that is done."""
        if self.is_over:  # the log may be another process' by now
            return
        self._effects.carry_out(effects)
        self.grew()

    def note(self, kind: Kind, /, *, viewer: str = "", **facts: Any) -> None:
        """Log an event that no frame reports."""
        self.carry_out(self.hub.note(_now_ms(), kind, viewer=viewer, **facts))

    def note_wait(self, stored: StoredWait | None) -> None:
        """Log its turn's wait for the end of a limit or, with `None`, that the turn continues."""
        if stored is not None:
            self._mark(waits=True)  # first: a mark without a wait does no harm
        self.carry_out(self.hub.note_wait(stored, _now_ms()))

    def restore_wait(self, waiting: WaitingTurn) -> None:
        """Have the link to the agent continue with a wait that began in another process."""
        self._mark(waits=True)
        self._holder.conversation.next_turn()  # the link counts it too
        self._holder.agent.resume_wait(self.towards_agent(waiting.prompt), waiting.stored)

    def _mark(self, *, waits: bool) -> None:
        self._is_marked = waits
        path = self.path(self._holder, self.id)
        if waits:
            files.mark_waiting(path, self._holder.settings.run_folder)
        else:
            files.unmark_waiting(path)

    def _committed(self, _: Committed) -> None:
        """Send what has waited for a commit, if the log commits later than it is written."""
        if not self._effects.is_writing:
            self._effects.send_waiting()
            self.grew()
            if self.is_over:
                self._wake()

    async def committed(self, seq: int) -> None:
        """Wait until an entry has been committed."""
        with self.watched() as grown:
            while self.log.head < seq and not self.is_over:
                await grown.wait()
                grown.clear()

    def once_committed(self, call: Callable[[], None]) -> None:
        """Call a function once all that has been written is committed."""
        self._effects.carry_out([Then(call)])

    def _send(self, message: Message) -> None:
        if isinstance(message, Then):
            message.call()
            return
        if isinstance(message, ToAgent):
            self.clock = wall_ahead()
            self._holder.agent.send(self.towards_agent(message.line))
            return
        attachment = message.attachment
        attached = next((each for each in self._attached if each.attachment is attachment), None)
        if attached is None:
            return
        if isinstance(message, Retell):
            attached.send(*self.renderer.again(message.end, attachment))
        else:
            attached.send(message.line)

    def towards_agent(self, line: bytes) -> bytes:
        """Return a line with the id by which the agent knows the session."""
        return line if self.agents_id == self.id else with_session(line, self.agents_id)

    def receive(self, attached: AttachedSession, frame: Frame, *, cancelled: bool = False) -> None:
        """Receive a viewer's frame; one that was cancelled while it waited stays here."""
        method, request_id = frame.message.method, frame.message.request_id
        closes = method == acp.CLOSE
        refused = access.unknown_session(self.id) if self.is_over else self.failed
        # How a request ended is known even if the agent has died since.
        is_again = request_id is not None and self.hub.has_ended(attached.attachment, request_id)
        needs_agent = attached.link.viewer.controls and not (closes or is_again or cancelled)
        again = partial(self.receive, attached, frame)
        if self.may_resume and method == acp.PROMPT and needs_agent and not self.is_over:
            self.begin_resuming()
            self._holder.resume(self)
        if needs_agent and self.defers(attached.link, frame, again):
            return
        if refused is not None and (self.is_over or needs_agent):
            if request_id is not None and method is not None:
                attached.send(jsonrpc.error(request_id, refused))
            return
        effects = self.hub.receive(attached.attachment, frame, _now_ms(), cancelled=cancelled)
        has_agent = self.failed is None and self._until_resumed is None
        if closes and not (has_agent and self._holder.can_close):
            here = [each for each in effects if not isinstance(each, ToAgent)]
            if len(here) < len(effects):  # the close is accepted
                self._holder.close_session(self, "closed", here)
                return
        self.carry_out(effects)

    def begin_resuming(self) -> None:
        """Have the frames that come wait until the agent has resumed the session."""
        self.may_resume, self._until_resumed = False, []

    def defers(self, link: ViewerConnection, frame: Frame, again: Callable[..., object]) -> bool:
        """Keep a frame until then, or refuse it if too many wait; return whether it did either.

        Args:
            link: The link over which the frame came.
            frame: The frame.
            again: Receives it again.
        """
        waiting, request_id = self._until_resumed, frame.message.request_id
        if waiting is None:
            return False
        if frame.message.method == acp.CANCEL:
            for prompt in [each for each in waiting if each[0].message.method == acp.PROMPT]:
                waiting.remove(prompt)
                prompt[1](cancelled=True)  # the agent gets neither it nor the cancel
            self.carry_out(self.hub.close(_now_ms()))
        elif may_wait([each for each, _ in waiting], frame):
            waiting.append((frame, again))
        elif request_id is not None and frame.message.method is not None:
            link.send(jsonrpc.error(request_id, access.too_much_waits()))
        return True

    def has_resumed(self) -> None:
        """Receive what has waited for the agent to resume it, or to fail."""
        waiting, self._until_resumed = self._until_resumed or [], None
        for _, again in waiting:
            again()
        self.may_resume = self.failed is not None and not self.is_only_read

    def grew(self) -> None:
        """Wake the waiting viewers: the log may have grown."""
        if self.is_over:
            return
        has_all = self._effects.are_committed
        if self._is_marked and has_all and not self.log.pins.of("wait:"):
            self._mark(waits=False)
        if self.log.epoch != self._epoch:
            self._epoch = self.log.epoch
            self.is_stored = self._holder.fleet is not None
            reason = "disk" if self._holder.fleet is None else "fleet"
            self.note(Kind.LOG_RESET, reason=reason, epoch=self._epoch)
        limit_bytes = self._holder.settings.log_limit_bytes
        if self.log.written_bytes - self._trimmed_at >= limit_bytes * TRIM_SHARE:
            self._trimmed_at = self.log.written_bytes
            self.log.trim(limit_bytes=limit_bytes)
            self._lag.mark(self.log.first, self.log.head, self.log.written_bytes)
        self._wake()
        self._holder.stir()

    def _wake(self) -> None:
        for attached in self._attached:
            attached.wake()
        for grown in self._watching:
            grown.set()

    @contextlib.contextmanager
    def watched(self) -> Iterator[asyncio.Event]:
        """Return an event that is set when the log grows, and at the session's end."""
        grown = asyncio.Event()
        self._watching.add(grown)
        try:
            yield grown
        finally:
            self._watching.discard(grown)

    def end_turns(self) -> None:
        """End what is open with the agent; a turn that waits for the end of a limit is left."""
        waiting = waiting_turn(self.log) if self._holder.agent.waits_for_limits else None
        self.failed = access.agent_stopped()
        but = waiting.number if waiting is not None else 0
        self.carry_out(self.hub.lost_agent(self.failed, _now_ms(), but=but))

    def end(self, word: str) -> None:
        """End it: log the end, and tell the viewers."""
        at_ms = _now_ms()
        if word == "stopped":  # with the agent, whatever it was doing
            self.carry_out(self.hub.lost_agent(access.agent_stopped(), at_ms))
        else:
            if self.hub.open_turns:
                cancel = jsonrpc.notification(acp.CANCEL, {"sessionId": self.agents_id})
                self._holder.agent.send(cancel)
            self.carry_out(self.hub.close(at_ms))
        for attached in self._attached:  # they leave later, when nothing more can be logged
            self._detach(attached, code=4410, cause=SESSION_ENDED)
        self._effects.carry_out(self.hub.note(at_ms, Kind.SESSION_ENDED, cause=word))
        # A full disk cannot store it: readers then go by the state of the file.
        with contextlib.suppress(LogUnavailableError):
            self.log.remember("ended", jsonrpc.dumps({"at_ms": at_ms, "cause": word}).decode())
        self._mark(waits=False)
        self.is_over, self._ended_ms = True, at_ms
        self.has_resumed()  # what waits is refused
        if self._holder.fleet is None:
            self.finish()
        else:
            self._holder.fleet.ended(self)

    def finish(self) -> None:
        """End its log, and its viewers' links once they have it all."""
        self.log.finish()
        for attached in self._attached:
            attached.finish(4410, SESSION_ENDED)
        self._wake()
        self._lock.release()  # nothing more is written; another process may take it up again

    def abandon(self, reason: str, aside: str = "") -> None:
        """Leave it unchanged to the next holder, to which its viewers reconnect.

        Args:
            reason: Why, for the viewers' sockets.
            aside: A new ending for the name of its file; empty to keep the name.
        """
        for attached in list(self._attached):
            attached.shut(1012, reason)
            attached.stop(1012, reason)
        self._let_go(aside)

    def leave(self) -> None:
        """Leave it unchanged to the next holder, after an intended end."""
        with contextlib.suppress(LogUnavailableError):  # else it counts as an end by accident
            self.log.remember("left", "yes")
        self._let_go()

    def _let_go(self, aside: str = "") -> None:
        """Write nothing more, and let another process take it over."""
        self.is_over = True
        self._effects.drop()
        self._wake()
        self.log.close()
        if aside:
            files.set_aside(self.path(self._holder, self.id), aside)
        self._lock.release()

    def tick(self, now: float) -> None:
        """Do what is due."""
        due = self.hub.next_timeout()
        if due is not None and due <= now:
            self.carry_out(self.hub.handle_timeout(now, _now_ms()))
        if now - self._looked_at >= LOOK_AT_LAG_SECONDS:
            self._looked_at = now
            self._report_lag()
        settings = self._holder.settings
        alone = now - self._alone_since if self._alone_since is not None else 0.0
        if 0 < settings.detach_grace_seconds < alone:
            self._holder.close_session(self, "left")
        elif alone > settings.idle_close_seconds and self.hub.turn_of is None:
            self._holder.close_session(self, "idle")
        elif self.is_only_read and alone > ONLY_READ_SECONDS:
            self._holder.leave_all()

    def next_tick(self) -> float:
        """Return when `tick` is due if nothing happens until then."""
        settings = self._holder.settings
        due = self.hub.next_timeout()
        next_due = math.inf if due is None else due
        if self._attached:
            next_due = min(next_due, self._looked_at + LOOK_AT_LAG_SECONDS)
        if self._alone_since is not None:
            if settings.detach_grace_seconds > 0:
                next_due = min(next_due, self._alone_since + settings.detach_grace_seconds)
            if self.hub.turn_of is None:
                next_due = min(next_due, self._alone_since + settings.idle_close_seconds)
            if self.is_only_read:
                next_due = min(next_due, self._alone_since + ONLY_READ_SECONDS)
        return next_due

    def _report_lag(self) -> None:
        attachments = [each.attachment for each in self._attached]
        for report in list(self._lag.look(attachments, self.log.head, self.log.written_bytes)):
            if not report.entries:
                self.note(report.kind, viewer=report.viewer)
                continue
            self.note(report.kind, viewer=report.viewer, entries=report.entries, bytes=report.bytes)
            # Sent at once: in the log, it comes after everything that the viewer has not read.
            for attached in self._attached:
                if attached.attachment.viewer.id == report.viewer:
                    attached.send(*self.renderer.lag(report.entries, attached.attachment))

    def bytes_after(self, seq: int) -> float:
        """Return the approximate size of the entries after one."""
        return max(self.log.written_bytes - self._lag.bytes_until(seq), 0.0)

    def report_gap(self, attachment: Attachment, gap: Gap) -> None:
        """Note that a viewer learns about missing entries."""
        facts = {"first": gap.first, "last": gap.last, "reason": gap.reason}
        self.carry_out(self.hub.note_of(attachment.viewer, _now_ms(), Kind.GAP_TOLD, **facts))

    # Who is there.

    def attach(
        self, viewer: Viewer, cursor: Cursor | None, *, replay: bool = True, compact: bool = False
    ) -> tuple[Attachment, bool]:
        """Attach a viewer, which is added once it is ready to pull.

        Raises:
            CursorError: Its cursor is not valid in this log.
        """
        attachment, is_reset, effects = self.hub.attach(
            viewer, cursor, _now_ms(), replay=replay, compact=compact
        )
        self._effects.carry_out(effects)
        return attachment, is_reset

    def add(self, attached: AttachedSession) -> None:
        """Add a viewer that pulls from here."""
        self._attached.add(attached)
        self._alone_since = None
        self.grew()  # the other viewers get the entry about it

    def remove(self, attached: AttachedSession, *, code: int, cause: str) -> None:
        """Remove a viewer."""
        if attached in self._attached:
            self._attached.discard(attached)
            if not self._attached:
                self._alone_since = time.monotonic()
            if not self.is_over:
                self._detach(attached, code=code, cause=cause)
                self.grew()

    def _detach(self, attached: AttachedSession, *, code: int, cause: str) -> None:
        effects = self.hub.detach(
            attached.attachment, time.monotonic(), _now_ms(), code=code, cause=cause
        )
        self._effects.carry_out(effects)

    def has_room(self, viewer: Viewer) -> bool:
        """Return whether one more viewer may come; an observer leaves for a controller."""
        if len(self._attached) < self._holder.settings.viewers:
            return True
        observers = [each for each in self._attached if not each.attachment.viewer.controls]
        if not viewer.controls or not observers:
            return False
        self.remove(observers[0], code=4429, cause="too_many_viewers")
        observers[0].shut(4429, "too_many_viewers")
        return True

    def supersede(self, viewer_id: str) -> None:
        """Close a viewer's older socket: the newest one wins."""
        for attached in list(self._attached):
            if attached.attachment.viewer.id == viewer_id:
                self.remove(attached, code=4409, cause="superseded")
                attached.shut(4409, "superseded")

    def show_outage(self, line: str, times: int) -> None:
        """Tell viewers, outside the log and now and then, why the log does not grow.

        Viewers of an open turn see it in any case, others only if they show notices.

        Args:
            line: What it is, in a sentence.
            times: How often this outage has been reported here.
        """
        turns, again = self.hub.open_turns, times // OUTAGE_EVERY
        if times > 1 and turns <= self._outage_shown[0] and again <= self._outage_shown[1]:
            return
        self._outage_shown = turns, again
        for attached in self._attached:
            attachment = attached.attachment
            if turns:
                attached.send(self.renderer.outage(line, times, attachment))
            else:
                attached.send(*self.renderer.notice(line, attachment))

    def close(self) -> None:
        """Close the file."""
        self.log.close()
        self._lock.release()

    def describe(self) -> dict[str, Any]:
        """Return its status, without content."""
        attached = [each.attachment.viewer for each in self._attached]
        return {
            "sessionId": self.id,
            "cwd": self.recall("params").get("cwd"),
            "epoch": self.log.epoch,
            "head": self.log.head,
            "first": self.log.first,
            "turn": self.hub.turn_of is not None,
            "questions": self.hub.open_questions,
            "controllers": sum(viewer.controls for viewer in attached),
            "observers": sum(not viewer.controls for viewer in attached),
            "view": msgspec.to_builtins(self.view()),
        }

    def view(self) -> SessionView:
        """Return what the API shows of it."""
        attached = [each.attachment.viewer for each in self._attached]
        controllers = sum(viewer.controls for viewer in attached)
        cwd = self.recall("params").get("cwd")
        return view_of(
            self.log,
            SessionDetails(
                id=self.id,
                agent=self.agent,
                cwd=cwd if isinstance(cwd, str) else None,
                viewers=ViewerCount(controllers, len(attached) - controllers),
                refused=self.failed,
                ended_ms=self._ended_ms,
                activity=self.hub.activity,
            ),
        )


def _update_of(entry: LogEntry) -> dict[str, Any]:
    params = object_of(object_of(jsonrpc.loads(entry.frame)).get("params"))
    return object_of(params.get("update"))
