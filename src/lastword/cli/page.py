"""Text in columns for a terminal: its width, its colours, and nothing that moves its cursor.

Owns wrapping, styling, and the format of times in a list. It knows nothing about what is shown.
"""

from __future__ import annotations

import os
import shutil
import sys
from datetime import datetime
from itertools import zip_longest
from typing import TYPE_CHECKING

from lastword.cli.wrapping import shortened, text_width, wrapped
from lastword.core.redact.printable import one_line
from lastword.platform.terminal import understands_escapes

if TYPE_CHECKING:
    from collections.abc import Sequence

    Cell = tuple[str, str]
    """A text and its style, which may be empty."""

MIN_COLUMNS = 40
MAX_COLUMNS = 100
_CODES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "alarm": "1;31",
}
_LIGHT_CODES = {**_CODES, "green": "38;5;28", "yellow": "38;5;94"}
"""On white these have a contrast of 4.7 and 5.7 (WCAG 2.2); the usual ones 2.1 and 1.6 in xterm."""
STYLES = tuple(_CODES)
"""The styles of text on a page."""

COLOURS = tuple(
    f"\033[{code}m" for code in dict.fromkeys(("0", *_CODES.values(), *_LIGHT_CODES.values()))
)
"""Every escape sequence that a page writes."""


def terminal_columns(otherwise: int = 80) -> int:
    """Return the width of the terminal behind stdout, or a default without one."""
    return shutil.get_terminal_size((otherwise, 24)).columns


def has_colours() -> bool:
    """Return whether the terminal has colours and the user has not declined them (no-color.org)."""
    return (
        sys.stdout.isatty()
        and not os.environ.get("NO_COLOR")
        and understands_escapes(sys.stdout.fileno())
    )


def is_light() -> bool:
    """Return whether the terminal reports a light background and has 256 colours.

    rxvt, Konsole, iTerm2 and others report it in `COLORFGBG`, as colour numbers: text, then
    background, in some with another word between them.
    """
    background = os.environ.get("COLORFGBG", "").rpartition(";")[2]
    many = "256color" in os.environ.get("TERM", "") or bool(os.environ.get("COLORTERM"))
    return background in {"7", "15"} and many


class Page:
    """Lines of limited width, in colours if the terminal has them.

    Attributes:
        columns: The width.
    """

    def __init__(
        self,
        columns: int | None = None,
        *,
        colours: bool | None = None,
        least: int = MIN_COLUMNS,
        most: int = MAX_COLUMNS,
        keeps_words: bool = False,
    ) -> None:
        """Begin an empty page.

        Args:
            columns: The width; by default the terminal's.
            colours: Whether to use colours; by default the terminal decides.
            least: The minimum width, whatever the terminal's.
            most: The maximum width.
            keeps_words: Keep a word that is longer than a line whole, so that it can be copied.
        """
        width = terminal_columns() if columns is None else columns
        self.columns: int = max(least, min(most, width))
        self._colours = has_colours() if colours is None else colours
        self._codes = _LIGHT_CODES if self._colours and is_light() else _CODES
        self._keeps_words = keeps_words
        self._lines: list[Sequence[Cell]] = []

    def line(
        self,
        text: str = "",
        style: str = "",
        *,
        indent: int = 0,
        hang: int | None = None,
        at_most: int | None = None,
    ) -> None:
        """Add a line; text that is too long continues below.

        Args:
            text: The text.
            style: Its style.
            indent: Columns before it.
            hang: Further columns before continuation lines; by default the text's own indent.
            at_most: The maximum number of lines; the rest is cut.
        """
        own = len(text) - len(text.lstrip()) if hang is None else hang
        lines = self._wrapped(text, self.columns, indent, indent + own) or [""]
        if at_most is not None and len(lines) > at_most:
            last = f"{lines[at_most - 1]}…"
            lines = [*lines[: at_most - 1], shortened(last, self.columns)]
        self._lines += [[(line, style)] for line in lines]

    def row(self, lead: str | Sequence[Cell], text: str, style: str = "") -> None:
        """Add a line with a lead; text that is too long continues below the text.

        Args:
            lead: The beginning: dim, or cells with styles.
            text: The text.
            style: Its style.
        """
        given = [(lead, "dim")] if isinstance(lead, str) else lead
        cells = [(_plain(cell), painted) for cell, painted in given]
        indent = sum(text_width(cell) for cell, _ in cells)
        first, *more = self._wrapped(text, self.columns - indent) or [""]
        self._lines.append([*cells, (first, style)])
        self._lines += [[(" " * indent + line, style)] for line in more]

    def verbatim(self, *cells: Cell) -> None:
        """Add a line without wrapping it."""
        self._lines.append([(_plain(text), style) for text, style in cells])

    def beside(self, *pages: Page) -> None:
        """Add the lines of other pages side by side, two columns apart."""
        for row in zip_longest(*(page._lines for page in pages), fillvalue=()):  # noqa: SLF001
            cells: list[Cell] = []
            for page, line in zip(pages, row, strict=True):
                width = sum(text_width(text) for text, _ in line)
                cells += [("  ", ""), *line, (" " * (page.columns - width), "")]
            self._lines.append(cells)

    def drain_cells(self) -> list[Sequence[Cell]]:
        """Return the lines so far as texts with styles, and clear the page."""
        lines, self._lines = self._lines, []
        return lines

    def drain(self) -> str:
        """Return the lines so far, and clear the page."""
        lines = self.drain_cells()
        painted = ("".join(self._paint(*cell) for cell in cells) for cells in lines)
        return "".join(f"{line.rstrip()}\n" for line in painted)

    def _wrapped(self, text: str, columns: int, first: int = 0, rest: int = 0) -> list[str]:
        return wrapped(
            _plain(text),
            columns,
            first=" " * first,
            rest=" " * rest,
            keeps_words=self._keeps_words,
        )

    def _paint(self, text: str, style: str) -> str:
        painted = self._colours and style and text.strip()
        return f"\033[{self._codes[style]}m{text}\033[0m" if painted else text


def _plain(text: str) -> str:
    """Return the text on one line; lone surrogates, which UTF-8 cannot hold, become escapes."""
    return one_line(text.encode("utf-8", "backslashreplace").decode())


def fitted(text: str, columns: int) -> str:
    """Return the text in exactly this many columns, with a visible cut."""
    cut = shortened(text, columns)
    return cut + " " * (columns - text_width(cut))


def visibly_cut(text: str, columns: int) -> str:
    """Return the text, or its beginning with a mark that stdout can encode."""
    return shortened(text, columns, mark="…" if supports_bars() else "...")


def supports_bars() -> bool:
    """Return whether stdout's encoding has block characters."""
    try:
        "▁█".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def local(epoch_ms: int) -> datetime:
    """Return a moment in local time; the earliest one possible if it is out of range."""
    try:
        return datetime.fromtimestamp(epoch_ms / 1000).astimezone()
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0).astimezone()


def day_and_time(epoch_ms: int) -> str:
    """Return a moment as shown in a list: `2026-11-20 18:50`."""
    return f"{local(epoch_ms):%Y-%m-%d %H:%M}"
