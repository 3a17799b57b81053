"""One page of a log as events: where it begins, and how much of the log one request may read.

Owns the bounds of a page. A scan goes step by step, each of which decodes one read of the log, so
that a holder can serve its agent and viewers between two steps: it has one event loop for all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from lastword.gateway.api.events import event_of
from lastword.gateway.api.shapes import VERSION, EventGap, EventKind, EventsPage, SessionEvent
from lastword.gateway.log.entries import Cursor
from lastword.gateway.viewing.reader import start

if TYPE_CHECKING:
    from lastword.gateway.log.entries import Numbered
    from lastword.gateway.log.store import ReadableLog

DEFAULT_LIMIT, MAX_LIMIT = 500, 1000
STEP_ENTRIES = 64
"""Decoding this many takes about a millisecond."""

MAX_SCANNED = 16_384
"""Entries that one page looks at: a rare kind is sought in several requests."""

PAGE_BYTES = 1024 * 1024
"""Frames of one page with content; a single larger one is given alone."""


class EventQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a log that is wanted.

    Attributes:
        epoch: of the cursor; empty for the oldest entry that is kept.
        seq: of the cursor.
        limit: the maximum number of events.
        kinds: only these; empty for all.
        content: include frames.
    """

    epoch: str = ""
    seq: int = 0
    limit: int = DEFAULT_LIMIT
    kinds: frozenset[EventKind] = frozenset()
    content: bool = False


class Scan:
    """A page in the making."""

    def __init__(self, log: ReadableLog, session_id: str, query: EventQuery) -> None:
        """Begin at the cursor.

        Raises:
            CursorError: The cursor is ahead of this log.
        """
        cursor = Cursor(query.epoch, query.seq) if query.epoch else None
        self._log = log
        self._session_id = session_id
        self._query = query
        self._epoch = log.epoch
        self._pos, self._reset = start(log, cursor)
        if cursor is None or self._reset is not None:
            self._pos = log.first - 1  # what was there before is nothing that was wanted
        self._begins = self._pos + 1
        self._gap: EventGap | None = None
        self._events: list[SessionEvent] = []
        self._scanned = 0
        self._bytes = 0

    def go_on(self) -> None:
        """Continue after the log has grown."""
        self._scanned = 0

    def step(self) -> bool:
        """Read some more of the log; return whether the page is complete."""
        if self._is_stale:
            return True
        entries = self._log.read(self._pos, max_entries=STEP_ENTRIES)
        if not entries:
            if self._log.head > self._pos:
                self._note_gap(self._log.head + 1)
                self._pos = self._log.head
            return True
        self._note_gap(entries[0].seq)
        for numbered in entries:
            if not self._take(numbered):
                return True
        self._scanned += len(entries)
        return self._scanned >= MAX_SCANNED

    def _note_gap(self, seq: int) -> None:
        """Note the entries missing before an entry: at most one gap in each page."""
        expected = self._pos + 1
        if seq > expected and self._gap is None:
            self._gap = EventGap(expected, seq - 1, "trimmed")

    def _take(self, numbered: Numbered) -> bool:
        query = self._query
        if len(self._events) >= query.limit:
            return False
        event = event_of(numbered, self._session_id, content=query.content)
        if query.kinds and event.kind not in query.kinds:
            self._pos = numbered.seq
            return True
        if query.content:
            size = numbered.entry.size
            if self._events and self._bytes + size > PAGE_BYTES:
                return False
            self._bytes += size
        self._events.append(event)
        self._pos = numbered.seq
        return True

    @property
    def _is_stale(self) -> bool:
        """Return whether the log's numbers change from here on. The next request will report it."""
        return self._log.epoch != self._epoch

    @property
    def is_news(self) -> bool:
        """Return whether there is something to return without waiting."""
        told = bool(self._events) or self._gap is not None or self._reset is not None
        return told or self._is_stale or self._log.head > self._pos

    def page(self) -> EventsPage:
        """Return what was found."""
        return EventsPage(
            version=VERSION,
            session_id=self._session_id,
            epoch=self._epoch,
            head=max(self._log.head, self._pos),
            first=self._begins,
            after=f"{self._epoch}:{self._pos}",
            more=self._log.head > self._pos,
            events=self._events,
            reset=self._reset is not None or UNSET,
            gap=self._gap if self._gap is not None else UNSET,
        )


def whole_page(log: ReadableLog, session_id: str, query: EventQuery) -> EventsPage:
    """Return a page in one go, for callers in a thread of their own.

    Raises:
        CursorError: The cursor is ahead of this log.
    """
    scan = Scan(log, session_id, query)
    while not scan.step():
        pass
    return scan.page()


def as_facts(page: EventsPage) -> dict[str, Any]:
    """Return a page as it is sent between processes."""
    facts: dict[str, Any] = msgspec.to_builtins(page)
    return facts
