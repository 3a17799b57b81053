"""Printable text: without anything that a terminal would obey rather than display.

Owns which characters are removed: control characters, including the single-byte ones above ASCII,
and the marks that reverse the direction of text.
"""

from __future__ import annotations


def one_line(text: str) -> str:
    """Return the text on one line, with a space for each character that cannot be printed."""
    return "".join(char if char.isprintable() else " " for char in text)


def printable(text: str) -> str:
    """Return the text, line by line, with a space for each other unprintable character."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in "\n\t" else " " for char in text)


def printable_json(text: str) -> str:
    """Return a JSON text with an escape for each character that cannot be printed.

    Such characters occur only in strings, where an escape means the same.
    """
    if text.isprintable():
        return text
    printed: list[str] = []
    for char in text:
        if char.isprintable() or char in "\n\t":
            printed.append(char)
        else:
            units = char.encode("utf-16-be", "surrogatepass").hex()
            printed += (f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
    return "".join(printed)
