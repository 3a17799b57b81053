"""A recorder's process for a program that has threads, where a fork is no way to begin one.

Owns its command line. What it does with what it is sent is `record.process`'s.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import msgspec

from lastword.otel.enabled import of_own
from lastword.record.process import RecorderProcess, live
from lastword.record.retention import Limits  # noqa: TC001 - a struct's type, at runtime
from lastword.record.run import Run  # noqa: TC001 - as above

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lastword.record.sink import StartTelemetry


class _Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What such a process is started with; `path` is the store's, `None` keeps no record."""

    path: str | None
    run: Run
    limits: Limits


class SpawnedRecorder(RecorderProcess):
    """A process that writes rows, and our end of its pipe.

    It tells OpenTelemetry too, where the environment asks for that.
    """

    __slots__ = ()

    def _begin(
        self,
        read_end: int,
        path: str | None,
        run: Run,
        limits: Limits,
        telemetry: StartTelemetry | None,  # noqa: ARG002 - that process has its own
    ) -> int:
        wanted = msgspec.json.encode(_Wanted(path=path, run=run, limits=limits)).decode()
        # By `posix_spawn` some 1 ms: the loop of a holder waits for it, once.
        return os.posix_spawn(
            sys.executable,
            [sys.executable, "-m", __name__, wanted],
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
    live(wanted.path, wanted.run, wanted.limits, of_own)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
