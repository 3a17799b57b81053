"""The package's own source, for tests of its shape: each file is read and parsed once."""

from __future__ import annotations

import ast
from functools import cache
from typing import TYPE_CHECKING

from tests.kit.places import SOURCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

ROOT = SOURCE / "lastword"
FILES = sorted(ROOT.rglob("*.py"))


def module_of(file: Path) -> str:
    parts = file.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(file): file for file in FILES}


@cache
def text_of(file: Path) -> str:
    return file.read_text(encoding="utf-8")


@cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(text_of(file))


@cache
def nodes_of(file: Path) -> tuple[ast.AST, ...]:
    """Every node of its syntax tree; `statements` is far quicker where those are enough."""
    return tuple(ast.walk(tree_of(file)))


@cache
def imports_of(file: Path, *, typing_too: bool = True) -> frozenset[str]:
    """What a file names in its imports, `from a import b` as both `a` and `a.b`."""
    found: set[str] = set()
    for node in statements(tree_of(file).body, typing_too=typing_too):
        found.update(named_in(node))
    return frozenset(found)


def statements(body: Iterable[ast.AST], *, typing_too: bool = True) -> Iterator[ast.AST]:
    """Every statement, at any depth: expressions, which are most of a tree, are passed by."""
    for node in body:
        yield node
        if not typing_too and isinstance(node, ast.If) and _is_for_types(node):
            continue
        for block in ("body", "handlers", "orelse", "finalbody", "cases"):
            yield from statements(getattr(node, block, ()), typing_too=typing_too)


def _is_for_types(node: ast.If) -> bool:
    return "TYPE_CHECKING" in ast.unparse(node.test)


def named_in(node: ast.AST) -> set[str]:
    """What one import names, and nothing where it is none."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    if isinstance(node, ast.ImportFrom) and node.module:
        return {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return set()
