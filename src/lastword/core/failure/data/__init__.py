"""Tables as plain text, and their reader, which the rooms above use too."""

from __future__ import annotations

_SPACE = "\\s"
"""Written at the end of a row in place of a space, which an editor would remove."""


def read_tables(folder: str, name: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return a file's tables in their order, each with its heading and its rows."""
    with open(f"{folder}/{name}.txt", encoding="utf-8") as file:
        blocks = ("\n" + file.read()).split("\n= ")[1:]
    tables = []
    for block in blocks:
        heading, *lines = block.split("\n")
        rows = tuple(
            f"{line[: -len(_SPACE)]} " if line.endswith(_SPACE) else line
            for line in lines
            if line and line[0] != "#"
        )
        tables.append((heading, rows))
    return tables


def read_words(folder: str, name: str) -> dict[str, dict[str, str]]:
    """Return a file's tables of rows with a word and what is said for it."""
    tables = read_tables(folder, name)
    return {heading: dict(_pair(row) for row in rows) for heading, rows in tables}


def _pair(row: str) -> tuple[str, str]:
    word, _, phrase = row.partition(": ")
    return word, phrase
