"""Totals: the counts of all processes of a gateway together, as its front has them.

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
from lastword.gateway.quality.counts import LEFT, Counts, QualityReport, Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

MAX_ENDED = 1024
"""Holders whose end is remembered, so that their last report is not counted twice."""

MAX_FILE_BYTES = 1024 * 1024


class Totals:
    """The counts of all holders, added up."""

    def __init__(self, run_folder: str) -> None:
        """Collect what the holders of a run folder report, and what they leave there."""
        self._run_folder = run_folder
        self._ended = Counts()
        self._ended_ids: deque[str] = deque(maxlen=MAX_ENDED)
        self._running: dict[str, tuple[int, Counts]] = {}
        """The process id and the last report of each holder that is running."""
        self._gauges: dict[str, float] = {}

    def update(self, statuses: Iterable[Mapping[str, Any]], sockets: int) -> None:
        """Include the status of the holders that answered, out of this many."""
        self._gauges = {}
        answering = 0
        for status in statuses:
            answering += 1
            report = _report_in(status.get("quality"))
            pid = status.get("pid")
            if report is not None and isinstance(pid, int):
                self._include(report, pid)
        for report in self._leftover_reports():
            self._end(report.id, report.counts)
        for name, (pid, counts) in list(self._running.items()):
            if not _is_running(pid):
                self._end(name, counts)
        self._gauges[table.HOLDERS.key("answering")] = answering
        self._gauges[table.HOLDERS.key("silent")] = max(sockets - answering, 0)

    def _include(self, report: QualityReport, pid: int) -> None:
        if report.id not in self._ended_ids:
            self._running[report.id] = (pid, report.counts)
        for key, value in report.gauges.items():
            metric = table.metric_of(key)
            if metric is table.LAG_MOST:
                self._gauges[key] = max(self._gauges.get(key, 0), value)
            elif metric is not None and metric.kind is table.MetricKind.GAUGE:
                self._gauges[key] = self._gauges.get(key, 0) + value

    def _leftover_reports(self) -> Iterator[QualityReport]:
        """Return and remove the reports that ended holders left behind."""
        names = os.listdir(self._run_folder) if os.path.isdir(self._run_folder) else []
        for name in names:
            if not name.endswith(LEFT):
                continue
            path = os.path.join(self._run_folder, name)
            with contextlib.suppress(OSError, msgspec.MsgspecError):
                with open(path, "rb") as file:
                    left = file.read(MAX_FILE_BYTES)
                os.unlink(path)
                yield msgspec.json.decode(left, type=QualityReport)

    def _end(self, name: str, counts: Counts) -> None:
        self._running.pop(name, None)
        if name not in self._ended_ids:
            self._ended_ids.append(name)
            self._ended.include(counts)

    def snapshot(self, own: Counts, gauges: Mapping[str, float]) -> Snapshot:
        """Return everything, with the front's own counts and gauges."""
        counts = Counts()
        counts.include(own)
        counts.include(self._ended)
        for _, latest in self._running.values():
            counts.include(latest)
        return Snapshot(counts=counts, gauges=self._gauges | dict(gauges))


def _report_in(value: object) -> QualityReport | None:
    """Return a status' report; `None` if the holder's version has none."""
    try:
        return msgspec.convert(value, QualityReport)
    except msgspec.ValidationError:
        return None


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
