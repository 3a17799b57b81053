"""Printable text: without anything that a terminal would obey rather than display.

Owns which characters are removed: control sequences as a whole; other control characters,
including the single-byte ones above ASCII; and the marks that reverse the direction of text.
"""

from __future__ import annotations

_STYLE = r"\x1b\[[0-9;]*[A-Za-z]"
"""A colour code, which is shown as nothing: the redactor reads secrets across it."""

_CONTROL = (
    r"\x1b\[[0-?]*+[ -/]*+[@-~]"
    r"|\x1b[\]PX^_][^\x07\x1b\n]*+(?:\x07|\x1b\\)"
)
"""Other sequences: CSI, and the strings that a terminal takes, such as OSC's titles and links."""


def without_sequences(text: str) -> str:
    """Return the text without control sequences; any but a colour code becomes a space."""
    if text.isprintable():
        return text
    # No start of an agent may load it.
    import re  # noqa: PLC0415

    return re.sub(_CONTROL, " ", re.sub(_STYLE, "", text))


def one_line(text: str) -> str:
    """Return the text on one line, with a space for each character that cannot be printed."""
    text = without_sequences(text)
    return "".join(char if char.isprintable() else " " for char in text)


def printable(text: str) -> str:
    """Return the text, line by line, with a space for each other unprintable character."""
    if text.isprintable():
        return text
    text = without_sequences(text)
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
