"""Sinks: the destinations of a run's rows, which are the store, reports and telemetry.

Owns what a sink is, that none of them stops another, and that none receives a secret, not even
within an id or a name that another party chose: the core leaves these unchanged, because a turn
would wait for the patterns to be compiled. Any of them may wait, so they run in a process or a
thread of their own (`record.process`, `record.thread`). Knows nothing of telemetry and reports
except that they take rows.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import msgspec

from lastword.core.redact.redactor import Redactor
from lastword.record.run_file import RunFile

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.record.paths import Limits
    from lastword.record.run import Row, Run


class Scrub:
    """Removes secrets from rows. The ids that agents and clients really use stay as they are.

    Args:
        secrets: exact values that are known to be secret, whatever they look like.
    """

    __slots__ = ("_redact",)

    def __init__(self, secrets: tuple[str, ...] = ()) -> None:
        # Most texts are the same from row to row: ids, words of ours.
        self._redact = lru_cache(1024)(Redactor(secrets))

    def __call__(self, row: Row) -> Row:
        """Return the row without secrets."""
        return msgspec.structs.replace(
            row,
            session_id=self._value(row.session_id),
            request_id=self._value(row.request_id),
            facts=self._value(row.facts),
            content=self._value(row.content),
        )

    def _value(self, value: Any) -> Any:
        # The names of facts are ours, and some of them are the names of redaction rules.
        if isinstance(value, str):
            return self._redact(value)
        if isinstance(value, dict):
            return {name: self._value(inner) for name, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self._value(inner) for inner in value]
        return value


class Sink(Protocol):
    """Receives rows on their way to the store."""

    def send(self, rows: list[Row]) -> None:
        """Receive rows; a shell's own sink never waits."""
        ...

    def close(self) -> None:
        """Finish the rows that were received, waiting a moment at most."""
        ...


class ReportSink(Sink, Protocol):
    """Receives rows first, and sends reports of the failures among them."""

    @property
    def is_stored(self) -> bool:
        """Return whether all of them are on disk."""
        ...

    def wake(self) -> None:
        """Send the reports, now that the sender of the rows knows that they are on disk."""
        ...


StartSink: TypeAlias = "Callable[[Run], Sink | None]"
"""Starts further consumers of a run's rows, such as telemetry, if they are enabled."""

StartReportSink: TypeAlias = "Callable[[Run], ReportSink | None]"
"""Starts the sink that sends reports."""


class ReportSinks:
    """Several sinks as one: reports, and notifications."""

    def __init__(self, sinks: list[ReportSink]) -> None:
        self._sinks = sinks

    def send(self, rows: list[Row]) -> None:
        for sink in self._sinks:
            sink.send(rows)

    @property
    def is_stored(self) -> bool:
        """Return whether all of them are on disk."""
        return all(sink.is_stored for sink in self._sinks)

    def wake(self) -> None:
        """Send what was received."""
        for sink in self._sinks:
            sink.wake()

    def close(self) -> None:
        for sink in self._sinks:
            sink.close()


class StoreSink:
    """Receives the rows of one run."""

    def __init__(  # noqa: PLR0913 - six options is our own limit
        self,
        path: str | None,
        run: Run,
        limits: Limits,
        *,
        reports: ReportSink | None = None,
        telemetry: Sink | None = None,
        secrets: tuple[str, ...] = (),
    ) -> None:
        """Create the sink at the store's end.

        Args:
            path: the path of the store; `None` keeps no record.
            run: the run.
            limits: the limits of the store.
            reports: receives the rows first, since a failure must be written down at once.
            telemetry: receives them last.
            secrets: values that are removed from every row.
        """
        self._writer = None if path is None else RunFile(path, run, limits)
        self._reports = reports
        self._telemetry = telemetry
        self._scrub = Scrub(secrets)

    def send(self, rows: list[Row], *, note: Callable[[], None] | None = None) -> None:
        """Receive rows.

        Args:
            rows: the rows.
            note: called once all rows so far are on disk, before a report is sent: a process that
                is killed between the two would otherwise have the report sent again.
        """
        rows = [self._scrub(row) for row in rows]
        reports, writer, telemetry = self._reports, self._writer, self._telemetry
        if reports is not None and not _done(lambda: reports.send(rows)):
            self._reports = None
        if writer is not None and not _done(lambda: writer.write(rows)):
            self._writer = None
        if note is not None and (self._reports is None or self._reports.is_stored):
            note()
        if self._reports is not None:
            self._reports.wake()
        if telemetry is not None and not _done(lambda: telemetry.send(rows)):
            self._telemetry = None

    @property
    def is_behind(self) -> bool:
        """Return whether rows wait for a store that could not be written."""
        return self._writer is not None and self._writer.is_behind

    def close(self, *, ended: bool = True) -> None:
        """Finish; `ended` means that the run reached its own end."""
        self.close_record(ended=ended)
        self.close_others()

    def close_record(self, *, ended: bool = True) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            _done(lambda: writer.close(ended=ended))

    def close_others(self) -> None:
        """Finish reports and telemetry, which may take a while."""
        reports, self._reports = self._reports, None
        telemetry, self._telemetry = self._telemetry, None
        for sink in (telemetry, reports):
            if sink is not None:
                _done(sink.close)


def _done(work: Callable[[], object]) -> bool:
    """Return whether the work succeeded; a sink that raised is not used again."""
    try:
        work()
    except Exception:  # noqa: BLE001 - an author's exporter, or a bug of ours: no session fails
        return False
    return True
