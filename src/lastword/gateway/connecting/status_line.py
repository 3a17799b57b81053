"""The connector's status line: one line on stderr that replaces the previous one.

Owns how a line is replaced on a terminal. Elsewhere each line stands by itself. A line that stderr
does not take at once is left out: an editor that never reads it must still get its frames.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from lastword.core.redact.printable import one_line
from lastword.platform import pipes
from lastword.platform.framing import PIPE_BUF_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable

CLEAR = "\r\x1b[2K"
END_SECONDS = 1.0


class StatusLine:
    """The status of the link, for people."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._is_terminal = os.isatty(descriptor)
        self._shown = ""
        self._poller = pipes.Poller()
        self._poller.register(descriptor, pipes.POLLOUT)

    def show(self, line: str) -> None:
        """Replace the line that is shown; an empty one removes it."""
        line = one_line(line)
        if line == self._shown:
            return
        self._shown = line
        if self._is_terminal:
            self._write(f"{CLEAR}lastword: {line}" if line else CLEAR)
        elif line:
            self._write(f"lastword: {line}\n")

    def say(self, line: str) -> None:
        """Print a line that stays."""
        line = one_line(line)
        if self._is_terminal and self._shown:
            self._write(f"{CLEAR}lastword: {line}\nlastword: {self._shown}")
        else:
            self._write(f"lastword: {line}\n")

    def close(self, lines: Iterable[str]) -> None:
        """Stop showing, and print the last lines; what was shown stays."""
        if self._is_terminal and self._shown:
            self._write("\n")
        self._shown = ""
        for line in lines:
            self.say(line)
        with contextlib.suppress(OSError):
            blocked = pipes.is_blocking(self._descriptor)
            pipes.release_output(self._descriptor, blocked, END_SECONDS)

    def _write(self, text: str) -> None:
        data = text.encode(errors="backslashreplace")[:PIPE_BUF_BYTES]
        # stderr may be closed; the editor is still served.
        with contextlib.suppress(OSError):
            if self._poller.poll(0):
                pipes.write(self._descriptor, data)
