"""Pages of a session's replica, for a session whose owner is gone or cannot be reached.

Owns reading a stream as a log is read. A page is made in a thread, as pages of files are, and the
thread has the event loop read what it needs.
"""

from __future__ import annotations

import asyncio
import time
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lastword.gateway.api.requests import as_facts, whole_page
from lastword.gateway.api.views import view_of
from lastword.gateway.fleet.errors import FleetError
from lastword.gateway.fleet.replica import EMPTY
from lastword.gateway.fleet.replicated_log import ascending, pins_at
from lastword.gateway.log.entries import Numbered
from lastword.gateway.log.store import BATCH_BYTES, BATCH_ENTRIES, LogUnavailableError

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import TypeVar

    from lastword.gateway.api.requests import EventQuery
    from lastword.gateway.api.shapes import SessionView
    from lastword.gateway.api.views import SessionDetails
    from lastword.gateway.fleet.replica import StreamEnd
    from lastword.gateway.fleet.streams import Streams
    from lastword.gateway.log.entries import Pins

    _Read = TypeVar("_Read")

LATE_SECONDS = 2.0
"""How long a server that answers reads may lack the newest entries of its stream."""

LOOK_SECONDS = 0.05


class ReplicaLog:
    """A session's replica at one moment, for a thread other than the event loop's."""

    def __init__(
        self,
        store: Streams,
        session_id: str,
        end: StreamEnd,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        """Read nothing yet.

        Args:
            store: The replicas.
            session_id: The session.
            end: The stream's end.
            loop: The event loop of the store.
        """
        self._store = store
        self._session_id = session_id
        self._loop = loop
        self._window: list[Numbered] = []
        """What was read last."""
        self.epoch: str = end.epoch
        self.head: int = end.last

    def _result_of(self, read: Coroutine[Any, Any, _Read]) -> _Read:
        try:
            return asyncio.run_coroutine_threadsafe(read, self._loop).result()
        except FleetError as error:
            raise LogUnavailableError(str(error)) from error

    @property
    def first(self) -> int:
        """The oldest entry's number.

        Raises:
            LogUnavailableError: The stream cannot be read.
        """
        return self._first

    @cached_property
    def _first(self) -> int:
        batches = self._result_of(self._store.read(self._session_id, 0, max_bytes=1))
        return batches[0].first if batches else self.head + 1

    def read(
        self, after: int, *, max_entries: int = BATCH_ENTRIES, max_bytes: int = BATCH_BYTES
    ) -> list[Numbered]:
        """Return the oldest entries after a number.

        Raises:
            LogUnavailableError: The stream cannot be read.
        """
        if after >= self.head:
            return []
        window = self._window
        if not window or not window[0].seq - 1 <= after < window[-1].seq:
            window = self._window = self._read(after)
        entries: list[Numbered] = []
        size = 0
        for numbered in window[max(0, after + 1 - window[0].seq) :][:max_entries]:
            size += numbered.entry.size
            if entries and size > max_bytes:
                break
            entries.append(numbered)
        return entries

    def _read(self, after: int) -> list[Numbered]:
        """Return the next entries after a number that is before the end, up to a gap."""
        until = time.monotonic() + LATE_SECONDS
        while True:
            window: list[Numbered] = []
            for batch in ascending(self._result_of(self._store.read(self._session_id, after))):
                while window and window[-1].seq >= batch.first:
                    window.pop()
                if window and window[-1].seq + 1 < batch.first:
                    break  # a gap
                numbered = map(Numbered, range(batch.first, batch.end.last + 1), batch.entries)
                window += [each for each in numbered if after < each.seq <= self.head]
            if window:
                return window
            if time.monotonic() > until:
                raise LogUnavailableError("the end of the session's replica cannot be read")
            time.sleep(LOOK_SECONDS)

    @property
    def pins(self) -> Pins:
        """The pinned entries.

        Raises:
            LogUnavailableError: The stream cannot be read.
        """
        return self._pins

    @cached_property
    def _pins(self) -> Pins:
        state = self._result_of(self._store.state(self._session_id))
        return pins_at(self, state, self.head)


async def replica_view(store: Streams, end: StreamEnd, details: SessionDetails) -> SessionView:
    """Return a session as the API shows it, as of an end of its replica.

    Raises:
        LogUnavailableError: The stream cannot be read.
    """
    log = ReplicaLog(store, details.id, end, asyncio.get_running_loop())
    return await asyncio.to_thread(view_of, log, details)


async def replica_page(
    store: Streams, session_id: str, query: EventQuery, wait_seconds: float = 0.0
) -> dict[str, Any] | None:
    """Return a part of a session's replica, as `EventsPage` has it, once there is something.

    Returns:
        The page, or `None` if there is no replica of the session.

    Raises:
        CursorError: The cursor is ahead of the log.
        FleetError: The fleet's servers cannot be reached.
        LogUnavailableError: The stream cannot be read.
    """
    loop = asyncio.get_running_loop()
    until = loop.time() + wait_seconds
    while True:
        end = await store.last(session_id)
        if end == EMPTY:
            return None
        log = ReplicaLog(store, session_id, end, loop)
        page = as_facts(await asyncio.to_thread(whole_page, log, session_id, query))
        is_news = page["events"] or page["more"] or "gap" in page or "reset" in page
        rest = until - loop.time()
        if is_news or rest <= 0:
            return page
        await store.wait(session_id, end.last, rest)
