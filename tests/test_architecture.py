"""The shape of the code: who may import whom, how long a file may be, what a start may load."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "src" / "lastword"
FILES = sorted(ROOT.rglob("*.py"))

CORE_MAY_IMPORT = {
    *("__future__", "abc", "ast", "binascii", "base64", "bisect", "collections", "datetime"),
    *("email", "enum", "errno", "functools", "itertools", "json", "math", "re", "string"),
    *("types", "typing", "urllib", "msgspec"),
}
"""The standard library's parts without I/O, and msgspec."""

LATE = {
    *("lastword.core.classify", "lastword.core.sentences", "lastword.core.redact"),
    *("lastword.core.reading", "lastword.wire", "lastword.demo", "lastword.cli.demo"),
    *("pydantic", "anyio", "asyncio", "tenacity", "jsonrpcserver", "jsonschema", "sqlite3"),
    *("argparse", "subprocess", "logging", "json", "dataclasses", "http", "threading"),
}
"""What no healthy turn needs, and so may not be loaded before one has failed."""


def _module(file: Path) -> str:
    parts = file.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(file: Path, *, typing_too: bool = True) -> set[str]:
    """Every module that a file names in an import, `from a import b` as both `a` and `a.b`."""
    tree = ast.parse(file.read_text())
    skipped = set()
    if not typing_too:
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                skipped |= {id(inner) for inner in ast.walk(node)}
    found: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("file", [f for f in FILES if "core" in f.parts], ids=_module)
def test_the_core_imports_itself_msgspec_and_what_does_no_io(file: Path) -> None:
    for name in _imports(file):
        top = name.partition(".")[0]
        assert top in CORE_MAY_IMPORT or name == "lastword" or name.startswith("lastword.core")


@pytest.mark.parametrize("file", FILES, ids=_module)
def test_nothing_imports_the_command_line_but_itself(file: Path) -> None:
    if "cli" not in file.parts and file.name != "__main__.py":
        assert not any(f"{name}.".startswith("lastword.cli.") for name in _imports(file))


ONLY_HOMES = {
    "acp": ("lastword.sdk", "lastword.client.acp"),
    "jsonrpcserver": ("lastword.server",),
    "opentelemetry": ("lastword.otel.telemetry", "lastword.otel.setup"),
    "tenacity": ("lastword.retry",),
    "pytest": ("lastword.conformance.test_agent", "lastword.conformance.pytest_plugin"),
}
"""Libraries that one part alone may know: the official SDK one for each side of it."""

SHELLS = ("lastword.sdk", "lastword.server", "lastword.sidecar")


@pytest.mark.parametrize("file", FILES, ids=_module)
def test_a_library_for_one_door_is_known_to_that_door_alone(file: Path) -> None:
    for name in _imports(file):
        homes = ONLY_HOMES.get(name.partition(".")[0])
        assert homes is None or f"{_module(file)}.".startswith(
            tuple(f"{home}." for home in homes)
        ), name


@pytest.mark.parametrize("file", FILES, ids=_module)
def test_shells_do_not_know_each_other(file: Path) -> None:
    own = next((shell for shell in SHELLS if _module(file).startswith(shell)), None)
    inner = _module(file).startswith(("lastword.inprocess", "lastword.retry", "lastword.core"))
    if own or inner:
        others = tuple(shell for shell in SHELLS if shell != own)
        assert not any(name.startswith(others) for name in _imports(file))


CLIENT_MAY_IMPORT = ("lastword.client", "lastword.core", "lastword.errors", "lastword.wire")
ON_THE_SDK = {"lastword.client.acp", "lastword.client.acp_transport"}


@pytest.mark.parametrize("file", [f for f in FILES if f.parent == ROOT / "client"], ids=_module)
def test_the_clients_part_imports_the_errors_the_wire_and_the_core(file: Path) -> None:
    for name in _imports(file):
        top = name.partition(".")[0]
        if _module(file) in ON_THE_SDK and top in {"acp", "asyncio", "contextlib", "pathlib"}:
            continue
        ours = f"{name}.".startswith(tuple(f"{part}." for part in CLIENT_MAY_IMPORT))
        assert ours or name == "lastword" or top in CORE_MAY_IMPORT | {"pydantic"}, name


def test_reading_a_failure_needs_no_event_loop_no_server_and_no_retry_library() -> None:
    code = "import sys, lastword.client as c; c.read_error({'code': -32603, 'message': 'x'}); "
    code += "print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert not {"acp", "anyio", "asyncio", "jsonrpcserver", "tenacity"} & set(done.stdout.split())


@pytest.mark.parametrize("file", FILES, ids=_module)
def test_no_file_is_longer_than_four_hundred_lines(file: Path) -> None:
    assert len(file.read_text().splitlines()) <= 400


@pytest.mark.parametrize("file", FILES, ids=_module)
def test_every_module_says_what_it_is(file: Path) -> None:
    assert ast.get_docstring(ast.parse(file.read_text()))


def test_no_modules_import_each_other_in_a_circle() -> None:
    known = {_module(file) for file in FILES}
    graph = {_module(f): (_imports(f, typing_too=False) & known) - {_module(f)} for f in FILES}
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


def test_only_one_module_knows_protocol_versions() -> None:
    for file in FILES:
        if "core" in file.parts and file.stem not in {"acp", "handshake"}:
            assert "protocolVersion" not in file.read_text(), file


_HEALTHY_TURN = """
import sys
sys.argv = ["lastword"]
from lastword.cli.run import main
import lastword.cli.relay
from lastword.core import jsonrpc
from lastword.core.connection import Connection, Side
core = Connection()
for side, line in (
    ("client", b'{"id":0,"method":"initialize","params":{"protocolVersion":1}}'),
    ("agent", b'{"id":0,"result":{"protocolVersion":1}}'),
    ("client", b'{"id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}'),
    ("agent", b'{"method":"session/update","params":{"sessionId":"s","update":'
              b'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}}}'),
    ("agent", b'{"id":1,"result":{"stopReason":"end_turn"}}'),
):
    core.receive(Side(side), jsonrpc.decode(line), 0.0)
print("\\n".join(sys.modules))
"""


def test_a_healthy_turn_loads_nothing_that_only_a_failing_one_needs() -> None:
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{_HEALTHY_TURN}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={k: v for k, v in os.environ.items() if not k.startswith("PYTEST")},
    )
    loaded = set(done.stdout.split())
    assert not {name for name in loaded if name in LATE - {"json", "dataclasses"}}


def test_before_the_agent_is_spawned_almost_nothing_is_loaded() -> None:
    code = "import sys; before = set(sys.modules); import lastword.cli.run; "
    code += "print(*sorted(set(sys.modules) - before))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert not {"msgspec", "typing", "contextlib", "re", "json"} & set(done.stdout.split())


def test_the_plugin_that_every_pytest_run_loads_imports_nothing() -> None:
    code = "import sys; before = set(sys.modules); import lastword.conformance.pytest_plugin; "
    code += "print(*sorted(set(sys.modules) - before))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert all(name.startswith(("lastword", "__future__")) for name in done.stdout.split())
    assert len(done.stdout.split()) < 6
