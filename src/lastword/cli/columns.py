"""Text in columns for a terminal: its width, its colours, and nothing that moves its cursor.

Owns how durations and clock times look in a list. Knows nothing of the record.
"""

from __future__ import annotations

import shutil
import sys
import textwrap
from datetime import datetime

from lastword.cli.terminal import has_colours

MIN_COLUMNS = 40
MAX_COLUMNS = 100
_COLOURS = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34"}


class Page:
    """Lines of at most so many columns, in colours where the terminal has them."""

    def __init__(self, columns: int | None = None, *, colours: bool | None = None) -> None:
        found = shutil.get_terminal_size((80, 24)).columns if columns is None else columns
        self.columns = max(MIN_COLUMNS, min(MAX_COLUMNS, found))
        self._colours = has_colours() if colours is None else colours
        self._lines: list[str] = []

    def line(self, text: str = "", style: str = "") -> None:
        """A line; what is too long goes on under its own beginning."""
        first, *more = self._wrapped(text, len(text) - len(text.lstrip())) or [""]
        self._lines += [self._paint(line, style) for line in (first, *more)]

    def row(self, start: str, text: str, style: str = "") -> None:
        """A line with a dim beginning; what is too long goes on where the text began."""
        first, *more = self._wrapped(start + text, len(start)) or [start]
        self._lines.append(
            self._paint(first[: len(start)], "dim") + self._paint(first[len(start) :], style)
        )
        self._lines += [self._paint(line, style) for line in more]

    def take(self) -> str:
        """The lines so far, which are then forgotten."""
        lines, self._lines = self._lines, []
        return "".join(f"{line.rstrip()}\n" for line in lines)

    def _wrapped(self, text: str, indent: int) -> list[str]:
        plain = one_line(text)
        lead = " " * (len(plain) - len(plain.lstrip()))
        return textwrap.wrap(
            plain,
            self.columns,
            initial_indent="",
            subsequent_indent=" " * max(indent, len(lead)),
            drop_whitespace=True,
            break_on_hyphens=False,
        )

    def _paint(self, text: str, style: str) -> str:
        painted = self._colours and style and text.strip()
        return f"\033[{_COLOURS[style]}m{text}\033[0m" if painted else text


def one_line(text: str) -> str:
    """The text without anything that could move a terminal's cursor."""
    return "".join(char if char.isprintable() else " " for char in text)


def fitted(text: str, columns: int) -> str:
    """The text in exactly so many columns."""
    return text[:columns].ljust(columns)


def takes_bars() -> bool:
    """Can what stdout is written in hold block characters?"""
    try:
        "▁█".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def duration(seconds: float | None) -> str:
    """A duration in a few characters: `15 ms`, `2.4 s`, `3m 20s`, `2h 05m`."""
    if seconds is None:
        return ""
    if seconds < 0.9995:  # noqa: PLR2004 - what rounds to 1000 ms is a second
        return f"{max(0.0, seconds) * 1000:.0f} ms"
    if seconds < 9.95:  # noqa: PLR2004 - what rounds to 10.0 is written without a fraction
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:  # noqa: PLR2004
        return f"{whole} s"
    if whole < 3600:  # noqa: PLR2004
        return f"{whole // 60}m {whole % 60:02}s"
    return f"{whole // 3600}h {whole % 3600 // 60:02}m"


def local(epoch_ms: int) -> datetime:
    """A moment, in the time of this place; one out of bounds is the first there is."""
    try:
        return datetime.fromtimestamp(epoch_ms / 1000).astimezone()
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0).astimezone()


def day_and_time(epoch_ms: int) -> str:
    """A moment in a list: `2026-11-20 18:50`."""
    return f"{local(epoch_ms):%Y-%m-%d %H:%M}"


def counted(count: int, word: str) -> str:
    """A number and what it counts: `1 turn`, `2 turns`, `2 retries`."""
    if count == 1:
        return f"1 {word}"
    plural = f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"
    return f"{count:,} {plural}"
