"""The terminal on Linux and macOS."""

from __future__ import annotations

import os
import select
import sys

assert sys.platform != "win32"


def understands_escapes(_fd: int) -> bool:
    """Return whether a terminal can erase a line and show colours."""
    return os.environ.get("TERM", "dumb") != "dumb"


def has_no_reader(error: OSError) -> bool:
    """Return whether a write failed because the reader has closed our output (`| head`)."""
    return isinstance(error, BrokenPipeError)


def wait_for_readers_end(fd: int, seconds: float) -> bool:
    """Wait, but not longer than the reader of our output is there; return whether it has gone."""
    reader = select.poll()
    reader.register(fd, 0)
    return bool(reader.poll(seconds * 1000))


def code_page() -> int | None:
    """Return the number of the console's code page; nothing, as there is none here."""
    return None


def allows_long_paths() -> bool | None:
    """Return whether programs may use paths of over 260 characters; nothing: all may here."""
    return None
