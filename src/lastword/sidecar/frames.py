"""The file of `--frames`, for a bug report: what both sides sent, and how lastword changed it.

Owns the file, which only this user can read, and its lines. A line is a JSON object with the time
`at` (seconds since 1970), the `pid` of the process that wrote it, the sender of a message (`from`),
its receiver (`to`; null for none), and the message (`frame`, or `text` if it is not JSON or is too
long). `was` is the original message, if lastword changed it. Secrets are removed. Several processes
may write one file. It is loaded if the option is given.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from typing import TYPE_CHECKING, Any

import msgspec

from lastword.core.link.effects import CLIENT
from lastword.core.redact.redactor import Redactor
from lastword.platform.files import CREATE, NO_LINK, is_own, restrict
from lastword.platform.identity import IMPLEMENTATION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lastword.core.link.effects import Side

MAX_FRAME_BYTES = 64 * 1024
"""A longer message is cut."""

MAX_FILE_BYTES = 16 * 1024 * 1024
"""At this size the file is renamed, with `.1` appended, and a new one is begun."""

Line = dict[str, Any]


class Frames:
    """A file that messages are appended to."""

    def __init__(
        self, path: str, secrets: Sequence[str] = (), *, max_bytes: int = MAX_FILE_BYTES
    ) -> None:
        """Open it.

        Args:
            path: Its path.
            secrets: Values that are removed wherever they occur.
            max_bytes: The size at which a new file is begun.

        Raises:
            OSError: It cannot be written, is not a regular file, or is another user's.
        """
        self._path = os.path.abspath(os.path.expanduser(path))
        self._max_bytes = max_bytes
        self._redactor = Redactor(values=tuple(secrets))
        self._fd = _opened(self._path)
        self._append([{"at": time.time(), "pid": os.getpid(), "lastword": IMPLEMENTATION}])

    def note(
        self, sender: Side | None, block: bytes, to_client: list[bytes], to_agent: list[bytes]
    ) -> None:
        """Append what one side sent, if anything, and what both sides received as a result.

        Raises:
            OSError: The file cannot be written; no part of a line is left in it.
        """
        came = [line for line in block.split(b"\n") if line.strip()]
        lines: list[Line] = []
        for side, got in (("client", to_client), ("agent", to_agent)):
            passes = sender is not None and sender.other.value == side
            for sent in got:
                line: Line = {"from": "lastword", "to": side}
                origin = _origin(sent, came) if passes and sender is not None else None
                if sender is not None and origin is not None:
                    came.remove(origin)
                    line["from"] = sender.value
                line |= self._content("frame", sent)
                if origin is not None and origin != sent:
                    line |= self._content("was", origin)
                lines.append(line)
        for withheld in came:
            name = (sender or CLIENT).value
            lines.append({"from": name, "to": None} | self._content("frame", withheld))
        head = {"at": time.time(), "pid": os.getpid()}
        self._append([head | line for line in lines])

    def _content(self, name: str, line: bytes) -> Line:
        value = _decoded(line) if len(line) <= MAX_FRAME_BYTES else None
        if value is not None:
            return {name: self._redactor.json(value)}
        text = self._redactor(line.decode(errors="replace"))
        return {"text" if name == "frame" else "was": text, "bytes": len(line)}

    def _append(self, lines: Sequence[Line]) -> None:
        data = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
        status = os.fstat(self._fd)
        try:
            there = os.stat(self._path, follow_symlinks=False)
        except FileNotFoundError:
            there = None
        if there is None or not os.path.samestat(status, there):
            # Another process has begun a new file.
            os.close(self._fd)
            self._fd = _opened(self._path)
            status = os.fstat(self._fd)
        if status.st_size and status.st_size + len(data) > self._max_bytes:
            os.close(self._fd)
            os.replace(self._path, f"{self._path}.1")
            self._fd = _opened(self._path)
        written = os.write(self._fd, data)
        if written < len(data):
            os.ftruncate(self._fd, os.fstat(self._fd).st_size - written)
            raise OSError(errno.ENOSPC, "the disk is full")


def _opened(path: str) -> int:
    if os.path.exists(path) and stat.S_ISFIFO(os.stat(path).st_mode):
        raise OSError(errno.EPERM, "a queue, which would wait for its reader")
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | CREATE | NO_LINK, 0o600)
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode) or not is_own(status):
        os.close(fd)
        raise OSError(errno.EPERM, "not a file of yours")
    restrict(fd)
    return fd


def _origin(sent: bytes, came: Sequence[bytes]) -> bytes | None:
    """Return the original of a message, changed or not."""
    if sent in came:
        return sent
    key = _key(sent)
    return next((line for line in came if key is not None and _key(line) == key), None)


def _key(line: bytes) -> tuple[object, ...] | None:
    """Return the parts of a message that lastword does not change."""
    value = _decoded(line)
    if not isinstance(value, dict):
        return None
    update = value.get("params", {}).get("update") if isinstance(value.get("params"), dict) else {}
    kind = update.get("sessionUpdate") if isinstance(update, dict) else None
    return repr(value.get("id")), value.get("method"), kind


def _decoded(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
