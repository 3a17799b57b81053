"""The sessions that a front serves: where they are, how they are read, and its greeting.

The directory: where each session is, and where new ones begin. Owns only the interface; `Holders`
is the directory of one machine's sessions. A place is the address of a holder, as text that only a
directory reads: its name here, or where it listens for other nodes of a fleet.

Greetings: the answer to `initialize` for a viewer that may open no session. Owns the agent's last
answer to `initialize`. No agent is started to greet a guest, or anybody while the gateway is full:
the answer is that of a running agent, or the gateway's own where none runs.

The sessions known to a front: from their holders, or from the log files of those without one. Owns
the choice between the two. A holder is asked about its own sessions, since it alone knows of
entries that a full disk did not accept, and can wait for new ones. A session without a holder is
read from its file, in a thread. Only the views of ended sessions are cached, until their files
change.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from lastword._version import __version__
from lastword.core.protocol import acp
from lastword.errors import StoreError
from lastword.gateway import wire
from lastword.gateway.api.requests import NoSessionError, as_facts, whole_page
from lastword.gateway.api.views import view_in
from lastword.gateway.log import files
from lastword.gateway.log.session_log import StoredLog, reading
from lastword.gateway.viewing.reader import CursorError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lastword.gateway.api.requests import EventQuery
    from lastword.gateway.api.shapes import SessionView
    from lastword.gateway.front.holders import Holders
    from lastword.gateway.front.upstream import Upstream
    from lastword.gateway.holder.connection import Introduction
    from lastword.gateway.viewing.access import AnswerCode
    from lastword.outbox.own_reports import OwnReports


class Directory(Protocol):
    """Finds sessions, and holders for new ones; starts a holder where there is none."""

    @property
    def has_room(self) -> bool:
        """Return whether an agent can be started to greet a viewer."""
        ...

    def live(self, session_id: str) -> str | None:
        """Return the place of the holder that has this session."""
        ...

    async def exists(self, session_id: str) -> bool:
        """Return whether this session, or its log, exists."""
        ...

    async def of_session(self, session_id: str, client: Mapping[str, Any]) -> str | None:
        """Return the place of a session's holder; start a new holder if it died.

        Raises:
            StartError: It could not be started, or another gateway has the session.
        """
        ...

    async def spare(self, client: Mapping[str, Any]) -> str:
        """Return the place of an agent without a session, initialized or about to be.

        Raises:
            StartError: It could not be started.
        """
        ...

    async def opener(self, key: str, client: Mapping[str, Any], *, cwd: str, is_new: bool) -> str:
        """Return the place of the holder for a `session/new`: the same one if it is sent again.

        Args:
            key: The viewer and its request's id.
            client: The client for which an agent is started, if there is no spare.
            cwd: The folder in which the session is to work.
            is_new: The viewer cannot have sent anything earlier.

        Raises:
            StartError: It could not be started.
        """
        ...

    def places(self) -> list[str]:
        """Return the places of running holders: all those of this machine."""
        ...

    def views(self) -> list[SessionView]:
        """Return the sessions that have a holder."""
        ...

    async def open(self, place: str, introduction: Introduction) -> Upstream:
        """Connect a viewer to a holder, and wait until its agent has started.

        Raises:
            OSError: It has ended, or cannot be reached.
            StartError: It does not answer.
        """
        ...

    async def request(self, place: str, word: str, facts: dict[str, Any]) -> dict[str, Any] | None:
        """Ask a holder one of `connection.ANSWERED`; `None` if it has ended, or knows no answer."""
        ...

    async def greeting(self, place: str) -> dict[str, Any]:
        """Return a holder's agent's answer to `initialize`; empty if it has failed or ended."""
        ...

    async def answers(self, place: str) -> bool:
        """Return whether a holder is at this place."""
        ...


GREETING_SECONDS = 2.0
"""How long to wait for running agents, which may not have answered `initialize` yet."""


class Greetings:
    """The agent's answers to `initialize`, by the version of ACP."""

    def __init__(self, directory: Directory) -> None:
        """Ask the agents of a directory's holders."""
        self._directory = directory
        self._by_version: dict[int, dict[str, Any]] = {}

    def note(self, result: dict[str, Any]) -> None:
        """Note an agent's answer to `initialize`."""
        self._by_version[acp.dialect(result.get("protocolVersion")).version] = result

    async def of(self, version: object) -> dict[str, Any]:
        """Return the answer to a viewer that speaks this version, without starting an agent."""
        dialect = acp.dialect(version)
        if dialect.version not in self._by_version:
            places = self._directory.places()
            requests = [asyncio.create_task(self._request(place)) for place in places]
            try:  # until one of them, any of which may hang, speaks this version
                async with asyncio.timeout(GREETING_SECONDS):
                    for answered in asyncio.as_completed(requests):
                        await answered
                        if dialect.version in self._by_version:
                            break
            except TimeoutError:
                pass
            finally:
                for task in requests:
                    task.cancel()
        own = {"name": "lastword gateway", "version": __version__}
        return self._by_version.get(dialect.version) or {
            "protocolVersion": dialect.version,
            dialect.agent_info: own,
        }

    async def _request(self, place: str) -> None:
        result = await self._directory.greeting(place)
        if result:
            self.note(result)


MAX_ENDED = 500
"""The most ended sessions in a list; the oldest are left out."""

MAX_CACHED = 2048
LOOK_SECONDS = 1.0
"""How often a session without a holder is checked for a new one."""


class SessionSource:
    """The sessions of a gateway."""

    def __init__(self, holders: Holders, directory: Directory) -> None:
        """Find the sessions of this directory, and the logs of these holders."""
        self._holders = holders
        self._directory = directory
        self.reports: OwnReports = holders.reports
        """The reports of what fails here."""
        self._cached: OrderedDict[str, tuple[tuple[int, int], SessionView]] = OrderedDict()

    def live(self) -> dict[str, SessionView]:
        """Return the sessions that have a holder, by id."""
        return {view.id: view for view in self._directory.views()}

    async def ended(self, live: set[str]) -> tuple[list[SessionView], int]:
        """Return the latest of the sessions without a holder, and how many more there are."""
        names = {wire.name_of(session_id) for session_id in live}
        return await asyncio.to_thread(self._read_ended, names)

    def _read_ended(self, live: set[str]) -> tuple[list[SessionView], int]:
        dated: list[tuple[tuple[int, int], str]] = []
        for name, path in self._holders.logs():
            if name not in live:
                with contextlib.suppress(OSError):
                    status = os.stat(path)
                    dated.append(((status.st_mtime_ns, status.st_size), path))
        dated.sort(reverse=True)
        views: list[SessionView] = []
        for date, path in dated[:MAX_ENDED]:
            cached = self._cached.get(path)
            if cached is not None and cached[0] == date and not files.is_written(path):
                views.append(cached[1])
                continue
            try:
                view = view_in(path)
            except (OSError, StoreError):
                continue
            self._cached[path] = (date, view)
            while len(self._cached) > MAX_CACHED:
                self._cached.popitem(last=False)
            if view.id:
                views.append(view)
        return views, max(0, len(dated) - MAX_ENDED)

    async def one(self, session_id: str) -> SessionView:
        """Return one session.

        Raises:
            NoSessionError: There is no such session.
            StoreError: Its log cannot be read.
        """
        if self._directory.live(session_id) is not None:
            view = self.live().get(session_id)
            if view is not None:
                return view
        try:
            return await asyncio.to_thread(view_in, self._holders.log_path(session_id))
        except FileNotFoundError:
            raise NoSessionError from None

    async def page(
        self, session_id: str, query: EventQuery, wait_seconds: float = 0.0
    ) -> dict[str, Any]:
        """Return a part of a session's log as facts of an `EventsPage`, once there is any.

        Raises:
            NoSessionError: There is no such session.
            CursorError: The cursor is ahead of its log.
            StoreError: Its log cannot be read.
        """
        place = self._directory.live(session_id)
        if place is not None:
            facts = {"session": session_id, "query": msgspec.to_builtins(query)}
            answer = await self._directory.request(
                place, wire.EVENTS_PAGE, facts | {"wait_seconds": wait_seconds}
            )
            if answer is not None and wire.REFUSED in answer:
                raise CursorError(answer[wire.REFUSED])
            if answer is not None and isinstance(answer.get(wire.PAGE), dict):
                return dict(answer[wire.PAGE])
        return await self._stored_page(session_id, query, wait_seconds)

    async def _stored_page(
        self, session_id: str, query: EventQuery, wait_seconds: float
    ) -> dict[str, Any]:
        path = self._holders.log_path(session_id)

        def read(log: StoredLog) -> dict[str, Any]:
            return as_facts(whole_page(log, session_id, query))

        has_holder = self._directory.live(session_id) is not None
        until = asyncio.get_running_loop().time() + wait_seconds
        while True:
            try:
                page = await asyncio.to_thread(reading, path, read)
            except FileNotFoundError:
                raise NoSessionError from None
            is_news = page["events"] or page["more"] or "gap" in page or "reset" in page
            if is_news or asyncio.get_running_loop().time() >= until:
                return page
            await asyncio.sleep(LOOK_SECONDS)
            if not has_holder and self._directory.live(session_id) is not None:
                return page  # its holder is asked next

    async def note(self, session_id: str, facts: dict[str, Any]) -> int | None:
        """Log a client's report in its session; return its number, `None` without a holder."""
        place = self._directory.live(session_id)
        if place is None:
            return None
        report = {"session": session_id, "facts": facts}
        answer = await self._directory.request(place, wire.NOTE, report)
        seq = answer.get("seq") if answer else None
        return seq if isinstance(seq, int) else None

    async def answer(self, code: AnswerCode) -> str:
        """Answer a question by a code; return the outcome, one of `wire`'s words."""
        place = self._directory.live(code.session)
        if place is None:
            return wire.GONE
        facts = {"code": msgspec.to_builtins(code)}
        answer = await self._directory.request(place, wire.ANSWER, facts)
        if answer is not None:
            return str(answer.get("outcome"))
        return wire.UNKNOWN if await self._directory.answers(place) else wire.GONE
