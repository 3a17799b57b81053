"""The local file of a played owner, which outlives its process, and its making from a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.gateway.fleet.local_copy import _copy_of
from lastword.gateway.log.pins import Pins
from lastword.gateway.log.store import MemoryLog

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lastword.gateway.fleet.replica import LogState, StoredBatch, StreamEnd


class LocalFile(MemoryLog):
    """A log's file: its entries, and the term in which it was written last."""

    def __init__(self, epochs: Callable[[], str], epoch: str = "", first: int = 1) -> None:
        super().__init__(epoch=epoch or epochs(), first=first)
        self._epochs = epochs
        self.is_damaged = False

    @property
    def facts(self) -> dict[str, str]:
        return dict(self._facts)

    def renew_epoch(self) -> None:
        self.epoch = self._epochs()


def file_of(
    inherited: StreamEnd,
    state: LogState | None,
    batches: Sequence[StoredBatch],
    epochs: Callable[[], str],
) -> LocalFile:
    """Make a file with what a stream has."""
    if not inherited.sequence:
        return LocalFile(epochs)
    copy = _copy_of(inherited, state, batches)
    first = copy.batches[0][0] if copy.batches else copy.last + 1
    file = LocalFile(epochs, copy.epoch, first)
    for _, entries in copy.batches:
        file.append(entries)
    file._pins = Pins(copy.pins.items())
    for name, value in copy.facts.items():
        file.remember(name, value)
    return file
