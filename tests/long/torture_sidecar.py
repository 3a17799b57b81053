"""A sidecar one of whose system calls fails: `torture_sidecar.py NUMBER ROUND FILE … run OPTIONS…`.

The call of that number, counted from the start, raises the error that such a call may raise; ROUND
chooses among several. Which call it was is written to FILE; nothing is, where there were fewer.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from lastword.core.restart import state

if TYPE_CHECKING:
    from collections.abc import Callable

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


def main() -> int:
    number, round_, told, *words = sys.argv[1:]
    left, own_pid = int(number), os.getpid()

    def failing(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            nonlocal left
            if os.getpid() == own_pid:  # the guardian is a process of its own
                left -= 1
                if left == 0:
                    fault = FAULTS[name][int(round_) % len(FAULTS[name])]
                    with open(told, "w", encoding="utf-8") as file:
                        file.write(f"{name} {errno.errorcode[fault]}")
                    raise OSError(fault, os.strerror(fault))
            return real(*args, **options)

        return call

    def poll() -> Any:
        found = real_poll()
        ours = {"register": found.register, "unregister": found.unregister}
        return SimpleNamespace(**ours, poll=failing("poll", found.poll))

    state.FIRST_BACKOFF_SECONDS = 0.0
    real_poll = select.poll
    for name in FAULTS.keys() - {"poll"}:
        module: Any = fcntl if name in {"fcntl", "ioctl"} else os
        setattr(module, name, failing(name, getattr(module, name)))
    select.poll = poll  # type: ignore[assignment]
    from lastword.cli.run import command  # noqa: PLC0415  (what it takes from `os` is wrapped)

    return command.main(words[words.index("run") + 1 :])


if __name__ == "__main__":
    sys.exit(main())
