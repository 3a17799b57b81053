"""The lines of a configuration file: where its keys are.

`tomllib` does not give the places of values, so they are searched for in the text. A value that is
not found has the line of the table that it is in.
"""

from __future__ import annotations

import re

Path = tuple[str | int, ...]
"""The keys and indices that lead to a value."""

_AT_LINE = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)$")
_HEADER = re.compile(r"\s*(\[\[?)\s*([^\]]+?)\s*\]")
_KEY = re.compile(
    r"\s*((?:[\w-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"|'[^']*'))*)\s*="
)
_LONG = ('"""', "'''")
_TEXT = re.compile(r"""\"{3}|\'{3}|"(?:[^"\\]|\\.)*"|'[^']*'|#""")


def place_in(sentence: str, last: int) -> tuple[str, int]:
    """Return an error message of `tomllib` without its place, and the line.

    Args:
        sentence: The message.
        last: The number of the last line.
    """
    place = _AT_LINE.search(sentence)
    line = int(place[1]) if place and place[1] else last
    return _AT_LINE.sub("", sentence), line


def places_of(lines: list[str]) -> dict[Path, int]:
    """Return the line of each key and header, with an index for each table of an array."""
    numbers: dict[Path, int] = {}
    counts: dict[Path, int] = {}
    header: Path = ()
    inside = ""
    for number, line in enumerate(lines, 1):
        if not inside:
            if title := _HEADER.match(line):
                header = _parts(title[2])
                if title[1] == "[[":
                    counts[header] = counts.get(header, -1) + 1
                header = _indexed(header, counts)
                numbers.setdefault(header, number)
            elif key := _KEY.match(line):
                path = (*header, *_parts(key[1]))
                for depth in range(len(header) + 1, len(path) + 1):
                    numbers.setdefault(path[:depth], number)
        inside = _left_open(line, inside)
    return numbers


def _left_open(line: str, inside: str) -> str:
    """Return the quotes of a text that goes on behind this line; empty if there is none.

    Args:
        line: The line.
        inside: The quotes of the text that it begins in.
    """
    at = 0
    while True:
        if inside:
            at = line.find(inside, at) + len(inside)
            if at < len(inside):
                return inside
            inside = ""
        token = _TEXT.search(line, at)
        if token is None or token[0][0] == "#":
            return ""
        at = token.end()
        inside = token[0] if token[0] in _LONG else ""


def _indexed(header: Path, counts: dict[Path, int]) -> Path:
    """Put the number of its latest table behind each array's name."""
    whole: Path = ()
    for depth, part in enumerate(header, 1):
        index = counts.get(header[:depth])
        whole = (*whole, part) if index is None else (*whole, part, index)
    return whole


def _parts(key: str) -> Path:
    names = re.findall(r"\"[^\"]*\"|'[^']*'|[^\s.\"']+", key)
    return tuple(name.strip("\"'") for name in names)
