"""The shape of the code: whose libraries are used where, who changes whose state, systems apart."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

import pytest

from tests.kit.rows import every
from tests.kit.sources import (
    FILES,
    MODULES,
    ROOT,
    imports_of,
    module_of,
    text_of,
    tree_of,
)

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.no_cover  # other tests reach these lines


CORE_MAY_IMPORT = {
    *("__future__", "abc", "ast", "binascii", "base64", "bisect", "collections", "datetime"),
    *("email", "enum", "errno", "functools", "importlib", "itertools", "json", "math", "re"),
    "string",
    *("types", "typing", "urllib", "msgspec"),
}
"""The standard library's parts without I/O, and msgspec."""


IN_CLIENT = ("client", "core", "errors", "quirks")
ON_THE_SDK = {f"lastword.client.acp{part}" for part in ("", "_process", "_transport")}
MAY_IMPORT: dict[str, tuple[set[str], tuple[str, ...]]] = {
    "core": (CORE_MAY_IMPORT, ("core", "quirks")),
    "quirks": ({"__future__", "typing", "msgspec"}, ("quirks",)),
    "client": (CORE_MAY_IMPORT | {"dataclasses", "importlib", "pydantic", "sys"}, IN_CLIENT),
}
"""Rooms for which it matters, also for types: others' packages, and our rooms, that they import."""


@every("room", MAY_IMPORT)
def test_a_room_that_is_used_alone_imports_no_more_than_it_needs(room: str) -> None:
    allowed, rooms = MAY_IMPORT[room]
    for file in (ROOT / room).rglob("*.py"):
        on_the_sdk = module_of(file) in ON_THE_SDK
        packages = allowed | ({"acp", "asyncio", "contextlib", "pathlib"} if on_the_sdk else set())
        for name in imports_of(file):
            first, *inner = name.split(".")
            if first == "lastword":
                assert not inner or inner[0] in rooms, (file, name)
            else:
                assert first in packages, (file, name)


ONLY_HOMES = {
    "acp": ("lastword.inprocess.sdk", "lastword.client.acp"),
    "jsonrpcserver": ("lastword.inprocess.serve.server",),
    "opentelemetry": (
        *("lastword.otel.telemetry", "lastword.otel.setup", "lastword.otel.telemetry"),
    ),
    "tenacity": ("lastword.inprocess.retry",),
    "pytest": ("lastword.conformance.test_agent", "lastword.conformance.pytest_plugin"),
}
"""Libraries that one part alone may know: the official SDK one for each side of it."""


@every("file", FILES)
def test_only_its_own_door_imports_a_doors_library(file: Path) -> None:
    for name in imports_of(file):
        homes = ONLY_HOMES.get(name.partition(".")[0])
        assert homes is None or f"{module_of(file)}.".startswith(
            tuple(f"{home}." for home in homes)
        ), name


@every("file", [*(ROOT / "client").glob("reconnect*.py"), ROOT / "client" / "close_codes.py"])
def test_coming_back_to_a_gateway_needs_the_standard_library_alone(file: Path) -> None:
    for name in imports_of(file):
        own = name.startswith(("lastword.client.reconnect", "lastword.client.close_codes"))
        assert own or name.partition(".")[0] in sys.stdlib_module_names, name


@every("file", FILES)
def test_every_module_has_a_docstring_and_at_most_eight_hundred_lines(file: Path) -> None:
    assert ast.get_docstring(tree_of(file))
    assert len(text_of(file).splitlines()) <= 800


def test_only_one_module_reads_protocol_versions() -> None:
    for file in FILES:
        if file.is_relative_to(ROOT / "core") and file.stem not in {"acp", "handshake"}:
            assert "protocolVersion" not in text_of(file), file


CHANGES = {
    *("add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove"),
    *("setdefault", "update"),
}
"""What a built-in collection is changed by."""


def _attributes(tree: ast.AST) -> set[str]:
    """The attributes of every class that a module defines."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef):
            continue
        for member in node.body:
            if isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name):
                found.add(member.target.id)
            if isinstance(member, ast.Assign) and ast.unparse(member.targets[0]) == "__slots__":
                found |= {str(name) for name in ast.literal_eval(member.value)}
    return found


def _changed(tree: ast.AST) -> list[ast.expr]:
    """What a module assigns to, deletes, or changes as a collection."""
    found: list[ast.expr] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            found.append(node)
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Attribute) and called.attr in CHANGES:
            found.append(called.value)
    return found


def _without_index(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


OF_A_LINK = ("lastword.core.link.", "lastword.core.restart.")


def _changes_anothers(trees: dict[str, ast.Module]) -> list[str]:
    """Where one of these modules changes what only classes of other ones have."""
    owned = {module: _attributes(tree) for module, tree in trees.items()}
    known = {name for names in owned.values() for name in names}
    found = []
    for module, tree in trees.items():
        for changed in map(_without_index, _changed(tree)):
            if not isinstance(changed, ast.Attribute) or changed.attr not in known - owned[module]:
                continue
            if ast.unparse(changed.value) != "self":
                found.append(f"{module}:{changed.lineno}: {ast.unparse(changed)}")
    return found


def test_the_state_of_a_link_is_changed_by_the_classes_that_have_it() -> None:
    trees = {name: tree_of(file) for name, file in MODULES.items() if name.startswith(OF_A_LINK)}
    assert _changes_anothers(trees) == []


@every("change", ["turn.held, other = other, None", "del link.asked[key]", "link.asked[k].pop(0)"])
def test_a_change_from_outside_is_found(change: str) -> None:
    owner = "class Turn:\n    __slots__ = ('asked', 'held', 'retries')"
    trees = {"owner": ast.parse(owner), "other": ast.parse(change)}
    assert len(_changes_anothers(trees)) == 1


UNIX_ALONE = ("lastword.gateway.", "lastword.sidecar.embedded", "lastword.cli.gateway.")
"""The gateway needs Linux or macOS, and `lastword gateway` says so before any of it is loaded."""


def _is_of(file: Path, sign: str) -> bool:
    """Whether a module asserts that the system is (`==`), or is not (`!=`), Windows."""
    wanted = f"assert sys.platform {sign} 'win32'"
    return any(ast.unparse(node) == wanted for node in tree_of(file).body)


# That names used of `platform` exist on either system: `mypy --platform win32` in `.ci/run`.
def test_a_module_of_one_system_says_so_first_and_is_used_within_platform_alone() -> None:
    for system, sign in (("posix", "!="), ("windows", "==")):
        files = [*(ROOT / "platform").glob(f"{system}_*.py")]
        assert files
        assert all(_is_of(file, sign) for file in files)
    of_one = ("lastword.platform.posix_", "lastword.platform.windows_")
    for file in FILES:
        alone = module_of(file).startswith(UNIX_ALONE) or _is_of(file, "!=")
        if ROOT / "platform" not in file.parents and not alone:
            assert not [name for name in imports_of(file) if name.startswith(of_one)], file
