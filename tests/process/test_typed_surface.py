"""The public surface under a type checker, as its authors meet it: README's examples, and more."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.kit.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

FUSE_SECONDS = 600

GIVEN = """
import asyncio
import time

import acp
import lastword

class MyAgent:
    async def prompt(self, session_id: str, **_: object) -> acp.PromptResponse:
        return acp.PromptResponse(stop_reason="end_turn")

message: object = {}
exception: Exception = ValueError("x")
arrived: float = 0.0
"""
"""What README's examples take for granted."""


def mypy(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=FUSE_SECONDS,
    )
    return done.stdout + done.stderr


def test_the_public_surface_has_the_types_that_its_authors_expect() -> None:
    assert "Success" in (told := mypy("tests/kit/typed_surface.py")), told


def test_that_every_type_is_known_is_asked_with_every_change() -> None:
    # pyright is no package of the tests'; CI has it, and ends where it finds one type unknown.
    asked = (ROOT / ".ci" / "run").read_text().splitlines()
    (line,) = [line for line in asked if "--verifytypes" in line]
    assert line.endswith("pyright --verifytypes lastword --ignoreexternal")
    assert (ROOT / "src" / "lastword" / "py.typed").exists()


def test_the_example_programs_pass_a_type_checker() -> None:
    files = [str(file) for file in sorted((ROOT / "examples").glob("*.py"))]
    assert len(files) >= 8
    # The packages of model providers are not installed here.
    told = mypy("--config-file=", "--check-untyped-defs", "--ignore-missing-imports", *files)
    assert "Success" in told, told


def test_the_examples_of_the_readme_pass_a_type_checker(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 5
    files = []
    for number, block in enumerate(blocks):
        file = tmp_path / f"readme_{number}.py"
        file.write_text(GIVEN + block)
        files.append(str(file))
    told = mypy("--config-file=", "--check-untyped-defs", *files)
    assert "Success" in told, told
