"""A recorder's process for programs with threads, which cannot fork.

Owns its command line. `record.process` handles what it receives.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from lastword.otel.enabled import of_own
from lastword.record.process import RecorderProcess, live, sinks_of
from lastword.record.retention import Limits  # noqa: TC001 - a struct's type, at runtime
from lastword.record.run import Run  # noqa: TC001 - as above

if TYPE_CHECKING:
    from collections.abc import Sequence


class _Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of such a process; `path` is the store's, `None` for no record."""

    path: str | None
    run: Run
    limits: Limits


class SpawnedRecorder(RecorderProcess):
    """A process that writes rows, and this end of its pipe.

    It reports to OpenTelemetry, too, if the environment asks for that.
    """

    __slots__ = ("_wanted",)

    def __init__(self, path: str | None, run: Run, limits: Limits) -> None:
        """Start it.

        Raises:
            OSError: no process, or no pipe, is to be had.
        """
        self._wanted = msgspec.json.encode(_Wanted(path=path, run=run, limits=limits)).decode()
        super().__init__(path, run, limits)

    def _begin(self, read_end: int) -> int:
        # By `posix_spawn` some 1 ms: the loop of a holder waits for it, once.
        return os.posix_spawn(
            sys.executable,
            [sys.executable, "-P", "-m", __name__, self._wanted],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, read_end, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_RDWR, 0),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_RDWR, 0),
            ],
        )


def main(arguments: Sequence[str]) -> int:
    """Write the rows that come on stdin; the settings are one JSON argument."""
    wanted = msgspec.json.decode(arguments[0], type=_Wanted)
    live(partial(sinks_of, wanted.path, wanted.run, wanted.limits, telemetry=of_own))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
