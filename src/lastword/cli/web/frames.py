"""The file of `lastword run --frames`, as the web page requests it: its lines, some at a time."""

from __future__ import annotations

import os
from typing import Any

import msgspec

READ_BYTES = 2 * 1024 * 1024
MAX_BYTES = 32 * 1024 * 1024
"""Of a longer file, which no `--frames` writes, the beginning is left out."""


def has_frames(path: str) -> bool:
    """Return whether a file may be one of `--frames`.

    Raises:
        OSError: It cannot be read.
    """
    with open(path, "rb") as file:
        first = file.readline(READ_BYTES)
    try:
        value = msgspec.json.decode(first or b'{"at": 0}')
    except (msgspec.DecodeError, RecursionError):
        return False
    return isinstance(value, dict) and "at" in value


def frames(path: str, after: int | None) -> dict[str, Any]:
    """Return whole lines that begin at or after a place in the file, and the place that follows.

    A line that is not a JSON object is counted in `unreadable`. Where the file has been begun anew
    since, its lines are returned from the start, and `anew` says so.

    Raises:
        OSError: It cannot be read.
    """
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        anew = after is not None and after > size
        start = max(size - MAX_BYTES, 0) if after is None or anew else after
        file.seek(start)
        block = file.read(READ_BYTES)
    whole = block[: block.rfind(b"\n") + 1] or (block if len(block) == READ_BYTES else b"")
    lines: list[Any] = []
    unreadable = 0
    for line in whole.splitlines():
        try:
            value = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError):
            value = None
        if isinstance(value, dict):
            lines.append(value)
        else:
            unreadable += 1
    following = start + len(whole)
    more = bool(whole) and following < size
    return {
        "frames": lines,
        "next": following,
        "more": more,
        "anew": anew,
        "unreadable": unreadable,
    }
