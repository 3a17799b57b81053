"""The public surface under a type checker, as its authors meet it."""

from __future__ import annotations

import subprocess
import sys

from tests.kit.places import ROOT

FUSE_SECONDS = 600


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


def test_every_change_is_checked_for_unknown_types() -> None:
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
