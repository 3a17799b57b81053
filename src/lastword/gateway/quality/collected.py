"""The counts of all processes of a gateway together, as its front knows them.

Owns the guarantee that no counter of a front ever decreases. When a holder ends, its counts stay:
from the file it left if it ended normally, from its last report if it was killed.
"""

from __future__ import annotations

import contextlib
import os
from collections import deque
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.gateway.quality import table
from lastword.gateway.quality.counts import Counts, Snapshot
from lastword.gateway.quality.held import LEFT, QualityTold

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

MAX_ENDED = 1024
"""Holders whose end is remembered, so that what they said before comes in no second time."""

MAX_FILE_BYTES = 1024 * 1024


class Collected:
    """What holders have reported."""

    def __init__(self, run_folder: str) -> None:
        """Collect what the holders of a run folder report, and what they leave there."""
        self._run_folder = run_folder
        self._ended = Counts()
        self._ended_ids: deque[str] = deque(maxlen=MAX_ENDED)
        self._told: dict[str, tuple[int, Counts]] = {}
        """For each holder that has not ended its process, and what it said last."""
        self._gauges: dict[str, float] = {}

    def take(self, statuses: Iterable[Mapping[str, Any]], sockets: int) -> None:
        """Take in the status of the holders that answered, out of this many."""
        self._gauges = {}
        answering = 0
        for status in statuses:
            answering += 1
            told = _told_in(status.get("quality"))
            pid = status.get("pid")
            if told is not None and isinstance(pid, int):
                self._heard(told, pid)
        for told in self._left():
            self._end(told.id, told.counts)
        for name, (pid, counts) in list(self._told.items()):
            if not _is_there(pid):
                self._end(name, counts)
        self._gauges[table.HOLDERS.key("answering")] = answering
        self._gauges[table.HOLDERS.key("silent")] = max(sockets - answering, 0)

    def _heard(self, told: QualityTold, pid: int) -> None:
        if told.id not in self._ended_ids:
            self._told[told.id] = (pid, told.counts)
        for key, value in told.gauges.items():
            metric = table.metric_of(key)
            if metric is table.LAG_MOST:
                self._gauges[key] = max(self._gauges.get(key, 0), value)
            elif metric is not None and metric.kind is table.MetricKind.GAUGE:
                self._gauges[key] = self._gauges.get(key, 0) + value

    def _left(self) -> Iterator[QualityTold]:
        """Take in and remove what ended holders left behind."""
        names = os.listdir(self._run_folder) if os.path.isdir(self._run_folder) else []
        for name in names:
            if not name.endswith(LEFT):
                continue
            path = os.path.join(self._run_folder, name)
            with contextlib.suppress(OSError, msgspec.MsgspecError):
                with open(path, "rb") as file:
                    left = file.read(MAX_FILE_BYTES)
                os.unlink(path)
                yield msgspec.json.decode(left, type=QualityTold)

    def _end(self, name: str, counts: Counts) -> None:
        self._told.pop(name, None)
        if name not in self._ended_ids:
            self._ended_ids.append(name)
            self._ended.include(counts)

    def snapshot(self, own: Counts, gauges: Mapping[str, float]) -> Snapshot:
        """Return everything, with the front's own counts and gauges."""
        counts = Counts()
        counts.include(own)
        counts.include(self._ended)
        for _, told in self._told.values():
            counts.include(told)
        return Snapshot(counts=counts, gauges=self._gauges | dict(gauges))


def _told_in(value: object) -> QualityTold | None:
    """Return a status' report; `None` from a holder of a version without one."""
    try:
        return msgspec.convert(value, QualityTold)
    except msgspec.ValidationError:
        return None


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
