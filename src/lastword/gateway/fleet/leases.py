"""Leases: the records by which a fleet knows the owners of sessions, kept alive by their holder.

Owns when they are renewed: in time, and soon after what they show has changed.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

import msgspec

from lastword.errors import StoreError
from lastword.gateway.fleet.errors import FencedError, FleetError
from lastword.gateway.fleet.records import LEASE_SECONDS, RENEW_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.gateway.fleet.buckets import Bucket
    from lastword.gateway.fleet.records import OwnerRecord

CHANGED_SECONDS = 0.2
"""How long a change waits to be published, together with others."""

AGAIN_SECONDS = 1.0
"""How long after a failure a renewal is tried again."""

ANSWER_SECONDS = 2.0
"""How long a renewal may take."""

SPARE_SECONDS = LEASE_SECONDS / 3
"""How long before a lease may end `expiring` is called."""


class _Lease:
    """One lease of this holder's."""

    def __init__(self, record: Callable[[], OwnerRecord], shown: OwnerRecord) -> None:
        self.record = record
        self.shown = shown
        """The record as it was stored last."""
        self.revision = 0
        self.renewed_at = -LEASE_SECONDS
        """When the last successful renewal was sent."""
        self.due = 0.0
        self.lock = asyncio.Lock()
        """Held while a record is stored, so that requests follow one another."""
        self.is_over = False


class Leases:
    """The leases of one holder."""

    def __init__(
        self,
        store: Bucket[OwnerRecord],
        lost: Callable[[str, int], None],
        expiring: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin without a lease.

        Args:
            store: Where they are stored, by `wire.name_of(session)`.
            lost: Called with the name and the term of a lease that another node has.
            expiring: Called when a lease could not be renewed for so long that another node may
                have it in `SPARE_SECONDS`.
            clock: Returns the time, in seconds.
        """
        self._store = store
        self._lost = lost
        self._expiring = expiring
        self._clock = clock
        self._leases: dict[str, _Lease] = {}
        self._stirred = asyncio.Event()

    async def acquire(
        self, name: str, record: Callable[[], OwnerRecord], replaces: int | None = None
    ) -> None:
        """Acquire a lease, and renew it from now on.

        Args:
            name: The session's name.
            record: Returns the record as of now.
            replaces: The revision of the lease of an earlier process here, if there is one.

        Raises:
            FencedError: Another node has it.
            FleetError: It is not stored.
        """
        now, shown = self._clock(), record()
        lease = _Lease(record, shown)
        if replaces is None:
            lease.revision = await self._store.create(name, shown)
        else:
            lease.revision = await self._store.renew(name, shown, replaces)
        lease.renewed_at, lease.due = now, now + RENEW_SECONDS
        self._leases[name] = lease
        self._stirred.set()

    def show(self, name: str, record: Callable[[], OwnerRecord]) -> bool:
        """Have a lease show another record; return whether the lease exists."""
        lease = self._leases.get(name)
        if lease is not None:
            lease.record = record
            self.changed(name)
        return lease is not None

    def changed(self, name: str) -> None:
        """Note that what a lease shows may have changed."""
        lease, soon = self._leases.get(name), self._clock() + CHANGED_SECONDS
        if lease is not None and lease.due > soon:
            lease.due = soon
            self._stirred.set()

    async def release(self, name: str) -> None:
        """Give a lease up, so that another node need not wait until it expires."""
        lease = self._leases.pop(name, None)
        if lease is not None:
            lease.is_over = True
            async with lease.lock:
                with contextlib.suppress(FleetError):
                    await self._store.delete(name, lease.revision)

    async def release_all(self) -> None:
        """Give all leases up."""
        await asyncio.gather(*map(self.release, list(self._leases)))

    def forget(self, name: str) -> None:
        """Stop renewing a lease, which another node may have."""
        lease = self._leases.pop(name, None)
        if lease is not None:
            lease.is_over = True

    async def run(self) -> None:
        """Renew the leases, until cancelled."""
        while True:
            await self.renew_due()
            self._stirred.clear()
            now = self._clock()
            due = min((each.due for each in self._leases.values()), default=now + RENEW_SECONDS)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(due - now, 0.0)):
                    await self._stirred.wait()

    async def renew_due(self) -> None:
        """Renew what is due, and call `expiring` if a lease is about to end."""
        now = self._clock()
        due = [(name, lease) for name, lease in self._leases.items() if lease.due <= now]
        await asyncio.gather(*(self._renew(name, lease) for name, lease in due))
        ends = [lease.renewed_at + LEASE_SECONDS for lease in self._leases.values()]
        if ends and min(ends) - SPARE_SECONDS <= self._clock():
            self._expiring()

    async def _renew(self, name: str, lease: _Lease) -> None:
        now = self._clock()
        try:
            record = lease.record()
        except StoreError:  # the record is made from the log, which cannot be read now
            record = lease.shown
        has_changed = _without_progress(record) != _without_progress(lease.shown)
        if not has_changed and now < lease.renewed_at + RENEW_SECONDS:
            lease.due = lease.renewed_at + RENEW_SECONDS
            return
        # Never past the moment at which `expiring` has to be called.
        rest = lease.renewed_at + LEASE_SECONDS - SPARE_SECONDS - now
        limit = min(ANSWER_SECONDS, rest) if rest > 0 else ANSWER_SECONDS
        lease.due = now + limit
        try:
            async with asyncio.timeout(limit), lease.lock:
                if not lease.is_over:
                    try:
                        lease.revision = await self._store.renew(name, record, lease.revision)
                    except FencedError:  # it has expired, unless another node has one
                        lease.revision = await self._store.create(name, record)
        except FencedError:
            if self._leases.get(name) is lease:
                del self._leases[name]
                self._lost(name, record.term)
        except (FleetError, TimeoutError):
            lease.due = self._clock() + AGAIN_SECONDS
        else:
            lease.shown, lease.renewed_at, lease.due = record, now, now + RENEW_SECONDS


def _without_progress(record: OwnerRecord) -> OwnerRecord:
    view = msgspec.structs.replace(record.view, head=0, first=1)
    return msgspec.structs.replace(record, view=view, changed_epoch_ms=0, not_replicated=0)
