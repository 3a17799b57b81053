"""The seam between operating systems: nothing above `platform` names what one of them lacks."""

from __future__ import annotations

import ast
import re

from lastword.core.failure.exit_status import WINDOWS
from tests.kit.places import ROOT as CHECKOUT
from tests.kit.places import TESTS
from tests.kit.sources import FILES, ROOT, module_of, nodes_of

UNIX_ALONE = ("lastword.gateway.", "lastword.sidecar.embedded", "lastword.cli.gateway.")
"""The gateway needs Linux or macOS, and `lastword gateway` says so before any of it is loaded."""

SEAM = ROOT / "platform"


def _asserted(tree_nodes: list[ast.Assert]) -> list[str]:
    return [ast.unparse(node.test) for node in tree_nodes]


def test_a_module_of_one_system_names_it_first() -> None:
    for room, word in (("posix", "!="), ("windows", "==")):
        for file in sorted((SEAM / room).glob("*.py")):
            if file.stem != "__init__":
                nodes = [node for node in nodes_of(file) if isinstance(node, ast.Assert)]
                assert f"sys.platform {word} 'win32'" in _asserted(nodes), file.name


def test_a_facade_offers_the_same_of_either_system() -> None:
    for file in sorted(SEAM.glob("*.py")):
        imported: dict[str, set[str]] = {"posix": set(), "windows": set()}
        for node in nodes_of(file):
            if isinstance(node, ast.ImportFrom) and node.module:
                for room, names in imported.items():
                    if node.module.startswith(f"lastword.platform.{room}."):
                        names |= {alias.asname or alias.name for alias in node.names}
        if imported["windows"]:
            assert imported["posix"] == imported["windows"], file.name


def test_nothing_above_the_seam_imports_the_form_of_one_system() -> None:
    for file in FILES:
        module = module_of(file)
        if SEAM in file.parents or module.startswith(UNIX_ALONE):
            continue
        for node in nodes_of(file):
            if isinstance(node, ast.ImportFrom):
                assert not (node.module or "").startswith("lastword.platform.windows"), module


PAGE = (CHECKOUT / "docs" / "platforms.md").read_text()


def test_the_page_has_every_exit_status_that_is_known_by_name() -> None:
    rows = re.findall(r"^\| (0x[0-9A-F]{8}) \| (.+) \| `(.+)` \|$", PAGE, re.MULTILINE)
    table = {int(code, 16): (name, reason) for code, name, reason in rows}
    assert table == WINDOWS


def test_the_page_has_every_file_of_tests_that_linux_alone_can_play() -> None:
    skips = (
        r"""skipif\(\s*not (?:left_behind\.)?CAN_LOOK|skipif\(\s*(?:not )?sys\.platform\W.*linux"""
    )
    skipping = {
        str(file.relative_to(CHECKOUT))
        for folder in ("unit", "contract", "process", "interop")
        for file in (TESTS / folder).rglob("test_*.py")
        if re.search(skips, file.read_text())
    }
    assert skipping
    assert skipping == set(re.findall(r"^\| `(tests/\S+\.py)` \|", PAGE, re.MULTILINE))
