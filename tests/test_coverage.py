"""Every line and every branch of the core is run by the core's own tests.

The same as a command:

    coverage run -m pytest tests/core tests/protocol && coverage report
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
FUSE_SECONDS = 300
# What hypothesis finds differs from run to run: what is covered may not depend on it.
TESTS = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0")
OURS = ("tests/core", "tests/protocol")


def test_no_line_and_no_branch_of_the_core_is_left_out(tmp_path: Path) -> None:
    environment = os.environ | {"COVERAGE_FILE": str(tmp_path / "coverage")}

    def coverage(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "coverage", *words],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=FUSE_SECONDS,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    coverage("run", *TESTS, *OURS)
    assert "100.00%" in coverage("report")
