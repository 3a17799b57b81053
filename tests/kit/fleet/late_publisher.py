"""A publisher of a replicated log that publishes when a test says so."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from lastword.gateway.fleet.replicator import Replicator

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.gateway.fleet.replicated_log import ReplicatedLog


class LatePublisher(Replicator):
    """What a log asks of its publisher, noted; `later` is given what replicates each commit."""

    def __init__(self, later: Callable[[Callable[[], None]], object]) -> None:
        self._later = later
        self.log: ReplicatedLog | None = None
        self.states = 0
        self.first = 0
        self.is_stopped = False

    def begin(self, log: ReplicatedLog, committed: int) -> None:
        self.log = log
        if committed > log.head:
            self.committed(committed)

    def committed(self, last: int) -> None:
        assert self.log is not None
        self._later(partial(self.log.replicated, last))

    def state_changed(self) -> None:
        self.states += 1

    def trimmed(self, first: int) -> None:
        self.first = first

    def stop(self) -> None:
        self.is_stopped = True
