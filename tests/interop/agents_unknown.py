"""`lastword`, as it is to an agent that it has never seen.

    python -m tests.interop.agents_unknown WORD[,WORD…] run -- AGENT…

Owns a way of loading the tables of `lastword.quirks` without the rows about one agent: those whose
name, agent, part or version has one of the words in it. What is computed from a table is computed
without them, so that no command is one of that agent's; a convention that several agents share
stays, as do the recipes of `lastword setup`, which `run` does not read.
"""

from __future__ import annotations

import re
import runpy
import sys
from typing import TYPE_CHECKING

from lastword import quirks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lastword.quirks import Row

TELLING = ("name", "agent", "part", "package", "version")
SHARED = frozenset({"client_offers"})
"""Tables of conventions that several agents share; `air:retrying` belongs to one of them."""


def has_word(text: str, words: Iterable[str]) -> bool:
    parts = set(re.split(r"[^a-z]+", text))
    return any(word in parts or ("-" in word and word in text) for word in words)


def is_about(row: Row, words: Iterable[str]) -> bool:
    return any(has_word(str(getattr(row, name, "")).lower(), words) for name in TELLING)


def rows_without(words: Sequence[str]) -> Callable[[str, type[Row]], tuple[Row, ...]]:
    """Return a reader of the tables in the file that leaves out the rows about one agent."""
    read = quirks.rows

    def rows(table: str, shape: type[Row]) -> tuple[Row, ...]:
        return tuple(
            row
            for row in read(table, shape)
            if table in SHARED or row.name.startswith("air:") or not is_about(row, words)
        )

    return rows


def groups_without(words: Sequence[str]) -> Callable[[str], list[quirks.FailureGroup]]:
    """Return a reader of `protocol/failures` that leaves out the groups of one agent."""
    read = quirks.failure_groups
    return lambda kind: [group for group in read(kind) if not has_word(group.agent, words)]


def forget(words: Sequence[str]) -> None:
    """Have the tables that are loaded from here on leave out the rows about one agent."""
    quirks.rows = rows_without(words)
    quirks.failure_groups = groups_without(words)
    from lastword.quirks import journals  # noqa: PLC0415 - the one that stands in Python

    journals.ROWS = tuple(row for row in journals.ROWS if not is_about(row, words))


def main() -> None:
    """Run lastword without the rows of the agent that the first argument tells."""
    forget(sys.argv.pop(1).split(","))
    runpy.run_module("lastword", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
