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
    """Return a file's tables whose rows are a word and its phrase, separated by `: `."""
    tables: dict[str, dict[str, str]] = {}
    for heading, rows in read_tables(folder, name):
        pairs = (row.partition(": ") for row in rows)
        tables[heading] = {word: phrase for word, _, phrase in pairs}
    return tables
