"""Finds the processes of one test by a mark in their environment, and recorders (Linux's /proc)."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import uuid
from pathlib import Path

from lastword.kit import peer
from tests.kit.patience import FUSE_SECONDS

VARIABLE = "SIDECAR_TEST_MARK"
GRACE_SECONDS = FUSE_SECONDS / 2
"""From the end of a run: what is left behind lives for longer, `sleep 60` at the least."""

CAN_LOOK = sys.platform == "linux"


def new_mark() -> str:
    return uuid.uuid4().hex


def processes(mark: str) -> dict[int, str]:
    """Command line of each live process with the mark, by pid."""
    return dict(peer.processes(mark, variable=VARIABLE))


def wait_for_none(mark: str) -> dict[int, str]:
    """Wait until there are none; gives those that are left when the grace has passed."""
    return peer.leftovers(mark, GRACE_SECONDS, variable=VARIABLE)


def kill_all(mark: str) -> None:
    """Whatever a failed test leaves must not outlive it."""
    for pid in processes(mark):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


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
