"""The checks, by name, in the order in which they are shown."""

from __future__ import annotations

from lastword.kit.check.checks import (
    connection,
    error_frames,
    failing_turns,
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
    *(failing_turns, rungs, payloads, error_frames),
)

CHECKS: dict[str, Check] = {
    row.name: row
    for part in _PARTS
    for row in TABLE.values()
    if row.judge.__module__ == part.__name__
}

__all__ = ["CHECKS", "Check", "CheckVerdict", "Finding"]
