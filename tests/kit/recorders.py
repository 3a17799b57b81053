"""The recorder's process of a run, found by what it has that no other child of the run has."""

from __future__ import annotations

import os
from pathlib import Path


def recorders_of(run: int) -> list[int]:
    """The recorders of a run, by its process id: forks of it, away from its session and streams."""
    return [int(name) for name in os.listdir("/proc") if name.isdecimal() and _is_one(name, run)]


def _is_one(pid: str, run: int) -> bool:
    process = Path("/proc", pid)
    try:
        # After the name: state, parent, group, session, …
        state, parent, _, session = (process / "stat").read_text().rpartition(")")[2].split()[:4]
        return (
            (parent, session) == (str(run), pid)
            and state != "Z"
            and (process / "cmdline").read_bytes() == Path(f"/proc/{run}/cmdline").read_bytes()
            # By then it has let go of all that is the run's; a guardian has nothing there.
            and os.readlink(process / "fd" / "2") == os.devnull
        )
    except (OSError, UnicodeDecodeError):  # it has ended, or is a stranger's
        return False
