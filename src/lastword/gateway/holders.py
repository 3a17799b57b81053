"""Holders, as a front finds and starts them.

Owns the run folder: which socket belongs to which session, the spare that waits for the next one,
and the start of another where there is none. A front keeps nothing of it in memory that it could
not find again.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import secrets
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.failure.taxonomy import ErrorType
from lastword.core.protocol import jsonrpc
from lastword.core.protocol.tolerant import object_of
from lastword.gateway import wire
from lastword.gateway.conversation import initialize_params
from lastword.gateway.render import META
from lastword.outbox.own import OwnReports

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lastword.gateway.holder import HolderSettings

START_SECONDS = 60.0
"""How long a holder may take until its socket is there; its agent takes longer, and is waited for
by whoever asks it something."""

LOOK_SECONDS = 0.02
LINE_LIMIT_BYTES = 80 * 1024 * 1024
STATUS_SECONDS = 2.0
OPENING = ".opening"
"""How a link ends that says which holder was asked for a new session, by whom and under which id;
it leads to no file, but to the mark in a holder's name."""


_NOT_STARTED = "the agent could not be started; see the gateway's stderr"


class StartError(Exception):
    """A holder could not be started; the text says why."""


class Holders:
    """The holders of one run folder."""

    def __init__(self, template: HolderSettings, *, limit: int = 32) -> None:
        """Find them, and start more like this one.

        Args:
            template: What every holder is started with, but for its name, client and session.
            limit: How many there may be.
        """
        self._template = template
        self._limit = limit
        program = template.command[0] if template.command else ""
        self.reports: OwnReports = OwnReports(template.report, template.state_folder, program)
        self._locks: dict[str, asyncio.Lock] = {}
        self._starting: dict[str, asyncio.Task[str]] = {}
        self._taken: set[str] = set()
        self._children: list[subprocess.Popen[bytes]] = []

    @property
    def run_folder(self) -> str:
        """Where the sockets are."""
        return self._template.run_folder

    def sockets(self) -> list[str]:
        """The sockets of all holders."""
        names = sorted(os.listdir(self.run_folder))
        return [os.path.join(self.run_folder, name) for name in names if name.endswith(".sock")]

    def live(self, session_id: str) -> str | None:
        """The socket of the holder that has this session."""
        path = os.path.join(self.run_folder, f"{wire.name_of(session_id)}.session")
        return path if os.path.exists(path) else None

    def is_known(self, session_id: str) -> bool:
        """Is there such a session, or the log of one?"""
        return self.live(session_id) is not None or os.path.exists(self.log_path(session_id))

    def log_path(self, session_id: str) -> str:
        """Where a session's log is."""
        return os.path.join(self._template.log_folder, f"{wire.name_of(session_id)}.db")

    def logs(self) -> list[tuple[str, str]]:
        """All logs that there are: the names that sessions have there, and their paths."""
        folder = self._template.log_folder
        names = os.listdir(folder) if os.path.isdir(folder) else []
        bases = (os.path.splitext(name) for name in names)
        return [(base, os.path.join(folder, f"{base}.db")) for base, end in bases if end == ".db"]

    def forget_old(self, age_seconds: float, now: float) -> int:
        """Delete the logs of sessions that ended so long ago; gives how many.

        Args:
            age_seconds: How long a log is kept after its session's end.
            now: The time of day, in seconds since 1970 UTC.
        """
        gone = 0
        for name, path in self.logs():
            is_live = os.path.lexists(os.path.join(self.run_folder, f"{name}.session"))
            if is_live or now - _changed_at(path) < age_seconds:
                continue
            for companion in ("", "-wal", "-shm"):
                with contextlib.suppress(OSError):
                    os.unlink(path + companion)
            gone += 1
        return gone

    async def of_session(self, session_id: str, client: Mapping[str, Any]) -> str | None:
        """The socket of a session's holder; one whose holder has died gets a new one.

        Raises:
            StartError: It could not be started.
        """
        lock = self._locks.setdefault(session_id, asyncio.Lock())
        async with lock:
            path = self.live(session_id)
            if path is not None:
                if await answers(path):
                    return path
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)  # its holder has died
            if not self.is_known(session_id):
                return None
            name = f"session-{wire.name_of(session_id)}"
            await self._start(name, dict(client), session_id)
            return self.live(session_id) or os.path.join(self.run_folder, f"{name}.sock")

    async def spare(self, client: Mapping[str, Any]) -> str:
        """The socket of an agent without a session, past its greeting or on the way to it.

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
        """A spare that nobody else is given: it gets its session now.

        Raises:
            StartError: It could not be started.
        """
        path = await self.spare(client)
        while path in self._taken:
            path = await self.spare(client)
        self._taken.add(path)
        return path

    async def opener(self, key: str, client: Mapping[str, Any], *, is_new: bool) -> str:
        """The socket of the holder that a `session/new` goes to: the same one, if it is sent again.

        Args:
            key: The viewer and its request's id.
            client: For whom an agent is started, where none waits.
            is_new: The viewer can have sent nothing earlier.

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
        self._locks.pop(link, None)
        return path

    async def _opened_by(self, link: str) -> str | None:
        """The holder that an earlier request with this key went to, if it is there."""
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
        """Let go of what was asked of holders that are no more."""
        there = {_mark(path) for path in self.sockets()}
        for name in os.listdir(self.run_folder):
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
        """What a spare has to have been started with: the same agent, for the same client."""
        params = initialize_params(dict(client), client_fs=self._template.client_fs)
        started = msgspec.json.encode(self._template) + jsonrpc.dumps(params)
        return hashlib.sha256(started).hexdigest()[:12]

    async def _start(self, name: str, client: dict[str, Any], session: str) -> str:
        self._children = [child for child in self._children if child.poll() is None]
        if len(self.sockets()) >= self._limit and await self._count() >= self._limit:
            self._tell("too_many_agents", session)
            raise StartError(f"{self._limit} agents run already; end a session, or see --sessions")
        settings = msgspec.structs.replace(
            self._template, name=name, client=_without_secret(client), session=session
        )
        # A session of its own: what ends the front does not end its turns. And no process of the
        # event loop's, which would be killed with the loop.
        process = subprocess.Popen(  # noqa: ASYNC220, S603 - some 2 ms
            [sys.executable, "-m", "lastword.gateway.holder", msgspec.json.encode(settings)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._children.append(process)
        path = os.path.join(self.run_folder, f"{name}.sock")
        try:
            async with asyncio.timeout(START_SECONDS):
                while not await answers(path):
                    if process.poll() is not None:
                        self._tell("holder_ended", session)
                        raise StartError(_NOT_STARTED)
                    await asyncio.sleep(LOOK_SECONDS)
        except TimeoutError:
            process.kill()
            self._tell("holder_silent", session)
            raise StartError(_NOT_STARTED) from None
        return path

    def _tell(self, reason: str, session: str) -> None:
        failure = {"type": ErrorType.INTERNAL.value, "reason": reason, "origin": "lastword"}
        self.reports.tell("start", failure | {"retryable": True, "phase": "startup"}, session)

    async def _count(self) -> int:
        """How many there are, once the sockets of those that were killed have been taken away."""
        return sum(await asyncio.gather(*(answers(path) for path in self.sockets())))

    async def stop_all(self) -> int:
        """End every holder; gives how many were told to."""
        told = 0
        for path in self.sockets():
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_unix_connection(path)
                writer.write(wire.control(wire.STOP) + b"\n")
                await writer.drain()
                writer.close()
                told += 1
        return told

    async def statuses(self) -> list[dict[str, Any]]:
        """How every holder is; those that do not answer are left out."""
        found = await asyncio.gather(*(status(path) for path in self.sockets()))
        return [each for each in found if each is not None]


def _mark(path: str) -> str:
    """What a holder's socket keeps in its name when it is no spare any more."""
    return os.path.basename(path).removesuffix(".sock").rpartition("-")[2]


async def answers(path: str) -> bool:
    """Does somebody listen at this socket? One that was left behind is taken away."""
    try:
        _, writer = await asyncio.open_unix_connection(path)
    except ConnectionRefusedError:
        # Only of one that is there: between a look and a deletion another may be made.
        with contextlib.suppress(OSError):
            _take_away(path)
        return False
    except OSError:
        return False
    writer.close()
    return True


async def status(path: str) -> dict[str, Any] | None:
    """How a holder is."""
    try:
        async with asyncio.timeout(STATUS_SECONDS):
            reader, writer = await asyncio.open_unix_connection(path, limit=LINE_LIMIT_BYTES)
            writer.write(wire.control(wire.STATUS) + b"\n")
            line = await reader.readline()
            writer.close()
    except (OSError, TimeoutError, ValueError):
        return None
    word, facts = wire.read_control(line.rstrip(b"\n"))
    return facts | {"socket": path} if word == wire.STATUS else None


def _take_away(path: str) -> None:
    """Delete a socket that nobody listens at; a session's link to it stays for its next holder."""
    if not os.path.islink(path):
        os.unlink(path)


def _without_secret(client: dict[str, Any]) -> dict[str, Any]:
    """What a client said, without the viewer's own: a command line can be read by every user."""
    meta = {key: value for key, value in object_of(client.get("_meta")).items() if key != META}
    return client | {"_meta": meta}


def _changed_at(path: str) -> float:
    """When a log was last written; now, where it cannot be told."""
    times = []
    for companion in ("", "-wal"):
        with contextlib.suppress(OSError):
            times.append(os.stat(path + companion).st_mtime)
    return max(times, default=time.time())
