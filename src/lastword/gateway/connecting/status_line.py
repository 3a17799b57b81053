"""The connector's status line: one line on stderr that replaces the previous one.

Owns how a line is replaced on a terminal. Elsewhere each line stands by itself.
"""

from __future__ import annotations

import contextlib
from typing import TextIO

CLEAR = "\r\x1b[2K"


class StatusLine:
    """The status of the link, for people."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_terminal = stream.isatty()
        self._shown = ""

    def show(self, line: str) -> None:
        """Replace the line that is shown; an empty one removes it."""
        if line == self._shown:
            return
        self._shown = line
        if self._is_terminal:
            self._write(f"{CLEAR}lastword: {line}" if line else CLEAR)
        elif line:
            self._write(f"lastword: {line}\n")

    def say(self, line: str) -> None:
        """Print a line that stays."""
        if self._is_terminal and self._shown:
            self._write(f"{CLEAR}lastword: {line}\nlastword: {self._shown}")
        else:
            self._write(f"lastword: {line}\n")

    def close(self) -> None:
        """Stop showing; the last line stays."""
        if self._is_terminal and self._shown:
            self._write("\n")
        self._shown = ""

    def _write(self, text: str) -> None:
        # stderr may be closed; the editor is still served.
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(text)
            self._stream.flush()
