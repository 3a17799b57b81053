"""The outbox of error reports, as far as its state is a metric.

Owns how it is looked at: read only and for a moment, so that whoever sends from it is never held
up. What it is, is `lastword.outbox`'s.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from urllib.parse import quote

from lastword.gateway.quality import table
from lastword.outbox.store import NAME

LOOK = (
    "SELECT coalesce(sum(dead = 0), 0), coalesce(sum(dead != 0), 0),"
    " min(CASE WHEN dead = 0 THEN at_epoch_ms END) FROM reports"
)


BUSY_SECONDS = 0.05


def gauges_of(folder: str) -> dict[str, float] | None:
    """How the outbox of a state folder is; `None` where it cannot be read just now."""
    path = os.path.join(folder, NAME)
    if not os.path.exists(path):
        return {}
    try:
        db = sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True, timeout=BUSY_SECONDS)
        with contextlib.closing(db):
            waiting, dead, oldest_ms = db.execute(LOOK).fetchone()
    except sqlite3.Error:
        return None
    age = max(time.time() - oldest_ms / 1000, 0.0) if oldest_ms is not None else 0.0
    return {
        table.REPORTS.key("waiting"): waiting,
        table.REPORTS.key("dead"): dead,
        table.OLDEST_REPORT.key(): age,
    }
