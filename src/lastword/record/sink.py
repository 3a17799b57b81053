"""Sinks: where the rows of a run go. The last of them are the store, and a caller's telemetry.

Owns what a sink is, that neither of those two stops the other, and that neither is given a secret.
Both may wait, so they are called in a process or a thread of their own (`record.process`,
`record.thread`). Knows nothing of telemetry but that it takes rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

from lastword.record.scrub import Scrub
from lastword.record.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable

    from lastword.record.retention import Limits
    from lastword.record.run import Row, Run


class Sink(Protocol):
    """Takes rows, on their way to the store."""

    def send(self, rows: list[Row]) -> None:
        """Take rows; a shell's own sink never waits."""
        ...

    def close(self) -> None:
        """Take no more, and finish what there is; waits for a moment at most."""
        ...


StartTelemetry: TypeAlias = "Callable[[Run], Sink | None]"
"""Begins the telemetry of a run, where somebody wants any."""


class StoreSink:
    """Takes the rows of one run."""

    def __init__(
        self,
        path: str | None,
        run: Run,
        limits: Limits,
        *,
        telemetry: Sink | None = None,
        secrets: tuple[str, ...] = (),
    ) -> None:
        """`path` is the store's; `None` keeps no record. No row goes on with one of `secrets`."""
        self._writer = None if path is None else Writer(path, run, limits)
        self._telemetry = telemetry
        self._scrub = Scrub(secrets)

    def send(self, rows: list[Row]) -> None:
        """Take rows."""
        rows = [self._scrub(row) for row in rows]
        writer, telemetry = self._writer, self._telemetry
        if writer is not None and not _done(lambda: writer.write(rows)):
            self._writer = None
        if telemetry is not None and not _done(lambda: telemetry.send(rows)):
            self._telemetry = None

    def close(self, *, ended: bool = True) -> None:
        """Finish; `ended` says that the run came to an end of its own."""
        writer, self._writer = self._writer, None
        telemetry, self._telemetry = self._telemetry, None
        if writer is not None:
            _done(lambda: writer.close(ended=ended))
        if telemetry is not None:
            _done(telemetry.close)


def _done(work: Callable[[], object]) -> bool:
    """Did it do its work? What raised is not asked again: the other goes on without it."""
    try:
        work()
    except Exception:  # noqa: BLE001 - an author's exporter, or a bug of ours: no session fails
        return False
    return True
