"""The standard streams of a command, which filter all text on its way to a terminal.

Owns the guarantee that no text moves a cursor, names a window or changes the writing direction,
whether it came from an agent, a client, a file or an argument. A page's own colours stay.
"""

from __future__ import annotations

import io
import os
import re
import sys
from typing import TYPE_CHECKING, Any

from lastword.cli.page import COLOURS
from lastword.core.redact.printable import printable
from lastword.platform.process import ensure_standard_streams

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO


_COLOUR = re.compile(f"({'|'.join(map(re.escape, COLOURS))})")


MAX_BEGINNING_CHARS = 4096


class PrintableStream:
    """A text stream that writes only printable text, and otherwise acts as the wrapped one.

    Attributes:
        beginning: The beginning of what was written.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.beginning: str = ""

    def write(self, text: str) -> int:
        """Write a text."""
        if len(self.beginning) < MAX_BEGINNING_CHARS:
            self.beginning += text[:MAX_BEGINNING_CHARS]
        # Every second part is text between colours.
        parts = _COLOUR.split(text)
        parts[::2] = map(printable, parts[::2])
        self._stream.write("".join(parts))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def prepare_streams() -> tuple[PrintableStream, PrintableStream]:
    """Make sure that no write fails because of its characters or a closed stream.

    Returns:
        The new stdout and stderr.
    """
    # A file of the command's must not be given the number of a standard stream.
    ensure_standard_streams()
    made = []
    for name, fd in (("stdout", 1), ("stderr", 2)):
        stream = getattr(sys, name) or os.fdopen(fd, "w", closefd=False)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
        made.append(PrintableStream(stream))
        setattr(sys, name, made[-1])
    return made[0], made[1]
