"""Reports without a record: of a gateway and its sessions.

Owns a thread, started at the first report, that stores and sends them, so that nobody waits.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lastword.outbox.report import (
    TargetError,
    TargetOptions,
    own_report,
    target_of,
    target_options_in,
)
from lastword.outbox.store import Outbox
from lastword.platform.identity import run_id
from lastword.record.run import this_run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lastword.outbox.sender import Sender

FINISH_SECONDS = 2.0
DOOR = "gateway"


class OwnReports:
    """Reports of one process."""

    def __init__(self, options: TargetOptions, folder: str, program: str) -> None:
        """Start nothing yet.

        Args:
            options: Where reports go. Without an address, the environment's is used, since no
                credential in it may be put on a command line.
            folder: The outbox's folder.
            program: The agent's program.
        """
        if not options.url:
            try:
                url = target_options_in(os.environ).url
            except TargetError:
                url = ""  # the program that started us has reported the error
            options = TargetOptions(url, options.form, options.secret_file)
        self._options = options
        self._outbox = Outbox(folder)
        self._run = this_run(run_id(), door=DOOR, program=os.path.basename(program))
        self._sender: Sender | None = None

    def add(self, what: str, members: Mapping[str, object], session_id: str = "") -> None:
        """Report a failure, if reports are enabled.

        Args:
            what: As `FailureReport.what`.
            members: A payload.
            session_id: The session, if there is one.
        """
        if not self._options.url:
            return
        if self._sender is None:
            # Loaded at the first report: the HTTP client would take 2 MB of every gateway.
            from lastword.outbox.sender import Sender  # noqa: PLC0415

            try:
                self._sender = Sender(self._outbox, target_of(self._options, os.environ))
            except (TargetError, RuntimeError):  # no thread can be started, or a file has gone
                return
        self._sender.put(own_report(self._run, what, members, session_id))

    def finish(self) -> None:
        """Send what can be sent in a moment."""
        if self._sender is not None:
            self._sender.finish(FINISH_SECONDS)
