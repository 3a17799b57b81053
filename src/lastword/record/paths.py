"""Paths of the record.

Owns the rule that finds the folder. Makes nothing.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

STORE_NAME = "record.db"


VARIABLES = ("LASTWORD_STATE_DIR", "LASTWORD_RECORD_DAYS", "LASTWORD_RECORD_MIB")
"""What the environment says of the record beside the options of `lastword run`."""


def complaint(variable: str, value: str) -> str | None:
    """What is wrong with one of them, in a sentence without its full stop."""
    if variable == "LASTWORD_STATE_DIR":
        path = named_folder(value)
        is_file = os.path.exists(path) and not os.path.isdir(path)
        return f"{variable} cannot be {value!r}: that is no folder" if is_file else None
    if limit(value) is None:
        return f"{variable} is {value!r}, which is no number from 0 up: the default is in force"
    return None


def limit(text: str | None) -> float | None:
    """A limit as the environment has it: a number from 0 up, `None` for anything else."""
    try:
        value = float(text) if text else -1.0
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def state_folder(environment: Mapping[str, str]) -> str:
    """The user's folder for what programs remember: `LASTWORD_STATE_DIR`, else XDG's."""
    own = environment.get("LASTWORD_STATE_DIR")
    if own:
        return named_folder(own)
    shared = environment.get("XDG_STATE_HOME")
    if not shared or not os.path.isabs(shared):
        # The XDG specification: a relative path is to be ignored.
        shared = os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(shared, "lastword")


def named_folder(text: str) -> str:
    """The folder that a user means: an editor's settings hand on `~` as it stands."""
    return absolute(os.path.expanduser(text))


def absolute(path: str) -> str:
    """The path from the root on; as it is where the working directory is gone, with all in it."""
    try:
        return os.path.abspath(path)
    except FileNotFoundError:
        return path


def store_path(folder: str) -> str:
    """The store in that folder."""
    return os.path.join(folder, STORE_NAME)
