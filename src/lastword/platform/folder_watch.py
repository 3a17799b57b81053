"""A watch on a folder: news of what is deleted in it.

Owns the kernel's notification, by a signal to the event loop (Linux's dnotify, for which Python has
the call). Where there is none, the caller looks from time to time.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import sys
from typing import TYPE_CHECKING

from lastword.platform.pipes import close

if TYPE_CHECKING:
    from collections.abc import Callable

assert sys.platform != "win32"

UNWATCHED_SECONDS = 1.0
"""How often to look where the kernel sends no notification."""

WATCHED_SECONDS = 30.0
"""How often to look all the same: a folder that is moved as a whole causes no event."""


class FolderWatch:
    """Calls a function when something in a folder has been deleted; for one folder a process."""

    def __init__(self, folder: str, deleted: Callable[[], object]) -> None:
        """Begin; to be called in the main thread, with its event loop running."""
        self._folder = folder
        self._fd = -1
        with contextlib.suppress(ValueError, RuntimeError, AttributeError):
            # Without a handler the signal ends the process.
            asyncio.get_running_loop().add_signal_handler(signal.SIGIO, deleted)
            self.renew()

    @property
    def look_seconds(self) -> float:
        return UNWATCHED_SECONDS if self._fd < 0 else WATCHED_SECONDS

    def renew(self) -> None:
        before, self._fd = self._fd, -1
        close(before)
        if not hasattr(fcntl, "F_NOTIFY"):
            return
        try:
            self._fd = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.fcntl(self._fd, fcntl.F_NOTIFY, fcntl.DN_DELETE | fcntl.DN_MULTISHOT)
        except OSError:
            close(self._fd)
            self._fd = -1

    def close(self) -> None:
        """End it; a signal that is under way does no harm."""
        close(self._fd)
        self._fd = -1
        with contextlib.suppress(ValueError, RuntimeError):
            asyncio.get_running_loop().remove_signal_handler(signal.SIGIO)
            signal.signal(signal.SIGIO, signal.SIG_IGN)
