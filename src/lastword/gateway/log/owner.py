"""The owner of a session's log: the one gateway that writes it.

Owns a lock file beside each log. The lock ends with its process, however that ends, and no child
inherits it. The log itself is never opened here: closing it would release the locks that SQLite has
on it in the same process.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time

import msgspec

from lastword.errors import StoreError
from lastword.gateway.log.files import lock_path

LOOKS = 10
LOOK_SECONDS = 0.002
"""How often, and at what distance, a lock is tried that nobody keeps."""


class LogOwner(msgspec.Struct, frozen=True, kw_only=True):
    """Who writes a log.

    Attributes:
        pid: the process; 0 if it has not said so yet.
        address: the URL of the gateway that started it.
        run_folder: the run folder of that gateway.
    """

    pid: int = 0
    address: str = ""
    run_folder: str = ""


class LogOwnedError(StoreError):
    """Another process writes the log."""

    def __init__(self, owner: LogOwner) -> None:
        super().__init__(f"the session's log is written by process {owner.pid}")
        self.owner = owner


class LogLock:
    """The lock of one log, for as long as this process writes it."""

    def __init__(self, log_path: str, owner: LogOwner) -> None:
        """Lock a log.

        Raises:
            LogOwnedError: Another process has locked it.
            StoreError: The lock file cannot be written.
        """
        self.path: str = lock_path(log_path)
        try:
            self._number = self._locked_from(log_path)
        except OSError as error:
            reason = (error.strerror or "failed").lower()
            raise StoreError(f"{self.path} cannot be written ({reason})") from error
        with contextlib.suppress(OSError):  # of a full disk: the lock counts without its contents
            os.ftruncate(self._number, 0)
            os.pwrite(self._number, msgspec.json.encode(owner), 0)

    def _locked_from(self, log_path: str) -> int:
        """Return the locked file; `owner_of` has it for the moment of a look, and owns nothing."""
        owner = None
        for _ in range(LOOKS):
            try:
                return self._locked()
            except BlockingIOError:
                owner = owner_of(log_path)
            if owner is not None:
                break
            time.sleep(LOOK_SECONDS)
        raise LogOwnedError(owner or LogOwner())

    def _locked(self) -> int:
        while True:
            number = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.fchmod(number, 0o600)
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_same(number, self.path):
                    return number
            except BaseException:
                os.close(number)
                raise
            os.close(number)  # its file was deleted with a log, between the two

    def release(self) -> None:
        """Let others write the log."""
        number, self._number = self._number, -1
        if number >= 0:
            os.close(number)

    def delete(self) -> None:
        """Delete the lock file, whose log is no more, and release it."""
        with contextlib.suppress(OSError):
            os.unlink(self.path)
        self.release()


def owner_of(log_path: str) -> LogOwner | None:
    """Return who writes a log; `None` if nobody does."""
    try:
        with open(lock_path(log_path), "rb") as file:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return None
            return msgspec.json.decode(file.read(), type=LogOwner)
    except OSError:
        return None
    except msgspec.MsgspecError:  # it has locked it just now
        return LogOwner()


def _is_same(number: int, path: str) -> bool:
    """Return whether a descriptor is of the file that has this path now."""
    try:
        return os.path.samestat(os.fstat(number), os.stat(path))
    except FileNotFoundError:
        return False
