"""The records of the sessions that a node owns, which it writes when what they show changes.

Owns when they are written, again and again while no server answers, and which of two owners has a
session: the one with the higher term.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from typing import TYPE_CHECKING

import msgspec

from lastword.errors import StoreError
from lastword.gateway.fleet.errors import FencedError, FleetError
from lastword.gateway.fleet.records import storable

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.gateway.api.shapes import SessionView
    from lastword.gateway.fleet.buckets import Bucket
    from lastword.gateway.fleet.records import SessionRecord

CHANGED_SECONDS = 0.2
"""How long a change waits to be written, together with others."""

PROGRESS_SECONDS = 5.0
"""How long new entries of a log wait, if nothing else has changed."""

AGAIN_SECONDS = 1.0
"""How long after a failure, or a loss, a record is written again."""

ANSWER_SECONDS = 2.0
"""How long that may take."""


class _Owned:
    """One session of this node's."""

    def __init__(
        self, record: Callable[[], SessionRecord], lost: Callable[[], None], revision: int
    ) -> None:
        self.record = record
        self.lost = lost
        self.revision = revision
        self.shown = storable(record())
        """The record as it was made last."""
        self.term = self.shown.term
        self.is_stored = False
        """Whether the servers have that one, or are about to."""
        self.stored_at = -math.inf
        self.due = math.inf
        self.is_released = False
        self.lock = asyncio.Lock()
        """Held while a record is stored, so that requests follow one another."""

    def made(self) -> SessionRecord:
        """Return the record as of now."""
        try:
            return storable(self.record())
        except StoreError:  # it is made from the log, which cannot be read now
            return self.shown


class OwnedRecords:
    """The records of a node's own sessions."""

    def __init__(
        self,
        store: Bucket[SessionRecord],
        instance: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin without a session.

        Args:
            store: Where they are stored, by `wire.name_of(session)`.
            instance: This node's instance.
            clock: Returns the time, in seconds.
        """
        self._store = store
        self._instance = instance
        self._clock = clock
        self._owned: dict[str, _Owned] = {}
        self._stirred = asyncio.Event()

    async def acquire(
        self,
        name: str,
        record: Callable[[], SessionRecord],
        lost: Callable[[], None],
        revision: int = 0,
    ) -> None:
        """Write that this node owns a session, and what it shows from now on.

        Args:
            name: The session's name.
            record: Returns the record as of now.
            lost: Called when another node owns the session.
            revision: That of the record which is replaced; 0 for none.

        Raises:
            FencedError: Another node was quicker.
            FleetError: It is not stored, or it is not known whether it is.
        """
        owned = self._owned[name] = _Owned(record, lost, revision)
        async with owned.lock:
            now = self._clock()
            try:
                if revision:
                    owned.revision = await self._store.renew(name, owned.shown, revision)
                else:
                    owned.revision = await self._store.create(name, owned.shown)
            except FencedError:
                self.forget(name)
                raise
            owned.is_stored, owned.stored_at = True, now

    def show(self, name: str, record: Callable[[], SessionRecord]) -> bool:
        """Have another record shown; return whether the session is this node's."""
        owned = self._owned.get(name)
        if owned is not None:
            owned.record = record
            self._write_by(owned, self._clock())
        return owned is not None

    def changed(self, name: str) -> None:
        """Note that what a record shows may have changed."""
        if (owned := self._owned.get(name)) is not None:
            self._write_by(owned, self._clock() + CHANGED_SECONDS)

    def _write_by(self, owned: _Owned, due: float) -> None:
        if owned.due > due:
            owned.due = due
            self._stirred.set()

    async def release(
        self, name: str, last: SessionRecord | None = None, ended: SessionView | None = None
    ) -> None:
        """Write that a session has no owner; later, if that is impossible now.

        Args:
            name: The session's name.
            last: Its record; by default, what it shows now.
            ended: How the API shows it, if it has ended.
        """
        owned = self._owned.get(name)
        if owned is not None:
            last = last or owned.made()
            released = msgspec.structs.replace(last, owner=None, ended=ended or last.ended)
            owned.record, owned.is_released = lambda: released, True
            await self._write(name, owned)

    def forget(self, name: str) -> None:
        """Write nothing more of a session."""
        self._owned.pop(name, None)

    def noted(self, name: str, record: SessionRecord | None) -> None:
        """Note a session's record as the servers have it; `None` if they have lost it."""
        owned = self._owned.get(name)
        if owned is None or owned.is_released:
            return
        if record is not None and self._is_anothers(record, owned.term):
            self._lose(name, owned)
        elif record != owned.shown:  # restored servers have an older one
            owned.is_stored = False
            self._write_by(owned, self._clock() + AGAIN_SECONDS)

    async def run(self) -> None:
        """Write what changes, until cancelled."""
        while True:
            await self.write_due()
            self._stirred.clear()
            due = min((each.due for each in self._owned.values()), default=math.inf)
            seconds = None if due == math.inf else max(due - self._clock(), 0.0)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._stirred.wait()

    async def write_due(self) -> None:
        """Write what is due."""
        now = self._clock()
        due = [(name, owned) for name, owned in self._owned.items() if owned.due <= now]
        await asyncio.gather(*(self._write(name, owned) for name, owned in due))

    async def _write(self, name: str, owned: _Owned) -> None:
        async with owned.lock:
            if self._owned.get(name) is not owned:
                return
            now, record, is_last = self._clock(), owned.made(), owned.is_released
            owned.due = math.inf
            if owned.is_stored and not is_last:
                if record == owned.shown:
                    return
                is_progress = _without_progress(record) == _without_progress(owned.shown)
                if is_progress and now < owned.stored_at + PROGRESS_SECONDS:
                    owned.due = owned.stored_at + PROGRESS_SECONDS
                    return
            owned.shown, owned.is_stored = record, True
            owned.term = max(owned.term, record.term)
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    owned.revision = await self._replace(name, owned)
            except FencedError:
                self._lose(name, owned)
            except (FleetError, TimeoutError):
                owned.is_stored = False
                self._write_by(owned, self._clock() + AGAIN_SECONDS)
            else:
                owned.stored_at = now
                if is_last and self._owned.get(name) is owned:
                    self.forget(name)

    async def _replace(self, name: str, owned: _Owned) -> int:
        """Replace a record by its revision, or the one that restored servers have instead."""
        try:
            return await self._store.renew(name, owned.shown, owned.revision)
        except FencedError:
            stored = await self._store.read(name)
            if stored is None:
                return await self._store.create(name, owned.shown)
            if self._is_anothers(stored.record, owned.term):
                raise
            return await self._store.renew(name, owned.shown, stored.revision)

    def _is_anothers(self, stored: SessionRecord, term: int) -> bool:
        """Return whether another node has owned a session since this term began."""
        has_other = stored.owner is not None and stored.owner.instance != self._instance
        return (stored.term, has_other) > (term, False)

    def _lose(self, name: str, owned: _Owned) -> None:
        if self._owned.get(name) is owned:
            self.forget(name)
            if not owned.is_released:
                owned.lost()


def _without_progress(record: SessionRecord) -> SessionRecord:
    owner = record.owner
    if owner is not None:
        view = msgspec.structs.replace(owner.view, head=0, first=1)
        owner = msgspec.structs.replace(owner, view=view, not_replicated=0)
    return msgspec.structs.replace(record, owner=owner)
