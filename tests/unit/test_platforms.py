"""The seam between operating systems: nothing above `platform` names what one of them lacks."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

from tests.kit.sources import FILES, ROOT, module_of, nodes_of, tree_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.no_cover  # other tests reach these lines


UNIX_ALONE = ("lastword.gateway.", "lastword.sidecar.embedded", "lastword.cli.gateway.")
"""The gateway needs Linux or macOS, and `lastword gateway` says so before any of it is loaded."""

SEAM = ROOT / "platform"
SEAM_NAME = "lastword.platform."


def _asserts(file: Path, condition: str) -> bool:
    return any(
        isinstance(node, ast.Assert) and ast.unparse(node.test) == condition
        for node in nodes_of(file)
    )


def _named(body: Iterable[ast.stmt]) -> set[str]:
    """What statements define or import, outside branches for one system."""
    names: set[str] = set()
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            names |= _named(node.body)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            names |= {
                each.id
                for each in ast.walk(node)
                if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
            }
    return names


def _on_both(file: Path) -> set[str]:
    """What a module of the seam offers whatever the system is."""
    body = tree_of(file).body
    windows, posix = set[str](), set[str]()
    for node in body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "sys.platform == 'win32'":
            windows |= _named(node.body)
            posix |= _named(node.orelse)
    return _named(body) | windows & posix


def _used_of_the_seam(file: Path) -> Iterator[tuple[str, str]]:
    """Each name that a file uses of the seam, with its module."""
    modules: set[str] = set()
    for node in nodes_of(file):
        if isinstance(node, ast.ImportFrom) and node.module == "lastword.platform":
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(SEAM_NAME):
            for alias in node.names:
                yield str(node.module).removeprefix(SEAM_NAME), alias.name
    for node in nodes_of(file) if modules else ():
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in modules:
            yield ast.unparse(node.value), node.attr


def test_a_module_of_one_system_names_it_first() -> None:
    for system, sign in (("posix", "!="), ("windows", "==")):
        files = [*SEAM.glob(f"{system}_*.py")]
        assert files
        for file in files:
            assert _asserts(file, f"sys.platform {sign} 'win32'"), file.name


def test_names_used_above_the_seam_exist_on_either_system() -> None:
    offered = {file.stem: _on_both(file) for file in SEAM.glob("*.py")}
    for file in FILES:
        module = module_of(file)
        alone = module.startswith(UNIX_ALONE) or _asserts(file, "sys.platform != 'win32'")
        if SEAM not in file.parents and not alone:
            for part, name in _used_of_the_seam(file):
                assert not part.startswith(("posix_", "windows_")), module
                assert name in offered[part], f"{module}: {part}.{name}"
