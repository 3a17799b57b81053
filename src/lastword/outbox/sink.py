"""The outbox as a sink of a run's rows, beside the record and telemetry.

Owns the order: a report is on disk before its rows go to the other sinks. Like every sink it is
called in its own process or thread, so it may wait for the disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastword.outbox.report import ReportWriter
from lastword.outbox.sender import Sender
from lastword.outbox.store import Outbox

if TYPE_CHECKING:
    from lastword.outbox.target import ReportTarget
    from lastword.record.run import Row, Run

FINISH_SECONDS = 2.0
"""How long a recorder lives on to send what has just failed."""

STORING_SECONDS = 10.0
"""How long a recorder then waits for a disk that cannot be written."""


class OutboxSink:
    """Takes the rows of one run."""

    def __init__(
        self,
        folder: str,
        target: ReportTarget,
        run: Run,
        *,
        finish_seconds: float = FINISH_SECONDS,
        storing_seconds: float = STORING_SECONDS,
    ) -> None:
        """Put failure reports into the outbox of a folder, and send them to a target.

        Args:
            folder: The outbox's folder.
            target: Where the reports go.
            run: The run whose rows it receives.
            finish_seconds: How long `close` may send.
            storing_seconds: How long `close` then waits for a disk that cannot be written.
        """
        self._outbox = Outbox(folder)
        self._target = target
        self._reports = ReportWriter(run)
        self._finish_seconds = finish_seconds
        self._storing_seconds = storing_seconds
        self._sender = Sender(self._outbox, target)
        self._has_news = False

    def send(self, rows: list[Row]) -> None:
        reports = self._reports.receive(rows)
        if reports:
            self._outbox.add(reports, self._target)
            self._has_news = True

    @property
    def is_stored(self) -> bool:
        """Return whether all reports of the received rows are on disk."""
        return self._outbox.is_stored

    def wake(self) -> None:
        """Send what was received, now that its sender knows that it is on disk."""
        if self._has_news:
            self._has_news = False
            self._sender.wake()

    def close(self) -> None:
        """Send what can be sent in a moment."""
        self._sender.finish(self._finish_seconds, storing_seconds=self._storing_seconds)
