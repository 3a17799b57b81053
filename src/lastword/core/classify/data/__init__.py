"""The classifier's tables as plain text, and their reader.

A file's first lines say what its tables and rows are. `words.txt` is read by `tokens`, a file with
the name of a module by that module, and a language's file by `concepts` when a failure first needs
it.
"""

from __future__ import annotations

_SPACE = "\\s"
"""Written at the end of a row in place of a space, which an editor would remove."""


def read_tables(name: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return a file's tables in their order, each with its heading and its rows."""
    with open(f"{__path__[0]}/{name}.txt", encoding="utf-8") as file:
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
