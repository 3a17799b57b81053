"""A holder's recorder: a thread, or a process where something is sent somewhere.

Owns which of the two it is, and how its settings reach a process: a program with threads cannot
fork. `record.process` handles what it receives.
"""

from __future__ import annotations

import mmap
import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.otel.enabled import is_requested, of_own
from lastword.platform.files import file_with
from lastword.platform.pipes import close
from lastword.record.paths import Limits  # noqa: TC001 - a struct's type, at runtime
from lastword.record.process import Board, RecorderProcess, live
from lastword.record.run import Run  # noqa: TC001 - as above
from lastword.record.sinks_of import sinks_of
from lastword.record.threaded import ThreadedRecorder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lastword.outbox.report import ReportTarget
    from lastword.record.sink import ReportSink, Sink

SHARED_FD = 3
"""The file that both processes share: the board on its first page, and the settings behind it. It
has no name, and a command line would show a target's credentials."""


def started(
    path: str | None,
    run: Run,
    limits: Limits,
    target: ReportTarget | None = None,
    outbox: str = "",
) -> Sink | None:
    """Start a recorder; return `None` if that fails.

    Sending may take a while; it continues after the holder's end.

    Args:
        path: the path of the store; `None` for no record.
        run: the run.
        limits: the limits of the store.
        target: where failures are reported, if anywhere.
        outbox: the folder of the outbox.
    """
    try:
        if target is None and not is_requested(os.environ):
            return ThreadedRecorder(partial(sinks_of, path, run, limits))
        settings = RecorderSettings(
            path=path,
            run=run,
            limits=limits,
            target=None if target is None else msgspec.to_builtins(target),
            outbox=outbox,
        )
        return SpawnedRecorder(settings)
    except (OSError, RuntimeError):
        return None  # a session without a record is still a session


class RecorderSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of such a process.

    Attributes:
        path: the path of the store; `None` for no record.
        run: the run.
        limits: the limits of the store.
        target: where failures are reported, a `ReportTarget`; `None` for nowhere.
        outbox: the folder of the outbox.
    """

    path: str | None
    run: Run
    limits: Limits
    target: dict[str, Any] | None = None
    outbox: str = ""


class SpawnedRecorder(RecorderProcess):
    """A process that writes rows, and this end of its pipe.

    It reports to OpenTelemetry, too, if the environment asks for that.
    """

    __slots__ = ("_shared",)

    def __init__(self, settings: RecorderSettings) -> None:
        """Start it.

        Raises:
            OSError: no process or no pipe can be made.
        """
        self._shared = file_with(bytes(mmap.PAGESIZE) + msgspec.json.encode(settings))
        board = None if settings.target is None else Board(self._shared)
        super().__init__(settings.path, settings.run, settings.limits, board=board)

    def _begin(self, read_end: int) -> int:
        # By `posix_spawn` some 1 ms: the loop of a holder waits for it, once.
        return os.posix_spawn(
            sys.executable,
            [sys.executable, "-P", "-m", __name__],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, read_end, 0),
                (os.POSIX_SPAWN_DUP2, self._shared, SHARED_FD),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_RDWR, 0),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_RDWR, 0),
            ],
        )

    def close(self) -> None:
        """Let it finish, without waiting for a disk that hangs."""
        super().close()
        close(self._shared)


def _reports(outbox: str, target: dict[str, Any], run: Run) -> ReportSink:
    # Loaded only where reports are asked for.
    from lastword.outbox.report import ReportTarget  # noqa: PLC0415
    from lastword.outbox.sender import OutboxSink  # noqa: PLC0415

    return OutboxSink(outbox, msgspec.convert(target, ReportTarget), run)


def main(_: Sequence[str]) -> int:
    """Write the rows that come on stdin."""
    size = os.fstat(SHARED_FD).st_size - mmap.PAGESIZE
    text = os.pread(SHARED_FD, size, mmap.PAGESIZE)
    settings = msgspec.json.decode(text, type=RecorderSettings)
    target, board = settings.target, None
    if target is not None:
        board = Board(SHARED_FD)
    reports = None if target is None else partial(_reports, settings.outbox, target)
    os.close(SHARED_FD)
    start = partial(
        sinks_of, settings.path, settings.run, settings.limits, telemetry=of_own, reports=reports
    )
    live(start, board)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
