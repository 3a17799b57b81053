"""Holders, as a front finds and starts them.

Owns the run folder: the socket of each session, the spare that waits for the next session, and
starting another holder if there is none. A front keeps nothing in memory that it could not find
again there.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import secrets
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import msgspec

from lastword.core.failure.taxonomy import ErrorType
from lastword.core.protocol import jsonrpc
from lastword.core.protocol.tolerant import object_of
from lastword.errors import StoreError
from lastword.gateway import wire
from lastword.gateway.log import files
from lastword.gateway.log.owner import LogLock, LogOwner, owner_of
from lastword.gateway.viewing import refusals
from lastword.gateway.viewing.render import META
from lastword.outbox.own_reports import OwnReports

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

    from lastword.gateway.front.directory import Directory, Streams
    from lastword.gateway.settings.holder import HolderSettings

START_SECONDS = 60.0
"""How long a holder may take until its socket is there; its agent takes longer, and is waited for
by whoever asks it something."""

LOOK_SECONDS = 0.02
HOLDER = "lastword.cli.gateway.holder"
"""A holder's program, which puts it together: above this room, so it is named."""

END_SECONDS = 10.0
"""How long it is waited for a holder to end with its agent."""

SILENT_SECONDS = 8.0
"""A holder that answers nothing for this long hangs, as does one that has lost its socket and has
neither made it again nor ended: nothing in its loop takes as long."""

SILENT_LOOKS = 2

OPENING = ".opening"
"""How a link ends that says which holder was asked for a new session, by whom and under which id;
it leads to no file, but to the mark in a holder's name."""


class StartError(Exception):
    """There is no holder for a request.

    Attributes:
        error: The error object that says why.
        is_silent: There is one, which does not answer.
    """

    def __init__(self, error: dict[str, Any], *, is_silent: bool = False) -> None:
        super().__init__(str(error.get("message")))
        self.error = error
        self.is_silent = is_silent


class Holders:
    """The holders of one run folder."""

    def __init__(self, template: HolderSettings, *, limit: int = 32) -> None:
        """Find the holders, and start others like this one.

        Args:
            template: The settings of every holder, except its name, client and session.
            limit: The maximum number of holders.
        """
        self._template = template
        self._limit = limit
        program = template.command[0] if template.command else ""
        self.reports: OwnReports = OwnReports(template.report, template.state_folder, program)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """Each for as long as somebody has or wants it: viewers may name sessions without end."""
        self._starting: dict[str, asyncio.Task[str]] = {}
        self._taken: set[str] = set()
        self._silent: set[str] = set()
        self._looks: dict[str, asyncio.Task[bool]] = {}
        """By the mark of a holder: whether it is silent is being looked at."""
        self._children: list[subprocess.Popen[bytes]] = []

    @property
    def run_folder(self) -> str:
        """Return the folder of the sockets."""
        return self._template.run_folder

    def sockets(self) -> list[str]:
        """Return the sockets of all holders."""
        names = sorted(self._names())
        return [os.path.join(self.run_folder, name) for name in names if name.endswith(".sock")]

    def count_busy(self) -> int:
        """Return how many agents run that are not spare."""
        return sum(not os.path.basename(path).startswith("spare-") for path in self.sockets())

    def have_sessions(self) -> bool:
        """Return whether any of them has a session; one that is ending has none."""
        return any(name.endswith(".session") for name in self._names())

    def places(self) -> list[str]:
        """Return the sockets of all holders."""
        return self.sockets()

    def _names(self) -> list[str]:
        """Return what is in the run folder, which others may delete: it is made again soon."""
        try:
            return os.listdir(self.run_folder)
        except FileNotFoundError:
            return []

    def live(self, session_id: str) -> str | None:
        """Return the socket of the holder that has this session."""
        path = os.path.join(self.run_folder, f"{wire.name_of(session_id)}.session")
        return path if os.path.exists(path) else None

    async def exists(self, session_id: str) -> bool:
        """Return whether this session, or its log, exists."""
        return self.live(session_id) is not None or self.has_log(session_id)

    def has_log(self, session_id: str) -> bool:
        """Return whether there is a log of this session."""
        return os.path.exists(self.log_path(session_id))

    def log_path(self, session_id: str) -> str:
        """Return the path of a session's log."""
        return files.path_in(self._template.log_folder, wire.name_of(session_id))

    def logs(self) -> list[tuple[str, str]]:
        """Return all logs: the names of the sessions, and their paths."""
        return files.logs_in(self._template.log_folder)

    def waiting(self) -> list[str]:
        """Return the logs that are marked as those of sessions which wait for a limit's end."""
        return files.waiting_in(self._template.log_folder, self.run_folder)

    def forget_old(self, age_seconds: float, now: float) -> int:
        """Delete the logs of sessions that ended long ago; return how many.

        Args:
            age_seconds: How long a log is kept after its session's end.
            now: The time of day, in seconds since 1970 UTC.
        """
        gone = 0
        for name, path in self.logs():
            is_live = os.path.lexists(os.path.join(self.run_folder, f"{name}.session"))
            if is_live or now - files.changed_at(path) < age_seconds:
                continue
            with contextlib.suppress(StoreError):  # as of a log that another gateway's agent has
                lock = LogLock(path, LogOwner(pid=os.getpid()))
                files.delete(path)
                lock.delete()
                gone += 1
        return gone

    async def of_session(
        self, session_id: str, client: Mapping[str, Any], *, has_record: bool = False
    ) -> str | None:
        """Return the socket of a session's holder; start a new holder if that has died.

        Args:
            session_id: The session's id.
            client: The client for which an agent is started.
            has_record: The session is known to a fleet, even if its log is not here.

        Raises:
            StartError: It could not be started, or another gateway has the session.
        """
        lock = self._locks.setdefault(session_id, asyncio.Lock())
        async with lock:
            path = self.live(session_id)
            if path is not None:
                if await answers(path):
                    return path
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)  # its holder has died
            if not (has_record or await self.exists(session_id)):
                return None
            path = await self._look_for_owner(session_id)
            if path is not None:
                return path
            # A name of its own: a connection to the session's last holder may still be open.
            name = f"session-{secrets.token_hex(12)}"
            path = await self._start(name, dict(client), session_id)
            return self.live(session_id) or path

    async def _look_for_owner(self, session_id: str) -> str | None:
        """Return the socket of the holder that writes a session's log, if that is one of ours.

        Raises:
            StartError: It is another gateway's, or does not make its socket again.
        """
        for _ in range(int(SILENT_SECONDS / LOOK_SECONDS)):
            owner = owner_of(self.log_path(session_id))
            if owner is None:
                return None
            if owner.pid and owner.run_folder != self.run_folder:
                raise StartError(refusals.owned_elsewhere(owner))
            await asyncio.sleep(LOOK_SECONDS)  # it ends, or its run folder has been deleted
            path = self.live(session_id)
            if path is not None:
                return path
        raise StartError(refusals.holder_silent(), is_silent=True)

    async def spare(self, client: Mapping[str, Any]) -> str:
        """Return the socket of an agent without a session, initialized or about to be.

        Raises:
            StartError: It could not be started.
        """
        kind = self._kind(client)
        task = self._starting.get(kind)
        if task is None:
            task = self._starting[kind] = asyncio.create_task(self._find_spare(kind, client))
        try:
            return await asyncio.shield(task)
        finally:
            if task.done() and self._starting.get(kind) is task:
                del self._starting[kind]

    async def take_spare(self, client: Mapping[str, Any]) -> str:
        """Return a spare that nobody else gets: it is given its session now.

        Raises:
            StartError: It could not be started.
        """
        path = await self.spare(client)
        while path in self._taken:
            path = await self.spare(client)
        self._taken.add(path)
        return path

    async def opener(
        self,
        key: str,
        client: Mapping[str, Any],
        *,
        cwd: str,  # noqa: ARG002 - every folder is on this machine
        is_new: bool,
    ) -> str:
        """Return the socket of the holder for a `session/new`: the same one if it is sent again.

        Args:
            key: The viewer and its request's id.
            client: The client for which an agent is started, if there is no spare.
            cwd: The folder in which the session is to work.
            is_new: The viewer cannot have sent anything earlier.

        Raises:
            StartError: It could not be started.
        """
        link = os.path.join(self.run_folder, f"{wire.name_of(key)}{OPENING}")
        async with self._locks.setdefault(link, asyncio.Lock()):
            path = None if is_new else await self._opened_by(link)
            if path is None:
                path = await self.take_spare(client)
                self._forget_openings()
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(link)
                os.symlink(_mark(path), link)
        return path

    async def _opened_by(self, link: str) -> str | None:
        """Return the holder that an earlier request with this key went to, if it still runs."""
        try:
            mark = os.readlink(link)
        except OSError:
            return None
        for _ in range(2):  # a spare that is taken changes its name in between
            for path in self.sockets():
                if _mark(path) == mark and await answers(path):
                    return path
        return None

    def _forget_openings(self) -> None:
        """Forget the requests to holders that no longer run."""
        there = {_mark(path) for path in self.sockets()}
        for name in self._names():
            link = os.path.join(self.run_folder, name)
            if name.endswith(OPENING) and os.readlink(link) not in there:
                os.unlink(link)

    async def _find_spare(self, kind: str, client: Mapping[str, Any]) -> str:
        for path in self.sockets():
            is_spare = os.path.basename(path).startswith(f"spare-{kind}-")
            if is_spare and path not in self._taken and await answers(path):
                return path
        return await self._start(f"spare-{kind}-{secrets.token_hex(6)}", dict(client), "")

    def _kind(self, client: Mapping[str, Any]) -> str:
        """Return what a spare must match: the same agent, for the same client."""
        params = self._template.initialize_params(client)
        started = msgspec.json.encode(self._template) + jsonrpc.dumps(params)
        return hashlib.sha256(started).hexdigest()[:12]

    async def _start(self, name: str, client: dict[str, Any], session: str) -> str:
        self._children = [child for child in self._children if child.poll() is None]
        if (
            len(self.sockets()) >= self._limit
            and await self._count() >= self._limit
            and not await self._end_spare()
        ):
            self._tell("too_many_agents", session)
            raise StartError(refusals.too_many_agents(self._limit))
        settings = msgspec.structs.replace(
            self._template, name=name, client=_without_secret(client), session=session
        )
        # A session of its own: what ends the front does not end its turns. And no process of the
        # event loop's, which would be killed with the loop.
        process = subprocess.Popen(  # noqa: ASYNC220, S603 - some 2 ms; our own program
            [sys.executable, "-P", "-m", HOLDER],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._children.append(process)
        # Not by its command line, which others see and the system bounds. In a thread, since a pipe
        # takes 64 KiB until its reader has started; and none that the loop's end waits for.
        said = msgspec.json.encode(settings)
        threading.Thread(target=_write_settings, args=(process, said), daemon=True).start()
        path = os.path.join(self.run_folder, f"{name}.sock")
        try:
            async with asyncio.timeout(START_SECONDS):
                while not await answers(path):
                    if process.poll() is not None:
                        quicker = await self._look_for_owner(session) if session else None
                        if quicker is not None:
                            return quicker
                        self._tell("holder_ended", session)
                        raise StartError(refusals.not_started("holder_ended"))
                    await asyncio.sleep(LOOK_SECONDS)
        except TimeoutError:
            process.kill()
            self._tell("holder_silent", session)
            raise StartError(refusals.not_started("holder_silent")) from None
        return path

    async def connect(self, place: str, limit: int = wire.LINE_LIMIT_BYTES) -> Streams:
        """Connect to a holder.

        Args:
            place: Where it listens: the path of its socket.
            limit: The longest line that the reader takes, in bytes; it buffers twice as much.

        Raises:
            OSError: Nobody listens there.
        """
        return await asyncio.open_unix_connection(place, limit=limit)

    def real(self, place: str) -> str:
        """Return the one name of a holder's place, to which the link of a session leads."""
        return os.path.realpath(place)

    async def answers(self, place: str) -> bool:
        """Return whether a holder listens at this place."""
        return await answers(place)

    async def is_silent(self, place: str) -> bool:
        """Return whether a holder accepts connections but answers none; callers share one look.

        Args:
            place: Its socket, or what that was called while it was a spare.
        """
        mark = _mark(place)
        look = self._looks.get(mark)
        if look is None:
            look = self._looks[mark] = asyncio.create_task(self._is_silent(mark))
            look.add_done_callback(lambda _: self._looks.pop(mark, None))
        is_silent = await asyncio.shield(look)
        if is_silent:
            self._silent.add(mark)
        return is_silent

    def was_silent(self, place: str) -> bool:
        """Return whether this holder has answered nothing since it was found to be silent."""
        return _mark(place) in self._silent

    def has_answered(self, place: str) -> None:
        """Note that a holder has answered."""
        self._silent.discard(_mark(place))

    async def _is_silent(self, mark: str) -> bool:
        path = next((each for each in self.sockets() if _mark(each) == mark), None)
        if path is None:
            return False
        return await hangs(self, path)

    def avoid(self, place: str) -> None:
        """Give nobody else a spare that does not answer, nor send it a request again."""
        self._taken.add(place)
        mark = _mark(place)
        for name in self._names():
            link = os.path.join(self.run_folder, name)
            with contextlib.suppress(OSError):
                if name.endswith(OPENING) and os.readlink(link) == mark:
                    os.unlink(link)

    def _tell(self, reason: str, session: str) -> None:
        failure = {"type": ErrorType.INTERNAL.value, "reason": reason, "origin": "lastword"}
        self.reports.add("start", failure | {"retryable": True, "phase": "startup"}, session)

    async def _count(self) -> int:
        """Return how many there are, after removing the sockets of those that were killed."""
        return sum(await asyncio.gather(*(answers(path) for path in self.sockets())))

    async def _end_spare(self) -> bool:
        """End an agent that has no session, to have another in its place; return whether one was.

        Clients that differ in what they can do are each given their own.
        """
        for path in self.sockets():
            if not os.path.basename(path).startswith("spare-") or path in self._taken:
                continue
            if await _stop(path) and path not in self.sockets():
                return True
        return False

    async def stop_all(self) -> set[str]:
        """End every holder, and wait for that; return the sockets of those that there were."""
        sockets = self.sockets()
        were_there = await asyncio.gather(*map(_stop, sockets))
        return {path for path, was_there in zip(sockets, were_there, strict=True) if was_there}

    async def statuses(self) -> list[dict[str, Any]]:
        """Return the status of every holder that answers."""
        found = await asyncio.gather(*map(status, self.sockets()))
        return [each for each in found if each is not None]

    async def all_statuses(self) -> list[dict[str, Any]]:
        """Return the status of every holder; one that does not answer has only its `socket`."""
        before = self.sockets()  # one that is given away meanwhile gets another name
        statuses = await self.statuses()
        answering = {each["socket"] for each in statuses}
        rest = [path for path in before if path not in answering]
        return statuses + [{"socket": path} for path in rest if await answers(path)]


def _write_settings(process: subprocess.Popen[bytes], settings: bytes) -> None:
    """Write a holder its settings, until it has them or has ended."""
    if process.stdin is not None:
        with contextlib.suppress(OSError), process.stdin as stdin:
            stdin.write(settings)


def _mark(path: str) -> str:
    """Return the part of a holder's socket name that remains once it is no longer a spare."""
    return os.path.basename(path).removesuffix(".sock").rpartition("-")[2]


async def answers(path: str) -> bool:
    """Return whether somebody listens at this socket, and remove it if not."""
    try:
        _, writer = await asyncio.open_unix_connection(path)
    except ConnectionRefusedError:
        # Only of one that is there: between a look and a deletion another may be made.
        with contextlib.suppress(OSError):
            _take_away(path)
        return False
    except BlockingIOError:
        return True  # too many wait for it to accept them
    except OSError:
        return False
    writer.close()
    return True


async def _stop(path: str) -> bool:
    """End a holder with its agent, and wait for that; return whether it was there."""
    was_sent = False
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(END_SECONDS):
            while os.path.lexists(path):  # noqa: ASYNC240 - some microseconds
                was_sent = was_sent or await _send_stop(path)
                await asyncio.sleep(LOOK_SECONDS)
    return was_sent


async def _send_stop(path: str) -> bool:
    """Tell a holder to end; return whether it was there, and took that."""
    try:
        _, writer = await asyncio.open_unix_connection(path)
        writer.write(wire.control(wire.STOP) + b"\n")
        await writer.drain()
        writer.close()
    except ConnectionRefusedError:  # it was killed
        with contextlib.suppress(OSError):
            _take_away(path)
        return False
    except OSError:  # as if too many wait for it to accept them
        return False
    return True


async def hangs(directory: Directory, place: str) -> bool:
    """Return whether the holder at a place accepts connections, but answers none."""
    for _ in range(SILENT_LOOKS):  # of which this process may itself have slept through one
        try:
            async with asyncio.timeout(SILENT_SECONDS / SILENT_LOOKS):
                await _ask_status(directory.connect(place))
        except TimeoutError:
            continue
        except BlockingIOError:  # nor does it accept: too many wait for it
            await asyncio.sleep(SILENT_SECONDS / SILENT_LOOKS)
            continue
        except (OSError, ValueError):
            pass
        return False
    return True


async def _ask_status(connection: Awaitable[Streams]) -> bytes:
    """Return the line with which a holder answers how it is.

    Raises:
        OSError: It is not there.
        ValueError: The line is too long.
    """
    reader, writer = await connection
    try:
        writer.write(wire.control(wire.STATUS) + b"\n")
        return await reader.readline()
    finally:
        writer.close()


async def status(path: str) -> dict[str, Any] | None:
    """Return a holder's status."""
    try:
        async with asyncio.timeout(SILENT_SECONDS):
            line = await _ask_status(
                asyncio.open_unix_connection(path, limit=wire.LINE_LIMIT_BYTES)
            )
    except (OSError, TimeoutError, ValueError):
        return None
    word, facts = wire.read_control(line.rstrip(b"\n"))
    return facts | {"socket": path} if word == wire.STATUS else None


def _take_away(path: str) -> None:
    """Delete a socket without a listener; a session's link to it stays for its next holder."""
    if not os.path.islink(path):
        os.unlink(path)


def _without_secret(client: dict[str, Any]) -> dict[str, Any]:
    """Return a client's params without the viewer's secret, which a session's log would keep."""
    meta = {key: value for key, value in object_of(client.get("_meta")).items() if key != META}
    return client | {"_meta": meta}
