"""Journal of a link in this process: the log, the record, or a test that collects its entries.

Owns where an entry goes, and the logger `lastword.timeline` with the names of its records' fields.
A turn only checks the log level and appends to a queue; the thread of `record.thread` does the
rest. `inprocess.settings` warns an author about what to fix.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from typing import TYPE_CHECKING, Any, Protocol

from lastword.core.redact.environment_secrets import secrets_of
from lastword.core.timeline.entry import Level
from lastword.inprocess import settings
from lastword.inprocess.settings import logger, timeline
from lastword.otel import enabled
from lastword.record.paths import limits_of, state_folder, store_path
from lastword.record.recorder import Recorder
from lastword.record.run import this_run
from lastword.record.thread import gate, recorder_thread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lastword.core.link.options import Options
    from lastword.core.timeline.entry import Entry
    from lastword.record.run import Run
    from lastword.record.sink import ReportSink, Sink
    from lastword.record.thread import RecorderThread

# If logging is not set up, Python itself would write warnings to stderr.
timeline.logger.addHandler(logging.NullHandler())

FINISH_SECONDS = 0.3
"""How long the end of one link may occupy the thread that writes for all."""

PREFIX = "lastword_"
"""The prefix of all fields, which keeps them apart from a log record's own."""

_LEVELS = {
    Level.DEBUG: logging.DEBUG,
    Level.INFO: logging.INFO,
    Level.WARNING: logging.WARNING,
    Level.ERROR: logging.ERROR,
}
_NAMED = ("type", "reason", "tool", "stop_reason", "by")


class EntryCollector(Protocol):
    """Receives the entries of all links, in place of the record."""

    def take(self, link: str, entry: Entry) -> None:
        """Receive an entry of the link with this id."""
        ...


_collectors: list[EntryCollector] = []


@contextlib.contextmanager
def collected_by(collector: EntryCollector) -> Iterator[None]:
    """Send entries to the collector instead of the record, until this context is left."""
    _collectors.append(collector)
    try:
        yield
    finally:
        _collectors.remove(collector)


class Journal:
    """Receives one link's entries."""

    __slots__ = ("_door", "_folder", "_number", "_options", "_over", "_run_id", "_thread")

    def __init__(self, options: Options, *, door: str) -> None:
        """Open it; `door` is `guard` or `serve`."""
        self._door = door
        self._options = options
        self._run_id = settings.run_of(options)
        self._folder = settings.record_folder(options, os.environ)
        self._thread: RecorderThread | None = None
        self._number = 0
        self._over = False

    def note(self, entry: Entry) -> None:
        try:
            settings.note(entry, self._options)
            log(entry)
            if _collectors:
                for collector in tuple(_collectors):
                    collector.take(self._run_id, entry)
                return
            if self._over:
                return
            if self._thread is None:
                if self._folder is None and not enabled.is_set_up() and not settings.reports():
                    return
                self._thread = recorder_thread()
                self._number = self._thread.open(self._recorder)
            self._thread.send(self._number, entry)
        except Exception as error:  # noqa: BLE001 - a turn continues without its record
            self._over = True
            with contextlib.suppress(Exception):  # the log itself may have raised
                logger.warning("Recording has stopped (%s: %s).", type(error).__name__, error)

    def close(self) -> None:
        """Close the journal: there will be no more entries."""
        self._over = True
        if self._thread is not None:
            self._thread.close(self._number)
            self._thread = None

    def _recorder(self) -> Recorder:
        """Create the recorder, in the thread. Without a folder it may still send telemetry."""
        with gate.use():
            # With SQLite, 10 ms, for which nobody waits in the thread.
            from lastword.record.sink import StoreSink  # noqa: PLC0415

        def start() -> Sink | None:
            run = this_run(self._run_id, door=self._door, program=_program())
            with gate.use():  # a fork waits for their imports
                telemetry = enabled.within_program(run)
                reports = _reports(self._folder, run)
            if self._folder is None and telemetry is None and reports is None:
                return None
            path = None if self._folder is None else store_path(self._folder)
            secrets, limits = secrets_of(os.environ), limits_of(os.environ)
            return StoreSink(
                path, run, limits, reports=reports, telemetry=telemetry, secrets=secrets
            )

        return Recorder(start)


def _reports(folder: str | None, run: Run) -> ReportSink | None:
    """Return the outbox, if the environment asks for reports."""
    if not settings.reports():
        return None
    # As above, nobody waits for this in the thread.
    from lastword.outbox.report import TargetError, target_of, target_options_in  # noqa: PLC0415
    from lastword.outbox.sender import OutboxSink  # noqa: PLC0415

    try:
        target = target_of(target_options_in(os.environ), os.environ)
    except TargetError as error:
        logger.warning("No failure is reported: %s.", error)
        return None
    where = folder or state_folder(os.environ)
    return OutboxSink(where, target, run, finish_seconds=FINISH_SECONDS, storing_seconds=0.0)


def _program() -> str:
    """Return the author's script, or the package that was run with `python -m`."""
    path = sys.argv[0] if getattr(sys, "argv", None) else ""
    folder, name = os.path.split(path)
    if name == "__main__.py":
        name = os.path.basename(folder)
    return name if name not in ("", "-c", "-") else "python"


def log(entry: Entry) -> None:
    """Log an entry at its level; without a listener, this is one look into a cache."""
    level = _LEVELS[entry.level]
    if not timeline.isEnabledFor(level):
        return
    words = [str(entry.facts[name]) for name in _NAMED if entry.facts.get(name) is not None]
    summary = f"{entry.kind.value}: {', '.join(words)}" if words else entry.kind.value
    extra = fields(entry)
    # There are only three formats, since log collectors group records by them.
    if entry.session_id is None:
        timeline.log(level, "%s", summary, extra=extra)
    elif entry.turn is None:
        timeline.log(level, "session %s: %s", entry.session_id, summary, extra=extra)
    else:
        timeline.log(
            level, "session %s turn %s: %s", entry.session_id, entry.turn, summary, extra=extra
        )


def fields(entry: Entry) -> dict[str, Any]:
    """Return the log record's extra fields: the entry's facts, session and turn."""
    extra = {f"{PREFIX}{name}": value for name, value in entry.facts.items()}
    return extra | {
        f"{PREFIX}kind": entry.kind.value,
        f"{PREFIX}at_seconds": entry.at_seconds,
        f"{PREFIX}session_id": entry.session_id,
        f"{PREFIX}turn": entry.turn,
        f"{PREFIX}request_id": entry.request_id,
    }
