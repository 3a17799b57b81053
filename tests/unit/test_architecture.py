"""The shape of the code: who may import whom, how long a file may be, what a start may load."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

import pytest

from lastword.core.protocol import acp
from tests.kit.sources import (
    FILES,
    MODULES,
    ROOT,
    imports_of,
    module_of,
    nodes_of,
    statements,
    text_of,
    tree_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

pytestmark = pytest.mark.no_cover  # other tests reach these lines


def each(files: Iterable[Path]) -> Callable[[Callable[[Path], None]], Callable[[], None]]:
    """A test that looks at each of these files, and tells of all that are not as they should be."""

    def over_all(test: Callable[[Path], None]) -> Callable[[], None]:
        def look() -> None:
            wrong = []
            for file in files:
                try:
                    test(file)
                except AssertionError as error:
                    wrong.append(f"{module_of(file)}: {error}")
            assert not wrong, "\n".join(wrong)

        return look

    return over_all


CORE_MAY_IMPORT = {
    *("__future__", "abc", "ast", "binascii", "base64", "bisect", "collections", "datetime"),
    *("email", "enum", "errno", "functools", "importlib", "itertools", "json", "math", "re"),
    "string",
    *("types", "typing", "urllib", "msgspec"),
}
"""The standard library's parts without I/O, and msgspec."""


@each([f for f in FILES if f.is_relative_to(ROOT / "core")])
def test_the_core_imports_itself_msgspec_and_modules_without_io(file: Path) -> None:
    for name in imports_of(file):
        top = name.partition(".")[0]
        ours = f"{name}.".startswith(("lastword.core.", "lastword.quirks."))
        assert top in CORE_MAY_IMPORT or name == "lastword" or ours


@each(sorted((ROOT / "quirks").rglob("*.py")))
def test_the_quirks_import_nothing_but_each_other(file: Path) -> None:
    for name in imports_of(file):
        assert f"{name}.".startswith(("__future__.", "typing.", "msgspec.", "lastword.quirks."))


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

SHELLS = ("lastword.inprocess.sdk", "lastword.inprocess.serve.server", "lastword.sidecar.session")


@each(FILES)
def test_only_its_own_door_imports_a_doors_library(file: Path) -> None:
    for name in imports_of(file):
        homes = ONLY_HOMES.get(name.partition(".")[0])
        assert homes is None or f"{module_of(file)}.".startswith(
            tuple(f"{home}." for home in homes)
        ), name


@each(FILES)
def test_shells_do_not_know_each_other(file: Path) -> None:
    own = next((shell for shell in SHELLS if module_of(file).startswith(shell)), None)
    inner = module_of(file).startswith(
        ("lastword.inprocess", "lastword.inprocess.retry", "lastword.core")
    )
    if own or inner:
        others = tuple(shell for shell in SHELLS if shell != own)
        assert not any(name.startswith(others) for name in imports_of(file))


CLIENT_MAY_IMPORT = tuple(f"lastword.{part}" for part in ("client", "core", "errors", "quirks"))
ON_THE_SDK = {f"lastword.client.acp{part}" for part in ("", "_process", "_transport")}


@each([f for f in FILES if f.parent == ROOT / "client"])
def test_the_clients_part_imports_the_errors_and_the_core(file: Path) -> None:
    for name in imports_of(file):
        top = name.partition(".")[0]
        if module_of(file) in ON_THE_SDK and top in {"acp", "asyncio", "contextlib", "pathlib"}:
            continue
        ours = f"{name}.".startswith(tuple(f"{part}." for part in CLIENT_MAY_IMPORT))
        allowed = CORE_MAY_IMPORT | {"dataclasses", "importlib", "pydantic", "sys"}
        assert ours or name == "lastword" or top in allowed, name


@each([*sorted((ROOT / "client").glob("reconnect*.py")), ROOT / "client" / "close_codes.py"])
def test_coming_back_to_a_gateway_needs_the_standard_library_alone(file: Path) -> None:
    for name in imports_of(file):
        own = name.startswith(("lastword.client.reconnect", "lastword.client.close_codes"))
        assert own or name.partition(".")[0] in sys.stdlib_module_names, name


@each(FILES)
def test_files_have_at_most_eight_hundred_lines(file: Path) -> None:
    assert len(text_of(file).splitlines()) <= 800


@each(FILES)
def test_every_module_has_a_docstring(file: Path) -> None:
    assert ast.get_docstring(tree_of(file))


def test_modules_never_import_each_other_in_a_cycle() -> None:
    known = MODULES.keys()
    graph = {m: (imports_of(f, typing_too=False) & known) - {m} for m, f in MODULES.items()}
    # A package's `__init__` is loaded before its modules; that alone is no circle.
    graph = {m: {d for d in deps if not m.startswith(d + ".")} for m, deps in graph.items()}
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join((*path, module))
        if module not in done:
            for dependency in graph[module]:
                visit(dependency, (*path, module))
            done.add(module)

    for module in graph:
        visit(module, ())


def test_only_one_module_reads_protocol_versions() -> None:
    for file in FILES:
        if file.is_relative_to(ROOT / "core") and file.stem not in {"acp", "handshake"}:
            assert "protocolVersion" not in text_of(file), file


ERROR_CODES = {
    *acp.JSONRPC_CODES,
    *(acp.AUTH_REQUIRED, acp.RESOURCE_NOT_FOUND, acp.REQUEST_CANCELLED, acp.DO_NOT_RESEND),
}
HAVE_ERROR_CODES = {"lastword.core.protocol.acp", "lastword.kit.agent.plain"}
"""The module that names the codes, and an agent that uses nothing of lastword."""


def test_the_error_codes_are_in_one_module() -> None:
    found = {
        module_of(file)
        for file in FILES
        for node in nodes_of(file)
        if isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.USub)
        and isinstance(node.operand, ast.Constant)
        and -node.operand.value in ERROR_CODES
    }
    assert found == HAVE_ERROR_CODES


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


@pytest.mark.parametrize(
    "change",
    [
        "turn.held = None",
        "turn.retries += 1",
        "turn.held, other = other, None",
        "link.asked[key] = value",
        "del link.asked[key]",
        "link.asked.pop(key)",
        "link.asked[key].append(value)",
    ],
)
def test_a_change_from_outside_is_found(change: str) -> None:
    owner = "class Turn:\n    __slots__ = ('asked', 'held', 'retries')"
    trees = {"owner": ast.parse(owner), "other": ast.parse(change)}
    assert len(_changes_anothers(trees)) == 1


INPUTS = {"lastword.core.link.state.Link.expect_hints"}
"""What a shell says of its surroundings, which has no effect but the value."""


def test_methods_do_more_than_assign_one_attribute() -> None:
    """State is changed by methods that say what happened, not by a setter for each attribute."""
    setters = [
        f"{module_of(file)}.{owner.name}.{method.name}"
        for file in FILES
        if file.is_relative_to(ROOT / "core")
        for owner in statements(tree_of(file).body)
        if isinstance(owner, ast.ClassDef)
        for method in owner.body
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef) and _is_setter(method)
    ]
    assert set(setters) == INPUTS


def _is_setter(method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether it only gives one attribute of its object a parameter's value, or a fixed one."""
    if method.name == "__init__" or method.decorator_list:
        return False
    body = [s for s in method.body if not isinstance(s, ast.Expr)]
    if len(body) != 1 or len(body) + 1 < len(method.body) or not isinstance(body[0], ast.Assign):
        return False
    target, value = body[0].targets[0], body[0].value
    fixed = isinstance(value, ast.Constant) and isinstance(value.value, bool | None)
    one = isinstance(target, ast.Attribute) and len(body[0].targets) == 1
    return one and (fixed or isinstance(value, ast.Name))
