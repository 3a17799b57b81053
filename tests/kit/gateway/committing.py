"""A hub whose commits are carried out at once, as by a session whose log is in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lastword.gateway.holder.hub import Hub

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lastword.gateway.holder.effects import HubEffect
    from lastword.gateway.log.entries import LogEntry
    from lastword.gateway.log.store import Log


class CommittingHub(Hub):
    """A hub with its log; its effects are what is sent."""

    def __init__(self, log: Log, **options: Any) -> None:
        super().__init__(log, **options)
        self.log = log

    def _commit(self, entries: Sequence[LogEntry]) -> list[HubEffect]:
        self.head += len(entries)
        self.log.append(entries)
        return []
