"""Finds the processes of one test by a mark in their environment (Linux's /proc)."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import uuid

from lastword.kit import peer
from tests.kit.patience import FUSE_SECONDS

VARIABLE = "SIDECAR_TEST_MARK"
GRACE_SECONDS = FUSE_SECONDS / 2
"""From the end of a run: what is left behind lives for longer, `sleep 60` at the least."""

CAN_LOOK = sys.platform == "linux"


def new_mark() -> str:
    """A mark for one run."""
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
