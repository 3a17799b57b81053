"""Where the entries of a link in this process go: a log, a test that collects them, the record.

Owns that choice. What a turn pays for it is a look at the log's level and a place in a queue; the
rest is the thread's of `record.thread`.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from typing import TYPE_CHECKING, Protocol

from lastword.inprocess import events, mistakes, settings
from lastword.otel import asked
from lastword.record.thread import recorder_thread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lastword.core.options import Options
    from lastword.core.timeline import Entry
    from lastword.record.recorder import Recorder
    from lastword.record.thread import RecorderThread

logger = logging.getLogger("lastword")


class Collector(Protocol):
    """Takes the entries of every link, in place of the record."""

    def take(self, link: str, entry: Entry) -> None:
        """Take an entry of the link with this id."""
        ...


_collectors: list[Collector] = []


@contextlib.contextmanager
def collected_by(collector: Collector) -> Iterator[None]:
    """Until this is left, entries go to the collector, and none to the record."""
    _collectors.append(collector)
    try:
        yield
    finally:
        _collectors.remove(collector)


class Journal:
    """Takes one link's entries."""

    __slots__ = ("_door", "_folder", "_number", "_over", "_run_id", "_thread")

    def __init__(self, options: Options, *, door: str) -> None:
        """Open it; `door` is `guard` or `serve`."""
        self._door = door
        self._run_id = settings.run_of(options)
        self._folder = settings.record_folder(options, os.environ)
        self._thread: RecorderThread | None = None
        self._number = 0
        self._over = False

    def note(self, entry: Entry) -> None:
        """Take an entry."""
        try:
            mistakes.note(entry)
            events.tell(entry)
            if _collectors:
                for collector in tuple(_collectors):
                    collector.take(self._run_id, entry)
            elif not self._over:
                self._record(entry)
        except Exception as error:  # noqa: BLE001 - a turn goes on without its record
            self._without_record(error)

    def close(self) -> None:
        """There will be no more."""
        self._over = True
        if self._thread is not None:
            self._thread.close(self._number)
            self._thread = None

    def _record(self, entry: Entry) -> None:
        if self._thread is None:
            if self._folder is None and not asked.is_set_up():
                return
            self._thread = recorder_thread()
            self._number = self._thread.open(self._recorder)
        self._thread.send(self._number, entry)

    def _recorder(self) -> Recorder:
        """Called in the thread, where nobody waits for what is loaded."""
        from lastword.inprocess.recording import recorder  # noqa: PLC0415

        return recorder(self._run_id, door=self._door, program=_program(), folder=self._folder)

    def _without_record(self, error: Exception) -> None:
        self._over = True
        with contextlib.suppress(Exception):  # it may be the log itself that raised
            logger.warning("Nothing more is recorded (%s: %s).", type(error).__name__, error)


def _program() -> str:
    """The author's script, or the package that was run by `python -m`."""
    path = sys.argv[0] if getattr(sys, "argv", None) else ""
    folder, name = os.path.split(path)
    if name == "__main__.py":
        name = os.path.basename(folder)
    return name if name not in ("", "-c", "-") else "python"
