"""Whether a run goes on: its process is there, and is the one that began it.

Owns that question, which is asked of this machine alone.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lastword.record.reader import RecordedRun

_SLACK_SECONDS = 60
"""Clocks are set, and the kernel counts from its own start."""


def is_alive(run: RecordedRun) -> bool:
    """Does this run's process go on?"""
    if run.ended or run.pid <= 0:
        return False
    try:
        os.kill(run.pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return False  # somebody else's process has its number now
    began = _began_at(run.pid)
    # A number is given again: a process that began after the run is another.
    return began is None or began <= run.started_epoch_ms / 1000 + _SLACK_SECONDS


def _began_at(pid: int) -> float | None:
    """When a process began, in seconds since 1970; nothing where the system does not tell."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        with open("/proc/stat", "rb") as file:
            booted = next(int(line.split()[1]) for line in file if line.startswith(b"btime "))
    except (OSError, ValueError, IndexError, StopIteration):
        return None
    return booted + ticks / os.sysconf("SC_CLK_TCK")
