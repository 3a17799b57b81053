"""Problems of a configuration file, with file and line, as a command reports them."""

from __future__ import annotations

LISTING = "lastword config"
"""The command that lists every option with its value."""


class Problem:
    """One thing that is wrong with a file; `line` is 0 for the whole file."""

    __slots__ = ("line", "path", "sentence")

    def __init__(self, path: str, line: int, sentence: str) -> None:
        self.path: str = path
        self.line: int = line
        self.sentence: str = sentence

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return _one_line(f"{place}: {self.sentence}")


class ConfigError(Exception):
    """A file cannot be used; the text says why."""

    def __init__(self, problems: list[Problem]) -> None:
        more = len(problems) - 1
        rest = f" (and {more} more; `{LISTING} check` lists them)" if more else ""
        super().__init__(f"{problems[0]}{rest}")
        self.problems: list[Problem] = problems


def _one_line(text: str) -> str:
    # Loaded where something is wrong.
    from lastword.core.redact.printable import one_line  # noqa: PLC0415

    return one_line(text)
