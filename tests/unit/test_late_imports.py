"""Imports inside functions: each is on the list that says what it saves, and for whom."""

from __future__ import annotations

import ast
import json
from typing import TYPE_CHECKING

import pytest

from lastword import cli
from lastword.core.link import late
from tests.kit.places import ROOT
from tests.kit.sources import MODULES, statements, tree_of

if TYPE_CHECKING:
    from collections.abc import Iterator

LIST = ROOT / "benchmarks" / "late_imports.json"


def _late_imports() -> Iterator[tuple[str, str]]:
    """Each module with an import inside a function, and the module that it loads."""
    for importer, path in MODULES.items():
        for function in statements(tree_of(path).body):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                for node in statements(function.body):
                    if isinstance(node, ast.Import | ast.ImportFrom):
                        for imported in _modules(node):
                            yield importer, imported
    for imported in late.MODULES.values():
        yield late.__name__, imported
    for module in cli.MODULES.values():
        yield cli.__name__, f"{cli.__name__}.{module}"


def _modules(node: ast.Import | ast.ImportFrom) -> list[str]:
    """What an import loads: `from a import b` loads `a.b` where that is a module."""
    if isinstance(node, ast.Import):
        return [name.name for name in node.names]
    module = node.module or ""
    inner = [f"{module}.{name.name}" for name in node.names]
    return [name for name in inner if name in MODULES] or [module]


def test_every_import_inside_a_function_is_on_the_list_with_its_figure_and_no_other() -> None:
    groups = json.loads(LIST.read_text(encoding="utf-8"))
    listed = [
        (importer, imported)
        for importers in groups.values()
        for importer, modules in importers.items()
        for imported in modules
    ]
    assert len(listed) == len(set(listed)), "a row stands twice"
    assert sorted(listed) == sorted(set(_late_imports()))


def test_the_failure_paths_list_loads_exactly_what_it_names() -> None:
    assert sorted(late.__all__) == sorted(late.MODULES)
    assert [getattr(late, name).__name__ for name in late.MODULES] == [*late.MODULES.values()]
    with pytest.raises(AttributeError, match="no attribute 'turn'"):
        late.turn  # type: ignore[attr-defined]  # noqa: B018
