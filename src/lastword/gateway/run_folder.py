"""The run folder: where a running gateway is found by the commands that are for it.

Owns its rights and those of the state folder, and the file that says which process serves. Others
may delete the folder and the file while the gateway runs: a cleaner of temporary files, or the end
of a login, which takes XDG_RUNTIME_DIR away.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import time

from lastword.errors import StoreError
from lastword.record.paths import make_folder

LOOKS = 10
LOOK_SECONDS = 0.02
"""How often, and at what interval, the lock is tried: whoever asks whether a gateway is running
holds it for a moment."""

_FOLDER_MODE, _FILE_MODE = 0o700, 0o600


class TakenError(Exception):
    """Another gateway serves this run folder."""


def make_private(folder: str) -> None:
    """Create a folder of lastword's own if needed, for its user alone, whatever the umask.

    Raises:
        StoreError: It cannot be made, or is another user's.
    """
    try:
        make_folder(folder)
        status = os.stat(folder)
        if status.st_uid != os.getuid():
            raise StoreError(f"{folder} is another user's; set XDG_RUNTIME_DIR to your own folder")
        mode = stat.S_IMODE(status.st_mode)
        if mode & ~_FOLDER_MODE:  # what its user has withdrawn is not given back
            os.chmod(folder, mode & _FOLDER_MODE)
    except OSError as error:
        reason = (error.strerror or "failed").lower()
        raise StoreError(f"{folder} cannot be used ({reason})") from error


def close_state_folder(folder: str) -> None:
    """Create the state folder if needed, and withdraw everybody else's access to it.

    One that is shared by its nature stays as it is: another user's, one with the sticky bit, such
    as /tmp, or the user's home.

    Raises:
        StoreError: It cannot be made.
    """
    try:
        make_folder(folder)
        status = os.stat(folder)
        is_shared = status.st_uid != os.getuid() or status.st_mode & stat.S_ISVTX
        if not is_shared and os.path.realpath(folder) != os.path.realpath(os.path.expanduser("~")):
            make_private(folder)
    except OSError as error:
        reason = (error.strerror or "failed").lower()
        raise StoreError(f"{folder} cannot be used ({reason})") from error


def close_to_others(folder: str) -> None:
    """Withdraw everybody else's access to all that is in a folder of lastword's own."""
    for above, folders, files in os.walk(folder):
        for names, mode in ((folders, _FOLDER_MODE), (files, _FILE_MODE)):
            for name in names:
                path = os.path.join(above, name)
                with contextlib.suppress(OSError):  # it has gone, or is another user's
                    status = os.lstat(path)
                    if not stat.S_ISLNK(status.st_mode) and stat.S_IMODE(status.st_mode) & ~mode:
                        os.chmod(path, mode)


class PidFile:
    """The file with this process' id, which stays locked."""

    def __init__(self, run_folder: str, inherited: int = -1) -> None:
        """Write it; `inherited` is its descriptor in the program that this one has replaced.

        Raises:
            TakenError: Another gateway is running.
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

    def keep(self) -> bool:
        """Make it again, with its folder, if it has been deleted; return whether it was."""
        with contextlib.suppress(OSError, StoreError):  # a home may be unmounted for a while
            if os.path.exists(self._path):
                return False
            make_private(self._folder)
            before, self.number = self.number, self._locked()
            os.close(before)
            self._write()
        return True

    def _locked(self) -> int:
        number = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _FILE_MODE)
        try:
            os.fchmod(number, _FILE_MODE)
            for _ in range(LOOKS):
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return number
                time.sleep(LOOK_SECONDS)
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(number)
            raise
        return number

    def _write(self) -> None:
        os.ftruncate(self.number, 0)
        os.pwrite(self.number, b"%d" % os.getpid(), 0)


def _pid_path(run_folder: str) -> str:
    return os.path.join(run_folder, "front.pid")


def pid_of(run_folder: str) -> int | None:
    """Return the process id of the gateway that serves a run folder.

    A process may have the id of a dead one, so the lock shows whether a gateway is running.
    """
    try:
        with open(_pid_path(run_folder), "rb") as file:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return None
            return int(file.read())
    except (OSError, ValueError):
        return None
