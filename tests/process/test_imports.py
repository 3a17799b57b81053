"""What an import and a start load, and what is said where a package is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import lastword
from lastword._installation import command_for
from lastword.errors import EXTRAS, MissingExtraError, missing_extra
from lastword.sidecar.late_modules import FAILURE, LateModules, load, load_here
from tests.kit.places import ROOT, SOURCE
from tests.kit.programs import BareInterpreter
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Printed = Callable[[str], str]
    Loaded = Callable[[str], set[str]]
    SaidWithout = Callable[[str, str], str]


LATE = {
    *("lastword.core.classify", "lastword.core.failure.wording", "lastword.core.redact.redactor"),
    *("lastword.core.restart", "lastword.core.restart.layer"),
    *("lastword.core.failure.payload", "lastword.client", "lastword.kit.demo", "lastword.cli.demo"),
    *("lastword.sidecar.journals", "lastword.quirks.journals"),
    "lastword.sidecar.frames",
    *("lastword.sidecar.event_stream", "lastword.platform.process_tree", "socket"),
    *("pydantic", "anyio", "asyncio", "tenacity", "jsonrpcserver", "jsonschema", "sqlite3"),
    *("lastword.gateway", "starlette", "uvicorn", "websockets"),
    *("argparse", "subprocess", "logging", "json", "dataclasses", "http", "threading"),
}
"""What no healthy turn needs, and so may not be loaded before one has failed."""


@pytest.fixture(scope="module")
def printed() -> Iterator[Printed]:
    """What a program prints in a process of its own."""
    with BareInterpreter() as interpreter:

        def run(code: str) -> str:
            done = interpreter.run(code)
            assert done.returncode == 0, done.stderr
            return done.stdout

        yield run


@pytest.fixture
def loaded(printed: Printed) -> Loaded:
    """The modules that some code loads."""

    def run(code: str) -> set[str]:
        program = "import sys; before = set(sys.modules)\n%s\nprint(*set(sys.modules) - before)"
        return set(printed(program % code).split())

    return run


def test_reading_a_failure_needs_no_event_loop_no_server_and_no_retry_library(
    loaded: Loaded,
) -> None:
    found = loaded("import lastword.client as c; c.read_error({'code': -32603, 'message': 'x'})")
    assert not {"acp", "anyio", "asyncio", "jsonrpcserver", "tenacity"} & found


def test_coming_back_to_a_gateway_loads_nothing_but_the_standard_library(loaded: Loaded) -> None:
    found = loaded("from lastword.client import reconnect")
    assert {name for name in found if name.partition(".")[0] not in sys.stdlib_module_names} == {
        *("lastword", "lastword._version", "lastword.client", "lastword.client.reconnect"),
        *(f"lastword.client.{part}" for part in ("close_codes", "reconnect_model")),
    }
    assert not {"asyncio", "socket", "ssl", "json", "logging"} & found


def test_a_gateway_of_one_machine_loads_nothing_of_a_fleet(loaded: Loaded) -> None:
    found = loaded("import lastword.cli.gateway.holder, lastword.gateway.front.process")
    assert "lastword.gateway.holder.process" in found
    assert {name for name in found if "fleet" in name} <= {"lastword.gateway.settings.values"}
    assert not {"nats", "nkeys", "cryptography"} & found


_HEALTHY_TURN = """
import sys
sys.argv = ["lastword"]
from lastword.cli.run.command import main
import lastword.cli.run.start
from lastword.core.protocol import jsonrpc
from lastword.core.link.connection import Connection, LinkOptions, Side
from lastword.core.link.failopen import FailOpen
core = FailOpen(Connection(LinkOptions(restart="on-crash")), print)
for side, line in (
    ("client", b'{"id":0,"method":"initialize","params":{"protocolVersion":1}}'),
    ("agent", b'{"id":0,"result":{"protocolVersion":1}}'),
    ("client", b'{"id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}'),
    ("agent", b'{"method":"session/update","params":{"sessionId":"s","update":'
              b'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}}}'),
    ("agent", b'{"id":1,"result":{"stopReason":"end_turn"}}'),
):
    core.receive(Side(side), jsonrpc.decode(line), 0.0)
assert not core.blown
print("\\n".join(sys.modules))
"""


def test_a_healthy_turn_loads_nothing_that_only_a_failing_one_needs() -> None:
    done = subprocess.run(
        [sys.executable, "-S", "-c", _HEALTHY_TURN],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={k: v for k, v in os.environ.items() if not k.startswith("PYTEST")}
        | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    loaded = set(done.stdout.split())
    assert not {name for name in loaded if name in LATE - {"json", "dataclasses"}}


def test_a_silent_turn_in_which_nothing_fails_loads_no_classifier(loaded: Loaded) -> None:
    found = loaded("import lastword.sidecar.journals")
    assert not {"lastword.core.classify", "lastword.sidecar.journal_lines"} & found


def test_almost_nothing_is_loaded_before_the_agent_is_spawned(loaded: Loaded) -> None:
    found = loaded("import lastword.cli.run.command")
    assert not {"msgspec", "typing", "contextlib", "re", "json"} & found


def test_the_plugin_that_every_pytest_run_loads_imports_nothing(loaded: Loaded) -> None:
    found = loaded("import lastword.conformance.pytest_plugin")
    assert all(name.startswith(("lastword", "__future__")) for name in found)
    assert len(found) < 6


def test_importing_the_package_loads_nothing_of_it(loaded: Loaded) -> None:
    assert loaded("import lastword") == {"lastword", "lastword._version"}


def test_the_core_does_not_load_the_models(loaded: Loaded) -> None:
    assert "pydantic" not in loaded("import lastword.core.link.connection")


_UNTIL_THE_FIRST_CRASH = """
import sys
from lastword.core.link.connection import Connection, LinkOptions, Side
from lastword.core.link.failopen import FailOpen
core = FailOpen(Connection(LinkOptions(restart="on-crash")), print)
print(*[name for name in sys.modules if name.startswith("lastword.core.restart")])
core.handle_timeout(1.0)
for side in {ends}:
    core.receive_eof(Side(side), None, 2.0)
print(*[name for name in sys.modules if name.startswith("lastword.core.restart")])
"""


@every(("ends", "loads"), [(["client", "agent"], False), (["agent"], True)])
def test_the_code_for_restarts_is_not_loaded_before_a_crash(
    printed: Printed, ends: list[str], *, loads: bool
) -> None:
    said = printed(_UNTIL_THE_FIRST_CRASH.format(ends=ends))
    before, after = said.splitlines()
    assert before == ""
    assert bool(after) is loads


def test_a_recorder_without_telemetry_loads_none_of_it(printed: Printed) -> None:
    code = "import os, sys; [os.environ.pop(n) for n in [*os.environ] if n.startswith('OTEL_')]\n"
    code += "from lastword.otel.enabled import of_own, within_program\n"
    code += "assert of_own(None) is None and within_program(None) is None\n"
    code += "assert not any('opentelemetry' in name for name in sys.modules)\n"
    printed(code)


def test_only_serve_loads_the_library(loaded: Loaded) -> None:
    others = [name for name in lastword.__all__ if name != "serve"]
    found = loaded(f"import lastword; [getattr(lastword, name) for name in {others!r}]")
    assert not {"jsonrpcserver", "lastword.inprocess.serve.server"} & found


def test_serve_can_be_imported_where_warnings_are_errors() -> None:
    code = "import lastword; lastword.serve"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, timeout=60)


# --- modules that are loaded beside the loop


_LOADS = """
import sys, threading, time
from lastword.sidecar.late_modules import FAILURE, LateModules, load
class Holds:  # whoever imports waits: so the thread is not done before it is looked at
    def find_spec(self, *_):
        go_on.wait()
go_on = threading.Event()
sys.meta_path.insert(0, Holds())
usual = sys.getswitchinterval()
modules = LateModules(FAILURE)
assert not modules.loaded() and LateModules.in_progress == 1
assert sys.getswitchinterval() < usual
go_on.set()
while not modules.loaded():
    time.sleep(0.001)
assert LateModules.in_progress == 0 and sys.getswitchinterval() == usual
assert all(name in sys.modules for name in FAILURE)
assert list(load(FAILURE)) == []
steps = load(("lastword.no_such_module",))
for _ in steps:
    time.sleep(0.001)
"""


def test_modules_are_loaded_by_a_thread_and_one_that_is_missing_ends_the_wait() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _LOADS], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_modules_that_are_already_loaded_need_no_thread() -> None:
    assert list(load_here(FAILURE)) == [None] * len(FAILURE)
    assert LateModules(FAILURE).loaded()
    assert list(load(FAILURE)) == []


# --- an optional package that is missing


BLOCKED = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {module!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
"""


@pytest.fixture(scope="module")
def said_without() -> Iterator[SaidWithout]:
    """What is said by a program that runs where a module is not installed."""
    with BareInterpreter({"PYTHONPATH": str(SOURCE), "PATH": os.environ["PATH"]}) as interpreter:

        def run(module: str, code: str) -> str:
            done = interpreter.run(BLOCKED.format(module=module) + code)
            assert done.returncode != 0
            return done.stderr.strip()

        yield run


@every(
    "code",
    [
        "import lastword; lastword.run_agent",
        "import lastword; lastword.guard",
        "from lastword import run_agent",
        "import lastword.client.acp",
        "import asyncio, lastword.testing as t; asyncio.run(t.take_turn(lambda _: None))",
    ],
)
def test_a_missing_sdk_is_reported_with_the_line_to_type(
    said_without: SaidWithout, code: str
) -> None:
    said = said_without("acp", code)
    *_, last = said.splitlines()
    assert last.startswith("lastword.errors.MissingExtraError: ")
    assert last.endswith(f"the extra acp brings: {command_for('acp')}")
    assert "No module named" not in said


@every(
    ("module", "command"),
    [
        ("uvicorn", ["gateway", "--", "true"]),
        ("websockets", ["connect", "http://127.0.0.1:1"]),
    ],
)
def test_a_command_without_its_extra_says_one_line(
    said_without: SaidWithout, module: str, command: list[str]
) -> None:
    said = said_without(module, f"from lastword.cli import main; sys.exit(main({command!r}))")
    assert said.startswith(f"lastword: lastword {command[0]} needs the module {module}")
    assert said.endswith(f"the extra gateway brings: {command_for('gateway')}")
    assert len(said.splitlines()) == 1


_NO_SERVER = """
import contextlib, io, sys
sys.modules["uvicorn"] = None
from lastword.cli import main
with contextlib.redirect_stdout(io.StringIO()):
    told = [main(["gateway", *words]) for words in (["token"], ["--help"], ["stop", "--help"])]
print(told)
"""


def test_only_serving_needs_the_gateways_extra(printed: Printed) -> None:
    assert printed(_NO_SERVER) == "[0, 0, 0]\n"


def test_a_fleet_without_its_extra_says_one_line(said_without: SaidWithout) -> None:
    said = said_without(
        "nats", "from lastword.cli import main; sys.exit(main(['gateway', 'status', '--fleet']))"
    )
    assert said == (
        "lastword: lastword gateway with --fleet needs the module nats, which the extra fleet "
        f"brings: {command_for('fleet')}"
    )


def test_the_extras_are_those_that_the_package_has() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    table = text.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    named = {line.partition(" = ")[0] for line in table.splitlines() if " = [" in line}
    assert named == set(EXTRAS)


def test_an_outdated_optional_package_is_reported_as_such() -> None:
    old = ImportError("cannot import name 'x' from 'acp.core'", name="acp.core")
    told = missing_extra("lastword.run_agent", "acp", old)
    assert isinstance(told, MissingExtraError)
    assert "needs another version of the module acp" in str(told)
    assert (told.extra, told.name) == ("acp", "acp.core")


def test_an_unrelated_import_error_is_left_as_it_is() -> None:
    other = ModuleNotFoundError("No module named 'colour'", name="colour")
    assert missing_extra("lastword.run_agent", "acp", other) is other
