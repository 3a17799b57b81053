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
