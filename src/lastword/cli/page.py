"""Text in columns for a terminal: its width, its colours, and nothing that moves its cursor.

Owns wrapping and cutting, which keep together a word, and a number with its unit; styling; the
format of times in a list; and the standard streams, which filter all text on its way to a terminal:
no text moves a cursor, names a window or changes the writing direction, whether it came from an
agent, a client, a file or an argument. A page's own colours stay.

The progress line says what a command is doing, on one line of stderr that is replaced and erased.
Owns when it is shown and how it is cut. If stderr is not a terminal, or is one that cannot erase
(`TERM=dumb`), nothing is written, or a line for each long step. A quick command shows none.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
import threading
import time
import unicodedata
from contextlib import contextmanager
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Self

from lastword.core.failure.phrases import moment_of
from lastword.core.redact.printable import one_line, printable
from lastword.platform.process import ensure_standard_streams
from lastword.platform.terminal import understands_escapes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import TextIO

    Cell = tuple[str, str]
    """A text and its style, which may be empty."""


_SPACES = re.compile(r"(\s++)")
_UNITS = frozenset({"ms", "s", "min", "h", "d", "%", "B", "KiB", "MiB", "GiB"})
_PUNCTUATION = ".,;:!?)]}\"'"
_SEAMS = "/\\,;:&=?_-."
"""A word that is longer than a line is broken after one of these, if it is in the second half."""


def text_width(text: str) -> int:
    """Return how many columns a text takes (Unicode Standard Annex 11)."""
    if text.isascii():
        return len(text)
    return sum(map(_width, text))


def _width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def head(text: str, columns: int) -> str:
    """Return the beginning of a text that fits in this many columns, without reading the rest."""
    columns = max(0, columns)
    if text.isascii():
        return text[:columns]
    width = 0
    for at, char in enumerate(text):
        width += _width(char)
        if width > columns:
            return text[:at]
    return text


def fits(text: str, columns: int) -> bool:
    return len(head(text, columns)) == len(text)


def shortened(text: str, columns: int, *, mark: str = "…") -> str:
    """Return the text in at most this many columns, with a mark at its end if it was cut."""
    if fits(text, columns):
        return text
    return head(f"{head(text, columns - text_width(mark)).rstrip()}{mark}", columns)


def wrapped(
    text: str, columns: int, *, first: str = "", rest: str = "", keeps_words: bool = False
) -> list[str]:
    """Return the text in lines of at most this many columns; none if there is nothing to see.

    Args:
        text: What to wrap. Leading and inner spaces stay where there is room.
        columns: The maximum width of a line.
        first: The beginning of the first line.
        rest: The beginning of the others.
        keeps_words: Do not break a word that is longer than a line.
    """
    lines: list[str] = []
    line, filled = first, False
    for space, whole in _words(text):
        # Space is dropped at the end of a line, and at the beginning of a continuation.
        gap = space if filled or not lines else ""
        if filled and not fits(line + gap + whole, columns):
            lines.append(line)
            line, gap = rest, ""
        if not filled and not fits(line + gap + whole[:1], columns):
            gap = ""  # leading space that leaves no room for a character
        line += gap
        word = whole
        while not keeps_words and not fits(line + word, columns):
            piece = _piece(word, max(1, columns - text_width(line)))
            lines.append(line + piece)
            line, word = rest, word.removeprefix(piece)
        line, filled = line + word, True
    return [*lines, line] if filled else lines


def _words(text: str) -> list[tuple[str, str]]:
    """Return the unbreakable pieces, each with the space before it."""
    parts = _SPACES.split(text)
    words: list[tuple[str, str]] = []
    # Words and spaces take turns, and a text begins with a word, which may be empty.
    for space, word in zip(["", *parts[1::2]], parts[::2], strict=True):
        if not word:
            continue
        before = words[-1] if words else ("", "")
        is_unit = word.rstrip(_PUNCTUATION) in _UNITS
        if space == " " and is_unit and before[1][-1:].isdigit():
            words[-1] = (before[0], f"{before[1]} {word}")
        else:
            words.append((space, word))
    return words


def _piece(word: str, columns: int) -> str:
    """Return the beginning of a word that is too long, at least one character."""
    piece = head(word, columns) or word[0]
    seam = max(map(piece.rfind, _SEAMS)) + 1
    return piece[:seam] if seam > len(piece) // 2 else piece


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
    """Lines of limited width, in colours if the terminal has them."""

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
            keeps_words: Do not break a word that is longer than a line, so that it can be copied.
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
        lines = []
        for cells in self.drain_cells():
            line = ""
            for text, style in cells:
                painted = self._colours and style and text.strip()
                line += f"\033[{self._codes[style]}m{text}\033[0m" if painted else text
            lines.append(f"{line.rstrip()}\n")
        return "".join(lines)

    def _wrapped(self, text: str, columns: int, first: int = 0, rest: int = 0) -> list[str]:
        return wrapped(
            _plain(text),
            columns,
            first=" " * first,
            rest=" " * rest,
            keeps_words=self._keeps_words,
        )


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


def day_and_time(epoch_ms: int) -> str:
    """Return a moment as shown in a list: `2026-11-20 18:50`."""
    return f"{moment_of(epoch_ms):%Y-%m-%d %H:%M}"


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
        if len(self.beginning) < MAX_BEGINNING_CHARS:
            self.beginning += text[:MAX_BEGINNING_CHARS]
        # Every second part is text between colours.
        parts = _COLOUR.split(text)
        parts[::2] = map(printable, parts[::2])
        self._stream.write("".join(parts))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def prepare_streams() -> tuple[PrintableStream, PrintableStream]:
    """Make sure that no write fails because of its characters or a closed stream.

    Returns:
        The new stdout and stderr.
    """
    # No file that the command opens may get the number of a standard stream.
    ensure_standard_streams()
    made = []
    for name, fd in (("stdout", 1), ("stderr", 2)):
        stream = getattr(sys, name) or os.fdopen(fd, "w", closefd=False)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
        made.append(PrintableStream(stream))
        setattr(sys, name, made[-1])
    return made[0], made[1]


SHOWN_AFTER_SECONDS = 2.0
"""The longest wait without any output."""

FRAME_SECONDS = 0.1
COUNTS_FROM_SECONDS = 2.0
_DOTS = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_ASCII = "|/-\\"
_START = b"\r"
_CLEAR_REST = b"\033[K"


class Progress:
    """One line that shows the current work, and for how long it has been going on.

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
            after_seconds: The delay before it is first shown, from the start of the block.
            fd: The descriptor of the terminal.
            in_lines: Write a line for each long step if the terminal cannot replace one.
        """
        try:
            self.shows: bool = os.isatty(fd) and understands_escapes(fd)
        except OSError:
            self.shows = False
        self._text = text
        self._after_seconds = after_seconds
        self._fd = fd
        self._in_lines = in_lines
        self._began = self._step_began = 0.0
        # The terminal's encoding (POSIX: the first variable that is not empty).
        names = ("LC_ALL", "LC_CTYPE", "LANG")
        locale = next((value for name in names if (value := os.environ.get(name))), "").lower()
        self._frames = _DOTS if "utf-8" in locale or "utf8" in locale else _ASCII
        self._drawn = 0
        self._there = False
        # Held while the line is written, and while other text takes its place.
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
                frame = self._frames[self._drawn % len(self._frames)]
                self._drawn += 1
                seconds = time.monotonic() - self._began
                count = f" ({seconds:.0f} s)" if seconds >= COUNTS_FROM_SECONDS else ""
                try:
                    columns = os.get_terminal_size(self._fd).columns or 80
                except OSError:
                    columns = 80
                # The last column stays free: some terminals go to the next line once it is filled.
                room = columns - len(frame) - 1 - len(count) - 1
                line = f"{frame} {shortened(one_line(self._text), room, mark='...')}{count}"
                self._there = True
                encoded = line.encode("utf-8" if self._frames is _DOTS else "ascii", "replace")
                # Overwritten, not erased first, so that nothing flickers.
                self._write(_START + encoded + _CLEAR_REST)
            wait = FRAME_SECONDS

    def _write_until_over(self) -> None:
        written = ""
        while not self._over.wait(FRAME_SECONDS):
            with self._lock:
                lasts = time.monotonic() - self._step_began >= self._after_seconds
                if lasts and self._text != written:
                    written = self._text
                    self._write(f"{one_line(written)} ...\n".encode())

    def _erase(self) -> None:
        if self._there:
            self._there = False
            self._write(_START + _CLEAR_REST)

    def _write(self, data: bytes) -> None:
        # Not through `sys.stderr`, which filters everything that moves a cursor.
        try:
            os.write(self._fd, data)
        except OSError:
            # The terminal is gone; the work continues.
            self._over.set()
