"""What starts, watches and ends processes does so without what Linux alone has, as on macOS."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.kit.places import ROOT, TESTS

if TYPE_CHECKING:
    from pathlib import Path

PLAYED = ("tests/process/platform",)
_PROCESS = "tests/process/platform/test_process.py"
LINUX_ONLY = (
    # A pipe of macOS holds 64 KiB at most.
    f"--deselect={_PROCESS}::test_the_last_words_of_a_child_fit_into_its_pipes",
    # There its end is read by `waitpid`, which reaps it: Python before 3.13 has no `waitid`.
    f"--deselect={_PROCESS}::test_an_ended_child_keeps_its_pid_until_it_is_reaped",
    # The test itself waits by `waitid`.
    f"--deselect={_PROCESS}::test_a_guardian_that_somebody_killed_can_be_disarmed",
    # They look for processes in /proc themselves, or for what only /proc tells of an agent.
    "--ignore=tests/process/platform/test_spawned_guardian.py",
    "--ignore=tests/process/platform/test_silence_sources.py",
)
FUSE_SECONDS = 300


def test_the_process_tests_pass_without_what_linux_alone_has(tmp_path: Path) -> None:
    path = os.pathsep.join((str(TESTS / "darwin" / "path"), str(ROOT)))
    inner = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n0",
        "-p",
        "no:cacheprovider",
        *LINUX_ONLY,
        *PLAYED,
    ]
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "COV_"))
    }
    run = subprocess.run(
        inner,
        cwd=ROOT,
        env={**environment, "PYTHONPATH": path, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=FUSE_SECONDS,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]
    assert " passed" in run.stdout
