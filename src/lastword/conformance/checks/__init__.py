"""The checks, by name, in the order in which they are shown."""

from __future__ import annotations

from lastword.conformance.checks import (
    connection,
    failing,
    failures_told,
    frames,
    payloads,
    processes,
    rungs,
    turns,
)
from lastword.conformance.checks.model import TABLE, Check, Finding, Verdict

_PARTS = (connection, frames, processes, turns, failing, rungs, payloads, failures_told)

CHECKS: dict[str, Check] = {
    row.name: row
    for part in _PARTS
    for row in TABLE.values()
    if row.judge.__module__ == part.__name__
}

__all__ = ["CHECKS", "Check", "Finding", "Verdict"]
