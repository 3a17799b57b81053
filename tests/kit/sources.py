"""The package's own source, for tests of its shape: each file is read and parsed once."""

from __future__ import annotations

import ast
from functools import cache
from typing import TYPE_CHECKING

from tests.kit.places import SOURCE

if TYPE_CHECKING:
    from pathlib import Path

ROOT = SOURCE / "lastword"
FILES = sorted(ROOT.rglob("*.py"))


def module_of(file: Path) -> str:
    """The name by which a file is imported."""
    parts = file.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(file): file for file in FILES}


@cache
def tree_of(file: Path) -> ast.Module:
    """Its syntax tree."""
    return ast.parse(file.read_text(encoding="utf-8"))


@cache
def nodes_of(file: Path) -> tuple[ast.AST, ...]:
    """Every node of its syntax tree."""
    return tuple(ast.walk(tree_of(file)))


@cache
def imports_of(file: Path, *, typing_too: bool = True) -> frozenset[str]:
    """What a file names in its imports, `from a import b` as both `a` and `a.b`."""
    skipped = set() if typing_too else _for_types_only(file)
    found: set[str] = set()
    for node in nodes_of(file):
        if id(node) not in skipped:
            found.update(named_in(node))
    return frozenset(found)


def named_in(node: ast.AST) -> set[str]:
    """What one import names, and nothing where it is none."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    if isinstance(node, ast.ImportFrom) and node.module:
        return {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return set()


def _for_types_only(file: Path) -> set[int]:
    return {
        id(inner)
        for node in nodes_of(file)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
