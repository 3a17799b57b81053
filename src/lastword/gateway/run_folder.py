"""The run folder: where the processes of one gateway find each other.

Owns its rights, and the file that says which front serves. Others may delete both while the gateway
runs: a cleaner of temporary files, or the end of a login, which takes XDG_RUNTIME_DIR away.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time

from lastword.errors import StoreError

LOOKS = 10
LOOK_SECONDS = 0.02
"""Whoever asks whether a front is running holds its lock for a moment: it is tried so often."""


class TakenError(Exception):
    """Another front serves this run folder."""


def make_private(folder: str) -> None:
    """Create a run folder if needed, for its user alone.

    Raises:
        StoreError: It cannot be made, or is another user's.
    """
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        for made in (os.path.dirname(folder), folder):
            if os.stat(made).st_uid != os.getuid():
                raise StoreError(f"{made} is another user's; set XDG_RUNTIME_DIR to one of yours")
        os.chmod(folder, 0o700)
    except OSError as error:
        reason = (error.strerror or "failed").lower()
        raise StoreError(f"{folder} cannot be used ({reason})") from error


class PidFile:
    """The file with this process' id, which stays locked."""

    def __init__(self, run_folder: str, inherited: int = -1) -> None:
        """Write it; `inherited` is the descriptor of the front that this process was.

        Raises:
            TakenError: Another front is running.
            StoreError: It cannot be written.
        """
        self._folder = run_folder
        self._path = _pid_path(run_folder)
        self.number: int = inherited
        """Its descriptor, which keeps the lock."""
        try:
            if inherited < 0:
                self.number = self._locked()
            self._write()
        except BlockingIOError:
            raise TakenError from None
        except OSError as error:
            reason = (error.strerror or "failed").lower()
            raise StoreError(f"{self._path} cannot be written ({reason})") from error

    def keep(self) -> None:
        """Make it again, with its folder, if it has been deleted."""
        with contextlib.suppress(OSError, StoreError):  # as of a home that is away: it comes back
            if os.path.exists(self._path):
                return
            make_private(self._folder)
            before, self.number = self.number, self._locked()
            os.close(before)
            self._write()

    def _locked(self) -> int:
        number = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _lock(number)
        except OSError:
            os.close(number)
            raise
        return number

    def _write(self) -> None:
        os.ftruncate(self.number, 0)
        os.pwrite(self.number, b"%d" % os.getpid(), 0)


def _lock(number: int) -> None:
    for _ in range(LOOKS):
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        time.sleep(LOOK_SECONDS)
    fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _pid_path(run_folder: str) -> str:
    return os.path.join(run_folder, "front.pid")


def pid_of(run_folder: str) -> int | None:
    """Return the process id of the front that serves a run folder.

    A process may have the id of a dead one, so the lock shows whether a front is running.
    """
    try:
        with open(_pid_path(run_folder), "rb") as file:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return None
            return int(file.read())
    except (OSError, ValueError):
        return None
