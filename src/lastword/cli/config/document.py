"""A configuration file as a document: its bytes, read safely, and its TOML.

Owns what may be read: a regular file of at most 64 KiB; for a project, one of at most 4 KiB that
belongs to the user and is not a symbolic link.
"""

from __future__ import annotations

import os
import stat
import tomllib
from typing import TYPE_CHECKING, Any

from lastword.platform.settings_files import belongs_to_user, open_settings

if TYPE_CHECKING:
    from lastword.cli.config.lines import Path

MAX_BYTES = 64 * 1024
MAX_PROJECT_BYTES = 4 * 1024
"""A key of many parts takes `tomllib` quadratic time: 0.1 s for 4 KiB, 18 s for 64 KiB."""


class DocumentError(Exception):
    """The file cannot be read; the text says why. `line` is 0 for the whole file."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.reason: str = reason
        self.line: int = line


class ConfigDocument:
    """The content of a configuration file.

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
            # Patterns, which a file that is read for a start and is right does not need.
            from lastword.cli.config.lines import places_of  # noqa: PLC0415

            self._places = places_of(self._lines)
        while path and path not in self._places:
            path = path[:-1]
        return self._places.get(path, 0)

    def _decoded(self, text: str) -> dict[str, Any]:
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            # As above.
            from lastword.cli.config.lines import place_in  # noqa: PLC0415

            reason, line = place_in(str(error), len(self._lines))
            raise DocumentError(
                f"this is not TOML: {reason[:1].lower()}{reason[1:]}", line
            ) from None
        except ValueError:  # a number of thousands of digits
            raise DocumentError("a number is too long") from None
        except RecursionError:
            raise DocumentError("its values are nested too deeply") from None


def _text(path: str, *, of_project: bool) -> str:
    if path == os.devnull:
        return ""
    try:
        fd = open_settings(path, follows_link=not of_project)
    except OSError as error:
        if of_project and os.path.islink(path):
            raise DocumentError("it is a symbolic link, which a project's file cannot be") from None
        raise DocumentError(_reason(error)) from None
    try:
        about = os.fstat(fd)
        if not stat.S_ISREG(about.st_mode):
            raise DocumentError("it is not a regular file")
        if of_project and not belongs_to_user(fd):
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
