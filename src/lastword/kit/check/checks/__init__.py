"""The checks, by name, in the order in which they are shown."""

from __future__ import annotations

from lastword.kit.check.checks import (
    connection,
    failing,
    failures_told,
    frames,
    methods,
    payloads,
    processes,
    rungs,
    shapes,
    turns,
)
from lastword.kit.check.checks.model import TABLE, Check, CheckVerdict, Finding

_PARTS = (
    *(connection, methods, frames, shapes, processes, turns),
    *(failing, rungs, payloads, failures_told),
)

CHECKS: dict[str, Check] = {
    row.name: row
    for part in _PARTS
    for row in TABLE.values()
    if row.judge.__module__ == part.__name__
}

__all__ = ["CHECKS", "Check", "CheckVerdict", "Finding"]
