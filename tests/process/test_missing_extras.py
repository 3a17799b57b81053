"""What an author and a user are told where an optional package is missing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from lastword._installation import command_for
from lastword.errors import EXTRAS, MissingExtraError, missing_extra
from tests.kit.places import ROOT, SOURCE
from tests.kit.programs import BareInterpreter
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    SaidWithout = Callable[[str, str], str]

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
