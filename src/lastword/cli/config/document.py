"""A configuration file as a document: its bytes, read safely, its TOML, and its lines.

Owns what may be read: a regular file of at most 64 KiB; for a project, one of at most 4 KiB that
belongs to the user and is not a symbolic link. `tomllib` does not give the places of values, so the
line of a key is searched for in the text.
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
from typing import Any

MAX_BYTES = 64 * 1024
MAX_PROJECT_BYTES = 4 * 1024
"""A key of many parts takes `tomllib` quadratic time: 0.1 s in so much, 18 s in 64 KiB."""

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_AT_LINE = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)$")
_HEADER = re.compile(r"\s*(\[\[?)\s*([^\]]+?)\s*\]")
_KEY = re.compile(
    r"\s*((?:[\w-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"|'[^']*'))*)\s*="
)
_LONG = ('"""', "'''")
_TEXT = re.compile(r"""\"{3}|\'{3}|"(?:[^"\\]|\\.)*"|'[^']*'|#""")

Path = tuple[str | int, ...]
"""The keys and indices that lead to a value."""


class DocumentError(Exception):
    """The file cannot be read; the text says why. `line` is 0 for the whole file."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.reason: str = reason
        self.line: int = line


class ConfigDocument:
    """What a file holds.

    Attributes:
        path: The file's path.
        values: Its content.
    """

    def __init__(self, path: str, *, of_project: bool = False) -> None:
        """Read a file.

        Raises:
            DocumentError: It cannot be read.
        """
        self.path: str = path
        text = _text(path, of_project=of_project)
        self._lines: list[str] = text.splitlines()
        self.values: dict[str, Any] = self._decoded(text)
        self._places: dict[Path, int] = {}

    def line_of(self, path: Path) -> int:
        """Return the line of a key, or of the nearest one above it; 0 if neither is found."""
        if not self._places and self._lines:
            self._places = _places(self._lines)
        while path and path not in self._places:
            path = path[:-1]
        return self._places.get(path, 0)

    def _decoded(self, text: str) -> dict[str, Any]:
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            said = str(error)
            found = _AT_LINE.search(said)
            line = int(found[1]) if found and found[1] else len(self._lines)
            reason = _AT_LINE.sub("", said)
            raise DocumentError(
                f"this is not TOML: {reason[:1].lower()}{reason[1:]}", line
            ) from None
        except ValueError:  # a number of thousands of digits
            raise DocumentError("a number is too long") from None
        except RecursionError:
            raise DocumentError("its values are nested too deep") from None


def _text(path: str, *, of_project: bool) -> str:
    if path == os.devnull:
        return ""
    try:
        fd = os.open(path, _FLAGS | (os.O_NOFOLLOW if of_project else 0))
    except OSError as error:
        if of_project and os.path.islink(path):
            raise DocumentError("it is a symbolic link, which a project's file cannot be") from None
        raise DocumentError(_reason(error)) from None
    try:
        about = os.fstat(fd)
        if not stat.S_ISREG(about.st_mode):
            raise DocumentError("it is not a regular file")
        if of_project and about.st_uid != os.geteuid():
            raise DocumentError("it belongs to another user")
        most = MAX_PROJECT_BYTES if of_project else MAX_BYTES
        data = _all(fd, most)
    except OSError as error:
        raise DocumentError(_reason(error)) from None
    finally:
        os.close(fd)
    if len(data) > most:
        raise DocumentError(f"it is larger than {most // 1024} KiB")
    try:
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise DocumentError("it is not UTF-8", data.count(b"\n", 0, error.start) + 1) from None


def _all(fd: int, most: int) -> bytes:
    """Return the file's bytes, or a few more than the most."""
    data = b""
    while len(data) <= most and (more := os.read(fd, most + 1)):
        data += more
    return data


def _reason(error: OSError) -> str:
    return f"it cannot be read ({(error.strerror or 'failed').lower()})"


def _places(lines: list[str]) -> dict[Path, int]:
    """Return the line of each key and header, with an index for each table of an array."""
    found: dict[Path, int] = {}
    counts: dict[Path, int] = {}
    header: Path = ()
    inside = ""
    for number, line in enumerate(lines, 1):
        if not inside:
            if title := _HEADER.match(line):
                header = _parts(title[2])
                if title[1] == "[[":
                    counts[header] = counts.get(header, -1) + 1
                header = _indexed(header, counts)
                found.setdefault(header, number)
            elif key := _KEY.match(line):
                path = (*header, *_parts(key[1]))
                for depth in range(len(header) + 1, len(path) + 1):
                    found.setdefault(path[:depth], number)
        inside = _left_open(line, inside)
    return found


def _left_open(line: str, inside: str) -> str:
    """Return the quotes of a text that goes on behind this line; empty if there is none.

    Args:
        line: The line.
        inside: The quotes of the text that it begins in.
    """
    at = 0
    while True:
        if inside:
            at = line.find(inside, at) + len(inside)
            if at < len(inside):
                return inside
            inside = ""
        token = _TEXT.search(line, at)
        if token is None or token[0][0] == "#":
            return ""
        at = token.end()
        inside = token[0] if token[0] in _LONG else ""


def _indexed(header: Path, counts: dict[Path, int]) -> Path:
    """Put the number of its latest table behind each array's name."""
    whole: Path = ()
    for depth, part in enumerate(header, 1):
        index = counts.get(header[:depth])
        whole = (*whole, part) if index is None else (*whole, part, index)
    return whole


def _parts(key: str) -> Path:
    names = re.findall(r"\"[^\"]*\"|'[^']*'|[^\s.\"']+", key)
    return tuple(name.strip("\"'") for name in names)
