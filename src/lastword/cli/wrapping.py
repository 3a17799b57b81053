"""Plain text in terminal columns: its width, and where it is wrapped or cut.

Owns what stays together: a word, and a number with its unit. It knows no colours.
"""

from __future__ import annotations

import re
import unicodedata

_SPACES = re.compile(r"(\s++)")
_UNITS = frozenset({"ms", "s", "min", "h", "d", "%", "B", "KiB", "MiB", "GiB"})
_PUNCTUATION = ".,;:!?)]}\"'"
_SEAMS = "/\\,;:&=?_-."
"""After these a word that is longer than a line is broken, where one comes late enough."""


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
    """Return the beginning of a text that fits in this many columns, without reading further."""
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
    """Return whether the text fits in this many columns."""
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
        first: What the first line begins with.
        rest: What the others begin with.
        keeps_words: Keep a word that is longer than a line whole.
    """
    lines: list[str] = []
    line, filled = first, False
    for space, whole in _words(text):
        # Space at a line's end, and at the beginning of what goes on, is none.
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
