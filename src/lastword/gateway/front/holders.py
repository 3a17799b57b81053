"""The holders of this process: one for each agent, with its sessions.

Owns where a session is, the spare agent for the next one, and starting a holder if there is none.

Also starts a holder for a session that waits for the end of a limit, when the limit ends, although
no viewer asks for it. Only sessions without a holder are concerned: a holder waits by itself, and
one that is started resumes the wait from the session's log.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import secrets
import sys
import time
import traceback
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakValueDictionary

import msgspec

from lastword.core.failure.taxonomy import ErrorType
from lastword.core.link.waits import StoredWait
from lastword.core.protocol import jsonrpc
from lastword.core.protocol.acp import object_of
from lastword.errors import LastwordError, StoreError
from lastword.gateway import wire
from lastword.gateway.api.shapes import SessionState, SessionView
from lastword.gateway.api.views import stored_view
from lastword.gateway.front.upstream import LocalUpstream
from lastword.gateway.holder import connection
from lastword.gateway.holder.handover import FLEET_SECONDS, HandedHolder
from lastword.gateway.holder.quality import HolderQuality
from lastword.gateway.log import files
from lastword.gateway.log.files import LogLock, LogOwnedError, LogOwner, owner_of
from lastword.gateway.log.session_log import reading
from lastword.gateway.quality.metrics import Counts
from lastword.gateway.viewing import access
from lastword.gateway.viewing.render import META
from lastword.outbox.own_reports import OwnReports

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lastword.gateway.front.directory import Directory
    from lastword.gateway.front.upstream import Upstream
    from lastword.gateway.holder.connection import Introduction
    from lastword.gateway.holder.process import Holder, OwnershipOf
    from lastword.gateway.holder.session import HeldSession
    from lastword.gateway.log.session_log import StoredLog
    from lastword.gateway.settings.values import HolderSettings

    MakeHolder: TypeAlias = Callable[[HolderSettings, HolderQuality, OwnershipOf | None], Holder]
    """Makes a holder, which is run later: the gateway knows no options of `lastword run`."""


LOOK_SECONDS = 0.02

REST_SECONDS = 5.0
"""How long a reload waits for agents that are starting or answering."""

ENDING_SECONDS = 8.0
"""How long the last holder of a session may take to finish its log."""


HOLDER_ENDED, FLEET_AWAY = "holder_ended", "fleet_away"
"""Why a holder has ended."""


class StartError(Exception):
    """There is no holder for a request.

    Attributes:
        error: The error object that says why.
        is_silent: There is one, but it does not answer.
    """

    def __init__(self, error: dict[str, Any], *, is_silent: bool = False) -> None:
        super().__init__(str(error.get("message")))
        self.error = error
        self.is_silent = is_silent


class FleetAwayError(StartError):
    """A holder could not be started since the fleet cannot be used now."""

    def __init__(self) -> None:
        super().__init__(access.fleet_away())


class HandedHolders(msgspec.Struct, frozen=True, kw_only=True):
    """What continues in the program that replaces this one.

    Attributes:
        holders: the holders.
        opened: by the viewer and its request: the holder that opens the new session.
        counts: the counts so far.
    """

    holders: list[HandedHolder] = []
    opened: dict[str, str] = {}
    counts: Counts = msgspec.field(default_factory=Counts)

    @property
    def descriptors(self) -> list[int]:
        """Return the open files of their agents."""
        return [number for each in self.holders for number in each.agent.descriptors]


class Holders:
    """The holders of one gateway."""

    def __init__(
        self,
        template: HolderSettings,
        make: MakeHolder,
        *,
        limit: int = 32,
        fleet: OwnershipOf | None = None,
    ) -> None:
        """Start holders like this one.

        Args:
            template: The settings of every holder, except its name, client and session.
            make: Makes one.
            limit: The maximum number of holders.
            fleet: Returns the ownership of a holder's sessions in a fleet, if it is in one.
        """
        self._fleet = fleet
        self._template = template
        self._make = make
        self._limit = limit
        program = template.command[0] if template.command else ""
        self.reports: OwnReports = OwnReports(template.report, template.state_folder, program)
        self.quality: HolderQuality = HolderQuality()
        """Counts what happens in all of them."""
        self.run_folder: str = template.run_folder
        """The folder in which the gateway is found."""
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """By session, while in use: viewers may name any number of sessions."""
        self._running: dict[str, Holder] = {}
        self._tasks: dict[str, asyncio.Task[str]] = {}
        self._spares: dict[str, str] = {}
        """The holders without a session, and the kind of client that each suits."""
        self._opened: dict[str, str] = {}
        """By the viewer and its request: the holder that opens the new session."""

    def places(self) -> list[str]:
        """Return the names of all holders."""
        return list(self._running)

    def count_busy(self) -> int:
        """Return the number of agents that are not spare."""
        return len(self._running) - len(self._spares)

    @property
    def has_room(self) -> bool:
        """Return whether an agent can be started, perhaps in place of a spare one."""
        return len(self._running) < self._limit or bool(self._spares)

    def sessions(self) -> list[HeldSession]:
        """Return all sessions."""
        return [each for holder in self._running.values() for each in holder.sessions.values()]

    def holder(self, place: str) -> Holder | None:
        """Return the holder of this name."""
        return self._running.get(place)

    def live(self, session_id: str) -> str | None:
        """Return the name of the holder that has this session."""
        running = self._running.items()
        return next((name for name, each in running if session_id in each.sessions), None)

    async def exists(self, session_id: str) -> bool:
        """Return whether this session, or its log, exists."""
        path = self.log_path(session_id)
        return self.live(session_id) is not None or os.path.exists(path)  # noqa: ASYNC240 - fast

    def log_path(self, session_id: str) -> str:
        """Return the path of a session's log."""
        return files.path_in(self._template.log_folder, wire.name_of(session_id))

    def logs(self) -> list[tuple[str, str]]:
        """Return all logs: the names of the sessions, and their paths."""
        return files.logs_in(self._template.log_folder)

    def waiting(self) -> list[WaitingSession]:
        """Return the sessions without a holder that wait for the end of a limit."""
        waiting = []
        for path in files.waiting_in(self._template.log_folder, self.run_folder):
            if owner_of(path) is not None:
                continue
            try:
                session = reading(path, _waiting_in)
            except (FileNotFoundError, StoreError):
                continue
            if session is None:
                files.unmark_waiting(path)
            else:
                waiting.append(session)
        return waiting

    def forget_old(self, age_seconds: float, now: float) -> int:
        """Delete the logs of sessions that ended long ago; return how many.

        One that has not ended would have ended by `--idle-close`, or after its wait for a limit.

        Args:
            age_seconds: How long a log is kept after its session's end.
            now: The time of day, in seconds since 1970 UTC.
        """
        gone = 0
        for _, path in self.logs():
            ended_at = files.changed_at(path)
            if now - ended_at >= age_seconds:
                with contextlib.suppress(FileNotFoundError, StoreError):
                    ended_at += reading(path, self._open_seconds)
            if now - ended_at < age_seconds:
                continue
            with contextlib.suppress(StoreError):  # an agent writes it, here or elsewhere
                lock = LogLock(path, LogOwner(pid=os.getpid()))
                files.delete(path)
                lock.delete()
                gone += 1
        return gone

    def _open_seconds(self, log: StoredLog) -> float:
        """Return how long a session stays open after the last entry of its log."""
        if stored_view(log).state is SessionState.ENDED:
            return 0.0
        waiting = _waiting_in(log)
        latest = waiting.wait.wait.latest_epoch_seconds if waiting is not None else None
        return max(self._template.idle_close_seconds, (latest or 0.0) - log.last_ms / 1000)

    async def of_session(
        self, session_id: str, client: Mapping[str, Any], *, has_record: bool = False
    ) -> str | None:
        """Return the name of a session's holder; start a new holder if there is none.

        Args:
            session_id: The session's id.
            client: The client for which an agent is started.
            has_record: The session is known to a fleet, even if its log is not here.

        Raises:
            StartError: It could not be started, or another gateway has the session.
        """
        lock = self._locks.setdefault(session_id, asyncio.Lock())
        async with lock:
            place = self.live(session_id)
            if place is not None:
                return place
            for name, holder in self._running.items():
                if holder.settings.session == session_id and not holder.is_ready:
                    return name  # it is about to have the session
            if not (has_record or await self.exists(session_id)):
                return None
            for _ in range(int(ENDING_SECONDS / LOOK_SECONDS)):
                owner = owner_of(self.log_path(session_id))
                if owner is None:
                    break
                if owner.pid and owner.pid != os.getpid():
                    raise StartError(access.owned_elsewhere(owner))
                await asyncio.sleep(LOOK_SECONDS)  # its last holder has not ended yet
            else:
                raise StartError(access.holder_silent(), is_silent=True)
            place = await self._start(f"session-{secrets.token_hex(12)}", dict(client), session_id)
            return self.live(session_id) or place

    async def spare(self, client: Mapping[str, Any]) -> str:
        """Return the name of an agent without a session, initialized or about to be.

        Clients that differ in their `initialize` get different agents.

        Raises:
            StartError: It could not be started.
        """
        kind = self._kind_of(client)
        for place, suits in self._spares.items():
            holder = self._running.get(place)
            if suits == kind and (holder is None or holder.goes_on):
                return place
        place = f"agent-{secrets.token_hex(6)}"
        self._spares[place] = kind
        try:
            return await self._start(place, dict(client), "")
        except StartError:
            self._spares.pop(place, None)
            raise

    def _kind_of(self, client: Mapping[str, Any]) -> str:
        params = self._template.initialize_params(client)
        return hashlib.sha256(jsonrpc.dumps(params)).hexdigest()[:12]

    def _is_spare_again(self, name: str) -> None:
        """Note that an agent has refused a session, such as before a login that comes next."""
        self._forget_opened(name)
        self._spares[name] = self._kind_of(self._running[name].settings.client)

    def _forget_opened(self, name: str) -> None:
        for key in [key for key, place in self._opened.items() if place == name]:
            del self._opened[key]

    async def opener(
        self,
        key: str,
        client: Mapping[str, Any],
        *,
        cwd: str,  # noqa: ARG002 - every folder is on this machine
        is_new: bool,
    ) -> str:
        """Return the name of the holder for a `session/new`: the same one if it is sent again.

        Args:
            key: The viewer and its request's id.
            client: The client for which an agent is started, if there is no spare.
            cwd: The folder in which the session is to work.
            is_new: The viewer cannot have sent anything earlier.

        Raises:
            StartError: It could not be started.
        """
        place = None if is_new else self._opened.get(key)
        if place is None or place not in self._running:
            place = self._opened[key] = await self.spare(client)
            self._spares.pop(place, None)  # nobody else gets it: it is given its session now
        return place

    async def _start(self, name: str, client: dict[str, Any], session: str) -> str:
        if len(self._running) >= self._limit and not await self._end_spare(name):
            reason, error = "too_many_agents", access.too_many_agents(self._limit)
        else:
            # The session's log would keep the viewer's secret.
            meta = {
                key: each for key, each in object_of(client.get("_meta")).items() if key != META
            }
            settings = self._settings(name, client | {"_meta": meta}, session)
            reason = await self._begin(settings)
            if not reason:
                return name
            if reason == FLEET_AWAY:
                raise FleetAwayError
            error = access.not_started(reason)
        failure = {"type": ErrorType.INTERNAL.value, "reason": reason, "origin": "lastword"}
        self.reports.add("start", failure | {"retryable": True, "phase": "startup"}, session)
        raise StartError(error)

    def _settings(self, name: str, client: dict[str, Any], session: str) -> HolderSettings:
        return msgspec.structs.replace(self._template, name=name, client=client, session=session)

    async def _begin(self, settings: HolderSettings, handed: HandedHolder | None = None) -> str:
        """Run a holder; return why its agent does not run, or an empty string."""
        try:
            holder, task = self._run_in_task(settings, handed)
        except LastwordError as error:
            sys.stderr.write(f"lastword: {error}\n")
            for number in handed.agent.descriptors if handed is not None else ():
                os.close(number)  # the end of its input ends the agent
            return HOLDER_ENDED
        begun = asyncio.create_task(holder.begun.wait())
        await asyncio.wait((begun, task), return_when=asyncio.FIRST_COMPLETED)
        begun.cancel()
        return "" if holder.begun.is_set() else task.result()

    def _run_in_task(
        self, settings: HolderSettings, handed: HandedHolder | None = None
    ) -> tuple[Holder, asyncio.Task[str]]:
        """Run a holder in a task of its own."""
        name = settings.name
        holder = self._running[name] = self._make(settings, self.quality, self._fleet)
        holder.unused = partial(self._is_spare_again, name)
        task = self._tasks[name] = asyncio.create_task(self._run(holder, handed))
        task.add_done_callback(lambda _: self._has_ended(name))
        return holder, task

    async def _run(self, holder: Holder, handed: HandedHolder | None) -> str:
        """Run a holder until its end; a fault in it ends only its own agent.

        Returns:
            Why it ended.
        """
        try:
            await holder.run(handed)
        except LogOwnedError:
            pass  # the caller finds the owner
        except (LastwordError, OSError) as error:
            sys.stderr.write(f"lastword: {error}\n")
            if holder.fleet is not None:
                # Loaded for a fleet alone.
                from lastword.gateway.fleet.errors import FleetError  # noqa: PLC0415

                if isinstance(error, FleetError):
                    return FLEET_AWAY
        except Exception:  # noqa: BLE001 - a bug in one must not end the others
            sys.stderr.write("lastword: a bug in lastword ended an agent; please report it\n")
            traceback.print_exc()
            holder.agent.kill()
        return HOLDER_ENDED

    def _has_ended(self, name: str) -> None:
        self._running.pop(name, None)
        self._tasks.pop(name, None)
        self._spares.pop(name, None)
        self._forget_opened(name)

    async def open(self, place: str, introduction: Introduction) -> Upstream:
        """Connect a viewer to a holder, and wait until its agent has started.

        Raises:
            OSError: It has ended.
        """
        holder = self._running.get(place)
        if holder is None or holder.is_over:
            raise ConnectionRefusedError
        return await LocalUpstream.open(place, holder, introduction)

    async def request(self, place: str, word: str, facts: dict[str, Any]) -> dict[str, Any] | None:
        """Ask a holder one of `connection.ANSWERED`; `None` if it has ended, or knows no answer."""
        holder = self._running.get(place)
        if holder is None:
            return None
        answer = await connection.ANSWERED[word](holder.sessions, facts)
        return None if wire.UNKNOWN in answer else answer

    async def greeting(self, place: str) -> dict[str, Any]:
        """Return a holder's agent's answer to `initialize`; empty if it has failed or ended."""
        holder = self._running.get(place)
        if holder is None or await holder.ready() is not None:
            return {}
        return holder.initialized

    async def answers(self, place: str) -> bool:
        """Return whether a holder is running."""
        return place in self._running

    async def _end_spare(self, wanted: str) -> bool:
        """End an agent without a session to make room for another; return whether there was one."""
        place = next((each for each in self._spares if each != wanted), None)
        if place is None or place not in self._running:
            return False
        del self._spares[place]
        task = self._tasks[place]
        self._running[place].stop()
        await asyncio.wait((task,))
        return True

    @property
    def are_stored(self) -> bool:
        """Return whether the next program would find every session's whole log."""
        sessions = self.sessions()
        if self._fleet is None and not all(os.path.exists(self.log_path(s.id)) for s in sessions):
            return False  # somebody has deleted it
        return all(session.is_stored for session in sessions)

    @property
    def can_be_handed_over(self) -> bool:
        """Return whether every agent that is of use would survive a replacement of this process."""
        running = self._running.values()
        return all(each.can_be_handed_over or each.can_only_end for each in running)

    async def hand_over(self, is_wanted: Callable[[], bool]) -> HandedHolders:
        """Hand every agent over to the program that replaces this one, while that is wanted.

        An agent that cannot be handed over ends, and its turns with it: its sessions are restored
        on request.
        """
        until = time.monotonic() + REST_SECONDS
        tasks = list(self._tasks.values())
        for holder in self._running.values():
            for link in holder.links:  # to viewers at other nodes, which reconnect
                link.out.close()
        while is_wanted() and time.monotonic() < until:
            # The logs say which viewers have left.
            are_left = not any(each.links for each in self._running.values())
            if are_left and self.can_be_handed_over:
                break
            await asyncio.sleep(LOOK_SECONDS)
        if not is_wanted():
            return HandedHolders()
        opened = dict(self._opened)
        spares = dict(self._spares)
        handed = []
        until = time.monotonic() + FLEET_SECONDS
        for name, holder in list(self._running.items()):
            left = await holder.hand_over(until)
            if left is not None:
                handed.append(msgspec.structs.replace(left, suits=spares.get(name, "")))
        if tasks:
            await asyncio.wait(tasks)
        return HandedHolders(holders=handed, opened=opened, counts=self.quality.counts)

    async def adopt(self, handed: HandedHolders, note: Callable[[], object]) -> None:
        """Continue with the agents that were handed over; call `note` after each."""
        self._opened.update(handed.opened)
        self.quality.counts.include(handed.counts)
        for each in handed.holders:
            if each.suits:
                self._spares[each.name] = each.suits
            settings = msgspec.structs.replace(
                self._template, name=each.name, client=each.client, run=each.run
            )
            await self._begin(settings, each)
            note()

    async def stop_all(self, *, ends_sessions: bool) -> int:
        """End every holder, and wait for that; return how many there were.

        Args:
            ends_sessions: Whether their sessions end, too, and are not restored.
        """
        if ends_sessions:
            for session in await asyncio.to_thread(self.waiting):
                name = f"session-{secrets.token_hex(12)}"
                with contextlib.suppress(LastwordError):
                    self._run_in_task(self._settings(name, session.client, session.view.id))
        tasks = list(self._tasks.values())
        for holder in list(self._running.values()):
            if ends_sessions:
                holder.stop()
            else:
                holder.terminate()
        if tasks:
            await asyncio.wait(tasks)
        return len(tasks)

    def views(self) -> list[SessionView]:
        """Return all sessions as the API shows them."""
        return [session.view() for session in self.sessions()]

    async def statuses(self) -> list[dict[str, Any]]:
        """Return the status of every holder, and of the sessions that wait without one."""
        waiting = [
            {"sessionId": each.view.id, "turn": True, "view": msgspec.to_builtins(each.view)}
            for each in await asyncio.to_thread(self.waiting)
        ]
        later = [{"version": wire.VERSION, "pid": os.getpid(), "agent_pid": 0, "sessions": waiting}]
        running = [holder.status() for holder in self._running.values()]
        return running + (later if waiting else [])


WAITS_LOOK_SECONDS = 5.0
"""How often the logs are searched for waiting sessions."""

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 15.0, 600.0
"""The pause before a holder is started again for the same wait; it doubles each time."""


class WaitingSession(msgspec.Struct, frozen=True):
    """A session that waits for the end of a limit.

    Attributes:
        client: the `initialize` params of the client that opened it.
        wait: the wait.
        view: what the API shows of it.
    """

    client: dict[str, Any]
    wait: StoredWait
    view: SessionView


class LimitWaits:
    """The sessions of a front that wait for the end of a limit."""

    def __init__(self, holders: Holders, directory: Directory) -> None:
        """Look for them in the logs of these holders; have them started by the directory."""
        self._holders = holders
        self._directory = directory
        self._again: dict[str, tuple[float, float]] = {}
        """By session: when a holder may be started again, and the pause until then."""

    async def watch(self) -> None:
        """Start a holder for each whose limit has ended, until cancelled."""
        while True:
            due: list[WaitingSession] = []
            with contextlib.suppress(OSError):  # as of a lack of descriptors
                due = await asyncio.to_thread(self._due, time.time())
            for session in due:
                with contextlib.suppress(StartError, OSError):
                    await self._directory.of_session(session.view.id, session.client)
            await asyncio.sleep(WAITS_LOOK_SECONDS)

    def _due(self, now: float) -> list[WaitingSession]:
        """Return those without a holder whose limit has ended."""
        due = []
        for session in self._holders.waiting():
            wait = session.wait.wait
            until, latest = wait.until_epoch_seconds, wait.latest_epoch_seconds
            if until is None or latest is None or not until <= now <= latest:
                continue
            again_at, pause = self._again.get(session.view.id, (0.0, 0.0))
            if again_at - pause <= now < again_at:  # a clock that was set back lengthens no pause
                continue
            pause = min(max(2 * pause, FIRST_PAUSE_SECONDS), LONGEST_PAUSE_SECONDS)
            self._again[session.view.id] = now + pause, pause
            due.append(session)
        return due


def _waiting_in(log: StoredLog) -> WaitingSession | None:
    """Return the session of a log, if it waits for the end of a limit."""
    for pinned in log.pins.of("wait:"):
        return WaitingSession(
            client=object_of(jsonrpc.loads(log.remembered("client").encode())),
            wait=msgspec.json.decode(pinned.entry.frame, type=StoredWait),
            view=stored_view(log),
        )
    return None
