"""`lastword`, as it is to an agent that it has never seen.

    python -m tests.interop.agents_unknown WORD[,WORD…] run -- AGENT…

Owns a way of loading the tables of `lastword.quirks` without the rows about one agent: those whose
name, agent, part or version has one of the words in it. What is computed from a table is computed
without them, so that no command is one of that agent's; a convention that several agents share
stays. Most tables are read from a file (`rows`), and two stand in Python.
"""

from __future__ import annotations

import ast
import importlib.machinery
import re
import runpy
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from lastword import quirks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import CodeType

    from lastword.quirks import Row

TABLES = "lastword.quirks."
TELLING = frozenset({"name", "agent", "part", "package", "version"})


SHARED = frozenset({"client_offers"})
"""Tables of conventions that several agents share; `air:retrying` belongs to one of them."""


def has_word(text: str, words: Iterable[str]) -> bool:
    parts = set(re.split(r"[^a-z]+", text))
    return any(word in parts or ("-" in word and word in text) for word in words)


class WithoutRows(ast.NodeTransformer):
    """Takes an agent's rows out of the tuples of a table's module."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = set(words)
        self.taken = 0

    def visit_Tuple(self, node: ast.Tuple) -> ast.Tuple:
        kept = [each for each in node.elts if not self._is_about_it(each)]
        self.taken += len(node.elts) - len(kept)
        node.elts = kept
        return node

    def _is_about_it(self, row: ast.expr) -> bool:
        said = row.keywords if isinstance(row, ast.Call) else []
        texts = [
            word.value.value
            for word in said
            if word.arg in TELLING
            and isinstance(word.value, ast.Constant)
            and isinstance(word.value.value, str)
        ]
        return any(has_word(text.lower(), self._words) for text in texts)


class Loader(importlib.machinery.SourceFileLoader):
    """Loads a table without some rows, and leaves no compiled file of it behind."""

    words: Sequence[str] = ()

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        tree = WithoutRows(self.words).visit(ast.parse(Path(path).read_bytes(), path))
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)


class Finder(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(  # type: ignore[override]
        cls, fullname: str, path: Sequence[str] | None = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return where a table is; `None` for every other module."""
        del target
        if not fullname.startswith(TABLES):
            return None
        spec = super().find_spec(fullname, path)
        if spec is not None and spec.origin is not None:
            spec.loader = Loader(fullname, spec.origin)
        return spec


def rows_without(words: Sequence[str]) -> Callable[[str, type[Row]], tuple[Row, ...]]:
    """Return a reader of the tables in the file that leaves out the rows about one agent."""
    read = quirks.rows

    def rows(table: str, shape: type[Row]) -> tuple[Row, ...]:
        def is_about_it(row: Row) -> bool:
            texts = [str(getattr(row, name, "")).lower() for name in TELLING]
            return any(has_word(text, words) for text in texts)

        shared = table in SHARED
        return tuple(
            row
            for row in read(table, shape)
            if shared or row.name.startswith("air:") or not is_about_it(row)
        )

    return rows


def groups_without(words: Sequence[str]) -> Callable[[str], list[quirks.FailureGroup]]:
    """Return a reader of `protocol/failures` that leaves out the groups of one agent."""
    read = quirks.failure_groups
    return lambda kind: [group for group in read(kind) if not has_word(group.agent, words)]


def forget(words: Sequence[str]) -> None:
    """Have the tables that are loaded from here on leave out the rows about one agent."""
    Loader.words = words
    quirks.rows = rows_without(words)
    quirks.failure_groups = groups_without(words)
    sys.meta_path.insert(0, Finder)


def main() -> None:
    """Run lastword without the rows of the agent that the first argument tells."""
    forget(sys.argv.pop(1).split(","))
    runpy.run_module("lastword", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
