"""A recorder's process for a program that has threads, where a fork is no way to begin one.

Owns its command line. What it does with what it is sent is `record.process`'s.
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
    """What such a process is started with; `path` is the store's, `None` keeps no record."""

    path: str | None
    run: Run
    limits: Limits


class SpawnedRecorder(RecorderProcess):
    """A process that writes rows, and our end of its pipe.

    It tells OpenTelemetry too, where the environment asks for that.
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
            [sys.executable, "-m", __name__, self._wanted],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, read_end, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_RDWR, 0),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_RDWR, 0),
            ],
        )


def main(arguments: Sequence[str]) -> int:
    """Write what comes on stdin; what is wanted is one JSON argument."""
    wanted = msgspec.json.decode(arguments[0], type=_Wanted)
    live(partial(sinks_of, wanted.path, wanted.run, wanted.limits, telemetry=of_own))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
