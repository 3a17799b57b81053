"""Finds the processes of one test by a mark in their environment (Linux's /proc)."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
import uuid
from pathlib import Path

VARIABLE = "SIDECAR_TEST_MARK"
GRACE_SECONDS = 4.0
"""From the end of a run: the guardian gives an orphaned group one second before it kills it."""

_POLL_SECONDS = 0.01
CAN_LOOK = sys.platform == "linux"


def new_mark() -> str:
    """A mark for one run."""
    return uuid.uuid4().hex


def processes(mark: str) -> dict[int, str]:
    """Command line of each live process with the mark, by pid."""
    if not CAN_LOOK:
        return {}
    wanted = f"{VARIABLE}={mark}".encode()
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        # Zombies have no environment; what ends while we look is no concern.
        with contextlib.suppress(OSError):
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                words = (entry / "cmdline").read_bytes().split(b"\0")
                found[int(entry.name)] = b" ".join(words).decode(errors="replace").strip()
    return found


def wait_for_none(mark: str) -> dict[int, str]:
    """Wait until there are none; gives those that are left when the grace has passed."""
    deadline = time.monotonic() + GRACE_SECONDS
    while (left := processes(mark)) and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    return left


def kill_all(mark: str) -> None:
    """Whatever a failed test leaves must not outlive it."""
    for pid in processes(mark):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
