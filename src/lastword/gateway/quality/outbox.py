"""The outbox of failure reports, as metrics.

Owns how the outbox is read: read-only and briefly, so that senders are never held up. Its
counters only grow, even if its file is set aside. The outbox itself is in `lastword.outbox`.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from urllib.parse import quote

from lastword.gateway.quality import table
from lastword.gateway.quality.counts import Counts
from lastword.outbox.store import NAME
from lastword.outbox.tables import DROPPED, REFUSED, SENT

LOOK = (
    "SELECT coalesce(sum(dead = 0), 0), coalesce(sum(dead != 0), 0),"
    " min(CASE WHEN dead = 0 THEN at_epoch_ms END) FROM reports"
)
COUNTED = {SENT: (table.REPORTS_SENT, ()), REFUSED: (table.REPORTS_REFUSED, ())} | {
    name: (table.REPORTS_DROPPED, (name.removeprefix("dropped_"),)) for name in DROPPED
}
"""The metric, and its labels' values, of each count in the file."""

BUSY_SECONDS = 0.05


class OutboxMetrics:
    """The outbox of a state folder, as of the last successful read."""

    def __init__(self, folder: str) -> None:
        """Read the outbox of this folder; an empty name stands for none."""
        self.gauges: dict[str, float] = {}
        self.counts: Counts = Counts()
        self._path = os.path.join(folder, NAME) if folder else ""
        self._last: dict[str, int] = {}
        """The file's counts at the last read, from which they grow; a new file begins at 0."""

    def read(self) -> None:
        """Read it again; if that fails, the old values stay."""
        if not os.path.exists(self._path):
            self.gauges, self._last = {}, {}
            return
        try:
            db = sqlite3.connect(
                f"file:{quote(self._path)}?mode=ro", uri=True, timeout=BUSY_SECONDS
            )
            with contextlib.closing(db):
                waiting, dead, oldest_ms = db.execute(LOOK).fetchone()
                counts = dict(db.execute("SELECT name, value FROM counts"))
        except sqlite3.Error:
            return
        age = max(time.time() - oldest_ms / 1000, 0.0) if oldest_ms is not None else 0.0
        self.gauges = {
            table.REPORTS.key("waiting"): waiting,
            table.REPORTS.key("dead"): dead,
            table.OLDEST_REPORT.key(): age,
        }
        for name, (metric, labels) in COUNTED.items():
            now, before = counts.get(name, 0), self._last.get(name, 0)
            self.counts.add(metric, now - before if now >= before else now, *labels)
        self._last = counts
