"""A sample of `tests.long.torture`; all calls are a command."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.kit.places import ROOT

TORTURE = (sys.executable, "-m", "tests.long.torture")
FUSE_SECONDS = 600


@pytest.mark.skipif(sys.platform != "linux", reason="what is left is looked for in /proc")
def test_a_failing_system_call_leaves_no_prompt_unanswered_or_unexplained() -> None:
    done = subprocess.run(
        [*TORTURE, "--every", "6", "--first", "2"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=FUSE_SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].endswith(" problems=0")
