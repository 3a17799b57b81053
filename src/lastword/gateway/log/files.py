"""The files of a session's log: their names in one place.

Owns which files belong to a log, and where they are. What is in them is `sqlite`'s and `owner`'s.
"""

from __future__ import annotations

import contextlib
import os
import time

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
        number = os.open(f"{mark}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(number, "w", encoding="utf-8") as file:
            file.write(run_folder)
        os.replace(f"{mark}.new", mark)


def unmark_waiting(path: str) -> None:
    """Take the mark away."""
    with contextlib.suppress(OSError):
        os.unlink(path + WAITING)


def waiting_in(folder: str, run_folder: str) -> list[str]:
    """Return the paths of a folder's logs that are marked for the gateway with this run folder."""
    names = os.listdir(folder) if os.path.isdir(folder) else []
    marks = [os.path.join(folder, name) for name in names if name.endswith(f"{ENDING}{WAITING}")]
    return [mark.removesuffix(WAITING) for mark in marks if _text_of(mark) == run_folder]


def _text_of(path: str) -> str:
    with contextlib.suppress(OSError), open(path, encoding="utf-8") as file:
        return file.read()
    return ""


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
    for companion in (*COMPANIONS, WAITING, f"{WAITING}.new"):
        with contextlib.suppress(OSError):
            os.unlink(path + companion)


def set_aside(path: str, word: str = "") -> str:
    """Move a log that is not to be gone on with aside; return its new path.

    Args:
        path: The log's path.
        word: What its new name ends with; by default that it is broken, and when it was found.
    """
    aside = f"{path}.{word or f'broken-{int(time.time())}'}"
    for companion in COMPANIONS:
        with contextlib.suppress(FileNotFoundError):
            os.replace(path + companion, aside + companion)
    return aside
