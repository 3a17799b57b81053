"""lastword runs without what Linux alone has, as on macOS."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.darwin.played import LINUX_ONLY, NEEDS_LSOF, OTHER_LOOP, PLAYED
from tests.kit.installs import give_up
from tests.kit.places import ROOT, TESTS
from tests.kit.rows import every

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FUSE_SECONDS = 600
WORKERS = 2
SHORT_PATH = "/usr/bin:/bin:/usr/sbin:/sbin"
"""What launchd gives a program that is started from the Dock."""
LONG_TEMPORARY = "var/folders/zz/zyxvpxvq6csfxvn_n0000000000000/T"
"""Where macOS puts a user's temporary files; the folder of the test stands before it."""


@pytest.mark.matrix
def test_the_tests_chosen_for_macos_pass(tmp_path: Path) -> None:
    play(PLAYED, tmp_path)


@pytest.mark.matrix
def test_the_tests_that_need_lsof_on_macos_pass(tmp_path: Path) -> None:
    if shutil.which("lsof", path=SHORT_PATH) is None:
        give_up("lsof is not there. Install Debian's package lsof.")
    play(NEEDS_LSOF, tmp_path)


def play(names: Iterable[str], tmp_path: Path) -> None:
    """Play tests without what Linux alone has."""
    temporary = tmp_path / LONG_TEMPORARY
    temporary.mkdir(parents=True)
    assert len(str(temporary)) >= 60
    given = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "COV_"))
    }
    mode = {
        "PYTHONPATH": os.pathsep.join((str(TESTS / "darwin" / "path"), str(ROOT))),
        "PATH": SHORT_PATH,
        "TMPDIR": str(temporary),
        "CI": "true",  # a skip is an error
    }
    inner = [sys.executable, "-m", "pytest", "-q", f"-n{WORKERS}", "-p", "no:cacheprovider"]
    inner += ["-k", f"not {OTHER_LOOP}"]
    inner += [f"--deselect=tests/process/{name}" for name in LINUX_ONLY]
    inner += [f"tests/process/{name}" for name in names]
    run = subprocess.run(
        inner,
        cwd=ROOT,
        env=given | mode,
        capture_output=True,
        text=True,
        timeout=FUSE_SECONDS,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-20_000:] + run.stderr[-2000:]
    assert " passed" in run.stdout


@every("name", LINUX_ONLY)
def test_an_excluded_test_exists(name: str) -> None:
    file, _, test = name.partition("::")
    text = (TESTS / "process" / file).read_text(encoding="utf-8")
    assert f"def {test}" in text
    assert any(file == played or file.startswith(f"{played}/") for played in PLAYED)
