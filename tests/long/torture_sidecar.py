"""`lastword run` one of whose system calls fails: `torture_sidecar.py NUMBER ROUND FILE OPTIONS…`.

The call of that number, counted from the start, raises the error that such a call may raise; ROUND
chooses among several. Which call it was is written to FILE; nothing is, where there were fewer.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import sys
from typing import Any

from lastword.core.restart import state

FAULTS: dict[str, tuple[int, ...]] = {
    "read": (errno.EIO, errno.EAGAIN),
    "write": (errno.EIO, errno.EAGAIN, errno.ENOSPC, errno.EPIPE),
    "close": (errno.EIO, errno.EINTR),
    "pipe": (errno.EMFILE, errno.ENFILE),
    "posix_spawnp": (errno.EAGAIN, errno.ENOMEM, errno.ENOENT),
    "fork": (errno.EAGAIN, errno.ENOMEM),
    "waitid": (errno.ECHILD,),
    "waitpid": (errno.ECHILD,),
    "killpg": (errno.EPERM, errno.ESRCH),
    "fstat": (errno.EBADF,),
    "set_blocking": (errno.EBADF,),
    "get_blocking": (errno.EBADF,),
    "fcntl": (errno.EPERM, errno.EBUSY),
    "ioctl": (errno.ENOTTY,),
    "poll": (errno.ENOMEM, errno.EINVAL),
}


class Faults:
    def __init__(self, number: int, round_: int, told: str) -> None:
        self._left = number
        self._round = round_
        self._told = told
        self._pid = os.getpid()

    def wrap(self, module: Any, name: str) -> None:
        setattr(module, name, self.wrapped(name, getattr(module, name)))

    def wrapped(self, name: str, real: Any) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            self._count(name)
            return real(*args, **options)

        return call

    def _count(self, name: str) -> None:
        if os.getpid() != self._pid:
            return  # the guardian is a process of its own
        self._left -= 1
        if self._left == 0:
            number = FAULTS[name][self._round % len(FAULTS[name])]
            with open(self._told, "w", encoding="utf-8") as file:
                file.write(f"{name} {errno.errorcode[number]}")
            raise OSError(number, os.strerror(number))


class Poll:
    def __init__(self, faults: Faults, real: Any) -> None:
        self.register, self.unregister = real.register, real.unregister
        self.poll = faults.wrapped("poll", real.poll)


def main() -> int:
    number, round_, told, *options = sys.argv[1:]
    state.FIRST_BACKOFF_SECONDS = 0.0
    faults, real_poll = Faults(int(number), int(round_), told), select.poll
    for name in FAULTS.keys() - {"fcntl", "ioctl", "poll"}:
        faults.wrap(os, name)
    faults.wrap(fcntl, "fcntl")
    faults.wrap(fcntl, "ioctl")
    select.poll = lambda: Poll(faults, real_poll())  # type: ignore[assignment,return-value]
    from lastword.cli.run import command  # noqa: PLC0415  (what it takes from `os` is wrapped)

    return command.main(options)


if __name__ == "__main__":
    sys.exit(main())
