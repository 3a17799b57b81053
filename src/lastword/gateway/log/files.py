"""The files of a session's log, and the one gateway that writes them.

The files of a session's log: their names in one place. Owns which files belong to a log, and where
they are. What is in them is `sqlite`'s.

The owner of a session's log: the one gateway that writes it. Owns a lock file beside each log. The
lock ends with its process, however that ends, and no child inherits it. The log itself is never
opened here: closing it would release the locks that SQLite has on it in the same process.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time

import msgspec

from lastword.errors import StoreError
from lastword.platform.files import write_whole

ENDING = ".db"
JOURNAL = "-wal"
"""The end of the name of the write-ahead log, which is there while somebody writes the log."""

WAITING = ".wait"
"""The end of the name of a file beside a log whose session waits for the end of a limit."""

COMPANIONS = ("", JOURNAL, "-shm")
"""What is appended to the path of a log for each of its files."""


def path_in(folder: str, name: str) -> str:
    """Return the path of a log in a folder of logs; `name` names its session."""
    return os.path.join(folder, f"{name}{ENDING}")


def logs_in(folder: str) -> list[tuple[str, str]]:
    """Return all logs of a folder: the names of their sessions, and their paths."""
    names = os.listdir(folder) if os.path.isdir(folder) else []
    bases = (os.path.splitext(name) for name in names)
    return [(base, path_in(folder, base)) for base, end in bases if end == ENDING]


def lock_path(path: str) -> str:
    """Return the path of the lock file beside a log."""
    return f"{os.path.splitext(path)[0]}.lock"


def mark_waiting(path: str, run_folder: str) -> None:
    """Mark a log as that of a session which waits for the end of a limit.

    The mark is a hint to the gateway with this run folder, which need not look into every log: the
    log knows.
    """
    mark = path + WAITING
    with contextlib.suppress(OSError):
        write_whole(mark, run_folder.encode())


def unmark_waiting(path: str) -> None:
    """Remove the mark."""
    with contextlib.suppress(OSError):
        os.unlink(path + WAITING)


def waiting_in(folder: str, run_folder: str) -> list[str]:
    """Return the paths of a folder's logs that are marked for the gateway with this run folder."""
    waiting = []
    for name in os.listdir(folder) if os.path.isdir(folder) else []:
        mark = os.path.join(folder, name)
        if name.endswith(f"{ENDING}{WAITING}"):
            with contextlib.suppress(OSError), open(mark, encoding="utf-8") as file:
                if file.read() == run_folder:
                    waiting.append(mark.removesuffix(WAITING))
    return waiting


def is_written(path: str) -> bool:
    """Return whether a log has commits that are not in its file yet."""
    return os.path.exists(path + JOURNAL)


def changed_at(path: str) -> float:
    """Return when a log was last written; now, if that is unknown."""
    times = []
    for companion in ("", JOURNAL):
        with contextlib.suppress(OSError):
            times.append(os.stat(path + companion).st_mtime)
    return max(times, default=time.time())


def delete(path: str) -> None:
    """Delete a log's files, except its lock."""
    for companion in (*COMPANIONS, WAITING):
        with contextlib.suppress(OSError):
            os.unlink(path + companion)


def set_aside(path: str, word: str = "") -> str:
    """Move aside a log that must not be continued; return its new path.

    Args:
        path: The log's path.
        word: What its new name ends with; by default that it is broken, and when it was found.
    """
    aside = f"{path}.{word or f'broken-{int(time.time())}'}"
    for companion in COMPANIONS:
        with contextlib.suppress(FileNotFoundError):
            os.replace(path + companion, aside + companion)
    return aside


LOOKS = 10
LOOK_SECONDS = 0.002
"""How often, and at what interval, a lock is tried: `owner_of` may hold it for a moment."""


class LogOwner(msgspec.Struct, frozen=True, kw_only=True):
    """Who writes a log.

    Attributes:
        pid: the process; 0 while it is not written yet.
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
        """Return the locked file; `owner_of` may lock it for a moment, but does not own it."""
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
                with contextlib.suppress(FileNotFoundError):
                    if os.path.samestat(os.fstat(number), os.stat(self.path)):
                        return number
            except BaseException:
                os.close(number)
                raise
            os.close(number)  # its file was deleted with a log, before it was locked

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
