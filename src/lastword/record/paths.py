"""Paths of the record.

Owns the rule that finds the folder, and how a folder is created.
"""

from __future__ import annotations

import os
from contextlib import suppress

from lastword.core.failure.option_values import DAY_SECONDS, seconds_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

STORE_NAME = "record.db"


VARIABLES = ("LASTWORD_STATE_DIR", "LASTWORD_RECORD_DAYS", "LASTWORD_RECORD_MIB")
"""Environment variables about the record, besides the options of `lastword run`."""


def complaint(variable: str, value: str) -> str | None:
    """Return what is wrong with a variable, as a sentence without its full stop."""
    if variable == "LASTWORD_STATE_DIR":
        path = named_folder(value)
        is_file = os.path.exists(path) and not os.path.isdir(path)
        return f"{variable} cannot be {value!r}: that is not a folder" if is_file else None
    is_days = variable == "LASTWORD_RECORD_DAYS"
    if (days_limit if is_days else limit)(value) is None:
        expected = "a number of days from 0 up, or 12h or 4w" if is_days else "a number from 0 up"
        return f"{variable} cannot be {value!r}: it takes {expected}; the default is in force"
    return None


def days_limit(text: str | None) -> float | None:
    """Return a number of days from the environment, or `None` for what is not a duration."""
    seconds = seconds_of(text or "", unit="d")
    return None if seconds is None else seconds / DAY_SECONDS


def limit(text: str | None) -> float | None:
    """Return a limit from the environment, a number from 0 up, or `None` for anything else."""
    try:
        value = float(text) if text else -1.0
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def state_folder(environment: Mapping[str, str]) -> str:
    """Return the user's state folder: `LASTWORD_STATE_DIR`, or else XDG's."""
    own = environment.get("LASTWORD_STATE_DIR")
    if own:
        return named_folder(own)
    shared = environment.get("XDG_STATE_HOME")
    if not shared or not os.path.isabs(shared):
        # The XDG specification requires a relative path to be ignored.
        shared = os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(shared, "lastword")


def named_folder(text: str) -> str:
    """Return the folder that a user means; editors pass `~` on without expanding it."""
    return absolute(os.path.expanduser(text))


def absolute(path: str) -> str:
    """Return the absolute path, or the path itself if the working directory is gone."""
    try:
        return os.path.abspath(path)
    except FileNotFoundError:
        return path


def store_path(folder: str) -> str:
    return os.path.join(folder, STORE_NAME)


def make_folder(folder: str) -> None:
    """Create a folder, and those above it that are missing, for their user alone.

    `os.makedirs` applies its mode to the last one only, and leaves the others to the umask; which
    may also take rights from the user.
    """
    if not folder or os.path.isdir(folder):
        return
    make_folder(os.path.dirname(folder))
    with suppress(FileExistsError):
        os.mkdir(folder, mode=0o700)
        os.chmod(folder, 0o700)
