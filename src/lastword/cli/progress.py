"""The progress line: what a command is doing, on one line of stderr that is replaced and erased.

Owns when the line is shown and how it is cut. Where stderr is not a terminal, or is one that cannot
erase (`TERM=dumb`), nothing is written, or a line for each step that lasts. The line appears late,
so a quick command shows none.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from lastword.cli.page import shortened
from lastword.core.redact.printable import one_line
from lastword.platform.terminal import understands_escapes

if TYPE_CHECKING:
    from collections.abc import Iterator

SHOWN_AFTER_SECONDS = 2.0
"""The longest wait without any output."""

FRAME_SECONDS = 0.1
COUNTS_FROM_SECONDS = 2.0
_DOTS = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_ASCII = "|/-\\"
_START = b"\r"
_CLEAR_REST = b"\033[K"


class Progress:
    """One line that says what is being done, and for how long.

    ```python
    with Progress("Starting the agent") as progress:
        for number, row in enumerate(rows, 1):
            progress.say(f"Row {number} of {len(rows)}: {row.title}")
            with progress.aside():
                sys.stdout.write(row.run())
    ```

    Attributes:
        shows: Whether there is a terminal to show it on.
    """

    def __init__(
        self,
        text: str = "Working",
        *,
        after_seconds: float = SHOWN_AFTER_SECONDS,
        fd: int = 2,
        in_lines: bool = False,
    ) -> None:
        """Prepare a line that is not shown yet.

        Args:
            text: What is being done.
            after_seconds: How long after the block was entered it is shown first.
            fd: Where it is shown.
            in_lines: Write a line for each step that lasts, where none can be replaced.
        """
        self.shows: bool = _can_replace(fd)
        self._text = text
        self._after_seconds = after_seconds
        self._fd = fd
        self._in_lines = in_lines
        self._began = self._step_began = 0.0
        self._frames = _DOTS if _is_utf8() else _ASCII
        self._drawn = 0
        self._there = False
        # Held while the line is written, and while somebody writes in its place.
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._began = self._step_began = time.monotonic()
        if self.shows or self._in_lines:
            work = self._draw_until_over if self.shows else self._write_until_over
            self._thread = threading.Thread(target=work, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        self._erase()

    def say(self, text: str) -> None:
        with self._lock:
            self._text = text
            self._step_began = time.monotonic()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Hide the line while other whole lines are written to the terminal."""
        with self._lock:
            self._erase()
            yield

    def _draw_until_over(self) -> None:
        wait = self._after_seconds
        while not self._over.wait(wait):
            with self._lock:
                self._draw()
            wait = FRAME_SECONDS

    def _write_until_over(self) -> None:
        written = ""
        while not self._over.wait(FRAME_SECONDS):
            with self._lock:
                lasts = time.monotonic() - self._step_began >= self._after_seconds
                if lasts and self._text != written:
                    written = self._text
                    self._write(f"{one_line(written)} ...\n".encode())

    def _draw(self) -> None:
        frame = self._frames[self._drawn % len(self._frames)]
        self._drawn += 1
        seconds = time.monotonic() - self._began
        count = f" ({seconds:.0f} s)" if seconds >= COUNTS_FROM_SECONDS else ""
        # The last column stays free: some terminals go to the next line as soon as it is taken.
        room = _columns(self._fd) - len(frame) - 1 - len(count) - 1
        line = f"{frame} {shortened(one_line(self._text), room, mark='...')}{count}"
        self._there = True
        encoded = line.encode("utf-8" if self._frames is _DOTS else "ascii", "replace")
        # Overwritten, not erased first, so that nothing flickers.
        self._write(_START + encoded + _CLEAR_REST)

    def _erase(self) -> None:
        if self._there:
            self._there = False
            self._write(_START + _CLEAR_REST)

    def _write(self, data: bytes) -> None:
        # Not through `sys.stderr`, which filters everything that moves a cursor.
        try:
            os.write(self._fd, data)
        except OSError:
            # The terminal is gone; the work goes on.
            self._over.set()


def _can_replace(fd: int) -> bool:
    try:
        return os.isatty(fd) and understands_escapes(fd)
    except OSError:
        return False


def _is_utf8() -> bool:
    """Return whether the terminal uses UTF-8 (POSIX: the first variable that is not empty)."""
    names = ("LC_ALL", "LC_CTYPE", "LANG")
    locale = next((value for name in names if (value := os.environ.get(name))), "")
    return "utf-8" in locale.lower() or "utf8" in locale.lower()


def _columns(fd: int) -> int:
    try:
        return os.get_terminal_size(fd).columns or 80
    except OSError:
        return 80
