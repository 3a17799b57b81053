"""Readiness: whether this gateway could take one more session now, and if not, why.

Owns the reasons, each a word, and how long a failed start counts. That all agents are in use is
none of them: whoever sent nobody to a full gateway would cut off those whose sessions it has.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from lastword.core.failure.taxonomy import ErrorType
from lastword.core.protocol.tolerant import object_of

if TYPE_CHECKING:
    from collections.abc import Callable

FAILED_SECONDS = 30.0
"""A start that failed counts for so long. Then the next is let come, since of a gateway that nobody
is sent to nobody learns that its agent can be started again."""


class NotReady(StrEnum):
    """Why a gateway is not ready."""

    SHUTTING_DOWN = "shutting_down"
    AGENT_MISSING = "agent_missing"
    """The agent's command is no program here."""
    STATE_NOT_WRITABLE = "state_not_writable"
    AGENT_NOT_STARTED = "agent_not_started"
    """The last agent that was started could not be, or died at its greeting."""


class Readiness:
    """Looks whether a gateway is ready."""

    def __init__(
        self,
        command: str,
        state_folder: str,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """For an agent's program, and the folder where its sessions' logs are."""
        self._command = command
        self._folder = state_folder
        self._clock = clock
        self._failed_at: float | None = None
        self._ends = False

    def shut_down(self) -> None:
        """It takes nobody any more."""
        self._ends = True

    def started(self) -> None:
        """An agent has been greeted."""
        self._failed_at = None

    def failed(self) -> None:
        """An agent could not be started."""
        self._failed_at = self._clock()

    def greeted(self, refused: object) -> None:
        """An agent is there; `refused` is the error object that it answered, if it did.

        What it holds against a client is no failure of its own.
        """
        data = object_of(object_of(refused).get("data"))
        payload: dict[str, Any] = object_of(data.get("agent_error"))
        if payload.get("type") == ErrorType.AGENT_CRASH:
            self.failed()
        elif refused is None:
            self.started()

    def reason(self) -> NotReady | None:
        """Why it is not ready; `None` where it is."""
        if self._ends:
            return NotReady.SHUTTING_DOWN
        if shutil.which(self._command) is None:
            return NotReady.AGENT_MISSING
        if not _is_writable(self._folder):
            return NotReady.STATE_NOT_WRITABLE
        since = self._failed_at
        if since is not None and self._clock() - since < FAILED_SECONDS:
            return NotReady.AGENT_NOT_STARTED
        return None


def _is_writable(folder: str) -> bool:
    """Can something be written there? A full disk has the rights, and takes nothing."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            file.write(b"\0" * 4096)
    except OSError:
        return False
    return True
