"""Retention: what a fleet keeps of sessions that ended long ago is dropped, as their files are.

Owns which sessions these are. A front calls it with the sessions that it is to look after.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from lastword.gateway.fleet.records import SessionRecord


class AgedReplicas(Protocol):
    """What is needed of the replicas (`Streams`)."""

    async def changed_at(self, name: str) -> float | None:
        """Return when a session was last written to; `None` if there is nothing of it."""
        ...

    async def forget_named(self, name: str) -> None:
        """Drop everything of a session."""
        ...


class SessionRecords(Protocol):
    """What is needed of the bucket of sessions."""

    async def delete(self, name: str) -> None:
        """Delete a record."""
        ...


async def forget_old(
    replicas: AgedReplicas,
    records: SessionRecords,
    sessions: Mapping[str, SessionRecord],
    owned: Container[str],
    before: float,
) -> int:
    """Drop the replicas and the records of sessions without an owner that are old.

    A session's record goes last, so that what fails is done the next time.

    Args:
        replicas: The replicas.
        records: The bucket of the sessions' records.
        sessions: The sessions to look at, by the names of their files.
        owned: The names of those that have an owner.
        before: Drop what was last written before this time, in seconds since 1970 UTC.

    Returns:
        How many were dropped.

    Raises:
        FleetError: The fleet cannot be reached.
    """
    gone = 0
    for name, record in [*sessions.items()]:
        if name in owned:
            continue
        if record.ended is not None and record.ended.since_epoch_ms >= before * 1000:
            continue
        at = await replicas.changed_at(name)
        if at is None or at < before:
            await replicas.forget_named(name)
            await records.delete(name)
            gone += 1
    return gone
