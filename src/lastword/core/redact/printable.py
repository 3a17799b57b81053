"""Printable text: what a terminal shows, and nothing that it would obey.

Owns which characters those are: control characters, also those of one byte beyond ASCII, and the
marks that turn the direction of writing round.
"""

from __future__ import annotations


def one_line(text: str) -> str:
    """Return the text in one line, a space for each character that cannot be printed."""
    return "".join(char if char.isprintable() else " " for char in text)


def printable(text: str) -> str:
    """Return the text in its lines, a space for each other character that cannot be printed."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in "\n\t" else " " for char in text)


def printable_json(text: str) -> str:
    """Return a JSON text with an escape for each character that cannot be printed.

    They stand in strings alone, where an escape means the same.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in "\n\t" else _escaped(char) for char in text
    )


def _escaped(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
