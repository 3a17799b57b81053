"""Readiness: whether this gateway could take one more session now, and otherwise why not.

Owns the reasons, each a word, and how long a failed start counts. A gateway whose agents are all
in use is still ready: a load balancer that avoided it would cut off the sessions that it has.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from lastword.core.failure.taxonomy import ErrorType
from lastword.core.protocol.acp import object_of
from lastword.record.paths import make_folder

if TYPE_CHECKING:
    from collections.abc import Callable

FAILED_SECONDS = 30.0
"""A failed start counts for this long. After that the gateway is ready again: if no session came,
nobody would learn that its agent can be started."""


class NotReady(StrEnum):
    """Why a gateway is not ready."""

    SHUTTING_DOWN = "shutting_down"
    AGENT_MISSING = "agent_missing"
    """The agent's command is not a program here."""
    STATE_NOT_WRITABLE = "state_not_writable"
    FLEET_AWAY = "fleet_away"
    """No server of its fleet answers."""
    AGENT_NOT_STARTED = "agent_not_started"
    """The last agent that was started could not be, or died at its greeting."""


class ReadyTold(msgspec.Struct, frozen=True):
    """The gateway could take one more session now."""

    status: Literal["ready"] = "ready"


class NotReadyTold(msgspec.Struct, frozen=True, kw_only=True):
    """The gateway could not take one more session now.

    Attributes:
        status: always `not_ready`.
        reason: why not.
    """

    status: Literal["not_ready"] = "not_ready"
    reason: NotReady


class Readiness:
    """Determines whether a gateway is ready."""

    def __init__(
        self,
        command: str,
        state_folder: str,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Check an agent's program, and the folder of its sessions' logs."""
        self._command = command
        self._folder = state_folder
        self._clock = clock
        self._failed_at: float | None = None
        self._ends = False

    def shut_down(self) -> None:
        """Take no more sessions."""
        self._ends = True

    def started(self) -> None:
        """Note that an agent has answered `initialize`."""
        self._failed_at = None

    def failed(self) -> None:
        """Note that an agent could not be started."""
        self._failed_at = self._clock()

    def greeted(self, refused: object) -> None:
        """Note an agent's answer; `refused` is its error object, if it was one.

        An error that is about the client is not the agent's failure.
        """
        data = object_of(object_of(refused).get("data"))
        payload: dict[str, Any] = object_of(data.get("agent_error"))
        if payload.get("type") == ErrorType.AGENT_CRASH:
            self.failed()
        elif refused is None:
            self.started()

    def reason(self) -> NotReady | None:
        """Return why it is not ready; `None` if it is."""
        if self._ends:
            return NotReady.SHUTTING_DOWN
        if shutil.which(self._command) is None:
            return NotReady.AGENT_MISSING
        try:
            make_folder(self._folder)
            with tempfile.TemporaryFile(dir=self._folder, buffering=0) as file:
                file.write(b"\0" * 4096)  # a full disk gives a file, but no space
        except OSError:
            return NotReady.STATE_NOT_WRITABLE
        since = self._failed_at
        if since is not None and self._clock() - since < FAILED_SECONDS:
            return NotReady.AGENT_NOT_STARTED
        return None
